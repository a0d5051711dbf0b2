"""Every engine gives the same table of the same rows, or refuses them in the same sentence."""

import datetime as dt
from decimal import Decimal

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.engines import ENGINES, NO_SPARK, SPARK, duckdb_connection, spark

import evenscore as es
from evenscore.gaps import Cuts
from evenscore.scores import GroupedScores
from evenscore.scores.frames import read_frame

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index"),  # Dask
    pytest.mark.filterwarnings("ignore:fetch_arrow_table.. is deprecated"),  # Ibis
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of Spark
]
needs_spark = pytest.mark.skipif(NO_SPARK is not None, reason=str(NO_SPARK))

NAN, INF = float("nan"), float("inf")
N = 60
COLUMNS = {"score": "score", "label": "label", "group": ["sex", "old"], "weight": "weight"}


def rows(**changed):
    """Sixty people; of a column that is changed, a function of the row or some rows of it."""
    columns = {
        "score": lambda k: (k % 7) / 4,
        "label": lambda k: int(k * k % 5 < 2),
        "sex": lambda k: "f" if k % 3 else "m",
        "old": lambda k: k % 4 < 2,
        "weight": lambda k: float(1 + k % 3),
    }
    arrays = {}
    for name, usual in columns.items():
        change, kind = changed.get(name, {}), None
        if isinstance(change, tuple):
            change, kind = change
        values = [
            change(k) if callable(change) else change.get(k, usual(k)) for k in range(N)
        ]  # fmt: skip
        arrays[name] = pa.array(values, type=kind, from_pandas=False)
    return pa.table(arrays)


def missing(name, n=1):
    rows = "1 row" if n == 1 else f"{n} rows"
    return (
        f"A value is missing or NaN in column '{name}' in {rows}; fill or drop such rows first, or "
        "leave them out with drop_missing=True."
    )


def beyond(name):
    return (
        f"Column '{name}' holds numbers beyond 2^53, which would be confused in double precision, "
        "so rescale or rank them first."
    )


INFINITE = "Column 'score' is infinite in 1 row; every score must be finite."
WEIGHTS = "weights must be finite and at least 0."

# What is wrong, the rows, and the sentence; None if the rows are good.
CASES = {
    "good": (rows(), None),
    "−0.0": (rows(score=dict.fromkeys(range(0, N, 14), -0.0)), None),
    "weights of zero": (rows(weight={5: 0.0, 6: 0.0}), None),
    "whole weights": (rows(weight=lambda k: k % 4), None),
    "booleans as labels": (rows(label=lambda k: k % 2 == 0), None),
    "booleans as scores": (rows(score=lambda k: k % 3 == 0), None),
    "whole scores": (rows(score=lambda k: k % 11), None),
    "short whole scores": (rows(score=(lambda k: k % 11, pa.int16())), None),
    "single precision": (rows(score=(lambda k: k % 11 / 10, pa.float32())), None),
    "decimals": (rows(score=(lambda k: Decimal(k % 11) / 4, pa.decimal128(20, 2))), None),
    "dates as groups": (rows(sex=lambda k: dt.date(2026, 1 + k % 2, 1)), None),
    "times as groups": (
        rows(sex=(lambda k: dt.datetime(2026, 1 + k % 2, 1, 12), pa.timestamp("us"))),
        None,
    ),
    "numbers as groups": (rows(sex=lambda k: k % 3), None),
    "categories as groups": (
        rows().set_column(2, "sex", rows()["sex"].combine_chunks().dictionary_encode()),
        None,
    ),
    "NaN in score": (rows(score={3: NAN, 7: NAN}), missing("score", 2)),
    "NULL in score": (rows(score={3: None, 7: None}), missing("score", 2)),
    "both in score": (rows(score={3: None, 7: NAN}), missing("score", 2)),
    "NULL in whole scores": (rows(score=lambda k: k % 11 if k != 8 else None), missing("score")),
    "NULL in decimals": (
        rows(score=(lambda k: Decimal(k % 11) / 4 if k else None, pa.decimal128(20, 2))),
        missing("score"),
    ),
    "∞ in score": (rows(score={3: INF}), INFINITE),
    "−∞ in score": (rows(score={3: -INF}), INFINITE),
    "NULL in label": (rows(label={5: None}), missing("label")),
    "NaN in label": (rows(label=lambda k: k % 2 if k != 5 else NAN), missing("label")),
    "NULL in booleans as labels": (
        rows(label=lambda k: k % 2 == 0 if k != 4 else None),
        missing("label"),
    ),
    "NULL in group": (rows(sex={5: None, 6: None}), missing("sex", 2)),
    "NaN in group": (rows(sex=lambda k: float(k % 2) if k != 5 else NAN), missing("sex")),
    "NULL in whole numbers as groups": (
        rows(sex=lambda k: k % 2 if k != 5 else None),
        missing("sex"),
    ),
    "NULL in dates as groups": (
        rows(sex=lambda k: dt.date(2026, 1 + k % 2, 1) if k != 5 else None),
        missing("sex"),
    ),
    "NULL in booleans as groups": (rows(old={5: None}), missing("old")),
    "NULL in weight": (rows(weight={5: None}), missing("weight")),
    "NaN in weight": (rows(weight={5: NAN}), missing("weight")),
    "a negative weight": (
        rows(weight={5: -1.0}),
        f"Column 'weight' is negative in 1 row; {WEIGHTS}",
    ),
    "an infinite weight": (
        rows(weight={5: INF}),
        f"Column 'weight' is infinite in 1 row; {WEIGHTS}",
    ),
    "a huge weight": (
        rows(weight={5: 1e200}),
        "column 'weight' holds values whose products leave the range of double precision (sum "
        "above 1e140 or a value below 1e-140); divide it by a constant.",
    ),
    "large scores": (rows(score=lambda k: 2**53 + 1 if k == 8 else k), beyond("score")),
    "large negative scores": (rows(score=lambda k: -(2**60) if k == 8 else k), beyond("score")),
    "large weights": (rows(weight=lambda k: 2**53 + 1 if k == 8 else k), beyond("weight")),
    "scores of 64 bits without sign": (
        rows(score=(lambda k: 2**63 + 1 if k == 8 else k, pa.uint64())),
        beyond("score"),
    ),
    "large decimals": (
        rows(score=(lambda k: Decimal(2**53 + 1 if k == 8 else k), pa.decimal128(20, 2))),
        beyond("score"),
    ),
    "three labels": (
        rows(label=lambda k: k % 3),
        "column 'label' must have two labels, but it has 3 of them (0, 1, 2).",
    ),
    "texts as labels": (
        rows(label=lambda k: ["yes", "no"][k % 2]),
        "column 'label' has the labels 'no' and 'yes': say which is positive with pos_label.",
    ),
    "texts as scores": (rows(score=str), "Column 'score' holds texts, not numbers."),
    "dates as scores": (
        rows(score=lambda k: dt.date(2026, 1, 1 + k % 9)),
        "Column 'score' holds dates or times, not numbers.",
    ),
    "lists as groups": (
        rows(sex=lambda k: [k % 3]),
        "Column 'sex' holds nested values, which cannot be labels.",
    ),
    "no rows": (rows().slice(0, 0), "The frame has no rows."),
    "a column that is not there": (
        rows().drop_columns("old"),
        "The frame has no column 'old'; its columns are 'score', 'label', 'sex', 'weight'.",
    ),
}
# Dask makes texts of whatever pandas keeps as Python objects.
TEXTS = {
    "decimals", "NULL in decimals", "large decimals", "dates as groups", "dates as scores",
    "NULL in dates as groups", "lists as groups", "NULL in booleans as labels",
    "NULL in booleans as groups",
}  # fmt: skip


def content(reading):
    """Everything in a table, and what was left out."""
    table = reading.scores
    columns = {
        name: getattr(table, name).tolist()
        for name in ("score", "cell", "weight", "count", "weight_squared")
    }
    binned = table.binned and (table.binned.bins, table.binned.lowest.tolist())
    survey = reading.survey
    return table.groups, columns, binned, survey.zero_weights, survey.dropped, reading.passes


def outcome(frame, **options):
    """The table of a frame, or the sentence that refuses it."""
    try:
        return content(read_frame(frame, **(COLUMNS | options)))
    except ValueError as error:
        return str(error)


def outcomes(table, folder, engines, **options):
    return {name: outcome(make(table, folder), **options) for name, make in engines.items()}


def expected(table, drop_missing=False):
    """The table of the rows by numpy alone; rows in which a value is missing are dropped."""
    data = table.to_pydict()
    people = list(zip(*data.values(), strict=True))
    kept = [row for row in people if not any(v is None or v != v for v in row)]
    assert drop_missing or len(kept) == len(people)
    score, label, sex, old, weight = zip(*kept, strict=True)
    return GroupedScores.from_arrays(
        list(label), [float(s) for s in score], sample_weight=[float(w) for w in weight],
        sensitive_features={"sex": list(sex), "old": list(old)},
    )  # fmt: skip


def check(case, folder, engines):
    table, sentence = CASES[case]
    dask = "Dask, Parquet" if case in TEXTS else "Dask"  # one of them: it takes its time to plan
    engines = {name: make for name, make in engines.items() if name[:4] != "Dask" or name == dask}
    some_missing = sentence is not None and sentence.startswith("A value is missing")
    found = outcomes(table, folder, engines)
    if sentence is not None:
        assert found == dict.fromkeys(engines, sentence)
    if some_missing:
        found = outcomes(table, folder, engines, drop_missing=True)
    elif sentence is not None:
        return
    whole = expected(table, drop_missing=True)
    zero = sum(weight == 0 for weight in table["weight"].to_pylist())
    lost = table.num_rows - whole.count.sum() - zero
    dropped = {sentence.split("'")[1]: lost} if some_missing else {}
    columns = {
        name: getattr(whole, name).tolist()
        for name in ("score", "cell", "weight", "count", "weight_squared")
    }
    assert found == dict.fromkeys(engines, (whole.groups, columns, None, zero, dropped, 2))


@pytest.mark.parametrize("case", CASES)
def test_engines_agree(case, tmp_path):
    check(case, tmp_path, ENGINES)


@needs_spark
@pytest.mark.parametrize("case", CASES)
def test_spark_agrees(case, tmp_path):
    check(case, tmp_path, SPARK)


def many_rows(n=150_000, decimals=None):
    """So many people that bins are planned; few of them if scores are rounded."""
    rng = np.random.default_rng(5)
    label, sex, old = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.integers(0, 2, n)
    score = 1.0 / (1.0 + np.exp(-rng.normal(size=n) - label - 0.3 * sex + 3.0))
    return pa.table({
        "score": score if decimals is None else score.round(decimals),
        "label": label, "sex": np.array(["f", "m"])[sex], "old": old.astype(bool),
        "weight": rng.integers(1, 4, n).astype(float),
    })  # fmt: skip


@pytest.fixture(scope="module")
def continuous():
    """Many rows, and the table that polars makes of them."""
    table = many_rows()
    return table, outcome(pl.from_arrow(table), cuts=Cuts(between=(0.1, 0.4)))


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_plan_the_same_bins(continuous, engine, tmp_path):
    table, reference = continuous
    found = outcome(ENGINES[engine](table, tmp_path), cuts=Cuts(between=(0.1, 0.4)))
    assert found == reference
    assert reference[2] is not None
    assert sum(reference[1]["count"]) == table.num_rows


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_find_that_scores_are_few(engine, tmp_path):
    table = many_rows(120_000, decimals=3)
    groups, columns, binned, *_ = outcome(ENGINES[engine](table, tmp_path))
    whole = expected(table)
    assert binned is None
    assert groups == whole.groups
    assert all(columns[name] == getattr(whole, name).tolist() for name in columns)


@needs_spark
def test_spark_plans_the_same_bins(continuous, tmp_path):
    table, reference = continuous
    frame = SPARK["Spark, Parquet"](table, tmp_path)
    assert outcome(frame, cuts=Cuts(between=(0.1, 0.4))) == reference
    result = es.audit_frame(frame, score="score", label="label", group="sex", weight="weight")
    same = es.audit_frame(
        pl.from_arrow(table), score="score", label="label", group="sex", weight="weight"
    )
    assert result.gaps == same.gaps
    assert result.binned == same.binned


# ---------------------------------------------------------------------- who wrote the file


def by_pyarrow(table, path):
    pq.write_table(table, path)


def by_polars(table, path):
    pl.from_arrow(table).write_parquet(path)


def by_pandas(table, path):
    table.to_pandas().to_parquet(path)


def by_duckdb(table, path):
    duckdb.connect().from_arrow(table).write_parquet(str(path))


def by_spark(table, path):
    source = path.with_suffix(".source.parquet")
    pq.write_table(table, source)
    spark().read.parquet(str(source)).write.parquet(str(path))


WRITERS = [by_pyarrow, by_polars, by_pandas, by_duckdb, pytest.param(by_spark, marks=needs_spark)]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("case", ["good", "NaN in score", "NULL in score", "NaN in weight"])
def test_whoever_wrote_the_file(write, case, tmp_path):
    table, sentence = CASES[case]
    path = tmp_path / "rows.parquet"
    write(table, path)
    inside = str(path / "*.parquet") if path.is_dir() else str(path)
    frames = {
        "polars": pl.scan_parquet(inside),
        "DuckDB": duckdb_connection().read_parquet(inside),
    }
    if NO_SPARK is None:
        frames["Spark"] = spark().read.parquet(str(path))
    told = {name: outcome(frame) for name, frame in frames.items()}
    reference = sentence or outcome(pl.from_arrow(table))
    assert told == dict.fromkeys(frames, reference)


@pytest.mark.parametrize("engine", ENGINES)
def test_clusters_are_refused(engine, tmp_path):
    frame = ENGINES[engine](rows(), tmp_path)
    for function in (GroupedScores.from_frame, es.audit_frame):
        with pytest.raises(ValueError, match=r"^Clusters need rows: .*\(…, cluster=…\)\.$"):
            function(frame, **COLUMNS, cluster="sex")
