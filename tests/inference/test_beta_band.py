"""Bands of shares that hold at all cuts at once, for any law and any sample size."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, poisson

from evenscore.inference.beta_band import (
    _DELTAS,
    _SIZES,
    _TESTS,
    LARGEST,
    local_level,
    share_bounds,
)


def chance_inside(low, high):
    """The probability that n sorted uniform numbers all lie between their bounds, exactly.

    The number N(t) of them up to t is a Poisson process of intensity n, given N(1) = n. It has to
    stay below i until low_i and to be i at least from high_i: from one bound to the next, its law
    on the counts that are allowed is spread by Poisson's and cut (Moscovich and Nadler, 2017). Of
    n counts about √n are allowed, and O(n^1.5) operations do.
    """
    n = len(low)
    times = np.concatenate([low, high])
    opens = np.repeat([True, False], n)
    order = np.lexsort((opens, times))
    law, first, last = np.ones(1), 0, 0  # of the counts from the first to the last allowed
    for (before, time), more in zip(
        pairwise([0.0, *times[order].tolist()]), opens[order].tolist(), strict=True
    ):
        mean = n * (time - before)
        if mean > 0.0:
            terms = int(mean + 10.0 * np.sqrt(mean) + 14.0)
            jumps = np.cumprod(np.concatenate([[np.exp(-mean)], mean / np.arange(1, terms)]))
            law = np.convolve(law, jumps)[: last - first + 1]
        if more:
            law, last = np.append(law, 0.0), last + 1
        else:
            law, first = law[1:], first + 1
    rest = poisson.pmf(n - np.arange(first, last + 1), n * (1.0 - times.max()))
    return float(law @ rest / poisson.pmf(n, n))


def steck(low, high):
    """The same probability by Steck's determinant, in exact enough arithmetic for small n."""
    from math import comb

    n = len(low)
    matrix = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if j - i + 1 >= 0:
                width = max(high[i] - low[j], 0.0)
                matrix[i, j] = comb(j + 1, j - i + 1) * width ** (j - i + 1)
    return np.linalg.det(matrix)


@given(st.integers(1, 7), st.integers(0, 10**6))
def test_the_chance_to_stay_inside_is_stecks_determinant(n, seed):
    rng = np.random.default_rng(seed)
    one, two = np.sort(rng.random((2, n)), axis=1)
    low, high = np.minimum(one, two), np.maximum(one, two)
    assert chance_inside(low, high) == pytest.approx(steck(low, high), abs=1e-9)


def test_chances_in_closed_form():
    n = 5
    assert chance_inside(np.zeros(n), np.ones(n)) == pytest.approx(1.0)
    assert chance_inside(np.zeros(n), np.full(n, 0.8)) == pytest.approx(0.8**n)
    assert chance_inside(np.full(n, 0.3), np.ones(n)) == pytest.approx(0.7**n)


def missed(n, delta):
    """Exactly how often the band does not hold."""
    low, high = share_bounds(n, delta)
    return 1.0 - chance_inside(np.asarray(low[1:]), np.asarray(high[:-1]))


@pytest.mark.parametrize("n", [1, 9, 10, 11, 37, 333])
@pytest.mark.parametrize("delta", [0.3, 0.0166, 0.00083])
def test_the_level_is_kept_and_nearly_used(n, delta):
    found = missed(n, delta)
    assert found <= delta + 1e-12
    if n >= 10:
        assert found > 0.75 * delta


def test_the_table_is_what_it_is_computed_to_be():
    """As many tests as keep δ, rounded up: with 0.2 fewer it would not be kept."""
    for i, k in [*np.ndindex(4, len(_DELTAS)), (4, 5), (5, 5), (6, 0), (7, 0)]:
        n, delta, tests = _SIZES[i], _DELTAS[k], _TESTS[i][k]
        for fewer, kept in ((0.0, True), (0.2, False)):
            seen, half = np.arange(1, n + 1), delta / (tests - fewer) / 2.0
            low = beta.ppf(half, seen, n + 1 - seen)
            assert (1.0 - chance_inside(low, 1.0 - low[::-1]) <= delta) == kept, (n, delta)


def test_the_table_is_what_makes_steps_in_between_safe():
    tests = np.array(_TESTS)
    assert tests.shape == (len(_SIZES), len(_DELTAS))
    assert (np.diff(tests, axis=1) > 0.0).all()  # more tests for a smaller δ
    slopes = np.diff(tests, axis=0) / np.diff(np.log(_SIZES))[:, None]
    assert (np.diff(slopes, axis=0) > 0.0).all()  # convex in log n
    assert local_level(LARGEST + 1, 0.05) == 0.0
    assert local_level(50, 1e-9) == 0.0


@pytest.mark.parametrize("n", [5, 300, LARGEST + 1])
def test_bounds_are_bounds_of_shares(n):
    low, high = share_bounds(n, 0.02)
    share = np.arange(n + 1) / n
    assert len(low) == len(high) == n + 1
    assert (low <= share).all()
    assert (share <= high).all()
    assert (np.diff(low) >= 0.0).all()
    np.testing.assert_allclose(low, 1.0 - high[::-1], atol=1e-12)
