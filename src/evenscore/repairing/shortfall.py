"""What a repair could not do, in one sentence with the reason."""

from collections.abc import Sequence

import numpy as np

from evenscore.inference.estimate import Estimate
from evenscore.repairing.search import Solution
from evenscore.repairing.ways import Goal, joined_targets
from evenscore.scores import GroupedScores


def shortfall(
    scores: GroupedScores,
    goals: Sequence[Goal],
    solution: Solution,
    after: Sequence[Estimate],
    *,
    soft: bool,
) -> str | None:
    """A sentence about the worst gap that is left beyond its tolerance; None if none is.

    Beyond means: by more than one observation of the smallest cell; after softening, and at cuts of
    everybody where no tolerance is given, by more than sampling error explains.
    """
    owners = [(goal, cells) for goal in goals for cells in goal.family.cells(scores.n_groups)]
    beyond = np.empty(len(after))
    for k, (gap, (goal, _)) in enumerate(zip(after, owners, strict=True)):
        surely = soft or (goal.alignment.common is not None and not goal.tolerance)
        left = max(gap.low, -gap.high) if surely else abs(gap.value)
        beyond[k] = np.nan_to_num(left) - goal.tolerance
    worst = int(np.argmax(beyond))
    if beyond[worst] <= 1.0 / float(scores.effective_sizes.min()) + 1e-9:
        return None
    gap, (goal, looked_at) = after[worst], owners[worst]
    if goal.alignment.cuts or goal.alignment.common is not None:
        cells = np.flatnonzero(looked_at)
        reason = _why_together(goals, goal) or _why_cuts(
            scores, solution, gap, cells.tolist(), soft
        )
    else:
        reason = _why_shifts(scores, goals, solution)
    return (
        f"The repair leaves {gap.kind} between {gap.first} and {gap.second} at {gap.value:+.3f} on "
        f"the sample, beyond the tolerance of {goal.tolerance:g}: {reason}."
    )


def _why_together(goals: Sequence[Goal], goal: Goal) -> str:
    """Why several rates at the same cuts cannot all be equal; empty if there is one."""
    if goal.alignment.common is None:
        return ""
    cuts = goal.alignment.common.cuts
    [rates] = [target.rates for target, _ in joined_targets(goals) if target.cuts == cuts]
    if len(rates) < 2:
        return ""
    *names, last = (rate.name for rate in rates)
    return (
        f"one map per group moves its {', '.join(names)} and {last} together, and the groups' own "
        "ROC curves differ by as much, which no increasing map changes; for one of these rates "
        "alone the gaps can be closed"
    )


def _why_cuts(
    scores: GroupedScores, solution: Solution, gap: Estimate, cells: Sequence[int], soft: bool
) -> str:
    """Why aligning cuts leaves a gap; `cells` are those that it looks at."""
    if solution.conflicts:
        *names, last = solution.conflicts
        cuts = f"{', '.join(names)} and {last}" if names else last
        return f"the cuts of {cuts} come in another order in another group"
    if scores.has_ties:
        return "scores are tied, and ties are kept"
    if soft:
        return "labels of small cells are softened (soften=0 closes it on the sample)"
    distributions = [scores.cell_distributions[cell] for cell in cells]
    heaviest = max(float(cell.weights.max()) / cell.total for cell in distributions)
    if heaviest >= abs(gap.value):
        return f"a single row weighs {heaviest:.1%} of its class and group"
    return "no map that keeps the ranking within groups makes the worst gap smaller"


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
