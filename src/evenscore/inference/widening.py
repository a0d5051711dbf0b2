"""An estimate with an error that its interval does not account for yet."""

import math
from dataclasses import replace

from evenscore.inference.estimate import Estimate
from evenscore.inference.intervals import t_quantile


def widened(estimate: Estimate, variance: float, source: str) -> Estimate:
    """The same value with a wider interval: another variance adds to that of the estimate.

    Each end moves away from the value as if its distance were a quantile times a standard error:
    the squares add. The p-value follows the interval: one minus the level at which it would reach
    zero, the end towards zero moving in proportion to the quantile, and no less than it was.
    `source` says in `method` where the variance comes from. What others made of the narrower
    interval (`adjusted_p_value`, `verdict` and its tests) is left to be made again. Without an
    interval, or without a variance, nothing changes.

    >>> estimate = Estimate("gap", 0.06, 0.03, 0.09, 0.95, "t", 0.0153, p_value=0.0001)
    >>> wide = widened(estimate, 0.0204**2, "training")
    >>> f"{wide.low:.2f} {wide.high:.2f} {wide.standard_error:.4f} {wide.p_value:.3f}"
    '0.01 0.11 0.0255 0.019'
    """
    if not estimate.has_interval or not variance > 0.0:
        return estimate
    value, level = estimate.value, estimate.confidence_level
    moved = t_quantile(0.5 + level / 2.0, estimate.degrees_of_freedom) * math.sqrt(variance)
    below = math.hypot(max(value - estimate.low, 0.0), moved)
    above = math.hypot(max(estimate.high - value, 0.0), moved)
    wide = replace(
        estimate,
        low=max(value - below, min(-1.0, estimate.low)),
        high=min(value + above, max(1.0, estimate.high)),
        standard_error=math.hypot(estimate.standard_error, math.sqrt(variance)),
        method=f"{estimate.method}, {source}",
        adjusted_p_value=math.nan,
        verdict=None,
        beyond_test=None,
        within_test=None,
    )
    return replace(wide, p_value=_p_value(wide, below if value > 0.0 else above))


def _p_value(estimate: Estimate, distance: float) -> float:
    """That of the hypothesis that the value is zero, given how far the end towards zero lies."""
    from scipy.special import stdtr

    if math.isnan(estimate.p_value):
        return math.nan
    freedom = min(estimate.degrees_of_freedom, 1e9)  # beyond, Student's law is the normal one
    quantile = t_quantile(0.5 + estimate.confidence_level / 2.0, freedom)
    p_value = 2.0 * float(stdtr(freedom, -abs(estimate.value) / distance * quantile))
    # Rounding must not set the p-value on the other side of the level than the interval.
    error = 1.0 - estimate.confidence_level
    if estimate.differs_from_zero:
        return max(min(p_value, error), estimate.p_value)
    return max(p_value, math.nextafter(error, 1.0), estimate.p_value)
