"""Many gaps against one tolerance: how sure a gap is beyond it."""

import numpy as np
import pytest

import evenscore as es
from evenscore.gaps import EstimateSettings
from evenscore.inference.decisions import beyond_all, beyond_p_value
from evenscore.inference.estimate import Estimate


def test_the_p_value_is_the_error_probability_where_the_interval_ends_at_the_tolerance():
    gap = Estimate("gap", -0.2, -0.3, -0.07, 0.95, "t", degrees_of_freedom=20.0)
    assert beyond_p_value(gap, 0.07) == pytest.approx(0.05)
    assert beyond_p_value(gap, 0.25) == 1.0


def clusters(rng, n):
    """Two groups alike at the top (14 % of either); below, one is wholly above the other."""
    y, group = np.repeat([0, 1], 2 * n), np.tile(np.repeat(["a", "b"], n), 2)
    low = 5.0 * (group == "b") + 0.1 * rng.normal(size=4 * n)
    top = rng.random(4 * n) < 0.14
    return y, np.where(top, 100.0 + rng.normal(size=4 * n), low), group


def test_the_p_value_of_a_roc_gap_is_that_of_its_interval():
    """One minus the largest level at which the interval itself lies beyond, found by trying."""
    rng = np.random.default_rng(0)
    y, group = np.tile([0, 1], 100), np.repeat(["a", "b"], 100)
    score = rng.normal(size=200) + 1.5 * (group == "b")
    scores = es.GroupedScores.from_arrays(y, score, sensitive_features=group)
    constraint = es.RocConstraint(rates=(0.125, 0.25))
    found = constraint.estimates(scores, EstimateSettings(tolerance=0.1))
    assert min(gap.beyond_p_value for gap in found) < 0.01
    for k, gap in enumerate(found):
        assert beyond_p_value(gap, 0.1) == gap.beyond_p_value
        assert (gap.beyond_p_value < 0.05) == (gap.low > 0.1 or gap.high < -0.1)
        if gap.beyond_p_value == 1.0:
            continue
        for factor, beyond in ((1.02, True), (0.98, False)):
            level = 1.0 - factor * gap.beyond_p_value
            low = constraint.estimates(scores, EstimateSettings(level))[k]
            assert (low.low > 0.1 or low.high < -0.1) == beyond


@pytest.mark.slow
def test_a_cut_that_few_lie_above_is_not_taken_for_known():
    """The true gap at 1/8 is zero in both classes; by the shares alone one in seven were beyond."""
    rng = np.random.default_rng(1)
    wrong, held = 0, 0
    for _ in range(80):
        y, score, group = clusters(rng, 30)
        scores = es.GroupedScores.from_arrays(y, score, sensitive_features=group)
        gaps = es.RocConstraint(rates=(0.125,)).estimates(scores, EstimateSettings(tolerance=0.05))
        wrong += beyond_all(gaps, 0.05, 0.95, total=10).any()  # so many an audit looks at
        held += sum(gap.low <= 0.0 <= gap.high for gap in gaps)
    assert wrong <= 3
    assert held >= 0.94 * 160  # with a straight line between the cuts, 85 % to 91 % of them


def test_an_audit_asks_for_it():
    y, score, group = clusters(np.random.default_rng(3), 30)
    result = es.audit(y, score, sensitive_features=group, rates=(0.125,))
    assert not any(np.isnan(gap.beyond_p_value) for gap in result.gaps)
