import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenscore.repairing import IncreasingMap

NUMBERS = st.floats(-100, 100, allow_nan=False)


def naive(mapping, score):
    """The rule of `Repair.to_dict`, one score at a time."""
    x, y = mapping.x.tolist(), mapping.y.tolist()
    if score < x[0]:
        return score + (y[0] - x[0])
    if score >= x[-1]:
        return score + (y[-1] - x[-1])
    k = max(k for k in range(len(x)) if x[k] <= score)
    return y[k] + (score - x[k]) * (y[k + 1] - y[k]) / (x[k + 1] - x[k])


@st.composite
def maps(draw):
    x, y = (
        sorted(draw(st.lists(st.integers(-50, 50), min_size=3, max_size=8, unique=True)))
        for _ in range(2)
    )
    n = min(len(x), len(y))
    return IncreasingMap(np.array(x[:n], float), np.array(y[:n], float))


@given(mapping=maps(), scores=st.lists(NUMBERS, min_size=1, max_size=20))
def test_by_the_rule_as_written(mapping, scores):
    expected = [naive(mapping, score) for score in scores]
    np.testing.assert_allclose(mapping(scores), expected, rtol=1e-12, atol=1e-9)


@given(mapping=maps(), scores=st.lists(NUMBERS, min_size=2, max_size=20))
def test_it_increases_and_is_inverted(mapping, scores):
    scores = np.sort(scores)
    assert np.all(np.diff(mapping(scores)) >= 0.0)
    np.testing.assert_allclose(mapping.inverse(mapping(scores)), scores, atol=1e-9)
    np.testing.assert_array_equal(mapping(mapping.x), mapping.y)


def beside(x, steps=4):
    """The knots and their nearest neighbours among the doubles."""
    found, up, down = [x], x, x
    for _ in range(steps):
        up, down = np.nextafter(up, np.inf), np.nextafter(down, -np.inf)
        found += [up, down]
    return np.sort(np.concatenate(found))


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 8),
    scales=st.tuples(st.integers(-8, 8), st.integers(-8, 8)),
)
def test_no_two_neighbouring_doubles_are_exchanged_at_a_knot(seed, n, scales):
    rng = np.random.default_rng(seed)
    x, y = (np.sort(rng.normal(size=n)) * 10.0**scale for scale in scales)
    mapping = IncreasingMap(x, y)
    assert np.all(np.diff(mapping(beside(x))) >= 0.0)
    assert np.all(np.diff(mapping.inverse(beside(y))) >= 0.0)
    np.testing.assert_array_equal(mapping(x), y)


def test_the_identity_changes_no_bit():
    same = IncreasingMap(np.array([0.1, 0.7]), np.array([0.1, 0.7]))
    score = np.random.default_rng(0).normal(size=100)
    np.testing.assert_array_equal(same(score), score)
    assert same.is_identity
    assert same(0.3).shape == ()


def test_points_that_would_make_it_decrease_are_left_out():
    made = IncreasingMap.through([0, 1, 1, 2, 3], [0, 1, 2, 0.5, 3])
    assert (made.x.tolist(), made.y.tolist()) == ([0, 1, 3], [0, 1, 3])


@pytest.mark.parametrize(
    ("x", "y", "told"),
    [
        ([0, 1, 1], [0, 1, 2], "x of a map.*1.*1"),
        ([0, 1], [1, 0], "y of a map.*0.*1"),
        ([0, np.nan], [0, 1], "x of a map"),
        ([], [], "finite numbers"),
        ([0, 1], [0, 1, 2], "A map has 2 knots x but 3 values y"),
        (["a"], [0], "x of a map"),
        ([10**400], [0], "x of a map"),
        ([[[]]], [0], "x of a map"),
        ([-1.7e308, 1.7e308], [0, 1], "The x and y of a map are too far apart"),
        ([0, 1], [-1.7e308, 1.7e308], "The x and y of a map are too far apart"),
        ([-1.7e308], [1.7e308], "The x and y of a map are too far apart"),
        ([*range(999), False], [*range(1000)], r"must be a list of numbers, not \[0, .{70,80}\.$"),
        (["0", "1"], [0, 1], r"x of a map.*\['0', '1'\]"),
        ([0, 1], [False, True], "y of a map"),
    ],
)
def test_what_is_no_map(x, y, told):
    with pytest.raises(ValueError, match=told):
        IncreasingMap(x, y)
