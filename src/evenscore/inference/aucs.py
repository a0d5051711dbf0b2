"""AUCs between cells, and of all together, with intervals on the log-odds scale."""

import math
from collections.abc import Iterable

import numpy as np

from evenscore.inference.estimate import SMALL_CELL, Estimate, Sampling, check_level
from evenscore.inference.influence import (
    PlacementMoments,
    check_sampling,
    overall_form,
    placement_moments,
    satterthwaite,
    unbiased,
)
from evenscore.inference.intervals import normal_quantile, student, wilson
from evenscore.scores import GroupedScores, check_scores
from evenscore.scores.arrays import Floats


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
    form = overall_form(scores, sampling)
    used = np.flatnonzero(np.any(form != 0.0, axis=-1)).tolist()
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = scores.cell_weights.sum(axis=1) ** 2 / scores.cell_squares.sum(axis=1)
    value = moments.matrix.overall
    by_cell = moments.variance_by_cell(form)
    variance, freedom = satterthwaite(by_cell, moments.freedom)
    z = normal_quantile(0.5 + level / 2.0)
    low, high = auc_limits(*(np.asarray(n) for n in (value, variance, freedom, pooled.min(), z)))
    overall = _estimate(
        "AUC", value, (float(low), float(high)), variance, freedom, used, scores, level,
        unknown=bool(moments.resting_on_bounds(by_cell)),
    )  # fmt: skip
    return overall, _table(scores, moments, level)


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


def _table(scores: GroupedScores, moments: PlacementMoments, level: float) -> list[list[Estimate]]:
    """The AUCs between cells, computed all at once: a hundred groups have 40,000 of them."""
    value, sizes = moments.matrix.values, moments.effective_sizes
    within = _within(moments)
    np.fill_diagonal(within, 0.0)
    variance = within + within.T
    with np.errstate(invalid="ignore", divide="ignore"):  # Welch and Satterthwaite, two cells
        first = np.square(within / variance) / moments.freedom[:, None]
        freedom = np.where(variance > 0.0, 1.0 / (first + first.T), 1e9)
    z = np.asarray(normal_quantile(0.5 + level / 2.0))
    low, high = auc_limits(value, variance, freedom, np.minimum(sizes[:, None], sizes), z)
    columns = (table.tolist() for table in (value, low, high, variance, freedom))
    names = moments.matrix.cells
    return [
        [
            _estimate(
                f"AUC({names[i]}, {names[j]})", v, (a, b), s2, df, sorted({i, j}) if i != j else [],
                scores, level,
            )
            for j, (v, a, b, s2, df) in enumerate(zip(*rows, strict=True))
        ]
        for i, rows in enumerate(zip(*columns, strict=True))
    ]  # fmt: skip


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


def _estimate(
    name: str,
    value: float,
    ends: tuple[float, float],
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
        warnings = (*warnings, "perfect separation: the interval is Wilson's")
    low, high = ends if cells else (value, value)
    return Estimate(
        name, value, low, high, level, method, math.sqrt(variance), freedom, warnings=warnings
    )


def no_interval(cells: Iterable[int], scores: GroupedScores) -> str:
    """Why a statistic of these cells has no interval, or nothing."""
    sizes = scores.effective_sizes.reshape(-1)
    alone = [scores.cell_name(c) for c in cells if sizes[c] < 2.0]
    if not alone:
        return ""
    return f"no interval: the {' and the '.join(alone)} are worth less than two observations"


def small_cells(cells: Iterable[int], scores: GroupedScores) -> tuple[str, ...]:
    """A warning that names the cells too small for a reliable interval, if there are any."""
    sizes = scores.effective_sizes.reshape(-1)
    small = [f"{sizes[c]:.0f} {scores.cell_name(c)}" for c in cells if sizes[c] < SMALL_CELL]
    return (f"small cells make the interval unreliable: {', '.join(small)}",) if small else ()
