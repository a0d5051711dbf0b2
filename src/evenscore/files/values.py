"""Values of a column as SQL: a number, a text, a code or nothing; and refusing what does not fit.

DuckDB 2.0 answers `isnan` and comparisons over a Parquet file from its statistics, which leave NaN
out: it finds none. Whether a value is NaN is therefore asked by `isfinite`, which looks at the
values, and `open_table` turns that use of statistics off as well.

Scores are compared as doubles, and two numbers that differ must not become one. Beyond 2^53, where
doubles leave out integers, integers are therefore refused, whether a type or a text holds them, and
so are decimals. A number with a point or an exponent is taken if it is one that a double is written
as: in the fewest digits (1e300), in 17, or in all if they are 38 at most. Below 2^53 numbers are
rounded to doubles, as everywhere: that keeps 15 digits apart, and more are seldom more than noise.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from evenscore.files.opening import TableFile
from evenscore.scores.labels import MAX_LABEL, shown
from evenscore.scores.sources import EXACT

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER")
_LARGE = ("BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT")
_REAL = ("FLOAT", "DOUBLE")
_DIGITS = 16  # of 2^53, and of the smallest type of decimals that holds it
_NESTED = ("STRUCT", "MAP", "UNION", "[")
# In a column of numbers, in lower case; those of Excel, SAS and German and French tables too.
_NOTHING = (
    "('', 'na', 'n/a', 'nan', 'null', 'none', '-', '--', '–', '—', '.', '?', '#n/a', '#na', "
    "'#null!', '#value!', '#div/0!', 'n.a.', 'k.a.', 'n.v.', 'nd', 'n.d.')"
)
_BLANK = "' ' || chr(9) || chr(10) || chr(13)"
_NUL = "{column} holds a NUL character at {row}{more}, which no label may: take it out first."
_MISSING = "{column} is missing at {row}{more}; fill or drop such rows first{option}."


@dataclass(frozen=True)
class Column:
    """A column of a table, and SQL for its values.

    One that is `tidy` is known to hold finite numbers below 2^53, or texts that are, and NULL
    (see `tidied`); the shares of one that is `percent` were written with percent signs. `written`
    is SQL of the plain text of a number that was made of another way of writing.
    """

    table: TableFile
    sql: str
    name: str
    kind: str
    tidy: bool = False
    percent: bool = False
    written: str = ""

    @classmethod
    def named(cls, table: TableFile, name: str) -> Self:
        """The column of that name; one sentence if there is none, or more than one."""
        sql = table.column(name)
        return cls(table, sql, name, table.types[int(sql[1:])])

    def __str__(self) -> str:
        return f"Column {shown(self.name)} of {self.table.name}"

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
        if self.is_text:
            return f"TRY_CAST({self.sql} AS DOUBLE)" if self.tidy else as_number(self.sql)
        return f"CAST({self.sql} AS DOUBLE)"

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
        if not self.tidy and (confused := self._confused):
            sentence = (
                "{column} is {value} at {row}{more}: integers beyond 2^53 would be confused in "
                "double precision, so rescale or rank them first."
            )
            checks.append(Check(self, confused, sentence))
        if not optional:
            checks.append(Check(self, self.lacking, _MISSING, missing=True))
        return checks

    @property
    def _confused(self) -> str:
        """Whether another number beyond 2^53 could become the same double; nothing if none can."""
        decimal = re.match(r"DECIMAL\((\d+),(\d+)\)", self.kind)
        if self.kind in _LARGE or (decimal and int(decimal[1]) - int(decimal[2]) >= _DIGITS):
            limit = f"{EXACT}::{self.kind}" if decimal else f"{EXACT}"
            return f"{self.sql} > {limit} OR {self.sql} < -({limit})"
        text = self.sql if self.is_text else self.written
        if not text:
            return ""
        printed = (
            f"CAST({self.number} AS VARCHAR)",
            f"format('{{:.16e}}', {self.number})",
            f"coalesce(TRY_CAST({self.number} AS HUGEINT)::VARCHAR, '')",
        )
        known = ", ".join(map(_digits, printed))
        return (
            f"CASE WHEN isfinite({self.number}) AND abs({self.number}) >= {EXACT} "
            f"THEN {_digits(text)} NOT IN ({known}) OR "
            f"(abs({self.number}) > {EXACT} AND NOT regexp_matches({text}, '[.eE]')) "
            "ELSE false END"
        )

    def text_checks(self) -> list["Check"]:
        """Every value must be something."""
        if any(part in self.kind for part in _NESTED):
            raise ValueError(
                f"{self} holds nested values of type {self.kind}, which cannot be labels."
            )
        checks = [Check(self, f"({self.text}) IS NULL", _MISSING, missing=True)]
        if self.is_text:
            long = "{column} holds a text of more than %s characters at {row}{more}: no label may."
            checks += [
                Check(self, self.long_text, long % f"{MAX_LABEL:,}"),
                Check(self, f"contains({self.sql}, chr(0))", _NUL),
            ]
        return checks

    @property
    def long_text(self) -> str:
        """Whether a text is too long to be a label. Bytes are counted faster than characters."""
        bytes_, characters = (
            f"{count}({self.sql}) > {MAX_LABEL}" for count in ("strlen", "length")
        )
        return f"CASE WHEN {bytes_} THEN {characters} ELSE false END"


def tidied(columns: Sequence[Column]) -> list[Column]:
    """The columns, those marked that hold finite numbers below 2^53 and NULL alone.

    That is quickly seen, and there is little more to ask of such a column: a wide file is read much
    faster.
    """
    numbers = [column for column in columns if column.is_text or column.is_number]
    asked = ((f"count({column.sql})", f"count_if({_is_tidy(column)})") for column in numbers)
    if not numbers:
        return [*columns]
    counts = iter(numbers[0].table.aggregates([part for pair in asked for part in pair]))
    tidy = {
        column.sql
        for column, present, finite in zip(numbers, counts, counts, strict=True)
        if present == (finite or 0)  # of NULL alone, nothing
    }
    return [replace(column, tidy=column.sql in tidy) for column in columns]


def _is_tidy(column: Column) -> str:
    """SQL that is short: planning hundreds of such columns takes longer than to look at them."""
    if column.is_text:  # NaN is larger than any number
        return f"abs(TRY_CAST({column.sql} AS DOUBLE)) < {EXACT} AND NOT ({_odd(column.sql)})"
    return f"isfinite({column.number}) AND abs({column.number}) < {EXACT}"


def says_nothing(text: str) -> str:
    """SQL that tells whether a text in a column of numbers says that there is none."""
    return f"lower(trim({text}, {_BLANK})) IN {_NOTHING}"


def as_number(text: str) -> str:
    """SQL of the number that a text is, or NULL; to DuckDB +-1 and 1_000 would be numbers too."""
    return f"CASE WHEN {_odd(text)} THEN NULL ELSE TRY_CAST({text} AS DOUBLE) END"


def _odd(text: str) -> str:
    return f"contains({text}, '_') OR contains({text}, '+-')"


def _digits(text: str) -> str:
    """SQL of the significant digits of a number's text."""
    mantissa = f"regexp_extract({text}, '[0-9.]+')"
    return f"trim(replace({mantissa}, '.', ''), '0')"


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
    written = check.column.written or f"{check.column.sql}::VARCHAR"
    numbered = f"SELECT row_number() OVER () AS r, {written} AS v FROM rows"
    value = str(table.one(f"SELECT v FROM ({numbered}) WHERE r = ?", [row])[0])
    below = " below the header" if table.kind == "csv" else ""
    return check.sentence.format(
        column=check.column,
        row=f"row {row:,}{below}",
        value=repr(value if len(value) <= 40 else f"{value[:40]}…"),
        more=f" ({n:,} such rows in all)" if n > 1 else "",
        option=option,
    )
