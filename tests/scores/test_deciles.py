"""Cuts at every tenth of everyone, and the bands between them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.making import table_of

from evenscore.scores.deciles import Deciles, shortest_between
from evenscore.scores.selection import Ladder
from evenscore.scores.thinning import rounded_up


def deciles_of(score, side="high", weight=None):
    scores = table_of([0] * len(score), score, ["a"] * len(score), weight, pos_label=1)
    return Deciles.make(Ladder.make(scores, "everyone", side))


def test_a_hundred_different_scores_have_all_nine_cuts():
    found = deciles_of(np.arange(1, 101))
    assert found.shares == tuple((k / 10,) for k in range(1, 10))
    np.testing.assert_allclose(found.selected_share, np.arange(1, 10) / 10)
    assert found.texts[:2] == ("above 90", "above 80")
    assert found.bands[0] == "above 90"
    assert found.bands[1] == "above 80 up to 90"
    assert found.bands[-1] == "up to 10"


def test_tied_scores_make_fewer_bands_and_say_so():
    """Half have a 3: no cut selects up to 10 % … 40 %; one selects 50 % to 70 %, one 80 %, 90 %."""
    found = deciles_of([3] * 5 + [2] * 3 + [1] * 2)
    assert found.missing == (0.1, 0.2, 0.3, 0.4)
    assert found.shares == ((0.5, 0.6, 0.7), (0.8, 0.9))
    assert found.bands == ("above 2", "above 1 up to 2", "up to 1")
    equal = deciles_of([7.0] * 12)
    assert len(equal.steps) == 0
    assert equal.bands == ("all scores",)
    assert equal.table.score.tolist() == [7.0]


@given(
    st.lists(st.floats(-1e6, 1e6) | st.integers(-5, 5).map(float), min_size=1, max_size=60),
    st.sampled_from(["high", "low"]),
)
def test_every_score_is_in_the_one_band_whose_label_says_so(score, side):
    found = deciles_of(score, side)

    def holds(band, value):
        words = band.split()
        if band == "all scores":
            return True
        above = float(words[words.index("above") + 1]) if "above" in words else -np.inf
        up_to = float(words[words.index("to") + 1]) if "up" in words else np.inf
        return above < value <= up_to

    counts = np.array([sum(holds(band, value) for value in score) for band in found.bands])
    for value in score:
        assert sum(holds(band, value) for band in found.bands) == 1
    cumulative = np.cumsum(counts)[:-1] / len(score)
    np.testing.assert_allclose(cumulative, found.selected_share, atol=1e-9)
    # Each cut is the loosest that selects no more than its shares.
    for shares, share in zip(found.shares, found.selected_share, strict=True):
        assert share <= min(shares) + 1e-9


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_the_shortest_number_lies_between(one, two):
    low, high = min(one, two), max(one, two)
    if low < high:
        assert low <= float(shortest_between(low, high)) < high


def test_the_shortest_number_of_extreme_scores():
    assert shortest_between(0.0, 5e-324) == "0"
    assert float(shortest_between(1e300, 2e300)) == 1e300
    assert shortest_between(1.0, np.nextafter(1.0, 2.0)) == "1"
    assert shortest_between(0.99999, 1.00001) == "1"
    assert shortest_between(-0.1, 0.1) == "0"


@pytest.mark.parametrize("clustered", [False, True])
def test_rounding_up_keeps_everybody(clustered):
    rng = np.random.default_rng(0)
    y, group, score = rng.integers(0, 2, 200), rng.integers(0, 3, 200), rng.normal(size=200)
    weight, cluster = rng.gamma(2.0, size=200), rng.integers(0, 40, 200) if clustered else None
    scores = table_of(y, score, group, weight, cluster)
    levels = np.array([-0.5, 0.5, score.max()])
    found = rounded_up(scores, levels)
    direct = table_of(y, levels[np.searchsorted(levels, score)], group, weight, cluster)
    for name in ("score", "cell", "weight", "count", "weight_squared"):
        np.testing.assert_allclose(getattr(found, name), getattr(direct, name))
    if clustered:
        sums = [np.sort(t.clusters.sums(np.ones(len(t)))) for t in (found, direct)]
        np.testing.assert_allclose(*sums)
