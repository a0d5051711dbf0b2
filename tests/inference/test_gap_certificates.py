import math

import numpy as np
import pytest
from scipy.stats import norm
from support.making import often

from evenscore.inference.gap_certificates import certify_gaps, times_to_decide


def intervals(values, errors):
    """Those of normal estimates."""
    return lambda z: (values - z * errors, values + z * errors)


def certified(values, errors, tolerance=0.05, **options):
    values, errors = np.array(values), np.array(errors)
    titles = [f"gap {k}" for k in range(len(values))]
    asked = dict(constraint="a notion", tolerance=tolerance) | options
    return certify_gaps(values, titles, intervals(values, errors), **asked)


def two_one_sided_tests(values, errors, tolerance, alpha):
    """Written differently on purpose: p-values of all one-sided tests."""
    pairs = list(zip(values, errors, strict=True))
    above = [norm.cdf((value - tolerance) / error) for value, error in pairs]
    below = [norm.sf((value + tolerance) / error) for value, error in pairs]
    return max(above + below) <= alpha


def test_it_is_two_one_sided_tests_of_every_gap():
    rng = np.random.default_rng(0)
    outcomes = set()
    for _ in range(80):
        values, errors = rng.normal(scale=0.03, size=3), rng.uniform(0.001, 0.02, 3)
        level = rng.choice([0.9, 0.95, 0.99])
        found = certified(values, errors, confidence_level=level)
        assert found.certified == two_one_sided_tests(values, errors, 0.05, 1.0 - level)
        outcomes.add(found.certified)
        if 0.0 < found.reach < 1.0:  # which is where it begins to be certified
            for tolerance, holds in ((found.reach + 1e-6, True), (found.reach - 1e-6, False)):
                assert certified(values, errors, tolerance, confidence_level=level).certified is (
                    holds
                )
    assert outcomes == {True, False}


def test_it_names_the_gap_that_stands_farthest_out():
    found = certified([0.03, -0.02], [0.001, 0.03])
    assert found.title == "gap 1"
    assert found.gap == pytest.approx(0.02)
    assert found.reach == pytest.approx(0.02 + norm.ppf(0.95) * 0.03)
    assert found.missed_by == pytest.approx(found.reach - 0.05)
    for part in ("gap 1", "0.020", "0.069", "0.05"):
        assert part in str(found)
    assert found.reach_with(4.0) == pytest.approx(0.02 + norm.ppf(0.95) * 0.015)
    assert certified([0.0], [0.001]).missed_by == 0.0


def test_a_gap_that_cannot_be_computed_is_not_certified():
    for values in ([0.0, math.nan], [math.nan, 0.0]):
        found = certified(values, [0.001, 0.001], reasons=["", "there are no positives of b"])
        assert not found.certified
        assert math.isnan(found.reach)
        assert "no positives of b" in str(found)
    known = np.zeros(1)
    found = certify_gaps(
        known, ["a gap"], lambda z: (np.nan * z, np.nan * z), constraint="x", tolerance=0.05
    )
    assert "a gap" in str(found)
    assert not found.certified
    with pytest.raises(ValueError, match="two"):
        certified([], [])
    with pytest.raises(ValueError, match="tolerance"):
        certified([0.0], [0.1], tolerance=0.0)


def test_small_cells_widen_the_tests():
    assert certified([0.0], [0.03], worth=20).reach == pytest.approx(
        norm.ppf(0.95) * 0.03 * (1 + 1 / 20)
    )


@pytest.mark.parametrize(
    ("values", "decision"),
    [([0.0], "certify"), ([0.02, -0.03], "certify"), ([0.08, 0.0], "refute")],
)
def test_so_many_people_decide_nine_times_out_of_ten(values, decision):
    values, errors = np.array(values), np.full(len(values), 0.03)
    times, what = times_to_decide(values, intervals(values, errors), 0.05, 0.95)
    assert what == decision
    assert times > 1.0
    rng, shorter = np.random.default_rng(0), errors / math.sqrt(times)
    drawn = values + shorter * rng.normal(size=(20_000, len(values)))
    if decision == "certify":
        decided = np.all(np.abs(drawn) + norm.ppf(0.95) * shorter <= 0.05, axis=1)
    else:
        z = norm.ppf(1 - 0.05 / len(values))
        decided = np.any(np.abs(drawn) - z * shorter > 0.05, axis=1)
    assert 0.895 < decided.mean() < 0.93


def test_some_questions_no_number_of_people_decides():
    assert certified([0.05 - 1e-9], [0.01]).times > 1e6
    assert certified([0.0501], [0.03]).times > 1e4
    assert certified([0.3], [0.01]).times == 1.0  # it is refuted already
    assert math.isnan(certified([0.0], [0.001]).times)
    assert math.isnan(certified([0.3], [0.1], foresee=False).times)


def test_at_the_tolerance_one_in_twenty_is_certified():
    rng, n = np.random.default_rng(1), often(1000)
    passed = sum(certified([0.05 + rng.normal(scale=0.01)], [0.01]).certified for _ in range(n))
    assert abs(passed / n - 0.05) < 4.0 * math.sqrt(0.05 * 0.95 / n)
