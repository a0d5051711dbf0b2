"""Gaussian bridges: how far the gaps seen at many cuts stray from the true ones, all at once.

The weight of a cell above a cut is a sum over people; its noise at growing cuts is a walk whose
steps have the variances Σw² between the cuts. A rate is a function of these weights, and its noise
to first order what they move it by (`Rate.influence`), so that the noise of all gaps at all cuts is
drawn at once, with no resampling: the same walks serve all rates and all pairs of groups. Who gets
which of the random numbers depends on the people of a group, not on its name or place.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenscore.scores.arrays import Floats, Ints, ratio
from evenscore.scores.rates import CATALOGUE, Rate
from evenscore.scores.selection import Ladder

Singles = NDArray[np.float32]  # half the memory: draws need no more digits

GRID = 80  # cuts of a range at which bridges are drawn
DRAWS = 1_500  # bridges
_TAIL = 40  # draws beyond which the tail of their maximum goes on by its law


def grid_steps(ladder: Ladder, first: int, last: int, cuts: int = GRID) -> Ints:
    """Some of the steps of a range, evenly spaced in the share of the pool, both ends in.

    >>> from evenscore import GroupedScores
    >>> table = GroupedScores.from_arrays([0, 1] * 50, range(100), sensitive_features=["a"] * 100)
    >>> grid_steps(Ladder.make(table, "everyone", "high"), 10, 40, 4)
    array([10, 20, 30, 40])
    """
    share = np.linspace(ladder.share[first], ladder.share[last], cuts)
    steps = np.searchsorted(ladder.share, share - 1e-12, side="left")
    return np.unique(np.clip(np.append(steps, (first, last)), first, last))


@dataclass(frozen=True, eq=False)
class GapNoise:
    """The noise of a gap, (cuts, draws), and its standard deviation at each cut.

    `stream` tells the random numbers of this gap from those of others.
    """

    noise: Singles
    spread: Floats
    stream: tuple[int, ...] = ()

    def studentised(self) -> Singles:
        """The size of the noise in standard deviations; 0 where there is none."""
        scale = ratio(1.0, self.spread, 0.0).astype(np.float32)
        return np.asarray(np.abs(self.noise) * scale[:, None])


class Bridges:
    """Bridges of the rates of all groups at some steps of a ladder."""

    def __init__(self, ladder: Ladder, steps: Ints, random_state: int = 0) -> None:
        self.ladder = ladder
        self.steps = steps
        self.selected = ladder.selected(steps)
        self._seed = int(random_state)
        self._processes: dict[str, tuple[Singles, Floats]] = {}

    @cached_property
    def _ranks(self) -> Ints:
        """The places of the groups in an order that goes by their people alone."""
        scores = self.ladder.scores
        parts = scores.cell_counts, scores.cell_squares, scores.cell_weights, self.selected.weight
        keys = np.concatenate([part.reshape(-1, scores.n_groups) for part in parts])
        return np.argsort(np.lexsort(keys))

    @cached_property
    def _walks(self) -> Singles:
        """Noise of the weight of every cell above each cut, and of all of it: (…, 2, K, draws)."""
        scores = self.ladder.scores
        squares = np.concatenate(
            [np.zeros((1, 2, scores.n_groups)), self.selected.square, scores.cell_squares[None]]
        )
        spread = np.sqrt(np.maximum(np.diff(squares, axis=0), 0.0)).astype(np.float32)
        rng = np.random.default_rng(self._seed)
        walks = rng.standard_normal((*spread.shape, DRAWS), dtype=np.float32)[:, :, self._ranks]
        walks *= spread[..., None]
        return np.cumsum(walks, axis=0, out=walks)

    def _process(self, rate: Rate) -> tuple[Singles, Floats]:
        """The noise of the rate of each group, (cuts, groups, draws), and its variance."""
        if rate.name not in self._processes:
            scores = self.ladder.scores
            shares = ratio(self.selected.weight, scores.cell_weights, 0.0)
            # (cuts, classes, sides, groups): a class that the rate is not about counts for nothing.
            unit = np.nan_to_num(rate.influence(shares, scores.cell_weights))
            above, total = self._walks[:-1], self._walks[-1]
            noise = np.zeros((len(unit), scores.n_groups, DRAWS), dtype=np.float32)
            for c in rate.classes:
                outside, moved = (
                    part[..., None].astype(np.float32)
                    for part in (unit[:, c, 0], unit[:, c, 1] - unit[:, c, 0])
                )
                noise += moved * above[:, c]
                noise += outside * total[c]
            sides = np.stack(
                [scores.cell_squares - self.selected.square, self.selected.square], axis=2
            )
            self._processes[rate.name] = noise, np.sum(np.square(unit) * sides, axis=(1, 2))
        return self._processes[rate.name]

    def of_groups(self, rate: Rate) -> Singles:
        """The noise of the rate of each group, (cuts, groups, draws)."""
        return self._process(rate)[0]

    def of(self, rate: Rate, pair: tuple[int, int]) -> GapNoise:
        """The noise of the gap of a rate between two groups."""
        i, j = pair
        noise, variance = self._process(rate)
        ranks = sorted(self._ranks[[i, j]].tolist())
        stream = tuple(CATALOGUE).index(rate.name), *ranks
        spread = np.sqrt(variance[:, i] + variance[:, j])
        return GapNoise(noise[:, i] - noise[:, j], spread, stream)

    def largest_between(self, studentised: Singles, stream: tuple[int, ...]) -> Floats:
        """The largest size of each bridge over *all* cuts from the first to the last, (draws,).

        Between two cuts of the grid the process is a Brownian bridge but for its drift: given the
        ends a and b, its largest value exceeds m with probability exp(−2(m − a)(m − b)/v), v being
        the variance of the increment, and is drawn accordingly. Where the score has no cut between
        two of the grid there is nothing to draw. Over 80 cuts of 10 % to 40 % the quantile is about
        0.1 larger than that of the grid itself.
        """
        largest = studentised.max(axis=0)
        between = np.flatnonzero(np.diff(self.steps) > 1)
        if len(between):
            a, b = studentised[between], studentised[between + 1]
            apart = np.square(a - b)
            variance = apart.mean(axis=1, keepdims=True)
            rng = np.random.default_rng([self._seed, *stream])
            waits = rng.standard_exponential(a.shape, dtype=np.float32)
            inner = (a + b + np.sqrt(apart + 2.0 * variance * waits)) / 2.0
            largest = np.maximum(largest, inner.max(axis=0))
        return np.asarray(largest, dtype=np.float64)


def band_quantile(maxima: Floats, z: float) -> float:
    """The quantile of the largest of a process that is as extreme as a normal |Z| > z.

    Beyond the draws their law goes on: the tail of a maximum of |Z| over a range of cuts falls no
    slower than q² times that of one.

    >>> one = np.sort(np.abs(np.random.default_rng(0).normal(size=20_000)))
    >>> [abs(band_quantile(one, z) - z) < 0.1 for z in (1.0, 1.96)]
    [True, True]
    """
    from scipy.special import log_ndtr, ndtr

    n = len(maxima)
    p = 2.0 * float(ndtr(-z))
    known = min(_TAIL, n) / n
    if p >= known:
        return float(max(np.quantile(maxima, 1.0 - p), z))
    start = max(float(np.quantile(maxima, 1.0 - known)), 1.0)  # less, if nothing moves
    grid = np.linspace(start, max(start, z) + 6.0, 2_000)
    tail = np.log(known) + log_ndtr(-grid) - log_ndtr(-start) + 2.0 * np.log(grid / start)
    return float(max(np.interp(-np.log(max(p, 1e-300)), -tail, grid), z))
