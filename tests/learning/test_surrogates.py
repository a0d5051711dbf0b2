import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenscore.learning.surrogates import logistic, logistic_slope

numbers = st.floats(-700.0, 700.0)


@given(numbers)
def test_logistic_is_the_textbook_formula(x):
    assert float(logistic(np.float64(x))) == pytest.approx(
        0.5 * (1 + math.tanh(x / 2)), rel=1e-12, abs=1e-15
    )


@given(numbers)
def test_symmetry(x):
    x = np.float64(x)
    assert float(logistic(x) + logistic(-x)) == pytest.approx(1.0, abs=1e-15)
    assert logistic_slope(x) == logistic_slope(-x)


@given(st.floats(-30.0, 30.0))
def test_slope_is_the_finite_difference(x):
    h = 1e-5
    difference = (logistic(np.float64(x + h)) - logistic(np.float64(x - h))) / (2 * h)
    assert float(logistic_slope(np.float64(x))) == pytest.approx(float(difference), abs=1e-10)


def test_far_away_nothing_overflows():
    x = np.array([-np.inf, -1e308, -1e4, -746.0, 746.0, 1e4, 1e308, np.inf])
    np.testing.assert_array_equal(logistic(x), [0, 0, 0, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(logistic_slope(x), np.zeros(8))
    # Below zero the tail is kept to full relative precision, not rounded to 0 by 1 − σ.
    assert float(logistic(np.float64(-700.0))) == pytest.approx(math.exp(-700.0), rel=1e-12)


def test_values_known_by_heart():
    np.testing.assert_allclose(logistic(np.array([0.0, math.log(3.0)])), [0.5, 0.75], rtol=1e-15)
    np.testing.assert_allclose(logistic_slope(np.array([0.0, math.log(3.0)])), [0.25, 0.1875])


def test_increasing():
    assert np.all(np.diff(logistic(np.linspace(-30.0, 30.0, 10_001))) > 0.0)


def test_jax_agrees():
    jnp = pytest.importorskip("jax.numpy")
    x = np.linspace(-90.0, 90.0, 181)
    for function in (logistic, logistic_slope):
        found = np.asarray(function(jnp.asarray(x, dtype=jnp.float32), jnp))
        np.testing.assert_allclose(found, function(x), rtol=2e-5, atol=1e-37)


def test_jax_differentiates_it():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    slope = jax.grad(lambda x: logistic(x, jnp))
    for x in (-100.0, -3.0, 0.5, 100.0):
        assert float(slope(x)) == pytest.approx(float(logistic_slope(np.float64(x))), abs=1e-6)
