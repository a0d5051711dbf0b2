"""The parts of an audit: each is one file with one block, which computes and labels its numbers.

To add a part, write a frozen dataclass that is a `Block` and register it: the audit computes it,
JSON keeps it, and report and terminal show its `table`, unless a template of its own does. What is
cheap is computed for every pair of groups; of many groups, or of curves, only the worst pairs are
kept, and `omitted` says what was left out.
"""

from evenscore.auditing.blocks.base import BLOCKS, AuditInput, Block, BlockTable, register
from evenscore.auditing.blocks.cuts_in_use import CutsInUse

# Blocks come in the order of their import: what matters most is first.
# isort: split
from evenscore.auditing.blocks.at_thresholds import AtThresholds
from evenscore.auditing.blocks.certificates import Certificates
from evenscore.auditing.blocks.curves import Curves
from evenscore.auditing.blocks.ranking import Ranking
from evenscore.auditing.blocks.shape import Shape
from evenscore.auditing.blocks.small import SmallGroup, SmallGroups

# What validators ask for comes last.
# isort: split
from evenscore.auditing.blocks.impact_ratios import ImpactRatios

# isort: split
from evenscore.auditing.blocks.calibration_slopes import CalibrationSlopes
from evenscore.auditing.blocks.local_law_144 import Categories, LocalLaw144
from evenscore.auditing.blocks.mean_differences import StandardisedDifferences
from evenscore.auditing.blocks.score_bands import ScoreBands
from evenscore.auditing.blocks.separation import Separation
from evenscore.auditing.blocks.top_k import TopScores

__all__ = [
    "BLOCKS",
    "AtThresholds",
    "AuditInput",
    "Block",
    "BlockTable",
    "CalibrationSlopes",
    "Categories",
    "Certificates",
    "Curves",
    "CutsInUse",
    "ImpactRatios",
    "LocalLaw144",
    "Ranking",
    "ScoreBands",
    "Separation",
    "Shape",
    "SmallGroup",
    "SmallGroups",
    "StandardisedDifferences",
    "TopScores",
    "register",
]
