"""`evenscore audit`: is a score fair between groups? A file in, a table and a report out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from evenscore.cli import options
from evenscore.cli.errors import one_sentence, say, sentences
from evenscore.results.parts import SelectedIs

if TYPE_CHECKING:
    from evenscore.results import AuditResult
    from evenscore.tables import ScoredRows

__all__ = ["audit"]


@one_sentence
def audit(
    table: options.Table,
    label: options.Label,
    score: options.Score,
    group: options.Groups,
    pos_label: options.PosLabel = None,
    weight: options.Weight = None,
    rates: Annotated[
        str, typer.Option(help="Rates at which ROC gaps are estimated.")
    ] = "0.125,0.25",
    tolerance: Annotated[float, typer.Option(help="A gap up to this is called even.")] = 0.05,
    threshold: Annotated[
        list[float] | None,
        typer.Option(
            help="A cut to look at (who is above is selected); may be repeated.",
            show_default="by --rates",
        ),
    ] = None,
    confidence_level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Of the resampling.")] = 0,
    selected_is: Annotated[
        SelectedIs | None,
        typer.Option(help="Is a high score good for a person (a loan) or bad (a prison term)?"),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Of the report.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write the report here.")] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write the numbers here.")] = None,
    fail_on_gap: Annotated[
        bool,
        typer.Option(
            "--fail-on-gap",
            help="Exit with 1 if a gap, named or at --rates, lies beyond the tolerance.",
        ),
    ] = False,
    drop_missing: options.DropMissing = False,
    quiet: options.Quiet = False,
) -> None:
    r"""Audit a score: how well it ranks people, and how evenly between groups.

    The file has one row a person: the score, the label (did they repay?) and
    the groups. Exit codes: 0 done, 1 with --fail-on-gap when a gap lies beyond
    the tolerance with its whole interval, corrected for the number of gaps
    (by chance alone it is seldom, however many groups there are),
    2 for input that cannot be audited.

    Examples:
      evenscore audit scores.csv --label repaid --pos-label yes \
        --score score --group sex --selected-is good --html report.html

      evenscore audit scores.parquet --label y --score s \
        --group sex --group race --tolerance 0.1 --fail-on-gap --quiet
    """
    from evenscore.tables import read_scores

    options.check_outputs(table, html, json)
    at = options.numbers(rates, "--rates")
    errors = Console(stderr=True, quiet=quiet)
    with sentences(quiet=quiet):
        with errors.status(f"Reading {table.name} …"):
            rows = read_scores(
                table,
                label=label,
                score=score,
                groups=group,
                weight=weight,
                pos_label=pos_label,
                drop_missing=drop_missing,
                as_table=True,
            )
        with errors.status("Auditing …"):
            result = _audited(
                rows,
                rates=at,
                tolerance=tolerance,
                confidence_level=confidence_level,
                random_state=seed,
                thresholds=threshold or None,
                selected_is=selected_is,
                title=title or f"{table.name}: {score} by {', '.join(group)}",
            )
    if html is not None:
        with errors.status(f"Writing {html.name} …"):
            result.to_html(html)
    if json is not None:
        result.to_json(json)
    _show(result, rows, [path for path in (html, json) if path is not None], quiet=quiet)
    unchecked = sum(result.verdict(gap) == "undefined" for gap in result.all_gaps)
    if fail_on_gap and unchecked:
        say(f"{unchecked} of {len(result.all_gaps)} gaps could not be checked, for lack of people.")
    if fail_on_gap and result.beyond:
        from evenscore.inference.estimate import percent

        worst, n = result.beyond[0], len(result.beyond)
        say(
            f"{n} of {result.n_gaps} gaps {'lies' if n == 1 else 'lie'} beyond {tolerance:g}, with "
            f"{percent(confidence_level)} confidence over all of them; the largest is "
            f"{worst.value:+.3f} ({worst.low:+.3f} to {worst.high:+.3f}) in {worst.title}."
        )
        raise typer.Exit(1)


def _audited(rows: ScoredRows, **options: object) -> AuditResult:
    from evenscore.audit import audit as audit_arrays
    from evenscore.audit import audit_scores

    people = rows.people
    if people.weight is None:
        return audit_scores(rows.grouped(), pos_label=people.pos_label, **options)  # type: ignore[arg-type]
    # With weights the rows themselves are passed on: who weighs nothing is told of.
    return audit_arrays(
        people.texts(),
        rows.score,
        sensitive_features=people.columns(),
        sample_weight=people.weight,
        pos_label=people.pos_label,
        group_order=people.crossed[1],
        **options,  # type: ignore[arg-type]
    )


def _show(result: AuditResult, rows: ScoredRows, written: list[Path], *, quiet: bool) -> None:
    console = Console(quiet=quiet)
    if rows.people.dropped:
        console.print(
            f"{rows.people.dropped:,} of {rows.people.total:,} rows lack a value and were left "
            "out: what follows is about the others.\n",
            highlight=False,
        )
    console.print(result)
    for path in written:
        console.print(f"Written: {path}", markup=False, highlight=False, soft_wrap=True)
