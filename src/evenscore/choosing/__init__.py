"""The price of fairness, cross-validated, and how many people it takes to be sure of it."""

from evenscore.choosing.claims import Claim, ClaimPrices, claim_prices
from evenscore.choosing.path import TradeoffPath, TradeoffPoint
from evenscore.choosing.planning import Plan, plan
from evenscore.choosing.validation import tradeoff_path

__all__ = [
    "Claim",
    "ClaimPrices",
    "Plan",
    "TradeoffPath",
    "TradeoffPoint",
    "claim_prices",
    "plan",
    "tradeoff_path",
]
