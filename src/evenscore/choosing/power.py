"""The power of so many people: how often a score would be certified.

With n people, the smallest tolerance that is certified, the *reach*, is within ε in a share of the
samples that is the power of n; the number of people needed for a power p is the n at which the
p-quantile Q of the reach is ε. Reaches are drawn (`inference.reaches`) at powers of two; in
between, with g the largest true gap, log(Q − g) is nearly linear in log n: the
interpolation was off by 0.4 % at most against steps of √2, in six settings.

Gaps of several constraints are drawn as if those of one told nothing of those of another, which
takes a few people too many rather than too few.
"""

import math
from collections.abc import Sequence

import numpy as np

from evenscore.choosing.assumed_law import expected_table
from evenscore.gaps import EstimateSettings, GapFamily
from evenscore.scores.arrays import Floats

FEWEST, MOST = 2.0**4, 2.0**40
"""People that are looked at."""

_STEP = 2.0  # between numbers of people at which reaches are drawn
_DIGITS = 3  # of a number of people: it is not known any better


class PowerCurve:
    """The reaches of certificates by the number of people."""

    def __init__(
        self,
        masses: Floats,
        families: Sequence[GapFamily],
        level: float,
        gap: float,
        random_state: int,
    ) -> None:
        self._masses, self._families, self._gap = masses, families, gap
        self._level, self._seed = level, random_state
        self._known: dict[float, Floats] = {}

    def reaches(self, n: float) -> Floats:
        """Of many samples of n people."""
        if n not in self._known:
            table = expected_table(self._masses, n)
            seed = len(self._families) * self._seed
            drawn = [
                family.reaches(table, EstimateSettings(self._level, random_state=seed + k))
                for k, family in enumerate(self._families)
            ]
            self._known[n] = np.max(drawn, axis=0)
        return self._known[n]

    def needed(self, tolerance: float, power: float) -> int | None:
        """The least number of people whose reaches are within a tolerance so often."""
        if tolerance <= self._gap:
            return None

        def beyond(n: float) -> float:
            """log(Q − g) less that of the tolerance: at most zero if n people are enough."""
            quantile = float(np.quantile(self.reaches(n), power, method="higher"))
            return math.log(max(quantile - self._gap, 1e-12) / (tolerance - self._gap))

        # About so many, by the law of √n; then the two neighbours between which it lies.
        rungs = math.ceil(math.log(MOST / FEWEST, _STEP))
        guess = 1.0 / (tolerance - self._gap) ** 2
        at = min(max(round(math.log(guess / FEWEST, _STEP)), 0), rungs)
        while at < rungs and beyond(FEWEST * _STEP**at) > 0.0:
            at += 1
        while at > 0 and beyond(FEWEST * _STEP ** (at - 1)) <= 0.0:
            at -= 1
        high = FEWEST * _STEP**at
        end = beyond(high)
        if end > 0.0:
            return None
        if at == 0:
            return _rounded(high)
        low = high / _STEP
        start = beyond(low)
        while math.isinf(start) and high / low > 1.01:  # too few people for a rate at all
            middle = math.sqrt(low * high)
            value = beyond(middle)
            low, start, high, end = (
                (middle, value, high, end) if value > 0.0 else (low, start, middle, value)
            )
        if math.isinf(start):
            return _rounded(high)
        return _rounded(low * (high / low) ** (start / (start - end)))


def _rounded(n: float) -> int:
    """Up to three digits.

    >>> _rounded(45_612.0), _rounded(16.0)
    (45700, 16)
    """
    unit = 10.0 ** max(math.floor(math.log10(n)) + 1 - _DIGITS, 0)
    return int(math.ceil(n / unit - 1e-9) * unit)
