"""`evenscore audit`: is a score fair between groups? A file in, a table and a report out."""

from typing import Annotated

import typer
from rich.console import Console
from typer import Option

from evenscore.cli.errors import command, say, say_written, sentences
from evenscore.cli.options import (
    AuditedSource,
    Called,
    Cluster,
    Gaps,
    Html,
    Json,
    Quiet,
    Score,
    Seed,
    check_outputs,
)
from evenscore.gaps import GapFamily, RateConstraint
from evenscore.gaps.catalogue import constraint_names


@command
def audit(
    source: AuditedSource,
    score: Score,
    gaps: Gaps,
    called: Called,
    cluster: Cluster = None,
    tolerance: Annotated[float, Option(help="The largest gap that counts as even.")] = 0.05,
    confidence_level: Annotated[float, Option(help="Confidence level of the intervals.")] = 0.95,
    min_group_size: Annotated[
        int | None,
        Option(
            help="A group is compared only if both its classes have so many people; smaller ones "
            "are shown apart.",
            show_default="30, unless fewer than two groups reach it",
        ),
    ] = None,
    reference_group: Annotated[
        str | None,
        Option(
            help='Compare every group with this one only, or with "all others" together.',
            show_default="compare all pairs of groups",
        ),
    ] = None,
    seed: Seed = 0,
    trained_on: Annotated[
        bool | None,
        Option(
            "--trained-on/--not-trained-on",
            help="Whether the score was trained on these rows.",
            show_default="not said",
        ),
    ] = None,
    title: Annotated[str | None, Option(help="Title of the report.")] = None,
    html: Html = None,
    json: Json = None,
    fail_on_gap: Annotated[
        bool, Option("--fail-on-gap", help="Exit with 1 if a gap lies beyond the tolerance.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    r"""Audit a score: are groups treated alike where it will be cut?

    The file has one row per person: the score, the groups, and the label (did
    they repay?). Without --label nothing can be said about errors, and who is
    selected is audited alone. If there are several rows per person, household or
    branch, say so with --cluster, or intervals are too narrow.

    Say with --cuts where the score will be cut. By default the rates of both
    errors are compared at these cuts, or those of --equal, and then every named
    AUC gap. With --constraint or --roc-rates those gaps are audited, and rates
    at the cuts only if --equal asks for them; what happens at the cuts is told
    in any case.

    Exit codes: 0 done; 1 with --fail-on-gap when a gap lies beyond the
    tolerance with its whole interval, corrected for the number of gaps (the
    correction keeps the risk of a false alarm below 5 %, whatever the number
    of groups); 2 for input that cannot be audited.

    Examples:
      evenscore audit scores.csv --label repaid --pos-label yes \
        --score score --group sex --cuts everyone=0.1:0.4 \
        --selected-is good --html report.html

      evenscore audit applicants.csv --score score --group sex \
        --cuts thresholds=600,650 --inclusive

      evenscore audit scores.parquet --label y --score s \
        --group sex --group race --tolerance 0.1 --fail-on-gap --quiet

      evenscore audit scores.csv --label y --score s --group race \
        --reference-group Caucasian --min-group-size 50
    """
    from evenscore.auditing.audit import audit_scores
    from evenscore.files.scored import read_scores

    table = source.table
    check_outputs(table, html=html, json=json)
    asked = _constraints(gaps, outcomes_known=source.label is not None)
    errors = Console(stderr=True, quiet=quiet)
    with sentences(quiet=quiet):
        people = source.read(
            read_scores, quiet=quiet, score=score, as_table=True, clusters=cluster or ()
        )
        for note in people.notes:
            say(f"Note: {note}", quiet=quiet)
        with errors.status("Auditing …"):
            result = audit_scores(
                people.grouped(),
                cuts=gaps.where(),
                constraints=asked,
                tolerance=tolerance,
                confidence_level=confidence_level,
                min_group_size=min_group_size,
                reference_group=reference_group,
                random_state=seed,
                words=called.words(),
                trained_on=trained_on,
                title=title or f"{table.name}: {score} by {', '.join(source.group)}",
                pos_label=people.pos_label or None,
                outcomes_known=source.label is not None,
                zero_weights=people.rows.zero_weights,
                notes=[*people.notes, *filter(None, [people.remark])],
                columns=people.names,
            )
    if html is not None:
        with errors.status(f"Writing {html.name} …"):
            result.to_html(html)
    if json is not None:
        result.to_json(json)
    console = Console(quiet=quiet)
    if people.remark:
        console.print(f"{people.remark} What follows is about the others.\n", highlight=False)
    console.print(result)
    say_written(html, json, quiet=quiet)
    unchecked = result.with_verdict("undefined")
    if fail_on_gap and unchecked:
        why = dict.fromkeys(text for gap in unchecked for text in gap.warnings[:1])
        reason = next(iter(why), "there is no interval")
        others = ", and other reasons" if len(why) > 1 else ""
        say(f"{len(unchecked)} of {len(result.gaps)} gaps could not be checked ({reason}{others}).")
    if fail_on_gap and result.beyond:
        from evenscore.inference.estimate import percent

        worst, n = result.beyond[0], len(result.beyond)
        low, high = worst.ends("beyond")
        say(
            f"{n} of {len(result.gaps)} gaps {'lies' if n == 1 else 'lie'} beyond {tolerance:g}, "
            f"with {percent(confidence_level)} confidence over all of them; the largest is "
            f"{worst.value:+.3f} ({low:+.3f} to {high:+.3f}) in {worst.title}."
        )
        raise typer.Exit(1)


def _constraints(gaps: Gaps, *, outcomes_known: bool) -> list[str | GapFamily] | None:
    """The gaps to audit: None for the default ones, which an audit knows."""
    if gaps.constraint or gaps.roc_rates:
        return gaps.constraints() if gaps.equal else gaps.others()
    if gaps.equal is None:
        return None
    rates: list[str | GapFamily] = [RateConstraint(*gaps.rates(), cuts=gaps.where())]
    return [*rates, *constraint_names()] if outcomes_known else rates
