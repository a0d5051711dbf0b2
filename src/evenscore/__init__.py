"""Audit and learn scores that rank people fairly, at every threshold that matters."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenscore import datasets, metrics, paper
    from evenscore.auditing.audit import audit, audit_frame, audit_scores
    from evenscore.auditing.result import AuditResult
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
    from evenscore.learning.base import FairScorer
    from evenscore.learning.even import EvenScorer
    from evenscore.learning.linear import LinearScorer
    from evenscore.learning.repaired import RepairedScorer
    from evenscore.metrics import fair_thresholds, rates_at
    from evenscore.repairing import Repair, repair
    from evenscore.scores import GroupedScores
    from evenscore.scores.curve import RocCurve
    from evenscore.scores.rates import rate_names
    from evenscore.showing import plots

__version__ = "0.2.0"

__all__ = [
    "ALL_OTHERS",
    "AucConstraint",
    "AuditResult",
    "CertifiedChoice",
    "ClaimPrices",
    "CurveConstraint",
    "Cuts",
    "Estimate",
    "EvenScorer",
    "FairScorer",
    "GapFamily",
    "GroupedScores",
    "LinearScorer",
    "Plan",
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
    "metrics",
    "paper",
    "plan",
    "plots",
    "rate_names",
    "rates_at",
    "repair",
    "tradeoff_path",
]

RENDERERS = {
    ("audit", "html"): "evenscore.showing.report:write",
    ("audit", "markdown"): "evenscore.showing.markdown:render",
    ("audit", "notebook"): "evenscore.showing.notebook:audit_html",
    ("audit", "terminal"): "evenscore.showing.terminal:render",
    ("bars", "plot"): "evenscore.showing.plots.bars:plot_bars",
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
"""Who shows what as what, "module:function": results do not know their renderers."""

_MODULES = {
    "auditing": "auditing",
    "datasets": "datasets",
    "files": "files",
    "gaps": "gaps",
    "metrics": "metrics",
    "paper": "paper",
    "plots": "showing.plots",
    "scores": "scores",
}
_NAMES = {
    "ALL_OTHERS": "gaps.words",
    "AucConstraint": "gaps",
    "AuditResult": "auditing.result",
    "CertifiedChoice": "choosing",
    "ClaimPrices": "choosing",
    "CurveConstraint": "gaps",
    "Cuts": "gaps",
    "Estimate": "inference.estimate",
    "EvenScorer": "learning.even",
    "FairScorer": "learning.base",
    "GapFamily": "gaps",
    "GroupedScores": "scores",
    "LinearScorer": "learning.linear",
    "Plan": "choosing",
    "RateConstraint": "gaps",
    "Repair": "repairing",
    "RepairedScorer": "learning.repaired",
    "RocConstraint": "gaps",
    "RocCurve": "scores.curve",
    "TradeoffPath": "choosing",
    "Words": "gaps.words",
    "audit": "auditing.audit",
    "audit_frame": "auditing.audit",
    "audit_scores": "auditing.audit",
    "certified_choice": "choosing",
    "claim_prices": "choosing",
    "constraint_names": "gaps.catalogue",
    "fair_thresholds": "metrics",
    "plan": "choosing",
    "rate_names": "scores.rates",
    "rates_at": "metrics",
    "repair": "repairing",
    "tradeoff_path": "choosing",
}


def __getattr__(name: str) -> Any:
    """Import on first use: the command listens to signals before anything slow is imported."""
    if name in _MODULES:
        return import_module(f"evenscore.{_MODULES[name]}")
    if name in _NAMES:
        return getattr(import_module(f"evenscore.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'evenscore' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
