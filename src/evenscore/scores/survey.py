"""The first look at a frame of any engine: who is in it, what is missing, how far scores reach.

One GROUP BY of label, groups and the state of a row. Whatever an audit refuses is seen here, on the
engine, and counted; the passes that follow need not ask again. Whether a number is finite is asked
by `x − x = 0`: DuckDB answers questions after NaN from the statistics of a Parquet file, which
leave NaN out, but this it computes.
"""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from evenscore.scores.arrays import Floats
from evenscore.scores.labels import is_missing
from evenscore.scores.sources import EXACT

MAX_CELLS = 10_000
"""Different labels and groups; a frame with more has an identifier among its columns of groups."""

# The states of a row, the first that holds; only the first is good, and the second counts nothing.
GOOD, WEIGHS_NOTHING = 0, 1
_SCORE_MISSING, _SCORE_INFINITE, _WEIGHT_MISSING, _WEIGHT_INFINITE, _WEIGHT_NEGATIVE = range(2, 7)
_DROPPED = (_SCORE_MISSING, _WEIGHT_MISSING)

STATE, SCORE, LABEL, WEIGHT = "es_state", "es_score", "es_label", "es_weight"


def group_name(k: int) -> str:
    """What the k-th column of groups is called in queries."""
    return f"es_group_{k}"


@dataclass(frozen=True)
class FrameColumns:
    """The columns of a frame that are asked for: their names, and the names they have in queries.

    Without a `label` the outcomes are not known.
    """

    score: str
    label: str | None
    group: tuple[str, ...]
    weight: str | None = None

    @property
    def keys(self) -> dict[str, str]:
        """The columns that people are grouped by, by their names in queries."""
        labels = {} if self.label is None else {LABEL: self.label}
        return labels | {group_name(k): name for k, name in enumerate(self.group)}


def prepared(frame: Any, columns: FrameColumns) -> Any:
    """A lazy narwhals frame of the columns asked for, under the names that queries use.

    Names and types are looked at before any row is: engines say in ways of their own what is wrong
    with them.
    """
    import narwhals as nw

    lazy = _lazy(frame)
    schema = dict(lazy.collect_schema())
    weights = [] if columns.weight is None else [columns.weight]
    wanted = [columns.score, *columns.keys.values(), *weights]
    for name in wanted:
        if name not in schema:
            shown = ", ".join(repr(known) for known in list(schema)[:20])
            raise ValueError(f"The frame has no column {name!r}; its columns are {shown}.")
    lazy, schema = _without_objects(lazy, schema, columns)
    if lazy.implementation is nw.Implementation.PYARROW:
        _check_before_casting(lazy, schema, columns)
    chosen = {SCORE: _number(columns.score, schema), WEIGHT: nw.lit(1.0)}
    if columns.weight is not None:
        chosen[WEIGHT] = _number(columns.weight, schema)
    for key, name in columns.keys.items():
        kind = schema[name]
        if kind.is_nested():
            raise _nested(name)
        if isinstance(kind, nw.Categorical | nw.Enum):
            chosen[key] = nw.col(name).cast(nw.String)
        else:
            chosen[key] = nw.col(name)
    raw = {
        f"{key}_raw": nw.col(name)
        for key, name in ((SCORE, columns.score), (WEIGHT, columns.weight))
        if name is not None and _is_whole(schema[name])
    }
    if columns.weight is None:
        del chosen[WEIGHT]
    return lazy.select(**chosen, **raw)


def _lazy(frame: Any) -> Any:
    import narwhals as nw

    if isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return frame.lazy()
    try:
        return nw.from_native(frame).lazy()
    except nw.exceptions.NarwhalsError as error:
        reason = str(error).splitlines()[0].rstrip(".: ")
        raise ValueError(f"The frame cannot be read: {reason}.") from None
    except TypeError:
        raise TypeError(
            f"frame must be a data frame, a lazy frame, a relation or a table of an engine, not "
            f"{type(frame).__name__}."
        ) from None


def _nested(name: str) -> ValueError:
    return ValueError(f"Column {name!r} holds nested values, which cannot be labels.")


def _without_objects(
    lazy: Any, schema: dict[str, Any], columns: FrameColumns
) -> tuple[Any, dict[str, Any]]:
    """The same with numbers of any Python type, as pandas has them, as doubles."""
    import narwhals as nw

    if lazy.implementation is not nw.Implementation.PANDAS:
        return lazy, schema
    for name in (columns.score, columns.weight):
        if name is not None and isinstance(schema[name], nw.Object):
            column = lazy.collect().get_column(name)
            doubles = [_double(value, name) for value in column.to_list()]
            added = nw.new_series(name, doubles, nw.Float64, backend="pandas")
            native = nw.to_native(column)
            index = nw.to_native(added).set_axis(native.index)
            lazy = lazy.collect().with_columns(nw.from_native(index, series_only=True)).lazy()
            schema = schema | {name: nw.Float64()}
    return lazy, schema


def _double(value: Any, name: str) -> float:
    if is_missing(value):
        return math.nan
    if not isinstance(value, Real | Decimal):
        what = next((what for what, kinds in _WHAT.items() if isinstance(value, kinds)), None)
        raise _not_numbers(name, what or f"values of type {type(value).__name__}")
    exact: Any = value  # numbers of all these types are compared as they are
    if not isinstance(value, float) and abs(exact) > EXACT:
        raise _beyond(name)
    return float(value)


_WHAT: dict[str, tuple[type, ...]] = {
    "texts": (str, bytes),
    "dates or times": (dt.date, dt.time, dt.timedelta),
}


def _not_numbers(name: str, what: str) -> ValueError:
    return ValueError(f"Column {name!r} holds {what}, not numbers.")


def _beyond(name: str) -> ValueError:
    return ValueError(
        f"Column {name!r} holds numbers beyond 2^53, which would be confused in double precision, "
        "so rescale or rank them first."
    )


def _check_before_casting(lazy: Any, schema: Mapping[str, Any], columns: FrameColumns) -> None:
    """Refuse large whole numbers of pyarrow, which else does so in words of its own."""
    import narwhals as nw

    for name in (columns.score, columns.weight):
        if name is not None and _is_whole(schema[name]):
            ends = lazy.select(low=nw.col(name).min(), high=nw.col(name).max()).collect()
            if any(_is_beyond(ends.item(0, end)) for end in ("low", "high")):
                raise _beyond(name)


def _is_beyond(value: Any) -> bool:
    """Whether a number, or what it was rounded from, may not be a double."""
    if is_missing(value):
        return False
    return bool(abs(value) >= EXACT if isinstance(value, float) else abs(value) > EXACT)


def _is_whole(kind: Any) -> bool:
    import narwhals as nw

    return bool(kind.is_integer()) or isinstance(kind, nw.Decimal)


def _number(name: str, schema: Mapping[str, Any]) -> Any:
    """A column of numbers as doubles; −0.0 is 0.0."""
    import narwhals as nw

    kind = schema[name]
    if not (kind.is_numeric() or isinstance(kind, nw.Boolean)):
        what = f"values of type {kind}"
        if isinstance(kind, nw.String | nw.Categorical | nw.Enum):
            what = "texts"
        elif kind.is_temporal():
            what = "dates or times"
        raise _not_numbers(name, what)
    return nw.col(name).cast(nw.Float64) + 0.0


def state(columns: FrameColumns) -> Any:
    """The state of a row, as a narwhals expression."""
    import narwhals as nw

    def choose(*cases: tuple[Any, int], otherwise: int | Any) -> Any:
        chosen = nw.lit(otherwise) if isinstance(otherwise, int) else otherwise
        for condition, code in reversed(cases):
            chosen = nw.when(condition).then(nw.lit(code)).otherwise(chosen)
        return chosen

    inf = float("inf")
    good: Any = nw.lit(GOOD)
    if columns.weight is not None:
        weight = nw.col(WEIGHT)
        usual = choose(
            (weight > 0.0, GOOD), (weight < 0.0, _WEIGHT_NEGATIVE), otherwise=WEIGHS_NOTHING
        )
        odd = choose((weight.abs() == inf, _WEIGHT_INFINITE), otherwise=_WEIGHT_MISSING)
        good = nw.when(weight - weight == 0.0).then(usual).otherwise(odd)
    score = nw.col(SCORE)
    odd = choose((score.abs() == inf, _SCORE_INFINITE), otherwise=_SCORE_MISSING)
    return nw.when(score - score == 0.0).then(good).otherwise(odd)


@dataclass(frozen=True, eq=False)
class Survey:
    """Who is in a frame: labels, groups and how many people, by label and group.

    `cells` are the different (label, groups…) of good rows in no order that matters, and `count`
    how many rows each has; `low` and `high` are the ends of the scores.
    """

    cells: list[tuple[Any, ...]]
    count: Floats
    low: float
    high: float
    zero_weights: int = 0
    dropped: dict[str, int] = field(default_factory=dict)

    @cached_property
    def n(self) -> int:
        """How many good rows there are."""
        return round(float(self.count.sum()))

    @property
    def is_clean(self) -> bool:
        """Whether every row is good."""
        return not self.dropped and not self.zero_weights

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out, in one sentence."""
        if not self.dropped:
            return ()
        parts = ", ".join(f"{n:,} for {name!r}" for name, n in self.dropped.items())
        total = sum(self.dropped.values())
        rows = "1 row was" if total == 1 else f"{total:,} rows were"
        return (f"{rows} left out because a value is missing ({parts}).",)


def survey(lazy: Any, columns: FrameColumns, *, drop_missing: bool) -> Survey:
    """The first pass over a prepared frame; whatever is wrong is refused with its numbers."""
    import narwhals as nw

    known = lazy.collect_schema().names()
    sums = [
        nw.len().alias("n"),
        nw.col(SCORE).min().alias("low"),
        nw.col(SCORE).max().alias("high"),
    ]
    if columns.weight is not None:
        sums.append(nw.col(WEIGHT).sum().alias("total"))
    for key in (SCORE, WEIGHT):
        if f"{key}_raw" in known:
            sums += [nw.col(f"{key}_raw").min().alias(f"{key}_least"),
                     nw.col(f"{key}_raw").max().alias(f"{key}_most")]  # fmt: skip
    keys = [STATE, *columns.keys]
    try:
        query = lazy.with_columns(state(columns).alias(STATE)).group_by(*keys).agg(*sums)
        answer = collected(query.head(MAX_CELLS))
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        kinds = lazy.collect_schema()
        raise _nested(next(
            (name for key, name in columns.keys.items() if isinstance(kinds[key], nw.Object)),
            columns.group[0],
        )) from None  # fmt: skip
    if len(answer["n"]) >= MAX_CELLS:
        named = " and ".join(repr(name) for name in columns.group)
        raise ValueError(
            f"There are more than {MAX_CELLS:,} different groups and labels: is {named} an "
            "identifier?"
        )
    rows = [dict(zip(answer, values, strict=True)) for values in zip(*answer.values(), strict=True)]
    if not rows:
        raise ValueError("The frame has no rows.")
    _check_numbers(rows, columns)
    bad = _counted(rows, columns)
    _refuse(bad, columns, drop_missing=drop_missing)
    dropped = {name: n for code, name, n in bad if code in _DROPPED}
    good = [row for row in rows if row[STATE] == GOOD and not _lacks(row, columns)]
    if not good:
        raise ValueError("There is nobody to audit: no row is complete and has a positive weight.")
    low, high = (np.array([float(row[end]) for row in good]) for end in ("low", "high"))
    check_told([*low, *high], columns.score)
    if columns.weight is not None:
        check_told([float(row["total"]) for row in good], columns.weight)
    return Survey(
        [tuple(row[key] for key in columns.keys) for row in good],
        np.array([float(row["n"]) for row in good]),
        float(low.min()),
        float(high.max()),
        sum(round(row["n"]) for row in rows if row[STATE] == WEIGHS_NOTHING),
        dropped,
    )


def check_told(numbers: Any, name: str) -> None:
    """Refuse NaN that an engine did not count among what is missing."""
    if np.isnan(numbers).any():
        raise ValueError(
            f"Column {name!r} holds NaN, which this engine counts as a number: drop such rows "
            "first."
        )


def _lacks(row: Mapping[str, Any], columns: FrameColumns) -> str | None:
    """The first column of labels or groups in which a row has nothing."""
    return next((name for key, name in columns.keys.items() if is_missing(row[key])), None)


def _counted(
    rows: Sequence[Mapping[str, Any]], columns: FrameColumns
) -> list[tuple[int, str, int]]:
    """States that are not good, the column that they are about, and how many rows have them."""
    weight = str(columns.weight)
    named = {_SCORE_MISSING: columns.score, _SCORE_INFINITE: columns.score}
    found: dict[tuple[int, str], int] = {}
    for row in rows:
        code, lacking = int(row[STATE]), _lacks(row, columns)
        if code in (GOOD, WEIGHS_NOTHING):
            if lacking is None:
                continue
            code, name = _SCORE_MISSING, lacking
        else:
            name = named.get(code, weight)
        found[code, name] = found.get((code, name), 0) + round(row["n"])
    return [(code, name, n) for (code, name), n in sorted(found.items())]


_SENTENCES = {
    _SCORE_INFINITE: "is infinite",
    _WEIGHT_INFINITE: "is infinite",
    _WEIGHT_NEGATIVE: "is negative",
}


def _refuse(
    bad: Sequence[tuple[int, str, int]], columns: FrameColumns, *, drop_missing: bool
) -> None:
    for code, name, n in bad:
        rows = "1 row" if n == 1 else f"{n:,} rows"
        if code in _SENTENCES:
            rule = "weights must be finite and at least 0" if name == columns.weight else (
                "every score must be finite")  # fmt: skip
            raise ValueError(f"Column {name!r} {_SENTENCES[code]} in {rows}; {rule}.")
    missing = [(name, n) for code, name, n in bad if code in _DROPPED]
    if missing and not drop_missing:
        parts = " and ".join(
            f"column {name!r} in {'1 row' if n == 1 else f'{n:,} rows'}" for name, n in missing
        )
        raise ValueError(
            f"A value is missing or NaN in {parts}; fill or drop such rows first, or leave them "
            "out with drop_missing=True."
        )


def _check_numbers(rows: Sequence[Mapping[str, Any]], columns: FrameColumns) -> None:
    """Refuse whole numbers that doubles would confuse."""
    for key, name in ((SCORE, columns.score), (WEIGHT, columns.weight)):
        ends = [row.get(f"{key}_{end}") for row in rows for end in ("least", "most")]
        if any(map(_is_beyond, ends)):
            raise _beyond(str(name))


def collected(lazy: Any) -> dict[str, list[Any]]:
    """The answer to a query, as lists by name.

    Of DuckDB it is fetched without pyarrow, which not everybody has; polars streams.
    """
    import narwhals as nw

    if lazy.implementation is nw.Implementation.DUCKDB:
        arrays = lazy.to_native().fetchnumpy()
        kinds = lazy.collect_schema()
        return {name: _plain(array, kinds[name]) for name, array in arrays.items()}
    more = {}
    if lazy.implementation is nw.Implementation.POLARS:
        more = {"backend": "polars", "engine": "streaming"}
    frame = lazy.collect(**more)
    lists = {name: frame.get_column(name).to_list() for name in frame.columns}
    for name, kind in frame.schema.items():
        if isinstance(kind, nw.Datetime):  # those of pandas are of a type of its own
            lists[name] = [
                value.to_pydatetime(warn=False) if hasattr(value, "to_pydatetime") else value
                for value in lists[name]
            ]
    return lists


def _plain(array: Any, kind: Any) -> list[Any]:
    """An array of DuckDB as a list; what is masked is None."""
    import narwhals as nw

    values: list[Any] = array.tolist()
    if isinstance(kind, nw.Date):
        return [value.date() if isinstance(value, dt.datetime) else value for value in values]
    return values
