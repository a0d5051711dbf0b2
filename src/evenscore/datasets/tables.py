"""Delimited text to typed columns, and columns to a feature matrix, with no data frame library."""

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = dict[str, NDArray[Any]]


def split_rows(
    text: str, source: str, *, delimiter: str = ",", skip_spaces: bool = False
) -> list[list[str]]:
    """Split delimited text into rows of equally many fields; blank lines are left out."""
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=skip_spaces
    )
    try:
        rows = [row for row in reader if row]
    except csv.Error as error:
        raise ValueError(f"{source} is not a readable table ({error}).") from error
    if not rows:
        raise ValueError(f"{source} is empty.")
    width = len(rows[0])
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise ValueError(
                f"Row {number} of {source} has {len(row)} fields but row 1 has {width}."
            )
    return rows


def to_columns(
    names: Sequence[str],
    rows: list[list[str]],
    source: str,
    *,
    drop: Collection[str] = (),
    codes: Collection[str] = (),
) -> Table:
    """Turn rows of text into typed columns, without those named in ``drop``.

    A column becomes int64 if every field is an integer, float64 if every field is a number or
    empty (NaN), and text otherwise. Those named in ``codes`` stay text: their numbers only stand
    for categories. A name that occurs twice is kept once, provided that both columns are the same.

    >>> to_columns(["a", "b"], [["1", "x"], ["2", "?"]], "an example")
    {'a': array([1, 2]), 'b': array(['x', '?'], dtype='<U1')}
    """
    if not rows:
        raise ValueError(f"{source} has a header but no rows.")
    fields: dict[str, tuple[str, ...]] = {}
    for name, values in zip(names, zip(*rows, strict=True), strict=True):
        if name in drop:
            continue
        if fields.setdefault(name, values) != values:
            raise ValueError(f"Column {name!r} occurs twice in {source}, with different values.")
    return {
        name: np.array(values) if name in codes else _typed(values)
        for name, values in fields.items()
    }


def _typed(values: Sequence[str]) -> NDArray[Any]:
    text = np.array(values)
    try:
        return text.astype(np.int64)
    except (ValueError, OverflowError):
        empty = text == ""
    if empty.all():
        return text
    try:
        return np.where(empty, "nan", text).astype(np.float64)
    except ValueError:
        return text


def feature_matrix(columns: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.float64], list[str]]:
    """Build (X, feature names): numbers as they are, text one-hot over its sorted categories.

    The columns keep their order, and a text column is replaced in place by its indicators.

    >>> import numpy as np
    >>> feature_matrix({"age": np.array([30, 40]), "sex": np.array(["m", "f"])})
    (array([[30.,  0.,  1.],
           [40.,  1.,  0.]]), ['age', 'sex=f', 'sex=m'])
    """
    names: list[str] = []
    categories: dict[str, dict[str, int]] = {}  # of a text column, each with its column of X
    for name, column in columns.items():
        if column.dtype.kind != "U":
            names.append(name)
            continue
        # A set and a dict are several times faster here than np.unique, which sorts all the text.
        found = sorted(set(column.tolist()))
        categories[name] = {category: len(names) + k for k, category in enumerate(found)}
        names += [f"{name}={category}" for category in found]
    # One array, filled in place: blocks joined at the end would need twice the memory.
    n = len(next(iter(columns.values())))
    X = np.zeros((n, len(names)))
    at = 0
    for name, column in columns.items():
        if name in categories:
            place = categories[name]
            X[np.arange(n), [place[value] for value in column.tolist()]] = 1.0
            at += len(place)
        else:
            X[:, at] = column
            at += 1
    return X, names
