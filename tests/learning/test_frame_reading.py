"""Parts of a frame give the rows that a scorer of one machine reads from the whole."""

import datetime
import pickle
import re
import time
from decimal import Decimal
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.making import often

from evenscore import BoostedScorer, LinearScorer
from evenscore.learning.exchange import OnePart
from evenscore.learning.frame_reading import FrameReading
from evenscore.learning.frame_summary import LearningColumns, Summary
from evenscore.scores.labels import shown

# What a column may hold, and the types that a part may have it in: that of the whole frame is the
# first of them that takes all values.
TYPES = {
    "number": ["float64", "Float64", pd.ArrowDtype(pa.float64()), "object", "Sparse[float]"],
    "whole": ["int64", "float64", "Int64", pd.ArrowDtype(pa.int64()), "object", "int8"],
    "truth": ["bool", "object", "boolean", pd.ArrowDtype(pa.bool_())],
    "text": ["str", "object", "string", pd.ArrowDtype(pa.large_string()), "category"],
    "category": ["category"],
}
VALUES = {
    "number": [-1.5, 0.0, 0.25, 2.0, 3.0],
    "whole": [-1, 0, 1, 7],
    "truth": [False, True],
    "text": ["b", "a", "", "é", "<script>", "1"],
    "category": [3, 1, 2],
}
LABELS = [(0, 1), (False, True), ("no", "yes"), (1.0, 2.0), (-1, 1), ("1", "10")]
KINDS = {bool: "truth", int: "whole", float: "number", str: "text"}
SCORERS = {"linear": LinearScorer, "boosted": lambda: BoostedScorer(booster="xgboost")}


def typed(values, dtype):
    """A column of a type; None if the type knows no gaps and there are some."""
    if None in values and dtype in ("int64", "int8", "bool"):
        return None
    if dtype in ("float64", "Sparse[float]"):
        values = [np.nan if value is None else value for value in values]
    return pd.Series(values, dtype=dtype)


def fitting(values, kind):
    """The column in all types that take its values."""
    columns = (typed(values, dtype) for dtype in TYPES[kind])
    return [column for column in columns if column is not None]


def read(parts, columns, kind="linear"):
    """The reading of parts and the rows of each, sent about as between machines."""
    scorer = SCORERS[kind]()
    native, missing = scorer.accepts_codes, scorer.accepts_missing
    summaries = [Summary.of(part, columns, native=native) for part in parts]
    summaries = pickle.loads(pickle.dumps(summaries))
    reading = FrameReading.of(summaries, columns, native=native, missing=missing)
    reading = pickle.loads(pickle.dumps(reading))
    return reading, [reading.rows([(k, part)], OnePart()) for k, part in enumerate(parts)]


def read_whole(frame, columns, kind):
    """A scorer of one machine that has read the frame, and its rows.

    That there are groups without constraints it would refuse.
    """
    scorer = SCORERS[kind]()
    weight = None if columns.weight is None else frame[columns.weight].to_numpy()
    groups = frame[list(columns.group)] if columns.group else None
    with patch("evenscore.learning.base.refuse_idle_groups"):
        return scorer, scorer._read(
            frame[list(columns.features)], frame["y"].to_numpy(), groups, weight, ()
        )


def assert_same(frame, parts, columns, kind):
    """Parts give what the whole frame gives; True if that is rows, and False if it is refused."""
    try:
        scorer, expected = read_whole(frame, columns, kind)
    except ValueError:
        with pytest.raises(ValueError, match=SENTENCE):
            read(parts, columns, kind)
        return False
    reading, rows = read(parts, columns, kind)
    assert np.array_equal(reading.classes, scorer.classes_)
    assert reading.groups == expected.groups
    numbers = (None,) * len(columns.features)
    levels = numbers if reading.encoding is None else reading.encoding.levels
    known = numbers if scorer.encoding_ is None else scorer.encoding_.levels
    assert repr(levels) == repr(known)
    X, positive, codes = (
        np.concatenate([getattr(part, name) for part in rows])
        for name in ("X", "positive", "codes")
    )
    assert X.dtype == np.float64
    assert np.array_equal(X, expected.X, equal_nan=True)
    assert np.array_equal(positive, expected.positive)
    assert np.array_equal(codes, expected.codes)
    if columns.weight is None:
        assert expected.weight is None
        assert all(part.weight is None for part in rows)
    else:
        assert np.array_equal(np.concatenate([part.weight for part in rows]), expected.weight)
    assert sum(reading.cells.values()) == len(expected)
    together = reading.rows([*enumerate(parts)][::-1], OnePart())
    assert np.array_equal(together.X, X, equal_nan=True)
    assert together.block.tolist() == [k for k, part in enumerate(rows) for _ in range(len(part))]
    return True


SENTENCE = r"^[A-Z].*[.?]$"


@st.composite
def cases(draw):
    """A whole frame, the same in parts, and which columns are what."""
    n = draw(st.integers(1, 14))
    ends = [0, *sorted(draw(st.lists(st.integers(0, n), max_size=3))), n]
    whole, pieces = {}, [{} for _ in ends[1:]]

    def drawn(values):
        return draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))

    def add(name, kind, values):
        whole[name] = fitting(values, kind)[0]
        for k, piece in enumerate(pieces):
            piece[name] = draw(st.sampled_from(fitting(values[ends[k] : ends[k + 1]], kind)))

    labels = draw(st.sampled_from(LABELS))
    add("y", KINDS[type(labels[0])], drawn(labels))
    groups = [f"g{k}" for k in range(draw(st.integers(0, 3)))]
    for name in groups:
        kind = draw(st.sampled_from([*TYPES]))
        add(name, kind, drawn(VALUES[kind]))
    weight = draw(st.sampled_from([None, "w"]))
    if weight is not None:
        add(weight, "number", drawn([0.0, 1.0, 2.5]))
    for k in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from([*TYPES]))
        values = drawn([*VALUES[kind], *draw(st.sampled_from([[], [None]]))])
        emptied = draw(st.integers(0, 2 * len(pieces)))  # a part without any value, or none such
        if emptied < len(pieces):
            start, end = ends[emptied : emptied + 2]
            values[start:end] = [None] * (end - start)
        add(f"x{k}", kind, values)
    frame, parts = pd.DataFrame(whole), [pd.DataFrame(piece) for piece in pieces]
    return frame, parts, LearningColumns.of(list(frame), "y", groups, weight)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SCORERS)
@settings(max_examples=often(40))
@given(case=cases())
def test_parts_give_the_rows_of_the_whole(kind, case):
    assert_same(*case, kind)


# ---------------------------------------------------------------------- what features are

X = [0.5, 1.5, 2.5, 3.5]
Y = [0, 1, 0, 1]
YX = LearningColumns.of(["y", "x"], "y", None)


def series(values, dtype=object):
    return pd.Series(values, dtype=dtype)


def in_parts(*columns):
    """A part for every column of features."""
    return [pd.DataFrame({"y": Y, "x": column}) for column in columns]


TRUE_FALSE = [True, False, False, True]
FEATURES = {  # columns of parts; levels if they are spread over columns, and if they are codes
    "truths with gaps in one part": (
        [series(TRUE_FALSE, bool), series([True, None, None, True])],
        ((False, True), None),
    ),
    "truths in a part, nothing in another": (
        [series(TRUE_FALSE, bool), series([np.nan] * 4, float)],
        ((False, True), None),
    ),
    "truths without gaps": ([series(TRUE_FALSE), series([True] * 4, bool)], (None, None)),
    "truths and numbers": ([series(TRUE_FALSE, bool), series(X, float)], (None, None)),
    "truths and texts": (
        [series(TRUE_FALSE, bool), series(["a", "b", None, "a"], "str")],
        ((False, True, "a", "b"),) * 2,
    ),
    "nothing in a part, texts in another": (
        [series([None] * 4), series(["b", "a"] * 2, "str"), series([np.nan] * 4, float)],
        (("a", "b"),) * 2,
    ),
    "a missing category": ([series(["a", None] * 2, "str"), series([None] * 4)], (("a",),) * 2),
    "other categories in every part": (
        [series(["b"] * 4, "category"), series(["c", "a"] * 2, "category")],
        (("a", "b", "c"),) * 2,
    ),
    "intervals": (
        [pd.Series(pd.cut(X, [0, 2, 4])), pd.Series(pd.cut(X, [0, 2, 4])).iloc[:0]],
        (("(0, 2]", "(2, 4]"),) * 2,
    ),
    "numbers as objects": ([series([1, Decimal("0.5"), 2.0, True]), series([3] * 4)], (None, None)),
    "decimals": ([series([1, 2, 3, 4], pd.ArrowDtype(pa.decimal128(5, 2)))] * 2, (None, None)),
}


@pytest.mark.parametrize("kind", SCORERS)
@pytest.mark.parametrize(("columns", "levels"), FEATURES.values(), ids=[*FEATURES])
def test_what_a_feature_is_nobody_knows_from_one_part(columns, levels, kind):
    parts = [pd.DataFrame({"y": Y[: len(column)], "x": column}) for column in columns]
    reading, _ = read(parts, YX, kind)
    found = None if reading.encoding is None else reading.encoding.levels[0]
    assert repr(found) == repr(levels[list(SCORERS).index(kind)])
    assert assert_same(pd.concat(parts, ignore_index=True), parts, YX, kind)


def test_categories_that_are_numbers_stay_categories():
    parts = in_parts(series([3, 1] * 2, "category"), series([2, 10] * 2, "category"))
    reading, rows = read(parts, YX, "boosted")
    assert reading.encoding.levels == ((1, 2, 3, 10),)
    assert rows[1].X[:, 0].tolist() == [1.0, 3.0, 1.0, 3.0]


def test_a_column_without_any_value():
    for gone in (series([None] * 4), series([np.nan] * 4, float), series([None] * 4, "str")):
        _, rows = read(in_parts(gone, gone), YX, "boosted")
        assert np.isnan(rows[0].X).all()
        assert rows[0].X.shape == (4, 1)
        assert refusal(in_parts(gone, gone)) == "Column 'x' has no value in any row: leave it out."


def test_an_index_is_of_no_concern():
    frame = pd.DataFrame({"y": Y, "w": [1.0, 0.0, 2.0, 3.0], "x": X}, index=[5, 5, 0, -1])
    _, (rows,) = read([frame], LearningColumns.of(list(frame), "y", None, "w"))
    assert rows.X[:, 0].tolist() == [0.5, 2.5, 3.5]
    assert rows.weight.tolist() == [1.0, 2.0, 3.0]


# ---------------------------------------------------------------------- what groups and labels are


def with_groups(*columns):
    """A part for every column of groups."""
    return [
        pd.DataFrame({"y": np.arange(len(column)) % 2, "g": column, "x": 1.0}) for column in columns
    ]


YGX = LearningColumns.of(["y", "g", "x"], "y", "g")
DAYS = [datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)]
GROUPS = {
    "texts": ([series(["b", "a"], "str"), series(["c", "b"], "category")], ("a", "b", "c")),
    "whole numbers": ([series([2, 1], int), series([10, 2], "Int64")], (1, 2, 10)),
    "doubles": ([series([2.0, 1.0], float)] * 2, (1.0, 2.0)),
    "doubles in one part": ([series([2.0, 3.0], float), series([2, 1], int)], (1, 2, 3)),
    "halves": ([series([2.5, 3.0], float), series([2, 1], int)], (1, 2, 2.5, 3.0)),
    "truths": ([series([True, False], bool), series([True] * 2, "boolean")], (False, True)),
    "truths and numbers": ([series([True, False], bool), series([1, 2], int)], (0, 1, 2)),
    "texts and numbers": ([series(["1", "a"], "str"), series([1, 2], int)], (1, 2, "1", "a")),
    "mixed in a part": ([series([1, "a"]), series(["a", 2.5])], (2.5, 1, "a")),
    "tuples": ([series([(2, 3), (1, 2)]), series([(1, 2), (0, 1)])], ((0, 1), (1, 2), (2, 3))),
    "days": ([series(DAYS), series(DAYS, pd.ArrowDtype(pa.date32()))], tuple(DAYS[::-1])),
    "sparse": ([series([0, 7], "Sparse[int]"), series([7, 0], int)], (0, 7)),
    "odd texts": ([series(["", "<b>", "é", "a\nb"], "str")], ("", "<b>", "a\nb", "é")),
}


@pytest.mark.parametrize(("columns", "groups"), GROUPS.values(), ids=[*GROUPS])
def test_groups_of_any_type(columns, groups):
    parts = with_groups(*columns)
    reading, rows = read(parts, YGX)
    assert repr(reading.groups) == repr(groups)
    for column, part in zip(columns, rows, strict=True):
        assert [reading.groups[code] for code in part.codes] == column.tolist()
    assert assert_same(pd.concat(parts, ignore_index=True), parts, YGX, "linear")


def test_times_are_groups_by_their_text():
    times = series(["2020-01-02", "2020-01-01"], "datetime64[s]")
    parts = with_groups(times, times)
    reading, _ = read(parts, YGX)
    assert reading.groups == ("2020-01-01T00:00:00", "2020-01-02T00:00:00")
    assert assert_same(pd.concat(parts, ignore_index=True), parts, YGX, "linear")


def test_a_group_and_a_class_that_occur_in_one_part_only():
    parts = [
        pd.DataFrame({"y": ["no", "no"], "g": ["b", "b"], "x": [1, 2]}),
        pd.DataFrame({"y": [], "g": [], "x": []}),
        pd.DataFrame({"y": ["yes"], "g": ["a"], "x": [np.nan]}),
    ]
    reading, rows = read(parts, YGX, "boosted")
    assert (reading.classes, reading.groups) == (("no", "yes"), ("a", "b"))
    assert [part.cell.tolist() for part in rows] == [[1, 1], [], [2]]
    assert reading.cells == {("no", "b"): 2, ("yes", "a"): 1}
    assert rows[1].X.shape == (0, 1)


def test_three_columns_of_groups_are_crossed():
    frame = pd.DataFrame(
        {
            "y": [0, 1] * 4,
            "sex": list("fmfmmmff"),
            "old": TRUE_FALSE * 2,
            "zone": [10, 9, 10, 9, 9, 9, 10, 10],
            "x": np.arange(8.0),
        }
    )
    columns = LearningColumns.of(list(frame), "y", ["sex", "old", "zone"])
    for cut in (0, 1, 3, 8):
        assert assert_same(frame, [frame[:cut], frame[cut:]], columns, "linear")


def test_seven_columns_of_groups_with_many_values():
    """Their product is beyond 64 bits."""
    n = 900
    rng = np.random.default_rng(0)
    names = [f"g{k}" for k in range(7)]
    frame = pd.DataFrame({name: rng.permutation(n) for name in names})
    frame = frame.assign(y=np.arange(n) % 2, x=1.0)
    columns = LearningColumns.of(list(frame), "y", names)
    assert assert_same(frame, [frame[:500], frame[500:]], columns, "linear")


def test_groups_whose_rows_weigh_nothing_are_groups():
    frame = pd.DataFrame({"y": Y, "g": ["b", "b", "a", "c"], "w": [1.0, 2.0, 0.0, 0.0], "x": X})
    columns = LearningColumns.of(list(frame), "y", "g", "w")
    parts = [frame[:2], frame[2:]]
    assert assert_same(frame, parts, columns, "linear")
    reading, rows = read(parts, columns)
    assert reading.groups == ("a", "b", "c")
    assert [len(part) for part in rows] == [2, 0]
    assert reading.cells == {(0, "b"): 1, (1, "b"): 1}


@pytest.mark.parametrize("labels", [*LABELS, (0.25, 0.5)], ids=str)
def test_labels_of_any_type(labels):
    kind = KINDS[type(labels[0])]
    for column in fitting([labels[1], labels[0], labels[1]], kind):
        part = pd.DataFrame({"y": column, "x": X[:3]})
        reading, (rows,) = read([part, part[:1]], YX)[0], read([part], YX)[1]
        assert reading.classes == labels
        if column.dtype.kind not in "f":
            assert repr(reading.classes) == repr(labels)
        assert rows.positive.tolist() == [True, False, True]


def test_labels_that_are_doubles_in_one_part_are_whole():
    parts = in_parts(X, X)
    parts[1]["y"] = parts[1]["y"].astype(float)
    for order in (parts, parts[::-1]):
        reading, _ = read(order, YX)
        assert repr(reading.classes) == "(0, 1)"


# ---------------------------------------------------------------------- what is refused


def refusal(parts, columns=YX, kind="linear"):
    """The sentence, which is the same in whatever order parts come."""
    texts = set()
    for order in (parts, parts[::-1]):
        with pytest.raises(ValueError, match=SENTENCE) as caught:
            read(order, columns, kind)
        texts.add(str(caught.value))
    (text,) = texts
    assert "\n" not in text
    assert " of X holds" not in text
    return text


LOST = "which double precision would confuse with others: rescale or rank them first."
NONE = "a feature is a number, a truth value, a category or a text."
GAPS = (
    "has no value in {}, which a linear score does not take: fill in or drop such rows, or fit a "
    "DistributedBoostedScorer, which takes them."
)
ODD_FEATURES = {
    "infinite": (
        [series([1.0, np.inf, -np.inf, np.nan], float), series([np.inf] * 4, float)],
        "Column 'x' is infinite in 6 of 8 rows: every number must be finite.",
    ),
    "infinite, with gaps": (
        [series([1.0, np.inf, None, 2.0], "Float64"), series([np.inf, 1, 2, None])],
        "Column 'x' is infinite in 2 of 8 rows: every number must be finite.",
    ),
    "infinite decimal": (
        [series([Decimal("-Infinity"), 1, 2, 3]), series(X)],
        "Column 'x' is infinite in 1 of 8 rows: every number must be finite.",
    ),
    "large": (
        [series([2**53 + 1, 2**53, 0, -(2**53)], int), series([-(2**60)] * 4, int)],
        f"Column 'x' holds a number beyond 2^53 in 5 of 8 rows, {LOST}",
    ),
    "large without sign": (
        [series([2**64 - 1, 0, 0, 0], "uint64"), series([1, 2, 3, 4], "uint64")],
        f"Column 'x' holds a number beyond 2^53 in 1 of 8 rows, {LOST}",
    ),
    "large, with gaps": (
        [series([2**53 + 1, None, 0, 1], "Int64"), series([2**400, None, 1, 2])],
        f"Column 'x' holds a number beyond 2^53 in 2 of 8 rows, {LOST}",
    ),
    "large decimal": (
        [series([Decimal(2**53) + Decimal("0.5"), 1, 2, 3]), series(X)],
        f"Column 'x' holds a number beyond 2^53 in 1 of 8 rows, {LOST}",
    ),
    "numbers here, texts there": (
        [series(X, float), series(["b", "a", None, "b"], "str")],
        "Column 'x' holds numbers in one part of the frame and texts ('a') in another: make it one "
        "or the other.",
    ),
    "numbers here, categories there": (
        [series([1, 2, 3, 4], int), series([1, 2, 1, 2], "category")],
        "Column 'x' holds numbers in one part of the frame and categories (1) in another: make it "
        "one or the other.",
    ),
    "numbers and texts": (
        [series([1, "a", 1, 1]), series(X)],
        "Column 'x' holds both numbers and texts (1 and 'a'): make it one or the other.",
    ),
    "times": (
        [series(["2020-01-01"] * 4, "datetime64[s]"), series(X)],
        f"Column 'x' holds values of type Datetime(time_unit='s', time_zone=None): {NONE}",
    ),
    "days": ([series(DAYS * 2), series(X)], f"Column 'x' holds values of type date: {NONE}"),
    "lists": ([series([[1]] * 4), series(X)], f"Column 'x' holds values of type list: {NONE}"),
    "bytes": ([series([b"a"] * 4), series(X)], f"Column 'x' holds values of type bytes: {NONE}"),
    "complex": (
        [series([1j] * 4, complex), series(X)],
        f"Column 'x' holds values of type complex: {NONE.replace('a number', 'a real number')}",
    ),
}


@pytest.mark.parametrize("kind", SCORERS)
@pytest.mark.parametrize(("columns", "sentence"), ODD_FEATURES.values(), ids=[*ODD_FEATURES])
def test_features_that_are_refused(columns, sentence, kind):
    assert refusal(in_parts(*columns), kind=kind) == sentence


MISSING_NUMBERS = {
    "doubles": [series([1.0, np.nan, np.nan, 2.0], float), series([np.nan] * 4, float)],
    "nullable": [series([1, None, None, 2], "Int64"), series([None] * 4)],
    "NaN of pyarrow": [
        pd.Series(pd.arrays.ArrowExtensionArray(pa.array([1.0, float("nan"), None, 2.0]))),
        series([None] * 4, pd.ArrowDtype(pa.float64())),
    ],
    "objects": [series([1, None, np.nan, 2]), series([pd.NA, None, Decimal("NaN"), pd.NaT])],
}


@pytest.mark.parametrize("columns", MISSING_NUMBERS.values(), ids=[*MISSING_NUMBERS])
def test_missing_numbers_are_for_trees(columns):
    parts = in_parts(*columns)
    assert refusal(parts) == f"Column 'x' {GAPS.format('6 of 8 rows')}"
    _, rows = read(parts, YX, "boosted")
    assert np.isnan(rows[0].X[:, 0]).tolist() == [False, True, True, False]
    assert np.isnan(rows[1].X).all()


def test_truths_beside_numbers_are_numbers_and_missing_as_such():
    parts = in_parts(series([True, None] * 2), series([1, 2, 3, 4], int))
    assert refusal(parts) == f"Column 'x' {GAPS.format('2 of 8 rows')}"
    assert assert_same(pd.concat(parts, ignore_index=True), parts, YX, "boosted")


def test_categories_that_are_too_many_to_be_spread():
    texts = [[f"c{k}-{row}" for row in range(60)] for k in range(2)]
    parts = [pd.DataFrame({"y": [0, 1] * 30, "x": column}) for column in texts]
    sentence = (
        "Column 'x' holds more than 100 different categories: leave it out, make it numbers, or "
        "fit a DistributedBoostedScorer, which takes them as one feature."
    )
    assert refusal(parts) == sentence
    assert refusal([pd.concat(parts), parts[0]]) == sentence
    assert len(read(parts, YX, "boosted")[0].encoding.levels[0]) == 120
    alone = Summary.of(pd.concat(parts * 10), YX, native=False)
    assert len(alone.features[0].levels) == 101  # whoever sends all would send millions


def changed(name, *columns):
    """Parts in which one column is another."""
    frame = pd.DataFrame({"y": Y, "g": list("abab"), "w": 1.0, "x": X})
    return [frame.assign(**{name: column}) for column in columns]


YGWX = LearningColumns.of(["y", "g", "w", "x"], "y", "g", "w")
FILL = "fill in or drop such rows first."
ODD_KEYS = {
    "missing label": (
        changed("y", series([0, 1, None, 1], "Int64"), series([None, "1", np.nan, pd.NA])),
        f"Column 'y' has no value in 4 of 8 rows: {FILL}",
    ),
    "missing group": (
        changed("g", series(["a", None, "b", "b"], "str"), series([None] * 4)),
        f"Column 'g' has no value in 5 of 8 rows: {FILL}",
    ),
    "missing group, NaN of pyarrow": (
        changed("g", MISSING_NUMBERS["NaN of pyarrow"][0], series([1, 2, 1, 2])),
        f"Column 'g' has no value in 2 of 8 rows: {FILL}",
    ),
    "missing weight": (
        changed("w", series([1, None, 0, 1], "Int64"), series([np.nan, 1, 1, 1], float)),
        f"Column 'w' has no value in 2 of 8 rows: {FILL}",
    ),
    "infinite weight": (
        changed("w", [1.0, np.inf, 1.0, 1.0], [-np.inf, 1.0, 1.0, 1.0]),
        "Column 'w' is infinite in 2 of 8 rows: every weight must be finite.",
    ),
    "negative weight": (
        changed("w", [1.0, -1.0, 1.0, 1.0], [-0.5, 1.0, -2.0, 1.0]),
        "Column 'w' is negative in 3 of 8 rows: no weight may be below 0.",
    ),
    "weights that are texts": (
        changed("w", series(["1", "2", "3", "4"], "str"), [1, 2, 3, 4]),
        "Column 'w' must hold numbers, but it holds '1'.",
    ),
    "weights that are times": (
        changed("w", series(["2020-01-01"] * 4, "datetime64[s]"), [1, 2, 3, 4]),
        "Column 'w' must hold numbers, but it holds Timestamp('2020-01-01 00:00:00').",
    ),
    "weights that are huge": (
        changed("w", series([10**400] * 4), [1, 2, 3, 4]),
        "Column 'w' holds a number beyond all doubles.",
    ),
    "no weight": (
        changed("w", 0.0, series([0] * 4, int)),
        "Column 'w' is 0 in every row: there is nobody to learn from.",
    ),
    "one label": (
        changed("y", "yes", "yes"),
        "Column 'y' must hold two different labels, but it holds 'yes' only.",
    ),
    "one label with weight": (
        [part.assign(w=[1.0, 0.0] * 2) for part in changed("y", Y, Y)],
        "Column 'y' must hold two different labels, but all rows with a weight above 0 hold 0.",
    ),
    "three labels": (
        changed("y", [0, 1, 0, 1], [0, 2, 0, 1]),
        "Column 'y' must hold two different labels, but it holds 3 of them (0, 1, 2).",
    ),
    "a label that weighs nothing": (
        [part.assign(w=[1.0, 1.0, 1.0, 0.0]) for part in changed("y", [0, 1, 0, 2], Y)],
        "Column 'y' must hold two different labels, but it holds 3 of them (0, 1, 2).",
    ),
    "eight labels": (
        changed("y", [0, 1, 2, 3], [4, 5, 6, 7]),
        "Column 'y' must hold two different labels, but it holds 8 of them (0, 1, 2, 3, 4, …).",
    ),
    "labels of two types": (
        changed("y", 1, "yes"),
        "Column 'y' must hold two different labels of one type, but it holds 1 and 'yes'.",
    ),
    "a label that is a list": (
        changed("y", series([[0]] * 4), Y),
        "Column 'y' holds values of type list, which cannot be a label.",
    ),
    "a group that is a list": (
        changed("g", series([["a"], "b"] * 2), list("abab")),
        "Column 'g' holds values of type list, which cannot be a group.",
    ),
    "a group that is a list of pyarrow": (
        changed("g", series([[1]] * 4, pd.ArrowDtype(pa.list_(pa.int64()))), list("abab")),
        "Column 'g' holds values of type list, which cannot be a group.",
    ),
    "a tuple with a list in it": (
        changed("g", series([(1, [2])] * 4), list("abab")),
        "Column 'g' holds values of type tuple, which cannot be a group.",
    ),
    "a long group": (
        changed("g", series(["a", "b" * 2000] * 2, "str"), list("abab")),
        f"Column 'g' holds a text of 2,000 characters ('{'b' * 59}…), and a group has at most "
        "1,000.",
    ),
    "a NUL": (
        changed("g", series(["a", "b\0"] * 2), list("abab")),
        "Column 'g' holds a text with a NUL character ('b\\x00'), which no group may have.",
    ),
    "a part without a column": (
        [changed("y", Y)[0], changed("y", Y)[0].drop(columns="g")],
        "A part of the frame has no column 'g'.",
    ),
}


@pytest.mark.parametrize(("parts", "sentence"), ODD_KEYS.values(), ids=[*ODD_KEYS])
def test_labels_groups_and_weights_that_are_refused(parts, sentence):
    assert refusal(parts, YGWX) == sentence


def test_a_frame_of_one_row_or_none():
    frame = changed("y", Y)[0]
    assert refusal([frame[:0], frame[:0]], YGWX) == "The frame has no rows."
    assert refusal([], YGWX) == "The frame has no rows."
    one = frame[:1].assign(g=None)
    assert refusal([one, frame[:0]], YGWX) == f"Column 'g' has no value in the only row: {FILL}"


@pytest.mark.parametrize("pieces", [1, 4])
def test_an_identifier_is_no_group_and_no_label(pieces):
    """Whether a part holds more values than groups may have, or only all parts together."""
    n = 1200
    frame = pd.DataFrame({"y": np.arange(n) % 2, "g": [f"p{k}" for k in range(n)], "x": 1.0})
    parts = [frame.iloc[k::pieces] for k in range(pieces)]
    assert refusal(parts, YGX) == (
        "Column 'g' holds more than 1,000 different values, too many to be groups: is it an "
        "identifier?"
    )
    assert bool(Summary.of(parts[0], YGX, native=True).error) == (pieces == 1)  # not sent about
    swapped = LearningColumns.of(list(frame), "g", None, features=["x"])
    assert refusal(parts, swapped) == (
        "Column 'g' must hold two different labels, but it holds more than 1,000."
    )


ODD_NAMES = ["<script>", "Größe 🙂", "", "a`b.c", "two\nlines", "x" * 200, "'", "%s {x}  y of X"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names(name):
    columns = LearningColumns.of(["y", name], "y", None)
    parts = [part.rename(columns={"x": name}) for part in in_parts(X, [1.0, np.inf, 2.0, 3.0])]
    assert refusal(parts, columns) == (
        f"Column {shown(name)} is infinite in 1 of 8 rows: every number must be finite."
    )
    dated = [part.assign(**{name: pd.Timestamp(0)}) for part in parts]
    assert refusal(dated, columns).startswith(f"Column {shown(name)} holds values of type Datetime")
    assert len(read(parts[:1], columns)[1][0]) == 4
    grouped = LearningColumns.of(["y", name, "z"], "y", name)
    parts = [part.assign(z=1.0).astype({name: object}) for part in parts]
    assert read(parts, grouped)[0].groups == (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, np.inf)


# ---------------------------------------------------------------------- which columns are what


NAMES = ["y", "g", "h", "w", "x", "z"]
ONCE = "a column is the label, a group, the weight or a feature, and only one of these."
ONE_OR_MORE = "group must be the name of a column or a list of such names"
ODD_COLUMNS = {
    "no such label": (
        dict(label="Y"),
        "There is no column 'Y'; the columns are 'y', 'g', 'h', 'w', 'x', 'z'.",
    ),
    "no such group": (dict(group=["g", "q"]), "There is no column 'q'; the columns are 'y', "),
    "no such weight": (dict(weight="q"), "There is no column 'q'; the columns are 'y', "),
    "no such feature": (dict(features=["x", "q"]), "There is no column 'q'; the columns are 'y', "),
    "label is a group": (dict(group=["g", "y"]), f"Column 'y' is named twice: {ONCE}"),
    "label is the weight": (dict(weight="y"), f"Column 'y' is named twice: {ONCE}"),
    "label is a feature": (dict(features=["x", "y"]), f"Column 'y' is named twice: {ONCE}"),
    "group is a feature": (dict(features=["x", "g"]), f"Column 'g' is named twice: {ONCE}"),
    "a feature twice": (
        dict(features=["x", "z", "x", "x"]),
        f"Column 'x' is named 3 times: {ONCE}",
    ),
    "no features": (dict(features=[]), "There is no column left to be a feature."),
    "nothing left": (dict(names=["y", "g"]), "There is no column left to be a feature."),
    "two columns alike": (
        dict(names=["y", "g", "x", "x"]),
        "There are several columns 'x': name each differently.",
    ),
    "a number for a name": (
        dict(names=["y", "g", 0, "x"]),
        "The name of column 0 is not a text: rename the columns, or say which are features.",
    ),
}
ODD_TYPES = {
    "label": (dict(label=None), "label must be the name of a column, not None."),
    "label of values": (
        dict(label=pd.Series([0, 1])),
        "label must be the name of a column, not a value of type Series.",
    ),
    "label of names": (dict(label=["y"]), "label must be the name of a column, not ['y']."),
    "weight": (dict(weight=1.0), "weight must be the name of a column, not 1.0."),
    "group": (dict(group=5), f"{ONE_OR_MORE}, not 5."),
    "groups": (dict(group=["g", 5]), f"{ONE_OR_MORE}, and 5 is not a name."),
    "features": (
        dict(features="x"),
        "features must be a list of names of columns, not 'x'.",
    ),
    "features without order": (
        dict(features={"x"}),
        "features must be a list of names of columns, not {'x'}.",
    ),
    "a feature": (
        dict(features=["x", None]),
        "features must be a list of names of columns, and None is not a name.",
    ),
}


def chosen(**given):
    return LearningColumns.of(**{"names": NAMES, "label": "y", "group": "g", **given})


@pytest.mark.parametrize(("given", "sentence"), ODD_COLUMNS.values(), ids=[*ODD_COLUMNS])
def test_columns_that_are_refused(given, sentence):
    with pytest.raises(ValueError, match=rf"^{re.escape(sentence)}") as caught:
        chosen(**given)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(("given", "sentence"), ODD_TYPES.values(), ids=[*ODD_TYPES])
def test_columns_that_are_no_names(given, sentence):
    with pytest.raises(TypeError, match=rf"^{re.escape(sentence)}$"):
        chosen(**given)


def test_which_columns_are_what():
    assert chosen(group=None).features == ("g", "h", "w", "x", "z")
    assert chosen(weight="w").features == ("h", "x", "z")
    assert chosen(group=("h", "g"), weight="w").names == ["y", "h", "g", "w", "x", "z"]
    for features in (["z", "x"], ("z", "x"), np.array(["z", "x"]), pd.Index(["z", "x"])):
        assert chosen(features=features).features == ("z", "x")
    assert chosen(names=["y", "g", "x", 0, 0], features=["x"]).features == ("x",)
    many = [f"c{k}" for k in range(30)]
    with pytest.raises(ValueError, match=r"'c19', …\.$"):
        LearningColumns.of(many, "y", None)


# ---------------------------------------------------------------------- many rows


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["whole", "texts", "objects", "categories"])
def test_a_million_rows_take_a_moment(kind):
    n = 1_000_000
    rng = np.random.default_rng(0)
    values = rng.integers(0, 900, n)
    groups = {
        "whole": lambda: values,
        "texts": lambda: pd.Series([f"g{k}" for k in range(900)])[values].array,
        "objects": lambda: np.array([f"g{k}" for k in range(900)], dtype=object)[values],
        "categories": lambda: pd.Categorical.from_codes(values, [f"g{k}" for k in range(900)]),
    }
    frame = pd.DataFrame({"y": rng.integers(0, 2, n), "g": groups[kind](), "x": rng.random(n)})
    if kind == "objects":
        frame = frame.astype({"g": object})
    summary = Summary.of(frame, YGX, native=True)
    reading = FrameReading.of([summary], YGX, native=True, missing=True)
    start = time.process_time()
    cells = reading._cells(frame)
    assert time.process_time() - start < 1.0  # a tenth of it where nobody else is at work
    assert len(reading.groups) == 900
    assert np.array_equal(cells >= 900, frame["y"] == 1)
