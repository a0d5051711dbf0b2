"""Densities of the cells from any probabilistic classifier, of P(Y | x) and of P(Z | x, Y).

Up to a factor that is common to all cells at x, the density of class c and group k at x is
P(c | x) P(k | x, c) / P(c, k). The probability of the class is one fit of the classifier, and those
of the groups are one for each class; a class in which the groups need not be told apart is not
fitted, and its groups have then one density.

A classifier may be too sure of itself, above all of the groups of a few people, and the optimal
score takes probabilities at their word. They are recalibrated on rows not trained on,
log p' = a_k + b log p_k but for the sum: where nothing can be told, b is near 0, and the score
falls back to one that does not try to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, has_fit_parameter

from evenscore.learning.training_set import TrainingSet
from evenscore.scores.arrays import Floats, Ints

_LEAST = 1e-9  # a probability below is taken to be that
_PRIOR = 1.0  # observations with which the prior of b = 1 and a = 0 counts, per unit squared


@final
@dataclass(frozen=True, eq=False)
class Recalibration:
    """log p' = offsets + slope · log p, less what makes the probabilities add up to one.

    >>> rng = np.random.default_rng(0)
    >>> log_odds = rng.normal(size=4000)
    >>> target = (rng.random(4000) < 1 / (1 + np.exp(-log_odds))).astype(int)
    >>> sure = 1 / (1 + np.exp(-3.0 * log_odds))  # three times too sure
    >>> found = Recalibration.fit(np.column_stack((1 - sure, sure)), target)
    >>> bool(abs(found.slope - 1 / 3) < 0.03)
    True
    """

    slope: float
    offsets: Floats

    @classmethod
    def fit(cls, probabilities: Floats, target: Ints, weight: Floats | None = None) -> Self:
        """From probabilities of rows not trained on, (n, K), and what came true."""
        logs = np.log(np.maximum(probabilities, _LEAST))
        share = np.ones(len(target)) if weight is None else weight
        share = share / share.sum()
        prior, n_classes = _PRIOR / len(target), logs.shape[1]
        truth = np.eye(n_classes)[target]

        def value_and_gradient(parameters: Floats) -> tuple[float, Floats]:
            slope, offsets = parameters[0], parameters[1:]
            found = log_softmax(slope * logs + offsets, axis=1)
            off = share[:, None] * (np.exp(found) - truth)
            away = np.concatenate([[slope - 1.0], offsets])
            value = -share @ found[np.arange(len(target)), target] + 0.5 * prior * away @ away
            gradient = np.concatenate([[np.sum(off * logs)], off.sum(axis=0)])
            return float(value), gradient + prior * away

        start = np.concatenate([[1.0], np.zeros(n_classes)])
        bounds = [(0.0, None), *[(None, None)] * n_classes]
        solved = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds)
        return cls(float(solved.x[0]), np.asarray(solved.x[1:]))

    def __call__(self, probabilities: Floats) -> Floats:
        """Recalibrated probabilities."""
        logs = np.log(np.maximum(probabilities, _LEAST))
        return np.asarray(softmax(self.slope * logs + self.offsets, axis=1))


@final
@dataclass(frozen=True, eq=False)
class CellModels:
    """Fitted classifiers: of the class, and of the group among negatives and among positives.

    The groups are known by their codes; a class whose groups are not told apart has None.
    """

    label: Any
    groups: tuple[Any | None, Any | None]

    @classmethod
    def fit(cls, estimator: Any, data: TrainingSet, rows: Ints, told_apart: Sequence[bool]) -> Self:
        """Copies of a classifier, fitted on some rows."""
        label = fitted(estimator, data, data.positive.astype(np.intp), rows)
        groups = []
        for kind, wanted in enumerate(told_apart):
            own = rows[data.positive[rows] == bool(kind)]
            groups.append(fitted(estimator, data, data.codes, own) if wanted else None)
        return cls(label, (groups[0], groups[1]))

    def probabilities(self, X: Any, n_groups: int) -> list[Floats | None]:
        """Of the two classes, (n, 2), and of the groups in each class, (n, K)."""
        return [
            probabilities(self.label, X, 2),
            *(None if one is None else probabilities(one, X, n_groups) for one in self.groups),
        ]


@final
@dataclass(frozen=True, eq=False)
class CellDensities:
    """From features to the densities of the 2K cells, up to a factor.

    `maps` recalibrate the probabilities of the class and of the groups in each class; `masses`,
    (2, K), are the shares of the cells.
    """

    models: tuple[CellModels, ...]
    maps: tuple[Recalibration | None, ...]
    masses: Floats

    def at(self, X: Any) -> Floats:
        """Densities, (n, 2K): of several models, by the mean of their probabilities."""
        n_groups = self.masses.shape[1]
        found = [models.probabilities(X, n_groups) for models in self.models]
        means = [
            None if some[0] is None else np.mean(some, axis=0) for some in zip(*found, strict=True)
        ]
        return self.of(means)

    def of(self, probabilities: Sequence[Floats | None]) -> Floats:
        """Densities, (n, 2K), of the probabilities of class and groups."""
        label, *groups = (
            p if p is None or change is None else change(p)
            for p, change in zip(probabilities, self.maps, strict=True)
        )
        assert label is not None
        parts = []
        for kind, (own, masses) in enumerate(zip(groups, self.masses, strict=True)):
            if own is None:
                own = np.broadcast_to(masses / masses.sum(), (len(label), len(masses)))
            parts.append(label[:, [kind]] * own / masses)
        return np.concatenate(parts, axis=1)


def cross_fitted(
    estimator: Any,
    data: TrainingSet,
    folds: Sequence[tuple[Ints, Ints]],
    told_apart: Sequence[bool],
    n_jobs: int | None,
) -> tuple[list[CellModels], list[Floats | None]]:
    """The models of every fold, and probabilities of all rows by models that had not seen them."""
    models = Parallel(n_jobs=n_jobs)(
        delayed(CellModels.fit)(estimator, data, train, told_apart) for train, _ in folds
    )
    n_groups = len(data.groups)
    sizes = (2, n_groups, n_groups)
    wanted = (True, *told_apart)
    found: list[Floats | None] = [
        np.empty((len(data), size)) if want else None
        for size, want in zip(sizes, wanted, strict=True)
    ]
    for some, (_, test) in zip(models, folds, strict=True):
        for into, part in zip(
            found, some.probabilities(_safe_indexing(data.X, test), n_groups), strict=True
        ):
            if into is not None:
                into[test] = part
    return list(models), found


def recalibrations(
    probabilities: Sequence[Floats | None], data: TrainingSet
) -> tuple[Recalibration | None, ...]:
    """Maps of the probabilities of the class, and of the groups in each class."""
    targets = (data.positive.astype(np.intp), data.codes, data.codes)
    rows = (np.ones(len(data), dtype=bool), ~data.positive, data.positive)
    return tuple(
        None
        if p is None
        else Recalibration.fit(
            p[some], target[some], None if data.weight is None else data.weight[some]
        )
        for p, target, some in zip(probabilities, targets, rows, strict=True)
    )


def fitted(
    estimator: Any,
    data: TrainingSet,
    target: NDArray[Any],
    rows: Ints,
    weight: Floats | None = None,
) -> Any:
    """A copy of a classifier, fitted on some rows, with the weights of the data or others."""
    model = clone(estimator)
    X = data.X if len(rows) == len(target) else _safe_indexing(data.X, rows)
    weight = data.weight if weight is None else weight
    if weight is None or not has_fit_parameter(model, "sample_weight"):
        return model.fit(X, target[rows])
    return model.fit(X, target[rows], sample_weight=weight[rows])


def probabilities(model: Any, X: Any, n_classes: int) -> Floats:
    """Probabilities of the codes 0, 1, …: 0 of one that the model has not seen."""
    found = np.zeros((_num_samples(X), n_classes))
    found[:, np.asarray(model.classes_, dtype=np.intp)] = model.predict_proba(X)
    return found
