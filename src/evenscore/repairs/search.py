"""Look for the maps: as little movement as the tolerances allow, as much AUC as can be kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from evenscore.constraints import AucConstraint, RocConstraint
from evenscore.repairs.alignment import Aligner, Order
from evenscore.repairs.maps import IncreasingMap
from evenscore.repairs.orders import calibrated, common_order, mixed
from evenscore.repairs.points import Points, Wanted, place, wanted_points
from evenscore.repairs.profile import Profile
from evenscore.scores import GroupedScores

__all__ = ["Found", "Search"]

Floats = NDArray[np.float64]
Maps = tuple[IncreasingMap, ...]

_HALVINGS = 12
_SLACKS = 33  # shares of the tolerance that are tried, from the largest
_GRID = np.linspace(-8.0, 8.0, 33)  # offsets of a group's log-odds that are tried
_GAIN = 0.05  # a calibrated order must gain so much AUC, over the root of the smaller class


@dataclass(frozen=True, eq=False)
class Found:
    """The maps, and what stood in their way.

    `conflicts` are the rates asked for that could not all be had; `span` is how far the only AUC
    gap of two groups can be moved, if not far enough; `free` whether the ROC constraints leave
    room for AUC constraints.
    """

    maps: Maps
    conflicts: tuple[str, ...] = ()
    span: tuple[float, float] | None = None
    free: bool = True


@dataclass(frozen=True, eq=False)
class Search:
    """The sample, the constraints, and how far to go."""

    scores: GroupedScores
    roc: Sequence[RocConstraint]
    auc: Sequence[AucConstraint]
    tolerance: float
    strength: float | None
    guards: bool
    min_beyond: float
    sizes: Floats  # effective sizes of the cells by the labels, (2, K)

    @cached_property
    def _profile(self) -> Profile:
        return Profile.of(self.scores)

    @cached_property
    def _aligner(self) -> Aligner:
        return Aligner(self.scores, self._profile)

    @cached_property
    def _own_orders(self) -> Maps:
        return calibrated(self._profile, self.scores.effective_sizes)

    @cached_property
    def _score_order(self) -> Maps:
        low = np.array([self._profile.low])
        return (IncreasingMap(low, low),) * self.scores.n_groups

    def run(self) -> Found:
        """Points for the ROC constraints, an order in between, offsets for the AUC constraints."""
        wanted = wanted_points(
            self.scores,
            self.roc,
            guards=self.guards,
            tolerance=self.tolerance,
            min_beyond=self.min_beyond,
            sizes=self.sizes,
        )
        if self._profile.low == self._profile.high:
            return Found(self._score_order)
        asked = [one for one in wanted if one.asked]
        if asked and all(np.all(one.own == one.common) for one in asked):
            # The groups' cuts are the same already, as after a repair: nothing is to be moved.
            points = place(wanted, self._profile, [0.0] * len(wanted))
        else:
            points = self._points(wanted)
        if asked and not self.auc and self._excess(wanted, self._score_order) <= 0.0:
            return Found(self._score_order)  # every gap is within its tolerance already
        if np.all(points.at == points.value):
            orders: list[Order] = [self._score_order] * len(points.free)
        else:
            orders = self._best_orders(wanted, points)
        span = None
        if self.auc:
            orders, span = self._with_offsets(points, orders)
        free = bool(points.free.any())
        if all(order is self._score_order for order in orders) and np.all(
            points.at == points.value
        ):
            return Found(self._score_order, span=span, free=free)
        maps = self._aligner.maps(points, orders)
        if asked and not self.auc and self.strength is None:
            before, after = (self._excess(wanted, some) for some in (self._score_order, maps))
            if after > before:  # ties or conflicts: the score is better left alone
                maps = self._score_order
        return Found(maps, points.conflicts, span, free)

    # ------------------------------------------------------------------ ROC constraints

    def _points(self, wanted: list[Wanted]) -> Points:
        """As far as asked for, or as little as brings every gap within its tolerance."""
        if self.strength is not None:
            return place(wanted, self._profile, [self.strength] * len(wanted))

        def points(slack: float) -> Points:
            return place(wanted, self._profile, [one.strength(slack) for one in wanted])

        if not any(one.tolerance > 0.0 for one in wanted):
            return points(0.0)
        for slack in np.linspace(1.0, 0.0, _SLACKS):
            found = points(float(slack))
            if self._excess(wanted, self._straight(found)) <= 0.0:
                break
        return found

    def _straight(self, points: Points) -> Maps:
        return self._aligner.maps(points, [None] * len(points.free))

    def _excess(self, wanted: list[Wanted], maps: Maps) -> float:
        """By how much the worst gap asked for is beyond its tolerance; at most 0 if none is."""
        worst = -np.inf
        for one in wanted:
            if not one.asked:
                continue
            for i, j in combinations(range(len(maps)), 2):
                cut = maps[j].inverse(maps[i](one.own[i]))
                gap = float(one.cells[j].survival(cut)) - one.rate
                worst = max(worst, abs(gap) - one.tolerance - 1e-12)
        return worst

    # ------------------------------------------------------------------ between the points

    def _best_orders(self, wanted: list[Wanted], points: Points) -> list[Order]:
        """For every free segment the order with the largest AUC.

        Straight lines and the score's own order are compared first; the groups' log-odds must be
        better by more than chance makes them, and are not for those who go a share of the way. No
        order may bring a gap further beyond its tolerance than straight lines do.
        """
        orders: list[Order] = [None] * len(points.free)
        most = max(0.0, self._excess(wanted, self._straight(points)))
        smaller = float(self.scores.effective_sizes.sum(axis=1).min())
        others: list[tuple[Order, float]] = [(self._score_order, -1e-9)]
        if self.strength is None or self.strength >= 1.0:
            others.append((self._own_orders, _GAIN / np.sqrt(smaller)))
        for k in np.flatnonzero(points.free):
            best = self._profile.matrix(self._aligner.maps(points, orders)).overall
            for order, least in others:
                tried = [order if i == k else old for i, old in enumerate(orders)]
                maps = self._aligner.maps(points, tried)
                auc = self._profile.matrix(maps).overall
                if auc > best + least and self._excess(wanted, maps) <= most:
                    best, orders = auc, tried
        return orders

    # ------------------------------------------------------------------ AUC constraints

    def _with_offsets(
        self, points: Points, orders: list[Order]
    ) -> tuple[list[Order], tuple[float, float] | None]:
        """Merge the groups with offsets that bring the AUC gaps within their tolerances.

        If no offset brings the only gap of two groups there, also between which values it moves.
        """
        n_pairs = self.scores.n_groups * (self.scores.n_groups - 1) // 2
        told = [
            self.tolerance if one.tolerance is None else one.tolerance
            for one in self.auc
            for _ in range(n_pairs)
        ]
        left = np.array(told) + 1.0 / self._profile.smallest
        if self.strength is not None:
            left = np.full(len(told), 1.0 / self._profile.smallest)

        def gaps(some: list[Order]) -> Floats:
            return self._profile.gaps(self._aligner.maps(points, some), list(self.auc))

        before = gaps(orders)
        if not points.free.any() or np.all(np.abs(before) <= left):
            return orders, None
        common = common_order(self._profile, self.scores.effective_sizes)

        def merged(offsets: Floats, strength: float) -> list[Order]:
            order = mixed(common, self._own_orders, offsets, strength)
            return [order if free else old for free, old in zip(points.free, orders, strict=True)]

        offsets = _offsets(lambda theta: gaps(merged(theta, 1.0)), self.scores.n_groups)
        if self.strength is not None:
            return (merged(offsets, self.strength) if self.strength > 0.0 else orders), None
        tolerated = np.array(told)
        after = gaps(merged(offsets, 1.0))
        if not np.all(np.abs(after) <= tolerated):
            span = None
            if len(told) == 1 and abs(after[0]) > left[0]:
                tried = [gaps(merged(np.array([0.0, theta]), 1.0))[0] for theta in _GRID]
                span = float(min(*tried, before[0])), float(max(*tried, before[0]))
            # Several gaps may pull against each other: the worst must not become worse.
            worse = np.max(np.abs(after) - tolerated) > np.max(np.abs(before) - tolerated)
            return (orders if worse else merged(offsets, 1.0)), span
        if not tolerated.any():
            return merged(offsets, 1.0), None
        too_little, enough = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (too_little + enough) / 2.0
            if np.all(np.abs(gaps(merged(offsets, middle))) <= tolerated):
                enough = middle
            else:
                too_little = middle
        return merged(offsets, enough), None


def _offsets(gaps: Callable[[Floats], Floats], n_groups: int) -> Floats:
    """Offsets of the groups, the first one zero, at which the gaps are as small as can be."""

    def full(free: Floats) -> Floats:
        return np.concatenate(([0.0], free))

    def loss(free: Floats) -> float:
        return float(np.sum(gaps(full(free)) ** 2))

    theta = np.zeros(n_groups - 1)
    if n_groups == 2:
        values = [gaps(full(np.array([offset]))) for offset in _GRID]
        theta[0] = _GRID[int(np.argmin([np.sum(value**2) for value in values]))]
        if len(values[0]) == 1:
            return full(_crossing(gaps, np.concatenate(values), theta))
    step, best = 0.1, loss(theta)
    for _ in range(20):
        here = gaps(full(theta))
        slopes = np.empty((len(here), len(theta)))
        for k in range(len(theta)):
            shift = step * (np.arange(len(theta)) == k)
            slopes[:, k] = (gaps(full(theta + shift)) - gaps(full(theta - shift))) / (2.0 * step)
        move = -np.linalg.lstsq(slopes, here, rcond=1e-6)[0]
        move = np.clip(move, -1.0, 1.0)
        for share in (1.0, 0.5, 0.25, 0.1):
            tried = loss(theta + share * move)
            if tried < best:
                theta, best = theta + share * move, tried
                break
        else:
            if step < 0.02:
                break
            step /= 2.0
    return full(theta)


def _crossing(gaps: Callable[[Floats], Floats], values: Floats, theta: Floats) -> Floats:
    """The offset, nearest to zero, at which the only gap changes its sign; else the best seen."""
    change = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) <= 0.0)
    if len(change) == 0:
        return theta
    k = change[int(np.argmin(np.abs(_GRID[change] + _GRID[change + 1])))]
    low, high, sign = _GRID[k], _GRID[k + 1], np.sign(values[k])
    best, least = theta, abs(float(gaps(np.append(0.0, theta))[0]))
    for _ in range(30):
        middle = (low + high) / 2.0
        value = float(gaps(np.array([0.0, middle]))[0])
        if abs(value) <= least:
            best, least = np.array([middle]), abs(value)
        if np.sign(value) == sign:
            low = middle
        else:
            high = middle
    return best
