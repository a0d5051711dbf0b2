"""Intervals of the difference of two AUCs, or of two linear combinations of AUCs.

Pairs of people that both sides count cancel. What is left, Σ W ∘ AUC with W = left − right, is
written as T (A₊ − A₋): since AUC_ij + AUC_ji = 1 it depends on w = W − Wᵀ only. Pairs of a negative
and a positive with w_ij > 0 are in A₊, those with w_ij < 0 in A₋, and pairs of one class, which
have no right order, are one half in either, each in its own order; T, their total weight, is the
same for both by Theorem 1. The interval is the range of T (A₊ − A₋) over the ellipse of the two
log-odds (`log_odds`) whose correlation gives the gap its known variance; quantiles are Student's,
with Welch and Satterthwaite's degrees of freedom. What unseen people may add to the errors of the
two sides is correlated as far as they compare the same people.

The part of a cell worth less than two observations in the variance is bounded; where that is most
of it, there is no interval.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from evenscore.inference.aucs import no_interval, small_cells
from evenscore.inference.estimate import Estimate, EstimateSettings
from evenscore.inference.influence import (
    PlacementMoments,
    linear_forms,
    placement_moments,
    satterthwaite,
    worth,
)
from evenscore.inference.intervals import Intervals, normal_quantile, student
from evenscore.inference.log_odds import UNSEEN, AucPair, LogOdds, normal_of_student
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Bools, Floats, ratio

_CHUNK = 1 << 20  # entries of the coefficients of the differences handled at a time
# A cell with less of the variance may be as small as it likes: were its part half or double, the
# interval would be a hundredth shorter or longer. So it is with tiny groups in pooled populations.
_SLIGHT = 0.02
_NOTHING = 1e-12  # coefficients below it are what rounding leaves of a cancelled pair


@dataclass(frozen=True, eq=False)
class AucSides:
    """Differences of one kind: their estimates without intervals, and what they are made of.

    `sides` gives the coefficients over the AUC matrix of the two sides of some of them,
    (2, some, 2K, 2K). `proportions_vary` says whether the proportions in pooled populations vary
    with the sample.
    """

    estimates: Sequence[Estimate]
    sides: Callable[[slice], Floats]
    proportions_vary: bool


def auc_differences(
    scores: GroupedScores,
    kinds: Sequence[AucSides],
    settings: EstimateSettings,
) -> list[Estimate]:
    """All estimates with intervals and p-values, made together: many cost little more than one.

    The p-value is one minus the largest level at which the interval leaves out zero. Cells below
    about 30 (effective) observations, or clusters, give a warning.
    """
    confidence_level = settings.confidence_level
    estimates = [estimate for kind in kinds for estimate in kind.estimates]
    if not estimates:
        return []
    differences = _all_differences(scores, kinds)
    z = normal_quantile(0.5 + confidence_level / 2.0)
    low, high = differences.interval(np.full(len(estimates), z))
    p_values = differences.p_values()
    separated = differences.separated()
    completed = []
    for k, estimate in enumerate(estimates):
        estimate = replace(estimate, confidence_level=confidence_level)
        used = np.flatnonzero(differences.used[k]).tolist()
        reason = no_interval(used, scores) if differences.unknown[k] else ""
        if np.isnan(estimate.value) or reason:
            completed.append(replace(estimate, warnings=(reason,) if reason else ()))
            continue
        warnings = small_cells(np.flatnonzero(differences.heavy[k]).tolist(), scores)
        if separated[k]:
            warnings = (*warnings, "an AUC is 0 or 1: its uncertainty is a guess")
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
    pair = differences.pair

    def ends(z: Floats) -> tuple[Floats, Floats]:
        low, high = pair.limits(student(np.where(absent, np.nan, z), differences.freedom))
        return differences.total * low, differences.total * high

    return ends


def _all_differences(scores: GroupedScores, kinds: Sequence[AucSides]) -> "_Differences":
    """Those of all kinds, some at a time: coefficients of many groups are large."""
    moments = placement_moments(scores)
    step = max(1, _CHUNK // (scores.n_cells**2 + 1))
    parts = [
        _Differences.of(kind.sides(slice(start, start + step)), moments, kind.proportions_vary)
        for kind in kinds
        for start in range(0, len(kind.estimates), step)
    ]
    return _Differences(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class _Differences(NamedTuple):
    """Many gaps at once: T (A₊ − A₋), the variances of the two, and that of the gap."""

    total: Floats
    aucs: Floats  # A₊ and A₋, shape (gaps, 2), as the next two
    variances: Floats
    sizes: Floats
    shared: Floats  # correlation of what unseen people add to the two
    variance: Floats
    freedom: Floats
    used: Bools  # the cells that matter, shape (gaps, 2K)
    unknown: Bools  # whether a variance rests on bounds
    heavy: Bools  # the cells with a part in the variance that can be seen, shape (gaps, 2K)

    @classmethod
    def of(
        cls, coefficients: Floats, moments: PlacementMoments, proportions_vary: bool
    ) -> "_Differences":
        coefficients = np.where(np.isnan(coefficients), 0.0, coefficients)
        left, right = linear_forms(coefficients, moments, proportions_vary=proportions_vary)
        sides, total = _separated(coefficients[0] - coefficients[1])
        plus, minus = linear_forms(sides, moments, proportions_vary=proportions_vary)
        aucs = np.sum(sides * np.nan_to_num(moments.matrix.values), axis=(-2, -1))
        gap = left - right
        variances, freedoms, unknown, by_cell = (
            np.array(column)
            for column in zip(*(moments.totals(form) for form in (plus, minus, gap)), strict=True)
        )
        sizes, shared, by_size = _populations(sides, moments)
        if moments.rows is not None:
            alone = np.array([moments.rows.totals(form)[0] for form in (plus, minus)])
            sizes = worth(sizes, _populations(sides, moments.rows)[0], variances[:2], alone)
        # Without a variance the sizes tell, as if everybody had the same influence.
        for k in np.flatnonzero(variances[2] == 0.0):
            freedoms[2, k] = satterthwaite(by_size[k], moments.freedom)[1]
        used = np.any(gap != 0.0, axis=-1)
        used |= np.any(sides != 0.0, axis=(0, -1)) | np.any(sides != 0.0, axis=(0, -2))
        slight = np.abs(by_cell) < _SLIGHT * variances[..., None]  # of no variance, none is
        return cls(
            total,
            np.where(total > 0.0, np.clip(aucs, 0.0, 1.0), 0.5).T,
            variances[:2].T,
            sizes.T,
            shared,
            variances[2],
            freedoms[2],
            used,
            np.asarray(unknown.any(axis=0)),
            used & ~np.all(slight, axis=0),
        )

    def separated(self) -> Bools:
        """Whether an AUC is 0 or 1."""
        odds = self.pair
        certain = np.isin(odds.one.value, (0.0, 1.0)) | np.isin(odds.two.value, (0.0, 1.0))
        return np.asarray(certain | (self.variance == 0.0))

    @property
    def pair(self) -> AucPair:
        """A₊ and A₋ on the log-odds scale."""
        one, two = (
            LogOdds.of(self.aucs[:, k], self.variances[:, k], self.sizes[:, k]) for k in (0, 1)
        )
        unit = ratio(self.variance, np.square(self.total), 0.0)
        # Where nobody is ranked otherwise than the others, what unseen people may add is left.
        unseen = (UNSEEN / np.square(self.sizes)).sum(axis=1)
        unit = np.maximum(unit, np.minimum(unseen, self.variances.sum(axis=1)))
        covariance = (self.variances.sum(axis=1) - unit) / 2.0
        odds = np.stack([one.variance, two.variance], axis=1)
        # Gart's variances are 1/(1 + e) of the known ones at least; above them are unseen people.
        seen = np.sqrt(np.minimum(ratio(odds, self.variances, 1.0), 1.0)).prod(axis=1)
        unseen = np.sqrt(np.maximum(odds - self.variances, 0.0)).prod(axis=1)
        return AucPair.of(one, two, seen * covariance + self.shared * unseen, seen * unit)

    def p_values(self) -> Floats:
        """Of the hypotheses that gaps are zero: where the ellipses touch A₊ = A₋."""
        from scipy.special import ndtr

        return np.asarray(2.0 * ndtr(-normal_of_student(self.pair.distance(), self.freedom)))

    def interval(self, z: Floats) -> tuple[Floats, Floats]:
        """Intervals at normal quantiles z, one per gap."""
        low, high = self.pair.limits(student(z, self.freedom))
        return self.total * low, self.total * high


def _separated(weights: Floats) -> tuple[Floats, Floats]:
    """Coefficients of A₊ and A₋, (2, gaps, 2K, 2K), and T, of gaps Σ W ∘ AUC."""
    n_groups = weights.shape[-1] // 2
    turned = np.swapaxes(weights, -1, -2)
    above = np.where(weights - turned > _NOTHING, weights - turned, 0.0)
    positive = np.arange(2 * n_groups) >= n_groups
    # A pair of one class counts half in either side, a negative and a positive once.
    counted = np.where(positive[:, None] == positive, 0.5, ~positive[:, None] & positive)
    sides = np.stack([counted * above, counted * np.swapaxes(above, -1, -2)])
    totals = sides.sum(axis=(-2, -1))
    return sides / np.where(totals > 0.0, totals, 1.0)[..., None, None], totals.mean(axis=0)


def _populations(sides: Floats, moments: PlacementMoments) -> tuple[Floats, Floats, Floats]:
    """Sizes of the populations that A₊ and A₋ compare, and how far these are the same.

    With r and t the shares of the cells in the references and in the targets of a side, 1/size is
    Σ (r² + t²)/n. The correlation is that of Σ (t − r) x, x being independent errors of the cells
    with variances 1/n. Last, the shares of the cells in them, (gaps, 2K).
    """
    inverse = ratio(1.0, moments.effective_sizes, 0.0)
    references, targets = sides.sum(axis=-1), sides.sum(axis=-2)
    by_cell = (np.square(references) + np.square(targets)) * inverse
    moved = targets - references
    own = np.sum(np.square(moved) * inverse, axis=-1)
    shared = ratio(np.sum(moved.prod(axis=0) * inverse, axis=-1), np.sqrt(own.prod(axis=0)), 0.0)
    return ratio(1.0, by_cell.sum(axis=-1), np.inf), shared, by_cell.sum(axis=0)
