"""How many observations a weighted share is worth; differences of shares at a fixed threshold.

Sums over people come as arrays of shape (3, …): of their weights, of the squares, and of ones.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from evenscore.inference.cluster_sizes import (
    bins_of_cuts,
    correlation_by_cell,
    correlation_by_group,
    is_clustered,
    shares_of_clusters,
    sides_of_cuts,
)
from evenscore.inference.decisions import holm
from evenscore.inference.estimate import SMALL_CELL, Estimate, check_level, counted
from evenscore.inference.intervals import Intervals, invert, normal_quantile, student, wilson
from evenscore.inference.widening import bracketed_intervals
from evenscore.scores import CLASSES, GroupedScores
from evenscore.scores.arrays import Floats, ratio
from evenscore.scores.brackets import has_open_bins, rates_between, selected_between
from evenscore.scores.rates import RATES, Rate, rate_named
from evenscore.scores.thresholds import GroupRates, rates_at

_ADDED = 2.0  # people of typical weight; measured in benchmarks/covering/cuts.py
_EXACT = 1e-9  # the noise of equal weights is less, but for rounding
_FREEDOM = 3.0


def share_size(
    inside: Floats, outside: Floats, z: float, *, typical: Floats | None = None
) -> Floats:
    """The effective number of observations behind a weighted share, for Wilson's interval at z.

    `inside` and `outside` are sums over the people that the share p counts and those it does not.
    Its variance is V = Σw²(x − p)²/(Σw)², x being 1 inside and 0 outside, and the size is
    p(1 − p)/V = Σw/((1 − p)h₁ + p h₀) with h = Σw²/Σw inside and outside. Weights that depend on x
    make it larger or smaller than Kish's (Σw)²/Σw².

    The h are estimates, perhaps from few people, and low where p happens to be low: taken at their
    value, they make intervals that hold in as little as 80 % of samples instead of 95 %. So each
    side counts two more people of the weight typical of both, if that makes the size smaller; and
    the size is multiplied by (z/t)², t being Student's quantile with 2n(1 + q)/(q + 3q²) degrees of
    freedom (three at least) for a side of n people, q the squared coefficient of variation of the
    weights within the sides: the noise of h for weights with a gamma law. Without weights the size
    is the number of people. Where a side is empty, those who are missing are taken to weigh what
    the others do: if they weigh much more the interval is too short, and no sample without them
    can tell. `typical`, h of both sides in a wider population (shape (2, …), NaN if unknown), can.
    0 where there is nobody at all.

    >>> sums = np.array([25.0, 25.0, 25.0])
    >>> float(share_size(sums, 3.0 * sums, 1.96))  # weights of one
    100.0
    >>> heavy = np.array([100.0, 400.0, 25.0])  # 25 people of weight 4
    >>> float(share_size(heavy, 3.0 * sums, 1.96).round(1))
    75.3
    """
    weight, square, count = np.stack(np.broadcast_arrays(inside, outside), axis=1)
    total, squares, people = (np.sum(part, axis=0) for part in (weight, square, count))
    known = (total > 0.0) & (squares > 0.0)
    total = np.where(known, total, 1.0)
    pooled = np.where(known, squares / total, 1.0)
    if typical is not None:
        pooled = np.where(np.isnan(typical), pooled, typical)
    there = weight > _EXACT * total  # less is what rounding left of nobody
    other = weight[::-1] / total  # 1 − p for the people inside
    shrunk = (square + _ADDED * pooled**2) / (weight + _ADDED * pooled)
    heavy = np.divide(square, weight, out=shrunk.copy(), where=there)
    parts = other * shrunk
    plain = (other * heavy).sum(axis=0)
    part = np.where(known, parts.sum(axis=0), 1.0)
    within = np.divide(count * square, np.square(weight), out=np.ones_like(weight), where=there)
    vary = np.maximum((count * within).sum(axis=0) / np.maximum(people, 1.0) - 1.0, 0.0)
    behind = np.where(there, count + _ADDED, np.maximum(people, 1.0))
    noise = (np.square(parts / part) / behind).sum(axis=0)
    noise *= vary * (1.0 + 3.0 * vary) / (2.0 * (1.0 + vary))
    freedom = np.maximum(1.0 / np.maximum(noise, _EXACT), _FREEDOM)
    shorter = np.square(z / student(np.asarray(z), freedom))
    shorter = np.where(noise > _EXACT, shorter, 1.0)
    return np.where(known, total / np.maximum(part, plain) * shorter, 0.0)


def sums_by_cell(scores: GroupedScores) -> Floats:
    """The sums over the people of each cell, shape (3, classes, groups)."""
    return np.stack([scores.cell_weights, scores.cell_squares, scores.cell_counts])


def weight_by_class(sums: Floats) -> Floats:
    """Σw²/Σw of the positives, then the negatives, of every group: `typical` of `share_size`."""
    weight, square = sums[:2]
    return ratio(square, weight)[::-1]


def sums_above(scores: GroupedScores, rates: GroupRates) -> Floats:
    """The sums over those selected, shape (3, thresholds, classes, groups)."""
    columns = scores.weight_squared, scores.count
    if all(c is scores.weight or np.array_equal(c, scores.weight) for c in columns):
        return np.stack([rates.selected] * 3)
    order = np.argsort(rates.thresholds, kind="stable")
    starts = np.searchsorted(scores.score, rates.thresholds[order], side="right")
    sums = scores.sums_between(np.append(starts, len(scores)), *columns)
    above = np.cumsum(sums[:, :0:-1], axis=1)[:, ::-1]  # what lies below all cuts comes first
    found = np.empty((2, *rates.selected.shape))
    found[:, order] = above.reshape(found.shape)
    return np.concatenate([rates.selected[None], found])


# ---------------------------------------------------------------------- differences of rates


def rate_difference_estimates(
    scores: GroupedScores,
    threshold: float,
    rates: Sequence[str] = ("fpr", "fnr", "selection", "error"),
    *,
    confidence_level: float = 0.95,
) -> list[Estimate]:
    """Differences of the groups' rates (first minus second) at a *fixed* threshold.

    Newcombe's interval, made of Wilson's intervals of the two rates; with weights, effective sizes
    (`share_size`, those of the level) take the place of the numbers of people; with clusters, those
    of sums over clusters. The two groups are taken to be independent: where clusters have rows in
    both, their rates mostly move together, and the interval is too wide rather than too narrow. The
    p-value is one minus the largest level at which it leaves out zero; Holm's correction runs over
    the pairs of groups of one rate.

    >>> y, groups = [0, 1] * 100, ["a"] * 100 + ["b"] * 100
    >>> scores = GroupedScores.from_arrays(y, range(200), sensitive_features=groups)
    >>> [fpr] = rate_difference_estimates(scores, 49.5, ["fpr"])
    >>> fpr.value, fpr.low < -0.5 < fpr.high
    (-0.5, True)
    """
    level = check_level(confidence_level)
    if np.ndim(threshold) > 0:
        raise ValueError(f"threshold must be one number, not {threshold!r}.")
    cut = rates_at(scores, threshold)
    above = sums_above(scores, cut)[:, 0]
    below = np.maximum(sums_by_cell(scores) - above, 0.0)
    z = normal_quantile(0.5 + level / 2.0)
    differences = []
    for name in [rates] if isinstance(rates, str) else rates:
        rate = rate_named(name)
        if rate.scarce:  # those selected may be few, and are others at every cut
            known = ", ".join(entry.name for entry in RATES if not entry.scarce)
            raise ValueError(f"There is no interval for {name!r}; there is for {known}.")
        value = cut.rate(name)[0]
        sizes = share_size(*rate.sides(above, below), z)
        if is_clustered(scores):
            sizes = _size_of_clusters(scores, cut, rate, value, sizes, z)
        pairs = np.array(scores.pairs(), dtype=np.intp).reshape(-1, 2)
        share, size = value[pairs].T, sizes[pairs].T
        intervals: Intervals = partial(_newcombe, share, size)
        brackets = np.zeros(len(pairs))
        if has_open_bins(scores):
            least, most = rates_between(rate, *selected_between(scores, cut.thresholds), cut.totals)
            up, down = most[0] - value, value - least[0]
            i, j = pairs.T
            brackets = np.maximum(up[i] + down[j], down[i] + up[j])
            intervals = bracketed_intervals(intervals, brackets)
        low, high = intervals(np.full(len(pairs), z))
        p_values = invert(intervals, len(pairs))
        estimates = []
        for k, (g, h) in enumerate(pairs.tolist()):
            one, two = scores.names[g], scores.names[h]
            small = float(size[:, k].min())
            warnings: tuple[str, ...] = ()
            if np.isnan(share[:, k]).any():
                warnings = (f"the {name} of a group is undefined: it has an empty cell",)
            elif small < SMALL_CELL:
                warnings = (f"the smaller group is worth {counted(small)} only",)
            estimates.append(
                Estimate(
                    name,
                    float(share[0, k] - share[1, k]),
                    float(low[k]),
                    float(high[k]),
                    level,
                    "Newcombe",
                    float(high[k] - low[k]) / (2.0 * z),
                    p_value=float(p_values[k]),
                    first=one,
                    second=two,
                    words=f"{name}: {share[0, k]:.1%} in {one}, {share[1, k]:.1%} in {two}",
                    warnings=warnings,
                    bracket=float(brackets[k]),
                )
            )
        differences += holm(estimates)
    return differences


def _size_of_clusters(
    scores: GroupedScores,
    cut: GroupRates,
    rate: Rate,
    value: Floats,
    sizes: Floats,
    z: float,
) -> Floats:
    """The sizes behind the rates of the groups at one cut, by clusters."""

    def sides(above: Floats, below: Floats) -> list[tuple[Floats, Floats]]:
        # (cuts, classes, groups, clusters): the rate's sums are over classes.
        inside, outside = rate.sides(*(np.moveaxis(part, -1, 0) for part in (above, below)))
        return [(np.moveaxis(inside, 0, -1), np.moveaxis(outside, 0, -1))]

    if rate.on is None:
        icc = correlation_by_group(scores)
    else:
        icc = correlation_by_cell(scores)[CLASSES.index(rate.on)]
    bins = bins_of_cuts(scores, cut.thresholds)
    made = sides_of_cuts(cut.thresholds, sides)
    [found] = shares_of_clusters(scores, bins, 2, made, [value[None]], [icc])
    return np.asarray(found.reduced(sizes[None], z)[0])


def _newcombe(share: Floats, size: Floats, z: Floats) -> tuple[Floats, Floats]:
    """Newcombe's interval of the difference of two shares, for many pairs: shapes (2, pairs)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = wilson(share, size, z)
    gap = share[0] - share[1]
    below = np.hypot(share[0] - low[0], high[1] - share[1])
    above = np.hypot(high[0] - share[0], share[1] - low[1])
    return gap - below, gap + above
