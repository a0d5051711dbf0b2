"""Figures of Examples 1 and 2: solutions, score maps, median curves, the trade-off of Example 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from evenscore.datasets import RingsLaw, SquareLaw
from evenscore.paper.synthetic import RATE, RATES, Experiment, Runs
from evenscore.plots.style import LIGHT, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

__all__ = ["median_curves", "score_maps", "solutions", "square_tradeoff"]

_LABELS = ("$H, G$", "$H^{(0)}, G^{(0)}$", "$H^{(1)}, G^{(1)}$", "$H^{(0)}, H^{(1)}$",
           "$G^{(0)}, G^{(1)}$")  # fmt: skip


def square_tradeoff() -> Figure:
    """Example 1 in closed form: overall and group-wise AUCs of s_c as functions of c."""
    c = np.linspace(0.0, 1.0, 201)
    laws = [SquareLaw(float(value)) for value in c]
    matrices = [law.auc_matrix() for law in laws]
    made, ax = figure(figsize=(5.6, 4.2))
    series = {
        "AUC of everyone": [law.auc() for law in laws],
        "AUC within group 0": [matrix[0, 2] for matrix in matrices],
        "AUC within group 1": [matrix[1, 3] for matrix in matrices],
    }
    for number, (label, values) in enumerate(series.items()):
        style = LIGHT.series(number)
        ax.plot(c, values, color=style.color, linestyle=style.linestyle, label=label)
    ax.axvline(0.5, color=LIGHT.muted, linewidth=0.8)
    ax.annotate("fair", (0.5, 0.5), (4, 4), textcoords="offset points", color=LIGHT.muted)
    ax.axvline(SquareLaw.best().c, color=LIGHT.muted, linewidth=0.8, linestyle=":")
    ax.annotate(
        "best AUC", (SquareLaw.best().c, 0.5), (4, 4), textcoords="offset points",
        color=LIGHT.muted,
    )  # fmt: skip
    ax.set(xlabel="c in s(x) = c x₁ + (1 − c) x₂", ylabel="AUC", xlim=(0, 1))
    ax.legend(frameon=False)
    return made


def solutions(experiment: Experiment, runs: Runs) -> Figure:
    """L_λ(s_c) for λ = 0 and 1 in closed form, and the c that were found."""
    c = np.linspace(0.0, 1.0, 101)
    free, fair = _criteria(experiment, c)
    made, ax = figure(figsize=(5.6, 4.2))
    for number, values in enumerate((free, fair)):
        style = LIGHT.series(number)
        ax.plot(c, values, color=style.color, linestyle=style.linestyle, label=f"λ = {number}")
        found = np.clip(runs.c[:, number], 0.0, 1.0)
        found = found[~np.isnan(found)]
        heights = np.interp(found, c, values)
        ax.scatter(found, heights, s=14, color=style.color, marker=style.marker, alpha=0.5)
    told = "L_Λ" if experiment.kind == "roc" else "L_λ"
    ax.set(xlabel="c", ylabel=f"{told}(s_c)", xlim=(0, 1))
    ax.set_title(f"The curve, and the solutions of {len(runs.c)} runs", fontsize=10)
    ax.legend(frameon=False)
    return made


def _criteria(experiment: Experiment, c: Floats) -> tuple[Floats, Floats]:
    """AUC and AUC − |gap| of every s_c."""
    rate = RATE if experiment.kind == "roc" else None
    found = []
    for value in c:
        law = _law(experiment, float(value))
        auc = law.auc()
        gap = law.intra_group_gap() if rate is None else float(law.roc_gap("negatives", rate))
        found.append((auc, auc - abs(gap)))
    free, fair = np.array(found).T
    return free, fair


def _law(experiment: Experiment, c: float) -> SquareLaw | RingsLaw:
    return SquareLaw(c) if experiment.example == "square" else RingsLaw(c, uniform="radius")


def score_maps(experiment: Experiment, runs: Runs) -> Figure:
    """The median solution's score on the unit square, at λ = 0 and λ = 1."""
    made, axes = figure(1, 2, figsize=(9.0, 4.2), squeeze=False)
    side = np.linspace(0.0, 1.0, 201)
    x1, x2 = np.meshgrid(side, side)
    X = np.column_stack([x1.ravel(), x2.ravel()])
    for number, ax in enumerate(axes[0]):
        c = float(np.clip(np.nanmedian(runs.c[:, number]), 0.0, 1.0))
        score = _law(experiment, c).score(X).reshape(x1.shape)
        shades = ax.contourf(x1, x2, score, levels=20, cmap="viridis")
        ax.contour(x1, x2, score, levels=10, colors="white", linewidths=0.4)
        ax.set(xlabel="x₁", ylabel="x₂", aspect="equal")
        ax.set_title(f"λ = {number}: median c = {c:.3f}", fontsize=10)
        if experiment.example == "rings":
            angle = np.linspace(0.0, np.pi / 2, 100)
            for radius in (0.5, 1.0):
                ax.plot(radius * np.cos(angle), radius * np.sin(angle), color="black", lw=0.8)
        made.colorbar(shades, ax=ax, shrink=0.8, label="score")
    return made


def median_curves(experiment: Experiment, runs: Runs) -> Figure:
    """Median ROC curves over the runs with pointwise 95 % bands, at λ = 0 and λ = 1."""
    made, axes = figure(1, 2, figsize=(9.4, 5.0), squeeze=False)
    shown: tuple[Literal[0, 1, 2, 3, 4], ...]
    shown = (0, 3, 4) if experiment.kind == "roc" else (0, 1, 2)
    for number, ax in enumerate(axes[0]):
        ax.plot([0, 1], [0, 1], color=LIGHT.muted, linewidth=0.8)
        for position, curve in enumerate(shown):
            style = LIGHT.series(position - 1)
            color = LIGHT.text if curve == 0 else style.color
            line = "-" if curve == 0 else style.linestyle
            values = runs.curves[:, number, curve]
            low, middle, high = np.quantile(values, (0.025, 0.5, 0.975), axis=0)
            ax.fill_between(RATES, low, high, color=color, alpha=0.2, linewidth=0)
            ax.plot(RATES, middle, color=color, linestyle=line, label=_LABELS[curve])
        if experiment.kind == "roc":
            ax.axvline(RATE, color=LIGHT.muted, linewidth=0.8, linestyle=":")
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="rate", ylabel="ROC")
        ax.set_title(f"λ = {number}: AUC {np.mean(runs.auc[:, number]):.3f}", fontsize=10)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    made.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return made
