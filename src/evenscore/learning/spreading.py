"""Parts that leave clusters whole: folds, and rows kept aside, of rows that belong together.

Whoever is trained on in one row and tested on in another is no test: the rows of a person,
household or branch go into one part, all of them.
"""

from collections.abc import Sequence

import numpy as np

from evenscore.scores.arrays import Floats, Ints, starts_of_runs

_EXACT = 1e-9  # a share of clusters so little below a whole number is that number


def spread(
    cluster: Ints, cell: Ints, shares: Sequence[float] | Floats, rng: np.random.Generator
) -> Ints:
    """The part of every row: clusters stay whole, and parts get their shares of every cell.

    Clusters are shuffled. Those with as many rows of every cell as each other are dealt out by the
    shares. What is left over is given away cluster by cluster, the largest first (those of about
    the same size as shuffled), each to the part where it evens out the cells best: where it raises
    the sum over parts and cells of (share of the cell)²/(share wanted) the least, and of such parts
    to that with the fewest rows. While no more clusters with rows of a cell are left than there are
    parts without any, these parts come first. Clusters of one row each are parted as rows are:
    evenly up to one row. A cluster much larger than a small part is hardly ever in it.

    Parameters
    ----------
    cluster : array of shape (n,)
        The number of each row's cluster.
    cell : array of shape (n,)
        The number of each row's class and group, from 0.
    shares : numbers above 0
        Of all rows, one per part; they add up to one.
    rng : Generator
        Shuffles the clusters.

    Returns
    -------
    array of shape (n,)
        Positions in `shares`.

    Examples
    --------
    >>> cluster = np.array([0, 0, 0, 1, 1, 1, 2, 2, 3, 3])
    >>> cell = np.array([0, 0, 1, 0, 0, 1, 0, 1, 0, 1])
    >>> part = spread(cluster, cell, [0.5, 0.5], np.random.default_rng(0))
    >>> [np.bincount(cell[part == k]).tolist() for k in range(2)]
    [[3, 2], [3, 2]]
    >>> [len(set(part[cluster == c].tolist())) for c in range(4)]
    [1, 1, 1, 1]
    """
    shares = np.asarray(shares, dtype=np.float64)
    _, member = np.unique(cluster, return_inverse=True)
    n_clusters, n_cells = int(member.max()) + 1, int(cell.max()) + 1
    # How many rows of which cell each cluster has: entries in the order of clusters.
    entry, rows = np.unique(member * n_cells + cell, return_counts=True)
    owner, kind = np.divmod(entry, n_cells)
    part = _dealt(member, cell, shares, n_clusters, rng)
    held = np.zeros((len(shares), n_cells))
    done = part[owner] >= 0
    np.add.at(held, (part[owner[done]], kind[done]), rows[done])
    left = np.bincount(kind[~done], minlength=n_cells)
    total = np.bincount(cell, minlength=n_cells).astype(np.float64)
    scaled = rows / total[kind]
    size = np.bincount(owner, np.square(scaled), minlength=n_clusters)
    step = np.floor(np.log2(size))  # coarse: another seed is to give other parts
    starts = np.append(starts_of_runs(owner), len(owner))
    rest = rng.permutation(np.flatnonzero(part < 0))
    for k in rest[np.argsort(-step[rest], kind="stable")]:
        some = slice(starts[k], starts[k + 1])
        cells, new = kind[some], scaled[some]
        lacking = held[:, cells] == 0.0
        urgent = (lacking & (left[cells] <= lacking.sum(axis=0))).sum(axis=1)
        rise = (2.0 * held[:, cells] / total[cells] + new) @ new / shares
        full = held.sum(axis=1) / shares
        part[k] = np.lexsort((full, rise, -urgent))[0]
        held[part[k], cells] += rows[some]
        left[cells] -= 1
    return part[member]


def _dealt(
    member: Ints, cell: Ints, shares: Floats, n_clusters: int, rng: np.random.Generator
) -> Ints:
    """The part of every cluster that can be dealt out with others like it; −1 for the rest."""
    by_cluster = np.argsort(member, kind="stable")
    # Sums of random numbers of cells: those of like clusters are equal, and others hardly ever,
    # which would do no harm.
    tokens = rng.integers(2**63, size=int(cell.max()) + 1, dtype=np.uint64)
    token = np.add.reduceat(tokens[cell[by_cluster]], starts_of_runs(member[by_cluster]))
    order = rng.permutation(n_clusters)
    order = order[np.argsort(token[order], kind="stable")]
    first = starts_of_runs(token[order])
    alike = np.diff(first, append=n_clusters)
    rank = np.arange(n_clusters) - np.repeat(first, alike)
    ends = np.cumsum(np.floor(np.outer(alike, shares) + _EXACT), axis=1)
    dealt = (rank[:, None] >= np.repeat(ends, alike, axis=0)).sum(axis=1)
    part = np.empty(n_clusters, dtype=np.intp)
    part[order] = np.where(dealt < len(shares), dealt, -1)
    return part
