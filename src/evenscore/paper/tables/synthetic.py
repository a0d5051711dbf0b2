"""Tables of the synthetic examples: learned, and in closed form."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from evenscore.datasets import RingsLaw, SquareLaw
from evenscore.paper import published
from evenscore.paper.evidence import threshold_after
from evenscore.paper.synthetic import RATE, Experiment, Runs
from evenscore.paper.table import Cell, Number, Table

__all__ = ["area", "laws", "synthetic", "thresholds"]

Floats = NDArray[np.float64]

_MEAN_NOISE = 0.002  # of a published mean: 100 runs, whose deviations are all said to be below 0.02
_EXAMPLES = {"square": "Example 1", "rings": "Example 2"}


def synthetic(runs: Mapping[Experiment, Runs]) -> Table:
    """Means over the runs, beside the published ones."""
    n = len(next(iter(runs.values())).auc)
    return Table(
        "synthetic",
        f"Synthetic data: {n} runs",
        ("example", "constraint", "AUC", "ΔAUC", "|Δ_H,3/4|"),
        _synthetic_rows(runs),
        labels=2,
        note=(
            "Mean ± standard deviation over the runs, on test sets; in brackets the published "
            "mean. A gap is the size of its mean over the runs, which tends to the size of the "
            "true gap, as the mean of its sizes does not. Noise is the standard error of the "
            "difference of two such means."
        ),
    )


def laws() -> Table:
    """What the optimal scores of the examples have in closed form, beside the published means."""
    printed: dict[tuple[str, str], published.SyntheticRow] = {
        (row.example, row.kind): row for row in published.SYNTHETIC
    }
    rows: list[tuple[Cell, ...]] = []
    for example, kind, told, law in (
        ("square", "none", "largest AUC", SquareLaw.best()),
        ("square", "auc", "fair: c = 1/2", SquareLaw(0.5)),
        ("rings", "auc", "largest AUC, uniform radii", RingsLaw.best(uniform="radius")),
        ("rings", "roc", "fair at 3/4, uniform radii", RingsLaw.roc_fair(uniform="radius")),
        ("rings", "auc", "largest AUC, uniform in area", RingsLaw.best()),
        ("rings", "roc", "fair at 3/4, uniform in area", RingsLaw.roc_fair()),
    ):
        row = printed[example, kind]
        gaps = law.intra_group_gap(), float(law.roc_gap("negatives", RATE))
        both = zip((law.auc(), *map(abs, gaps)), (row.auc, row.auc_gap, row.roc_gap), strict=True)
        numbers = [Number(value, published=one, noise=_MEAN_NOISE) for value, one in both]
        rows.append((_EXAMPLES[example], told, f"{law.c:.3f}", *numbers))
    return Table(
        "laws",
        "The examples in closed form",
        ("example", "score", "c", "AUC", "ΔAUC", "|Δ_H,3/4|"),
        tuple(rows),
        labels=2,
        note="Exact: the law of the optimal linear score, beside the published means of 100 runs.",
    )


def thresholds(updates: int = 400) -> Table:
    """Where Algorithm 2 moves its thresholds, by what it compares with the rate."""
    rows: list[tuple[Cell, ...]] = []
    for step in (0.01, 0.001):
        for of in ("rate above", "share below"):
            found = [
                Number(threshold_after(updates, step, rate, of=of), digits=2)
                for rate in published.RATES
            ]
            rows.append((f"Δt = {step:g}", of, *found))
    wanted = [Number(float(ndtri(1.0 - rate)), digits=2) for rate in published.RATES]
    rows.append(("the quantile", "", *wanted))
    return Table(
        "thresholds",
        f"Thresholds of Algorithm 2 after {updates} updates",
        ("step", "compared with the rate", "rate 1/8", "rate 1/4"),
        tuple(rows),
        labels=2,
        note=(
            f"A standard normal score, alike in both groups; {updates} updates are 20,000 "
            "iterations. The rule compares F̂(t), which the paper defines as the share below t, "
            "with the rate, and prints Δt = 0.001. It works with the rate above t and Δt = 0.01."
        ),
    )


def area(runs: Mapping[Experiment, Runs]) -> Table:
    """Example 2 with points uniform in area, as printed, beside the published numbers."""
    n = len(next(iter(runs.values())).auc)
    return Table(
        "area",
        f"Example 2 as printed, uniform in area: {n} runs",
        ("example", "constraint", "AUC", "ΔAUC", "|Δ_H,3/4|"),
        _synthetic_rows(runs),
        labels=2,
        note="The published numbers fit points whose radii are uniform, not these.",
    )


def _synthetic_rows(runs: Mapping[Experiment, Runs]) -> tuple[tuple[Cell, ...], ...]:
    rows: list[tuple[Cell, ...]] = []
    for row in published.SYNTHETIC:
        experiment = Experiment(row.example, "auc" if row.kind == "none" else row.kind)
        if experiment not in runs:
            continue
        found = runs[experiment]
        column = 0 if row.kind == "none" else 1
        printed = (row.auc, row.auc_gap, row.roc_gap)
        cells: list[Cell] = []
        for values, told in zip((found.auc, found.auc_gap, found.roc_gap), printed, strict=True):
            cells.append(_mean_number(values[:, column], told))
        label = {"none": "λ = 0", "auc": "AUC-based, λ = 1", "roc": "ROC-based, λ_H = 1"}[row.kind]
        rows.append((_EXAMPLES[row.example], label, *cells))
    return tuple(rows)


def _mean_number(values: Floats, told: float | None) -> Number:
    """The size of the mean, its noise being that of the means of two such series."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
    noise = 0.0 if np.isnan(deviation) else deviation * np.sqrt(1 / len(values) + 1 / 100)
    return Number(abs(float(np.mean(values))), deviation, told, noise)
