"""Gaps on rows not trained on: every row is scored by a scorer that was learned without it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from evenscore.constraints import Constraint
from evenscore.inference.estimate import Estimate
from evenscore.inference.gaps import constraint_estimates
from evenscore.learning.multipliers import excess
from evenscore.learning.standard import standardise
from evenscore.scores import GroupedScores

if TYPE_CHECKING:
    from evenscore.scorers.base import FairScorer
    from evenscore.scorers.training_set import TrainingSet

__all__ = ["CrossFit", "cross_fit"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_ALARM = 0.01  # chance that a gap within its tolerance is corrected all the same


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Gaps of cross-fitted scores, and what gaps are expected to grow by on new rows."""

    gaps: list[Estimate]
    optimism: Floats


def cross_fit(
    scorer: FairScorer,
    data: TrainingSet,
    constraints: tuple[Constraint, ...],
    folds: int,
    tolerance: Floats | None,
    rng: np.random.Generator,
) -> CrossFit:
    """Cut the rows into folds, score each by a scorer learned on the others, look at the gaps.

    Where an interval (at a level shared among the gaps) lies wholly beyond the tolerance, the gap
    was closed in training only. What is certain of that, the distance between the interval and the
    tolerance, is allowed for (the optimism), and other folds are learned with it; that is kept if
    the gaps then are less beyond the tolerance, all in all. Without a tolerance nothing is allowed
    for. After a correction the same people have been looked at twice: the intervals are then a
    little too narrow.
    """
    nothing = np.zeros(len(scorer.gap_names_))
    first = _cross_fitted(scorer, data, constraints, data.folds(folds, rng), nothing)
    found = constraint_estimates(first, constraints)
    if tolerance is None:
        return CrossFit(found, nothing)
    level = 1.0 - _ALARM / max(1, len(found))
    careful = constraint_estimates(first, constraints, confidence_level=level)
    ends = np.array([(gap.low, gap.high) for gap in careful])
    above, below = ends[:, 0] - tolerance, ends[:, 1] + tolerance
    optimism = np.where(above > 0.0, above, np.where(below < 0.0, below, 0.0))
    if not optimism.any():
        return CrossFit(found, nothing)
    second = _cross_fitted(scorer, data, constraints, data.folds(folds, rng), optimism)
    again = constraint_estimates(second, constraints)
    cost = [np.nansum(np.abs(excess(_values(gaps), tolerance))) for gaps in (found, again)]
    return CrossFit(again, optimism) if cost[1] < cost[0] else CrossFit(found, nothing)


def _cross_fitted(
    scorer: FairScorer,
    data: TrainingSet,
    constraints: tuple[Constraint, ...],
    fold: Ints,
    optimism: Floats,
) -> GroupedScores:
    """The cross-fitted scores, those of each fold in units of its scorer's training scores."""
    score = np.empty(len(data))
    for k in range(int(fold.max()) + 1):
        kept = fold != k
        rows = data.rows(kept)
        learned = learn_on(scorer, rows, constraints, optimism)
        seen = standardise(learned._raw_score(rows.X), rows.share)
        new = learned._raw_score(data.rows(~kept).X)
        score[~kept] = (new - seen.mean) / seen.scale
    return data.grouped(score)


def learn_on(
    scorer: FairScorer,
    rows: TrainingSet,
    constraints: tuple[Constraint, ...],
    optimism: Floats | float,
) -> Any:
    """A scorer with the same parameters, learned on other rows; it can score, no more."""
    other = clone(scorer)
    if hasattr(other, "verbose"):
        other.verbose = False
    for name in ("classes_", "groups_", "n_features_in_", "feature_names_in_"):
        if hasattr(scorer, name):
            setattr(other, name, getattr(scorer, name))
    train, held_out = other._hold_out(rows)
    other._begin(rows, constraints)
    other._optimism = optimism
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what matters is said about the scorer itself
        other._learn(train, held_out, constraints)
    return other


def _values(gaps: list[Estimate]) -> Floats:
    return np.array([gap.value for gap in gaps])
