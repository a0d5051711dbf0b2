"""Which gaps lie beyond the tolerance, and which within: the only place that decides.

An audit looks at ten or more gaps for every pair of groups. If each were called beyond the
tolerance whenever its own 95 % interval is, audits of eight even groups would find some in two of
five cases. Holm's correction keeps the probability of any such mistake at 1 − level.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evenscore.inference.estimate import Estimate, Verdict
from evenscore.inference.intervals import normal_quantile, t_quantile
from evenscore.scores.arrays import Bools, Floats


def adjust(p_values: Sequence[float]) -> Floats:
    """Holm's adjusted p-values, in the order given."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p)[: int(np.sum(~np.isnan(p)))]  # NaN sorts last
    steps = np.minimum(1.0, p[order] * np.arange(len(order), 0, -1))
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.maximum.accumulate(steps) if len(order) else steps
    return adjusted


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


def verdict_alone(estimate: Estimate, tolerance: float) -> Verdict:
    """Where the whole interval of a gap lies: beyond the tolerance, within it, or neither.

    "undefined" means that there is no interval; the estimate's warnings say why. This is about one
    gap alone: `decide` accounts for the others that were looked at.

    >>> verdict_alone(Estimate("gap", 0.2, 0.1, 0.3, 0.95, "t"), 0.05)
    'beyond'
    """
    if not estimate.has_interval:
        return "undefined"
    if estimate.low > tolerance or estimate.high < -tolerance:
        return "beyond"
    if estimate.low >= -tolerance and estimate.high <= tolerance:
        return "within"
    return "unclear"


def decide(
    estimates: Sequence[Estimate], tolerance: float, level: float, total: int
) -> list[Estimate]:
    """The same gaps with their verdicts and adjusted p-values, `total` having been looked at.

    "within": the gap's whole interval lies within the tolerance. "beyond": the whole interval lies
    beyond, and still does so after Holm's correction over all gaps looked at, so that with the
    confidence level *no* gap is called beyond that is not. A gap that would be beyond on its own
    only is "unclear": among many, some such come by chance. Gaps that were looked at and left out
    count as if their p-value were one.

    >>> gap = Estimate("gap", 0.2, 0.11, 0.29, 0.95, "t", p_value=0.001)
    >>> [[e.verdict for e in decide([gap], 0.1, 0.95, total)] for total in (1, 2)]
    [['beyond'], ['unclear']]
    """
    left_out = [1.0] * (total - len(estimates))
    adjusted = adjust([*(estimate.p_value for estimate in estimates), *left_out])
    beyond = beyond_all(estimates, tolerance, level, total)
    decided = []
    for k, estimate in enumerate(estimates):
        verdict = verdict_alone(estimate, tolerance)
        if verdict == "beyond" and not beyond[k]:
            verdict = "unclear"
        decided.append(replace(estimate, verdict=verdict, adjusted_p_value=float(adjusted[k])))
    return decided


def beyond_p_value(estimate: Estimate, tolerance: float) -> float:
    """p-value of the hypothesis that the gap is at most the tolerance in magnitude.

    One minus the largest level at which the whole interval lies beyond. Families invert their own
    intervals, which do not scale with the level, and bring it along (`Estimate.beyond_p_value`);
    for any other estimate the end of the interval towards the tolerance is moved in proportion to
    Student's (or the normal) quantile of the level. NaN without an interval.

    >>> estimate = Estimate("gap", 0.2, 0.1, 0.3, 0.95, "t")
    >>> round(beyond_p_value(estimate, 0.1), 4), beyond_p_value(estimate, 0.25)
    (0.05, 1.0)
    """
    from scipy.special import ndtr, stdtr

    if not estimate.has_interval:
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


def beyond_all(estimates: Sequence[Estimate], tolerance: float, level: float, total: int) -> Bools:
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
    return np.asarray(adjusted <= 1.0 - level + 1e-12)
