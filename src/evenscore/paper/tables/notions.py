"""The tables of Γ, from the catalogue."""

from __future__ import annotations

import numpy as np

from evenscore.catalogue import CATALOGUE
from evenscore.constraints import AucConstraint
from evenscore.paper import published
from evenscore.paper.table import Cell, Number, Table

__all__ = ["gamma"]


def gamma(p0: float = 0.11, p1: float = 0.31, q1: float = 0.67) -> Table:
    """Γ of every notion of the catalogue that the paper has, at given proportions.

    The defaults are near those of Adult.
    """
    cells = np.array([[(1 - q1) * (1 - p0), q1 * (1 - p1)], [(1 - q1) * p0, q1 * p1]])
    rows: list[tuple[Cell, ...]] = []
    for name in CATALOGUE:
        ours = AucConstraint.named(name).gap_weights(cells)
        known = name in published.GAMMA
        told = published.gamma(name, p0, p1, q1) if known else (None,) * 5
        scaled = ours / ours.sum() if known else ours
        numbers = [
            Number(float(value), published=one) for value, one in zip(scaled, told, strict=True)
        ]
        scale = Number(float(ours.sum()) if known else np.nan, digits=2)
        formulas = ", ".join(published.GAMMA.get(name, ("not printed",)))
        rows.append((name, formulas, *numbers, scale))
    return Table(
        "gamma",
        "Γ of the AUC constraints",
        ("constraint", "as printed", "Γ₁", "Γ₂", "Γ₃", "Γ₄", "Γ₅", "ΣΓ"),
        tuple(rows),
        labels=2,
        note=(
            f"From the catalogue, at p₀ = {p0:g}, p₁ = {p1:g} and q₁ = {q1:g}, beside the printed "
            "formulas at the same proportions. Rows that the paper prints are divided by their sum "
            "ΣΓ, as the paper's are: its intra-group row is a third, its BPSN row a half of the "
            "difference of the two AUCs. Elsewhere we report the differences themselves."
        ),
    )
