"""Precision-recall curves of the groups at a common share of positives, and their averages.

A cut that selects a share r of a group's positives (the recall) and a share f of its negatives has
the precision p r/(p r + (1 − p) f), p being the group's share of positives: PR(r) of the ROC curve
f = ROC_{G,H}(r). Precision falls with p: two groups that a score treats alike, ROC curve by ROC
curve, have other precisions where one has fewer positives. At a *common* prevalence, by default
that of everyone, they have the same; at each group's own, precision is what is seen.

A cut is real, whoever is tied with it on one side: PR(r) is the precision of the strictest cut
whose recall is at least r. The average precision is its mean over r,

    AP = Σ over the scores v of positives of (share of the positives at v) · (precision of s ≥ v),

which at a group's own prevalence is scikit-learn's `average_precision_score`.
"""

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evenscore.scores import GroupedScores, check_scores
from evenscore.scores.arrays import Floats, ratio
from evenscore.scores.distribution import RATE_TOLERANCE, Distribution, check_rates
from evenscore.scores.labels import shown

POOLED = "pooled"
OWN = "own"


@dataclass(frozen=True, eq=False)
class PrecisionRecallCurve:
    """Precision of every cut against its recall, were a share `prevalence` of people positives.

    An empty sample gives NaN.

    >>> negatives = Distribution.from_sample([1, 2, 3, 4])
    >>> curve = PrecisionRecallCurve(negatives, Distribution.from_sample([3, 5]), 0.5)
    >>> curve.evaluate([0.5, 0.6, 1.0])
    array([1.        , 0.66666667, 0.66666667])
    >>> round(curve.average, 4)
    0.8333
    """

    negatives: Distribution
    positives: Distribution
    prevalence: float

    @property
    def _empty(self) -> bool:
        return self.negatives.total == 0.0 or self.positives.total == 0.0

    @cached_property
    def thresholds(self) -> Floats:
        """The scores of positives, decreasing: cuts that select them have another recall each."""
        return np.unique(self.positives.values)[::-1]

    @cached_property
    def vertices(self) -> tuple[Floats, Floats]:
        """(recall, precision) of those at or above each of `thresholds`."""
        if self._empty:
            return np.full(1, np.nan), np.full(1, np.nan)
        recall, fall_out = (
            np.maximum(s.total - s.weight_below(self.thresholds, inclusive=False), 0.0) / s.total
            for s in (self.positives, self.negatives)
        )
        true, false = self.prevalence * recall, (1.0 - self.prevalence) * fall_out
        return recall, ratio(true, true + false, 1.0)

    def evaluate(self, recall: ArrayLike) -> Floats:
        """Precision of the strictest cut that selects positives, and this share of them at least.

        At a recall of 0 it is the strictest cut that selects any.
        """
        recall = check_rates(recall, "recall")
        recalls, precisions = self.vertices
        if self._empty:
            return np.full(recall.shape, np.nan)
        place = np.searchsorted(recalls, recall - RATE_TOLERANCE, side="left")
        return np.asarray(precisions[np.minimum(place, len(recalls) - 1)])

    @property
    def average(self) -> float:
        """Average precision: the mean of the curve over all recalls."""
        recalls, precisions = self.vertices
        return float(np.dot(np.diff(recalls, prepend=0.0), precisions))


def precision_recall_curves(
    scores: GroupedScores, prevalence: Any = POOLED
) -> tuple[PrecisionRecallCurve, ...]:
    """The curve of each group; `prevalence` is "pooled", "own" or a share of positives.

    >>> s = GroupedScores.from_arrays([0, 1, 0, 1], [1, 2, 2, 3], sensitive_features=list("aabb"))
    >>> [round(curve.average, 3) for curve in precision_recall_curves(s, 0.25)]
    [1.0, 1.0]
    """
    check_scores(scores)
    shares = _prevalences(scores, prevalence)
    cells = zip(scores.of_class("negatives"), scores.of_class("positives"), shares, strict=True)
    return tuple(PrecisionRecallCurve(*parts) for parts in cells)


def average_precisions(scores: GroupedScores, prevalence: Any = POOLED) -> Floats:
    """The average precision of each group, NaN where it has an empty cell."""
    return np.array([curve.average for curve in precision_recall_curves(scores, prevalence)])


def _is_share(number: Any) -> bool:
    return bool(0.0 < number < 1.0)  # before it is made a double, which it may be too large for


def _prevalences(scores: GroupedScores, prevalence: Any) -> list[float]:
    """The share of positives that each group is taken to have."""
    if isinstance(prevalence, str):
        if prevalence == POOLED:
            return [float(scores.prevalence)] * scores.n_groups
        if prevalence == OWN:
            return [float(share) for share in scores.prevalence_by_group]
    elif isinstance(prevalence, Real) and _is_share(prevalence):
        return [float(prevalence)] * scores.n_groups
    raise ValueError(
        "prevalence must be 'pooled', 'own' or a share strictly between 0 and 1, not "
        f"{shown(prevalence)}."
    )
