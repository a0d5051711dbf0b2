"""The price of fairness: AUC against gaps, by claim and by tolerance, and a choice with proof."""

from evenscore.choosing.certified import CandidateTest, CertifiedChoice
from evenscore.choosing.certifying import certified_choice
from evenscore.choosing.claims import Claim, ClaimPrices, claim_prices
from evenscore.choosing.path import TradeoffPath, TradeoffPoint
from evenscore.choosing.validation import tradeoff_path

__all__ = [
    "CandidateTest",
    "CertifiedChoice",
    "Claim",
    "ClaimPrices",
    "TradeoffPath",
    "TradeoffPoint",
    "certified_choice",
    "claim_prices",
    "tradeoff_path",
]
