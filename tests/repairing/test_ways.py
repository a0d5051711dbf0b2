"""Where not everything asked for can be had, a repair improves what it can."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.making import draw

from evenscore import Cuts, RateConstraint, RocConstraint, repair
from evenscore.repairing.points import _increasing
from evenscore.repairing.ways import Judge, Standing

NEGATIVES = RocConstraint(on="negatives", rates=(0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35))
POSITIVES = RocConstraint(on="positives", rates=(0.4, 0.5, 0.6, 0.7, 0.8, 0.9))
RATES = [
    RateConstraint("fpr", cuts=Cuts(between=(0.1, 0.4))),
    RateConstraint("fnr", cuts=Cuts(between=(0.15, 0.5))),
]
MIXTURES = {
    "roc": [NEGATIVES, POSITIVES],
    "rates": RATES,
    "shares": [
        RateConstraint("selection", cuts=Cuts(between=(0.1, 0.3))),
        RateConstraint("fnr", cuts=Cuts(at=(0.5, 0.7), of="positives")),
    ],
    "auc": ["bnsp", "bpsn"],
    "auc and roc": ["bnsp", RocConstraint(on="both", rates=(0.2, 0.5))],
    "auc and rates": ["bpsn", *RATES],
}


def quietly(y, score, group, constraints, **options):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The repair leaves")
        return repair(y, score, sensitive_features=group, constraints=constraints, **options)


def excesses(fair, when, tolerance=0.0):
    return np.maximum(np.abs([gap.value for gap in fair.gaps[when]]) - tolerance, 0.0)


# ---------------------------------------------------------------------- what is left


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_groups=st.sampled_from([2, 3, 4]),
    levels=st.sampled_from([None, 12]),
    weights=st.sampled_from([None, "real"]),
    name=st.sampled_from(list(MIXTURES)),
    tolerance=st.sampled_from([0.0, 0.05]),
)
def test_never_both_a_larger_worst_and_a_larger_sum(
    seed, n_groups, levels, weights, name, tolerance
):
    y, score, group, weight = draw(seed, 400 * n_groups, n_groups, levels, weights)
    score = score * (1.0 + 0.3 * group) if levels is None else score
    try:
        fair = quietly(
            y, score, group, MIXTURES[name], tolerance=tolerance, sample_weight=weight, min_beyond=1
        )
    except ValueError:  # too few people, or too coarse a score, for a cut
        assume(False)
    before, after = (excesses(fair, when, tolerance) for when in ("before", "after"))
    assert after.max() <= before.max() + 1e-9
    assert after.max() + after.mean() <= before.max() + before.mean() + 1e-9


# ---------------------------------------------------------------------- which way is taken


class _Exact:
    error = 0.0


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=6))
def test_no_way_is_beaten_by_another_in_everything(rows):
    standings = [Standing(worst / 4, mean / 4, auc / 4, False) for worst, mean, auc in rows]
    taken = standings[Judge(_Exact(), (), np.ones((2, 2))).best(standings)]
    assert taken.worst <= standings[0].worst + 1e-9
    for other in standings:
        if other.worst <= standings[0].worst:
            assert taken.burden <= other.burden + 1e-9
            assert not (
                other.worst < taken.worst and other.mean < taken.mean and other.auc > taken.auc
            )
            if other.burden == taken.burden:
                assert other.auc <= taken.auc


@given(seed=st.integers(0, 10**6), n=st.integers(1, 8))
def test_common_values_do_not_decrease_by_rounding(seed, n):
    rng = np.random.default_rng(seed)
    common = np.round(rng.normal(size=n), 2) + rng.normal()
    found = _increasing(common, common.min() - 1.0, common.max() + 1.0)
    assert np.all(np.diff(found) >= 0.0)


# ---------------------------------------------------------------------- who is warned


def warned(y, score, group, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fair = repair(y, score, sensitive_features=group, **options)
    assert bool(caught) == (fair.shortfall is not None)
    return fair


@pytest.mark.slow
def test_chance_is_not_warned_of():
    for seed in range(2):
        rng = np.random.default_rng(seed)
        y, group = rng.integers(0, 2, 20_000), rng.integers(0, 2, 20_000)
        score = rng.normal(size=20_000) + 1.5 * y + 0.7 * group
        fair = warned(y, score, group)
        assert 0.0 < excesses(fair, "after").max() < 0.03  # beyond the tolerance of 0
        assert fair.shortfall is None
        assert warned(y, score, group, constraints=["bnsp", "bpsn"]).shortfall is None
