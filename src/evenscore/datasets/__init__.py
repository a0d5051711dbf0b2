"""Data to try things on: the paper's four real data sets and its synthetic laws."""

from evenscore.datasets.dataset import Dataset
from evenscore.datasets.real import load_adult, load_bank, load_compas, load_german

__all__ = ["Dataset", "load_adult", "load_bank", "load_compas", "load_german"]
