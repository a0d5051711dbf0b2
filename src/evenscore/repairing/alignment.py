"""Maps through the points, and between them the order that costs the least AUC.

Between two neighbouring points the people of different groups are compared with each other only
within that segment: whatever happens there, everybody above or below stays above or below. So
every segment is settled on its own. Where rates on both sides are constrained the maps are
straight lines, which keeps the groups' distributions alike in between; elsewhere the groups are
merged in the order that ranks best.

AUC is largest when people are ordered by the odds of being positive, whatever their group. Under a
constraint on AUCs between groups the best order is the log-odds plus an offset of the group: a pair
of a negative and a positive from two groups then counts a little more one way round than the other,
and that moves the odds by a factor.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenscore.repairing.maps import IncreasingMap
from evenscore.repairing.points import Points
from evenscore.repairing.profile import GroupProfile, Profile
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats

Order = tuple[IncreasingMap, ...] | None  # None: straight lines

_LEVELS = 16  # at which merged scores are brought back to the scale of the score
_BINS = 24  # of the log-odds: lines between so many centres bend as any smooth curve does
_PER_BIN = 25.0  # observations of the smaller class: a standard error of the log-odds of 0.2 or so
_END = 1.0  # log-odds from the last bin's centre to the end of the sample


@dataclass(frozen=True, eq=False)
class Aligner:
    """Makes the maps of all groups from points and from an order for every segment."""

    scores: GroupedScores
    profile: Profile

    def maps(self, points: Points, orders: Sequence[Order]) -> tuple[IncreasingMap, ...]:
        """One map per group."""
        scales = [
            None if order is None else self._scale(points, k, order)
            for k, order in enumerate(orders)
        ]
        return tuple(self._map(z, points, orders, scales) for z in range(len(self.profile.groups)))

    def _map(
        self,
        z: int,
        points: Points,
        orders: Sequence[Order],
        scales: Sequence[IncreasingMap | None],
    ) -> IncreasingMap:
        at, value = points.at[z], points.value
        xs, ys = [at[0]], [value[0]]
        for k, (order, scale) in enumerate(zip(orders, scales, strict=True)):
            start, stop = at[k], at[k + 1]
            if stop <= start:
                continue  # pooled with the next point: the map leaps there, after `start`
            after, before = self._neighbours(z, start, stop)
            if order is not None and scale is not None:
                bends = np.concatenate([order[z].x, order[z].inverse(scale.x)])
                ends = [after, before] if after <= before else []
                inner = np.union1d(ends, bends[(bends > after) & (bends < before)])
                for x, y in zip(inner.tolist(), scale(order[z](inner)).tolist(), strict=True):
                    if ys[-1] < y < value[k + 1] and y > value[k]:
                        xs.append(x)
                        ys.append(y)
            elif ys[-1] < value[k] and after < stop:
                xs.append(after)
                ys.append(value[k] + (after - start) / (stop - start) * (value[k + 1] - value[k]))
            xs.append(stop)
            ys.append(value[k + 1])
        return IncreasingMap.through(xs, ys)

    def _neighbours(self, z: int, start: float, stop: float) -> tuple[float, float]:
        """The first and the last observation of a group strictly between two scores.

        Without any, the first is at or beyond `stop`.
        """
        n = self.scores.n_groups
        first, last = np.inf, -np.inf
        for cell in (self.scores.cell_distributions[z], self.scores.cell_distributions[n + z]):
            i = int(np.searchsorted(cell.values, start, side="right"))
            j = int(np.searchsorted(cell.values, stop, side="left")) - 1
            if i <= j:
                first, last = min(first, cell.values[i]), max(last, cell.values[j])
        return float(first), float(last)

    def _scale(self, points: Points, k: int, order: tuple[IncreasingMap, ...]) -> IncreasingMap:
        """From the order of a segment to the scale of the score, between two common values.

        If the order is the score's own: a straight line. Otherwise the people in the segment get,
        as a whole, about the scores they had.
        """
        value, at = points.value, points.at
        low = min(float(order[z](at[z, k])) for z in range(len(order)))
        high = max(float(order[z](at[z, k + 1])) for z in range(len(order)))
        ends = ([low, high], [value[k], value[k + 1]])
        if not high > low:
            return IncreasingMap.through([low, low + 1.0], [value[k], value[k + 1]])
        if all(mapping.is_identity for mapping in order):
            return IncreasingMap.through(*ends)
        merged: list[tuple[Floats, Floats]] = []  # values and weights of the people inside
        before: list[tuple[Floats, Floats]] = []  # of those who had such scores
        for z, group in enumerate(self.profile.groups):
            weight = np.sum(group.masses, axis=0)
            inside = (group.values > at[z, k]) & (group.values < at[z, k + 1])
            merged.append((order[z](group.values[inside]), weight[inside]))
            inside = (group.values > value[k]) & (group.values < value[k + 1])
            before.append((group.values[inside], weight[inside]))
        x, y = (
            _quantiles(*(np.concatenate(part) for part in zip(*people, strict=True)))
            for people in (merged, before)
        )
        if not (len(x) and len(y)):
            return IncreasingMap.through(*ends)
        keep = (x > low) & (x < high) & (y < value[k + 1])
        # The end of the segment is certain; what does not lie below it has been left out.
        return IncreasingMap.through(
            np.concatenate(([low], x[keep], [high])),
            np.concatenate(([value[k]], y[keep], [value[k + 1]])),
        )


def _quantiles(values: Floats, weights: Floats) -> Floats:
    """The values at equally spaced levels; none if there is nobody."""
    if len(values) == 0:
        return values
    order = np.argsort(values)
    share = np.cumsum(weights[order])
    levels = np.arange(1, _LEVELS) / _LEVELS * share[-1]
    index = np.searchsorted(share, levels, side="left")
    return np.asarray(values[order][np.minimum(index, len(values) - 1)])


# ---------------------------------------------------------------------- orders


def calibrated(profile: Profile, sizes: Floats) -> tuple[IncreasingMap, ...]:
    """The log-odds of being positive in each group, as increasing functions of the score.

    Shares of positives in some twenty bins of equal size, pooled where they decrease, joined by
    straight lines. `sizes` are the effective sizes of the cells, (2, K).
    """
    return tuple(_log_odds(group, *sizes[:, z].tolist()) for z, group in enumerate(profile.groups))


def common_order(profile: Profile, sizes: Floats) -> IncreasingMap:
    """The log-odds of everybody together: the order of the score itself, on that scale."""
    values = np.unique(np.concatenate([group.values for group in profile.groups]))
    total = np.zeros((2, len(values)))
    for group in profile.groups:
        index = np.searchsorted(group.values, values, side="right")
        total += np.pad(group.up_to, ((0, 0), (1, 0)))[:, index]
    return _log_odds(GroupProfile(values, total), *sizes.sum(axis=1).tolist())


def mixed(
    common: IncreasingMap, own: tuple[IncreasingMap, ...], offsets: Floats, share: float
) -> tuple[IncreasingMap, ...]:
    """A share of the way from the score's own order (0) to that of log-odds with offsets (1)."""
    order = []
    for mapping, offset in zip(own, offsets, strict=True):
        x = np.union1d(common.x, mapping.x)
        y = (1.0 - share) * common(x) + share * (mapping(x) + offset)
        order.append(IncreasingMap.through(x, y))
    return tuple(order)


def _log_odds(group: GroupProfile, n_negatives: float, n_positives: float) -> IncreasingMap:
    """Bins whose odds decrease are pooled.

    That is not the isotonic regression of the bins: half an observation is added to every pool, not
    to every bin of it.
    """
    n_bins = int(np.clip(min(n_negatives, n_positives) / _PER_BIN, 1, _BINS))
    edges = np.searchsorted(group.rank, np.arange(1, n_bins) / n_bins, side="left")
    last = np.unique(np.append(edges, len(group.values) - 1))
    # Half an observation of each class more, so that no share is 0 or 1.
    extra = 0.5 * group.up_to[:, -1] / np.array([n_negatives, n_positives])
    masses = np.diff(group.up_to[:, last], prepend=0.0)
    blocks: list[tuple[Floats, float, float]] = []  # masses, first and last rank
    ranks = group.rank[last]
    for k in range(len(last)):
        blocks.append((masses[:, k], ranks[k - 1] if k else 0.0, ranks[k]))
        while len(blocks) > 1 and _odds(blocks[-1][0] + extra) <= _odds(blocks[-2][0] + extra):
            after, before = blocks.pop(), blocks.pop()
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
