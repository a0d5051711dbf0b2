"""`evenscore fit`: learn a fair score from a file, look at it on rows held out, keep it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from evenscore.cli import options
from evenscore.cli.errors import one_sentence, sentences
from evenscore.cli.learning import made_scorer, rows_to_learn_from

if TYPE_CHECKING:
    from evenscore.inference import Estimate
    from evenscore.tables import TrainingRows

__all__ = ["fit"]


@one_sentence
def fit(
    table: options.Table,
    label: options.Label,
    group: options.Groups,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model, a .skops file.")],
    constraint: options.Constraints = None,
    roc_rates: options.RocRates = None,
    tolerance: Annotated[float, typer.Option(help="The gap that may be left.")] = 0.02,
    model: options.Model = options.ModelName.boosted,
    features: options.Features = None,
    exclude: options.Exclude = None,
    include_group: options.IncludeGroup = False,
    pos_label: options.PosLabel = None,
    weight: options.Weight = None,
    test_fraction: Annotated[
        float, typer.Option(help="Share of the rows that the score is looked at on.")
    ] = 0.2,
    seed: options.Seed = 0,
    drop_missing: options.DropMissing = False,
    quiet: options.Quiet = False,
) -> None:
    r"""Learn a score that ranks people well and evenly.

    Columns of numbers are taken as they are, columns of text as one feature a
    category. The score needs no group to score anyone. A share of the rows of
    every class and group is held out: the AUC and gaps shown are theirs.

    Examples:
      evenscore fit people.csv --label repaid --pos-label yes --group sex \
        --constraint inter_group -o model.skops

      evenscore fit people.parquet --label y --group sex --exclude id \
        --roc-rates 0.125,0.25 --tolerance 0.02 --model linear -o m.skops
    """
    from evenscore import __version__
    from evenscore.models import TableModel, save_model

    options.check_outputs(table, output)
    asked = options.asked_constraints(constraint, roc_rates)
    scorer = made_scorer(model, asked, seed, tolerance=tolerance, verbose=not quiet)
    if not 0.0 <= test_fraction < 1.0:
        raise ValueError(f"--test-fraction must be at least 0 and below 1, not {test_fraction:g}.")
    console = Console(quiet=quiet)
    start = time.perf_counter()
    with sentences(quiet=quiet):
        rows = rows_to_learn_from(
            table, label=label, groups=group, features=features, exclude=exclude,
            include_groups=include_group, weight=weight, pos_label=pos_label,
            drop_missing=drop_missing, model=model, quiet=quiet,
        )  # fmt: skip
        held = _held_out(rows, test_fraction, seed)
        _fit(scorer, rows, ~held)
    # A progress bar is of no use to whoever loads the model.
    scorer.set_params(verbose=False)
    kept = TableModel(
        scorer, rows.features, label, rows.people.pos_label, tuple(group), __version__
    )
    save_model(output, kept)
    looked_at = held if held.any() else np.ones(len(held), dtype=bool)
    where = "held out" if held.any() else "trained on (none was held out)"
    console.print(
        f"{type(scorer).__name__}, learned from {(~held).sum():,} rows and "
        f"{rows.X.shape[1]:,} features in {time.perf_counter() - start:.1f} s; looked at on "
        f"{looked_at.sum():,} rows {where}.",
        highlight=False,
    )
    auc, gaps = _estimates(kept, rows, looked_at, asked)
    console.print(_gap_table(auc, gaps, tolerance))
    console.print(f"Written: {output}", markup=False, highlight=False, soft_wrap=True)


def _fit(scorer: Any, rows: TrainingRows, chosen: NDArray[np.bool_]) -> None:
    people = rows.people
    scorer.fit(
        rows.X[chosen],
        people.positive[chosen],
        sensitive_features={name: column[chosen] for name, column in people.columns().items()},
        sample_weight=None if people.weight is None else people.weight[chosen],
    )


def _held_out(rows: TrainingRows, share: float, seed: int) -> NDArray[np.bool_]:
    """The same share of every class and group, and at least one row where there are two."""
    codes, groups = rows.people.crossed
    cell = codes + len(groups) * rows.people.positive
    rng = np.random.default_rng(seed)
    held = np.zeros(len(cell), dtype=bool)
    for c in np.unique(cell) if share else ():
        members = np.flatnonzero(cell == c)
        size = min(max(round(share * len(members)), 1), len(members) - 1)
        held[rng.permutation(members)[:size]] = True
    return held


def _estimates(
    model: Any, rows: TrainingRows, chosen: NDArray[np.bool_], asked: Sequence[Any]
) -> tuple[Estimate, list[Estimate]]:
    """The AUC of the model and the gaps it was asked to close, on some of the rows."""
    from evenscore.constraints import as_constraints
    from evenscore.inference import auc_estimates
    from evenscore.inference.gaps import constraint_estimates
    from evenscore.scores import GroupedScores

    people = rows.people
    scores = GroupedScores.from_arrays(
        people.positive[chosen],
        model.score(rows.X[chosen]),
        sensitive_features={name: column[chosen] for name, column in people.columns().items()},
        sample_weight=None if people.weight is None else people.weight[chosen],
    )
    return auc_estimates(scores)[0], constraint_estimates(scores, as_constraints(asked))


def _gap_table(auc: Estimate, gaps: list[Estimate], tolerance: float) -> RichTable:
    from evenscore.inference.estimate import percent
    from evenscore.results import verdict
    from evenscore.results.numbers import interval, plain, reasons, signed
    from evenscore.terminal import add_notes, verdict_text

    table = RichTable(
        title=f"AUC {plain(auc.value)} ({interval(auc.low, auc.high)}); gaps: even is zero",
        title_justify="left",
    )
    for k, name in enumerate(("gap", "value", f"{percent(auc.confidence_level)} interval", "")):
        table.add_column(name, justify="right" if k in (1, 2) else "left")
    for gap in gaps:
        found = verdict(gap, tolerance)
        told = {"unclear": "cannot tell", "undefined": found}.get(found, f"{found} {tolerance:g}")
        table.add_row(
            Text(gap.title),
            signed(gap.value),
            interval(gap.low, gap.high, "signed"),
            verdict_text(found, told),
        )
    add_notes(table, reasons([auc, *gaps]))
    return table
