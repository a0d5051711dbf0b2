"""How sure: the difference of two groups' own ROC curves, at a rate and over a range of rates.

Each group is cut where a share a of its own negatives is selected; ROC_z(a) is the share of its
positives selected there. Of one curve the interval is that of `inference.pointwise`: where the cut
may lie, and the share above it. The two groups are different people, so that the distances of the
ends add up in squares, as in Newcombe's interval of a difference of two shares.

The largest |D(a)| over a range named beforehand lies between

    low = max over rates of (|D| − qσ)₊    and    high = max over rates of |D| + zσ,

as that of rates at common cuts does (`inference.cut_gaps`): σ² adds up g(1 − g)/n_G and
ROC'(a)² a(1 − a)/n_H of both groups, g being the share selected of the positives, and q is the
quantile of the largest |D* − D|/σ of Gaussian bridges: ROC moves by B_G(g)/√n_G − ROC'(a)
B_H(a)/√n_H. No range has to be widened, since its rates are meant exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenscore.inference.bridges import DRAWS, GRID, band_quantile
from evenscore.inference.intervals import recovered
from evenscore.inference.pointwise import PointwiseIntervals
from evenscore.scores.arrays import Floats
from evenscore.scores.curve import RocCurve


@dataclass(frozen=True, eq=False)
class CurveGap:
    """The gap of two curves at a rate, or the largest over a range of rates.

    `rate` is where it is, `first` and `second` are the heights of the curves there.
    """

    rate: float
    first: float
    second: float

    @property
    def value(self) -> float:
        """The first curve minus the second."""
        return self.first - self.second

    def interval(self, z: float) -> tuple[float, float]:
        """Ends of the interval at a normal quantile: none is known."""
        return np.nan, np.nan


@dataclass(frozen=True, eq=False)
class PointCurveGap(CurveGap):
    """The gap at a rate; `ends` are the intervals of the two curves there."""

    ends: tuple[PointwiseIntervals, PointwiseIntervals]

    def interval(self, z: float) -> tuple[float, float]:
        """Ends of the interval at a normal quantile."""
        low, high = _difference(*self.ends, z)
        return float(low[0]), float(high[0])


@dataclass(frozen=True, eq=False)
class RangeCurveGap(CurveGap):
    """The largest gap over a range of rates: the interval is of its size.

    It has the sign of the gap seen, and its lower end is about gaps of that sign; where there are
    gaps of both signs, as of curves that cross, the largest may be another one than that seen.

    `gaps` and `errors` are D and its standard error at some rates of the range and where the gap is
    largest; `maxima` the largest |D* − D|/σ of each bridge, increasing.
    """

    gaps: Floats
    errors: Floats
    maxima: Floats

    def interval(self, z: float) -> tuple[float, float]:
        """Ends of the interval: the size with its sign, or both signs if there may be no gap."""
        high = float(min(np.max(np.abs(self.gaps) + z * self.errors), 1.0))
        q = band_quantile(self.maxima, z)
        low = float(max(np.max(np.sign(self.value) * self.gaps - q * self.errors), 0.0))
        if low == 0.0:
            return -high, high
        return (low, high) if self.value > 0.0 else (-high, -low)


def _difference(
    one: PointwiseIntervals, two: PointwiseIntervals, z: float
) -> tuple[Floats, Floats]:
    """Ends of the intervals of one curve minus another one of other people."""
    (low_1, high_1), (low_2, high_2) = one.at(z), two.at(z)
    value = one.value - two.value
    return (
        value - recovered(one.value - low_1, high_2 - two.value, 0.0),
        value + recovered(high_1 - one.value, two.value - low_2, 0.0),
    )


def point_curve_gaps(
    curves: Sequence[RocCurve], rates: Floats, pairs: Sequence[tuple[int, int]]
) -> list[CurveGap]:
    """The gaps of every pair of curves at every rate, pair by pair."""
    gaps: list[CurveGap] = []
    for i, j in pairs:
        for rate in rates.tolist():
            gaps.append(_at(curves[i], curves[j], rate))
    return gaps


def _at(one: RocCurve, two: RocCurve, rate: float) -> CurveGap:
    """The gap of two curves at one rate."""
    ends = (
        PointwiseIntervals(one, np.array([rate])),
        PointwiseIntervals(two, np.array([rate])),
    )
    first, second = (float(side.value[0]) for side in ends)
    if np.isnan(first - second):
        return CurveGap(rate, np.nan, np.nan)
    return PointCurveGap(rate, first, second, ends)


def range_curve_gaps(
    curves: Sequence[RocCurve],
    between: tuple[float, float],
    pairs: Sequence[tuple[int, int]],
    *,
    random_state: int = 0,
) -> list[CurveGap]:
    """The largest gap of every pair of curves over a range of rates."""
    rates = np.linspace(*between, GRID)
    # Who gets which random numbers depends on the people of a group, not on its name or place.
    keys = [
        (len(curve.reference), len(curve.target), *np.asarray(curve.evaluate(rates)).tolist())
        for curve in curves
    ]
    order = sorted(range(len(curves)), key=lambda k: keys[k])
    seeds = dict(zip(order, np.random.SeedSequence(random_state).spawn(len(curves)), strict=True))
    moved = [_Process(curve, rates, seeds[k]) for k, curve in enumerate(curves)]
    gaps: list[CurveGap] = []
    for i, j in pairs:
        one, two = curves[i], curves[j]
        value, rate = one.difference(two).restrict(*between).supremum
        if np.isnan(value):
            gaps.append(CurveGap(np.nan, np.nan, np.nan))
            continue
        first, second = float(one.evaluate(rate)), float(two.evaluate(rate))
        if abs(first - second) < abs(value):  # approached before a jump, not reached
            first, second = float(one.before(rate)), float(two.before(rate))
        error = np.hypot(moved[i].error, moved[j].error)
        gaps.append(
            RangeCurveGap(
                rate,
                first,
                second,
                np.append(moved[i].height - moved[j].height, first - second),
                np.append(error, np.interp(rate, rates, error)),
                _largest(moved[i], moved[j]),
            )
        )
    return gaps


@dataclass(frozen=True, eq=False)
class _Process:
    """A curve at some rates, and how its sample moves it there."""

    curve: RocCurve
    rates: Floats
    seed: np.random.SeedSequence

    @cached_property
    def height(self) -> Floats:
        """The curve."""
        return np.asarray(self.curve.evaluate(self.rates))

    @cached_property
    def _sides(self) -> list[tuple[Floats, Floats, Floats]]:
        """Of the positives and the negatives: the share, its size, and how it moves the curve."""
        h, g = self.curve.reference, self.curve.target
        return [
            (self.height, g.size_behind(self.height), np.ones_like(self.rates)),
            (self.rates, h.size_behind(self.rates), -self._slope),
        ]

    @cached_property
    def _slope(self) -> Floats:
        """ROC'(a), over a step as wide as the cut is uncertain."""
        size = self.curve.reference.size_behind(self.rates)
        h = 2.0 * np.sqrt(self.rates * (1.0 - self.rates) / size) + size ** (-1.0 / 3.0) / 4.0
        left, right = np.maximum(self.rates - h, 0.0), np.minimum(self.rates + h, 1.0)
        rise = self.curve.evaluate(right) - self.curve.evaluate(left)
        return np.asarray(rise / (right - left))

    @cached_property
    def error(self) -> Floats:
        """The standard error of the curve, two more observations on either side of a share."""
        total = np.zeros_like(self.rates)
        for share, size, factor in self._sides:
            smoothed = (share * size + 2.0) / (size + 4.0)
            total += np.square(factor) * smoothed * (1.0 - smoothed) / size
        return np.sqrt(total)

    @cached_property
    def noise(self) -> tuple[Floats, Floats]:
        """Bridges, (draws, rates), and their variance."""
        rng = np.random.default_rng(self.seed)
        total, variance = np.zeros((DRAWS, len(self.rates))), np.zeros(len(self.rates))
        for share, size, factor in self._sides:
            scale = factor / np.sqrt(size)
            total += scale * _bridges(rng, share)
            variance += np.square(scale) * share * (1.0 - share)
        return total, variance


def _bridges(rng: np.random.Generator, share: Floats) -> Floats:
    """Brownian bridges at increasing shares, (draws, shares)."""
    steps = np.sqrt(np.maximum(np.diff(share, prepend=0.0, append=1.0), 0.0))
    path = np.cumsum(rng.standard_normal((DRAWS, len(steps))) * steps, axis=1)
    return np.asarray(path[:, :-1] - share * path[:, -1:])


def _largest(one: _Process, two: _Process) -> Floats:
    """The largest |D* − D|/σ of every draw, increasing; zero where nothing moves."""
    variance = one.noise[1] + two.noise[1]
    moving = variance > 1e-12
    if not moving.any():
        return np.zeros(1)
    noise = one.noise[0][:, moving] - two.noise[0][:, moving]
    return np.sort(np.max(np.abs(noise) / np.sqrt(variance[moving]), axis=1))
