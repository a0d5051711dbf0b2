import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.making import draw, table_of

from evenscore import GroupedScores
from evenscore.scores.labels import encode
from evenscore.scores.stored import restored_group

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
    mixed = scores.mixture(scores.cell_weights.reshape(-1) / scores.cell_weights.sum())
    effective = scores.cell_weights.sum() ** 2 / scores.cell_squares.sum()
    assert mixed.effective_size == pytest.approx(effective)
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
    columns = draw(seed, n_groups=3, weights=weights)

    def make(part):
        return table_of(*(v if v is None else v[part] for v in columns), pos_label=1)

    whole, one, two = make(slice(None)), make(slice(0, cut)), make(slice(cut, None))
    assert_same(one.merge(two), whole)
    assert_same(two.merge(one), whole)


@given(st.integers(0, 10**6))
def test_integer_weights_are_repetitions(seed):
    y, score, group, weight = draw(seed, weights="integer")
    times = weight.astype(int)
    weighted = table_of(y, score, group, weight)
    repeated = table_of(*(np.repeat(column, times) for column in (y, score, group)))
    np.testing.assert_array_equal(weighted.score, repeated.score)
    np.testing.assert_array_equal(weighted.weight, repeated.weight)
    assert weighted.cell_counts.sum() == len(y)
    assert repeated.cell_counts.sum() == times.sum()


KINDS = {
    "list": list,
    "object": lambda v: np.asarray(v, dtype=object),
    "pandas-nullable": lambda v: pd.Series(v).convert_dtypes(),
    "pandas-index": lambda v: pd.Series(v, index=np.arange(len(v))[::-1]),
    "polars": pl.Series,
    "arrow-chunked": lambda v: pa.chunked_array([v]),
    "one-column-frame": lambda v: pd.DataFrame({"only": v}),
    "column-vector": lambda v: np.asarray(v)[:, None],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_column(kind):
    y, score, group, weight = draw(5, weights="real")
    names = np.array(["women", "men"])[group]
    columns = [KINDS[kind](values.tolist()) for values in (y, score, names, weight)]
    found = table_of(*columns)
    assert_same(found, table_of(y, score, names, weight))
    assert found.groups == ("men", "women")


def test_categorical_and_boolean_columns():
    y, score, group, _ = draw(5)
    names = np.array(["women", "men"])[group]
    expected = table_of(y, score, names)
    for column in (pd.Categorical(names), pd.Series(names, dtype="category")):
        assert_same(table_of(y, score, column), expected)
    flags = table_of(y == 1, score, group == 1)
    assert flags.groups == (False, True)
    np.testing.assert_array_equal(flags.cell_weights, expected.cell_weights[:, ::-1])


def test_intersections():
    sex = ["f", "m", "f", "m", "f", "m"]
    age = [20, 20, 60, 60, 20, 20]
    pairs, columns = list(zip(sex, age, strict=True)), {"sex": sex, "age": age}
    frame = pd.DataFrame(columns)
    for both in (
        np.array(pairs, dtype=object),
        [list(pair) for pair in pairs],
        columns,
        frame,
        [frame.sex, frame.age],  # a list of series is one of columns
        pl.DataFrame(columns),
        pa.table(columns),
    ):
        scores = table_of([0, 1, 0, 1, 0, 1], np.arange(6), both)
        assert scores.groups == (("f", 20), ("f", 60), ("m", 20), ("m", 60))
        np.testing.assert_array_equal(scores.cell_weights, [[2, 1, 0, 0], [0, 0, 2, 1]])
        assert scores.cell_name(0) == "negatives of f × 20"


@pytest.mark.parametrize("library", [pd.DataFrame, lambda d: pd.DataFrame(d).convert_dtypes()])
def test_frames_with_numbers_for_names(library):
    frame = library({0: list("aabb"), 1: list("xyxy"), 2: [0, 1, 0, 1], 3: [1.0, 2, 2, 3]})
    scores = GroupedScores.from_arrays(frame[[2]], frame[3], sensitive_features=frame[[0]])
    assert scores.groups == ("a", "b")
    odd = {"score": [0.1, 0.2], "label": [0, 1], "count": ["a", "b"], "weight": [1, 2]}
    assert GroupedScores.from_table(odd, group="count", count="weight").groups == ("a", "b")
    both = GroupedScores.from_table(frame, score=3, label=2, group=[0, 1])
    assert both.groups == (("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"))
    assert_same(GroupedScores.from_table(frame, score=3, label=2, group=0), scores)


def test_integers_and_floats_of_any_kind():
    for dtype in (">i4", ">i2", "<i8", "u1", ">f4", "f2"):
        y, group = np.array([0, 1, 0, 1], dtype=dtype), np.array([5, 5, 7, 7], dtype=dtype)
        scores = table_of(y, np.arange(4, dtype=dtype), group)
        assert scores.groups == (5, 7)
        np.testing.assert_array_equal(scores.cell_weights, 1.0)


def test_labels_and_their_positive():
    for labels, pos_label, expected in (
        ([0, 1, 1, 0], None, [1, 1]),
        ([-1, 1, 1, -1], None, [1, 1]),
        ([False, True, True, True], None, [1, 2]),
        (["no", "yes", "yes", "yes"], "yes", [1, 2]),
        (["no", "yes", "yes", "yes"], "no", [1, 0]),
        ([1, 2, 2, 1], 2, [1, 1]),
        ([0, 1, 1, 0], 0, [1, 1]),
        (["no"] * 4, "yes", [0, 0]),
    ):
        scores = table_of(labels, [1, 2, 3, 4], list("abab"), pos_label=pos_label)
        assert scores.cell_weights[1].tolist() == expected


def test_group_order_is_explicit():
    columns = [0, 1, 1], [1, 2, 3], ["x", "y", "x"]
    assert table_of(*columns).groups == ("x", "y")
    ordered = table_of(*columns, group_order=["y", "z", "x"])
    assert ordered.groups == ("y", "z", "x")
    np.testing.assert_array_equal(ordered.cell_weights, [[0, 0, 1], [1, 0, 1]])
    assert ordered.merge(table_of(*columns)).groups == ("y", "z", "x")
    assert_same(GroupedScores.from_table(ordered.to_table(), group_order=ordered.groups), ordered)


def test_odd_group_names_survive():
    names = ["<script>alert(1)</script>", "Ω женщины 女", "", " a ", "\n"]
    assert set(table_of([0, 1] * 5, range(10), names * 2).groups) == set(names)
    assert set(table_of([0, 1, 1], [1, 2, 3], ["1", 1, 2.5]).groups) == {"1", 1, 2.5}


def test_weight_zero_counts_for_nothing_but_its_group_stays():
    scores = table_of([0, 1, 0], [1, 2, 3], ["a", "a", "b"], [1, 2, 0])
    assert scores.groups == ("a", "b")
    np.testing.assert_array_equal(scores.cell_weights, [[1, 0], [2, 0]])
    assert scores.empty_cells() == ["negatives of b", "positives of b"]


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pa.table])
def test_aggregated_table_round_trip(frame):
    y, score, group, weight = draw(11, weights="real", n_groups=3)
    names = np.array(["a", "b", "c"])[group]
    scores = table_of(y, score, names, weight)
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


def test_table_is_read_only_and_shown_short():
    scores = table_of([0, 1] * 10, range(20), range(20))
    with pytest.raises(ValueError, match="read-only"):
        scores.score[0] = 3.0
    assert len(repr(scores)) < 100


def test_encoding_finds_sorted_labels():
    for values in (
        np.array([3, -2, 3, 7]),
        np.array([-128, 127, 5], dtype=np.int8),
        np.array([2**40, -(2**40), 2**40]),
        np.array([250, 3, 250], dtype=np.uint8),
        np.array([0.5, -1.5, 0.5]),
        np.array(["late"] * 1500 + ["new", "newer", "late"]),
        np.array([f"label {i % 200}" for i in range(3000)]),
        np.array([b"x", b"y", b"x"]),
    ):
        codes, labels = encode(values, "column")
        expected, inverse = np.unique(values, return_inverse=True)
        assert labels == expected.tolist()
        np.testing.assert_array_equal(codes, inverse)
    days = np.array(["2020-01-02", "2019-01-01", "2020-01-02"], dtype="datetime64[ns]")
    codes, labels = encode(days, "column")
    assert labels == ["2019-01-01T00:00:00.000000000", "2020-01-02T00:00:00.000000000"]
    assert codes.tolist() == [1, 0, 1]


@pytest.mark.parametrize(("weights", "clustered"), [(None, True), ("real", False)])
def test_the_mirror_image_is_the_table_of_negated_scores(weights, clustered):
    y, score, group, weight = draw(3, n=200, n_groups=3, levels=4, weights=weights)
    cluster = np.arange(len(y)) % 40 if clustered else None
    mirrored = table_of(y, score, group, weight, cluster).mirrored
    direct = table_of(y, -score, group, weight, cluster)
    np.testing.assert_array_equal(mirrored.score, direct.score)
    np.testing.assert_array_equal(mirrored.cell, direct.cell)
    for name in ("weight", "count", "weight_squared"):
        np.testing.assert_allclose(getattr(mirrored, name), getattr(direct, name))
    np.testing.assert_allclose(mirrored.independent_sizes, direct.independent_sizes)
    twice = mirrored.mirrored
    np.testing.assert_array_equal(twice.score, np.sort(-direct.score))


def test_of_many_columns_the_first_eight_are_named():
    for n, ends in ((8, r"'c7'\.$"), (9, r"'c7', …\.$")):
        with pytest.raises(ValueError, match=ends):
            GroupedScores.from_table({f"c{k}": [0.0] for k in range(n)})


def test_every_part_of_a_group_in_a_file_is_a_label():
    assert restored_group(["a", 1], "t.json") == ("a", 1)
    with pytest.raises(ValueError, match=r"t\.json.*'b': 1"):
        restored_group(["a", {"b": 1}], "t.json")
