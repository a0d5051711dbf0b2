"""`evenscore tradeoff`: what fairness costs, AUC against the worst gap."""

import base64
import json as json_text
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console
from typer import Option

from evenscore import __version__
from evenscore.cli.errors import command, say_written, sentences
from evenscore.cli.options import (
    Cluster,
    Gaps,
    Html,
    Json,
    Learner,
    Quiet,
    Source,
    check_outputs,
    numbers,
)

if TYPE_CHECKING:
    from evenscore.choosing import ClaimPrices, TradeoffPath


@command
def tradeoff(
    source: Source,
    gaps: Gaps,
    learner: Learner,
    cluster: Cluster = None,
    tolerances: Annotated[
        str | None,
        Option(help="The tolerances to try, such as 0.1,0.02.", show_default="0.2 to 0.005"),
    ] = None,
    tolerance: Annotated[
        float | None,
        Option(help="Mark the best point that the data do not contradict at this tolerance."),
    ] = None,
    strengths: Annotated[
        str | None,
        Option(help="Instead of tolerances: what a gap costs, in AUC, such as 0.25,1,5."),
    ] = None,
    prices: Annotated[
        bool,
        Option(
            "--prices/--no-prices",
            help="First show what each of several rates costs by itself.",
        ),
    ] = True,
    folds: Annotated[int, Option(help="Number of folds of the cross-validation.")] = 5,
    jobs: Annotated[int, Option(help="Number of parallel fits.")] = 1,
    html: Html = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    r"""Show what fairness costs: AUC against the worst gap, by tolerance.

    A score is learned for each tolerance and fold, and judged on the rows
    left out. If several rates should be equal, the price of each by itself
    comes first: to ask for all may cost much, and to close one gap may open
    another. The rows left out also choose the point that --tolerance marks:
    audit the chosen score on other rows. If there are several rows per person,
    household or branch, say so with --cluster: nobody is then both trained on
    and left out, and intervals are not too narrow.

    Examples:
      evenscore tradeoff people.csv --label repaid --pos-label yes --group sex \
        --cuts everyone=0.1:0.4 --equal fpr,fnr --html path.html

      evenscore tradeoff people.csv --label y --group sex --model linear \
        --constraint inter_group --tolerances 0.1,0.05,0.02 --tolerance 0.05
    """
    from evenscore.auditing.plain import to_plain
    from evenscore.auditing.sample import independence
    from evenscore.choosing import claim_prices, tradeoff_path
    from evenscore.choosing.path import CHOSEN_HERE
    from evenscore.files.atomic import write_atomically
    from evenscore.showing.terminal import new_table

    check_outputs(source.table, html=html, json=json)
    at, penalties = numbers(tolerances, "--tolerances"), numbers(strengths, "--strengths")
    scorer = learner.scorer(gaps.constraints())
    several = len(gaps.rates()) > 1
    with sentences(quiet=quiet):
        data = learner.rows(source, cluster, quiet=quiet)
        columns_of_people: dict[str, Any] = {
            "sensitive_features": data.people.columns(),
            "sample_weight": data.people.rows.weight,
            "cluster": data.people.rows.cluster,
            "cv": folds,
            "random_state": learner.seed,
            "n_jobs": jobs,
            "verbose": not quiet,
        }
        rows_of_people = data.X, data.people.rows.positive
        claims = None
        if prices and several:
            claims = claim_prices(scorer, *rows_of_people, **columns_of_people)
        path = tradeoff_path(
            scorer, *rows_of_people, tolerances=at, strengths=penalties, **columns_of_people
        )
    chosen, refusal = None, ""
    if tolerance is not None:
        try:
            chosen = path.points.index(path.chosen(tolerance))
        except ValueError as error:
            refusal = str(error)
    title = f"{source.table.name}: what it costs to be even by {', '.join(source.group)}"
    members = data.people.rows.cluster
    n_clusters = None if members is None else len(set(members.tolist()))
    taken = independence(len(data.people.rows), n_clusters)
    shown = {"title": title, "chosen": chosen, "refusal": refusal, "assumption": taken}
    priced = price_table(claims) if claims is not None else None
    columns, rows = _table(path, chosen)
    if html is not None:
        marked = None if chosen is None else tolerance
        write_atomically(
            html, _page(path, marked, columns=columns, rows=rows, priced=priced, **shown)
        )
    if json is not None:
        content = {
            **path.to_dict(),
            "evenscore_version": __version__,
            "tolerance": tolerance,
            "prices": None if claims is None else to_plain(claims),
            **shown,
        }
        write_atomically(json, json_text.dumps(content, ensure_ascii=False, allow_nan=False))
    console = Console(quiet=quiet)
    if priced is not None:
        console.print(new_table(PRICED, priced[0], priced[1]))
    # A remark per line: side by side they would push the point out of a narrow terminal.
    lines = [(*row[:5], row[6].replace(", ", ",\n")) for row in (columns, *rows)]
    console.print(new_table(title, lines[0], lines[1:]))
    if refusal or chosen is not None:
        console.print(refusal or CHOSEN_HERE, markup=False, highlight=False)
    console.print(taken, highlight=False)
    say_written(html, json, quiet=quiet)


PRICED = "What each claim costs, on rows not learned from: AUC, and what is left of every gap"
"""The title of a table of prices."""


def price_table(claims: "ClaimPrices") -> tuple[list[str], list[list[str]]]:
    """The claims as texts: the names of the columns, and a row per claim."""
    from evenscore.showing.numbers import interval, plain

    rows = []
    for claim in claims.claims:
        price = claims.price(claim)
        rows.append(
            [
                " and ".join(kind.removesuffix("_gap") for kind in claim.kinds) or "nothing",
                plain(claim.auc.value),
                interval(claim.auc.low, claim.auc.high),
                plain(price) if claim.kinds else "",
                *(plain(abs(claim.worst(kind).value)) for kind in claims.kinds),
            ]
        )
    gaps = [kind.replace("_", " ") for kind in claims.kinds]
    return ["equal", "AUC", "95% interval", "price", *gaps], rows


def _table(path: "TradeoffPath", chosen: int | None) -> tuple[list[str], list[list[str]]]:
    """The points as texts: the names of the columns, and a row per point."""
    from evenscore.inference.estimate import percent
    from evenscore.showing.numbers import interval, plain

    level = f"{percent(path.points[0].auc.confidence_level)} interval"
    rows = []
    for k, point in enumerate(path.points):
        remarks = {
            "chosen": k == chosen,
            "Pareto front": k in path.pareto,
            "not converged": not point.converged,
        }
        rows.append(
            [
                str(point),
                plain(point.auc.value),
                interval(point.auc.low, point.auc.high),
                plain(point.worst_gap),
                interval(*point.worst_interval),
                point.worst.title,
                ", ".join(remark for remark, holds in remarks.items() if holds),
            ]
        )
    return ["point", "AUC", level, "worst gap", level, "which gap", "remarks"], rows


def _page(path: "TradeoffPath", tolerance: float | None, **shown: Any) -> str:
    """A picture and a table in one file that asks nothing of a network."""
    from jinja2 import Environment

    from evenscore.choosing.path import CHOSEN_HERE
    from evenscore.showing.plots import TradeoffDisplay, figure, figure_bytes

    drawing, ax = figure(figsize=(6.2, 4.2))
    TradeoffDisplay.from_path(path, tolerance=tolerance).plot(ax)
    template = files("evenscore.cli").joinpath("tradeoff.html.jinja").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(template).render(
        shown,
        choice=CHOSEN_HERE,
        scorer=type(path.scorer).__name__,
        picture=base64.b64encode(figure_bytes(drawing, "svg")).decode(),
        prices_title=PRICED,
        texts=("point", "which gap", "remarks", "equal"),
        version=__version__,
    )
