"""`evenscore repair`: one increasing map a group that makes a given score fair."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from evenscore.cli import options
from evenscore.cli.errors import one_sentence, say_dropped, sentences

if TYPE_CHECKING:
    from evenscore.inference.estimate import Estimate
    from evenscore.repairs import Repair

__all__ = ["SCORE_COLUMN", "repair"]

SCORE_COLUMN = "score_column"
"""Where the file of maps says which column they were made for."""


@one_sentence
def repair(
    table: options.Table,
    label: options.Label,
    score: options.Score,
    group: options.Groups,
    output: Annotated[Path, typer.Option("--output", "-o", help="The maps, a .json file.")],
    constraint: options.Constraints = None,
    roc_rates: options.RocRates = None,
    tolerance: Annotated[
        float | None,
        typer.Option(help="The gap that may be left.", show_default="as little as can be"),
    ] = None,
    pos_label: options.PosLabel = None,
    weight: options.Weight = None,
    soften: Annotated[float, typer.Option(help="Trust labels of small cells less.")] = 0.0,
    drop_missing: options.DropMissing = False,
    quiet: options.Quiet = False,
) -> None:
    r"""Find one increasing map a group after which a given score is fair.

    By default both ROC gaps are closed at the rates 0.125 and 0.25. The maps
    are applied by `evenscore score`. They treat people of different groups
    differently, which may be unlawful where decisions must not depend on the
    group: `evenscore fit` makes a score that needs none.

    Examples:
      evenscore repair scores.csv --label repaid --pos-label yes \
        --score score --group sex -o maps.json

      evenscore score maps.json new.csv -o repaired.csv
    """
    from evenscore.files import write_atomically
    from evenscore.inference.aucs import auc_estimates
    from evenscore.repairs import repair as repair_arrays
    from evenscore.tables import read_scores

    options.check_outputs(table, output)
    asked = options.asked_constraints(constraint, roc_rates)
    errors = Console(stderr=True, quiet=quiet)
    more: dict[str, Any] = {"constraints": asked} if asked else {}
    with sentences(quiet=quiet):
        with errors.status(f"Reading {table.name} …"):
            rows = read_scores(
                table, label=label, score=score, groups=group, weight=weight, pos_label=pos_label,
                drop_missing=drop_missing,
            )  # fmt: skip
        people = rows.people
        say_dropped(people, quiet=quiet)
        with errors.status("Finding the maps …"):
            found = repair_arrays(
                people.positive,
                rows.score,
                sensitive_features=people.columns(),
                sample_weight=people.weight,
                group_order=people.crossed[1],
                tolerance=tolerance,
                soften=soften,
                **more,
            )
            repaired = found.transform(rows.score, sensitive_features=people.columns())
            sides = (rows, replace(rows, score=repaired))
            tables = [side.grouped() for side in sides]
            aucs = [auc_estimates(scores)[0] for scores in tables]
    content = {**found.to_dict(), SCORE_COLUMN: score}
    write_atomically(output, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False))
    console = Console(quiet=quiet)
    console.print(_table(found, aucs))
    console.print(
        "The maps were made from these people: on others, expect somewhat larger gaps.",
        highlight=False,
    )
    if tables[0].has_ties:
        console.print(
            "Scores are tied: gaps are by the definition here, and an audit, which splits ties, "
            "shows others.",
            highlight=False,
        )
    console.print(f"Written: {output}", markup=False, highlight=False, soft_wrap=True)


def _table(found: Repair, aucs: list[Estimate]) -> RichTable:
    from evenscore.results.numbers import interval, plain, reasons, signed
    from evenscore.terminal import add_notes

    table = RichTable(title="Before and after: an even gap is zero", title_justify="left")
    for k, name in enumerate(("", "before", "95% interval", "after", "95% interval")):
        table.add_column(name, justify="left" if k == 0 else "right")
    pairs = [(plain(auc.value), interval(auc.low, auc.high)) for auc in aucs]
    table.add_row("AUC", *(told for pair in pairs for told in pair))
    gaps = found.gaps or {}
    for before, after in zip(gaps["before"], gaps["after"], strict=True):
        cells = [
            told
            for gap in (before, after)
            for told in (signed(gap.value), interval(gap.low, gap.high, "signed"))
        ]
        table.add_row(Text(before.title), *cells)
    add_notes(table, [*found.conflicts, *reasons([*gaps["before"], *gaps["after"]])])
    return table
