"""What is asked of a placement: cuts in order, each of a pool, and bands of rates at them.

A cut j belongs to a pool w_j, a mixture of the cells, and a share u_j of it is above. A band asks
that at each of its cuts (or on average over them) the groups' rates r_k lie within the tolerance of
each other: m − b_k ≤ r_k ≤ m + ε + b_k with a free m. The b_k leave a pair what cannot be told from
chance, half a standard error of its gap: b_k + b_l + ε = max(ε, s/2) for groups of equal size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Self, final

import numpy as np

from evenscore.gaps.placeable import Placeable, PlacedRate
from evenscore.scores.arrays import Bools, Floats, Ints
from evenscore.scores.selection import Pool, pool_classes

# Cuts beyond those asked for, where the order is free: of the share above the first, and of the
# share below the last; and the widest share between two cuts that has none of its own.
_BEFORE, _AFTER, _WIDEST = 0.3, (0.15, 0.45, 0.8), 0.2
_ENDS = (0.002, 0.005, 0.01)  # shares above cuts near the end of the scale, for a bound
_RATE, _MEAN = 0.15, 1.0 / 12.0  # variances of one person's part in a rate, and in its mean
_CHANCE = 0.5  # standard errors of a gap that cannot be told from chance


@final
@dataclass(frozen=True, eq=False)
class Points:
    """People, or points that stand for several: log-odds of a positive, cell, weight.

    Cells are class · K + group.
    """

    odds: Floats
    cell: Ints
    weight: Floats
    n_groups: int

    def __len__(self) -> int:
        return len(self.odds)

    def rows(self, index: Ints | Bools) -> Self:
        """Some of the points."""
        return replace(
            self, odds=self.odds[index], cell=self.cell[index], weight=self.weight[index]
        )

    @cached_property
    def masses(self) -> Floats:
        """The weights of the cells, (2K,)."""
        return np.bincount(self.cell, self.weight, 2 * self.n_groups).astype(np.float64)

    @cached_property
    def _from_the_top(self) -> Ints:
        return np.argsort(-self.odds, kind="stable")

    def height(self, mixture: Floats, share: float) -> float:
        """The log-odds above which a mixture of cells has a share, between those of two people."""
        part = np.divide(mixture, self.masses, out=np.zeros_like(mixture), where=self.masses > 0.0)
        order = self._from_the_top
        mass = (part[self.cell] * self.weight)[order]
        return float(np.interp(share, np.cumsum(mass) - mass / 2.0, self.odds[order]))

    def share_above(self, mixture: Floats, height: float) -> float:
        """The share of a mixture of cells with log-odds above a height."""
        above = self.odds > height
        part = np.bincount(self.cell[above], self.weight[above], len(self.masses))
        known = self.masses > 0.0
        return float(np.sum(mixture[known] * part[known] / self.masses[known]))

    def thinned(self, most: int) -> tuple[Ints, Self]:
        """About so many points, evenly along the log-odds of each cell, weighted to stand for all.

        A small cell keeps at least 500.
        """
        if len(self) <= most:
            return np.arange(len(self)), self
        order = np.lexsort((self.odds, self.cell))
        ends = np.append(0, np.cumsum(np.bincount(self.cell, minlength=2 * self.n_groups)))
        kept, weight = [], []
        for start, stop in pairwise(ends.tolist()):
            size = stop - start
            wanted = min(size, max(500, round(most * size / len(self))))
            edges = np.linspace(0, size, wanted + 1).astype(np.intp)[:-1]
            if wanted:
                kept.append(order[start + (edges + np.append(edges[1:], size)) // 2])
                weight.append(np.add.reduceat(self.weight[order[start:stop]], edges))
        index = np.concatenate(kept)
        return index, replace(self.rows(index), weight=np.concatenate(weight))


@final
@dataclass(frozen=True, eq=False)
class Band:
    """A rate that should be equal between groups, at some of a problem's cuts.

    `at` are positions of cuts, `noise`, (items, K), the b_k; an averaged rate is one item with
    `weights` of its cuts, any other has one for each cut.
    """

    asked: PlacedRate
    name: str
    at: Ints
    tolerance: float
    noise: Floats
    weights: Floats
    shift: Floats | float = 0.0

    def rates(self, shares: Floats, masses: Floats) -> tuple[Floats, Floats]:
        """Of every group at each cut, (cuts, K), and slopes, (cuts, 2K), by the shares of cells.

        `shares`, (2K, J), are those of the cells above every cut.
        """
        above = shares[:, self.at].T.reshape(len(self.at), 2, -1)
        selected = above if self.asked.selects_above else 1.0 - above
        value, slopes = self.asked.rate.of_shares(selected, masses.reshape(2, -1))
        sign = 1.0 if self.asked.selects_above else -1.0
        return np.nan_to_num(value), sign * np.nan_to_num(slopes).reshape(len(self.at), -1)

    def items(self, rates: Floats) -> Floats:
        """What has to agree between groups, (items, K): the rates, or their mean over all cuts."""
        if self.asked.averaged:
            return self.weights[None] @ rates
        return rates

    def spread(self, items: Floats) -> Floats:
        """By how much each item is beyond what is allowed, at most 0 where it is within."""
        items = items + self.shift
        reach = (items - self.noise).max(axis=1) - (items + self.noise).min(axis=1)
        return np.asarray(reach - self.tolerance)


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """Cuts from the strictest, and bands at them.

    Parameters
    ----------
    masses : array of shape (2K,)
        Weights of the cells.
    pools : array of shape (J, 2K)
        Of each cut, the cells' parts in its pool; a row adds up to one.
    above : array of shape (J,)
        The share of its pool that is above each cut.
    asked : array of shape (J,)
        Whether some band is about the cut; the order of people is free at the others.
    texts : tuple of str
        Where each cut is: "20% of everyone".
    bands : tuple of Band
    """

    masses: Floats
    pools: Floats
    above: Floats
    asked: Bools
    texts: tuple[str, ...]
    bands: tuple[Band, ...]

    @classmethod
    def of(
        cls,
        constraints: Sequence[Placeable],
        tolerances: Sequence[float],
        points: Points,
        sizes: Floats,
    ) -> Self:
        """The problem of some constraints, each with its tolerance.

        Cuts are in the order in which the log-odds of the points have them, and stay in it. Cuts
        at which nothing is asked are added, so that people are placed well there too.

        Parameters
        ----------
        constraints : list of Placeable
            What should be equal.
        tolerances : list of float
            The gaps that may be left.
        points : Points
            Everybody.
        sizes : array of shape (2K,)
            How many independent people each cell is worth.
        """
        masses = points.masses
        placed = [
            (one, rate, tolerance)
            for one, tolerance in zip(constraints, tolerances, strict=True)
            for rate in one.placed()
        ]
        pool = placed[0][1].pool
        wanted = {(rate.pool, share) for _, rate, _ in placed for share in rate.above}
        heights = {cut: points.height(_mixture(masses, cut[0]), cut[1]) for cut in wanted}
        if not any(rate.averaged for _, rate, _ in placed):
            first = _mixture(masses, pool)
            own = [
                share if of == pool else points.share_above(first, height)
                for (of, share), height in heights.items()
            ]
            for share in _free(np.sort(own)):
                heights.setdefault((pool, share), points.height(first, share))
        cuts = sorted(heights, key=lambda cut: (-heights[cut], cut[1], cut[0]))
        bands = []
        for one, rate, tolerance in placed:
            at = np.array(sorted(cuts.index((rate.pool, share)) for share in rate.above))
            noise = _noise(rate, np.array([cuts[j][1] for j in at]), sizes, tolerance)
            ends = np.concatenate([[0.0], np.sort(rate.above), [1.0]])
            weights = (ends[2:] - ends[:-2]) / 2.0
            bands.append(Band(rate, one.name, at, tolerance, noise, weights))
        return cls(
            masses,
            np.array([_mixture(masses, cut[0]) for cut in cuts]),
            np.array([share for _, share in cuts]),
            np.array([cut in wanted for cut in cuts]),
            tuple(f"{100 * share:.3g}% of {name}" for name, share in cuts),
            tuple(bands),
        )

    def finer(self, steps: int = 39) -> Self:
        """The same with so many even cuts and some near both ends; of one pool.

        What is asked of all cuts of a range is asked of all of these in it.
        """
        even = np.linspace(0.0, 1.0, steps + 2)[1:-1]
        above = np.unique(np.concatenate([self.above, even, _ENDS, 1.0 - np.array(_ENDS)]).round(9))
        ends = np.concatenate([[0.0], above, [1.0]])
        widths, bands = (ends[2:] - ends[:-2]) / 2.0, []
        for band in self.bands:
            at = np.searchsorted(above, self.above[band.at].round(9))
            weights = band.weights
            if band.asked.averaged:
                at, weights = np.arange(len(above)), widths
            elif band.asked.between is not None:
                low, high = np.round(band.asked.between, 9)
                at = np.flatnonzero((above >= low) & (above <= high))
            noise = np.repeat(band.noise[:1], 1 if band.asked.averaged else len(at), axis=0)
            bands.append(replace(band, at=at, noise=noise, weights=weights))
        pools = np.repeat(self.pools[:1], len(above), axis=0)
        asked = np.isin(np.arange(len(above)), np.concatenate([band.at for band in bands]))
        texts = tuple(f"{100 * share:.3g}%" for share in above)
        return replace(self, pools=pools, above=above, asked=asked, texts=texts, bands=tuple(bands))

    @property
    def negatives(self) -> Floats:
        """The cells' parts in the negatives, (2K,)."""
        return _mixture(self.masses, "negatives")

    @property
    def positives(self) -> Floats:
        """The cells' parts in the positives."""
        return _mixture(self.masses, "positives")

    def excess(self, shares: Floats) -> list[Floats]:
        """Of every band, how far each item is beyond what is allowed; `Band.spread`."""
        return [band.spread(band.items(band.rates(shares, self.masses)[0])) for band in self.bands]

    @property
    def spared(self) -> tuple[str, ...]:
        """Where more than the tolerance is allowed, since it cannot be told from chance."""
        said: dict[str, tuple[float, float]] = {}
        for band in self.bands:
            two = float(np.sort(band.noise, axis=1)[:, -2:].sum(axis=1).max())
            key = f"{band.name}: gaps in {band.asked.rate.name}"
            if two > 0.0 and two > said.get(key, (0.0, 0.0))[0]:
                said[key] = two, band.tolerance
        return tuple(
            f"{key} of up to {two + tolerance:.3f} were allowed, more than {tolerance:g}: with so "
            "few people a smaller one cannot be told from chance."
            for key, (two, tolerance) in said.items()
        )

    def shortfall(self, shares: Floats) -> str:
        """The band that is furthest beyond what is allowed, in words; nothing if all are within."""
        worst = [(float(part.max()), k) for k, part in enumerate(self.excess(shares))]
        beyond, k = max(worst, default=(0.0, 0))
        if beyond <= _SAID:
            return ""
        band = self.bands[k]
        items = band.items(band.rates(shares, self.masses)[0])
        item = int(np.argmax(band.spread(items)))
        gap = float(np.ptp(items[item]))
        if band.asked.averaged:
            where = band.asked.texts[0]
        else:
            where = f"at the cut that has {self.texts[band.at[item]]} above it"
        return (
            f"{band.name} asks for gaps of at most {band.tolerance:.3g}, and {where} a gap of "
            f"{gap:.3f} in {band.asked.rate.name} is left, {beyond:.3f} more than allowed"
        )


_SAID = 0.01  # a gap that exceeds what is allowed by less is within: counts move in steps


def _mixture(masses: Floats, pool: Pool) -> Floats:
    """The cells' parts in a pool, (2K,)."""
    parts = np.zeros_like(masses).reshape(2, -1)
    classes = list(pool_classes(pool))
    parts[classes] = masses.reshape(2, -1)[classes]
    return np.asarray((parts / parts.sum()).reshape(-1))


def _free(asked: Floats) -> list[float]:
    """Shares of cuts where nothing is asked: beyond those asked, and in wide steps between."""
    low, high = float(asked[0]), float(asked[-1])
    free = [_BEFORE * low] if low > 0.0 else []
    free += [high + (1.0 - high) * part for part in _AFTER if high < 1.0]
    for one, other in pairwise(asked.tolist()):
        steps = int(np.ceil((other - one) / _WIDEST))
        free += [float(one + (other - one) * k / steps) for k in range(1, steps)]
    return free


def _noise(asked: PlacedRate, above: Floats, sizes: Floats, tolerance: float) -> Floats:
    """What is left to every group besides the tolerance, (items, K)."""
    people = sizes.reshape(2, -1)[list(asked.rate.classes)].sum(axis=0)
    variance = _MEAN if asked.averaged else _RATE
    beyond = np.ones(1 if asked.averaged else len(above))
    if asked.rate.scarce:  # a rate of those on one side of the cut
        selected = above if asked.selects_above else 1.0 - above
        beyond = selected if asked.rate.whom == "selected" else 1.0 - selected
    error = np.sqrt(variance / np.maximum(beyond[:, None] * people, 1.0))
    return np.asarray(np.maximum(0.0, (_CHANCE * np.sqrt(2.0) * error - tolerance) / 2.0))
