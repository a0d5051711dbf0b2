"""Quantiles, and the intervals and p-values that are made of them."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from evenscore.scores.arrays import Bools, Floats

Intervals = Callable[[Floats], tuple[Floats, Floats]]
"""The ends of n intervals at n normal quantiles z: NaN where z is NaN, and nested as z grows."""


def normal_quantile(probability: float) -> float:
    """Quantile of the standard normal law."""
    from scipy.special import ndtri

    return float(ndtri(probability))


def t_quantile(probability: float, degrees_of_freedom: float) -> float:
    """Quantile of Student's law; of the normal law for infinite degrees of freedom."""
    from scipy.special import stdtrit

    if math.isinf(degrees_of_freedom):
        return normal_quantile(probability)
    return float(stdtrit(degrees_of_freedom, probability))


def wilson(share: ArrayLike, size: ArrayLike, z: ArrayLike) -> tuple[Floats, Floats]:
    """Wilson's interval, at z standard errors, of a share among `size` (effective) observations.

    >>> low, high = wilson(0.0, 50, 1.96)
    >>> float(low), round(float(high), 4)
    (0.0, 0.0714)
    """
    share, size, z2 = np.asarray(share), np.asarray(size), np.square(z)
    middle = (share + z2 / (2.0 * size)) / (1.0 + z2 / size)
    half = np.sqrt(z2 * (share * (1.0 - share) / size + z2 / (4.0 * size**2))) / (1.0 + z2 / size)
    low, high = np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
    return np.where(share == 0.0, 0.0, low), np.where(share == 1.0, 1.0, high)


def recovered(one: ArrayLike, two: ArrayLike, correlation: ArrayLike) -> Floats:
    """Distance of an end of the interval of a − b from a − b: variance estimates recovery.

    `one` and `two` are the distances of the ends concerned of the intervals of a and of b from
    their values (Zou and Donner, 2008).

    >>> float(recovered(3.0, 4.0, 0.0)), float(recovered(3.0, 3.0, 1.0))
    (5.0, 0.0)
    """
    a, b = np.asarray(one), np.asarray(two)
    joint = np.square(a) + np.square(b) - 2.0 * np.asarray(correlation) * a * b
    return np.asarray(np.sqrt(np.maximum(joint, 0.0)))


def student(z: Floats, degrees_of_freedom: Floats) -> Floats:
    """The quantile of Student's law that is as extreme as the normal quantile z.

    Wallace's approximation turned round, √(f (exp(z²c²/f) − 1)) with c = (8f + 3)/(8f + 1): within
    0.1 % from ten degrees of freedom on, 1 % too large for three. It is a hundred times faster
    than the exact quantile, and p-values need many of them.

    >>> student(np.array(1.96), np.array([10.0, 1e9])).round(3)
    array([2.229, 1.96 ])
    """
    f = np.asarray(degrees_of_freedom)
    with np.errstate(over="ignore"):
        return np.sqrt(f * np.expm1(np.square(z * (8.0 * f + 3.0) / (8.0 * f + 1.0)) / f))


def largest_quantile(holds: Callable[[Floats], Bools], n: int) -> Floats:
    """The largest z, of n, at which something holds that ceases to as z grows; 0 where it never is.

    By bisection, to 1e-5: it does hold at the z that is given. Beyond 12 nobody looks: the normal
    law leaves 1e-33 there.

    >>> largest_quantile(lambda z: z <= np.array([1.5, -1.0]), 2).round(6)
    array([1.5, 0. ])
    """
    near, far = np.zeros(n), np.full(n, 12.0)
    for _ in range(20):
        middle = (near + far) / 2.0
        inside = holds(middle)
        near, far = np.where(inside, middle, near), np.where(inside, far, middle)
    return near


def joined_intervals(parts: Sequence[tuple[Intervals, int]]) -> Intervals:
    """Those of several parts, one after the other; each part comes with its number."""
    if not parts:
        return lambda z: (z, z)
    splits = np.cumsum([n for _, n in parts])[:-1]

    def ends(z: Floats) -> tuple[Floats, Floats]:
        found = [part(own) for (part, _), own in zip(parts, np.split(z, splits), strict=True)]
        low, high = (np.concatenate([np.zeros(0), *some]) for some in zip(*found, strict=True))
        return low, high

    return ends


def invert(interval: Intervals, n: int) -> Floats:
    """Two-sided p-values of zero: one minus the largest level whose interval leaves it out."""
    from scipy.special import ndtr

    def outside(z: Floats) -> Bools:
        low, high = interval(z)
        return np.asarray((low > 0.0) | (high < 0.0))

    undefined = np.isnan(interval(np.ones(n))[0])
    return np.where(undefined, np.nan, 2.0 * ndtr(-largest_quantile(outside, n)))


def t_test(value: float, standard_error: float, degrees_of_freedom: float) -> float:
    """Two-sided p-value of the hypothesis that the true value is zero; NaN without an error."""
    from scipy.special import stdtr

    if not standard_error > 0.0:
        return math.nan
    freedom = min(degrees_of_freedom, 1e9)  # beyond, Student's law is the normal one
    return float(2.0 * stdtr(freedom, -abs(value) / standard_error))
