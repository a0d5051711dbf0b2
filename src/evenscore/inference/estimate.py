"""A number with its uncertainty."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Literal, NamedTuple

import numpy as np

from evenscore.scores import ClassName
from evenscore.scores.arrays import Floats

_LEAST = 1e-9  # of a tolerance, a share or a confidence

SMALL_CELL = 30
"""Intervals that rest on fewer (effective) observations in a cell carry a warning."""

Verdict = Literal["beyond", "within", "unclear", "undefined"]
Sampling = Literal["observations", "cells"]


class GapKey(NamedTuple):
    """What makes a gap the gap it is: labels only, known before any data are.

    `name` is that of the notion, `first` and `second` are the groups compared, `at` says where
    ("at 0.125"), `on` is the class it is about and `rate` the share it is measured at, if any.
    """

    name: str
    first: str = ""
    second: str = ""
    at: str = ""
    on: ClassName | None = None
    rate: float | None = None

    @property
    def kind(self) -> str:
        """The notion and where it is measured, whoever is compared."""
        return f"{self.name} {self.at}".strip()

    @property
    def title(self) -> str:
        """How a gap is named to people.

        >>> GapKey("roc_gap(positives)", "female", "male", "at 0.125").title
        'roc_gap(positives) at 0.125, female and male'
        """
        return f"{self.kind}, {self.first} and {self.second}"


@dataclass(frozen=True)
class EstimateSettings:
    """How gaps are to be estimated.

    Parameters
    ----------
    confidence_level : float
        Of the intervals.
    sampling : "observations" or "cells"
        Whether people were drawn at random, or so many of each class and group.
    pairs : pairs of positions in the order of the groups, optional
        Estimate only the gaps between these groups.
    n_resamples, random_state : int
        Of families that resample.
    """

    confidence_level: float = 0.95
    sampling: Sampling = "observations"
    pairs: tuple[tuple[int, int], ...] | None = None
    n_resamples: int = 400
    random_state: int = 0


@dataclass(frozen=True)
class GapTest:
    """A test of a gap among others, and the interval that goes with it.

    `p_value` is corrected for the number of gaps looked at, and `level` is that of the interval
    whose ends are `low` and `high`: what was tested holds of the whole interval if, and only if,
    the p-value is at most one minus the confidence level.
    """

    p_value: float
    low: float
    high: float
    level: float


@dataclass(frozen=True)
class Estimate:
    """A value, its confidence interval and how the interval was made.

    `p_value` is that of the hypothesis that the true value is zero (NaN where that makes no sense);
    `adjusted_p_value` accounts for the other gaps looked at (Holm). A NaN interval comes with a
    warning that says why.

    A gap is the gap of a `family`, under its `key`; `first_value` and `second_value` are what is
    compared. Among all gaps that were looked at (`inference.decisions`), `verdict` says where it
    lies: "beyond" the tolerance, if the interval of `beyond_test` does, "within" it, if that of
    `within_test` does, and "unclear" otherwise.
    `reference` is the group beside which both are measured, if the notion has one; `threshold` is
    the cut at which both are measured, and `selected_share` the share selected there. Where each
    group has a cut of its own, `second_threshold` is that of the second. `bracket` is by how much
    the value may be off because the order of people within bins of the scores is not known: the
    interval, the p-value and the verdict account for it.

    >>> print(Estimate("AUC", 0.8, 0.75, 0.85, 0.95, "placement values"))
    AUC: 0.8000, 95% interval [0.7500, 0.8500]
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
    family: str = ""
    at: str = ""
    first_value: float = math.nan
    second_value: float = math.nan
    verdict: Verdict | None = None
    beyond_test: GapTest | None = None
    within_test: GapTest | None = None
    reference: str = ""
    threshold: float = math.nan
    selected_share: float = math.nan
    second_threshold: float = math.nan
    bracket: float = field(default=0.0, metadata={"if_set": True})

    @classmethod
    def of_key(cls, key: GapKey, value: float, *, method: str, family: str) -> "Estimate":
        """A gap whose interval is not known yet."""
        nan = math.nan
        unknown = cls(key.name, value, nan, nan, confidence_level=nan, method=method, family=family)
        return replace(unknown, **key._asdict())

    @property
    def key(self) -> GapKey:
        """What makes it the gap it is; titles of groups like "a" and "a and b" may read alike."""
        return GapKey(self.name, self.first, self.second, self.at, self.on, self.rate)

    @property
    def kind(self) -> str:
        """The notion and where it is measured, whoever is compared."""
        return self.key.kind

    @property
    def title(self) -> str:
        """Which gap it is, where and between whom."""
        return self.key.title

    @property
    def has_interval(self) -> bool:
        """Whether both ends of the interval are known."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    @property
    def differs_from_zero(self) -> bool:
        """Whether the interval leaves out zero: then the sign is known."""
        return self.low > 0.0 or self.high < 0.0

    def ends(self, test: Literal["beyond", "within"]) -> tuple[float, float]:
        """The ends of the interval that a verdict goes by; its own, if nothing was decided."""
        tested = self.beyond_test if test == "beyond" else self.within_test
        return (self.low, self.high) if tested is None else (tested.low, tested.high)

    def lies_beyond(self, tolerance: float) -> bool:
        """Whether its own interval lies wholly beyond ±tolerance, whatever else was looked at."""
        return self.low > tolerance or self.high < -tolerance

    def lies_within(self, tolerance: float) -> bool:
        """Whether its own interval lies wholly within ±tolerance."""
        return self.low >= -tolerance and self.high <= tolerance

    def __str__(self) -> str:
        value = "no value" if math.isnan(self.value) else f"{self.value:.4f}"
        text = f"{self.name}: {value}, no interval"
        if self.has_interval:
            level = percent(self.confidence_level)
            text = f"{self.name}: {value}, {level} interval [{self.low:.4f}, {self.high:.4f}]"
        return "; ".join((text, *self.warnings))


@dataclass(frozen=True, eq=False)
class Estimates:
    """Many numbers with the ends of their intervals; `reason` says why one or its ends are NaN.

    >>> some = Estimates.unknown(["there are no positives", ""])
    >>> some.reason[0], some.value
    ('there are no positives', array([nan, nan]))
    """

    value: Floats
    low: Floats
    high: Floats
    reason: tuple[str, ...]

    @classmethod
    def unknown(cls, reason: Sequence[str]) -> "Estimates":
        """No numbers yet, for these reasons."""
        value, low, high = np.full((3, len(reason)), np.nan)
        return cls(value, low, high, tuple(reason))

    @classmethod
    def joined(cls, parts: "Sequence[Estimates]") -> "Estimates":
        """Those of several, one after the other."""
        value, low, high = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("value", "low", "high")
        )
        return cls(value, low, high, tuple(text for part in parts for text in part.reason))

    def take(self, places: Sequence[int]) -> "Estimates":
        """Some of them, in this order."""
        pick = list(places)
        reason = tuple(self.reason[k] for k in pick)
        return Estimates(self.value[pick], self.low[pick], self.high[pick], reason)

    def ends(self, k: int) -> tuple[float, float, float]:
        """One of them with its ends."""
        return float(self.value[k]), float(self.low[k]), float(self.high[k])


def check_between(number: float, name: str, below: float = 1.0) -> float:
    """Refuse what is not a number strictly between 0 and an upper end, or next to nothing.

    >>> check_between(1e-200, "tolerance")
    Traceback (most recent call last):
    ...
    ValueError: tolerance is 1e-200, and less than 1e-09 cannot be told from 0.
    """
    if isinstance(number, bool) or not (isinstance(number, Real) and 0.0 < number < below):
        raise ValueError(f"{name} must lie strictly between 0 and {below:g}, not {number!r}.")
    if number < _LEAST:
        raise ValueError(f"{name} is {number!r}, and less than {_LEAST:g} cannot be told from 0.")
    return float(number)


def check_level(confidence_level: float) -> float:
    """Refuse a confidence level that is not strictly between 0 and 1."""
    return check_between(confidence_level, "confidence_level")


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
    number = f"{size:,.0f}"
    return f"{number} observation" if number == "1" else f"{number} observations"


def percent(level: float) -> str:
    """A confidence level in words, never rounded up: 0.999 is 99.9%."""
    return f"{100.0 * level:.10g}%"
