"""Estimates of the gaps between AUCs, with intervals and p-values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenscore.constraints import AucConstraint, Combination, Gap, as_constraints
from evenscore.inference.aucs import auc_limits, no_interval, small_cells
from evenscore.inference.estimate import (
    Estimate,
    check_level,
    holm,
    invert,
    normal_quantile,
    recovered,
    student,
)
from evenscore.inference.moments import (
    PlacementMoments,
    Sampling,
    cell_freedom,
    check_sampling,
    placement_moments,
    satterthwaite,
    side_forms,
)
from evenscore.scores import GroupedScores, check_scores

__all__ = ["gap_estimates"]

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
    Cells below about 30 (effective) observations give a warning. The part of a cell worth less than
    two in the variance is bounded; where that is most of it, there is no interval.

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
    unknown: NDArray[np.bool_]  # whether a variance rests on bounds
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
        variances, freedoms, unknown = (
            np.array(column)
            for column in zip(
                *(_totals(form, moments) for form in (left, right, left - right)), strict=True
            )
        )
        used = np.any((left != 0.0) | (right != 0.0), axis=-1)
        of_aucs = not isinstance(constraint.definition, Combination)
        if of_aucs:  # rounding may leave 1 + 1e-16
            sides = np.clip(sides, 0.0, 1.0)
        return cls(
            sides[0],
            sides[1],
            variances[:2].T,
            freedoms[:2].T,
            _side_sizes(coefficients, moments).T,
            variances[2],
            freedoms[2],
            used,
            np.asarray(unknown.any(axis=0)),
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

        low = np.maximum(gap - recovered(self.one - l1, u2 - self.two, correlation), -1.0)
        high = np.minimum(gap + recovered(u1 - self.one, self.two - l2, correlation), 1.0)
        return np.where(self.of_aucs, low, gap - half), np.where(self.of_aucs, high, gap + half)


def _totals(forms: Floats, moments: PlacementMoments) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Variance and degrees of freedom of linear forms g, and whether it rests on bounds."""
    freedoms = cell_freedom(moments.effective_sizes, moments.counts)
    by_cell = moments.variance_by_cell(forms)
    totals = [satterthwaite(row, freedoms) for row in by_cell]
    variance, freedom = zip(*totals, strict=True)
    return np.array(variance), np.array(freedom), moments.resting_on_bounds(by_cell)


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
    for k, gap in enumerate(gaps):
        blank = Estimate.of_gap(gap, method="placement values")
        estimate = replace(blank, confidence_level=level)
        used = np.flatnonzero(differences.used[k]).tolist()
        reason = no_interval(used, scores) if differences.unknown[k] else ""
        if gap.reason is not None or reason:
            yield replace(estimate, warnings=estimate.warnings or (reason,))
            continue
        warnings = small_cells(used, scores)
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
