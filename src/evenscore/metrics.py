"""Metrics in scikit-learn's style: columns in, one number (or one result object) out.

Each metric takes `(y_true, y_score, *, sensitive_features, pos_label, sample_weight, group_order)`
and so works with `sklearn.metrics.make_scorer`, metadata routing and fairlearn's `MetricFrame`:

- `y_true`: two labels; `pos_label` may be left out for 0/1, −1/1 and False/True.
- `sensitive_features`: one column, or several whose intersections are the groups.
- gaps are signed, groups being sorted or as in `group_order`: an AUC gap is the first group's AUC
  minus the second's; a ROC gap is positive where the second group scores higher. With more than two
  groups, the signed gap of the worst pair. `absolute=True` drops the sign, which is what a
  scorer with `greater_is_better=False` needs.
- an empty cell or bad input raises one sentence that says what is wrong and where.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenscore import measures
from evenscore.constraints import (
    AucConstraint,
    Constraint,
    RocConstraint,
    as_constraints,
    worst,
)
from evenscore.curves import RocCurve
from evenscore.distributions import Distribution, check_interval
from evenscore.measures import AucMatrix
from evenscore.scores import GroupedScores, OneOrBoth, class_names

if TYPE_CHECKING:
    from evenscore.inference import Estimate

__all__ = [
    "abroca",
    "area_between_curves",
    "auc",
    "auc_gap",
    "auc_matrix",
    "elementary_gaps",
    "gap_estimates",
    "roc_curve",
    "roc_gap",
]

Groups = Sequence[Hashable] | None


def roc_curve(
    reference: Any, target: Any, *, reference_weight: Any = None, target_weight: Any = None
) -> RocCurve:
    """ROC curve of a target sample against a reference sample.

    >>> float(roc_curve([0.1, 0.2, 0.3, 0.4], [0.2, 0.5]).evaluate(0.25))
    0.5
    """
    distributions = []
    for name, sample, weight in (
        ("reference", reference, reference_weight),
        ("target", target, target_weight),
    ):
        distributions.append(Distribution.from_sample(sample, weight, name=name))
        if distributions[-1].total == 0:
            raise ValueError(
                f"{name} is empty (or of weight zero): a ROC curve needs both samples."
            )
    return RocCurve(*distributions)


def auc(
    reference: Any, target: Any, *, reference_weight: Any = None, target_weight: Any = None
) -> float:
    """P(target > reference) + ½ P(target = reference), for two samples.

    >>> auc([1, 2, 3], [2, 4])
    0.75
    """
    curve = roc_curve(
        reference, target, reference_weight=reference_weight, target_weight=target_weight
    )
    return curve.area


def auc_matrix(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    pos_label: Any = None,
    sample_weight: Any = None,
    group_order: Groups = None,
) -> AucMatrix:
    """AUCs between all 2K cells, with the pair weights that make up the overall AUC.

    An empty cell has NaN in its row and column; one group or one class alone is enough.

    >>> auc_matrix([0, 1, 0, 1], [1, 2, 2, 3], sensitive_features=["a", "a", "b", "b"]).overall
    0.875
    """
    return measures.auc_matrix(
        GroupedScores.from_arrays(
            y_true,
            y_score,
            sensitive_features=sensitive_features,
            pos_label=pos_label,
            sample_weight=sample_weight,
            group_order=group_order,
        )
    )


def auc_gap(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    constraint: str | AucConstraint = "inter_group",
    absolute: bool = False,
    pos_label: Any = None,
    sample_weight: Any = None,
    group_order: Groups = None,
) -> float:
    """The difference of the two AUCs that a constraint compares.

    `constraint` is a name of `evenscore.constraint_names()` or an `AucConstraint`.

    >>> auc_gap([0, 1, 0, 1], [1, 2, 2, 3], sensitive_features=["a", "a", "b", "b"])
    0.5
    """
    scores = _complete(y_true, y_score, sensitive_features, pos_label, sample_weight, group_order)
    return _number(worst(_named(constraint).gaps(scores)).value, absolute)


def gap_estimates(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    constraints: str | Constraint | Iterable[str | Constraint],
    confidence_level: float = 0.95,
    sampling: Literal["observations", "cells"] = "observations",
    pos_label: Any = None,
    sample_weight: Any = None,
    group_order: Groups = None,
) -> list[Estimate]:
    """Every gap of the constraints, AUC and ROC ones, with its interval and p-values.

    `sampling` says whether people were drawn at random, or so many of each class and group.

    >>> y, s, groups = [0, 1] * 100, range(200), ["a", "a", "b", "b"] * 50
    >>> [gap] = gap_estimates(y, s, sensitive_features=groups, constraints="inter_group")
    >>> gap.low < gap.value < gap.high
    True
    """
    from evenscore import inference

    scores = GroupedScores.from_arrays(
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        pos_label=pos_label,
        sample_weight=sample_weight,
        group_order=group_order,
    )
    moments = inference.placement_moments(scores)
    found: list[Estimate] = []
    for constraint in as_constraints(constraints):
        if isinstance(constraint, RocConstraint):
            found += inference.roc_gap_estimates(
                scores, constraint, confidence_level=confidence_level
            )
        else:
            found += inference.gap_estimates(
                scores,
                constraint,
                confidence_level=confidence_level,
                sampling=sampling,
                moments=moments,
            )
    return found


def elementary_gaps(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    pos_label: Any = None,
    sample_weight: Any = None,
    group_order: Groups = None,
) -> NDArray[np.float64]:
    """The paper's C₁..C₅; for two groups.

    >>> elementary_gaps([0, 1, 0, 1], [1, 2, 2, 3], sensitive_features=["a", "a", "b", "b"])
    array([ 0.5, -0.5,  0. ,  0.5, -0.5])
    """
    scores = _complete(y_true, y_score, sensitive_features, pos_label, sample_weight, group_order)
    if scores.n_groups != 2:
        raise ValueError(f"Elementary gaps compare two groups, but there are {scores.n_groups}.")
    return measures.elementary_gaps(measures.auc_matrix(scores))


def roc_gap(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    on: OneOrBoth = "negatives",
    rate: float | None = None,
    interval: tuple[float, float] | None = None,
    summary: Literal["supremum", "mean_absolute"] = "supremum",
    absolute: bool = False,
    pos_label: Any = None,
    sample_weight: Any = None,
    group_order: Groups = None,
) -> float:
    """Δ = ROC between the groups' negatives (or positives) minus the diagonal.

    At one `rate`: the cut that selects at most that share of the first group selects that share
    plus Δ of the second. Over an `interval` of rates: the value of Δ that is largest in magnitude,
    exactly, or its mean absolute value. With `on="both"`, the worse of the two classes.

    This is the definition, in which a cut that falls in a tie selects fewer than `rate` of the
    first group. An audit splits ties (`inference.roc_gap_estimates` with `split_ties=True`): its
    gaps differ from these where scores are tied.

    >>> y, s = [0, 0, 0, 0, 1, 1], [1, 2, 3, 4, 5, 6]
    >>> roc_gap(y, s, sensitive_features=list("abbaab"), rate=0.5)
    0.5
    """
    scores = _complete(y_true, y_score, sensitive_features, pos_label, sample_weight, group_order)
    if (rate is None) == (interval is None):
        raise ValueError("roc_gap needs either rate or interval, and not both.")
    if summary not in ("supremum", "mean_absolute"):
        raise ValueError(f"summary must be 'supremum' or 'mean_absolute', not {summary!r}.")
    if rate is not None:
        if np.ndim(rate) > 0:
            raise ValueError("roc_gap takes one rate; a RocConstraint takes several.")
        value = worst(RocConstraint(on=on, rates=(rate,)).gaps(scores)).value
        return _number(value, absolute)
    low, high = check_interval(interval)
    curves = [
        measures.roc_gap_curve(scores, name, *pair).restrict(low, high)
        for name in class_names(on)
        for pair in scores.pairs()
    ]
    if summary == "mean_absolute":
        return max(curve.mean_absolute for curve in curves)
    return _number(max((curve.supremum[0] for curve in curves), key=abs), absolute)


def area_between_curves(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    constraint: str | AucConstraint = "intra_group",
    pos_label: Any = None,
    sample_weight: Any = None,
    group_order: Groups = None,
) -> float:
    """Area between the two ROC curves whose areas a constraint compares; the worst pair if K > 2.

    `intra_group` gives ABROCA, `inter_group` the area between the cross-group curves. Exact: where
    the curves cross, both sides count.
    """
    scores = _complete(y_true, y_score, sensitive_features, pos_label, sample_weight, group_order)
    pairs = _named(constraint).curves_by_pair(scores)
    return max(one.difference(two).area for one, two in pairs)


def abroca(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    pos_label: Any = None,
    sample_weight: Any = None,
    group_order: Groups = None,
) -> float:
    """ABROCA: area between the groups' own ROC curves (Gardner, Brooks and Baker, 2019)."""
    return area_between_curves(
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        pos_label=pos_label,
        sample_weight=sample_weight,
        group_order=group_order,
    )


def _complete(
    y_true: Any,
    y_score: Any,
    sensitive_features: Any,
    pos_label: Any,
    sample_weight: Any,
    group_order: Groups,
) -> GroupedScores:
    """The scores by group, refused unless every cell has somebody in it."""
    scores = GroupedScores.from_arrays(
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        pos_label=pos_label,
        sample_weight=sample_weight,
        group_order=group_order,
    )
    scores.require_cells()
    return scores


def _named(constraint: str | AucConstraint | RocConstraint) -> AucConstraint:
    if isinstance(constraint, str):
        return AucConstraint.named(constraint)
    if isinstance(constraint, AucConstraint):
        return constraint
    raise TypeError(
        f"constraint must be a name or an AucConstraint, not {type(constraint).__name__}; "
        "roc_gap measures ROC constraints."
    )


def _number(value: float, absolute: bool) -> float:
    return abs(value) if absolute else value
