"""Is one gap smaller than another in magnitude, whatever their signs?

|x| − |y| is x − y or x + y, or one of them turned round, depending on the signs of both, which are
uncertain too. Since (|x| − |y|)(|x| + |y|) = (x − y)(x + y), x is the smaller one if, and only if,
x − y and x + y differ in sign: it takes evidence of both signs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from evenscore.inference.estimate import Estimate

__all__ = ["Paired"]


@dataclass(frozen=True)
class Paired:
    """The difference x − y of two statistics of the same people, and their total x + y."""

    difference: Estimate
    total: Estimate

    @property
    def magnitude(self) -> Estimate:
        """|x| − |y|, with the range that it has where both intervals hold.

        |x| − |y| = ±min(|x − y|, |x + y|), positive if the two agree in sign, is monotone in either
        of them: its range is that of the corners. It leaves out zero if both intervals do, which
        happens by chance, |x| being |y|, with probability 1 − level at most; where the signs of x
        and y are sure, it is the interval of the difference (equal signs) or of the total
        (opposite ones).

        >>> difference = Estimate("gap", 0.4, 0.3, 0.5, 0.95, "t")  # of 0.2 and −0.2
        >>> total = Estimate("gap", 0.0, -0.1, 0.1, 0.95, "t")
        >>> found = Paired(difference, total).magnitude
        >>> found.value, found.low, found.high
        (0.0, -0.1, 0.1)
        """
        d, t = self.difference, self.total
        ends = [_smaller(a, b) for a, b in product((d.low, d.high), (t.low, t.high))]
        chosen = d if abs(d.value) <= abs(t.value) else t
        return replace(
            chosen,
            value=_smaller(d.value, t.value),
            low=min(ends),
            high=max(ends),
            p_value=float(np.maximum(d.p_value, t.p_value)),
        )


def _smaller(one: float, two: float) -> float:
    """The smaller of two magnitudes, negative if the signs differ."""
    if one == 0.0 or two == 0.0:
        return 0.0
    size = min(abs(one), abs(two))
    return size if (one > 0.0) == (two > 0.0) else -size
