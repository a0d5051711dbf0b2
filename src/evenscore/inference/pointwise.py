"""Intervals of a ROC curve at single rates: where the cut may lie, and the share above it."""

import numpy as np

from evenscore.inference.intervals import wilson
from evenscore.scores.arrays import Floats
from evenscore.scores.curve import RocCurve

_ANGLES = np.linspace(0.0, np.pi / 2.0, 17)[:, None]
_STEEP = 3.0  # times the width of Wilson's interval: the curve is no line between the cuts


def pointwise_band(curve: RocCurve, rates: Floats, z: float | Floats) -> tuple[Floats, Floats]:
    """Ends of the pointwise intervals of the curve at z standard errors (one z, or one a rate).

    Where the curve is about a line between the cuts that may be the true one, the errors of the cut
    and of the share above it add in squares; where it is not (`_STEEP`), the widest counts.
    """
    n0, size = curve.reference.size_behind(rates), curve.target.size_behind
    if curve.reference.is_tied and not curve.ties_split:
        return _widest(curve, rates, n0, z)
    value = curve.evaluate(rates)
    left, right = _cut_limits(curve, rates, n0, z, tied=False)
    low, high = wilson(value, size(value), z)
    steep = right - left > _STEEP * (high - low)
    low = np.maximum(value - np.hypot(value - low, value - left), 0.0)
    high = np.minimum(value + np.hypot(high - value, right - value), 1.0)
    if steep.any():
        z_steep = np.broadcast_to(z, rates.shape)[steep]
        worst = _widest(curve, rates[steep], n0[steep], z_steep)
        low[steep], high[steep] = (
            np.minimum(low[steep], worst[0]),
            np.maximum(high[steep], worst[1]),
        )
    return low, high


def _widest(curve: RocCurve, rates: Floats, n0: Floats, z: float | Floats) -> tuple[Floats, Floats]:
    """Where the curve jumps, by a tie or between two clusters: the cut may lie on either side.

    All splits z² = z₀² + z₁² between the cut and the share above it are tried, and the widest
    counts.
    """
    size = curve.target.size_behind
    z0, z1 = z * np.sin(_ANGLES), z * np.cos(_ANGLES)
    left, right = _cut_limits(curve, rates, n0, z0, tied=True)
    low, high = wilson(left, size(left), z1)[0], wilson(right, size(right), z1)[1]
    return low.min(axis=0), high.max(axis=0)


def _cut_limits(
    curve: RocCurve, rates: Floats, size: Floats, z: float | Floats, *, tied: bool
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
    # With ties the ends themselves; otherwise halfway between two order statistics.
    ends = (least - 1.0, most) if tied else (least - 1.0, most, least, most - 1.0)
    heights = curve.evaluate(np.clip(np.stack(ends) / size, 0.0, 1.0))
    low, high = heights if tied else 0.5 * (heights[:2] + heights[2:])
    value = curve.evaluate(rates) if sure.any() else low
    low = np.where((least <= 0.0) & ~sure, 0.0, np.where(sure, value, low))
    high = np.where((most >= size) & ~sure, 1.0, np.where(sure, value, high))
    return low, high
