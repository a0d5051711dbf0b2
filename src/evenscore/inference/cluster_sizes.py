"""Sizes behind shares of groups at cuts and in bins of the score, with clusters.

Each share has its own size, by the variance of sums over clusters: see `scores.cluster_shares`. The
sizes of two groups are used as if the groups were independent. Clusters with rows in both make the
two shares move together, mostly the same way: a difference or a ratio is then known better than its
interval says.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats, Ints
from evenscore.scores.cluster_shares import ClusterMoments, worth_at

Sides = tuple[Floats, Floats]  # weights inside and outside of shares


@dataclass(frozen=True, eq=False)
class SharesOfClusters:
    """Shares with the moments of their clusters, (…, groups), and the correlation within these."""

    moments: ClusterMoments
    icc: Floats

    def reduced(self, size: Floats, z: float) -> Floats:
        """The size behind each share for Wilson's interval at z, `size` if all were independent."""
        return np.minimum(size, worth_at(*self.moments.worth(size, self.icc), z))


def shares_of_clusters(
    scores: GroupedScores,
    bins: Ints,
    n_bins: int,
    sides: Callable[[Floats], Sequence[Sides]],
    values: Sequence[Floats],
    iccs: Sequence[Floats],
) -> list[SharesOfClusters]:
    """Moments of shares that are made of sums over bins of the rows.

    `sides` makes the two sides of every share, (…, groups, clusters), of the sums by cluster
    (n_bins, classes, groups, clusters); `values` are the shares, `iccs` the correlations.
    """
    assert scores.clusters is not None
    moments = [ClusterMoments.empty(value) for value in values]
    place = bins * scores.n_cells + scores.cell
    for sums in scores.clusters.sums_by_place(place, n_bins * scores.n_cells):
        by_cluster = sums.reshape(n_bins, 2, scores.n_groups, -1)
        for own, side in zip(moments, sides(by_cluster), strict=True):
            own.collect(*side)
    return [SharesOfClusters(own, icc) for own, icc in zip(moments, iccs, strict=True)]


def sides_of_cuts(
    thresholds: Floats, made: Callable[[Floats, Floats], Sequence[Sides]]
) -> Callable[[Floats], Sequence[Sides]]:
    """Sides made of the sums above and below each cut, of the sums between sorted cuts."""
    place = np.empty(len(thresholds), dtype=np.intp)
    place[np.argsort(thresholds, kind="stable")] = np.arange(len(thresholds))

    def sides(sums: Floats) -> Sequence[Sides]:
        up = np.cumsum(sums[::-1], axis=0)[::-1]
        above = up[1:][place]
        return made(above, up[0] - above)

    return sides


def bins_of_cuts(scores: GroupedScores, thresholds: Floats) -> Ints:
    """Between which of the sorted cuts each row lies."""
    return np.searchsorted(np.sort(thresholds), scores.score, side="left")


def is_clustered(scores: GroupedScores) -> bool:
    """Whether two rows of a group are of one cluster."""
    if scores.clusters is None:
        return False
    groups = scores.clusters_by_group
    assert groups is not None
    return bool((groups < scores.cell_counts.sum(axis=0)).any())


def correlation_by_cell(scores: GroupedScores) -> Floats:
    """The correlation within clusters of scores, in each cell: (classes, groups)."""
    found = [cell.correlation for cell in scores.cell_distributions]
    return np.array(found).reshape(2, scores.n_groups)


def correlation_by_group(scores: GroupedScores) -> Floats:
    """That of the scores in either class or of the labels, whichever is largest, in each group."""
    weights = scores.cell_weights
    with np.errstate(invalid="ignore"):
        share = weights[1] / weights.sum(axis=0)
    bins = np.zeros(len(scores), dtype=np.intp)
    [labels] = shares_of_clusters(
        scores, bins, 1, lambda sums: [(sums[0, 1], sums[0, 0])], [share], [np.zeros(len(share))]
    )
    people = scores.effective_sizes.sum(axis=0)
    alike = np.maximum(labels.moments.correlation(people), 0.0)
    alike = np.where(people > 0.0, alike, 0.0)
    return np.asarray(np.maximum(correlation_by_cell(scores).max(axis=0), alike))
