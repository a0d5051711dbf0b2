"""Analytic intervals of AUCs and of everything linear in them, by placement values.

The placement of a score s in cell j is F_j(s) = P(S_j < s) + ½ P(S_j = s). A statistic
θ = Σ W_ij AUC_ij changes, to first order, by w · g(s) when an observation of weight w and score s
is added to cell c, where g is linear in the placements of s (DeLong's argument):

    g_c(s) = (1/m_c) [ Σ_j W_cj (1 − F_j(s) − t_cj) + Σ_i W_ic (F_i(s) − t_ic) ],

m_c being the weight of cell c. With fixed proportions t_ij = AUC_ij; where the proportions are
those of the data, and the data a sample of people, the statistic is a ratio and t_ij = θ. The
variance is Σ w² g², and since g is linear, the second moments of the placements within each cell,
collected in one pass, give it for any W. Within a cell the factor n/(n − 1) makes it DeLong's
unbiased one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenscore.catalogue import Notion
from evenscore.constraints import AucConstraint, Gap, as_constraints
from evenscore.inference.estimate import (
    SMALL_CELL,
    Estimate,
    check_level,
    holm,
    t_quantile,
    t_test,
    wilson,
)
from evenscore.measures import AucMatrix, blocks, matrix_of_pairs
from evenscore.scores import GroupedScores

__all__ = [
    "PlacementMoments",
    "Sampling",
    "auc_estimates",
    "gap_estimates",
    "gap_forms",
    "interval_of_auc",
    "overall_form",
    "placement_moments",
    "satterthwaite",
    "unbiased",
]

Floats = NDArray[np.float64]
Sampling = Literal["observations", "cells"]


@dataclass(frozen=True, eq=False)
class PlacementMoments:
    """Moments, within each cell, of the vector (F_1(s), …, F_2K(s), 1) of placements.

    `first[c]` is their sum weighted by w, `second[c]` the sum of their outer products weighted by
    w². `matrix` holds the AUCs, which are first moments too.
    """

    matrix: AucMatrix
    first: Floats
    second: Floats
    effective_sizes: Floats

    def variance_by_cell(self, forms: Floats) -> Floats:
        """Variance that each cell adds to statistics with linear forms g, shape (…, 2K, 2K + 1)."""
        totals = self.first[:, -1]
        mean = np.einsum("...cj,cj->...c", forms, self.first)
        mean = np.divide(mean, totals, out=np.zeros_like(mean), where=totals > 0)
        centred = forms.copy()
        centred[..., -1] -= mean
        square, within = (
            np.einsum("...ci,...ci->...c", np.matmul(f[..., None, :], self.second)[..., 0, :], f)
            for f in (forms, centred)
        )
        used = np.any(forms != 0.0, axis=-1)
        return np.where(used, unbiased(square, within, self.effective_sizes), 0.0)


def unbiased(square: Floats, within: Floats, n: Floats) -> Floats:
    """Variance of a cell, Σ w² g², the part around its mean times n/(n − 1); NaN if n ≤ 1."""
    factor = np.divide(n, n - 1.0, out=np.full_like(n, np.nan), where=n > 1.0)
    # Rounding may leave −1e-20 where the variance is zero; NaN stays NaN.
    return np.maximum(factor * within + (square - within), 0.0)


def placement_moments(scores: GroupedScores) -> PlacementMoments:
    """Collect the moments in one pass over the sorted table; O(n K) plus a product of O(n K²)."""
    n_cells = scores.n_cells
    totals = scores.cell_weights.reshape(-1)
    scale = np.divide(1.0, totals, out=np.zeros(n_cells), where=totals > 0)
    pairs = np.zeros((n_cells, n_cells))
    second = np.zeros((n_cells, n_cells + 1, n_cells + 1))
    for block in blocks(scores):
        placement = block.up_to
        if block.tied:
            placement = placement - 0.5 * block.weight
            pairs += placement @ block.weight.T
            placement = placement * scale[:, None]
            placement = placement[:, block.level]
        else:
            pairs += placement @ block.weight.T
            # Off the diagonal nothing is tied; on it, half of the observation itself.
            placement = placement * scale[:, None]
            cell = scores.cell[block.rows]
            own = scores.weight[block.rows] * scale[cell]
            placement[cell, np.arange(len(cell))] -= 0.5 * own
        _add_second_moments(second, placement, scores, block.rows)
    matrix = matrix_of_pairs(scores, pairs)
    first = np.concatenate([matrix.ordered_pairs.T * scale, totals[:, None]], axis=1)
    return PlacementMoments(matrix, first, second, scores.effective_sizes.reshape(-1))


def _add_second_moments(
    second: Floats, placement: Floats, scores: GroupedScores, rows: slice
) -> None:
    cell, squares = scores.cell[rows], scores.weight_squared[rows]
    order = np.argsort(cell, kind="stable")
    ends = np.cumsum(np.bincount(cell, minlength=len(second)))
    columns = np.take(placement, order, axis=1)
    weighted = squares.strides != (0,)
    squares = squares[order] if weighted else squares
    start = 0
    for c, stop in enumerate(ends.tolist()):
        if stop > start:
            part = columns[:, start:stop]
            heavy = part * squares[start:stop] if weighted else part
            second[c, :-1, :-1] += heavy @ part.T
            sums = heavy.sum(axis=1)
            second[c, :-1, -1] += sums
            second[c, -1, :-1] += sums
            second[c, -1, -1] += squares[start:stop].sum() if weighted else stop - start
        start = stop


def _forms(
    coefficients: Floats, moments: PlacementMoments, *, proportions_vary: bool
) -> tuple[Floats, Floats]:
    """(θ, g) of statistics with coefficients of shape (…, 2K, 2K); g as (…, 2K, 2K + 1)."""
    aucs = np.nan_to_num(moments.matrix.values)  # an empty cell is NaN there, and has no weight
    theta = np.sum(coefficients * aucs, axis=(-2, -1))
    centre = theta[..., None, None] if proportions_vary else aucs
    constant = np.sum(coefficients * (1.0 - centre), axis=-1) - np.sum(
        coefficients * centre, axis=-2
    )
    slope = np.swapaxes(coefficients, -1, -2) - coefficients
    forms = np.concatenate([slope, constant[..., None]], axis=-1)
    totals = moments.first[:, -1][:, None]
    return theta, np.divide(forms, totals, out=np.zeros_like(forms), where=totals > 0)


def gap_estimates(
    scores: GroupedScores,
    constraints: str | AucConstraint | Iterable[str | AucConstraint],
    *,
    confidence_level: float = 0.95,
    sampling: Sampling = "observations",
    moments: PlacementMoments | None = None,
) -> list[Estimate]:
    """Every gap of the given AUC constraints, with its interval and p-value.

    `sampling="observations"`: people were drawn at random, so that the proportions in pooled
    populations vary too; `"cells"`: so many of each class and group were drawn. Intervals are
    Student's, with Welch and Satterthwaite's degrees of freedom. Holm's correction runs over the
    pairs of groups of one constraint. Cells below about 30 (effective) observations are too
    small for a reliable interval: the estimate then carries a warning.

    >>> y, groups = [0, 1, 0, 1] * 50, list("abba") * 50
    >>> scores = GroupedScores.from_arrays(y, range(200), sensitive_features=groups)
    >>> [gap] = gap_estimates(scores, "intra_group")
    >>> gap.low < gap.value < gap.high
    True
    """
    check_level(confidence_level)
    if sampling not in ("observations", "cells"):
        raise ValueError(f"sampling must be 'observations' or 'cells', not {sampling!r}.")
    moments = placement_moments(scores) if moments is None else moments
    found: list[Estimate] = []
    for constraint in as_constraints(constraints):
        if not isinstance(constraint, AucConstraint):
            raise TypeError("gap_estimates takes AUC constraints; see roc_gap_estimates.")
        gaps = constraint.gaps(scores, moments.matrix)
        by_cell = moments.variance_by_cell(gap_forms(scores, constraint, moments, sampling))
        found += holm(
            [
                _gap_estimate(gap, row, scores, moments, confidence_level)
                for gap, row in zip(gaps, by_cell, strict=True)
            ]
        )
    return found


def gap_forms(
    scores: GroupedScores, constraint: AucConstraint, moments: PlacementMoments, sampling: Sampling
) -> Floats:
    """Linear forms g of the gap of every pair of groups; zero where the gap is undefined."""
    varies = isinstance(constraint.definition, Notion) and sampling == "observations"
    forms = np.zeros((len(scores.pairs()), scores.n_cells, scores.n_cells + 1))
    for row, pair in enumerate(scores.pairs()):
        sides = np.stack(constraint.definition.sides(scores.cell_weights, *pair))
        if not np.isnan(sides).any():
            _, (left, right) = _forms(sides, moments, proportions_vary=varies)
            forms[row] = left - right
    return forms


def _gap_estimate(
    gap: Gap,
    by_cell: Floats,
    scores: GroupedScores,
    moments: PlacementMoments,
    confidence_level: float,
) -> Estimate:
    estimate = Estimate.of_gap(gap, method="placement values, Student")
    if gap.reason is not None:
        return replace(estimate, confidence_level=confidence_level)
    variance, freedom = satterthwaite(by_cell, moments.effective_sizes)
    error = float(np.sqrt(variance))
    half = t_quantile(0.5 + confidence_level / 2.0, freedom) * error
    return replace(
        estimate,
        low=gap.value - half,
        high=gap.value + half,
        confidence_level=confidence_level,
        standard_error=error,
        degrees_of_freedom=freedom,
        p_value=t_test(gap.value, error, freedom),
        warnings=_warnings(by_cell, scores, moments.effective_sizes, error),
    )


def auc_estimates(
    scores: GroupedScores,
    *,
    confidence_level: float = 0.95,
    sampling: Sampling = "observations",
    moments: PlacementMoments | None = None,
) -> tuple[Estimate, list[list[Estimate]]]:
    """The overall AUC, and every AUC between cells as a 2K × 2K table of estimates.

    Intervals are made on the log-odds scale, so that they stay within [0, 1]; of a perfectly
    separated pair of cells the interval is Wilson's for the smaller one. The diagonal is ½ by
    definition.
    """
    check_level(confidence_level)
    moments = placement_moments(scores) if moments is None else moments
    n_cells, values = scores.n_cells, moments.matrix.values
    eye = np.eye(n_cells)
    coefficients = np.einsum("ik,jl->ijkl", eye, eye).reshape(-1, n_cells, n_cells)
    _, forms = _forms(coefficients, moments, proportions_vary=False)
    by_cell = moments.variance_by_cell(forms)
    names = moments.matrix.cells
    table = [
        [
            interval_of_auc(
                f"AUC({names[i]}, {names[j]})",
                float(values[i, j]),
                by_cell[i * n_cells + j] if i != j else np.zeros(n_cells),
                scores,
                moments.effective_sizes,
                confidence_level,
            )
            for j in range(n_cells)
        ]
        for i in range(n_cells)
    ]
    overall = interval_of_auc(
        "AUC",
        moments.matrix.overall,
        moments.variance_by_cell(overall_form(scores, moments, sampling)),
        scores,
        moments.effective_sizes,
        confidence_level,
    )
    return overall, table


def overall_form(scores: GroupedScores, moments: PlacementMoments, sampling: Sampling) -> Floats:
    """Linear form g of the overall AUC."""
    weights = np.zeros((scores.n_cells, scores.n_cells))
    weights[: scores.n_groups, scores.n_groups :] = np.nan_to_num(moments.matrix.pair_weights)
    return _forms(weights, moments, proportions_vary=sampling == "observations")[1]


def interval_of_auc(
    name: str,
    value: float,
    by_cell: Floats,
    scores: GroupedScores,
    sizes: Floats,
    confidence_level: float,
) -> Estimate:
    """An AUC with its interval on the log-odds scale, given the variance that each cell adds."""
    variance, freedom = satterthwaite(by_cell, sizes)
    error = float(np.sqrt(variance))
    warnings = _warnings(by_cell, scores, sizes, error)
    method = "placement values, log-odds"
    if np.isnan(value):
        low = high = error = np.nan
        warnings = ("a cell is empty",)
    elif 0.0 < value < 1.0:
        half = t_quantile(0.5 + confidence_level / 2.0, freedom) * error
        odds = np.log(value / (1.0 - value))
        half /= value * (1.0 - value)
        low, high = (float(1.0 / (1.0 + np.exp(-(odds + side * half)))) for side in (-1.0, 1.0))
    else:
        used = sizes[sizes > 0].min()
        method = "perfect separation, Wilson"
        z = t_quantile(0.5 + confidence_level / 2.0, np.inf)
        low, high = (float(end) for end in wilson(value, used, z))
        warnings = (*warnings, "the cells are perfectly separated")
    return Estimate(
        name, value, low, high, confidence_level, method, error, freedom, warnings=warnings
    )


def satterthwaite(by_cell: Floats, sizes: Floats) -> tuple[float, float]:
    """Variance, and Welch and Satterthwaite's degrees of freedom."""
    variance = float(by_cell.sum())
    if np.isnan(variance) or variance == 0.0:
        return variance, np.inf
    shares = by_cell / variance
    return variance, float(1.0 / np.sum(shares[shares > 0] ** 2 / (sizes[shares > 0] - 1.0)))


def _warnings(
    by_cell: Floats, scores: GroupedScores, sizes: Floats, error: float
) -> tuple[str, ...]:
    if np.isnan(error):
        alone = [scores.cell_name(int(c)) for c in np.flatnonzero(np.isnan(by_cell))]
        return (f"no interval: there is only one observation among the {', the '.join(alone)}",)
    small = [c for c in np.flatnonzero(by_cell > 0) if sizes[c] < SMALL_CELL]
    told = ", ".join(f"{sizes[c]:.0f} {scores.cell_name(int(c))}" for c in small)
    return (f"small cells make the interval unreliable: {told}",) if small else ()
