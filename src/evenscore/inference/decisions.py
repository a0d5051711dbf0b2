"""Which gaps lie beyond the tolerance, and which within: the only place that decides.

An audit looks at ten or more gaps for every pair of groups. If each were judged by its own
interval, audits of eight even groups would call some gap beyond in two of five cases, and one audit
in four of five groups would call some gap within that is not. Both mistakes are held to
α = 1 − level over all m gaps looked at:

- "beyond": Holm's procedure on the tests of |gap| ≤ tolerance. The test at level a rejects if the
  whole (1 − a) interval lies beyond.
- "within": the tests of |gap| > tolerance reject at level a if the whole (1 − 2a) interval lies
  within (two one-sided tests). If all m reject at α, all gaps are within: that is one statement,
  false with probability α at most, whatever their number (intersection-union), and the intervals
  are those of 90 % for a level of 95 %. Single gaps are found by Holm's procedure. Both together
  keep α if the tests depend on each other positively, as for Hochberg's procedure, of which they
  are a part.
- "unclear" otherwise: the data cannot tell.

With the verdict come the adjusted p-values and the very intervals by which it was made, at the
level at which Holm's procedure tested the gap: they cannot contradict each other, since intervals
of two levels are nested.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evenscore.inference.estimate import Estimate, GapTest, Verdict, check_between
from evenscore.inference.intervals import (
    Intervals,
    largest_quantile,
    normal_quantile,
    student,
)
from evenscore.scores.arrays import Bools, Floats


def adjust(p_values: Sequence[float] | Floats) -> Floats:
    """Holm's adjusted p-values, in the order given."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")[: int(np.sum(~np.isnan(p)))]  # NaN sorts last
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


# ---------------------------------------------------------------------- Holm's procedure, in steps


class Steps(NamedTuple):
    """Holm's procedure over some tests: adjusted p-values, and the level each was tested at."""

    adjusted: Floats
    level: Floats

    def rejected(self, alpha: float) -> Bools:
        """Which hypotheses are rejected."""
        return np.asarray(self.adjusted <= alpha)


def holm_steps(p_values: Floats, total: int, alpha: float) -> Steps:
    """The steps for some of `total` tests; the others count as if their p-value were one.

    A rejected hypothesis is tested at α/(m − k), k others having been rejected before it; one that
    is not, at the level at which the procedure stopped.

    >>> steps = holm_steps(np.array([0.04, 0.001]), 2, 0.05)
    >>> steps.adjusted.tolist(), steps.level.tolist()
    ([0.04, 0.002], [0.05, 0.025])
    """
    padded = np.concatenate([np.nan_to_num(p_values, nan=1.0), np.ones(total - len(p_values))])
    adjusted = adjust(padded)
    rank = np.empty(total)
    rank[np.argsort(padded, kind="stable")] = np.arange(total)
    rejected = int(np.sum(adjusted <= alpha))
    level = alpha / (total - np.minimum(rank, min(rejected, total - 1)))
    return Steps(adjusted[: len(p_values)], level[: len(p_values)])


# ---------------------------------------------------------------------- verdicts


def decide(
    estimates: Sequence[Estimate],
    tolerance: ArrayLike,
    level: float,
    *,
    intervals: Intervals | None = None,
    total: int | None = None,
) -> list[Estimate]:
    """The same gaps with their verdicts, by the tests described above.

    Parameters
    ----------
    estimates : gaps
        With their own intervals.
    tolerance : float, or one per gap
        The largest gap that counts as even.
    level : float
        The confidence that no gap is called beyond that is not, and that none is called within.
    intervals : function of normal quantiles, optional
        The ends of the intervals of all these gaps at any level; by default those of the estimates
        moved in proportion to Student's (or the normal) quantile.
    total : int, optional
        How many gaps were looked at, if more than are here.

    >>> gap = Estimate("gap", 0.2, 0.11, 0.29, 0.95, "t")
    >>> [decide([gap], 0.1, 0.95, total=total)[0].verdict for total in (1, 2)]
    ['beyond', 'unclear']
    >>> even = Estimate("gap", 0.0, -0.06, 0.06, 0.95, "t")  # the 90 % interval ends at 0.05
    >>> [gap.verdict for gap in decide([even, even], 0.05, 0.95)]
    ['unclear', 'unclear']
    >>> [gap.verdict for gap in decide([even, even], 0.052, 0.95)]
    ['within', 'within']
    """
    if not estimates:
        return []
    intervals = scaled(estimates) if intervals is None else intervals
    total = len(estimates) if total is None else total
    limit = np.broadcast_to(np.asarray(tolerance, dtype=np.float64), len(estimates))
    alpha = 1.0 - level
    known = np.array([estimate.has_interval for estimate in estimates])
    far = _Sides(intervals, known, limit, beyond=True)
    near = _Sides(intervals, known, limit, beyond=False)
    beyond = holm_steps(far.p_values(alpha), total, alpha)
    p_values = near.p_values(alpha)
    within = holm_steps(p_values, total, alpha)
    # NaN and gaps that are not here count as one: then not all are known to be within.
    worst = float(np.nan_to_num(p_values, nan=1.0).max()) if len(p_values) == total else 1.0
    if worst <= alpha:
        within = Steps(
            np.minimum(within.adjusted, worst), np.full(len(estimates), alpha, dtype=np.float64)
        )
    tests = far.tests(beyond, alpha), near.tests(within, alpha)
    adjusted = adjust([*(e.p_value for e in estimates), *[1.0] * (total - len(estimates))])
    decided = []
    for k, (estimate, outer, inner) in enumerate(zip(estimates, *tests, strict=True)):
        verdict: Verdict = "unclear"
        if outer is None or inner is None:
            verdict = "undefined"
        elif outer.p_value <= alpha:
            verdict = "beyond"
        elif inner.p_value <= alpha:
            verdict = "within"
        decided.append(
            replace(
                estimate,
                verdict=verdict,
                adjusted_p_value=float(adjusted[k]),
                beyond_test=outer,
                within_test=inner,
            )
        )
    return decided


class _Sides(NamedTuple):
    """The tests of all gaps against the tolerance, from one side: beyond it, or within."""

    intervals: Intervals
    known: Bools
    limit: Floats
    beyond: bool

    def _quantile(self, alpha: Floats) -> Floats:
        """The quantile of the interval that a test at level alpha looks at: one side, or both."""
        from scipy.special import ndtri

        return np.asarray(-ndtri(alpha / 2.0 if self.beyond else alpha))

    def _hold(self, low: Floats, high: Floats) -> Bools:
        if self.beyond:
            return np.asarray((low > self.limit) | (high < -self.limit))
        return np.asarray((low >= -self.limit) & (high <= self.limit))

    def p_values(self, alpha: float) -> Floats:
        """One minus the largest level at which the whole interval is there; NaN without one.

        Where it is not there at the level itself the question is answered, and the p-value is one.
        """
        from scipy.special import ndtr

        n = len(self.known)
        start = np.where(self.known, self._quantile(np.full(n, alpha)), np.nan)
        some = self._hold(*self.intervals(start))
        found = np.where(self.known, 1.0, np.nan)
        if some.any():
            z = largest_quantile(
                lambda z: self._hold(*self.intervals(np.where(some, z, np.nan))), n
            )
            p = ndtr(-z) * (2.0 if self.beyond else 1.0)
            found[some] = np.minimum(p[some], alpha)  # bisection may stop just short of it
        return found

    def tests(self, steps: Steps, alpha: float) -> list[GapTest | None]:
        """The tests with the intervals that they looked at."""
        low, high = self.intervals(np.where(self.known, self._quantile(steps.level), np.nan))
        rejected = steps.rejected(alpha)
        level = 1.0 - steps.level * (1.0 if self.beyond else 2.0)
        tests: list[GapTest | None] = []
        for k in range(len(low)):
            if np.isnan(low[k]) or np.isnan(high[k]):
                tests.append(None)
                continue
            ends = self._agreeing(float(low[k]), float(high[k]), float(self.limit[k]), rejected[k])
            tests.append(GapTest(float(steps.adjusted[k]), *ends, float(level[k])))
        return tests

    def _agreeing(
        self, low: float, high: float, limit: float, rejected: bool
    ) -> tuple[float, float]:
        """The ends, on the side of the tolerance that the p-value says: both are found to 1e-5."""
        if not self.beyond:
            if rejected:
                return max(low, -limit), min(high, limit)
            if low >= -limit and high <= limit:  # by rounding; the nearer end
                if limit - high <= low + limit:
                    return low, math.nextafter(limit, math.inf)
                return math.nextafter(-limit, -math.inf), high
            return low, high
        positive = low + high > 0.0
        if rejected:
            if positive:
                return max(low, math.nextafter(limit, math.inf)), high
            return low, min(high, math.nextafter(-limit, -math.inf))
        return (min(low, limit), high) if positive else (low, max(high, -limit))


def scaled(estimates: Sequence[Estimate]) -> Intervals:
    """Intervals at any level, from those that estimates have: ends move like Student's quantile.

    >>> low, high = scaled([Estimate("gap", 0.2, 0.1, 0.4, 0.95, "t")])(np.array([2.94]))
    >>> low.round(3), high.round(3)
    (array([0.05]), array([0.5]))
    """
    columns = [(e.value, e.low, e.high, e.confidence_level) for e in estimates]
    value, low, high, level = np.array(columns, dtype=np.float64).reshape(-1, 4).T
    freedom = np.minimum([e.degrees_of_freedom for e in estimates], 1e9)
    own = np.array([normal_quantile(0.5 + part / 2.0) for part in np.nan_to_num(level, nan=0.95)])

    def intervals(z: Floats) -> tuple[Floats, Floats]:
        factor = np.minimum(student(z, freedom) / student(own, freedom), 1e9)  # finite
        return value - factor * (value - low), value + factor * (high - value)

    return intervals


def detectable(
    estimate: Estimate, tolerance: float, level: float, total: int, power: float = 0.8
) -> float:
    """The smallest true gap that is called beyond the tolerance with the given power.

    By Holm's first step over `total` gaps: tolerance + (t + z) standard errors, t being Student's
    quantile at 1 − α/(2 total) and z the normal one of the power.

    >>> gap = Estimate("gap", 0.0, -0.02, 0.02, 0.95, "t", standard_error=0.01)
    >>> round(detectable(gap, 0.05, 0.95, 1), 3), round(detectable(gap, 0.05, 0.95, 12), 3)
    (0.078, 0.087)
    """
    wanted = normal_quantile(check_between(power, "power"))
    z = normal_quantile(1.0 - (1.0 - level) / (2.0 * max(total, 1)))
    t = float(student(np.asarray(z), np.asarray(min(estimate.degrees_of_freedom, 1e9))))
    return tolerance + (t + wanted) * estimate.standard_error + estimate.bracket
