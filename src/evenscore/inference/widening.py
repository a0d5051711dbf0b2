"""An estimate with an error that its interval does not account for: a variance, or a bracket."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evenscore.inference.estimate import Estimate
from evenscore.inference.intervals import Intervals, invert, t_quantile
from evenscore.scores.arrays import Floats

NO_BRACKET = (
    "no interval: the scores are grouped into bins, and how far the unknown order within them "
    "matters to this gap is not known"
)


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


# ---------------------------------------------------------------------- brackets


def bracketed_intervals(intervals: Intervals, brackets: Floats) -> Intervals:
    """Intervals whose values may be off by so much; none where it is not known by how much.

    Ends do not leave −1 to 1, unless they did before.

    >>> ends = bracketed_intervals(lambda z: (-0.1 * z, 0.6 * z), np.array([0.1, 0.5]))
    >>> low, high = ends(np.ones(2))
    >>> low.round(2), high.round(2)
    (array([-0.2, -0.6]), array([0.7, 1. ]))
    """

    def ends(z: Floats) -> tuple[Floats, Floats]:
        low, high = intervals(z)
        return (
            np.maximum(low - brackets, np.minimum(low, -1.0)),
            np.minimum(high + brackets, np.maximum(high, 1.0)),
        )

    return ends


def bracketed(
    estimates: Sequence[Estimate], brackets: Floats, intervals: Intervals
) -> list[Estimate]:
    """The same estimates, whose values may be off by so much; `intervals` are without that.

    The p-value is one minus the largest level whose wider interval leaves out zero, and no less
    than it was. Where it is not known by how much a value may be off, there is no interval.
    """
    wide = bracketed_intervals(intervals, brackets)
    p_values = invert(wide, len(estimates)).tolist()
    found = []
    for k, (estimate, bracket) in enumerate(zip(estimates, brackets.tolist(), strict=True)):
        if math.isnan(estimate.value) or bracket == 0.0:
            found.append(estimate)
            continue
        low, high = estimate.low - bracket, estimate.high + bracket
        moved = replace(
            estimate,
            low=max(low, min(estimate.low, -1.0)) if low == low else math.nan,
            high=min(high, max(estimate.high, 1.0)) if high == high else math.nan,
            p_value=max(p_values[k], estimate.p_value) if low == low else math.nan,
            bracket=bracket,
        )
        if math.isnan(bracket):
            moved = replace(moved, bracket=0.0, warnings=(NO_BRACKET, *estimate.warnings))
        found.append(moved)
    return found
