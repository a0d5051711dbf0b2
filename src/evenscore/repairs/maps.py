"""Increasing piecewise-linear maps of a score: what a repair is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenscore.distributions import to_floats

__all__ = ["IncreasingMap", "apply_by_group", "repeated"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_CHUNK = 1 << 16  # rows handled at a time: their temporaries stay in the cache


def repeated(xs: Floats) -> NDArray[np.bool_]:
    """Which values are not above the one before them."""
    return np.append(False, xs[1:] <= xs[:-1])


@dataclass(frozen=True, eq=False)
class IncreasingMap:
    """An increasing map through the knots (x, y): straight lines between them.

    With x_k ≤ s < x_{k+1} the value is y_k + (s − x_k) · (y_{k+1} − y_k) / (x_{k+1} − x_k); below
    the first knot it is s + (y_first − x_first), above the last s + (y_last − x_last). Both x and y
    increase strictly.

    >>> halved = IncreasingMap(np.array([0.0, 2.0]), np.array([0.0, 1.0]))
    >>> halved([-1.0, 1.0, 2.0, 3.0])
    array([-1. ,  0.5,  1. ,  2. ])
    >>> halved.inverse([-1.0, 0.5, 2.0])
    array([-1.,  1.,  3.])
    """

    x: Floats
    y: Floats

    def __post_init__(self) -> None:
        for name in ("x", "y"):
            told = getattr(self, name)
            array = np.array(to_floats(told, name))
            if array.ndim != 1 or len(array) == 0 or not np.all(np.isfinite(array)):
                raise ValueError(f"The {name} of a map must be a list of finite numbers.")
            if not isinstance(told, np.ndarray) and any(isinstance(v, str | bool) for v in told):
                raise ValueError(f"The {name} of a map must be a list of numbers, not {told!r}.")
            if repeated(array).any():
                k = int(np.argmax(repeated(array)))
                raise ValueError(
                    f"The {name} of a map must increase, but {array[k]:g} follows {array[k - 1]:g}."
                )
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if len(self.x) != len(self.y):
            raise ValueError(f"A map has {len(self.x)} knots x but {len(self.y)} values y.")

    @classmethod
    def through(cls, xs: Any, ys: Any) -> IncreasingMap:
        """The map through given points; points that would not make it increase are left out."""
        xs, ys = np.asarray(xs, dtype=np.float64), np.asarray(ys, dtype=np.float64)
        kept = [0]
        for k in range(1, len(xs)):
            if xs[k] > xs[kept[-1]] and ys[k] > ys[kept[-1]]:
                kept.append(k)
        return cls(xs[kept], ys[kept])

    @property
    def is_identity(self) -> bool:
        """Whether every score is left as it is."""
        return bool(np.array_equal(self.x, self.y))

    def __len__(self) -> int:
        """Number of knots."""
        return len(self.x)

    def __call__(self, score: ArrayLike) -> Floats:
        """The mapped scores."""
        return _through(np.asarray(score, dtype=np.float64), self.x, self.y)

    def inverse(self, value: ArrayLike) -> Floats:
        """The scores that are mapped to `value`."""
        return _through(np.asarray(value, dtype=np.float64), self.y, self.x)


def _through(score: Floats, x: Floats, y: Floats) -> Floats:
    """Straight lines through the knots, so that no two scores are exchanged, not even by rounding.

    Every step increases in floating point, too: a difference, a ratio, a product, a sum. Only where
    a line ends it may round beyond the next knot, which is why it is held there.
    """
    if np.array_equal(x, y):
        return score.copy()
    if score.size == 0:
        return np.zeros(score.shape)
    below, above = score.min() < x[0], score.max() >= x[-1]
    if len(x) > 1:
        inside = np.clip(score, x[0], x[-1]) if below or above else score
        line = np.searchsorted(x[1:-1], inside, side="right")
        mapped = inside - x.take(line)
        mapped /= np.diff(x).take(line)
        mapped *= np.diff(y).take(line)
        mapped += y.take(line)
        mapped = np.asarray(np.minimum(mapped, y[1:].take(line)))
    else:
        mapped = np.full(score.shape, y[0])
    if below:
        moved = np.minimum(score + (y[0] - x[0]), y[0])
        mapped = np.where(score < x[0], moved, mapped)
    if above:
        moved = np.maximum(score + (y[-1] - x[-1]), y[-1])
        mapped = np.where(score > x[-1], moved, np.where(score == x[-1], y[-1], mapped))
    return mapped


def apply_by_group(score: Floats, codes: NDArray[Any], maps: tuple[IncreasingMap, ...]) -> Floats:
    """Every score through the map of its group; a code of −1 leaves it as it is."""
    found = np.empty(len(score))
    for start in range(0, len(score), _CHUNK):
        part = slice(start, start + _CHUNK)
        some, code, out = score[part], codes[part], found[part]
        left = len(some)
        for group, mapping in enumerate(maps):
            rows = np.flatnonzero(code == group)
            out[rows] = mapping(some[rows])
            left -= len(rows)
        if left:
            rows = np.flatnonzero(code < 0)
            out[rows] = some[rows]
    return found
