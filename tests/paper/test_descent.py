"""Networks that descend together: slopes by finite differences, steps as Adam is written."""

import numpy as np
import pytest

from evenscore.paper.descent import Networks
from evenscore.paper.network import forward, random_layers

SHAPES = [[3], [3, 4], [3, 4, 5]]


def stack(sizes, n=2, dtype=np.float64, l2=0.1, seed=0):
    rng = np.random.default_rng(seed)
    starts = [random_layers(sizes, rng, 0.5) for _ in range(n)]
    return Networks(starts, np.full(n, l2), 0.01, dtype), starts, rng


def with_ones(X):
    return np.concatenate([X, np.ones((*X.shape[:-1], 1))], axis=-1).astype(X.dtype)


def loss(networks, X, weights):
    """Any smooth function of the normalised scores, and the penalty."""
    raw = np.array(
        [
            forward([(w[k, :-1], w[k, -1]) for w in networks.layers], X[k, :, :-1])
            for k in range(len(X))
        ]
    )
    score = (raw - raw.mean(axis=1, keepdims=True)) / np.sqrt(raw.var(axis=1) + 1e-3)[:, None]
    penalty = 0.5 * np.sum(networks.l2 * networks.vector**2)
    return np.sum(weights * np.tanh(score)) + penalty


@pytest.mark.parametrize("sizes", SHAPES)
def test_slopes_are_those_of_the_loss(sizes):
    networks, _, rng = stack(sizes)
    X, weights = with_ones(rng.normal(size=(2, 6, 3))), rng.normal(size=(2, 6))
    start = networks.vector.copy()
    outputs = networks.forward(X)
    score, scale = networks.normalised(outputs[-1][:, :, 0])
    np.testing.assert_allclose(score.mean(axis=1), 0.0, atol=1e-12)
    # The first step of Adam keeps the signs; the slope itself is in its first moment.
    networks.step(X, outputs, score, scale, weights / np.cosh(score) ** 2)
    slope = networks._moments[0]
    moved = networks.vector.copy()
    h = 1e-6
    for fit, place in np.ndindex(start.shape):
        values = []
        for side in (1, -1):
            networks.vector[:] = start
            networks.vector[fit, place] += side * h
            values.append(loss(networks, X, weights))
        assert slope[fit, place] == pytest.approx((values[0] - values[1]) / (2 * h), abs=2e-6)
    np.testing.assert_allclose(moved, start - 0.01 * np.sign(slope), atol=1e-5)


def test_steps_are_those_of_adam():
    """As Kingma and Ba write them: both means without bias, ε beside the root of the second."""
    networks, _, rng = stack([3, 4, 5], n=1)
    at, first, second = networks.vector.copy(), 0.0, 0.0
    mean, variance = 0.0, 1.0
    for number in range(1, 21):
        X, weights = with_ones(rng.normal(size=(1, 8, 3))), rng.normal(size=(1, 8))
        before = networks._moments[0].copy()
        outputs = networks.forward(X)
        raw = outputs[-1][:, :, 0].copy()
        mean, variance = 0.99 * mean + 0.01 * raw.mean(), 0.99 * variance + 0.01 * raw.var()
        score, scale = networks.normalised(raw)
        networks.step(X, outputs, score, scale, weights / np.cosh(score) ** 2)
        slope = networks._moments[0] - 0.9 * before  # finite differences have looked at it
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        unbiased = first / (1 - 0.9**number), second / (1 - 0.999**number)
        at = at - 0.01 * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8)
        np.testing.assert_allclose(networks.vector, at, atol=1e-12)
    assert float(networks.mean[0, 0]) == pytest.approx(mean, abs=1e-12)
    assert float(networks.variance[0, 0]) == pytest.approx(variance, rel=1e-12)


@pytest.mark.parametrize("sizes", SHAPES)
def test_networks_of_a_stack_do_not_know_of_each_other(sizes):
    together, starts, rng = stack(sizes, n=3)
    alone = [Networks([start], np.array([0.1]), 0.01, np.float64) for start in starts]
    for _ in range(5):
        X, slope = with_ones(rng.normal(size=(3, 6, 3))), rng.normal(size=(3, 6))
        for networks, rows in [(together, slice(None)), *((a, [k]) for k, a in enumerate(alone))]:
            outputs = networks.forward(X[rows])
            score, scale = networks.normalised(outputs[-1][:, :, 0])
            networks.step(X[rows], outputs, score, scale, slope[rows])
    new = rng.normal(size=(2500, 3))
    scores = together.scores(together.rows(new))
    for k, networks in enumerate(alone):
        np.testing.assert_allclose(scores[k], networks.scores(networks.rows(new))[0], atol=1e-10)
        # The normalisation becomes a part of the last layer.
        np.testing.assert_allclose(forward(together.whole(k), new), scores[k], atol=1e-10)


def test_weights_that_only_the_penalty_moves_come_to_rest_at_zero():
    """Numbers that are not normal make products of matrices many times slower."""
    networks, _, rng = stack([3, 4], n=1, dtype=np.float32, l2=0.5)
    X = with_ones(rng.normal(size=(1, 6, 3)).astype(np.float32))
    least, small = np.finfo(np.float32).tiny, []
    for settled in (False, True):
        for values in (networks.vector, *networks._moments):
            values[:, ::2] = np.float32(1e-40)
        kept = networks.vector[:, 1::2].copy()
        if settled:
            networks.settle()
        states = (networks.vector, *networks._moments)
        small.append([np.sum((np.abs(v) < least) & (v != 0.0)) for v in states])
        np.testing.assert_array_equal(networks.vector[:, 1::2], kept)
        outputs = networks.forward(X)
        score, scale = networks.normalised(outputs[-1][:, :, 0])
        networks.step(X, outputs, score, scale, np.ones((1, 6), dtype=np.float32))
    assert min(small[0]) > 0
    assert max(small[1]) == 0
