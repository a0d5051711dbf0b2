"""Fairness constraints: AUC gaps (named, or between mixtures of cells) and pointwise ROC gaps."""

from __future__ import annotations

from collections.abc import Iterable

from evenscore.constraints.auc import AucConstraint, combine
from evenscore.constraints.definitions import Combination
from evenscore.constraints.gap import Gap, worst
from evenscore.constraints.roc import RocConstraint

__all__ = [
    "AucConstraint",
    "Combination",
    "Constraint",
    "Gap",
    "RocConstraint",
    "as_constraints",
    "combine",
    "worst",
]

Constraint = AucConstraint | RocConstraint


def as_constraints(constraints: str | Constraint | Iterable[str | Constraint]) -> list[Constraint]:
    """A name, a constraint, or several of them, as a list of constraints.

    >>> [constraint.name for constraint in as_constraints(["bnsp", RocConstraint(rates=(0.25,))])]
    ['bnsp', 'roc_gap(both; 0.25)']
    """
    if isinstance(constraints, str | AucConstraint | RocConstraint):
        constraints = [constraints]
    found: list[Constraint] = []
    for constraint in constraints:
        if isinstance(constraint, str):
            constraint = AucConstraint.named(constraint)
        if not isinstance(constraint, AucConstraint | RocConstraint):
            raise TypeError(
                "A constraint is a name, an AucConstraint or a RocConstraint, "
                f"not {type(constraint).__name__}."
            )
        found.append(constraint)
    return found
