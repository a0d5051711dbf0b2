"""Two scores of the same people: is one fairer, or better, than the other?"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenscore.columns import to_numbers
from evenscore.constraints import AucConstraint, Gap, as_constraints
from evenscore.inference.aucs import small_cells
from evenscore.inference.estimate import Estimate, check_level, t_quantile, t_test
from evenscore.inference.magnitudes import Paired
from evenscore.inference.moments import (
    Sampling,
    cell_freedom,
    check_sampling,
    overall_form,
    placement_moments,
    satterthwaite,
    side_forms,
    unbiased,
)
from evenscore.labels import label_text
from evenscore.scores import GroupedScores, decode

__all__ = ["paired_differences", "paired_estimates"]

Floats = NDArray[np.float64]


def paired_differences(
    y_true: Any,
    y_score: Any,
    other_score: Any,
    *,
    sensitive_features: Any,
    constraints: str | AucConstraint | Iterable[str | AucConstraint] = (),
    pos_label: Any = None,
    sample_weight: Any = None,
    group_order: Sequence[Hashable] | None = None,
    confidence_level: float = 0.95,
    sampling: Sampling = "observations",
) -> list[Estimate]:
    """Overall AUC, then every gap of the constraints: `y_score`'s value minus `other_score`'s.

    The people are the same, so the two values move together and their difference is known better
    than either: its variance is that of the difference of the two influences of each person
    (DeLong's paired comparison, for gaps as well).

    >>> y, groups = [0, 1, 0, 1] * 25, list("aabb") * 25
    >>> score = [(7 * i) % 100 + 30 * label for i, label in enumerate(y)]
    >>> [auc] = paired_differences(y, score, score, sensitive_features=groups)
    >>> auc.value, auc.standard_error
    (0.0, 0.0)
    """
    found = paired_estimates(
        y_true,
        y_score,
        other_score,
        sensitive_features=sensitive_features,
        constraints=constraints,
        pos_label=pos_label,
        sample_weight=sample_weight,
        group_order=group_order,
        confidence_level=confidence_level,
        sampling=sampling,
    )
    return [paired.difference for paired in found]


def paired_estimates(
    y_true: Any,
    y_score: Any,
    other_score: Any,
    *,
    sensitive_features: Any,
    constraints: str | AucConstraint | Iterable[str | AucConstraint] = (),
    pos_label: Any = None,
    sample_weight: Any = None,
    group_order: Sequence[Hashable] | None = None,
    confidence_level: float = 0.95,
    sampling: Sampling = "observations",
) -> list[Paired]:
    """What `paired_differences` gives, and the totals of the two values beside."""
    level = check_level(confidence_level)
    check_sampling(sampling)
    positive, codes, groups = decode(
        y_true, sensitive_features, pos_label=pos_label, group_order=group_order
    )
    cell = codes + len(groups) * positive
    found = as_constraints(constraints)
    values, influences = [], []
    for column, name in ((y_score, "y_score"), (other_score, "other_score")):
        score = to_numbers(column, name)
        scores = GroupedScores.from_arrays(
            positive,
            score,
            sensitive_features=codes,
            sample_weight=sample_weight,
            group_order=range(len(groups)),
        )
        scores.require_cells()
        moments = placement_moments(scores)
        overall = moments.matrix.overall
        gaps = [Gap("AUC", "", "", overall, "")]
        forms = [overall_form(scores, moments, sampling)[None]]
        for constraint in found:
            if not isinstance(constraint, AucConstraint):
                raise TypeError("Paired differences are for AUC constraints.")
            gaps += constraint.gaps(scores, moments.matrix)
            left, right = side_forms(scores, constraint, moments, sampling, scores.pairs())[1]
            forms.append(left - right)
        values.append(gaps)
        influences.append(_influences(score, cell, scores, np.concatenate(forms)))
    weight = np.ones(len(cell)) if sample_weight is None else to_numbers(sample_weight, "weight")
    one, two = influences
    minus, plus = (_variance_by_cell(g, weight, cell, scores) for g in (one - two, one + two))
    return [
        Paired(
            _estimate(gap, other, gap.value - other.value, row, scores, groups, level),
            _estimate(gap, other, gap.value + other.value, sum_row, scores, groups, level),
        )
        for gap, other, row, sum_row in zip(*values, minus, plus, strict=True)
    ]


def _influences(
    score: Floats, cell: NDArray[np.intp], scores: GroupedScores, forms: Floats
) -> Floats:
    """g(s) of every person for every statistic, shape (statistics, people)."""
    placements = np.ones((scores.n_cells + 1, len(score)))
    for c, sample in enumerate(scores.cell_distributions):
        below = sample.weight_below(score, inclusive=False)
        up_to = sample.weight_below(score, inclusive=True)
        placements[c] = (below + up_to) / (2.0 * sample.total)
    found = np.empty((len(forms), len(score)))
    for c in range(scores.n_cells):
        own = np.flatnonzero(cell == c)
        found[:, own] = forms[:, c] @ placements[:, own]
    return found


def _variance_by_cell(
    influence: Floats, weight: Floats, cell: NDArray[np.intp], scores: GroupedScores
) -> Floats:
    sizes, counts = scores.effective_sizes.reshape(-1), scores.cell_counts.reshape(-1)
    found = np.zeros((len(influence), scores.n_cells))
    for c in range(scores.n_cells):
        own = cell == c
        g, w = influence[:, own], weight[own]
        mean = (g @ w / w.sum())[:, None]
        square, within = np.square(g) @ np.square(w), np.square(g - mean) @ np.square(w)
        found[:, c] = unbiased(square, within, sizes[c], counts[c])
    return found


def _estimate(
    gap: Gap,
    other: Gap,
    value: float,
    by_cell: Floats,
    scores: GroupedScores,
    groups: Sequence[Hashable],
    level: float,
) -> Estimate:
    sizes = scores.effective_sizes.reshape(-1)
    named = replace(scores, groups=tuple(groups))
    used = np.ones(len(sizes), dtype=bool) if gap.name == "AUC" else by_cell != 0.0
    freedoms = cell_freedom(sizes, scores.cell_counts.reshape(-1))
    variance, freedom = satterthwaite(by_cell, freedoms)
    error = float(np.sqrt(variance))
    half = t_quantile(0.5 + level / 2.0, freedom) * error
    first, second = (label_text(groups[int(g)]) if g else "" for g in (gap.first, gap.second))
    return Estimate(
        gap.name,
        value,
        value - half,
        value + half,
        level,
        "paired placement values, Student",
        error,
        freedom,
        t_test(value, error, freedom),
        first=first,
        second=second,
        words=f"{gap.name}: {gap.value:.3f} against {other.value:.3f}",
        warnings=small_cells(np.flatnonzero(used | np.isnan(by_cell)).tolist(), named),
    )
