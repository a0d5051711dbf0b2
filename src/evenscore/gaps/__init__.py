"""The noun: gaps between groups. Families of them, one file each, with one interface for all."""

from collections.abc import Iterable, Iterator

from evenscore.gaps.auc import AucConstraint
from evenscore.gaps.curves import CurveConstraint
from evenscore.gaps.cuts import Cuts
from evenscore.gaps.family import EstimateSettings, GapFamily
from evenscore.gaps.rates import RateConstraint
from evenscore.gaps.roc import RocConstraint

__all__ = [
    "AucConstraint",
    "ConstraintLike",
    "CurveConstraint",
    "Cuts",
    "EstimateSettings",
    "GapFamily",
    "RateConstraint",
    "RocConstraint",
    "as_constraints",
]

ConstraintLike = str | GapFamily | Iterable[str | GapFamily]


def as_constraints(constraints: ConstraintLike) -> list[GapFamily]:
    """A name, a constraint, or several of them, as a list of constraints.

    >>> [constraint.name for constraint in as_constraints(["bnsp", RocConstraint(rates=(0.25,))])]
    ['bnsp', 'roc_gap(both; 0.25)']
    """
    if isinstance(constraints, str | GapFamily):
        constraints = [constraints]
    if isinstance(constraints, Iterator):
        raise TypeError("constraints can be read only once, being an iterator: give a list.")
    if not isinstance(constraints, Iterable):
        raise TypeError(
            f"constraints must be a name, a constraint or a list, not {type(constraints).__name__}."
        )
    families: list[GapFamily] = []
    for constraint in constraints:
        if isinstance(constraint, str):
            constraint = AucConstraint.named(constraint)
        if not isinstance(constraint, GapFamily):
            raise TypeError(
                "A constraint is a name or a family of gaps, for instance a RateConstraint or an "
                f"AucConstraint, not {type(constraint).__name__}."
            )
        families.append(constraint)
    return families
