"""Intervals of an AUC, and of the difference of two AUCs, on the scale of log-odds.

An AUC A with variance V is as well known as a share among n = A(1 − A)/V people, each of them worth
e = 1/n of it. Near 1 few people are ranked wrong. Where chance has spared a sample, the AUC is too
high *and* its variance too low, and an interval made of the two is far too short. Therefore e is
not believed where it is much smaller than what one unseen person could weigh: in the place of e

    e' = (e⁴ + f⁴)^¼,      f = 0.2 (1/m + 1/n) / √(1 + k/20),

m and n being the (effective) sizes of the two populations compared and k = min(A, 1 − A)/e the
number of events seen. From ordinary AUCs it differs little: there e is about ⅓ (1/m + 1/n). The
log-odds are those of Gart, with half an event added on either side,

    x = logit (A + e'/2)/(1 + e'),      variance e' / ((1 + e') Ã(1 − Ã)),

and serve for an AUC of 0 or 1 as well.

The difference of two AUCs ranges over the ellipse of their log-odds, x and y being jointly normal:
its interval is the range of expit(x) − expit(y) over all (x, y) at most z standard errors off. It
lies within [−1, 1], and intervals of a higher level contain those of a lower one. For small errors
the standard error of the difference is √(V₁ + V₂ − 2 C), C the covariance, as it should be.

The two constants were chosen by simulation among 0.05 to 0.25 and 5 to ∞, on fifteen laws (AUC from
0.5 to 0.999, cells of 20 to 2,000; 800 to 1,000 samples each) so that all eight named gaps are
covered in 93 % or more, also by scores with tails like Student's law with three degrees of freedom.
On thirteen other laws, 2,000 samples each, they were covered in 92.8 % or more, but for two:
`pair_error` where 2 % of the scores are strays (91 %; log-odds intervals of the two sides as they
are, recovered by their correlation: 76 %), and `bpsn` with weights that grow with the score (91 %;
89 %). Near 0.99 light tails are covered in 98 % and more: a few events do not tell the two apart.
`benchmarks/covering/near_one.py` looks at it again.
"""

from typing import NamedTuple

import numpy as np

from evenscore.inference.intervals import student
from evenscore.scores.arrays import Floats, ratio

_EVENT, _SEEN = 0.2, 20.0
_EXACT = 1e-12  # an AUC this near to 0 or 1 is it: sums of shares leave 1 − 1e-16
_GRID, _ZOOM, _ZOOMS, _STEPS = 9, 9, 2, 3
_FALLS = (-9.0, -5.0, -3.0, -1.5, -0.5, 0.5, 1.5, 3.0, 5.0, 9.0)
UNSEEN = _EVENT**2 / 2.0  # variance of an AUC of 1 between populations of size 1/(1/m + 1/n) = 1


class LogOdds(NamedTuple):
    """AUCs as log-odds: where they are centred, and their standard errors."""

    value: Floats  # the AUCs themselves
    centre: Floats
    error: Floats
    variance: Floats  # of the AUCs, with what unseen people add

    @classmethod
    def of(cls, value: Floats, variance: Floats, size: Floats) -> "LogOdds":
        """From AUCs and their variances; 1/size is 1/m + 1/n, of the populations compared."""
        from scipy.special import logit

        value = np.where(value < _EXACT, 0.0, np.where(value > 1.0 - _EXACT, 1.0, value))
        event = ratio(variance, value * (1.0 - value), 0.0)
        seen = ratio(np.minimum(value, 1.0 - value), event, 0.0)
        unseen = _EVENT * ratio(1.0, size, np.nan) / np.sqrt(1.0 + seen / _SEEN)
        event = np.sqrt(np.hypot(np.square(event), np.square(unseen)))
        middle = (value + event / 2.0) / (1.0 + event)
        spread = middle * (1.0 - middle)
        error = np.sqrt(ratio(event / (1.0 + event), spread, 0.0))
        centre = logit(np.where(spread > 0.0, middle, np.nan))  # nobody is compared: NaN
        return cls(value, centre, error, spread * event / (1.0 + event))

    def limits(self, radius: Floats) -> tuple[Floats, Floats]:
        """Ends of intervals, so many standard errors away."""
        from scipy.special import expit

        low, high = (expit(self.centre + side * radius * self.error) for side in (-1.0, 1.0))
        return np.minimum(low, self.value), np.maximum(high, self.value)


def auc_limits(
    value: Floats, variance: Floats, freedom: Floats, size: Floats, z: Floats
) -> tuple[Floats, Floats]:
    """Interval of an AUC at the level of the normal quantile z.

    >>> low, high = auc_limits(*(np.array(n) for n in (1.0, 0.0, 98.0, 25.0, 1.96)))
    >>> round(float(low), 3), float(high)
    (0.938, 1.0)
    """
    return LogOdds.of(value, variance, size).limits(student(z, freedom))


class AucPair(NamedTuple):
    """Two AUCs with the correlation of their log-odds; `stretch` widens both (see `of`)."""

    one: LogOdds
    two: LogOdds
    correlation: Floats
    stretch: Floats

    @classmethod
    def of(cls, one: LogOdds, two: LogOdds, covariance: Floats, variance: Floats) -> "AucPair":
        """`variance` is what that of the difference has to be at least, to first order.

        It exceeds what the two allow where proportions of the data vary, which neither is about.
        """
        scale = np.sqrt(one.variance * two.variance)
        correlation = np.clip(ratio(covariance, scale, 0.0), -1.0, 1.0)
        found = one.variance + two.variance - 2.0 * correlation * scale
        stretch = np.sqrt(np.maximum(ratio(variance, found, 1.0), 1.0))
        return cls(one, two, correlation, stretch)

    def limits(self, radius: Floats) -> tuple[Floats, Floats]:
        """Range of one − two over the ellipse of that radius; the difference itself is in it."""
        reach = radius * self.stretch
        angle = np.arccos(self.correlation)
        gap = self.one.value - self.two.value
        high = _highest(self.one, self.two, reach, angle)
        low = -_highest(self.two, self.one, reach, angle)
        return np.minimum(low, gap), np.maximum(high, gap)

    def distance(self) -> Floats:
        """The largest radius that leaves out a difference of zero: x = y is a line."""
        (x, s), (y, t) = ((side.centre, side.error) for side in (self.one, self.two))
        spread = np.square(s) + np.square(t) - 2.0 * self.correlation * s * t
        gap = np.where((x - y) * (self.one.value - self.two.value) > 0.0, np.abs(x - y), 0.0)
        error = self.stretch * np.sqrt(np.maximum(spread, 0.0))
        found = ratio(gap, error, np.inf)
        return np.where(gap == 0.0, gap, found)


def _highest(one: LogOdds, two: LogOdds, reach: Floats, angle: Floats) -> Floats:
    """Largest expit(x) − expit(y) on the ellipse x = x₀ + s cos τ, y = y₀ + t cos(τ + angle).

    It lies between the point with the largest x, τ = 0, and the one with the smallest y,
    τ = π − angle. The best of a grid, which is made finer about it twice, is polished by Newton's
    steps.
    """
    from scipy.special import expit

    s, t = reach * one.error, reach * two.error

    def odds_at(tau: Floats) -> tuple[Floats, Floats]:
        return one.centre + s * np.cos(tau), two.centre + t * np.cos(tau + angle)

    def difference(tau: Floats) -> Floats:
        x, y = odds_at(tau)  # without cancellation: its sign is that of x − y
        size = expit(np.maximum(x, y)) * expit(-np.minimum(x, y)) * -np.expm1(-np.abs(x - y))
        return np.asarray(np.copysign(size, x - y))

    # With a large reach either side falls from 1 to 0 within a small part of the way, and what is
    # highest lies about there: at log-odds of a few. Where x − y is largest the sign is decided.
    shape = (-1, *(1,) * np.ndim(angle))
    odds = np.reshape(_FALLS, shape)
    falls = np.concatenate(
        [
            np.arccos(np.clip((odds - one.centre) * ratio(1.0, s, 0.0), -1.0, 1.0)),
            np.arccos(np.clip((odds - two.centre) * ratio(1.0, t, 0.0), -1.0, 1.0)) - angle,
            np.arctan2(t * np.sin(angle), s - t * np.cos(angle))[None],
        ]
    )
    even = np.linspace(0.0, 1.0, _GRID).reshape(shape) * (np.pi - angle)
    grid = np.concatenate([even, np.clip(falls, 0.0, np.pi - angle)])
    found = difference(grid)
    undefined, top = np.isnan(found[0]), np.full(np.shape(angle), -1.0)
    zoom = np.linspace(0.0, 1.0, _ZOOM).reshape(shape)
    for k in range(_ZOOMS + 1):
        best = np.argmax(found, axis=0)[None]
        top = np.fmax(top, np.take_along_axis(found, best, axis=0)[0])
        tau = np.take_along_axis(grid, best, axis=0)[0]
        ends = (
            np.maximum(np.where(grid < tau, grid, 0.0).max(axis=0), 0.0),
            np.minimum(np.where(grid > tau, grid, np.pi).min(axis=0), np.pi - angle),
        )
        if k < _ZOOMS:
            grid = ends[0] + zoom * (ends[1] - ends[0])
            found = difference(grid)
    for _ in range(_STEPS):
        p, q = map(expit, odds_at(tau))
        u, v = s * p * (1.0 - p), t * q * (1.0 - q)
        sin, cos = np.sin(tau), np.cos(tau)
        sin2, cos2 = np.sin(tau + angle), np.cos(tau + angle)
        slope = v * sin2 - u * sin
        bend = v * cos2 - u * cos
        bend += u * s * (1.0 - 2.0 * p) * sin**2 - v * t * (1.0 - 2.0 * q) * sin2**2
        tau = np.clip(tau + ratio(slope, -bend, 0.0), *ends)
        top = np.fmax(top, difference(tau))
    return np.where(undefined, np.nan, top)


def normal_of_student(radius: Floats, freedom: Floats) -> Floats:
    """The normal quantile as extreme as one of Student's law: `student` turned round."""
    scale = (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0)
    return np.asarray(scale * np.sqrt(freedom * np.log1p(np.square(radius) / freedom)))
