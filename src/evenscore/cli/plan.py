"""`evenscore plan`: how many people for which certainty, before there are data."""

import json as json_text
from typing import Annotated, Literal

from rich.console import Console
from typer import Option

from evenscore import __version__
from evenscore.cli.errors import command, say_written
from evenscore.cli.options import Json, Quiet, Seed, check_outputs
from evenscore.gaps import Cuts
from evenscore.gaps.catalogue import constraint_names


@command
def plan(
    prevalence: Annotated[
        str,
        Option(
            help="The share of positives: 0.2, or one for each group, such as 0.2,0.3 or "
            "women=0.2,men=0.3."
        ),
    ],
    shares: Annotated[
        str,
        Option(help="How large the groups are: 0.7,0.3 or women=0.3,men=0.7."),
    ] = "0.5,0.5",
    tolerance: Annotated[float, Option(help="The largest gap that may be.")] = 0.05,
    cuts: Annotated[
        str | None,
        Option(
            help="The cuts that will be used: everyone=0.1:0.4 for every cut that selects 10 % to "
            "40 % of everyone; of negatives or positives instead; or shares such as "
            "everyone=0.1,0.2.",
            show_default="everyone=0.05:0.5",
        ),
    ] = None,
    equal: Annotated[
        str | None,
        Option(
            help="The rates that should be equal at these cuts; `evenscore constraints` lists "
            "them.",
            show_default="fpr,fnr",
        ),
    ] = None,
    select: Annotated[
        Literal["high", "low"], Option(help="Whether high or low scores are selected.")
    ] = "high",
    constraint: Annotated[
        list[str] | None, Option(help="An AUC constraint that `evenscore constraints` lists.")
    ] = None,
    auc: Annotated[float, Option(help="How well the score ranks within each group.")] = 0.8,
    gap: Annotated[
        float, Option(help="The largest true gap that the score is assumed to have.")
    ] = 0.0,
    power: Annotated[
        float, Option(help="How often a score with that gap should be certified; at most 0.99.")
    ] = 0.9,
    confidence: Annotated[float, Option(help="How sure the certificate is.")] = 0.95,
    people: Annotated[
        int | None,
        Option(
            help="So many people are given: say how often a score is certified with them.",
            show_default="as many as it takes",
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = None,
    format_name: Annotated[
        Literal["table", "markdown"],
        Option("--format", help="How to print the plan: as tables for a terminal, or Markdown."),
    ] = "table",
    quiet: Quiet = False,
) -> None:
    r"""Say how many people it takes to certify that a score is fair.

    Before data are collected or held out: how many people does it take so that
    a score that really is fair gets the certificate that no two groups differ
    by more than the tolerance at any cut in use? Or, with --people, what can so
    many certify?

    A score of the stated AUC is assumed that treats all groups alike; --gap
    says by how much it does not. Rows are independent people, drawn at random.

    Examples:
      evenscore plan --cuts everyone=0.1:0.4 --shares 0.7,0.3 --prevalence 0.2

      evenscore plan --cuts everyone=0.1:0.4 --shares women=0.3,men=0.7 \
        --prevalence women=0.25,men=0.2 --people 20000

      evenscore plan --constraint bnsp --shares 0.5,0.3,0.2 --prevalence 0.1 \
        --gap 0.01 --tolerance 0.03 --json plan.json
    """
    from evenscore.choosing import plan as made
    from evenscore.files.atomic import write_atomically

    check_outputs(json=json)
    rates = [] if equal is None else [name.strip() for name in equal.split(",")]
    for name in constraint or []:
        if name not in constraint_names():
            known = ", ".join(constraint_names())
            raise ValueError(f"--constraint {name!r} is unknown; there are {known}.")
    if cuts is not None and constraint and not rates:
        raise ValueError(
            "--cuts are where rates should be equal, and --constraint is about no cut: say with "
            "--equal which rates, or leave --cuts out."
        )
    if select == "low" and constraint and not rates:
        raise ValueError(
            "--select says who is selected at cuts, and --constraint is about no cut: say with "
            "--equal which rates, or leave --select out."
        )
    where = Cuts(between=(0.05, 0.5), selected=select)
    if cuts is not None:
        where = Cuts.parse(cuts, selected=select)
    asked = [*_rates(rates, bool(constraint)), *(constraint or [])]
    several = _numbers(shares, "--shares")
    found = made(
        prevalence=_numbers(prevalence, "--prevalence"),
        tolerance=tolerance,
        cuts=where if rates or not constraint else None,
        constraints=asked,
        group_shares=several if isinstance(several, dict | list) else [several],
        auc=auc,
        gap=gap,
        power=power,
        confidence_level=confidence,
        n=people,
        random_state=seed,
    )
    if json is not None:
        content = {**found.to_dict(), "evenscore_version": __version__}
        write_atomically(json, json_text.dumps(content, ensure_ascii=False, allow_nan=False))
    console = Console(quiet=quiet)
    if format_name == "markdown":
        console.print(found.to_markdown(), markup=False, highlight=False, soft_wrap=True, end="")
    else:
        console.print(found)
    say_written(json, quiet=quiet)


def _rates(named: list[str], others: bool) -> list[str]:
    """The rates that should be equal: both errors, if nothing else is asked for."""
    from evenscore.scores.rates import rate_named

    return [rate_named(name).name for name in named] or ([] if others else ["fpr", "fnr"])


def _numbers(text: str, option: str) -> dict[str, float] | list[float] | float:
    """Numbers such as 0.2, or 0.7,0.3, or by name, women=0.3,men=0.7."""
    parts = [part.rpartition("=") for part in text.split(",")]
    named = [bool(sign) for _, sign, _ in parts]
    try:
        values = [float(value) for _, _, value in parts]
    except ValueError:
        values = []
    names = [name.strip() for name, _, _ in parts]
    wrong = any(named) and (not all(names) or len(set(names)) < len(names))
    if not values or wrong or any(named) != all(named):
        raise ValueError(
            f"{option} is written as 0.7,0.3 or as women=0.3,men=0.7, not as {text!r}."
        )
    if all(named):
        return dict(zip(names, values, strict=True))
    return values if len(values) > 1 else values[0]
