"""Tables of scores that were made elsewhere: the answer to a GROUP BY, or one that was saved.

The answer has the columns of `evenscore sql`: labels and groups under their own names, `n` people,
and of weighted people also `w` and `w2`, the sums of their weights and squared weights, and
`w_least`, the least of them. Their names may be in capitals, as some databases write them. Either
each row is about one score, or about a `bin` of scores, of which `low` is the lowest and `high` the
highest.
"""

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from evenscore.files.notation import Decimal, as_numbers, refuse_columns
from evenscore.files.opening import open_table
from evenscore.files.ordinary import ordinary_file
from evenscore.files.people import DROP, People, PeopleColumns, check_roles
from evenscore.files.values import Check, Column, refuse
from evenscore.scores import GroupedScores
from evenscore.scores.labels import label_text
from evenscore.scores.reading import Rows
from evenscore.scores.stored import read_about

COUNT, WEIGHT, SQUARE, LEAST, BIN, LOW, HIGH = "n", "w", "w2", "w_least", "bin", "low", "high"
"""The columns of an answer, beside labels and groups."""


def is_saved(path: str | PathLike[str]) -> bool:
    """Whether a file is a table that `GroupedScores.save` wrote, to judge by its first bytes."""
    path = Path(path)
    if not path.is_file():
        return False
    with ordinary_file(path).open("rb") as file:
        return file.read(64).lstrip()[:1] == b"{" or path.suffix.lower() == ".json"


def read_saved(path: str | PathLike[str]) -> People:
    """The people of a saved table; groups by their names, classes as the table says."""
    scores, about = GroupedScores.load(path), read_about(path)
    n = round(float(scores.cell_counts.sum()))
    groups = tuple(
        tuple(map(label_text, group)) if isinstance(group, tuple) else label_text(group)
        for group in scores.groups
    )
    if len(set(groups)) == len(groups):
        scores = replace(scores, groups=groups)
    nobody = Rows(np.zeros(0, dtype=bool), np.zeros(0, dtype=np.intp), groups)
    label = about.get("label")
    known = label is not None or "label" not in about
    columns = tuple(about.get("groups", ()))
    return People(
        nobody,
        columns if all(len(columns) == len(g) for g in groups if isinstance(g, tuple)) else (),
        about.get("positive", "1") if known else "",
        n,
        0,
        neg_label=about.get("negative", "0") if known else "",
        table=scores,
        label=label,
    )


def read_aggregated(
    path: str | PathLike[str],
    *,
    label: str | None,
    score: str,
    groups: Sequence[str],
    pos_label: str | None = None,
    drop_missing: bool = False,
    decimal: Decimal = "auto",
) -> People:
    """The people of a GROUP BY's answer, in a CSV or Parquet file."""
    labels = [] if label is None else [label]
    check_roles(label=labels, group=groups)
    with open_table(path, wanted=[*labels, *groups, COUNT]) as table:
        own = {name.lower(): name for name in reversed(table.names)}
        by_bins = all(name in own for name in (BIN, LOW, HIGH))
        scored = [HIGH, LOW, BIN] if by_bins else [score]
        weighed = [name for name in (WEIGHT, SQUARE, LEAST) if name in own]
        numbers = [*scored, COUNT, *weighed]
        named = [name if name == score else own.get(name, name) for name in numbers]
        table.require([*labels, *groups, *named])
        people_columns = PeopleColumns.named(table, label, groups, None)
        columns = [Column.named(table, name) for name in named]
        table.hold([*(column.sql for column in columns), *people_columns.sql_names])
        table.drop_blank()
        columns, problems = as_numbers(table, columns, decimal)
        refuse_columns(table, problems)
        by_name = dict(zip(numbers, columns, strict=True))
        checks = [check for column in columns for check in column.number_checks()]
        for name in (COUNT, *weighed):
            sentence = "{column} is {value} at {row}{more}; it must be at least 0."
            checks.append(Check(by_name[name], f"{by_name[name].number} < 0", sentence))
        checks += people_columns.checks()
        total, kept, lacking = refuse(table, checks, drop_missing=drop_missing, option=DROP)
        beside = {name: by_name[name].number for name in (*scored, COUNT, *weighed)}
        beside = {f"number_{name}": sql for name, sql in beside.items()}
        people, arrays = people_columns.read(kept, total, beside, pos_label=pos_label)
        rows = people.rows
        values = {name: np.asarray(arrays[f"number_{name}"], dtype=np.float64) for name in by_name}
        given = {
            "score": values[scored[0]], "label": rows.positive.astype(int), "group": rows.codes,
            **{name: values[name] for name in (COUNT, *weighed) if name != LEAST},
        }  # fmt: skip
        scores = _checked(table.name, given, len(rows.groups))
        if by_bins:
            scores = _binned(table.name, rows, values)
        n = round(float(scores.cell_counts.sum()))
        weightless = round(float(values[COUNT].sum())) - n
        return replace(
            people,
            rows=Rows(rows.positive[:0], rows.codes[:0], rows.groups),
            total=n + weightless,
            dropped=0,  # how many people the rows left out stand for, nobody knows
            notes=(*people.notes, *_left_out(table.name, people.dropped)),
            lacking=lacking,
            table=replace(scores, groups=rows.groups),
            weightless=weightless,
        )


def _left_out(name: str, rows: int) -> tuple[str, ...]:
    """That rows of an answer were left out, if any were."""
    if not rows:
        return ()
    were = "1 row lacks a value and was" if rows == 1 else f"{rows:,} rows lack a value and were"
    return (f"Of {name}, {were} left out, with all the people it counts.",)


def _checked(name: str, given: dict[str, np.ndarray], n_groups: int) -> GroupedScores:
    try:
        return GroupedScores.from_table(
            given,
            pos_label=1,
            group_order=range(n_groups),
            count=COUNT,
            weight=WEIGHT if WEIGHT in given else None,
            weight_squared=SQUARE if SQUARE in given else None,
        )
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _binned(name: str, rows: Rows, values: dict[str, np.ndarray]) -> GroupedScores:
    low, high, key = (values[part] for part in (LOW, HIGH, BIN))
    if np.any(key != np.round(key)):
        raise ValueError(f"{name} has a {BIN} that is not a whole number.")
    if np.any(low > high):
        row = int(np.argmax(low > high))
        raise ValueError(f"{name} has a {LOW} above the {HIGH} at row {row + 1:,}.")
    sums = {"count": values[COUNT]}
    if WEIGHT in values:
        sums["weight"] = values[WEIGHT]
        if SQUARE in values:
            sums["weight_squared"] = values[SQUARE]
    try:
        return GroupedScores.from_bins(
            None, key.astype(np.int64), low, high, rows.positive, rows.codes, rows.groups, **sums
        )
    except ValueError:
        raise ValueError(
            f"{name} has bins that overlap: each must hold scores below all of the next."
        ) from None
