"""Metrics in scikit-learn's style: columns in, one number (or one result object) out.

Each metric takes `(y_true, y_score, *, sensitive_features, pos_label, sample_weight, cluster,
group_order)` and so works with `sklearn.metrics.make_scorer`, metadata routing and fairlearn's
`MetricFrame`:

- `y_true`: two labels; `pos_label` may be left out for 0/1, −1/1 and False/True.
- `sensitive_features`: one column, or several whose intersections are the groups.
- gaps are sizes, of the worst pair of groups: what a scorer with `greater_is_better=False` needs.
  With `signed=True` and an explicit `group_order`, the signed gap: an AUC gap is the first group's
  AUC minus the second's, and so for rates and average precisions; a ROC gap is positive where the
  second group scores higher.
- `cluster`: who or what a row is about, where there are several rows per person, household or
  branch. Intervals are wider then; values are the same.
- an empty cell or bad input raises one sentence that says what is wrong and where.
"""

import inspect
from collections.abc import Callable, Hashable, Sequence
from functools import wraps
from numbers import Real
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from evenscore.gaps import (
    AucConstraint,
    ConstraintLike,
    Cuts,
    GapFamily,
    RateConstraint,
    RocConstraint,
    as_constraints,
    equalities,
)
from evenscore.gaps.cuts import DEFAULT_CUTS
from evenscore.gaps.family import EstimateSettings, family_estimates, largest
from evenscore.gaps.roc import anchored_gap_curve, anchored_gaps
from evenscore.inference import precision_recall as precision_inference
from evenscore.inference.decisions import holm
from evenscore.inference.estimate import Estimate, Sampling
from evenscore.inference.paired import PairedScores, paired_auc
from evenscore.scores import GroupedScores, OneOrBoth, aucs, class_names
from evenscore.scores import thresholds as cutting
from evenscore.scores.arrays import Floats
from evenscore.scores.aucs import AucMatrix
from evenscore.scores.curve import RocCurve
from evenscore.scores.distribution import Distribution, check_interval, to_floats
from evenscore.scores.precision_recall import (
    POOLED,
    PrecisionRecallCurve,
    average_precisions,
    precision_recall_curves,
)
from evenscore.scores.reading import read_rows
from evenscore.scores.sources import check_lengths, to_numbers
from evenscore.scores.thresholds import FairThresholds, GroupRates

__all__ = [
    "abroca",
    "area_between_curves",
    "auc",
    "auc_gap",
    "auc_matrix",
    "average_precision",
    "average_precision_estimates",
    "average_precision_gap",
    "elementary_gaps",
    "fair_thresholds",
    "fairness_scorer",
    "gap_estimates",
    "paired_differences",
    "precision_recall_curve",
    "rate_gap",
    "rates_at",
    "roc_curve",
    "roc_gap",
]

Groups = Sequence[Hashable] | None
Value_co = TypeVar("Value_co", covariant=True)


class _Metric(Protocol[Value_co]):
    def __call__(
        self,
        y_true: Any,
        y_score: Any,
        *,
        sensitive_features: Any,
        pos_label: Any = None,
        sample_weight: Any = None,
        cluster: Any = None,
        group_order: Groups = None,
        **options: Any,
    ) -> Value_co: ...


def _of_columns(measure: Callable[..., Value_co]) -> _Metric[Value_co]:
    """The metric of columns that a function of the scores by group stands for.

    Its signature names every keyword, those of the columns and the function's own: scikit-learn
    looks there for what it may pass.
    """

    @wraps(measure)
    def metric(
        y_true: Any,
        y_score: Any,
        *,
        sensitive_features: Any,
        group_order: Groups = None,
        **options: Any,
    ) -> Value_co:
        if options.get("signed") and group_order is None:
            raise ValueError("A signed gap needs an order of the groups: give group_order.")
        columns = ("pos_label", "sample_weight", "cluster")
        more = {name: options.pop(name, None) for name in columns}
        scores = GroupedScores.from_arrays(
            y_true, y_score, sensitive_features=sensitive_features, group_order=group_order, **more
        )
        return measure(scores, **options)

    columns = list(inspect.signature(GroupedScores.from_arrays).parameters.values())
    of_scores = inspect.signature(measure)
    own = list(of_scores.parameters.values())[1:]
    metric.__signature__ = of_scores.replace(parameters=[*columns[:3], *own, *columns[3:]])  # type: ignore[attr-defined]
    return metric


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


@_of_columns
def auc_matrix(scores: GroupedScores) -> AucMatrix:
    """AUCs between all 2K cells, with the pair weights that make up the overall AUC.

    An empty cell has NaN in its row and column; one group or one class alone is enough.

    >>> auc_matrix([0, 1, 0, 1], [1, 2, 2, 3], sensitive_features=["a", "a", "b", "b"]).overall
    0.875
    """
    return aucs.auc_matrix(scores)


def rates_at(
    y_true: Any,
    y_score: Any,
    thresholds: Any,
    *,
    sensitive_features: Any,
    pos_label: Any = None,
    sample_weight: Any = None,
    group_order: Groups = None,
) -> GroupRates:
    """The rates of each group when the score is cut at the given threshold(s): selected is above.

    Every rate of `evenscore.rate_names()` is an attribute, an array (thresholds, groups).

    >>> rates = rates_at([0, 1, 0, 1], [1, 2, 2, 3], 1.5, sensitive_features=list("aabb"))
    >>> rates.fpr, rates.selection
    (array([[0., 1.]]), array([[0.5, 1. ]]))
    """
    scores = GroupedScores.from_arrays(
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        pos_label=pos_label,
        sample_weight=sample_weight,
        group_order=group_order,
    )
    return cutting.rates_at(scores, thresholds)


def fair_thresholds(
    y_true: Any,
    y_score: Any,
    rate: str,
    groups: Groups = None,
    *,
    sensitive_features: Any,
    tolerance: float = 0.0,
    pos_label: Any = None,
    sample_weight: Any = None,
    group_order: Groups = None,
) -> FairThresholds:
    """All thresholds at which the score, cut there, is fair as a classifier (Proposition 2).

    `rate` is a name of `evenscore.rate_names()`; `groups` are the groups compared, all by default.
    Fair means that their rates differ by at most `tolerance`. Cuts that select everybody or nobody
    are left out. Between two groups, the places where the gap jumps over zero are listed too.

    >>> y, score, groups = [0, 0, 0, 0, 1, 1], [1, 4, 2, 3, 5, 6], list("aabbab")
    >>> fair = fair_thresholds(y, score, "fpr", sensitive_features=groups)
    >>> list(zip(fair.low.tolist(), fair.high.tolist()))
    [(2.0, 3.0), (4.0, 6.0)]
    """
    scores = GroupedScores.from_arrays(
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        pos_label=pos_label,
        sample_weight=sample_weight,
        group_order=group_order,
    )
    return cutting.fair_thresholds(scores, rate, groups, tolerance=tolerance)


@_of_columns
def rate_gap(
    scores: GroupedScores, *, rate: str, cuts: Cuts = DEFAULT_CUTS, signed: bool = False
) -> float:
    """The difference of a rate between groups at the cuts in use: its size, of the worst pair.

    `rate` is a name of `evenscore.rate_names()`; over a range of cuts the largest difference
    counts, exactly. With `signed`, the first group's rate minus the second's.

    >>> y, s = [0, 0, 1, 1, 0, 0, 1, 1], [1, 2, 5, 6, 1, 4, 3, 6]
    >>> groups, cuts = list("aaaabbbb"), Cuts(at=0.5)
    >>> rate_gap(y, s, sensitive_features=groups, rate="fpr", cuts=cuts)
    0.5
    """
    gap = largest(_known(scores, RateConstraint(rate, cuts=cuts)))
    return gap if signed else abs(gap)


def _known(scores: GroupedScores, family: GapFamily) -> Floats:
    """The gaps of a family; one that has no value is refused with the reason."""
    values = family.values(scores)
    for reason in family.reasons(scores, values, None):
        if reason:
            raise ValueError(f"{reason}.")
    return values


@_of_columns
def auc_gap(
    scores: GroupedScores, *, constraint: str | AucConstraint = "inter_group", signed: bool = False
) -> float:
    """The difference of the two AUCs that a constraint compares: its size, of the worst pair.

    `constraint` is a name of `evenscore.constraint_names()` or an `AucConstraint`. With `signed` it
    has a sign, for the order of the groups given by `group_order`.

    >>> auc_gap([0, 1, 0, 1], [1, 2, 2, 3], sensitive_features=["a", "a", "b", "b"])
    0.5
    """
    scores.require_cells()
    gap = largest(AucConstraint.of(constraint).values(scores))
    return gap if signed else abs(gap)


@_of_columns
def gap_estimates(
    scores: GroupedScores,
    *,
    constraints: ConstraintLike,
    confidence_level: float = 0.95,
    sampling: Literal["observations", "cells"] = "observations",
) -> list[Estimate]:
    """Every gap of the constraints, whatever their family, with its interval and p-values.

    `sampling` says whether people were drawn at random, or so many of each class and group.

    >>> y, s, groups = [0, 1] * 100, range(200), ["a", "a", "b", "b"] * 50
    >>> [gap] = gap_estimates(y, s, sensitive_features=groups, constraints="inter_group")
    >>> gap.low < gap.value < gap.high
    True
    """
    settings = EstimateSettings(confidence_level, sampling=sampling)
    return family_estimates(scores, as_constraints(constraints), settings)


def fairness_scorer(
    *,
    constraints: ConstraintLike,
    strength: float | Sequence[float] = 1.0,
    tolerance: float = 0.0,
    pos_label: Any = None,
) -> Any:
    """A scorer for `GridSearchCV`: AUC − strength · Σ max(|gap| − tolerance, 0), over all gaps.

    The paper's criterion for choosing among scores. Sizes of gaps count: what the groups are
    called, and in which order they come, does not matter. `tolerance` is that of constraints
    without one of their own.

    Parameters
    ----------
    constraints : name, constraint or list of them
        Whose gaps count.
    strength : float, or one per constraint
        How much AUC a unit of gap is worth.
    tolerance : float
        The gap that costs nothing.
    pos_label : label, optional
        The label of the positives; may be left out for 0/1, −1/1 and False/True.

    Returns
    -------
    scorer
        It needs `sensitive_features`, by scikit-learn's metadata routing.

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y, groups = [[0], [3], [1], [2]] * 9, [0, 1, 0, 1] * 9, list("aabb") * 9
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     scorer = fairness_scorer(constraints="bnsp", strength=2.0)
    ...     scorer(LogisticRegression().fit(X, y), X, y, sensitive_features=groups)
    1.0
    """
    import sklearn
    from sklearn.metrics import make_scorer

    families = as_constraints(constraints)
    if not _is_size(tolerance):
        raise ValueError(f"tolerance must be a number of at least 0, not {tolerance!r}.")
    if not sklearn.get_config()["enable_metadata_routing"]:
        raise RuntimeError(
            "A fairness scorer is given the groups by metadata routing: call "
            "sklearn.set_config(enable_metadata_routing=True) first."
        )
    more = {} if pos_label is None else {"pos_label": pos_label}
    scorer = make_scorer(
        _fair_auc,
        response_method=("decision_function", "predict_proba"),
        families=families,
        strengths=_strengths(strength, len(families)),
        tolerance=float(tolerance),
        **more,
    )
    return scorer.set_score_request(sensitive_features=True)


def _is_size(number: Any) -> bool:
    return isinstance(number, Real) and 0.0 <= float(number) < np.inf


def _strengths(strength: Any, n: int) -> tuple[float, ...]:
    """One strength for each of n constraints."""
    if _is_size(strength):
        return (float(strength),) * n
    several = isinstance(strength, Sequence | np.ndarray) and not isinstance(strength, str)
    if not several or len(strength) != n or not all(_is_size(one) for one in strength):
        raise ValueError(
            "strength must be a number of at least 0, or a list of one for each of the "
            f"constraints ({n} here), not {strength!r}."
        )
    return tuple(float(one) for one in strength)


@_of_columns
def _fair_auc(
    scores: GroupedScores,
    *,
    families: Sequence[GapFamily],
    strengths: Sequence[float],
    tolerance: float,
) -> float:
    """AUC minus a price for gaps beyond the tolerance."""
    price = 0.0
    for family, strength in zip(families, strengths, strict=True):
        allowed = tolerance if family.tolerance is None else family.tolerance
        beyond = np.maximum(np.abs(_known(scores, family)) - allowed, 0.0)
        price += strength * float(beyond.sum())
    return aucs.auc_matrix(scores).overall - price


def paired_differences(
    y_true: Any,
    y_score: Any,
    other_score: Any,
    *,
    sensitive_features: Any,
    constraints: ConstraintLike = (),
    confidence_level: float = 0.95,
    sampling: Literal["observations", "cells"] = "observations",
    n_resamples: int = 400,
    random_state: int = 0,
    pos_label: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    group_order: Groups = None,
) -> list[Estimate]:
    """Overall AUC, then every gap of the constraints: `y_score`'s value minus `other_score`'s.

    The people are the same, so the two values move together and their difference is known better
    than either. Holm's correction of the p-values runs over the gaps of one constraint.
    `n_resamples` and `random_state` are those of constraints whose differences are resampled.

    >>> y, groups = [0, 1, 0, 1] * 25, list("aabb") * 25
    >>> score = [(7 * i) % 100 + 30 * label for i, label in enumerate(y)]
    >>> [auc] = paired_differences(y, score, score, sensitive_features=groups)
    >>> auc.value, auc.standard_error
    (0.0, 0.0)
    """
    rows = read_rows(
        y_true,
        sensitive_features,
        y_score=y_score,
        pos_label=pos_label,
        sample_weight=sample_weight,
        cluster=cluster,
        group_order=group_order,
    ).named()
    other = to_numbers(other_score, "other_score")
    assert rows.score is not None
    check_lengths({"y_score": rows.score, "other_score": other})
    pair = PairedScores(rows, (rows.score, other))
    settings = EstimateSettings(
        confidence_level, sampling=sampling, n_resamples=n_resamples, random_state=random_state
    )
    differences = [
        paired_auc(pair, confidence_level=confidence_level, sampling=sampling).difference
    ]
    for family in as_constraints(constraints):
        differences += holm([paired.difference for paired in family.paired(pair, settings)])
    return differences


@_of_columns
def elementary_gaps(scores: GroupedScores) -> Floats:
    """The paper's C₁..C₅; for two groups.

    >>> elementary_gaps([0, 1, 0, 1], [1, 2, 2, 3], sensitive_features=["a", "a", "b", "b"])
    array([ 0.5, -0.5,  0. ,  0.5, -0.5])
    """
    scores.require_cells()
    if scores.n_groups != 2:
        raise ValueError(f"Elementary gaps compare two groups, but there are {scores.n_groups}.")
    return equalities.elementary_gaps(aucs.auc_matrix(scores))


@_of_columns
def roc_gap(
    scores: GroupedScores,
    *,
    on: OneOrBoth = "negatives",
    rate: float | None = None,
    interval: tuple[float, float] | None = None,
    summary: Literal["supremum", "mean_absolute"] = "supremum",
    signed: bool = False,
) -> float:
    """Δ = ROC between the groups' negatives (or positives) minus the diagonal, ties split.

    At one `rate`: the cut that selects that share of one group selects that share plus Δ of the
    other; the size is the larger one of the two ways round. Over an `interval` of rates: the
    largest size, exactly, or the mean absolute value. With `on="both"`, the worse of the two
    classes. With `signed` and an explicit `group_order`, the paper's gap, cut in the first group.

    >>> y, s = [0, 0, 0, 0, 1, 1], [1, 2, 3, 4, 5, 6]
    >>> roc_gap(y, s, sensitive_features=list("abbaab"), rate=0.5)
    0.5
    """
    scores.require_cells()
    if [rate, interval].count(None) != 1:
        raise ValueError("roc_gap needs either rate or interval, and not both.")
    if summary not in ("supremum", "mean_absolute"):
        raise ValueError(f"summary must be 'supremum' or 'mean_absolute', not {summary!r}.")
    pairs = scores.pairs()
    if interval is None:
        at = to_floats(rate, "rate")
        if at.ndim:
            raise ValueError("roc_gap takes one rate; a RocConstraint takes several.")
        constraint = RocConstraint(on=on, rates=(float(at),))
        if not signed:
            return abs(largest(constraint.values(scores)))
        gaps = [
            anchored_gaps(scores, name, float(at), *pair)
            for name in class_names(on)
            for pair in pairs
        ]
        return largest(np.array(gaps).reshape(-1))
    low, high = check_interval(interval)
    both_ways = pairs if signed else [*pairs, *((j, i) for i, j in pairs)]
    curves = [
        anchored_gap_curve(scores, name, *pair).restrict(low, high)
        for name in class_names(on)
        for pair in both_ways
    ]
    if summary == "mean_absolute":
        return max(curve.mean_absolute for curve in curves)
    gap = largest(np.array([curve.supremum[0] for curve in curves]))
    return gap if signed else abs(gap)


@_of_columns
def precision_recall_curve(
    scores: GroupedScores, *, prevalence: float | str = POOLED
) -> dict[Hashable, PrecisionRecallCurve]:
    """Precision against recall within each group, at a common share of positives.

    `prevalence` is "pooled" (everyone's), a share, or "own": each group's own, so that precision is
    what is seen there and differs between groups that the score treats alike.

    >>> curves = precision_recall_curve(
    ...     [0, 1, 0, 1], [1, 2, 2, 3], sensitive_features=list("aabb"), prevalence=0.5)
    >>> float(curves["b"].evaluate(1.0))
    1.0
    """
    return dict(zip(scores.groups, precision_recall_curves(scores, prevalence), strict=True))


@_of_columns
def average_precision(
    scores: GroupedScores, *, prevalence: float | str = POOLED
) -> dict[Hashable, float]:
    """The average precision of each group, at a common share of positives (see the curve).

    At `prevalence="own"` it is scikit-learn's `average_precision_score` of the group's people.

    >>> y, s = [0, 1, 0, 1, 0, 1], [1, 2, 2, 3, 4, 5]
    >>> average_precision(y, s, sensitive_features=list("aaabbb"), prevalence=0.5)
    {'a': 0.6666666666666666, 'b': 0.75}
    """
    return dict(zip(scores.groups, average_precisions(scores, prevalence).tolist(), strict=True))


@_of_columns
def average_precision_gap(
    scores: GroupedScores, *, prevalence: float | str = POOLED, signed: bool = False
) -> float:
    """The difference of two groups' average precisions: its size, of the worst pair.

    >>> y, s = [0, 1, 0, 1, 0, 1], [1, 2, 3, 3, 4, 5]
    >>> average_precision_gap(y, s, sensitive_features=list("aabbbb"), prevalence=0.5)
    0.25
    """
    scores.require_cells()
    values = average_precisions(scores, prevalence)
    gap = largest(np.array([values[i] - values[j] for i, j in scores.pairs()]))
    return gap if signed else abs(gap)


@_of_columns
def average_precision_estimates(
    scores: GroupedScores,
    *,
    prevalence: float | str = POOLED,
    confidence_level: float = 0.95,
    sampling: Sampling = "observations",
    n_resamples: int = 1000,
    random_state: int = 0,
) -> list[Estimate]:
    """The average precision of each group, then the differences of all pairs, with intervals.

    >>> y, s, groups = [0, 1] * 100, [i % 41 for i in range(200)], ["a", "a", "b", "b"] * 50
    >>> *by_group, gap = average_precision_estimates(
    ...     y, s, sensitive_features=groups, n_resamples=100)
    >>> gap.low < gap.value < gap.high
    True
    """
    return precision_inference.average_precision_estimates(
        scores,
        prevalence,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        sampling=sampling,
        random_state=random_state,
    )


@_of_columns
def area_between_curves(
    scores: GroupedScores, *, constraint: str | AucConstraint = "intra_group"
) -> float:
    """Area between the two ROC curves whose areas a constraint compares; the worst pair if K > 2.

    `intra_group` gives ABROCA, `inter_group` the area between the cross-group curves. Exact: where
    the curves cross, both sides count.
    """
    return _area_between(scores, constraint)


@_of_columns
def abroca(scores: GroupedScores) -> float:
    """ABROCA: area between the groups' own ROC curves (Gardner, Brooks and Baker, 2019)."""
    return _area_between(scores, "intra_group")


def _area_between(scores: GroupedScores, constraint: str | AucConstraint) -> float:
    scores.require_cells()
    pairs = AucConstraint.of(constraint).curves_by_pair(scores)
    return max(one.difference(two).area for one, two in pairs)
