import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenscore.learning.standard import standardise


def shares(rng, n):
    share = rng.gamma(1.0, size=n)
    return share / share.sum()


@given(st.integers(2, 30), st.integers(0, 10_000), st.sampled_from([1e-6, 1.0, 1e8]))
def test_mean_zero_and_deviation_one(n, seed, size):
    rng = np.random.default_rng(seed)
    share = shares(rng, n)
    found = standardise(size * rng.normal(size=n) + 3.0 * size, share)
    assert share @ found.score == pytest.approx(0.0, abs=1e-12)
    assert share @ found.score**2 == pytest.approx(1.0)


def test_the_scale_undoes_it():
    rng = np.random.default_rng(0)
    raw, share = rng.normal(size=20), shares(rng, 20)
    found = standardise(raw, share)
    np.testing.assert_allclose(found.score * found.scale + found.mean, raw, atol=1e-14)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_pull_back_is_the_gradient(size):
    """Of a function with a gradient that is neither zero in sum nor orthogonal to the score."""
    rng = np.random.default_rng(0)
    n = 15
    raw, share = size * (rng.normal(size=n) + 2.0), shares(rng, n)
    a, b = rng.normal(size=(2, n))

    def value(raw):
        score = standardise(raw, share).score
        return float(a @ np.sin(score) + (b @ score**2) ** 2)

    now = standardise(raw, share)
    gradient = a * np.cos(now.score) + 4.0 * (b @ now.score**2) * b * now.score
    found = now.pull_back(gradient)
    h = 1e-6 * size
    expected = [(value(raw + h * e) - value(raw - h * e)) / (2 * h) for e in np.eye(n)]
    np.testing.assert_allclose(found * size, np.array(expected) * size, atol=1e-6)


def test_what_is_pulled_back_does_not_shift_or_stretch():
    rng = np.random.default_rng(1)
    raw, share = rng.normal(size=12), shares(rng, 12)
    found = standardise(raw, share).pull_back(rng.normal(size=12))
    assert found.sum() == pytest.approx(0.0, abs=1e-13)
    assert found @ raw == pytest.approx(0.0, abs=1e-13)


@pytest.mark.parametrize("constant", [0.0, 1.0, -1e9, 0.1])
def test_constant_scores_become_zero(constant):
    share = np.full(7, 1 / 7)
    found = standardise(np.full(7, constant), share)
    assert np.all(found.score == 0.0)
    assert found.scale == 1.0
    gradient = np.arange(7.0)
    np.testing.assert_allclose(found.pull_back(gradient), gradient - gradient.mean())
