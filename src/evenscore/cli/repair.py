"""`evenscore repair`: one increasing map per group that makes a given score fair."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from rich.console import Console
from rich.table import Table
from typer import Option

from evenscore.cli.errors import command, say_outcome, say_written, sentences, working
from evenscore.cli.options import (
    Cluster,
    Gaps,
    Proof,
    Quiet,
    Score,
    Source,
    check_outputs,
    say_read,
)

if TYPE_CHECKING:
    from evenscore.choosing import CertifiedChoice
    from evenscore.files.people import People
    from evenscore.inference.estimate import Estimate
    from evenscore.repairing import Repair

SCORE_COLUMN = "score_column"
"""Where the file of maps says which column they were made for."""

SHARES = (1.0, 0.75, 0.5, 0.25, 0.0)
"""How much of the way the repairs go that are tested one after the other, the fairest first."""


@command
def repair(
    source: Source,
    score: Score,
    output: Annotated[Path, Option("--output", "-o", help="The maps to write, a .json file.")],
    gaps: Gaps,
    proof: Proof,
    cluster: Cluster = None,
    tolerance: Annotated[
        float | None,
        Option(help="The largest gap that may be left.", show_default="as little as can be"),
    ] = None,
    soften: Annotated[float, Option(help="How much less to trust labels of small cells.")] = 0.0,
    quiet: Quiet = False,
) -> None:
    r"""Make an existing score fair with one increasing function (a map) per group.

    By default the groups' false positive rates and false negative rates are
    brought as near to each other as maps can, at every cut that selects 5 %
    to 50 % of everyone; one rate alone can be made equal. The maps are applied
    by `evenscore score`. They treat people of different groups differently,
    which may be unlawful where decisions must not depend on the group:
    `evenscore fit` makes a score that needs none.

    With --certify maps that go all of the way, three quarters, half, a quarter
    and none of it are tested on the rows of another file, in this order, until
    the first that fails; the best score that passed is fair within --tolerance
    with the stated confidence, and its maps are written. If none is, nothing is
    written. With --hold-out a part of the rows is tested on instead.

    Examples:
      evenscore repair scores.csv --label repaid --pos-label yes \
        --score score --group sex --equal fnr --cuts everyone=0.1:0.4 \
        -o maps.json

      evenscore score maps.json new.csv -o repaired.csv

      evenscore repair scores.csv --label y --score score --group sex \
        --certify others.csv --tolerance 0.05 -o maps.json
    """
    from evenscore.auditing.sample import independence
    from evenscore.files.atomic import write_atomically
    from evenscore.files.scored import read_scores
    from evenscore.gaps import RateConstraint
    from evenscore.inference.aucs import auc_estimates
    from evenscore.repairing import repair as repair_arrays

    proof.check(source.table, tolerance)
    sources = [source.table] if proof.certify is None else [source.table, proof.certify]
    check_outputs(*sources, maps=output)
    asked = gaps.constraints() or [RateConstraint("fpr", "fnr", cuts=gaps.where())]
    with sentences(quiet=quiet):
        people = source.read(read_scores, quiet=quiet, score=score, clusters=cluster or ())
        say_read(people, quiet=quiet)
        others = None
        if proof.certify is not None:
            other = replace(source, table=proof.certify, pos_label=people.pos_label)
            others = other.read(read_scores, quiet=quiet, score=score, clusters=cluster or ())
            say_read(others, quiet=quiet)
        elif proof.hold_out is not None:
            people, others = _split(people, proof.hold_out)
        rows, columns = people.rows, people.columns()

        def made(**how: Any) -> "Repair":
            return repair_arrays(
                rows.positive,
                rows.score,
                sensitive_features=columns,
                sample_weight=rows.weight,
                cluster=rows.cluster,
                group_order=rows.groups,
                soften=soften,
                constraints=asked,
                **how,
            )

        with working("Finding the maps …", quiet=quiet):
            certified = None
            if others is None:
                result = made(tolerance=tolerance)
            else:
                repairs = [made(share=share) for share in SHARES]
                certified = _certified(repairs, others, asked, tolerance, proof, len(rows))
                result = certified.scorer or repairs[0]
            repaired = result.transform(rows.score, sensitive_features=columns)
            aucs = [auc_estimates(rows.grouped(some))[0] for some in (None, repaired)]
    content = {**result.to_dict(), SCORE_COLUMN: score}
    written = certified is None or certified.certified
    if certified is not None:
        content["certified"] = certified.to_dict()
    if written:
        write_atomically(output, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False))
    console = Console(quiet=quiet)
    console.print(_table(result, aucs))
    console.print(
        "The maps were made from these people: on others, expect somewhat larger gaps.",
        highlight=False,
    )
    n_clusters = None if rows.cluster is None else len(set(rows.cluster.tolist()))
    console.print(independence(len(rows), n_clusters), highlight=False)
    if certified is not None:
        console.print(certified)
    if written:
        say_written(output, quiet=quiet)
    else:
        say_outcome(f"{output} is not written: no repair is certified.", quiet=quiet)


def _split(people: "People", share: float) -> tuple["People", "People"]:
    """Rows to make maps from, and rows to test them on: the same share of each class and group."""
    from evenscore.learning.training_set import TrainingSet

    rows = people.rows
    codes = rows.codes.astype(np.intp, copy=False)
    columns = rows.positive, codes, rows.groups, rows.weight, rows.cluster
    train, test = TrainingSet(np.arange(len(rows)), *columns).hold_out(
        share, np.random.default_rng(0)
    )
    if test is None:
        raise ValueError("There are too few rows, or too few clusters, to hold some out.")
    made, held_out = (replace(people, rows=rows.take(part.X)) for part in (train, test))
    return made, held_out


def _certified(
    repairs: list["Repair"],
    others: "People",
    asked: list[Any],
    tolerance: float | None,
    proof: Proof,
    n_rows: int,
) -> "CertifiedChoice":
    """The best of some repairs that is fair for certain, on people they were not made from."""
    from evenscore.choosing import certified_choice
    from evenscore.choosing.certifying import cost_of_splitting

    rows = others.rows
    choice = certified_choice(
        repairs,
        rows.score,
        rows.positive,
        sensitive_features=others.columns(),
        constraints=asked,
        tolerance=0.05 if tolerance is None else tolerance,
        confidence_level=proof.confidence,
        names=[f"share={share:g}" for share in SHARES],
        sample_weight=rows.weight,
        cluster=rows.cluster,
    )
    if proof.hold_out is None:
        return choice
    return replace(choice, n_fitted=n_rows, cost=cost_of_splitting(choice, n_rows))


def _table(result: "Repair", aucs: list["Estimate"]) -> Table:
    from evenscore.showing.numbers import interval, plain, reasons, signed
    from evenscore.showing.terminal import new_table

    before, after = result.gaps["before"], result.gaps["after"]
    title = "Before and after: an even gap is zero"
    columns = ("", "before", "95% interval", "after", "95% interval")
    cells = [text for auc in aucs for text in (plain(auc.value), interval(auc.low, auc.high))]
    rows = [("AUC", *cells)]
    for pair in zip(before, after, strict=True):
        cells = [
            text
            for gap in pair
            for text in (signed(gap.value), interval(gap.low, gap.high, "signed"))
        ]
        rows.append((pair[0].title, *cells))
    return new_table(title, columns, rows, [*result.conflicts, *reasons([*before, *after])])
