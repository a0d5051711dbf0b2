"""Frames that lie in parts with several workers: looked at part by part, then read part by part.

Every part is summarised first (`frame_summary`). What the summaries come to says how each part, a
data frame of pandas, becomes rows to learn from (`FrameReading`).

The rows of all parts are those that a scorer of one machine would read from the whole frame. What
cannot be read is found in the summaries: a worker that refused its rows later would do so alone,
and the others would wait for it.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Self, final

import numpy as np

from evenscore.learning.encoding import FeatureEncoding
from evenscore.learning.exchange import Exchange
from evenscore.learning.frame_summary import (
    MANY,
    Coded,
    Key,
    LearningColumns,
    Summary,
    numbers_of,
    too_many,
)
from evenscore.learning.training_set import TrainingSet
from evenscore.scores.arrays import Floats, Ints
from evenscore.scores.labels import MAX_LABEL, default_order, shown
from evenscore.scores.reading import group_positions

_NUMBERS = frozenset({bool, int, float})


@final
@dataclass(frozen=True, eq=False)
class FrameReading:
    """How a part of a frame becomes rows: what the labels, groups and categories of all parts are.

    Parameters
    ----------
    columns : LearningColumns
        Which columns are what.
    classes : tuple
        The two labels; a high score stands for the second.
    groups : tuple
        The groups, in order; all rows of one may weigh nothing.
    positions : dict
        The position among `groups` of the values of the group columns.
    encoding : FeatureEncoding or None
        How categories become numbers; None if all features are numbers.
    cells : dict
        How many rows of positive weight there are of each label and groups.
    """

    columns: LearningColumns
    classes: tuple[Any, Any]
    groups: tuple[Hashable, ...]
    positions: dict[Key, int]
    encoding: FeatureEncoding | None
    cells: dict[Key, int]

    @classmethod
    def of(
        cls, summaries: Sequence[Summary], columns: LearningColumns, *, native: bool, missing: bool
    ) -> Self:
        """From what is known of all parts; whatever cannot be learned from is refused.

        `missing` says whether features may lack values.
        """
        whole = reduce(Summary.__add__, summaries, Summary())
        _refuse(whole, columns)
        classes = _classes(whole, columns)
        groups, positions = _groups(whole, columns)
        encoding = _encoding(whole, columns, native=native, missing=missing)
        return cls(columns, classes, groups, positions, encoding, dict(whole.cells - whole.idle))

    @property
    def n_features(self) -> int:
        """Columns of the frame that are features."""
        return len(self.columns.features)

    def matrix(self, part: Any) -> Floats:
        """The features of a part, as numbers."""
        if self.encoding is not None:
            return self.encoding.transform(part[list(self.columns.features)])
        matrix = np.empty((len(part), self.n_features))
        for k, name in enumerate(self.columns.features):
            matrix[:, k] = numbers_of(part[name], name)
        return matrix

    def rows(self, parts: Sequence[tuple[int, Any]], exchange: Exchange) -> TrainingSet:
        """The rows of some parts, each with its number, as one worker holds them."""
        columns, pieces = self.columns, []
        width = self.n_features if self.encoding is None else sum(self.encoding.widths)
        for number, part in sorted(parts, key=lambda one: one[0]):
            weight = np.ones(len(part))
            if columns.weight is not None:
                weight = numbers_of(part[columns.weight], columns.weight)
                if not np.all(weight > 0.0):
                    part, weight = part.loc[weight > 0.0], weight[weight > 0.0]
            block = np.full(len(part), number, dtype=np.intp)
            pieces.append((self.matrix(part), self._cells(part), weight, block))
        nobody = np.zeros(0, dtype=np.intp)
        pieces.append((np.zeros((0, width)), nobody, np.zeros(0), nobody))
        X, cell, weight, block = (np.concatenate(column) for column in zip(*pieces, strict=True))
        positive, codes = np.divmod(cell, len(self.groups))
        return TrainingSet(
            X,
            positive.astype(bool),
            codes,
            self.groups,
            None if columns.weight is None else weight,
            exchange=exchange,
            block=block,
        )

    def _cells(self, part: Any) -> Ints:
        """Class · K + group of every row."""
        coded = Coded.of(part, self.columns)
        cells = [
            self.positions[key[1:]] + len(self.groups) * (key[0] == self.classes[1])
            for key in coded.keys
        ]
        return np.array(cells, dtype=np.intp)[coded.codes]


def _refuse(whole: Summary, columns: LearningColumns) -> None:
    """Refuse labels, groups and weights that cannot be learned from, in a sentence about all."""
    if whole.error:
        raise ValueError(whole.error)
    if not whole.n:
        raise ValueError("The frame has no rows.")
    keys = columns.label, *columns.group
    for name in (*keys, *(() if columns.weight is None else (columns.weight,))):
        if whole.missing[name]:
            rows = _share(whole.missing[name], whole)
            raise ValueError(
                f"Column {shown(name)} has no value in {rows}: fill in or drop such rows first."
            )
    weight = f"Column {shown(columns.weight)}"
    if whole.infinite:
        rows = _share(whole.infinite, whole)
        raise ValueError(f"{weight} is infinite in {rows}: every weight must be finite.")
    if whole.negative:
        rows = _share(whole.negative, whole)
        raise ValueError(f"{weight} is negative in {rows}: no weight may be below 0.")
    if whole.idle.total() == whole.n:
        raise ValueError(f"{weight} is 0 in every row: there is nobody to learn from.")
    for k, name in enumerate(keys):
        if len({key[k] for key in whole.cells}) > MANY:
            raise too_many(name, columns)


def _share(number: int, whole: Summary) -> str:
    """Some rows of all, in words."""
    return f"{number:,} of {whole.n:,} rows" if whole.n > 1 else "the only row"


def _classes(whole: Summary, columns: LearningColumns) -> tuple[Any, Any]:
    """The two labels, in order."""
    labels = _alike(default_order({key[0] for key in whole.cells}), whole.types[0])
    must = f"Column {shown(columns.label)} must hold two different labels"
    if len(labels) == 1:
        raise ValueError(f"{must}, but it holds {shown(labels[0])} only.")
    if len(labels) > 2:
        some = ", ".join(map(shown, labels[:5])) + (", …" if len(labels) > 5 else "")
        raise ValueError(f"{must}, but it holds {len(labels):,} of them ({some}).")
    if type(labels[0]) is not type(labels[1]):
        both = " and ".join(map(shown, labels))
        raise ValueError(f"{must} of one type, but it holds {both}.")
    weighed = {key[0] for key in whole.cells - whole.idle}
    if len(weighed) < 2:
        only = next(shown(label) for label in labels if label in weighed)
        raise ValueError(f"{must}, but all rows with a weight above 0 hold {only}.")
    return labels[0], labels[1]


def _groups(
    whole: Summary, columns: LearningColumns
) -> tuple[tuple[Hashable, ...], dict[Key, int]]:
    """The groups in order, and which of them the values of the group columns are."""
    if not columns.group:
        return ("all",), {(): 0}
    keys = list(dict.fromkeys(key[1:] for key in whole.cells))
    values = {}
    for k, name in enumerate(columns.group):
        known = _alike([key[k] for key in keys], whole.types[k + 1])
        _refuse_texts(known, name)
        values[name] = np.empty(len(keys), dtype=object)
        for row, value in enumerate(known):  # one by one: a tuple is a value here
            values[name][row] = value
    codes, groups = group_positions(values, None)
    return groups, dict(zip(keys, codes.tolist(), strict=True))


def _refuse_texts(values: Sequence[Any], name: str) -> None:
    """Refuse texts that cannot be labels."""
    for value in values:
        text = value.decode("latin-1") if isinstance(value, bytes) else value
        if isinstance(text, str) and len(text) > MAX_LABEL:
            raise ValueError(
                f"Column {shown(name)} holds a text of {len(text):,} characters ({shown(text)}), "
                f"and a group has at most {MAX_LABEL:,}."
            )
        if isinstance(text, str) and "\0" in text:
            raise ValueError(
                f"Column {shown(name)} holds a text with a NUL character ({shown(text)}), which no "
                "group may have."
            )


def _alike(values: Sequence[Any], types: frozenset[type]) -> list[Any]:
    """Values that are all numbers, in one type if parts of the frame have them in several.

    Whole numbers are whole, though a part that once had gaps may hold 1.0.
    """
    several = len(types) > 1 and types <= _NUMBERS
    if several and all(float(value).is_integer() for value in values):
        return [int(value) for value in values]
    return list(values)


def _encoding(
    whole: Summary, columns: LearningColumns, *, native: bool, missing: bool
) -> FeatureEncoding | None:
    """What the features of all parts are; None if all are numbers."""
    levels = []
    for name, traits in zip(columns.features, whole.features, strict=True):
        column = f"Column {shown(name)}"
        levels.append(traits.order(name, native=native))
        if traits.infinite:
            rows = _share(traits.infinite, whole)
            raise ValueError(f"{column} is infinite in {rows}: every number must be finite.")
        if traits.confused:
            rows = _share(traits.confused, whole)
            raise ValueError(
                f"{column} holds a number beyond 2^53 in {rows}, which double precision would "
                "confuse with others: rescale or rank them first."
            )
        if traits.missing and levels[-1] is None and not missing:
            if traits.missing == whole.n:
                raise ValueError(f"{column} has no value in any row: leave it out.")
            rows = _share(traits.missing, whole)
            raise ValueError(
                f"{column} has no value in {rows}, which a linear score does not take: fill in or "
                "drop such rows, or fit a DistributedBoostedScorer, which takes them."
            )
    if all(own is None for own in levels) and all(traits.plain for traits in whole.features):
        return None
    return FeatureEncoding(columns.features, tuple(levels), native)
