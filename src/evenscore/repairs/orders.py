"""In which order the groups are merged where no constraint says anything.

AUC is largest when people are ordered by the odds of being positive, whatever their group. Under a
constraint on AUCs between groups the best order is the log-odds plus an offset of the group: a pair
of a negative and a positive from two groups then counts a little more one way round than the other,
and that moves the odds by a factor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenscore.repairs.maps import IncreasingMap
from evenscore.repairs.profile import GroupProfile, Profile

__all__ = ["calibrated", "common_order", "mixed"]

Floats = NDArray[np.float64]

_BINS = 24
_PER_BIN = 25.0  # observations of the smaller class
_END = 1.0  # log-odds from the last bin's centre to the end of the sample


def calibrated(profile: Profile, sizes: Floats) -> tuple[IncreasingMap, ...]:
    """The log-odds of being positive in each group, as increasing functions of the score.

    Shares of positives in some twenty bins of equal size, pooled where they decrease, joined by
    straight lines. `sizes` are the effective sizes of the cells, (2, K).
    """
    return tuple(_log_odds(group, *sizes[:, z].tolist()) for z, group in enumerate(profile.groups))


def common_order(profile: Profile, sizes: Floats) -> IncreasingMap:
    """The log-odds of everybody together: the order of the score itself, on that scale."""
    values = np.unique(np.concatenate([group.values for group in profile.groups]))
    parts = []
    for side in ("negatives", "positives"):
        total = np.zeros(len(values))
        for group in profile.groups:
            index = np.searchsorted(group.values, values, side="right")
            total += np.concatenate(([0.0], getattr(group, side)))[index]
        parts.append(total)
    return _log_odds(GroupProfile(values, *parts), *sizes.sum(axis=1).tolist())


def mixed(
    common: IncreasingMap, own: tuple[IncreasingMap, ...], offsets: Floats, strength: float
) -> tuple[IncreasingMap, ...]:
    """From the score's own order (strength 0) to that of log-odds with offsets (strength 1)."""
    found = []
    for mapping, offset in zip(own, offsets, strict=True):
        x = np.union1d(common.x, mapping.x)
        y = (1.0 - strength) * common(x) + strength * (mapping(x) + offset)
        found.append(IncreasingMap.through(x, y))
    return tuple(found)


def _log_odds(group: GroupProfile, n_negatives: float, n_positives: float) -> IncreasingMap:
    n_bins = int(np.clip(min(n_negatives, n_positives) / _PER_BIN, 1, _BINS))
    edges = np.unique(np.searchsorted(group.rank, np.arange(1, n_bins) / n_bins, side="left"))
    last = np.append(edges, len(group.values) - 1)
    last = np.unique(last)
    totals = np.array([group.negatives[-1], group.positives[-1]])
    # Half an observation of each class more, so that no share is 0 or 1.
    extra = 0.5 * totals / np.array([n_negatives, n_positives])
    masses = np.array(
        [np.diff(part[last], prepend=0.0) for part in (group.negatives, group.positives)]
    )
    blocks: list[tuple[Floats, float, float]] = []  # masses, first and last rank
    ranks = group.rank[last]
    for k in range(len(last)):
        blocks.append((masses[:, k], ranks[k - 1] if k else 0.0, ranks[k]))
        while len(blocks) > 1 and _odds(blocks[-1][0] + extra) <= _odds(blocks[-2][0] + extra):
            after = blocks.pop()
            before = blocks.pop()
            blocks.append((before[0] + after[0], before[1], after[2]))
    centres = group.value_at(np.array([(start + stop) / 2.0 for _, start, stop in blocks]))
    odds = np.log([_odds(mass + extra) for mass, _, _ in blocks])
    low, high = group.values[0], group.values[-1]
    x = np.concatenate(([low], centres, [high]))
    y = np.concatenate(([odds[0] - _END], odds, [odds[-1] + _END]))
    if x[1] <= low:
        x, y = x[1:], y[1:]
    if len(x) > 1 and x[-2] >= high:
        x, y = x[:-1], y[:-1]
    return IncreasingMap.through(x, y)


def _odds(mass: Floats) -> float:
    return float(mass[1] / mass[0])
