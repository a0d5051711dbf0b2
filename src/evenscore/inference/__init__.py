"""How sure are we: intervals, bands, tests, certificates and bounds."""

from evenscore.inference.estimate import Estimate, holm
from evenscore.inference.variance import auc_estimates, gap_estimates, placement_moments

__all__ = ["Estimate", "auc_estimates", "gap_estimates", "holm", "placement_moments"]
