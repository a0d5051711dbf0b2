"""The paper's figures, each a function of laws or outcomes that gives a matplotlib figure."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np

from evenscore.gaps import AucConstraint
from evenscore.paper.laws import PiecewiseLinearLaw, RingsLaw, SquareLaw, credit_law
from evenscore.scores import CLASSES, GroupedScores
from evenscore.scores.aucs import auc, inter_group_curve
from evenscore.scores.curve import RocCurve
from evenscore.showing.plots.style import LIGHT, figure
from reproduction.published import RATES, DataName, Kind
from reproduction.real import DATA, Outcomes, Selection, grouped, load, published_split
from reproduction.synthetic import RATE, Experiment, Runs
from reproduction.synthetic import RATES as CURVE_RATES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Thresholds of the credit example: where FNRs are equal and the FPR a quarter, and a higher one.
_CUTS = (0.72, 0.85)
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
    """Figure 1: equal AUCs, unequal false negative rates, and where a ROC constraint acts; exact.

    Top: the c.d.f.s of the credit score, where false negative rates are read at two thresholds.
    Bottom left: the curves of the two groups, of equal area. Bottom right: the inter-group curves,
    with what a ROC constraint looks at, Δ_G at rates up to α_max.
    """
    law = credit_law()
    drawing, axes = figure(2, 2, figsize=(9.4, 8.6))
    for class_, ax in enumerate(axes[0]):
        _credit_cdfs(ax, law, class_)
    _credit_curves(axes[1, 0], law)
    _credit_gaps(axes[1, 1], law)
    return drawing


def _credit_cdfs(ax: Any, law: PiecewiseLinearLaw, class_: int) -> None:
    """The two c.d.f.s of a class; of the positives, with the false negative rates of the text."""
    for group in (0, 1):
        values = law.cdf(_GRID)[:, 2 * class_ + group]
        label = f"${'HG'[class_]}^{{({group})}}$"
        # Of two lines on top of each other the lower one is wider.
        width = 4.0 if class_ == 0 and group == 0 else 1.6
        ax.plot(_GRID, values, label=label, linewidth=width, **_line(group))
    for t in _CUTS:
        ax.axvline(t, color=LIGHT.muted, linewidth=0.8, linestyle=":")
        ax.annotate(f"t = {t:g}", (t, 1.0), (0, 3), textcoords="offset points", ha="center",
                    fontsize=8, color=LIGHT.muted, annotation_clip=False)  # fmt: skip
    marks = [(t, group) for t in _CUTS for group in (0, 1)] if class_ else [(_CUTS[0], 0)]
    for t, group in marks:
        value = float(law.cdf([t])[0, 2 * class_ + group])
        if class_ and t == _CUTS[0] and group:
            continue  # both groups are there
        colour = LIGHT.muted if not class_ or t == _CUTS[0] else _line(group)["color"]
        ax.plot([0.0, t], [value, value], color=colour, linewidth=0.8, linestyle=":")
        ax.plot([t], [value], "o", color=colour, markersize=4)
        text = f"FNR {value:.0%}" if class_ else f"FPR {1.0 - value:.0%}"
        ax.annotate(text, (0.02, value), (0, 3), textcoords="offset points", fontsize=8)
    name = CLASSES[class_]
    alike = ", alike in both groups" if class_ == 0 else ""
    ax.set_title(f"{'ab'[class_]}) c.d.f.s of the {name}{alike}", pad=14)
    ax.set(xlabel="score", ylabel="share at or below", xlim=(0, 1), ylim=(0, 1))
    ax.legend(frameon=False, loc="center left" if class_ else "lower right")


def _credit_curves(ax: Any, law: PiecewiseLinearLaw) -> None:
    """The curves of the two groups against all negatives, where they cross, and at t = 0.85."""
    ax.plot([0, 1], [0, 1], color=LIGHT.muted, linewidth=0.8)
    rates = np.linspace(0.0, 1.0, 1001)
    for group in (0, 1):
        target = law.positives(group)
        label = f"ROC of $H, G^{{({group})}}$; AUC {law.auc(target=target):.3f}"
        ax.plot(rates, law.roc_curve(target=target)(rates), label=label, **_line(group))
    for t, side in zip(_CUTS, ("left", "right"), strict=True):
        h, *tprs = 1.0 - law.cdf([t])[0, [0, 2, 3]]
        ax.axvline(h, color=LIGHT.muted, linewidth=0.8, linestyle=":")
        ax.plot([h, h], tprs, "o", color=LIGHT.muted, markersize=4)
        ax.annotate(f"t = {t:g}", (h, 1.0), (0, 3), textcoords="offset points", fontsize=8,
                    ha=side, color=LIGHT.muted, annotation_clip=False)  # fmt: skip
    ax.set_title("c) the same AUC, not the same TPR", pad=14)
    ax.set(xlabel="false positive rate", ylabel="true positive rate")
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.legend(loc="lower right", frameon=False)


def _credit_gaps(ax: Any, law: PiecewiseLinearLaw) -> None:
    """The inter-group curves: that of the negatives is the diagonal, that of the positives is not.

    α_max is the TPR of the first group at the threshold whose FPR is a quarter.
    """
    rates = np.linspace(0.0, 1.0, 1001)
    between = rates + law.roc_gap("positives", rates)
    limit = 1.0 - float(law.cdf([_CUTS[0]])[0, 2])
    inside = rates <= limit
    ax.fill_between(rates[inside], rates[inside], between[inside], color=_line(1)["color"],
                    alpha=0.15, linewidth=0)  # fmt: skip
    ax.plot(rates, rates + law.roc_gap("negatives", rates), linewidth=1.6,
            label="ROC of $H^{(0)}, H^{(1)}$: $\\Delta_H = 0$", **_line(0))  # fmt: skip
    ax.plot(rates, between, label="ROC of $G^{(0)}, G^{(1)}$: $\\Delta_G \\neq 0$", **_line(1))
    ax.axvline(limit, color=LIGHT.muted, linewidth=0.8, linestyle=":")
    ax.annotate("$\\alpha_{max}$ = " + f"{limit:g}", (limit, 1.0), (0, 3), ha="center",
                textcoords="offset points", fontsize=8, color=LIGHT.muted,
                annotation_clip=False)  # fmt: skip
    gap, at = 1.0 - float(law.cdf([_CUTS[1]])[0, 3]), 1.0 - float(law.cdf([_CUTS[1]])[0, 2])
    ax.annotate("", (at, gap), (at, at), arrowprops={"arrowstyle": "<->", "color": LIGHT.text})
    ax.annotate(f"$\\Delta_G$({at:.1g}) = {gap - at:+.1f}", (at, gap), (0, -14),
                textcoords="offset points", fontsize=8, ha="center")  # fmt: skip
    ax.set_title("d) what a ROC constraint closes, up to $\\alpha_{max}$", pad=14)
    ax.set(xlabel="rate α, of group 0", ylabel="rate of group 1")
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.legend(loc="upper left", frameon=False)


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
        ax.annotate(name, (at, 1.0), (0, 3), xycoords=("data", "axes fraction"), ha="center",
                    textcoords="offset points", color=LIGHT.muted, fontsize=9)  # fmt: skip
    ax.set(xlabel="c in s(x) = c x₁ + (1 − c) x₂", ylabel="AUC", xlim=(0, 1))
    drawing.legend(loc="outside lower center", ncols=3, frameon=False)
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
    letters = iter(ascii_lowercase)  # of the panels, row by row
    for row, name in zip(axes, names, strict=True):
        parts = published_split(load(name))
        for number, (kind, description) in enumerate(_KINDS.items()):
            score = outcomes[name, kind]["scores"]
            left, right = row[2 * number : 2 * number + 2]
            learned, test = (grouped(name, score[rows], rows) for rows in parts)
            if train:
                _panel(name, learned, left, right, "--")
            _panel(name, test, left, right, "-")
            first, second = next(letters), next(letters)
            left.set_title(f"({first}) {DATA[name].title}, {description}", fontsize=9.5)
            right.set_title(f"({second}) AUC {auc(*map(test.pooled, CLASSES)):.3f}", fontsize=9.5)
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
        beside = x + (number - 0.5) * 0.12  # bars that do not hide each other
        axes.errorbar(beside, np.abs(values), yerr=2 * errors, **points)
        axes.set_ylabel(label, color=style.color)
        axes.tick_params(axis="y", labelcolor=style.color)
    other.set_ylim(bottom=0.0)
    ax.set_xticks(x, [f"{strength:g}" for strength in selection.strengths])
    ax.set_xlabel("λ")
    ax.set_title(f"{DATA[name].title}: ranking against the ROC constraint", fontsize=10)
    return drawing
