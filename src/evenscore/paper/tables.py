"""The paper's tables, made from the catalogue, the data and the outcomes of the experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from evenscore.catalogue import CATALOGUE
from evenscore.constraints import AucConstraint
from evenscore.datasets import RingsLaw, SquareLaw
from evenscore.paper import published
from evenscore.paper.evidence import threshold_after
from evenscore.paper.parts import Outcome
from evenscore.paper.published import MEASURES, DataName, Kind
from evenscore.paper.real import Selection
from evenscore.paper.real_data import DATA, load, published_split
from evenscore.paper.synthetic import RATE, Experiment, Runs
from evenscore.paper.table import Cell, Number, Table

__all__ = [
    "area",
    "dimensions",
    "gamma",
    "grid",
    "laws",
    "parameters",
    "readings",
    "results",
    "splits",
    "synthetic",
    "thresholds",
]

Floats = NDArray[np.float64]

KINDS: dict[Kind, str] = {"none": "none", "auc": "AUC-based", "roc": "ROC-based"}
SCORER_NAMES = {
    "paper": "the paper's networks",
    "linear": "LinearScorer",
    "neural": "NeuralScorer",
    "boosted": "BoostedScorer",
    "repaired": "RepairedScorer on LightGBM",
}
_MEAN_NOISE = 0.002  # of a published mean: 100 runs, whose deviations are all said to be below 0.02
_EXAMPLES = {"square": "Example 1", "rings": "Example 2"}


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


def dimensions(names: Sequence[DataName]) -> Table:
    """Rows and features of every data set."""
    rows: list[tuple[Cell, ...]] = []
    for name in names:
        data = load(name)
        train, test = published_split(data)
        printed = published.DIMENSIONS.get(name, ("", "", ""))
        found = (len(train), len(test), data.X.shape[1])
        told = (f"{n:,}" + (f" ({p})" if p else "") for n, p in zip(found, printed, strict=True))
        rows.append((DATA[name].title, *told))
    return Table(
        "dimensions",
        "Data: rows and features",
        ("data", "n + m", "test rows", "d"),
        tuple(rows),
        note="In brackets: as printed.",
    )


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
            "iterations. The printed surrogate is σ(t − s), the share below t, and the printed Δt "
            "is 0.001."
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


def results(outcomes: Mapping[tuple[DataName, Kind], Outcome]) -> Table:
    """The table of results at the published parameters, beside the published numbers."""
    rows: list[tuple[Cell, ...]] = []
    for (name, kind), outcome in outcomes.items():
        measures = outcome["measures"]
        printed = published.REAL.get((name, kind), (None,) * len(MEASURES))
        rows.append((DATA[name].title, KINDS[kind], *_against(measures, printed)))
    seeds = len(next(iter(outcomes.values()))["measures"])
    return Table(
        "results",
        "Real data at the published parameters",
        ("data", "constraint", *MEASURES),
        tuple(rows),
        labels=2,
        note=(
            f"Test set of the published split; size of the mean over {seeds} seeds ± standard "
            "deviation over them. In brackets the published numbers, of one seed. Noise is the "
            "deviation over seeds and, since we cannot know that our test rows are the authors', "
            "the standard error of the measure on the test set; bold numbers differ from the "
            "published by more than twice that. ΔAUC is bnsp for German, inter_group for Adult and "
            "Bank, bpsn for Compas."
        ),
    )


def _against(measures: Floats, printed: Sequence[float | None]) -> list[Number]:
    """Numbers of (fits, 2, 6): size of the mean, deviation, and noise against one published fit."""
    values, errors = measures[:, 0], measures[:, 1]
    several = len(values) > 1
    deviation = np.std(values, axis=0, ddof=1) if several else np.full(values.shape[1], np.nan)
    spread = np.where(np.isnan(deviation), 0.0, deviation) ** 2 * (1 + 1 / len(values))
    noise = np.sqrt(spread + np.mean(errors, axis=0) ** 2)
    mean = np.abs(np.mean(values, axis=0))
    columns = (mean, deviation, printed, noise)
    return [Number(float(m), float(d), p, float(e)) for m, d, p, e in zip(*columns, strict=True)]


def parameters(selections: Mapping[tuple[DataName, Kind], Selection]) -> Table:
    """The λ and λ_reg that the validation rows choose, beside the published ones."""
    rows: list[tuple[Cell, ...]] = []
    for (name, kind), selection in selections.items():
        free, chosen = selection.strengths.index(0.0), selection.chosen
        told = DATA[name].strength(kind), DATA[name].l2
        rows.append(
            (
                DATA[name].title,
                KINDS[kind],
                f"{selection.strengths[chosen]:g} ({told[0]:g})",
                f"{selection.l2[chosen]:g} ({told[1]:g})",
                f"{selection.l2[free]:g} ({told[1]:g})",
                Number(float(selection.validation_auc[chosen])),
                Number(float(selection.worst_gap[chosen])),
            )
        )
    return Table(
        "parameters",
        "Parameters that the validation rows select",
        (
            "data",
            "algorithm",
            "λ",
            "λ_reg",
            "λ_reg at λ = 0",
            "AUC (validation)",
            "worst gap (validation)",
        ),
        tuple(rows),
        labels=2,
        note=(
            "λ_reg maximises AUC − λ Σ|gap| on the validation rows, as the paper has it; λ is the "
            "least above zero whose gaps there are at most 0.05, or else the one with the least "
            "gap: how the paper chose it is not said. In brackets the published choice."
        ),
    )


def grid(selections: Mapping[tuple[DataName, Kind], Selection]) -> Table:
    """For every λ the fit that the validation rows choose, judged on the test rows."""
    rows: list[tuple[Cell, ...]] = []
    for (name, kind), selection in selections.items():
        for k, strength in enumerate(selection.strengths):
            values, errors = selection.measures[k]
            numbers = [Number(abs(v), e) for v, e in zip(values, errors, strict=True)]
            told = f"{strength:g}", f"{selection.l2[k]:g}"
            rows.append((DATA[name].title, KINDS[kind], *told, *numbers))
    return Table(
        "grid",
        "Every λ, with the λ_reg that the validation rows select",
        ("data", "algorithm", "λ", "λ_reg", *MEASURES),
        tuple(rows),
        labels=4,
        note="Test set of the published split, one fit; ± is the standard error on that test set.",
    )


def splits(scorer: str, outcomes: Mapping[DataName, Sequence[Outcome]]) -> Table:
    """Means and deviations over splits of one scorer; the published numbers beside the paper's."""
    rows: list[tuple[Cell, ...]] = []
    kinds = list(KINDS)
    for name, found in outcomes.items():
        measures = np.array([outcome["measures"] for outcome in found])
        for k, kind in enumerate(kinds):
            printed: Sequence[Any] = published.REAL.get((name, kind), (None,) * len(MEASURES))
            values = np.abs(measures[:, k, 0])
            several = len(values) > 1
            deviation = np.std(values, axis=0, ddof=1) if several else np.full(6, np.nan)
            noise = np.where(np.isnan(deviation), 0.0, deviation) * np.sqrt(1 + 1 / len(values))
            columns = (np.mean(values, axis=0), deviation, printed, noise)
            numbers = [
                Number(float(m), float(d), p, float(e)) for m, d, p, e in zip(*columns, strict=True)
            ]
            rows.append((DATA[name].title, KINDS[kind], *numbers))
    n = len(next(iter(outcomes.values())))
    own = scorer == "paper"
    return Table(
        f"splits_{scorer}",
        f"{n} splits: {SCORER_NAMES[scorer]}",
        ("data", "constraint", *MEASURES),
        tuple(rows),
        labels=2,
        note=(
            f"Mean ± standard deviation over {n} splits of the paper's sizes, stratified by class "
            "and group, each with its own seed; gaps are means of sizes, in which chance remains "
            "however fair a score is. In brackets the published numbers, of one split"
            + (
                "; bold where they differ by more than splits do."
                if own
                else " of the paper's networks; bold where the difference, for better or worse, is "
                "more than splits make."
            )
        ),
    )


def readings(
    outcomes: Mapping[tuple[str, DataName], Outcome],
    usual: Mapping[tuple[DataName, Kind], Outcome],
    names: Mapping[str, str],
) -> Table:
    """ROC rows by other readings of the paper, beside the published numbers."""
    rows: list[tuple[Cell, ...]] = []
    for name in dict.fromkeys(data for _, data in outcomes):
        printed = published.REAL[name, "roc"]
        both = {"ours: Δt = 0.01, terms summed": usual[name, "roc"]}
        both |= {names[r]: outcome for (r, data), outcome in outcomes.items() if data == name}
        for told, outcome in both.items():
            rows.append((DATA[name].title, told, *_against(outcome["measures"], printed)))
    return Table(
        "readings",
        "Algorithm 2 by other readings of the text",
        ("data", "reading", *MEASURES),
        tuple(rows),
        labels=2,
        note="ROC-based, published parameters and split; in brackets the published numbers.",
    )
