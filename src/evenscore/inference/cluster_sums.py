"""Variances where rows of one person, household or branch belong together.

What is sampled is the cluster, and it may have people in several cells. The influence of a cluster
is the sum of those of its people, u = Σ w g, and the variance of a statistic is Σ u² over clusters.
Within each cell the influences are centred, and the centred part y of u carries the factor of the
cell that makes its variance unbiased, G/(G − 1) for G clusters of one size (`unbiased`):

    V = Σ (Σ_c √f_c y_c)² + Σ (Σ_c u_c)² − Σ (Σ_c y_c)²,

the outer sums being over clusters, the inner ones over cells.
With clusters of one row each this is the variance without clusters, exactly.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Bools, Floats, Ints, ratio


@dataclass(frozen=True, eq=False)
class ClusterParts:
    """What each cluster has in each cell: `part` says which part every observation is in.

    Parts are in order of their cells: those of cell c are starts[c] to starts[c + 1].
    """

    part: Ints
    cluster: Ints
    weight: Floats
    starts: Ints

    @classmethod
    def of(cls, cell: Ints, cluster: Ints, weight: Floats, n_cells: int) -> "ClusterParts":
        """From the cell, the cluster and the weight (positive) of every observation."""
        n_clusters = int(cluster.max(initial=-1)) + 1
        found, part = np.unique(cell.astype(np.intp) * n_clusters + cluster, return_inverse=True)
        starts = np.searchsorted(found, np.arange(n_cells + 1) * n_clusters)
        totals = np.asarray(np.bincount(part, weight, len(found)), dtype=np.float64)
        return cls(part, found % max(n_clusters, 1), totals, starts)

    def sums(self, values: Floats) -> Floats:
        """Sums of values of observations, (…, observations), over the parts."""
        flat = values.reshape(math.prod(values.shape[:-1]), values.shape[-1])
        sums = np.empty((len(flat), len(self.cluster)))
        for k, row in enumerate(flat):
            sums[k] = np.bincount(self.part, row, len(self.cluster))
        return sums.reshape(*values.shape[:-1], len(self.cluster))

    def slices(self) -> list[slice]:
        """The parts of each cell."""
        return [slice(*ends) for ends in zip(self.starts[:-1], self.starts[1:], strict=True)]

    @cached_property
    def counts(self) -> Floats:
        """Number of clusters with people in each cell."""
        return np.diff(self.starts).astype(np.float64)

    @cached_property
    def squares(self) -> Floats:
        """Σ over clusters of their squared weights in each cell."""
        return np.array([np.square(self.weight[own]).sum() for own in self.slices()])

    @cached_property
    def sizes(self) -> Floats:
        """Effective number of clusters in each cell."""
        totals = np.array([self.weight[own].sum() for own in self.slices()])
        return ratio(totals**2, self.squares, 0.0)

    @cached_property
    def _presence(self) -> Floats:
        """Whether a cluster has people in a cell, (cells, clusters)."""
        there = np.zeros((len(self.counts), int(self.cluster.max(initial=-1)) + 1))
        for c, own in enumerate(self.slices()):
            there[c, self.cluster[own]] = 1.0
        return there

    def number(self, cells: Sequence[int]) -> int:
        """How many clusters have people in any of these cells."""
        return int(self._presence[list(cells)].any(axis=0).sum())

    def overlap(self, used: Bools) -> Floats:
        """Clusters in the cells used, (statistics, cells), over the sum of those of each cell.

        One if no cluster has people in two of them. Where all have, four cells tell no more of a
        variance than one: degrees of freedom are multiplied by it.
        """
        distinct = np.array([(row @ self._presence > 0.0).sum() for row in used])
        return ratio(distinct, used @ self.counts, 1.0)

    def variance_by_cell(self, total: Floats, centred: Floats, factor: Floats) -> Floats:
        """V of statistics, split among cells in proportion to what each would have alone.

        `total` and `centred` are u and y of the parts, (statistics, parts), `factor` is f by cell.
        """
        root = np.repeat(np.sqrt(factor), np.diff(self.starts))
        n_clusters = int(self.cluster.max(initial=-1)) + 1
        found = np.zeros((len(total), len(factor)))
        for k, (u, y) in enumerate(zip(total, centred, strict=True)):
            whole, scaled, plain = (
                np.square(np.bincount(self.cluster, column, n_clusters)).sum()
                for column in (u, root * y, y)
            )
            squares = np.square(root * y) + np.square(u) - np.square(y)
            alone = [max(float(squares[own].sum()), 0.0) for own in self.slices()]
            found[k] = ratio(np.array(alone) * max(whole + scaled - plain, 0.0), sum(alone), 0.0)
        return found


_KNOWN: WeakKeyDictionary[GroupedScores, ClusterParts] = WeakKeyDictionary()


def cluster_parts(scores: GroupedScores) -> ClusterParts | None:
    """The parts of a table, whose observations have their order in `scores.clusters`."""
    clusters = scores.clusters
    if clusters is None:
        return None
    if scores not in _KNOWN:
        cell = scores.cell[clusters.row].astype(np.intp)
        _KNOWN[scores] = ClusterParts.of(cell, clusters.cluster, clusters.weight, scores.n_cells)
    return _KNOWN[scores]
