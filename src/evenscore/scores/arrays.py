"""The kinds of arrays that the whole package speaks of, and what is done to them everywhere."""

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

CHUNK = 1 << 14
"""Rows that are worked on at a time: temporary arrays are this long, whatever the rows."""


def chunks(n: int, least: int = 0) -> Iterator[slice]:
    """So many rows, in pieces of fixed size, which is at least so many where a piece has costs.

    >>> list(chunks(20_000))
    [slice(0, 16384, None), slice(16384, 20000, None)]
    """
    size = max(CHUNK, least)
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def ratio(part: ArrayLike, whole: ArrayLike, otherwise: float = np.nan) -> Floats:
    """Part by whole where the whole is positive, `otherwise` elsewhere.

    >>> ratio([1.0, 2.0], [4.0, 0.0])
    array([0.25,  nan])
    """
    part, whole = np.broadcast_arrays(part, whole)
    quotient = np.full(whole.shape, otherwise)
    np.divide(part, whole, out=quotient, where=whole > 0)
    return quotient


def starts_of_runs(*columns: NDArray[Any]) -> Ints:
    """The first position of each run of rows that are equal in all columns.

    >>> starts_of_runs(np.array([1, 1, 2, 2]), np.array([0, 0, 0, 1]))
    array([0, 2, 3])
    """
    changes = reduce(np.logical_or, (column[1:] != column[:-1] for column in columns))
    return np.flatnonzero(np.append(True, changes)[: len(columns[0])])
