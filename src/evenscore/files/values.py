"""Values of a column as SQL: a number, a text, a code or nothing; and refusing what does not fit.

DuckDB 2.0 answers `isnan` and comparisons over a Parquet file from its statistics, which leave NaN
out: it finds none. Whether a value is NaN is therefore asked by `isfinite`, which looks at the
values, and `open_table` turns that use of statistics off as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from evenscore.files.opening import TableFile
from evenscore.scores.sources import EXACT

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER")
_LARGE = ("BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT")
_REAL = ("FLOAT", "DOUBLE")
_NESTED = ("STRUCT", "MAP", "UNION", "[")
# In a column of numbers, in lower case; those of Excel, SAS and German and French tables too.
_NOTHING = (
    "('', 'na', 'n/a', 'nan', 'null', 'none', '-', '--', '–', '—', '.', '?', '#n/a', '#na', "
    "'#null!', '#value!', '#div/0!', 'n.a.', 'k.a.', 'n.v.', 'nd', 'n.d.')"
)
_BLANK = "' ' || chr(9) || chr(10) || chr(13)"
_MISSING = "{column} is missing at {row}{more}; fill or drop such rows first{option}."


@dataclass(frozen=True)
class Column:
    """A column of a table, and SQL for its values.

    One that is `tidy` is known to hold finite numbers, or texts that are, and NULL (see `tidied`);
    the shares of one that is `percent` were written with percent signs.
    """

    table: TableFile
    sql: str
    name: str
    kind: str
    tidy: bool = False
    percent: bool = False

    @classmethod
    def named(cls, table: TableFile, name: str) -> Self:
        """The column of that name; one sentence if there is none, or more than one."""
        sql = table.column(name)
        return cls(table, sql, name, table.types[int(sql[1:])])

    def __str__(self) -> str:
        return f"Column {self.name!r} of {self.table.name}"

    @property
    def is_text(self) -> bool:
        """Whether it holds texts: all columns of a CSV file do."""
        return self.kind == "VARCHAR"

    @property
    def is_number(self) -> bool:
        """Whether its type holds numbers (or truth values)."""
        numbers = (*_WHOLE, *_LARGE, *_REAL, "BOOLEAN")
        return self.kind in numbers or self.kind.startswith("DECIMAL")

    @property
    def number(self) -> str:
        """The value as a double; NULL or NaN where there is none, or a text that is no number."""
        return f"{'TRY_CAST' if self.is_text else 'CAST'}({self.sql} AS DOUBLE)"

    @property
    def text(self) -> str:
        """The value as text, as it is written; NULL where there is none."""
        if self.is_text:
            return f"CASE WHEN {_blank(self.sql)} THEN NULL ELSE {self.sql} END"
        if self.kind in _REAL:
            return f"CASE WHEN {_is_nan(self.sql)} THEN NULL ELSE CAST({self.sql} AS VARCHAR) END"
        return f"CAST({self.sql} AS VARCHAR)"

    @property
    def lacking(self) -> str:
        """Whether there is no number: nothing at all, NaN, or a text that says so."""
        missing = f"{self.sql} IS NULL"
        if self.tidy:
            return missing
        if self.is_text:
            # Trimming is slow: only where there is no number to be seen.
            return (
                f"{missing} OR CASE WHEN {self.number} IS NULL OR {_is_nan(self.number)} "
                f"THEN {says_nothing(self.sql)} ELSE false END"
            )
        return f"{missing} OR {_is_nan(self.sql)}" if self.kind in _REAL else missing

    @property
    def odd_text(self) -> str:
        """Whether a text is neither a number nor nothing."""
        if self.tidy:
            return "false"
        return f"NOT ({self.lacking}) AND {self.number} IS NULL"

    def distinct_texts(self, kept: str, most: int) -> list[str]:
        """The different texts, sorted; one more than `most` if there are more."""
        sql = f"SELECT DISTINCT {self.text} AS v FROM rows WHERE {kept}"
        sql = f"SELECT v FROM ({sql}) WHERE v IS NOT NULL LIMIT {most + 1}"
        return sorted(row[0] for row in self.table.query(sql).fetchall())

    def code_of(self, texts: Sequence[str]) -> str:
        """SQL that gives the position of a value's text in `texts`; NULL if it is not there.

        DuckDB codes them itself, so that no text is made for every row.
        """
        kind, members = f"texts_{self.sql}", f"members_{self.sql}"
        # The members of a type cannot be parameters of a query: they go through a table.
        marks = ", ".join("(?, ?)" for _ in texts)
        values = [part for pair in enumerate(texts) for part in pair]
        query = self.table.query
        query(f"CREATE OR REPLACE TEMP TABLE {members} (k INTEGER, v VARCHAR)")
        query(f"INSERT INTO {members} VALUES {marks}", values)
        query(f"DROP TYPE IF EXISTS {kind}")
        query(f"CREATE TYPE {kind} AS ENUM (SELECT v FROM {members} ORDER BY k)")
        return f"CAST(enum_code(TRY_CAST({self.text} AS {kind})) AS UINTEGER)"

    def code_of_all(self, kept: str) -> str:
        """SQL that gives a number for each different text, however many there are."""
        kind, query = f"all_{self.sql}", self.table.query
        query(f"DROP TYPE IF EXISTS {kind}")
        texts = f"SELECT DISTINCT {self.text} AS v FROM rows WHERE {kept}"
        query(
            f"CREATE TYPE {kind} AS ENUM (SELECT v FROM ({texts}) WHERE v IS NOT NULL ORDER BY v)"
        )
        return f"CAST(enum_code(TRY_CAST({self.text} AS {kind})) AS UINTEGER)"

    def number_checks(self, *, optional: bool = False) -> list["Check"]:
        """Every value must be a finite number; with `optional`, or nothing."""
        if not self.is_text and not self.is_number:
            raise ValueError(f"{self} holds values of type {self.kind}, not numbers.")
        checks = []
        if self.is_text and not self.tidy:
            sentence = "{column} must hold numbers, but it is {value} at {row}{more}."
            checks.append(Check(self, self.odd_text, sentence))
        if not self.tidy:
            sentence = "{column} is infinite at {row}{more}; every value must be finite."
            checks.append(Check(self, f"isinf({self.number})", sentence))
        if self.kind in _LARGE:
            sentence = (
                "{column} is {value} at {row}{more}: integers beyond 2^53 would be confused in "
                "double precision, so rescale or rank them first."
            )
            checks.append(Check(self, f"{self.sql} > {EXACT} OR {self.sql} < -{EXACT}", sentence))
        if not optional:
            checks.append(Check(self, self.lacking, _MISSING, missing=True))
        return checks

    def text_checks(self) -> list["Check"]:
        """Every value must be something."""
        if any(part in self.kind for part in _NESTED):
            raise ValueError(
                f"{self} holds nested values of type {self.kind}, which cannot be labels."
            )
        return [Check(self, f"({self.text}) IS NULL", _MISSING, missing=True)]


def tidied(columns: Sequence[Column]) -> list[Column]:
    """The columns, those marked that hold finite numbers and NULL alone.

    That is quickly seen, and there is little more to ask of such a column: a wide file is read much
    faster.
    """
    numbers = [column for column in columns if column.is_text or column.is_number]
    asked = ((f"count({column.sql})", f"count_if(isfinite({column.number}))") for column in numbers)
    if not numbers:
        return [*columns]
    counts = iter(numbers[0].table.aggregates([part for pair in asked for part in pair]))
    tidy = {
        column.sql
        for column, present, finite in zip(numbers, counts, counts, strict=True)
        if present == (finite or 0)  # of NULL alone, nothing
    }
    return [replace(column, tidy=column.sql in tidy) for column in columns]


def says_nothing(text: str) -> str:
    """SQL that tells whether a text in a column of numbers says that there is none."""
    return f"lower(trim({text}, {_BLANK})) IN {_NOTHING}"


def _is_nan(value: str) -> str:
    return f"(NOT isfinite({value}) AND NOT isinf({value}))"


def _blank(column: str) -> str:
    # Trimming is slow: only what sorts before every visible character is looked at more closely.
    return f"CASE WHEN {column} < '!' THEN trim({column}, {_BLANK}) = '' ELSE false END"


@dataclass(frozen=True)
class Check:
    """A condition that no row may meet, and what is said if one does.

    `sentence` is filled in with the column's name, the row and the value there. Rows that lack a
    value may be left out instead (`missing`).
    """

    column: Column
    condition: str
    sentence: str
    missing: bool = False


def refuse(
    table: TableFile, checks: Sequence[Check], *, drop_missing: bool = False, option: str = ""
) -> tuple[int, str, dict[str, int]]:
    """Refuse the first check that a row fails; give the number of rows and a WHERE clause.

    With `drop_missing` the clause leaves out rows that lack a value, and the last part of the
    answer is how many lack one, by column; otherwise they are refused, and `option` is what the
    sentence advises.
    """
    counts = (f"count_if({check.condition})" for check in checks)
    total, *failures = table.aggregates(["count(*)", *counts])
    if total == 0:
        raise ValueError(f"{table.name} has a header but no rows.")
    failed = [(check, n) for check, n in zip(checks, failures, strict=True) if n]
    for check, n in failed:
        if not (check.missing and drop_missing):
            raise ValueError(_sentence(table, check, n, option))
    # A condition on a missing value may itself be NULL: then it is not met.
    clauses = (f" AND NOT coalesce({check.condition}, false)" for check, _ in failed)
    lacking = {check.column.name: int(n) for check, n in failed}
    return int(total), f"true{''.join(clauses)}", lacking


def selection(columns: Mapping[str, str], kept: str = "true") -> str:
    """The query of some columns, SQL by name, of the rows kept."""
    named = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
    return f"SELECT {named} FROM rows WHERE {kept}"


def _sentence(table: TableFile, check: Check, n: int, option: str) -> str:
    row = table.first_row(f"coalesce({check.condition}, false)")
    numbered = f"SELECT row_number() OVER () AS r, {check.column.sql}::VARCHAR AS v FROM rows"
    value = str(table.one(f"SELECT v FROM ({numbered}) WHERE r = ?", [row])[0])
    below = " below the header" if table.kind == "csv" else ""
    return check.sentence.format(
        column=check.column,
        row=f"row {row:,}{below}",
        value=repr(value if len(value) <= 40 else f"{value[:40]}…"),
        more=f" ({n:,} such rows in all)" if n > 1 else "",
        option=option,
    )
