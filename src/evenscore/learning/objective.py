"""The training objective in score space: value and gradient with respect to the scores.

One saddle problem serves every learner: minimise over the scores, and maximise over multipliers
|m_k| ≤ strength,

    1 − AUC(s) + Σ_k m_k gap_k(s),

AUC and gaps being surrogates (the step function replaced by a logistic one), for any mixture of
families of gaps and any number of groups: each family brings its surrogate, and they add up. A
linear scorer multiplies the gradient by Xᵀ, boosting takes it as it is, a network propagates it
back.

The derivative at a score depends on the score and its cell only: it is a function on a grid for
each cell, the `slopes`. A learner that works in batches reads them at any score it likes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from evenscore.gaps.family import GapFamily
from evenscore.gaps.smooth import Grid, smooth_cells
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Bools, Floats, Ints, chunks
from evenscore.scores.aucs import overall_auc

# A term's part of a penalty, times the square of the number of terms of a range and a pair of
# groups: a half for one rate at eight cuts, an eighth for two. On training rows, whole penalties
# made the terms swing from side to side, a quarter for two rates left gaps of up to 0.07 on Bank,
# and an eighth for one rate gaps of 0.06 on Adult, still closing when training ended.
_WORTH = 32.0

Respond = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Surrogate AUC and gaps, the value 1 − AUC + cost of the gaps, and its gradient.

    `slopes` (cells × grid) are the derivatives for a score that holds the whole weight of its cell.
    """

    auc: float
    gaps: Floats
    value: float
    gradient: Floats
    grid: Grid
    slopes: Floats


@dataclass(frozen=True, eq=False)
class Strict:
    """Exact AUC and gaps: those of the terms, and those that are reported."""

    auc: float
    terms: Floats
    gaps: Floats


@dataclass(frozen=True, eq=False)
class Terms:
    """What a scorer is trained to close: the gaps of the constraints, then those of their guards.

    A gap over a range of cuts is trained at several of them, each a term with a multiplier of its
    own: `owner` is the position of the reported gap that a term belongs to, −1 of a guard, and
    `share` the part of a penalty that a term has where a gap has several. Of the reported gaps,
    `tolerance` is NaN where the constraint does not say, and `cells` (gaps, 2K) says which cells a
    gap looks at.
    """

    constraints: tuple[GapFamily, ...]
    families: tuple[GapFamily, ...]
    parts: tuple[slice, ...]  # where the terms of each family stand
    owner: Ints
    share: Floats
    term_tolerance: Floats  # of the constraint that a term comes from
    tolerance: Floats
    cells: Bools

    def __len__(self) -> int:
        return len(self.owner)

    @classmethod
    def of(cls, constraints: Sequence[GapFamily], n_groups: int, *, guards: bool = False) -> Self:
        """Gaps between so many groups; a family that cannot be learned is refused."""
        for family in constraints:
            if not family.learnable:
                raise TypeError(
                    f"{family.name} cannot be learned: it has no surrogate, which scorers need."
                )
        trained = [family.trained() for family in constraints]
        around = [guard for family in constraints if (guard := family.guards()) is not None]
        families = (*trained, *(around if guards else ()))
        cells = [family.cells(n_groups) for family in constraints]
        sizes = [len(family.keys(range(n_groups))) for family in families]
        owner, share, first = [np.full(0, -1, dtype=np.intp)], [np.zeros(0)], 0
        for part, size in zip(cells, sizes, strict=False):
            times = size // max(1, len(part))
            owner.append(first + np.repeat(np.arange(len(part)), times))
            by_pair = 2 * size / (n_groups * max(1, n_groups - 1))
            share.append(np.full(size, min(1.0, _WORTH / by_pair**2) if times > 1 else 1.0))
            first += len(part)
        of_guards = [own for own, f in zip(share[1:], constraints, strict=True) if f.guards()]
        for own, size in zip(of_guards, sizes[len(cells) :], strict=False):
            owner.append(np.full(size, -1))
            share.append(np.full(size, own.min(initial=1.0)))
        ends = np.cumsum([0, *sizes]).tolist()
        return cls(
            tuple(constraints),
            families,
            tuple(slice(*pair) for pair in pairwise(ends)),
            np.concatenate(owner),
            np.concatenate(share),
            _own_tolerances(families, sizes),
            _own_tolerances(constraints, [len(part) for part in cells]),
            np.concatenate([np.zeros((0, 2 * n_groups), dtype=bool), *cells]),
        )

    @property
    def asked(self) -> Bools:
        """Which terms are of the gaps asked for, not of guards."""
        return self.owner >= 0

    @property
    def sharing(self) -> tuple[tuple[Ints, ...], Floats]:
        """The terms of each gap that has several, and what part of a penalty every term has."""
        counts = np.bincount(self.owner[self.asked], minlength=len(self.tolerance))
        several = np.flatnonzero(counts > 1)
        return tuple(np.flatnonzero(self.owner == k) for k in several), self.share

    def of_owners(self, values: Floats) -> Floats:
        """Of each reported gap, the largest of the values of its terms."""
        largest = np.zeros(len(self.tolerance))
        np.maximum.at(largest, self.owner[self.asked], values[self.asked])
        return largest

    def by_constraint(self, values: Sequence[float]) -> tuple[Floats, Floats]:
        """A number for each constraint, repeated for the terms asked for and reported gaps."""
        n_terms = [part.stop - part.start for part in self.parts[: len(self.constraints)]]
        n_gaps = [len(np.unique(self.owner[p])) for p in self.parts[: len(self.constraints)]]
        numbers = np.asarray(values, dtype=np.float64)
        return np.repeat(numbers, n_terms), np.repeat(numbers, n_gaps)

    def of_gaps(self, values: Floats) -> Floats:
        """Of the values of each reported gap's terms, the one of largest size."""
        largest = np.zeros(len(self.tolerance))
        for k, value in zip(self.owner.tolist(), values.tolist(), strict=True):
            if k >= 0 and not abs(value) <= abs(largest[k]):
                largest[k] = value
        return largest


def _own_tolerances(families: Sequence[GapFamily], sizes: Sequence[int]) -> Floats:
    own = [np.nan if family.tolerance is None else family.tolerance for family in families]
    return np.repeat(np.array(own, dtype=np.float64), sizes)


class Objective:
    """Surrogate and strict AUC and gaps of scores, for fixed labels, groups and weights.

    `positive` and `codes` (group numbers 0..K−1) are as `decode` gives them. The bandwidth is in
    units of the score: standardise scores first. `optimism`, one for each gap asked for, is added
    to it and its terms: by how much they are known to be larger on new rows. An empty cell counts
    for nothing where its coefficient is zero and makes gaps that need it NaN: check beforehand.
    """

    def __init__(
        self,
        positive: Bools,
        codes: Ints,
        n_groups: int,
        constraints: Sequence[GapFamily] = (),
        *,
        weight: Floats | None = None,
        bandwidth: float = 0.3,
        guards: bool = False,
        optimism: Floats | float = 0.0,
    ) -> None:
        if not bandwidth > 0.0:
            raise ValueError(f"bandwidth must be above 0, not {bandwidth!r}.")
        self.n_groups, self.n_cells = n_groups, 2 * n_groups
        self.positive, self.codes = np.asarray(positive, dtype=bool), np.asarray(codes)
        self.weight = weight
        self.bandwidth = float(bandwidth)
        self.cell = (self.codes + n_groups * self.positive).astype(np.intp)
        weights = np.ones(len(self.cell)) if weight is None else weight
        totals = np.bincount(self.cell, weights=weights, minlength=self.n_cells).astype(np.float64)
        self.cell_weights = totals.reshape(2, n_groups)
        self.share = weights / totals[self.cell]
        self.terms = Terms.of(constraints, n_groups, guards=guards)
        expected = np.broadcast_to(optimism, self.terms.tolerance.shape)
        self.optimism = np.append(expected, 0.0)[self.terms.owner]  # none of guards
        self._expected = expected
        needs = [family.needs(n_groups) for family in self.terms.families] if 0.0 in totals else []
        self._undefined = np.zeros(len(self.terms), dtype=bool)
        for part, cells in zip(self.terms.parts, needs, strict=False):
            self._undefined[part] = cells[:, totals == 0.0].any(axis=1)
        negatives, positives = self.cell_weights / self.cell_weights.sum(axis=1, keepdims=True)
        self._overall = np.zeros((self.n_cells, self.n_cells))
        self._overall[:n_groups, n_groups:] = np.outer(negatives, positives)

    def _grouped(self, score: Floats) -> GroupedScores:
        groups = tuple(range(self.n_groups))
        return GroupedScores.from_codes(
            score, self.positive, self.codes, groups, weight=self.weight
        )

    def auc(self, score: Floats) -> float:
        """The exact overall AUC."""
        return overall_auc(self._grouped(score))

    def reported(self, score: Floats) -> Strict:
        """The exact overall AUC and the gaps as they are reported, none of the terms."""
        scores = self._grouped(score)
        gaps = [family.values(scores) for family in self.terms.constraints]
        return Strict(
            overall_auc(scores), np.zeros(0), np.concatenate([np.zeros(0), *gaps]) + self._expected
        )

    def strict(self, score: Floats) -> Strict:
        """The exact overall AUC, and the exact gap of every term and as it is reported."""
        scores = self._grouped(score)
        terms = [family.values(scores) for family in self.terms.families]
        gaps = [
            own if family is trained else family.values(scores)
            for family, trained, own in zip(
                self.terms.constraints, self.terms.families, terms, strict=False
            )
        ]
        return Strict(
            overall_auc(scores),
            np.concatenate([np.zeros(0), *terms]) + self.optimism,
            np.concatenate([np.zeros(0), *gaps]) + self._expected,
        )

    def standard_errors(self) -> Floats:
        """Of each term, were the groups alike.

        A weight of two counts as two observations; weights that add up to less than the number of
        rows are relative ones.
        """
        total = float(self.cell_weights.sum())
        sizes = self.cell_weights.reshape(-1) * max(1.0, len(self.cell) / total)
        return np.concatenate(
            [np.zeros(0), *(family.noise(sizes) for family in self.terms.families)]
        )

    def evaluate(self, score: Floats, respond: Respond) -> Evaluation:
        """Surrogates and the gradient with respect to the scores.

        `respond` turns the gaps into what they cost and the derivative of that cost by each gap:
        with fixed multipliers m, (m · gaps, m).
        """
        smooth = smooth_cells(score, self.cell, self.share, self.cell_weights, self.bandwidth)
        auc = float(np.sum(self._overall * smooth.auc))
        surrogates = [family.surrogate(smooth) for family in self.terms.families]
        gaps = np.concatenate([np.zeros(0), *(one.gaps for one in surrogates)]) + self.optimism
        gaps[self._undefined] = np.nan
        cost, multipliers = respond(gaps)
        slopes = smooth.auc_slopes(-self._overall)
        for surrogate, part in zip(surrogates, self.terms.parts, strict=True):
            slopes += surrogate.slopes(multipliers[part])
        gradient = smooth.grid.read(slopes, self.cell, score)
        gradient *= self.share
        return Evaluation(auc, gaps, 1.0 - auc + cost, gradient, smooth.grid, slopes)


@dataclass(frozen=True, eq=False)
class Standardised:
    """(raw − mean) / scale, under weights that add up to one."""

    score: Floats
    mean: float
    scale: float
    share: Floats

    def pull_back(self, gradient: Floats) -> Floats:
        """The gradient with respect to the raw scores, mean and scale moving with them."""
        sums = np.zeros(2)
        for rows in chunks(len(gradient)):
            part = gradient[rows]
            sums += np.array([part.sum(), part @ self.score[rows]])
        total, along = sums.tolist()
        pulled = np.empty(len(gradient))
        for rows in chunks(len(gradient)):
            moved = self.share[rows] * (total + along * self.score[rows])
            pulled[rows] = (gradient[rows] - moved) / self.scale
        return pulled


def standardise(raw: Floats, share: Floats) -> Standardised:
    """Standardise scores; constant ones become zero, with a scale of one.

    >>> standardise(np.array([1.0, 3.0]), np.array([0.5, 0.5])).score
    array([-1.,  1.])
    """
    mean = float(sum(float(share[rows] @ raw[rows]) for rows in chunks(len(raw))))
    centred, square = np.empty(len(raw)), 0.0
    for rows in chunks(len(raw)):
        np.subtract(raw[rows], mean, out=centred[rows])
        square += float(share[rows] @ np.square(centred[rows]))
    scale = float(np.sqrt(square))
    if not scale > 1e-12 * max(abs(mean), 1e-300):
        return Standardised(np.zeros_like(centred), mean, 1.0, share)
    centred /= scale
    return Standardised(centred, mean, scale, share)
