"""How numbers are written in a column of texts: decimal commas, percent signs, thousands, money.

What plain SQL reads as a number is left alone. Elsewhere the whole column decides: a way of writing
is taken only if every value that is something is a number in it, and only if the other way would
not give other numbers. "1,234" in every row could be either, and is refused until --decimal says;
it settles what a column leaves open, and nothing else.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from evenscore.files.opening import AdvisedError, TableFile, listed
from evenscore.files.values import Column, as_number, says_nothing, tidied

Decimal = Literal["auto", "point", "comma"]

# Every kind of space, the narrow one of French numbers too: RE2 calls them Zs, beside its \\s.
_SPACES = "\t\n\f\r \u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_SPACE = r"[\s\p{Zs}]*"
_MONEY = r"(?:\p{Sc}|EUR|USD|GBP|CHF)"
_MARKS = {"point": (".", ","), "comma": (",", ".")}  # the decimal mark, and one of thousands
_BEFORE = "' +-$"  # what may stand before the first digit; others are ten times slower to trim
_LOOK = 1000  # rows that usually show that a column is not of thousands
_EXAMPLES = 3  # names in a sentence


def _pattern(decimal: str) -> str:
    """A regular expression (RE2) of the numbers that are written so, as an SQL text."""
    mark, other = _MARKS[decimal]
    apart = "|".join(
        rf"[1-9]\d{{0,2}}(?:{sign}\d{{3}})+" for sign in (rf"[{other}]", r"[ \p{Zs}]", "['’]")
    )
    number = rf"(?:(?:\d+|{apart})(?:[{mark}]\d*)?|[{mark}]\d+)"
    before = rf"{_SPACE}'?{_SPACE}{_MONEY}?{_SPACE}[-+−]?{_SPACE}{_MONEY}?{_SPACE}"
    return _text(rf"{before}{number}(?:[eE][-+]?\d+|{_SPACE}{_MONEY}|{_SPACE}%)?{_SPACE}")


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_PATTERNS = {decimal: _pattern(decimal) for decimal in _MARKS}


def _is(sql: str, decimal: str) -> str:
    return f"regexp_full_match({sql}, {_PATTERNS[decimal]})"


@dataclass(frozen=True)
class Problem:
    """Why a column cannot be used, as the rest of a sentence, and the options that would help."""

    column: Column
    why: str
    ways: tuple[tuple[str, ...], ...] = ()


def refuse_columns(table: TableFile, problems: Sequence[Problem]) -> None:
    """Refuse all columns that cannot be used in one sentence, with the options that help.

    Those of problems with one way on are joined; where there are two, so are there here.
    """
    if not problems:
        return
    left_out = [way[1] for one in problems for way in one.ways if way[0] == "--exclude"]
    if len(problems) == 1:
        advice = ": leave it out with --exclude" if left_out else ""
        sentence = f"{problems[0].column} {problems[0].why}{advice}."
    else:
        whys = "; ".join(f"{one.column.name!r} {one.why}" for one in problems)
        names = "them" if len(left_out) == len(problems) else listed([*map(repr, left_out)] or [""])
        advice = f"; leave {names} out with --exclude" if left_out else ""
        count = len(problems)
        sentence = f"{count} columns of {table.name} cannot be used as they are: {whys}{advice}."
    others = dict.fromkeys(way for one in problems for way in one.ways if way[0] != "--exclude")
    always = ("--exclude", ",".join(left_out)) if left_out else ()
    options = [(*always, *way) for way in others] or ([always] if always else [])
    helpless = any(not one.ways for one in problems)
    raise AdvisedError(sentence, options=() if helpless else options)


# ---------------------------------------------------------------------- how a column is written


@dataclass(frozen=True)
class _Counts:
    """Of the values of a column that are something, how many are what."""

    money: tuple[str | None, str | None]  # the first and last sign or code, as texts are sorted
    signs: str  # all the characters of numbers
    present: int
    plain: int
    point: int
    comma: int
    either: int
    unsettled: int  # a number in both ways, with a mark that only one of them takes as decimal
    percent: int

    @classmethod
    def of(cls, column: Column) -> "_Counts":
        """Count shapes, of which there are few: texts in which every digit is 9, or a leading 0."""
        table, sql = column.table, column.sql
        shape = f"translate({sql}, '012345678', '999999999')"
        zero = f"starts_with(ltrim({sql}, {_text(_BEFORE)}), '0')"
        table.query(
            f"CREATE OR REPLACE TEMP TABLE shapes_{sql} AS SELECT n, example, "
            "CASE WHEN zero THEN regexp_replace(shape, '9', '0') ELSE shape END AS shape "
            f"FROM (SELECT {shape} AS shape, {zero} AS zero, count(*) AS n, min({sql}) AS example "
            f"FROM rows WHERE {sql} IS NOT NULL GROUP BY ALL)"
        )
        values = (
            f"SELECT n, shape, {_is('shape', 'point')} AS p, {_is('shape', 'comma')} AS c, "
            f"{as_number('shape')} IS NOT NULL AS plain, "
            "regexp_matches(shape, '[.,]') AS marked, contains(shape, '%') AS percent, "
            f"nullif(regexp_extract(shape, {_text(_MONEY)}), '') AS money "
            f"FROM shapes_{sql} WHERE NOT ({says_nothing('example')})"
        )
        conditions = ("true", "plain", "p", "c", "p OR c", "p AND c AND marked", "percent")
        sums = ", ".join(f"coalesce(sum(n) FILTER ({one}), 0)::BIGINT" for one in conditions)
        *counts, first, last, shapes = table.one(
            f"SELECT {sums}, min(money), max(money), string_agg(shape, '') FILTER (p OR c) "
            f"FROM ({values})"
        )
        signs = "".join(sorted({*(shapes or "")}))
        return cls((first, last), signs, *counts)

    def all_are(self, decimal: str) -> bool:
        """Whether every value is a number in this way."""
        return {"point": self.point, "comma": self.comma}[decimal] == self.present

    def way(self, decimal: Decimal) -> str:
        """The way in which all are numbers; if in both, as asked."""
        if self.all_are("point") and self.all_are("comma"):
            return "comma" if decimal == "comma" else "point"
        return "point" if self.all_are("point") else "comma"


def as_numbers(
    table: TableFile, columns: Sequence[Column], decimal: Decimal, *, texts: bool = False
) -> tuple[list[Column], list[Problem]]:
    """The columns as numbers, however they are written, which is noted; and what hinders it.

    With `texts`, columns of CSV files whose values are no numbers in any way stay as they are, and
    so do all texts of Parquet files.
    """
    columns = tidied(columns)
    asked = [column for column in columns if column.is_text and (table.kind == "csv" or not texts)]
    plain = [column for column in asked if column.tidy]
    ways: dict[Column, tuple[str, _Counts]] = {}
    problems: list[Problem] = []
    for column in (column for column in asked if not column.tidy):
        counts = _Counts.of(column)
        if counts.plain == counts.present:
            plain.append(column)
            continue
        problem = _problem(column, counts, decimal, texts=texts)
        if problem is not None:
            problems.append(problem)
        elif counts.either == counts.present:
            ways[column] = counts.way(decimal), counts
    commas = table.delimiter != "," or any(way == "comma" for way, _ in ways.values())
    if decimal == "comma" or (decimal == "auto" and commas):
        for column in plain:
            thousands = _thousands(column)
            if thousands is not None and decimal == "comma":
                ways[column] = "comma", thousands
            elif thousands is not None:
                problems.append(_two_ways(column, thousands))
    numbers = {column: _number(column.sql, *way) for column, way in ways.items()}
    told = {column: _how(column, *way) for column, way in ways.items()}
    table.notes.extend(_sentences(told))
    if numbers and table.kind == "csv":
        table.add({f"n{column.sql}": number for column, number in numbers.items()})
    read = {
        column.sql: replace(
            column,
            sql=f"n{column.sql}" if table.kind == "csv" else f"({number})",
            kind="DOUBLE",
            tidy=False,
            percent=ways[column][1].percent > 0,
            written=_plain_text(column.sql, *ways[column]),
        )
        for column, number in numbers.items()
    }
    return [read.get(column.sql, column) for column in columns], problems


def _number(sql: str, decimal: str, counts: _Counts) -> str:
    """SQL of the value as a double."""
    return f"TRY_CAST({_plain_text(sql, decimal, counts)} AS DOUBLE)"


def _plain_text(sql: str, decimal: str, counts: _Counts) -> str:
    """SQL of the value as plain text. Of a percentage, the exponent is changed: 50.3 % is 0.503."""
    mark, other = _MARKS[decimal]
    if counts.money[0] is not None:
        sql = f"regexp_replace({sql}, {_text(_MONEY)}, '', 'g')"
    # What is left out comes first: the other mark may be a point.
    becomes = {**dict.fromkeys(f"{other}{_SPACES}%’'", ""), mark: ".", "−": "-"}
    for sign, plain in becomes.items():
        if sign in counts.signs and sign != plain:
            sql = f"replace({sql}, {_text(sign)}, '{plain}')"
    hundredth = " || 'e-2'" if counts.percent else ""
    return f"{sql}{hundredth}"


def _problem(column: Column, counts: _Counts, decimal: Decimal, *, texts: bool) -> Problem | None:
    """What is wrong with the way the values are written, if anything."""
    numbers = counts.either == counts.present
    exclude = (("--exclude", column.name),) if texts else ()
    is_number = f"({_is(column.sql, 'point')} OR {_is(column.sql, 'comma')})"
    if not numbers:
        if texts:
            return None
        odd = f"NOT {is_number} AND {column.number} IS NULL"
        return Problem(column, f"must hold numbers, but it is {_value(column, odd)}")
    if 0 < counts.percent < counts.present:
        one, other = (_value(column, f"{no}contains({column.sql}, '%')") for no in ("", "NOT "))
        why = f"has a percent sign in some rows but not in others: it is {one}, and {other}"
        return Problem(column, why, exclude)
    if counts.money[0] != counts.money[1]:
        one, other = (_value(column, f"contains({column.sql}, {_text(str(sign))})")
                      for sign in counts.money)  # fmt: skip
        return Problem(column, f"is in several currencies: it is {one}, and {other}", exclude)
    if not counts.all_are("point") and not counts.all_are("comma"):
        one = _value(column, f"NOT {_is(column.sql, 'point')}")
        other = _value(column, f"NOT {_is(column.sql, 'comma')}")
        why = (
            f"has decimal commas in some rows and decimal points in others: it is {one}, and "
            f"{other}, so write all of them in one way"
        )
        return Problem(column, why, exclude)
    if (
        decimal == "auto"
        and counts.all_are("point")
        and counts.all_are("comma")
        and counts.unsettled
    ):
        return _two_ways(column, counts)
    return None


def _two_ways(column: Column, counts: _Counts) -> Problem:
    """A column that is numbers in both ways, and others in each."""
    readings = ", ".join(_number(column.sql, way, counts) for way in _MARKS)
    marked = f"regexp_matches({column.sql}, '[.,]') AND NOT ({column.lacking})"
    text, *values = column.table.one(
        f"SELECT {column.sql}, {readings} FROM rows WHERE {marked} LIMIT 1"
    )
    ways = (
        f"{_plain(value)} with --decimal {way}" for way, value in zip(_MARKS, values, strict=True)
    )
    why = f"can be read in two ways: {text.strip()} is {' or '.join(ways)}, so say which"
    return Problem(column, why, tuple(("--decimal", way) for way in _MARKS))


def _thousands(column: Column) -> _Counts | None:
    """What is counted of plain numbers that could be thousands: 1.234 in every row; else None.

    That is seldom so, and a look at the first rows tells.
    """
    first = f"SELECT {column.sql} FROM rows WHERE NOT ({column.lacking}) LIMIT {_LOOK}"
    if not column.table.one(f"SELECT bool_and({_is(column.sql, 'comma')}) FROM ({first})")[0]:
        return None
    counts = _Counts.of(column)
    return counts if counts.all_are("comma") and counts.unsettled else None


def _value(column: Column, condition: str) -> str:
    """The first value that is something and meets a condition, and its row."""
    met = f"NOT ({column.lacking}) AND {condition}"
    numbered = f"SELECT row_number() OVER () AS r, {column.sql} AS v, {met} AS met FROM rows"
    row, value, n = column.table.one(
        f"SELECT min(r), arg_min(v, r), count(*) FROM ({numbered}) WHERE met"
    )
    below = " below the header" if column.table.kind == "csv" else ""
    more = f" ({n:,} such rows in all)" if n > 1 else ""
    shown = value if len(value) <= 40 else f"{value[:40]}…"
    return f"{shown!r} at row {row:,}{below}{more}"


# ---------------------------------------------------------------------- what is told


def _how(column: Column, decimal: str, counts: _Counts) -> tuple[str, str]:
    """In which way numbers are written, and an example: the shortest that shows all of it."""
    mark, other = _MARKS[decimal]
    apart = _text(rf"\d[{other}'’\s\p{{Zs}}]\d{{3}}")
    text, value = column.table.one(
        f"SELECT example, {_number('example', decimal, counts)} AS x "
        f"FROM shapes_{column.sql} WHERE x IS NOT NULL ORDER BY regexp_matches(example, {apart}) "
        r"DESC, contains(example, ',') DESC, regexp_matches(example, '[^-+.\deE]') DESC, "
        "length(example), example LIMIT 1"
    )
    signs = {
        "decimal commas": mark == "," and "," in text,
        "thousands separators": bool(re.search(rf"\d[{other}'’\s]\d{{3}}", text)),
        "percent signs, as shares": "%" in text,
        "signs of money left out": bool(re.search(r"[^\W\d_]{3}|[$€£¥]", text)),
        "apostrophes left out": text.strip().startswith("'"),
    }
    how = listed([name for name, holds in signs.items() if holds] or ["spaces left out"])
    return how, f"{text.strip()} is {_plain(value)}"


def _sentences(told: Mapping[Column, tuple[str, str]]) -> Iterable[str]:
    """One sentence for all columns that are written in one way."""
    ways: dict[str, list[Column]] = {}
    for column, (how, _) in told.items():
        ways.setdefault(how, []).append(column)
    for how, columns in ways.items():
        names = [repr(column.name) for column in columns[:_EXAMPLES]]
        more = len(columns) - _EXAMPLES
        shown = listed([*names, f"{more} more"] if more > 0 else names)
        were = "Column {} was" if len(columns) == 1 else "Columns {} were"
        example = told[columns[0]][1]
        yield f"{were.format(shown)} read with {how}: {example}."


def _plain(value: float) -> str:
    return f"{value:.15g}"
