"""By how much more a gap at a cut may be than it is seen to be, and how many people that takes.

With c times as many people all errors are √c times smaller, so that a score without gaps has
|W| + margin ≤ ε at every cut if c ≥ (|W| + margin)²/ε², W its noise. The c that is enough for nine
of ten Gaussian bridges W says how many people it takes. For two groups, cuts that select 10 % to
40 % of everyone and ε = 0.05 that is 2,560 in the smallest cell; by simulation 2,500 are enough in
86 % of samples and 3,300 in 99 %.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from evenscore.inference.bridges import DRAWS, Bridges
from evenscore.inference.cut_gaps import (
    LEAST_AMONG,
    LEAST_OF_CLASS,
    RateErrors,
    RatesAtSteps,
    enough,
    point_gaps,
)
from evenscore.inference.exact_rates import ExactRates
from evenscore.scores.arrays import Bools, Floats
from evenscore.scores.rates import Rate
from evenscore.scores.selection import Ladder, Selected

Pair = tuple[int, int]

POWER = 0.9
"""The chance of a score without gaps to be certified with as many people as it is said to take."""


class GapsAtSteps(Protocol):
    """The size of a gap, by how much more it may be, and where that can be told."""

    def gap(self, pair: Pair) -> tuple[Floats, Floats, Bools]:
        """Of two groups, (steps) each."""


class Bounds(Protocol):
    """Gaps of a rate at some steps."""

    def at(self, rate: Rate, selected: Selected) -> GapsAtSteps:
        """Where so many are selected."""


@dataclass(frozen=True, eq=False)
class _NormalGaps:
    rates: RatesAtSteps
    z: float

    def gap(self, pair: Pair) -> tuple[Floats, Floats, Bools]:
        size, error, known = self.rates.gap(pair)
        return size, self.z * error, known


@dataclass(frozen=True, eq=False)
class NormalBounds:
    """Margins of so many standard errors."""

    errors: RateErrors
    z: float

    def at(self, rate: Rate, selected: Selected) -> _NormalGaps:
        """Where so many are selected."""
        return _NormalGaps(self.errors.at(rate, selected), self.z)


@dataclass(frozen=True, eq=False)
class _ShareGaps:
    errors: RateErrors
    rate: Rate
    steps: list[int]
    z: float

    def gap(self, pair: Pair) -> tuple[Floats, Floats, Bools]:
        [row] = point_gaps(self.errors, self.rate, self.steps, [pair], by_share=True)
        size = np.abs([gap.value for gap in row])
        return size, self.z * np.array([gap.error for gap in row]), ~np.isnan(size)


@dataclass(frozen=True, eq=False)
class ShareBounds:
    """Margins of so many standard errors at cuts that are meant by the share they select.

    Which score selects that share of *all* people is not known exactly, and where the gap changes
    with the cut, that adds to its error: as to the interval of the gap itself. At the boundary, a
    tenth of the negatives selected, 4.9 % and 4.4 % of 1,000 samples were certified (8.2 % and
    7.3 % without) with 500 and 200 negatives of each group. It is an approximation to first order:
    with 100, and a group of 3,000 positives crowded at the cut, 10.5 % of 600 were (31 % without).
    """

    errors: RateErrors
    z: float

    def at(self, rate: Rate, selected: Selected) -> _ShareGaps:
        """Where so many are selected."""
        return _ShareGaps(self.errors, rate, selected.step.tolist(), self.z)


@dataclass(frozen=True, eq=False)
class _ExactGaps:
    value: Floats
    low: Floats
    high: Floats
    assessable: Bools

    def gap(self, pair: Pair) -> tuple[Floats, Floats, Bools]:
        i, j = pair
        size = np.abs(self.value[:, i] - self.value[:, j])
        most = np.maximum(self.high[:, i] - self.low[:, j], self.high[:, j] - self.low[:, i])
        known = self.assessable[:, i] & self.assessable[:, j] & ~np.isnan(size + most)
        return size, most - size, known


@dataclass(frozen=True, eq=False)
class ExactBounds:
    """Margins that hold for any law."""

    rates: ExactRates

    def at(self, rate: Rate, selected: Selected) -> _ExactGaps:
        """Where so many are selected."""
        scores = self.rates.ladder.scores
        value = rate.values(selected.weight, scores.cell_weights)
        low, high = self.rates.at(rate, selected)
        return _ExactGaps(value, low, high, enough(rate, selected.count, scores.cell_counts))


class Chances:
    """What bridges tell: how far gaps stray, and how many people a certificate takes.

    `errors` are margins of one standard error.
    """

    def __init__(
        self,
        errors: Bounds,
        rates: Sequence[Rate],
        pairs: Sequence[Pair],
        bridges: Bridges,
        *,
        continuous: bool,
    ) -> None:
        self._rates, self._pairs = rates, pairs
        self._bridges = bridges
        self._errors = errors
        self.maxima = np.zeros(DRAWS)
        for rate in rates:
            at = self._errors.at(rate, bridges.selected)
            for pair in pairs:
                known = at.gap(pair)[2]
                found = bridges.of(rate, pair)
                size = found.studentised()
                size[~known] = 0.0
                largest = size.max(axis=0)
                if continuous:
                    largest = bridges.largest_between(size, found.stream)
                np.maximum(self.maxima, largest, out=self.maxima)

    def beyond(self, tolerance: float, q: float) -> bool:
        """Whether some gap is beyond the tolerance for certain: by q standard errors."""
        for rate in self._rates:
            at = self._errors.at(rate, self._bridges.selected)
            for pair in self._pairs:
                size, error, known = at.gap(pair)
                if np.any(size[known] - q * error[known] > tolerance):
                    return True
        return False

    def times_needed(self, bounds: Bounds, tolerance: float) -> float:
        """How many times the people it takes for a score without gaps to be within a tolerance."""
        selected = self._bridges.selected
        largest, least = np.zeros(DRAWS), 0.0
        for rate in self._rates:
            at = bounds.at(rate, selected)
            for pair in self._pairs:
                _, margin, known = at.gap(pair)
                if known.any():
                    # Bridges take people to be independent and cuts to be numbers: it is in
                    # standard errors, which know of clusters and shares, that noise is counted.
                    error = self._errors.at(rate, selected).gap(pair)[1]
                    one, more = (part[known, None].astype(np.float32) for part in (error, margin))
                    noise = self._bridges.of(rate, pair).studentised()[known] * one + more
                    np.maximum(largest, noise.max(axis=0), out=largest)
                if not known.all():
                    least = max(least, _times_more(rate, selected, self._bridges.ladder, pair))
        return max(float(np.quantile(largest, POWER)) ** 2 / tolerance**2, least)


def _times_more(rate: Rate, selected: Selected, ladder: Ladder, pair: Pair) -> float:
    """How many times the people it would take to have enough of them beyond every cut."""
    if not rate.scarce:
        return 0.0
    count = selected.count[:, :, list(pair)]
    if not rate.among[1][1]:
        count = ladder.scores.cell_counts[:, list(pair)] - count
    by_class = LEAST_OF_CLASS / np.maximum(count.min(axis=1), 1.0)
    return float(np.maximum(LEAST_AMONG / np.maximum(count.sum(axis=1), 1.0), by_class).max())
