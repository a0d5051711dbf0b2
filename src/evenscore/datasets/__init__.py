"""Data to try things on: the paper's four real data sets, and laws whose truth is known exactly."""

from evenscore.datasets.dataset import Dataset
from evenscore.datasets.planar import SquareLaw
from evenscore.datasets.real import load_adult, load_bank, load_compas, load_german
from evenscore.datasets.rings import RingsLaw
from evenscore.datasets.synthetic import (
    SyntheticSample,
    credit_law,
    make_credit,
    make_rings,
    make_square,
)
from evenscore.datasets.tabulated import DiscreteLaw, PiecewiseLinearLaw

__all__ = [
    "Dataset",
    "DiscreteLaw",
    "PiecewiseLinearLaw",
    "RingsLaw",
    "SquareLaw",
    "SyntheticSample",
    "credit_law",
    "load_adult",
    "load_bank",
    "load_compas",
    "load_german",
    "make_credit",
    "make_rings",
    "make_square",
]
