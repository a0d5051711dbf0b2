"""Two numbers that differ do not become one, whatever type or text holds them."""

import re
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenscore.files.features import read_training
from evenscore.files.scored import read_scores

EDGE = 2**53
CONFUSED = [
    "9007199254740993",
    " +9007199254740993 ",
    "9007199254740993.0",
    "9007199254740992.5",
    "9007199254740994",  # an integer: its neighbours are not doubles
    "9.007199254740993e15",
    "123456789012345678",
    "100000000000000000000000.5",
    "1.00000000000000000001e300",
]
TAKEN = [
    "9007199254740991",
    "9007199254740992",
    "-9007199254740992.0",
    "9007199254740994.0",  # as Python writes that double
    "1e300",
    "-1.5E+300",
    "1.0000000000000001e+300",  # in 17 digits
    "1.7976931348623157e308",
    "99999999999999991611392.0",  # 1e23, in all its digits
    "12345678901234567890.123e-10",
    "0.12345678901234567890",
    "5e-324",
]


def write(path, rows, score):
    lines = "".join(f'{k % 2},"{value}",{"ab"[k // 2 % 2]}\n' for k, value in enumerate(rows))
    path.write_text(f"label,{score},group\n{lines}")
    return path


def csv_scores(tmp_path, rows, **options):
    path = write(tmp_path / "t.csv", rows, "score")
    return read_scores(path, label="label", score="score", groups=["group"], **options).rows.score


@pytest.mark.parametrize("text", CONFUSED)
def test_texts_that_doubles_confuse(tmp_path, text):
    told = rf"^Column '(score|weight|x)' of t.csv is '{re.escape(text)}' at row 3 .*2\^53"
    rows = ["0.5", "1e20", text, "2"]
    with pytest.raises(ValueError, match=told):
        csv_scores(tmp_path, rows)
    path = write(tmp_path / "t.csv", rows, "weight")
    columns = path.read_text().replace("\n", ",1\n").replace("group,1", "group,score", 1)
    path.write_text(columns)
    if not text.startswith("-"):
        with pytest.raises(ValueError, match=told):
            read_scores(path, label="label", score="score", groups=["group"], weight="weight")
    path = write(tmp_path / "t.csv", rows, "x")
    for missing in (True, False):
        with pytest.raises(ValueError, match=told):
            read_training(path, label="label", groups=["group"], allow_missing=missing)


def test_texts_that_doubles_are_written_as(tmp_path):
    found = csv_scores(tmp_path, TAKEN)
    np.testing.assert_array_equal(found, [float(text) for text in TAKEN])


def test_every_way_to_write_a_double(tmp_path):
    rng = np.random.default_rng(0)
    doubles = np.ldexp(rng.uniform(0.5, 1.0, 200), rng.integers(54, 1024, 200)).tolist()
    texts = [way(x) for x in doubles for way in (repr, "{:.16e}".format)]
    np.testing.assert_array_equal(csv_scores(tmp_path, texts), np.repeat(doubles, 2))
    doubles = [x for x in doubles if x < 1e38]
    found = csv_scores(tmp_path, [f"{x:.1f}" for x in doubles])
    np.testing.assert_array_equal(found, doubles)


@pytest.mark.parametrize(
    ("texts", "decimal"),
    [
        (["0,5", "9.007.199.254.740.993"], "comma"),
        (["1.5 €", "9,007,199,254,740,993 €"], "point"),
    ],
)
def test_other_ways_of_writing(tmp_path, texts, decimal):
    with pytest.raises(ValueError, match=r"'9007199254740993' at row 2 .*\(2 s"):
        csv_scores(tmp_path, texts * 2, decimal=decimal)


@pytest.mark.parametrize("text", ["+-1", "1_000", "+-inf", "1_0.5", "1e1_0"])
def test_what_only_duckdb_calls_a_number(tmp_path, text):
    told = f"'score' of t.csv .*{re.escape(repr(text))} at row 2"
    with pytest.raises(ValueError, match=told):
        csv_scores(tmp_path, ["1", text, "3", "4"])


@pytest.mark.parametrize(
    ("kind", "values", "row"),
    [
        (pa.decimal128(38, 0), [EDGE, EDGE + 1], 2),
        (pa.decimal128(38, 2), ["1.25", "-9007199254740992.01"], 2),
        (pa.decimal128(38, 22), ["9007199254740993", "1.25"], 1),
        (pa.decimal128(18, 0), [EDGE, EDGE + 1], 2),
        (pa.int64(), [EDGE, EDGE + 1], 2),
        (pa.uint64(), [2**64 - 1, 1], 1),
    ],
)
def test_parquet_types_that_doubles_confuse(tmp_path, kind, values, row):
    exact = [Decimal(value) for value in values] if pa.types.is_decimal(kind) else values
    numbers = pa.array(exact, kind)
    path = tmp_path / "t.parquet"
    table = pa.table({"label": [0, 1], "x": numbers, "group": ["a", "b"], "score": [0.1, 0.2]})
    pq.write_table(table, path)
    told = rf"^Column 'x' of t.parquet is '-?\d+[.\d]*' at row {row}: .*2\^53"
    options = dict(label="label", groups=["group"])
    with pytest.raises(ValueError, match=told):
        read_scores(path, score="x", **options)
    if "-" not in str(values):
        with pytest.raises(ValueError, match=told):
            read_scores(path, score="score", weight="x", **options)
    with pytest.raises(ValueError, match=told):
        read_training(path, features=["x"], **options)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.decimal128(38, 0), ["9007199254740992", "-9007199254740992"]),
        (pa.decimal128(38, 30), ["12345678.000000000000000000000000000001", "0.5"]),
        (pa.decimal128(38, 38), ["0.1", "0.5"]),
        (pa.decimal128(4, 2), ["0.1", "0.5"]),
    ],
)
def test_decimals_that_are_taken(tmp_path, kind, values):
    numbers = pa.array([Decimal(value) for value in values], kind)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"label": [0, 1], "score": numbers, "group": ["a", "b"]}), path)
    found = read_scores(path, label="label", score="score", groups=["group"]).rows.score
    np.testing.assert_array_equal(found, [float(value) for value in values])


def test_texts_that_are_no_labels(tmp_path):
    options = dict(label="label", score="score", groups=["group"])
    path = tmp_path / "t.csv"
    rows = "0,1,f\n1,2,m\n0,3,{}\n1,4,f\n"
    for text, told in {"ä" * 1001: "1,000", "f\0": "NUL"}.items():
        path.write_text("label,score,group\n" + rows.format(text))
        with pytest.raises(ValueError, match=rf"'group' of t.csv .*{told}.* row 3 "):
            read_scores(path, **options)
        with pytest.raises(ValueError, match=rf"'group' of t.csv .*{told}.* row 3 "):
            read_training(path, label="label", groups=["group"])
    path.write_text("label,score,group\n" + rows.format("ä" * 1000))
    assert len(read_scores(path, **options).rows.groups) == 3
    path.write_text("label,job,group\n0,a,f\n1,{0},f\n0,a,m\n1,{0},m\n".format("ä" * 1001))
    with pytest.raises(ValueError, match=r"'job' of t.csv .*1,000.* row 2"):
        read_training(path, label="label", groups=["group"])


def test_sentences_about_long_names_are_short(tmp_path):
    names = ["x" * 5000, "y" * 5000, "score", "group"]
    path = tmp_path / "t.csv"
    path.write_text(",".join(names) + "\n0,1,2,f\n1,1,2,m\n")
    for label in ("label", "no" * 3000):
        with pytest.raises(ValueError, match=r"'(label|nono)") as caught:
            read_scores(path, label=label, score="score", groups=["group"])
        assert len(str(caught.value)) < 500
    path.write_text(",".join(names) + "\n0,1,2,f\n1,b,2,m\n")
    with pytest.raises(ValueError, match=r"'yyy.*… of t.csv") as caught:
        read_scores(path, label=names[0], score=names[1], groups=["group"])
    assert len(str(caught.value)) < 300
