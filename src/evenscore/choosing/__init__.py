"""The price of fairness: AUC against the worst gap, cross-validated, and a choice on the way."""

from evenscore.choosing.path import TradeoffPath, TradeoffPoint
from evenscore.choosing.validation import tradeoff_path

__all__ = ["TradeoffPath", "TradeoffPoint", "tradeoff_path"]
