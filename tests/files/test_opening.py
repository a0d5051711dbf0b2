import os

import numpy as np
import pytest

from evenscore.files import opening
from evenscore.files.opening import open_table
from evenscore.files.scored import read_scores


def test_delimiters_are_found_by_the_columns_wanted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b;c,d;e\n1,5;2,5;x\n")
    with open_table(path, wanted=["c,d"]) as table:
        assert table.names == ("a,b", "c,d", "e")
        assert table.query("SELECT * FROM rows").fetchall() == [("1,5", "2,5", "x")]
    with open_table(path) as table:
        assert table.delimiter == ","


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_names_with_spaces_around(tmp_path, end):
    path = tmp_path / "t.csv"
    path.write_bytes(end.join([" a , b", "1,2", "3,4", ""]).encode())
    with open_table(path) as table:
        assert table.names == ("a", "b")
        assert table.query("SELECT * FROM rows").fetchall() == [("1", "2"), ("3", "4")]


def test_rows_come_in_the_order_of_the_file_whatever_the_threads(tmp_path):
    n = 150_000
    path = tmp_path / "t.csv"
    path.write_text("k,pad\n" + "".join(f"{k},{'x' * (k % 50)}\n" for k in range(n)))
    with open_table(path) as table:
        table.hold(["c0"])
        found = table.arrays("SELECT CAST(c0 AS DOUBLE) AS k FROM rows")["k"]
        assert table.first_row("c0 = '125000'") == 125_001
    np.testing.assert_array_equal(found, np.arange(n))


def test_columns_that_differ_by_case_in_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table({"Score": [1.0], "other": [2.0]}), path)
    with open_table(path) as table:
        assert table.column("Score") == "c0"
        with pytest.raises(ValueError, match=r"'score' .*'Score'"):
            table.column("score")


@pytest.mark.parametrize(
    ("column", "values", "told"),
    [
        ("score", [[1.0], [2.0]], r"DOUBLE\[\]"),
        ("score", [2**53 + 1, 3], "'9007199254740993' at row 1"),
        ("score", [1.0, None], "row 2"),
        ("label", [[0], [1]], "nested"),
        ("group", ["a", None], "row 2"),
        ("group", [1.0, float("nan")], "row 2"),
    ],
)
def test_parquet_cells_that_do_not_fit(tmp_path, column, values, told):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    columns = {"label": [0, 1], "score": [0.5, 0.7], "group": ["a", "b"], column: values}
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table(columns), path)
    with pytest.raises(ValueError, match=f"^Column '{column}' of t.parquet .*{told}"):
        read_scores(path, label="label", score="score", groups=["group"])


def write_columns(path, names, *columns):
    """A Parquet file whose columns may share a name."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.Table.from_arrays([*map(pa.array, columns)], names), path)
    return path


def scores_of(path, score="score"):
    return read_scores(path, label="label", score=score, groups=["group"]).rows.score.tolist()


def test_two_parquet_columns_of_one_name(tmp_path):
    path, names = tmp_path / "t.parquet", ["label", "score", "score", "group"]
    write_columns(path, names, [0, 1], [0.1, 0.2], [0.1, 0.3], ["a", "b"])
    with pytest.raises(ValueError, match=r"2 columns called 'score'"):
        scores_of(path)
    assert scores_of(path, "score#1") == [0.1, 0.2]
    assert scores_of(path, "score#2") == [0.1, 0.3]
    with pytest.raises(ValueError, match="'score_1'"):  # as DuckDB calls it
        scores_of(path, "score_1")
    write_columns(path, names, [0, 1], [0.1, 0.2], [0.1, 0.2], ["a", "b"])
    people = read_scores(path, label="label", score="score", groups=["group"])
    assert people.rows.score.tolist() == [0.1, 0.2]
    assert "2 columns called 'score'" in people.notes[0]
    write_columns(path, names, [0, 1], [0.1, 0.2], ["a", "b"], ["a", "b"])
    with pytest.raises(ValueError, match="and they differ"):
        scores_of(path)


def test_names_that_differ_by_case_beside_nested_columns(tmp_path):
    path, names = tmp_path / "t.parquet", ["label", "nested", "SCORE", "score", "list", "group"]
    nested = [{"score": 1, "deep": [{"x": 1}]}] * 2
    write_columns(path, names, [0, 1], nested, [0.1, 0.2], [0.3, 0.4], [[1], []], ["a", "b"])
    assert scores_of(path, "SCORE") == [0.1, 0.2]
    assert scores_of(path, "score") == [0.3, 0.4]


def test_names_in_parquet_that_are_no_text(tmp_path):
    path = write_columns(tmp_path / "t.parquet", ["label", "scoreXY"], [0, 1], [0.1, 0.2])
    path.write_bytes(path.read_bytes().replace(b"scoreXY", b"score\xff\xfe"))
    with pytest.raises(ValueError, match=r"^t.parquet .*UTF-8"):
        scores_of(path)


@pytest.mark.parametrize("name", ["a*.csv", "\\*.csv", "a[1].csv", "?", b"\xff.csv"])
def test_names_of_files_are_no_patterns(tmp_path, name):
    path = tmp_path / (os.fsdecode(name) if isinstance(name, bytes) else name)
    (tmp_path / "\\*.csv").write_text("other\n1\n")
    (tmp_path / "a1.csv").write_text("other\n1\n")
    path.write_text("label,score,group\n0,0.1,a\n1,0.2,b\n")
    assert scores_of(path) == [0.1, 0.2]
    names = ["label", "score", "group"]
    write_columns(tmp_path / "b", names, [0, 1], [0.3, 0.4], ["a", "b"]).replace(path)
    assert scores_of(path) == [0.3, 0.4]


def test_aggregates_that_are_constants_have_one_value_each(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n2\n")
    monkeypatch.setattr(opening, "_AT_ONCE", 1)
    with open_table(path) as table:
        assert table.aggregates(["count(c0)", "0", "0", "max(c0)"]) == [2, 0, 0, "2"]
