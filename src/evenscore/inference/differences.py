"""Intervals of the difference of two AUCs, or of two linear combinations of AUCs.

The interval of a difference of two AUCs is made of their log-odds intervals and their correlation
(the method of variance estimates recovery; Zou and Donner, 2008), so that it stays within [−1, 1]
and does not vanish when the AUCs are near 1; quantiles are Student's, with Welch and
Satterthwaite's degrees of freedom. The part of a cell worth less than two observations in the
variance is bounded; where that is most of it, there is no interval.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from evenscore.inference.aucs import auc_limits, no_interval, small_cells
from evenscore.inference.estimate import Estimate, EstimateSettings
from evenscore.inference.influence import (
    PlacementMoments,
    linear_forms,
    placement_moments,
    satterthwaite,
)
from evenscore.inference.intervals import (
    Intervals,
    invert,
    normal_quantile,
    recovered,
    student,
)
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Bools, Floats, ratio

_CHUNK = 1 << 20  # entries of the coefficients of the differences handled at a time
# A cell with less of the variance may be as small as it likes: were its part half or double, the
# interval would be a hundredth shorter or longer. So it is with tiny groups in pooled populations.
_SLIGHT = 0.02


@dataclass(frozen=True, eq=False)
class AucSides:
    """Differences of one kind: their estimates without intervals, and what they are made of.

    `sides` gives the coefficients over the AUC matrix of the two sides of some of them,
    (2, some, 2K, 2K). `of_aucs` says whether the sides are AUCs, `proportions_vary` whether the
    proportions in pooled populations vary with the sample.
    """

    estimates: Sequence[Estimate]
    sides: Callable[[slice], Floats]
    proportions_vary: bool
    of_aucs: bool


def auc_differences(
    scores: GroupedScores,
    kinds: Sequence[AucSides],
    settings: EstimateSettings,
) -> list[Estimate]:
    """All estimates with intervals and p-values, made together: many cost little more than one.

    The p-value is one minus the largest level at which the interval leaves out zero. Cells below
    about 30 (effective) observations give a warning.
    """
    confidence_level = settings.confidence_level
    estimates = [estimate for kind in kinds for estimate in kind.estimates]
    if not estimates:
        return []
    differences = _all_differences(scores, kinds)
    z = normal_quantile(0.5 + confidence_level / 2.0)
    low, high = differences.interval(np.full(len(estimates), z))
    p_values = invert(differences.interval, len(estimates))
    completed = []
    for k, estimate in enumerate(estimates):
        estimate = replace(estimate, confidence_level=confidence_level)
        used = np.flatnonzero(differences.used[k]).tolist()
        reason = no_interval(used, scores) if differences.unknown[k] else ""
        if np.isnan(estimate.value) or reason:
            completed.append(replace(estimate, warnings=(reason,) if reason else ()))
            continue
        warnings = small_cells(np.flatnonzero(differences.heavy[k]).tolist(), scores)
        if differences.of_aucs[k] and {differences.one[k], differences.two[k]} & {0.0, 1.0}:
            warnings = (*warnings, "an AUC is 0 or 1: its uncertainty is a guess (Wilson)")
        completed.append(
            replace(
                estimate,
                low=float(low[k]),
                high=float(high[k]),
                standard_error=float(np.sqrt(differences.variance[k])),
                degrees_of_freedom=float(differences.freedom[k]),
                p_value=float(p_values[k]),
                warnings=warnings,
            )
        )
    return completed


def difference_intervals(scores: GroupedScores, kinds: Sequence[AucSides]) -> Intervals:
    """The intervals of all of them at any level; NaN where there is none."""
    if not any(kind.estimates for kind in kinds):
        return lambda z: (z, z)
    differences = _all_differences(scores, kinds)
    used = [np.flatnonzero(row).tolist() for row in differences.used]
    unknown = [
        bool(differences.unknown[k]) and bool(no_interval(cells, scores))
        for k, cells in enumerate(used)
    ]
    values = [estimate.value for kind in kinds for estimate in kind.estimates]
    absent = np.array(unknown) | np.isnan(values)

    def ends(z: Floats) -> tuple[Floats, Floats]:
        return differences.interval(np.where(absent, np.nan, z))

    return ends


def _all_differences(scores: GroupedScores, kinds: Sequence[AucSides]) -> "_Differences":
    """Those of all kinds, some at a time: coefficients of many groups are large."""
    moments = placement_moments(scores)
    step = max(1, _CHUNK // (scores.n_cells**2 + 1))
    parts = [
        _Differences.of(
            kind.sides(slice(start, start + step)), moments, kind.proportions_vary, kind.of_aucs
        )
        for kind in kinds
        for start in range(0, len(kind.estimates), step)
    ]
    return _Differences(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class _Differences(NamedTuple):
    """Many gaps at once: the two sides of each, and the variance of their difference."""

    one: Floats
    two: Floats
    variances: Floats  # of the two sides, shape (gaps, 2)
    freedoms: Floats
    sizes: Floats
    variance: Floats
    freedom: Floats
    used: Bools  # the cells that matter, shape (gaps, 2K)
    unknown: Bools  # whether a variance rests on bounds
    of_aucs: Bools  # whether the sides are AUCs
    heavy: Bools  # the cells with a part in the variance that can be seen, shape (gaps, 2K)

    @classmethod
    def of(
        cls,
        coefficients: Floats,
        moments: PlacementMoments,
        proportions_vary: bool,
        of_aucs: bool,
    ) -> "_Differences":
        coefficients = np.where(np.isnan(coefficients), 0.0, coefficients)
        left, right = linear_forms(coefficients, moments, proportions_vary=proportions_vary)
        sides = np.sum(coefficients * np.nan_to_num(moments.matrix.values), axis=(-2, -1))
        variances, freedoms, unknown, by_cell = (
            np.array(column)
            for column in zip(
                *(_totals(form, moments) for form in (left, right, left - right)), strict=True
            )
        )
        if of_aucs:  # rounding may leave 1 + 1e-16
            sides = np.clip(sides, 0.0, 1.0)
        used = np.any((left != 0.0) | (right != 0.0), axis=-1)
        slight = by_cell < _SLIGHT * variances[..., None]  # where all variance is 0, none is
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
            np.full(len(left), of_aucs),
            used & ~np.all(slight, axis=0),
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
        correlation = np.clip(ratio(together, scale, 0.0), -1.0, 1.0)
        (l1, u1), (l2, u2) = (
            auc_limits(value, self.variances[:, k], self.freedoms[:, k], self.sizes[:, k], z)
            for k, value in enumerate((self.one, self.two))
        )

        low = np.maximum(gap - recovered(self.one - l1, u2 - self.two, correlation), -1.0)
        high = np.minimum(gap + recovered(u1 - self.one, self.two - l2, correlation), 1.0)
        return np.where(self.of_aucs, low, gap - half), np.where(self.of_aucs, high, gap + half)


def _totals(forms: Floats, moments: PlacementMoments) -> tuple[Floats, Floats, Bools, Floats]:
    """Variance and degrees of freedom of linear forms g, whether it rests on bounds, its parts."""
    by_cell = moments.variance_by_cell(forms)
    totals = [satterthwaite(row, moments.freedom) for row in by_cell]
    variance, freedom = zip(*totals, strict=True)
    return np.array(variance), np.array(freedom), moments.resting_on_bounds(by_cell), by_cell


def _side_sizes(coefficients: Floats, moments: PlacementMoments) -> Floats:
    """Effective size of the smaller of the two populations that a side compares."""
    weight, square = moments.first[:, -1], moments.second[:, -1, -1]
    with np.errstate(invalid="ignore", divide="ignore"):
        sizes = [
            (used @ weight) ** 2 / (used @ square)
            for used in (np.any(coefficients != 0.0, axis=axis) for axis in (-1, -2))
        ]
    return np.asarray(np.minimum(*sizes))
