"""Some rows that stand for all, gathered from all parts: everybody is given the same ones.

Which rows they are follows from the order of the blocks that the data came in, not from who holds
which block: with the same blocks, two workers and four draw the same sample.
"""

from dataclasses import replace

import numpy as np

from evenscore.learning.exchange import ALONE
from evenscore.learning.training_set import TrainingSet, even_places, wanted_of
from evenscore.scores.arrays import Floats, Ints


def gathered_sample(part: TrainingSet, size: int) -> TrainingSet:
    """About `size` rows of all parts, evenly from every cell, as `TrainingSet.thinned` has them.

    Parameters
    ----------
    part : TrainingSet
        The rows at hand, their features dense.
    size : int
        How many are wanted; all if there are no more.

    Returns
    -------
    TrainingSet
        Weighted to stand for all, and on its own.
    """
    exchange, sizes, cell = part.exchange, part.cell_sizes, part.cell
    blocks, n_cells = part.blocks(), len(sizes)
    last = max((number for number, _ in blocks), default=-1)
    n_blocks = int(exchange.max(np.array([float(last)]))[0]) + 1
    counts = np.zeros((n_blocks, n_cells))
    for number, rows in blocks:
        counts[number] = np.bincount(cell[rows], minlength=n_cells)
    everywhere = exchange.sum(counts)
    before = np.rint(np.cumsum(everywhere, axis=0) - everywhere).astype(np.intp)
    wanted = [even_places(n, wanted_of(size, n, int(sizes.sum()))) for n in sizes.tolist()]
    kept: list[Ints] = []
    for number, rows in blocks:
        chosen = np.zeros(len(rows), dtype=bool)
        for c in np.flatnonzero(counts[number]):
            members = np.flatnonzero(cell[rows] == c)
            places = wanted[c] - before[number, c]
            chosen[members[places[(places >= 0) & (places < len(members))]]] = True
        kept.append(rows[chosen])
    places, total = _places_among_all(part, [len(rows) for rows in kept], n_blocks)
    some = np.concatenate([np.zeros(0, dtype=np.intp), *kept])
    weight = _standing_for_all(part, some)
    columns = part.X[some], cell[some, None], weight[:, None]
    whole = exchange.gathered(np.concatenate(columns, axis=1), places, total)
    positive, codes = np.divmod(np.rint(whole[:, -2]).astype(np.intp), len(part.groups))
    everybody = part.weight is None and part.n_rows <= size
    return replace(
        part,
        X=np.ascontiguousarray(whole[:, :-2]),
        positive=positive.astype(bool),
        codes=codes,
        weight=None if everybody else whole[:, -1].copy(),
        cluster=None,
        exchange=ALONE,
        block=None,
    )


def _places_among_all(part: TrainingSet, lengths: list[int], n_blocks: int) -> tuple[Ints, int]:
    """Where the rows kept of each block stand among all that are kept, and how many those are."""
    numbers = [number for number, _ in part.blocks()]
    own = np.zeros(n_blocks)
    own[numbers] = lengths
    all_lengths = part.exchange.sum(own)
    starts = np.rint(np.cumsum(all_lengths) - all_lengths).astype(np.intp)
    places = [
        starts[number] + np.arange(length) for number, length in zip(numbers, lengths, strict=True)
    ]
    return np.concatenate([np.zeros(0, dtype=np.intp), *places]), round(float(all_lengths.sum()))


def _standing_for_all(part: TrainingSet, some: Ints) -> Floats:
    """Weights of some rows, with which each cell has the weight that it has in all parts."""
    cell, n_cells = part.cell, len(part.cell_sizes)
    weight = np.ones(len(part)) if part.weight is None else part.weight
    sums = [np.bincount(cell, weight, n_cells), np.bincount(cell[some], weight[some], n_cells)]
    total, kept = part.exchange.sum(np.array(sums, dtype=np.float64))
    factor = np.divide(total, kept, out=np.ones(n_cells), where=kept > 0.0)
    return np.asarray(weight[some] * factor[cell[some]])
