import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evenscore.inference import Estimate
from evenscore.inference.decisions import decide
from evenscore.inference.widening import widened


def estimate(value, half, level=0.95, freedom=math.inf):
    """A Student interval, as symmetric as can be."""
    quantile = stats.t.ppf(0.5 + level / 2.0, freedom)
    return Estimate(
        "gap",
        value,
        value - half,
        value + half,
        level,
        "made",
        standard_error=half / quantile,
        degrees_of_freedom=freedom,
        p_value=2.0 * stats.t.sf(abs(value) * quantile / half, freedom),
    )


@pytest.mark.parametrize("freedom", [4.0, 60.0, math.inf])
def test_variances_add(freedom):
    narrow = estimate(0.05, 0.03, 0.9, freedom)
    wide = widened(narrow, 0.02**2, "of training")
    error = math.hypot(narrow.standard_error, 0.02)
    quantile = stats.t.ppf(0.95, freedom)
    assert wide.standard_error == pytest.approx(error)
    assert (wide.low, wide.high) == pytest.approx(
        (0.05 - quantile * error, 0.05 + quantile * error)
    )
    assert wide.p_value == pytest.approx(2.0 * stats.t.sf(0.05 / error, freedom))
    assert wide.method == "made, of training"
    assert (wide.value, wide.confidence_level) == (narrow.value, narrow.confidence_level)


def test_interval_p_value_and_verdict_never_contradict():
    rng = np.random.default_rng(0)
    for _ in range(500):
        level, freedom = rng.choice([0.9, 0.95, 0.99]), rng.choice([3.0, 20.0, math.inf])
        narrow = estimate(rng.normal(0.0, 0.06), rng.uniform(0.001, 0.1), level, freedom)
        if rng.random() < 0.5:  # intervals need not be symmetric, nor p-values those of Student
            narrow = replace(narrow, low=narrow.low - rng.uniform(0.0, 0.05), p_value=0.0)
            narrow = replace(narrow, p_value=0.0 if narrow.differs_from_zero else 1.0)
        wide = widened(narrow, rng.uniform(0.0, 0.04) ** 2, "made")
        assert wide.low < narrow.low
        assert wide.high > narrow.high
        assert wide.p_value >= narrow.p_value
        assert wide.differs_from_zero == (wide.p_value <= 1.0 - level)
        tolerance = rng.uniform(0.0, 0.08)
        [gap] = decide([wide], tolerance, level)
        assert (gap.verdict == "beyond") == wide.lies_beyond(tolerance)


def test_what_was_made_of_the_narrow_interval_is_gone():
    [made] = decide([estimate(0.05, 0.01)], 0.01, 0.95)
    assert made.verdict == "beyond"
    wide = widened(made, 0.05**2, "made")
    assert wide.beyond_test is wide.within_test is None
    assert math.isnan(wide.adjusted_p_value)
    assert wide.verdict is None


def test_nothing_to_widen():
    narrow = estimate(0.05, 0.01)
    nowhere = replace(narrow, low=math.nan, high=math.nan, warnings=("too few",))
    assert widened(narrow, 0.0, "made") is narrow
    assert widened(narrow, math.nan, "made") is narrow
    assert widened(nowhere, 0.01, "made") is nowhere
    assert math.isnan(widened(replace(narrow, p_value=math.nan), 0.01, "made").p_value)


def test_a_gap_stays_a_gap():
    wide = widened(estimate(0.9, 0.08), 1.0, "made")
    assert (wide.low, wide.high) == (-1.0, 1.0)
    far = widened(estimate(1.4, 0.1), 0.01, "made")  # a combination of gaps may be larger than one
    assert far.high == pytest.approx(1.5)
    assert far.low < 1.3
