"""The paper's figures, each a function of laws or outcomes that gives a matplotlib figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenscore.gaps import AucConstraint
from evenscore.paper.laws import PiecewiseLinearLaw, RingsLaw, SquareLaw, credit_law
from evenscore.paper.published import RATES, DataName, Kind
from evenscore.paper.real import Outcomes, Selection
from evenscore.paper.real_data import DATA, grouped, load, published_split
from evenscore.paper.synthetic import RATE, Experiment, Runs
from evenscore.paper.synthetic import RATES as CURVE_RATES
from evenscore.scores import CLASSES, GroupedScores
from evenscore.scores.aucs import auc, inter_group_curve
from evenscore.scores.curve import RocCurve
from evenscore.showing.plots.style import LIGHT, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CUT = 0.72  # a quarter of the negatives of the credit score are above
_GRID = np.linspace(0.0, 1.0, 401)
_KINDS: dict[Kind, str] = {"none": "no constraint", "auc": "AUC-based", "roc": "ROC-based"}
_OVERALL = "$H, G$"
_WITHIN = ("$H^{(0)}, G^{(0)}$", "$H^{(1)}, G^{(1)}$")
_BETWEEN = ("$H^{(0)}, H^{(1)}$", "$G^{(0)}, G^{(1)}$")
_COMPARED = {
    "inter_group": ("$H^{(0)}, G^{(1)}$", "$H^{(1)}, G^{(0)}$"),
    "bnsp": ("$H, G^{(0)}$", "$H, G^{(1)}$"),
    "bpsn": ("$H^{(0)}, G$", "$H^{(1)}, G$"),
}


def _line(number: int) -> dict[str, Any]:
    """Colour and dashes of a series."""
    style = LIGHT.series(number)
    return {"color": style.color, "linestyle": style.linestyle}


# ---------------------------------------------------------------------- in closed form


def credit() -> Figure:
    """Figure 1: equal AUCs, unequal FNRs, and what a ROC constraint does to them; exact.

    The densities of the credit score, its two ROC curves, and those of an aligned score.
    """
    law = credit_law()
    drawing, axes = figure(2, 2, figsize=(9.0, 8.0))
    t = np.linspace(0.0, 1.0, 2000, endpoint=False)
    density = law.pdf(t)
    for class_, ax in enumerate(axes[0]):
        for group in (0, 1):
            ax.plot(t, density[:, 2 * class_ + group], label=f"group {group}", **_line(group))
        title = f"Scores of the {CLASSES[class_]}"
        ax.set(title=title, xlabel="score", ylabel="density", xlim=(0, 1))
        ax.set_ylim(bottom=0.0)
        ax.legend(frameon=False)
    titles = ("The same AUC, not the same TPR", "Aligned at false positive rates up to 1/4")
    for ax, shown, title in zip(axes[1], (law, aligned_law()), titles, strict=True):
        _credit_curves(ax, shown, title)
    return drawing


def _credit_curves(ax: Any, law: PiecewiseLinearLaw, title: str) -> None:
    rates = np.linspace(0.0, 1.0, 1001)
    ax.axvspan(0.0, 0.25, color=LIGHT.faint, alpha=0.5, linewidth=0)
    ax.plot([0, 1], [0, 1], color=LIGHT.muted, linewidth=0.8)
    for group in (0, 1):
        target = law.positives(group)
        label = f"ROC of H, G{'⁰¹'[group]}; AUC {law.auc(target=target):.3f}"
        ax.plot(rates, law.roc_curve(target=target)(rates), label=label, **_line(group))
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


def square_tradeoff() -> Figure:
    """Example 1 in closed form: overall and group-wise AUCs of s_c as functions of c."""
    c = np.linspace(0.0, 1.0, 201)
    laws = [SquareLaw(float(value)) for value in c]
    matrices = [law.auc_matrix() for law in laws]
    drawing, ax = figure(figsize=(5.6, 4.2))
    series = {
        "AUC of everyone": [law.auc() for law in laws],
        "AUC within group 0": [matrix[0, 2] for matrix in matrices],
        "AUC within group 1": [matrix[1, 3] for matrix in matrices],
    }
    for number, (label, values) in enumerate(series.items()):
        ax.plot(c, values, label=label, **_line(number))
    for name, at, line in (("fair", 0.5, "-"), ("best AUC", SquareLaw.best().c, ":")):
        ax.axvline(at, color=LIGHT.muted, linewidth=0.8, linestyle=line)
        ax.annotate(name, (at, 0.5), (4, 4), textcoords="offset points", color=LIGHT.muted)
    ax.set(xlabel="c in s(x) = c x₁ + (1 − c) x₂", ylabel="AUC", xlim=(0, 1))
    ax.legend(frameon=False)
    return drawing


# ---------------------------------------------------------------------- synthetic data


def _law(experiment: Experiment, c: float) -> SquareLaw | RingsLaw:
    return SquareLaw(c) if experiment.example == "square" else RingsLaw(c, uniform="radius")


def solutions(experiment: Experiment, runs: Runs) -> Figure:
    """L_λ(s_c) for λ = 0 and 1 in closed form, and the c that were found."""
    c = np.linspace(0.0, 1.0, 101)
    laws = [_law(experiment, float(value)) for value in c]
    rate = RATE if experiment.kind == "roc" else None
    criteria = [law.auc() for law in laws], [law.penalised_auc(1.0, rate) for law in laws]
    drawing, ax = figure(figsize=(5.6, 4.2))
    for number, values in enumerate(criteria):
        style = LIGHT.series(number)
        ax.plot(c, values, label=f"λ = {number}", **_line(number))
        points = np.clip(runs.c[:, number], 0.0, 1.0)
        points = points[~np.isnan(points)]
        heights = np.interp(points, c, values)
        ax.scatter(points, heights, s=14, color=style.color, marker=style.marker, alpha=0.5)
    objective = "L_Λ" if experiment.kind == "roc" else "L_λ"
    ax.set(xlabel="c", ylabel=f"{objective}(s_c)", xlim=(0, 1))
    ax.set_title(f"The curve, and the solutions of {len(runs.c)} runs", fontsize=10)
    ax.legend(frameon=False)
    return drawing


def score_maps(experiment: Experiment, runs: Runs) -> Figure:
    """The median solution's score on the unit square, at λ = 0 and λ = 1."""
    drawing, axes = figure(1, 2, figsize=(9.0, 4.2), squeeze=False)
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
        drawing.colorbar(shades, ax=ax, shrink=0.8, label="score")
    return drawing


def median_curves(experiment: Experiment, runs: Runs) -> Figure:
    """Median ROC curves over the runs with pointwise 95 % bands, at λ = 0 and λ = 1."""
    drawing, axes = figure(1, 2, figsize=(9.4, 5.0), squeeze=False)
    labels = (_OVERALL, *_WITHIN, *_BETWEEN)  # of `synthetic.CURVES`
    shown = (3, 4) if experiment.kind == "roc" else (1, 2)
    lines = {0: {"color": LIGHT.text, "linestyle": "-"}, shown[0]: _line(0), shown[1]: _line(1)}
    for number, ax in enumerate(axes[0]):
        ax.plot([0, 1], [0, 1], color=LIGHT.muted, linewidth=0.8)
        for curve, line in lines.items():
            values = runs.curves[:, number, curve]
            low, middle, high = np.quantile(values, (0.025, 0.5, 0.975), axis=0)
            ax.fill_between(CURVE_RATES, low, high, color=line["color"], alpha=0.2, linewidth=0)
            ax.plot(CURVE_RATES, middle, label=labels[curve], **line)
        if experiment.kind == "roc":
            ax.axvline(RATE, color=LIGHT.muted, linewidth=0.8, linestyle=":")
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="rate", ylabel="ROC")
        ax.set_title(f"λ = {number}: AUC {np.mean(runs.auc[:, number]):.3f}", fontsize=10)
    handles, names = axes[0, 0].get_legend_handles_labels()
    drawing.legend(handles, names, loc="outside lower center", ncols=3, frameon=False)
    return drawing


# ---------------------------------------------------------------------- real data


def roc_panels(names: Sequence[DataName], outcomes: Outcomes, *, train: bool = True) -> Figure:
    """One row a data set: for every constraint the curves of its AUCs, and those of the classes.

    Black is the overall ROC curve; test rows are solid, training rows dashed. Of the published
    split and the first seed.
    """
    drawing, axes = figure(len(names), 6, figsize=(17.0, 3.4 * len(names)), squeeze=False)
    for row, name in zip(axes, names, strict=True):
        parts = published_split(load(name))
        for number, (kind, description) in enumerate(_KINDS.items()):
            score = outcomes[name, kind]["scores"]
            left, right = row[2 * number : 2 * number + 2]
            learned, test = (grouped(name, score[rows], rows) for rows in parts)
            if train:
                _panel(name, learned, left, right, "--")
            _panel(name, test, left, right, "-")
            left.set_title(f"{DATA[name].title}, {description}", fontsize=9.5)
            right.set_title(f"AUC {auc(*map(test.pooled, CLASSES)):.3f}", fontsize=9.5)
            for ax in (left, right):
                ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
                ax.tick_params(labelsize=7)
                ax.legend(loc="lower right", fontsize=7, frameon=False)
    return drawing


def _panel(name: DataName, scores: GroupedScores, left: Any, right: Any, line: str) -> None:
    overall = RocCurve(*map(scores.pooled, CLASSES))
    constraint = DATA[name].auc_constraint
    compared = AucConstraint.named(constraint).curves(scores)
    between = [inter_group_curve(scores, on) for on in CLASSES]
    solid = line == "-"
    known = {"linestyle": line, "linewidth": 1.2, "alpha": 1.0 if solid else 0.6}
    for ax, curves, labels in ((left, compared, _COMPARED[constraint]), (right, between, _BETWEEN)):
        if solid:
            ax.plot([0, 1], [0, 1], color=LIGHT.muted, linewidth=0.6)
            for rate in RATES if ax is right else ():
                ax.axvline(rate, color=LIGHT.muted, linewidth=0.5, linestyle=":")
        named = zip((overall, *curves), (_OVERALL, *labels), strict=True)
        for number, (curve, label) in enumerate(named):
            color = LIGHT.colors[number - 1] if number else LIGHT.text
            shown = label if solid else "_"
            ax.plot(_GRID, curve.evaluate(_GRID), color=color, label=shown, **known)


def strength_path(name: DataName, selection: Selection) -> Figure:
    """AUC and |Δ_H,1/8| on the test rows against λ, each with twice its standard error."""
    drawing, ax = figure(figsize=(6.2, 4.2))
    other = ax.twinx()
    x = np.arange(len(selection.strengths))
    for number, (axes, column, label) in enumerate(((ax, 0, "AUC"), (other, 2, "|Δ_H,1/8|"))):
        style = LIGHT.series(number)
        values, errors = selection.measures[:, 0, column], selection.measures[:, 1, column]
        points = {"marker": style.marker, "markersize": 5, "capsize": 2, **_line(number)}
        axes.errorbar(x, np.abs(values), yerr=2 * errors, **points)
        axes.set_ylabel(label, color=style.color)
        axes.tick_params(axis="y", labelcolor=style.color)
    other.set_ylim(bottom=0.0)
    ax.set_xticks(x, [f"{strength:g}" for strength in selection.strengths])
    ax.set_xlabel("λ")
    ax.set_title(f"{DATA[name].title}: ranking against the ROC constraint", fontsize=10)
    return drawing
