"""A linear score that the boosted scorer starts from, so that its trees need not build slopes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from evenscore.scorers.features import FeatureScaling
from evenscore.scorers.training_set import TrainingSet

__all__ = ["LinearStart"]

Floats = NDArray[np.float64]

_SHARE = 0.7  # of the log-odds: trees undo the rest of a feature more easily than all of it
_ROWS = 32_768  # to learn from, at most
_FEW = 500  # columns for which Newton's method is the fastest


@dataclass(frozen=True, eq=False)
class LinearStart:
    """A share of the log-odds by logistic regression on compressed features, their mean zero.

    Weights have a prior variance of 1/(2d), for d features of variance one: before data are seen
    the score has a variance of ½ whatever d is. A missing value counts as the feature's mean.
    """

    columns: NDArray[np.intp]
    means: Floats
    features: FeatureScaling
    coefficients: Floats
    constant: float

    @classmethod
    def fit(cls, train: TrainingSet, left_out: Sequence[int] = ()) -> LinearStart | None:
        """Learn from all columns but some; none if there are no others."""
        columns = np.setdiff1d(np.arange(train.X.shape[1]), left_out)
        if not len(columns):
            return None
        rows = train if len(train) <= _ROWS else train.thinned(_ROWS)[1]
        X = rows.X[:, columns]
        means = _known_means(X, rows.share)
        X = _filled(X, means)
        features = FeatureScaling.fit(X, rows.share, compress=True)
        prepared = features.transform(X)
        newton = len(columns) <= _FEW
        if newton and sparse.issparse(prepared):
            prepared = prepared.toarray()
        model = LogisticRegression(
            C=1.0 / (2.0 * len(columns)),
            solver="newton-cholesky" if newton else "lbfgs",
            tol=1e-8 if newton else 1e-4,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a start need not be exact
            model.fit(prepared, rows.positive, rows.share * train.n_observations)
        coefficients = _SHARE * model.coef_[0]
        constant = -float(rows.share @ (prepared @ coefficients))
        return cls(columns, means, features, coefficients, constant)

    def score(self, X: Any) -> Floats:
        """Of all columns of X."""
        prepared = self.features.transform(_filled(X[:, self.columns], self.means))
        return np.asarray(prepared @ self.coefficients + self.constant)


def _known_means(X: Any, share: Floats) -> Floats:
    """The mean of each column's known values; zero if there are none."""
    if sparse.issparse(X):
        parts = np.nan_to_num(X.data), np.isnan(X.data).astype(np.float64)
        values, missing = (sparse.csr_array((p, X.indices, X.indptr), shape=X.shape) for p in parts)
        weight, total = 1.0 - np.asarray(missing.T @ share), np.asarray(values.T @ share)
    else:
        known = ~np.isnan(X)
        if known.all():
            return np.asarray(share @ X)
        weight, total = share @ known, share @ np.where(known, X, 0.0)
    return np.asarray(np.where(weight > 1e-12, total / np.maximum(weight, 1e-12), 0.0))


def _filled(X: Any, means: Floats) -> Any:
    """X with the means in place of missing values."""
    if sparse.issparse(X):
        missing = np.isnan(X.data)
        if not missing.any():
            return X
        data = np.where(missing, means[X.indices], X.data)
        return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
    missing = np.isnan(X)
    return np.where(missing, means, X) if missing.any() else X
