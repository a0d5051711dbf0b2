"""Standardised mean differences: by hand, naively, invariances and coverage."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import ttest_ind
from support.binning import binned_rows
from support.making import draw, often, table_of

from evenscore.inference.means import MeanDifferences


def table(*columns):
    return table_of(*columns, pos_label=1)


def test_by_hand():
    """Means 2 and 4, sums of squares 2 and 8: s² = 10/(3 + 3 − 2) = 2.5, d = −2/√2.5."""
    found = MeanDifferences(table([0] * 6, [1, 2, 3, 2, 4, 6], list("aaabbb"))).between([(0, 1)])
    assert found.value[0] == pytest.approx(-2.0 / np.sqrt(2.5), rel=1e-12)


def test_it_is_students_t_but_for_the_sizes():
    """d = t √(1/m + 1/n) with the t of two samples of equal variance."""
    y, score, group, _ = draw(3, n=200, levels=None)
    for on, inside in (("both", y >= 0), ("positives", y == 1), ("negatives", y == 0)):
        found = MeanDifferences(table(y, score, group)).between([(0, 1), (1, 0)], on)
        one, two = (score[inside & (group == k)] for k in (0, 1))
        t = ttest_ind(one, two).statistic
        assert found.value[0] == pytest.approx(t * np.sqrt(1 / len(one) + 1 / len(two)), rel=1e-10)
        assert found.value[1] == -found.value[0]
        assert found.low[1] == pytest.approx(-found.high[0])


def naive_variance(score, group, weight, cluster):
    """By the influence of every person, summed by cluster; without corrections for few people."""
    total, means, around = {}, {}, 0.0
    for k in (0, 1):
        own = group == k
        total[k] = weight[own].sum()
        means[k] = np.average(score[own], weights=weight[own])
        around += np.sum(weight[own] * (score[own] - means[k]) ** 2)
    whole = total[0] + total[1]
    plain = around / whole
    n = whole**2 / np.sum(weight**2)
    scale = np.sqrt(plain * n / (n - 2.0))
    d = (means[0] - means[1]) / scale
    x = score - np.where(group == 0, means[0], means[1])
    sign = np.where(group == 0, 1.0 / total[0], -1.0 / total[1])
    influence = weight * (sign * x / scale - d * (x**2 - plain) / (2.0 * plain * whole))
    return d, np.sum(np.bincount(cluster, influence) ** 2)


@pytest.mark.parametrize(("weighted", "clustered"), [(True, False), (False, True)])
def test_the_variance_is_the_naive_one(weighted, clustered):
    y, score, group, weight = draw(5, n=4000, levels=None, weights="real")
    weight = weight if weighted else np.ones(len(y))
    cluster = np.arange(len(y)) // 3 if clustered else np.arange(len(y))
    scores = table(y, score, group, weight, cluster if clustered else None)
    found = MeanDifferences(scores).between([(0, 1)])
    d, variance = naive_variance(score, group, weight, cluster)
    assert found.value[0] == pytest.approx(d, rel=1e-10)
    # With so many people the corrections are small.
    assert (found.high[0] - found.low[0]) / (2 * 1.96) == pytest.approx(np.sqrt(variance), rel=5e-3)


def test_invariances():
    y, score, group, weight = draw(8, n=300, n_groups=3, levels=10, weights="integer")
    base = MeanDifferences(table(y, score, group, weight)).between([(0, 1), (1, 2)], "positives")
    for changed in (
        table(y, 3.0 * score - 7.0, group, weight),
        table(y, 1e200 * score, group, weight),
        table(y, 1e-200 * score, group, weight),
        table(y[::-1], score[::-1], group[::-1], weight[::-1]),
        table(y, score, group, 5.0 * weight),
    ):
        found = MeanDifferences(changed).between([(0, 1), (1, 2)], "positives")
        for name in ("value", "low", "high"):
            np.testing.assert_allclose(getattr(found, name), getattr(base, name), rtol=1e-9)
    renamed = MeanDifferences(table(y, score, 2 - group, weight))
    found = renamed.between([(2, 1), (1, 0)], "positives")
    np.testing.assert_allclose(found.low, base.low)
    # Rows repeated are people of so many times the weight, but for the factor n/(n − 2).
    times = weight.astype(int)
    many = MeanDifferences(table(*(np.repeat(part, times) for part in (y, score, group))))
    found = many.between([(0, 1), (1, 2)], "positives")
    np.testing.assert_allclose(found.value, base.value, rtol=0.02)


def test_reasons_in_the_place_of_numbers():
    scores = table([0, 0, 0, 1, 1, 0], [1, 1, 2, 2, 3, 5], list("aaabbc"))
    means = MeanDifferences(scores)
    found = means.between([(0, 1), (0, 2)], "positives")
    assert np.isnan(found.value).all()
    assert found.reason[0].endswith("no positives in a")
    assert found.reason[1].endswith("no positives in a and c")
    few = means.between([(0, 2)])
    assert not np.isnan(few.value[0])
    assert np.isnan(few.low[0])
    assert few.reason[0].startswith("c: ")
    same = MeanDifferences(table([0] * 6, [1, 1, 1, 2, 2, 2], list("aaabbb"))).between([(0, 1)])
    assert np.isnan(same.value[0])
    assert "do not vary" in same.reason[0]
    assert len(means.between([]).value) == 0


def test_coverage():
    """Skewed scores with weights, of people in clusters."""
    rng, runs, held, d = np.random.default_rng(11), often(200), 0, 0.8
    group, cluster = np.repeat([0, 1], 160), np.arange(320) // 4
    for _ in range(runs):
        alike = rng.exponential(size=80)[cluster]
        score = (rng.exponential(size=320) + alike) / np.sqrt(2.0) + d * group
        scores = table(np.zeros(320), score, group, rng.gamma(2.0, size=320), cluster)
        found = MeanDifferences(scores).between([(1, 0)])
        held += bool(found.low[0] <= d <= found.high[0])
    assert 0.9 < held / runs < 0.99


@settings(max_examples=often(15))
@given(binned_rows(largest=40))
def test_mean_differences_of_a_table_of_bins_hold_those_of_the_rows(rows):
    pairs = rows.exact.pairs()
    for on in ("both", "positives", "negatives"):
        exact, binned = (
            MeanDifferences(table).between(pairs, on) for table in (rows.exact, rows.binned)
        )
        known = ~np.isnan(binned.low) & ~np.isnan(exact.value)
        assert np.all(exact.value[known] >= binned.low[known] - 1e-9)
        assert np.all(exact.value[known] <= binned.high[known] + 1e-9)
