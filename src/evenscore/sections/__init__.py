"""The sections of an audit: each calls the measures and their inference, and labels what it finds.

What is cheap is computed for every pair of groups. With many groups, or for curves, only the worst
pairs are kept, and a sentence says what was left out.
"""

from evenscore.sections.curves import certificate_section, roc_section
from evenscore.sections.cuts import fair_cut_section
from evenscore.sections.people import sample_section, warning_section
from evenscore.sections.ranking import (
    auc_section,
    detectable_section,
    gap_section,
    roc_gap_section,
)
from evenscore.sections.tests import permutation_section

__all__ = [
    "auc_section",
    "certificate_section",
    "detectable_section",
    "fair_cut_section",
    "gap_section",
    "permutation_section",
    "roc_gap_section",
    "roc_section",
    "sample_section",
    "warning_section",
]
