"""Bootstrap on the aggregated table: a replicate redraws how often each row of it occurs.

Draws are stratified by cell (class and group), or by observation, where the sizes of the cells
vary as well. With clusters whole clusters are drawn, once for all cells: one may have rows in
several.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from evenscore.inference.estimate import Estimate, Sampling, check_count, check_level
from evenscore.inference.influence import check_sampling
from evenscore.inference.intervals import invert, normal_quantile, student, t_test
from evenscore.inference.redrawing import batch_sizes, breadth, redraw, redraw_clusters
from evenscore.scores import GroupedScores, check_scores
from evenscore.scores.arrays import Floats, Ints, ratio, starts_of_runs
from evenscore.scores.distribution import RATE_TOLERANCE, Distribution, check_rates

RandomState = int | np.random.Generator | None

_BATCH = 4_000_000  # replicate weights held at a time


@dataclass(frozen=True, eq=False)
class BootstrapDistribution:
    """Replicates of several statistics, kept: level and method can change without recomputing."""

    values: Floats
    replicates: Floats  # (n_resamples, number of statistics)
    clusters: Floats | None = None  # how many are behind each statistic at least; None: people

    def intervals(
        self,
        confidence_level: float = 0.95,
        method: Literal["percentile", "basic", "normal"] = "percentile",
        *,
        estimates: Sequence[Estimate] | None = None,
    ) -> list[Estimate]:
        """The statistics with the interval asked for; `estimates` gives them their names.

        The p-value is one minus the largest level at which the percentile interval leaves out
        zero, and at least 2/(n_resamples + 1). Replicates in which a cell came out empty are NaN
        and left out; a statistic with more than one in a hundred of those carries a warning.
        """
        if method not in ("percentile", "basic", "normal"):
            raise ValueError(f"method must be 'percentile', 'basic' or 'normal', not {method!r}.")
        level = check_level(confidence_level)
        if estimates is None:
            estimates = [
                Estimate(f"statistic {k}", float(value), np.nan, np.nan, np.nan, "bootstrap")
                for k, value in enumerate(self.values)
            ]
        intervals = []
        for estimate, column in zip(estimates, self.replicates.T, strict=True):
            estimate = replace(estimate, confidence_level=level, method=f"bootstrap, {method}")
            valid = column[~np.isnan(column)]
            if len(valid) < 0.99 * len(column):
                lost = f"{1.0 - len(valid) / len(column):.1%} of the replicates had an empty cell"
                estimate = replace(estimate, warnings=(*estimate.warnings, lost))
            if len(valid) > 1 and not np.isnan(estimate.value):
                estimate = percentile_estimate(estimate, valid, level)
                value, low, high = estimate.value, estimate.low, estimate.high
                half = normal_quantile(0.5 + level / 2.0) * estimate.standard_error
                if method == "basic":
                    estimate = replace(estimate, low=2.0 * value - high, high=2.0 * value - low)
                elif method == "normal":
                    estimate = replace(estimate, low=value - half, high=value + half)
            intervals.append(estimate)
        if self.clusters is None:
            return intervals
        z = np.full(len(intervals), normal_quantile(0.5 + level / 2.0))
        ends, p_values = self.ends(z), invert(self.ends, len(intervals))
        return [
            replace(estimate, low=low, high=high, p_value=p_value)
            for estimate, low, high, p_value in zip(
                intervals, *(end.tolist() for end in ends), p_values.tolist(), strict=True
            )
        ]

    def ends(self, z: Floats) -> tuple[Floats, Floats]:
        """Ends of the percentile intervals at normal quantiles z, one per statistic.

        Beyond the level with ten replicates in either tail, their distances from the value grow in
        proportion to z: too few are left to tell. Replicates of G clusters vary too little, by
        √(G/(G − 1)), and their variance is not known: distances grow by that and as Student's
        quantile with G − 1 degrees of freedom does. Fewer than two clusters give no interval.
        """
        from scipy.special import ndtr, ndtri

        low, high = np.full((2, len(self.values)), np.nan)
        for k, (value, column) in enumerate(zip(self.values, self.replicates.T, strict=True)):
            valid = column[~np.isnan(column)]
            if np.isnan(z[k]) or np.isnan(value) or len(valid) < 2:
                continue
            furthest = float(-ndtri(min(10.0 / len(valid), 0.25)))
            tail = float(ndtr(-min(z[k], furthest)))
            ends = np.quantile(valid, [tail, 1.0 - tail])
            factor = max(1.0, z[k] / furthest)
            if self.clusters is not None:
                if self.clusters[k] < 2.0:
                    continue
                factor *= _few_clusters(float(z[k]), float(self.clusters[k]))
            low[k] = min(value - factor * (value - ends[0]), ends[0])
            high[k] = max(value + factor * (ends[1] - value), ends[1])
        return low, high


def percentile_estimate(blank: Estimate, draws: Floats, level: float) -> Estimate:
    """The percentile interval; the p-value is at least 2/(n + 1). NaN draws are left out."""
    tail = (1.0 - level) / 2.0
    draws = draws[~np.isnan(draws)]
    if len(draws) < 2 or np.isnan(blank.value):
        return replace(
            blank, confidence_level=level, warnings=(*blank.warnings, "there is no value to redraw")
        )
    low, high = np.quantile(draws, [tail, 1.0 - tail]).tolist()
    beyond = 1 + min(int(np.sum(draws <= 0.0)), int(np.sum(draws >= 0.0)))
    return replace(
        blank,
        low=low,
        high=high,
        confidence_level=level,
        standard_error=float(draws.std(ddof=1)),
        p_value=min(1.0, 2.0 * beyond / (len(draws) + 1)),
    )


def _few_clusters(z: float, clusters: float) -> float:
    """By how much the distances of percentile intervals grow: see `BootstrapDistribution.ends`."""
    freedom = clusters - 1.0
    z = max(z, 1e-9)
    quantile = float(student(np.asarray(z), np.asarray(freedom)))
    return quantile / z * float(np.sqrt(1.0 + 1.0 / freedom))


def for_clusters(estimate: Estimate, clusters: float) -> Estimate:
    """The same estimate by replicates of so many clusters: see `BootstrapDistribution.ends`."""
    if not estimate.has_interval or np.isinf(clusters):
        return estimate
    if clusters < 2.0:
        reason = "no interval: fewer than two clusters are behind it"
        nan = np.nan
        return replace(estimate, low=nan, high=nan, p_value=nan, warnings=(reason,))
    freedom = clusters - 1.0
    z = normal_quantile(0.5 + estimate.confidence_level / 2.0)
    factor, value = _few_clusters(z, clusters), estimate.value
    low = min(value - factor * (value - estimate.low), estimate.low)
    high = max(value + factor * (estimate.high - value), estimate.high)
    error = estimate.standard_error * np.sqrt(1.0 + 1.0 / freedom)
    distance = value - low if value > 0.0 else high - value
    p_value = 1.0
    if distance > 0.0:
        quantile = float(student(np.asarray(z), np.asarray(freedom)))
        p_value = t_test(abs(value) / distance * quantile, 1.0, freedom)
    level = 1.0 - estimate.confidence_level
    apart = low > 0.0 or high < 0.0
    p_value = min(p_value, level) if apart else max(p_value, np.nextafter(level, 1.0))
    return replace(
        estimate,
        low=low,
        high=high,
        p_value=float(p_value),
        standard_error=float(error),
        degrees_of_freedom=freedom,
    )


def bootstrap(
    scores: GroupedScores,
    statistic: Callable[[GroupedScores], Floats],
    *,
    n_resamples: int = 1000,
    sampling: Sampling = "observations",
    random_state: RandomState = None,
) -> BootstrapDistribution:
    """Bootstrap any statistic of the table, for instance the `values` of a constraint.

    Parameters
    ----------
    scores : GroupedScores
        The table.
    statistic : function of a GroupedScores
        Gives a number or an array of them; NaN where a needed cell is empty.
    n_resamples : int
        Number of replicates.
    sampling : "observations" or "cells"
        "cells" draws within each class and group, whose total weights stay what they are;
        "observations" draws people, so that cell sizes vary. With weights, an observation keeps its
        weight, as far as the table knows it (`Distribution.homogeneous`). With clusters both draw
        whole clusters; with "cells" the total weights of the cells are kept.
    random_state : int or Generator, optional
        Seed of the draws.

    Returns
    -------
    BootstrapDistribution
        Ask it for `intervals` at any level.

    Examples
    --------
    >>> from evenscore import AucConstraint
    >>> y, groups = [0, 1, 0, 1] * 50, list("abba") * 50
    >>> scores = GroupedScores.from_arrays(y, range(200), sensitive_features=groups)
    >>> notion = AucConstraint.named("intra_group")
    >>> [gap] = bootstrap(scores, notion.values, random_state=0, n_resamples=100).intervals(0.9)
    >>> gap.low < gap.value < gap.high
    True
    """
    check_scores(scores)
    check_count(n_resamples, "n_resamples", 2)
    rng = np.random.default_rng(random_state)
    clustered = scores.is_clustered
    cells = [cell if clustered else cell.homogeneous() for cell in scores.cell_distributions]
    columns = [
        np.concatenate([np.zeros(0), *parts])
        for parts in (
            (cell.values for cell in cells),
            (np.full(len(cell), c) for c, cell in enumerate(cells)),
            (cell.row_counts / cell.weights for cell in cells),
            (cell.row_squares / cell.weights for cell in cells),
        )
    ]
    order = np.lexsort((columns[1], columns[0]))
    score, cell, *each = (column[order] for column in columns)
    replicates = []
    for drawn in _redraw_cells(cells, n_resamples, sampling, rng, clustered=clustered):
        for weights in np.concatenate(drawn, axis=1)[:, order]:
            kept = np.flatnonzero(weights)
            by_weight = [column[kept] for column in each]
            table = _replicate(scores, score[kept], cell[kept], weights[kept], *by_weight)
            replicates.append(np.atleast_1d(statistic(table)))
    values = np.atleast_1d(np.asarray(statistic(scores), dtype=np.float64))
    return BootstrapDistribution(values, np.array(replicates, dtype=np.float64))


def _replicate(
    scores: GroupedScores,
    score: Floats,
    cell: Floats,
    weight: Floats,
    counts: Floats,
    squares: Floats,
) -> GroupedScores:
    """The table of a replicate, whose rows are in order: rows of one (score, cell) add up.

    `counts` and `squares` are the numbers of observations and the squared weights by weight.
    """
    codes = cell.astype(scores.cell.dtype)
    starts = starts_of_runs(score, codes)
    return replace(
        scores,
        score=score[starts],
        cell=codes[starts],
        weight=np.add.reduceat(weight, starts),
        count=np.add.reduceat(weight * counts, starts),
        weight_squared=np.add.reduceat(weight * squares, starts),
        clusters=None,
    )


def _rescaled(weights: Floats, total: float) -> Floats:
    """Replicates of a cell with the weight it has: its share of the population is fixed."""
    return np.asarray(weights * ratio(total, weights.sum(axis=1, keepdims=True), 1.0))


def _redraw_cells(
    cells: list[Distribution],
    n_resamples: int,
    sampling: Sampling,
    rng: np.random.Generator,
    *,
    clustered: bool,
) -> Iterator[list[Floats]]:
    """Replicate weights of every cell, a batch of replicates at a time."""
    check_sampling(sampling)
    rows = [len(cell) for cell in cells]
    joint = Distribution(
        np.zeros(sum(rows)),
        np.concatenate([cell.weights for cell in cells]),
        np.concatenate([cell.row_counts for cell in cells]),
    )
    ends = np.cumsum(rows)[:-1]
    for size in batch_sizes(n_resamples, _BATCH // max(1, sum(map(breadth, cells)))):
        if clustered:
            drawn = redraw_clusters(cells, size, rng)
            if sampling == "cells":
                drawn = [_rescaled(w, cell.total) for w, cell in zip(drawn, cells, strict=True)]
            yield drawn
        elif sampling == "cells":
            yield [_rescaled(redraw(cell, size, rng), cell.total) for cell in cells]
        else:
            yield np.split(redraw(joint, size, rng), ends, axis=1)


@dataclass(frozen=True, eq=False)
class RocReplicates:
    """ROC curves of replicates of two samples, whose weights have shape (replicates, rows)."""

    reference: Distribution
    target: Distribution
    reference_weights: Floats
    target_weights: Floats
    ties_split: bool = False

    def take(self, some: Ints) -> "RocReplicates":
        """Some of the replicates."""
        if len(some) == len(self.reference_weights):
            return self
        return replace(
            self,
            reference_weights=self.reference_weights[some],
            target_weights=self.target_weights[some],
        )

    def evaluate(self, rates: Floats) -> Floats:
        """ROC(rates) by Definition 1 in every replicate, shape (replicates, rates).

        `rates` are the same for all replicates, or one row for each. If `ties_split`, ties are
        broken at random: `RocCurve.interpolate` instead.
        """
        rates = np.atleast_2d(check_rates(rates))
        size, rows = self.reference_weights.shape
        if rows == 0 or len(self.target) == 0:
            return np.full((size, rates.shape[1]), np.nan)
        other = self._other
        need = 1.0 - rates - RATE_TOLERANCE
        index = np.searchsorted(self._shares, (need + self._shift).reshape(-1), side="left")
        index = index.reshape(size, -1) - np.arange(size)[:, None] * rows
        index = np.clip(index, 0, rows - 1)
        kept = 1.0 - np.take_along_axis(other, self._after[index], axis=1) / np.where(
            other[:, -1:] > 0, other[:, -1:], np.nan
        )
        if self.ties_split and np.any(self._ties[2] < self._after):
            kept = kept + self._rise(index, rates)
        kept = np.where(need <= 0.0, 1.0, kept)
        return np.where(self._reference_below[:, -1:] > 0, kept, np.nan)

    def _rise(self, index: Ints, rates: Floats) -> Floats:
        """The share of the target tied with the cut that is selected as well."""
        (first, last, before), below, other = self._ties, self._reference_below, self._other
        take = np.take_along_axis
        with np.errstate(invalid="ignore", divide="ignore"):
            up_to, under = take(below, last[index], axis=1), take(below, first[index], axis=1)
            part = (rates * below[:, -1:] - (below[:, -1:] - up_to)) / (up_to - under)
            tied = take(other, self._after[index], axis=1) - take(other, before[index], axis=1)
            rise = np.clip(np.nan_to_num(part), 0.0, 1.0) * tied / other[:, -1:]
        return np.asarray(np.nan_to_num(rise))

    @cached_property
    def _ties(self) -> tuple[Ints, Ints, Ints]:
        """Where each value of the reference starts and ends there, and starts in the target."""
        values = self.reference.values
        return (
            np.searchsorted(values, values, side="left"),
            np.searchsorted(values, values, side="right"),
            np.searchsorted(self.target.values, values, side="left"),
        )

    @cached_property
    def _reference_below(self) -> Floats:
        return _cumulative(self.reference_weights)

    @property
    def _shift(self) -> Floats:
        """One search for all replicates: replicate b's distribution function is shifted by 2b."""
        return 2.0 * np.arange(len(self.reference_weights), dtype=np.float64)[:, None]

    @cached_property
    def _shares(self) -> Floats:
        below = self._reference_below
        with np.errstate(invalid="ignore"):
            share = below[:, 1:] / below[:, -1:]
        return np.asarray((np.nan_to_num(share, nan=1.0) + self._shift).reshape(-1))

    @cached_property
    def _other(self) -> Floats:
        return _cumulative(self.target_weights)

    @cached_property
    def _after(self) -> Ints:
        return np.searchsorted(self.target.values, self.reference.values, side="right")


def _cumulative(weights: Floats) -> Floats:
    """Cumulative sums along the rows, starting from 0: shape (replicates, rows + 1)."""
    found = np.zeros((weights.shape[0], weights.shape[1] + 1))
    np.cumsum(weights, axis=1, out=found[:, 1:])
    return found
