"""The numbers that Vogel, Bellet and Clémençon (AISTATS 2021) published, as data."""

import tomllib
from collections.abc import Mapping
from math import isnan
from pathlib import Path
from typing import Any, Literal, get_args

DataName = Literal["german", "adult", "compas", "bank", "compas_two_years"]
Example = Literal["square", "rings"]
Kind = Literal["none", "auc", "roc"]
KINDS: tuple[Kind, ...] = get_args(Kind)

RATES = (1 / 8, 1 / 4)
"""Of the ROC constraints on real data, for both classes."""

MEASURES = ("AUC", "ΔAUC", "|Δ_H,1/8|", "|Δ_H,1/4|", "|Δ_G,1/8|", "|Δ_G,1/4|")
"""What the table of results has for every data set and constraint, in this order."""

STRENGTH_GRID = (0.0, 0.25, 0.5, 1.0, 5.0, 10.0)
L2_GRID = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0)

_PRINTED = tomllib.loads(Path(__file__).with_name("published.toml").read_text("utf-8"))


def _by_kind(table: Mapping[str, Mapping[Kind, Any]]) -> dict[tuple[Any, Kind], Any]:
    return {(name, kind): value for name, row in table.items() for kind, value in row.items()}


REAL: dict[tuple[str, Kind], list[float]] = _by_kind(_PRINTED["real"])
"""Test set of one split: sizes, in the order of `MEASURES`."""

STRENGTH: dict[tuple[str, Kind], float] = _by_kind(_PRINTED["strength"])
"""The λ selected for every data set and constraint."""

L2: dict[str, float] = _PRINTED["l2"]
"""The λ_reg selected for every data set, with whichever constraint."""

DIMENSIONS: dict[str, list[str]] = _PRINTED["dimensions"]
"""n + m, test rows and features, as printed."""

SYNTHETIC: dict[tuple[Example, Kind], list[float | None]] = {
    row: [None if isnan(value) else value for value in values]
    for row, values in _by_kind(_PRINTED["synthetic"]).items()
}
"""Means over 100 runs of the AUC, |intra_group| and |Δ_H,3/4|; None where the table has no number.

Standard deviations are all said to be below 0.02.
"""

GAMMA: dict[str, list[str]] = _PRINTED["gamma"]
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
