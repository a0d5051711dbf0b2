"""Every kind of bad input gets one clear sentence that says what is wrong and where."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from evenscore import GroupedScores, metrics
from evenscore.scores.thresholds import fair_thresholds, rates_at

EDGE = 2**53
WIDE = [EDGE, EDGE + 1, 2, 3, 4, 5]
GOOD = dict(
    y_true=[0, 1, 0, 1, 0, 1],
    y_score=[0.1, 0.6, 0.3, 0.8, 0.4, 0.5],
    sensitive_features=["a", "a", "b", "b", "a", "b"],
)

CASES = {
    # name: what is changed, and what the message names
    "NaN score": (dict(y_score=[0.1, np.nan, 0.3, 0.8, 0.4, 0.5]), "y_score .*row 1"),
    "several NaN": (
        dict(y_score=[0.1, np.nan, 0.3, np.nan, 0.4, 0.5]),
        r"y_score .*row 1 \(2 such",
    ),
    "both infinities": (
        dict(y_score=[0.1, -np.inf, 0.3, np.inf, 0.4, 0.5]),
        "y_score is infinite at row 1",
    ),
    "missing score": (dict(y_score=[0.1, None, 0.3, 0.8, 0.4, 0.5]), "y_score .*row 1"),
    "missing polars score": (
        dict(y_score=pl.Series([0.1, None, 0.3, 0.8, 0.4, 0.5])),
        "y_score .*row 1",
    ),
    "missing nullable score": (
        dict(y_score=pd.Series([1, None, 3, 8, 4, 5], dtype="Int64")),
        "y_score .*row 1",
    ),
    "pandas text score": (
        dict(y_score=pd.Series(["0.1", "0.2", "0.3", "0.8", "0.4", "0.5"])),
        "y_score .*numbers",
    ),
    **{
        f"beyond doubles: {kind}": (dict(y_score=values), rf"^y_score .*2\^53 at row {row}")
        for kind, row, values in [
            ("int beside floats", 1, [0.5, EDGE + 1, 2, 3, 4, 5]),
            ("int64", 1, np.array(WIDE)),
            ("uint64", 1, np.array(WIDE, dtype=np.uint64)),
            ("NumPy's objects", 1, np.array([*map(np.int64, WIDE)], dtype=object)),
            ("Decimal", 1, [*map(Decimal, WIDE)]),
            ("huge Fraction", 1, [Fraction(1), Fraction(10**400), *map(Fraction, [1] * 4)]),
            ("huge int", 1, [1, -(10**400), 2, 3, 4, 5]),
            ("objects of 64 bits and more", 0, [2**64 + i for i in range(6)]),
            ("polars Int128", 1, pl.Series(WIDE, dtype=pl.Int128)),
            ("polars Decimal", 1, pl.Series([*map(Decimal, WIDE)])),
            ("pyarrow", 1, pa.chunked_array([pa.array([*map(Decimal, WIDE)])])),
        ]
    },
    "mixed score": (dict(y_score=[0.1, "high", 0.3, 0.8, 0.4, 0.5]), "y_score .*row 1 is 'high'"),
    "complex score": (dict(y_score=np.array([1j] * 6)), "y_score .*numbers"),
    "two columns of scores": (dict(y_score=np.zeros((6, 2))), "y_score .*shape"),
    "score is a number": (dict(y_score=0.5), "y_score .*float"),
    "ragged score": (dict(y_score=[[1], [1, 2], [3], [4], [5], [6]]), "y_score"),
    "masked score": (dict(y_score=np.ma.masked_less(np.arange(6.0), 1)), "y_score .*masked"),
    "short score": (dict(y_score=[0.1, 0.2]), "y_true has 6 rows, y_score has 2 rows"),
    "short weights": (dict(sample_weight=[1, 2]), "sample_weight has 2 rows"),
    "only positives": (dict(y_true=[1] * 6), "no negatives"),
    "only negatives": (dict(y_true=[0] * 6), "no positives"),
    "three labels": (dict(y_true=[0, 1, 2, 1, 0, 1]), r"3 of them \(0, 1, 2\)"),
    "text labels": (dict(y_true=["no", "yes"] * 3), "'no' and 'yes'.*pos_label"),
    "labels 1 and 2": (dict(y_true=[1, 2] * 3), "pos_label"),
    "unknown positive": (
        dict(y_true=["no", "yes"] * 3, pos_label="Yes"),
        "pos_label 'Yes'.*'no' and 'yes'",
    ),
    "one text label": (dict(y_true=["yes"] * 6), "y_true .*'yes'"),
    "mistyped positive of one class": (dict(y_true=["yes"] * 6, pos_label="Yes"), "pos_label"),
    "missing label": (dict(y_true=[0, 1, None, 1, 0, 1]), "y_true .*row 2"),
    "NaN label": (dict(y_true=[0, 1, np.nan, 1, 0, 1]), "y_true .*row 2"),
    "one group": (dict(sensitive_features=["a"] * 6), "only 'a'"),
    "missing group": (
        dict(sensitive_features=["a", None, "b", "b", "a", "b"]),
        "sensitive_features .*row 1",
    ),
    "missing category": (
        dict(sensitive_features=pd.Categorical(["a", None, "b", "b", "a", "b"])),
        "sensitive_features .*row 1",
    ),
    "missing in one of two columns": (
        dict(sensitive_features={"sex": list("ababab"), "age": [1, 1, 2, None, 2, 1]}),
        r"sensitive_features\['age'\] .*row 3",
    ),
    "missing text of NumPy's own type": (
        dict(
            sensitive_features=np.array(
                ["a", np.nan, "b", "b", "a", "b"], dtype=np.dtypes.StringDType(na_object=np.nan)
            )
        ),
        "sensitive_features .*row 1",
    ),
    "missing date": (
        dict(sensitive_features=np.array([np.datetime64("NaT"), *"abbab"], dtype=object)),
        "sensitive_features .*row 0",
    ),
    "missing decimal": (
        dict(sensitive_features=[Decimal("NaN"), *"abbab"]),
        "sensitive_features .*row 0",
    ),
    "missing decimal that signals": (
        dict(y_score=[Decimal("sNaN"), 1, 2, 3, 4, 5]),
        "y_score .*row 0",
    ),
    "masked groups": (
        dict(sensitive_features=np.ma.masked_array([[1, 2]] * 6, mask=[[0, 0]] * 5 + [[0, 1]])),
        "sensitive_features .*masked",
    ),
    "two columns of one name": (
        dict(sensitive_features=pd.DataFrame([[1, 2]] * 6, columns=["a", "a"])),
        "sensitive_features .*'a'",
    ),
    "long group": (
        dict(sensitive_features=["a", "b" * 1001, "b", "b", "a", "b"]),
        "sensitive_features .*1,001.*row 1",
    ),
    "group with a NUL": (
        dict(sensitive_features=["f", "m", "f\0", "m", "f", "m"]),
        "sensitive_features .*NUL.*row 2",
    ),
    "a short column of two": (
        dict(sensitive_features={"sex": list("ababab"), "age": [1, 2]}),
        r"sensitive_features\['age'\] has 2 rows",
    ),
    "unhashable group": (
        dict(sensitive_features=np.array([{}, "b", "b", "b", "a", "a"], dtype=object)),
        "row 0",
    ),
    "empty cell": (dict(y_true=[0, 0, 0, 1, 0, 1]), "positives of a"),
    "empty cell with <script>": (
        dict(
            y_true=[0, 0, 0, 1, 0, 1],
            sensitive_features=["<script>", "<script>", "b", "b", "b", "b"],
        ),
        "positives of <script>",
    ),
    "group order too short": (dict(group_order=["a"]), "'b'.*group_order"),
    "group order is text": (dict(group_order="ab"), "group_order"),
    "group order is a number": (dict(group_order=3), "group_order"),
    "group order repeats": (dict(group_order=["a", "a", "b"]), "twice"),
    "negative weight": (dict(sample_weight=[1, 1, -2, 1, 1, 1]), r"sample_weight .*row 2 \(-2\)"),
    "NaN weight": (dict(sample_weight=[1, 1, np.nan, 1, 1, 1]), "sample_weight .*row 2"),
    "infinite weight": (dict(sample_weight=[1, 1, np.inf, 1, 1, 1]), "sample_weight is infinite"),
    "huge weight": (dict(sample_weight=[1, 1, 1e200, 1, 1, 1]), "range of double"),
    "tiny weight": (dict(sample_weight=[1, 1, 1e-200, 1, 1, 1]), "range of double"),
    "zero weights": (dict(sample_weight=[0] * 6), "no negatives"),
    "weights empty a cell": (dict(sample_weight=[1, 0, 1, 1, 1, 1]), "positives of a"),
    "nothing": (dict(y_true=[], y_score=[], sensitive_features=[]), "none"),
    "unknown constraint": (dict(constraint="fairness"), "'fairness'"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_named_in_one_sentence(case):
    changes, message = CASES[case]
    with pytest.raises(ValueError, match=message) as caught:
        metrics.auc_gap(**{**GOOD, **changes})
    told = str(caught.value)
    assert "\n" not in told
    assert told.endswith(".")
    assert len(told) < 300


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        (dict(y_score=[Decimal("0.1"), 0.6, 0.3, 0.8, 0.4, 0.5]), {}),
        (dict(y_score=np.array(GOOD["y_score"], dtype=object)), {}),
        (dict(y_score=np.array(GOOD["y_score"])[::-1][::-1]), {}),
        (dict(y_score=np.array(GOOD["y_score"], dtype=">f8")), {}),
        (dict(sample_weight=[7e100] * 6), {}),
        (dict(sample_weight=[1e-100] * 6), {}),
        (dict(y_score=[1e308 * v for v in GOOD["y_score"]]), {}),
        (dict(y_score=[5e-324 * round(10 * v) for v in GOOD["y_score"]]), {}),
    ],
    ids=["decimal", "object", "strided", "big-endian", "heavy", "light", "huge", "subnormal"],
)
def test_odd_but_good_input_changes_nothing(changes, same):
    found = metrics.auc_gap(**{**GOOD, **changes})
    assert found == pytest.approx(metrics.auc_gap(**{**GOOD, **same}))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="no floats wider than doubles")
@pytest.mark.parametrize("kind", [np.longdouble, object])
def test_wider_floats(kind):
    wide = [np.longdouble(EDGE), np.longdouble(EDGE) + 1, *map(np.longdouble, [1, 2, 3, 4])]
    values = np.array(wide, dtype=kind)
    for changes in (dict(y_score=values), dict(sample_weight=values)):
        with pytest.raises(ValueError, match=r"2\^53 at row 1"):
            metrics.auc_gap(**{**GOOD, **changes})
    for value in (np.longdouble(1e300), np.longdouble(0.1) / 3):
        values[1] = value
        assert np.isfinite(metrics.auc_gap(**{**GOOD, "y_score": values}))
    values[1] = np.longdouble("1e4000")
    with pytest.raises(ValueError, match=r"2\^53 at row 1"):
        metrics.auc_gap(**{**GOOD, "y_score": values})
    values[1] = np.longdouble("inf")
    with pytest.raises(ValueError, match="y_score is infinite at row 1"):
        metrics.auc_gap(**{**GOOD, "y_score": values})


def test_large_integers_are_labels_that_stay_apart():
    groups = [2**63, 2**63, -1, -1, 2**63 + 1, 2**63 + 1]
    for given in (groups, np.array(groups, dtype=object)):
        scores = GroupedScores.from_arrays(**{**GOOD, "sensitive_features": given})
        assert scores.groups == (-1, 2**63, 2**63 + 1)
    wide = pl.Series([1, 1, 2, 2, 1, 2], dtype=pl.Int128)
    scores = GroupedScores.from_arrays(**{**GOOD, "sensitive_features": wide})
    assert scores.groups == (1, 2)


def test_input_is_left_alone():
    y, s, g = np.array([0, 1, 0, 1]), np.array([3.0, 1.0, 2.0, -0.0]), np.array(list("abba"))
    w = np.array([1.0, 2.0, 3.0, 4.0])
    copies = [a.copy() for a in (y, s, g, w)]
    metrics.auc_gap(y, s, sensitive_features=g, sample_weight=w)
    for array, copy in zip((y, s, g, w), copies, strict=True):
        np.testing.assert_array_equal(array, copy)
        assert array.flags.writeable


def test_samples_of_auc():
    with pytest.raises(ValueError, match="target is empty"):
        metrics.auc([1.0], [])
    with pytest.raises(ValueError, match="reference is NaN at row 0"):
        metrics.auc([np.nan], [1.0])
    with pytest.raises(ValueError, match=r"reference_weight has 1 row\."):
        metrics.auc([1.0, 2.0], [1.0], reference_weight=[1.0])


def test_tables():
    table = {"score": [1, 2], "label": [0, 1], "group": ["a", "b"], "n": [1, -1]}
    with pytest.raises(ValueError, match=r"'scores'.*'score', 'label'"):
        GroupedScores.from_table(table, score="scores")
    with pytest.raises(ValueError, match="n is negative at row 1"):
        GroupedScores.from_table(table, count="n")
    with pytest.raises(ValueError, match="score has 2 rows, label has 3"):
        GroupedScores.from_table({**table, "label": [0, 1, 1]})
    with pytest.raises(ValueError, match=r"n has 1 row\."):
        GroupedScores.from_table({**table, "n": [1]}, weight="n")
    with pytest.raises(ValueError, match=r"n .*row 1 is 0\.5"):
        GroupedScores.from_table({**table, "n": [1, 0.5]}, count="n")
    with pytest.raises(ValueError, match="n is 0 at row 1"):
        GroupedScores.from_table({**table, "n": [1, 0], "w": [1, 1]}, count="n", weight="w")
    squares = {**table, "n": [2, 2], "w": [2.0, 2.0], "q": [2.0, 9.0]}
    with pytest.raises(ValueError, match="q is 9 at row 1"):
        GroupedScores.from_table(squares, count="n", weight="w", weight_squared="q")
    with pytest.raises(ValueError, match="at least one column"):
        GroupedScores.from_table(table, group=[])
    for not_a_table in ([1, 2], None, np.zeros((2, 2)), pl.LazyFrame(table)):
        with pytest.raises(ValueError, match=r"^table "):
            GroupedScores.from_table(not_a_table)
    with pytest.raises(TypeError, match="GroupedScores, not DataFrame"):
        GroupedScores.from_table(table).merge(pd.DataFrame(table))


@pytest.mark.parametrize(
    "arguments",
    [
        dict(interval=(0.1, 0.2, 0.3)),
        dict(interval=0.3),
        dict(interval="x"),
        dict(rate="x"),
        dict(rate=2),
        dict(rate=0.5, summary="max"),
        dict(rate=0.5, on="women"),
    ],
)
def test_roc_gap_arguments(arguments):
    with pytest.raises(ValueError, match=r"must|is two numbers") as caught:
        metrics.roc_gap(**GOOD, **arguments)
    assert "\n" not in str(caught.value)


def test_thresholds_arguments():
    scores = GroupedScores.from_arrays(**GOOD)
    with pytest.raises(ValueError, match=r"thresholds .*'x'"):
        rates_at(scores, "x")
    with pytest.raises(ValueError, match="groups must be a list"):
        fair_thresholds(scores, "fpr", "ab")
    with pytest.raises(TypeError, match="Expected a GroupedScores"):
        fair_thresholds([1, 2], "fpr")
    for tolerance in ("x", -0.1, 10**400):
        with pytest.raises(ValueError, match="tolerance"):
            fair_thresholds(scores, "fpr", tolerance=tolerance)


def test_an_empty_table_has_no_prevalence():
    scores = GroupedScores.from_arrays([], [], sensitive_features=[])
    assert np.isnan(scores.prevalence)
    assert scores.merge(GroupedScores.from_arrays(**GOOD)).prevalence == 0.5


@pytest.mark.parametrize("name", [np.array(0.3), ["x"], {}, ([],)])
def test_a_name_of_a_column_that_cannot_be_one(name):
    table = {"score": [1, 2], "label": [0, 1], "group": ["a", "b"]}
    with pytest.raises(ValueError, match="'score', 'label', 'group'"):
        GroupedScores.from_table(table, weight=name)


@pytest.mark.parametrize(
    ("library", "weight"),
    [(pd.DataFrame, 1e150), (pl.DataFrame, 1e300), (pa.table, 1e-150), (pd.DataFrame, 1e-310)],
)
def test_weights_of_a_frame_out_of_range(library, weight):
    frame = library({"s": [1.0, 2.0], "y": [0, 1], "g": ["a", "b"], "w": [weight, 2 * weight]})
    with pytest.raises(ValueError, match="'w'"):
        GroupedScores.from_frame(frame, score="s", label="y", group="g", weight="w")


def test_names_in_a_frame_that_are_none():
    frame = pd.DataFrame({"s": [1.0, 2.0], "y": [0, 1], "g": ["a", "b"]})
    with pytest.raises(ValueError, match="no column 0"):
        GroupedScores.from_frame(frame, score="s", label="y", group="g", weight=0)
    with pytest.raises(TypeError, match=r"^group "):
        GroupedScores.from_frame(frame, score="s", label="y", group=1j)


def test_weights_whose_sum_is_no_double():
    with pytest.raises(ValueError, match="range of double"):
        GroupedScores.from_arrays(**GOOD, sample_weight=[1e308] * 6)
