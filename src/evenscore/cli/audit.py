"""`evenscore audit`: is a score fair between groups? A file in, a table and a report out."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from typer import Option

from evenscore.cli.auditing import Asked, FileAudit, given_date
from evenscore.cli.errors import command, command_line, say, say_written, working
from evenscore.cli.options import AuditedSource, Gaps, Html, Json, Quiet, check_outputs


@command
def audit(
    source: AuditedSource,
    gaps: Gaps,
    asked: Asked,
    declare: Annotated[
        Path | None,
        Option(
            help="A TOML file of facts that only a person knows: purpose, responsible, population, "
            "period, tolerance, tolerance_reason, outcomes_of_selected_only, words, [other], …"
        ),
    ] = None,
    date: Annotated[
        str | None,
        Option(
            help="The date of the report, such as 2026-11-16.",
            show_default="that of SOURCE_DATE_EPOCH, or none",
        ),
    ] = None,
    html: Html = None,
    json: Json = None,
    format_name: Annotated[
        Literal["table", "markdown"],
        Option("--format", help="How to print the result: as tables for a terminal, or Markdown."),
    ] = "table",
    fail_on_gap: Annotated[
        bool, Option("--fail-on-gap", help="Exit with 1 if a gap lies beyond the tolerance.")
    ] = False,
    save: Annotated[
        Path | None,
        Option(
            help="Write the table of scores to this JSON file: `evenscore merge` adds such tables "
            "up, and `audit` takes them."
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    r"""Audit a score: are groups treated alike where it will be cut?

    The file has one row per person: the score, the groups, and the label (did
    they repay?). Without --label nothing can be said about errors, and who is
    selected is audited alone. If there are several rows per person, household or
    branch, say so with --cluster, or intervals are too narrow.

    Rows may also be in a folder of Parquet files or a pattern of their names
    (quoted), or in a DuckDB database, with --table or --query. Elsewhere, run
    the query that `evenscore sql` prints, and audit the answer with --aggregated.
    The scores of more than a million rows are put into bins; what that leaves
    unknown is part of every interval, and the report says how much it is.

    Say with --cuts where the score will be cut. By default the rates of both
    errors are compared at these cuts, or those of --equal, and then every named
    AUC gap. With --constraint or --roc-rates those gaps are audited, and rates
    at the cuts only if --equal asks for them; what happens at the cuts is told
    in any case.

    Exit codes: 0 done; 1 with --fail-on-gap when a gap lies beyond the
    tolerance with its whole interval, corrected for the number of gaps (the
    correction keeps the risk of a false alarm below 5 %, whatever the number
    of groups), and never for another reason; 2 for input that cannot be
    audited, or no room to write the outcome; 3 for a defect of evenscore
    itself; 130 if it was interrupted; 141 if nobody reads its output any more.

    Examples:
      evenscore audit scores.csv --label repaid --pos-label yes \
        --score score --group sex --cuts everyone=0.1:0.4 \
        --selected-is good --html report.html

      evenscore audit applicants.csv --score score --group sex \
        --cuts thresholds=600,650 --inclusive

      evenscore audit scores.parquet --label y --score s \
        --group sex --group race --tolerance 0.1 --fail-on-gap --quiet

      evenscore audit 'scores/part-*.parquet' --label y --score s --group sex

      evenscore audit bank.duckdb --table loans --label y --score s --group sex

      evenscore audit scores.csv --label y --score s --group race \
        --reference-group Caucasian --min-group-size 50

      evenscore audit scores.csv --label y --score s --group sex \
        --declare facts.toml --date 2026-11-16 --json report.json
      evenscore verify report.json scores.csv
    """
    from evenscore.auditing.declared import Declared

    table = source.table
    check_outputs(table, html=html, json=json, save=save)
    if declare is not None:
        check_outputs(declare, html=html, json=json, save=save)
    asked_for = FileAudit(source, gaps, asked)
    people = asked_for.read(quiet=quiet)
    result = asked_for.run(
        people,
        declared=Declared() if declare is None else Declared.from_toml(declare),
        name=table.name,
        command=command_line(),
        date=given_date(date),
        quiet=quiet,
    )
    if html is not None:
        with working(f"Writing {html.name} …", quiet=quiet):
            result.to_html(html)
    if json is not None:
        result.to_json(json)
    if save is not None:
        people.grouped().save(save, about=asked_for.about(people))
    console = Console(quiet=quiet)
    counts = None if result.provenance is None else result.provenance.rows
    if counts is not None and counts.left_out:
        console.print(
            f"{counts.left_out:,} of {counts.read:,} rows lack a value and were left out. What "
            "follows is about the others.\n",
            highlight=False,
        )
    if format_name == "markdown":
        console.print(result.to_markdown(), markup=False, highlight=False, soft_wrap=True, end="")
    else:
        console.print(result)
    say_written(html, json, save, quiet=quiet)
    audits = [result, *(column.audit for column in result.columns)]
    every = [gap for audit in audits for gap in audit.gaps]
    unchecked = [gap for gap in every if gap.verdict == "undefined"]
    if fail_on_gap and unchecked:
        why = dict.fromkeys(text for gap in unchecked for text in gap.warnings[:1])
        reason = next(iter(why), "there is no interval")
        others = ", and other reasons" if len(why) > 1 else ""
        say(f"{len(unchecked)} of {len(every)} gaps could not be checked ({reason}{others}).")
    beyond = sorted((gap for a in audits for gap in a.beyond), key=lambda gap: -abs(gap.value))
    if fail_on_gap and beyond:
        from evenscore.inference.estimate import percent

        worst, n = beyond[0], len(beyond)
        low, high = worst.ends("beyond")
        settings = result.settings
        say(
            f"{n} of {len(every)} gaps {'lies' if n == 1 else 'lie'} beyond "
            f"{settings.tolerance:g}, with {percent(settings.confidence_level)} confidence over "
            f"all of them; the largest is {worst.value:+.3f} ({low:+.3f} to {high:+.3f}) in "
            f"{worst.title}."
        )
        raise typer.Exit(1)
