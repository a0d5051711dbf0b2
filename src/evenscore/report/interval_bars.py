"""Small pictures of intervals beside the tolerance, for the rows of a table."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from evenscore.inference.estimate import Estimate

__all__ = ["Bar", "Ruler", "ruler_for"]

WIDTH = 180.0


@dataclass(frozen=True)
class Bar:
    """Where the interval and the value of one row lie."""

    low: float
    high: float
    value: float


@dataclass(frozen=True)
class Ruler:
    """The common scale of a table's rows, from −reach to reach."""

    reach: float
    tolerance: float
    width: float = WIDTH

    def at(self, value: float) -> float:
        """Where a value lies, kept within the picture.

        >>> Ruler(1.0, 0.05).at(0.0)
        90.0
        """
        kept = min(max(value, -self.reach), self.reach)
        return round(self.width * (0.5 + 0.48 * kept / self.reach), 1)

    def bar(self, estimate: Estimate) -> Bar | None:
        """The bar of an estimate; None without a value."""
        if math.isnan(estimate.value):
            return None
        ends = (estimate.value if math.isnan(end) else end for end in (estimate.low, estimate.high))
        low, high = (self.at(end) for end in ends)
        return Bar(low, high, self.at(estimate.value))


def ruler_for(estimates: Iterable[Estimate], tolerance: float) -> Ruler:
    """A scale on which all estimates and the tolerance can be seen."""
    ends = [abs(x) for e in estimates for x in (e.value, e.low, e.high)]
    return Ruler(max([1.6 * tolerance, *(x for x in ends if math.isfinite(x))]), tolerance)
