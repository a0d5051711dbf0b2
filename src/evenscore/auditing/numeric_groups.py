"""Groups that are numbers, such as ages: nobody compares 56 ages, but bands of them."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from evenscore.scores.arrays import Floats

MANY_NUMBERS = 12  # more different numbers than this are a quantity rather than a few codes
QUARTERS = (0.25, 0.5, 0.75)  # four bands: few enough to read all six pairs of them
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)  # edges of bands are multiples of these, times a power of ten


class NumericGroups(NamedTuple):
    """What bands are made of: how many numbers there are, their range and quartiles."""

    n: int
    low: float
    high: float
    quartiles: tuple[float, ...]
    whole: bool

    def bands(self) -> str:
        """Bands that hold about as many people each, with round edges.

        >>> NumericGroups(66, 18.0, 83.0, (25.0, 31.0, 42.0), True).bands()
        'under 25, 25 to 29, 30 to 39, 40 and over'
        """
        edges = self._edges()
        told = [f"under {_text(edges[0])}"]
        for low, high in pairwise(edges):
            last = high - 1.0 if self.whole else high
            to = "to" if self.whole else "to below"
            told.append(_text(low) if last == low else f"{_text(low)} {to} {_text(last)}")
        return ", ".join([*told, f"{_text(edges[-1])} and over"])

    @property
    def sentence(self) -> str:
        """One sentence for whoever gave a quantity as the group."""
        return (
            f"The groups are {self.n:,} different numbers from {_text(self.low)} to "
            f"{_text(self.high)}: unless they are codes, compare bands instead, such as "
            f"{self.bands()}."
        )

    def _edges(self) -> list[float]:
        points = sorted({q for q in self.quartiles if self.low < q <= self.high})
        if not points:  # most people have the lowest number
            points = [self.high]
        gap = float(np.diff([self.low, *points]).min())
        step = _round_step(gap, whole=self.whole)
        edges = {round(math.floor(q / step + 0.5) * step, 12) for q in points}
        inside = sorted(edge for edge in edges if self.low < edge <= self.high)
        return inside or points


def numeric_groups(names: Sequence[str], counts: Floats) -> NumericGroups | None:
    """What bands are made of, if there are many groups and all of them are numbers.

    >>> names = [str(age) for age in range(18, 84)]
    >>> print(numeric_groups(names, np.ones(len(names))).bands())
    under 30, 30 to 49, 50 to 69, 70 and over
    >>> numeric_groups(["18", "19", "unknown"], np.ones(3)) is None
    True
    """
    if len(names) <= MANY_NUMBERS:
        return None
    try:
        values = np.array([float(name) for name in names])
    except ValueError:
        return None
    if not np.isfinite(values).all():
        return None
    order = np.argsort(values)
    values, held = values[order], np.cumsum(counts[order])
    places = np.searchsorted(held, np.array(QUARTERS) * held[-1])
    quartiles = tuple(values[np.minimum(places, len(values) - 1)].tolist())
    whole = bool((values == np.round(values)).all())
    return NumericGroups(len(names), float(values[0]), float(values[-1]), quartiles, whole)


def _round_step(width: float, *, whole: bool) -> float:
    """The largest round number that is not above a width.

    >>> _round_step(6.0, whole=True), _round_step(4.0, whole=True), _round_step(0.3, whole=False)
    (5.0, 2.0, 0.25)
    """
    power = 10.0 ** math.floor(math.log10(width))
    steps = [step * power for step in _STEPS if step * power <= width * (1.0 + 1e-9)]
    return max(step for step in steps if not whole or step == round(step))


def _text(number: float) -> str:
    """A number as people write it."""
    return f"{number:,.0f}" if number == round(number) else f"{number:g}"
