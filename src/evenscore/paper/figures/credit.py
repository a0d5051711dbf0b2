"""Figure 1: equal AUCs, unequal false negative rates, and what a ROC constraint does to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenscore.datasets import PiecewiseLinearLaw, credit_law
from evenscore.plots.style import LIGHT, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["aligned_law", "credit"]

_CUT = 0.72  # a quarter of the negatives score above


def credit() -> Figure:
    """The credit score: its densities, its two ROC curves, and those of an aligned score; exact."""
    law = credit_law()
    made, axes = figure(2, 2, figsize=(9.0, 8.0))
    t = np.linspace(0.0, 1.0, 2000, endpoint=False)
    density = law.pdf(t)
    for ax, class_, title in ((axes[0, 0], 0, "negatives"), (axes[0, 1], 1, "positives")):
        for group in (0, 1):
            style = LIGHT.series(group)
            ax.plot(
                t,
                density[:, 2 * class_ + group],
                color=style.color,
                linestyle=style.linestyle,
                label=f"group {group}",
            )
        ax.set(title=f"Scores of the {title}", xlabel="score", ylabel="density", xlim=(0, 1))
        ax.set_ylim(bottom=0.0)
        ax.legend(frameon=False)
    titles = ("The same AUC, not the same TPR", "Aligned at false positive rates up to 1/4")
    for ax, shown, title in zip(axes[1], (law, aligned_law()), titles, strict=True):
        _roc(ax, shown, title)
    return made


def _roc(ax: Any, law: PiecewiseLinearLaw, title: str) -> None:
    rates = np.linspace(0.0, 1.0, 1001)
    ax.axvspan(0.0, 0.25, color=LIGHT.faint, alpha=0.5, linewidth=0)
    ax.plot([0, 1], [0, 1], color=LIGHT.muted, linewidth=0.8)
    for group in (0, 1):
        style, target = LIGHT.series(group), law.positives(group)
        ax.plot(
            rates,
            law.roc_curve(target=target)(rates),
            color=style.color,
            linestyle=style.linestyle,
            label=f"ROC of H, G{'⁰¹'[group]}; AUC {law.auc(target=target):.3f}",
        )
    ax.set(title=title, xlabel="false positive rate", ylabel="true positive rate")
    ax.set(xlim=(0, 1), ylim=(0, 1.005), aspect="equal")
    ax.legend(loc="lower right", frameon=False)


def aligned_law() -> PiecewiseLinearLaw:
    """The credit score with both groups' positives alike above 0.72, where the FPR is below 1/4.

    Above, the two c.d.f.s are replaced by their mean; below, nothing changes.

    >>> law = aligned_law()
    >>> law.cdf([0.6, 0.72, 0.85])[:, 2:].round(3).tolist()
    [[0.138, 0.02], [0.2, 0.2], [0.45, 0.45]]
    """
    law = credit_law()
    values = law.cdf_values.copy()
    above = law.knots >= _CUT
    values[2:, above] = values[2:, above].mean(axis=0)
    return PiecewiseLinearLaw(law.knots, values, cell_weights=law.cell_weights)
