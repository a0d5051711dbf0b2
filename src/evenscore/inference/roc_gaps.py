"""Intervals of the gap of two groups at a rate, which may be cut in the one group or in the other.

The interval is that of the gap cut in the group where it is larger, widened away from zero (and,
where its sign is not known, towards it) by that of the other: if it lies within a tolerance, so do
both. The p-value is one minus the largest level at which it leaves out zero. Intervals cover too
much, up to always, where scores are tied or few people lie beyond the cut: shares are multiples of
1/n and a binomial range cannot be cut finer. A warning then says so.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from evenscore.inference.bands import roc_band
from evenscore.inference.estimate import counted
from evenscore.inference.intervals import invert
from evenscore.inference.pointwise import pointwise_band
from evenscore.scores import ClassName, GroupedScores
from evenscore.scores.arrays import Bools, Floats
from evenscore.scores.aucs import inter_group_curve
from evenscore.scores.curve import RocCurve

_IN_A_TIE = 0.005  # a cut that selects so much less than its rate is said to fall in a tie
_FEW_BEYOND = 20  # observations beyond a cut; measured in benchmarks/coverage.py


class GapSide(NamedTuple):
    """The gaps cut in one of the two groups; `sign` is 1 if that is the first."""

    curve: RocCurve
    sign: float
    value: Floats
    low: Floats
    high: Floats
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        scores: GroupedScores,
        on: ClassName,
        pair: tuple[int, int],
        rates: Floats,
        level: float,
        sign: float,
    ) -> "GapSide":
        """The gaps at some rates; `pair` names the group that is cut first."""
        curve = inter_group_curve(scores, on, *pair).with_ties_split()
        band = roc_band(curve, rates, kind="pointwise", confidence_level=level).gap()
        ends = (band.low, band.high) if sign > 0 else (-band.high, -band.low)
        return cls(curve, sign, sign * band.value, *ends, band.warnings)

    def interval(self, rates: Floats, widened: float, z: Floats) -> tuple[Floats, Floats]:
        """Intervals at z standard errors, wider by a tolerance: beyond it if zero is left out."""
        low, high = pointwise_band(self.curve, rates, z)
        low, high = low - rates, high - rates
        low, high = (low, high) if self.sign > 0 else (-high, -low)
        return low - widened, high + widened

    def tie(self, rate: float) -> tuple[float, float] | None:
        """What the cut itself selects of the two groups, if it falls in a tie."""
        cut = self.curve.reference.threshold(rate)
        selected = float(self.curve.reference.survival(cut))
        if rate - selected <= _IN_A_TIE:
            return None
        return selected, float(self.curve.target.survival(cut))

    def method(self, rate: float) -> str:
        """How the interval at a rate is made."""
        if np.isnan(self.value).any() or self.tie(rate) is None:
            return "Wilson, both shares"
        return "Wilson, both shares, ties split"

    def warnings(self, rate: float) -> tuple[str, ...]:
        """Why the interval at a rate is wider than its level asks for, if it is."""
        tie = self.tie(rate)
        if tie is not None:
            shares = tie if self.sign > 0 else tie[::-1]
            return (
                *self.notes,
                f"tied scores: the cut itself selects {shares[0]:.1%} and {shares[1]:.1%}, and the "
                "interval is conservative",
            )
        beyond = min(rate, 1.0 - rate) * float(self.curve.reference.size_behind(rate))
        if beyond < _FEW_BEYOND:
            few = f"{counted(beyond)} can be expected beyond the cut: the interval is conservative"
            return (*self.notes, few)
        return self.notes


def joint_gaps(
    one: GapSide, two: GapSide, rates: Floats, level: float, tolerance: float | None
) -> tuple[Bools, dict[str, Floats]]:
    """Where the cut is made in the second group, and the numbers of the two ways round as one."""
    in_second = np.abs(two.value) > np.abs(one.value)

    def chosen(a: Floats, b: Floats) -> Floats:
        return np.where(in_second, b, a)

    value, low, high = (chosen(a, b) for a, b in zip(one[2:5], two[2:5], strict=True))
    outer_low, outer_high = np.minimum(one.low, two.low), np.maximum(one.high, two.high)
    positive, negative = low > 0.0, high < 0.0
    # Away from zero as far as either way round goes on either side: within means both are within.
    low = np.where(positive, low, np.where(negative, np.minimum(outer_low, -outer_high), outer_low))
    high = np.where(
        negative, high, np.where(positive, np.maximum(outer_high, -outer_low), outer_high)
    )
    p_value, beyond = np.full((2, len(rates)), np.nan)
    for side, own in ((one, ~in_second), (two, in_second)):
        some = np.flatnonzero(own & ~np.isnan(low))  # NaN if a sample is empty
        if not len(some):
            continue
        p_value[some] = invert(partial(side.interval, rates[some], 0.0), len(some))
        # Beside a jump of the curve an interval may shrink as its level grows: the p-value keeps to
        # the side of the level that the interval is on.
        differs, error = positive[some] | negative[some], 1.0 - level
        least = np.where(differs, 0.0, np.nextafter(error, 1.0))
        p_value[some] = np.clip(p_value[some], least, np.where(differs, error, 1.0))
        if tolerance is not None:
            # Only where the interval lies beyond: anywhere else the question is answered.
            beyond[some] = 1.0
            far = some[(low[some] > tolerance) | (high[some] < -tolerance)]
            if len(far):
                beyond[far] = np.minimum(
                    invert(partial(side.interval, rates[far], tolerance), len(far)), error
                )
    numbers = dict(value=value, low=low, high=high, p_value=p_value, beyond_p_value=beyond)
    return in_second, numbers
