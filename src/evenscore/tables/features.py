"""Features from a file: numbers as they are, texts as one column a category."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenscore.tables.cells import Check, is_number, number, number_checks, text_checks
from evenscore.tables.coding import code_of, distinct_texts
from evenscore.tables.opening import TableFile

__all__ = [
    "MAX_CATEGORIES",
    "Feature",
    "feature_checks",
    "feature_matrix",
    "feature_select",
    "find_features",
]

Floats = NDArray[np.float64]

MAX_CATEGORIES = 100
"""A column with more different texts is refused: it is an identifier, or free text."""


@dataclass(frozen=True)
class Feature:
    """A column that a model looks at: a number, or one of `categories`.

    A missing text belongs to no category.
    """

    name: str
    categories: tuple[str, ...] | None = None

    @property
    def width(self) -> int:
        """Columns of the matrix."""
        return 1 if self.categories is None else len(self.categories)


def find_features(table: TableFile, names: Sequence[str]) -> tuple[Feature, ...]:
    """What the columns are: numbers, if every cell that is not empty holds one, or categories.

    Text in a Parquet file stays text.
    """
    columns = [table.column(name) for name in names]
    counts = [part for column in columns for part in _counts(table, column)]
    found = table.one(f"SELECT {', '.join(counts)} FROM rows")
    return tuple(
        _feature(table, column, *found[2 * k : 2 * k + 2]) for k, column in enumerate(columns)
    )


def _counts(table: TableFile, column: str) -> tuple[str, str]:
    """SQL that counts the cells with something in them, and those of text that is no number."""
    kind = table.type_of(column)
    if is_number(kind):
        return f"count({column})", "0"
    if kind == "VARCHAR":
        odd, _, lacking = number_checks(table, column)
        return f"count_if(NOT ({lacking.condition}))", f"count_if({odd.condition})"
    raise ValueError(
        f"Column {table.name_of(column)!r} of {table.name} holds values of type {kind}: a feature "
        "is a number or a text, so leave it out with --exclude."
    )


def _feature(table: TableFile, column: str, present: int, texts: int) -> Feature:
    name = table.name_of(column)
    where = f"Column {name!r} of {table.name}"
    if not present:
        raise ValueError(f"{where} is empty in every row: leave it out with --exclude.")
    if is_number(table.type_of(column)) or (table.kind == "csv" and not texts):
        return Feature(name)
    found = distinct_texts(table, column, "true", MAX_CATEGORIES)
    if len(found) > MAX_CATEGORIES:
        odd = number_checks(table, column)[0]
        row = table.first_row(f"coalesce({odd.condition}, false)") if texts else 1
        raise ValueError(
            f"{where} has more than {MAX_CATEGORIES} different texts (the first that is no number "
            f"is in row {row:,}): leave it out with --exclude, or make it numbers."
        )
    return Feature(name, tuple(found))


def feature_checks(
    table: TableFile, features: Sequence[Feature], *, allow_missing: bool
) -> list[Check]:
    """What no cell may be."""
    checks = []
    for feature in features:
        column = table.column(feature.name)
        if feature.categories is None:
            checks += number_checks(table, column, optional=allow_missing)
        else:
            text_checks(table, column)  # nested values are refused; missing texts are not
    return checks


def feature_select(table: TableFile, features: Sequence[Feature]) -> dict[str, str]:
    """SQL by name: feature0, feature1, …"""
    return {
        f"feature{k}": number(table, table.column(feature.name))
        if feature.categories is None
        else code_of(table, table.column(feature.name), feature.categories)
        for k, feature in enumerate(features)
    }


def feature_matrix(arrays: dict[str, Any], features: Sequence[Feature]) -> Floats:
    """The matrix from the arrays of a query of `feature_select`, one row a row."""
    n = len(arrays["feature0"])
    X = np.zeros((n, sum(feature.width for feature in features)))
    start = 0
    for k, feature in enumerate(features):
        values = arrays[f"feature{k}"]
        if feature.categories is None:
            X[:, start] = np.ma.filled(values.astype(np.float64), np.nan)
        else:
            known = np.flatnonzero(~np.ma.getmaskarray(values))
            X[known, start + np.ma.getdata(values)[known].astype(np.intp)] = 1.0
        start += feature.width
    return X
