"""Intervals of the gap of two groups at a rate, which may be cut in the one group or in the other.

The interval is that of the gap cut in the group where it is larger, as far as its sign is known,
and otherwise reaches as far as either way round does; away from zero it is as wide as either on
either side: if it lies within a tolerance, so do both. Intervals of two levels are nested, and the
p-value is one minus the largest level at which the interval leaves out zero. They cover too
much, up to always, where scores are tied or few people lie beyond the cut: shares are multiples of
1/n and a binomial range cannot be cut finer. A warning then says so.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from evenscore.inference.estimate import SMALL_CELL, counted
from evenscore.inference.pointwise import PointwiseIntervals
from evenscore.scores import ClassName, GroupedScores
from evenscore.scores.arrays import Bools, Floats, Ints
from evenscore.scores.aucs import inter_group_curve
from evenscore.scores.curve import RocCurve

_IN_A_TIE = 0.005  # a cut that selects so much less than its rate is said to fall in a tie
_FEW_BEYOND = 20  # observations beyond a cut; measured in benchmarks/coverage.py


class GapSide(NamedTuple):
    """The gaps cut in one of the two groups; `sign` is 1 if that is the first."""

    curve: RocCurve
    sign: float
    value: Floats
    shares: PointwiseIntervals

    @classmethod
    def of(
        cls,
        scores: GroupedScores,
        on: ClassName,
        pair: tuple[int, int],
        rates: Floats,
        sign: float,
    ) -> "GapSide":
        """The gaps at some rates; `pair` names the group that is cut first."""
        curve = inter_group_curve(scores, on, *pair).with_ties_split()
        shares = PointwiseIntervals(curve, rates)
        return cls(curve, sign, sign * (shares.value - rates), shares)

    def interval(self, z: Floats, some: Ints) -> tuple[Floats, Floats]:
        """Intervals at z standard errors, of some rates."""
        rates = self.shares.rates[some]
        low, high = self.shares.at(z, some)
        low, high = low - rates, high - rates
        return (low, high) if self.sign > 0 else (-high, -low)

    def tie(self, rate: float) -> tuple[float, float] | None:
        """What the cut itself selects of the two groups, if it falls in a tie."""
        cut = self.curve.reference.threshold(rate)
        selected = float(self.curve.reference.survival(cut))
        tied = sum(sample.number_at(cut) for sample in (self.curve.reference, self.curve.target))
        if rate - selected <= _IN_A_TIE or tied < 1.5:
            return None
        return selected, float(self.curve.target.survival(cut))

    def method(self, rate: float) -> str:
        """How the interval at a rate is made."""
        if np.isnan(self.value).any() or self.tie(rate) is None:
            return "Wilson, both shares"
        return "Wilson, both shares, ties split"

    def warnings(self, rate: float) -> tuple[str, ...]:
        """Why the interval at a rate is unreliable, or wider than its level asks for, if it is."""
        size = min(self.curve.reference.effective_size, self.curve.target.effective_size)
        notes: tuple[str, ...] = ()
        if size < SMALL_CELL:
            notes = (f"the smaller sample is worth {counted(size)} only",)
        tie = self.tie(rate)
        if tie is not None:
            shares = tie if self.sign > 0 else tie[::-1]
            return (
                *notes,
                f"tied scores: the cut itself selects {shares[0]:.1%} and {shares[1]:.1%}, and the "
                "interval is conservative",
            )
        beyond = min(rate, 1.0 - rate) * float(self.curve.reference.size_behind(rate))
        if beyond < _FEW_BEYOND:
            few = f"{counted(beyond)} can be expected beyond the cut: the interval is conservative"
            return (*notes, few)
        return notes


@dataclass(frozen=True, eq=False)
class JointGaps:
    """The gaps of two groups in a class at some rates, the two ways round as one."""

    one: GapSide
    two: GapSide
    rates: Floats

    @classmethod
    def of(
        cls, scores: GroupedScores, on: ClassName, pair: tuple[int, int], rates: Floats
    ) -> "JointGaps":
        """Both ways round."""
        one = GapSide.of(scores, on, pair, rates, 1.0)
        return cls(one, GapSide.of(scores, on, pair[::-1], rates, -1.0), rates)

    @cached_property
    def in_second(self) -> Bools:
        """Where the cut is made in the second group: the gap is larger so."""
        return np.asarray(np.abs(self.two.value) > np.abs(self.one.value))

    @cached_property
    def value(self) -> Floats:
        """The larger gap of the two."""
        return np.where(self.in_second, self.two.value, self.one.value)

    @cached_property
    def defined(self) -> bool:
        """Whether there is somebody in both groups."""
        return not bool(np.isnan(self.value).any())

    def side(self, k: int) -> GapSide:
        """The way round in which the gap at a rate is larger."""
        return self.two if self.in_second[k] else self.one

    def larger(self, z: Floats) -> tuple[Floats, Floats]:
        """The ends of the larger gap's own interval: zero is left out if it is by `interval`."""
        ends = np.full((2, len(self.rates)), np.nan)
        for side, own in ((self.one, ~self.in_second), (self.two, self.in_second)):
            some = np.flatnonzero(own)
            if len(some) and self.defined:
                ends[:, some] = side.interval(z[some], some)
        return ends[0], ends[1]

    def interval(self, z: Floats) -> tuple[Floats, Floats]:
        """The ends at normal quantiles z, one per rate; NaN where z is."""
        ends = np.full((2, len(self.rates)), np.nan)
        some = np.flatnonzero(~np.isnan(z))
        if len(some) and self.defined:
            one, two = (side.interval(z[some], some) for side in (self.one, self.two))
            ends[:, some] = _joined(one, two, self.in_second[some], self.value[some])
        return ends[0], ends[1]


def _joined(
    one: tuple[Floats, Floats], two: tuple[Floats, Floats], in_second: Bools, value: Floats
) -> tuple[Floats, Floats]:
    """The interval of the larger gap from those of both."""
    low, high = (np.where(in_second, b, a) for a, b in zip(one, two, strict=True))
    outer_low, outer_high = np.minimum(one[0], two[0]), np.maximum(one[1], two[1])
    reach = np.maximum(outer_high, -outer_low)
    ends_low = np.where(low > 0.0, low, np.where(value < 0.0, -reach, outer_low))
    ends_high = np.where(high < 0.0, high, np.where(value > 0.0, reach, outer_high))
    return ends_low, ends_high
