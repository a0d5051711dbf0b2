"""`evenscore fit`: learn a fair score from a file, look at it on rows held out, keep it."""

import time
import warnings
from collections.abc import Sequence
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

    from evenscore.inference.estimate import Estimate
    from evenscore.learning.price import Price
    from evenscore.learning.training_set import TrainingSet
    from evenscore.scores.arrays import Floats

_BLIND = 0.01  # of AUC: what blindness costs is told from so much on


@command
def fit(
    source: Source,
    output: Annotated[Path, Option("--output", "-o", help="The model to write, a .skops file.")],
    gaps: Gaps,
    learner: Learner,
    called: Called,
    cluster: Cluster = None,
    tolerance: Annotated[float, Option(help="The largest gap that may be left.")] = 0.02,
    strength: Annotated[
        float | None,
        Option(help="Instead of a tolerance in training: what a gap costs, in AUC."),
    ] = None,
    test_fraction: Annotated[
        float, Option(help="Share of the rows held out to look at the score on.")
    ] = 0.2,
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
    category. Groups are needed to learn the score, not to score anyone. A share
    of the rows of each class and group is held out: the AUC and gaps shown are
    theirs, beside those of a score learned without constraints. With --html they
    are also a report, an audit of the score on these rows that opens with what
    the constraints changed. If there are several rows per person, household or
    branch, say so with --cluster: nobody is then both trained on and held out,
    and intervals are not too narrow.

    Examples:
      evenscore fit people.csv --label repaid --pos-label yes --group sex \
        --cuts everyone=0.1:0.4 --equal fnr -o model.skops --html report.html

      evenscore fit people.parquet --label y --group sex --exclude id \
        --constraint inter_group --tolerance 0.02 --model linear -o m.skops
    """
    from sklearn.base import clone

    from evenscore import __version__
    from evenscore.auditing.sample import independence
    from evenscore.files.models import TableModel, save_model
    from evenscore.gaps import as_constraints
    from evenscore.gaps.family import family_estimates, family_intervals
    from evenscore.inference import auc_estimates
    from evenscore.inference.decisions import decide
    from evenscore.learning.price import PriceWarning
    from evenscore.learning.training_set import TrainingSet
    from evenscore.showing.numbers import reasons
    from evenscore.showing.terminal import gap_table

    check_outputs(source.table, model=output, html=html, json=json)
    asked = gaps.constraints()
    how = {"tolerance": tolerance} if strength is None else {"strength": strength}
    scorer = learner.scorer(asked, **how, verbose=not quiet)
    free = clone(scorer).set_params(constraints=[], tolerance=None, strength=None)
    if not 0.0 <= test_fraction < 1.0:
        raise ValueError(f"--test-fraction must be at least 0 and below 1, not {test_fraction:g}.")
    start = time.perf_counter()
    with sentences(quiet=quiet):
        rows = learner.rows(source, cluster, quiet=quiet)
        people, read = rows.people, rows.people.rows
        codes = read.codes.astype(np.intp, copy=False)
        train = TrainingSet(rows.X, read.positive, codes, read.groups, read.weight, read.cluster)
        held_out = None
        if test_fraction:
            train, held_out = train.hold_out(test_fraction, np.random.default_rng(learner.seed))
        columns = {"sample_weight": train.weight, "cluster": train.cluster}
        free.fit(train.X, train.positive, **columns)
        groups = people.columns(train.codes)
        warnings.simplefilter("ignore", PriceWarning)  # the price is shown below, on new rows
        scorer.fit(train.X, train.positive, sensitive_features=groups, **columns)
    # A progress bar is of no use to whoever loads the model.
    scorer.set_params(verbose=False)
    model = TableModel(
        scorer, rows.features, source.label, people.pos_label, people.names, __version__
    )
    save_model(output, model)
    shown = train if held_out is None else held_out
    where = "trained on (none was held out)" if held_out is None else "held out"
    console = Console(quiet=quiet)
    console.print(
        f"{type(scorer).__name__}, learned from {len(train):,} rows and {train.X.shape[1]:,} "
        f"features in {time.perf_counter() - start:.1f} s; looked at on {len(shown):,} rows "
        f"{where}{_clusters(shown)}.",
        highlight=False,
    )
    families = as_constraints(asked)
    both = model.score(shown.X), free.decision_function(shown.X)
    scores, before = (shown.grouped(score) for score in both)
    aucs = [auc_estimates(some)[0] for some in (scores, before)]
    auc, free_gaps = aucs[0], family_estimates(before, families)
    gaps_left = decide(
        family_estimates(scores, families),
        tolerance,
        auc.confidence_level,
        intervals=family_intervals(scores, families),
    )
    console.print(_beside(aucs, [gaps_left, free_gaps], _price(shown, both)))
    if scorer.price_ is not None and (scorer.price_.of_blindness or 0.0) > _BLIND:
        console.print(_of_blindness(scorer.price_), highlight=False)
    title = f"With constraints, gaps: even is zero, the tolerance {tolerance:g}"
    console.print(gap_table(title, gaps_left, auc.confidence_level, notes=reasons([auc])))
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
                "trained_on": held_out is None,
                "random_state": learner.seed,
            }
            labels = np.where(shown.positive, people.pos_label, f"not {people.pos_label}")
            title = f"{source.table.name}: a fair score by {', '.join(source.group)}"
            _report(labels, both, request, title, html, json, compared=held_out is not None)
    say_written(output, html, json, quiet=quiet)


def _price(rows: "TrainingSet", scores: tuple["Floats", "Floats"]) -> "Estimate":
    """By how much the AUC of the first of two scores is below the other's, paired by person."""
    from evenscore.inference.paired import PairedScores, paired_auc
    from evenscore.scores.reading import Rows

    people = Rows(rows.positive, rows.codes, rows.groups, rows.weight, None, rows.cluster)
    return paired_auc(PairedScores(people, (scores[1], scores[0]))).difference


def _beside(
    aucs: Sequence["Estimate"], gaps: Sequence[Sequence["Estimate"]], price: "Estimate"
) -> "Table":
    """The score without constraints above the one with them, and what they cost."""
    from evenscore.inference.estimate import percent
    from evenscore.showing.numbers import interval, plain, reasons
    from evenscore.showing.terminal import new_table

    level = f"{percent(price.confidence_level)} interval"
    columns = ("score", "AUC", level, "largest gap", level)
    rows = []
    for name, k in (("without constraints", 1), ("with constraints", 0)):
        worst = max(gaps[k], key=lambda gap: np.nan_to_num(abs(gap.value), nan=-1.0))
        ends = (worst.low, worst.high) if worst.value >= 0.0 else (-worst.high, -worst.low)
        auc = aucs[k]
        size = (plain(abs(worst.value)), interval(*ends, "signed"))
        rows.append((name, plain(auc.value), interval(auc.low, auc.high), *size))
    rows.append(("price", plain(price.value), interval(price.low, price.high, "signed"), "", ""))
    title = "What the constraints cost, and what they mend"
    return new_table(title, columns, rows, reasons([*aucs, price]))


def _report(
    labels: Any,
    scores: tuple["Floats", "Floats"],
    request: dict[str, Any],
    title: str,
    html: Path | None,
    json: Path | None,
    *,
    compared: bool,
) -> None:
    """An audit of the fair score; a page of it opens with what changed, if that can be `compared`.

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
    if compared:
        ordinary = audit(labels, scores[1], title="without constraints", **request)
        try:
            comparison = fair.compare(ordinary)
        except ValueError as error:
            say(f"Note: the report has no comparison with the score without constraints: {error}")
        else:
            write_atomically(html, render_comparison(ordinary, fair, comparison, title))
            return
    fair.to_html(html)


def _of_blindness(price: "Price") -> str:
    """What the score could reach if it were told groups, by the training rows."""
    return (
        f"On the rows trained on, the AUC is {price.auc:.3f}; that of a score that is told the "
        f"group of whoever it scores could be {price.repaired:.3f}, with a largest gap of "
        f"{price.repaired_gap:.3f} instead of {price.gap:.3f} (`evenscore repair`). That may be "
        "unlawful where decisions must not depend on the group."
    )


def _clusters(rows: "TrainingSet") -> str:
    """How many clusters rows are of; nothing if nobody said."""
    if rows.cluster is None:
        return ""
    n = len(np.unique(rows.cluster))
    return f", of {n:,} {'cluster' if n == 1 else 'clusters'}"
