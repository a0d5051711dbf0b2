"""Bounds of rates at all cuts at once that hold for any law and any number of people.

A share of a cell above a cut, seen as x of n, lies between two bounds at all cuts at once
(`beta_band`). A rate of one class is such a share of its cell, the selection rate one of the whole
group. The others are made of shares of the group: those of either class who are selected, and those
who are not; a rate that is what is counted over what is counted and the rest lies between the ends
where one is smallest and the other largest. δ is shared equally between all these shares and that
of the pool, by which the range of cuts is widened.
"""

from collections.abc import Sequence

import numpy as np

from evenscore.inference.beta_band import share_bounds
from evenscore.scores.arrays import Floats, Ints, ratio
from evenscore.scores.rates import Rate
from evenscore.scores.selection import Ladder, Selected, pool_classes

Side = tuple[int, int]  # class; 0 for those not selected, 1 for those selected


class ExactRates:
    """Bounds of the rates of some groups, with a joint confidence of 1 − δ."""

    def __init__(
        self, ladder: Ladder, rates: Sequence[Rate], groups: Sequence[int], delta: float
    ) -> None:
        check_equal_weights(ladder)
        self.ladder = ladder
        self.groups = list(groups)
        self._counts = ladder.scores.cell_counts.round().astype(np.intp)
        shares = {share for rate in rates for share in _shares(rate)}
        self.delta = delta / (len(shares) * len(self.groups) + 1)

    def at(self, rate: Rate, selected: Selected) -> tuple[Floats, Floats]:
        """The least and the most of a rate, (steps, groups): NaN of groups not asked for."""
        above = selected.count.round().astype(np.intp)
        bounds = np.full((2, len(above), self.ladder.scores.n_groups), np.nan)
        for g in self.groups:
            counts = self._counts[:, g]
            if counts[list(rate.classes)].sum() == 0 or (rate.on and not counts[rate.classes[0]]):
                continue
            bounds[:, :, g] = self._of_group(rate, above[:, :, g], counts)
        return bounds[0], bounds[1]

    def _of_group(self, rate: Rate, above: Ints, counts: Ints) -> tuple[Floats, Floats]:
        sides = np.stack([counts - above, above], axis=-1)  # (steps, classes, sides)
        entries = [(c, side) for c in range(2) for side in range(2)]
        counted = [(c, side) for c, side in entries if rate.counted[c][side]]
        rest = [
            (c, side) for c, side in entries if rate.among[c][side] and not rate.counted[c][side]
        ]
        if rate.on is not None:
            [(c, side)] = counted
            return self._share(sides[:, c, side], counts[c])
        if _is_of_group(rate):
            return self._share(sides[:, :, counted[0][1]].sum(axis=1), counts.sum())
        if rate.standardised:
            weights = rate.cell_weights(self.ladder.scores.cell_weights).max(axis=1)
            sizes = counts
        else:
            weights, sizes = np.ones(2), np.full(2, counts.sum())
        inside, outside = (
            np.sum(
                [
                    weights[c] * np.stack(self._share(sides[:, c, side], sizes[c]))
                    for c, side in some
                ],
                axis=0,
            )
            for some in (counted, rest)
        )
        if len(counted) + len(rest) == len(entries):  # all of them together are everybody
            return inside[0], np.minimum(inside[1], 1.0)
        low, high = (
            ratio(inside[end], inside[end] + outside[1 - end], float(end)) for end in range(2)
        )
        return low, high

    def _share(self, seen: Ints, size: int) -> tuple[Floats, Floats]:
        if size == 0:
            return np.zeros(len(seen)), np.ones(len(seen))
        low, high = share_bounds(int(size), self.delta)
        return low[seen], high[seen]

    def widened(self, low: float, high: float) -> tuple[int, int]:
        """The steps that may be those of the cuts that select between two shares of the pool."""
        ladder = self.ladder
        size = self._counts[list(pool_classes(ladder.of))].sum()
        seen = np.rint(ladder.share * size).astype(np.intp)
        least, most = self._share(seen, size)
        # The cut at a share may select less, if scores have atoms: that of the step before.
        first = int(np.argmax(most >= low)) - 1
        last = int(np.flatnonzero(least <= high)[-1])
        return max(first, 0), last


def _shares(rate: Rate) -> list[tuple[str, Side | int]]:
    """The shares of a group that a rate is made of; one may serve several rates."""
    if rate.on is not None:
        return [("of class", rate.classes[0])]
    if _is_of_group(rate):
        return [("of group", 1)]
    if rate.standardised:
        return [("of class", c) for c in range(2)]
    entries = [(c, side) for c in range(2) for side in range(2)]
    if all(rate.among[c][side] for c, side in entries):
        entries = [(c, side) for c, side in entries if rate.counted[c][side]]
    return [("of group", (c, side)) for c, side in entries if rate.among[c][side]]


def _is_of_group(rate: Rate) -> bool:
    """Whether it is a share of the whole group on one side of the cut, whatever the class."""
    return rate.counted[0] == rate.counted[1] and all(map(all, rate.among))


def check_equal_weights(ladder: Ladder) -> None:
    """Refuse weights that differ, and clusters."""
    scores = ladder.scores
    if scores.is_clustered:
        raise ValueError(
            "A finite-sample certificate takes people to be independent, but there are clusters: "
            "use method='intersection_union'."
        )
    weights = scores.weight / scores.count
    squares = scores.weight_squared * scores.count
    if len(weights) and not (
        np.allclose(weights, weights[0], rtol=1e-9)
        and np.allclose(squares, np.square(scores.weight), rtol=1e-9)
    ):
        raise ValueError(
            "A finite-sample certificate takes all people to count alike, but the weights differ: "
            "use method='intersection_union'."
        )
