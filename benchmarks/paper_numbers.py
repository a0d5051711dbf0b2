"""What the paper's reproduction, beside this folder, knows: its data, constraints and numbers."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from reproduction.published import REAL
from reproduction.real import DATA, ROC, columns, load, paper_scorer, published_split

__all__ = ["DATA", "REAL", "ROC", "columns", "load", "paper_scorer", "published_split"]
