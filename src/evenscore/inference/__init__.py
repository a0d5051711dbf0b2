"""How sure are we: intervals, bands, tests, certificates and bounds."""

from evenscore.inference.aucs import auc_estimates
from evenscore.inference.bands import roc_band, roc_gap_band
from evenscore.inference.bootstrap import bootstrap
from evenscore.inference.calibration import calibration_by_group
from evenscore.inference.certificates import certify
from evenscore.inference.cut_certificates import CutCertificate, certify_rates
from evenscore.inference.cuts import CutTable, cut_table
from evenscore.inference.decisions import holm
from evenscore.inference.estimate import Estimate
from evenscore.inference.influence import placement_moments
from evenscore.inference.shares import rate_difference_estimates

__all__ = [
    "CutCertificate",
    "CutTable",
    "Estimate",
    "auc_estimates",
    "bootstrap",
    "calibration_by_group",
    "certify",
    "certify_rates",
    "cut_table",
    "holm",
    "placement_moments",
    "rate_difference_estimates",
    "roc_band",
    "roc_gap_band",
]
