"""ROC curves between two distributions, and the exact difference of two curves."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from evenscore.scores.arrays import Floats, Ints
from evenscore.scores.distribution import RATE_TOLERANCE, Distribution, check_interval, check_rates


@dataclass(frozen=True, eq=False)
class RocCurve:
    """ROC of a target distribution g against a reference distribution h.

    `evaluate` is the paper's Definition 1, ROC(a) = 1 − g(h⁻¹(1 − a)): on samples a step function,
    continuous from the right, never interpolated. The polygon through the vertices
    (P(S_h > t), P(S_g > t)) is reached by name: `interpolate`, and `area`, which counts a tie
    as one half. An empty sample gives NaN.

    `with_ties_split()` is the same curve of the score whose ties are broken at random, alike in
    both samples: `evaluate` and `gap` are then those of the polygon. Two samples of one law have it
    on the diagonal, however coarse the score, and exchanging them reflects it.

    >>> one, two = Distribution.from_sample([1, 2, 3, 4]), Distribution.from_sample([2, 4, 5])
    >>> curve = RocCurve(one, two)
    >>> curve.evaluate([0, 0.25, 0.3, 1])
    array([0.33333333, 0.66666667, 0.66666667, 1.        ])
    >>> curve.with_ties_split().evaluate([0, 0.125, 0.25, 1])
    array([0.33333333, 0.5       , 0.66666667, 1.        ])
    >>> curve.area
    0.75
    """

    reference: Distribution
    target: Distribution
    ties_split: bool = field(default=False, kw_only=True)

    def with_ties_split(self) -> "RocCurve":
        """The curve of the score with its ties broken at random."""
        return replace(self, ties_split=True)

    def evaluate(self, rate: ArrayLike) -> Floats:
        """ROC(rate): the share of the target above the cut that leaves `rate` of the reference."""
        if self.ties_split:
            return self.interpolate(rate)
        return self.target.survival(self.reference.threshold(rate))

    def inverse(self, value: ArrayLike) -> Floats:
        """The smallest rate at which the curve reaches `value`: inf{a : ROC(a) ≥ value}.

        >>> one, two = Distribution.from_sample([1, 2, 3, 4]), Distribution.from_sample([2, 4, 5])
        >>> RocCurve(one, two).inverse([0.3, 0.5, 1.0])
        array([0.  , 0.25, 0.75])
        """
        value = check_rates(value, "value")
        if self._empty:
            return np.full(value.shape, np.nan)
        # Steps: (x_k, y_k) with y increasing; the first whose height reaches the value.
        rates, heights = self._steps
        index = np.searchsorted(heights, value - RATE_TOLERANCE, side="left")
        return np.asarray(rates[np.minimum(index, len(rates) - 1)])

    def interpolate(self, rate: ArrayLike) -> Floats:
        """Height at `rate` of the polygon through the vertices (its upper end where vertical)."""
        rate = check_rates(rate)
        if self._empty:
            return np.full(rate.shape, np.nan)
        return ReferenceCuts.at(self.reference, rate).share_of(self.target)

    def before(self, rate: ArrayLike) -> Floats:
        """Height that the polygon comes from at `rate`: its lower end where it is vertical.

        >>> one, two = Distribution.from_sample([1, 2, 3, 4]), Distribution.from_sample([2.5, 5])
        >>> curve = RocCurve(one, two)
        >>> curve.before([0.25, 0.5]), curve.interpolate([0.25, 0.5])
        (array([0.5, 0.5]), array([0.5, 1. ]))
        """
        rate = check_rates(rate)
        if self._empty:
            return np.full(rate.shape, np.nan)
        x, y = self.vertices
        place = np.clip(np.searchsorted(x, rate - RATE_TOLERANCE, side="left"), 1, len(x) - 1)
        run = x[place] - x[place - 1]
        part = np.divide(rate - x[place - 1], run, out=np.ones_like(rate), where=run > 0.0)
        return np.asarray(y[place - 1] + np.clip(part, 0.0, 1.0) * (y[place] - y[place - 1]))

    @property
    def area(self) -> float:
        """Area under the polygon: AUC = P(S_g > S_h) + ½ P(S_g = S_h)."""
        if self._empty:
            return np.nan
        h, (values, w) = self.reference, (self.target.values, self.target.weights)
        below = h.weight_below(values, inclusive=False) + h.weight_below(values, inclusive=True)
        return float(np.dot(below, w) / 2.0 / (h.total * self.target.total))

    @cached_property
    def thresholds(self) -> Floats:
        """The scores at which a vertex sits, decreasing, from the largest score to −∞."""
        values = np.union1d(self.reference.values, self.target.values)
        return np.concatenate((values[::-1], [-np.inf]))

    @cached_property
    def vertices(self) -> tuple[Floats, Floats]:
        """(P(S_h > t), P(S_g > t)) at `thresholds`: from (0, 0) to (1, 1)."""
        return self.reference.survival(self.thresholds), self.target.survival(self.thresholds)

    def difference(self, other: "RocCurve") -> "CurveDifference":
        """Its polygon minus the other one's: an exact piecewise linear function of the rate."""
        return CurveDifference.between(self.vertices, other.vertices)

    def gap(self) -> "CurveDifference":
        """ROC(a) − a, with ROC the step function of Definition 1, or the polygon if ties split."""
        if self._empty:
            return CurveDifference(np.array([0.0, 1.0]), np.array([np.nan]), np.array([np.nan]))
        if self.ties_split:
            diagonal = np.array([0.0, 1.0])
            return CurveDifference.between(self.vertices, (diagonal, diagonal))
        rates, heights = self._steps
        edges, heights = np.append(rates[:-1], 1.0), heights[:-1]
        return CurveDifference(edges, heights - edges[:-1], heights - edges[1:])

    @property
    def _empty(self) -> bool:
        return self.reference.total == 0.0 or self.target.total == 0.0

    @cached_property
    def _steps(self) -> tuple[Floats, Floats]:
        """Rates at which the step function may jump, increasing, with the heights there."""
        atoms = np.unique(self.reference.values)[::-1]
        rates = np.append(self.reference.survival(atoms), 1.0)
        heights = np.append(self.target.survival(atoms), 1.0)
        return rates, heights


@dataclass(frozen=True, eq=False)
class ReferenceCuts:
    """Where a reference is cut to leave given rates of it: found once, for many targets.

    Rate k is left by the cut at `values[place[k]]` and a `part[k]` of those tied with it.

    >>> one, two = Distribution.from_sample([1, 2, 3, 4]), Distribution.from_sample([2, 4, 5])
    >>> ReferenceCuts.at(one, np.array([0, 0.125, 0.25, 1])).share_of(two)
    array([0.33333333, 0.5       , 0.66666667, 1.        ])
    """

    values: Floats
    part: Floats
    place: Ints | None  # None if every rate has a value of its own

    @classmethod
    def at(cls, reference: Distribution, rate: Floats, *, split: bool = True) -> "ReferenceCuts":
        """The cuts of a sample that is not empty; without `split` nobody tied with a cut counts."""
        # Only at a value of the reference is the polygon not vertical: it is cut there, and as much
        # of the target's weight at that value is added as of the reference's.
        cut = reference.threshold(rate)
        part = np.zeros_like(rate)
        if split:
            left, run = reference.shares(cut)
            part = np.clip(np.divide(rate - left, run, out=part, where=run > 0), 0.0, 1.0)
        if rate.size <= len(reference):
            return cls(cut, part, None)
        values, place = np.unique(cut, return_inverse=True)
        return cls(values, part, place.reshape(rate.shape))

    def share_of(self, target: Distribution) -> Floats:
        """The share of a target above the cuts, and of those tied with them the same part."""
        above, tied = target.shares(self.values)
        if self.place is not None:
            above, tied = above[self.place], tied[self.place]
        return np.asarray(above + self.part * tied)


@dataclass(frozen=True, eq=False)
class CurveDifference:
    """A piecewise linear function of the rate on [0, 1] that may jump at its edges.

    On the open interval (edges[i], edges[i + 1]) it runs from start[i] to end[i]. Areas and
    suprema account for every sign change within an interval: nothing is sampled on a grid.
    """

    edges: Floats
    start: Floats
    end: Floats

    @classmethod
    def between(
        cls, first: tuple[Floats, Floats], second: tuple[Floats, Floats]
    ) -> "CurveDifference":
        """First polygon minus second, each given by vertices from (0, 0) to (1, 1).

        Rates of the two that rounding alone tells apart are taken to be one.
        """
        second = _snapped(second[0], first[0]), second[1]
        edges = np.union1d(first[0], second[0])
        if np.isnan(edges).any():
            return cls(np.array([0.0, 1.0]), np.array([np.nan]), np.array([np.nan]))
        starts, ends = zip(*(_limits(x, y, edges) for x, y in (first, second)), strict=True)
        return cls(edges, starts[0] - starts[1], ends[0] - ends[1])

    def restrict(self, low: float = 0.0, high: float = 1.0) -> "CurveDifference":
        """The same function on the closed interval of rates from `low` to `high` only.

        Functions of rates here are continuous from the right: what a jump at `high` leads to
        belongs to the interval, as a last piece without length.
        """
        low, high = (self._snap(end) for end in check_interval((low, high)))
        keep = (self.edges[1:] > low) & (self.edges[:-1] <= high)
        left, right = self.edges[:-1][keep], self.edges[1:][keep]
        start, end = self.start[keep], self.end[keep]
        slope = (end - start) / (right - left)
        new_left, new_right = np.maximum(left, low), np.minimum(right, high)
        return CurveDifference(
            np.append(new_left, new_right[-1]),
            start + slope * (new_left - left),
            end - slope * (right - new_right),
        )

    def _snap(self, rate: float) -> float:
        """The edge that the rate is meant to be, if there is one."""
        nearest = float(self.edges[np.argmin(np.abs(self.edges - rate))])
        return nearest if abs(nearest - rate) <= RATE_TOLERANCE else rate

    @property
    def area(self) -> float:
        """∫ |d(a)| da, exactly: where d changes sign within an interval, both triangles count."""
        one, two = np.abs(self.start), np.abs(self.end)
        mean = (one + two) / 2.0
        crosses = self.start * self.end < 0.0
        np.divide(one**2 + two**2, 2.0 * (one + two), out=mean, where=crosses)
        return float(np.dot(np.diff(self.edges), mean))

    @property
    def mean_absolute(self) -> float:
        """Mean of |d| over the interval of rates it is given on."""
        return self.area / float(self.edges[-1] - self.edges[0])

    @property
    def supremum(self) -> tuple[float, float]:
        """(value, rate): the signed value of largest magnitude that is reached or approached."""
        values = np.stack([self.start, self.end])
        if np.isnan(values).all():
            return np.nan, np.nan
        side, index = np.unravel_index(np.nanargmax(np.abs(values)), values.shape)
        return float(values[side, index]), float(self.edges[index + side])


def _snapped(x: Floats, onto: Floats) -> Floats:
    """Increasing numbers, those within rounding of one of `onto` put there."""
    place = np.clip(np.searchsorted(onto, x), 1, len(onto) - 1)
    below, above = onto[place - 1], onto[place]
    nearest = np.where(x - below < above - x, below, above)
    return np.where(np.abs(nearest - x) <= RATE_TOLERANCE, nearest, x)


def _limits(x: Floats, y: Floats, edges: Floats) -> tuple[Floats, Floats]:
    """Right limits at edges[:-1] and left limits at edges[1:] of a polygon with vertical parts."""
    left, right = edges[:-1], edges[1:]
    # No vertex lies strictly between two edges: one chord of the polygon covers the interval.
    last = np.searchsorted(x, left, side="right") - 1
    run, rise = x[last + 1] - x[last], y[last + 1] - y[last]
    return (
        np.asarray(y[last] + rise * ((left - x[last]) / run)),
        np.asarray(y[last] + rise * ((right - x[last]) / run)),
    )
