"""What a repair could not do, in one sentence with the reason.

A gap asked for counts as left where it exceeds its tolerance by more than chance explains, which is
two standard errors, or by more than 0.05 and one standard error. Gaps beyond their tolerance by
less are in `Repair.gaps`, with intervals, and nothing is said of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenscore.inference.estimate import Estimate
from evenscore.repairing.search import Solution
from evenscore.repairing.ways import Goal, joined_targets
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Bools

_ERRORS = 2.0  # standard errors that chance explains
_LARGE = 0.05  # beyond a tolerance by more, one standard error is enough to be told of
_NAMED = 4  # cuts that are named; the others are counted


@dataclass(frozen=True, eq=False)
class GapLeft:
    """A gap asked for, before and after, and by how much it exceeds its tolerance now."""

    goal: Goal
    cells: Bools  # of the 2K, those it looks at
    noise: float  # standard error, were the groups alike
    before: Estimate
    after: Estimate

    @property
    def excess(self) -> float:
        """The size of the gap less its tolerance."""
        return float(np.nan_to_num(abs(self.after.value))) - self.goal.tolerance

    @property
    def error(self) -> float:
        """The standard error of the gap.

        Where maps leap at a cut, nobody is near, and an estimate seems surer than it is.
        """
        own = self.after.standard_error
        if not np.isfinite(own) or not self.goal.alignment.by_shifts:
            own = np.fmax(own, self.noise)
        return float(np.nan_to_num(own))

    @property
    def is_chance(self) -> bool:
        """Whether chance explains the excess."""
        return self.excess <= _ERRORS * self.error + 1e-9

    @property
    def is_told(self) -> bool:
        """Whether the user is to be warned of it."""
        return self.excess > max(_LARGE, self.error) or not self.is_chance

    @property
    def where(self) -> str:
        """At which cut and between whom, what it was and is, and what it might have been."""
        gap = self.after
        return (
            f"{gap.at} between {gap.first} and {gap.second} at {gap.value:+.3f} on the sample "
            f"(before: {self.before.value:+.3f}), {self.excess:.3f} beyond the tolerance of "
            f"{self.goal.tolerance:g}"
        ).strip()


def shortfall(
    scores: GroupedScores,
    goals: Sequence[Goal],
    solution: Solution,
    before: Sequence[Estimate],
    after: Sequence[Estimate],
    *,
    soft: bool,
) -> str | None:
    """A sentence about the gaps that are left beyond their tolerances; None if none is.

    The reason given is that of the largest excess.
    """
    sizes, n = scores.effective_sizes.reshape(-1), scores.n_groups
    owners = [
        (goal, cells, float(noise))
        for goal in goals
        for cells, noise in zip(goal.family.cells(n), goal.family.noise(sizes), strict=True)
    ]
    gaps = [
        GapLeft(goal, cells, noise, was, now)
        for (goal, cells, noise), was, now in zip(owners, before, after, strict=True)
    ]
    left = sorted((gap for gap in gaps if gap.is_told), key=lambda gap: -gap.excess)
    if not left:
        return None
    texts = []
    for name in dict.fromkeys(gap.after.name for gap in left):
        some, asked = ([gap for gap in part if gap.after.name == name] for part in (left, gaps))
        text = f"{name} {some[0].where}"
        if len(some) > 1:
            text = f"{len(some)} of {len(asked)} gaps in {name}, the worst {some[0].where}"
        texts.append(text)
    total = f"{len(left)} of {len(gaps)} gaps beyond tolerance, " if len(texts) > 1 else ""
    reason = _why(scores, goals, solution, left[0], soft)
    return f"The repair leaves {total}{_listed(texts, ', and ')}: {reason}."


def _listed(texts: Sequence[str], last: str = " and ") -> str:
    return last.join([part for part in (", ".join(texts[:-1]), texts[-1]) if part])


def _why(
    scores: GroupedScores, goals: Sequence[Goal], solution: Solution, gap: GapLeft, soft: bool
) -> str:
    if gap.goal.alignment.by_shifts:
        reason = _why_shifts(scores, goals, solution)
    else:
        reason = _why_together(goals, gap.goal) or _why_cuts(scores, goals, solution, gap, soft)
    if gap.is_chance:
        error = f"a standard error is {gap.error:.3f}"
        return f"in a sample so small it may be chance, for {error}; or else {reason}"
    return reason


def _why_together(goals: Sequence[Goal], goal: Goal) -> str:
    """Why several rates at the same cuts cannot all be equal; empty if there is one."""
    if goal.alignment.common is None:
        return ""
    cuts = goal.alignment.common.cuts
    [rates] = [target.rates for target, _ in joined_targets(goals) if target.cuts == cuts]
    if len(rates) < 2:
        return ""
    names = _listed([rate.name for rate in rates])
    return (
        f"one map per group moves its {names} together, and the groups' own "
        "ROC curves differ by as much, which no increasing map changes; for one of these rates "
        "alone the gaps can be closed"
    )


def _why_cuts(
    scores: GroupedScores, goals: Sequence[Goal], solution: Solution, gap: GapLeft, soft: bool
) -> str:
    """Why aligning cuts leaves a gap."""
    if len(solution.conflicts) > 1:
        names, n_more = solution.conflicts[:_NAMED], len(solution.conflicts) - _NAMED
        cuts = _listed([*names, f"{n_more} more"] if n_more > 0 else names)
        return f"the cuts of {cuts} come in another order in another group, and a map keeps orders"
    if soft:
        ties = " but for ties" if scores.has_ties else ""
        return f"labels of small cells are softened (soften=0 closes it on the sample{ties})"
    if scores.has_ties:
        return "scores are tied, and ties are kept"
    distributions = [scores.cell_distributions[cell] for cell in np.flatnonzero(gap.cells)]
    heaviest = max(float(cell.weights.max()) / cell.total for cell in distributions)
    if heaviest >= abs(gap.after.value):
        return f"a single row weighs {heaviest:.1%} of its class and group"
    if len(goals) > 1:
        return "what makes it smaller makes other gaps that were asked for larger"
    return "no map that keeps the ranking within groups was found to make it smaller"


def _why_shifts(scores: GroupedScores, goals: Sequence[Goal], solution: Solution) -> str:
    """Why shifting groups against each other leaves a gap."""
    if not solution.free:
        return "the rates whose cuts are aligned leave no room between them"
    if solution.span is not None:
        low, high = solution.span
        return (
            f"shifting one group against the other moves it only between {low:+.3f} and "
            f"{high:+.3f}, the rankings within groups, which maps keep, counting for the rest"
        )
    shifts = scores.n_groups - 1
    n_gaps = sum(goal.alignment.n_free for goal in goals)
    if n_gaps > shifts:
        text = "one shift has" if shifts == 1 else f"{shifts} shifts have"
        return (
            f"{text} to close {n_gaps} gaps between {scores.n_groups} groups at once, and what is "
            "left is shared among them"
        )
    if scores.has_ties:
        return "scores are tied, and ties are kept"
    return "shifting groups does not close it, for rankings within groups count, which maps keep"
