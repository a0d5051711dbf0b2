"""Estimates of AUCs and of the gaps between them, with intervals and p-values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenscore.constraints import AucConstraint, Combination, Gap, as_constraints
from evenscore.inference.estimate import (
    SMALL_CELL,
    Estimate,
    check_level,
    holm,
    invert,
    normal_quantile,
    student,
    wilson,
)
from evenscore.inference.moments import (
    PlacementMoments,
    Sampling,
    cell_freedom,
    check_sampling,
    overall_form,
    placement_moments,
    satterthwaite,
    side_forms,
    unbiased,
)
from evenscore.scores import GroupedScores, check_scores

__all__ = ["auc_estimates", "gap_estimates", "small_cells"]

Floats = NDArray[np.float64]

_CHUNK = 1 << 20  # entries of the coefficients of the pairs of groups handled at a time


def gap_estimates(
    scores: GroupedScores,
    constraints: str | AucConstraint | Iterable[str | AucConstraint],
    *,
    confidence_level: float = 0.95,
    sampling: Sampling = "observations",
    moments: PlacementMoments | None = None,
    pairs: Iterable[tuple[int, int]] | None = None,
) -> list[Estimate]:
    """Every gap of the given AUC constraints, with its interval and p-value.

    Of all pairs of groups, or only of the `pairs` (of positions in the order of the groups) given.

    `sampling="observations"`: people were drawn at random, so that the proportions in pooled
    populations vary too; `"cells"`: so many of each class and group were drawn, and the weights of
    the cells are fixed. The interval of a difference of two AUCs is made of their log-odds
    intervals and their correlation (the method of variance estimates recovery), so that it stays
    within [−1, 1] and does not vanish when the AUCs are near 1; quantiles are Student's, with Welch
    and Satterthwaite's degrees of freedom. The p-value is one minus the largest level at which the
    interval leaves out zero; Holm's correction runs over the pairs of groups of one constraint.
    Cells below about 30 (effective) observations give a warning, below 2 no interval.

    >>> y, groups = [0, 1, 0, 1] * 50, list("abba") * 50
    >>> scores = GroupedScores.from_arrays(y, range(200), sensitive_features=groups)
    >>> [gap] = gap_estimates(scores, "intra_group")
    >>> gap.low < gap.value < gap.high
    True
    """
    check_scores(scores)
    check_level(confidence_level)
    check_sampling(sampling)
    moments = placement_moments(scores) if moments is None else moments
    compared = scores.pairs() if pairs is None else list(pairs)
    groups, parts = [], []
    step = max(1, _CHUNK // (scores.n_cells**2 + 1))
    for constraint in as_constraints(constraints):
        if not isinstance(constraint, AucConstraint):
            raise TypeError("gap_estimates takes AUC constraints; see roc_gap_estimates.")
        groups.append(constraint.gaps(scores, moments.matrix, compared))
        for start in range(0, len(compared), step):
            some = compared[start : start + step]
            parts.append(_Differences.of(scores, constraint, moments, sampling, some))
    if not parts:
        return []
    differences = _Differences(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    gaps = [gap for group in groups for gap in group]
    estimates = iter(_estimates(gaps, differences, scores, moments, confidence_level))
    return [e for group in groups for e in holm([next(estimates) for _ in group])]


class _Differences(NamedTuple):
    """Many gaps at once: the two sides of each, and the variance of their difference."""

    one: Floats
    two: Floats
    variances: Floats  # of the two sides, shape (gaps, 2)
    freedoms: Floats
    sizes: Floats
    variance: Floats
    freedom: Floats
    used: NDArray[np.bool_]  # the cells that matter, shape (gaps, 2K)
    of_aucs: NDArray[np.bool_]  # whether the sides are AUCs

    @classmethod
    def of(
        cls,
        scores: GroupedScores,
        constraint: AucConstraint,
        moments: PlacementMoments,
        sampling: Sampling,
        pairs: list[tuple[int, int]],
    ) -> _Differences:
        coefficients, (left, right) = side_forms(scores, constraint, moments, sampling, pairs)
        sides = np.sum(coefficients * np.nan_to_num(moments.matrix.values), axis=(-2, -1))
        variances, freedoms = (
            np.array(column)
            for column in zip(*(_totals(form, moments) for form in (left, right)), strict=True)
        )
        variance, freedom = _totals(left - right, moments)
        used = np.any((left != 0.0) | (right != 0.0), axis=-1)
        of_aucs = not isinstance(constraint.definition, Combination)
        if of_aucs:  # rounding may leave 1 + 1e-16
            sides = np.clip(sides, 0.0, 1.0)
        return cls(
            sides[0],
            sides[1],
            variances.T,
            freedoms.T,
            _side_sizes(coefficients, moments).T,
            variance,
            freedom,
            used,
            np.full(len(pairs), of_aucs),
        )

    def interval(self, z: Floats) -> tuple[Floats, Floats]:
        """Intervals at normal quantiles z, one a gap.

        Of one − two from their own intervals and their correlation (Zou and Donner, 2008); a
        combination whose sides are not AUCs has the plain Student interval.
        """
        gap = self.one - self.two
        half = student(z, self.freedom) * np.sqrt(self.variance)
        scale = np.sqrt(self.variances.prod(axis=1))
        together = (self.variances.sum(axis=1) - self.variance) / 2.0
        correlation = np.divide(together, scale, out=np.zeros_like(scale), where=scale > 0)
        correlation = np.clip(correlation, -1.0, 1.0)
        (l1, u1), (l2, u2) = (
            auc_limits(value, self.variances[:, k], self.freedoms[:, k], self.sizes[:, k], z)
            for k, value in enumerate((self.one, self.two))
        )

        def joint(a: Floats, b: Floats) -> Floats:
            return np.asarray(np.sqrt(np.maximum(a**2 + b**2 - 2.0 * correlation * a * b, 0.0)))

        low = np.maximum(gap - joint(self.one - l1, u2 - self.two), -1.0)
        high = np.minimum(gap + joint(u1 - self.one, self.two - l2), 1.0)
        return np.where(self.of_aucs, low, gap - half), np.where(self.of_aucs, high, gap + half)


def _totals(forms: Floats, moments: PlacementMoments) -> tuple[Floats, Floats]:
    """Variance and degrees of freedom of statistics with linear forms g."""
    freedoms = cell_freedom(moments.effective_sizes, moments.counts)
    totals = [satterthwaite(row, freedoms) for row in moments.variance_by_cell(forms)]
    variance, freedom = zip(*totals, strict=True)
    return np.array(variance), np.array(freedom)


def _side_sizes(coefficients: Floats, moments: PlacementMoments) -> Floats:
    """Effective size of the smaller of the two populations that a side compares."""
    weight, square = moments.first[:, -1], moments.second[:, -1, -1]
    with np.errstate(invalid="ignore", divide="ignore"):
        sizes = [
            (used @ weight) ** 2 / (used @ square)
            for used in (np.any(coefficients != 0.0, axis=axis) for axis in (-1, -2))
        ]
    return np.asarray(np.minimum(*sizes))


def _estimates(
    gaps: list[Gap],
    differences: _Differences,
    scores: GroupedScores,
    moments: PlacementMoments,
    level: float,
) -> Iterator[Estimate]:
    z = normal_quantile(0.5 + level / 2.0)
    low, high = differences.interval(np.full(len(gaps), z))
    p_values = invert(differences.interval, len(gaps))
    sizes = moments.effective_sizes
    for k, gap in enumerate(gaps):
        blank = Estimate.of_gap(gap, method="placement values")
        estimate = replace(blank, confidence_level=level)
        used = differences.used[k]
        reason = _no_interval(used, scores, sizes)
        if gap.reason is not None or reason:
            yield replace(estimate, warnings=estimate.warnings or (reason,))
            continue
        warnings = small_cells(used, scores, sizes)
        if differences.of_aucs[k] and {differences.one[k], differences.two[k]} & {0.0, 1.0}:
            warnings = (*warnings, "an AUC is 0 or 1: its uncertainty is a guess (Wilson)")
        yield replace(
            estimate,
            low=float(low[k]),
            high=float(high[k]),
            standard_error=float(np.sqrt(differences.variance[k])),
            degrees_of_freedom=float(differences.freedom[k]),
            p_value=float(p_values[k]),
            warnings=warnings,
        )


def auc_limits(
    value: Floats, variance: Floats, freedom: Floats, size: Floats, z: Floats
) -> tuple[Floats, Floats]:
    """Interval of an AUC at the level of the normal quantile z."""
    from scipy.special import expit, logit

    inside = (value > 0.0) & (value < 1.0)
    safe = np.where(inside, value, 0.5)
    half = student(z, freedom) * np.sqrt(variance) / (safe * (1.0 - safe))
    low, high = (expit(logit(safe) + side * half) for side in (-1.0, 1.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        edge = wilson(value, size, z)
    return np.where(inside, low, edge[0]), np.where(inside, high, edge[1])


def auc_estimates(
    scores: GroupedScores,
    *,
    confidence_level: float = 0.95,
    sampling: Sampling = "observations",
    moments: PlacementMoments | None = None,
) -> tuple[Estimate, list[list[Estimate]]]:
    """The overall AUC, and every AUC between cells as a 2K × 2K table of estimates.

    Intervals are made on the log-odds scale, so that they stay within [0, 1]; where cells are
    perfectly separated, Wilson's interval for the smaller one. The diagonal is ½ by definition.
    """
    check_scores(scores)
    level = check_level(confidence_level)
    check_sampling(sampling)
    moments = placement_moments(scores) if moments is None else moments
    names, sizes = moments.matrix.cells, moments.effective_sizes
    within = _within(moments)
    table = []
    for i in range(scores.n_cells):
        row = []
        for j in range(scores.n_cells):
            by_cell = np.zeros(scores.n_cells)
            if i != j:
                by_cell[i], by_cell[j] = within[i, j], within[j, i]
            used = np.isin(np.arange(scores.n_cells), (i, j)) & (i != j)
            size = float(min(sizes[i], sizes[j]))
            value = float(moments.matrix.values[i, j])
            name = f"AUC({names[i]}, {names[j]})"
            row.append(_auc_estimate(name, value, by_cell, used, size, scores, sizes, level))
        table.append(row)
    form = overall_form(scores, moments, sampling)
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = scores.cell_weights.sum(axis=1) ** 2 / scores.cell_squares.sum(axis=1)
    overall = _auc_estimate(
        "AUC",
        moments.matrix.overall,
        moments.variance_by_cell(form),
        np.any(form != 0.0, axis=-1),
        float(pooled.min()),
        scores,
        sizes,
        level,
    )
    return overall, table


def _within(moments: PlacementMoments) -> Floats:
    """What cell c adds to the variance of its AUC with cell j, shape (2K, 2K): DeLong's terms."""
    n_cells = len(moments.effective_sizes)
    totals = moments.first[:, -1:]
    safe = np.where(totals > 0, totals, 1.0)
    mean = moments.first[:, :-1] / safe
    second = moments.second[:, np.arange(n_cells), np.arange(n_cells)]
    spread = second - 2.0 * mean * moments.second[:, :-1, -1]
    spread = (spread + mean**2 * moments.second[:, -1:, -1]) / safe**2
    return unbiased(spread, spread, moments.effective_sizes[:, None], moments.counts[:, None])


def _auc_estimate(
    name: str,
    value: float,
    by_cell: Floats,
    used: NDArray[np.bool_],
    size: float,
    scores: GroupedScores,
    sizes: Floats,
    level: float,
) -> Estimate:
    estimate = Estimate(name, value, np.nan, np.nan, level, "placement values, log-odds")
    if np.isnan(value):
        return replace(estimate, warnings=("a cell is empty",))
    reason = _no_interval(used, scores, sizes)
    if reason:
        return replace(estimate, warnings=(reason,))
    variance, freedom = satterthwaite(by_cell, cell_freedom(sizes, scores.cell_counts.reshape(-1)))
    z = np.array(normal_quantile(0.5 + level / 2.0))
    low = high = np.asarray(value)
    if used.any():
        v, s2, df, n = (np.asarray(column) for column in (value, variance, freedom, size))
        low, high = auc_limits(v, s2, df, n, z)
    warnings = small_cells(used, scores, sizes)
    if value in (0.0, 1.0):
        warnings = (*warnings, "perfect separation: the interval is Wilson's")
    return replace(
        estimate,
        low=float(low),
        high=float(high),
        standard_error=float(np.sqrt(variance)),
        degrees_of_freedom=freedom,
        warnings=warnings,
    )


def _no_interval(used: NDArray[np.bool_], scores: GroupedScores, sizes: Floats) -> str:
    """Why there is no interval, or nothing."""
    alone = [scores.cell_name(int(c)) for c in np.flatnonzero(used & (sizes < 2.0))]
    if not alone:
        return ""
    return f"no interval: the {' and the '.join(alone)} are worth less than two observations"


def small_cells(used: NDArray[np.bool_], scores: GroupedScores, sizes: Floats) -> tuple[str, ...]:
    """A warning that names the cells too small for a reliable interval, if there are any."""
    small = np.flatnonzero(used & (sizes < SMALL_CELL))
    told = ", ".join(f"{sizes[c]:.0f} {scores.cell_name(int(c))}" for c in small)
    return (f"small cells make the interval unreliable: {told}",) if len(small) else ()
