import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.making import draw

from evenscore.gaps.smooth import Grid, logistic_slope, smooth_cells


def sigma(x):
    return 0.5 * (1.0 + math.tanh(x / 2.0))


def naive_auc(score, cell, share, n_cells, h):
    """Every pair of rows, one after the other."""
    table = [[0.0] * n_cells for _ in range(n_cells)]
    for i, a, v in zip(score, cell, share, strict=True):
        for j, b, w in zip(score, cell, share, strict=True):
            table[a][b] += v * w * sigma((j - i) / h)
    return np.array(table)


def naive_density(score, cell, share, c, x, h):
    """h · F_c'(x), from 1/(4 cosh²)."""
    total = 0.0
    for s, own, w in zip(score, cell, share, strict=True):
        z = abs(x - s) / (2.0 * h)
        if own == c and z < 300.0:
            total += w / (4.0 * math.cosh(z) ** 2)
    return total


def shares(cell, weight, n_cells):
    weight = np.ones(len(cell)) if weight is None else weight
    return weight / np.bincount(cell, weights=weight, minlength=n_cells)[cell]


def check(score, cell, share, n_cells, h):
    score, cell = np.asarray(score, dtype=float), np.asarray(cell)
    smooth = smooth_cells(score, cell, share, np.ones((1, n_cells)), h)
    expected = naive_auc(score.tolist(), cell.tolist(), share.tolist(), n_cells, h)
    assert np.abs(smooth.auc - expected).max() < 2e-7
    own = smooth.grid.read(smooth.density, cell, score)
    other = smooth.grid.read(smooth.density, (cell + 1) % n_cells, score)
    for found, move in ((own, 0), (other, 1)):
        for k in range(0, len(score), max(1, len(score) // 40)):
            c = (cell[k] + move) % n_cells
            slope = naive_density(score, cell, share, c, score[k], h)
            assert abs(found[k] * h - slope) < 1e-6
    return np.abs(smooth.auc - expected).max()


@pytest.mark.parametrize(
    ("levels", "weights", "h"),
    [(None, "real", 1e-3), (10, None, 0.05), (None, None, 0.3), (10, "real", 4.0), (10, None, 1e9)],
)
def test_complete_auc_and_slopes_are_those_of_all_pairs(levels, weights, h):
    y, score, group, weight = draw(5, n=110, levels=levels, weights=weights)
    cell = group + 2 * y
    error = check(score, cell, shares(cell, weight, 4), 4, h)
    if levels is None and h < 1.0:
        assert error < 1e-8  # in a sample errors average out


@given(
    st.floats(-9.0, 9.0),
    st.floats(0.0, 1.0),
    st.sampled_from([1e-6, 1e-2, 1.0, 1e6]),
    st.sampled_from([0.0, -3.0, 1e4]),
)
def test_one_point_in_a_cell_at_the_worst_of_places(difference, offset, h, shift):
    # The third cell fixes where the grid begins, the offset where between its points the two are.
    start = shift * h
    at = start + 12.0 * h + offset * h / 16
    check([at, at + difference * h, start], [0, 1, 2], np.ones(3), 3, h)


def test_single_and_constant_scores():
    smooth = smooth_cells(np.array([3.0]), np.array([0]), np.ones(1), np.ones((1, 1)), 0.2)
    assert smooth.auc[0, 0] == pytest.approx(0.5, abs=1e-12)
    cell = np.array([0, 0, 1, 1, 1])
    smooth = smooth_cells(np.full(5, 1e6), cell, shares(cell, None, 2), np.ones((1, 2)), 0.2)
    np.testing.assert_allclose(smooth.auc, 0.5, atol=1e-12)


def test_far_apart_clusters():
    rng = np.random.default_rng(0)
    score = np.concatenate([rng.normal(size=30), rng.normal(size=30) + 1000.0])
    cell = np.tile([0, 1], 30)
    check(score, cell, shares(cell, None, 2), 2, 0.5)
    for sign in (1.0, -1.0):
        two = np.array([0.0, sign * 50.0])
        pair = smooth_cells(two, np.array([0, 1]), np.ones(2), np.ones((1, 2)), 0.01)
        assert pair.auc[0, 1] == pytest.approx(0.5 + 0.5 * sign, abs=1e-9)


def test_uneven_weights():
    rng = np.random.default_rng(1)
    cell = rng.integers(0, 4, 60)
    weight = 10.0 ** rng.uniform(-6, 6, 60)
    check(rng.normal(size=60), cell, shares(cell, weight, 4), 4, 0.3)


def test_complementary_and_unmoved_by_shifts():
    y, score, group, _ = draw(2, levels=None)
    cell = group + 2 * y
    share = shares(cell, None, 4)
    auc = smooth_cells(score, cell, share, np.ones((1, 4)), 0.2).auc
    np.testing.assert_allclose(auc + auc.T, 1.0, atol=1e-12)
    moved = smooth_cells(7.0 * score + 100.0, cell, share, np.ones((1, 4)), 1.4).auc
    np.testing.assert_allclose(moved, auc, atol=3e-8)


def test_an_empty_cell_has_no_mass():
    smooth = smooth_cells(np.array([0.0, 1.0]), np.array([0, 2]), np.ones(2), np.ones((1, 3)), 0.5)
    assert np.all(smooth.mass[1] == 0.0)
    np.testing.assert_allclose(smooth.below[1], 0.0, atol=1e-12)


def test_the_smoothed_distribution_functions():
    y, score, group, weight = draw(4, levels=None, weights="real")
    cell = group + 2 * y
    share = shares(cell, weight, 4)
    smooth = smooth_cells(score, cell, share, np.ones((1, 4)), 0.3)
    x = np.linspace(score.min(), score.max(), 37)
    for c in range(4):
        expected = [
            math.fsum(share[k] * sigma((t - score[k]) / 0.3) for k in np.flatnonzero(cell == c))
            for t in x
        ]
        found = smooth.grid.read(smooth.below, np.full(len(x), c), x)
        np.testing.assert_allclose(found, expected, atol=2e-7)


@pytest.mark.parametrize("unit", [1.0, 1e4])
def test_thresholds_have_the_shares_asked_for(unit):
    y, score, group, _ = draw(4, levels=None)
    cell = group + 2 * y
    smooth = smooth_cells(unit * score, cell, shares(cell, None, 4), np.ones((2, 2)), 0.3 * unit)
    mixtures, rates = np.array([[0.5, 0.5, 0.0, 0.0], [0.1, 0.2, 0.3, 0.4]]), np.array([0.1, 0.6])
    at = smooth.thresholds(mixtures, rates)
    for mixture, own in zip(mixtures, at, strict=True):
        below = smooth.grid.read(mixture[None] @ smooth.below, np.zeros(2, dtype=int), own)
        np.testing.assert_allclose(1.0 - below, rates, atol=1e-9)


@pytest.mark.parametrize(("n_thresholds", "h"), [(1, 0.3), (12, 0.05), (13, 0.3), (200, 4.0)])
def test_pulls_on_thresholds_are_sums_of_kernels(n_thresholds, h):
    """Up to twelve one by one, more of them by convolution: the same sums at every grid point."""
    y, score, group, _ = draw(5, n=110)
    cell = group + 2 * y
    smooth = smooth_cells(score, cell, shares(cell, None, 4), np.ones((2, 2)), h)
    rng = np.random.default_rng(0)
    thresholds = rng.uniform(score.min() - 3 * h, score.max() + 3 * h, n_thresholds)
    thresholds[0] = smooth.grid.points[smooth.grid.size // 3]  # one is on the grid itself
    coefficients = rng.normal(size=(4, n_thresholds))
    found = smooth.pulled(coefficients, thresholds) * h
    size = np.abs(coefficients).sum(axis=1)
    for k in range(0, smooth.grid.size, 7):
        x = smooth.grid.points[k]
        kernel = [1.0 / (4.0 * math.cosh(min(abs(x - t) / (2.0 * h), 300.0)) ** 2)
                  for t in thresholds]  # fmt: skip
        np.testing.assert_array_less(np.abs(found[:, k] - coefficients @ kernel), 1e-6 * size)


def test_scores_spread_too_far_and_no_numbers_are_refused():
    far = np.array([0.0, 1.0])
    bad = np.array([0.0, np.nan]), np.array([0.0, np.inf])
    for score, h in ((far, 1e-9), (far * 1e30, 1.0), *((score, 0.1) for score in bad)):
        with pytest.raises(ValueError, match="bandwidths"):
            smooth_cells(score, np.array([0, 1]), np.ones(2), np.ones((1, 2)), h)


def test_reading_is_exact_for_cubics_and_at_the_points():
    grid = Grid(-1.0, 0.25, 64)
    values = np.stack([grid.points**k for k in range(4)])
    x = np.random.default_rng(0).uniform(-1.0, 14.5, 200)
    for k in range(4):
        found = grid.read(values, np.full(len(x), k), x)
        np.testing.assert_allclose(found, x**k, rtol=1e-12, atol=1e-10)
    values = np.random.default_rng(0).normal(size=(2, 64))
    found = grid.read(values, np.full(64, 1), grid.points)
    np.testing.assert_allclose(found, values[1], atol=1e-12)


def test_beyond_the_grid_the_ends_go_on():
    """A learner may read at scores it has not seen: no cubic may run away there."""
    grid = Grid(0.0, 0.1, 64)
    values = np.cos(grid.points)[None]
    found = grid.read(values, np.zeros(4, dtype=int), np.array([-1e6, -0.01, 6.31, 1e6]))
    np.testing.assert_allclose(found, values[0, [0, 0, -1, -1]])


@given(st.floats(-30.0, 30.0))
def test_the_slope_is_the_finite_difference(x):
    h = 1e-5
    difference = (sigma(x + h) - sigma(x - h)) / (2 * h)
    assert float(logistic_slope(np.float64(x))) == pytest.approx(float(difference), abs=1e-10)
    assert logistic_slope(np.float64(x)) == logistic_slope(np.float64(-x))


def test_far_away_the_slope_does_not_overflow():
    x = np.array([-np.inf, -1e308, -1e4, -746.0, 746.0, 1e4, 1e308, np.inf])
    np.testing.assert_array_equal(logistic_slope(x), np.zeros(8))
    np.testing.assert_allclose(logistic_slope(np.array([0.0, math.log(3.0)])), [0.25, 0.1875])
