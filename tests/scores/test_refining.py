"""Bins for the next pass: finer where people are, coarser elsewhere, within the rows asked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenscore.scores.bins import Bins
from evenscore.scores.refining import BinShares, crowded, refined


def auc_bracket(shares):
    """The largest half product of two cells' shares, added up over open bins."""
    open_bins = shares.share[shares.is_open]
    cells = range(open_bins.shape[1])
    pairs = [
        float((open_bins[:, i] * open_bins[:, j]).sum()) for i in cells for j in cells if i < j
    ]
    return max(pairs, default=0.0) / 2.0


def shares_of(bins, score, cell, n_cells, used=(1.0, -1.0)):
    """What bins hold of some people."""
    key = bins.key(score)
    _, place = np.unique(key, return_inverse=True)
    n = place.max() + 1
    count = np.zeros((n, n_cells))
    np.add.at(count, (place, cell), 1.0)
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(low, place, score)
    np.maximum.at(high, place, score)
    share = count / np.maximum(count.sum(axis=0), 1.0)
    inside = (high >= used[0]) & (low <= used[1])
    return BinShares(high, low < high, share, count.sum(axis=1), inside)


def people(seed, law="normal", n=100_000):
    rng = np.random.default_rng(seed)
    cell = rng.integers(0, 4, n)
    z = rng.normal(size=n) + 0.3 * cell
    return {"normal": z, "wide": np.sinh(3 * z), "near zero": np.exp(2 * z - 9)}[law], cell


@pytest.mark.parametrize("law", ["normal", "wide", "near zero"])
def test_the_next_bins_do_what_is_asked(law):
    score, cell = people(1, law)
    bins = Bins.between(score.min(), score.max(), (10,))
    for _ in range(3):
        shares = shares_of(bins, score, cell, 4)
        if auc_bracket(shares) <= 5e-4:
            break
        bins, wide = refined(bins, shares, 5e-4, 1e-2, 30_000)
        assert wide == 1.0
    shares = shares_of(bins, score, cell, 4)
    assert auc_bracket(shares) <= 5e-4
    assert (shares.share > 0).sum() <= 30_000
    assert len(bins.levels) <= 4


def test_cuts_in_use_have_finer_bins():
    score, cell = people(2)
    bins = Bins.between(score.min(), score.max(), (8,))
    shares = shares_of(bins, score, cell, 4, used=(0.5, 1.0))
    finer, _ = refined(bins, shares, 1e-2, 2e-3, 30_000)
    assert shares_of(finer, score, cell, 4, used=(0.5, 1.0)).rate_bracket <= 2e-3
    level = finer.level_of(np.array([-1.0, 0.75]))
    assert level[0] < level[1]


def test_what_is_asked_gives_way_to_the_rows():
    score, cell = people(3)
    bins = Bins.between(score.min(), score.max(), (8,))
    finer, wide = refined(bins, shares_of(bins, score, cell, 4), 1e-7, 1e-6, 2000)
    assert wide > 10.0
    # No more than needed: one step less would have given way again.
    less = 1e-7 * wide / 1.3, 1e-6 * wide / 1.3
    assert refined(bins, shares_of(bins, score, cell, 4), *less, 2000)[1] > 1.0
    assert (shares_of(finer, score, cell, 4).share > 0).sum() <= 4000


def test_rows_are_counted_for_the_cells_that_a_bin_has():
    """Sixteen bins of one cell, each to be divided into four: 64 rows are enough."""
    score = (np.arange(1600) + 0.5) / 1600
    bins = Bins.between(0.0, 1.0, (4,))
    shares = shares_of(bins, score, np.zeros(1600, dtype=int), 1, used=(0.0, 1.0))
    rate = 1.001 / 64 / 0.7  # with some to spare
    finer, wide = refined(bins, shares, 1.0, rate, 64)
    assert (wide, len(np.unique(finer.key(score)))) == (1.0, 64)
    assert refined(bins, shares, 1.0, rate, 63)[1] > 1.0


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-2, 1e-3, 1e-4]))
def test_bins_stay_in_order_whatever_is_asked(seed, accuracy):
    score, cell = people(seed, "wide", n=300)
    bins = Bins.between(score.min(), score.max(), (5,))
    for _ in range(2):
        bins, _ = refined(bins, shares_of(bins, score, cell, 4), accuracy, accuracy, 500)
    key = bins.key(np.sort(score))
    assert (np.diff(key) >= 0).all()
    assert Bins.from_dict(bins.to_dict()) == bins


def test_a_value_that_many_have_is_seen_once_its_bin_was_divided():
    score, cell = people(4)
    score[::5], score[1::50] = 0.123, 0.123 + 1e-9 * score[1::50]  # others are next to it
    bins = Bins.between(score.min(), score.max(), (8,))
    first = shares_of(bins, score, cell, 4)
    assert not crowded(bins, first, 1e-3, 1e-2).any()
    bins, _ = refined(bins, first, 1e-3, 1e-2, 20_000)
    shares = shares_of(bins, score, cell, 4)
    heavy = crowded(bins, shares, 1e-3, 1e-2)
    inside = bins.key(shares.highest[heavy])
    assert bins.key(np.array([0.123]))[0] in inside
    smooth, cell = people(4)
    assert not crowded(bins, shares_of(bins, smooth, cell, 4), 1e-3, 1e-2).any()
