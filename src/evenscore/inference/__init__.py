"""How sure are we: intervals, bands, tests, certificates and bounds."""

from evenscore.inference.aucs import auc_estimates
from evenscore.inference.bands import Band, roc_band, roc_gap_band
from evenscore.inference.bootstrap import BootstrapDistribution, bootstrap
from evenscore.inference.bounds import (
    LearningBound,
    auc_learning_bound,
    density_ratio,
    rates_needed,
    roc_learning_bound,
    sample_size_needed,
    sup_gap_bound,
)
from evenscore.inference.calibration import Calibration, calibration_by_group
from evenscore.inference.certificates import Certificate, certify
from evenscore.inference.cuts import CutTable, cut_table
from evenscore.inference.estimate import Estimate, holm
from evenscore.inference.moments import placement_moments
from evenscore.inference.paired import paired_differences
from evenscore.inference.rates import rate_difference_estimates, roc_gap_estimates
from evenscore.inference.tests import PermutationTest, permutation_tests
from evenscore.inference.variance import gap_estimates

__all__ = [
    "Band",
    "BootstrapDistribution",
    "Calibration",
    "Certificate",
    "CutTable",
    "Estimate",
    "LearningBound",
    "PermutationTest",
    "auc_estimates",
    "auc_learning_bound",
    "bootstrap",
    "calibration_by_group",
    "certify",
    "cut_table",
    "density_ratio",
    "gap_estimates",
    "holm",
    "paired_differences",
    "permutation_tests",
    "placement_moments",
    "rate_difference_estimates",
    "rates_needed",
    "roc_band",
    "roc_gap_band",
    "roc_gap_estimates",
    "roc_learning_bound",
    "sample_size_needed",
    "sup_gap_bound",
]
