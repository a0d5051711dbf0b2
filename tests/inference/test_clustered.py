"""Intervals with clusters: what is sampled is the cluster, not the row."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as t_law
from support.making import table_of

from evenscore import RocConstraint
from evenscore.inference import (
    bootstrap,
    calibration_by_group,
    certify,
    cut_table,
    rate_difference_estimates,
    roc_gap_band,
)
from evenscore.inference.bootstrap import BootstrapDistribution, for_clusters, percentile_estimate
from evenscore.inference.cuts import _clusters_behind
from evenscore.inference.dkw import dkw_size
from evenscore.inference.estimate import Estimate, EstimateSettings
from evenscore.inference.paired import PairedScores, paired_bootstrap
from evenscore.inference.paired_rates import paired_roc_gaps
from evenscore.scores.reading import read_rows
from evenscore.scores.thresholds import rates_at

CUTS = [-0.5, 0.4, 1.5]


def people(rng, n_clusters=60, sizes=(1, 9), crossing=False, alike=0.5, levels=None):
    """Labels, scores, groups and clusters of rows that are alike within clusters."""
    cluster = np.repeat(np.arange(n_clusters), rng.integers(*sizes, n_clusters))
    n = len(cluster)
    group = rng.integers(0, 2, n) if crossing else cluster % 2
    y = rng.integers(0, 2, n)
    score = alike * rng.normal(size=n_clusters)[cluster] + rng.normal(size=n) + y
    if levels is not None:
        score = np.round(score * levels) / levels
    return y, score, group, cluster


def table(y, score, group, cluster=None, weight=None):
    return table_of(y, score, group, weight, cluster)


def numbers(scores):
    """Every number that this side of the clusters gives, in one array."""
    cuts, bins = cut_table(scores, CUTS), calibration_by_group(scores, n_bins=4)
    found = [cuts.impact_ratio.low, cuts.impact_ratio.high]
    for shares in (cuts.selection_rate, cuts.fpr, cuts.fnr, cuts.precision, bins.positives):
        found += [shares.low, shares.high]
    names = ["fpr", "fnr", "selection", "error"]
    for e in rate_difference_estimates(scores, 0.4, names):
        found.append(np.array([e.low, e.high, e.p_value]))
    rates = np.linspace(0.0, 1.0, 21)
    for kind in ("pointwise", "dkw", "simultaneous"):
        band = roc_gap_band(scores, "negatives", rates, kind=kind, n_resamples=50)
        found += [band.low, band.high]
    return np.concatenate([np.ravel(part) for part in found])


@pytest.mark.parametrize(("levels", "weighted"), [(None, True), (2, False)])
def test_clusters_of_one_row_change_nothing(levels, weighted):
    rng = np.random.default_rng(1)
    y, score, group, _ = people(rng, levels=levels)
    weight = rng.gamma(2.0, size=len(y)) if weighted else None
    alone = rng.permutation(len(y))
    with_clusters = numbers(table(y, score, group, alone, weight))
    np.testing.assert_allclose(with_clusters, numbers(table(y, score, group, None, weight)), 1e-12)


@pytest.mark.parametrize(("crossing", "weighted"), [(False, False), (True, True)])
def test_order_and_names_of_clusters_and_rows_do_not_matter(crossing, weighted):
    rng = np.random.default_rng(2)
    y, score, group, cluster = people(rng, crossing=crossing)
    weight = rng.gamma(2.0, size=len(y)) if weighted else np.ones(len(y))
    names = np.array([f"person {k}" for k in rng.permutation(cluster.max() + 1)])
    order = rng.permutation(len(y))
    renamed = numbers(table(y, score, group, names[cluster], weight))
    np.testing.assert_allclose(renamed, numbers(table(y, score, group, cluster, weight)), 1e-12)
    moved = table(*(column[order] for column in (y, score, group, cluster, weight)))
    one, two = (cut_table(t, CUTS) for t in (moved, table(y, score, group, cluster, weight)))
    np.testing.assert_allclose(one.precision.low, two.precision.low, atol=1e-9)


def naive_variance(inside, weight, cluster):
    """V of a share, cluster by cluster, in words of one syllable."""
    p = sum(weight[inside]) / sum(weight)
    known = sorted(set(cluster.tolist()))
    total = 0.0
    for name in known:
        own = [k for k in range(len(cluster)) if cluster[k] == name]
        total += sum(weight[k] * (float(inside[k]) - p) for k in own) ** 2
    return p, total / sum(weight) ** 2 * len(known) / (len(known) - 1)


@pytest.mark.parametrize(("weighted", "levels"), [(False, 2), (True, None)])
def test_the_size_behind_a_share_is_the_naive_one_but_for_caution(weighted, levels):
    """In the middle, of many clusters: Student's factor and the prior are a few per cent."""
    rng = np.random.default_rng(3)
    y, score, group, cluster = people(rng, n_clusters=600, alike=1.0, levels=levels)
    weight = rng.gamma(4.0, size=len(y)) if weighted else np.ones(len(y))
    scores = table(y, score, group, cluster, weight)
    cell = (y == 0) & (group == 0)
    own = scores.cell_distributions[0]
    for cut in (0.0, 0.5):
        p, V = naive_variance(score[cell] > cut, weight[cell], cluster[cell])
        size = float(own.size_behind(p))
        assert 0.9 * p * (1 - p) / V < size < 1.02 * p * (1 - p) / V
        assert size < own.effective_size
    sharp = own.size_behind([0.5], z=1e-3)  # without Student's factor
    p, V = naive_variance(score[cell] > own.threshold(0.5), weight[cell], cluster[cell])
    assert float(sharp[0]) == pytest.approx(p * (1 - p) / V, rel=0.03)


def test_variances_of_rates_at_cuts_are_the_naive_ones():
    """Exactly, for every rate: those of a cell, of a group, and of whoever is selected."""
    rng = np.random.default_rng(17)
    y, score, group, cluster = people(rng, n_clusters=30, crossing=True, levels=2)
    weight = rng.gamma(4.0, size=len(y))
    scores = table(y, score, group, cluster, weight)
    cuts = [0.6, -0.4]  # in no order
    names = ("selection", "fpr", "fnr", "precision")
    found = _clusters_behind(scores, rates_at(scores, cuts), names)
    for t, cut in enumerate(cuts):
        for k in (0, 1):
            own, above = group == k, score > cut
            for name, whole, inside in (
                ("selection", own, above),
                ("fpr", own & (y == 0), above),
                ("fnr", own & (y == 1), ~above),
                ("precision", own & above, y == 1),
            ):
                p, V = naive_variance(inside[whole], weight[whole], cluster[whole])
                assert found[name].moments.share[t, k] == pytest.approx(p, rel=1e-12)
                assert found[name].moments.variance[t, k] == pytest.approx(V, rel=1e-9)


def test_a_negative_correlation_is_not_claimed():
    """Of every pair of rows one lies above the median: the share does not vary at all."""
    values = np.arange(400.0)
    cluster = np.concatenate([np.arange(200), np.arange(200)])
    scores = table(np.r_[np.zeros(400), 1], np.r_[values, 0.0], np.zeros(401), np.r_[cluster, 999])
    own = scores.cell_distributions[0]
    assert np.all(own.size_behind(np.linspace(0, 1, 11)) <= 400.0)


def test_copies_of_rows_are_worth_the_rows():
    rng = np.random.default_rng(4)
    n, times = 800, 4
    y, group, score = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.normal(size=n)
    single = table(y, score, group)
    copies = [np.repeat(column, times) for column in (y, score, group, np.arange(n))]
    known, unknown = table(*copies), table(*copies[:3])

    def widths(scores):
        cuts = cut_table(scores, [0.4])
        band = roc_gap_band(scores, "negatives", [0.25, 0.5], kind="pointwise")
        [gap] = bootstrap(
            scores,
            lambda t: np.array([np.diff(rates_at(t, 0.4).fpr[0])[0]]),
            n_resamples=500,
            random_state=0,
        ).intervals()
        return np.array(
            [
                (cuts.fpr.high - cuts.fpr.low)[0, 0],
                (cuts.precision.high - cuts.precision.low)[0, 1],
                (band.high - band.low).mean(),
                gap.standard_error,
            ]
        )

    original, clustered, as_if = widths(single), widths(known), widths(unknown)
    np.testing.assert_allclose(clustered, original, rtol=0.12)
    np.testing.assert_allclose(as_if * np.sqrt(times), original, rtol=0.25)
    sizes = [dkw_size(t.cell_distributions[0], 0.05) for t in (single, known)]
    assert 0.85 < sizes[1] / sizes[0] <= 1.0


def test_dkw_says_what_it_rests_on():
    scores = table(*people(np.random.default_rng(5)))
    [warning] = roc_gap_band(scores, "negatives", [0.5], kind="dkw").warnings
    assert "clusters" in warning
    certificate = certify(scores, 0.3, on="negatives")
    assert any("clusters" in warning for warning in certificate.warnings)


def test_one_cluster_only_is_worth_one_observation():
    rng = np.random.default_rng(6)
    y, score, group, _ = people(rng)
    scores = table(y, score, group, group)  # each group is one cluster
    own = scores.cell_distributions[0]
    assert own.independent_size == 1.0
    np.testing.assert_array_equal(own.size_behind([0.0, 0.3, 1.0]), 1.0)
    fpr = cut_table(scores, CUTS).fpr
    assert np.all(fpr.high - fpr.low > 0.6)
    band = roc_gap_band(scores, "negatives", [0.5], kind="pointwise")
    assert band.high[0] - band.low[0] > 0.9
    assert "1 cluster only" in band.warnings[0]
    assert not np.isnan(numbers(scores)).any()


def test_all_scores_alike_in_clusters():
    scores = table([0, 0, 1, 1] * 10, [1.0] * 40, [0, 1] * 20, np.arange(40) // 4)
    sizes = scores.cell_distributions[0].size_behind([0.1, 0.5])
    np.testing.assert_allclose(sizes, scores.independent_sizes[0, 0])


def test_the_bootstrap_draws_clusters_whole_in_all_cells():
    """Every cluster has one row in each cell: their weights are the same in all replicates."""
    cluster = np.repeat(np.arange(25), 4)
    y, group = np.tile([0, 0, 1, 1], 25), np.tile([0, 1, 0, 1], 25)
    scores = table(y, np.arange(100.0), group, cluster)
    found = bootstrap(scores, lambda t: t.cell_weights.ravel(), n_resamples=20, random_state=0)
    np.testing.assert_array_equal(found.replicates, 25.0)
    weighed = bootstrap(scores, lambda t: np.array([len(t.score)]), n_resamples=20)
    assert np.all(weighed.replicates % 4 == 0)
    # Cells that are sampled keep their weights.
    scores = table(*people(np.random.default_rng(8), crossing=True))
    found = bootstrap(scores, lambda t: t.cell_weights.ravel(), n_resamples=10, sampling="cells")
    expected = np.broadcast_to(scores.cell_weights.ravel(), (10, 4))
    np.testing.assert_allclose(found.replicates, expected)


@pytest.mark.slow
@pytest.mark.parametrize("crossing", [False, True])
def test_paired_differences_of_copies_are_those_of_the_rows(crossing):
    rng = np.random.default_rng(10)
    n, times = 300, 6
    y, group = rng.integers(0, 2, n), rng.integers(0, 2, n)
    one, two = rng.normal(size=n) + y, rng.normal(size=n) + 0.5 * y
    settings = EstimateSettings(n_resamples=200)
    roc = RocConstraint(on="negatives", rates=(0.25,))

    def width(copies, cluster):
        columns = [np.repeat(column, copies) for column in (y, group, one, two)]
        rows = read_rows(*columns[:2], cluster=cluster).named()
        pair = PairedScores(rows, (columns[2], columns[3]))
        keys = roc.keys(rows.groups)
        if crossing:
            [found] = paired_bootstrap(pair, roc.values, keys, "roc", settings)
        else:
            [found] = paired_roc_gaps(pair, keys, ("negatives",), (0.25,), settings)
        return found.difference.high - found.difference.low

    original = width(1, None)
    assert width(times, np.repeat(np.arange(n), times)) == pytest.approx(original, rel=0.25)
    assert width(times, None) < 0.65 * original


def test_a_group_whose_clusters_are_not_drawn_costs_the_draw_only():
    """Three clusters of a group: one draw in twenty has none of them."""
    rng = np.random.default_rng(11)
    cluster = np.repeat(np.arange(40), 5)
    group, y = (cluster < 3).astype(int), np.zeros(200, dtype=int)
    y[::5] = 1
    rows = read_rows(y, group, cluster=cluster).named()
    pair = PairedScores(rows, (rng.normal(size=200), rng.normal(size=200)))
    roc = RocConstraint(on="negatives", rates=(0.5,))
    settings = EstimateSettings(n_resamples=200)
    [found] = paired_roc_gaps(pair, roc.keys(rows.groups), ("negatives",), (0.5,), settings)
    assert found.difference.low < found.difference.high
    assert "3 observations only" in " ".join(found.difference.warnings)


def test_percentiles_of_few_clusters_are_widened_as_students():
    gap = Estimate("gap", 0.2, 0.1, 0.34, 0.95, "bootstrap", standard_error=0.06)
    found = for_clusters(gap, 11.0)
    quantile = t_law.ppf(0.975, 10)
    factor = quantile / 1.959964 * np.sqrt(1.1)
    ends = 0.2 - 0.1 * factor, 0.2 + 0.14 * factor
    assert (found.low, found.high) == pytest.approx(ends, rel=5e-3)
    assert found.standard_error == pytest.approx(0.06 * np.sqrt(1.1))
    p_value = 2.0 * t_law.sf(0.2 / (0.1 * factor) * quantile, 10)
    assert found.p_value == pytest.approx(p_value, rel=0.02)
    assert for_clusters(replace(gap, low=-0.1), 11.0).p_value > 0.05
    assert np.isnan(for_clusters(gap, 1.0).low)
    assert for_clusters(gap, np.inf) is gap


def test_percentiles_by_hand():
    """Of two draws and one that failed; neither lies below zero: p is 2/(n + 1)."""
    blank = Estimate("gap", 0.2, np.nan, np.nan, np.nan, "bootstrap")
    found = percentile_estimate(blank, np.array([0.1, np.nan, 0.3]), 0.5)
    assert (found.low, found.high) == pytest.approx((0.15, 0.25))
    assert found.p_value == pytest.approx(2.0 / 3.0)
    assert found.standard_error == pytest.approx(np.sqrt(0.02))
    # Beyond the quartiles, of so few, distances grow in proportion to z.
    drawn = BootstrapDistribution(np.array([0.18]), np.array([[0.1], [np.nan], [0.3]]))
    assert np.ravel(drawn.ends(2.0 * norm.isf([0.25]))) == pytest.approx([0.12, 0.32])


def test_people_without_weight_are_not_redrawn():
    rng = np.random.default_rng(13)
    y, group, score = rng.integers(0, 2, 60), rng.integers(0, 2, 60), rng.normal(size=(2, 60))
    roc, some = RocConstraint(on="negatives", rates=(0.25,)), np.arange(60) >= 20

    def gap(kept, **more):
        rows = read_rows(y[kept], group[kept], **more).named()
        pair = PairedScores(rows, tuple(score[:, kept]))
        settings = EstimateSettings(n_resamples=5, random_state=0)
        [found] = paired_bootstrap(pair, roc.values, roc.keys(rows.groups), "roc", settings)
        return found.difference.low, found.difference.high

    assert gap(slice(None), sample_weight=some.astype(float)) == pytest.approx(gap(some))


def test_the_excess_of_copies_is_that_of_the_people():
    """Five copies of everybody, a cluster each, tell no more of a mean score than the people."""
    rng = np.random.default_rng(17)
    y, score, group = rng.random(800) < 0.97, rng.random(800), np.arange(800) % 2
    once = calibration_by_group(table_of(y, score, group), n_bins=2).excess
    rows = np.repeat(np.arange(len(y)), 5)
    copies = table_of(y[rows], score[rows], group[rows], cluster=rows)
    found = calibration_by_group(copies, n_bins=2).excess
    assert np.isfinite(once.high).all()
    np.testing.assert_allclose(found.value, once.value, atol=1e-12)
    np.testing.assert_allclose(found.high - found.low, once.high - once.low, rtol=0.05)
