"""Algorithms 1 and 2 of the paper, many fits at once.

Algorithm 1 drives AUC gaps: pairs are drawn from small batches, as many for every AUC of a gap as
for the overall one, and the multiplier m = λc moves by a fixed step with the sign of the strict gap
on the validation rows. Algorithm 2 drives ROC gaps: each has a threshold t and a coefficient c, and
whichever of the two is further off is moved by a fixed step. The penalty ½ l2 ‖W‖² is of all that
is trained, biases too. The iterations between two updates are one compiled loop over all fits; they
differ in strength, l2 and random state and share the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from evenscore.gaps.family import CutForm
from evenscore.learning.features import FeatureScaling
from evenscore.learning.multipliers import SignRule
from evenscore.learning.network import Layers, forward, hidden_layers
from evenscore.learning.objective import Objective, Strict
from evenscore.learning.parameters import seed_of
from evenscore.learning.progress import progress
from evenscore.learning.task import History, Task
from evenscore.learning.training_set import TrainingSet
from evenscore.scores.arrays import Floats, Ints

if TYPE_CHECKING:
    from evenscore.paper.scorer import PaperScorer

_PAIR_BANDWIDTH = 0.5  # σ(2(s − s')): the factor comes from labels in {−1, 1}
_EPSILON = 1e-3  # added to the variance by the batch normalisation
_MOMENTUM = 0.99
_DEVIATION = 0.01  # of the initial weights


class _State(NamedTuple):
    """Of one fit, on the device; stacked for many. All layers are one vector: Adam is one step."""

    weights: Any
    moments: Any
    mean: Any
    variance: Any
    key: Any


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
    adam = optax.adam(first.learning_rate)
    states = [_init([d, *hidden], scorer.random_state, adam) for scorer in scorers]
    state: Any = jax.tree.map(lambda *parts: jnp.stack(parts), *states)
    l2 = jnp.asarray([scorer.l2 for scorer in scorers], jnp.float32)
    weight, chances = train.weight, None
    if weight is not None:
        chances = jnp.asarray(np.cumsum(weight / weight.sum()), jnp.float32)
    rows, checked = (jnp.asarray(first.standardised(s.X), jnp.float32) for s in (train, held_out))
    cell = jnp.asarray(train.cell, dtype=jnp.int32)
    objective = held_out.objective(task.constraints)
    gaps = PaperGaps.of(objective)
    rules = [_Rules(objective, gaps, scorer) for scorer in scorers]
    sizes = first.batch_size, first.n_pairs, first.update_every
    program, scores_of = _compile(gaps, hidden, first.learning_rate, *sizes)

    def advance(state: Any) -> Any:
        multipliers = np.stack([rule.multipliers for rule in rules]).astype(np.float32)
        thresholds = np.stack([rule.thresholds for rule in rules]).astype(np.float32)
        return program(state, rows, cell, chances, multipliers, thresholds, l2)

    histories = [History() for _ in scorers]
    n_updates = -(-first.n_iter // first.update_every)
    with progress("PaperScorer", n_updates * len(scorers), verbose=first.verbose) as report:
        state = advance(state)
        for number in range(n_updates):
            scores = np.asarray(scores_of(state, checked), dtype=np.float64)
            multipliers = [rule.multipliers for rule in rules]
            stricts = [rule.update(score) for rule, score in zip(rules, scores, strict=True)]
            if number < n_updates - 1:
                state = advance(state)  # at work while the host goes on
            for fit, history in enumerate(histories):
                strict = stricts[fit] or objective.strict(scores[fit])
                value = 1.0 - strict.auc + float(multipliers[fit] @ strict.gaps)
                history.add(value, strict, multipliers[fit])
                report(f"AUC {strict.auc:.4f}")
    for fit, scorer in enumerate(scorers):
        scorer.layers_ = _layers(state, fit, d, hidden)
    return histories


def logistic(x: Any) -> Any:
    """σ(x) = 1 / (1 + e^−x), without overflow.

    >>> float(logistic(0.0)), float(logistic(-800.0))
    (0.5, 0.0)
    """
    decay = jnp.exp(-jnp.abs(x))
    return jnp.where(x >= 0, 1.0, decay) / (1.0 + decay)


def incomplete_auc(low: Any, high: Any, weights: Any, bandwidth: float) -> Any:
    """Mean of weight · σ((s_high − s_low)/h) over pairs drawn with replacement.

    For pairs drawn from cells (a, b) with probability q_ab, weights V_ab / q_ab make it an unbiased
    estimate of Σ V_ab AUC_ab, the surrogate of all pairs, with a variance of the order of one over
    the number of pairs.

    >>> round(float(incomplete_auc(np.array([0.0]), np.array([1.0]), np.array([1.0]), 1.0)), 4)
    0.7311
    """
    return jnp.mean(weights * logistic((high - low) / bandwidth))


@dataclass(frozen=True, eq=False)
class PaperGaps:
    """The gaps as Algorithms 1 and 2 know them: linear in AUCs, or between cells at a rate.

    `auc` and `roc` are their positions among all gaps. Of the AUC gaps, `between` (pairs, 2) are
    the cells compared and `coefficients` (gaps, pairs) those of their AUCs; `first`, `second` and
    `rates` are of the ROC gaps. Equal ones share a compiled program.
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

    def _key(self) -> tuple[Any, ...]:
        parts = self.auc, self.between, self.coefficients, self.roc
        cuts = self.first, self.second, self.rates
        return self.n, self.n_cells, *(part.tobytes() for part in (*parts, *cuts))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PaperGaps) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


class _Rules:
    """Multipliers and thresholds of one fit, moved by fixed steps after a look at held-out rows."""

    def __init__(self, objective: Objective, gaps: PaperGaps, scorer: PaperScorer) -> None:
        self.objective, self.gaps = objective, gaps
        self.rule = SignRule(float(np.max(scorer.strength or 0.0)), scorer.multiplier_step)
        self.threshold_step = scorer.threshold_step
        self.state = self.rule.init(np.zeros(gaps.n))
        self.thresholds = np.zeros(len(gaps.roc))
        self.ends = [
            [np.flatnonzero(objective.cell == c) for c in cells]
            for cells in (gaps.first, gaps.second)
        ]

    @property
    def multipliers(self) -> Floats:
        return self.state.multipliers

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
        self.state = self.rule.update(self.state, seen, seen)
        return strict

    def _rates(self, score: Floats, members: list[Ints]) -> list[Any]:
        """The share of each ROC gap's cell above the gap's threshold."""
        share, cuts = self.objective.share, zip(self.thresholds, members, strict=True)
        return [share[rows] @ (score[rows] > threshold) for threshold, rows in cuts]


def _init(widths: list[int], random_state: Any, adam: Any) -> _State:
    rng = np.random.default_rng(seed_of(random_state))
    rng = np.random.default_rng(int(rng.integers(2**31)))
    layers = hidden_layers(widths, rng, _DEVIATION)
    weights = ravel_pytree(jax.tree.map(jnp.float32, layers))[0]
    key = jax.random.key(int(rng.integers(2**31)))
    return _State(weights, adam.init(weights), jnp.zeros(()), jnp.ones(()), key)


def _unravel(weights: Any, d: int, hidden: tuple[int, ...]) -> Layers:
    """The layers of one vector, in which weights and biases of a layer follow those before."""
    shapes = [(jnp.zeros((m, n)), jnp.zeros(n)) for m, n in pairwise((d, *hidden, 1))]
    layers: Layers = ravel_pytree(shapes)[1](weights)
    return layers


def _layers(state: Any, fit: int, d: int, hidden: tuple[int, ...]) -> Layers:
    layers = _unravel(state.weights[fit], d, hidden)
    *inner, (weights, biases) = jax.tree.map(partial(np.asarray, dtype=np.float64), layers)
    scale = np.sqrt(float(state.variance[fit]) + _EPSILON)
    return [*inner, (weights / scale, (biases - float(state.mean[fit])) / scale)]


@lru_cache(maxsize=16)
def _compile(
    gaps: PaperGaps,
    hidden: tuple[int, ...],
    learning_rate: float,
    batch_size: int,
    n_pairs: int,
    update_every: int,
) -> tuple[Any, Any]:
    """For all fits: the iterations between two updates as one program; the scores of rows."""
    adam = optax.adam(learning_rate)

    def loss(layers: Layers, X: Any, pairs: _Pairs, shares: Any, thresholds: Any) -> Any:
        raw = forward(layers, X, jnp)
        mean, variance = jnp.mean(raw), jnp.var(raw)
        score = (raw - mean) / jnp.sqrt(variance + _EPSILON)
        value = incomplete_auc(score[pairs.low], score[pairs.high], pairs.weights, _PAIR_BANDWIDTH)
        if len(gaps.roc):
            value += jnp.sum(shares * logistic(score[:, None] - thresholds))
        return value, (mean, variance)

    def one(
        state: _State, X: Any, cell: Any, chances: Any, multipliers: Any, thresholds: Any, l2: Any
    ) -> _State:
        # All that does not depend on the network is done at once for all iterations.
        key, for_batches, for_pairs = jax.random.split(state.key, 3)
        size = (update_every, batch_size)
        if chances is None:
            batches = jax.random.randint(for_batches, size, 0, len(cell))
        else:
            drawn = jnp.searchsorted(chances, jax.random.uniform(for_batches, size))
            batches = drawn.clip(0, len(cell) - 1)
        shape = (update_every, 1 + len(gaps.between), 2, n_pairs)
        uniform = jax.random.uniform(for_pairs, shape)
        cells = cell[batches]
        pairs = jax.vmap(partial(_pairs, gaps, multipliers[gaps.auc]))(cells, uniform)
        shares = jax.vmap(partial(_shares, gaps, multipliers[gaps.roc]))(cells)

        def iteration(state: _State, drawn: Any) -> tuple[_State, None]:
            layers = _unravel(state.weights, X.shape[1], hidden)
            slopes, (mean, variance) = jax.grad(loss, has_aux=True)(layers, *drawn, thresholds)
            gradient = ravel_pytree(slopes)[0] + l2 * state.weights
            step, moments = adam.update(gradient, state.moments)
            mean = _MOMENTUM * state.mean + (1.0 - _MOMENTUM) * mean
            variance = _MOMENTUM * state.variance + (1.0 - _MOMENTUM) * variance
            return _State(state.weights + step, moments, mean, variance, key), None

        return jax.lax.scan(iteration, state, (X[batches], pairs, shares))[0]

    def scores(state: _State, X: Any) -> Any:
        layers = _unravel(state.weights, X.shape[1], hidden)
        return (forward(layers, X, jnp) - state.mean) / jnp.sqrt(state.variance + _EPSILON)

    axes = (0, None, None, None, 0, 0, 0)
    return jax.jit(_for_all_fits(one, axes)), jax.jit(_for_all_fits(scores, (0, None)))


def _for_all_fits(function: Callable[..., Any], axes: tuple[int | None, ...]) -> Any:
    many = jax.vmap(function, in_axes=axes)

    def of_all(state: _State, *rest: Any) -> Any:
        arguments = (state, *rest)
        if len(state.mean) > 1:
            return many(*arguments)
        # A single fit is faster without the axis of fits.
        alone = [
            part if axis is None else jax.tree.map(lambda a: a[0], part)
            for part, axis in zip(arguments, axes, strict=True)
        ]
        return jax.tree.map(lambda a: a[None], function(*alone))

    return of_all


class _Pairs(NamedTuple):
    """Pairs of a batch, whose mean of weight · σ is −AUC + Σ m · gap, up to a constant."""

    low: Any
    high: Any
    weights: Any


def _pairs(gaps: PaperGaps, multipliers: Any, cell: Any, uniform: Any) -> _Pairs:
    """Draw pairs with replacement: of the two classes, and of any two cells a gap compares.

    What has no pair in the batch weighs nothing.
    """
    order = jnp.argsort(cell)  # the batch, one cell after the other
    ends = jnp.searchsorted(cell, jnp.arange(gaps.n_cells + 1), sorter=order)
    half = gaps.n_cells // 2
    low = jnp.array([0, *gaps.between[:, 0]]), jnp.array([half, *(gaps.between[:, 0] + 1)])
    high = jnp.array([half, *gaps.between[:, 1]]), jnp.array([-1, *(gaps.between[:, 1] + 1)])
    chosen, there = [], jnp.array(True)
    for side, (start, stop) in enumerate((low, high)):
        count = (ends[stop] - ends[start])[:, None]
        rank = jnp.minimum(jnp.floor(uniform[:, side] * count).astype(jnp.int32), count - 1)
        chosen.append(order[ends[start][:, None] + rank].reshape(-1))
        there = there & (count > 0)
    weights = jnp.concatenate([jnp.array([-1.0]), multipliers @ gaps.coefficients])
    weights = jnp.where(there, len(weights) * weights[:, None], 0.0)
    weights = jnp.broadcast_to(weights, uniform[:, 0].shape).reshape(-1)
    return _Pairs(chosen[0], chosen[1], weights)


def _shares(gaps: PaperGaps, multipliers: Any, cell: Any) -> Any:
    """(batch, ROC gaps): weights with which Σ weight · σ(s − t) is Σ m · (difference of rates)."""
    ends = [(cell[:, None] == cells).astype(jnp.float32) for cells in (gaps.first, gaps.second)]
    first, second = (end / jnp.maximum(jnp.sum(end, axis=0), 1.0) for end in ends)
    return multipliers * (second - first)
