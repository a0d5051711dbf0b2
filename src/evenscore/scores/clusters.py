"""Which observations belong together: several rows per person, household or branch.

Rows of one cluster are not independent: what is sampled is the cluster. Every variance is then that
of sums over clusters, and whatever is redrawn is redrawn by cluster.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenscore.scores.arrays import Floats, Ints, starts_of_runs


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
        flat = values.reshape(-1, values.shape[-1])
        sums = np.empty((len(flat), self.n))
        for k, column in enumerate(flat):
            sums[k] = np.bincount(self.cluster, self.weight * column[self.row], self.n)
        return sums.reshape(*values.shape[:-1], self.n)

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
