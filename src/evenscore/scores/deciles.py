"""Cuts that select a tenth, two tenths, … of everyone, and the bands of the score between them."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np

from evenscore.scores.arrays import Floats, Ints
from evenscore.scores.selection import Ladder
from evenscore.scores.table import GroupedScores
from evenscore.scores.thinning import rounded_up

TENTHS = tuple(k / 10 for k in range(1, 10))


@dataclass(frozen=True, eq=False)
class Deciles:
    """The loosest cuts that select at most 10 %, 20 %, … 90 % of everyone, from the strictest.

    Where people share scores one cut may serve several shares, and no cut may select as little as
    some: `shares` says which each of `steps`, of the `ladder`, serves, and `missing` which have
    none. Between the cuts lie the bands.

    >>> table = GroupedScores.from_arrays(
    ...     [0] * 6, [1, 2, 2, 2, 3, 3], sensitive_features=list("ababab"))
    >>> deciles = Deciles.make(Ladder.make(table, "everyone", "high"))
    >>> deciles.shares
    ((0.4, 0.5, 0.6, 0.7, 0.8), (0.9,))
    >>> deciles.missing, deciles.bands
    ((0.1, 0.2, 0.3), ('above 2', 'above 1 up to 2', 'up to 1'))
    """

    ladder: Ladder
    steps: Ints
    shares: tuple[tuple[float, ...], ...]
    missing: tuple[float, ...]

    @classmethod
    def make(cls, ladder: Ladder) -> Self:
        """Those of a ladder of everyone."""
        by_step: dict[int, list[float]] = {}
        for share in TENTHS:
            by_step.setdefault(ladder.last_up_to(share), []).append(share)
        missing = tuple(by_step.pop(0, ()))
        steps = np.array(list(by_step), dtype=np.intp)
        return cls(ladder, steps, tuple(map(tuple, by_step.values())), missing)

    @property
    def selected_share(self) -> Floats:
        """The share of everyone that each cut selects."""
        return self.ladder.share[self.steps]

    @cached_property
    def _edges(self) -> list[tuple[float, float]]:
        """The scores next to each cut, the lower one first."""
        lowest, highest = self.ladder.extents
        below, above = (0, -1) if self.ladder.side == "high" else (-1, 0)
        return [(float(highest[k + below]), float(lowest[k + above])) for k in self.steps]

    @property
    def highest_below(self) -> Floats:
        """The highest score below each cut."""
        return np.array([low for low, _ in self._edges])

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The cuts in words: who is selected there."""
        if self.ladder.side == "high":
            return tuple(f"above {shortest_between(*edge)}" for edge in self._edges)
        return tuple(f"up to {shortest_between(*edge)}" for edge in self._edges)

    @cached_property
    def bands(self) -> tuple[str, ...]:
        """The bands in words, the strictest first: one more than there are cuts.

        Every score is in one band: "above 6 up to 7" has 7 and does not have 6.
        """
        if not len(self.steps):
            return ("all scores",)
        ends = [shortest_between(*edge) for edge in self._edges]
        if self.ladder.side == "high":
            between = [f"above {low} up to {up}" for up, low in pairwise(ends)]
            return (f"above {ends[0]}", *between, f"up to {ends[-1]}")
        between = [f"above {low} up to {up}" for low, up in pairwise(ends)]
        return (f"up to {ends[0]}", *between, f"above {ends[-1]}")

    @cached_property
    def table(self) -> GroupedScores:
        """The score rounded up to the highest of its band: all that the cuts know of it."""
        scores = self.ladder.scores
        return rounded_up(scores, np.append(np.sort(self.highest_below), scores.score[-1]))


def shortest_between(low: float, high: float) -> str:
    """A number with the fewest digits in [low, high), as text: it parts the two as `low` does.

    >>> shortest_between(6.0, 7.0), shortest_between(0.51234, 0.51271), shortest_between(-3.2, 0.5)
    ('6', '0.5124', '0')
    """
    if low <= 0.0 < high:
        return "0"
    floor, ceiling = Decimal(repr(float(low))), Decimal(repr(float(high)))
    first = max(floor.adjusted(), ceiling.adjusted())
    for digit in range(first, first - 18, -1):
        number = floor.quantize(Decimal((0, (1,), digit)), rounding=ROUND_CEILING)
        if low <= float(number) < high:
            plain = number.normalize()
            return f"{plain:f}" if -6 <= plain.adjusted() <= 12 else repr(float(plain))
    return repr(low)
