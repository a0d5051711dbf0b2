"""Where bins have to be finer, from what the last ones showed.

A bin b is worth m_i(b) of cell i. Divided into f bins of equal width it adds Σ m_i m_j / f to twice
the bracket of an AUC, if scores are spread evenly within it. For so many bins in all, the sum is
smallest with f in proportion to √(m_i m_j), which makes all bins weigh alike. Where a cut will lie,
no cell may have more than a small share of its people in one bin. Light bins are joined again. What
is wanted is rounded to the four levels that take the fewest rows.
"""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from evenscore.scores.arrays import Bools, Floats, Ints
from evenscore.scores.bins import FINEST, Bins, Ranges

DEEPER = 14  # levels by which a bin is divided at most in one pass: 16,384 bins
_LIGHT = 0.1  # a cell counts for at least this share of the largest: neighbours may be joined
_SPARE = 0.7  # of the accuracy asked for is aimed at: scores are not spread evenly
_HEAVY = 0.2  # of the accuracy is spoilt by a bin alone
_CROWDED = 4.0  # times as many people as in the bins next to it
_LEVELS = 4  # distinct levels: each costs a comparison per row


@dataclass(frozen=True, eq=False)
class BinShares:
    """What bins hold: the share of each cell in each, (bins, cells), and how many people.

    `used` says where cuts will lie.
    """

    highest: Floats
    is_open: Bools
    share: Floats
    count: Floats
    used: Bools

    @property
    def rate_bracket(self) -> float:
        """The largest share of a cell in one bin where a cut may lie."""
        return float(self.share[self.is_open & self.used].max(initial=0.0))


def refined(
    bins: Bins, shares: BinShares, accuracy: float, rate: float, rows: int
) -> tuple[Bins, float]:
    """Bins that bring an AUC to the accuracy and the share of a cell at a cut to the rate.

    Parameters
    ----------
    bins
        Those of `shares`.
    shares
        What they hold.
    accuracy, rate
        The brackets that are wanted.
    rows
        How many rows, of bins and cells, there may be; if that is too few, what is wanted gives
        way.

    Returns
    -------
    Bins, float
        The bins for the next pass, and by what factor it had to give way: 1 if not at all.
    """
    level = bins.level_of(shares.highest)
    cells = np.maximum(np.sum(shares.share > 0.0, axis=1), 1).astype(np.float64)
    # Beyond 1e300 bins per unit the arithmetic of keys would overflow.
    finest = bins.levels[-1] + max(0, int(np.log2(1e300) - np.log2(bins.scale)))
    most = np.minimum(level + DEEPER, min(FINEST, finest))
    wide = 1.0
    while True:
        wanted = np.minimum(_wanted(shares, accuracy * wide, rate * wide, level), most)
        demand = _Demand.of(wanted, level, cells, shares.count)
        levels, needed = demand.cheapest()
        if needed <= rows or wide > 1e6:
            break
        wide *= 1.3
    deepest = wanted > (levels[-2] if len(levels) > 1 else -1)
    while len(levels) > 1 and levels[-1] < min(FINEST, finest, int(level[deepest].max()) + DEEPER):
        # Values that many people have come apart from their neighbours by depth alone.
        deeper = (*levels[:-1], levels[-1] + 1)
        if demand.rows(deeper) > (rows + needed) / 2.0:
            break
        levels = deeper
    return _bins(bins, shares.highest, levels, wanted, level), wide


def crowded(bins: Bins, shares: BinShares, accuracy: float, rate: float) -> Bools:
    """Bins in which very many people seem to have the same score, and others do not.

    A bin that was divided before and alone would spoil the accuracy, if one of them holds many more
    people than those next to it: then scores are not spread evenly, and dividing does not help.
    """
    level = bins.level_of(shares.highest)
    beside = np.maximum(np.append(0.0, shares.count[:-1]), np.append(shares.count[1:], 0.0))
    heaviest = np.sort(shares.share, axis=1)[:, -2:]
    heavy = heaviest[:, 0] * heaviest[:, -1] > _HEAVY * accuracy
    heavy |= shares.used & (heaviest[:, -1] > rate)
    heavy &= shares.is_open & (level > level.min())
    return heavy if np.any(heavy & (shares.count > _CROWDED * beside)) else np.zeros_like(heavy)


def _wanted(shares: BinShares, accuracy: float, rate: float, level: Ints) -> Ints:
    """The level that each bin should have."""
    largest = np.sort(shares.share, axis=1)[:, ::-1]
    first = largest[:, 0]
    second = np.maximum(largest[:, 1] if largest.shape[1] > 1 else 0.0, _LIGHT * first)
    root = np.sqrt(first * second)
    parts = root * root.sum() / (2.0 * _SPARE * accuracy)
    parts = np.where(shares.used, np.maximum(parts, first / (_SPARE * rate)), parts)
    parts = np.where(shares.is_open, parts, np.minimum(parts, 1.0))
    steps = np.ceil(np.log2(np.maximum(parts, 2.0**-60))).astype(np.int64)
    return np.asarray(np.maximum(level + steps, 0))


class _Demand(NamedTuple):
    """Bins that are alike: the level wanted, the level they have, and what they hold in all."""

    wanted: Ints
    level: Ints
    cells: Floats
    people: Floats

    @classmethod
    def of(cls, wanted: Ints, level: Ints, cells: Floats, people: Floats) -> "_Demand":
        _, first, kind = np.unique(
            wanted * (FINEST + 1) + level, return_index=True, return_inverse=True
        )
        sums = [np.bincount(kind.reshape(-1), part).astype(np.float64) for part in (cells, people)]
        return cls(wanted[first], level[first], *sums)

    def rows(self, levels: tuple[int, ...]) -> float:
        """How many rows bins of these levels take, about."""
        taken = np.array(levels)[np.searchsorted(levels, np.minimum(self.wanted, levels[-1]))]
        rows = np.minimum(self.cells * np.exp2(taken - self.level), self.people)
        return float(rows.sum())

    def cheapest(self) -> tuple[tuple[int, ...], float]:
        """The levels, the finest wanted among them, that take the fewest rows."""
        *others, finest = np.unique(self.wanted).tolist()
        choices = [
            (*some, finest)
            for size in range(min(_LEVELS, len(others) + 1))
            for some in combinations(others, size)
        ]
        rows = [self.rows(choice) for choice in choices]
        best = int(np.argmin(rows))
        return choices[best], rows[best]


def _bins(bins: Bins, score: Floats, levels: tuple[int, ...], wanted: Ints, level: Ints) -> Bins:
    """Bins that are as fine as wanted, by some levels."""
    finer = []
    for coarse in levels[:-1]:
        divided = wanted > coarse
        own = bins.at_levels(score[divided], level[divided])
        depth = level[divided] - coarse
        first = np.where(depth >= 0, np.floor(own / np.exp2(np.maximum(depth, 0))), own)
        # A bin that is coarser than this level is divided in all its parts.
        parts = np.exp2(np.maximum(-depth, 0))
        first = first * parts
        finer.append(Ranges.of(first.astype(np.int64), (first + parts - 1).astype(np.int64)))
    scale = bins.scale * 2.0 ** (levels[-1] - bins.levels[-1])
    return replace(bins, scale=scale, levels=levels, finer=tuple(finer))
