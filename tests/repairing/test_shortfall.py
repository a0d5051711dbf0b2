"""What a repair could not do is said in one sentence with the reason, in a warning and for good."""

import warnings

import numpy as np
import pytest

from evenscore import AucConstraint, Repair, RocConstraint, repair


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


@pytest.mark.parametrize("share", [(0.5, 0.5), (0.9, 0.1)])
def test_a_gap_that_rankings_within_groups_make(share):
    fair = left(*sample(share=share), constraints="pair_error")
    assert fair.shortfall.startswith("The repair leaves pair_error between 0 and 1 at +0.0")
    assert "beyond the tolerance of 0: shifting one group against the other moves it only " in (
        fair.shortfall
    )
    assert fair.shortfall.endswith("which maps keep, counting for the rest.")
    assert worst(fair) <= worst(fair, "before")


def test_a_balance_by_chance_refuses_nothing():
    # Cells of the same size: between two groups no map moves the gap at all.
    y, group = np.tile([0, 0, 1, 1], 200), np.tile([0, 1], 400)
    rng = np.random.default_rng(0)
    score = rng.normal(size=800) * (1 + group) + 2 * y
    told = [left(y[k:], score[k:], group[k:], constraints="pair_error").shortfall for k in (0, 9)]
    assert all("shifting one group against the other moves it only between" in one for one in told)
    for k in (0, 9):
        with pytest.raises(ValueError, match="intra_group compares people within groups"):
            repair(y[k:], score[k:], sensitive_features=group[k:], constraints="intra_group")


@pytest.mark.parametrize("seed", range(4))
def test_three_groups_that_two_shifts_close_but_for_chance(seed):
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, 3000), rng.integers(0, 3, 3000)
    score = rng.normal(size=3000) + 1.5 * y + 0.7 * group
    fair = left(y, score, group, constraints="inter_group")
    assert worst(fair) < 0.01
    assert fair.shortfall is None


@pytest.mark.slow
def test_three_groups_that_two_shifts_cannot_close():
    fair = left(*sample(6000, 3), constraints=["inter_group", "bnsp", "bpsn"])
    assert "shifts have to close" in fair.shortfall
    assert "between 3 groups at once" in fair.shortfall


@pytest.mark.parametrize("seed", range(4))
def test_the_worst_auc_gap_is_not_made_worse(seed):
    fair = left(*sample(n_groups=3, seed=seed), constraints="pair_error")
    assert worst(fair) <= worst(fair, "before") + 1e-12


def test_two_notions_that_pull_against_each_other():
    fair = left(*sample(), constraints=["bnsp", "bpsn"])
    assert "one shift has to close 2 gaps between 2 groups at once" in fair.shortfall


def test_a_heavy_row():
    y, score, group = sample(600)
    weight = np.ones(600)
    weight[np.flatnonzero((y == 0) & (group == 1))[:2]] = 60.0
    asked = RocConstraint(on="negatives", rates=(0.25,))
    fair = left(y, score, group, constraints=asked, sample_weight=weight, min_beyond=1)
    if fair.shortfall is not None:
        assert "a single row weighs" in fair.shortfall
    assert worst(fair) < 60 / weight[(y == 0) & (group == 1)].sum()


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
