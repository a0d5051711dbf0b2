"""The common values of the cuts, and which score of each group is mapped there, in one order."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from evenscore.repairing.cuts import WantedCut
from evenscore.repairing.profile import GroupProfile, Profile
from evenscore.scores.arrays import Bools, Floats

_LIGHT = 1e-9  # weight of a guard that conflicts with a rate asked for


@dataclass(frozen=True, eq=False)
class Points:
    """Common values, increasing, and the score of each group that is mapped there.

    The first and the last point are the ends of the sample, which stay where they are.
    """

    value: Floats  # (m,)
    at: Floats  # (K, m), not decreasing
    free: Bools  # (m − 1,): between two points no constraint says anything
    conflicts: tuple[str, ...]  # rates asked for that could not all be had


def place(wanted: Sequence[WantedCut], profile: Profile, shares: Sequence[float]) -> Points:
    """Put the points in one order and make every group follow it.

    Points are ordered by their mean rank in the groups; common values follow that order (they need
    not by themselves: everybody's cuts can be in another order than all the groups' own, where the
    groups differ in prevalence). Where a group has points in another order they are pooled by
    isotonic regression on the group's ranks; guards give way to rates asked for.
    """
    low, high = profile.low, profile.high
    places = np.array([point.positions(share) for point, share in zip(wanted, shares, strict=True)])
    places = places.reshape(len(wanted), len(profile.groups)).T
    ranks = [group.rank_of(places[z]) for z, group in enumerate(profile.groups)]
    rank = np.mean(ranks, axis=0) if len(wanted) else np.empty(0)
    order = sorted(
        range(len(wanted)), key=lambda k: (rank[k], wanted[k].common, not wanted[k].asked)
    )
    points = [wanted[k] for k in order]
    at = places[:, order]
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
    for strand in {point.strand for point in points}:
        ends = [
            float(cut)
            for point, cut in zip(points, common, strict=True)
            if point.strand == strand and point.guarded
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
    return np.maximum.accumulate(result)  # neighbours meet halfway, which may be rounded


def _middle(at: Floats, weight: Floats, group: GroupProfile) -> float:
    """One place for several points: that of those asked for, in the middle of their ranks."""
    heavy = weight == weight.max()
    places = at[heavy]
    if np.ptp(places) == 0.0:
        return float(places[0])
    return float(group.value_at(np.asarray(group.rank_of(places).mean())))


def _isotonic(at: Floats, weight: Floats, group: GroupProfile) -> Floats:
    """Pool adjacent points that decrease; each pool lies where its heaviest points lie.

    SciPy's regression of the ranks would also pool points that increase but lie between the same
    two values of the group: they have one rank.
    """
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
