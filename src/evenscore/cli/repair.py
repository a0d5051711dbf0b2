"""`evenscore repair`: one increasing map per group that makes a given score fair."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console
from rich.table import Table
from typer import Option

from evenscore.cli.errors import command, say_written, sentences
from evenscore.cli.options import Cluster, Gaps, Quiet, Score, Source, check_outputs, say_read

if TYPE_CHECKING:
    from evenscore.inference.estimate import Estimate
    from evenscore.repairing import Repair

SCORE_COLUMN = "score_column"
"""Where the file of maps says which column they were made for."""


@command
def repair(
    source: Source,
    score: Score,
    output: Annotated[Path, Option("--output", "-o", help="The maps to write, a .json file.")],
    gaps: Gaps,
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

    Examples:
      evenscore repair scores.csv --label repaid --pos-label yes \
        --score score --group sex --equal fnr --cuts everyone=0.1:0.4 \
        -o maps.json

      evenscore score maps.json new.csv -o repaired.csv
    """
    from evenscore.auditing.sample import independence
    from evenscore.files.atomic import write_atomically
    from evenscore.files.scored import read_scores
    from evenscore.gaps import RateConstraint
    from evenscore.inference.aucs import auc_estimates
    from evenscore.repairing import repair as repair_arrays

    check_outputs(source.table, maps=output)
    asked = gaps.constraints() or [RateConstraint("fpr", "fnr", cuts=gaps.where())]
    with sentences(quiet=quiet):
        people = source.read(read_scores, quiet=quiet, score=score, clusters=cluster or ())
        say_read(people, quiet=quiet)
        rows, columns = people.rows, people.columns()
        with Console(stderr=True, quiet=quiet).status("Finding the maps …"):
            result = repair_arrays(
                rows.positive,
                rows.score,
                sensitive_features=columns,
                sample_weight=rows.weight,
                cluster=rows.cluster,
                group_order=rows.groups,
                tolerance=tolerance,
                soften=soften,
                constraints=asked,
            )
            repaired = result.transform(rows.score, sensitive_features=columns)
            aucs = [auc_estimates(rows.grouped(some))[0] for some in (None, repaired)]
    content = {**result.to_dict(), SCORE_COLUMN: score}
    write_atomically(output, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False))
    console = Console(quiet=quiet)
    console.print(_table(result, aucs))
    console.print(
        "The maps were made from these people: on others, expect somewhat larger gaps.",
        highlight=False,
    )
    n_clusters = None if rows.cluster is None else len(set(rows.cluster.tolist()))
    console.print(independence(len(rows), n_clusters), highlight=False)
    say_written(output, quiet=quiet)


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
