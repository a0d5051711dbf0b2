"""The price of fairness: AUC against the worst gap, cross-validated, and a choice on the way."""

from evenscore.tradeoff.path import TradeoffPath, TradeoffPoint
from evenscore.tradeoff.validation import tradeoff_path

__all__ = ["TradeoffPath", "TradeoffPoint", "tradeoff_path"]
