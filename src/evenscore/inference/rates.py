"""Intervals of what happens at a cut: ROC gaps at a rate, and rates at a fixed threshold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evenscore.constraints import RocConstraint
from evenscore.curves import RocCurve
from evenscore.inference.bands import roc_band
from evenscore.inference.estimate import (
    SMALL_CELL,
    Estimate,
    check_level,
    counted,
    holm,
    invert,
    normal_quantile,
    wilson,
)
from evenscore.inference.pointwise import pointwise_band
from evenscore.inference.shares import share_size, sums_above, sums_by_cell
from evenscore.labels import label_text
from evenscore.measures import inter_group_curve
from evenscore.scores import GroupedScores, check_scores, class_names
from evenscore.thresholds import RateName, rates_at

__all__ = ["rate_difference_estimates", "roc_gap_estimates"]

Floats = NDArray[np.float64]

_IN_A_TIE = 0.005  # a cut that selects so much less than its rate is said to fall in a tie
_FEW_BEYOND = 20  # observations; measured in benchmarks/coverage.py

# Whether the rate counts those selected (1) or rejected (0), in each class of which it is a share.
_COUNTED: dict[RateName, dict[int, int]] = {
    "fpr": {0: 1},
    "tpr": {1: 1},
    "fnr": {1: 0},
    "selection_rate": {0: 1, 1: 1},
    "error_rate": {0: 1, 1: 0},
}


def roc_gap_estimates(
    scores: GroupedScores,
    constraint: RocConstraint,
    *,
    confidence_level: float = 0.95,
    pairs: Iterable[tuple[int, int]] | None = None,
    split_ties: bool = False,
    tolerance: float | None = None,
) -> list[Estimate]:
    """Every gap of a ROC constraint with its pointwise interval; the cut is estimated too.

    Of all pairs of groups, or only of the `pairs` (of positions in the order of the groups) given.

    The p-value is one minus the largest level at which the interval leaves out zero; Holm's
    correction runs over the pairs of groups, classes and rates of the constraint. With `tolerance`,
    `beyond_p_value` is one minus the largest level at which the interval lies beyond it (1 where it
    does not at the level asked for).

    Intervals cover too much, up to always, where scores are tied or few of the first group lie
    beyond the cut: shares are multiples of 1/n and a binomial range cannot be cut finer. The
    estimate then carries a warning.

    With ties no cut need select the share a of the first group, and ROC(a) − a, which compares with
    a, is then no comparison of the groups: it is −a for two groups of one law if the cut selects
    nobody. With `split_ties` the gap is that of the score whose ties are broken at random, the same
    in both groups: the share of the second group above the cut and the part of those tied with it
    that makes up a in the first. It is zero for groups of one law, and equal to the definition's
    where the cut falls in no tie. The words say what the cut itself selects.
    """
    check_scores(scores)
    if not isinstance(constraint, RocConstraint):
        raise TypeError("roc_gap_estimates takes a RocConstraint; see gap_estimates.")
    level = check_level(confidence_level)
    found = []
    compared = scores.pairs() if pairs is None else list(pairs)
    gaps = iter(constraint.gaps(scores, compared))
    rates = np.asarray(constraint.rates)
    for on in class_names(constraint.on):
        for first, second in compared:
            curve = inter_group_curve(scores, on, first, second)
            if split_ties:
                curve = curve.with_ties_split()
            band = roc_band(curve, rates, kind="pointwise", confidence_level=level).gap()
            p_values = beyond = np.full(len(rates), np.nan)
            if not np.isnan(band.low).any():  # as it is if a sample is empty
                p_values = invert(partial(_outside, curve, rates, 0.0), len(rates))
                if tolerance is not None:
                    found_beyond = (band.low > tolerance) | (band.high < -tolerance)
                    beyond = np.ones(len(rates))
                    if found_beyond.any():
                        at = rates[found_beyond]
                        beyond[found_beyond] = invert(
                            partial(_outside, curve, at, tolerance), len(at)
                        )
            for k in range(len(rates)):
                estimate = Estimate.of_gap(next(gaps), method="Wilson, both shares")
                if split_ties and not np.isnan(band.value[k]):
                    estimate = _split(estimate, curve, float(band.value[k]))
                found.append(
                    replace(
                        estimate,
                        low=float(band.low[k]),
                        high=float(band.high[k]),
                        confidence_level=level,
                        standard_error=float(band.high[k] - band.low[k])
                        / (2.0 * normal_quantile(0.5 + level / 2.0)),
                        p_value=float(p_values[k]),
                        beyond_p_value=float(beyond[k]),
                        warnings=estimate.warnings or (*band.warnings, *_wide(curve, rates[k])),
                    )
                )
    return holm(found)


def _split(estimate: Estimate, curve: RocCurve, value: float) -> Estimate:
    """The gap with its ties split; its words say what the cut itself selects."""
    rate, on = estimate.rate or 0.0, estimate.on
    one, two = estimate.first, estimate.second
    cut = curve.reference.threshold(rate)
    attained, selected = float(curve.reference.survival(cut)), float(curve.target.survival(cut))
    told = (
        f"the cut that selects at most {rate:.1%} of the {on} of {one} "
        f"selects {rate + value:.1%} of those of {two}"
    )
    method = estimate.method
    if rate - attained > _IN_A_TIE:
        method = "Wilson, both shares, ties split"
    if method != estimate.method or abs(rate + value - selected) > 5e-4:  # other digits are shown
        told = (
            f"the cut that selects at most {rate:.1%} of the {on} of {one} selects "
            f"{attained:.1%} of them, because of ties, and {selected:.1%} of those of {two}; with "
            f"ties broken at random so that it selects {rate:.1%}, {rate + value:.1%}"
        )
    return replace(estimate, value=value, words=told, method=method)


def _wide(curve: RocCurve, rate: float) -> tuple[str, ...]:
    """Why the pointwise interval at a rate is wider than its level asks for, if it is."""
    beyond = min(rate, 1.0 - rate) * float(curve.reference.size_behind(rate))
    tied = curve.reference.is_tied
    if curve.ties_split:
        cut = curve.reference.threshold(rate)
        tied = bool(rate - curve.reference.survival(cut) > _IN_A_TIE)
    if tied:
        return ("scores are tied: the interval is wider than its level asks for",)
    if beyond < _FEW_BEYOND:
        return (
            f"{counted(beyond)} of the first group can be expected beyond the cut: the "
            "interval is wider than its level asks for",
        )
    return ()


def _outside(curve: RocCurve, rates: Floats, tolerance: float, z: Floats) -> tuple[Floats, Floats]:
    """Intervals of the gaps, wider by the tolerance: they leave out zero if the gaps lie beyond."""
    low, high = pointwise_band(curve, rates, z)
    return low - rates - tolerance, high - rates + tolerance


def rate_difference_estimates(
    scores: GroupedScores,
    threshold: float,
    rates: Sequence[RateName] = ("fpr", "tpr", "selection_rate", "error_rate"),
    *,
    confidence_level: float = 0.95,
) -> list[Estimate]:
    """Differences of the groups' rates (first minus second) at a *fixed* threshold.

    Newcombe's interval, made of Wilson's intervals of the two rates; with weights, effective sizes
    (`share_size`, those of the level) take the place of the numbers of people. The p-value is
    one minus the largest level at which it leaves out zero; Holm's correction runs over the pairs
    of groups of one rate.

    >>> y, groups = [0, 1] * 100, ["a"] * 100 + ["b"] * 100
    >>> scores = GroupedScores.from_arrays(y, range(200), sensitive_features=groups)
    >>> [fpr] = rate_difference_estimates(scores, 49.5, ["fpr"])
    >>> fpr.value, fpr.low < -0.5 < fpr.high
    (-0.5, True)
    """
    level = check_level(confidence_level)
    if np.ndim(threshold) > 0:
        raise ValueError(f"threshold must be one number, not {threshold!r}.")
    cut = rates_at(scores, threshold)
    above = sums_above(scores, cut)[:, 0]
    below = np.maximum(sums_by_cell(scores) - above, 0.0)
    z = normal_quantile(0.5 + level / 2.0)
    found = []
    for name in [rates] if isinstance(rates, str) else rates:
        if name not in _COUNTED:
            known = ", ".join(_COUNTED)
            raise ValueError(f"There is no interval for {name!r}; there is for {known}.")
        value = cut.rate(name)[0]
        cells = _COUNTED[name]
        inside = np.sum([(above if up else below)[:, c] for c, up in cells.items()], axis=0)
        outside = np.sum([(below if up else above)[:, c] for c, up in cells.items()], axis=0)
        sizes = share_size(inside, outside, z)
        pairs = np.array(scores.pairs(), dtype=np.intp).reshape(-1, 2)
        share, size = value[pairs].T, sizes[pairs].T
        low, high = _newcombe(share, size, np.full(len(pairs), z))
        p_values = invert(partial(_newcombe, share, size), len(pairs))
        estimates = []
        for k, (i, j) in enumerate(pairs.tolist()):
            one, two = (label_text(scores.groups[g]) for g in (i, j))
            small = float(size[:, k].min())
            warnings: tuple[str, ...] = ()
            if np.isnan(share[:, k]).any():
                warnings = (f"the {name} of a group is undefined: it has an empty cell",)
            elif small < SMALL_CELL:
                warnings = (f"the smaller group is worth {counted(small)} only",)
            estimates.append(
                Estimate(
                    name,
                    float(share[0, k] - share[1, k]),
                    float(low[k]),
                    float(high[k]),
                    level,
                    "Newcombe",
                    float(high[k] - low[k]) / (2.0 * z),
                    p_value=float(p_values[k]),
                    first=one,
                    second=two,
                    words=f"{name}: {share[0, k]:.1%} in {one}, {share[1, k]:.1%} in {two}",
                    warnings=warnings,
                )
            )
        found += holm(estimates)
    return found


def _newcombe(share: Floats, size: Floats, z: Floats) -> tuple[Floats, Floats]:
    """Newcombe's interval of the difference of two shares, for many pairs: shapes (2, pairs)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = wilson(share, size, z)
    gap = share[0] - share[1]
    below = np.hypot(share[0] - low[0], high[1] - share[1])
    above = np.hypot(high[0] - share[0], share[1] - low[1])
    return gap - below, gap + above
