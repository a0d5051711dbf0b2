"""The paper's tables, made from the catalogue, the data and the outcomes of the experiments."""

from evenscore.paper.tables.notions import gamma
from evenscore.paper.tables.real import dimensions, grid, parameters, readings, results, splits
from evenscore.paper.tables.synthetic import area, laws, synthetic, thresholds

__all__ = [
    "area",
    "dimensions",
    "gamma",
    "grid",
    "laws",
    "parameters",
    "readings",
    "results",
    "splits",
    "synthetic",
    "thresholds",
]
