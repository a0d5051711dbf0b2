"""Laws of scores whose every AUC, ROC curve and gap is known in closed form."""

from evenscore.paper.laws.base import ContinuousLaw, LawRocCurve, ScoreLaw
from evenscore.paper.laws.planar import PlanarLaw, SquareLaw
from evenscore.paper.laws.rings import RingsLaw
from evenscore.paper.laws.tabulated import DiscreteLaw, PiecewiseLinearLaw, credit_law

__all__ = [
    "ContinuousLaw",
    "DiscreteLaw",
    "LawRocCurve",
    "PiecewiseLinearLaw",
    "PlanarLaw",
    "RingsLaw",
    "ScoreLaw",
    "SquareLaw",
    "credit_law",
]
