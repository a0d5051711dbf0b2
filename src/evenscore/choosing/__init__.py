"""The price of fairness: AUC against gaps, cross-validated, by claim and by tolerance."""

from evenscore.choosing.claims import Claim, ClaimPrices, claim_prices
from evenscore.choosing.path import TradeoffPath, TradeoffPoint
from evenscore.choosing.validation import tradeoff_path

__all__ = [
    "Claim",
    "ClaimPrices",
    "TradeoffPath",
    "TradeoffPoint",
    "claim_prices",
    "tradeoff_path",
]
