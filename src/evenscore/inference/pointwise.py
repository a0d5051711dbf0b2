"""Intervals of a ROC curve at single rates: where the cut may lie, and the share above it.

All splits z² = z₀² + z₁² between the cut and the share above it are tried, and the widest counts.
Where the curve is a line between the cuts that may be the true one, that is adding the two errors
in squares; where it jumps, by a tie or between two clusters, the cut may lie on either side of the
jump. The larger z, the wider: intervals of two levels are nested.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenscore.inference.intervals import wilson
from evenscore.scores.arrays import Floats, Ints
from evenscore.scores.curve import RocCurve

_ANGLES = np.linspace(0.0, np.pi / 2.0, 9)[:, None]  # the widest of these is within 0.5 %
# Standard errors of the share: the curve rises by so much at one order statistic only where it
# jumps. Halfway up a jump intervals of cells of 30 hold in 92 %, at its foot in 95 % and more
# (benchmarks/covering/jumps.py).
_STEP = 3.0
_LARGE = 60.0  # variance of a binomial law from which its quantiles are expanded


@dataclass(frozen=True, eq=False)
class PointwiseIntervals:
    """The intervals of a curve at some rates, at any level."""

    curve: RocCurve
    rates: Floats

    @cached_property
    def value(self) -> Floats:
        """The curve itself."""
        return np.asarray(self.curve.evaluate(self.rates))

    @cached_property
    def _sizes(self) -> tuple[Floats, Floats, Floats]:
        """Observations behind the cut and behind the share, and what counts as a jump."""
        behind = self.curve.reference.size_behind(self.rates)
        size = self.curve.target.size_behind(self.value)
        error = np.sqrt(np.maximum(self.value * (1.0 - self.value), 1.0 / size) / size)
        step = _STEP * np.maximum(error, 1.0 / behind)
        if self.curve.reference.is_tied and not self.curve.ties_split:
            step = np.zeros_like(step)
        return behind, size, step

    def at(self, z: float | Floats, some: Ints | None = None) -> tuple[Floats, Floats]:
        """The ends at z standard errors (one z, or one per rate), of all rates or of some."""
        columns = (self.rates, self.value, *self._sizes)
        rates, value, behind, size, step = (
            column if some is None else column[some] for column in columns
        )
        z0, z1 = z * np.sin(_ANGLES), z * np.cos(_ANGLES)
        left, right = _cut_limits(self.curve, rates, behind, z0, step)
        low, high = wilson(left, size, z1)[0], wilson(right, size, z1)[1]
        return np.minimum(low.min(axis=0), value), np.maximum(high.max(axis=0), value)


def pointwise_band(curve: RocCurve, rates: Floats, z: float | Floats) -> tuple[Floats, Floats]:
    """Ends of the pointwise intervals of the curve at z standard errors, one or one per rate."""
    return PointwiseIntervals(curve, rates).at(z)


def _cut_limits(
    curve: RocCurve, rates: Floats, size: Floats, z: Floats, step: Floats
) -> tuple[Floats, Floats]:
    """The least and the largest height of the curve where the cut may lie.

    Of the reference, N ~ Binomial(n, rate) lie above the true cut, which is therefore below the
    N-th largest and not below the next: N is taken at its quantiles. With N = 0 the cut may lie
    above the whole sample and any share of the target, even none, may be above it; likewise N = n.
    """
    sure = (rates == 0.0) | (rates == 1.0)
    least, most = np.where(sure, rates * size, np.ceil(_binomial_quantiles(z, size, rates)))
    # Halfway between two order statistics; at a step of the curve its far end.
    ends = np.stack((least - 1.0, most, least, most - 1.0))
    outer, inner = curve.evaluate(np.clip(ends / size, 0.0, 1.0)).reshape(2, 2, *least.shape)
    low, high = np.where(np.abs(inner - outer) > step, outer, 0.5 * (outer + inner))
    value = curve.evaluate(rates) if sure.any() else low
    low = np.where((least <= 0.0) & ~sure, 0.0, np.where(sure, value, low))
    high = np.where((most >= size) & ~sure, 1.0, np.where(sure, value, high))
    return low, high


def _binomial_quantiles(z: Floats, size: Floats, rates: Floats) -> Floats:
    """Quantiles of Binomial(size, rate) at −z and z, its distribution function made continuous.

    Of a large variance by Cornish and Fisher's expansion, which is off by a seventh of an
    observation at most, and a hundred times as fast.
    """
    from scipy.special import bdtrik, ndtr

    z, size, rates = np.broadcast_arrays(z, size, rates)
    variance = size * rates * (1.0 - rates)
    tail = ndtr(-z)
    quantiles = np.empty((2, *z.shape))
    large = (variance > _LARGE) & (z < 0.75 * np.sqrt(variance))
    if large.any():
        s = np.sqrt(variance[large])
        skew = (1.0 - 2.0 * rates[large]) / s
        tall = (1.0 - 6.0 * rates[large] * (1.0 - rates[large])) / s**2
        for k, sign in enumerate((-1.0, 1.0)):
            x = sign * z[large]
            bend = (x**2 - 1.0) * skew / 6.0 + (x**3 - 3.0 * x) * tall / 24.0
            bend -= (2.0 * x**3 - 5.0 * x) * skew**2 / 36.0
            quantiles[k][large] = (size * rates)[large] - 0.5 + s * (x + bend)
    rest = ~large
    if rest.any():
        n, p, t = size[rest], rates[rest], tail[rest]
        quantiles[0][rest] = np.nan_to_num(bdtrik(t, n, p))
        most = np.nan_to_num(bdtrik(1.0 - t, n, p))
        quantiles[1][rest] = np.where(1.0 - t < 1.0, most, n)  # the precision of a double
    return np.clip(quantiles, 0.0, size)
