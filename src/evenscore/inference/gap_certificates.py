"""Certificates of gaps of any kind: all of them are at most a tolerance ε, as one statement.

*Equivalence.* For every gap two one-sided tests, that it is more than ε and that it is less than
−ε, reject at level δ if its interval of level 1 − 2δ lies within ±ε. If all gaps are within, then
"all are at most ε" is one statement that is false with probability δ at most: were some gap larger,
its own test would pass by mistake no more often than that (intersection-union; nothing is to be
corrected for). The smallest ε that the same data would have certified is the end of those intervals
that lies farthest from zero, the *reach*.

Where a cell is small, intervals are right to first order only. With twenty positives of a group,
nearly all of whom outrank all negatives, gaps in bnsp at the tolerance were certified in 6.1 % of
8,000 samples instead of 5 %. Quantiles are therefore taken 1 + 1/m times as large, m being how many
independent people the smallest cell is worth: then 4.8 % of 6,000 were. Elsewhere, in cells from
twelve to 360, it was 3.4 % to 5.3 % of 2,000 before.

*How many people would decide.* With c times as many people intervals are √c times shorter: those of
normal quantile z are then what those of z/√c are now. Let a_k be the largest quantile at which an
end of the k-th interval is still within, if the gaps are as seen. It will be within with c times
the people unless chance moves it by more than √c a_k − z standard errors, so that all are certified
nine times out of ten if Σ Φ(z − √c a_k) ≤ 0.1, over both ends of all gaps. A gap seen to be larger
than ε is instead shown to be so nine times out of ten if √c b ≥ z' + 1.28, where b is how many
standard errors it lies beyond ε and z' is the quantile corrected for the number of gaps.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evenscore.inference.cut_bounds import POWER
from evenscore.inference.estimate import check_between, check_level, percent
from evenscore.inference.intervals import Intervals, largest_quantile, normal_quantile
from evenscore.scores.arrays import Floats

Decision = Literal["", "certify", "refute"]
ProofMethod = Literal["equivalence", "intersection_union"]

_ROUNDING = 1e-12


@dataclass(frozen=True)
class GapCertificate:
    """That all gaps of a constraint are at most a tolerance, or by how much that is missed.

    `reach` is the smallest tolerance that would have been certified, NaN if none could be. `title`
    names the gap that stands farthest out and `gap` is its size as seen. If it is not certified,
    `times` is how many times the people would have decided nine times out of ten, were the gaps as
    seen: to "certify" it or to "refute" it, as `decision` says; infinite if no number would, NaN if
    it is certified or if nobody asked. `smallest` is the smallest cell and how many are in it.

    >>> print(certify_gaps(
    ...     np.array([0.01]), ["bnsp, a and b"], lambda z: (0.01 - 0.02 * z, 0.01 + 0.02 * z),
    ...     constraint="bnsp", tolerance=0.05))
    Certified with 95% confidence: the gaps in bnsp are at most 0.05 between groups.
    """

    constraint: str
    method: ProofMethod
    tolerance: float
    confidence_level: float
    certified: bool
    reach: float
    gap: float
    title: str
    times: float
    decision: Decision
    smallest: tuple[str, int]
    words: str
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.words

    @property
    def missed_by(self) -> float:
        """By how much the tolerance is missed; NaN if nothing can be told, 0 if it is certified."""
        return 0.0 if self.certified else max(self.reach - self.tolerance, 0.0)

    def reach_with(self, times: float) -> float:
        """About the tolerance that so many times the people could have certified."""
        return self.gap + (self.reach - self.gap) / math.sqrt(times)


def certify_gaps(
    values: Floats,
    titles: Sequence[str],
    intervals: Intervals,
    *,
    constraint: str,
    tolerance: float,
    confidence_level: float = 0.95,
    reasons: Sequence[str] = (),
    smallest: tuple[str, int] = ("people", 0),
    worth: float = math.inf,
    foresee: bool = True,
) -> GapCertificate:
    """Whether all gaps are at most a tolerance: two one-sided tests of each.

    Parameters
    ----------
    values
        The gaps as seen.
    titles
        Their names.
    intervals
        Their intervals at any normal quantile, NaN where there is none.
    constraint
        What is certified.
    tolerance
        The largest gap that may be.
    confidence_level
        Of the whole statement.
    reasons
        Why a gap or its interval cannot be computed, if so.
    smallest
        The smallest cell and how many people are in it.
    worth
        How many independent people the smallest cell is worth.
    foresee
        Say how many people would decide, if it is not certified; that takes ten times as long.

    Returns
    -------
    GapCertificate
        The certificate, or by how much it is missed.
    """
    tolerance = check_between(tolerance, "tolerance")
    level = check_level(confidence_level)
    n = len(values)
    if not n:
        raise ValueError("A certificate compares groups, but there are not two of them.")
    z = normal_quantile(level) * (1.0 + 1.0 / max(worth, 1.0))
    low, high = intervals(np.full(n, z))
    bound = np.maximum(np.abs(low), np.abs(high))
    unknown = np.isnan(values) | np.isnan(bound)
    k = int(np.argmax(np.where(unknown, np.inf, bound)))
    size, reach = abs(float(values[k])), float(bound[k])
    certified = bool(not unknown.any() and reach <= tolerance + _ROUNDING)
    times: float = math.nan
    decision: Decision = ""
    if unknown.any():
        reach, times = math.nan, math.inf
        why = next((text for text in reasons if text), f"{titles[k]} has no interval on these data")
        words = f"Not certified: {why}."
    elif certified:
        words = (
            f"Certified with {percent(level)} confidence: the gaps in {constraint} are at most "
            f"{tolerance:g} between groups."
        )
    else:
        if foresee:
            times, decision = times_to_decide(values, intervals, tolerance, level)
        words = (
            f"Not certified: {titles[k]}, is {size:.3f}, and perhaps {reach:.3f}, more than "
            f"{tolerance:g}."
        )
    return GapCertificate(
        constraint, "equivalence", tolerance, level, certified, reach, size, titles[k],
        times, decision, smallest, words,
    )  # fmt: skip


def times_to_decide(
    values: Floats, intervals: Intervals, tolerance: float, level: float, places: float = 1.0
) -> tuple[float, Decision]:
    """How many times the people would decide nine times out of ten, and what they would do.

    A gap that is the largest over a range may turn up in several `places`, as if independent.
    Infinite if the gap seen lies at the tolerance, or within it where it is looked for but not in
    the surroundings that must be looked at too.

    >>> times, decision = times_to_decide(
    ...     np.zeros(1), lambda z: (-0.02 * z, 0.02 * z), 0.05, 0.95)
    >>> round(times, 2), decision
    (1.73, 'certify')
    """
    from scipy.special import ndtr

    n, z = len(values), normal_quantile(level)
    sizes = np.abs(values)
    if sizes.max() <= tolerance:
        ends = [
            largest_quantile(lambda q: intervals(q)[0] >= -tolerance, n),
            largest_quantile(lambda q: intervals(q)[1] <= tolerance, n),
        ]
        within = np.concatenate(ends)
        if within.min() <= 0.0:
            return math.inf, ""

        def fails(root: float) -> bool:
            return bool(places * np.sum(ndtr(z - root * within)) > 1.0 - POWER)

        far = 1.0
        while fails(far):
            far *= 2.0
        near = far / 2.0
        for _ in range(40):
            middle = (near + far) / 2.0
            near, far = (middle, far) if fails(middle) else (near, middle)
        return max(far**2, 1.0), "certify"
    corrected = normal_quantile(1.0 - (1.0 - level) / n)
    low, high = intervals(np.full(n, corrected))
    if np.any((low > tolerance) | (high < -tolerance)):
        return 1.0, "refute"
    low, high = intervals(np.full(n, z))
    error = (np.maximum(np.abs(low), np.abs(high)) - sizes) / z
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = float(np.nanmax(np.where(sizes > tolerance, (sizes - tolerance) / error, 0.0)))
    return max(((corrected + normal_quantile(POWER)) / beyond) ** 2, 1.0), "refute"
