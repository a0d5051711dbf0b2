"""The paper: its algorithms as published, its laws and bounds.

Vogel, Bellet and Clémençon, Learning Fair Scoring Functions, AISTATS 2021.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenscore.paper import laws
    from evenscore.paper.bounds import (
        LearningBound,
        auc_learning_bound,
        density_ratio,
        rates_needed,
        roc_learning_bound,
        sample_size_needed,
        sup_gap_bound,
    )
    from evenscore.paper.operating import OperatingPoint, operating_point
    from evenscore.paper.scorer import PaperScorer

__all__ = [
    "LearningBound",
    "OperatingPoint",
    "PaperScorer",
    "auc_learning_bound",
    "density_ratio",
    "laws",
    "operating_point",
    "rates_needed",
    "roc_learning_bound",
    "sample_size_needed",
    "sup_gap_bound",
]

_HOMES = {
    "OperatingPoint": "operating",
    "PaperScorer": "scorer",
    "operating_point": "operating",
}


def __getattr__(name: str) -> Any:
    """Import on first use: laws and bounds need no scorer."""
    if name not in __all__:
        raise AttributeError(f"module 'evenscore.paper' has no attribute {name!r}")
    if name == "laws":
        return import_module("evenscore.paper.laws")
    return getattr(import_module(f"evenscore.paper.{_HOMES.get(name, 'bounds')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
