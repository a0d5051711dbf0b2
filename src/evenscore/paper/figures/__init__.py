"""The paper's figures, each a function of outcomes that gives a matplotlib figure."""

from evenscore.paper.figures.credit import credit
from evenscore.paper.figures.real import roc_panels, strength_path
from evenscore.paper.figures.synthetic import median_curves, score_maps, solutions, square_tradeoff

__all__ = [
    "credit",
    "median_curves",
    "roc_panels",
    "score_maps",
    "solutions",
    "square_tradeoff",
    "strength_path",
]
