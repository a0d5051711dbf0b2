"""Data to try things on: real data sets, and samples of laws that are known exactly."""

from evenscore.datasets.dataset import Dataset
from evenscore.datasets.real import (
    load_adult,
    load_bank,
    load_census,
    load_compas,
    load_german,
)
from evenscore.datasets.synthetic import SyntheticSample, make_credit, make_rings, make_square

__all__ = [
    "Dataset",
    "SyntheticSample",
    "load_adult",
    "load_bank",
    "load_census",
    "load_compas",
    "load_german",
    "make_credit",
    "make_rings",
    "make_square",
]
