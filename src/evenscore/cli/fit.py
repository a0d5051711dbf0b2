"""`evenscore fit`: learn a fair score from a file, look at it on rows held out, keep it."""

import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from rich.console import Console
from sklearn.base import clone
from typer import Option

from evenscore.cli.errors import command, say_written, sentences
from evenscore.cli.options import Cluster, Gaps, Learner, Quiet, Source, check_outputs

if TYPE_CHECKING:
    from evenscore.gaps import GapFamily
    from evenscore.learning.price import Price
    from evenscore.learning.training_set import TrainingSet
    from evenscore.scores import GroupedScores

_BLIND = 0.01  # of AUC: what blindness costs is told from so much on


@command
def fit(
    source: Source,
    output: Annotated[Path, Option("--output", "-o", help="The model to write, a .skops file.")],
    gaps: Gaps,
    learner: Learner,
    cluster: Cluster = None,
    tolerance: Annotated[float, Option(help="The largest gap that may be left.")] = 0.02,
    strength: Annotated[
        float | None,
        Option(help="Instead of a tolerance in training: what a gap costs, in AUC."),
    ] = None,
    test_fraction: Annotated[
        float, Option(help="Share of the rows held out to look at the score on.")
    ] = 0.2,
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
    theirs, beside those of a score learned without constraints. If there are
    several rows per person, household or branch, say so with --cluster: nobody is
    then both trained on and held out, and intervals are not too narrow.

    Examples:
      evenscore fit people.csv --label repaid --pos-label yes --group sex \
        --cuts everyone=0.1:0.4 --equal fnr -o model.skops

      evenscore fit people.parquet --label y --group sex --exclude id \
        --constraint inter_group --tolerance 0.02 --model linear -o m.skops
    """
    from evenscore import __version__
    from evenscore.auditing.sample import independence
    from evenscore.files.models import TableModel, save_model
    from evenscore.gaps import as_constraints
    from evenscore.gaps.family import family_estimates, family_intervals
    from evenscore.inference import auc_estimates
    from evenscore.inference.decisions import decide
    from evenscore.learning.price import PriceWarning
    from evenscore.learning.training_set import TrainingSet
    from evenscore.showing.numbers import interval, plain, reasons
    from evenscore.showing.terminal import gap_table

    check_outputs(source.table, output)
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
    before = shown.grouped(free.decision_function(shown.X))
    scores = shown.grouped(model.score(shown.X))
    auc, _ = auc_estimates(scores)
    console.print(_price(before, auc.value, families), highlight=False)
    if scorer.price_ is not None and (scorer.price_.of_blindness or 0.0) > _BLIND:
        console.print(_of_blindness(scorer.price_), highlight=False)
    gaps_left = decide(
        family_estimates(scores, families),
        tolerance,
        auc.confidence_level,
        intervals=family_intervals(scores, families),
    )
    ranks = f"AUC {plain(auc.value)} ({interval(auc.low, auc.high)})"
    title = f"{ranks}; gaps: even is zero, the tolerance {tolerance:g}"
    console.print(gap_table(title, gaps_left, auc.confidence_level, notes=reasons([auc])))
    n_clusters = None if shown.cluster is None else len(np.unique(shown.cluster))
    console.print(independence(len(shown), n_clusters), highlight=False)
    say_written(output, quiet=quiet)


def _price(before: "GroupedScores", auc: float, families: Sequence["GapFamily"]) -> str:
    """What the constraints cost, and what they mended."""
    from evenscore.gaps.family import family_values, largest
    from evenscore.scores.aucs import auc_matrix

    free, worst = float(auc_matrix(before).overall), abs(largest(family_values(before, families)))
    change = f"The price is {free - auc:.3f}" if free > auc else "It costs no AUC here"
    gap = "" if np.isnan(worst) else f" and a largest gap of {worst:.3f}"
    return (
        f"Without constraints, a score learned from the same rows has an AUC of {free:.3f}{gap}. "
        f"{change}: with them the AUC is {auc:.3f}."
    )


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
