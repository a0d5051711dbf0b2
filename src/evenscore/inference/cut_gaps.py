"""How sure: gaps between the rates of two groups at a cut, and over a range of cuts.

At a cut t two groups' rates differ by D(t). A cut is a number: D̂(t) has the variance of two shares,
σ²(t) = Σ F̃(1 − F̃)/n with F̃ = (x + 2)/(n + 4), n being effective sizes where there are weights or
clusters; a score chosen by looking at the same people has, to first order, no other. If the cut is
"the one that selects a share a of all people", D has to be known at another score than the one
seen, and r(a) = dD/da times the error of the share comes in: the larger of the two is taken.

The largest |D| over a range of cuts, named before the data were seen, lies between

    low = max over cuts of (|D̂| − qσ)₊    and    high = max over cuts of |D̂| + zσ.

The upper end needs no band: if some cut has a gap beyond ε, then at that very cut |D̂| + zσ ≤ ε has
the probability of one normal tail, however many cuts, rates or pairs were looked at. A range of
shares is widened by 2.576 standard errors at both ends, since which scores it means is not known
exactly. The lower end picks the cut by the data, and q is the quantile of the largest |D̂ − D|/σ
over the range: Gaussian bridges on the increments of the cells, no resampling. It looks only at
cuts where D̂ has the sign of the largest gap seen: "at least so much" is said of a gap with a
direction, and a gap the other way at another cut must not vouch for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenscore.inference.bridges import Bridges, band_quantile, grid_steps
from evenscore.inference.cluster_sizes import (
    bins_of_cuts,
    correlation_by_group,
    is_clustered,
    shares_of_clusters,
    sides_of_cuts,
)
from evenscore.inference.intervals import wilson
from evenscore.inference.shares import share_size, sums_by_cell
from evenscore.scores.arrays import Bools, Floats, Ints, ratio
from evenscore.scores.brackets import gap_brackets, open_levels
from evenscore.scores.rates import Rate
from evenscore.scores.selection import Ladder, Selected, pool_classes

WIDENED = 2.576
"""Standard errors of a share by which a range is widened: 15 % of statements at the boundary were
false without it in the worst case, 3.8 % with it."""

_Z = 2.5  # effective sizes are those for intervals about so wide
_WIDE = 2.0  # standard errors at which Newcombe's margin is taken
_ADDED = 2.0  # observations on either side of a share
_CLUSTER_GRID = (
    40  # cuts at which clusters are summed up; between them their effect is interpolated
)

LEAST_AMONG = 30
"""A share of those selected, or of those who are not, says nothing with fewer people …"""
LEAST_OF_CLASS = 5
"""… or with fewer of either class among them."""


# ---------------------------------------------------------------------- rates with their errors


@dataclass(frozen=True, eq=False)
class RatesAtSteps:
    """A rate of each group at some steps of a ladder, (steps, groups), and its standard error.

    `size` is how many people are behind it, NaN if it is not one share, and `assessable` is False
    where they are too few.
    """

    value: Floats
    error: Floats
    size: Floats
    assessable: Bools

    def gap(self, pair: tuple[int, int]) -> tuple[Floats, Floats, Bools]:
        """The size of the gap of two groups, its standard error, and where they can be told.

        The error σ, or what makes 2σ Newcombe's margin if that is more. With σ alone a gap at the
        tolerance was certified at a single cut in 6.5 % of samples instead of 5 % where 5 % of the
        smaller group were counted, fifteen people, and 1 % of the other; with Newcombe's alone in
        7 % where a fiftieth of the smaller group, of fifty, were. With the larger in 5.1 % at most.
        """
        pick = list(pair)
        value, sizes = self.value[:, pick], self.size[:, pick]
        gap = value[:, 0] - value[:, 1]
        known = self.assessable[:, pick].all(axis=1) & ~np.isnan(gap)
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = wilson(value, sizes, _WIDE)
        below, above = np.square(value - low), np.square(high - value)
        one, two = np.sqrt(above[:, 0] + below[:, 1]), np.sqrt(below[:, 0] + above[:, 1])
        newcombe = np.maximum(gap + one, two - gap) - np.abs(gap)
        error = np.hypot(self.error[:, pair[0]], self.error[:, pair[1]])
        return np.abs(gap), np.asarray(np.fmax(error, newcombe / _WIDE)), known


class RateErrors:
    """The standard errors of rates of a table, at any steps of its ladder.

    That of a standardised rate is at the share of positives seen, which hardly moves a gap.
    """

    def __init__(self, ladder: Ladder) -> None:
        self.ladder = ladder
        self.scores = ladder.scores
        self._effects: dict[str, tuple[Floats, Floats]] = {}

    @cached_property
    def _totals(self) -> Floats:
        """Sums of weights, squares and people by cell, (3, 2, groups)."""
        return sums_by_cell(self.scores)

    def at(self, rate: Rate, selected: Selected) -> RatesAtSteps:
        """A rate with its errors at the steps of `selected`."""
        value = rate.values(selected.weight, self._totals[0])
        above = np.stack([selected.weight, selected.square, selected.count])
        rest = np.maximum(self._totals[:, None] - above, 0.0)
        if rate.standardised:
            error = self._standardised(rate, selected, above, rest)
            size = np.full_like(error, np.nan)
        else:
            size = self._size(rate, selected.step, *rate.sides(above, rest))
            error = share_error(value, size)
        return RatesAtSteps(value, error, size, enough(rate, selected.count, self._totals[2]))

    def _size(self, rate: Rate, step: Ints, inside: Floats, outside: Floats) -> Floats:
        """The effective number of people behind a share."""
        whole = inside + outside
        if self.scores.weight.strides == (0,) or np.array_equal(whole[0], whole[1]):
            size = np.asarray(whole[2])
        else:
            size = share_size(inside, outside, _Z)
        if not is_clustered(self.scores):
            return size
        shares, effect = self._effect(rate)
        at = self.ladder.share[step]
        return np.asarray(size / np.stack([np.interp(at, shares, own) for own in effect.T], axis=1))

    def _effect(self, rate: Rate) -> tuple[Floats, Floats]:
        """By how much clusters reduce the sizes, (cuts, groups), at some shares of the pool."""
        if rate.name in self._effects:
            return self._effects[rate.name]
        ladder, scores = self.ladder, self.scores
        last = ladder.n_steps - 1
        steps = np.unique(np.linspace(1, max(last, 1), _CLUSTER_GRID).round().astype(np.intp))
        low = ladder.side == "low"
        cuts = np.array([ladder.threshold(int(k), inclusive=low) for k in steps])
        selected = ladder.selected(steps)
        value = rate.values(selected.weight, self._totals[0])

        def sides(above: Floats, below: Floats) -> list[tuple[Floats, Floats]]:
            chosen, rest = (below, above) if low else (above, below)
            # (cuts, classes, groups, clusters): the rate's sums are over classes.
            moved = [np.moveaxis(part, -1, 0) for part in (chosen, rest)]
            inside, outside = rate.sides(*moved)
            return [(np.moveaxis(inside, 0, -1), np.moveaxis(outside, 0, -1))]

        above = np.stack([selected.weight, selected.square, selected.count])
        rest = np.maximum(self._totals[:, None] - above, 0.0)
        inside, outside = rate.sides(above, rest)
        whole = inside + outside
        size = (
            share_size(inside, outside, _Z) if not np.array_equal(whole[0], whole[1]) else whole[2]
        )
        [found] = shares_of_clusters(
            scores,
            bins_of_cuts(scores, cuts),
            len(cuts) + 1,
            sides_of_cuts(cuts, sides),
            [value],
            [correlation_by_group(scores)],
        )
        effect = np.maximum(ratio(size, found.reduced(size, _Z), 1.0), 1.0)
        self._effects[rate.name] = ladder.share[steps], effect
        return self._effects[rate.name]

    def _standardised(self, rate: Rate, selected: Selected, above: Floats, rest: Floats) -> Floats:
        """By the errors of the selected shares of the two classes."""
        totals = self._totals[0]
        shares = ratio(selected.weight, totals)
        whole = above + rest
        plain = np.array_equal(whole[0], whole[1])
        size = whole[2] if plain else share_size(above, rest, _Z)
        if is_clustered(self.scores):
            at, effect = self._effect(rate)
            here = self.ladder.share[selected.step]
            size = size / np.stack([np.interp(here, at, own) for own in effect.T], axis=1)[:, None]
        _, slopes = rate.of_shares(smoothed(shares, size), totals)
        return np.asarray(np.sqrt(np.sum(np.square(slopes * share_error(shares, size)), axis=1)))


def smoothed(share: Floats, size: Floats) -> Floats:
    """Two more observations on either side."""
    return np.asarray((share * size + _ADDED) / (size + 2.0 * _ADDED))


def share_error(share: Floats, size: Floats) -> Floats:
    """√(F̃(1 − F̃)/n); NaN where there is nobody."""
    rounded = smoothed(share, size)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(size > 0.0, np.sqrt(rounded * (1.0 - rounded) / size), np.nan)


def enough(rate: Rate, count: Floats, totals: Floats) -> Bools:
    """Where a rate has enough people behind it, (steps, groups)."""
    if not rate.scarce:
        return np.ones((len(count), totals.shape[-1]), dtype=bool)
    beyond = count if rate.among[1][1] else totals - count
    return np.asarray((beyond.sum(axis=1) >= LEAST_AMONG) & (beyond.min(axis=1) >= LEAST_OF_CLASS))


# ---------------------------------------------------------------------- cuts within bins


def largest_bracket(
    ladder: Ladder,
    rate: Rate,
    levels: tuple[int, int],
    steps: tuple[int, int],
    pairs: Sequence[tuple[int, int]],
) -> Floats:
    """By how much gaps at cuts within open bins may differ from those seen at steps, (pairs).

    Cuts may lie within the levels from the first to the last, and gaps are seen at the steps from
    the first to the last. A cut within a level is compared with the step before it; with the one
    after it if that is the first there is, or the first with enough people behind the rate.
    """
    some, compared = open_levels(ladder, *levels), np.array(pairs, dtype=np.intp).reshape(-1, 2)
    found, counts = np.zeros(len(compared)), ladder.scores.cell_counts
    i, j = compared.T
    before = np.clip(some, *steps)
    after = np.clip(some + 1, *steps)
    known = []
    for at in (before, after):
        # A step is seen by several levels at the ends of the range alone.
        own, place = np.unique(at, return_inverse=True)
        good = enough(rate, ladder.selected(own).count, counts)[place.reshape(-1)]
        known.append(good[:, i] & good[:, j])
    first, then = (gap_brackets(ladder, rate, some, at, compared) for at in (before, after))
    for (here, one), (_, two) in zip(first, then, strict=True):
        one, two = (np.nan_to_num(part) for part in (one, two))
        own = np.where(known[0][here], one, np.where(known[1][here], two, 0.0))
        np.maximum(found, own.max(axis=0, initial=0.0), out=found)
    return found


# ---------------------------------------------------------------------- one cut


@dataclass(frozen=True, eq=False)
class PointGap:
    """The gap of two groups at one cut: rates, their difference and its standard error."""

    step: int
    first: float
    second: float
    error: float

    @property
    def value(self) -> float:
        """The rate of the first group minus that of the second."""
        return self.first - self.second

    def interval(self, z: float) -> tuple[float, float]:
        """Ends of the interval at a normal quantile."""
        half = z * self.error
        return max(self.value - half, -1.0), min(self.value + half, 1.0)


def point_gaps(
    errors: RateErrors,
    rate: Rate,
    steps: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    *,
    by_share: bool,
) -> list[list[PointGap]]:
    """The gaps of every pair at every step, [pair][step].

    `by_share` says that the cut is meant by the share of the pool that it selects.
    """
    ladder = errors.ladder
    order = np.unique(np.array(steps, dtype=np.intp))
    found = errors.at(rate, ladder.selected(order))
    place = {int(step): k for k, step in enumerate(order)}
    slopes: dict[int, Floats] = {}
    if by_share:
        slopes = {int(step): _slope(ladder, rate, int(step)) for step in order}
    gaps = []
    for i, j in pairs:
        row = []
        _, errors_of_pair, known = found.gap((i, j))
        for step in steps:
            k = place[step]
            one, two = found.value[k, [i, j]].tolist()
            error = float(errors_of_pair[k])
            if not known[k]:
                one = two = error = np.nan
            elif by_share:
                plain, moving = _errors_by_share(ladder, rate, step, (i, j), slopes[step])
                # What the error of the share adds, in proportion: clusters and few people, which
                # made the error larger, make that larger too.
                error = max(error * max(moving / plain, 1.0) if plain > 0.0 else error, moving)
            row.append(PointGap(step, one, two, error))
        gaps.append(row)
    return gaps


def _slope(ladder: Ladder, rate: Rate, step: int) -> Floats:
    """dr/da of each group's rate by the share of the pool selected, at a step."""
    share, size = float(ladder.share[step]), ladder.pool_size
    h = 2.0 * np.sqrt(share * (1.0 - share) / size) + size ** (-1.0 / 3.0) / 4.0
    steps = np.array([ladder.last_up_to(share - h), ladder.last_up_to(share + h)])
    steps = np.clip(steps, 0, ladder.n_steps)
    apart = float(np.diff(ladder.share[steps])[0])
    if not apart > 0.0:
        return np.zeros(ladder.scores.n_groups)
    value = rate.values(ladder.selected(steps).weight, ladder.scores.cell_weights)
    return np.asarray(np.nan_to_num((value[1] - value[0]) / apart))


def _errors_by_share(
    ladder: Ladder, rate: Rate, step: int, pair: tuple[int, int], slope: Floats
) -> tuple[float, float]:
    """The standard error of the gap at a cut: as a number, and as one that selects such a share."""
    scores = ladder.scores
    selected = ladder.selected(np.array([step]))
    totals = scores.cell_weights
    shares = ratio(selected.weight[0], totals, 0.0)
    unit = rate.influence(shares, totals)  # (2, sides, groups)
    fixed = np.zeros_like(unit)
    i, j = pair
    fixed[..., i], fixed[..., j] = unit[..., i], -unit[..., j]
    classes = list(pool_classes(ladder.of))
    share, weight = float(ladder.share[step]), float(totals[classes].sum())
    moved, r = fixed.copy(), float(slope[i] - slope[j])
    for side in range(2):
        moved[classes, side] -= r * (side - share) / weight
    squares = np.stack([scores.cell_squares - selected.square[0], selected.square[0]], axis=1)
    plain, moving = (
        float(np.sqrt(np.nansum(np.square(part) * squares))) for part in (fixed, moved)
    )
    return plain, moving


# ---------------------------------------------------------------------- a range of cuts


def widened_range(ladder: Ladder, low: float, high: float) -> tuple[int, int]:
    """The steps between two shares of the pool, widened by 2.576 standard errors at both ends."""
    scores, classes = ladder.scores, list(pool_classes(ladder.of))
    total = scores.cell_weights[classes].sum()
    squares = scores.cell_squares[classes].sum()
    sizes, effective = scores.independent_sizes[classes], scores.effective_sizes[classes]
    clusters = 1.0
    if scores.is_clustered:
        known = sizes > 0.0
        clusters = float(
            np.sum(scores.cell_squares[classes][known] * effective[known] / sizes[known]) / squares
        )
    ends = []
    for share, sign in ((low, -1.0), (high, 1.0)):
        step = ladder.selected(np.array([ladder.last_up_to(share)]))
        above = float(step.square[0, classes].sum())
        # Weights may go with scores: the variance is that of this share, not Kish's.
        variance = (1.0 - share) ** 2 * above + share**2 * (squares - above)
        variance = max(variance, share * (1.0 - share) * squares) if not above else variance
        moved = share + sign * WIDENED * np.sqrt(clusters * variance) / total
        ends.append(ladder.last_up_to(min(max(moved, 0.0), 1.0)))
    return max(ends[0], 1), max(min(ends[1], ladder.n_steps - 1), 1)


@dataclass(frozen=True, eq=False)
class RangeGap:
    """The largest gap of two groups over a range of cuts.

    `first` and `second` are the rates where it is largest, `error` the standard error there.
    `upper` are pairs (|D̂|, σ) of cuts of the widened range that no other exceeds in both, `lower`
    pairs (D̂, σ) of the cuts at which bridges were drawn, and `maxima` the largest |D* − D̂|/σ of
    each bridge, increasing. `blocked` says that some cut has too few people to tell.
    """

    step: int
    first: float
    second: float
    error: float
    upper: Floats
    lower: Floats
    maxima: Floats
    blocked: bool

    @property
    def value(self) -> float:
        """The rate of the first group minus that of the second, where that is largest in size."""
        return self.first - self.second

    def high(self, z: float) -> float:
        """The most that the size of the gap may be."""
        if self.blocked:
            return 1.0
        return float(min(np.max(self.upper[0] + z * self.upper[1]), 1.0))

    def low(self, z: float) -> float:
        """The least that it is, in the direction of the gap seen."""
        if not self.lower.size:
            return 0.0
        q = band_quantile(self.maxima, z)
        return float(max(np.max(np.sign(self.value) * self.lower[0] - q * self.lower[1]), 0.0))

    def interval(self, z: float) -> tuple[float, float]:
        """Ends of the interval: the size with its sign, or both signs if there may be no gap."""
        low, high = self.low(z), self.high(z)
        if low == 0.0:
            return -high, high
        return (low, high) if self.value > 0.0 else (-high, -low)


def range_gaps(
    errors: RateErrors,
    rates: Sequence[Rate],
    inside: tuple[int, int],
    widened: tuple[int, int],
    pairs: Sequence[tuple[int, int]],
    *,
    random_state: int = 0,
) -> list[list[RangeGap]]:
    """The largest gap of every rate and pair over the steps `inside`, [rate][pair]."""
    found = [[_Collected() for _ in pairs] for _ in rates]
    for selected in errors.ladder.runs(*widened):
        named = (selected.step >= inside[0]) & (selected.step <= inside[1])
        for rate, row in zip(rates, found, strict=True):
            at = errors.at(rate, selected)
            for pair, collected in zip(pairs, row, strict=True):
                collected.add(at, selected.step, named, pair)
    bridges = Bridges(errors.ladder, grid_steps(errors.ladder, *inside), random_state)
    gaps = []
    for rate, row in zip(rates, found, strict=True):
        at = errors.at(rate, bridges.selected)
        gaps.append(
            [
                collected.gap(*_lower(bridges, rate, at, pair))
                for pair, collected in zip(pairs, row, strict=True)
            ]
        )
    return gaps


def _lower(
    bridges: Bridges, rate: Rate, at: RatesAtSteps, pair: tuple[int, int]
) -> tuple[Floats, Floats]:
    """(D̂, σ) at the cuts that can be assessed, and the maxima of the bridges over them."""
    _, error, known = at.gap(pair)
    gap = at.value[:, pair[0]] - at.value[:, pair[1]]
    known &= error > 0.0
    noise = bridges.of(rate, pair)
    maxima = np.max(noise.studentised()[known], axis=0, initial=0.0)
    return np.stack([gap[known], error[known]]), np.sort(maxima.astype(np.float64))


@dataclass(eq=False)
class _Collected:
    """What is kept of the cuts of a range, for one rate and one pair of groups."""

    size: float = -1.0
    step: int = -1
    first: float = np.nan
    second: float = np.nan
    error: float = np.nan
    upper: Floats | None = None
    blocked: bool = False

    def add(self, at: RatesAtSteps, step: Ints, named: Bools, pair: tuple[int, int]) -> None:
        """Some more cuts."""
        i, j = pair
        gap, error, known = at.gap(pair)
        self.blocked |= not known.all()  # just outside the range too: any of them may be meant
        if not known.any():
            return
        inner = np.where(known & named, gap, -1.0)
        k = int(np.argmax(inner))
        if inner[k] > self.size:
            self.size, self.step = float(inner[k]), int(step[k])
            self.first, self.second = float(at.value[k, i]), float(at.value[k, j])
            self.error = float(error[k])
        points = np.stack([gap[known], error[known]])
        if self.upper is not None:
            points = np.concatenate([self.upper, points], axis=1)
        self.upper = undominated(points)

    def gap(self, lower: Floats, maxima: Floats) -> RangeGap:
        """What was found."""
        upper = np.zeros((2, 0)) if self.upper is None else self.upper
        blocked = self.blocked or not upper.size
        return RangeGap(
            self.step, self.first, self.second, self.error, upper, lower, maxima, blocked
        )


def undominated(points: Floats) -> Floats:
    """The columns that no other exceeds in both rows: of them is the largest a + zb, z ≥ 0.

    >>> undominated(np.array([[1.0, 3.0, 2.0], [3.0, 1.0, 0.5]]))
    array([[1., 3.],
           [3., 1.]])
    """
    order = np.lexsort((-points[0], -points[1]))
    best = np.maximum.accumulate(points[0, order])
    kept = np.concatenate([[True], best[1:] > best[:-1]])
    return points[:, order[kept]]
