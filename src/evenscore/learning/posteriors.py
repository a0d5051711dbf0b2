"""Densities of the cells from any probabilistic classifier, of P(Y | x) and of P(Z | x, Y).

Up to a factor that is common to all cells at x, the density of class c and group k at x is
P(c | x) P(k | x, c) / P(c, k). That is three fits of the classifier: of the class, and of the group
in each class. Where the optimum needs the groups of one class only, those of the other still help:
they are one more view of the features, which the joint correction can use.

Probabilities are corrected on rows not trained on, by themselves and jointly (`recalibration`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from evenscore.learning.recalibration import JointRecalibration, Recalibration, log_odds
from evenscore.learning.training_set import TrainingSet
from evenscore.learning.wrapping import fitted, without_class_weights
from evenscore.scores.arrays import Floats, Ints

_ROWS = 65_536  # that corrections are learned from, at most


@final
@dataclass(frozen=True, eq=False)
class CellModels:
    """Fitted classifiers: of the class, and of the group among negatives and among positives.

    `present` are the codes of the groups that a class has; classifiers know them by their places.
    """

    label: Any
    groups: tuple[Any, Any]
    present: tuple[Ints, Ints]

    @classmethod
    def fit(cls, estimator: Any, data: TrainingSet, rows: Ints, labels: NDArray[Any]) -> Self:
        """Copies of a classifier, fitted on some rows; `labels` are the user's."""
        of_groups = without_class_weights(estimator)
        models, present = [], []
        for kind in (False, True):
            own = rows[data.positive[rows] == kind]
            codes = np.unique(data.codes[own])
            models.append(fitted(of_groups, data, np.searchsorted(codes, data.codes), own))
            present.append(codes)
        label = fitted(estimator, data, labels, rows)
        return cls(label, (models[0], models[1]), (present[0], present[1]))

    def probabilities(self, X: Any, n_groups: int) -> list[Floats]:
        """Of the two classes, (n, 2), and of the groups in each class, (n, K)."""
        found = [np.asarray(self.label.predict_proba(X), dtype=np.float64)]
        for model, codes in zip(self.groups, self.present, strict=True):
            part = np.zeros((len(found[0]), n_groups))
            part[:, codes] = model.predict_proba(X)
            found.append(part)
        return found


@final
@dataclass(frozen=True, eq=False)
class CellDensities:
    """From features to the densities of the 2K cells, up to a factor.

    `maps` recalibrate the probabilities of the class and of the groups in each class, `joint` those
    of the cells; `masses`, (2, K), are the shares of the cells. A cell without people has none.
    """

    models: CellModels
    masses: Floats
    maps: tuple[Recalibration, ...]
    joint: JointRecalibration

    @classmethod
    def fit(
        cls, models: CellModels, found: Sequence[Floats], data: TrainingSet, masses: Floats
    ) -> Self:
        """Models of all rows, with what the probabilities of rows not trained on tell."""
        if len(data) > _ROWS:
            some, data = replace(data, X=np.zeros((len(data), 0))).thinned(_ROWS)
            found = [part[some] for part in found]
        targets = (data.positive.astype(np.intp), data.codes, data.codes)
        rows = (np.ones(len(data), dtype=bool), ~data.positive, data.positive)
        maps = tuple(
            Recalibration.fit(
                p[some], target[some], None if data.weight is None else data.weight[some]
            )
            for p, target, some in zip(found, targets, rows, strict=True)
        )
        mended = [change(p) for p, change in zip(found, maps, strict=True)]
        joint = JointRecalibration.fit(_odds(mended), _cells(mended), data.cell, data.weight)
        return cls(models, masses, maps, joint)

    def at(self, X: Any) -> Floats:
        """Densities, (n, 2K)."""
        return self.of(self.models.probabilities(X, self.masses.shape[1]))

    def of(self, found: Sequence[Floats]) -> Floats:
        """Densities, (n, 2K), of the probabilities of class and groups."""
        mended = [change(p) for p, change in zip(found, self.maps, strict=True)]
        cells, masses = self.joint(_odds(mended), _cells(mended)), self.masses.reshape(-1)
        return np.where(masses > 0.0, cells / np.where(masses > 0.0, masses, 1.0), 0.0)


def _odds(found: Sequence[Floats]) -> Floats:
    """Logarithms of odds of the class, and of all groups in each class."""
    label, *groups = map(log_odds, found)
    return np.concatenate([label[:, 1:], *groups], axis=1)


def _cells(found: Sequence[Floats]) -> Floats:
    """Probabilities of the cells."""
    label, negatives, positives = found
    return np.concatenate([label[:, [0]] * negatives, label[:, [1]] * positives], axis=1)


def cross_fitted(
    estimator: Any,
    data: TrainingSet,
    folds: Sequence[tuple[Ints, Ints]],
    labels: NDArray[Any],
    n_jobs: int | None,
) -> tuple[list[CellModels], list[Floats]]:
    """The models of every fold, and probabilities of all rows by models that had not seen them."""
    models = Parallel(n_jobs=n_jobs)(
        delayed(CellModels.fit)(estimator, data, train, labels) for train, _ in folds
    )
    n_groups = len(data.groups)
    found = [np.empty((len(data), size)) for size in (2, n_groups, n_groups)]
    for some, (_, test) in zip(models, folds, strict=True):
        parts = some.probabilities(_safe_indexing(data.X, test), n_groups)
        for into, part in zip(found, parts, strict=True):
            into[test] = part
    return list(models), found
