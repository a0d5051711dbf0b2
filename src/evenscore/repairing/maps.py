"""Increasing piecewise-linear maps of a score, what a repair is made of, and which is for whom."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenscore.scores.arrays import Bools, Floats, Ints
from evenscore.scores.distribution import to_floats
from evenscore.scores.labels import is_missing
from evenscore.scores.reading import group_positions
from evenscore.scores.sources import check_lengths, column_names, counted, to_columns

Unseen = Literal["error", "unchanged"]
Columns = dict[str, NDArray[Any]]

_FEW = 20  # groups, each of which is looked for in every chunk
_CHUNK = 1 << 16  # rows handled at a time: their temporaries stay in the cache


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
            given = getattr(self, name)
            array = _floats(given, name)
            if array.ndim != 1 or len(array) == 0 or not np.all(np.isfinite(array)):
                raise ValueError(f"The {name} of a map must be a list of finite numbers.")
            if not isinstance(given, np.ndarray) and any(isinstance(v, str | bool) for v in given):
                raise ValueError(
                    f"The {name} of a map must be a list of numbers, not {given!r:.80}."
                )
            repeated = array[1:] <= array[:-1]
            if repeated.any():
                k = int(np.argmax(repeated))
                raise ValueError(
                    f"The {name} of a map must increase, but {array[k + 1]:g} follows {array[k]:g}."
                )
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if len(self.x) != len(self.y):
            raise ValueError(f"A map has {len(self.x)} knots x but {len(self.y)} values y.")
        with np.errstate(over="ignore"):
            apart = [*np.diff(self.x), *np.diff(self.y), *(self.y - self.x)[[0, -1]]]
        if not np.all(np.isfinite(apart)):
            raise ValueError("The x and y of a map are too far apart for double precision.")

    @classmethod
    def through(cls, xs: Any, ys: Any) -> Self:
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


def _floats(given: Any, name: str) -> Floats:
    try:
        return np.array(to_floats(given, name))
    except (OverflowError, ValueError):
        raise ValueError(f"The {name} of a map must be a list of finite numbers.") from None


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
    mapped = np.empty(len(score))
    for start in range(0, len(score), _CHUNK):
        part = slice(start, start + _CHUNK)
        some, code, out = score[part], codes[part], mapped[part]
        left = len(some)
        present = range(len(maps)) if len(maps) < _FEW else np.unique(code[code >= 0])
        for group in present:
            rows = np.flatnonzero(code == group)
            out[rows] = maps[group](some[rows])
            left -= len(rows)
        if left:
            rows = np.flatnonzero(code < 0)
            out[rows] = some[rows]
    return mapped


# ---------------------------------------------------------------------- which map is for whom


def check_unseen(unseen: Any) -> None:
    """Refuse what is neither of the two."""
    if unseen not in ("error", "unchanged"):
        raise ValueError(f"unseen must be 'error' or 'unchanged', not {unseen!r}.")


def map_positions(
    sensitive_features: Any,
    groups: tuple[Hashable, ...],
    names: tuple[str, ...] | None,
    unseen: Unseen,
) -> Ints:
    """The position of everybody's group in `groups`; −1 for one that is unseen or missing.

    Columns that have names, and had `names` in the fit, are put in the order of the fit.

    >>> map_positions({"old": [0, 1], "sex": ["m", "f"]}, (("f", 1), ("m", 0)), ("sex", "old"),
    ...               "error")
    array([1, 0])
    """
    columns = _in_order(sensitive_features, groups, names)
    present = None
    if unseen == "unchanged":
        present = ~np.any([_gone(column) for column in columns.values()], axis=0)
        columns = {name: column[present] for name, column in columns.items()}
    try:
        codes, labels = group_positions(columns, None)
    except ValueError:
        for name, column in columns.items():
            gone = _gone(column)
            if gone.any():
                raise ValueError(
                    f"{name} is missing at row {int(np.argmax(gone))}, and without a group there "
                    "is no map: fill it in, or make the repair with unseen='unchanged', which "
                    "leaves such scores as they are."
                ) from None
        raise
    known = {group: position for position, group in enumerate(groups)}
    table = np.array([known.get(label, -1) for label in labels], dtype=np.intp)
    if unseen == "error" and len(table) and table.min() < 0:
        new = int(np.argmin(table))
        row = int(np.argmax(codes == new))
        raise ValueError(
            f"sensitive_features holds the group {labels[new]!r} at row {row}, for which the "
            f"repair has no map (it has {_listed(groups)}); unseen='unchanged' leaves such scores "
            "as they are."
        )
    if not np.array_equal(table, np.arange(len(table))):
        codes = table[codes]
    if present is None:
        return codes
    positions = np.full(len(present), -1, dtype=np.intp)
    positions[present] = codes
    return positions


def _in_order(
    sensitive_features: Any, groups: tuple[Hashable, ...], names: tuple[str, ...] | None
) -> Columns:
    """The columns, as many as in the fit and in its order."""
    columns = to_columns(sensitive_features, "sensitive_features")
    check_lengths(columns)
    own_names = column_names(sensitive_features)
    if names is not None and own_names is not None:
        if set(own_names) != set(names):
            raise ValueError(
                f"sensitive_features has the {_named(own_names)}, but the repair knows groups by "
                f"the {_named(names)}."
            )
        given = list(columns.items())
        return dict(given[own_names.index(name)] for name in names)
    known_by = len(groups[0]) if isinstance(groups[0], tuple) else 1
    if len(columns) != known_by:
        raise ValueError(
            f"sensitive_features has {counted(len(columns), 'column')}, but the repair knows "
            f"groups by {known_by}."
        )
    return columns


def _named(columns: tuple[str, ...]) -> str:
    return f"column{'s' if len(columns) > 1 else ''} {_listed(columns)}"


def _listed(labels: tuple[Hashable, ...]) -> str:
    return ", ".join(map(repr, labels[:10])) + (", …" if len(labels) > 10 else "")


def _gone(column: NDArray[Any]) -> Bools:
    if column.dtype.kind in "fcmM":
        return np.asarray(column != column)
    if column.dtype.kind in "OT":
        return np.array([is_missing(value) for value in column.astype(object).tolist()], dtype=bool)
    return np.zeros(len(column), dtype=bool)
