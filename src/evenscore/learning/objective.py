"""What learners of scores look at: AUC and gaps, exact ones and smooth ones with their slopes.

Smooth ones replace the step function by a logistic one, for any mixture of families of gaps and any
number of groups: each family brings its surrogate. The derivative at a score depends on the score
and its cell only: it is a function on a grid for each cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from scipy import sparse

from evenscore.gaps.family import GapFamily
from evenscore.gaps.smooth import smooth_cells
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Bools, Floats, Ints, chunks
from evenscore.scores.aucs import overall_auc


@dataclass(frozen=True, eq=False)
class Linearised:
    """Surrogate AUC and gaps, and how each changes with the scores.

    `slopes`, (1 + some, places), are those of 1 − AUC and of some gaps for a person at a place of
    the grid; `placed`, (n, places), is where people are, in parts that add up to their share.
    """

    auc: float
    gaps: Floats
    slopes: Floats
    placed: sparse.csr_array


@dataclass(frozen=True, eq=False)
class Strict:
    """Exact AUC and gaps: those of the terms, and those that are reported."""

    auc: float
    terms: Floats
    gaps: Floats


@dataclass(frozen=True, eq=False)
class Terms:
    """What a scorer is trained to close: the gaps of the constraints, then those of their guards.

    A gap over a range of cuts is trained at several of them, each a term of its own: `owner` is the
    position of the reported gap that a term belongs to, −1 of a guard. Of the reported gaps,
    `tolerance` is NaN where the constraint does not say, and `cells` (gaps, 2K) says which cells a
    gap looks at.
    """

    constraints: tuple[GapFamily, ...]
    families: tuple[GapFamily, ...]
    parts: tuple[slice, ...]  # where the terms of each family stand
    owner: Ints
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
        owner, first = [np.full(0, -1, dtype=np.intp)], 0
        for part, size in zip(cells, sizes, strict=False):
            times = size // max(1, len(part))
            owner.append(first + np.repeat(np.arange(len(part)), times))
            first += len(part)
        owner += [np.full(size, -1) for size in sizes[len(cells) :]]
        ends = np.cumsum([0, *sizes]).tolist()
        return cls(
            tuple(constraints),
            families,
            tuple(slice(*pair) for pair in pairwise(ends)),
            np.concatenate(owner),
            _own_tolerances(families, sizes),
            _own_tolerances(constraints, [len(part) for part in cells]),
            np.concatenate([np.zeros((0, 2 * n_groups), dtype=bool), *cells]),
        )

    @property
    def asked(self) -> Bools:
        """Which terms are of the gaps asked for, not of guards."""
        return self.owner >= 0

    def of_owners(self, values: Floats) -> Floats:
        """Of each reported gap, the largest of the values of its terms."""
        largest = np.zeros(len(self.tolerance))
        np.maximum.at(largest, self.owner[self.asked], values[self.asked])
        return largest

    def by_constraint(self, values: Sequence[float]) -> Floats:
        """A number for each constraint, repeated for its reported gaps."""
        n_gaps = [len(np.unique(self.owner[p])) for p in self.parts[: len(self.constraints)]]
        return np.repeat(np.asarray(values, dtype=np.float64), n_gaps)


def _own_tolerances(families: Sequence[GapFamily], sizes: Sequence[int]) -> Floats:
    own = [np.nan if family.tolerance is None else family.tolerance for family in families]
    return np.repeat(np.array(own, dtype=np.float64), sizes)


class Objective:
    """Surrogate and strict AUC and gaps of scores, for fixed labels, groups and weights.

    `positive` and `codes` (group numbers 0..K−1) are as `decode` gives them. The bandwidth is in
    units of the score: standardise scores first. An empty cell counts for nothing where its
    coefficient is zero and makes gaps that need it NaN: check beforehand.
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
        return Strict(overall_auc(scores), np.zeros(0), np.concatenate([np.zeros(0), *gaps]))

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
            np.concatenate([np.zeros(0), *terms]),
            np.concatenate([np.zeros(0), *gaps]),
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

    def linearised(self, score: Floats, some: Ints) -> Linearised:
        """Surrogates, and slopes of the AUC and of some gaps; only places where people are."""
        smooth = smooth_cells(score, self.cell, self.share, self.cell_weights, self.bandwidth)
        surrogates = [family.surrogate(smooth) for family in self.terms.families]
        gaps = np.concatenate([np.zeros(0), *(one.gaps for one in surrogates)])
        gaps[self._undefined] = np.nan
        slopes = [smooth.auc_slopes(-self._overall)[None]]
        for surrogate, part in zip(surrogates, self.terms.parts, strict=True):
            size = part.stop - part.start
            for k in (some[(some >= part.start) & (some < part.stop)] - part.start).tolist():
                slopes.append(surrogate.slopes((np.arange(size) == k).astype(np.float64))[None])
        index, weights = smooth.grid.place(score)
        low, high = int(index.min()), int(index.max()) + 4
        places = (index - low + self.cell * (high - low))[:, None] + np.arange(4)
        parts = (np.column_stack(weights) * self.share[:, None]).reshape(-1)
        ends = 4 * np.arange(len(score) + 1)
        shape = (len(score), self.n_cells * (high - low))
        placed = sparse.csr_array((parts, places.reshape(-1), ends), shape=shape)
        flat = np.concatenate(slopes)[:, :, low:high].reshape(1 + len(some), -1)
        auc = float(np.sum(self._overall * smooth.auc))
        return Linearised(auc, gaps, flat, placed)


@dataclass(frozen=True, eq=False)
class Standardised:
    """(raw − mean) / scale, under weights that add up to one."""

    score: Floats
    mean: float
    scale: float
    share: Floats


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
