"""Audit and learn scores that rank people fairly, at every threshold that matters."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from evenscore import metrics
from evenscore.auditing.audit import audit, audit_frame, audit_scores
from evenscore.auditing.result import AuditResult
from evenscore.auditing.showable import RENDERERS
from evenscore.gaps import (
    AucConstraint,
    CurveConstraint,
    Cuts,
    GapFamily,
    RateConstraint,
    RocConstraint,
)
from evenscore.gaps.catalogue import constraint_names
from evenscore.gaps.words import ALL_OTHERS, Words
from evenscore.inference.estimate import Estimate
from evenscore.metrics import fair_thresholds, rates_at
from evenscore.scores import GroupedScores
from evenscore.scores.curve import RocCurve
from evenscore.scores.rates import rate_names

if TYPE_CHECKING:
    from evenscore import datasets, inference, paper
    from evenscore.choosing import (
        CertifiedChoice,
        ClaimPrices,
        Plan,
        TradeoffPath,
        certified_choice,
        claim_prices,
        plan,
        tradeoff_path,
    )
    from evenscore.learning.base import FairScorer
    from evenscore.learning.boosted import BoostedScorer
    from evenscore.learning.linear import LinearScorer
    from evenscore.learning.neural import NeuralScorer
    from evenscore.learning.plug_in import PlugInScorer
    from evenscore.learning.repaired import RepairedScorer
    from evenscore.repairing import Repair, repair
    from evenscore.showing import plots

__version__ = "0.2.0"

__all__ = [
    "ALL_OTHERS",
    "AucConstraint",
    "AuditResult",
    "BoostedScorer",
    "CertifiedChoice",
    "ClaimPrices",
    "CurveConstraint",
    "Cuts",
    "Estimate",
    "FairScorer",
    "GapFamily",
    "GroupedScores",
    "LinearScorer",
    "NeuralScorer",
    "Plan",
    "PlugInScorer",
    "RateConstraint",
    "Repair",
    "RepairedScorer",
    "RocConstraint",
    "RocCurve",
    "TradeoffPath",
    "Words",
    "audit",
    "audit_frame",
    "audit_scores",
    "certified_choice",
    "claim_prices",
    "constraint_names",
    "datasets",
    "fair_thresholds",
    "inference",
    "metrics",
    "paper",
    "plan",
    "plots",
    "rate_names",
    "rates_at",
    "repair",
    "tradeoff_path",
]

# Who shows what, and how: results do not know their renderers.
RENDERERS.update(
    {
        ("audit", "html"): "evenscore.showing.report:write",
        ("audit", "markdown"): "evenscore.showing.markdown:render",
        ("audit", "notebook"): "evenscore.showing.notebook:audit_html",
        ("audit", "terminal"): "evenscore.showing.terminal:render",
        ("certified", "html"): "evenscore.showing.certified:write",
        ("certified", "markdown"): "evenscore.showing.markdown:render_choice",
        ("certified", "notebook"): "evenscore.showing.notebook:choice_html",
        ("certified", "terminal"): "evenscore.showing.terminal:render_choice",
        ("comparison", "html"): "evenscore.showing.report:write_comparison",
        ("comparison", "markdown"): "evenscore.showing.markdown:render_comparison",
        ("comparison", "notebook"): "evenscore.showing.notebook:comparison_html",
        ("comparison", "terminal"): "evenscore.showing.terminal:render_comparison",
        ("plan", "markdown"): "evenscore.showing.markdown:render_plan",
        ("plan", "terminal"): "evenscore.showing.terminal:render_plan",
        ("tradeoff", "html"): "evenscore.showing.tradeoff:write",
        ("tradeoff", "markdown"): "evenscore.showing.markdown:render_path",
        ("tradeoff", "notebook"): "evenscore.showing.notebook:path_html",
        ("tradeoff", "plot"): "evenscore.showing.plots.tradeoff:plot_path",
        ("tradeoff", "terminal"): "evenscore.showing.terminal:render_path",
    }
)

_MODULES = {
    "datasets": "datasets",
    "inference": "inference",
    "paper": "paper",
    "plots": "showing.plots",
}
_NAMES = {
    "BoostedScorer": "learning.boosted",
    "FairScorer": "learning.base",
    "LinearScorer": "learning.linear",
    "NeuralScorer": "learning.neural",
    "PlugInScorer": "learning.plug_in",
    "Repair": "repairing",
    "RepairedScorer": "learning.repaired",
    "CertifiedChoice": "choosing",
    "ClaimPrices": "choosing",
    "Plan": "choosing",
    "TradeoffPath": "choosing",
    "repair": "repairing",
    "certified_choice": "choosing",
    "claim_prices": "choosing",
    "plan": "choosing",
    "tradeoff_path": "choosing",
}


def __getattr__(name: str) -> Any:
    """Import on first use what not every audit needs."""
    if name in _MODULES:
        return import_module(f"evenscore.{_MODULES[name]}")
    if name in _NAMES:
        return getattr(import_module(f"evenscore.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'evenscore' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
