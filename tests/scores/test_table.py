import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.making import draw

from evenscore import GroupedScores
from evenscore.scores.labels import encode

COLUMNS = ("score", "cell", "weight", "count", "weight_squared")


def assert_same(one, two):
    assert one.groups == two.groups
    for name in COLUMNS:
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-13, err_msg=name)


def test_totals_by_hand(sample):
    rows, scores = sample
    for label in (0, 1):
        for k, group in enumerate(scores.groups):
            assert scores.cell_weights[label, k] == pytest.approx(rows.mass(label, group))
            weights = rows.pick(label, group)[1]
            assert scores.cell_counts[label, k] == len(weights)
            effective = sum(weights) ** 2 / sum(w * w for w in weights)
            assert scores.effective_sizes[label, k] == pytest.approx(effective)
    assert scores.prevalence == pytest.approx(rows.mass(1) / rows.mass())
    for k, group in enumerate(scores.groups):
        share = rows.mass(1, group) / rows.mass(None, group)
        assert scores.prevalence_by_group[k] == pytest.approx(share)
        assert scores.group_share[k] == pytest.approx(rows.mass(None, group) / rows.mass())


def test_rows_are_distinct_and_sorted(sample):
    _, scores = sample
    keys = list(zip(scores.score.tolist(), scores.cell.tolist(), strict=True))
    assert keys == sorted(set(keys))


@given(st.integers(0, 10**6), st.sampled_from([None, "integer", "real"]), st.integers(1, 119))
def test_merge_is_the_table_of_the_union(seed, weights, cut):
    y, score, group, weight = draw(seed, n_groups=3, weights=weights)

    def make(part):
        return GroupedScores.from_arrays(
            y[part],
            score[part],
            sensitive_features=group[part],
            pos_label=1,
            sample_weight=None if weight is None else weight[part],
        )

    whole = make(slice(None))
    assert_same(make(slice(0, cut)).merge(make(slice(cut, None))), whole)
    assert_same(make(slice(cut, None)).merge(make(slice(0, cut))), whole)


@given(st.integers(0, 10**6))
def test_integer_weights_are_repetitions(seed):
    y, score, group, weight = draw(seed, weights="integer")
    times = weight.astype(int)
    weighted = GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)
    repeated = GroupedScores.from_arrays(
        np.repeat(y, times), np.repeat(score, times), sensitive_features=np.repeat(group, times)
    )
    np.testing.assert_array_equal(weighted.score, repeated.score)
    np.testing.assert_array_equal(weighted.weight, repeated.weight)
    assert weighted.cell_counts.sum() == len(y)
    assert repeated.cell_counts.sum() == times.sum()


def test_order_of_rows_does_not_matter():
    y, score, group, weight = draw(3, weights="real")
    shuffled = np.random.default_rng(0).permutation(len(y))
    assert_same(
        GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight),
        GroupedScores.from_arrays(
            y[shuffled],
            score[shuffled],
            sensitive_features=group[shuffled],
            sample_weight=weight[shuffled],
        ),
    )


@pytest.mark.parametrize(
    "convert",
    [
        list,
        np.asarray,
        lambda v: np.asarray(v, dtype=object),
        pd.Series,
        lambda v: pd.Series(v).convert_dtypes(),
        lambda v: pd.Series(v, index=np.arange(len(v))[::-1]),
        pl.Series,
        pa.array,
        lambda v: pa.chunked_array([v]),
        lambda v: pd.DataFrame({"only": v}),
        lambda v: np.asarray(v)[:, None],
    ],
    ids=[
        "list",
        "numpy",
        "object",
        "pandas",
        "pandas-nullable",
        "pandas-index",
        "polars",
        "arrow",
        "arrow-chunked",
        "one-column-frame",
        "column-vector",
    ],
)
def test_every_kind_of_column(convert):
    y, score, group, weight = draw(5, weights="real")
    names = np.array(["women", "men"])[group]
    expected = GroupedScores.from_arrays(y, score, sensitive_features=names, sample_weight=weight)
    columns = [convert(values.tolist()) for values in (y, score, names, weight)]
    found = GroupedScores.from_arrays(
        columns[0], columns[1], sensitive_features=columns[2], sample_weight=columns[3]
    )
    assert_same(found, expected)
    assert found.groups == ("men", "women")


def test_categorical_and_boolean_columns():
    y, score, group, _ = draw(5)
    names = np.array(["women", "men"])[group]
    expected = GroupedScores.from_arrays(y, score, sensitive_features=names)
    for column in (pd.Categorical(names), pd.Series(names, dtype="category")):
        assert_same(GroupedScores.from_arrays(y, score, sensitive_features=column), expected)
    flags = GroupedScores.from_arrays(y == 1, score, sensitive_features=group == 1)
    assert flags.groups == (False, True)
    np.testing.assert_array_equal(flags.cell_weights, expected.cell_weights[:, ::-1])


@pytest.mark.parametrize("kind", ["numpy", "pandas", "polars", "arrow", "dict", "rows"])
def test_intersections(kind):
    sex = ["f", "m", "f", "m", "f", "m"]
    age = [20, 20, 60, 60, 20, 20]
    both = {
        "numpy": lambda: np.array(list(zip(sex, age, strict=True)), dtype=object),
        "pandas": lambda: pd.DataFrame({"sex": sex, "age": age}),
        "polars": lambda: pl.DataFrame({"sex": sex, "age": age}),
        "arrow": lambda: pa.table({"sex": sex, "age": age}),
        "dict": lambda: {"sex": sex, "age": age},
        "rows": lambda: [[s, a] for s, a in zip(sex, age, strict=True)],
    }[kind]()
    scores = GroupedScores.from_arrays([0, 1, 0, 1, 0, 1], np.arange(6), sensitive_features=both)
    assert scores.groups == (("f", 20), ("f", 60), ("m", 20), ("m", 60))
    np.testing.assert_array_equal(scores.cell_weights, [[2, 1, 0, 0], [0, 0, 2, 1]])
    assert scores.cell_name(0) == "negatives of f × 20"


def test_many_columns_do_not_overflow():
    columns = {"a": [0, 0, 1, 1], **{f"c{j}": [0, 1, 0, 1] for j in range(64)}}
    scores = GroupedScores.from_arrays([0, 1, 0, 1], range(4), sensitive_features=columns)
    assert scores.n_groups == 4
    assert all(len(group) == 65 for group in scores.groups)


def test_a_list_of_series_is_a_list_of_columns():
    frame = pd.DataFrame({"sex": list("fmfm"), "age": [1, 1, 2, 2]})
    one = GroupedScores.from_arrays(
        [0, 1, 0, 1], range(4), sensitive_features=[frame.sex, frame.age]
    )
    two = GroupedScores.from_arrays([0, 1, 0, 1], range(4), sensitive_features=frame)
    assert_same(one, two)


@pytest.mark.parametrize("library", [pd.DataFrame, lambda d: pd.DataFrame(d).convert_dtypes()])
def test_frames_with_numbers_for_names(library):
    frame = library({0: list("aabb"), 1: list("xyxy"), 2: [0, 1, 0, 1], 3: [1.0, 2, 2, 3]})
    scores = GroupedScores.from_arrays(frame[[2]], frame[3], sensitive_features=frame[[0]])
    assert scores.groups == ("a", "b")
    both = GroupedScores.from_table(frame, score=3, label=2, group=[0, 1])
    assert both.groups == (("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"))
    assert_same(GroupedScores.from_table(frame, score=3, label=2, group=0), scores)


@pytest.mark.parametrize("dtype", [">i4", ">i2", "<i8", "u1", ">f4", "f2"])
def test_integers_and_floats_of_any_kind(dtype):
    y, group = np.array([0, 1, 0, 1], dtype=dtype), np.array([5, 5, 7, 7], dtype=dtype)
    scores = GroupedScores.from_arrays(y, np.arange(4, dtype=dtype), sensitive_features=group)
    assert scores.groups == (5, 7)
    np.testing.assert_array_equal(scores.cell_weights, 1.0)


def test_labels_and_their_positive():
    score, group = [1, 2, 3, 4], ["a", "b", "a", "b"]

    def positives(y, pos_label=None):
        scores = GroupedScores.from_arrays(y, score, sensitive_features=group, pos_label=pos_label)
        return scores.cell_weights[1].tolist()

    assert positives([0, 1, 1, 0]) == [1, 1]
    assert positives([-1, 1, 1, -1]) == [1, 1]
    assert positives([False, True, True, True]) == [1, 2]
    assert positives(["no", "yes", "yes", "yes"], "yes") == [1, 2]
    assert positives(["no", "yes", "yes", "yes"], "no") == [1, 0]
    assert positives([1, 2, 2, 1], 2) == [1, 1]
    assert positives([0, 1, 1, 0], 0) == [1, 1]
    assert positives(["no"] * 4, "yes") == [0, 0]


def test_group_order_is_explicit():
    args = dict(y_true=[0, 1, 1], y_score=[1, 2, 3], sensitive_features=["x", "y", "x"])
    assert GroupedScores.from_arrays(**args).groups == ("x", "y")
    ordered = GroupedScores.from_arrays(**args, group_order=["y", "z", "x"])
    assert ordered.groups == ("y", "z", "x")
    np.testing.assert_array_equal(ordered.cell_weights, [[0, 0, 1], [1, 0, 1]])
    assert ordered.merge(GroupedScores.from_arrays(**args)).groups == ("y", "z", "x")


def test_odd_group_names_survive():
    names = ["<script>alert(1)</script>", "Ω женщины 女", "", " a ", "\n"]
    scores = GroupedScores.from_arrays([0, 1] * 5, range(10), sensitive_features=names * 2)
    assert set(scores.groups) == set(names)
    mixed = GroupedScores.from_arrays([0, 1, 1], [1, 2, 3], sensitive_features=["1", 1, 2.5])
    assert set(mixed.groups) == {"1", 1, 2.5}


def test_weight_zero_counts_for_nothing_but_its_group_stays():
    scores = GroupedScores.from_arrays(
        [0, 1, 0], [1, 2, 3], sensitive_features=["a", "a", "b"], sample_weight=[1, 2, 0]
    )
    assert scores.groups == ("a", "b")
    np.testing.assert_array_equal(scores.cell_weights, [[1, 0], [2, 0]])
    assert scores.empty_cells() == ["negatives of b", "positives of b"]


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_aggregated_table_round_trip(frame):
    y, score, group, weight = draw(11, weights="real", n_groups=3)
    names = np.array(["a", "b", "c"])[group]
    scores = GroupedScores.from_arrays(y, score, sensitive_features=names, sample_weight=weight)
    table = frame({key: column.tolist() for key, column in scores.to_table().items()})
    read = GroupedScores.from_table(
        table, weight="weight", count="count", weight_squared="weight_squared"
    )
    assert_same(read, scores)


def test_aggregated_table_defaults():
    table = {"s": [1, 1, 2], "y": ["n", "p", "p"], "g": ["a", "a", "b"], "n": [4, 2, 3]}
    names = dict(score="s", label="y", group="g", pos_label="p")
    counted = GroupedScores.from_table(table, **names, count="n")
    np.testing.assert_array_equal(counted.weight_squared, [4, 2, 3])
    weighted = GroupedScores.from_table({**table, "w": [8.0, 1.0, 3.0]}, **names, weight="w")
    np.testing.assert_array_equal(weighted.count, [1, 1, 1])
    np.testing.assert_array_equal(weighted.weight_squared, [64, 1, 9])
    both = GroupedScores.from_table({**table, "w": [8.0, 1.0, 3.0]}, **names, weight="w", count="n")
    np.testing.assert_array_equal(both.weight_squared, [16, 0.5, 3])


def test_columns_may_be_called_anything():
    table = {"score": [0.1, 0.2], "label": [0, 1], "count": ["a", "b"], "weight": [1, 2]}
    scores = GroupedScores.from_table(table, group="count", count="weight")
    assert scores.groups == ("a", "b")


def test_round_trip_keeps_the_order_of_groups_and_the_empty_ones():
    scores = GroupedScores.from_arrays(
        [0, 1], [1, 2], sensitive_features=["b", "a"], group_order=["b", "a", "c"]
    )
    again = GroupedScores.from_table(scores.to_table(), group_order=scores.groups)
    assert_same(again, scores)


def test_table_is_read_only():
    scores = GroupedScores.from_arrays([0, 1], [1, 2], sensitive_features=["a", "b"])
    with pytest.raises(ValueError, match="read-only"):
        scores.score[0] = 3.0


def test_repr_is_short():
    scores = GroupedScores.from_arrays([0, 1] * 10, range(20), sensitive_features=range(20))
    assert len(repr(scores)) < 100


@pytest.mark.parametrize(
    "values",
    [
        np.array([3, -2, 3, 7]),
        np.array([-128, 127, 5], dtype=np.int8),
        np.array([2**40, -(2**40), 2**40]),
        np.array([250, 3, 250], dtype=np.uint8),
        np.array([0.5, -1.5, 0.5]),
        np.array(["late"] * 1500 + ["new", "newer", "late"]),
        np.array([f"label {i % 200}" for i in range(3000)]),
        np.array([b"x", b"y", b"x"]),
    ],
    ids=lambda v: f"{v.dtype}-{len(v)}",
)
def test_encoding_finds_sorted_labels(values):
    codes, labels = encode(values, "column")
    expected, inverse = np.unique(values, return_inverse=True)
    assert labels == expected.tolist()
    np.testing.assert_array_equal(codes, inverse)


def test_dates_are_shown_as_text():
    days = np.array(["2020-01-02", "2019-01-01", "2020-01-02"], dtype="datetime64[ns]")
    codes, labels = encode(days, "column")
    assert labels == ["2019-01-01T00:00:00.000000000", "2020-01-02T00:00:00.000000000"]
    assert codes.tolist() == [1, 0, 1]


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weights", [None, "real"])
def test_the_mirror_image_is_the_table_of_negated_scores(weights, clustered):
    y, score, group, weight = draw(3, n=200, n_groups=3, levels=4, weights=weights)
    columns = dict(
        sensitive_features=group,
        sample_weight=weight,
        cluster=np.arange(len(y)) % 40 if clustered else None,
    )
    mirrored = GroupedScores.from_arrays(y, score, **columns).mirrored
    direct = GroupedScores.from_arrays(y, -score, **columns)
    np.testing.assert_array_equal(mirrored.score, direct.score)
    np.testing.assert_array_equal(mirrored.cell, direct.cell)
    for name in ("weight", "count", "weight_squared"):
        np.testing.assert_allclose(getattr(mirrored, name), getattr(direct, name))
    np.testing.assert_allclose(mirrored.independent_sizes, direct.independent_sizes)
    twice = mirrored.mirrored
    np.testing.assert_array_equal(twice.score, np.sort(-direct.score))
