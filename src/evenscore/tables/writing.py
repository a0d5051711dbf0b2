"""Writing a table with one more column: rows in order, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenscore.files import replacing
from evenscore.tables.opening import TableFile, quoted

__all__ = ["check_target", "write_beside"]

_FORMATS = {".csv": ",", ".tsv": "\t", ".txt": None, ".parquet": None, ".pq": None}


def check_target(table: TableFile, target: Path, column: str) -> None:
    """Refuse a file of another kind, and a column that the table has already."""
    if target.suffix.lower() not in _FORMATS:
        raise ValueError(f"{target.name} must end in .csv, .tsv or .parquet.")
    if column.casefold() in {name.casefold() for name in table.names}:
        raise ValueError(
            f"{table.name} has a column {column!r} already: name the new one with --column."
        )


def write_beside(
    table: TableFile, values: NDArray[np.float64], target: Path, *, column: str
) -> Path:
    """Write the table's columns and one more to a file, CSV or Parquet by its name's end.

    CSV cells stay as they were written; columns of numbers become numbers in Parquet.
    """
    check_target(table, target, column)
    columns = [f"c{k} AS {quoted(name)}" for k, name in enumerate(_unique(table.names))]
    if target.suffix.lower() in (".parquet", ".pq"):
        columns = _typed(table)
        form = "FORMAT parquet"
    else:
        delimiter = _FORMATS[target.suffix.lower()] or ","
        if table.kind == "csv" and target.suffix.lower() != ".tsv":
            delimiter = table.delimiter
        form = f"FORMAT csv, HEADER true, DELIMITER {_literal(delimiter)}"
    told = ", ".join([*columns, f"added AS {quoted(column)}"])
    table.connection.register("added_rows", {"added": values})
    rows = f"SELECT {told} FROM rows POSITIONAL JOIN added_rows"
    with replacing(target) as part:
        table.query(f"COPY ({rows}) TO {_literal(str(part))} ({form})")
    return target


def _literal(told: str) -> str:
    return "'" + told.replace("'", "''") + "'"


def _unique(names: tuple[str, ...]) -> list[str]:
    """Names that differ: SQL cannot give two columns one name, nor none."""
    found: list[str] = []
    for name in names:
        told, k = name or "unnamed", 2
        while told.casefold() in {other.casefold() for other in found}:
            told, k = f"{name or 'unnamed'}_{k}", k + 1
        found.append(told)
    return found


def _typed(table: TableFile) -> list[str]:
    """The columns of a CSV file as numbers where every cell is one and would be written alike."""
    names = _unique(table.names)
    if table.kind != "csv":
        return [f"c{k} AS {quoted(name)}" for k, name in enumerate(names)]
    whole, real = "'-?(0|[1-9][0-9]{0,17})'", "'-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][-+]?[0-9]+)?'"
    counts = ", ".join(
        f"count(c{k}), count_if(regexp_full_match(c{k}, {whole})), "
        f"count_if(regexp_full_match(c{k}, {real}))"
        for k in range(len(names))
    )
    found: tuple[Any, ...] = table.one(f"SELECT {counts} FROM rows")
    columns = []
    for k, name in enumerate(names):
        present, integers, numbers = found[3 * k : 3 * k + 3]
        kind = "VARCHAR"
        if present and integers == present:
            kind = "BIGINT"
        elif present and numbers == present:
            kind = "DOUBLE"
        columns.append(f"CAST(c{k} AS {kind}) AS {quoted(name)}")
    return columns
