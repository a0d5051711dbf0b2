"""Audit and learn scores that rank people fairly, at every threshold that matters."""

from typing import TYPE_CHECKING, Any

from evenscore import metrics
from evenscore.catalogue import constraint_names
from evenscore.constraints import AucConstraint, RocConstraint
from evenscore.curves import RocCurve
from evenscore.scores import GroupedScores
from evenscore.thresholds import fair_thresholds, rates_at

if TYPE_CHECKING:
    from evenscore import datasets, inference

__version__ = "0.1.0"

__all__ = [
    "AucConstraint",
    "GroupedScores",
    "RocConstraint",
    "RocCurve",
    "constraint_names",
    "datasets",
    "fair_thresholds",
    "inference",
    "metrics",
    "rates_at",
]


_LAZY = ("datasets", "inference")


def __getattr__(name: str) -> Any:
    """Import on first use what not every audit needs."""
    if name in _LAZY:
        from importlib import import_module

        return import_module(f"evenscore.{name}")
    raise AttributeError(f"module 'evenscore' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
