"""What is in the parts of a frame that several workers hold: summaries, which add up.

Which labels, groups and categories there are nobody knows who has seen one part only. Every part, a
data frame of pandas, is therefore summarised first; `frame_reading` says what the summaries of all
parts come to.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any, Self, final

import numpy as np

from evenscore.learning.encoding import MAX_CATEGORIES, FeatureEncoding, Level
from evenscore.scores.arrays import Floats, Ints
from evenscore.scores.labels import default_order, is_missing, shown
from evenscore.scores.sources import EXACT, to_array

MANY = 1000  # different labels or groups, from which on a column is an identifier

Key = tuple[Hashable, ...]


@final
@dataclass(frozen=True)
class LearningColumns:
    """Which columns of a frame are what.

    Parameters
    ----------
    label : str
        What a score is to predict.
    group : tuple of str
        What people are grouped by.
    weight : str or None
        How many rows a row stands for.
    features : tuple of str
        What a score may look at.
    """

    label: str
    group: tuple[str, ...]
    weight: str | None
    features: tuple[str, ...]

    @classmethod
    def of(
        cls,
        names: Sequence[Any],
        label: Any,
        group: Any,
        weight: Any = None,
        features: Any = None,
    ) -> Self:
        """Those of a frame with these columns; without `features`, all that are nothing else."""
        for parameter, name in (("label", label), ("weight", "" if weight is None else weight)):
            if not isinstance(name, str):
                raise TypeError(f"{parameter} must be the name of a column, not {_said(name)}.")
        grouped = () if group is None else _named(group, "group", one=True)
        special = [label, *grouped, *(() if weight is None else (weight,))]
        if features is None:
            chosen = [name for name in names if name not in special]
        else:
            chosen = [*_named(features, "features")]
        times = Counter(names)
        for name in [*special, *chosen]:
            if name not in times:
                known = ", ".join(map(shown, names[:20])) + ", …" * (len(names) > 20)
                raise ValueError(f"There is no column {shown(name)}; the columns are {known}.")
            if times[name] > 1:
                raise ValueError(f"There are several columns {shown(name)}: name each differently.")
            if not isinstance(name, str):  # scikit-learn knows no other names
                raise ValueError(
                    f"The name of column {shown(name)} is not a text: rename the columns, or say "
                    "which are features."
                )
        for name, number in Counter([*special, *chosen]).items():
            if number > 1:
                often = "twice" if number == 2 else f"{number} times"
                raise ValueError(
                    f"Column {shown(name)} is named {often}: a column is the label, a group, the "
                    "weight or a feature, and only one of these."
                )
        if not chosen:
            raise ValueError("There is no column left to be a feature.")
        return cls(label, grouped, weight, tuple(chosen))

    @property
    def names(self) -> list[str]:
        """All of them."""
        weight = () if self.weight is None else (self.weight,)
        return [self.label, *self.group, *weight, *self.features]


def _named(given: Any, parameter: str, *, one: bool = False) -> tuple[str, ...]:
    """The names of columns that somebody has passed: a list of texts, or a text if one will do."""
    if one and isinstance(given, str):
        return (given,)
    what = "the name of a column or a list of such names" if one else "a list of names of columns"
    listed = isinstance(given, Iterable) and not isinstance(given, str | bytes | set | frozenset)
    if not listed:
        raise TypeError(f"{parameter} must be {what}, not {_said(given)}.")
    names = tuple(given)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{parameter} must be {what}, and {_said(name)} is not a name.")
    return names


def _said(value: Any) -> str:
    """A parameter in a sentence: as Python writes it, or what it is if that takes several lines."""
    text = shown(value)
    return f"a value of type {type(value).__name__}" if "…" in text or "\n" in repr(value) else text


# ---------------------------------------------------------------------- what there is


@final
@dataclass(frozen=True)
class FeatureTraits:
    """What is known of a feature in some parts of a frame.

    Parameters
    ----------
    plain : bool
        Whether its type says everywhere that it holds numbers.
    numbers : bool
        Whether there are numbers.
    truths : frozenset of bool
        The truth values that there are, as such or as objects.
    levels : frozenset
        The texts and categories; truth values that stand among texts, too.
    missing, infinite, confused : int
        In how many rows there is no value, an infinite one, or one that doubles would confuse with
        another.
    """

    plain: bool = True
    numbers: bool = False
    truths: frozenset[bool] = frozenset()
    levels: frozenset[Level] = frozenset()
    missing: int = 0
    infinite: int = 0
    confused: int = 0

    @classmethod
    def of(cls, part: Any, name: str, *, native: bool) -> Self:
        """Of a column of a part; one that cannot be a feature is refused."""
        series = part[name]
        if not len(series):
            return cls()
        encoding = FeatureEncoding.fit(part[[name]], native=True)
        known = None if encoding is None else encoding.levels[0]
        kind, missing = series.dtype.kind, int(series.isna().sum())
        if known is not None:
            # One more than are allowed says as much as a million, which would have to be sent.
            sent = known if native else known[: MAX_CATEGORIES + 1]
            return cls(plain=False, levels=frozenset(sent), missing=missing)
        if kind == "b":
            truths = frozenset(map(bool, series.dropna().unique()))
            return cls(truths=truths, missing=missing)
        if kind not in "iuf":
            return cls._of_objects(series, plain=encoding is None)
        values = numbers_of(series, name)
        missing = int(np.isnan(values).sum())  # those of pyarrow count as values with pandas
        confused = 0
        if kind in "iu" and np.any(np.abs(values) >= EXACT):
            whole = series.dropna().to_numpy()
            confused = int(np.sum((whole > EXACT) | (whole < -EXACT)))
        infinite = int(np.isinf(values).sum())
        return cls(
            encoding is None,
            missing < len(series),
            missing=missing,
            infinite=infinite,
            confused=confused,
        )

    @classmethod
    def _of_objects(cls, series: Any, *, plain: bool) -> Self:
        present = [value for value in series.to_list() if not is_missing(value)]
        truths = {bool(value) for value in present if isinstance(value, bool | np.bool_)}
        numbers = [value for value in present if not isinstance(value, bool | np.bool_)]
        if any(isinstance(value, complex | np.complexfloating) for value in numbers):
            raise ValueError(
                f"Column {series.name!r} of X holds values of type complex: a feature is a real "
                "number, a truth value, a category or a text."
            )
        infinite = [value for value in numbers if abs(value) == np.inf]
        exact = (value for value in numbers if not isinstance(value, float | np.floating))
        return cls(
            plain,
            bool(numbers),
            frozenset(truths),
            missing=len(series) - len(present),
            infinite=len(infinite),
            confused=sum(abs(value) > EXACT and abs(value) != np.inf for value in exact),
        )

    def __add__(self, other: "FeatureTraits") -> "FeatureTraits":
        return FeatureTraits(
            self.plain and other.plain,
            self.numbers or other.numbers,
            self.truths | other.truths,
            self.levels | other.levels,
            self.missing + other.missing,
            self.infinite + other.infinite,
            self.confused + other.confused,
        )

    def order(self, name: str, *, native: bool) -> tuple[Level, ...] | None:
        """The levels, if this is a category of all parts together, in order."""
        if self.levels and self.numbers:
            texts = [level for level in self.levels if isinstance(level, str)]
            what = "texts" if texts else "categories"
            first = default_order(texts or self.levels)[0]
            raise ValueError(
                f"Column {shown(name)} holds numbers in one part of the frame and {what} "
                f"({shown(first)}) in another: make it one or the other."
            )
        if self.levels or (self.missing and not native and not self.numbers):
            levels: Any = default_order(self.levels | self.truths)
            if not native and len(levels) > MAX_CATEGORIES:
                raise ValueError(
                    f"Column {shown(name)} holds more than {MAX_CATEGORIES} different categories: "
                    "leave it out, make it numbers, or fit a DistributedBoostedScorer, which takes "
                    "them as one feature."
                )
            return tuple(levels) or None
        return None


@final
@dataclass(frozen=True)
class Summary:
    """What is known of some parts of a frame.

    Parameters
    ----------
    n : int
        How many rows there are.
    cells : Counter
        How many rows have each label and groups.
    idle : Counter
        How many of them have a weight of zero.
    types : tuple of frozenset
        The types of the labels, and of the groups of each column.
    missing : Counter
        In how many rows the label, a group or the weight is missing.
    infinite, negative : int
        How many weights are infinite, or negative.
    features : tuple of FeatureTraits
        What is known of every feature.
    error : str
        What is wrong with a part, in a sentence.
    """

    n: int = 0
    cells: Counter[Key] = field(default_factory=Counter)
    idle: Counter[Key] = field(default_factory=Counter)
    types: tuple[frozenset[type], ...] = ()
    missing: Counter[str] = field(default_factory=Counter)
    infinite: int = 0
    negative: int = 0
    features: tuple[FeatureTraits, ...] = ()
    error: str = ""

    @classmethod
    def of(cls, part: Any, columns: LearningColumns, *, native: bool) -> Self:
        """Of one part; `native` as in `FeatureEncoding`."""
        try:
            lacking = [name for name in columns.names if name not in part.columns]
            if lacking:
                raise ValueError(f"A part of the frame has no column {shown(lacking[0])}.")
            return cls._of(part, columns, native=native)
        except ValueError as error:  # said by the driver, about all parts
            return cls(error=str(error))

    @classmethod
    def _of(cls, part: Any, columns: LearningColumns, *, native: bool) -> Self:
        coded = Coded.of(part, columns)
        missing, infinite, negative = coded.missing, 0, 0
        idle = np.zeros(len(part), dtype=bool)
        if columns.weight is not None:
            weight = numbers_of(part[columns.weight], columns.weight)
            missing[columns.weight] += int(np.isnan(weight).sum())
            infinite = int(np.isinf(weight).sum())
            negative = int(np.sum(weight < 0.0))
            idle = weight == 0.0
        features = []
        for name in columns.features:
            try:
                features.append(FeatureTraits.of(part, name, native=native))
            except (ValueError, TypeError, ArithmeticError, NotImplementedError) as error:
                raise ValueError(_sentence(error, name)) from None
        return cls(
            len(part),
            coded.counted(np.ones(len(part), dtype=bool)),
            coded.counted(idle),
            coded.types,
            missing,
            infinite,
            negative,
            tuple(features),
        )

    def __add__(self, other: "Summary") -> "Summary":
        if not self.features or not other.features:
            first = self if self.features else other
            types, features = first.types, first.features
        else:
            types = tuple(a | b for a, b in zip(self.types, other.types, strict=True))
            features = tuple(a + b for a, b in zip(self.features, other.features, strict=True))
        return Summary(
            self.n + other.n,
            self.cells + other.cells,
            self.idle + other.idle,
            types,
            self.missing + other.missing,
            self.infinite + other.infinite,
            self.negative + other.negative,
            features,
            self.error or other.error,
        )


def _sentence(error: Exception, name: str) -> str:
    """What is wrong with a column, in a sentence about the frame, in which there is no X."""
    column, text = f"Column {name!r} of X", str(error)
    if text.startswith(column):
        return f"Column {shown(name)}{text.removeprefix(column)}"
    return f"Column {shown(name)} cannot be read: {' '.join(text.split()).rstrip('.')}."


@final
@dataclass(frozen=True)
class Coded:
    """The label and the groups of every row: its position among `keys`, −1 if some are missing."""

    codes: Ints
    keys: list[Key]
    types: tuple[frozenset[type], ...]
    missing: Counter[str]

    @classmethod
    def of(cls, part: Any, columns: LearningColumns) -> Self:
        """Those of a part."""
        codes: Ints = np.zeros(len(part), dtype=np.intp)
        keys: list[Key] = [()]
        absent, types, missing = np.zeros(len(part), dtype=bool), [], Counter[str]()
        for name in (columns.label, *columns.group):
            own, values = _factorised(part[name], name, columns)
            absent |= own < 0
            missing[name] = int(np.sum(own < 0))
            types.append(frozenset(map(type, values)))
            known = values or [None]
            # Coded anew after each column, the products stay small.
            codes, places = _compact(codes * len(known) + np.maximum(own, 0))
            pairs = (divmod(place, len(known)) for place in places)
            keys = [(*keys[i], known[j]) for i, j in pairs]
        return cls(np.where(absent, -1, codes), keys, tuple(types), missing)

    def counted(self, rows: Any) -> Counter[Key]:
        """How often each key occurs among some rows, given as a mask."""
        numbers = np.bincount(self.codes[rows & (self.codes >= 0)], minlength=len(self.keys))
        table: Counter[Key] = Counter()
        for key, number in zip(self.keys, numbers.tolist(), strict=True):
            if number:
                table[key] += number
        return table


def _factorised(series: Any, name: str, columns: LearningColumns) -> tuple[Ints, list[Any]]:
    """Positions among the different values of a column, −1 where missing, and these values."""
    import pandas as pd

    try:
        codes, different = pd.factorize(series.array, use_na_sentinel=True)
    except (TypeError, NotImplementedError):  # a value cannot be hashed
        values = series.to_list()
        odd = next((value for value in values if not _is_hashable(value)), values[0])
        what = "label" if name == columns.label else "group"
        raise ValueError(
            f"Column {shown(name)} holds values of type {type(odd).__name__}, which cannot be a "
            f"{what}."
        ) from None
    if len(different) > MANY:
        raise too_many(name, columns)
    array = to_array(pd.Series(different), f"Column {shown(name)}")  # as a whole column is read
    array = array.astype(str) if array.dtype.kind in "mM" else array
    values = [value.item() if isinstance(value, np.generic) else value for value in array.tolist()]
    lacking = np.array([is_missing(value) for value in values], dtype=bool)
    if lacking.any():  # a NaN of pyarrow is a value to pandas
        places = np.where(lacking, -1, np.cumsum(~lacking) - 1)
        codes = np.where(codes < 0, -1, places[codes])
        values = [value for value in values if not is_missing(value)]
    return codes.astype(np.intp, copy=False), values


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:  # so says a tuple that holds a list, too
        return False
    return True


def too_many(name: str, columns: LearningColumns) -> ValueError:
    """What is wrong with a column of so many labels or groups."""
    if name == columns.label:
        return ValueError(
            f"Column {shown(name)} must hold two different labels, but it holds more than {MANY:,}."
        )
    return ValueError(
        f"Column {shown(name)} holds more than {MANY:,} different values, too many to be groups: "
        "is it an identifier?"
    )


def _compact(codes: Ints) -> tuple[Ints, list[int]]:
    """Codes without gaps, and those that occur."""
    if not len(codes):
        return codes, []
    if int(codes.max()) > 4 * len(codes) + MANY:  # a table would take more room than the rows
        places, inverse = np.unique(codes, return_inverse=True)
        return inverse.reshape(-1), places.tolist()
    present = np.bincount(codes) > 0
    return (np.cumsum(present) - 1)[codes], np.flatnonzero(present).tolist()


def numbers_of(series: Any, name: str) -> Floats:
    """A column as doubles, NaN where missing; a text is no number, whatever it says."""
    if series.dtype.kind in "biuf":
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)
    values = [np.nan if is_missing(value) else value for value in series.to_list()]
    odd = [value for value in values if not isinstance(value, Real | Decimal | np.bool_)]
    if odd:
        raise ValueError(f"Column {shown(name)} must hold numbers, but it holds {shown(odd[0])}.")
    try:
        return np.array([*map(float, values)], dtype=np.float64)
    except OverflowError:
        raise ValueError(f"Column {shown(name)} holds a number beyond all doubles.") from None
