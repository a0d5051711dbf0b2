"""The paper's algorithms, piece by piece: slopes of pairs and rates, drawn pairs, their cells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from support.making import draw

from evenscore.gaps import RocConstraint, as_constraints
from evenscore.gaps.smooth import smooth_cells
from evenscore.learning.objective import Objective
from evenscore.learning.training_set import TrainingSet
from evenscore.paper import training


def members(cell, n_cells):
    return [np.flatnonzero(cell == c) for c in range(n_cells)]


def slopes_of(function, score, h=1e-6):
    """By central differences, one score after the other."""
    moved = np.eye(score.size).reshape(score.size, *score.shape) * h
    return np.array([(function(score + d) - function(score - d)) / (2 * h) for d in moved]).reshape(
        score.shape
    )


# ---------------------------------------------------------------------- slopes


@given(st.integers(0, 10**6))
def test_slopes_of_pairs(seed):
    rng = np.random.default_rng(seed)
    score = rng.normal(size=(2, 7))
    low, high = rng.integers(0, 14, (2, 20))
    weights = rng.normal(size=20)

    def loss(score):
        flat = score.ravel()
        return np.sum(weights * expit((flat[high] - flat[low]) / 0.5))

    found = training.pair_slopes(score, low, high, weights, 0.5)
    np.testing.assert_allclose(found, slopes_of(loss, score), atol=1e-7)


@given(st.integers(0, 10**6))
def test_slopes_of_rates(seed):
    rng = np.random.default_rng(seed)
    score, thresholds = rng.normal(size=(2, 6)), rng.normal(size=(2, 3))
    shares = rng.normal(size=(2, 6, 3))

    def loss(score):
        return np.sum(shares * expit(score[:, :, None] - thresholds[:, None]))

    found = training.rate_slopes(score, shares, thresholds)
    np.testing.assert_allclose(found, slopes_of(loss, score), atol=1e-7)


def test_far_away_nothing_overflows():
    score = np.array([[-1e30, 1e30]], dtype=np.float32)
    pairs = np.array([[0, 1]])
    np.testing.assert_array_equal(
        training.pair_slopes(score, pairs, pairs[:, ::-1], np.ones((1, 2)), 0.5), [[0, 0]]
    )
    zero = training.rate_slopes(score, np.ones((1, 2, 1)), np.zeros((1, 1)))
    np.testing.assert_array_equal(zero, [[0, 0]])


# ---------------------------------------------------------------------- some pairs


def test_slopes_of_all_pairs_are_those_of_the_complete_surrogate():
    y, score, _, _ = draw(3, n=60, levels=10)
    low, high = (each.ravel() for each in np.meshgrid(np.flatnonzero(y == 0), np.flatnonzero(y)))
    slope = training.pair_slopes(score, low, high, np.full(low.size, 1 / low.size), 0.4)
    share = 1.0 / np.bincount(y)[y]
    smooth = smooth_cells(score, y, share, np.ones((1, 2)), 0.4)
    along = smooth.auc_slopes(np.array([[0.0, 1.0], [0.0, 0.0]]))
    np.testing.assert_allclose(slope, share * smooth.grid.read(along, y, score), atol=1e-6)


def drawing(constraints, weight=None, n_pairs=50, size=40, n_batches=30, cells=(0, 1, 2, 3)):
    """Batches of rows whose cells are given, and what they were drawn from."""
    cell = np.tile(cells, 25)
    rows = TrainingSet(np.zeros((len(cell), 1)), cell >= 2, cell % 2, (0, 1), weight)
    objective = Objective(
        np.array([0, 0, 1, 1], dtype=bool), np.array([0, 1, 0, 1]), 2, as_constraints(constraints)
    )
    gaps = training.PaperGaps.of(objective)
    return gaps, rows, training._Draw(gaps, rows, n_batches, size, n_pairs)


@pytest.mark.parametrize("cells", [(0, 1, 2, 3), (0, 1, 3)])
def test_pairs_are_of_the_cells_they_stand_for(cells):
    """As many for every AUC of a gap as for the overall one, none from a cell that is not there."""
    gaps, rows, draws = drawing("inter_group", cells=cells)
    assert gaps.between.tolist() == [[0, 3], [1, 2]]
    drawn = draws.some(np.random.default_rng(0))
    assert drawn.low.shape == drawn.high.shape == (30, 3, 50)
    batches = rows.cell[drawn.rows]
    low, high = (
        np.take_along_axis(batches, side.reshape(30, -1), axis=1).reshape(side.shape)
        for side in (drawn.low, drawn.high)
    )
    assert np.all(low[:, 0] < 2)
    assert np.all(high[:, 0] >= 2)
    assert np.all(drawn.there[:, 0])
    for number, (a, b) in enumerate(gaps.between, start=1):
        there = b in cells
        assert np.all(drawn.there[:, number] == there)
        if there:
            assert np.all(low[:, number] == a)
            assert np.all(high[:, number] == b)
    # Everybody of a batch is drawn about equally often.
    counts = np.bincount(drawn.high[:, 0].ravel() + 40 * np.repeat(np.arange(30), 50))
    seen = counts[counts > 0]
    assert seen.mean() == pytest.approx(1500 / (batches >= 2).sum(), rel=0.2)


def test_coefficients_of_pairs():
    gaps, _, _ = drawing("inter_group")
    found = gaps.pair_coefficients(np.array([[0.5], [0.0]]))
    np.testing.assert_allclose(found, [[-1.0, 0.5, -0.5], [-1.0, 0.0, 0.0]])


def test_shares_are_differences_of_rates():
    roc = RocConstraint(on="both", rates=(0.25,))
    gaps, rows, draws = drawing(roc)
    drawn = draws.some(np.random.default_rng(0))
    batches = rows.cell[drawn.rows]
    score = np.random.default_rng(1).normal(size=batches.shape)
    for k in range(2):
        found = np.sum(drawn.shares[:, :, k] * (score > 0.3), axis=1)
        for number, (cell, own) in enumerate(zip(batches, score > 0.3, strict=True)):
            rates = [own[cell == ends[k]].mean() for ends in (gaps.second, gaps.first)]
            assert found[number] == pytest.approx(rates[0] - rates[1], abs=1e-5)


def test_rows_are_drawn_by_their_weights():
    weight = np.ones(100)
    weight[:10] = 81.0
    _, _, draws = drawing("bnsp", weight=weight, n_batches=100)
    rows = draws.some(np.random.default_rng(0)).rows
    assert np.mean(rows < 10) == pytest.approx(0.9, abs=0.02)
    weight[50] = 0.0
    _, _, draws = drawing("bnsp", weight=weight, n_batches=1000)
    assert not np.any(draws.some(np.random.default_rng(0)).rows == 50)
