"""Folds of cross-fitting: every row is scored once, by a model that has not seen it."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from evenscore.scorers.training_set import TrainingSet
from evenscore.scores import CLASSES

__all__ = ["cross_fitting_folds", "split_by"]

Ints = NDArray[np.intp]


def cross_fitting_folds(
    cv: Any, data: TrainingSet, y: NDArray[Any], seed: int
) -> list[tuple[Ints, Ints]]:
    """For each model, the rows it is fitted on and those it scores.

    A number of folds is drawn within every class and group; a splitter says for itself.
    """
    if isinstance(cv, bool | str):
        raise ValueError(f"cv must be a number of folds or a splitter, not {cv!r}.")
    if not isinstance(cv, Integral):
        return split_by(cv, data.X, y)
    if cv < 2:
        raise ValueError(f"cv must be at least 2, not {cv!r}.")
    counts = np.bincount(data.positive, minlength=2)
    if counts.min() < cv:
        raise ValueError(
            f"{cv} folds need {cv} rows of each class, but there are {counts.min()} "
            f"{CLASSES[int(np.argmin(counts))]}: lower cv."
        )
    number = data.folds(int(cv), np.random.default_rng(seed))
    return [(np.flatnonzero(number != k), np.flatnonzero(number == k)) for k in range(int(cv))]


def split_by(cv: Any, X: Any, y: NDArray[Any]) -> list[tuple[Ints, Ints]]:
    """The splitter's own rows to train on and to score, for each of its folds.

    >>> from sklearn.model_selection import KFold
    >>> folds = split_by(KFold(2), np.zeros((5, 1)), np.arange(5) % 2)
    >>> [(len(train), len(test)) for train, test in folds]
    [(2, 3), (3, 2)]
    """
    splitter = check_cv(cv, y, classifier=True)
    if _needs_groups(splitter):
        raise ValueError(
            f"{type(splitter).__name__} splits by groups, which fit does not take: give cv the "
            "splits themselves, list(splitter.split(X, y, groups))."
        )
    rows = np.arange(len(y))
    folds = [(rows[train], rows[test]) for train, test in splitter.split(X, y)]
    times = np.zeros(len(y), dtype=np.intp)
    for k, (train, test) in enumerate(folds):
        times[test] += 1
        both = np.intersect1d(train, test)
        if len(both):
            raise ValueError(f"Fold {k} of cv trains on row {both[0]}, which it is to score.")
        if len(np.unique(y[train])) < 2:
            raise ValueError(f"Fold {k} of cv trains on one class only.")
    if times.min() != 1 or times.max() != 1:
        row = int(np.argmax(times != 1))
        told = "in no fold" if times[row] == 0 else f"in {times[row]} folds"
        raise ValueError(f"cv leaves row {row} out {told}: every row must be left out once.")
    return folds


def _needs_groups(splitter: Any) -> bool:
    """Whether scikit-learn knows the splitter to ask for groups."""
    routing = getattr(splitter, "get_metadata_routing", None)
    return routing is not None and routing().split.requests.get("groups") is True
