import numpy as np
import pytest
from scipy.special import ndtr

from evenscore.inference.dkw import dkw_constant, dkw_size
from evenscore.scores.distribution import Distribution


def test_equal_weights_are_the_inequality_itself():
    rng = np.random.default_rng(0)
    for weight in (None, np.full(80, 2.5)):
        assert dkw_size(Distribution.from_sample(rng.integers(0, 9, 80), weight), 0.05) == (
            pytest.approx(80)
        )


def test_random_weights_cost_hardly_more_than_kish():
    rng = np.random.default_rng(0)
    sample = Distribution.from_sample(rng.normal(size=5000), rng.gamma(2.0, size=5000))
    assert dkw_size(sample, 0.05) == pytest.approx(sample.effective_size, rel=0.03)


def test_weights_that_go_with_the_values():
    """exp(b·S), S normal: the weighted law is N(b, 1). Kish's size fails twice as often."""
    rng = np.random.default_rng(1)
    delta, missed, slope, runs = 0.2, np.zeros(2), 1.0, 150
    for _ in range(runs):
        values = np.sort(rng.normal(size=1000))
        sample = Distribution.from_sample(values, np.exp(slope * values))
        steps = np.append(0.0, sample.cumulative / sample.total)
        true = ndtr(values - slope)
        error = max(np.abs(steps[1:] - true).max(), np.abs(steps[:-1] - true).max())
        for k, size in enumerate((dkw_size(sample, delta), sample.effective_size)):
            missed[k] += error > dkw_constant(delta) / np.sqrt(size)
    ours, kish = missed / runs
    assert ours <= delta / 2
    assert kish > ours
