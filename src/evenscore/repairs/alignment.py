"""Maps through the points, and between them the order that costs the least AUC.

Between two neighbouring points the people of different groups are compared with each other only
within that segment: whatever happens there, everybody above or below stays above or below. So
every segment is settled on its own. Where rates on both sides are constrained the maps are
straight lines, which keeps the groups' distributions alike in between; elsewhere the groups are
merged in the order that ranks best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenscore.repairs.maps import IncreasingMap
from evenscore.repairs.points import Points
from evenscore.repairs.profile import Profile
from evenscore.scores import GroupedScores

__all__ = ["Aligner"]

Floats = NDArray[np.float64]
Order = tuple[IncreasingMap, ...] | None  # None: straight lines

_LEVELS = 16  # at which merged scores are brought back to the scale of the score


@dataclass(frozen=True, eq=False)
class Aligner:
    """Makes the maps of all groups from points and from an order for every segment."""

    scores: GroupedScores
    profile: Profile

    def maps(self, points: Points, orders: Sequence[Order]) -> tuple[IncreasingMap, ...]:
        """One map a group."""
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
                inner = np.concatenate([order[z].x, order[z].inverse(scale.x)])
                inner = np.unique(inner[(inner > after) & (inner < before)])
                inner = np.concatenate(([after], inner, [before])) if after < before else inner
                if after == before:
                    inner = np.array([after])
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
        merged: list[Floats] = []
        had: list[Floats] = []
        weights: tuple[list[Floats], list[Floats]] = ([], [])
        for z, group in enumerate(self.profile.groups):
            negatives, positives = group.masses
            inside = (group.values > at[z, k]) & (group.values < at[z, k + 1])
            merged.append(order[z](group.values[inside]))
            weights[0].append((negatives + positives)[inside])
            inside = (group.values > value[k]) & (group.values < value[k + 1])
            had.append(group.values[inside])
            weights[1].append((negatives + positives)[inside])
        x = _quantiles(np.concatenate(merged), np.concatenate(weights[0]))
        y = _quantiles(np.concatenate(had), np.concatenate(weights[1]))
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
