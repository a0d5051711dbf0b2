"""Look for the maps: as little movement as the tolerances allow, as much AUC as can be kept."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evenscore.gaps.family import family_values
from evenscore.repairing.alignment import Aligner, Order, calibrated, common_order, mixed
from evenscore.repairing.common_cuts import common_cuts
from evenscore.repairing.cuts import ClassCut, WantedCut, wanted_cuts, worst_excess
from evenscore.repairing.maps import IncreasingMap
from evenscore.repairing.offsets import GRID, best_offsets
from evenscore.repairing.points import Points, place
from evenscore.repairing.profile import Profile
from evenscore.repairing.ways import Goal, Judge, Standing, compromise, joined_targets, partly
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.scores.selection import ROUNDING

Maps = tuple[IncreasingMap, ...]

_HALVINGS = 12  # of the share of the way: to 1/4096 of it
_SLACKS = 33  # shares of the tolerance that are tried, from the largest
_PARTS = (0.75, 0.5, 0.25)  # of a way that is too long
_GAIN = 0.05  # a calibrated order must gain so much AUC, over the root of the smaller class


@dataclass(frozen=True, eq=False)
class Solution:
    """The maps, and what stood in their way.

    `conflicts` are the rates asked for that could not all be had; `span` is how far the only gap of
    two groups can be moved by shifts, if not far enough; `free` whether the cuts leave room for
    shifts.
    """

    maps: Maps
    conflicts: tuple[str, ...] = ()
    span: tuple[float, float] | None = None
    free: bool = True


@dataclass(frozen=True, eq=False)
class Search:
    """The sample, what is asked for, and how far to go.

    With a `share` that much of the way is gone, whatever the tolerances; None goes as far as these
    ask for. `sizes` are the effective sizes of the cells by the labels, (2, K); `averaged` says
    whether the repaired scores of several models will be averaged.
    """

    scores: GroupedScores
    goals: Sequence[Goal]
    share: float | None
    min_beyond: float
    sizes: Floats
    averaged: bool = False

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

    @cached_property
    def _shifted(self) -> list[Goal]:
        return [goal for goal in self.goals if goal.alignment.by_shifts]

    @cached_property
    def _at_common(self) -> list[Goal]:
        return [goal for goal in self.goals if goal.alignment.common is not None]

    def _wanted(self) -> list[WantedCut]:
        """The cuts to be aligned: those of the groups' own classes, then those of everybody."""
        of_classes = wanted_cuts(
            self.scores,
            [(cut, goal.tolerance) for goal in self.goals for cut in goal.alignment.cuts],
            min_beyond=self.min_beyond,
            sizes=self.sizes,
        )
        wanted: list[WantedCut] = list(of_classes)
        for target, tolerance in joined_targets(self.goals):
            wanted += common_cuts(
                self.scores,
                target,
                tolerance,
                min_beyond=self.min_beyond,
                sizes=self.sizes,
                averaged=self.averaged,
            )
        return wanted

    def _excess(self, wanted: list[WantedCut], maps: Maps) -> float:
        """By how much the worst gap is beyond its tolerance after the maps; at most 0 if none is.

        At cuts of everybody it is measured on the profile, whose error is allowed for.
        """
        worst = worst_excess([cut for cut in wanted if isinstance(cut, ClassCut)], maps)
        if self._at_common:
            mapped = self._profile.scores(maps)
            for goal in self._at_common:
                sizes = np.nan_to_num(np.abs(goal.family.values(mapped)), nan=1.0)
                beyond = float(np.max(sizes)) + self._profile.error - goal.tolerance
                worst = max(worst, beyond - ROUNDING)
        return worst

    def run(self) -> Solution:
        """Points for the cuts, an order in between, offsets for what is closed by shifts."""
        wanted = self._wanted()
        if self._profile.low == self._profile.high:
            return Solution(self._score_order)
        asked = [cut for cut in wanted if cut.asked]
        if asked and all(np.all(cut.own == cut.common) for cut in asked):
            # The groups' cuts are the same already, as after a repair: nothing is to be moved.
            points = self._share(wanted, 0.0)
        else:
            points = self._points(wanted)
        if asked and not self._shifted and self._excess(wanted, self._score_order) <= 0.0:
            return Solution(self._score_order)  # every gap is within its tolerance already
        conflicts = points.conflicts if np.any(points.at != points.value) else ()
        if asked and self.share is None:
            points = self._way(wanted, points)
        solution = self._between(wanted, points)
        if self.share is None:
            ways, standings = [solution], [self._judge.standing(solution.maps)]
            if asked and self._lack_room(solution.maps, standings[0]):
                ways.append(self._between(wanted, self._share([], 0.0)))
                standings.append(self._judge.standing(ways[1].maps))
            taken = self._judge.best([self._untouched, *standings])
            solution = [replace(solution, maps=self._score_order), *ways][taken]
        return replace(solution, conflicts=conflicts)

    def _between(self, wanted: list[WantedCut], points: Points) -> Solution:
        """The maps through the points: orders for the segments, and shifts."""
        in_place = bool(np.all(points.at == points.value))
        orders: list[Order] = [self._score_order] * len(points.free)
        if not in_place:
            orders = self._best_orders(wanted, points)
        span = None
        if self._shifted:
            orders, span = self._with_offsets(points, orders)
        free = bool(points.free.any())
        if in_place and all(order is self._score_order for order in orders):
            return Solution(self._score_order, span=span, free=free)
        return Solution(self._aligner.maps(points, orders), span=span, free=free)

    # ------------------------------------------------------------------ which way to go

    @cached_property
    def _judge(self) -> Judge:
        return Judge(self._profile, self.goals, self.sizes)

    @cached_property
    def _untouched(self) -> Standing:
        return self._judge.standing(self._score_order)

    def _lack_room(self, maps: Maps, standing: Standing) -> bool:
        """Whether the worst that maps leave is to be closed by shifts: cuts may be in the way."""
        if not self._shifted:
            return False
        left = replace(self._judge, goals=self._shifted).standing(maps)
        return not left.met and left.worst >= standing.worst

    def _way(self, wanted: list[WantedCut], points: Points) -> Points:
        """Other points where those of all cuts do not meet what is asked for (see ways.py).

        Gaps that are closed by shifts are not looked at: shifts come later.
        """
        goals = [goal for goal in self.goals if not goal.alignment.by_shifts]
        judge = Judge(self._profile, goals, self.sizes)
        untouched, full = (
            judge.standing(maps) for maps in (self._score_order, self._straight(points))
        )
        alone = len({cut.strand for cut in wanted}) == 1
        if full.met or (alone and full.worst <= untouched.worst):
            return points
        ways = [] if alone else [self._compromise(), *partly(wanted)]
        options = [points, *(self._share(way, 1.0) for way in ways)]
        standings = [full, *(judge.standing(self._straight(some)) for some in options[1:])]
        taken = judge.best([untouched, *standings])
        if taken == 0:  # part of the way may yet be better than none
            options = [self._share(wanted, share) for share in _PARTS]
            standings = [judge.standing(self._straight(some)) for some in options]
            taken = judge.best([untouched, *standings])
        return options[taken - 1] if taken else self._share([], 0.0)

    def _share(self, wanted: Sequence[WantedCut], share: float) -> Points:
        return place(wanted, self._profile, [share] * len(wanted))

    def _compromise(self) -> list[WantedCut]:
        """Cuts at which all rates asked for are to be met as well as they can be together.

        Looked for on the profile, which is quick, and sure to its error.
        """
        return compromise(
            self._profile.scores(self._score_order),
            self.goals,
            self.sizes,
            min_beyond=self.min_beyond,
            averaged=self.averaged,
        )

    # ------------------------------------------------------------------ cuts

    def _points(self, wanted: list[WantedCut]) -> Points:
        """As far as asked for, or as little as brings every gap within its tolerance."""
        if self.share is not None:
            return self._share(wanted, self.share)
        slacks = np.linspace(1.0, 0.0, _SLACKS) if any(cut.tolerance for cut in wanted) else [0.0]
        for slack in slacks:
            points = place(wanted, self._profile, [cut.share(float(slack)) for cut in wanted])
            if slack == 0.0 or self._excess(wanted, self._straight(points)) <= 0.0:
                break
        return points

    def _straight(self, points: Points) -> Maps:
        return self._aligner.maps(points, [None] * len(points.free))

    # ------------------------------------------------------------------ between the points

    def _best_orders(self, wanted: list[WantedCut], points: Points) -> list[Order]:
        """For every free segment the order with the largest AUC.

        Straight lines and the score's own order are compared first; the groups' log-odds must be
        better by more than chance makes them, and are not for those who go a share of the way. No
        order may bring the worst gap further beyond its tolerance than straight lines do, nor all
        gaps together.
        """
        orders: list[Order] = [None] * len(points.free)
        straight = self._straight(points)
        most = max(0.0, self._excess(wanted, straight))
        burden = self._judge.standing(straight).burden + self._profile.error + ROUNDING
        smaller = float(self.scores.effective_sizes.sum(axis=1).min())
        others: list[tuple[Order, float]] = [(self._score_order, -1e-9)]
        if self.share is None or self.share >= 1.0:
            others.append((self._own_orders, _GAIN / np.sqrt(smaller)))
        for k in np.flatnonzero(points.free):
            best = self._profile.auc(self._aligner.maps(points, orders))
            for order, least in others:
                trial = [order if i == k else old for i, old in enumerate(orders)]
                maps = self._aligner.maps(points, trial)
                auc = self._profile.auc(maps)
                if (  # the quickest question first
                    auc > best + least
                    and self._excess(wanted, maps) <= most
                    and (self._shifted or self._judge.standing(maps).burden <= burden)
                ):
                    best, orders = auc, trial
        return orders

    # ------------------------------------------------------------------ shifts

    def _with_offsets(
        self, points: Points, orders: list[Order]
    ) -> tuple[list[Order], tuple[float, float] | None]:
        """Merge the groups with offsets that bring the gaps within their tolerances.

        If no offset brings the only gap of two groups there, also between which values it moves.
        """
        families = [goal.family for goal in self._shifted]
        sizes = [len(family.keys(self.scores.groups)) for family in families]
        tolerance = np.repeat([goal.tolerance for goal in self._shifted], sizes)
        step = 1.0 / self._profile.smallest  # a gap below one observation counts as closed
        left = tolerance + step if self.share is None else np.full(len(tolerance), step)

        def gaps(some: list[Order]) -> Floats:
            maps = self._aligner.maps(points, some)
            return family_values(self._profile.scores(maps), families)

        before = gaps(orders)
        if not points.free.any() or np.all(np.abs(before) <= left):
            return orders, None
        common = common_order(self._profile, self.scores.effective_sizes)

        def merged(offsets: Floats, share: float = 1.0) -> list[Order]:
            order = mixed(common, self._own_orders, offsets, share)
            return [order if free else old for free, old in zip(points.free, orders, strict=True)]

        offsets = best_offsets(lambda theta: gaps(merged(theta)), self.scores.n_groups)
        if self.share is not None:
            return (merged(offsets, self.share) if self.share > 0.0 else orders), None
        after = gaps(merged(offsets))
        if not np.all(np.abs(after) <= left):
            span = None
            if len(tolerance) == 1:
                trials = [gaps(merged(np.array([0.0, theta])))[0] for theta in GRID]
                span = float(min(*trials, before[0])), float(max(*trials, before[0]))
            # Several gaps may pull against each other: part of the way may be better.
            ways = [orders, *(merged(offsets, share) for share in (1.0, *_PARTS))]
            standings = [self._judge.standing(self._aligner.maps(points, way)) for way in ways]
            return ways[self._judge.best(standings)], span
        if not tolerance.any() or not np.all(np.abs(after) <= tolerance):
            return merged(offsets), None
        too_little, enough = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (too_little + enough) / 2.0
            if np.all(np.abs(gaps(merged(offsets, middle))) <= tolerance):
                enough = middle
            else:
                too_little = middle
        return merged(offsets, enough), None
