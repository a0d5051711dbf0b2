"""AUCs between cells, and ROC curves between mixtures of cells; exact with ties and weights.

Everything here is a function of `GroupedScores`, in O(n) once that is built (a sort).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from evenscore.scores import CLASSES, ClassName, GroupedScores, check_scores
from evenscore.scores.arrays import Floats, Ints, ratio, starts_of_runs
from evenscore.scores.curve import RocCurve
from evenscore.scores.distribution import Distribution

_BLOCK = 1 << 17  # entries of the dense (cells × levels) block: it stays in the cache
_LARGEST = 1 << 21  # entries of a block that need not, so that it has `_ROWS` of every cell
_ROWS = 32


def auc(reference: Distribution, target: Distribution) -> float:
    """AUC_{h,g} = P(S_g > S_h) + ½ P(S_g = S_h); NaN if a sample is empty."""
    return RocCurve(reference, target).area


# ---------------------------------------------------------------------- the AUC matrix


@dataclass(frozen=True, eq=False)
class AucMatrix:
    """AUCs between all 2K cells: `values[i, j]` is the AUC of reference cell i and target cell j.

    values + valuesᵀ = 1, the diagonal is ½, and an empty cell has NaN. `pair_weights[i, j]` is the
    share of pairs (negative of group i, positive of group j) among all pairs of a negative and a
    positive: they weight the block `values[:K, K:]` into the overall AUC.
    """

    ordered_pairs: Floats
    cell_weights: Floats
    cells: tuple[str, ...]

    def __repr__(self) -> str:
        width = max(map(len, self.cells), default=0)
        head = (
            f"AUC of a reference cell (row) and a target cell (column); overall {self.overall:.4f}"
        )
        rows = [
            f"{number:>3} {name:{width}} " + " ".join(f"{value:7.4f}" for value in row)
            for number, (name, row) in enumerate(zip(self.cells, self.values, strict=True))
        ]
        columns = " " * (width + 5) + " ".join(f"{number:7d}" for number in range(len(self.cells)))
        return "\n".join([head, columns, *rows])

    @cached_property
    def values(self) -> Floats:
        """The 2K × 2K matrix."""
        totals = self.cell_weights.reshape(-1)
        return ratio(self.ordered_pairs, np.outer(totals, totals))

    @property
    def pair_weights(self) -> Floats:
        """Share of each (negative's group, positive's group) among the pairs; adds up to one."""
        products = np.outer(*self.cell_weights)
        with np.errstate(invalid="ignore"):
            return np.asarray(products / products.sum())

    @property
    def overall(self) -> float:
        """AUC of all negatives against all positives; NaN if a class is empty."""
        k = self.cell_weights.shape[1]
        return float(ratio(self.ordered_pairs[:k, k:].sum(), self.cell_weights.sum(axis=1).prod()))


_KNOWN: WeakKeyDictionary[GroupedScores, AucMatrix] = WeakKeyDictionary()


def auc_matrix(scores: GroupedScores) -> AucMatrix:
    """All AUCs between cells in one pass over the sorted table.

    M[i, j] = Σ over levels v of w_j(v) · (W_i(up to v) − ½ w_i(v)). Levels are taken a block at a
    time as a dense (cells × levels) array: the pass is a cumulative sum and a matrix product.
    Without weights every intermediate number is an integer or a half: the result is exact. It is
    kept as long as the table is.

    >>> s = GroupedScores.from_arrays([0, 1, 0, 1], [1, 2, 2, 3], sensitive_features=list("aabb"))
    >>> auc_matrix(s).values[:2, 2:]
    array([[1. , 1. ],
           [0.5, 1. ]])
    """
    if scores in _KNOWN:
        return _KNOWN[scores]
    pairs = np.zeros((scores.n_cells, scores.n_cells))
    for block in blocks(scores):
        pairs += block.up_to @ block.weight.T
        if block.tied:  # otherwise a level has one cell, and the product below is diagonal
            pairs -= 0.5 * (block.weight @ block.weight.T)
    return matrix_of_pairs(scores, pairs)


def overall_auc(scores: GroupedScores) -> float:
    """AUC of all negatives against all positives, without the matrix; NaN if a class is empty.

    >>> s = GroupedScores.from_arrays([0, 1, 0, 1], [1, 2, 2, 3], sensitive_features=list("aabb"))
    >>> overall_auc(s)
    0.875
    """
    if scores in _KNOWN:
        return _KNOWN[scores].overall
    positive = scores.cell >= scores.n_groups
    starts = starts_of_runs(scores.score)
    if not len(starts):
        return float("nan")
    negatives, positives = (
        np.add.reduceat(np.where(positive == kind, scores.weight, 0.0), starts) for kind in (0, 1)
    )
    ordered = positives @ (np.cumsum(negatives) - 0.5 * negatives)
    return float(ratio(ordered, scores.cell_weights.sum(axis=1).prod()))


def matrix_of_pairs(scores: GroupedScores, pairs: Floats) -> AucMatrix:
    """The AUC matrix, given the weights of well-ordered pairs between different cells."""
    np.fill_diagonal(pairs, 0.5 * scores.cell_weights.reshape(-1) ** 2)
    names = tuple(scores.cell_name(c) for c in range(scores.n_cells))
    _KNOWN[scores] = matrix = AucMatrix(pairs, scores.cell_weights, names)
    return matrix


@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive levels (distinct scores) of the table, as dense arrays (cells × levels)."""

    rows: slice
    level: Ints  # of each row, counted from the first level of the block
    tied: bool  # whether a level has several rows
    weight: Floats  # weight at each level, by cell
    up_to: Floats  # weight at or below each level, by cell


def blocks(scores: GroupedScores) -> Iterator[Block]:
    """The sorted table, a block at a time; no level is cut in two."""
    n_cells, n_rows = scores.n_cells, len(scores)
    carried = np.zeros((n_cells, 1))
    # Rows are distinct in (score, cell): a level has as many rows as there are cells, at most.
    step = max(_BLOCK // max(n_cells, 1), n_cells, 1)
    # With many cells, enough rows of each: products of a few rows are slow.
    step = max(step, min(_ROWS * n_cells, _LARGEST // max(n_cells, 1)))
    start = 0
    while start < n_rows:
        stop = min(start + step, n_rows)
        ahead = scores.score[stop : stop + n_cells]
        stop += int(np.searchsorted(ahead, scores.score[stop - 1], side="right"))
        score = scores.score[start:stop]
        new = score[1:] != score[:-1]
        tied = not new.all()
        level = np.concatenate(([0], np.cumsum(new))) if tied else np.arange(stop - start)
        weight = np.zeros((n_cells, int(level[-1]) + 1))
        weight[scores.cell[start:stop], level] = scores.weight[start:stop]
        up_to = np.cumsum(weight, axis=1)
        up_to += carried
        carried = up_to[:, -1:].copy()
        yield Block(slice(start, stop), level, tied, weight, up_to)
        start = stop


# ---------------------------------------------------------------------- ROC curves


def roc_curve(scores: GroupedScores, reference: Floats, target: Floats) -> RocCurve:
    """ROC curve between two mixtures of the cells, given by their 2K proportions."""
    return RocCurve(scores.mixture(reference), scores.mixture(target))


def inter_group_curve(
    scores: GroupedScores, on: ClassName, first: int = 0, second: int = 1
) -> RocCurve:
    """ROC_{F⁰,F¹}: the second group's negatives (or positives) against those of the first."""
    check_scores(scores)
    if on not in CLASSES:
        raise ValueError(f"on must be 'negatives' or 'positives', not {on!r}.")
    if not (0 <= first < scores.n_groups and 0 <= second < scores.n_groups):
        raise ValueError(f"There are groups 0 to {scores.n_groups - 1}, not {first} and {second}.")
    cells = scores.of_class(on)
    return RocCurve(cells[first], cells[second])
