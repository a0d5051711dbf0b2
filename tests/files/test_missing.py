"""A value that is missing is found, whatever wrote the file and wherever in it the value stands.

DuckDB answers `isnan` over Parquet from statistics that leave NaN out, so that files of several row
groups with a NaN in only one of them are what matters here.
"""

import csv

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenscore.files.features import read_features, read_training
from evenscore.files.opening import open_table
from evenscore.files.scored import read_grouped, read_scores
from evenscore.files.values import Column

N, ROW = 3000, 1234  # in the second of three row groups
ROLES = ("label", "score", "group", "weight", "feature")


def write_csv(columns, path):
    """As pandas and polars do: nothing where there is none (in a column of texts, "nan" is one)."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            writer.writerow(["" if np.isnan(value) else float(value) for value in row])


def write_float32(columns, path):
    table = pa.table({name: column.astype(np.float32) for name, column in columns.items()})
    pq.write_table(table, path, row_group_size=1000)


def write_duckdb(columns, path):
    import duckdb

    frame = pa.table(columns)
    with duckdb.connect() as connection:
        connection.register("frame", frame)
        connection.execute(f"COPY frame TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")


WRITERS = {
    "csv": write_csv,
    "pyarrow": lambda columns, path: pq.write_table(pa.table(columns), path, row_group_size=1000),
    "pyarrow without statistics": lambda columns, path: pq.write_table(
        pa.table(columns), path, row_group_size=1000, write_statistics=False
    ),
    "pyarrow, float32": write_float32,
    "polars": lambda columns, path: pl.DataFrame(columns).write_parquet(path, row_group_size=1000),
    "duckdb": write_duckdb,
}


def columns_of_numbers(missing=()):
    rng = np.random.default_rng(0)
    columns = {
        "label": rng.integers(0, 2, N).astype(float),
        "score": rng.normal(size=N),
        "group": rng.integers(1, 3, N).astype(float),
        "weight": rng.gamma(2.0, size=N),
        "feature": rng.normal(size=N),
    }
    for name in missing:
        columns[name][ROW] = np.nan
    return columns


@pytest.fixture(params=WRITERS)
def write(request, tmp_path):
    path = tmp_path / ("t.csv" if request.param == "csv" else "t.parquet")

    def written(missing=()):
        WRITERS[request.param](columns_of_numbers(missing), path)
        return path

    written.roles = ROLES if request.param in ("csv", "pyarrow") else ("score", "group")
    return written


def scores(path, **options):
    names = dict(label="label", score="score", groups=["group"], weight="weight")
    return read_scores(path, **names, **options)


def training(path, **options):
    names = dict(label="label", groups=["group"], weight="weight", features=["feature"])
    return read_training(path, **names, **options)


def readers(role):
    return {"score": [scores], "feature": [training]}.get(role, [scores, training])


@pytest.mark.slow
def test_one_nan_is_refused_with_its_row_or_dropped_when_asked(write):
    kept = np.arange(N) != ROW
    whole = columns_of_numbers()
    for role in write.roles:
        path = write([role])
        for read in readers(role):
            with pytest.raises(ValueError, match=rf"'{role}' of t\.\w+ .* row {ROW + 1:,}"):
                read(path)
            found = read(path, drop_missing=True)
            people = found if read is scores else found.people
            rows = people.rows
            assert (people.total, people.dropped) == (N, 1)
            assert [float(group) for group in rows.groups] == [1.0, 2.0]
            np.testing.assert_array_equal(rows.positive, whole["label"][kept] == 1.0)
            np.testing.assert_array_equal(rows.codes, whole["group"][kept] - 1)
            np.testing.assert_allclose(rows.weight, whole["weight"][kept], rtol=1e-7)
            column = rows.score if read is scores else found.X[:, 0]
            name = "score" if read is scores else "feature"
            np.testing.assert_allclose(column, whole[name][kept], rtol=1e-7)


def test_nothing_is_missing_in_a_whole_file(write):
    path = write()
    assert scores(path).dropped == 0
    assert scores(path, as_table=True).count is None
    assert len(training(path).X) == N


def test_a_feature_may_be_missing_where_that_is_allowed(write):
    path = write(["feature"])
    learned = training(path, allow_missing=True)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(learned.X[:, 0])), [ROW])
    with open_table(path) as table, pytest.raises(ValueError, match=f"row {ROW + 1:,}"):
        read_features(table, learned.features, allow_missing=False)
    with open_table(path) as table:
        X, sentences = read_features(table, learned.features, allow_missing=True)
    np.testing.assert_array_equal(X, learned.X)
    assert sentences == []


def test_rows_to_repair(write):
    path = write(["group"])
    with open_table(path) as table:
        texts = Column.named(table, "group").distinct_texts("true", 10)
        assert [float(text) for text in texts] == [1.0, 2.0]
        known = [(text,) for text in texts]
    options = dict(score="score", groups=["group"], known=known)
    with open_table(path) as table, pytest.raises(ValueError, match=f"row {ROW + 1:,}"):
        read_grouped(table, **options, refuse_unknown=True)
    with open_table(path) as table:
        score, position = read_grouped(table, **options, refuse_unknown=False)
    np.testing.assert_array_equal(np.flatnonzero(position < 0), [ROW])
    np.testing.assert_allclose(score, columns_of_numbers()["score"], rtol=1e-7)
    path = write(["score"])
    with open_table(path) as table, pytest.raises(ValueError, match="'score'"):
        read_grouped(table, **options, refuse_unknown=False)


@pytest.mark.parametrize(
    ("role", "value"), [("score", np.inf), ("weight", np.inf), ("feature", -np.inf)]
)
def test_infinite_values_are_no_missing_ones(tmp_path, role, value):
    columns = columns_of_numbers()
    columns[role][ROW] = value
    path = tmp_path / "t.parquet"
    WRITERS["pyarrow"](columns, path)
    with pytest.raises(ValueError, match=rf"'{role}' of t.parquet is infinite"):
        (training if role == "feature" else scores)(path, drop_missing=True)


def test_a_column_of_nothing_but_nan_is_no_feature(tmp_path):
    columns = columns_of_numbers()
    columns["feature"] = np.full(N, np.nan)
    path = tmp_path / "t.parquet"
    WRITERS["pyarrow"](columns, path)
    with pytest.raises(ValueError, match=r"'feature' of t.parquet is empty"):
        training(path)
