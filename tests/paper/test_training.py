"""The paper's algorithms, piece by piece: the logistic function, drawn pairs, their cells."""

import math

import numpy as np
import pytest
from conftest import draw
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from evenscore.gaps import as_constraints
from evenscore.gaps.smooth import logistic_slope, smooth_cells
from evenscore.learning.objective import Objective

jax = pytest.importorskip("jax", reason="the extra `neural` is not installed")
pytest.importorskip("optax", reason="the extra `neural` is not installed")
jnp = jax.numpy

from evenscore.paper import training  # noqa: E402


def sigma(x):
    return 0.5 * (1 + math.tanh(x / 2))


# ---------------------------------------------------------------------- the logistic function


@given(st.floats(-80.0, 80.0))
def test_logistic_is_the_textbook_formula(x):
    assert float(training.logistic(x)) == pytest.approx(sigma(x), rel=2e-5, abs=1e-7)


def test_far_away_nothing_overflows():
    x = np.array([-np.inf, -1e30, -1e4, -746.0, 746.0, 1e4, 1e30, np.inf])
    np.testing.assert_array_equal(training.logistic(x), [0, 0, 0, 0, 1, 1, 1, 1])
    # Below zero the tail is kept to full relative precision, not rounded to 0 by 1 − σ.
    assert float(training.logistic(-80.0)) == pytest.approx(math.exp(-80.0), rel=1e-5)


@pytest.mark.slow
def test_it_is_the_kernel_of_the_complete_surrogate():
    x = np.linspace(-80.0, 80.0, 161)
    np.testing.assert_allclose(training.logistic(x), expit(x), rtol=2e-5, atol=1e-37)
    assert np.all(np.diff(training.logistic(np.linspace(-9.0, 9.0, 1001))) > 0.0)


@pytest.mark.slow
def test_jax_differentiates_it():
    slope = jax.grad(training.logistic)
    for x in (-100.0, -3.0, 0.5, 100.0):
        assert float(slope(x)) == pytest.approx(float(logistic_slope(np.float64(x))), abs=1e-6)


# ---------------------------------------------------------------------- some pairs


def members(cell, n_cells):
    return [np.flatnonzero(cell == c) for c in range(n_cells)]


@pytest.mark.slow
def test_incomplete_is_unbiased_with_importance_weights():
    """Cells drawn with probabilities q, weighted by V/q: the mean is Σ V_ab AUC_ab."""
    rng = np.random.default_rng(0)
    y, score, group, _ = draw(3, n=60, levels=None)
    cell = group + 2 * y
    h = 0.4
    rows = members(cell, 4)
    complete = np.array(
        [[expit((score[b][:, None] - score[a]) / h).mean() for b in rows] for a in rows]
    )
    V = np.zeros((4, 4))
    V[:2, 2:] = [[0.7, 0.2], [-0.4, 0.5]]  # signs too: gaps are differences
    q = np.zeros((4, 4))
    q[:2, 2:] = [[0.1, 0.4], [0.3, 0.2]]
    estimates = []
    for _ in range(400):
        a, b = np.divmod(rng.choice(16, 100, p=q.ravel()), 4)
        low = np.array([score[rng.choice(rows[c])] for c in a])
        high = np.array([score[rng.choice(rows[c])] for c in b])
        estimates.append(float(training.incomplete_auc(low, high, V[a, b] / q[a, b], h)))
    error = np.std(estimates, ddof=1) / np.sqrt(len(estimates))
    assert error < 0.01
    assert abs(np.mean(estimates) - np.sum(V * complete)) < 3.5 * error


def test_incomplete_over_all_pairs_is_complete():
    y, score, _, _ = draw(3, n=60, levels=10)
    low, high = np.meshgrid(score[y == 0], score[y == 1])
    estimate = training.incomplete_auc(low.ravel(), high.ravel(), np.ones(low.size), 0.4)
    smooth = smooth_cells(score, y, 1.0 / np.bincount(y)[y], np.ones((1, 2)), 0.4)
    assert float(estimate) == pytest.approx(smooth.auc[0, 1], abs=1e-6)


@pytest.mark.slow
def test_pairs_are_of_the_cells_they_stand_for():
    """As many for every AUC of a gap as for the overall one, none from a cell that is not there."""
    rng = np.random.default_rng(0)
    positive, codes = np.array([0, 0, 1, 1], dtype=bool), np.array([0, 1, 0, 1])
    objective = Objective(positive, codes, 2, as_constraints("inter_group"))
    gaps = training.PaperGaps.of(objective)
    assert gaps.between.tolist() == [[0, 3], [1, 2]]
    for cells in ([0, 1, 2, 3], [0, 1, 3]):
        cell = rng.choice(cells, size=40)
        uniform = rng.random((3, 2, 50), dtype=np.float32)
        drawn = training._pairs(gaps, jnp.array([0.5]), jnp.asarray(cell), jnp.asarray(uniform))
        low, high = (cell[np.asarray(side)].reshape(3, 50) for side in (drawn.low, drawn.high))
        weights = np.asarray(drawn.weights).reshape(3, 50)
        assert np.all(low[0] < 2)
        assert np.all(high[0] >= 2)
        np.testing.assert_allclose(weights[0], -3.0)
        for row, (a, b) in enumerate(gaps.between, start=1):
            there = b in cells
            expected = 1.5 * gaps.coefficients[0, row - 1] if there else 0.0
            np.testing.assert_allclose(weights[row], expected, rtol=1e-6)
            assert not there or np.all((low[row] == a) & (high[row] == b))
