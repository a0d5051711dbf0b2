"""The paper's α_max: where a score without constraints would be cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenscore import RocConstraint
from evenscore.paper import OperatingPoint, operating_point
from evenscore.paper.laws import credit_law


def rows(seed, n=40, levels=8):
    rng = np.random.default_rng(seed)
    y = np.concatenate([[0, 1], rng.integers(0, 2, n)])
    return y, rng.integers(0, levels, n + 2) + 2.0 * y, rng.integers(1, 4, n + 2).astype(float)


def by_hand(y, score, weight, t):
    def share(label):
        return weight[(y == label) & (score > t)].sum() / weight[y == label].sum()

    return share(0), share(1)


@given(st.integers(0, 10**6), st.floats(0.01, 0.99))
def test_the_largest_tpr_within_a_limit(seed, limit):
    y, score, weight = rows(seed)
    best = max(by_hand(y, score, weight, t)[::-1] for t in [-np.inf, *score]
               if by_hand(y, score, weight, t)[0] <= limit + 1e-12)  # fmt: skip
    if best[0] == 0.0:
        with pytest.raises(ValueError, match="no positive"):
            operating_point(y, score, max_fpr=limit, sample_weight=weight)
        return
    point = operating_point(y, score, max_fpr=limit, sample_weight=weight)
    assert point.tpr == pytest.approx(best[0])
    assert (point.fpr, point.tpr) == pytest.approx(by_hand(y, score, weight, point.threshold))
    assert point.fpr <= limit + 1e-12


@given(st.integers(0, 10**6), st.floats(0.1, 10.0), st.floats(0.1, 10.0))
def test_the_cut_that_earns_most(seed, gain, loss):
    y, score, weight = rows(seed)

    def earned(t):
        above = weight * (score > t)
        return gain * above[y == 1].sum() - loss * above[y == 0].sum()

    best = max(earned(t) for t in [-np.inf, *score])
    try:
        point = operating_point(y, score, earnings=(gain, loss), sample_weight=weight)
    except ValueError:
        assert best == pytest.approx(0.0, abs=1e-9)
        return
    assert earned(point.threshold) == pytest.approx(best)


def test_the_credit_example():
    """A quarter of the negatives lies above 0.72, and so do four fifths of the positives."""
    score, y, _ = credit_law().sample(200_000, np.random.default_rng(0))
    point = operating_point(y, score, max_fpr=0.25)
    assert point.threshold == pytest.approx(0.72, abs=0.005)
    assert point.tpr == pytest.approx(0.8, abs=0.01)
    fair = RocConstraint(on="positives", interval=(0, point.tpr), n_rates=8)
    assert fair.rates[0] == pytest.approx(point.tpr / 8)
    assert fair.rates[-1] == pytest.approx(point.tpr)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"max_fpr": 0.1, "earnings": (1, 1)}, "either max_fpr"),
        ({"max_fpr": 0.0}, "between 0 and 1"),
        ({"max_fpr": "a lot"}, "between 0 and 1"),
        ({"earnings": (1.0,)}, "two positive"),
        ({"earnings": (1.0, np.inf)}, "two positive"),
    ],
)
def test_bad_input(options, match):
    with pytest.raises(ValueError, match=match):
        operating_point([0, 1, 0, 1], [1, 2, 3, 4], **options)


def test_one_class_and_a_worthless_score():
    with pytest.raises(ValueError, match="positives"):
        operating_point([0, 0, 0], [1, 2, 3], max_fpr=0.5, pos_label=1)
    with pytest.raises(ValueError, match=r"earnings=\(1, 5\).*positive"):
        operating_point([1, 0, 0], [1, 2, 3], earnings=(1, 5))
    assert OperatingPoint(0.0, 0.1, 0.2) == OperatingPoint(0.0, 0.1, 0.2)
