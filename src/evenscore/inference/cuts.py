"""What a cut does to each group, with intervals: rates, precision and the ratio of selection rates.

The threshold is taken as given. A rate is a share, and its interval is Wilson's; with weights, an
effective size takes the place of the number of people: see `share_size`. With clusters it is that
of sums over clusters: see `cluster_sizes`. Where a threshold parts a bin of a table of bins, the
interval is wider by how much the rate may move within the bin (`scores.brackets`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from evenscore.inference.cluster_sizes import (
    SharesOfClusters,
    bins_of_cuts,
    correlation_by_cell,
    correlation_by_group,
    is_clustered,
    shares_of_clusters,
    sides_of_cuts,
)
from evenscore.inference.estimate import check_level, percent
from evenscore.inference.intervals import normal_quantile, wilson
from evenscore.inference.shares import share_size, sums_above, sums_by_cell, weight_by_class
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats, ratio
from evenscore.scores.brackets import has_open_bins, rates_between, selected_between
from evenscore.scores.distribution import to_floats
from evenscore.scores.rates import rate_named
from evenscore.scores.selection import Side
from evenscore.scores.thresholds import GroupRates, rates_at

Ends = tuple[float, float, float]  # a share with the ends of its interval

FOUR_FIFTHS = 0.8
FOUR_FIFTHS_REMARK = (
    "Four fifths is a rule of thumb of hiring practice in the United States; a ratio below it or "
    "above it proves nothing by itself."
)
BURDEN_REMARK = (
    "Being selected is bad for a person here: the group that is selected most often bears the "
    "most. Four fifths is a rule of thumb for selections that are good for people."
)

A_CUT_IS_A_NUMBER = (
    "A cut is a number: intervals are about the rates at that very score, not at whichever score "
    "selects the same share of other people."
)


@dataclass(frozen=True, eq=False)
class Shares:
    """Many shares with the ends of their intervals; NaN where there is nobody to be a share of."""

    value: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(
        cls, value: Floats, size: Floats, z: float, within: tuple[Floats, Floats] | None = None
    ) -> "Shares":
        """Shares among `size` (effective) observations, with Wilson's intervals.

        If a share may lie anywhere `within` two others, its interval reaches as much farther.
        """
        known = size > 0
        low, high = wilson(np.where(known, value, 0.5), np.where(known, size, 1.0), z)
        if within is not None:
            low = np.maximum(low - np.maximum(value - within[0], 0.0), 0.0)
            high = np.minimum(high + np.maximum(within[1] - value, 0.0), 1.0)
        known &= ~np.isnan(value)
        return cls(value, np.where(known, low, np.nan), np.where(known, high, np.nan))

    def ends(self, *place: int) -> Ends:
        """One of them with its ends."""
        return float(self.value[place]), float(self.low[place]), float(self.high[place])


@dataclass(frozen=True, eq=False)
class ImpactRatio:
    """The lowest of the groups' selection rates over the highest, at each threshold.

    The interval is made of Wilson's intervals of the two rates (the method of variance estimates
    recovery for a ratio). The two groups were picked as the extreme ones of K: its error
    probability is divided by the number of pairs, K(K − 1)/2, so that it holds for every pair at
    once. `notes` says in words what the ratio is, and whether it is below four fifths: "below" if
    its whole interval is, "not below" if the intervals of no pair of groups reach below, and
    otherwise that it cannot be told, with the pair that surely is below if there is another one.
    Of selections that are bad for people it says nothing of four fifths. The two rates are taken to
    be independent: where clusters have rows in both groups the interval is, mostly, too wide.
    """

    value: Floats
    low: Floats
    high: Floats
    lowest: tuple[str, ...]
    highest: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class RatioTable:
    """Selection rates of the groups at some cuts, and their ratios to the rate of one group.

    Arrays are (cuts, groups). `against` names that group at each cut: a reference group, or the one
    that is selected most often of those compared. Which one that is, the data tell: intervals then
    hold for all pairs of compared groups at once, as that of `extremes` does, which is the lowest
    rate of theirs over the highest. Against a reference group each interval holds by itself. A
    ratio to a rate of zero is NaN, and an interval without an upper end has an infinite one.
    """

    groups: tuple[str, ...]
    confidence_level: float
    selected_share: Floats
    selection_rate: Shares
    against: tuple[str, ...]
    ratio: Shares
    extremes: ImpactRatio
    remark: str


@dataclass(frozen=True, eq=False)
class CutTable:
    """Rates of each group at each threshold (shape (thresholds, groups)), and of everyone.

    A person is selected if their score is above the threshold, or below it if `side` is "low";
    `inclusive` says that the threshold itself is selected too. `selected` is the weight selected in
    a group and `selected_share` the share of everyone. `labels` says where a threshold comes from.
    """

    thresholds: Floats
    labels: tuple[str, ...]
    groups: tuple[str, ...]
    confidence_level: float
    selected: Floats
    selected_share: Floats
    selection_rate: Shares
    fpr: Shares
    fnr: Shares
    precision: Shares
    impact_ratio: ImpactRatio
    remark: str = FOUR_FIFTHS_REMARK
    meaning: str = A_CUT_IS_A_NUMBER
    side: Side = "high"
    inclusive: bool = False

    def where(self, t: int) -> str:
        """A cut in words: who is selected there."""
        words = ("above", "at least") if self.side == "high" else ("below", "at most")
        return f"{words[self.inclusive]} {self.thresholds[t]:.4g}"


def cut_table(
    scores: GroupedScores,
    thresholds: ArrayLike,
    *,
    labels: tuple[str, ...] | None = None,
    confidence_level: float = 0.95,
    burden: bool = False,
    compared: Sequence[int] | None = None,
    side: Side = "high",
    inclusive: bool = False,
) -> CutTable:
    """The rates of each group at the given thresholds, each with its interval.

    Whose score is above a threshold is selected; below, if `side` is "low"; and whoever has it
    exactly, if it is `inclusive`.
    `burden` says that being selected is bad for a person: the four-fifths rule is then not applied.
    The ratio of selection rates is about the groups at the positions `compared`, by default all.

    >>> y, groups = [0, 1] * 50, ["a"] * 50 + ["b"] * 50
    >>> scores = GroupedScores.from_arrays(y, range(100), sensitive_features=groups)
    >>> table = cut_table(scores, [24.5])
    >>> table.selection_rate.value
    array([[0.5, 1. ]])
    >>> table.impact_ratio.value, table.impact_ratio.lowest
    (array([0.5]), ('a',))
    """
    level = check_level(confidence_level)
    z = normal_quantile(0.5 + level / 2.0)
    asked = np.atleast_1d(to_floats(thresholds, "thresholds"))
    selection = _Selection.at(scores, asked, side, inclusive=inclusive, every_rate=True)
    rates, above, below, clusters = (
        selection.rates, selection.above, selection.below, selection.clusters,
    )  # fmt: skip
    cells = sums_by_cell(selection.scores)
    chosen = rates.selected.sum(axis=1)

    def shares(name: str, value: Floats, size: Floats) -> Shares:
        size = clusters[name].reduced(size, z) if clusters else size
        return Shares.of(value, size, z, selection.within(name))

    ratios = _impact_ratio(selection, compared, level, burden)
    # If only positives are selected, the group's other negatives tell what a negative weighs.
    by_class = weight_by_class(cells)[:, None]
    chosen_size = share_size(above[:, :, 1], above[:, :, 0], z, typical=by_class)
    return CutTable(
        asked,
        ("",) * len(rates.thresholds) if labels is None else labels,
        scores.names,
        level,
        chosen,
        selection.share,
        selection.shares(z),
        shares("fpr", rates.fpr, share_size(above[:, :, 0], below[:, :, 0], z)),
        shares("fnr", rates.fnr, share_size(below[:, :, 1], above[:, :, 1], z)),
        shares("precision", rates.precision, chosen_size),
        ratios,
        BURDEN_REMARK if burden else FOUR_FIFTHS_REMARK,
        side=side,
        inclusive=inclusive,
    )


def ratio_table(
    scores: GroupedScores,
    thresholds: ArrayLike,
    *,
    confidence_level: float = 0.95,
    burden: bool = False,
    compared: Sequence[int] | None = None,
    reference: int | None = None,
    side: Side = "high",
    inclusive: bool = False,
) -> RatioTable:
    """Ratios of the groups' selection rates at the given thresholds to that of one group.

    Arguments are those of `cut_table`; `reference` is the position of a group that all others are
    measured against, and without it the highest rate of the groups `compared` is.

    >>> y, groups = [0, 1] * 75, ["a"] * 50 + ["b"] * 50 + ["c"] * 50
    >>> scores = GroupedScores.from_arrays(y, list(range(100)) + [99] * 50,
    ...                                    sensitive_features=groups)
    >>> table = ratio_table(scores, [24.5], compared=[0, 1])
    >>> table.against, table.ratio.value
    (('b',), array([[0.5, 1. , 1. ]]))
    """
    level = check_level(confidence_level)
    asked = np.atleast_1d(to_floats(thresholds, "thresholds"))
    selection = _Selection.at(scores, asked, side, inclusive=inclusive)
    rates, names = selection.rates.selection, scores.names
    extremes = _impact_ratio(selection, compared, level, burden)
    z = normal_quantile(0.5 + level / 2.0)
    shown = wide = selection.shares(z)
    if reference is None:
        against = extremes.highest
        z = _all_pairs_quantile(len(_positions(scores, compared)), level)
        wide = selection.shares(z)
    else:
        against = (names[reference],) * len(rates)
    value, low, high = (np.full(rates.shape, np.nan) for _ in range(3))
    for t, name in enumerate(against):
        j = names.index(name) if name else -1
        for k in range(len(names)) if name and rates[t, j] > 0.0 else ():
            value[t, k] = rates[t, k] / rates[t, j]
            if k == j:
                low[t, k] = high[t, k] = 1.0
            elif not np.isnan(rates[t, k]):
                low[t, k], high[t, k] = selection.ratio_limits(wide, t, k, j)
    return RatioTable(
        names,
        level,
        selection.share,
        shown,
        against,
        Shares(value, low, high),
        extremes,
        BURDEN_REMARK if burden else FOUR_FIFTHS_REMARK,
    )


@dataclass(frozen=True, eq=False)
class _Selection:
    """Who is selected at some cuts: sums above and below each, (3, cuts, 2, groups)."""

    scores: GroupedScores
    rates: GroupRates
    above: Floats
    below: Floats
    clusters: dict[str, SharesOfClusters]
    _known: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)

    @classmethod
    def at(
        cls,
        scores: GroupedScores,
        thresholds: Floats,
        side: Side,
        *,
        inclusive: bool,
        every_rate: bool = False,
    ) -> "_Selection":
        """Those above the thresholds, or below; clusters are those behind selection, or all."""
        if side == "low":
            scores, thresholds = scores.mirrored, -thresholds
        rates = rates_at(scores, np.nextafter(thresholds, -np.inf) if inclusive else thresholds)
        above = sums_above(scores, rates)
        below = np.maximum(sums_by_cell(scores)[:, None] - above, 0.0)
        clusters = {}
        if is_clustered(scores):
            clusters = _clusters_behind(scores, rates, _SIDES if every_rate else ["selection"])
        return cls(scores, rates, above, below, clusters)

    @cached_property
    def _between(self) -> tuple[Floats, Floats] | None:
        """The least and the most that may be selected, if the scores are bins."""
        if not has_open_bins(self.scores):
            return None
        return selected_between(self.scores, self.rates.thresholds)

    def within(self, name: str) -> tuple[Floats, Floats] | None:
        """The least and the most that a rate may be, (cuts, groups); None if it is known."""
        if self._between is None:
            return None
        if name not in self._known:
            self._known[name] = rates_between(rate_named(name), *self._between, self.rates.totals)
        return self._known[name]

    def shares(self, z: float) -> Shares:
        """The selection rates with intervals at z."""
        return Shares.of(self.rates.selection, self.sizes(z), z, self.within("selection"))

    def ratio_limits(self, shares: Shares, t: int, part: int, whole: int) -> tuple[float, float]:
        """Interval of the ratio of the selection rates of two groups at a cut.

        If a threshold parts a bin, each rate may be the least or the most: both ends of its
        interval move with it, and what is left to chance is recovered from there.
        """
        one, two = shares.ends(t, part), shares.ends(t, whole)
        within = self.within("selection")
        if within is None:
            return ratio_limits(one, two)
        least, most = (
            [_at(ends, float(at[t, k]), within, t, k) for k, ends in ((part, one), (whole, two))]
            for at in within
        )
        return ratio_limits(least[0], most[1])[0], ratio_limits(most[0], least[1])[1]

    def sizes(self, z: float) -> Floats:
        """The effective number of people behind each selection rate, for an interval at z."""
        size = share_size(self.above.sum(axis=2), self.below.sum(axis=2), z)
        return self.clusters["selection"].reduced(size, z) if self.clusters else size

    @property
    def share(self) -> Floats:
        """The share of everyone that each cut selects."""
        chosen, total = self.rates.selected.sum(axis=(1, 2)), self.scores.cell_weights.sum()
        return ratio(chosen, total)


def _at(ends: Ends, at: float, within: tuple[Floats, Floats], t: int, k: int) -> Ends:
    """A share with the ends of its interval if it is at the least or the most that it may be."""
    value, low, high = ends
    down, up = value - float(within[0][t, k]), float(within[1][t, k]) - value
    moved = at - value
    return at, max(min(low + down + moved, at), 0.0), min(max(high - up + moved, at), 1.0)


# Weights that a rate counts, and those that it does not, of those above and below the cuts.
_SIDES: dict[str, Callable[[Floats, Floats], tuple[Floats, Floats]]] = {
    "selection": lambda above, below: (above.sum(axis=1), below.sum(axis=1)),
    "fpr": lambda above, below: (above[:, 0], below[:, 0]),
    "fnr": lambda above, below: (below[:, 1], above[:, 1]),
    "precision": lambda above, below: (above[:, 1], above[:, 0]),
}


def _clusters_behind(
    scores: GroupedScores, rates: GroupRates, names: Iterable[str]
) -> dict[str, SharesOfClusters]:
    """The clusters behind some rates, by their names."""
    known = list(names)
    by_cell, by_group = correlation_by_cell(scores), correlation_by_group(scores)
    alike = {"fpr": by_cell[0], "fnr": by_cell[1]}
    found = shares_of_clusters(
        scores,
        bins_of_cuts(scores, rates.thresholds),
        len(rates.thresholds) + 1,
        sides_of_cuts(rates.thresholds, lambda *parts: [_SIDES[name](*parts) for name in known]),
        [rates.rate(name) for name in known],
        [alike.get(name, by_group) for name in known],
    )
    return dict(zip(known, found, strict=True))


def _positions(scores: GroupedScores, compared: Sequence[int] | None) -> list[int]:
    return list(range(scores.n_groups) if compared is None else compared)


def _all_pairs_quantile(n_groups: int, level: float) -> float:
    """The normal quantile of intervals that hold for all pairs of so many groups at once."""
    return normal_quantile(1.0 - (1.0 - level) / (2.0 * max(1, n_groups * (n_groups - 1) // 2)))


def _impact_ratio(
    selection: _Selection, compared: Sequence[int] | None, level: float, burden: bool
) -> ImpactRatio:
    some = _positions(selection.scores, compared)
    groups = tuple(selection.scores.names[k] for k in some)
    rates = selection.rates.selection[:, some]
    n, pairs = len(rates), max(1, len(groups) * (len(groups) - 1) // 2)
    z = _all_pairs_quantile(len(groups), level)
    shares = selection.shares(z)
    values, low, high = (np.full(n, np.nan) for _ in range(3))
    told = _Told(groups, level, pairs, burden)
    lowest, highest, notes = [""] * n, [""] * n, []
    for t in range(n):
        known = np.flatnonzero(~np.isnan(rates[t])).tolist()
        if len(known) < 2:
            notes.append("a ratio of selection rates needs two groups")
            continue
        own = {k: float(rates[t, k]) for k in known}
        least, most = (pick(known, key=own.__getitem__) for pick in (min, max))
        lowest[t], highest[t] = groups[least], groups[most]
        if own[most] > 0:
            values[t] = own[least] / own[most]

            def limits(i: int, j: int, t: int = t) -> tuple[float, float]:
                return selection.ratio_limits(shares, t, some[i], some[j])

            low[t], high[t] = limits(least, most)
            notes.append(told.note(own, limits, least, most))
        else:
            notes.append("nobody is selected: there is no ratio")
    return ImpactRatio(values, low, high, tuple(lowest), tuple(highest), tuple(notes))


@dataclass(frozen=True)
class _Told:
    """How the ratio of the selection rates of two groups is put in words."""

    groups: tuple[str, ...]
    level: float
    pairs: int
    burden: bool

    def note(
        self,
        rates: Mapping[int, float],
        between: Callable[[int, int], tuple[float, float]],
        i: int,
        j: int,
    ) -> str:
        """Of the extreme groups i and j; and of others, if only they are surely below."""
        ends, ratio = between(i, j), rates[i] / rates[j]
        if ratio == 1.0:
            return f"all groups are selected at the same rate ({self._interval(ends)})"
        told = self._ratio(i, j, ratio, ends)
        if self.burden:
            return told
        if ends[1] < FOUR_FIFTHS:
            return f"{told}, below four fifths"
        limits = {(a, b): between(a, b) for a in rates for b in rates if a != b}
        if all(limit[0] >= FOUR_FIFTHS for limit in limits.values()):
            return f"{told}, not below four fifths"
        told += "; cannot tell whether this is below four fifths"
        a, b = min(limits, key=lambda pair: limits[pair][1])
        if limits[a, b][1] < FOUR_FIFTHS:
            other = self._ratio(a, b, rates[a] / rates[b], limits[a, b])
            told += f", but {other}, below four fifths"
        return told

    def _ratio(self, i: int, j: int, ratio: float, ends: tuple[float, float]) -> str:
        return (
            f"the selection rate of {self.groups[i]} is {ratio:.2f} times that of "
            f"{self.groups[j]} ({self._interval(ends)})"
        )

    def _interval(self, ends: tuple[float, float]) -> str:
        told = f"{percent(self.level)} interval {ends[0]:.2f} to {ends[1]:.2f}"
        return f"{told} over all {self.pairs:,} pairs" if self.pairs > 1 else told


def ratio_limits(part: Ends, whole: Ends) -> tuple[float, float]:
    """Interval of a ratio of two independent shares, from (value, low, high) of each.

    Donner and Zou (2012): like the interval of a difference, it recovers the variances from the
    intervals of the two, so that a share of zero does no harm.

    >>> low, high = ratio_limits((0.4, 0.37, 0.43), (0.5, 0.47, 0.53))
    >>> round(low, 3), round(high, 3)
    (0.726, 0.88)
    """
    (p, p_low, p_high), (q, q_low, q_high) = part, whole

    def root(a: float, b: float) -> float:
        return float(np.sqrt(max((p * q) ** 2 - a * b * (2.0 * p - a) * (2.0 * q - b), 0.0)))

    # The lower limit as c/(pq + √…) instead of (pq − √…)/d, which may be 0/0.
    below = p * q + root(p_low, q_high)
    low = p_low * (2.0 * p - p_low) / below if below > 0.0 else 0.0
    least = q_low * (2.0 * q - q_low)
    high = (p * q + root(p_high, q_low)) / least if least > 0.0 else np.inf
    return float(low), float(high)
