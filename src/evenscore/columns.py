"""Columns as people have them (lists, NumPy, pandas, polars, pyarrow) become NumPy arrays.

Data frame libraries are reached through narwhals, which is imported only when the input is
neither a list nor a NumPy array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["check_lengths", "to_array", "to_columns", "to_numbers"]


def to_array(values: Any, name: str) -> NDArray[Any]:
    """One column as a one-dimensional array; `name` is what error messages call it."""
    if isinstance(values, np.ndarray):
        array = np.asarray(values)  # drops subclasses such as masked arrays' views
        if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
            raise ValueError(f"{name} has masked values; fill or drop them first.")
    elif isinstance(values, list | tuple | range):
        array = _from_sequence(values, name)
    else:
        array = _from_frame_library(values, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        what = "a single value" if array.ndim == 0 else f"of shape {array.shape}"
        raise ValueError(f"{name} must be one column, but it is {what}.")
    return array


def to_columns(values: Any, name: str) -> list[NDArray[Any]]:
    """One or several columns: a vector, a 2-D array, a data frame or a mapping of columns."""
    if isinstance(values, Mapping):
        return [to_array(column, f"{name}[{key!r}]") for key, column in values.items()]
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return [values[:, j] for j in range(values.shape[1])]
    if isinstance(values, list | tuple) and len(values) > 0 and isinstance(values[0], list | tuple):
        lengths = {len(row) if isinstance(row, list | tuple) else 1 for row in values}
        if len(lengths) > 1:
            raise ValueError(f"{name} has rows of different lengths: {sorted(lengths)}.")
        return [_from_sequence(list(column), name) for column in zip(*values, strict=True)]
    if not isinstance(values, np.ndarray | list | tuple | range):
        import narwhals as nw

        frame = nw.from_native(values, pass_through=True, eager_only=True, allow_series=True)
        if isinstance(frame, nw.DataFrame):
            return [to_array(frame[key], f"{name}[{key!r}]") for key in frame.columns]
    return [to_array(values, name)]


def to_numbers(values: Any, name: str) -> NDArray[np.float64]:
    """One column of finite numbers as float64; the first bad row is named."""
    array = to_array(values, name)
    if array.dtype.kind == "O":
        array = _numbers_from_objects(array, name)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold numbers, but its values are of type {array.dtype}.")
    if array.dtype.kind in "iu" and array.size and _beyond_doubles(array):
        raise ValueError(
            f"{name} holds integers beyond 2^53, which double precision would confuse; "
            "rescale or rank them first."
        )
    numbers = np.ascontiguousarray(array, dtype=np.float64)
    # A sum is finite exactly when no term is NaN or infinite, save for overflow: look then.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(numbers.sum())
    if suspicious:
        bad = np.flatnonzero(~np.isfinite(numbers))
        if bad.size:
            what = "NaN" if np.isnan(numbers[bad[0]]) else "infinite"
            more = f" ({bad.size} such rows in all)" if bad.size > 1 else ""
            raise ValueError(f"{name} is {what} at row {bad[0]}{more}; every value must be finite.")
    return numbers


def check_lengths(**columns: NDArray[Any]) -> int:
    """The common length of the columns, or one sentence that names those that differ."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {n} rows" for name, n in lengths.items())
        raise ValueError(f"The columns differ in length: {told}.")
    return next(iter(lengths.values()))


def _from_sequence(values: Sequence[Any], name: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be one column, but its rows have several values.") from None
    # NumPy turns ["a", 1] into ["a", "1"]: two labels that may differ must stay apart.
    if array.dtype.kind in "US" and not all(isinstance(value, str | bytes) for value in values):
        array = np.empty(len(values), dtype=object)
        array[:] = values
    return array


def _from_frame_library(values: Any, name: str) -> NDArray[Any]:
    import narwhals as nw

    column = nw.from_native(values, pass_through=True, eager_only=True, allow_series=True)
    if isinstance(column, nw.Series):
        return column.to_numpy()
    if isinstance(column, nw.DataFrame):
        if len(column.columns) != 1:
            raise ValueError(f"{name} must be one column, but it has {len(column.columns)}.")
        return column[column.columns[0]].to_numpy()
    array = np.asarray(values)
    if array.ndim == 0:
        raise ValueError(f"{name} must be a column of values, not {type(values).__name__}.")
    return array


def _numbers_from_objects(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        for row, value in enumerate(array):
            try:
                float(value)
            except (TypeError, ValueError):
                raise ValueError(f"{name} must hold numbers, but row {row} is {value!r}.") from None
        raise


def _beyond_doubles(array: NDArray[Any]) -> bool:
    return int(array.max()) > 2**53 or int(array.min()) < -(2**53)
