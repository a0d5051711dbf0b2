"""Which map is for whom: from the columns of groups, as people have them, to positions of maps."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenscore.columns import check_lengths, column_names, counted, to_columns
from evenscore.labels import cross, encode, is_missing

__all__ = ["Unseen", "check_unseen", "map_positions"]

Unseen = Literal["error", "pooled"]
Columns = dict[str, NDArray[Any]]


def check_unseen(unseen: Any) -> None:
    """Refuse what is neither of the two."""
    if unseen not in ("error", "pooled"):
        raise ValueError(f"unseen must be 'error' or 'pooled', not {unseen!r}.")


def map_positions(
    sensitive_features: Any,
    groups: tuple[Hashable, ...],
    names: tuple[str, ...] | None,
    unseen: Unseen,
) -> NDArray[np.integer]:
    """The position of everybody's group in `groups`; −1 for one that is unseen or missing.

    Columns that have names, and had `names` in the fit, are put in the order of the fit.

    >>> map_positions({"old": [0, 1], "sex": ["m", "f"]}, (("f", 1), ("m", 0)), ("sex", "old"),
    ...               "error")
    array([1, 0])
    """
    columns = _in_order(sensitive_features, groups, names)
    missing = None
    if unseen == "pooled":
        columns, missing = _filled(columns)
    try:
        codes, found = cross([encode(column, name) for name, column in columns.items()])
    except ValueError:
        _refuse_missing(columns)
        raise
    known = {group: position for position, group in enumerate(groups)}
    table = np.array([known.get(label, -1) for label in found], dtype=np.intp)
    if unseen == "error" and len(table) and table.min() < 0:
        new = int(np.argmin(table))
        row = int(np.argmax(codes == new))
        named = ", ".join(repr(group) for group in groups[:10])
        more = ", …" if len(groups) > 10 else ""
        raise ValueError(
            f"sensitive_features holds the group {found[new]!r} at row {row}, for which the "
            f"repair has no map (it has {named}{more}); unseen='pooled' leaves such scores as they "
            "are."
        )
    if not np.array_equal(table, np.arange(len(table))):
        codes = table[codes]
    if missing is not None:
        codes = np.where(missing, -1, codes)
    return codes


def _in_order(
    sensitive_features: Any, groups: tuple[Hashable, ...], names: tuple[str, ...] | None
) -> Columns:
    """The columns, as many as in the fit and in its order."""
    columns = to_columns(sensitive_features, "sensitive_features")
    check_lengths(columns)
    found = column_names(sensitive_features)
    if names is not None and found is not None:
        if set(found) != set(names):
            raise ValueError(
                f"sensitive_features has the {_listed(found)}, but the repair knows groups by the "
                f"{_listed(names)}."
            )
        given = list(columns.items())
        return dict(given[found.index(name)] for name in names)
    known_by = len(groups[0]) if isinstance(groups[0], tuple) else 1
    if len(columns) != known_by:
        raise ValueError(
            f"sensitive_features has {counted(len(columns), 'column')}, but the repair knows "
            f"groups by {known_by}."
        )
    return columns


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(repr(name) for name in names[:10]) + (", …" if len(names) > 10 else "")
    return f"column {shown}" if len(names) == 1 else f"columns {shown}"


def _refuse_missing(columns: Columns) -> None:
    """If a group is missing, say so and what can be done about it."""
    for name, column in columns.items():
        gone = _gone(column)
        if gone.any():
            raise ValueError(
                f"{name} is missing at row {int(np.argmax(gone))}, and without a group there is no "
                "map: fill it in, or make the repair with unseen='pooled', which leaves such "
                "scores as they are."
            ) from None


def _filled(columns: Columns) -> tuple[Columns, NDArray[np.bool_]]:
    """The columns with missing groups filled with something, and where that is."""
    length = len(next(iter(columns.values())))
    missing = np.zeros(length, dtype=bool)
    found = {}
    for name, column in columns.items():
        gone = _gone(column)
        if gone.all() and length:
            column = np.zeros(length, dtype=np.intp)
        elif gone.any():
            column = np.where(gone, column[int(np.argmin(gone))], column)
        found[name] = column
        missing |= gone
    return found, missing


def _gone(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype.kind in "fcmM":
        return np.asarray(column != column)
    if column.dtype.kind in "OT":
        return np.array([is_missing(value) for value in column.astype(object).tolist()], dtype=bool)
    return np.zeros(len(column), dtype=bool)
