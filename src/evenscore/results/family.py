"""Which of many gaps lie beyond the tolerance, with one error probability for all of them.

An audit looks at ten or more gaps for every pair of groups. If each were called beyond the
tolerance whenever its own 95 % interval is, audits of eight even groups would find some in two of
five cases. Holm's correction keeps the probability of any such mistake at 1 − level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evenscore.inference.estimate import Estimate, adjust, normal_quantile, t_quantile

__all__ = ["beyond_all", "beyond_p_value"]


def beyond_p_value(estimate: Estimate, tolerance: float) -> float:
    """p-value of the hypothesis that the gap is at most the tolerance in magnitude.

    One minus the largest level at which the whole interval lies beyond. That of a ROC gap, whose
    interval does not scale with the level, comes with the estimate (`beyond_p_value`); for an AUC
    gap the end of the interval towards the tolerance is moved in proportion to Student's (or the
    normal) quantile of the level. NaN without an interval.

    >>> estimate = Estimate("gap", 0.2, 0.1, 0.3, 0.95, "t")
    >>> round(beyond_p_value(estimate, 0.1), 4), beyond_p_value(estimate, 0.25)
    (0.05, 1.0)
    """
    from scipy.special import ndtr, stdtr

    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return math.nan
    if not math.isnan(estimate.beyond_p_value):
        return estimate.beyond_p_value
    excess = abs(estimate.value) - tolerance
    if excess <= 0.0:
        return 1.0
    half = estimate.value - estimate.low if estimate.value > 0.0 else estimate.high - estimate.value
    if half <= 0.0:
        return 0.0
    freedom = estimate.degrees_of_freedom
    tail = 0.5 + estimate.confidence_level / 2.0
    if math.isinf(freedom):
        return float(2.0 * ndtr(-excess / half * normal_quantile(tail)))
    return float(2.0 * stdtr(freedom, -excess / half * t_quantile(tail, freedom)))


def beyond_all(
    estimates: Sequence[Estimate], tolerance: float, level: float, total: int
) -> NDArray[np.bool_]:
    """Which gaps lie beyond the tolerance, by Holm's correction over `total` of them.

    Those that were looked at and left out, as well as the ones without an interval, count as if
    their p-value were one. A gap that counts lies beyond with its own interval too.

    >>> estimate = Estimate("gap", 0.2, 0.11, 0.29, 0.95, "t")
    >>> beyond_all([estimate], 0.1, 0.95, 1), beyond_all([estimate], 0.1, 0.95, 2)
    (array([ True]), array([False]))
    """
    p_values = [beyond_p_value(estimate, tolerance) for estimate in estimates]
    padded = [1.0 if math.isnan(p) else p for p in p_values]
    adjusted = adjust([*padded, *[1.0] * (total - len(estimates))])[: len(estimates)]
    found: NDArray[np.bool_] = adjusted <= 1.0 - level + 1e-12
    return found
