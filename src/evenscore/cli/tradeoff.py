"""`evenscore tradeoff`: what fairness costs, AUC against the worst gap."""

import json as json_text
from dataclasses import replace
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
    pass


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
    from evenscore.showing.terminal import block_table
    from evenscore.showing.tradeoff import path_table, price_table, write

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
    if html is not None:
        write(path, html, tolerance=tolerance, claims=claims, **shown)
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
    if claims is not None:
        console.print(block_table(price_table(claims)))
    table = path_table(path, chosen)
    # Which gap it is the page says; on a terminal it would push out the numbers.
    rows = tuple(row[:-1] for row in table.rows)
    console.print(block_table(replace(table, title=title, columns=table.columns[:-1], rows=rows)))
    if refusal or chosen is not None:
        console.print(refusal or CHOSEN_HERE, markup=False, highlight=False)
    console.print(taken, highlight=False)
    say_written(html, json, quiet=quiet)
