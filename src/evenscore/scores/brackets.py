"""By how much a number from a table of bins may be off: its bracket, told by the table itself.

Within an *open* bin the order of people is not known (`scores.binned`). With m_c(b) the share of
cell c in bin b:

- The AUC of cells i and j is off by ½ Σ m_i(b) m_j(b) over the open bins b at most. Since
  AUC_ij + AUC_ji = 1, so are the errors of the two but for the sign, and Σ W ∘ AUC is off by
  Σ over i < j of |W_ij − W_ji| times that.
- At the ends of bins shares above a cut are exact. A cut *within* bin b selects of every cell what
  is selected before the bin and some of m(b): a box of shares. A rate is a quotient of two linear
  functions of the shares of a group's two classes, and has its extremes at the corners of the box.
- On a ROC curve, the reference is cut in a bin, and the share of the target above that cut is off
  by the target's m(b) at most: whatever happens in the bin, the curve goes from one end of it to
  the other.

A table of scores has brackets of zero.
"""

from collections.abc import Iterator
from weakref import WeakKeyDictionary

import numpy as np

from evenscore.scores.arrays import Bools, Floats, Ints
from evenscore.scores.aucs import auc_matrix, blocks
from evenscore.scores.distribution import Distribution
from evenscore.scores.rates import Rate
from evenscore.scores.selection import Ladder
from evenscore.scores.table import GroupedScores

_AT_ONCE = 1 << 19  # entries of the shares selected that are held at a time

_KNOWN: WeakKeyDictionary[GroupedScores, Floats] = WeakKeyDictionary()


def has_open_bins(scores: GroupedScores) -> bool:
    """Whether the order of some people is not known."""
    return scores.binned is not None and scores.binned.n_open > 0


# ---------------------------------------------------------------------- AUCs


def auc_brackets(scores: GroupedScores) -> Floats:
    """By how much each AUC between two cells may be off, (2K, 2K); kept as long as the table is.

    >>> from evenscore.scores.bins import Bins
    >>> scores = GroupedScores.from_bins(
    ...     Bins.between(0.0, 4.0, (1,)), np.array([0, 0, 1, 1]), np.array([0.0, 1.0, 2.0, 3.0]),
    ...     np.array([0.0, 1.0, 2.0, 3.0]), np.array([False, True] * 2), np.zeros(4, int), ("a",))
    >>> float(auc_brackets(scores)[0, 1])  # a quarter of the pairs is in each of two bins
    0.25
    """
    if scores not in _KNOWN:
        _KNOWN[scores] = _auc_brackets(scores)
    return _KNOWN[scores]


def _auc_brackets(scores: GroupedScores) -> Floats:
    found = np.zeros((scores.n_cells, scores.n_cells))
    if scores.binned is None:
        return found
    for block in blocks(scores):
        is_open = np.zeros(block.weight.shape[1], dtype=bool)
        is_open[block.level] = scores.binned.is_open(scores.score[block.rows])
        weight = block.weight[:, is_open]
        found += weight @ weight.T
    totals = scores.cell_weights.reshape(-1)
    products = np.outer(totals, totals)
    found = np.divide(0.5 * found, products, out=np.zeros_like(found), where=products > 0.0)
    np.fill_diagonal(found, 0.0)  # ½ by definition
    return found


def auc_bracket(scores: GroupedScores) -> float:
    """The largest of them."""
    return float(auc_brackets(scores).max(initial=0.0))


def overall_auc_bracket(scores: GroupedScores) -> float:
    """By how much the AUC of all negatives and all positives may be off."""
    if scores.binned is None:
        return 0.0
    k = scores.n_groups
    weights = np.nan_to_num(auc_matrix(scores).pair_weights)
    return float(np.sum(weights * auc_brackets(scores)[:k, k:]))


def linear_brackets(coefficients: Floats, brackets: Floats) -> Floats:
    """By how much Σ W ∘ AUC may be off, of coefficients W, (…, 2K, 2K)."""
    known = np.nan_to_num(coefficients)
    apart = np.abs(known - np.swapaxes(known, -1, -2))
    return np.asarray(0.5 * np.sum(apart * brackets, axis=(-2, -1)))


# ---------------------------------------------------------------------- rates at cuts


def rates_between(rate: Rate, least: Floats, most: Floats, totals: Floats) -> tuple[Floats, Floats]:
    """The least and the most of a rate, (…, groups), if cells have between two weights selected.

    Weights are (…, 2, groups). Where nobody is counted at some corner and somebody at another the
    rate may be anything.

    >>> from evenscore.scores.rates import CATALOGUE
    >>> rates_between(CATALOGUE["precision"], np.array([[1.0], [1.0]]), np.array([[3.0], [1.0]]),
    ...               np.array([[4.0], [4.0]]))
    (array([0.25]), array([0.5]))
    """
    ends = (least, most)
    corners = np.stack(
        [np.stack([one[..., 0, :], two[..., 1, :]], axis=-2) for one in ends for two in ends]
    )
    value = rate.values(corners, totals)
    unknown = np.isnan(value)
    low = np.where(unknown, np.inf, value).min(axis=0)
    high = np.where(unknown, -np.inf, value).max(axis=0)
    nobody, some = unknown.all(axis=0), unknown.any(axis=0)
    low, high = np.where(some, 0.0, low), np.where(some, 1.0, high)
    return np.where(nobody, np.nan, low), np.where(nobody, np.nan, high)


def selected_between(scores: GroupedScores, thresholds: Floats) -> tuple[Floats, Floats]:
    """The least and the most weight of each cell with a score above thresholds, (…, 2, groups)."""
    assert scores.binned is not None
    shape = (len(thresholds), 2, scores.n_groups)
    found = []
    for end in scores.binned.extent(scores.score):  # increasing with the score, as the rows are
        starts = np.searchsorted(end, thresholds, side="right")
        order = np.argsort(starts, kind="stable")
        [sums] = scores.sums_between(np.append(starts[order], len(scores)), scores.weight)
        above = np.empty((len(thresholds), scores.n_cells))
        above[order] = np.cumsum(sums[:0:-1], axis=0)[::-1]
        found.append(above.reshape(shape))
    return found[0], found[1]


def gap_brackets(
    ladder: Ladder, rate: Rate, levels: Ints, steps: Ints, pairs: Ints
) -> Iterator[tuple[slice, Floats]]:
    """By how much gaps at cuts within open levels may differ from those at some steps of a ladder.

    Level k lies between steps k and k + 1, and `steps` has one of the two for each of the
    increasing `levels`. Some levels at a time: (levels, pairs), NaN where a gap is not defined.
    """
    totals = ladder.scores.cell_weights
    i, j = pairs.T
    at_once = max(1, _AT_ONCE // max(totals.size, 1))
    for start in range(0, len(levels), at_once):
        some = slice(start, min(start + at_once, len(levels)))
        before, after = (ladder.selected(levels[some] + k).weight for k in (0, 1))
        own = np.where((steps[some] == levels[some])[:, None, None], before, after)
        value = rate.values(own, totals)
        least, most = rates_between(rate, before, after, totals)
        up, down = most - value, value - least
        yield some, np.maximum(np.maximum(up[:, i] + down[:, j], down[:, i] + up[:, j]), 0.0)


def open_levels(ladder: Ladder, first: int, last: int) -> Ints:
    """The open levels of a ladder between two, both included."""
    first, last = max(first, 0), min(last, ladder.n_steps - 1)
    return first + np.flatnonzero(ladder.is_open[first : last + 1])


# ---------------------------------------------------------------------- ROC curves


def open_share(scores: GroupedScores, sample: Distribution, values: Floats) -> Floats:
    """The share of a sample that has these scores of the table, where they are open bins."""
    if not has_open_bins(scores):
        return np.zeros(len(values))
    _, share = sample.shares(values)
    return np.where(_open(scores, values), share, 0.0)


def curve_bracket(
    scores: GroupedScores,
    reference: Distribution,
    target: Distribution,
    low: float,
    high: float | None = None,
) -> float:
    """By how much the share of a target may be off where a share of a reference is selected.

    The reference is cut where a share from `low` to `high` of it is selected; 0 without people.
    """
    if not has_open_bins(scores) or not len(reference) or not len(target):
        return 0.0
    ends = reference.threshold([min(max(low if high is None else high, low), 1.0), max(low, 0.0)])
    first = int(np.searchsorted(target.values, ends[0], side="left"))
    last = int(np.searchsorted(target.values, ends[1], side="right"))
    values = target.values[first:last]
    return float(open_share(scores, target, values).max(initial=0.0))


def _open(scores: GroupedScores, values: Floats) -> Bools:
    """Whether scores of the table are open bins; −∞ is none."""
    assert scores.binned is not None
    finite = np.isfinite(values)
    known = np.where(finite, values, scores.binned.score[0])
    return np.asarray(scores.binned.is_open(known) & finite)
