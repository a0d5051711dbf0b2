"""Figures of the real data: the ROC panels, and AUC and gap against λ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenscore.constraints import AucConstraint
from evenscore.curves import RocCurve
from evenscore.measures import auc, inter_group_curve
from evenscore.paper.parts import Outcome
from evenscore.paper.published import RATES, DataName, Kind
from evenscore.paper.real import Selection
from evenscore.paper.real_data import DATA, grouped, load, published_split
from evenscore.plots.style import LIGHT, figure
from evenscore.scores import CLASSES, GroupedScores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["roc_panels", "strength_path"]

_GRID = np.linspace(0.0, 1.0, 401)
_KINDS: dict[Kind, str] = {"none": "no constraint", "auc": "AUC-based", "roc": "ROC-based"}
_BETWEEN = ("$H^{(0)}, H^{(1)}$", "$G^{(0)}, G^{(1)}$")
_COMPARED = {
    "inter_group": ("$H^{(0)}, G^{(1)}$", "$H^{(1)}, G^{(0)}$"),
    "bnsp": ("$H, G^{(0)}$", "$H, G^{(1)}$"),
    "bpsn": ("$H^{(0)}, G$", "$H^{(1)}, G$"),
}


def roc_panels(
    names: Sequence[DataName],
    outcomes: Mapping[tuple[DataName, Kind], Outcome],
    *,
    train: bool = True,
) -> Figure:
    """One row a data set: for every constraint the curves of its AUCs, and those of the classes.

    Black is the overall ROC curve; test rows are solid, training rows dashed. Of the published
    split and the first seed.
    """
    made, axes = figure(len(names), 6, figsize=(17.0, 3.4 * len(names)), squeeze=False)
    for row, name in zip(axes, names, strict=True):
        parts = published_split(load(name))
        for number, (kind, told) in enumerate(_KINDS.items()):
            scores = outcomes[name, kind]["scores"]
            left, right = row[2 * number : 2 * number + 2]
            for rows, line in zip(parts, ("--", "-"), strict=True):
                if train or line == "-":
                    _panel(name, grouped(name, scores[rows], rows), left, right, line)
            left.set_title(f"{DATA[name].title}, {told}", fontsize=9.5)
            test = grouped(name, scores[parts[1]], parts[1])
            right.set_title(
                f"AUC {auc(test.pooled('negatives'), test.pooled('positives')):.3f}", fontsize=9.5
            )
            for ax in (left, right):
                ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
                ax.tick_params(labelsize=7)
                ax.legend(loc="lower right", fontsize=7, frameon=False)
    return made


def _panel(name: DataName, scores: GroupedScores, left: Any, right: Any, line: str) -> None:
    overall = RocCurve(scores.pooled("negatives"), scores.pooled("positives"))
    constraint = AucConstraint.named(DATA[name].auc_constraint)
    between = [inter_group_curve(scores, on) for on in CLASSES]
    labels = _COMPARED[DATA[name].auc_constraint]
    for ax, curves, told in (
        (left, constraint.curves(scores), labels),
        (right, between, _BETWEEN),
    ):
        if line == "-":
            ax.plot([0, 1], [0, 1], color=LIGHT.muted, linewidth=0.6)
            for rate in RATES if ax is right else ():
                ax.axvline(rate, color=LIGHT.muted, linewidth=0.5, linestyle=":")
        shade = 1.0 if line == "-" else 0.6
        known = {"linestyle": line, "linewidth": 1.2, "alpha": shade}
        label = "$H, G$" if line == "-" else "_"
        ax.plot(_GRID, overall.evaluate(_GRID), color=LIGHT.text, label=label, **known)
        for number, curve in enumerate(curves):
            label = told[number] if line == "-" else "_"
            color = LIGHT.colors[number]
            ax.plot(_GRID, curve.evaluate(_GRID), color=color, label=label, **known)


def strength_path(name: DataName, selection: Selection) -> Figure:
    """AUC and |Δ_H,1/8| on the test rows against λ, each with twice its standard error."""
    made, ax = figure(figsize=(6.2, 4.2))
    other = ax.twinx()
    x = np.arange(len(selection.strengths))
    for axes, column, number in ((ax, 0, 0), (other, 2, 1)):
        style = LIGHT.series(number)
        values, errors = selection.measures[:, 0, column], selection.measures[:, 1, column]
        axes.errorbar(
            x,
            np.abs(values),
            yerr=2 * errors,
            color=style.color,
            linestyle=style.linestyle,
            marker=style.marker,
            markersize=5,
            capsize=2,
        )
        axes.set_ylabel(("AUC", "|Δ_H,1/8|")[number], color=style.color)
        axes.tick_params(axis="y", labelcolor=style.color)
    other.set_ylim(bottom=0.0)
    ax.set_xticks(x, [f"{strength:g}" for strength in selection.strengths])
    ax.set_xlabel("λ")
    ax.set_title(f"{DATA[name].title}: ranking against the ROC constraint", fontsize=10)
    return made
