"""Score laws given by a table: piecewise-linear c.d.f.s, or atoms. Everything is a finite sum."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from evenscore.paper.laws.base import ScoreLaw
from evenscore.scores.arrays import Floats
from evenscore.scores.distribution import check_rates

# 1 - rate and a cumulative sum of probabilities may differ by rounding where they are equal; at a
# jump of the inverse that would select the wrong side, so levels this close count as equal.
_SAME_LEVEL = 1e-12


class TabulatedLaw(ScoreLaw):
    """A law given by c.d.f. values at increasing positions, shape (2K, m)."""

    def __init__(
        self,
        positions: Floats,
        cumulative: Floats,
        cell_weights: ArrayLike,
        groups: Sequence[Any] | None,
    ) -> None:
        weights = np.array(cell_weights, dtype=float)
        if weights.ndim != 2 or weights.shape[0] != 2 or weights.shape[1] < 2:
            raise ValueError(
                f"cell_weights must have shape (2, K) with K >= 2 groups, not {weights.shape}."
            )
        if not (np.all(weights > 0) and abs(weights.sum() - 1) <= 1e-12):
            raise ValueError("cell_weights must be positive and sum to one.")
        if groups is not None and len(groups) != weights.shape[1]:
            raise ValueError(
                f"There are {len(groups)} group labels for the {weights.shape[1]} groups "
                "of cell_weights."
            )
        self._groups = tuple(range(weights.shape[1])) if groups is None else tuple(groups)
        self._cell_weights = _read_only(weights)
        self._positions = _read_only(positions)
        self._cumulative = _read_only(cumulative)

    @property
    def groups(self) -> tuple[Any, ...]:
        """The K group labels, in the order of the columns of `cell_weights`."""
        return self._groups

    @property
    def cell_weights(self) -> Floats:
        """P(class = c, group = k), shape (2, K)."""
        return self._cell_weights

    def _key(self) -> tuple[Any, ...]:
        arrays = self._cell_weights, self._positions, self._cumulative
        return type(self), self._groups, *(array.tobytes() for array in arrays)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TabulatedLaw) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(groups={self._groups}, {self._positions.size} positions "
            f"from {self._positions[0]:g} to {self._positions[-1]:g})"
        )

    def _first_reaching(self, mixture: ArrayLike, u: ArrayLike) -> tuple[Floats, Floats, Any]:
        """The mixture's c.d.f. at the positions, u snapped to it, the first index with F >= u."""
        levels = self._mixture(mixture) @ self._cumulative
        levels[-1] = 1.0
        u = check_rates(u, "u")
        # Never more than u/2: a positive level stays positive and its quantile finite.
        slack = np.minimum(_SAME_LEVEL, u / 2)
        index = np.searchsorted(levels, u - slack, side="left")
        u = np.where(np.abs(levels[index] - u) <= slack, levels[index], u)
        return levels, u, index


@final
class PiecewiseLinearLaw(TabulatedLaw):
    """Every c.d.f. is linear between common knots: `cdf_values[i, j]` = P(S <= knots[j]) in cell i.

    Values rise from 0 at the first knot to 1 at the last. For K groups there are 2K rows, negatives
    first; ROC curves are piecewise linear and AUCs are sums of trapezoids.

    >>> law = PiecewiseLinearLaw([0, 1, 2], [[0, 1, 1], [0, 1, 1], [0, 0.5, 1], [0, 0, 1]],
    ...                          cell_weights=[[0.25, 0.25], [0.25, 0.25]])
    >>> law.auc_matrix()[0].tolist()
    [0.5, 0.5, 0.75, 1.0]
    >>> law.roc_curve(law.negatives(0), law.positives(0))([0.0, 0.5]).tolist()
    [0.5, 0.75]
    """

    def __init__(
        self,
        knots: ArrayLike,
        cdf_values: ArrayLike,
        cell_weights: ArrayLike,
        groups: Sequence[Any] | None = None,
    ) -> None:
        positions = _increasing("knots", knots, at_least=2)
        values = _table("cdf_values", cdf_values, cell_weights, positions.size)
        if not np.all(np.diff(values, axis=1) >= 0):
            raise ValueError("cdf_values must not decrease along a row.")
        if not (np.all(values[:, 0] == 0) and np.all(values[:, -1] == 1)):
            raise ValueError("Each row of cdf_values must start at 0 and end at 1.")
        super().__init__(positions, values, cell_weights, groups)

    @property
    def knots(self) -> Floats:
        """The m increasing scores between which every c.d.f. is linear."""
        return self._positions

    @property
    def cdf_values(self) -> Floats:
        """P(S <= knot) in every cell, shape (2K, m)."""
        return self._cumulative

    def cdf(self, t: ArrayLike) -> Floats:
        """P(S <= t) in every cell, by linear interpolation: shape (..., 2K)."""
        t = np.asarray(t, dtype=float)
        return np.stack([np.interp(t, self.knots, row) for row in self.cdf_values], axis=-1)

    def pdf(self, t: ArrayLike) -> Floats:
        """The slope of every c.d.f. to the right of t: shape (..., 2K)."""
        slopes = np.diff(self.cdf_values, axis=1) / np.diff(self.knots)
        none = np.zeros((slopes.shape[0], 1))
        padded = np.concatenate([none, slopes, none], axis=1)
        return padded.T[np.searchsorted(self.knots, np.asarray(t, dtype=float), side="right")]

    def mixture_quantile(self, mixture: ArrayLike, u: ArrayLike) -> Floats:
        """inf{t : F(t) >= u}, exact; minus infinity at u = 0.

        >>> law = PiecewiseLinearLaw([0, 1, 2, 3], [[0, 0.5, 0.5, 1]] * 4, [[0.25] * 2] * 2)
        >>> law.mixture_quantile(law.negatives(), [0.25, 0.5, 0.75]).tolist()
        [0.5, 1.0, 2.5]
        """
        levels, u, index = self._first_reaching(mixture, u)
        right = np.maximum(index, 1)
        # F(left) < u <= F(right), so the slope is positive wherever u is.
        rise = np.where(index > 0, levels[right] - levels[right - 1], 1.0)
        share = (u - levels[right - 1]) / rise
        left, width = self.knots[right - 1], np.diff(self.knots)[right - 1]
        inside = np.where(share >= 1, self.knots[right], left + share * width)
        return np.where(index > 0, inside, -np.inf)

    def auc_matrix(self) -> Floats:
        """A[i, j] = sum over pieces of (F_i(left) + F_i(right))/2 * (F_j(right) - F_j(left))."""
        means = (self.cdf_values[:, 1:] + self.cdf_values[:, :-1]) / 2
        return means @ np.diff(self.cdf_values, axis=1).T


@final
class DiscreteLaw(TabulatedLaw):
    """Scores with finitely many values: `probabilities[i, j]` = P(S = values[j]) in cell i.

    Ties have positive probability; every AUC counts them one half, and ROC curves are evaluated
    from the definition, as step functions.

    >>> law = DiscreteLaw([1, 2], [[1, 0], [0.5, 0.5], [0.5, 0.5], [0, 1]],
    ...                   cell_weights=[[0.25, 0.25], [0.25, 0.25]])
    >>> law.auc_matrix()[0].tolist()
    [0.5, 0.75, 0.75, 1.0]
    >>> law.roc_curve(law.negatives(1), law.positives(0))([0.25, 0.5, 0.75]).tolist()
    [0.0, 0.5, 0.5]
    """

    def __init__(
        self,
        values: ArrayLike,
        probabilities: ArrayLike,
        cell_weights: ArrayLike,
        groups: Sequence[Any] | None = None,
    ) -> None:
        positions = _increasing("values", values, at_least=1)
        table = _table("probabilities", probabilities, cell_weights, positions.size)
        totals = table.sum(axis=1, keepdims=True)
        if not (np.all(table >= 0) and np.all(np.abs(totals - 1) <= 1e-9)):
            raise ValueError("Each row of probabilities must be non-negative and sum to one.")
        self._probabilities = _read_only(table / totals)
        cumulative = np.cumsum(self._probabilities, axis=1)
        cumulative[:, -1] = 1.0
        super().__init__(positions, np.minimum(cumulative, 1.0), cell_weights, groups)

    @property
    def values(self) -> Floats:
        """The m increasing values of the score."""
        return self._positions

    @property
    def probabilities(self) -> Floats:
        """P(S = value) in every cell, shape (2K, m)."""
        return self._probabilities

    def cdf(self, t: ArrayLike) -> Floats:
        """P(S <= t) in every cell, right-continuous: shape (..., 2K)."""
        padded = np.concatenate([np.zeros((len(self._cumulative), 1)), self._cumulative], axis=1)
        return padded.T[np.searchsorted(self.values, np.asarray(t, dtype=float), side="right")]

    def mixture_quantile(self, mixture: ArrayLike, u: ArrayLike) -> Floats:
        """inf{t : F(t) >= u}, one of the values; minus infinity at u = 0.

        Levels within 1e-12 of a cumulative probability count as equal to it.
        """
        _, u, index = self._first_reaching(mixture, u)
        return np.where(u > 0, self.values[index], -np.inf)

    def auc_matrix(self) -> Floats:
        """A[i, j] = sum over values v of (P(S_i < v) + P(S_i = v)/2) P(S_j = v)."""
        middle = self._cumulative - self._probabilities / 2
        return middle @ self._probabilities.T


def credit_law() -> PiecewiseLinearLaw:
    """The credit score of Figure 1: AUC_{H,G0} = AUC_{H,G1}, and FNRs of 30 % and 60 % at 0.85.

    Negatives are alike in both groups, with 25 % above 0.72; there the FNR of both groups is 20 %,
    and nowhere else are the two equal. Positives of group 1 start at 0.5 and are spread almost
    evenly over 0.6..1, those of group 0 are sometimes low and mostly above 0.8. The groups have the
    same size, and 70 % of each are positive.

    >>> law = credit_law()
    >>> law.cdf([0.72, 0.85])[:, 2:].round(12).tolist()  # false negative rates of groups 0 and 1
    [[0.2, 0.2], [0.3, 0.6]]
    >>> abs(law.auc(target=law.positives(0)) - law.auc(target=law.positives(1))) < 1e-15
    True
    """
    knots = [0.0, 0.3, 0.5, 0.6, 0.72, 0.8, 0.85, 1.0]
    negatives = np.array([0.0, 0.36, 0.56, 0.65, 0.75, 0.83, 0.88, 1.0])
    positives_1 = np.array([0.0, 0.0, 0.0, 0.02, 0.2, 0.45, 0.6, 1.0])

    def positives_0(low: float) -> Floats:
        # `low` is the c.d.f. at 0.5; it rises linearly up to there, and from there to 0.2 at 0.72.
        at_60 = low + (0.2 - low) * (0.60 - 0.5) / (0.72 - 0.5)
        return np.array([0.0, 0.6 * low, low, at_60, 0.2, 0.25, 0.3, 1.0])

    def auc(positives: Floats) -> float:
        return float(np.sum((negatives[1:] + negatives[:-1]) / 2 * np.diff(positives)))

    # The AUC of group 0 is affine in `low`, so one secant step makes the two AUCs equal.
    start, slope = auc(positives_0(0.0)), auc(positives_0(0.2)) - auc(positives_0(0.0))
    low = 0.2 * (auc(positives_1) - start) / slope
    cdf_values = [negatives, negatives, positives_0(low), positives_1]
    return PiecewiseLinearLaw(knots, cdf_values, cell_weights=[[0.15, 0.15], [0.35, 0.35]])


def _read_only(array: Floats) -> Floats:
    array.setflags(write=False)
    return array


def _increasing(name: str, values: ArrayLike, at_least: int) -> Floats:
    array = np.array(values, dtype=float) + 0.0  # no negative zero: equal laws have equal bytes
    if array.ndim != 1 or array.size < at_least or not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be a sequence of at least {at_least} finite numbers.")
    if not np.all(np.diff(array) > 0):
        raise ValueError(f"{name} must be strictly increasing.")
    return array


def _table(name: str, table: ArrayLike, cell_weights: ArrayLike, columns: int) -> Floats:
    array = np.array(table, dtype=float) + 0.0
    expected = (np.size(cell_weights), columns)
    if array.shape != expected:
        raise ValueError(
            f"{name} must have one row per cell and one column per position, "
            f"shape {expected}, not {array.shape}."
        )
    return array
