"""How features are prepared: standardised, and compressed so that long tails do not rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["FeatureScaling"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FeatureScaling:
    """Each feature divided by its standard deviation, after asinh((x − mean)/sd) if compressed.

    asinh is linear near the mean and logarithmic far from it: counts and amounts with long tails
    stay useful in a linear score, and a feature with two values is not changed at all. Zero is
    mapped to zero, so that sparse features stay sparse, and the mean of what comes out is in
    `mean`. A constant feature gets a scale of one.

    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [100.0, 1.0]])
    >>> scaling = FeatureScaling.fit(X, np.full(3, 1 / 3), compress=False)
    >>> bool(np.allclose(scaling.transform(X).std(axis=0), [1.0, 0.0]))
    True
    """

    centre: Floats
    spread: Floats
    scale: Floats
    mean: Floats
    compress: bool

    @classmethod
    def fit(cls, X: Any, share: Floats, *, compress: bool) -> FeatureScaling:
        """Moments of the columns of X, dense or sparse, under weights that add up to one."""
        centre, spread = _moments(X, share)
        first = cls(centre, spread, np.ones_like(spread), np.zeros_like(spread), compress)
        mean, scale = _moments(first.transform(X), share)
        return cls(centre, spread, scale, mean / scale, compress)

    def transform(self, X: Any) -> Any:
        """The prepared features: a dense array, or a sparse matrix if X is one."""
        if not sparse.issparse(X):
            if not self.compress:
                return X / (self.spread * self.scale)
            prepared = (X - self.centre) / self.spread
            np.arcsinh(prepared, out=prepared)
            prepared += np.arcsinh(self.centre / self.spread)
            prepared /= self.scale
            return prepared
        X = sparse.csr_array(X)
        column = X.indices
        spread, scale = self.spread[column], self.scale[column]
        if self.compress:
            centre = self.centre[column] / spread
            data = (np.arcsinh(X.data / spread - centre) + np.arcsinh(centre)) / scale
        else:
            data = X.data / (spread * scale)
        return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)


def _moments(X: Any, share: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each column, the latter one where it vanishes."""
    mean = np.asarray(X.T @ share)
    if sparse.issparse(X):
        rounding = 1e-12  # a difference of two large numbers
        square = np.asarray(X.multiply(X).T @ share)
        variance = square - np.square(mean)
    else:
        rounding = 1e-26
        square = np.einsum("i,ij,ij->j", share, X, X)
        variance = np.einsum("i,ij,ij->j", share, X - mean, X - mean)
    constant = ~(variance > rounding * np.maximum(square, 1e-300))
    return mean, np.where(constant, 1.0, np.sqrt(np.maximum(variance, 0.0)))
