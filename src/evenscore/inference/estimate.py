"""A number with its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenscore.constraints import Gap
from evenscore.scores import ClassName

__all__ = [
    "SMALL_CELL",
    "Estimate",
    "GapKey",
    "adjust",
    "check_count",
    "check_level",
    "counted",
    "holm",
    "invert",
    "normal_quantile",
    "percent",
    "recovered",
    "student",
    "t_quantile",
    "t_test",
    "wilson",
]

Floats = NDArray[np.float64]
GapKey = tuple[str, ClassName | None, float | None, str, str]

SMALL_CELL = 30
"""Intervals that rest on fewer (effective) observations in a cell carry a warning."""


def gap_title(name: str, rate: float | None, first: str, second: str) -> str:
    """How a gap is named to people.

    >>> gap_title("roc_gap(positives)", 0.125, "female", "male")
    'roc_gap(positives) at 0.125, female and male'
    """
    at = "" if rate is None else f" at {rate:.4g}"
    return f"{name}{at}, {first} and {second}"


@dataclass(frozen=True)
class Estimate:
    """A value, its confidence interval and how the interval was made.

    `p_value` is that of the hypothesis that the true value is zero (NaN where that makes no sense);
    `adjusted_p_value` accounts for the other groups compared (Holm); `beyond_p_value` is that of
    the hypothesis that its magnitude is at most a tolerance (NaN unless asked for, see
    `roc_gap_estimates`). A NaN interval comes with a warning that says why.
    """

    name: str
    value: float
    low: float
    high: float
    confidence_level: float
    method: str
    standard_error: float = math.nan
    degrees_of_freedom: float = math.inf
    p_value: float = math.nan
    adjusted_p_value: float = math.nan
    first: str = ""
    second: str = ""
    on: ClassName | None = None
    rate: float | None = None
    words: str = ""
    warnings: tuple[str, ...] = ()
    beyond_p_value: float = math.nan

    @property
    def title(self) -> str:
        """Which gap it is, at which rate and between whom."""
        return gap_title(self.name, self.rate, self.first, self.second)

    @property
    def key(self) -> GapKey:
        """What makes it the gap it is; titles of groups like "a" and "a and b" may read alike."""
        return self.name, self.on, self.rate, self.first, self.second

    @classmethod
    def of_gap(cls, gap: Gap, *, method: str) -> Estimate:
        """A gap whose interval is not known yet; an undefined one says why."""
        return cls(
            gap.name,
            gap.value,
            low=math.nan,
            high=math.nan,
            confidence_level=math.nan,
            method=method,
            first=gap.first,
            second=gap.second,
            on=gap.on,
            rate=gap.rate,
            words=gap.words,
            warnings=() if gap.reason is None else (gap.reason,),
        )

    def __str__(self) -> str:
        value = "no value" if math.isnan(self.value) else f"{self.value:.4f}"
        told = f"{self.name}: {value}"
        if math.isnan(self.low) or math.isnan(self.high):
            told += ", no interval"
        else:
            told += f", {percent(self.confidence_level)} interval [{self.low:.4f}, {self.high:.4f}]"
        return "; ".join((told, *self.warnings))

    def detectable(self, power: float = 0.8) -> float:
        """The smallest gap that a test at this level finds with the given power.

        (t_{1−α/2} + z_power) standard errors: had the truth been smaller, missing it was likely.
        """
        if not isinstance(power, Real) or not 0.0 < power < 1.0:
            raise ValueError(f"power must lie strictly between 0 and 1, not {power!r}.")
        t = t_quantile(0.5 + self.confidence_level / 2.0, self.degrees_of_freedom)
        return (t + normal_quantile(power)) * self.standard_error


def holm(estimates: Sequence[Estimate]) -> list[Estimate]:
    """The same estimates with Holm-adjusted p-values; NaN p-values stay NaN and do not count.

    >>> one = Estimate("gap", 0.1, 0, 0.2, 0.95, "t", p_value=0.01)
    >>> [e.adjusted_p_value for e in holm([one, replace(one, p_value=0.04)])]
    [0.02, 0.04]
    """
    adjusted = adjust([estimate.p_value for estimate in estimates]).tolist()
    return [
        replace(estimate, adjusted_p_value=value)
        for estimate, value in zip(estimates, adjusted, strict=True)
    ]


def adjust(p_values: Sequence[float]) -> Floats:
    """Holm's adjusted p-values, in the order given."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p)[: int(np.sum(~np.isnan(p)))]  # NaN sorts last
    steps = np.minimum(1.0, p[order] * np.arange(len(order), 0, -1))
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.maximum.accumulate(steps) if len(order) else steps
    return adjusted


def check_level(confidence_level: float) -> float:
    """Refuse a confidence level that is not strictly between 0 and 1."""
    if not isinstance(confidence_level, Real) or not 0.0 < confidence_level < 1.0:
        raise ValueError(
            f"confidence_level must lie strictly between 0 and 1, not {confidence_level!r}."
        )
    return float(confidence_level)


def check_count(count: int, name: str, least: int) -> int:
    """Refuse what is not a whole number of at least `least`."""
    if isinstance(count, bool) or not isinstance(count, Integral) or count < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {count!r}.")
    return int(count)


def counted(size: float) -> str:
    """A number of observations, perhaps effective, in words.

    >>> counted(1.0), counted(2345.6)
    ('1 observation', '2,346 observations')
    """
    told = f"{size:,.0f}"
    return f"{told} observation" if told == "1" else f"{told} observations"


def percent(level: float) -> str:
    """A confidence level in words, never rounded up: 0.999 is 99.9%."""
    return f"{100.0 * level:.10g}%"


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


def invert(interval: Callable[[Floats], tuple[Floats, Floats]], n: int) -> Floats:
    """Two-sided p-values: the largest z whose interval leaves out zero, by bisection.

    `interval` gives the ends of n intervals at n values of z, a normal quantile.
    """
    from scipy.special import ndtr

    near, far = np.zeros(n), np.full(n, 37.0)
    for _ in range(32):  # to 1e-8 in z
        middle = (near + far) / 2.0
        low, high = interval(middle)
        outside = (low > 0.0) | (high < 0.0)
        near, far = np.where(outside, middle, near), np.where(outside, far, middle)
    undefined = np.isnan(interval(near)[0])
    return np.where(undefined, np.nan, 2.0 * ndtr(-near))


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


def t_test(value: float, standard_error: float, degrees_of_freedom: float) -> float:
    """Two-sided p-value of the hypothesis that the true value is zero; NaN without an error."""
    from scipy.special import stdtr

    if not standard_error > 0.0:
        return math.nan
    freedom = min(degrees_of_freedom, 1e9)  # beyond, Student's law is the normal one
    return float(2.0 * stdtr(freedom, -abs(value) / standard_error))
