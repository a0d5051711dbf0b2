"""Wide files: what DuckDB is asked grows with the columns, not with their square.

It plans a query of aggregates in a time that grows with the square of their number, and looks at
all columns of a view for every query of it: no clock is needed to see either.
"""

import duckdb
import numpy as np
import pytest
from support.commands import run

from evenscore.files import opening
from evenscore.files.features import read_training
from evenscore.files.opening import TableFile, open_table
from evenscore.files.values import Column, tidied


def write(path, n_columns, n=40, seed=0):
    """Numbers, numbers with gaps, numbers among 'NA', and categories in turn."""
    rng = np.random.default_rng(seed)
    columns = {"y": rng.integers(0, 2, n).astype(str), "sex": rng.choice(["f", "m"], n)}
    columns["y"][:2], columns["sex"][:4] = ("0", "1"), ("f", "f", "m", "m")
    for k in range(n_columns):
        texts = np.char.mod("%.3f", rng.normal(size=n)).astype("U9")
        if k % 4 in (1, 2):
            texts[rng.integers(0, n, 3)] = "" if k % 4 == 1 else "NA"
        columns[f"x{k}"] = rng.choice(["red", "blue"], n) if k % 4 == 3 else texts
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def asked(monkeypatch):
    """All SQL that is run, in order."""
    queries = []
    query = TableFile.query

    def noted(self, sql, parameters=()):
        queries.append(sql)
        return query(self, sql, parameters)

    monkeypatch.setattr(TableFile, "query", noted)
    return queries


def read(path, **options):
    return read_training(path, label="y", groups=["sex"], allow_missing=True, **options)


def assert_linear(one, four):
    """What was asked of a file, and of one four times as wide."""
    assert len(four) < 4.5 * len(one)
    assert sum(map(len, four)) < 4.5 * sum(map(len, one))
    for sql in four:  # the wider file has its aggregates in more queries, not in longer ones
        if "count" in sql:
            assert len(sql) < 2 * opening._AT_ONCE


@pytest.mark.slow
def test_rows_to_learn_from(tmp_path, asked):
    found = []
    for n in (50, 200):
        asked.clear()
        read(write(tmp_path / "t.csv", n), drop_missing=True)
        found.append([*asked])
    assert_linear(*found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rows_to_score(tmp_path, asked):
    """Seconds: two wide tables are fitted and scored."""
    found = []
    for n in (30, 120):
        table, model = write(tmp_path / "t.csv", n), tmp_path / "m.skops"
        people = ("--label", "y", "--group", "sex", "--equal", "fnr", "--cuts", "everyone=0.5")
        run("fit", table, *people, "--tolerance", 0.9, "--estimator", "logistic", "-o", model)
        asked.clear()
        assert run("score", model, table, "-o", tmp_path / "out.csv").exit_code == 0
        found.append([*asked])
    assert_linear(*found)


def test_held_rows_are_a_table(tmp_path):
    with open_table(write(tmp_path / "t.csv", 3)) as table:
        table.hold(["c0", "c2"])
        kind = "SELECT table_type FROM information_schema.tables WHERE table_name = 'rows'"
        assert table.one(kind) == ("BASE TABLE",)
        assert len(table.one("SELECT * FROM rows LIMIT 1")) == 2


def test_many_aggregates_are_those_of_one_query(tmp_path, asked, monkeypatch):
    with open_table(write(tmp_path / "t.csv", 40)) as table:
        wanted = [f"count(c{k})" for k in range(42)] + ["min(c2)", "count(*)"]
        [expected] = table.query(f"SELECT {', '.join(wanted)} FROM rows").fetchall()
        for most in (1, 40, 10_000):
            monkeypatch.setattr(opening, "_AT_ONCE", most)
            asked.clear()
            assert table.aggregates(wanted) == list(expected)
            assert len(asked) == {1: 44, 40: 11, 10_000: 1}[most]
        assert table.aggregates([]) == []


@pytest.mark.slow
def test_a_wide_file_is_read_as_a_narrow_one(tmp_path):
    """Every column by itself has the same values."""
    path = write(tmp_path / "t.csv", 12)
    wide, start = read(path), 0
    for feature in wide.features:
        alone = read(path, features=[feature.name])
        part = wide.X[:, start : start + feature.width]
        assert alone.features == (feature,)
        np.testing.assert_array_equal(alone.X, part)
        start += feature.width
    assert start == wide.X.shape[1]


@pytest.mark.parametrize(
    ("values", "kind", "tidy"),
    [
        (["1", "-2.5e3", None], "VARCHAR", True),
        (["1", " 2 "], "VARCHAR", True),
        ([None, None], "VARCHAR", True),
        (["1", "NA"], "VARCHAR", False),
        (["1", ""], "VARCHAR", False),
        (["1", "nan"], "VARCHAR", False),
        (["1", "inf"], "VARCHAR", False),
        (["1", "1,5"], "VARCHAR", False),
        ([1.0, None], "DOUBLE", True),
        ([1.0, float("nan")], "DOUBLE", False),
        ([1.0, float("inf")], "DOUBLE", False),
        ([1, 2], "BIGINT", True),
        ([True, None], "BOOLEAN", True),
    ],
)
def test_tidy_columns_need_no_closer_look(tmp_path, values, kind, tidy):
    """A column is tidy only if no check but that for NULL could find anything."""
    path = tmp_path / "t.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t (v {kind}, w INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, 1)", [(value,) for value in values])
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    with open_table(path) as table:
        column = Column.named(table, "v")
        [found, _] = tidied([column, Column.named(table, "w")])
        assert found.tidy is tidy
        counts = [
            table.one(f"SELECT count_if({check.condition}) FROM rows")[0]
            for check in column.number_checks()
            if not check.missing
        ]
        [lacking] = table.one(f"SELECT count_if({column.lacking}) FROM rows")
        if tidy:
            assert not any(counts)
            assert lacking == values.count(None)
            assert table.one(f"SELECT count_if({found.lacking}) FROM rows") == (lacking,)
        else:
            assert any(counts) or lacking > values.count(None)
