"""A weighted sample as a distribution function: what curves and measures are made of."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from evenscore.scores.arrays import Floats, starts_of_runs
from evenscore.scores.cluster_shares import USUAL_Z, shares_of_cuts, worth_at, worth_of_cuts
from evenscore.scores.clusters import Clusters
from evenscore.scores.labels import shown
from evenscore.scores.sources import check_lengths, to_numbers

RATE_TOLERANCE = 1e-12
"""A rate this near to a step of a sample's distribution function counts as being at the step.

Steps sit at multiples of 1/n, or at sums of weights, which doubles cannot hold exactly: without
it, `rate=1 - 0.9` would not mean 0.1. An observation that weighs less than this share of its sample
is below the resolution.
"""


def check_rates(rates: ArrayLike, name: str = "rate") -> Floats:
    """Rates as an array, each in [0, 1]."""
    array = to_floats(rates, name)
    if not np.all((array >= 0.0) & (array <= 1.0)):
        raise ValueError(f"{name} must lie between 0 and 1, but {rates!r} was given.")
    return array


def check_interval(interval: Any) -> tuple[float, float]:
    """An interval of rates: two numbers with 0 ≤ low < high ≤ 1."""
    ends = to_floats(interval, "interval")
    if ends.shape != (2,) or not 0.0 <= ends[0] < ends[1] <= 1.0:
        raise ValueError(
            f"An interval of rates is two numbers with 0 ≤ low < high ≤ 1, not {interval!r}."
        )
    return float(ends[0]), float(ends[1])


def to_floats(values: Any, name: str) -> Floats:
    """A number or several as an array of doubles."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number or several, not {shown(values)}.") from None


def check_weights(weights: Floats, name: str) -> None:
    """Refuse negative weights and weights whose products leave the range of doubles."""
    if weights.size == 0:
        return
    lowest = weights.min()
    if lowest < 0:
        row = int(np.argmin(weights))
        raise ValueError(f"{name} is negative at row {row} ({weights[row]:g}).")
    smallest = lowest if lowest > 0 else weights.min(where=weights > 0, initial=np.inf)
    with np.errstate(over="ignore"):
        total = weights.sum()
    if total > 1e140 or smallest < 1e-140:
        raise ValueError(
            f"{name} holds values whose products leave the range of double precision "
            "(sum above 1e140 or a value below 1e-140); divide it by a constant."
        )


@dataclass(frozen=True, eq=False)
class Distribution:
    """A weighted sample: increasing `values` (ties allowed) with their total `weights`.

    A row may stand for several observations: `counts` of them, whose squared weights add up to
    `squares`. By default a row is one observation. `clusters` says which of them belong together;
    None if all are taken to be independent.

    >>> d = Distribution.from_sample([3, 1, 2, 2])
    >>> d.survival([0, 1, 2, 3])
    array([1.  , 0.75, 0.25, 0.  ])
    >>> d.threshold([0.0, 0.25, 0.5, 1.0])
    array([  3.,   2.,   2., -inf])
    """

    values: Floats
    weights: Floats
    counts: Floats | None = None
    squares: Floats | None = None
    clusters: Clusters | None = field(default=None, kw_only=True)

    @classmethod
    def from_sample(cls, sample: Any, weight: Any = None, *, name: str = "sample") -> Self:
        """Sort a sample (a column of finite numbers), with optional weights; equal values merge."""
        values = to_numbers(sample, name)
        if weight is None:
            return cls(np.sort(values), np.broadcast_to(np.float64(1.0), values.shape))
        weights = to_numbers(weight, f"{name}_weight")
        check_lengths({name: values, f"{name}_weight": weights})
        check_weights(weights, f"{name}_weight")
        order = np.argsort(values)
        order = order[weights[order] > 0.0]
        values, weights = values[order], weights[order]
        starts = starts_of_runs(values)
        return cls(
            values[starts],
            np.add.reduceat(weights, starts),
            np.diff(starts, append=len(values)).astype(np.float64),
            np.add.reduceat(np.square(weights), starts),
        )

    def __len__(self) -> int:
        return len(self.values)

    @property
    def row_counts(self) -> Floats:
        """Number of observations of each row."""
        return np.ones(len(self)) if self.counts is None else self.counts

    @property
    def row_squares(self) -> Floats:
        """Sum of the squared weights of each row."""
        return np.square(self.weights) if self.squares is None else self.squares

    @cached_property
    def cumulative(self) -> Floats:
        """Total weight up to and including each value (row by row within ties)."""
        return np.cumsum(self.weights)

    @cached_property
    def total(self) -> float:
        """Total weight; 0 for an empty sample."""
        return float(self.cumulative[-1]) if len(self) else 0.0

    @cached_property
    def n_observations(self) -> float:
        """Number of observations."""
        return float(len(self) if self.counts is None else self.counts.sum())

    @cached_property
    def effective_size(self) -> float:
        """(Σw)²/Σw²: the number of equally weighted observations worth as much; 0 if empty."""
        if self.squares is None and self.weights.strides == (0,):  # one weight for all
            return float(len(self))
        total = float(self.row_squares.sum())
        return self.total**2 / total if total > 0 else 0.0

    @cached_property
    def is_clustered(self) -> bool:
        """Whether two observations are of one cluster: otherwise all are independent."""
        return self.clusters is not None and len(self.clusters.present) < self.n_observations

    @property
    def independent_size(self) -> float:
        """How many observations the sample is worth at the least: those of a cluster may be one.

        With clusters their effective number, (ΣW)²/ΣW² of the weights W of clusters, which is what
        intervals rest on however little the observations of a cluster are alike: the variance is
        estimated from so many. Otherwise `effective_size`. 0 if empty.
        """
        if not self.is_clustered:
            return self.effective_size
        assert self.clusters is not None
        return self.clusters.effective_number

    def size_behind(self, share: ArrayLike, z: ArrayLike = USUAL_Z) -> Floats:
        """The effective number of observations behind a share p of the largest values: p(1 − p)/V.

        V = Σw²(x − p)²/(Σw)² is the variance of the weight above a fixed cut, x being 1 above it
        and 0 below, so that 1/size = ((1 − p)h₁ + p h₀)/Σw with h = Σw²/Σw above and below. Where
        weights depend on the value it is another at every cut, and none of them (Σw)²/Σw²; where
        all are equal it is the number of observations. A cut within a row splits it in proportion.
        Of few observations h is a poor estimate, and one light one beyond the cut would make the
        size huge: each side counts two more of the typical weight Σw²/Σw of all, if that makes the
        size smaller.

        With clusters V is the variance of sums over them, and the size is that for Wilson's
        interval at z standard errors: see `cluster_shares`. It is found at some hundred cuts, and
        interpolated between them.

        >>> heavy = Distribution.from_sample([1, 2, 3, 4], weight=[1, 1, 2, 2])
        >>> heavy.size_behind([0.0, 0.5, 1.0]).round(3)
        array([3. , 3.6, 3.6])
        """
        share = check_rates(share, "share")
        if self.is_clustered:
            cuts, inverse, freedom, _ = self._worth
            inverse, freedom = (np.interp(share, cuts, column) for column in (inverse, freedom))
            return np.minimum(worth_at(inverse, freedom, np.asarray(z)), self._size_of_rows(share))
        return self._size_of_rows(share)

    def _size_of_rows(self, share: Floats) -> Floats:
        """The size behind a share if all observations are independent."""
        if not self.is_weighted:  # and for an empty sample
            return np.full(share.shape, self.effective_size)
        p = np.clip(share, 1e-6, 1.0 - 1e-6)  # near enough to the limits at 0 and 1
        above, squares = self.squares_above
        typical = squares[-1]
        inside = np.interp(p, above, squares)
        weight, square = np.stack([p, 1.0 - p]), np.stack([inside, typical - inside])
        other = weight[::-1]
        plain = (other * square / weight).sum(axis=0)
        added = 2.0 * typical
        shrunk = (other * (square + added * typical) / (weight + added)).sum(axis=0)
        return np.asarray(1.0 / np.maximum(plain, shrunk))

    @cached_property
    def _worth(self) -> tuple[Floats, Floats, Floats, float]:
        """Shares above some cuts, one over their sizes, degrees of freedom; the correlation."""
        assert self.clusters is not None
        values = np.unique(self.threshold(shares_of_cuts(self.effective_size)))
        share = self.survival(values)
        some = (share > 0.0) & (share < 1.0)
        values, share = values[some][::-1], share[some][::-1]
        place = len(values) - np.searchsorted(values[::-1], self.values, side="left")
        sizes = self.effective_size, self._size_of_rows(share)
        return worth_of_cuts(self.clusters, place, share, *sizes)

    @property
    def correlation(self) -> float:
        """The correlation within clusters of being above a cut, over all cuts; 0 without them."""
        return self._worth[3] if self.is_clustered else 0.0

    @cached_property
    def squares_above(self) -> tuple[Floats, Floats]:
        """Shares of the weight from the largest value down, and the squared weights therein."""
        columns = self.weights, self.row_squares
        above, inside = (np.append(0.0, np.cumsum(column[::-1])) for column in columns)
        return above / above[-1], inside / above[-1] ** 2

    @cached_property
    def is_tied(self) -> bool:
        """Whether two observations have the same value."""
        if self.counts is not None and bool((self.counts > 1.0).any()):
            return True
        return bool((self.values[1:] == self.values[:-1]).any())

    @cached_property
    def is_weighted(self) -> bool:
        """Whether observations differ in weight."""
        return not np.isclose(self.effective_size, self.n_observations, rtol=1e-9)

    def homogeneous(self) -> "Distribution":
        """The same sample with rows of equally weighted observations, as resampling needs.

        A row of c observations with unequal weights becomes two, k of weight a and c − k of weight
        b ≥ 0, with the same count, sum and sum of squares: the first two moments are all the table
        knows.
        """
        if self.counts is None or self.squares is None:
            return self
        c, mean = self.counts, self.weights / self.counts
        variance = self.squares / c - mean**2
        uneven = (c > 1.0) & (variance > 1e-12 * mean**2)
        if not uneven.any():
            return self
        k = np.clip(np.floor(c * mean**2 / (mean**2 + variance)), 1.0, np.maximum(c - 1.0, 1.0))
        spread = np.sqrt(np.where(uneven, variance, 0.0))
        rest = np.maximum(c - k, 1.0)
        a, b = mean + spread * np.sqrt(rest / k), mean - spread * np.sqrt(k / rest)
        rows = np.repeat(np.arange(len(c)), np.where(uneven, 2, 1))
        second = np.append(False, rows[1:] == rows[:-1])
        counts = np.where(second, rest[rows], np.where(uneven, k, c)[rows])
        each = np.where(second, b[rows], np.where(uneven, a, mean)[rows])
        each = np.maximum(each, 0.0)
        return Distribution(self.values[rows], counts * each, counts, counts * each**2)

    def weight_below(self, threshold: ArrayLike, *, inclusive: bool) -> Floats:
        """Weight of the values < threshold, or ≤ threshold if `inclusive`."""
        cut = np.asarray(threshold, dtype=np.float64)
        index = np.searchsorted(self.values, cut, side="right" if inclusive else "left")
        below = np.take(self.cumulative, np.maximum(index, 1) - 1)
        return np.where(index > 0, below, 0.0)

    def survival(self, threshold: ArrayLike) -> Floats:
        """P(S > threshold): the share selected by a cut at `threshold`. NaN if empty."""
        cut = np.asarray(threshold, dtype=np.float64)
        if self.total == 0.0:
            return np.full(cut.shape, np.nan)
        share = (self.total - self.weight_below(cut, inclusive=True)) / self.total
        return np.where(np.isnan(cut), np.nan, share)

    def shares(self, value: ArrayLike) -> tuple[Floats, Floats]:
        """P(S > value) and P(S = value). NaN if empty."""
        at = np.asarray(value, dtype=np.float64)
        if self.total == 0.0:
            return np.full(at.shape, np.nan), np.full(at.shape, np.nan)
        below, up_to = (self.weight_below(at, inclusive=end) for end in (False, True))
        above, tied = (self.total - up_to) / self.total, (up_to - below) / self.total
        return np.asarray(above), np.asarray(tied)

    def number_at(self, value: ArrayLike) -> float:
        """How many observations have this very value."""
        ends = (np.searchsorted(self.values, value, side=side) for side in ("left", "right"))
        return float(self.row_counts[slice(*map(int, ends))].sum())

    def threshold(self, rate: ArrayLike) -> Floats:
        """F⁻¹(1 − rate) = inf{t : P(S > t) ≤ rate}, −∞ for rate 1. NaN if empty."""
        rate = check_rates(rate)
        if self.total == 0.0:
            return np.full(rate.shape, np.nan)
        need = self.total * (1.0 - rate - RATE_TOLERANCE)
        index = np.searchsorted(self.cumulative, need, side="left")
        found = np.take(self.values, np.minimum(index, len(self) - 1))
        return np.where(need <= 0.0, -np.inf, found)
