"""Bootstrap on the aggregated table: replicates are arrays of weights, never loops over rows.

A replicate redraws how often each row of the table occurs; statistics are then computed for a
whole batch of replicates at once. Draws are stratified by cell (class and group), or by
observation, where the sizes of the cells vary as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenscore.constraints import (
    Constraint,
    RocConstraint,
    as_constraints,
    combine,
)
from evenscore.distributions import RATE_TOLERANCE, Distribution, check_rates
from evenscore.inference.estimate import Estimate, check_count, check_level, normal_quantile
from evenscore.inference.moments import Sampling, check_sampling
from evenscore.scores import CLASSES, GroupedScores, check_scores, class_names

__all__ = ["BootstrapDistribution", "RocReplicates", "bootstrap", "redraw", "roc_replicates"]

Floats = NDArray[np.float64]
RandomState = int | np.random.Generator | None

_BATCH = 4_000_000  # replicate weights held at a time


@dataclass(frozen=True, eq=False)
class BootstrapDistribution:
    """Replicates of several statistics, kept: level and method can change without recomputing."""

    estimates: list[Estimate]
    replicates: Floats  # (n_resamples, number of statistics)

    def intervals(
        self,
        confidence_level: float = 0.95,
        method: Literal["percentile", "basic", "normal"] = "percentile",
    ) -> list[Estimate]:
        """The estimates with the interval asked for.

        Replicates in which a cell came out empty are NaN and left out; a statistic with more
        than one in a hundred of those carries a warning.
        """
        tail = (1.0 - check_level(confidence_level)) / 2.0
        found = []
        for estimate, column in zip(self.estimates, self.replicates.T, strict=True):
            valid = column[~np.isnan(column)]
            warnings = estimate.warnings
            if len(valid) < 0.99 * len(column):
                lost = 1.0 - len(valid) / len(column)
                warnings = (*warnings, f"{lost:.1%} of the replicates had an empty cell")
            low = high = error = np.nan
            if len(valid) > 1:
                error = float(valid.std(ddof=1))
                low, high = (float(q) for q in np.quantile(valid, [tail, 1.0 - tail]))
                if method == "basic":
                    low, high = 2.0 * estimate.value - high, 2.0 * estimate.value - low
                elif method == "normal":
                    half = normal_quantile(1.0 - tail) * error
                    low, high = estimate.value - half, estimate.value + half
                elif method != "percentile":
                    raise ValueError(
                        f"method must be 'percentile', 'basic' or 'normal', not {method!r}."
                    )
            found.append(
                replace(
                    estimate,
                    low=low,
                    high=high,
                    confidence_level=confidence_level,
                    method=f"bootstrap, {method}",
                    standard_error=error,
                    warnings=warnings,
                )
            )
        return found


def bootstrap(
    scores: GroupedScores,
    constraints: str | Constraint | Iterable[str | Constraint],
    *,
    n_resamples: int = 1000,
    sampling: Sampling = "observations",
    random_state: RandomState = None,
) -> BootstrapDistribution:
    """Bootstrap every gap of the given constraints, AUC and ROC ones alike.

    `sampling="cells"` draws within each class and group, whose total weights stay what they are;
    `"observations"` draws people, so that cell sizes vary (a replicate in which a needed cell is
    empty gives NaN). With weights, an observation keeps its weight, as far as the table knows it
    (`Distribution.homogeneous`).

    >>> y, groups = [0, 1, 0, 1] * 50, list("abba") * 50
    >>> scores = GroupedScores.from_arrays(y, range(200), sensitive_features=groups)
    >>> [gap] = bootstrap(scores, "intra_group", random_state=0).intervals(0.9)
    >>> gap.low < gap.value < gap.high
    True
    """
    check_scores(scores)
    check_count(n_resamples, "n_resamples", 2)
    found = as_constraints(constraints)
    if not found:
        raise ValueError("There is nothing to bootstrap: constraints is empty.")
    estimates = [
        Estimate.of_gap(gap, method="bootstrap")
        for constraint in found
        for gap in constraint.gaps(scores)
    ]
    rng = np.random.default_rng(random_state)
    cells = [cell.homogeneous() for cell in scores.cell_distributions]
    parts = []
    for weights in _redraw_cells(cells, n_resamples, sampling, rng):
        parts.append(_replicate_gaps(scores, cells, found, weights))
    return BootstrapDistribution(estimates, np.concatenate(parts))


def redraw(sample: Distribution, size: int, rng: np.random.Generator) -> Floats:
    """Weights of `size` replicates of a sample, shape (size, rows): its observations redrawn."""
    n = round(sample.n_observations)
    rows = len(sample)
    if n == 0:
        return np.zeros((size, 0))
    if n == rows:  # every row is one observation: count how often it is drawn
        drawn = rng.integers(0, n, (size, n))
        drawn += (np.arange(size) * n)[:, None]
        counts = np.bincount(drawn.reshape(-1), minlength=size * n).reshape(size, n)
        return counts * sample.weights
    assert sample.counts is not None
    shares = sample.counts / sample.counts.sum()
    return rng.multinomial(n, shares, size=size) * (sample.weights / sample.counts)


def _rescaled(weights: Floats, total: float) -> Floats:
    """Replicates of a cell with the weight it has: its share of the population is fixed."""
    sums = weights.sum(axis=1, keepdims=True)
    return np.asarray(weights * np.divide(total, sums, out=np.ones_like(sums), where=sums > 0))


def _redraw_cells(
    cells: list[Distribution], n_resamples: int, sampling: Sampling, rng: np.random.Generator
) -> Iterator[list[Floats]]:
    """Replicate weights of every cell, a batch of replicates at a time."""
    check_sampling(sampling)
    rows = [len(cell) for cell in cells]
    batch = max(1, min(n_resamples, _BATCH // max(1, sum(rows))))
    joint = Distribution(
        np.zeros(sum(rows)),
        np.concatenate([cell.weights for cell in cells]),
        np.concatenate(
            [np.ones(len(cell)) if cell.counts is None else cell.counts for cell in cells]
        ),
    )
    ends = np.cumsum(rows)[:-1]
    for start in range(0, n_resamples, batch):
        size = min(batch, n_resamples - start)
        if sampling == "cells":
            yield [_rescaled(redraw(cell, size, rng), cell.total) for cell in cells]
        else:
            yield np.split(redraw(joint, size, rng), ends, axis=1)


def _replicate_roc_gaps(
    scores: GroupedScores,
    cells: list[Distribution],
    constraint: RocConstraint,
    weights: list[Floats],
) -> Iterator[Floats]:
    """Gaps of a ROC constraint, shape (replicates, rates), in the order of its `gaps`."""
    rates = np.asarray(constraint.rates)
    for on in class_names(constraint.on):
        offset = CLASSES.index(on) * scores.n_groups
        for i, j in scores.pairs():
            one, two = offset + i, offset + j
            roc = roc_replicates(cells[one], cells[two], weights[one], weights[two], rates)
            yield roc - rates


def _replicate_gaps(
    scores: GroupedScores,
    cells: list[Distribution],
    constraints: list[Constraint],
    weights: list[Floats],
) -> Floats:
    """All gaps in every replicate, shape (replicates, gaps)."""
    aucs: Floats | None = None
    found: list[Floats] = []
    for constraint in constraints:
        if isinstance(constraint, RocConstraint):
            found += _replicate_roc_gaps(scores, cells, constraint, weights)
            continue
        if aucs is None:
            aucs, totals = _replicate_aucs(cells, weights)
        for pair in scores.pairs():
            found.append(combine(constraint.coefficients(totals, *pair), aucs)[:, None])
    return np.concatenate(found, axis=1)


def _replicate_aucs(cells: list[Distribution], weights: list[Floats]) -> tuple[Floats, Floats]:
    """AUC matrices (replicates, 2K, 2K) and cell weights (replicates, 2, K)."""
    n_cells = len(cells)
    size = len(weights[0])
    cumulative = [_cumulative(w) for w in weights]
    totals = np.stack([c[:, -1] for c in cumulative], axis=1)
    aucs = np.full((size, n_cells, n_cells), 0.5)
    for i in range(n_cells):
        for j in range(i + 1, n_cells):
            left = np.searchsorted(cells[i].values, cells[j].values, side="left")
            right = np.searchsorted(cells[i].values, cells[j].values, side="right")
            below = cumulative[i][:, left] + cumulative[i][:, right]
            won = 0.5 * np.einsum("br,br->b", below, weights[j])
            product = totals[:, i] * totals[:, j]
            aucs[:, i, j] = np.divide(won, product, out=np.full(size, np.nan), where=product > 0)
            aucs[:, j, i] = 1.0 - aucs[:, i, j]
    return aucs, totals.reshape(size, 2, n_cells // 2)


@dataclass(frozen=True, eq=False)
class RocReplicates:
    """ROC curves of replicates of two samples, whose weights have shape (replicates, rows)."""

    reference: Distribution
    target: Distribution
    reference_weights: Floats
    target_weights: Floats
    ties_split: bool = False

    def evaluate(self, rates: Floats) -> Floats:
        """ROC(rates) by Definition 1 in every replicate, shape (replicates, rates).

        `rates` are the same for all replicates, or one row for each. If `ties_split`, ties are
        broken at random: `RocCurve.interpolate` instead.
        """
        rates = np.atleast_2d(check_rates(rates))
        size, rows = self.reference_weights.shape
        if rows == 0 or len(self.target) == 0:
            return np.full((size, rates.shape[1]), np.nan)
        below, other, shift = self._reference_totals, self._other, self._shift
        need = 1.0 - rates - RATE_TOLERANCE
        index = np.searchsorted(self._shares, (need + shift).reshape(-1), side="left")
        index = index.reshape(size, -1) - np.arange(size)[:, None] * rows
        index = np.clip(index, 0, rows - 1)
        kept = 1.0 - np.take_along_axis(other, self._after[index], axis=1) / np.where(
            other[:, -1:] > 0, other[:, -1:], np.nan
        )
        if self.ties_split and np.any(self._ties[2] < self._after):
            kept = kept + self._rise(index, rates)
        kept = np.where(need <= 0.0, 1.0, kept)
        return np.where(below > 0, kept, np.nan)

    def _rise(self, index: NDArray[np.intp], rates: Floats) -> Floats:
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
    def _ties(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
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
    def _reference_totals(self) -> Floats:
        return np.asarray(self.reference_weights.sum(axis=1, keepdims=True))

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
    def _after(self) -> NDArray[np.intp]:
        return np.searchsorted(self.target.values, self.reference.values, side="right")


def roc_replicates(
    reference: Distribution,
    target: Distribution,
    reference_weights: Floats,
    target_weights: Floats,
    rates: Floats,
) -> Floats:
    """`RocReplicates.evaluate` at one set of rates."""
    return RocReplicates(reference, target, reference_weights, target_weights).evaluate(rates)


def _cumulative(weights: Floats) -> Floats:
    """Cumulative sums along the rows, starting from 0: shape (replicates, rows + 1)."""
    found = np.zeros((weights.shape[0], weights.shape[1] + 1))
    np.cumsum(weights, axis=1, out=found[:, 1:])
    return found
