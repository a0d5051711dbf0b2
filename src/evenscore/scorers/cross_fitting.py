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

if TYPE_CHECKING:
    from evenscore.scorers.base import FairScorer
    from evenscore.scorers.training_set import TrainingSet

__all__ = ["CrossFit", "cross_fit"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


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

    Where an interval lies wholly beyond the tolerance, the gap was closed in training only: the
    difference is allowed for (the optimism), and the folds are learned again with it. That is kept
    if the gaps then are less beyond the tolerance, all in all; for all rows it is less, as it falls
    like one over their number. Without a tolerance nothing is allowed for.
    """
    fold = fold_of(data.cell, folds, rng)
    nothing = np.zeros(len(scorer.gap_names_))
    first, trained = _gaps(scorer, data, constraints, fold, nothing)
    if tolerance is None:
        return CrossFit(first, nothing)
    lost = np.array(
        [gap.low > most or gap.high < -most for gap, most in zip(first, tolerance, strict=True)],
        dtype=bool,
    )
    if not lost.any():
        return CrossFit(first, nothing)
    optimism = np.where(lost, _values(first) - trained, 0.0)
    second, _ = _gaps(scorer, data, constraints, fold, optimism)
    cost = [np.nansum(np.abs(excess(_values(gaps), tolerance))) for gaps in (first, second)]
    if not cost[1] < cost[0]:
        return CrossFit(first, nothing)
    return CrossFit(second, optimism * (folds - 1) / folds)


def fold_of(cell: Ints, folds: int, rng: np.random.Generator) -> Ints:
    """The fold of every row: each cell is spread evenly over the folds.

    >>> fold_of(np.array([0, 0, 0, 1, 1]), 2, np.random.default_rng(0)).shape
    (5,)
    """
    fold = np.empty(len(cell), dtype=np.intp)
    for c in np.unique(cell):
        members = rng.permutation(np.flatnonzero(cell == c))
        fold[members] = (np.arange(len(members)) + rng.integers(folds)) % folds
    return fold


def _gaps(
    scorer: FairScorer,
    data: TrainingSet,
    constraints: tuple[Constraint, ...],
    fold: Ints,
    optimism: Floats,
) -> tuple[list[Estimate], Floats]:
    """Gaps of the cross-fitted scores; mean gaps on the rows that their scorers were learned on."""
    score, trained = np.empty(len(data)), []
    for k in range(int(fold.max()) + 1):
        kept = fold != k
        rows = data.rows(kept)
        learned = learn_on(scorer, rows, constraints, optimism)
        seen = standardise(learned._raw_score(rows.X), rows.share)
        new = learned._raw_score(data.rows(~kept).X)
        score[~kept] = (new - seen.mean) / seen.scale
        trained.append(rows.objective(constraints).strict(seen.score).gaps)
    found = constraint_estimates(data.grouped(score), constraints)
    return found, np.asarray(np.mean(trained, axis=0))


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
