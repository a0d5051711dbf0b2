"""`evenscore tradeoff`: what fairness costs, AUC against the worst gap."""

import json as json_text
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console
from typer import Option

from evenscore import __version__
from evenscore.cli.errors import command, say_outcome, say_written, sentences
from evenscore.cli.options import (
    Cluster,
    Gaps,
    Html,
    Json,
    Learner,
    Proof,
    Quiet,
    Source,
    check_outputs,
    numbers,
)

if TYPE_CHECKING:
    from evenscore.choosing import CertifiedChoice, TradeoffPath
    from evenscore.files.features import TrainingRows


@command
def tradeoff(
    source: Source,
    gaps: Gaps,
    learner: Learner,
    proof: Proof,
    cluster: Cluster = None,
    tolerances: Annotated[
        str | None,
        Option(help="The tolerances to try, such as 0.1,0.02.", show_default="0.2 to 0.005"),
    ] = None,
    tolerance: Annotated[
        float | None,
        Option(
            help="Mark the best point that the data do not contradict at this tolerance; with "
            "--certify or --hold-out, the best that is certified."
        ),
    ] = None,
    prices: Annotated[
        bool,
        Option(
            "--prices/--no-prices",
            help="First show what each of several rates costs by itself.",
        ),
    ] = True,
    folds: Annotated[
        int | None, Option(help="Number of folds.", show_default="3, with --model linear 5")
    ] = None,
    jobs: Annotated[int, Option(help="Number of parallel fits, with --model linear.")] = 1,
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="The certified model to write, a .skops file, if any."),
    ] = None,
    html: Html = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    r"""Show what fairness costs: AUC against the worst gap, by tolerance.

    A score is learned for each tolerance, and judged on rows that the models
    which score them have not seen. If several rates should be equal, the price of each by itself
    comes first: to ask for all may cost much, and to close one gap may open
    another. The rows left out also choose the point that --tolerance marks:
    audit the chosen score on other rows. If there are several rows per person,
    household or branch, say so with --cluster: nobody is then both trained on
    and left out, and intervals are not too narrow.

    With --certify the points are tested on the rows of another file, the one
    with the smallest gap first, until the first that fails, and the best that
    passed is fair within --tolerance with the stated confidence; -o stores it.
    If none is, it is said by how much, and how many more people would decide.
    With --hold-out a part of the rows is tested on, and the rest learned from.

    Examples:
      evenscore tradeoff people.csv --label repaid --pos-label yes --group sex \
        --cuts everyone=0.1:0.4 --equal fpr,fnr --html path.html

      evenscore tradeoff people.csv --label y --group sex --model linear \
        --constraint inter_group --tolerances 0.1,0.05,0.02 --tolerance 0.05

      evenscore tradeoff people.csv --label y --group sex --equal fnr \
        --certify others.csv --tolerance 0.05 -o model.skops --html path.html
    """
    from evenscore.auditing.plain import to_plain
    from evenscore.auditing.provenance import InputFile
    from evenscore.auditing.sample import independence
    from evenscore.choosing import claim_prices, tradeoff_path
    from evenscore.choosing.candidates import require_groups
    from evenscore.choosing.path import CHOSEN_HERE
    from evenscore.files.atomic import write_atomically
    from evenscore.files.models import TableModel, save_model
    from evenscore.showing.terminal import block_table
    from evenscore.showing.tradeoff import NUMBERS, path_table, price_table, write

    proof.check(source.table, tolerance)
    if output is not None and not proof.asked:
        raise ValueError(
            "-o stores a certified model, and nothing is to be certified: add --certify or "
            "--hold-out, or learn a model with `evenscore fit`."
        )
    sources = [source.table] if proof.certify is None else [source.table, proof.certify]
    check_outputs(*sources, model=output, html=html, json=json)
    at = numbers(tolerances, "--tolerances")
    scorer = learner.scorer(gaps.constraints())
    several = len(gaps.rates()) > 1
    with sentences(quiet=quiet):
        data = learner.rows(source, cluster, quiet=quiet)
        others = None
        if proof.certify is not None:
            others = learner.held_out(source, proof.certify, data, cluster, quiet=quiet)
            require_groups(data.people.rows.groups, others.people.rows.groups)
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
        path = tradeoff_path(scorer, *rows_of_people, tolerances=at, **columns_of_people)
        certified = None
        if tolerance is not None and proof.asked:
            certified = _certified(path, others, tolerance, proof, learner.seed, quiet=quiet)
    chosen, refusal = None, ""
    if certified is not None:
        names = [str(point) for point in path.points]
        chosen = names.index(certified.test.name) if certified.certified else None
    elif tolerance is not None:
        try:
            chosen = path.points.index(path.chosen(tolerance))
        except ValueError as error:
            refusal = str(error)
    title = f"{source.table.name}: what it costs to be even by {', '.join(source.group)}"
    members = data.people.rows.cluster
    n_clusters = None if members is None else len(set(members.tolist()))
    taken = independence(len(data.people.rows), n_clusters)
    shown = {"title": title, "chosen": chosen, "refusal": refusal, "assumption": taken}
    files = {"learned from": source.table, "certified on": proof.certify}
    read = {use: InputFile.of(file) for use, file in files.items() if file is not None}
    if html is not None:
        more = {"claims": claims, "certified": certified, "files": read}
        write(path, html, tolerance=tolerance, **more, **shown)
    if json is not None:
        content = {
            **path.to_dict(),
            "evenscore_version": __version__,
            "tolerance": tolerance,
            "prices": None if claims is None else to_plain(claims),
            "certified": None if certified is None else certified.to_dict(),
            "files": to_plain(read),
            **shown,
        }
        if certified is not None and certified.certified:  # which is more than advice
            content["choice"] = certified.meaning
        write_atomically(json, json_text.dumps(content, ensure_ascii=False, allow_nan=False))
    console = Console(quiet=quiet)
    if claims is not None:
        console.print(block_table(price_table(claims)))
    table = path_table(path, chosen)
    # Which gap it is the page says; on a terminal it would push out the numbers.
    rows, columns = tuple(row[:NUMBERS] for row in table.rows), table.columns[:NUMBERS]
    console.print(block_table(replace(table, title=title, columns=columns, rows=rows)))
    if certified is not None:
        learned = "fitted on all these rows" if others is not None else "fitted on a part of these"
        console.print(
            f"The points above are cross-validated; the candidates below are {learned}, and tested "
            "on people held out.",
            highlight=False,
        )
        console.print(certified)
    elif refusal or chosen is not None:
        console.print(refusal or CHOSEN_HERE, markup=False, highlight=False)
    console.print(taken, highlight=False)
    if output is not None and certified is not None and certified.certified:
        people = data.people
        columns_of_model = source.label, people.pos_label, people.names, __version__
        save_model(output, TableModel(certified.scorer, data.features, *columns_of_model))
        say_written(output, quiet=quiet)
    elif output is not None:
        say_outcome(f"{output} is not written: no score is certified.", quiet=quiet)
    say_written(html, json, quiet=quiet)


def _certified(
    path: "TradeoffPath",
    others: "TrainingRows | None",
    tolerance: float,
    proof: Proof,
    seed: int,
    *,
    quiet: bool,
) -> "CertifiedChoice":
    """The best point that is fair for certain, on the rows of another file or on some held out."""
    asked: dict[str, Any] = {
        "tolerance": tolerance,
        "confidence_level": proof.confidence,
        "random_state": seed,
        "verbose": not quiet,
    }
    if others is None:
        return path.certify(hold_out=proof.hold_out or 0.5, **asked)
    rows = others.people.rows
    return path.certify(
        others.X,
        rows.positive,
        sensitive_features=others.people.columns(),
        sample_weight=rows.weight,
        cluster=rows.cluster,
        **asked,
    )
