"""Rows with a label, a score and groups: from a file to `GroupedScores`, or to arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenscore.scores import GroupedScores
from evenscore.tables.cells import number, number_checks, refuse
from evenscore.tables.opening import TableFile, open_table
from evenscore.tables.people import DROP, People, PeopleColumns, check_roles

__all__ = ["ScoredRows", "read_scores"]

Floats = NDArray[np.float64]

_FEW = 0.1  # with fewer distinct scores than this share of the rows, DuckDB counts them


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """People and their scores; `count` is how many of them a row stands for (None: one)."""

    people: People
    score: Floats
    count: Floats | None

    def grouped(self) -> GroupedScores:
        """The table that an audit is a function of."""
        codes, groups = self.people.crossed
        columns: dict[str, Any] = {
            "score": self.score,
            "label": self.people.positive,
            "group": codes,
            "count": self.count,
            "weight": self.people.weight,
        }
        columns = {name: column for name, column in columns.items() if column is not None}
        named = {name: name for name in ("count", "weight") if name in columns}
        order = range(len(groups))
        scores = GroupedScores.from_table(columns, pos_label=True, group_order=order, **named)
        return replace(scores, groups=groups)


def read_scores(
    path: str | PathLike[str],
    *,
    label: str,
    score: str,
    groups: Sequence[str],
    weight: str | None = None,
    pos_label: str | None = None,
    drop_missing: bool = False,
    as_table: bool = False,
) -> ScoredRows:
    """Read the rows of a file; whatever does not fit is refused in a sentence that says where.

    With `as_table` and without weights, equal rows may come as one with a count: faster if there
    are few distinct scores, slower if there are many. (Weights are not added up by DuckDB: in
    parallel, sums of fractions would differ in the last digits from run to run.)
    """
    weights = [] if weight is None else [weight]
    check_roles(label=[label], score=[score], group=groups, weight=weights)
    with open_table(path, wanted=[label, score, *groups, *weights]) as table:
        people = PeopleColumns(table, label, groups, weight, pos_label)
        column = table.column(score)
        table.hold([column, *people.sql_names])
        checks = [*number_checks(table, column), *people.checks()]
        total, kept = refuse(table, checks, drop_missing=drop_missing, option=DROP)
        selected = {"score": number(table, column), **people.select(kept)}
        told = ", ".join(f"{sql} AS {name}" for name, sql in selected.items())
        sql = f"SELECT {told} FROM rows WHERE {kept}"
        if as_table and not weights and _few_scores(table, selected["score"], kept, total):
            sql = f"SELECT *, count(*) AS n FROM ({sql}) GROUP BY ALL ORDER BY ALL"
        arrays = table.arrays(sql)
        count = arrays["n"].astype(np.float64) if "n" in arrays else None
        rows = len(arrays["score"]) if count is None else int(count.sum())
        return ScoredRows(
            people.decode(arrays, total, rows),
            np.asarray(arrays["score"], dtype=np.float64),
            count,
        )


def _few_scores(table: TableFile, score: str, kept: str, total: int) -> bool:
    distinct = table.one(f"SELECT approx_count_distinct({score}) FROM rows WHERE {kept}")[0]
    return bool(distinct < _FEW * total)
