"""KS distances: scipy's, by hand, invariances and coverage."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import ks_2samp, norm
from support.binning import binned_rows
from support.making import draw, often

from evenscore import GroupedScores
from evenscore.inference.separation import ks_distances


def table(y, score, group, **more):
    return GroupedScores.from_arrays(y, score, sensitive_features=group, pos_label=1, **more)


def test_by_hand():
    """Up to 1: 1/3 − 0. Up to 2: 2/3 − 1/4 = 5/12. Up to 3: 3/3 − 2/4 = 1/2. Up to 4: 1 − 1."""
    found = ks_distances(table([0, 0, 1, 0, 1, 1, 1], [1, 2, 2, 3, 3, 4, 4], ["a"] * 7))
    assert found.distance.value.tolist() == pytest.approx([0.5, 0.5])
    assert found.at.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("levels", [None, 10, 3])
def test_it_is_scipys(levels):
    y, score, group, _ = draw(4, n=400, n_groups=3, levels=levels)
    found = ks_distances(table(y, score, group))
    for k, inside in enumerate([group >= 0, group == 0, group == 1, group == 2]):
        both = score[inside & (y == 0)], score[inside & (y == 1)]
        value = ks_2samp(*both).statistic
        assert found.distance.value[k] == pytest.approx(value, abs=1e-12)
        below = [np.mean(part <= found.at[k]) for part in both]
        assert abs(below[0] - below[1]) == pytest.approx(value, abs=1e-12)


def test_weights_are_repeated_people_and_increasing_maps_change_nothing():
    y, score, group, weight = draw(6, n=300, levels=10, weights="integer")
    base = ks_distances(table(y, score, group, sample_weight=weight)).distance
    repeated = (np.repeat(part, weight.astype(int)) for part in (y, score, group))
    np.testing.assert_allclose(ks_distances(table(*repeated)).distance.value, base.value)
    for changed in (
        table(y, np.exp(score), group, sample_weight=weight),
        table(y[::-1], score[::-1], group[::-1], sample_weight=7.0 * weight[::-1]),
    ):
        found = ks_distances(changed).distance
        for name in ("value", "low", "high"):
            np.testing.assert_allclose(getattr(found, name), getattr(base, name), rtol=1e-6)
    swapped = ks_distances(table(y, score, 1 - group, sample_weight=weight)).distance
    np.testing.assert_allclose(swapped.low[[0, 2, 1]], base.low, rtol=1e-9)
    mirrored = ks_distances(table(y, -score, group, sample_weight=weight)).distance
    np.testing.assert_allclose(mirrored.value, base.value)


def test_separated_and_missing_classes():
    found = ks_distances(table([0, 0, 1, 1] * 5 + [0, 0], [1, 2, 3, 4] * 5 + [1, 2], ["a"] * 22))
    value, low, high = found.distance.ends(0)
    assert (value, high) == (1.0, 1.0)
    assert 0.5 < low < 0.95  # twenty people do not show that there is no overlap at all
    lonely = ks_distances(table([0, 0, 0, 1, 1], [1, 2, 3, 2, 4], list("aaabb"))).distance
    assert np.isnan(lonely.value[1:]).all()
    assert lonely.reason[1:] == ("there are no positives", "there are no negatives")
    few = ks_distances(table([0, 0, 1], [1, 2, 3], list("aaa"))).distance
    assert few.value[0] == 1.0
    assert np.isnan(few.low[0])
    assert "two observations" in few.reason[0]


@pytest.mark.slow
def test_coverage():
    """With ties, weights and clusters. On the whole conservative: the upper end above all."""
    rng, runs, shift = np.random.default_rng(2), often(100), 1.0
    y, cluster = np.repeat([0, 1], 120), np.arange(240) // 3
    edges = np.arange(-6, 8) / 2.0
    truth = np.max(norm.cdf(edges) - norm.cdf(edges - shift))
    low = high = 0
    for _ in range(runs):
        score = np.sqrt(0.5) * (rng.normal(size=240) + rng.normal(size=80)[cluster]) + shift * y
        weight = rng.gamma(2.0, size=240)
        scores = table(
            y, np.ceil(score * 2.0) / 2.0, np.zeros(240), sample_weight=weight, cluster=cluster
        )
        found = ks_distances(scores).distance
        low += bool(found.low[1] > truth)
        high += bool(found.high[1] < truth)
    assert low / runs < 0.09
    assert high / runs < 0.04


@settings(max_examples=often(15))
@given(binned_rows())
def test_ks_of_a_table_of_bins_may_be_as_large_as_its_interval_says(rows):
    exact, binned = (ks_distances(table).distance for table in (rows.exact, rows.binned))
    known = ~np.isnan(binned.high)
    assert np.all(exact.value[known] >= binned.value[known] - 1e-12)
    assert np.all(exact.value[known] <= binned.high[known] + 1e-12)
