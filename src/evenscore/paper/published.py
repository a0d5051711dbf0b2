"""The numbers that Vogel, Bellet and Clémençon (AISTATS 2021) published, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

__all__ = [
    "DIMENSIONS",
    "GAMMA",
    "KINDS",
    "L2",
    "L2_GRID",
    "MEASURES",
    "RATES",
    "REAL",
    "STRENGTH",
    "STRENGTH_GRID",
    "SYNTHETIC",
    "DataName",
    "Kind",
    "gamma",
]

DataName = Literal["german", "adult", "compas", "bank", "compas_two_years"]
Kind = Literal["none", "auc", "roc"]
KINDS: tuple[Kind, ...] = get_args(Kind)

RATES = (1 / 8, 1 / 4)
"""Of the ROC constraints on real data, for both classes."""

MEASURES = ("AUC", "ΔAUC", "|Δ_H,1/8|", "|Δ_H,1/4|", "|Δ_G,1/8|", "|Δ_G,1/4|")
"""What the table of results has for every data set and constraint, in this order."""

REAL: dict[tuple[str, Kind], tuple[float, ...]] = {
    ("german", "none"): (0.76, 0.07, 0.01, 0.20, 0.13, 0.20),
    ("german", "auc"): (0.75, 0.05, 0.05, 0.08, 0.01, 0.02),
    ("german", "roc"): (0.75, 0.07, 0.03, 0.07, 0.04, 0.01),
    ("adult", "none"): (0.91, 0.16, 0.31, 0.36, 0.02, 0.06),
    ("adult", "auc"): (0.89, 0.02, 0.09, 0.17, 0.06, 0.14),
    ("adult", "roc"): (0.87, 0.07, 0.06, 0.01, 0.00, 0.02),
    ("compas", "none"): (0.72, 0.20, 0.26, 0.32, 0.29, 0.29),
    ("compas", "auc"): (0.71, 0.00, 0.06, 0.03, 0.02, 0.06),
    ("compas", "roc"): (0.70, 0.05, 0.01, 0.02, 0.00, 0.00),
    ("bank", "none"): (0.94, 0.13, 0.09, 0.18, 0.00, 0.04),
    ("bank", "auc"): (0.93, 0.05, 0.03, 0.11, 0.27, 0.37),
    ("bank", "roc"): (0.91, 0.14, 0.03, 0.05, 0.06, 0.21),
}
"""Test set of one split: sizes, in the order of `MEASURES`."""

STRENGTH_GRID = (0.0, 0.25, 0.5, 1.0, 5.0, 10.0)
L2_GRID = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0)
STRENGTH: dict[tuple[str, Kind], float] = {
    (data, kind): 0.0 if kind == "none" else 0.25
    for data in ("german", "adult", "compas", "bank")
    for kind in ("none", "auc", "roc")
} | {("compas", "auc"): 0.5}
"""The λ selected for every data set and constraint."""
L2 = {"german": 0.5, "adult": 0.05, "compas": 0.05, "bank": 0.05}
"""The λ_reg selected for every data set, with whichever constraint."""

DIMENSIONS = {  # n + m, test rows, features; as printed
    "german": ("700", "300", "61"),
    "adult": ("32.5K", "16.3K", "107"),
    "compas": ("7.5K", "1.9K", "16"),
    "bank": ("36K", "9K", "59"),
}


@dataclass(frozen=True)
class SyntheticRow:
    """Means over 100 runs; None where the paper's table has no number."""

    example: Literal["square", "rings"]
    kind: Kind
    auc: float
    auc_gap: float
    roc_gap: float | None


SYNTHETIC = (
    SyntheticRow("square", "none", 0.79, 0.28, None),
    SyntheticRow("square", "auc", 0.73, 0.00, None),
    SyntheticRow("rings", "none", 0.80, 0.02, None),
    SyntheticRow("rings", "auc", 0.80, 0.02, 0.38),
    SyntheticRow("rings", "roc", 0.75, 0.06, 0.00),
)
"""The gaps are |intra_group| and |Δ_H,3/4|; standard deviations are all said to be below 0.02."""

GAMMA = {
    "intra_group": ("0", "0", "1/3", "1/3", "1/3"),
    "bnsp": ("0", "0", "q₀(1−p₀)/(1−p)", "0", "q₁(1−p₁)/(1−p)"),
    "bpsn": ("0", "0", "q₀p₀/2p", "1/2", "q₁p₁/2p"),
    "zero_aeg": ("0", "1", "0", "0", "0"),
    "inter_group": ("0", "0", "0", "1", "0"),
    "reference_group": ("0", "p₀", "1−p₀", "0", "0"),
}
"""The published Γ, scaled to sum to one; the main text has all but the last."""


def gamma(name: str, p0: float, p1: float, q1: float) -> tuple[float, ...]:
    """The published Γ at given shares of positives in both groups, and share of group 1.

    >>> gamma("bpsn", 0.5, 0.5, 0.25)
    (0.0, 0.0, 0.375, 0.5, 0.125)
    """
    q0 = 1.0 - q1
    p = q0 * p0 + q1 * p1
    return {
        "intra_group": (0.0, 0.0, 1 / 3, 1 / 3, 1 / 3),
        "bnsp": (0.0, 0.0, q0 * (1 - p0) / (1 - p), 0.0, q1 * (1 - p1) / (1 - p)),
        "bpsn": (0.0, 0.0, q0 * p0 / (2 * p), 0.5, q1 * p1 / (2 * p)),
        "zero_aeg": (0.0, 1.0, 0.0, 0.0, 0.0),
        "inter_group": (0.0, 0.0, 0.0, 1.0, 0.0),
        "reference_group": (0.0, p0, 1 - p0, 0.0, 0.0),
    }[name]
