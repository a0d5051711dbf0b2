"""`evenscore demo`: audit an ordinary score on embedded data, then learn a fair one."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from evenscore.catalogue import CATALOGUE
from evenscore.constraints import RocConstraint
from evenscore.datasets import load_adult
from evenscore.inference import (
    Estimate,
    auc_estimates,
    certify,
    gap_estimates,
    placement_moments,
    roc_gap_estimates,
)
from evenscore.scorers.linear import LinearScorer
from evenscore.scores import CLASSES, GroupedScores
from evenscore.thresholds import RateName, fair_thresholds, rates_at

RATES = (1 / 8, 1 / 4)
TOLERANCE = 0.05


def demo() -> None:
    """Audit an unfair score of income, learn a fair one, and compare the two on new people."""
    console = Console(width=110)
    data = load_adult()
    with console.status("Fitting a logistic regression on 32,561 people …"):
        model = _fit_plain_score(data.X[data.train], data.y[data.train])
    test = data.test
    scores = GroupedScores.from_arrays(
        data.y[test], model.decision_function(data.X[test]), sensitive_features=data.groups[test]
    )
    moments = placement_moments(scores)
    overall, _ = auc_estimates(scores, moments=moments)

    console.print(
        f"\n[bold]Adult census data, {len(test):,} people the score has never seen.[/bold]\n"
        "Positive: income above $50,000. Groups: sex. The score never looked at fairness.\n"
        f"Its overall AUC is [bold]{overall.value:.3f}[/bold] ({overall.low:.3f} to "
        f"{overall.high:.3f}): a good score. Is it an even one?\n"
    )
    console.print(_people(scores))
    named = gap_estimates(scores, list(CATALOGUE), moments=moments)
    console.print(_gaps("AUC fairness: should be zero", named))
    pointwise = roc_gap_estimates(scores, RocConstraint(on="both", rates=RATES))
    console.print(_gaps("ROC fairness: should be zero at every cut", pointwise))
    console.print(_cuts(scores))
    console.print(_fair_cuts(scores))
    for on in CLASSES:
        told = certify(scores, TOLERANCE, on=on, method="simultaneous")
        console.print(f"[bold]{on.capitalize()}:[/bold] {told}")
    console.print()
    with console.status("Learning a fair score …"):
        start = time.perf_counter()
        fair = LinearScorer(RocConstraint(on="both", rates=RATES), tolerance=0.02)
        fair.fit(data.X[data.train], data.y[data.train], sensitive_features=data.groups[data.train])
        seconds = time.perf_counter() - start
    mended = GroupedScores.from_arrays(
        data.y[test], fair.decision_function(data.X[test]), sensitive_features=data.groups[test]
    )
    console.print(_before_and_after(scores, mended))
    console.print(
        f"The fair score was learned in {seconds:.1f} s, with a tolerance of 0.02 at those cuts; "
        "it does not need the group to score anyone.\n"
        f"\nGaps whose whole 95% interval lies beyond {TOLERANCE:.2f} are in red, within it in "
        "green. A person is selected if their score is above the cut.\n"
    )


def _before_and_after(before: GroupedScores, after: GroupedScores) -> Table:
    table = Table(title="The same people, an ordinary and a fair score", title_justify="left")
    table.add_column("")
    for title in ("ordinary", "95% interval", "fair", "95% interval"):
        table.add_column(title, justify="right", no_wrap=True)
    constraint = RocConstraint(on="both", rates=RATES)
    columns = []
    for scores in (before, after):
        moments = placement_moments(scores)
        gaps = gap_estimates(scores, "inter_group", moments=moments)
        gaps += roc_gap_estimates(scores, constraint)
        columns.append([auc_estimates(scores, moments=moments)[0], *gaps])
    for old, new in zip(*columns, strict=True):
        name = "AUC" if old is columns[0][0] else old.name
        name += "" if old.rate is None else f" at {old.rate:.1%}"
        cells = []
        for estimate in (old, new):
            told = f"{estimate.value:.3f}" if name == "AUC" else _signed(estimate)
            cells += [told, f"{estimate.low:+.3f} to {estimate.high:+.3f}"]
        table.add_row(name, *cells)
    return table


def _fit_plain_score(X: NDArray[np.float64], y: NDArray[np.int64]) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)


def _signed(gap: Estimate) -> str:
    beyond = min(abs(gap.low), abs(gap.high)) > TOLERANCE and gap.low * gap.high > 0
    within = max(abs(gap.low), abs(gap.high)) <= TOLERANCE
    colour = "red" if beyond else "green" if within else "yellow"
    return f"[{colour}]{gap.value:+.3f}[/{colour}]"


def _people(scores: GroupedScores) -> Table:
    table = Table(title="Who is in the sample", title_justify="left")
    for column in ("group", "negatives", "positives", "share of positives", "share of the sample"):
        table.add_column(column, justify="left" if column == "group" else "right")
    for k, group in enumerate(scores.groups):
        negatives, positives = scores.cell_counts[:, k]
        table.add_row(
            str(group),
            f"{negatives:,.0f}",
            f"{positives:,.0f}",
            f"{scores.prevalence_by_group[k]:.1%}",
            f"{scores.group_share[k]:.1%}",
        )
    return table


def _gaps(title: str, gaps: list[Estimate]) -> Table:
    table = Table(title=title, title_justify="left", show_lines=True)
    table.add_column("gap", no_wrap=True)
    table.add_column("value", justify="right")
    table.add_column("95% interval", no_wrap=True)
    table.add_column("in words")
    for gap in gaps:
        interval = f"{gap.low:+.3f} to {gap.high:+.3f}"
        table.add_row(gap.name, _signed(gap), interval, "; ".join((gap.words, *gap.warnings)))
    return table


def _cuts(scores: GroupedScores) -> Table:
    pooled = scores.pooled("negatives")
    table = Table(title="Cutting the score", title_justify="left")
    table.add_column("cut at an overall false positive rate of")
    for group in scores.groups:
        for name in ("selected", "FPR", "FNR"):
            table.add_column(f"{group}: {name}", justify="right")
    for rate in RATES:
        rates = rates_at(scores, pooled.threshold(rate))
        table.add_row(
            f"{rate:.1%}",
            *(
                f"{value[0, k]:.1%}"
                for k in range(scores.n_groups)
                for value in (rates.selection_rate, rates.fpr, rates.fnr)
            ),
        )
    return table


def _fair_cuts(scores: GroupedScores) -> Table:
    """Where the score is fair as a classifier, in shares of the sample that the cut selects."""
    table = Table(title=f"Cuts at which the groups differ by {TOLERANCE:.2f} at most")
    table.title_justify = "left"
    table.add_column("rate")
    table.add_column("share of the sample selected", justify="left")
    everybody = scores.pooled("both")
    names: tuple[RateName, ...] = ("fpr", "fnr", "selection_rate", "error_rate")
    for name in names:
        fair = fair_thresholds(scores, name, tolerance=TOLERANCE)
        spans = [
            f"{everybody.survival(high):.1%} to {everybody.survival(low):.1%}"
            for low, high in zip(fair.low, fair.high, strict=True)
            if everybody.survival(low) - everybody.survival(high) > 0.002
        ]
        table.add_row(name, ", ".join(reversed(spans)) or "none")
    return table
