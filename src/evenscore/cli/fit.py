"""`evenscore fit`: learn a fair score from a file, look at it on rows held out, keep it."""

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from rich.console import Console
from typer import Option

from evenscore.cli.errors import command, say, say_written, sentences, working
from evenscore.cli.options import (
    Called,
    Cluster,
    Gaps,
    Html,
    Json,
    Learner,
    Quiet,
    Source,
    check_outputs,
)

if TYPE_CHECKING:
    from rich.table import Table

    from evenscore.learning.price import Price
    from evenscore.learning.training_set import TrainingSet
    from evenscore.scores.arrays import Floats


@command
def fit(
    source: Source,
    output: Annotated[Path, Option("--output", "-o", help="The model to write, a .skops file.")],
    gaps: Gaps,
    learner: Learner,
    called: Called,
    cluster: Cluster = None,
    tolerance: Annotated[float, Option(help="The largest gap that may be left.")] = 0.02,
    html: Html = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    r"""Learn a score that ranks people well and is fair at the cuts that will be used.

    Say at which cuts, and which rates should be equal between groups there. Where
    being selected is good, people who deserve it must not be refused more often
    in one group than in another: --equal fnr. Where it is bad, people who do not
    deserve it must not be selected more often: --equal fpr. Both together may
    cost much AUC; `evenscore tradeoff` shows the price of each.

    Columns of numbers are used as they are, columns of text as one feature per
    category. Groups are needed to learn the score, not to score anyone. The AUC
    and gaps shown are of people whom the models that score them have not seen,
    beside those of the same score without constraints. With --html they are also
    a report, an audit of the score on these people that opens with what the
    constraints changed. If there are several rows per person, household or
    branch, say so with --cluster: nobody is then both learned from and looked
    at, and intervals are not too narrow.

    Examples:
      evenscore fit people.csv --label repaid --pos-label yes --group sex \
        --cuts everyone=0.1:0.4 --equal fnr -o model.skops --html report.html

      evenscore fit people.parquet --label y --group sex --exclude id \
        --constraint inter_group --tolerance 0.02 --model linear -o m.skops
    """
    from evenscore import __version__
    from evenscore.auditing.sample import independence
    from evenscore.files.models import TableModel, save_model
    from evenscore.learning.price import PriceWarning
    from evenscore.learning.training_set import TrainingSet
    from evenscore.showing.terminal import gap_table

    check_outputs(source.table, model=output, html=html, json=json)
    asked = gaps.constraints()
    scorer = learner.scorer(asked, tolerance)
    start = time.perf_counter()
    with sentences(quiet=quiet), working("Learning …", quiet=quiet):
        rows = learner.rows(source, cluster, quiet=quiet)
        people, read = rows.people, rows.people.rows
        codes = read.codes.astype(np.intp, copy=False)
        train = TrainingSet(rows.X, read.positive, codes, read.groups, read.weight, read.cluster)
        warnings.simplefilter("ignore", PriceWarning)  # the price is shown below
        scorer.fit(
            train.X,
            train.positive,
            sensitive_features=people.columns(train.codes),
            sample_weight=train.weight,
            cluster=train.cluster,
        )
    model = TableModel(
        scorer, rows.features, source.label, people.pos_label, people.names, __version__
    )
    save_model(output, model)
    shown, price = scorer.left_out_.rows, scorer.price_
    console = Console(quiet=quiet)
    console.print(
        f"{type(scorer).__name__}, learned from {len(train):,} rows and {train.X.shape[1]:,} "
        f"features in {time.perf_counter() - start:.1f} s; looked at on {len(shown):,} of them"
        f"{_clusters(shown)}, each scored by models that have not seen it.",
        highlight=False,
    )
    console.print(_beside(price))
    title = f"With constraints, gaps: even is zero, the tolerance {tolerance:g}"
    console.print(gap_table(title, scorer.gaps_, price.auc.confidence_level))
    n_clusters = None if shown.cluster is None else len(np.unique(shown.cluster))
    console.print(independence(len(shown), n_clusters), highlight=False)
    if html is not None or json is not None:
        with sentences(quiet=quiet), working("Auditing …", quiet=quiet):
            request: dict[str, Any] = {
                "sensitive_features": people.columns(shown.codes),
                "pos_label": people.pos_label,
                "sample_weight": shown.weight,
                "cluster": shown.cluster,
                "cuts": gaps.where(),
                "constraints": asked,
                "words": called.words(),
                "tolerance": tolerance,
                "trained_on": False,
                "random_state": learner.seed,
            }
            labels = np.where(shown.positive, people.pos_label, f"not {people.pos_label}")
            title = f"{source.table.name}: a fair score by {', '.join(source.group)}"
            both = scorer.left_out_.fair, scorer.left_out_.free
            _report(labels, both, request, title, html, json)
    say_written(output, html, json, quiet=quiet)


def _beside(price: "Price") -> "Table":
    """The score without constraints above the one with them, and what they cost."""
    from evenscore.inference.estimate import percent
    from evenscore.showing.numbers import interval, plain, reasons
    from evenscore.showing.terminal import new_table

    lost = price.difference
    level = f"{percent(lost.confidence_level)} interval"
    columns = ("score", "AUC", level, "largest gap", level)
    rows = []
    for name, auc, gap in (
        ("without constraints", price.free, price.free_gap),
        ("with constraints", price.auc, price.gap),
    ):
        ends = (gap.low, gap.high) if gap.value >= 0.0 else (-gap.high, -gap.low)
        size = (plain(abs(gap.value)), interval(*ends, "signed"))
        rows.append((name, plain(auc.value), interval(auc.low, auc.high), *size))
    rows.append(("price", plain(lost.value), interval(lost.low, lost.high, "signed"), "", ""))
    title = "What the constraints cost, and what they mend"
    return new_table(title, columns, rows, reasons([price.auc, price.free, lost]))


def _report(
    labels: Any,
    scores: tuple["Floats", "Floats"],
    request: dict[str, Any],
    title: str,
    html: Path | None,
    json: Path | None,
) -> None:
    """An audit of the fair score; a page of it opens with what the constraints changed.

    `scores` are the fair one and the one without constraints.
    """
    from evenscore.auditing.audit import audit
    from evenscore.files.atomic import write_atomically
    from evenscore.showing.report import render_comparison

    fair = audit(labels, scores[0], title=title, **request)
    if json is not None:
        fair.to_json(json)
    if html is None:
        return
    ordinary = audit(labels, scores[1], title="without constraints", **request)
    try:
        comparison = fair.compare(ordinary)
    except ValueError as error:
        say(f"Note: the report has no comparison with the score without constraints: {error}")
        fair.to_html(html)
    else:
        write_atomically(html, render_comparison(ordinary, fair, comparison, title))


def _clusters(rows: "TrainingSet") -> str:
    """How many clusters rows are of; nothing if nobody said."""
    if rows.cluster is None:
        return ""
    n = len(np.unique(rows.cluster))
    return f", of {n:,} {'cluster' if n == 1 else 'clusters'}"
