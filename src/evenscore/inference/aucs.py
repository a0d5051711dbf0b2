"""AUCs between cells, and of all together, with intervals on the log-odds scale."""

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from evenscore.inference.cluster_sums import cluster_parts
from evenscore.inference.estimate import SMALL_CELL, Estimate, Sampling, check_level
from evenscore.inference.influence import (
    PlacementMoments,
    check_sampling,
    overall_form,
    placement_moments,
    small_sample_factor,
    worth,
)
from evenscore.inference.intervals import normal_quantile
from evenscore.inference.log_odds import auc_limits
from evenscore.scores import GroupedScores, check_scores
from evenscore.scores.arrays import Floats, ratio
from evenscore.scores.brackets import auc_brackets, has_open_bins, overall_auc_bracket


def auc_estimates(
    scores: GroupedScores,
    *,
    confidence_level: float = 0.95,
    sampling: Sampling = "observations",
    moments: PlacementMoments | None = None,
) -> tuple[Estimate, list[list[Estimate]]]:
    """The overall AUC, and every AUC between cells as a 2K × 2K table of estimates.

    Intervals are made on the log-odds scale, so that they stay within [0, 1], also where cells are
    perfectly separated (`log_odds`). The diagonal is ½ by definition. Of a table of bins they are
    wider by how much the order within bins may matter, their `bracket`.
    """
    check_scores(scores)
    level = check_level(confidence_level)
    check_sampling(sampling)
    moments = placement_moments(scores) if moments is None else moments
    form = overall_form(scores, sampling)
    used = np.flatnonzero(np.any(form != 0.0, axis=-1)).tolist()
    value = np.array([moments.matrix.overall])
    variance, freedom, unknown, _ = moments.totals(form[None])
    size = _pooled_size(scores, moments)
    if moments.rows is not None:
        alone = moments.rows.totals(form[None])[0]
        size = worth(size, _pooled_size(scores, moments.rows), variance, alone)
    z = np.asarray(normal_quantile(0.5 + level / 2.0))
    low, high = auc_limits(value, variance, freedom, size, z)
    overall = _estimate(
        "AUC", float(value[0]), float(low[0]), float(high[0]), float(variance[0]),
        float(freedom[0]), used, scores, level, unknown=bool(unknown[0]),
    )  # fmt: skip
    table = _table(scores, moments, level)
    if has_open_bins(scores):
        brackets = auc_brackets(scores).tolist()
        overall = _bracketed(overall, overall_auc_bracket(scores))
        table = [
            [_bracketed(one, own) for one, own in zip(*rows, strict=True)]
            for rows in zip(table, brackets, strict=True)
        ]
    return overall, table


def _bracketed(estimate: Estimate, bracket: float) -> Estimate:
    """An AUC that may be off by so much."""
    low, high = estimate.low - bracket, estimate.high + bracket
    if estimate.has_interval:
        low, high = max(low, 0.0), min(high, 1.0)
    return replace(estimate, low=low, high=high, bracket=bracket)


def _pooled_size(scores: GroupedScores, moments: PlacementMoments) -> Floats:
    """1/(1/m + 1/n) of all negatives and all positives, in an array of one."""
    shares = ratio(scores.cell_weights, scores.cell_weights.sum(axis=1, keepdims=True), 0.0)
    parts = ratio(np.square(shares).reshape(-1), moments.effective_sizes, 0.0)
    return ratio(1.0, np.array([parts.sum()]), 0.0)


def _table(scores: GroupedScores, moments: PlacementMoments, level: float) -> list[list[Estimate]]:
    """The AUCs between cells, computed all at once: a hundred groups have 40,000 of them."""
    value = moments.matrix.values
    within, across, overlap = _within(moments)
    np.fill_diagonal(within, 0.0)
    both = within + within.T
    variance = np.maximum(both + 2.0 * across, 0.0)
    inverse = ratio(1.0, moments.effective_sizes, np.inf)
    sizes = 1.0 / (inverse[:, None] + inverse)
    if moments.rows is not None:
        rows, alone = ratio(1.0, moments.rows.effective_sizes, np.inf), _within(moments.rows)[0]
        sizes = worth(sizes, 1.0 / (rows[:, None] + rows), variance, alone + alone.T)
    with np.errstate(invalid="ignore", divide="ignore"):  # Welch and Satterthwaite, two cells
        # Of perfectly separated cells the sizes tell, as if everybody had the same influence.
        share = np.where(both > 0.0, within / both, inverse[:, None] / (inverse[:, None] + inverse))
        first = np.square(share) / moments.freedom[:, None]
        freedom = np.maximum(overlap / (first + first.T), 1.0)
    z = np.asarray(normal_quantile(0.5 + level / 2.0))
    low, high = auc_limits(value, variance, freedom, sizes, z)
    columns = (table.tolist() for table in (value, low, high, variance, freedom))
    names = moments.matrix.cells
    return [
        [
            _estimate(
                f"AUC({names[i]}, {names[j]})", v, a, b, s2, df, sorted({i, j}) if i != j else [],
                scores, level,
            )
            for j, (v, a, b, s2, df) in enumerate(zip(*rows, strict=True))
        ]
        for i, rows in enumerate(zip(*columns, strict=True))
    ]  # fmt: skip


def _within(moments: PlacementMoments) -> tuple[Floats, Floats, Floats]:
    """What cell c adds to the variance of its AUC with cell j, shape (2K, 2K): DeLong's terms.

    Then the covariance of the two cells' parts, which clusters with people in both bring about, and
    the share of different clusters among those of the two cells (`ClusterParts.overlap`).
    """
    n_cells = len(moments.effective_sizes)
    factor = small_sample_factor(moments.effective_sizes, moments.counts)[:, None]
    totals = moments.first[:, -1:]
    safe = np.where(totals > 0, totals, 1.0)
    mean = moments.first[:, :-1] / safe
    parts, sums = moments.parts, moments.sums
    if parts is None or sums is None:
        second = moments.second[:, np.arange(n_cells), np.arange(n_cells)]
        spread = second - 2.0 * mean * moments.second[:, :-1, -1]
        spread = (spread + mean**2 * moments.second[:, -1:, -1]) / safe**2
        alone = np.ones((n_cells, n_cells))
        return np.maximum(factor * spread, 0.0), np.zeros((n_cells, n_cells)), alone
    within, across, overlap = (np.full((n_cells, n_cells), start) for start in (0.0, 0.0, 1.0))
    dense = np.zeros((n_cells, int(parts.cluster.max(initial=-1)) + 1))
    own = parts.slices()
    scaled = [  # an influence falls with the placement in a target cell, and rises in a reference
        np.sqrt(factor[c]) * (sums[:-1, own[c]] - mean[c][:, None] * parts.weight[own[c]]) / safe[c]
        for c in range(n_cells)
    ]
    for i in range(n_cells):
        within[i] = np.square(scaled[i]).sum(axis=1)
        dense[:] = 0.0
        dense[:, parts.cluster[own[i]]] = scaled[i]
        there = np.zeros(dense.shape[1])
        there[parts.cluster[own[i]]] = 1.0
        for j in range(n_cells):
            if i != j and parts.counts[i] and parts.counts[j]:
                here = parts.cluster[own[j]]
                across[i, j] = -float(dense[j, here] @ scaled[j][i])
                shared = there[here].sum()
                overlap[i, j] = 1.0 - shared / (parts.counts[i] + parts.counts[j])
    return within, across, overlap


def _estimate(
    name: str,
    value: float,
    low: float,
    high: float,
    variance: float,
    freedom: float,
    cells: list[int],
    scores: GroupedScores,
    level: float,
    *,
    unknown: bool = True,
) -> Estimate:
    """An AUC with its interval, or why there is none; that of a cell with itself is certain."""
    method, nan = "placement values, log-odds", math.nan
    if math.isnan(value):
        return Estimate(name, value, nan, nan, level, method, warnings=("a cell is empty",))
    reason = no_interval(cells, scores)
    if reason and unknown:
        return Estimate(name, value, nan, nan, level, method, warnings=(reason,))
    warnings = small_cells(cells, scores)
    if value in (0.0, 1.0):
        warnings = (*warnings, "perfect separation: how uncertain it is, is a guess")
    low, high = (low, high) if cells else (value, value)
    return Estimate(
        name, value, low, high, level, method, math.sqrt(variance), freedom, warnings=warnings
    )


def no_interval(cells: Iterable[int], scores: GroupedScores) -> str:
    """Why a statistic of these cells has no interval, or nothing."""
    sizes, kind = _sizes(scores)
    alone = [scores.cell_name(c) for c in cells if sizes[c] < 2.0]
    if not alone:
        return ""
    return f"no interval: the {' and the '.join(alone)} are worth less than two {kind}"


def small_cells(cells: Iterable[int], scores: GroupedScores) -> tuple[str, ...]:
    """A warning that names the cells too small for a reliable interval, if there are any."""
    sizes, kind = _sizes(scores)
    few = f"{kind} of " if scores.clusters is not None else ""
    small = [f"{sizes[c]:.0f} {few}{scores.cell_name(c)}" for c in cells if sizes[c] < SMALL_CELL]
    return (f"small cells make the interval unreliable: {', '.join(small)}",) if small else ()


def _sizes(scores: GroupedScores) -> tuple[Floats, str]:
    """How many independent draws each cell is worth, and what they are."""
    parts = cluster_parts(scores)
    if parts is None:
        return scores.effective_sizes.reshape(-1), "observations"
    return parts.sizes, "clusters"
