"""From chances to positions: bars found on rows left out, and the map to shares of everyone."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import final

import numpy as np

from evenscore.gaps.placeable import Placeable
from evenscore.learning.bars import Bars, PositionMap, coordinates
from evenscore.learning.posteriors import Cells, CrossFitted
from evenscore.learning.training_set import TrainingSet
from evenscore.learning.wholeness import check_names, check_numbers, part_of
from evenscore.placement.bars import Knots, common_bars, find_bars, positions, shares_above
from evenscore.placement.problem import Points, Problem
from evenscore.scores.arrays import Floats, Ints, chunks
from evenscore.scores.labels import distinct_names

_MOST_POINTS = 200_000  # that bars are found on; of more people a sample by cell
_KNOTS = {True: (6.0, 4, 12), False: (5.0, 8, 24)}  # √n over so much, between these: 2 groups, more
_WIDEN = 1.5  # distances to the nearest knot: how far a knot reaches
_TOLD, _MOST_TOLD = 0.99, 0.9  # the chance of a group from which on it is told; of so many people
_STEPS, _POLISH = 20, 3  # programs, or four for each group; and those on the counts of all


@final
@dataclass(frozen=True, eq=False)
class Placer:
    """Bars of knots, (J, B), where log-odds cross them, and the share of everyone behind.

    `scale` is the deviation of the log-odds, over which the ends of the scale are approached.
    """

    knots: Knots
    levels: Floats
    scale: float
    map: PositionMap
    n_groups: int

    def check_whole(self, n_groups: int) -> None:
        """Refuse what was read from a file and cannot place people of so many groups."""
        for part in (self, part_of(self, "knots", Knots), part_of(self, "map", PositionMap)):
            check_names(part)
        if part_of(self, "n_groups", int) != n_groups:
            raise ValueError("Placer must be of as many groups as its chances.")
        width = 2 * n_groups if n_groups > 2 else 2
        levels, knots = part_of(self, "levels", np.ndarray), self.knots
        number = len(part_of(knots, "centres", np.ndarray))
        if levels.ndim != 2 or not levels.size or not number:
            raise ValueError("Placer must hold bars.")
        check_numbers(self, "levels", (len(levels), number))
        check_numbers(knots, "centres", (number, width))
        check_numbers(knots, "mean", (width,))
        check_numbers(knots, "scale", (width,), above=0.0)
        check_numbers(knots, "width", (), above=0.0)
        check_numbers(self, "scale", (), above=0.0)
        n = len(part_of(self.map, "marks", np.ndarray))
        for name in ("marks", "shares"):
            check_numbers(self.map, name, (n,))
            if np.any(np.diff(getattr(self.map, name)) < 0.0):
                raise ValueError(f"PositionMap.{name} must rise.")

    def bars(self, groups: Floats) -> Floats:
        """The bars of people, (n, J); alone or in a batch the same."""
        return np.asarray(np.einsum("nb,jb->nj", self.knots(groups), self.levels))

    def crossings(self, cells: Cells) -> Floats:
        """How many cuts people with such chances pass, with fractions."""
        passed = np.empty(len(cells))
        for rows in chunks(len(cells)):
            odds, groups = coordinates(cells[rows], self.n_groups)
            passed[rows] = positions(odds, self.bars(groups), self.scale)
        return passed

    def __call__(self, cells: Cells) -> Floats:
        """The positions of people with such chances."""
        return self.map(self.crossings(cells), len(self.levels))


@final
@dataclass(frozen=True, eq=False)
class Found:
    """A placer, and what is to be said of it.

    Parameters
    ----------
    placer : Placer
    told : array of shape (n,)
        Where rows cross the bars found without their fold; NaN of rows that all bars have seen.
    others : list of arrays of shape (n,)
        Where all rows cross the bars of each fold.
    bars : Bars or None
        In words.
    left : str
        The constraint furthest from what was asked, in words; nothing if all are met.
    spared : tuple of str
        Where more than the tolerance was allowed, since it could not be told from chance.
    """

    placer: Placer
    told: Floats
    others: list[Floats]
    bars: Bars | None = None
    left: str = ""
    spared: tuple[str, ...] = ()


@final
@dataclass(frozen=True, eq=False)
class Evidence:
    """What bars are found on: rows without their features, and chances that models gave them.

    `order` are the places of the user's groups among those of the rows.
    """

    rows: TrainingSet
    crossed: CrossFitted
    order: Ints
    folds: int

    @cached_property
    def points(self) -> Points:
        """Everybody; log-odds of a positive are the score without constraints."""
        rows = self.rows
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        return Points(self._coordinates[0], rows.cell, weight, len(rows.groups))

    @cached_property
    def _coordinates(self) -> tuple[Floats, Floats]:
        return coordinates(self.crossed.cells, len(self.rows.groups))

    @property
    def tells_groups(self) -> bool:
        """Whether the group of nine in ten is told with a chance of 99%: bars cannot move then."""
        groups = self.crossed.cells.reshape(len(self.rows), 2, -1).sum(axis=1)
        return bool(np.mean(groups.max(axis=1) > _TOLD) > _MOST_TOLD)

    def named(self, groups: tuple[Hashable, ...]) -> TrainingSet:
        """The rows with the user's groups in their own order."""
        codes = np.argsort(self.order)[self.rows.codes]
        return replace(self.rows, codes=codes, groups=groups)

    def problem(
        self, families: Sequence[Placeable], tolerances: Sequence[float], points: Points
    ) -> Problem:
        """What is asked of points that stand for everybody."""
        sizes = self.rows.grouped(self.points.odds).independent_sizes.reshape(-1)
        return Problem.of(families, tolerances, points, sizes)

    def place(
        self, families: Sequence[Placeable], tolerances: Sequence[float], smoothness: float
    ) -> Found:
        """The best bars under some constraints, each with its tolerance."""
        everyone, groups = self.points, self._coordinates[1]
        scale = np.sqrt(np.cov(everyone.odds, aweights=everyone.weight))
        told = np.where(self.crossed.fold < 0, np.nan, everyone.odds)
        map_ = PositionMap(np.zeros(0), np.zeros(0))
        one = Knots.one(groups.shape[1])
        common = np.array([[np.median(everyone.odds)]])
        placer = Placer(one, common, float(np.maximum(scale, 1e-6)), map_, everyone.n_groups)
        if not families:
            return Found(self._mapped(placer), told, [])
        problem = self.problem(families, tolerances, everyone)
        index, points = everyone.thinned(_MOST_POINTS)
        placer = replace(placer, levels=common_bars(problem, points)[:, None])
        equal = shares_above(points, np.ones((len(points), 1)), placer.levels)
        left, others = "", list[Floats]()
        if any(part.max() > 0.0 for part in problem.excess(equal)):
            found = self._found(problem, points, groups[index], index, placer, smoothness)
            placer, told, others = found
            membership = placer.knots(groups[index])
            left = problem.shortfall(shares_above(points, membership, placer.levels))
        names = distinct_names(self.rows.groups)
        own, cells = placer.bars(groups[index]), self.crossed.cells[index]
        bars = Bars.of(problem, points.weight, own, cells, names, self.order)
        return Found(self._mapped(placer), told, others, bars, left, problem.spared)

    def _found(
        self,
        problem: Problem,
        points: Points,
        groups: Floats,
        index: Ints,
        placer: Placer,
        smoothness: float,
    ) -> tuple[Placer, Floats, list[Floats]]:
        """The bars found from the mean of those of the folds, each found without one.

        There are many bars nearly as good as the best; the mean is in their middle, and moves less
        with the sample. And where rows cross the bars found without their fold, and all of them.
        """
        fold, cells = self.crossed.fold, self.crossed.cells
        part, least, most = _KNOTS[points.n_groups == 2]
        number = int(np.clip(np.sqrt(len(fold)) / part, least, most))
        knots = Knots.fit(groups, number, _WIDEN)
        steps = max(_STEPS, 4 * points.n_groups)
        find = partial(find_bars, problem, knots=knots, smoothness=smoothness, steps=steps)
        levels, others, told = [], [], np.full(len(fold), np.nan)
        for k in range(self.folds):
            some, test = fold[index] != k, fold == k
            levels.append(find(points.rows(some), groups[some]))
            others.append(replace(placer, knots=knots, levels=levels[-1]).crossings(cells))
            told[test] = others[-1][test]
        best = find(points, groups, start=np.mean(levels, axis=0), polish=_POLISH)
        return replace(placer, knots=knots, levels=best), told, others

    def _mapped(self, placer: Placer) -> Placer:
        """With the map from crossings to shares of everyone, as new people's are."""
        weight, crossed = self.points.weight, self.crossed
        alone = [placer.crossings(cells) for cells in crossed.alone]
        raw = placer.crossings(crossed.cells)
        return replace(placer, map=PositionMap.fit(raw, weight, crossed.kept, alone))
