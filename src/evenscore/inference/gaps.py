"""Every gap of any constraints, AUC or ROC, with its interval."""

from __future__ import annotations

from collections.abc import Iterable

from evenscore.constraints import AucConstraint, Constraint
from evenscore.inference.estimate import Estimate
from evenscore.inference.rates import roc_gap_estimates
from evenscore.inference.variance import gap_estimates
from evenscore.scores import GroupedScores

__all__ = ["constraint_estimates"]


def constraint_estimates(
    scores: GroupedScores, constraints: Iterable[Constraint], *, confidence_level: float = 0.95
) -> list[Estimate]:
    """The estimates of `gap_estimates` or `roc_gap_estimates`, in the constraints' order."""
    found: list[Estimate] = []
    for constraint in constraints:
        if isinstance(constraint, AucConstraint):
            found += gap_estimates(scores, constraint, confidence_level=confidence_level)
        else:
            found += roc_gap_estimates(scores, constraint, confidence_level=confidence_level)
    return found
