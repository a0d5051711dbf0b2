"""How features are read, and prepared: standardised, compressed so that long tails do not rule."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, check_X_y, validate_data

from evenscore.learning.encoding import FeatureEncoding, missing_values, refuse_confused
from evenscore.learning.training_set import TrainingSet
from evenscore.learning.wholeness import check_names, check_numbers, check_positions, part_of
from evenscore.scores.arrays import Bools, Floats, Ints

# Weight of ½‖w‖², times features per observation: with half or twice of it scores of German rank
# no better.
_L2 = 4.0


@dataclass(frozen=True, eq=False)
class FeatureScaling:
    """Each feature divided by its standard deviation, after asinh((x − mean)/sd) if compressed.

    asinh is linear near the mean and logarithmic far from it: counts and amounts with long tails
    stay useful in a linear score. A feature of zero and one other value is left alone: only
    the columns in `tailed` (all, if None) are compressed. Zero is mapped to zero, so that sparse
    features stay sparse, and the mean of what comes out is in `mean`. A constant feature gets a
    scale of one.

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
    tailed: Ints | None = None

    @classmethod
    def fit(cls, X: Any, share: Floats, *, compress: bool) -> Self:
        """Moments of the columns of X, dense or sparse, under weights that add up to one."""
        centre, spread = _moments(X, share)
        scale, mean, tailed = np.ones_like(spread), centre / spread, None
        if compress and sparse.issparse(X):
            first = cls(centre, spread, scale, mean, compress)
            moved, scale = _moments(first.transform(X), share)
            mean = moved / scale
        elif compress:
            tailed = np.flatnonzero(~_two_valued(X))
            mean, scale = mean.copy(), scale.copy()
            prepared = np.arcsinh((X[:, tailed] - centre[tailed]) / spread[tailed])
            prepared += np.arcsinh(centre[tailed] / spread[tailed])
            moved, scale[tailed] = _moments(prepared, share)
            mean[tailed] = moved / scale[tailed]
        return cls(centre, spread, scale, mean, compress, tailed)

    def check_whole(self, n_features: int) -> None:
        """Refuse what was read from a file and is no scaling of so many features."""
        check_names(self)
        part_of(self, "compress", bool)
        for name in ("centre", "mean"):
            check_numbers(self, name, (n_features,))
        for name in ("spread", "scale"):
            check_numbers(self, name, (n_features,), above=0.0)
        tailed = part_of(self, "tailed", np.ndarray, optional=True)
        if tailed is not None:
            whole = tailed.ndim == 1 and tailed.dtype.kind == "i"
            positions = tuple(tailed.tolist()) if whole else None
            check_positions("FeatureScaling.tailed", positions, n_features)

    def transform(self, X: Any) -> Any:
        """The prepared features: a dense array, or a sparse matrix if X is one."""
        if not sparse.issparse(X):
            if not self.compress or self.tailed is None:
                return self._scaled(X, slice(None))
            prepared = X / (self.spread * self.scale)
            prepared[:, self.tailed] = self._scaled(X[:, self.tailed], self.tailed)
            return prepared
        X = sparse.csr_array(X)
        data = self._scaled(X.data, X.indices)
        if self.compress and self.tailed is not None:
            plain = ~np.isin(X.indices, self.tailed)
            data[plain] = X.data[plain] / (self.spread * self.scale)[X.indices[plain]]
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


def _two_valued(X: Floats) -> Bools:
    """Which columns hold zero and one other value."""
    low, high = X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf)
    other = np.where(low == 0.0, high, low)
    third = np.any((X != 0.0) & (other != X), axis=0)
    return np.asarray(~third & (low < high))


def _moments(X: Any, share: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each column, the latter one where it vanishes."""
    mean = np.asarray(X.T @ share)
    if sparse.issparse(X):
        rounding = 1e-12  # a difference of two large numbers
        square = np.asarray(X.multiply(X).T @ share)
        variance = square - np.square(mean)
    else:
        rounding = 1e-26
        away = X - mean
        variance = np.asarray(share @ np.square(away, out=away))
        square = variance + np.square(mean)
    constant = ~(variance > rounding * np.maximum(square, 1e-300))
    return mean, np.where(constant, 1.0, np.sqrt(np.maximum(variance, 0.0)))


class FeatureReader:
    """How a scorer makes its features a matrix; what it takes is told by three properties."""

    encoding_: FeatureEncoding | None

    @property
    def accepts_sparse(self) -> bool:
        """Whether features may be a sparse matrix."""
        return False

    @property
    def accepts_missing(self) -> bool:
        """Whether features may be missing (NaN)."""
        return False

    @property
    def accepts_codes(self) -> bool:
        """Whether a category of a data frame is one column of codes, not a column per level."""
        return False

    def _matrix(self, X: Any, *y: Any) -> Any:
        """Validated features as numbers, in training with the labels; sets what it has to know."""
        fitting, accepted = bool(y), self._accepted()
        if fitting:
            self.encoding_ = FeatureEncoding.fit(X, native=self.accepts_codes)
        names, encoding = None, self.encoding_
        refuse_confused(X)
        try:
            if encoding is None:
                return validate_data(self, X, *y, **accepted, reset=fitting)
            encoding.require_frame(X)
            validate_data(self, X, *y, skip_check_array=True, reset=fitting)
            X, names = encoding.transform(X), encoding.feature_names
            accepted["estimator"] = self
            if fitting:
                return check_X_y(X, *y, **accepted)
            return check_array(X, input_name="X", **accepted)
        except ValueError as error:
            if not str(error).startswith("Input X contains NaN"):
                raise
            X = check_array(X, **accepted | {"ensure_all_finite": False})
            names = getattr(self, "feature_names_in_", None) if names is None else names
            raise missing_values(X, names, type(self).__name__) from None

    def _accepted(self) -> dict[str, Any]:
        """What `validate_data` lets through."""
        return {
            "accept_sparse": "csr" if self.accepts_sparse else False,
            "ensure_all_finite": "allow-nan" if self.accepts_missing else True,
            "dtype": np.float64,
            "order": "C",  # sums are then made in the same order, whatever X came from
        }
