"""Writing a table with one more column: rows in order, whole or not at all."""

import errno
import os
from pathlib import Path

from evenscore.files.atomic import replacing
from evenscore.files.opening import TableFile, quoted
from evenscore.scores.arrays import Floats

_PARQUET = (".parquet", ".pq")
_TEXT = (".csv", ".tsv", ".txt")


def check_target(table: TableFile, target: Path, column: str) -> None:
    """Refuse a file of another kind, and a column that the table has already."""
    if target.suffix.lower() not in (*_TEXT, *_PARQUET):
        raise ValueError(f"{target.name} must end in .csv, .tsv or .parquet.")
    if column.casefold() in {name.casefold() for name in table.names}:
        raise ValueError(
            f"{table.name} has a column {column!r} already: name the new one with --column."
        )


def write_beside(table: TableFile, values: Floats, target: Path, *, column: str) -> Path:
    """Write the table's columns and one more to a file, CSV or Parquet by its name's end.

    CSV cells stay as they were written; columns of numbers become numbers in Parquet.
    """
    check_target(table, target, column)
    suffix = target.suffix.lower()
    kinds = [""] * len(table.names)  # as they are
    if suffix in _PARQUET:
        form = "FORMAT parquet"
        if table.kind == "csv":
            table.hold([f"c{k}" for k in range(len(table.names))])  # looked at several times
            kinds = _kinds(table)
    else:
        delimiter = "\t" if suffix == ".tsv" else table.delimiter
        form = f"FORMAT csv, HEADER true, DELIMITER {_literal(delimiter)}"
    names = [quoted(name) for name in _unique(table.names)]
    columns = [f"c{k}{kinds[k]} AS {name}" for k, name in enumerate(names)]
    selected = ", ".join([*columns, f"added AS {quoted(column)}"])
    table.connection.register("added_rows", {"added": values})
    rows = f"SELECT {selected} FROM rows POSITIONAL JOIN added_rows"
    with replacing(target) as part:
        _copy(table, f"COPY ({rows}) TO {_literal(str(part))} ({form}, USE_TMP_FILE false)")
    return target


def _copy(table: TableFile, sql: str) -> None:
    """Run SQL that writes; that there is no room to write in is no fault of the table."""
    try:
        table.query(sql)
    except ValueError as error:
        for number in (errno.ENOSPC, errno.EFBIG):
            if os.strerror(number) in str(error):
                raise OSError(number, os.strerror(number)) from None
        raise


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _unique(names: tuple[str, ...]) -> list[str]:
    """Names that differ: SQL cannot give two columns one name, nor none."""
    unique: dict[str, str] = {}  # by what SQL compares
    for name in names:
        candidate, k = name or "unnamed", 2
        while candidate.casefold() in unique:
            candidate, k = f"{name or 'unnamed'}_{k}", k + 1
        unique[candidate.casefold()] = candidate
    return list(unique.values())


def _kinds(table: TableFile) -> list[str]:
    """Casts of CSV columns to numbers where every cell is one and would be written alike."""
    whole, real = "'-?(0|[1-9][0-9]{0,17})'", "'-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][-+]?[0-9]+)?'"
    kinds = []
    counts = (
        (
            f"count(c{k})",
            f"count_if(regexp_full_match(c{k}, {whole}))",
            f"count_if(regexp_full_match(c{k}, {real}))",
        )
        for k in range(len(table.names))
    )
    totals = iter(table.aggregates([part for column in counts for part in column]))
    for present, integers, numbers in zip(totals, totals, totals, strict=True):
        number = "::DOUBLE" if present and numbers == present else ""
        kinds.append("::BIGINT" if present and integers == present else number)
    return kinds
