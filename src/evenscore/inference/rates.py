"""Intervals of what happens at a cut: ROC gaps at a rate, and rates at a fixed threshold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evenscore.constraints import RocConstraint
from evenscore.curves import RocCurve
from evenscore.inference.bands import pointwise_band, roc_band
from evenscore.inference.estimate import (
    SMALL_CELL,
    Estimate,
    check_level,
    holm,
    normal_quantile,
    wilson,
)
from evenscore.labels import label_text
from evenscore.measures import inter_group_curve
from evenscore.scores import GroupedScores, check_scores, class_names
from evenscore.thresholds import RateName, rates_at

__all__ = ["rate_difference_estimates", "roc_gap_estimates"]

Floats = NDArray[np.float64]


def roc_gap_estimates(
    scores: GroupedScores, constraint: RocConstraint, *, confidence_level: float = 0.95
) -> list[Estimate]:
    """Every gap of a ROC constraint with its pointwise interval; the cut is estimated too.

    The p-value is one minus the largest level at which the interval leaves out zero; Holm's
    correction runs over the pairs of groups, classes and rates of the constraint.
    """
    check_scores(scores)
    level = check_level(confidence_level)
    found = []
    gaps = iter(constraint.gaps(scores))
    rates = np.asarray(constraint.rates)
    for on in class_names(constraint.on):
        for first, second in scores.pairs():
            curve = inter_group_curve(scores, on, first, second)
            band = roc_band(curve, rates, kind="pointwise", confidence_level=level).gap()
            p_values = band.low if np.isnan(band.low).any() else _p_values(curve, rates)
            for k in range(len(rates)):
                estimate = Estimate.of_gap(next(gaps), method="Wilson, both shares")
                found.append(
                    replace(
                        estimate,
                        low=float(band.low[k]),
                        high=float(band.high[k]),
                        confidence_level=level,
                        standard_error=float(band.high[k] - band.low[k])
                        / (2.0 * normal_quantile(0.5 + level / 2.0)),
                        p_value=float(p_values[k]),
                        warnings=estimate.warnings or band.warnings,
                    )
                )
    return holm(found)


def _p_values(curve: RocCurve, rates: Floats) -> Floats:
    """Two-sided, by bisection over z: the largest z whose interval leaves out a gap of zero."""
    from scipy.special import ndtr

    low, high = np.zeros(len(rates)), np.full(len(rates), 40.0)
    for _ in range(40):
        middle = (low + high) / 2.0
        below, above = pointwise_band(curve, rates, middle)
        outside = (below > rates) | (above < rates)
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    return np.asarray(2.0 * ndtr(-low))


def rate_difference_estimates(
    scores: GroupedScores,
    threshold: float,
    rates: Iterable[RateName] = ("fpr", "fnr", "selection_rate", "error_rate"),
    *,
    confidence_level: float = 0.95,
) -> list[Estimate]:
    """Differences of the groups' rates (first minus second) at a *fixed* threshold.

    Newcombe's interval, made of Wilson's intervals of the two rates; with weights, effective sizes
    take the place of sizes.

    >>> y, groups = [0, 1] * 100, ["a"] * 100 + ["b"] * 100
    >>> scores = GroupedScores.from_arrays(y, range(200), sensitive_features=groups)
    >>> [fpr] = rate_difference_estimates(scores, 49.5, ["fpr"])
    >>> fpr.value, fpr.low < -0.5 < fpr.high
    (-0.5, True)
    """
    level = check_level(confidence_level)
    z = normal_quantile(0.5 + level / 2.0)
    cut = rates_at(scores, threshold)
    found = []
    for name in rates:
        value = cut.rate(name)[0]
        rows = {"fpr": slice(0, 1), "fnr": slice(1, 2)}.get(name, slice(0, 2))
        with np.errstate(invalid="ignore", divide="ignore"):
            sizes = scores.cell_weights[rows].sum(axis=0) ** 2 / scores.cell_squares[rows].sum(
                axis=0
            )
            low, high = wilson(value, sizes, z)
        estimates = []
        for i, j in scores.pairs():
            below = float(np.hypot(value[i] - low[i], high[j] - value[j]))
            above = float(np.hypot(high[i] - value[i], value[j] - low[j]))
            gap = float(value[i] - value[j])
            one, two = (label_text(scores.groups[k]) for k in (i, j))
            small = min(sizes[i], sizes[j])
            warnings: tuple[str, ...] = ()
            if np.isnan(gap):
                warnings = (f"the {name} of a group is undefined: it has an empty cell",)
            elif small < SMALL_CELL:
                warnings = (f"the smaller group is worth {small:.0f} observations only",)
            estimates.append(
                Estimate(
                    name,
                    gap,
                    gap - below,
                    gap + above,
                    level,
                    "Newcombe",
                    (below + above) / (2.0 * z),
                    first=one,
                    second=two,
                    words=f"{name}: {value[i]:.1%} in {one}, {value[j]:.1%} in {two}",
                    warnings=warnings,
                )
            )
        found += estimates
    return found
