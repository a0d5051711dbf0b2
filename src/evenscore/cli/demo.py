"""`evenscore demo`: train an ordinary score on embedded data and audit it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from evenscore.catalogue import CATALOGUE
from evenscore.constraints import AucConstraint, Gap, RocConstraint
from evenscore.datasets import load_adult
from evenscore.measures import auc_matrix, roc_gap_curve
from evenscore.scores import CLASSES, GroupedScores
from evenscore.thresholds import RateName, fair_thresholds, rates_at

RATES = (1 / 8, 1 / 4)
TOLERANCE = 0.05


def demo() -> None:
    """Audit an unfair score: a logistic regression that ranks people by expected income."""
    console = Console(width=110)
    data = load_adult()
    with console.status("Fitting a logistic regression on 32,561 people …"):
        model = _fit_plain_score(data.X[data.train], data.y[data.train])
    test = data.test
    scores = GroupedScores.from_arrays(
        data.y[test], model.decision_function(data.X[test]), sensitive_features=data.groups[test]
    )
    matrix = auc_matrix(scores)

    console.print(
        f"\n[bold]Adult census data, {len(test):,} people the score has never seen.[/bold]\n"
        "Positive: income above $50,000. Groups: sex. The score never looked at fairness.\n"
        f"Its overall AUC is [bold]{matrix.overall:.3f}[/bold]: a good score. Is it an even one?\n"
    )
    console.print(_people(scores))
    console.print(_named_gaps([gap for name in CATALOGUE for gap in _auc_gaps(name, scores)]))
    console.print(_roc_gaps(RocConstraint(on="both", rates=RATES).gaps(scores), scores))
    console.print(_cuts(scores))
    console.print(_fair_cuts(scores))
    console.print(
        f"Gaps beyond {TOLERANCE:.2f} are in red. Rates and gaps are those of this sample; "
        "a person is selected if their score is above the cut.\n"
    )


def _fit_plain_score(X: NDArray[np.float64], y: NDArray[np.int64]) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)


def _auc_gaps(name: str, scores: GroupedScores) -> list[Gap]:
    return AucConstraint.named(name).gaps(scores)


def _signed(value: float) -> str:
    colour = "red" if abs(value) > TOLERANCE else "green"
    return f"[{colour}]{value:+.3f}[/{colour}]"


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


def _named_gaps(gaps: list[Gap]) -> Table:
    table = Table(title="AUC fairness: should be zero", title_justify="left", show_lines=True)
    table.add_column("notion", no_wrap=True)
    table.add_column("gap", justify="right")
    table.add_column("in words")
    for gap in gaps:
        table.add_row(gap.name, _signed(gap.value), str(gap))
    return table


def _roc_gaps(gaps: list[Gap], scores: GroupedScores) -> Table:
    table = Table(title="ROC fairness: should be zero at every cut", title_justify="left")
    table.add_column("class")
    table.add_column("gap", justify="right")
    table.add_column("in words")
    for gap in gaps:
        table.add_row(gap.on, _signed(gap.value), str(gap))
    for on in CLASSES:
        value, rate = roc_gap_curve(scores, on).supremum
        where = f"the worst of all, where {rate:.1%} of the {on} of {scores.groups[0]} are selected"
        table.add_row(on, _signed(value), where)
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
