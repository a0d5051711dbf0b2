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
from evenscore.auditing.blocks.permutation import Permutations
from evenscore.auditing.blocks.ranking import Ranking
from evenscore.auditing.blocks.shape import Shape
from evenscore.auditing.blocks.small import SmallGroup, SmallGroups

__all__ = [
    "BLOCKS",
    "AtThresholds",
    "AuditInput",
    "Block",
    "BlockTable",
    "Certificates",
    "Curves",
    "CutsInUse",
    "Permutations",
    "Ranking",
    "Shape",
    "SmallGroup",
    "SmallGroups",
    "register",
]
