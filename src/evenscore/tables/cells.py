"""What stands in a cell, as SQL: a number, a text, or nothing; and refusing what does not fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenscore.tables.opening import TableFile

__all__ = ["Check", "is_number", "number", "number_checks", "refuse", "text", "text_checks"]

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER")
_LARGE = ("BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT")
_REAL = ("FLOAT", "DOUBLE")
_NESTED = ("STRUCT", "MAP", "UNION", "[")
_EXACT = 2**53  # integers beyond are not all doubles
_NOTHING = "('', 'na', 'n/a', 'nan', 'null', 'none')"  # in a column of numbers, in lower case
_BLANK = "' ' || chr(9) || chr(10) || chr(13)"


@dataclass(frozen=True)
class Check:
    """A condition that no row may meet, and what is said if one does.

    `says` is filled in with the column's name, the row and the value there. Rows that lack a value
    may be left out instead (`missing`).
    """

    column: str
    condition: str
    says: str
    missing: bool = False


def is_number(kind: str) -> bool:
    """Whether a type of DuckDB holds numbers (or truth values)."""
    return kind in (*_WHOLE, *_LARGE, *_REAL, "BOOLEAN") or kind.startswith("DECIMAL")


def number(table: TableFile, column: str) -> str:
    """The cell as a double; NULL or NaN where there is none, or text that is no number."""
    cast = "TRY_CAST" if table.type_of(column) == "VARCHAR" else "CAST"
    return f"{cast}({column} AS DOUBLE)"


def text(table: TableFile, column: str) -> str:
    """The cell as text, as it is written; NULL where there is none."""
    kind = table.type_of(column)
    if kind == "VARCHAR":
        return f"CASE WHEN {_blank(column)} THEN NULL ELSE {column} END"
    if kind in _REAL:
        return f"CASE WHEN isnan({column}) THEN NULL ELSE CAST({column} AS VARCHAR) END"
    return f"CAST({column} AS VARCHAR)"


def _blank(column: str) -> str:
    # Trimming is slow: only what sorts before every visible character is looked at more closely.
    return f"CASE WHEN {column} < '!' THEN trim({column}, {_BLANK}) = '' ELSE false END"


def _no_number(column: str) -> str:
    cast = f"TRY_CAST({column} AS DOUBLE)"
    nothing = f"lower(trim({column}, {_BLANK})) IN {_NOTHING}"
    return f"CASE WHEN {cast} IS NULL OR isnan({cast}) THEN {nothing} ELSE false END"


def number_checks(table: TableFile, column: str, *, optional: bool = False) -> list[Check]:
    """Every cell must hold a finite number; with `optional`, or nothing."""
    kind = table.type_of(column)
    if kind != "VARCHAR" and not is_number(kind):
        raise ValueError(
            f"Column {table.name_of(column)!r} of {table.name} holds values of type {kind}, not "
            "numbers."
        )
    found = number(table, column)
    finite = "{column} is infinite at {row}{more}; every value must be finite."
    checks = [Check(column, f"isinf({found})", finite)]
    lacking = f"{column} IS NULL OR isnan({found})"
    if kind == "VARCHAR":
        lacking = f"{column} IS NULL OR {_no_number(column)}"
        odd = f"NOT ({lacking}) AND TRY_CAST({column} AS DOUBLE) IS NULL"
        told = "{column} must hold numbers, but it is {value} at {row}{more}{hint}."
        checks.insert(0, Check(column, odd, told))
    if kind in _LARGE:
        told = (
            "{column} is {value} at {row}{more}: integers beyond 2^53 would be confused in double "
            "precision, so rescale or rank them first."
        )
        checks.append(Check(column, f"{column} > {_EXACT} OR {column} < -{_EXACT}", told))
    if not optional:
        told = "{column} is missing at {row}{more}; fill or drop such rows first{option}."
        checks.append(Check(column, lacking, told, missing=True))
    return checks


def text_checks(table: TableFile, column: str) -> list[Check]:
    """Every cell must hold something."""
    kind = table.type_of(column)
    if any(part in kind for part in _NESTED):
        raise ValueError(
            f"Column {table.name_of(column)!r} of {table.name} holds nested values of type {kind}, "
            "which are no labels."
        )
    told = "{column} is missing at {row}{more}; fill or drop such rows first{option}."
    return [Check(column, f"({text(table, column)}) IS NULL", told, missing=True)]


def refuse(
    table: TableFile, checks: list[Check], *, drop_missing: bool = False, option: str = ""
) -> tuple[int, str]:
    """Refuse the first check that a row fails; give the number of rows and a WHERE clause.

    With `drop_missing` the clause leaves out rows that lack a value; otherwise they are refused,
    and `option` is what the sentence advises.
    """
    counts = ", ".join(f"count_if({check.condition})" for check in checks)
    total, *failed = table.one(f"SELECT count(*), {counts} FROM rows" if checks else
                               "SELECT count(*) FROM rows")  # fmt: skip
    if total == 0:
        raise ValueError(f"{table.name} has a header but no rows.")
    for check, n in zip(checks, failed, strict=True):
        if n and not (check.missing and drop_missing):
            raise ValueError(_told(table, check, n, option))
    lacking = [check.condition for check, n in zip(checks, failed, strict=True) if n]
    # A condition on a missing value may itself be NULL: then it is not met.
    where = "".join(f" AND NOT coalesce({condition}, false)" for condition in lacking)
    return int(total), f"true{where}"


def _told(table: TableFile, check: Check, n: int, option: str) -> str:
    row = table.first_row(f"coalesce({check.condition}, false)")
    value = _value(table, check.column, row)
    below = " below the header" if table.kind == "csv" else ""
    return check.says.format(
        column=f"Column {table.name_of(check.column)!r} of {table.name}",
        row=f"row {row:,}{below}",
        value=value,
        more=f" ({n:,} such rows in all)" if n > 1 else "",
        option=option,
        hint=_hint(value),
    )


def _value(table: TableFile, column: str, row: int) -> str:
    numbered = f"SELECT row_number() OVER () AS r, CAST({column} AS VARCHAR) AS v FROM rows"
    value: Any = table.one(f"SELECT v FROM ({numbered}) WHERE r = ?", [row])[0]
    told = str(value)
    return repr(told if len(told) <= 40 else f"{told[:40]}…")


def _hint(value: str) -> str:
    digits = value.strip("'-+ ").replace(",", "", 1)
    return ": write decimals with a point" if "," in value and digits.isdigit() else ""
