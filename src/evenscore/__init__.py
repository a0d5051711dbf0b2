"""Audit and learn scores that rank people fairly, at every threshold that matters."""

from typing import TYPE_CHECKING, Any

from evenscore import metrics
from evenscore.audit import audit
from evenscore.catalogue import constraint_names
from evenscore.constraints import AucConstraint, RocConstraint
from evenscore.curves import RocCurve
from evenscore.inference.estimate import Estimate
from evenscore.results import AuditResult
from evenscore.scores import GroupedScores
from evenscore.thresholds import fair_thresholds, rates_at

if TYPE_CHECKING:
    from evenscore import datasets, inference, plots
    from evenscore.repairs import Repair, repair
    from evenscore.scorers import BoostedScorer, LinearScorer, NeuralScorer, RepairedScorer
    from evenscore.tradeoff import TradeoffPath, tradeoff_path

__version__ = "0.1.0"

__all__ = [
    "AucConstraint",
    "AuditResult",
    "BoostedScorer",
    "Estimate",
    "GroupedScores",
    "LinearScorer",
    "NeuralScorer",
    "Repair",
    "RepairedScorer",
    "RocConstraint",
    "RocCurve",
    "TradeoffPath",
    "audit",
    "constraint_names",
    "datasets",
    "fair_thresholds",
    "inference",
    "metrics",
    "plots",
    "rates_at",
    "repair",
    "tradeoff_path",
]


_LAZY = ("datasets", "inference", "plots")
_SCORERS = ("BoostedScorer", "LinearScorer", "NeuralScorer", "RepairedScorer")
_REPAIRS = ("Repair", "repair")
_TRADEOFF = ("TradeoffPath", "tradeoff_path")


def __getattr__(name: str) -> Any:
    """Import on first use what not every audit needs."""
    from importlib import import_module

    if name in _LAZY:
        return import_module(f"evenscore.{name}")
    if name in _SCORERS:
        return getattr(import_module("evenscore.scorers"), name)
    if name in _REPAIRS:
        return getattr(import_module("evenscore.repairs"), name)
    if name in _TRADEOFF:
        return getattr(import_module("evenscore.tradeoff"), name)
    raise AttributeError(f"module 'evenscore' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
