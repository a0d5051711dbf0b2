"""Keys of bins: increasing, the same in an engine, nested, and what a file may say of them."""

import json

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenscore.scores.bins import FINEST, Bins, Ranges

numbers = st.floats(-1e300, 1e300, allow_subnormal=True)


@st.composite
def any_bins(draw):
    """Bins of one to four levels, with any ranges divided and some scores apart."""
    low, high = sorted(end + 0.0 for end in draw(st.tuples(numbers, numbers)))
    levels = sorted(draw(st.sets(st.integers(0, 20), min_size=1, max_size=4)))
    finer = []
    for level in levels[:-1]:
        some = draw(st.lists(st.integers(-1, 2**level), min_size=1, max_size=12))
        finer.append(Ranges.of(np.array(some)))
    apart = draw(st.lists(st.floats(low, high), max_size=3))
    return Bins.between(low, high, tuple(levels), tuple(finer), tuple(apart))


@st.composite
def bins_and_scores(draw):
    bins = draw(any_bins())
    near = [bins.start, *bins.apart, bins.start + 1.0 / bins.scale]
    scores = draw(st.lists(st.one_of(numbers, st.sampled_from(near)), min_size=1, max_size=40))
    scores = np.array(scores + [np.nextafter(s, side) for s in near for side in (-1e308, 1e308)])
    return bins, np.sort(scores + 0.0)


def in_polars(bins, scores):
    frame = nw.from_native(pl.DataFrame({"score": scores}))
    return frame.select(key=bins.expression(nw.col("score")))["key"].to_numpy()


@given(bins_and_scores())
def test_keys_are_increasing_and_those_of_an_engine(case):
    bins, scores = case
    key = bins.key(scores)
    assert (np.diff(key) >= 0).all()
    assert in_polars(bins, scores).tolist() == key.tolist()


@given(bins_and_scores())
def test_a_score_that_is_apart_is_alone(case):
    bins, scores = case
    key = bins.key(scores)
    for value in bins.apart:
        own = bins.key(np.array([value]))[0]
        assert (scores[key == own] == value).all()
        assert (key[scores < value] < own).all()
        assert (key[scores > value] > own).all()


@given(any_bins(), st.lists(st.floats(0.0, 1.0), min_size=2, max_size=30))
def test_grids_nest(bins, places):
    """Whoever is in one bin of a level is in one bin of every coarser level."""
    scores = np.sort(bins.start + np.array(places) * 2.0 ** bins.levels[-1] / bins.scale)
    coarse, fine = (
        bins.at_levels(scores, np.full(len(scores), level))
        for level in (bins.levels[0], bins.levels[-1])
    )
    together = fine[1:] == fine[:-1]
    assert (coarse[1:][together] == coarse[:-1][together]).all()
    inside = np.asarray(bins.level_of(scores))
    assert set(inside.tolist()) <= set(bins.levels)


def test_many_ranges_are_asked_as_a_list():
    """Up to six by comparisons, more by a list; both are what `contain` says."""
    for some in ([0, 1, 5], list(range(0, 64, 3))):
        bins = Bins.between(0.0, 1.0, (6, 9), (Ranges.of(np.array(some)),))
        scores = np.linspace(-0.1, 1.1, 997)
        assert in_polars(bins, scores).tolist() == bins.key(scores).tolist()
        assert bins.finer[0].total == len(some)


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 9)), min_size=1, max_size=20))
def test_ranges_are_the_union(pairs):
    first, length = np.array(pairs).T
    ranges = Ranges.of(first, first + length)
    among = {k for a, b in zip(first, length, strict=True) for k in range(a, a + b + 1)}
    asked = np.arange(-60.0, 70.0)
    assert set(asked[ranges.contain(asked)].astype(int).tolist()) == among
    assert ranges.total == len(among)
    ends = zip(ranges.last, ranges.first[1:], strict=False)
    assert all(last + 1 < first for last, first in ends)


def test_extreme_scores_do_not_overflow():
    bins = Bins.between(-1.7e308, 1.7e308, (4,))
    assert bins.key(np.array([-1.7e308, 0.0, 1.7e308])).tolist() == [0, 8, 16]
    tiny = Bins.between(0.0, 5e-324, (4,))
    scores = np.array([0.0, 5e-324])
    assert in_polars(tiny, scores).tolist() == tiny.key(scores).tolist()
    assert Bins.between(3.0, 3.0, (4,)).key(np.array([3.0])).tolist() == [0]


@given(any_bins())
def test_a_file_keeps_bins(bins):
    assert Bins.from_dict(json.loads(json.dumps(bins.to_dict()))) == bins


GOOD = Bins.between(0.0, 8.0, (1, 3), (Ranges((0,), (0,)),), (2.5, 3.0)).to_dict()


def test_what_are_no_bins_is_refused():
    assert Bins.from_dict(GOOD).to_dict() == GOOD
    for name, *values in (
        ("start", "0", float("nan"), True),
        ("scale", 0.0, float("inf")),
        ("levels", [], [3, 1], [1, FINEST + 1], [1.0, 3]),
        ("finer", [], [[[0], [0, 1]]], [[[3], [1]]], [[[0, 1], [1, 2]]], 3),
        ("apart", [3.0, 2.0], None),
    ):
        for value in values:
            with pytest.raises(ValueError, match="bins"):
                Bins.from_dict(GOOD | {name: value})
    for wrong in (None, [], {}, 5):
        with pytest.raises(ValueError, match="bins"):
            Bins.from_dict(wrong)
