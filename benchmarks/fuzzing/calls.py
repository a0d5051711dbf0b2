"""Calls of metrics and readers with columns of every container and type."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse

import evenscore as es
from evenscore import GroupedScores, metrics
from evenscore.scores import aucs
from evenscore.scores.reading import read_rows

from .checks import Naive, close, require
from .drawing import FailureError, pick, sentence

EDGE = 2**53
REFUSED, SAME, ANY = "refused", "same", "any"


@dataclass(frozen=True)
class Call:
    """A function, columns and options; `expected` says what must come of it."""

    what: str
    columns: dict[str, list[Any]]
    given: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    expected: str = SAME
    spoilt: str = ""

    def __str__(self) -> str:
        return f"{self.what}: {self.columns} as {self.spoilt}, with {self.options}"


# ---------------------------------------------------------------------- containers


def _objects(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _narrow(values: list[Any], dtype: Any) -> Any:
    """An array of a narrower type, if that has the very values."""
    array = np.asarray(values)
    if array.dtype.kind in "fiub" and array.size:
        with np.errstate(over="ignore", invalid="ignore"):
            other = array.astype(dtype)
        if np.array_equal(other.astype(array.dtype), array):
            return other
    return array


def _category(values: list[Any]) -> Any:
    return pd.Series(pd.Categorical(values))


def _dictionary(values: list[Any]) -> Any:
    return pa.array([str(v) for v in values]).dictionary_encode()


def _chunks(values: list[Any]) -> Any:
    half = len(values) // 2
    whole = pa.array(values)
    return pa.chunked_array([whole[:half], whole[half:]], type=whole.type)


NUMBERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "array": np.asarray,
    "objects": _objects,
    "float32": lambda v: _narrow(v, np.float32),
    "float16": lambda v: _narrow(v, np.float16),
    "longdouble": lambda v: np.asarray(v, dtype=np.longdouble),
    "int8": lambda v: _narrow(v, np.int8),
    "uint16": lambda v: _narrow(v, np.uint16),
    "big endian": lambda v: np.asarray(v, dtype=">f8"),
    "column": lambda v: np.asarray(v).reshape(-1, 1),
    "strided": lambda v: np.repeat(np.asarray(v), 2)[::2],
    "masked without a mask": lambda v: np.ma.array(v),
    "pandas": lambda v: pd.Series(v),
    "pandas index": lambda v: pd.Series(v, index=range(len(v), 0, -1)),
    "pandas Float64": lambda v: pd.Series(v, dtype="Float64"),
    "pandas pyarrow": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.float64())),
    "pandas frame": lambda v: pd.DataFrame({"x": v}),
    "polars": lambda v: pl.Series(v),
    "polars frame": lambda v: pl.DataFrame({"x": v}),
    "pyarrow": _chunks,
    "pyarrow table": lambda v: pa.table({"x": v}),
    "decimals": lambda v: [Decimal(repr(x)) if isinstance(x, float) else Decimal(x) for x in v],
    "fractions": lambda v: [Fraction(x) for x in v],
    "NumPy numbers": lambda v: [np.float64(x) for x in v],
}
LABELS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "array": np.asarray,
    "booleans": lambda v: [bool(x) for x in v],
    "bool array": lambda v: np.asarray(v, dtype=bool),
    "signs": lambda v: [2 * x - 1 for x in v],
    "floats": lambda v: np.asarray(v, dtype=float),
    "int8": lambda v: np.asarray(v, dtype=np.int8),
    "objects": _objects,
    "pandas Int64": lambda v: pd.Series(v, dtype="Int64"),
    "pandas boolean": lambda v: pd.Series([bool(x) for x in v], dtype="boolean"),
    "pandas pyarrow": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.int8())),
    "pandas category": _category,
    "polars": lambda v: pl.Series(v),
    "polars boolean": lambda v: pl.Series([bool(x) for x in v]),
    "pyarrow": _chunks,
    "decimals": lambda v: [Decimal(x) for x in v],
}
GROUPS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "array": np.asarray,
    "objects": _objects,
    "bytes": lambda v: np.asarray(v, dtype="S"),
    "StringDType": lambda v: np.array(v, dtype=np.dtypes.StringDType()),
    "pandas": lambda v: pd.Series(v),
    "pandas string": lambda v: pd.Series(v, dtype="string"),
    "pandas category": _category,
    "pandas pyarrow": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.string())),
    "polars": lambda v: pl.Series(v),
    "polars category": lambda v: pl.Series(v, dtype=pl.Categorical),
    "pyarrow": _chunks,
    "pyarrow dictionary": _dictionary,
    "dates": lambda v: np.array([np.datetime64("2026-01-01") + ord(x) for x in v]),
    "times": lambda v: [datetime(2026, 1, 1, ord(x) % 24, tzinfo=UTC) for x in v],
    "integers": lambda v: [ord(x) for x in v],
    "two columns": lambda v: {"one": v, "two": ["x"] * len(v)},
    "mixed": lambda v: [1 if x == "a" else x for x in v],
}

# ---------------------------------------------------------------------- what is wrong with a column


def _with(value: Any) -> Callable[[list[Any], int], Any]:
    def spoil(values: list[Any], row: int) -> Any:
        return [*values[:row], value, *values[row + 1 :]]

    return spoil


NOT_NUMBERS = {
    "None": _with(None),
    "NaN": _with(math.nan),
    "infinite": _with(-math.inf),
    "text": _with("high"),
    "text of a number": _with("0.5"),
    "bytes": _with(b"1"),
    "complex": _with(1j),
    "beyond 2^53": _with(EDGE + 1),
    "far beyond": _with(10**400),
    "Decimal NaN": _with(Decimal("sNaN")),
    "Decimal infinite": _with(Decimal("Infinity")),
    "huge fraction": _with(Fraction(10**400, 3)),
    "a list": _with([1, 2]),
    "a dictionary": _with({}),
    "date": _with(datetime(2026, 1, 1, tzinfo=UTC)),
    "pandas NA": _with(pd.NA),
    "NaT": _with(np.datetime64("NaT")),
    "short": lambda v, row: v[:-1],
    "long": lambda v, row: [*v, 0.5],
    "empty": lambda v, row: [],
    "2-D": lambda v, row: np.zeros((len(v), 2)),
    "3-D": lambda v, row: np.zeros((len(v), 1, 1)),
    "no columns": lambda v, row: np.zeros((len(v), 0)),
    "scalar": lambda v, row: 0.5,
    "text itself": lambda v, row: "x" * len(v),
    "set": lambda v, row: set(v),
    "iterator": lambda v, row: iter(v),
    "object": lambda v, row: object(),
    "dictionary": lambda v, row: {"x": v},
    "masked": lambda v, row: np.ma.array(v, mask=[k == row for k in range(len(v))]),
    "sparse": lambda v, row: scipy.sparse.csr_matrix(np.asarray(v, dtype=float).reshape(-1, 1)),
    "dates": lambda v, row: np.full(len(v), np.datetime64("2026-01-01")),
    "durations": lambda v, row: np.full(len(v), np.timedelta64(1, "D")),
    "structured": lambda v, row: np.zeros(len(v), dtype=[("a", float)]),
    "void": lambda v, row: np.zeros(len(v), dtype="V4"),
    "complex array": lambda v, row: np.ones(len(v), dtype=complex),
    "pandas missing": lambda v, row: pd.Series(_with(None)(v, row), dtype="Float64"),
    "pandas dates": lambda v, row: pd.Series(pd.date_range("2026", periods=len(v))),
    "pandas intervals": lambda v, row: pd.Series(pd.interval_range(0, len(v))),
    "pandas several": lambda v, row: pd.DataFrame({"a": v, "b": v}),
    "polars lists": lambda v, row: pl.Series([[x] for x in v]),
    "polars structs": lambda v, row: pl.Series([{"a": x} for x in v]),
    "polars dates": lambda v, row: pl.Series([datetime(2026, 1, 1)] * len(v)),
    "polars nulls": lambda v, row: pl.Series([None] * len(v)),
    "polars lazy": lambda v, row: pl.LazyFrame({"a": v}),
    "pyarrow nulls": lambda v, row: pa.nulls(len(v)),
    "pyarrow missing": lambda v, row: pa.chunked_array([pa.array(_with(None)(v, row))]),
    "pyarrow array": lambda v, row: pa.array(_with(None)(v, row)),
    "pyarrow lists": lambda v, row: pa.chunked_array([pa.array([[x] for x in v])]),
}  # fmt: skip
NO_LABELS = {
    name: NOT_NUMBERS[name]
    for name in (
        "None", "NaN", "text", "a list", "a dictionary", "pandas NA", "NaT", "Decimal NaN", "short",
        "long", "2-D", "3-D", "scalar", "text itself", "object", "masked", "polars lists",
        "polars nulls", "polars structs", "pyarrow nulls", "pyarrow missing", "structured",
        "iterator",
        "pyarrow lists", "polars lazy", "far beyond", "complex", "infinite",
    )
}  # fmt: skip
METRICS = (
    "auc_matrix", "rates_at", "fair_thresholds", "rate_gap", "auc_gap", "roc_gap", "abroca",
    "area_between_curves", "average_precision", "average_precision_gap", "gap_estimates",
    "elementary_gaps", "from_arrays", "from_table", "from_frame", "merge", "save", "read_rows",
    "auc",
    "roc_curve", "paired_differences", "precision_recall_curve",
)  # fmt: skip

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2, 0.5, 1.5, math.nan, math.inf, -math.inf, 10**400, "x",
    "fpr", b"fpr", "", [],
    [0.1], [0.1, 0.2], (0.9, 0.1), (0.1, 0.9), (0.2, 0.2), [None], ["a"], ["a", "b"], {}, {"a": 1},
    object, 1j, Decimal("0.1"), Fraction(1, 3), np.float64(0.3), np.array([0.3]), np.array(0.3),
    np.zeros((2, 2)), "both", "negatives", "pooled", "own", "inter_group", EDGE + 1, np.int8(1),
    1e-320, [[0.1]], range(2),
)  # fmt: skip
OPTIONS: dict[str, tuple[str, ...]] = {
    "rates_at": ("thresholds", "group_order", "pos_label"),
    "fair_thresholds": ("rate", "groups", "tolerance"),
    "rate_gap": ("rate", "cuts", "group_order"),
    "auc_gap": ("constraint", "group_order"),
    "roc_gap": ("on", "rate", "interval", "summary"),
    "area_between_curves": ("constraint",),
    "average_precision": ("prevalence",),
    "average_precision_gap": ("prevalence",),
    "precision_recall_curve": ("prevalence",),
    "gap_estimates": ("constraints", "confidence_level", "sampling"),
    "paired_differences": (
        "constraints",
        "confidence_level",
        "n_resamples",
        "random_state",
        "other",
    ),
    "from_arrays": ("group_order", "pos_label", "cluster"),
    "read_rows": ("group_order", "pos_label", "cluster"),
    "from_table": ("score", "label", "group", "weight", "count", "weight_squared", "group_order"),
    "from_frame": ("score", "label", "group", "weight", "accuracy", "cuts", "bins", "pos_label"),
    "merge": ("with_what",),
}


def drawn_call(rng: np.random.Generator) -> Call:
    """Good columns in some container; or one of them spoilt; or an odd option."""
    n = int(pick(rng, (2, 3, 5, 8, 20, 40)))
    label = rng.integers(0, 2, n).tolist()
    score: list[Any] = (rng.integers(-8, 9, n) / 4).tolist()
    if rng.random() < 0.3:
        score = rng.integers(0, 100, n).tolist()
    group = [str(g) for g in rng.choice(list("abc"[: pick(rng, (1, 2, 2, 3))]), n)]
    columns: dict[str, list[Any]] = {"label": label, "score": score, "group": group}
    kinds = {"label": LABELS, "score": NUMBERS, "group": GROUPS}
    if rng.random() < 0.3:
        columns["weight"] = (rng.integers(0, 9, n) / 2).tolist()
        kinds["weight"] = NUMBERS
    given: dict[str, Any] = {}
    forms = []
    for name, values in columns.items():
        form = str(pick(rng, list(kinds[name])))
        given[name] = kinds[name][form](values)
        forms.append(form)
    what, fate = str(pick(rng, METRICS)), rng.random()
    if fate < 0.45:
        return Call(what, columns, given, {}, SAME, " / ".join(forms))
    if fate < 0.75:
        name = str(pick(rng, list(columns)))
        known = NO_LABELS if name in ("label", "group") else NOT_NUMBERS
        wrong = str(pick(rng, list(known)))
        given[name] = known[wrong](columns[name], int(rng.integers(n)))
        sure = name in ("score", "weight") and wrong not in (
            "sparse",
            "dictionary",
            "polars structs",
        )
        sure |= wrong in ("None", "NaN", "a list", "short", "long", "scalar", "masked")
        unread = what in ("from_frame", "from_table", "auc", "roc_curve", "merge", "save")
        return Call(
            what, columns, given, {}, REFUSED if sure and not unread else ANY, f"{name}: {wrong}"
        )
    name = str(pick(rng, OPTIONS.get(what, ("group_order",))))
    return Call(what, columns, given, {name: pick(rng, ODD)}, ANY, f"odd {name}")


# ---------------------------------------------------------------------- calling


def run_call(call: Call) -> str:
    """What came of a call; raises what must not be."""
    naive = Naive(
        *(call.columns[name] for name in ("label", "score", "group")), call.columns.get("weight")
    )
    try:
        found = _called(call)
    except FailureError:
        raise
    except Exception as error:
        text = sentence(error)
        if call.expected == SAME and not _may_refuse(call, naive):
            raise FailureError(f"refused: {text}") from error
        return f"{call.expected}: refused"
    require(call.expected != REFUSED, "not refused", call.spoilt, found)
    if call.expected == SAME:
        _check(call, found, naive)
    return f"{call.expected}: a value"


# Categories of a frame are texts, so that 0 and 1 are no usual labels.
_NO_COLUMN = ("two columns", "table", "frame", "category", "column", "longdouble", "fractions",
              "decimals", "dates", "times", "mixed", "bytes", "objects", "float16",
              "big endian")  # fmt: skip


def _may_refuse(call: Call, naive: Naive) -> bool:
    """Whether there are too few people for the question."""
    cells = {(bool(p), g) for p, g in zip(naive.positive, naive.group, strict=True)}
    groups = set(call.columns["group"])
    if call.what == "save":  # only texts, numbers and truths are stored
        return any(kind in call.spoilt for kind in ("bytes", "dates", "times"))
    if call.what in ("from_table", "from_frame"):  # columns that no table has
        return any(kind in call.spoilt for kind in _NO_COLUMN)
    if call.what in ("from_arrays", "merge", "read_rows"):
        return False
    if call.what == "rate_gap" and not 0 < np.sum(naive.score > 0.3) < len(naive.score):
        return True  # a cut that selects nobody or everybody
    if call.what in ("auc_matrix", "rates_at"):
        return False
    return len(cells) < 2 * len(groups) or len(groups) < 2 or call.what == "elementary_gaps"


def _called(call: Call) -> Any:
    given, options = call.given, dict(call.options)
    weight = given.get("weight")
    people: dict[str, Any] = {"sensitive_features": given["group"]}
    if weight is not None:
        people["sample_weight"] = weight
    columns = (given["label"], given["score"])
    what = call.what
    if what == "rates_at":
        at = options.pop("thresholds", [-1.0, 0.3, 2.0])
        return es.rates_at(*columns, at, **people, **options)
    if what == "fair_thresholds":
        return es.fair_thresholds(*columns, options.pop("rate", "fpr"), **people, **options)
    if what == "rate_gap":
        options = {"rate": "fpr", "cuts": es.Cuts(thresholds=0.3), **options}
    if what == "roc_gap" and not {"rate", "interval"} & set(options):
        options["rate"] = 0.25
    if what == "gap_estimates":
        options = {"constraints": "bnsp", **options}
    if what == "paired_differences":
        other = options.pop("other", call.columns["score"])
        return metrics.paired_differences(
            *columns, other, **people, **{"n_resamples": 20, **options}
        )
    if what in ("auc", "roc_curve"):
        score = np.asarray(call.columns["score"], dtype=float)
        positive = np.asarray(call.columns["label"]) == 1
        return getattr(metrics, what)(score[~positive], given["score"], target_weight=weight)
    if what == "read_rows":
        return read_rows(
            columns[0], given["group"], y_score=columns[1], sample_weight=weight, **options
        )
    if what in ("from_table", "from_frame"):
        return _from_table(call, what, options)
    if what in ("from_arrays", "merge", "save"):
        return _tables(what, columns, people, options)
    return getattr(metrics, what)(*columns, **people, **options)


def _from_table(call: Call, what: str, options: dict[str, Any]) -> Any:
    names = {"score": "score", "label": "label", "group": "group"}
    if "weight" in call.given:
        names["weight"] = "weight"
    if what == "from_table":
        return GroupedScores.from_table(call.given, **{**names, **options})
    frame: Any = call.given
    try:
        frame = pd.DataFrame({name: _flat(column) for name, column in call.given.items()})
        if len(frame) % 3 == 1:
            frame = pl.from_pandas(frame)
        elif len(frame) % 3 == 2:
            frame = pa.Table.from_pandas(frame)
    except Exception:  # what no frame can hold
        frame = pd.DataFrame(call.columns)
    return GroupedScores.from_frame(frame, **{**names, **options})


def _flat(column: Any) -> Any:
    if isinstance(column, pl.Series | pa.Array | pa.ChunkedArray):
        return column.to_pandas()
    return column


def _tables(what: str, columns: Any, people: dict[str, Any], options: dict[str, Any]) -> Any:
    extra = {} if what != "from_arrays" else options
    table = GroupedScores.from_arrays(*columns, **people, **extra)
    if what == "merge":
        twice = table.merge(options.get("with_what", table))
        require(np.array_equal(twice.cell_weights, 2 * table.cell_weights), "merged weights")
        return table
    if what == "save":
        with tempfile.TemporaryDirectory() as folder:
            path = table.save(Path(folder) / "t.json")
            again = GroupedScores.load(path)
        for name in ("score", "cell", "weight", "count", "weight_squared"):
            require(np.array_equal(getattr(again, name), getattr(table, name)), "saved", name)
        require(again.groups == table.groups, "saved groups", again.groups, table.groups)
        return again
    return table


def _check(call: Call, found: Any, naive: Naive) -> None:
    """A value against the naive one, where there is one."""
    what, order = call.what, sorted(set(call.columns["group"]))
    if isinstance(found, GroupedScores):
        if len(found.groups) == len(order):
            require(close(aucs.auc_matrix(found).overall, naive.overall), "AUC", naive.overall)
    elif what == "auc_matrix":
        require(close(found.overall, naive.overall), "AUC", found.overall, naive.overall)
    elif what == "rates_at":
        for name in ("fpr", "fnr", "selection", "error"):
            rates = getattr(found, name)
            for row, threshold in enumerate((-1.0, 0.3, 2.0)):
                truth = [naive.rate(name, {g}, naive.score > threshold) for g in order]
                # Groups under other names come in the same order, save where "a" became 1.
                told = sorted(map(str, np.round(rates[row] + 0.0, 9)))
                require(
                    told == sorted(map(str, np.round(np.array(truth) + 0.0, 9))), name, told, truth
                )
    elif what == "rate_gap":
        rates = [naive.rate("fpr", {g}, naive.score > 0.3) for g in order]
        require(close(found, max(rates) - min(rates)), "rate gap", found, rates)
    elif what == "auc_gap":
        pairs = [(a, b) for a in order for b in order if a < b]
        gaps = [abs(naive.notion("inter_group", {a}, {b})) for a, b in pairs]
        require(close(found, max(gaps)), "AUC gap", found, gaps)
    elif what == "gap_estimates":
        sizes = sorted(abs(gap.value) for gap in found)
        pairs = [(a, b) for a in order for b in order if a < b]
        truth = sorted(abs(naive.notion("bnsp", {a}, {b})) for a, b in pairs)
        require(np.allclose(sizes, truth, atol=1e-9, equal_nan=True), "bnsp", sizes, truth)
    elif what == "paired_differences":
        require(all(close(one.value, 0.0) for one in found), "differences of a score and itself")
    elif what in ("auc", "roc_curve"):
        area = found if what == "auc" else found.area
        require(0.0 <= area <= 1.0, "area", area)
