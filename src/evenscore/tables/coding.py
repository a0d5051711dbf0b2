"""Columns of few texts as codes, given by DuckDB itself: no text is made for every row."""

from __future__ import annotations

from collections.abc import Sequence

from evenscore.tables.cells import text
from evenscore.tables.opening import TableFile

__all__ = ["code_of", "distinct_texts", "in_order"]


def distinct_texts(table: TableFile, column: str, kept: str, most: int) -> list[str]:
    """The distinct texts of a column, sorted; one more than `most` if there are more."""
    sql = f"SELECT DISTINCT {text(table, column)} AS v FROM rows WHERE {kept}"
    rows = table.query(f"SELECT v FROM ({sql}) WHERE v IS NOT NULL LIMIT {most + 1}").fetchall()
    return sorted(row[0] for row in rows)


def code_of(table: TableFile, column: str, texts: Sequence[str]) -> str:
    """SQL that gives the position of a cell's text in `texts`; NULL if it is not there."""
    kind, members = f"texts_{column}", f"members_{column}"
    # The members of a type cannot be parameters of a query: they go through a table.
    marks = ", ".join("(?, ?)" for _ in texts)
    values = [part for pair in enumerate(texts) for part in pair]
    table.query(f"CREATE OR REPLACE TEMP TABLE {members} (k INTEGER, v VARCHAR)")
    table.query(f"INSERT INTO {members} VALUES {marks}", values)
    table.query(f"DROP TYPE IF EXISTS {kind}")
    table.query(f"CREATE TYPE {kind} AS ENUM (SELECT v FROM {members} ORDER BY k)")
    return f"CAST(enum_code(TRY_CAST({text(table, column)} AS {kind})) AS USMALLINT)"


def in_order(texts: Sequence[str]) -> list[str]:
    """Sorted by number if all are numbers, else by text.

    >>> in_order(["10", "9"]), in_order(["b", "10", "9"])
    (['9', '10'], ['10', '9', 'b'])
    """
    try:
        return sorted(texts, key=lambda told: (float(told), told))
    except ValueError:
        return sorted(texts)
