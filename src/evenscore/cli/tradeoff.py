"""`evenscore tradeoff`: what fairness costs, AUC against the worst gap."""

from __future__ import annotations

import json as json_text
import math
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from evenscore.cli import options
from evenscore.cli.errors import one_sentence, sentences
from evenscore.cli.learning import made_scorer, rows_to_learn_from

if TYPE_CHECKING:
    from evenscore.tradeoff import TradeoffPath

__all__ = ["tradeoff"]

FORMAT, VERSION = "evenscore.tradeoff", 1


@one_sentence
def tradeoff(
    table: options.Table,
    label: options.Label,
    group: options.Groups,
    constraint: options.Constraints = None,
    roc_rates: options.RocRates = None,
    tolerances: Annotated[
        str | None,
        typer.Option(help="Gaps that may be left, as 0.1,0.02.", show_default="0.2 to 0.005"),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(help="Mark the best point that the data do not contradict at this tolerance."),
    ] = None,
    model: options.Model = options.ModelName.boosted,
    features: options.Features = None,
    exclude: options.Exclude = None,
    include_group: options.IncludeGroup = False,
    pos_label: options.PosLabel = None,
    weight: options.Weight = None,
    folds: Annotated[int, typer.Option(help="Of the cross-validation.")] = 5,
    jobs: Annotated[int, typer.Option(help="Fits at a time.")] = 1,
    seed: options.Seed = 0,
    html: options.Html = None,
    json: options.Json = None,
    drop_missing: options.DropMissing = False,
    quiet: options.Quiet = False,
) -> None:
    r"""Show what fairness costs: AUC against the worst gap, by tolerance.

    A score is learned for every tolerance and fold, and looked at on the rows
    left out.

    Examples:
      evenscore tradeoff people.csv --label repaid --pos-label yes \
        --group sex --constraint inter_group --html path.html

      evenscore tradeoff people.csv --label y --group sex --model linear \
        --roc-rates 0.125,0.25 --tolerances 0.1,0.05,0.02 --tolerance 0.05
    """
    from evenscore.cli.tradeoff_page import tradeoff_page
    from evenscore.files import write_atomically
    from evenscore.tradeoff import tradeoff_path

    options.check_outputs(table, html, json)
    at = options.numbers(tolerances, "--tolerances")
    scorer = made_scorer(model, options.asked_constraints(constraint, roc_rates), seed)
    with sentences(quiet=quiet):
        rows = rows_to_learn_from(
            table, label=label, groups=group, features=features, exclude=exclude,
            include_groups=include_group, weight=weight, pos_label=pos_label,
            drop_missing=drop_missing, model=model, quiet=quiet,
        )  # fmt: skip
        path = tradeoff_path(
            scorer, rows.X, rows.people.positive, sensitive_features=rows.people.columns(),
            tolerances=at, sample_weight=rows.people.weight, cv=folds, random_state=seed,
            n_jobs=jobs, verbose=not quiet,
        )  # fmt: skip
    chosen, refusal = None, ""
    if tolerance is not None:
        try:
            chosen = path.points.index(path.chosen(tolerance))
        except ValueError as error:
            refusal = str(error)
    title = f"{table.name}: what it costs to be even by {', '.join(group)}"
    if html is not None:
        page = tradeoff_page(path, title, tolerance if chosen is not None else None, refusal)
        write_atomically(html, page)
    if json is not None:
        content = _content(path, title, tolerance, chosen, refusal)
        write_atomically(json, json_text.dumps(content, ensure_ascii=False, allow_nan=False))
    console = Console(quiet=quiet)
    console.print(_points(path, title, chosen))
    if refusal:
        console.print(refusal, markup=False, highlight=False)
    for written in (html, json):
        if written is not None:
            console.print(f"Written: {written}", markup=False, highlight=False, soft_wrap=True)


def _points(path: TradeoffPath, title: str, chosen: int | None) -> RichTable:
    from evenscore.results.numbers import interval
    from evenscore.results.numbers import plain as told

    table = RichTable(title=Text(title), title_justify="left", box=SIMPLE_HEAD)
    for k, name in enumerate(("point", "AUC", "95% interval", "worst gap", "95% interval", "")):
        number = k in (1, 2, 3, 4)
        table.add_column(name, justify="right" if number else "left", no_wrap=k < 5)
    for k, point in enumerate(path.points):
        low, high = point.worst_interval
        notes = [
            *(["chosen"] if k == chosen else []),
            *(["Pareto"] if k in path.pareto else []),
            *([] if point.converged else ["not converged"]),
        ]
        table.add_row(
            str(point),
            told(point.auc.value),
            interval(point.auc.low, point.auc.high),
            told(point.worst_gap),
            interval(low, high),
            ", ".join(notes),
        )
    return table


def _content(
    path: TradeoffPath, title: str, tolerance: float | None, chosen: int | None, refusal: str
) -> dict[str, Any]:
    """The path as JSON has it; NaN is None, and no constraints are a tolerance of None."""
    from evenscore import __version__

    def plain(value: float) -> float | None:
        return float(value) if math.isfinite(value) else None

    def estimate(found: Any) -> dict[str, Any]:
        return {"value": plain(found.value), "low": plain(found.low), "high": plain(found.high)}

    return {
        "format": FORMAT,
        "version": VERSION,
        "evenscore_version": __version__,
        "title": title,
        "scorer": type(path.scorer).__name__,
        "tolerance": tolerance,
        "chosen": chosen,
        "refusal": refusal,
        "pareto": list(path.pareto),
        "points": [
            {
                "parameter": point.parameter,
                "value": plain(point.value),
                "converged": point.converged,
                "auc": estimate(point.auc),
                "worst_gap": {
                    "title": point.worst.title,
                    "value": plain(point.worst_gap),
                    "low": plain(point.worst_interval[0]),
                    "high": plain(point.worst_interval[1]),
                },
                "gaps": [{"title": gap.title, **estimate(gap)} for gap in point.gaps],
            }
            for point in path.points
        ],
    }
