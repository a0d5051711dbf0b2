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
over the range: Gaussian bridges on the increments of the cells, no resampling.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenscore.inference.cluster_sizes import (
    bins_of_cuts,
    correlation_by_group,
    is_clustered,
    shares_of_clusters,
    sides_of_cuts,
)
from evenscore.inference.shares import share_size, sums_by_cell
from evenscore.scores.arrays import Bools, Floats, Ints, ratio
from evenscore.scores.rates import Rate
from evenscore.scores.selection import Ladder, Selected

WIDENED = 2.576
"""Standard errors of a share by which a range is widened: 15 % of statements at the boundary were
false without it in the worst case, 3.8 % with it."""

GRID = 80  # cuts of a range at which bridges are drawn
DRAWS = 1_500  # bridges
_TAIL = 40  # draws beyond which the tail of their maximum goes on by its law
_Z = 2.5  # effective sizes are those for intervals about so wide
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

    `assessable` is False where too few people are behind it.
    """

    value: Floats
    error: Floats
    assessable: Bools


class RateErrors:
    """The standard errors of rates of a table, at any steps of its ladder."""

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
        else:
            size = self._size(rate, selected.step, *rate.sides(above, rest))
            error = _share_error(value, size)
        return RatesAtSteps(value, error, enough(rate, selected.count, self._totals[2]))

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
        smoothed = _smoothed(shares, size)
        _, slopes = rate.of_shares(smoothed, totals)
        return np.asarray(np.sqrt(np.sum(np.square(slopes * _share_error(shares, size)), axis=1)))


def _smoothed(share: Floats, size: Floats) -> Floats:
    """Two more observations on either side."""
    return np.asarray((share * size + _ADDED) / (size + 2.0 * _ADDED))


def _share_error(share: Floats, size: Floats) -> Floats:
    """√(F̃(1 − F̃)/n); NaN where there is nobody."""
    smoothed = _smoothed(share, size)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(size > 0.0, np.sqrt(smoothed * (1.0 - smoothed) / size), np.nan)


def enough(rate: Rate, count: Floats, totals: Floats) -> Bools:
    """Where a rate has enough people behind it, (steps, groups)."""
    if not rate.scarce:
        return np.ones((len(count), totals.shape[-1]), dtype=bool)
    beyond = count if rate.among[1][1] else totals - count
    return np.asarray((beyond.sum(axis=1) >= LEAST_AMONG) & (beyond.min(axis=1) >= LEAST_OF_CLASS))


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
        for step in steps:
            k = place[step]
            one, two = found.value[k, [i, j]].tolist()
            error = float(np.hypot(*found.error[k, [i, j]]))
            if not found.assessable[k, [i, j]].all():
                one = two = error = np.nan
            elif by_share:
                error = max(error, _error_by_share(ladder, rate, step, (i, j), slopes[step]))
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


def _error_by_share(
    ladder: Ladder, rate: Rate, step: int, pair: tuple[int, int], slope: Floats
) -> float:
    """The standard error of the gap at the cut that selects such a share of all people."""
    scores = ladder.scores
    selected = ladder.selected(np.array([step]))
    totals = scores.cell_weights
    shares = ratio(selected.weight[0], totals, 0.0)
    unit = rate.influence(shares, totals)  # (2, sides, groups)
    moved = np.zeros_like(unit)
    i, j = pair
    moved[..., i], moved[..., j] = unit[..., i], -unit[..., j]
    classes = [0, 1] if ladder.of == "everyone" else [("negatives", "positives").index(ladder.of)]
    share, weight = float(ladder.share[step]), float(totals[classes].sum())
    r = float(slope[i] - slope[j])
    for side in range(2):
        moved[classes, side] -= r * (side - share) / weight
    squares = np.stack([scores.cell_squares - selected.square[0], selected.square[0]], axis=1)
    return float(np.sqrt(np.nansum(np.square(moved) * squares)))


# ---------------------------------------------------------------------- a range of cuts


@dataclass(frozen=True, eq=False)
class RangeGap:
    """The largest gap of two groups over a range of cuts.

    `first` and `second` are the rates where it is largest, `error` the standard error there.
    `upper` are pairs (|D̂|, σ) of cuts of the widened range that no other exceeds in both, `lower`
    those of the cuts at which bridges were drawn, and `maxima` the largest |D* − D̂|/σ of each
    bridge, increasing. `blocked` says that some cut has too few people to tell.
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
        """The least that it is."""
        if not self.lower.size:
            return 0.0
        q = band_quantile(self.maxima, z)
        return float(max(np.max(self.lower[0] - q * self.lower[1]), 0.0))

    def interval(self, z: float) -> tuple[float, float]:
        """Ends of the interval: the size with its sign, or both signs if there may be no gap."""
        low, high = self.low(z), self.high(z)
        if low == 0.0:
            return -high, high
        return (low, high) if self.value > 0.0 else (-high, -low)


def band_quantile(maxima: Floats, z: float) -> float:
    """The quantile of the largest of a process that is as extreme as a normal |Z| > z.

    Beyond the draws their law goes on: the tail of a maximum of |Z| over a range of cuts falls no
    slower than q² times that of one.

    >>> one = np.sort(np.abs(np.random.default_rng(0).normal(size=20_000)))
    >>> [abs(band_quantile(one, z) - z) < 0.1 for z in (1.0, 1.96)]
    [True, True]
    """
    from scipy.special import log_ndtr, ndtr

    n = len(maxima)
    p = 2.0 * float(ndtr(-z))
    known = min(_TAIL, n) / n
    if p >= known:
        return float(max(np.quantile(maxima, 1.0 - p), z))
    start = float(np.quantile(maxima, 1.0 - known))
    grid = np.linspace(start, max(start, z) + 6.0, 2_000)
    tail = np.log(known) + log_ndtr(-grid) - log_ndtr(-start) + 2.0 * np.log(grid / start)
    return float(max(np.interp(-np.log(max(p, 1e-300)), -tail, grid), z))


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
    bridges = _Bridges(errors, inside, random_state)
    return [
        [collected.gap(*bridges.of(rate, pair)) for pair, collected in zip(pairs, row, strict=True)]
        for rate, row in zip(rates, found, strict=True)
    ]


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
        gap = np.abs(at.value[:, i] - at.value[:, j])
        error = np.hypot(at.error[:, i], at.error[:, j])
        known = at.assessable[:, i] & at.assessable[:, j] & ~np.isnan(gap)
        self.blocked |= bool((named & ~known).any())
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


class _Bridges:
    """Gaussian bridges of the rates at some cuts of a range, drawn once for all rates and pairs."""

    def __init__(self, errors: RateErrors, inside: tuple[int, int], random_state: int) -> None:
        ladder = errors.ladder
        share = np.linspace(ladder.share[inside[0]], ladder.share[inside[1]], GRID)
        steps = np.searchsorted(ladder.share, share, side="left")
        self.steps = np.unique(np.clip(steps, *inside))
        self.errors = errors
        self.selected = ladder.selected(self.steps)
        self._random_state = random_state
        self._processes: dict[str, tuple[Floats, Floats]] = {}
        self._at: dict[str, RatesAtSteps] = {}

    @cached_property
    def _noise(self) -> tuple[Floats, Floats]:
        """Of every cell, noise of the weight above each cut and of all of it: (draws, …, 2, K)."""
        scores = self.errors.scores
        rng = np.random.default_rng(self._random_state)
        squares = np.concatenate(
            [np.zeros((1, 2, scores.n_groups)), self.selected.square, scores.cell_squares[None]]
        )
        spread = np.sqrt(np.maximum(np.diff(squares, axis=0), 0.0)).astype(np.float32)
        draws = rng.standard_normal((DRAWS, *spread.shape), dtype=np.float32) * spread
        above = np.cumsum(draws, axis=1)
        return above[:, :-1], above[:, -1:]

    def _process(self, rate: Rate) -> tuple[Floats, Floats]:
        """The noise of the rate of each group, (draws, cuts, groups), and its variance."""
        if rate.name not in self._processes:
            scores = self.errors.scores
            shares = ratio(self.selected.weight, scores.cell_weights, 0.0)
            unit = np.nan_to_num(rate.influence(shares, scores.cell_weights)).astype(np.float32)
            above, total = self._noise
            noise = np.sum((unit[:, :, 1] - unit[:, :, 0]) * above + unit[:, :, 0] * total, axis=2)
            sides = np.stack(
                [scores.cell_squares - self.selected.square, self.selected.square], axis=2
            )
            self._processes[rate.name] = noise, np.sum(np.square(unit) * sides, axis=(1, 2))
            self._at[rate.name] = self.errors.at(rate, self.selected)
        return self._processes[rate.name]

    def of(self, rate: Rate, pair: tuple[int, int]) -> tuple[Floats, Floats]:
        """(|D̂|, σ) at the cuts that can be assessed, and the maxima of the bridges over them."""
        i, j = pair
        process, variance = self._process(rate)
        at = self._at[rate.name]
        gap = np.abs(at.value[:, i] - at.value[:, j])
        error = np.hypot(at.error[:, i], at.error[:, j])
        noise = process[..., i] - process[..., j]
        spread = np.sqrt(variance[:, i] + variance[:, j])
        known = at.assessable[:, i] & at.assessable[:, j] & ~np.isnan(gap) & (error > 0.0)
        moving = known & (spread > 0.0)
        if not moving.any():
            return np.stack([gap[known], error[known]]), np.zeros(1)
        maxima = np.max(np.abs(noise[:, moving]) / spread[moving], axis=1)
        return np.stack([gap[known], error[known]]), np.sort(maxima.astype(np.float64))
