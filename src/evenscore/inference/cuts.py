"""What a cut does to each group, with intervals: rates, precision and the ratio of selection rates.

The threshold is taken as given. A rate is a share, and its interval is Wilson's; with weights, an
effective size takes the place of the number of people: see `share_size`. With clusters it is that
of sums over clusters: see `cluster_sizes`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

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
from evenscore.scores.arrays import Floats
from evenscore.scores.distribution import to_floats
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
    def of(cls, value: Floats, size: Floats, z: float) -> "Shares":
        """Shares among `size` (effective) observations, with Wilson's intervals."""
        known = size > 0
        low, high = wilson(np.where(known, value, 0.5), np.where(known, size, 1.0), z)
        known &= ~np.isnan(value)
        return cls(value, np.where(known, low, np.nan), np.where(known, high, np.nan))


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
    if side == "low":
        scores = scores.mirrored
    above_it = asked if side == "high" else -asked
    rates = rates_at(scores, np.nextafter(above_it, -np.inf) if inclusive else above_it)
    above = sums_above(scores, rates)
    cells = sums_by_cell(scores)
    below = np.maximum(cells[:, None] - above, 0.0)
    chosen = rates.selected.sum(axis=1)
    total = scores.cell_weights.sum()

    clusters = _clusters_behind(scores, rates) if is_clustered(scores) else {}

    def shares(name: str, value: Floats, size: Floats) -> Shares:
        return Shares.of(value, clusters[name].reduced(size, z) if clusters else size, z)

    people = above.sum(axis=2), below.sum(axis=2)

    def selected_size(z: float) -> Floats:
        size = share_size(*people, z)
        return clusters["selected"].reduced(size, z) if clusters else size

    some = list(range(scores.n_groups) if compared is None else compared)
    ratios = _impact_ratio(
        rates.selection[:, some],
        lambda z: selected_size(z)[:, some],
        tuple(scores.names[k] for k in some),
        level,
        burden,
    )
    # If only positives are selected, the group's other negatives tell what a negative weighs.
    by_class = weight_by_class(cells)[:, None]
    chosen_size = share_size(above[:, :, 1], above[:, :, 0], z, typical=by_class)
    return CutTable(
        asked,
        ("",) * len(rates.thresholds) if labels is None else labels,
        scores.names,
        level,
        chosen,
        chosen.sum(axis=1) / total if total > 0 else np.full(len(chosen), np.nan),
        Shares.of(rates.selection, selected_size(z), z),
        shares("fpr", rates.fpr, share_size(above[:, :, 0], below[:, :, 0], z)),
        shares("fnr", rates.fnr, share_size(below[:, :, 1], above[:, :, 1], z)),
        shares("precision", rates.precision, chosen_size),
        ratios,
        BURDEN_REMARK if burden else FOUR_FIFTHS_REMARK,
        side=side,
        inclusive=inclusive,
    )


def _clusters_behind(scores: GroupedScores, rates: GroupRates) -> dict[str, SharesOfClusters]:
    """The clusters behind each rate, by its name."""

    def sides(above: Floats, below: Floats) -> list[tuple[Floats, Floats]]:
        return [
            (above.sum(axis=1), below.sum(axis=1)),
            (above[:, 0], below[:, 0]),
            (below[:, 1], above[:, 1]),
            (above[:, 1], above[:, 0]),
        ]

    by_cell, by_group = correlation_by_cell(scores), correlation_by_group(scores)
    found = shares_of_clusters(
        scores,
        bins_of_cuts(scores, rates.thresholds),
        len(rates.thresholds) + 1,
        sides_of_cuts(rates.thresholds, sides),
        [rates.selection, rates.fpr, rates.fnr, rates.precision],
        [by_group, *by_cell, by_group],
    )
    return dict(zip(("selected", "fpr", "fnr", "precision"), found, strict=True))


def _impact_ratio(
    rates: Floats,
    sizes: Callable[[float], Floats],
    groups: tuple[str, ...],
    level: float,
    burden: bool,
) -> ImpactRatio:
    n, pairs = len(rates), max(1, len(groups) * (len(groups) - 1) // 2)
    z = normal_quantile(1.0 - (1.0 - level) / (2.0 * pairs))
    shares = Shares.of(rates, sizes(z), z)
    values, low, high = (np.full(n, np.nan) for _ in range(3))
    told = _Told(groups, level, pairs, burden)
    lowest, highest, notes = [""] * n, [""] * n, []
    for t in range(n):
        known = np.flatnonzero(~np.isnan(rates[t])).tolist()
        if len(known) < 2:
            notes.append("a ratio of selection rates needs two groups")
            continue
        sides = {k: (float(rates[t, k]), shares.low[t, k], shares.high[t, k]) for k in known}
        least, most = (pick(known, key=lambda k: sides[k][0]) for pick in (min, max))
        lowest[t], highest[t] = groups[least], groups[most]
        if sides[most][0] > 0:
            values[t] = sides[least][0] / sides[most][0]
            low[t], high[t] = ratio_limits(sides[least], sides[most])
            notes.append(told.note(sides, least, most))
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

    def note(self, sides: Mapping[int, Ends], i: int, j: int) -> str:
        """Of the extreme groups i and j; and of others, if only they are surely below."""
        ends, ratio = ratio_limits(sides[i], sides[j]), sides[i][0] / sides[j][0]
        if ratio == 1.0:
            return f"all groups are selected at the same rate ({self._interval(ends)})"
        told = self._ratio(i, j, ratio, ends)
        if self.burden:
            return told
        if ends[1] < FOUR_FIFTHS:
            return f"{told}, below four fifths"
        limits = {(a, b): ratio_limits(sides[a], sides[b]) for a in sides for b in sides if a != b}
        if all(limit[0] >= FOUR_FIFTHS for limit in limits.values()):
            return f"{told}, not below four fifths"
        told += "; cannot tell whether this is below four fifths"
        a, b = min(limits, key=lambda pair: limits[pair][1])
        if limits[a, b][1] < FOUR_FIFTHS:
            other = self._ratio(a, b, sides[a][0] / sides[b][0], limits[a, b])
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
