"""The price of fairness, a choice with proof, and how many people it takes to be sure."""

from evenscore.choosing.certified import CandidateTest, CertifiedChoice
from evenscore.choosing.certifying import certified_choice
from evenscore.choosing.claims import Claim, ClaimPrices, claim_prices
from evenscore.choosing.path import TradeoffPath, TradeoffPoint
from evenscore.choosing.planning import Plan, plan
from evenscore.choosing.validation import tradeoff_path

__all__ = [
    "CandidateTest",
    "CertifiedChoice",
    "Claim",
    "ClaimPrices",
    "Plan",
    "TradeoffPath",
    "TradeoffPoint",
    "certified_choice",
    "claim_prices",
    "plan",
    "tradeoff_path",
]
