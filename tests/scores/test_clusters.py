"""Which observations belong together, through the table and its parts."""

import numpy as np
import pytest
from support.making import table_of

from evenscore.scores.cluster_shares import ClusterMoments
from evenscore.scores.reading import cluster_numbers, read_rows
from evenscore.scores.thinning import coarsened


def clustered(rng, n=300, levels=None, weighted=True, n_clusters=40):
    score = rng.normal(size=n) if levels is None else rng.integers(0, levels, n).astype(float)
    y, group = rng.integers(0, 2, n), rng.integers(0, 3, n)
    weight = rng.gamma(2.0, size=n) if weighted else None
    cluster = rng.integers(0, n_clusters, n)
    table = table_of(y, score, group, weight, cluster)
    weight = np.ones(n) if weight is None else weight
    return table, score, y, group, weight, cluster_numbers(cluster)


def same(sums, expected):
    """Sums by cluster, whatever the clusters' numbers."""
    np.testing.assert_allclose(np.sort(sums), np.sort(expected), atol=1e-12)


@pytest.mark.parametrize(("levels", "weighted"), [(None, False), (5, True)])
def test_sums_by_cluster_are_those_of_the_rows(levels, weighted):
    rng = np.random.default_rng(1)
    table, score, y, group, weight, cluster = clustered(rng, levels=levels, weighted=weighted)
    cell = 3 * y + group
    for c in range(6):
        expected = np.zeros(40)
        for k in np.flatnonzero(cell == c):
            expected[cluster[k]] += weight[k] * np.exp(score[k])
        own = table.cell_distributions[c]
        same(own.clusters.sums(np.exp(own.values)), expected)
    present = [len(np.unique(cluster[group == g])) for g in range(3)]
    np.testing.assert_array_equal(table.clusters_by_group, present)
    whole = table.clusters.sums(np.stack([table.score, table.score**2]))
    same(whole[1], np.bincount(cluster, weight * score**2))
    coarse = coarsened(table, 17)
    same(coarse.clusters.sums(np.ones(len(coarse))), np.bincount(cluster, weight))
    at = coarse.score[len(coarse) // 2]
    selected = coarse.clusters.sums((coarse.score > at).astype(float))
    same(selected, np.bincount(cluster, weight * (score > at)))


def test_clusters_of_people_alike_are_correlated_by_one_and_no_more():
    """Two clusters, one above the other: V = pq, which is more than one observation each."""
    table = table_of([0] * 4 + [1], [1, 1, 2, 2, 1], list("aaaab"), cluster=[0, 0, 1, 1, 2])
    assert table.cell_distributions[0].correlation == 1.0
    assert table.is_clustered
    alone = table_of([0] * 4 + [1], [1, 1, 2, 2, 1], list("aaaab"), cluster=range(5))
    assert not alone.is_clustered


def test_a_share_that_is_the_same_in_every_cluster_is_worth_independent_people():
    """V = 0 is not believed; its noise is that of normal sums, (1 − 1/2)² of two people each."""

    def worth(inside, outside, icc):
        moments = ClusterMoments.empty(np.array([inside.sum() / (inside + outside).sum()]))
        moments.collect(inside[None], outside[None])
        return moments.worth(np.array([20.0]), icc)

    np.testing.assert_allclose(worth(np.ones(10), np.ones(10), 0.0), [[1 / 20], [9 / 0.25]])
    weights = np.random.default_rng(0).random((2, 10))  # of any unit
    np.testing.assert_allclose(worth(*weights, 0.5), worth(*(1e-3 * weights), 0.5))


def test_clusters_are_read_like_groups():
    rows = read_rows([0, 1, 1], list("aab"), y_score=[1, 2, 3], cluster=["x", "y", "x"])
    assert rows.cluster.tolist() == [0, 1, 0]
    assert rows.take([2, 1]).cluster.tolist() == [0, 1]
    both = read_rows(
        [0, 1, 1], list("aab"), y_score=[1, 2, 3], cluster={"b": [1, 1, 1], "c": [2, 3, 2]}
    )
    assert both.cluster.tolist() == [0, 1, 0]


def test_bad_clusters_are_refused():
    for cluster in ([1, 2], [1, None, 2], [1.0, 2.0, np.nan], {}):
        with pytest.raises(ValueError, match="cluster"):
            read_rows([0, 1, 1], list("aab"), y_score=[1, 2, 3], cluster=cluster)


def test_a_table_with_clusters_is_neither_merged_nor_saved(tmp_path):
    table = table_of([0, 1], [1, 2], [0, 1], cluster=[1, 1])
    with pytest.raises(ValueError, match="do not add up"):
        table.merge(table)
    with pytest.raises(ValueError, match="cannot be saved"):
        table.save(tmp_path / "t.json")


@pytest.mark.parametrize("levels", [None, 5])
def test_regrouped_tables_keep_who_belongs_together(levels):
    table, score, y, group, weight, cluster = clustered(np.random.default_rng(2), levels=levels)
    for positions, groups in (([0, 1, 1], ("a", "others")), ([1, -1, 0], ("c", "a"))):
        new = table.regrouped(positions, groups)
        kept = np.array(positions)[group] >= 0
        for c in range(4):
            own = kept & (np.array(positions)[group] + 2 * y == c)
            expected = np.bincount(cluster[own], weight[own] * np.sin(score[own]), 40)
            cell = new.cell_distributions[c]
            same(cell.clusters.sums(np.sin(cell.values)), expected)
