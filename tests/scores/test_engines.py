"""Every engine gives the same table of the same rows, or refuses them in the same words."""

import datetime as dt
import re
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.engines import OTHERS, QUICK, duckdb_connection

import evenscore as es
from evenscore.gaps import Cuts
from evenscore.scores import GroupedScores, frames
from evenscore.scores.frames import read_frame

pytestmark = [
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index"),  # Dask
    pytest.mark.filterwarnings("ignore:fetch_arrow_table.. is deprecated"),  # Ibis
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of Spark
]

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
        values = [change(k) if callable(change) else change.get(k, usual(k)) for k in range(N)]
        arrays[name] = pa.array(values, type=kind, from_pandas=False)
    return pa.table(arrays)


DECIMAL = pa.decimal128(20, 2)
GOOD = {
    "as usual": rows(),
    "−0.0": rows(score=dict.fromkeys(range(0, N, 14), -0.0)),
    "weights of zero": rows(weight=lambda k: k % 4),
    "booleans": rows(label=lambda k: k % 2 == 0, score=lambda k: k % 3 == 0),
    "single precision": rows(score=(lambda k: k % 11 / 10, pa.float32())),
    "decimals": rows(score=(lambda k: Decimal(k % 11) / 4, DECIMAL)),
    "dates as groups": rows(sex=lambda k: dt.date(2026, 1 + k % 2, 1)),
    "times as groups": rows(
        sex=(lambda k: dt.datetime(2026, 1 + k % 2, 1, 12), pa.timestamp("us"))
    ),
    "numbers as groups": rows(sex=lambda k: k % 3),
    "categories as groups": rows().set_column(
        2, "sex", rows()["sex"].combine_chunks().dictionary_encode()
    ),
}
# The column in which values are missing, how many are, and the rows.
MISSING = {
    "NULL and NaN": ("score", 2, rows(score={3: None, 7: NAN})),
    "in whole scores": ("score", 1, rows(score=lambda k: k % 11 if k != 8 else None)),
    "NULL in label": ("label", 1, rows(label={5: None})),
    "NaN in label": ("label", 1, rows(label=lambda k: k % 2 if k != 5 else NAN)),
    "in booleans": ("label", 1, rows(label=lambda k: k % 2 == 0 if k != 4 else None)),
    "NULL in group": ("sex", 2, rows(sex={5: None, 6: None})),
    "NaN in group": ("sex", 1, rows(sex=lambda k: float(k % 2) if k != 5 else NAN)),
    "in dates": ("sex", 1, rows(sex=lambda k: dt.date(2026, 1 + k % 2, 1) if k != 5 else None)),
    "NULL in weight": ("weight", 1, rows(weight={5: None})),
    "NaN in weight": ("weight", 1, rows(weight={5: NAN})),
}
# What a message names, and the rows that are refused for it.
REFUSED = {
    "∞": ("'score' is infinite in 2 rows", rows(score={3: INF, 4: -INF})),
    "a negative weight": ("'weight' is negative in 1 row", rows(weight={5: -1.0})),
    "an infinite weight": ("'weight' is infinite in 1 row", rows(weight={5: INF})),
    "a huge weight": ("'weight'.* double precision", rows(weight={5: 1e200})),
    "large scores": (r"'score'.* 2\^53", rows(score=lambda k: 2**53 + 1 if k == 8 else k)),
    "large negative ones": (r"'score'.* 2\^53", rows(score=lambda k: -(2**60) if k == 8 else k)),
    "large weights": (r"'weight'.* 2\^53", rows(weight=lambda k: 2**53 + 1 if k == 8 else k)),
    "without sign": (
        r"'score'.* 2\^53",
        rows(score=(lambda k: 2**63 + 1 if k == 8 else k, pa.uint64())),
    ),
    "three labels": (r"'label'.* 3 of them \(0, 1, 2\)", rows(label=lambda k: k % 3)),
    "texts as labels": ("'label'.*'no' and 'yes'", rows(label=lambda k: ["yes", "no"][k % 2])),
    "texts as scores": ("'score' holds texts", rows(score=str)),
    "dates as scores": ("'score' holds dates", rows(score=lambda k: dt.date(2026, 1, 1 + k % 9))),
    "lists as groups": ("'sex' holds nested", rows(sex=lambda k: [k % 3])),
    "no rows": ("no rows", rows().slice(0, 0)),
    "no such column": ("no column 'old'.*'sex'", rows().drop_columns("old")),
}


def arrays_of(table):
    columns = ("score", "cell", "weight", "count", "weight_squared")
    return {name: getattr(table, name).tolist() for name in columns}


def outcome(frame, **options):
    """Everything in the table of a frame and what was left out, or the message that refuses it."""
    try:
        reading = read_frame(frame, **(COLUMNS | options))
    except ValueError as error:
        return str(error)
    table, survey = reading.scores, reading.survey
    binned = table.binned and (table.binned.bins, table.binned.lowest.tolist())
    return table.groups, arrays_of(table), binned, survey.zero_weights, survey.dropped


def outcomes(table, folder, **options):
    """What the quick engines make of rows, which must be one thing."""
    found = {name: outcome(make(table, folder), **options) for name, make in QUICK.items()}
    first = found["pyarrow"]
    assert found == dict.fromkeys(QUICK, first)
    return first


def expected(table, dropped=None):
    """The table of the rows by numpy alone, without those in which a value is missing."""
    people = list(zip(*table.to_pydict().values(), strict=True))
    kept = [row for row in people if not any(v is None or v != v for v in row)]
    assert dropped or len(kept) == len(people)
    score, label, sex, old, weight = zip(*kept, strict=True)
    whole = GroupedScores.from_arrays(
        list(label), [float(s) for s in score], sample_weight=[float(w) for w in weight],
        sensitive_features={"sex": list(sex), "old": list(old)},
    )  # fmt: skip
    return whole.groups, arrays_of(whole), None, sum(w == 0 for w in weight), dropped or {}


@pytest.mark.parametrize("case", GOOD)
def test_good_rows(case, tmp_path):
    assert outcomes(GOOD[case], tmp_path) == expected(GOOD[case])


def check_missing(told, name, number):
    assert f"'{name}' in {number} row" in told
    assert "drop_missing=True" in told


@pytest.mark.parametrize("case", MISSING)
def test_missing_values(case, tmp_path):
    name, number, table = MISSING[case]
    check_missing(outcomes(table, tmp_path), name, number)
    left = expected(table, {name: number})
    assert outcomes(table, tmp_path, drop_missing=True) == left


@pytest.mark.parametrize("case", REFUSED)
def test_refused_rows(case, tmp_path):
    named, table = REFUSED[case]
    assert re.search(named, outcomes(table, tmp_path))


def many_rows(n=2000, decimals=9):
    """People by weights and two columns of groups; few scores if they are rounded."""
    rng = np.random.default_rng(5)
    label, sex, old = rng.integers(0, 2, (3, n))
    score = 1.0 / (1.0 + np.exp(-rng.normal(size=n) - label - 0.3 * sex + 3.0))
    return pa.table({
        "score": score.round(decimals), "label": label, "sex": np.array(["f", "m"])[sex],
        "old": old.astype(bool), "weight": rng.integers(1, 4, n).astype(float),
    })  # fmt: skip


@pytest.fixture
def few_rows(monkeypatch):
    """Bins are planned for two thousand rows, too."""
    monkeypatch.setattr(frames, "FEW_ROWS", 500)


BINNED = {"cuts": Cuts(between=(0.1, 0.4)), "accuracy": 0.01}


@pytest.mark.usefixtures("few_rows")
def test_bins_are_planned_alike(tmp_path):
    table = many_rows()
    groups, columns, binned, *_ = outcomes(table, tmp_path, **BINNED)
    assert binned is not None
    assert sum(columns["count"]) == table.num_rows
    assert len(groups) == 4
    few = many_rows(decimals=2)
    assert outcomes(few, tmp_path) == expected(few)


@pytest.mark.slow
@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("engine", OTHERS)
def test_other_engines_give_the_same(engine, tmp_path):
    """One broad case each: they take seconds to start. Weights, two columns of groups, bins."""
    make = OTHERS[engine]
    frame, quick = make(many_rows(), tmp_path), many_rows()
    assert outcome(frame, **BINNED) == outcome(quick, **BINNED)
    asked = {"score": "score", "label": "label", "group": "sex", "weight": "weight"}
    one, two = (es.audit_frame(rows, **asked) for rows in (frame, quick))
    assert one.gaps == two.gaps
    assert one.binned == two.binned
    name, number, table = MISSING["NULL and NaN"]
    check_missing(outcome(make(table, tmp_path)), name, number)
    left = expected(table, {name: number})
    assert outcome(make(table, tmp_path), drop_missing=True) == left
    for function in (GroupedScores.from_frame, es.audit_frame):
        with pytest.raises(ValueError, match="Clusters need rows"):
            function(frame, **COLUMNS, cluster="sex")


WRITERS = {
    "polars": lambda table, path: pl.from_arrow(table).write_parquet(path),
    "pandas": lambda table, path: table.to_pandas().to_parquet(path),
    "DuckDB": lambda table, path: duckdb_connection().from_arrow(table).write_parquet(str(path)),
    "pyarrow": lambda table, path: pq.write_table(table, path),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_whoever_wrote_the_file(writer, tmp_path):
    """Statistics of columns differ between writers where there is NaN."""
    path = tmp_path / "rows.parquet"
    WRITERS[writer](GOOD["as usual"], path)
    readers = pl.scan_parquet, lambda path: duckdb_connection().read_parquet(str(path))
    for read in readers:
        assert outcome(read(path)) == expected(GOOD["as usual"])
    for case in ("NULL and NaN", "NaN in weight"):
        name, number, table = MISSING[case]
        WRITERS[writer](table, path)
        for read in readers:
            check_missing(outcome(read(path)), name, number)
