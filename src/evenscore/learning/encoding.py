"""Categories become numbers: data frames as people have them, a matrix as learners take it.

A column of a data frame is a number or one of L levels. A number stays as it is. A category is
either one column of codes 0, …, L − 1 (*native*, for trees that split sets of codes) or L columns,
the k-th of which is one where the value is the k-th level (*one-hot*). A missing category is no
level: NaN as a code, zeros in all L columns. Levels are sorted, whatever the order in which they
are met or declared, and those that do not occur are forgotten. True and False are the numbers 1 and
0; only where some are missing and a matrix may not hold NaN are they levels.

Arrays, sparse matrices and data frames that hold nothing but numbers need none of this.
"""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any, Self, final

import numpy as np
from scipy import sparse

from evenscore.scores.arrays import Floats
from evenscore.scores.labels import default_order, is_missing
from evenscore.scores.sources import EXACT, as_frame, check_exact

MAX_CATEGORIES = 100
"""A column with more levels is not spread over as many: it is an identifier, or free text."""

Level = str | bool | int | float


@final
@dataclass(frozen=True)
class FeatureEncoding:
    """What the columns of a data frame are, and how they become a matrix of numbers.

    Parameters
    ----------
    names : tuple
        Of the columns.
    levels : tuple
        For each column its levels in order, or None if it holds numbers.
    native : bool
        Whether a category is one column of codes, rather than a column per level.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31, 25, 40], "job": ["smith", None, "clerk"]})
    >>> encoding = FeatureEncoding.fit(frame, native=False)
    >>> encoding.feature_names
    ('age', "job='clerk'", "job='smith'")
    >>> encoding.transform(frame)
    array([[31.,  0.,  1.],
           [25.,  0.,  0.],
           [40.,  1.,  0.]])
    >>> FeatureEncoding.fit(frame, native=True).transform(frame)[:, 1]
    array([ 1., nan,  0.])
    """

    names: tuple[Any, ...]
    levels: tuple[tuple[Level, ...] | None, ...]
    native: bool

    @classmethod
    def fit(cls, X: Any, *, native: bool) -> Self | None:
        """What the columns of X are; None if X is not a data frame or holds nothing but numbers."""
        frame = _frame(X)
        if frame is None:
            return None
        columns = [*map(_Column, frame.iter_columns())]
        if all(column.is_plain(native) for column in columns):
            return None
        levels = tuple(column.levels(native) for column in columns)
        encoding = cls(tuple(_plain(column.name) for column in columns), levels, native)
        encoding.check_width()
        return encoding

    def check_width(self) -> None:
        """Refuse a column with more levels than can be spread over columns."""
        if self.native:
            return
        for name, levels in zip(self.names, self.levels, strict=True):
            if levels is not None and len(levels) > MAX_CATEGORIES:
                raise ValueError(
                    f"Column {name!r} of X has {len(levels):,} different categories, more than "
                    f"{MAX_CATEGORIES}: leave it out, make it numbers, or fit an EvenScorer, "
                    "which takes them as one feature."
                )

    @property
    def widths(self) -> tuple[int, ...]:
        """How many columns of the matrix each column becomes."""
        return tuple(1 if self.native or one is None else len(one) for one in self.levels)

    @property
    def sources(self) -> tuple[int, ...]:
        """For each column of the matrix, the number of the column that it comes from."""
        return tuple(np.repeat(np.arange(len(self.widths)), self.widths).tolist())

    @property
    def categorical(self) -> tuple[int, ...]:
        """The columns of the matrix that hold codes."""
        if not self.native:
            return ()
        return tuple(k for k, levels in enumerate(self.levels) if levels is not None)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What each column of the matrix is called."""
        names: list[str] = []
        for name, levels in zip(self.names, self.levels, strict=True):
            whole = self.native or levels is None
            names += [str(name)] if whole else [f"{name}={level!r}" for level in levels or ()]
        return tuple(names)

    def require_frame(self, X: Any) -> None:
        """Refuse anything but a data frame: which category a number of an array is nobody knows."""
        if _frame(X) is None:
            raise ValueError(
                f"This scorer was fitted on a data frame with columns that an array of numbers "
                f"cannot hold: pass a data frame to score, not {type(X).__name__}."
            )

    def transform(self, X: Any) -> Floats:
        """The matrix of a data frame with these columns, in this order.

        Categories that `fit` has not met are missing, and one warning counts them.
        """
        frame = _frame(X)
        n, columns = len(frame), map(_Column, frame.iter_columns())
        matrix, start, unseen = np.zeros((n, sum(self.widths))), 0, []
        for column, levels, width in zip(columns, self.levels, self.widths, strict=True):
            if levels is None:
                matrix[:, start] = column.numbers()
            else:
                codes, unknown = column.codes(levels)
                if unknown:
                    unseen.append(column.count(unknown))
                if self.native:
                    matrix[:, start] = codes
                else:
                    rows = np.flatnonzero(~np.isnan(codes))
                    matrix[rows, start + codes[rows].astype(np.intp)] = 1.0
            start += width
        if unseen:
            text = "; ".join(unseen)
            warnings.warn(f"{text}; they are treated as missing.", UserWarning, stacklevel=4)
        return matrix


@dataclass(eq=False)
class _Column:
    """A column of a data frame, of whatever library."""

    series: Any

    def __post_init__(self) -> None:
        self.name, self.dtype = self.series.name, self.series.dtype

    def __str__(self) -> str:
        return f"Column {_plain(self.name)!r} of X"

    def __len__(self) -> int:
        return len(self.series)

    # ------------------------------------------------------------------ what it is

    def is_plain(self, native: bool) -> bool:
        """Whether its type says that it holds numbers, and NumPy reads them as they are."""
        import narwhals as nw

        if self.dtype == nw.Boolean:
            return native or not self.series.is_null().any()
        if self.dtype == nw.Unknown:  # a sparse column of pandas, for one
            return self.series.to_numpy().dtype.kind in "biufc"
        return bool(self.dtype.is_numeric() and not self.is_exact)

    @property
    def is_exact(self) -> bool:
        """Whether it holds numbers of which NumPy knows no type."""
        import narwhals as nw

        return self.dtype in (nw.Decimal, nw.Int128, nw.UInt128)

    def levels(self, native: bool) -> tuple[Level, ...] | None:
        """Its levels, if it holds categories; a column that cannot be a feature is refused."""
        import narwhals as nw

        if self.is_plain(native) or self.is_exact:
            return None
        kinds = nw.Boolean, nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Unknown
        if self.dtype not in kinds:
            raise self._refused(str(self.dtype))
        meanings = self.meanings.values()
        if not meanings:
            return None
        if self.dtype in (nw.Object, nw.Unknown, nw.Boolean):
            texts = [value for value in meanings if isinstance(value, str)]
            numbers = [value for value in meanings if not isinstance(value, str | bool)]
            if numbers and texts:
                raise ValueError(
                    f"{self} holds both numbers and texts ({numbers[0]!r} and {texts[0]!r}): make "
                    "it one or the other."
                )
            whole = len(meanings) == len(self.different)
            if not texts and (numbers or native or whole):
                return None
        return tuple(default_order(set(meanings)))  # type: ignore[arg-type]

    # ------------------------------------------------------------------ its values

    @cached_property
    def values(self) -> list[Any]:
        """One by one: in an array, missing categories of pyarrow would become others."""
        return list(self.series.to_list())

    @cached_property
    def different(self) -> set[Hashable]:
        """The different values, missing ones included."""
        try:
            return set(self.values)
        except TypeError:
            odd = [value for value in self.values if not isinstance(value, Hashable)]
            raise self._refused(type(odd[0]).__name__ if odd else "NaN that signals") from None

    @cached_property
    def meanings(self) -> dict[Hashable, Any]:
        """The different values that are not missing, with the number or level that each is."""
        import narwhals as nw

        declared = self.dtype in (nw.Categorical, nw.Enum)
        return {
            value: self._meaning(value, declared)
            for value in self.different
            if not is_missing(value)
        }

    def numbers(self) -> Floats:
        """As doubles, NaN where missing; whatever is not a number is refused."""
        import narwhals as nw

        numeric = self.dtype.is_numeric() and not self.is_exact
        if numeric or self.dtype in (nw.Boolean, nw.Unknown):
            array = self.series.to_numpy()
            if array.dtype.kind in "biuf":
                return np.asarray(array, dtype=np.float64)
        self.refuse_confused()
        table = {value: self._number(meaning) for value, meaning in self.meanings.items()}
        return self._mapped(table)

    def refuse_confused(self) -> None:
        """Refuse numbers that doubles would confuse with others."""
        array = np.empty(len(self), dtype=object)
        array[:] = self.values
        check_exact(array, f"{self}")

    def codes(self, levels: Sequence[Level]) -> tuple[Floats, dict[Hashable, Level]]:
        """Positions among levels, NaN where missing or unknown; and the unknown values."""
        position = {level: float(k) for k, level in enumerate(levels)}
        table, unknown = {}, {}
        for value, level in self.meanings.items():
            if level in position:
                table[value] = position[level]
            else:
                unknown[value] = level
        return self._mapped(table), unknown

    def count(self, unknown: Mapping[Hashable, Level]) -> str:
        """How many rows hold unknown categories, in words."""
        number = sum(value in unknown for value in self.values)
        known = default_order(set(unknown.values()))
        shown = ", ".join(map(repr, known[:3])) + (", …" if len(known) > 3 else "")
        rows = f"{number:,} of {len(self):,} rows" if len(self) > 1 else "The row"
        return (
            f"{rows} {'hold' if len(self) > 1 else 'holds'} categories of {_plain(self.name)!r} "
            f"that were not seen in training ({shown})"
        )

    def _mapped(self, table: Mapping[Hashable, float]) -> Floats:
        nan = np.nan
        return np.array([table.get(value, nan) for value in self.values], dtype=np.float64)

    def _meaning(self, value: Any, declared: bool) -> Any:
        """The number or level; of categories declared as such, intervals for one, the text."""
        value = _plain(value)
        if isinstance(value, str | Real | Decimal):
            return value
        if declared:
            return str(value)
        raise self._refused(type(value).__name__)

    def _number(self, value: Any) -> float:
        if isinstance(value, str):
            raise ValueError(f"{self} holds {value!r}, but in training it held numbers.")
        return float(value)

    def _refused(self, kind: str) -> ValueError:
        return ValueError(
            f"{self} holds values of type {kind}: a feature is a number, a truth value, a category "
            "or a text."
        )


def refuse_confused(X: Any) -> None:
    """Refuse numbers of X beyond 2^53 that doubles confuse, naming column and row."""
    frame = _frame(X)
    if frame is not None:
        for series in frame.iter_columns():
            some = series.dtype.is_integer() and series.null_count() < len(series)
            if some and (series.max() > EXACT or series.min() < -EXACT):
                _Column(series).refuse_confused()
    elif isinstance(X, np.ndarray | list | tuple):
        try:
            array = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
        except ValueError:
            return  # of different lengths, which is for others to say
        if array.ndim == 2 and array.dtype != np.float64:
            for k in range(array.shape[1]):
                check_exact(array[:, k], f"Column {k} of X")


def _frame(X: Any) -> Any:
    """X as a narwhals data frame, or None if it is none."""
    if isinstance(X, np.ndarray | list | tuple) or sparse.issparse(X):
        return None
    return as_frame(X, "X")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


# ---------------------------------------------------------------------- what is missing


def missing_values(X: Any, names: Sequence[Any] | None, scorer: str) -> ValueError:
    """That numbers are missing, where, and who takes them as they are.

    >>> print(missing_values(np.array([[1.0, np.nan]]), ["age", "pay"], "LinearScorer"))
    Column 'pay' of X is missing (NaN) in 1 of 1 rows, which LinearScorer does not take: fill in
    or drop such rows, or fit an EvenScorer, which takes them.
    """
    if sparse.issparse(X):
        X = sparse.csc_array(X)
        lacking = np.bincount(X.tocoo().col[np.isnan(X.data)], minlength=X.shape[1])
    else:
        lacking = np.isnan(X).sum(axis=0)
    columns = np.flatnonzero(lacking)
    first = int(columns[0])
    others = f" (and {len(columns) - 1} more)" if len(columns) > 1 else ""
    name = first if names is None else repr(names[first])
    return ValueError(
        f"Column {name} of X{others} is missing (NaN) in {lacking[first]:,} of {X.shape[0]:,} "
        f"rows, which {scorer} does not take: fill in or drop such rows, or fit an EvenScorer, "
        "which takes them."
    )
