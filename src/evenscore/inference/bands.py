"""Confidence bands of ROC curves and ROC gaps, pointwise and simultaneous.

Two things are uncertain: where the cut lies that selects a share a of the reference (e₀ of rate),
and which share of the target is above it (e₁). All bands here combine the two on the curve itself,
without estimating densities, so that they hold with ties. A curve `with_ties_split` has the same
bands: the laws of its scores, ties broken at random, are as near to those seen as the score's own
(between two levels both are linear), and its shares vary less than binomial ones.

- pointwise: the binomial range of the cut and Wilson's interval of the share, so that
  z₀² + z₁² = z²;
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
from evenscore.inference.bootstrap import RandomState, RocReplicates, redraw
from evenscore.inference.estimate import (
    SMALL_CELL,
    check_count,
    check_level,
    normal_quantile,
    percent,
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

_BATCH = 2_000_000  # replicate weights held at a time
_LEVELS = 4096  # the bootstrap sees samples through this many levels at most
_ANGLES = np.linspace(0.0, np.pi / 2.0, 17)[:, None]


@dataclass(frozen=True, eq=False)
class Band:
    """A curve over rates with its confidence band.

    `shift` is (e₀, e₁), how far the curve is moved in rate and in height (0 for pointwise ones).
    `warnings` says where the band falls short of what its kind promises.
    """

    rates: Floats
    value: Floats
    low: Floats
    high: Floats
    confidence_level: float
    kind: BandKind
    shift: tuple[float, float] = (0.0, 0.0)
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

    Measured at a nominal 95 % for cells of 50 to 2,000 (benchmarks/coverage.py): pointwise
    intervals cover at least 93 %, and more than 97 % where scores are tied or fewer than some 20
    observations are expected beyond the cut; simultaneous bands at least 94 %. The DKW band needs
    no such proviso, unless observations are weighted: then effective sizes stand in, and it is an
    approximation.

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
        return Band(rates, value, nothing, nothing, level, kind, warnings=("a sample is empty",))
    warnings: tuple[str, ...] = ()
    shift = (0.0, 0.0)
    if kind == "pointwise":
        low, high = pointwise_band(curve, rates, normal_quantile(0.5 + level / 2.0))
    elif kind in ("simultaneous", "dkw"):
        k = dkw_constant(1.0 - level)
        if kind == "simultaneous":
            check_count(n_resamples, "n_resamples", 2)
            k = _calibrated(curve, rates, level, n_resamples, random_state)
            if n_resamples * (1.0 - level) < 10.0:
                warnings = (f"{n_resamples} resamples are few for a level of {percent(level)}",)
        elif curve.reference.is_weighted or curve.target.is_weighted:
            warnings = ("with weights the DKW band is approximate: it uses effective sizes",)
        shift = _shift(sizes, k, level if kind == "simultaneous" else None)
        low, high = _shifted(curve, rates, shift)
    else:
        raise ValueError(f"kind must be 'pointwise', 'simultaneous' or 'dkw', not {kind!r}.")
    if kind != "dkw" and min(sizes) < SMALL_CELL:
        warnings = (*warnings, f"the smaller sample is worth {min(sizes):.0f} observations only")
    return Band(rates, value, low, high, level, kind, shift, warnings)


def dkw_constant(delta: float) -> float:
    """√(log(4/δ)/2): both empirical distribution functions are that over √n from the true ones.

    The Dvoretzky, Kiefer and Wolfowitz inequality with Massart's constant, for two samples.
    """
    return float(np.sqrt(np.log(4.0 / delta) / 2.0))


def _shift(sizes: tuple[float, float], k: float, level: float | None) -> tuple[float, float]:
    """(e₀, e₁) = k/√n, for the bootstrap at least log(2/δ)/n.

    Where a sample has nobody above (or below) a cut, resampling cannot see that the law may have: a
    share of up to log(2/δ)/n goes unseen with probability δ/2.
    """
    least = 0.0 if level is None else float(np.log(2.0 / (1.0 - level)))
    ceiling = dkw_constant(1.0 - level) if level is not None else k
    e0, e1 = (min(max(k / np.sqrt(n), least / n), ceiling / np.sqrt(n)) for n in sizes)
    return float(e0), float(e1)


def _shifted(curve: RocCurve, rates: Floats, shift: tuple[float, float]) -> tuple[Floats, Floats]:
    e0, e1 = shift
    low = np.where(rates < e0, 0.0, curve.evaluate(np.maximum(rates - e0, 0.0)))
    high = curve.evaluate(np.minimum(rates + e0, 1.0))
    return np.maximum(low - e1, 0.0), np.minimum(high + e1, 1.0)


def _calibrated(
    curve: RocCurve, rates: Floats, level: float, n_resamples: int, random_state: RandomState
) -> float:
    """The smallest k for which the shifted band of a replicate holds the curve often enough.

    Every replicate has its own smallest k, found by bisection; the answer is their quantile. With
    ties in the reference, and with weights, the bootstrap is a little optimistic: its error must
    then be a third as frequent, or half. (Measured; see benchmarks/coverage.py.)
    """
    tied = curve.reference.is_tied
    weighted = curve.reference.is_weighted or curve.target.is_weighted
    wanted = 1.0 - (1.0 - level) / (3.0 if tied else 1.0) / (2.0 if weighted else 1.0)
    one, two = (s.homogeneous() for s in _coarsened(curve.reference, curve.target))
    rng = np.random.default_rng(random_state)
    centre = RocCurve(one, two, ties_split=curve.ties_split).evaluate(rates)
    e0, e1 = (1.0 / np.sqrt(s.effective_size) for s in (curve.reference, curve.target))
    batch = max(1, _BATCH // (len(one) + len(two) + len(rates)))
    smallest = []
    for start in range(0, n_resamples, batch):
        size = min(batch, n_resamples - start)
        drawn = redraw(one, size, rng), redraw(two, size, rng)
        replicates = RocReplicates(one, two, *drawn, curve.ties_split)
        lowest, highest = np.zeros((size, 1)), np.full((size, 1), dkw_constant(1.0 - level))
        for _ in range(9):
            k = (lowest + highest) / 2.0
            left, right = rates - k * e0, np.minimum(rates + k * e0, 1.0)
            low = replicates.evaluate(np.maximum(left, 0.0))
            low = np.where(left < 0.0, 0.0, low) - k * e1
            high = replicates.evaluate(right) + k * e1
            inside = (low <= centre + 1e-12) & (centre <= high + 1e-12)
            holds = inside.all(axis=1, keepdims=True)
            lowest, highest = np.where(holds, lowest, k), np.where(holds, k, highest)
        smallest.append(highest[:, 0])
    return float(np.quantile(np.concatenate(smallest), wanted, method="higher"))


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
    if curve.reference.is_tied and not curve.ties_split:
        # Ties: the curve has jumps, and the cut may lie on either side of one. All splits
        # z² = z₀² + z₁² between the two sources are tried, and the widest counts.
        z0, z1 = z * np.sin(_ANGLES), z * np.cos(_ANGLES)
        left, right = _cut_limits(curve, rates, n0, z0, tied=True)
        return wilson(left, n1, z1)[0].min(axis=0), wilson(right, n1, z1)[1].max(axis=0)
    value = curve.evaluate(rates)
    left, right = _cut_limits(curve, rates, n0, z, tied=False)
    low, high = wilson(value, n1, z)
    low = value - np.hypot(value - low, value - left)
    high = value + np.hypot(high - value, right - value)
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def _cut_limits(
    curve: RocCurve, rates: Floats, size: float, z: float | Floats, *, tied: bool
) -> tuple[Floats, Floats]:
    """The least and the largest height of the curve where the cut may lie.

    Of the reference, N ~ Binomial(n, rate) lie above the true cut, which is therefore below the
    N-th largest and not below the next: N is taken at its quantiles. With N = 0 the cut may lie
    above the whole sample and any share of the target, even none, may be above it; likewise N = n.
    """
    from scipy.special import bdtrik, ndtr

    tail = ndtr(-np.asarray(z))
    least, most = (np.ceil(np.nan_to_num(bdtrik(p, size, rates))) for p in (tail, 1.0 - tail))
    sure = (rates == 0.0) | (rates == 1.0)
    least, most = np.where(sure, rates * size, least), np.where(sure, rates * size, most)
    most = np.where((1.0 - tail < 1.0) | sure, most, size)  # beyond the precision of a double
    low, high = (curve.evaluate(np.clip((n - 1.0) / size, 0.0, 1.0)) for n in (least, most + 1.0))
    if not tied:  # halfway between the two order statistics; with ties the ends themselves
        low = 0.5 * (low + curve.evaluate(np.clip(least / size, 0.0, 1.0)))
        high = 0.5 * (high + curve.evaluate(np.clip((most - 1.0) / size, 0.0, 1.0)))
    low = np.where((least <= 0.0) & ~sure, 0.0, np.where(sure, curve.evaluate(rates), low))
    high = np.where((most >= size) & ~sure, 1.0, np.where(sure, curve.evaluate(rates), high))
    return low, high


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
