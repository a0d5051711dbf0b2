"""How features are prepared: standardised, and compressed so that long tails do not rule."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from evenscore.learning.training_set import TrainingSet
from evenscore.scores.arrays import Floats

# Weight of ½‖w‖², times features per observation: with half or twice of it scores of German rank
# no better, and networks on COMPAS rank worse or leave larger gaps (benchmarks/constants.py).
_L2 = 4.0


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
    def fit(cls, X: Any, share: Floats, *, compress: bool) -> Self:
        """Moments of the columns of X, dense or sparse, under weights that add up to one."""
        centre, spread = _moments(X, share)
        first = cls(centre, spread, np.ones_like(spread), np.zeros_like(spread), compress)
        mean, scale = _moments(first.transform(X), share)
        return cls(centre, spread, scale, mean / scale, compress)

    def transform(self, X: Any) -> Any:
        """The prepared features: a dense array, or a sparse matrix if X is one."""
        if not sparse.issparse(X):
            return self._scaled(X, slice(None))
        X = sparse.csr_array(X)
        data = self._scaled(X.data, X.indices)
        return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)

    def _scaled(self, values: Any, column: Any) -> Any:
        """Values of columns: each of its own, or all of a table."""
        centre, spread, scale = self.centre[column], self.spread[column], self.scale[column]
        if not self.compress:
            return values / (spread * scale)
        prepared = (values - centre) / spread
        np.arcsinh(prepared, out=prepared)
        prepared += np.arcsinh(centre / spread)
        prepared /= scale
        return prepared


def default_l2(train: TrainingSet) -> float:
    """Weight of ½‖w‖² if nobody says: 4d/n for d features and n observations."""
    return float(_L2 * train.X.shape[1] / train.n_observations)


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
