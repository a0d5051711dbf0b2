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
    from evenscore.choosing import TradeoffPath


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
    folds: Annotated[int, Option(help="Number of folds of the cross-validation.")] = 5,
    jobs: Annotated[int, Option(help="Number of parallel fits.")] = 1,
    html: Html = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    r"""Show what fairness costs: AUC against the worst gap, by tolerance.

    A score is learned for each tolerance and fold, and judged on the rows
    left out. Those rows also choose the point that --tolerance marks: audit
    the chosen score on other rows. If there are several rows per person,
    household or branch, say so with --cluster: nobody is then both trained on
    and left out, and intervals are not too narrow.

    Examples:
      evenscore tradeoff people.csv --label repaid --pos-label yes \
        --group sex --constraint inter_group --html path.html

      evenscore tradeoff people.csv --label y --group sex --model linear \
        --roc-rates 0.125,0.25 --tolerances 0.1,0.05,0.02 --tolerance 0.05
    """
    from evenscore.auditing.sample import independence
    from evenscore.choosing import tradeoff_path
    from evenscore.choosing.path import CHOSEN_HERE
    from evenscore.files.atomic import write_atomically
    from evenscore.showing.terminal import new_table

    check_outputs(source.table, html, json)
    at = numbers(tolerances, "--tolerances")
    scorer = learner.scorer(gaps.constraints())
    with sentences(quiet=quiet):
        data = learner.rows(source, cluster, quiet=quiet)
        path = tradeoff_path(
            scorer,
            data.X,
            data.people.rows.positive,
            sensitive_features=data.people.columns(),
            tolerances=at,
            sample_weight=data.people.rows.weight,
            cluster=data.people.rows.cluster,
            cv=folds,
            random_state=learner.seed,
            n_jobs=jobs,
            verbose=not quiet,
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
    columns, rows = _table(path, chosen)
    if html is not None:
        marked = None if chosen is None else tolerance
        write_atomically(html, _page(path, marked, columns=columns, rows=rows, **shown))
    if json is not None:
        content = {
            **path.to_dict(),
            "evenscore_version": __version__,
            "tolerance": tolerance,
            **shown,
        }
        write_atomically(json, json_text.dumps(content, ensure_ascii=False, allow_nan=False))
    console = Console(quiet=quiet)
    lines = [(*row[:5], row[6]) for row in (columns, *rows)]
    console.print(new_table(title, lines[0], lines[1:]))
    if refusal or chosen is not None:
        console.print(refusal or CHOSEN_HERE, markup=False, highlight=False)
    console.print(taken, highlight=False)
    say_written(html, json, quiet=quiet)


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
        texts=("point", "which gap", "remarks"),
        version=__version__,
    )
