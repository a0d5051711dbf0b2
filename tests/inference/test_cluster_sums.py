"""Variances by cluster, against sums written out person by person."""

from itertools import chain

import numpy as np
import pytest
from support.making import gap_estimates, table_of

from evenscore import AucConstraint, constraint_names
from evenscore.gaps import as_constraints
from evenscore.gaps.family import EstimateSettings, family_estimates, family_values
from evenscore.inference import auc_estimates
from evenscore.inference.paired import PairedScores, paired_auc
from evenscore.scores.aucs import auc_matrix
from evenscore.scores.reading import read_rows

NAMES = constraint_names()


def people(seed, n=300, n_groups=2, levels=True):
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.integers(0, n_groups, n)
    score = rng.normal(size=n) + y + 0.2 * group
    return rng, y, np.round(score, 1) if levels else score, group


def same(one, two, rel=1e-10):
    for name in ("value", "low", "high", "standard_error", "p_value", "degrees_of_freedom"):
        assert getattr(two, name) == pytest.approx(
            getattr(one, name), rel=rel, abs=1e-12, nan_ok=True
        ), (one.name, name)


@pytest.mark.parametrize(("weighted", "sampling"), [(True, "observations"), (False, "cells")])
def test_clusters_of_one_row_change_nothing(weighted, sampling):
    rng, y, score, group = people(0, n_groups=3)
    weight = rng.gamma(2.0, size=len(y)) if weighted else None
    tables = [
        table_of(y, score, group, weight, cluster) for cluster in (None, rng.permutation(300))
    ]
    settings = EstimateSettings(sampling=sampling)
    for one, two in zip(
        *(family_estimates(scores, as_constraints(NAMES), settings) for scores in tables),
        strict=True,
    ):
        same(one, two)
    (auc, matrix), (auc2, matrix2) = (auc_estimates(t, sampling=sampling) for t in tables)
    same(auc, auc2)
    for one, two in zip(chain(*matrix), chain(*matrix2), strict=True):
        same(one, two)


def naive_error(y, score, group, cluster, i, j, k, m):
    """Standard error of AUC_ij − AUC_km, (class, group) each, person by person."""
    rows = {c: np.flatnonzero((y == c[0]) & (group == c[1])) for c in (i, j, k, m)}
    total = dict.fromkeys(cluster.tolist(), 0.0)
    for sign, (low, high) in ((1, (i, j)), (-1, (k, m))):
        h, g = score[rows[low]], score[rows[high]]
        below = np.array([[(a < b) + 0.5 * (a == b) for b in g] for a in h])
        for cell, influence in ((low, below.mean(axis=1)), (high, below.mean(axis=0))):
            n_clusters = len(set(cluster[rows[cell]].tolist()))
            sizes = np.unique(cluster[rows[cell]], return_counts=True)[1]
            r = n_clusters * np.sum(sizes**2) / np.sum(sizes) ** 2
            factor = 1 / (1 - (2 * r**2 - r) / n_clusters)
            for row, value in zip(rows[cell], influence - below.mean(), strict=True):
                total[cluster[row]] += sign * np.sqrt(factor) * value / len(influence)
    return np.sqrt(sum(value**2 for value in total.values()))


def test_gaps_have_the_error_of_sums_over_clusters():
    rng, y, score, group = people(2)
    cluster = rng.integers(0, 70, len(y))  # with people in several cells
    scores = table_of(y, score, group, cluster=cluster)
    for name, cells in (
        ("intra_group", ((0, 0), (1, 0), (0, 1), (1, 1))),
        ("inter_group", ((0, 0), (1, 1), (0, 1), (1, 0))),
    ):
        [gap] = gap_estimates(scores, name, sampling="cells")
        expected = naive_error(y, score, group, cluster, *cells)
        assert gap.standard_error == pytest.approx(expected, rel=1e-10)


def test_all_errors_meet_the_jackknife_by_cluster():
    rng, y, score, group = people(3, n=400, n_groups=3, levels=False)
    weight = rng.gamma(2.0, size=len(y))
    cluster = rng.integers(0, 80, len(y))
    score = score + rng.normal(size=80)[cluster]
    families = as_constraints(NAMES)
    left_out = []
    for k in range(80):
        kept = cluster != k
        part = table_of(y[kept], score[kept], group[kept], weight[kept])
        matrix = auc_matrix(part)
        left_out.append(
            [*family_values(part, families), matrix.overall, *matrix.values[np.triu_indices(6, 1)]]
        )
    expected = np.sqrt(79 / 80 * np.sum((left_out - np.mean(left_out, axis=0)) ** 2, axis=0))
    scores = table_of(y, score, group, weight, cluster)
    auc, matrix = auc_estimates(scores)
    found = [e.standard_error for e in (*gap_estimates(scores, NAMES), auc)]
    found += [matrix[i][j].standard_error for i, j in zip(*np.triu_indices(6, 1), strict=True)]
    np.testing.assert_allclose(found, expected, rtol=0.06)


def test_degrees_of_freedom_count_clusters_once():
    """Clusters with people in all four cells tell of the variance once, not four times."""
    rng = np.random.default_rng(4)
    y, group = (np.tile(v, 25) for v in ([0, 0, 1, 1], [0, 1, 0, 1]))
    cluster = np.repeat(np.arange(25), 4)
    [gap] = gap_estimates(
        table_of(y, rng.normal(size=100) + y, group, cluster=cluster), "intra_group"
    )
    assert 12 < gap.degrees_of_freedom <= 24


def test_few_clusters_are_warned_of_and_one_gives_no_interval():
    _, y, score, group = people(5)
    [gap] = gap_estimates(table_of(y, score, group, cluster=np.arange(300) % 12), "intra_group")
    assert "11 clusters of negatives of 0" in gap.warnings[0]
    alone = np.where((y == 1) & (group == 1), 0, np.arange(300))
    [gap] = gap_estimates(table_of(y, score, group, cluster=alone), "intra_group")
    assert np.isnan(gap.low)
    assert "positives of 1" in gap.warnings[0]


def test_paired_comparisons_by_cluster():
    rng, y, score, group = people(6)
    other = score + rng.normal(size=300)

    def compared(columns, scores, cluster=None, weight=None):
        rows = read_rows(*columns, y_score=scores[0], sample_weight=weight, cluster=cluster)
        pair = PairedScores(rows, tuple(scores))
        gaps = AucConstraint.named("bnsp").paired(pair, EstimateSettings())
        return [paired_auc(pair), *gaps]

    weight = rng.gamma(2.0, size=300)
    weight[:5] = 0.0  # count for nothing, as clusters too
    for one, two in zip(
        compared((y, group), (score, other), weight=weight),
        compared((y, group), (score, other), np.arange(300), weight),
        strict=True,
    ):
        same(one.difference, two.difference)
        same(one.total, two.total)
    copies = [np.repeat(column, 2) for column in (y, group, score, other)]
    for one, two in zip(
        compared((y, group), (score, other)),
        compared(copies[:2], copies[2:], np.repeat(np.arange(300), 2)),
        strict=True,
    ):
        same(one.difference, two.difference)
    cluster = rng.integers(0, 40, 300)
    noise = rng.normal(size=40)[cluster]  # what clusters share is not averaged out
    apart, together = (
        compared((y, group), (score, score + noise), c)[0].difference for c in (None, cluster)
    )
    assert together.degrees_of_freedom < apart.degrees_of_freedom
    assert "clusters of negatives of 0" in together.warnings[0]
