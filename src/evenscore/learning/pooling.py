"""The scores of all parts, by class and group: exact of one part, in fine bins of several.

A table of scores is what exact AUCs and gaps are functions of. Scores that lie with several workers
are counted in bins of equal width, from eight standard deviations below their mean to eight above
(beyond, one bin on each side), and the counts add up. Whoever is in one bin is taken to be tied.
For a look during training that is all. The table that is reported from has finer bins and knows the
lowest and the highest score in each, so that it can say how far off its AUCs and rates may be
(`scores.brackets`).
"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from evenscore.learning.exchange import Exchange
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Bools, Floats, Ints, chunks
from evenscore.scores.bins import Bins

_LOOKING = 14  # level of the bins in training, 16,384: a share of a cell is known to about 4e-4
# Of the bins that are reported from, where there are eight groups or fewer: it is known to about
# 5e-5. With more groups there are fewer bins, so that a table takes 60 MB at most.
_REPORTING = 17
_REACH = 8.0  # standard deviations on either side that have bins


def ranked_scores(
    score: Floats,
    positive: Bools,
    codes: Ints,
    groups: tuple[Hashable, ...],
    *,
    weight: Floats | None,
    exchange: Exchange,
) -> GroupedScores:
    """A table with the order of all scores, for AUCs and gaps at shares.

    Of several parts, the score of a bin is its number.

    Parameters
    ----------
    score, positive, codes, groups, weight
        As `GroupedScores.from_codes` takes them, of this part.
    exchange : Exchange
        The other parts; alone, the table is exact.
    """
    if exchange.alone:
        return GroupedScores.from_codes(score, positive, codes, groups, weight=weight)
    cells = codes + len(groups) * positive
    count = _Count.of(score, cells, 2 * len(groups), weight, exchange, _LOOKING, variances=False)
    return GroupedScores.from_codes(
        count.key.astype(np.float64),
        count.cell >= len(groups),
        count.cell % len(groups),
        groups,
        **count.sums,
    )


def pooled_scores(
    score: Floats,
    positive: Bools,
    codes: Ints,
    groups: tuple[Hashable, ...],
    *,
    weight: Floats | None,
    exchange: Exchange,
    cluster: Ints | None = None,
) -> GroupedScores:
    """The table of all scores, to report from.

    Parameters
    ----------
    score, positive, codes, groups, weight, cluster
        As `GroupedScores.from_codes` takes them, of this part.
    exchange : Exchange
        The other parts; alone, the table is exact.
    """
    if exchange.alone:
        return GroupedScores.from_codes(
            score, positive, codes, groups, weight=weight, cluster=cluster
        )
    cells = codes + len(groups) * positive
    level = _REPORTING - max(0, (len(groups) - 1).bit_length() - 3)
    count = _Count.of(score, cells, 2 * len(groups), weight, exchange, level, variances=True)
    ends = np.full((2, count.n_bins), -np.inf)
    for rows in chunks(len(score)):
        key = count.bins.key(score[rows]) + 1
        np.maximum.at(ends[0], key, -score[rows])
        np.maximum.at(ends[1], key, score[rows])
    ends = exchange.max(ends)
    return GroupedScores.from_bins(
        None,
        count.key,
        -ends[0, count.key],
        ends[1, count.key],
        count.cell >= len(groups),
        count.cell % len(groups),
        groups,
        **count.sums,
    )


@dataclass(frozen=True, eq=False)
class _Count:
    """Who is in which bin: a row per bin and cell that somebody is in."""

    bins: Bins
    n_bins: int
    key: Ints
    cell: Ints
    sums: dict[str, Floats]

    @classmethod
    def of(
        cls,
        score: Floats,
        cells: Ints,
        n_cells: int,
        weight: Floats | None,
        exchange: Exchange,
        level: int,
        *,
        variances: bool,
    ) -> "_Count":
        bins = _bins(score, exchange, level)
        n_bins = (1 << level) + 2
        names: tuple[str, ...] = ("count",)
        if weight is not None:
            names = ("weight", "count", "weight_squared") if variances else ("weight",)
        sums = np.zeros((len(names), n_cells * n_bins))
        for rows in chunks(len(score), sums.shape[1]):
            place = bins.key(score[rows]) + 1 + n_bins * cells[rows]
            own = None if weight is None else weight[rows]
            columns = (own, None, None if own is None else own * own)
            for total, column in zip(sums, columns, strict=False):
                total += np.bincount(place, column, minlength=sums.shape[1])
        sums = exchange.sum(sums)
        place = np.flatnonzero(sums[0])
        cell, key = np.divmod(place, n_bins)
        return cls(bins, n_bins, key, cell, dict(zip(names, sums[:, place], strict=True)))


def _bins(score: Floats, exchange: Exchange, level: int) -> Bins:
    """Bins between the ends of all scores, or as far from their mean as bins reach."""
    low, high = exchange.ends(score)
    sums = np.zeros(3)
    for rows in chunks(len(score)):
        away = score[rows] - low
        sums += np.array([float(len(away)), away.sum(), away @ away])
    n, first, second = exchange.sum(sums).tolist()
    mean = first / n
    reach = _REACH * float(np.sqrt(max(second / n - mean * mean, 0.0)))
    return Bins.between(max(low, low + mean - reach), min(high, low + mean + reach), (level,))
