"""Many gaps against one tolerance: p-values of ROC gaps whose shares are near 0 or 1."""

import math

import pytest
from scipy.special import ndtr

from evenscore.inference.estimate import Estimate, wilson
from evenscore.results.family import beyond_p_value

Z = 1.959963984540054


def roc_gap(share, n, rate):
    """The gap of a group of which so large a share is selected at a known cut."""
    low, high = (float(end) - rate for end in wilson(share, n, Z))
    return Estimate("roc_gap(negatives)", share - rate, low, high, 0.95, "Wilson", rate=rate)


@pytest.mark.parametrize(("share", "rate"), [(0.0, 0.25), (1.0, 0.75)])
@pytest.mark.parametrize("n", [12, 40, 200])
def test_wilsons_interval_is_turned_round(share, rate, n):
    """Wilson's interval of none among n ends at z²/(n + z²): it reaches 0.2 where z² = n/4."""
    exact = 2.0 * float(ndtr(-math.sqrt(n / 4.0)))
    found = beyond_p_value(roc_gap(share, n, rate), 0.05)
    assert found > min(exact, 0.05)  # never surer than the interval itself
    z = -Z * math.asin(math.sqrt(0.2)) / math.asin(math.sqrt(Z**2 / (n + Z**2)))
    assert found == pytest.approx(2.0 * float(ndtr(z)))
    if n == 40:  # in proportion to z on the scale of the share it would be 1e-5
        assert 0.0015 < exact < found < 0.003


def test_the_p_value_is_the_error_probability_where_the_interval_ends_at_the_tolerance():
    gap = roc_gap(0.05, 60, 0.25)
    assert beyond_p_value(gap, -gap.high) == pytest.approx(0.05)
    assert beyond_p_value(roc_gap(0.3, 60, 0.25), 0.1) == 1.0
