"""Which scores of the groups are to be mapped to one common value.

A ROC constraint asks that, at a rate a of a class, the cut be the same for all groups. A group z
has its own cut t_z there (the class's threshold at rate a in the group), everybody together has c.
The maps send every t_z to c: whoever cuts the repaired score at c still selects a share a of the
class, now in every group. Only the order of scores matters to a gap or to an AUC, so the common
value costs nothing by itself; that it is c keeps the thresholds in use meaningful.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from evenscore.columns import counted
from evenscore.constraints import RocConstraint
from evenscore.distributions import Distribution
from evenscore.learning.terms import guard_rates
from evenscore.repairs.profile import GroupProfile, Profile
from evenscore.scores import CLASSES, GroupedScores, class_names

__all__ = ["Points", "Wanted", "place", "wanted_points"]

Floats = NDArray[np.float64]

_LIGHT = 1e-9  # weight of a guard that conflicts with a rate asked for


@dataclass(frozen=True, eq=False)
class Wanted:
    """One rate of one class: the groups' own cuts and the common one."""

    on: int  # 0 negatives, 1 positives
    rate: float
    asked: bool  # or a guard
    guarded: bool  # the rates around are constrained, too
    tolerance: float
    common: float
    own: Floats  # (K,)
    excess: Floats  # (K,): rate of each group at the common cut, less the rate
    cells: tuple[Distribution, ...]

    @property
    def name(self) -> str:
        """For instance 'negatives at 0.125'."""
        return f"{CLASSES[self.on]} at {self.rate:.4g}"

    def strength(self, slack: float) -> float:
        """How far to go from the common cut to the own ones, to leave slack · tolerance."""
        spread = float(np.ptp(self.excess))
        left = slack * self.tolerance
        if left <= 0.0:
            return 1.0
        return max(0.0, 1.0 - left / spread) if spread > 0.0 else 0.0

    def positions(self, strength: float) -> Floats:
        """The score of each group that is mapped to the common cut."""
        if strength >= 1.0:
            return self.own
        if strength <= 0.0:
            return np.full(len(self.own), self.common)
        rates = np.clip(self.rate + (1.0 - strength) * self.excess, 0.0, 1.0 - 1e-9)
        return np.array(
            [float(cell.threshold(rate)) for cell, rate in zip(self.cells, rates, strict=True)]
        )


def wanted_points(
    scores: GroupedScores,
    constraints: Sequence[RocConstraint],
    *,
    guards: bool,
    tolerance: float,
    min_beyond: float,
    sizes: Floats,
) -> list[Wanted]:
    """All rates asked for, and their guards where the cells are large enough for them.

    `sizes` are the effective sizes of the cells, (2, K), by the labels.
    """
    asked: dict[tuple[int, float], tuple[bool, float]] = {}  # guarded, tolerance
    around: dict[tuple[int, float], tuple[bool, float]] = {}
    for constraint in constraints:
        told = tolerance if constraint.tolerance is None else constraint.tolerance
        isolated = constraint.interval is None
        for on in class_names(constraint.on):
            c = CLASSES.index(on)
            for rate in constraint.rates:
                _check_size(scores, sizes, c, rate, min_beyond)
                new = (guards or not isolated, told)
                asked[c, rate] = _stricter(new, asked.get((c, rate)))
            if guards and isolated:
                for rate in guard_rates(constraint.rates):
                    if _beyond(sizes, c, rate).min() >= max(min_beyond, 1.0):
                        around[c, rate] = _stricter((True, told), around.get((c, rate)))
    cells, n = scores.cell_distributions, scores.n_groups
    pooled = {c: scores.pooled(CLASSES[c]) for c in {c for c, _ in asked}}
    found = []
    for (c, rate), (guarded, told) in {**around, **asked}.items():
        own_cells = tuple(cells[c * n : (c + 1) * n])
        common = float(pooled[c].threshold(rate))
        own = np.array([float(cell.threshold(rate)) for cell in own_cells])
        excess = np.array([float(cell.survival(common)) for cell in own_cells]) - rate
        is_asked = (c, rate) in asked
        found.append(Wanted(c, rate, is_asked, guarded, told, common, own, excess, own_cells))
    return _without_conflicts(found)


def _stricter(new: tuple[bool, float], old: tuple[bool, float] | None) -> tuple[bool, float]:
    """What two constraints on the same rate come to: guarded if one is, the smaller tolerance."""
    return new if old is None else (new[0] or old[0], min(new[1], old[1]))


def _without_conflicts(wanted: list[Wanted]) -> list[Wanted]:
    """Without the guards that some group has on the other side of a rate asked for.

    Pooled with that rate, such a guard would make a map leap at the very cut that matters, and the
    sampling error of the cut be multiplied there.
    """
    asked = [one for one in wanted if one.asked]
    return asked + [
        guard
        for guard in wanted
        if not guard.asked and not any(_reversed(guard, one) for one in asked)
    ]


def _reversed(guard: Wanted, asked: Wanted) -> bool:
    sides = np.sign(guard.own - asked.own)
    return bool(sides[0] == 0.0 or np.any(sides != sides[0]))


def _beyond(sizes: Floats, c: int, rate: float) -> Floats:
    """How many observations of each group are expected on the smaller side of the cut."""
    return np.asarray(sizes[c] * min(rate, 1.0 - rate))


def _check_size(scores: GroupedScores, sizes: Floats, c: int, rate: float, least: float) -> None:
    beyond = _beyond(sizes, c, rate)
    if beyond.min() + 1e-9 < least:
        group = int(np.argmin(beyond))
        cell = scores.cell_name(c * scores.n_groups + group)
        raise ValueError(
            f"The {cell} are worth {counted(sizes[c, group], 'observation')}, "
            f"{beyond[group]:.1f} of them beyond the cut at rate {rate:.4g}, where a repair needs "
            f"{least:g} (min_beyond): join groups, ask for other rates or find more data."
        )


@dataclass(frozen=True, eq=False)
class Points:
    """Common values, increasing, and the score of each group that is mapped there.

    The first and the last point are the ends of the sample, which stay where they are.
    """

    value: Floats  # (m,)
    at: Floats  # (K, m), not decreasing
    free: NDArray[np.bool_]  # (m − 1,): between two points no constraint says anything
    conflicts: tuple[str, ...]  # rates asked for that could not all be had


def place(wanted: Sequence[Wanted], profile: Profile, strengths: Sequence[float]) -> Points:
    """Put the points in one order and make every group follow it.

    Points are ordered by their mean rank in the groups; common values follow that order (they need
    not by themselves: everybody's cuts can be in another order than all the groups' own, where the
    groups differ in prevalence). Where a group has points in another order they are pooled by
    isotonic regression on the group's ranks; guards give way to rates asked for.
    """
    low, high = profile.low, profile.high
    found = np.array([one.positions(told) for one, told in zip(wanted, strengths, strict=True)])
    found = found.reshape(len(wanted), len(profile.groups)).T
    ranks = [group.rank_of(found[z]) for z, group in enumerate(profile.groups)]
    rank = np.mean(ranks, axis=0) if len(wanted) else np.empty(0)
    order = sorted(
        range(len(wanted)), key=lambda k: (rank[k], wanted[k].common, not wanted[k].asked)
    )
    points = [wanted[k] for k in order]
    at = found[:, order]
    common = _increasing(np.array([point.common for point in points]), low, high)
    weight = np.array([1.0 if point.asked else _LIGHT for point in points])
    value, start = np.unique(common, return_index=True)
    stop = np.append(start, len(points))[1:]
    kept = np.empty((len(profile.groups), len(value)))
    conflicts: set[str] = set()
    for z, group in enumerate(profile.groups):
        for k, (i, j) in enumerate(zip(start, stop, strict=True)):
            kept[z, k] = _middle(at[z, i:j], weight[i:j], group)
        heavy = np.maximum.reduceat(weight, start) if len(start) else weight
        kept[z] = _isotonic(kept[z], heavy, group)
        moved = np.repeat(kept[z], stop - start) != at[z]
        conflicts |= {points[k].name for k in np.flatnonzero(moved) if points[k].asked}
    free = np.ones(len(value) + 1, dtype=bool)
    for c in (0, 1):
        ends = [
            float(own)
            for point, own in zip(points, common, strict=True)
            if point.on == c and point.guarded
        ]
        if ends:
            inside = np.concatenate(([-np.inf], value)) >= min(ends)
            free &= ~(inside & (np.concatenate((value, [np.inf])) <= max(ends)))
    margin = 1e-3 * (high - low) if high > low else 1.0
    first = low - margin if len(value) and value[0] <= low else low
    last = high + margin if len(value) and value[-1] >= high else high
    ends_at = np.ones((len(profile.groups), 1))
    return Points(
        np.concatenate(([first], value, [last])),
        np.concatenate([first * ends_at, kept, last * ends_at], axis=1),
        free,
        tuple(sorted(conflicts)),
    )


def _increasing(common: Floats, low: float, high: float) -> Floats:
    """The common values, none below an earlier one; those that had to be changed stay apart."""
    if len(common) == 0:
        return common
    pooled = np.asarray(isotonic_regression(common).x)
    result = pooled.copy()
    for value in np.unique(pooled[pooled != common]):
        members = np.flatnonzero(pooled == value)
        below = pooled[pooled < value].max(initial=low)
        above = pooled[pooled > value].min(initial=high)
        width = 0.5 * min(value - below, above - value)
        result[members] = value + width * np.linspace(-1.0, 1.0, len(members))
    return result


def _middle(at: Floats, weight: Floats, group: GroupProfile) -> float:
    """One place for several points: that of those asked for, in the middle of their ranks."""
    heavy = weight == weight.max()
    places = at[heavy]
    if np.ptp(places) == 0.0:
        return float(places[0])
    return float(group.value_at(np.asarray(group.rank_of(places).mean())))


def _isotonic(at: Floats, weight: Floats, group: GroupProfile) -> Floats:
    """Pool adjacent points that decrease; each pool lies where its heaviest points lie."""
    pools: list[tuple[int, int]] = []
    places: list[float] = []
    for k in range(len(at)):
        pools.append((k, k + 1))
        places.append(float(at[k]))
        while len(places) > 1 and places[-1] < places[-2]:
            i, j = pools[-2][0], pools[-1][1]
            del pools[-1], places[-1]
            pools[-1] = (i, j)
            places[-1] = _middle(at[i:j], weight[i:j], group)
    return np.repeat(places, [j - i for i, j in pools]) if pools else at
