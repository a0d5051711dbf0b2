"""What a repair could not do is said in one sentence with the reason, in a warning and for good."""

import warnings

import numpy as np
import pytest

from evenscore import AucConstraint, Repair, repair


def sample(n=3000, n_groups=2, seed=0, share=None):
    """Groups of different spread: the rankings within them differ, which no map can change."""
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.choice(n_groups, n, p=share)
    return y, rng.normal(size=n) * (1 + 0.5 * group) + 1.5 * y + 0.7 * group, group


def left(y, score, group, **options):
    """The repair, and the only sentence it warns with."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fair = repair(y, score, sensitive_features=group, **options)
    assert [str(one.message) for one in caught] == ([fair.shortfall] if fair.shortfall else [])
    assert all(one.filename == __file__ for one in caught)
    return fair


def worst(fair, when="after"):
    return max(abs(gap.value) for gap in fair.gaps[when])


@pytest.mark.parametrize("share", [(0.9, 0.1)])
def test_a_gap_that_rankings_within_groups_make(share):
    fair = left(*sample(share=share), constraints="pair_error")
    assert "pair_error between 0 and 1 at +0.0" in fair.shortfall
    assert "tolerance of 0" in fair.shortfall
    assert worst(fair) <= worst(fair, "before")


@pytest.mark.parametrize("seed", range(2))
def test_three_groups_that_two_shifts_close_but_for_chance(seed):
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, 3000), rng.integers(0, 3, 3000)
    score = rng.normal(size=3000) + 1.5 * y + 0.7 * group
    fair = left(y, score, group, constraints="inter_group")
    assert worst(fair) < 0.01
    assert fair.shortfall is None


def test_two_notions_that_pull_against_each_other():
    fair = left(*sample(), constraints=["bnsp", "bpsn"])
    assert "2 gaps between 2 groups" in fair.shortfall


def test_nothing_is_said_when_nothing_is_left():
    rng = np.random.default_rng(0)
    y, group = rng.integers(0, 2, 2000), rng.integers(0, 2, 2000)
    score = rng.normal(size=2000) + 1.5 * y + 0.7 * group
    assert left(y, score, group).shortfall is None
    assert left(y, score, group, constraints="bnsp").shortfall is None
    assert left(y, score, group, share=0.5).shortfall is None  # asked to leave something


def test_it_is_kept():
    y, score, group = sample()
    named = AucConstraint.named("pair_error", tolerance=0.001)
    fair = left(y, score, group, constraints=named)
    assert "beyond the tolerance of 0.001: " in fair.shortfall
    assert Repair.from_dict(fair.to_dict()).shortfall == fair.shortfall
