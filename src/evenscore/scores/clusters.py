"""Which observations belong together: several rows per person, household or branch.

Rows of one cluster are not independent: what is sampled is the cluster. Every variance is then that
of sums over clusters, and whatever is redrawn is redrawn by cluster.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenscore.scores.arrays import Floats, Ints, starts_of_runs

_BATCH = 1 << 19  # sums by place and cluster held at a time


@dataclass(frozen=True, eq=False)
class Clusters:
    """The observations of a table of rows: the row each is in, its cluster and its weight.

    Parameters
    ----------
    row
        The row of the table that each observation is in, increasing.
    cluster
        The number of its cluster, from 0; not every number need occur.
    weight
        Its weight.
    n
        The number of clusters, those without an observation here included.

    Examples
    --------
    >>> clusters = Clusters(np.array([0, 1, 1]), np.array([0, 0, 1]), np.ones(3), 2)
    >>> clusters.sums(np.array([[10.0, 1.0]]))
    array([[11.,  1.]])
    """

    row: Ints
    cluster: Ints
    weight: Floats
    n: int

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def present(self) -> Ints:
        """The clusters with an observation here, in order."""
        return np.flatnonzero(np.bincount(self.cluster, minlength=self.n))

    def sums(self, values: Floats) -> Floats:
        """Σ weight · value over the observations of each cluster, (…, n), of values (…, rows)."""
        values = np.asarray(values)
        flat = values.reshape(math.prod(values.shape[:-1]), values.shape[-1])
        sums = np.empty((len(flat), self.n))
        for k, column in enumerate(flat):
            sums[k] = np.bincount(self.cluster, self.weight * column[self.row], self.n)
        return sums.reshape(*values.shape[:-1], self.n)

    @cached_property
    def totals(self) -> Floats:
        """The weight of each cluster that is present."""
        totals = np.bincount(self.cluster, self.weight, self.n)[self.present]
        return np.asarray(totals, dtype=np.float64)

    @property
    def effective_number(self) -> float:
        """(ΣW)²/ΣW² of the weights W of clusters: so many of equal weight tell as much.

        >>> Clusters(np.array([0, 1, 2]), np.array([0, 0, 1]), np.ones(3), 2).effective_number
        1.8
        """
        squares = float(np.square(self.totals).sum())
        return float(self.totals.sum()) ** 2 / squares if squares > 0.0 else 0.0

    @cached_property
    def _by_cluster(self) -> tuple[Ints, Ints]:
        """The observations in the order of clusters, and the place of each one's in `present`."""
        place = np.empty(self.n, dtype=np.intp)
        place[self.present] = np.arange(len(self.present))
        own = place[self.cluster]
        order = np.argsort(own, kind="stable")
        return order, own[order]

    def sums_by_place(
        self, place: Ints, n_places: int, values: Floats | None = None
    ) -> Iterator[Floats]:
        """Sums of weights by place and cluster, (n_places, clusters), some clusters at a time.

        `place` is that of each row of the table; with `values` of the rows, Σ weight · value.

        >>> clusters = Clusters(np.array([0, 1, 1]), np.array([0, 0, 1]), np.ones(3), 2)
        >>> [sums] = clusters.sums_by_place(np.array([1, 0]), 2)
        >>> sums
        array([[1., 1.],
               [1., 0.]])
        """
        order, own = self._by_cluster
        step = max(1, _BATCH // max(n_places, 1))
        for start in range(0, len(self.present), step):
            size = min(step, len(self.present) - start)
            some = slice(*np.searchsorted(own, [start, start + size]).tolist())
            kept = order[some]
            at = place[self.row[kept]] * size + (own[some] - start)
            weight = self.weight[kept]
            if values is not None:
                weight = weight * values[self.row[kept]]
            sums = np.bincount(at, weight, n_places * size)
            yield np.asarray(sums.reshape(n_places, size), dtype=np.float64)

    def redrawn(self, times: Floats, n_rows: int) -> Floats:
        """Weights of the rows of a table, every cluster counted so often: times is (…, n).

        >>> clusters = Clusters(np.array([0, 1, 1]), np.array([0, 0, 1]), np.ones(3), 2)
        >>> clusters.redrawn(np.array([[2.0, 1.0], [0.0, 2.0]]), 2)
        array([[2., 3.],
               [0., 2.]])
        """
        found = np.zeros((len(times), n_rows))
        starts = starts_of_runs(self.row)
        if len(starts) == len(self.row):  # nothing to add up
            found[:, self.row] = times[:, self.cluster] * self.weight
        elif len(starts):
            weights = times[:, self.cluster] * self.weight
            found[:, self.row[starts]] = np.add.reduceat(weights, starts, axis=1)
        return found

    def take(self, rows: Ints) -> "Clusters":
        """The observations of some rows (increasing), which are numbered anew."""
        kept = np.searchsorted(rows, self.row)
        inside = np.flatnonzero(np.append(rows, -1)[kept] == self.row)
        return Clusters(kept[inside], self.cluster[inside], self.weight[inside], self.n)

    def moved(self, rows: Ints) -> "Clusters":
        """The same observations in other rows: row k becomes rows[k]. Those of one row join."""
        row = rows[self.row]
        order = np.lexsort((self.cluster, row))
        row, cluster, weight = row[order], self.cluster[order], self.weight[order]
        starts = starts_of_runs(row, cluster)
        return Clusters(row[starts], cluster[starts], np.add.reduceat(weight, starts), self.n)
