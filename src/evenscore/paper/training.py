"""Algorithms 1 and 2 of the paper, many fits at once.

Algorithm 1 drives AUC gaps: pairs are drawn from small batches, as many for every AUC of a gap as
for the overall one, and the multiplier m = λc moves by a fixed step with the sign of the strict gap
on the validation rows. Algorithm 2 drives ROC gaps: each has a threshold t and a coefficient c, and
whichever of the two is further off is moved by a fixed step. The penalty ½ l2 ‖W‖² is of all that
is trained, biases too. All fits go on together; they differ in strength, l2 and random state and
share the rows. All that does not depend on the networks is drawn at once for the iterations between
two updates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit

from evenscore.gaps.family import CutForm
from evenscore.learning.features import FeatureScaling
from evenscore.learning.objective import Objective, Strict
from evenscore.learning.parameters import seed_of
from evenscore.learning.progress import progress
from evenscore.learning.task import History, Task
from evenscore.learning.training_set import TrainingSet
from evenscore.paper.descent import Networks
from evenscore.paper.network import random_layers
from evenscore.scores.arrays import Floats, Ints

if TYPE_CHECKING:
    from evenscore.paper.scorer import PaperScorer

_PAIR_BANDWIDTH = 0.5  # σ(2(s − s')): the factor comes from labels in {−1, 1}
_DEVIATION = 0.01  # of the initial weights


def learn_together(
    scorers: Sequence[PaperScorer], train: TrainingSet, held_out: TrainingSet, task: Task
) -> list[History]:
    """Train scorers that differ in strength, l2 and random state only.

    Rows are drawn in proportion to their weights. The scorers get `features_` and `layers_`, the
    normalisation being part of the last layer.
    """
    features = FeatureScaling.fit(train.X, train.share, compress=False)
    for scorer in scorers:
        scorer.features_ = features
    first, d = scorers[0], train.X.shape[1]
    hidden = (d, d) if first.hidden is None else tuple(first.hidden)
    sources = [_source(scorer) for scorer in scorers]
    starts = [random_layers([d, *hidden], source, _DEVIATION) for source in sources]
    l2 = np.array([scorer.l2 for scorer in scorers])
    networks = Networks(starts, l2, first.learning_rate)
    rows, checked = (networks.rows(first.standardised(s.X)) for s in (train, held_out))
    objective = held_out.objective(task.constraints)
    gaps = PaperGaps.of(objective)
    rules = [_Rules(objective, gaps, scorer) for scorer in scorers]
    draw = _Draw(gaps, train, first.update_every, first.batch_size, first.n_pairs)
    histories = [History() for _ in scorers]
    n_updates = -(-first.n_iter // first.update_every)
    with progress("PaperScorer", n_updates * len(scorers), verbose=first.verbose) as report:
        for _ in range(n_updates):
            _advance(networks, rows, [draw.some(source) for source in sources], gaps, rules)
            for score, rule, history in zip(
                networks.scores(checked), rules, histories, strict=True
            ):
                multipliers = rule.multipliers
                strict = rule.update(score) or objective.strict(score)
                value = 1.0 - strict.auc + float(multipliers @ strict.gaps)
                history.add(value, strict, multipliers)
                report(f"AUC {strict.auc:.4f}")
    for fit, scorer in enumerate(scorers):
        scorer.layers_ = networks.whole(fit)
    return histories


def _source(scorer: PaperScorer) -> np.random.Generator:
    rng = np.random.default_rng(seed_of(scorer.random_state))
    return np.random.default_rng(int(rng.integers(2**31)))


def _advance(
    networks: Networks,
    X: Any,
    drawn: Sequence[_Drawn],
    gaps: PaperGaps,
    rules: Sequence[_Rules],
) -> None:
    """The iterations between two updates."""
    multipliers = np.stack([rule.multipliers for rule in rules])
    thresholds = np.stack([rule.thresholds for rule in rules]).astype(np.float32)
    coefficients = gaps.pair_coefficients(multipliers[:, gaps.auc])
    rows, low, high, there, shares = (np.stack(parts, axis=1) for parts in zip(*drawn, strict=True))
    weights = np.where(there, coefficients, 0.0)[..., None] / low.shape[-1]
    # Pairs of a fit are at its own places in the stack of batches.
    offsets = (rows.shape[-1] * np.arange(len(drawn)))[:, None, None]
    low, high = low + offsets, high + offsets
    shares = shares * multipliers[:, None, gaps.roc].astype(np.float32)
    for number, batch in enumerate(rows):
        inputs = X.take(batch, axis=0)
        outputs = networks.forward(inputs)
        score, scale = networks.normalised(outputs[-1][:, :, 0])
        slope = pair_slopes(score, low[number], high[number], weights[number], _PAIR_BANDWIDTH)
        if len(gaps.roc):
            slope += rate_slopes(score, shares[number], thresholds)
        networks.step(inputs, outputs, score, scale, slope)
    networks.settle()


def pair_slopes(score: Any, low: Ints, high: Ints, weights: Any, bandwidth: float) -> Floats:
    """The slope of Σ weight · σ((s_high − s_low)/h) along every score.

    For pairs drawn from cells (a, b) with probability q_ab, weights V_ab / q_ab over the number of
    pairs make the sum an unbiased estimate of Σ V_ab AUC_ab, the surrogate of all pairs.

    >>> pair_slopes(np.zeros(2), np.array([0]), np.array([1]), 1.0, 0.5)
    array([-0.5,  0.5])
    """
    flat = score.ravel()
    p = expit((flat[high] - flat[low]) / bandwidth)
    slopes = (weights * p * (1.0 - p) / bandwidth).ravel()
    up, down = (np.bincount(at.ravel(), slopes, flat.size) for at in (high, low))
    return np.asarray(up - down).reshape(score.shape)


def rate_slopes(score: Any, shares: Any, thresholds: Any) -> Any:
    """The slope of Σ share · σ(s − t) along every score, for scores (fits, rows) of each fit.

    >>> rate_slopes(np.zeros((1, 1)), np.ones((1, 1, 1)), np.zeros((1, 1)))
    array([[0.25]])
    """
    p = expit(score[:, :, None] - thresholds[:, None])
    return np.sum(shares * p * (1.0 - p), axis=2)


@dataclass(frozen=True, eq=False)
class PaperGaps:
    """The gaps as Algorithms 1 and 2 know them: linear in AUCs, or between cells at a rate.

    `auc` and `roc` are their positions among all gaps. Of the AUC gaps, `between` (pairs, 2) are
    the cells compared and `coefficients` (gaps, pairs) those of their AUCs; `first`, `second` and
    `rates` are of the ROC gaps.
    """

    n: int
    n_cells: int
    auc: Ints
    between: Ints
    coefficients: Floats
    roc: Ints
    first: Ints
    second: Ints
    rates: Floats

    @classmethod
    def of(cls, objective: Objective) -> PaperGaps:
        """Refuses a family that neither algorithm takes."""
        n_cells, terms = objective.n_cells, objective.terms
        auc: list[int] = []
        roc: list[int] = []
        none = np.zeros(0, dtype=np.intp)
        forms, cuts = [np.zeros((0, n_cells, n_cells))], [CutForm(none, none, np.zeros(0))]
        for family, part in zip(terms.families, terms.parts, strict=True):
            form = family.linear_form(objective.cell_weights)
            cut = family.cut_form(objective.n_groups)
            if form is not None:
                auc += range(part.start, part.stop)
                forms.append(form)
            elif cut is not None:
                roc += range(part.start, part.stop)
                cuts.append(cut)
            else:
                raise TypeError(
                    f"PaperScorer cannot learn {family.name}: Algorithms 1 and 2 take gaps between "
                    "AUCs and ROC gaps."
                )
        # AUC_ba = 1 − AUC_ab: only a < b is kept, up to a constant that does not matter.
        coefficients = np.concatenate(forms)
        upper = np.triu(coefficients - coefficients.transpose(0, 2, 1), 1)
        between = np.argwhere(upper.any(axis=0))
        compared = upper[:, between[:, 0], between[:, 1]]
        ends = (np.concatenate(columns) for columns in zip(*cuts, strict=True))
        at_auc, at_roc = (np.array(places, dtype=np.intp) for places in (auc, roc))
        return cls(len(terms), n_cells, at_auc, between, compared, at_roc, *ends)

    def pair_coefficients(self, multipliers: Floats) -> Floats:
        """(fits, 1 + pairs): of the overall AUC and of those compared, in −AUC + Σ m · gap."""
        overall = np.full((len(multipliers), 1), -1.0)
        return np.concatenate([overall, multipliers @ self.coefficients], axis=1)


class _Rules:
    """Multipliers and thresholds of one fit, moved by fixed steps after a look at held-out rows."""

    def __init__(self, objective: Objective, gaps: PaperGaps, scorer: PaperScorer) -> None:
        self.objective, self.gaps = objective, gaps
        self.strength = float(np.max(scorer.strength or 0.0))
        self.multiplier_step, self.threshold_step = scorer.multiplier_step, scorer.threshold_step
        self.multipliers = np.zeros(gaps.n)  # m = λc, and c moves within [−1, 1]
        self.thresholds = np.zeros(len(gaps.roc))
        self.ends = [
            [np.flatnonzero(objective.cell == c) for c in cells]
            for cells in (gaps.first, gaps.second)
        ]

    def update(self, score: Floats) -> Strict | None:
        """One step; also the strict gaps, if they were needed."""
        strict, seen = None, np.zeros(self.gaps.n)
        if len(self.gaps.auc):
            strict = self.objective.strict(score)
            seen = strict.gaps.copy()
        if len(self.gaps.roc):
            rates = np.array([self._rates(score, members) for members in self.ends])
            gap = rates[1] - rates[0]
            away = rates.sum(axis=0) - 2.0 * self.gaps.rates
            move = np.abs(away) > np.abs(gap)
            step = np.where(move, np.sign(away) * self.threshold_step, 0.0)
            self.thresholds = self.thresholds + step
            seen[self.gaps.roc] = np.where(move, 0.0, gap)
        moved = self.multipliers + self.multiplier_step * self.strength * np.sign(seen)
        self.multipliers = np.clip(moved, -self.strength, self.strength)
        return strict

    def _rates(self, score: Floats, members: list[Ints]) -> list[Any]:
        """The share of each ROC gap's cell above the gap's threshold."""
        share, cuts = self.objective.share, zip(self.thresholds, members, strict=True)
        return [share[rows] @ (score[rows] > threshold) for threshold, rows in cuts]


class _Drawn(NamedTuple):
    """Of one fit, for the iterations between two updates: the first axis.

    `rows` are the batches; `low` and `high` (…, AUCs, pairs) are places in a batch, and `there`
    says of which AUCs the batch has pairs at all. `shares` (…, rows, ROC gaps) are the weights with
    which Σ share · σ(s − t) is a difference of rates.
    """

    rows: Ints
    low: Ints
    high: Ints
    there: Any
    shares: Any


class _Draw:
    """Batches, and pairs of their rows with replacement.

    Pairs are of the two classes, and of any two cells that a gap compares.
    """

    def __init__(
        self, gaps: PaperGaps, train: TrainingSet, n_batches: int, size: int, n_pairs: int
    ) -> None:
        self.gaps, self.cell = gaps, train.cell
        self.shape, self.n_pairs = (n_batches, size), n_pairs
        self.chances = None if train.weight is None else np.cumsum(train.share)
        half, between = gaps.n_cells // 2, gaps.between
        self.low = np.append(0, between[:, 0]), np.append(half, between[:, 0] + 1)
        self.high = np.append(half, between[:, 1]), np.append(gaps.n_cells, between[:, 1] + 1)

    def some(self, source: np.random.Generator) -> _Drawn:
        """For the next iterations."""
        if self.chances is None:
            rows = source.integers(0, len(self.cell), self.shape)
        else:
            places = np.searchsorted(self.chances, source.random(self.shape), side="right")
            rows = np.minimum(places, len(self.cell) - 1)
        cells = self.cell[rows]
        uniform = source.random((2, len(rows), len(self.low[0]), self.n_pairs), dtype=np.float32)
        return _Drawn(rows, *self.pairs(cells, uniform), self.shares(cells))

    def pairs(self, cells: Ints, uniform: Any) -> tuple[Ints, Ints, Any]:
        """Places in the batches by numbers between 0 and 1, and which AUCs have pairs."""
        order = np.argsort(cells, axis=1, kind="stable")  # the batches, one cell after the other
        counts = np.sum(cells[:, :, None] == np.arange(self.gaps.n_cells), axis=1)
        ends = np.concatenate([np.zeros((len(cells), 1), np.intp), np.cumsum(counts, axis=1)], 1)
        chosen, there = [], True
        for (start, stop), u in zip((self.low, self.high), uniform, strict=True):
            count = ends[:, stop] - ends[:, start]
            rank = np.minimum((u * count[:, :, None]).astype(np.intp), count[:, :, None] - 1)
            place = np.clip(ends[:, start][:, :, None] + rank, 0, cells.shape[1] - 1)
            flat = place.reshape(len(cells), -1)
            chosen.append(np.take_along_axis(order, flat, axis=1).reshape(place.shape))
            there = there & (count > 0)
        return chosen[0], chosen[1], there

    def shares(self, cells: Ints) -> Any:
        """Second minus first cell of every ROC gap, each with shares that add up to one."""
        second, first = (
            (cells[:, :, None] == ends).astype(np.float32)
            for ends in (self.gaps.second, self.gaps.first)
        )
        one, two = (
            side / np.maximum(side.sum(axis=1, keepdims=True), 1.0) for side in (second, first)
        )
        return one - two
