"""Columns as people have them (lists, NumPy, pandas, polars, pyarrow) become NumPy arrays.

Data frame libraries are reached through narwhals, which is imported only when the input is
neither a list nor a NumPy array.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Sized
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenscore.scores.arrays import Floats
from evenscore.scores.labels import MAX_LABEL, is_missing, shown

EXACT = 2**53
"""Integers beyond are not all doubles."""


def to_array(values: Any, name: str) -> NDArray[Any]:
    """One column as a one-dimensional array; `name` is what error messages call it."""
    if isinstance(values, np.ndarray):
        array = _unmasked(values, name)
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


def to_columns(values: Any, name: str) -> dict[str, NDArray[Any]]:
    """One or several columns, by what error messages call them.

    Several are a 2-D array, a data frame, a mapping of columns, a list of rows (lists or tuples) or
    a list of columns (arrays or series).
    """
    if isinstance(values, Mapping):
        columns = {f"{name}[{key!r}]": column for key, column in values.items()}
    elif isinstance(values, np.ndarray):
        if values.ndim != 2:
            return {name: to_array(values, name)}
        array = _unmasked(values, name)
        columns = {f"{name}[:, {j}]": array[:, j] for j in range(array.shape[1])}
    elif isinstance(values, list | tuple) and values and isinstance(values[0], list | tuple):
        lengths = {len(row) if isinstance(row, list | tuple) else 1 for row in values}
        if len(lengths) > 1:
            raise ValueError(f"{name} has rows of different lengths: {sorted(lengths)}.")
        rows = zip(*values, strict=True)
        columns = {f"{name}[:, {j}]": list(column) for j, column in enumerate(rows)}
    elif isinstance(values, list | tuple) and values and all(_is_column(v) for v in values):
        columns = {f"{name}[{j}]": column for j, column in enumerate(values)}
    elif isinstance(values, list | tuple | range):
        columns = {name: values}
    else:
        frame = as_frame(values, name)
        columns = {name: values}
        if frame is not None:
            columns = {f"{name}[{c.name!r}]": _to_numpy(c) for c in frame.iter_columns()}
    if not columns:
        raise ValueError(f"{name} has no column.")
    return {label: to_array(column, label) for label, column in columns.items()}


def column_names(values: Any) -> tuple[str, ...] | None:
    """The names of the columns that `to_columns` finds, in its order; None if they have none.

    Columns of a data frame or mapping have names if all of these are text: pandas numbers the
    columns of an array that nobody named.

    >>> column_names({"sex": ["f", "m"], "old": [True, False]})
    ('sex', 'old')
    """
    if isinstance(values, np.ndarray | list | tuple | range):
        return None
    if isinstance(values, Mapping):
        names = tuple(values)
    else:
        frame = as_frame(values, "table")
        names = () if frame is None else tuple(frame.columns)
    return names if names and all(isinstance(name, str) for name in names) else None


def to_numbers(values: Any, name: str) -> Floats:
    """One column of finite numbers as float64; the first bad row is named."""
    array = to_array(values, name)
    check_exact(array, name)
    if array.dtype.kind == "O":
        array = _numbers_from_objects(array, name)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold numbers, but its values are of type {array.dtype}.")
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


def check_exact(array: NDArray[Any], name: str) -> None:
    """Refuse a column with a number that doubles would confuse with another; the row is named.

    Integers, decimals and fractions beyond 2^53 are such numbers, and so are wider floats that are
    no doubles there.
    """
    rows: Any = ()
    if array.dtype.kind == "O":
        rows = (row for row, value in enumerate(array) if _is_confused(value))
    elif array.dtype.kind in "iu" and array.size:
        if int(array.max()) > EXACT or int(array.min()) < -EXACT:
            rows = np.flatnonzero((array > EXACT) | (array < -EXACT)).tolist()
    elif array.dtype.kind == "f" and array.dtype.itemsize > 8:
        far = np.isfinite(array) & (np.abs(array) >= EXACT)
        with np.errstate(over="ignore"):
            rows = np.flatnonzero(far & (array.astype(np.float64) != array)).tolist()
    with np.errstate(over="ignore"):
        row = next(iter(rows), None)
    if row is not None:
        what = "an integer" if isinstance(array[row], Integral) else "a number"
        raise ValueError(
            f"{name} holds {what} beyond 2^53 at row {row}, which double precision would confuse "
            "with others; rescale or rank them first."
        )


def _is_confused(value: Any) -> bool:
    if isinstance(value, float) or not isinstance(value, Real | Decimal) or is_missing(value):
        return False
    if isinstance(value, np.floating):
        return bool(np.isfinite(value) and abs(value) >= EXACT and float(value) != value)
    exact: Any = value  # numbers of all these types are compared as they are
    return not -EXACT <= exact <= EXACT and abs(exact) != math.inf


def check_lengths(columns: Mapping[str, Sized]) -> None:
    """Refuse columns that differ in length, with one sentence that names them."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} has {counted(n, 'row')}" for name, n in lengths.items())
        raise ValueError(f"The columns differ in length: {shown}.")


def counted(n: float, noun: str) -> str:
    """A number with its noun: '1 row', '2 rows'."""
    number = f"{n:.0f}"
    return f"{number} {noun}" if number == "1" else f"{number} {noun}s"


def column_reader(table: Any) -> Callable[[Any], Any]:
    """A function that fetches a column of a data frame or mapping by its name."""
    if isinstance(table, Mapping):
        columns = dict(table)
    else:
        frame = as_frame(table, "table")
        if frame is None:
            raise ValueError(
                f"table must be a data frame or a mapping of columns, not {type(table).__name__}."
            )
        columns = {column.name: column for column in frame.iter_columns()}

    def column(name: Any) -> Any:
        try:
            found = name in columns
        except TypeError:  # it cannot be a name
            found = False
        if not found:
            known = ", ".join(shown(one) for one in list(columns)[:8])
            more = ", …" if len(columns) > 8 else ""
            raise ValueError(
                f"The table has no column {shown(name)}; its columns are {known}{more}."
            )
        return columns[name]

    return column


def _unmasked(values: NDArray[Any], name: str) -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} has masked values; fill or drop them first.")
    return np.asarray(values)


def _is_column(value: Any) -> bool:
    """An array or series, as opposed to a label."""
    return hasattr(value, "__len__") and hasattr(value, "dtype") and np.ndim(value) == 1


def _from_sequence(values: Sequence[Any], name: str) -> NDArray[Any]:
    if _needs_objects(values):
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be one column, but its rows have several values.") from None
    return array


def _needs_objects(values: Sequence[Any]) -> bool:
    """Whether an array of NumPy's own types would make one of two values, or be huge.

    It turns ["a", 1] into ["a", "1"], floats beside 2**53 + 1 into floats, and "a" followed by a
    NUL into "a"; and it keeps the room of the longest text for each.
    """
    if isinstance(values, range):
        return False
    kinds = set(map(type, values))
    texts = [kind for kind in kinds if issubclass(kind, str | bytes)]
    if len(texts) < len(kinds):
        whole = any(issubclass(kind, Integral) for kind in kinds)
        return bool(texts) or (whole and any(map(_is_large, values)))
    return any(len(one) > MAX_LABEL or one[-1:] in ("\0", b"\0") for one in values)


def _is_large(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not -EXACT <= value <= EXACT


def as_frame(values: Any, name: str) -> Any:
    """A narwhals data frame, or None if it is not a data frame held in memory."""
    import narwhals as nw

    try:
        frame = nw.from_native(values, pass_through=True, eager_only=True, allow_series=True)
        return frame if isinstance(frame, nw.DataFrame) and frame.columns is not None else None
    except nw.exceptions.NarwhalsError as error:
        reason = str(error).splitlines()[0].rstrip(".: ")
        twice = [key for key, n in Counter(getattr(values, "columns", ())).items() if n > 1]
        if twice:
            reason = f"several of its columns are called {shown(twice[0])}"
        raise ValueError(f"{name} cannot be read as a data frame: {reason}.") from None


def _from_frame_library(values: Any, name: str) -> NDArray[Any]:
    import narwhals as nw

    frame = as_frame(values, name)
    if frame is None:
        column = nw.from_native(values, pass_through=True, eager_only=True, allow_series=True)
        if isinstance(column, nw.Series):
            return _to_numpy(column)
    else:
        if len(frame.columns) != 1:
            raise ValueError(f"{name} must be one column, but it has {len(frame.columns)}.")
        return _to_numpy(next(frame.iter_columns()))
    array = np.asarray(values)
    if array.ndim == 0:
        raise ValueError(f"{name} must be a column of values, not {type(values).__name__}.")
    return array


def _to_numpy(column: Any) -> NDArray[Any]:
    """A series as an array, a missing category as None.

    pyarrow's categories that are missing would otherwise become other categories, and NumPy has no
    integers of 128 bits.
    """
    import narwhals as nw

    wide = column.dtype in (nw.Int128, nw.UInt128)
    if wide or (column.dtype in (nw.Categorical, nw.Enum) and column.null_count()):
        array = np.empty(len(column), dtype=object)
        array[:] = column.to_list()
        return array
    return np.asarray(column.to_numpy())


def _numbers_from_objects(array: NDArray[Any], name: str) -> Floats:
    numbers = np.empty(len(array))
    for row, value in enumerate(array):
        try:
            if isinstance(value, str | bytes):
                raise TypeError
            numbers[row] = np.nan if value is None else float(value)
        except (TypeError, ValueError, OverflowError):
            what = shown(value)
            raise ValueError(f"{name} must hold numbers, but row {row} is {what}.") from None
    return numbers
