"""Confidence bands of ROC curves and ROC gaps, pointwise and simultaneous.

Two things are uncertain: where the cut lies that selects a share a of the reference (e₀ of rate),
and which share of the target is above it (e₁). All bands here combine the two on the curve itself,
without estimating densities, so that they hold with ties:

- pointwise: Wilson's intervals of both shares, combined so that z₀² + z₁² = z²;
- DKW, for all rates at once, for any sample size and any distribution:
  [ROC(a − e₀) − e₁, ROC(a + e₀) + e₁] with e = √(log(4/δ) / 2n) of either sample;
- simultaneous: the same shape with e = k/√n, the smallest k that the bootstrap finds sufficient on
  the rates asked for; never wider than DKW's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenscore.curves import RocCurve
from evenscore.distributions import Distribution, check_rates
from evenscore.inference.bootstrap import RandomState, redraw, roc_replicates
from evenscore.inference.estimate import (
    SMALL_CELL,
    check_level,
    normal_quantile,
    wilson,
)
from evenscore.measures import inter_group_curve
from evenscore.scores import ClassName, GroupedScores

__all__ = [
    "Band",
    "BandKind",
    "dkw_constant",
    "pointwise_band",
    "roc_band",
    "roc_gap_band",
]

Floats = NDArray[np.float64]
BandKind = Literal["pointwise", "simultaneous", "dkw"]

_LEVELS = 4096  # the bootstrap sees samples through this many levels at most
_ANGLES = np.linspace(0.0, np.pi / 2.0, 17)[:, None]


@dataclass(frozen=True, eq=False)
class Band:
    """A curve over rates with its confidence band.

    `warnings` says where the band falls short of what its kind promises.
    """

    rates: Floats
    value: Floats
    low: Floats
    high: Floats
    confidence_level: float
    kind: BandKind
    warnings: tuple[str, ...] = ()

    def gap(self) -> Band:
        """The band of ROC(a) − a."""
        shifted = (part - self.rates for part in (self.value, self.low, self.high))
        value, low, high = shifted
        return replace(self, value=value, low=low, high=high)


def roc_band(
    curve: RocCurve,
    rates: ArrayLike,
    *,
    kind: BandKind = "simultaneous",
    confidence_level: float = 0.95,
    n_resamples: int = 500,
    random_state: RandomState = 0,
) -> Band:
    """The band of a ROC curve at the given rates.

    Measured (benchmarks/coverage.py): pointwise intervals cover as they should, and more than that
    where fewer than about five observations are expected above the cut; simultaneous bands cover
    at least 94 % at a nominal 95 % for cells of 50 and more. The DKW band needs no such proviso,
    unless observations are weighted: then effective sizes stand in, and it is an approximation.

    >>> one, two = Distribution.from_sample(range(100)), Distribution.from_sample(range(10, 110))
    >>> band = roc_band(RocCurve(one, two), [0.2, 0.5], kind="dkw")
    >>> bool(np.all((band.low <= band.value) & (band.value <= band.high)))
    True
    """
    level = check_level(confidence_level)
    rates = np.atleast_1d(check_rates(rates))
    value = curve.evaluate(rates)
    sizes = curve.reference.effective_size, curve.target.effective_size
    if min(sizes) == 0.0:
        nothing = np.full(rates.shape, np.nan)
        return Band(rates, value, nothing, nothing, level, kind, ("a sample is empty",))
    warnings: tuple[str, ...] = ()
    if kind == "pointwise":
        low, high = pointwise_band(curve, rates, normal_quantile(0.5 + level / 2.0))
    elif kind == "dkw":
        low, high = _shifted(curve, rates, dkw_constant(1.0 - level))
        if curve.reference.is_weighted or curve.target.is_weighted:
            warnings = ("with weights the DKW band is approximate: it uses effective sizes",)
    elif kind == "simultaneous":
        k = _calibrated(curve, rates, level, n_resamples, random_state)
        low, high = _shifted(curve, rates, k)
    else:
        raise ValueError(f"kind must be 'pointwise', 'simultaneous' or 'dkw', not {kind!r}.")
    if kind != "dkw" and min(sizes) < SMALL_CELL:
        warnings = (f"the smaller sample is worth {min(sizes):.0f} observations only",)
    return Band(rates, value, low, high, level, kind, warnings)


def dkw_constant(delta: float) -> float:
    """√(log(4/δ)/2): both empirical distribution functions are that over √n from the true ones.

    The Dvoretzky, Kiefer and Wolfowitz inequality with Massart's constant, for two samples.
    """
    return float(np.sqrt(np.log(4.0 / delta) / 2.0))


def _shifted(curve: RocCurve, rates: Floats, k: float) -> tuple[Floats, Floats]:
    e0, e1 = (k / np.sqrt(s.effective_size) for s in (curve.reference, curve.target))
    low = np.where(rates < e0, 0.0, curve.evaluate(np.maximum(rates - e0, 0.0)))
    high = curve.evaluate(np.minimum(rates + e0, 1.0))
    return np.maximum(low - e1, 0.0), np.minimum(high + e1, 1.0)


def _calibrated(
    curve: RocCurve, rates: Floats, level: float, n_resamples: int, random_state: RandomState
) -> float:
    """The smallest k for which the shifted band of a replicate holds the curve often enough.

    With ties in the reference the bootstrap is a little optimistic: it must then be right twice as
    often. (Measured; see benchmarks/coverage.py.)
    """
    tied = bool((curve.reference.values[1:] == curve.reference.values[:-1]).any()) or (
        curve.reference.n_observations > len(curve.reference)
    )
    wanted = 1.0 - (1.0 - level) / 2.0 if tied else level
    one, two = (s.homogeneous() for s in _coarsened(curve.reference, curve.target))
    rng = np.random.default_rng(random_state)
    weights = redraw(one, n_resamples, rng), redraw(two, n_resamples, rng)
    centre = RocCurve(one, two).evaluate(rates)
    e0, e1 = (1.0 / np.sqrt(s.effective_size) for s in (curve.reference, curve.target))

    def holds(k: float) -> float:
        low = roc_replicates(one, two, *weights, np.maximum(rates - k * e0, 0.0))
        low = np.where(rates < k * e0, 0.0, low) - k * e1
        high = roc_replicates(one, two, *weights, np.minimum(rates + k * e0, 1.0)) + k * e1
        inside = (low <= centre + 1e-12) & (centre <= high + 1e-12)
        return float(inside.all(axis=1).mean())

    lowest, highest = 0.0, dkw_constant(1.0 - level)
    for _ in range(9):
        middle = (lowest + highest) / 2.0
        lowest, highest = (lowest, middle) if holds(middle) >= wanted else (middle, highest)
    return highest


def _coarsened(*samples: Distribution) -> list[Distribution]:
    """The samples seen through at most `_LEVELS` common levels; small ones as they are."""
    if max(len(sample) for sample in samples) <= _LEVELS:
        return list(samples)
    values = np.sort(np.concatenate([sample.values for sample in samples]))
    cuts = np.unique(values[np.linspace(0, len(values) - 1, _LEVELS).astype(np.intp)])
    found = []
    for sample in samples:
        level = np.searchsorted(cuts, sample.values, side="left")
        starts = np.flatnonzero(np.append(True, level[1:] != level[:-1]))
        counts = np.ones(len(sample)) if sample.counts is None else sample.counts
        squares = np.square(sample.weights) if sample.squares is None else sample.squares
        sums = (np.add.reduceat(column, starts) for column in (sample.weights, counts, squares))
        found.append(Distribution(cuts[np.minimum(level[starts], len(cuts) - 1)], *sums))
    return found


def pointwise_band(curve: RocCurve, rates: Floats, z: float | Floats) -> tuple[Floats, Floats]:
    """Ends of the pointwise intervals of the curve at z standard errors (one z, or one a rate)."""
    n0, n1 = curve.reference.effective_size, curve.target.effective_size
    if curve.reference.n_observations > len(np.unique(curve.reference.values)):
        # Ties: the curve has jumps, and the cut may lie on either side of one. All splits
        # z² = z₀² + z₁² between the two sources are tried, and the widest counts.
        z0, z1 = z * np.sin(_ANGLES), z * np.cos(_ANGLES)
        left, right = wilson(rates, n0, z0)
        low = wilson(curve.evaluate(left), n1, z1)[0].min(axis=0)
        high = wilson(curve.evaluate(right), n1, z1)[1].max(axis=0)
        return low, high
    value = curve.evaluate(rates)
    left, right = wilson(rates, n0, z)
    low, high = wilson(value, n1, z)
    below, above = value - curve.evaluate(left), curve.evaluate(right) - value
    low, high = value - np.hypot(value - low, below), value + np.hypot(high - value, above)
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def roc_gap_band(
    scores: GroupedScores,
    on: ClassName,
    rates: ArrayLike,
    *,
    first: int = 0,
    second: int = 1,
    kind: BandKind = "simultaneous",
    confidence_level: float = 0.95,
    n_resamples: int = 500,
    random_state: RandomState = 0,
) -> Band:
    """The band of the ROC gap Δ between two groups, in a class, at the given rates."""
    return roc_band(
        inter_group_curve(scores, on, first, second),
        rates,
        kind=kind,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        random_state=random_state,
    ).gap()
