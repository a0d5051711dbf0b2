"""What a repair could not do, in one sentence with the reason."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenscore.catalogue import Notion
from evenscore.constraints import AucConstraint, Constraint
from evenscore.inference.estimate import Estimate
from evenscore.learning.terms import Terms
from evenscore.repairs.search import Found
from evenscore.scores import CLASSES, GroupedScores

__all__ = ["shortfall"]


def shortfall(
    scores: GroupedScores,
    constraints: Sequence[Constraint],
    tolerance: float,
    found: Found,
    after: Sequence[Estimate],
    *,
    soft: bool,
) -> str | None:
    """A sentence about the worst gap that is left beyond its tolerance; None if none is.

    Beyond means: by more than one observation of the smallest cell; after softening, by more than
    sampling error explains.
    """
    own = Terms.of(constraints, scores.cell_weights).tolerance
    told = np.where(np.isnan(own), tolerance, own)
    beyond = [
        (max(gap.low, -gap.high) if soft else abs(gap.value)) - left
        for gap, left in zip(after, told, strict=True)
    ]
    worst = int(np.argmax(beyond))
    if beyond[worst] <= 1.0 / float(scores.effective_sizes.min()) + 1e-9:
        return None
    gap = after[worst]
    at = "" if gap.rate is None else f" at {gap.rate:.4g}"
    why = (
        _why_roc(scores, found, gap, soft)
        if gap.rate is not None
        else _why_auc(scores, constraints, found)
    )
    return (
        f"The repair leaves {gap.name}{at} between {gap.first} and {gap.second} at "
        f"{gap.value:+.3f} on the sample, beyond the tolerance of {told[worst]:g}: {why}."
    )


def _why_roc(scores: GroupedScores, found: Found, gap: Estimate, soft: bool) -> str:
    if found.conflicts:
        return f"the cuts of {_listed(found.conflicts)} come in another order in another group"
    if scores.has_ties:
        return "scores are tied, and ties are kept"
    if soft:
        return "labels of small cells are softened (soften=0 closes it on the sample)"
    n, offset = scores.n_groups, CLASSES.index(gap.on or "negatives") * scores.n_groups
    cells = scores.cell_distributions[offset : offset + n]
    heaviest = max(float(cell.weights.max()) / cell.total for cell in cells)
    if heaviest >= abs(gap.value):
        return f"a single row weighs {heaviest:.1%} of its class and group"
    return "no map that keeps the ranking within groups makes the worst gap smaller"


def _why_auc(scores: GroupedScores, constraints: Sequence[Constraint], found: Found) -> str:
    if not found.free:
        return "the rates of the ROC constraints leave no room between them"
    if found.span is not None:
        low, high = found.span
        return (
            f"shifting one group against the other moves it only between {low:+.3f} and "
            f"{high:+.3f}, the rankings within groups, which maps keep, counting for the rest"
        )
    shifts = scores.n_groups - 1
    n_gaps = sum(_independent(one, scores) for one in constraints if isinstance(one, AucConstraint))
    if n_gaps > shifts:
        told = "one shift has" if shifts == 1 else f"{shifts} shifts have"
        return (
            f"{told} to close {n_gaps} gaps between {scores.n_groups} groups at once, and what is "
            "left is shared among them"
        )
    if scores.has_ties:
        return "scores are tied, and ties are kept"
    return "shifting groups does not close it, for rankings within groups count, which maps keep"


def _independent(constraint: AucConstraint, scores: GroupedScores) -> int:
    """How many gaps can differ by themselves; the others are differences of these."""
    definition = constraint.definition
    if isinstance(definition, Notion) and not definition.compares_others:
        return scores.n_groups - 1
    return len(scores.pairs())


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
