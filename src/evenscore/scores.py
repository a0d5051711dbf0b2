"""GroupedScores: how a score is distributed in each class of each group.

Everything an audit reports is a function of one table: (score, class, group) → total weight,
number of observations and sum of squared weights. This module builds that table, and is the only
place that decides which label is positive and in which order the groups come.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenscore.columns import check_lengths, column_reader, to_array, to_columns, to_numbers
from evenscore.distributions import Distribution, check_weights
from evenscore.labels import cross, default_order, encode, label_text
from evenscore.sorting import sort_rows

__all__ = [
    "CLASSES",
    "ClassName",
    "GroupedScores",
    "OneOrBoth",
    "check_scores",
    "class_names",
    "decode",
]

ClassName = Literal["negatives", "positives"]
CLASSES: tuple[ClassName, ClassName] = ("negatives", "positives")
OneOrBoth = Literal["negatives", "positives", "both"]

Floats = NDArray[np.float64]


def class_names(on: OneOrBoth) -> tuple[ClassName, ...]:
    """The classes that `on` means: one of them, or both."""
    if on == "both":
        return CLASSES
    if on not in CLASSES:
        raise ValueError(f"on must be 'negatives', 'positives' or 'both', not {on!r}.")
    return (on,)


@dataclass(frozen=True, eq=False)
class GroupedScores:
    """Scores by cell, a cell being (class, group); made by `from_arrays` or `from_table`.

    For K groups there are 2K cells, numbered class · K + group: the negatives of every group, then
    the positives, the paper's D = (H⁰, H¹, G⁰, G¹). The rows are the distinct (score, cell), in
    increasing order. A group may have an empty cell; what needs that cell is then NaN, with a
    reason, or raises. Observations of weight zero count for nothing.

    >>> scores = GroupedScores.from_arrays(
    ...     [0, 0, 1, 1, 1], [0.1, 0.7, 0.4, 0.7, 0.9], sensitive_features=list("abbaa"))
    >>> scores.groups
    ('a', 'b')
    >>> scores.cell_weights                       # negatives, then positives
    array([[1., 1.],
           [2., 1.]])
    >>> scores.merge(scores).prevalence
    0.6
    """

    groups: tuple[Hashable, ...]
    score: Floats
    cell: NDArray[np.unsignedinteger]
    weight: Floats
    count: Floats
    weight_squared: Floats

    # ------------------------------------------------------------------ making one

    @classmethod
    def from_arrays(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        sensitive_features: Any,
        pos_label: Any = None,
        sample_weight: Any = None,
        group_order: Sequence[Hashable] | None = None,
    ) -> GroupedScores:
        """One row an observation; columns are lists, NumPy, pandas, polars or pyarrow.

        `sensitive_features` is one column, or several whose intersections are the groups.
        `pos_label` may be left out for labels 0/1, −1/1 and False/True. `group_order` fixes the
        order of the groups (the first is the paper's 0) and may name groups that do not occur;
        by default labels are sorted.
        """
        score = to_numbers(y_score, "y_score")
        positive, codes, groups = decode(
            y_true, sensitive_features, pos_label=pos_label, group_order=group_order
        )
        columns = {"y_true": positive, "y_score": score, "sensitive_features": codes}
        if sample_weight is None:
            check_lengths(columns)
            return cls._build(score, positive, codes, groups)
        weight = to_numbers(sample_weight, "sample_weight")
        check_lengths({**columns, "sample_weight": weight})
        check_weights(weight, "sample_weight")
        return cls._build(score, positive, codes, groups, weight=weight)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        score: Hashable = "score",
        label: Hashable = "label",
        group: Hashable | list[Hashable] = "group",
        weight: Hashable | None = None,
        count: Hashable | None = None,
        weight_squared: Hashable | None = None,
        pos_label: Any = None,
        group_order: Sequence[Hashable] | None = None,
    ) -> GroupedScores:
        """One row many observations: what a GROUP BY of score, label and group returns.

        `table` is a data frame or a mapping of columns; the other arguments name its columns
        (`group` one or a list, whose intersections are the groups).
        `count` is the number of observations of a row (default 1), `weight` their total weight
        (default: the count), `weight_squared` the sum of their squared weights (default:
        weight²/count, as if the weights within a row were equal). A (score, label, group) may
        appear in several rows; they add up.

        >>> GroupedScores.from_table(
        ...     {"score": [0.2, 0.2, 0.8], "label": [0, 1, 1], "group": ["a", "b", "a"],
        ...      "n": [3, 2, 5]}, count="n").cell_counts
        array([[3., 0.],
               [5., 2.]])
        """
        column = column_reader(table)
        names = group if isinstance(group, list) else [group]
        if not names:
            raise ValueError("group must name at least one column.")
        values = to_numbers(column(score), str(score))
        positive = _positive(to_array(column(label), str(label)), pos_label, str(label))
        by_name = {str(name): to_array(column(name), str(name)) for name in names}
        codes, groups = _group_codes(by_name, group_order)
        lengths: dict[str, NDArray[Any]] = {str(score): values, str(label): positive, **by_name}
        numbers: dict[str, Floats] = {}
        for key, name in (("count", count), ("weight", weight), ("weight_squared", weight_squared)):
            if name is not None:
                lengths[str(name)] = numbers[key] = to_numbers(column(name), str(name))
                check_weights(numbers[key], str(name))
        check_lengths(lengths)
        if "count" in numbers:
            _check_counts(numbers["count"], numbers.get("weight"), str(count))
        if "weight_squared" in numbers:
            _check_squares(numbers, str(weight_squared))
        return cls._build(values, positive, codes, groups, **numbers)

    @classmethod
    def _build(
        cls,
        score: Floats,
        positive: NDArray[np.bool_],
        codes: NDArray[np.intp],
        groups: tuple[Hashable, ...],
        *,
        weight: Floats | None = None,
        count: Floats | None = None,
        weight_squared: Floats | None = None,
    ) -> GroupedScores:
        n_cells = 2 * len(groups)
        cell = codes.astype(np.min_scalar_type(max(n_cells - 1, 0)))
        cell += positive * cell.dtype.type(len(groups))
        if weight is None and count is None:
            rows = sort_rows(score, cell, n_cells, with_order=False)
            ones: Floats
            if rows.starts is None:
                ones = np.broadcast_to(np.float64(1.0), rows.score.shape)
            else:
                ones = np.diff(rows.starts, append=len(score)).astype(np.float64)
            return cls._frozen(groups, rows.score, rows.cell, ones, ones, ones)

        if count is None:
            count = np.ones(len(score))
        if weight is None:
            weight = count
        if weight_squared is None:
            with np.errstate(divide="ignore", invalid="ignore"):
                weight_squared = np.where(count > 0, weight * weight / count, 0.0)
        heavy = weight > 0
        if not heavy.all():
            score, cell = score[heavy], cell[heavy]
            weight, count, weight_squared = weight[heavy], count[heavy], weight_squared[heavy]
        rows = sort_rows(score, cell, n_cells, with_order=True)
        sums = [_sum_runs(column, rows.order, rows.starts) for column in (weight, count)]
        return cls._frozen(
            groups, rows.score, rows.cell, *sums, _sum_runs(weight_squared, rows.order, rows.starts)
        )

    @classmethod
    def _frozen(cls, groups: tuple[Hashable, ...], *columns: NDArray[Any]) -> GroupedScores:
        for column in columns:
            column.flags.writeable = False
        return cls(groups, *columns)

    def merge(self, other: GroupedScores) -> GroupedScores:
        """The table of the two sets of observations together: exactly that of their union.

        Groups keep this table's order, followed by those that only `other` has; if both are in
        the default (sorted) order, so is the result.
        """
        check_scores(other)
        new = [group for group in other.groups if group not in self.groups]
        groups = (*self.groups, *new)
        if all(list(table.groups) == default_order(table.groups) for table in (self, other)):
            groups = tuple(default_order(groups))
        parts = [table._recoded(groups) for table in (self, other)]
        positive, codes = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return self._build(
            np.concatenate([self.score, other.score]),
            positive,
            codes,
            groups,
            weight=np.concatenate([self.weight, other.weight]),
            count=np.concatenate([self.count, other.count]),
            weight_squared=np.concatenate([self.weight_squared, other.weight_squared]),
        )

    def _recoded(self, groups: tuple[Hashable, ...]) -> tuple[NDArray[Any], NDArray[Any]]:
        position = np.array([groups.index(group) for group in self.groups], dtype=np.intp)
        positive, code = np.divmod(self.cell.astype(np.intp), self.n_groups)
        return positive.astype(bool), position[code]

    def to_table(self) -> dict[str, NDArray[Any]]:
        """Columns score, label (0/1), group, weight, count, weight_squared, for `from_table`.

        Groups without anybody are not in it: to keep them and the order of the groups, read it with
        `from_table(…, group_order=scores.groups)`.
        """
        positive, code = np.divmod(self.cell.astype(np.intp), self.n_groups)
        labels = np.empty(self.n_groups, dtype=object)
        labels[:] = self.groups
        return {
            "score": self.score,
            "label": positive,
            "group": labels[code],
            "weight": self.weight,
            "count": self.count,
            "weight_squared": self.weight_squared,
        }

    # ------------------------------------------------------------------ what it knows

    def __len__(self) -> int:
        """Number of distinct (score, cell) rows."""
        return len(self.score)

    def __repr__(self) -> str:
        groups = ", ".join(label_text(group) for group in self.groups[:6])
        more = f", … ({self.n_groups} groups)" if self.n_groups > 6 else ""
        n = int(self.cell_counts.sum())
        return f"<GroupedScores: {n:,} observations, groups {groups}{more}>"

    @property
    def n_groups(self) -> int:
        """Number of groups, K."""
        return len(self.groups)

    @property
    def n_cells(self) -> int:
        """Number of cells, 2K."""
        return 2 * len(self.groups)

    @cached_property
    def cell_weights(self) -> Floats:
        """Total weight of each cell, shape (2, K): negatives, then positives."""
        return self._by_cell(self.weight)

    @cached_property
    def cell_counts(self) -> Floats:
        """Number of observations in each cell, shape (2, K)."""
        return self._by_cell(self.count)

    @cached_property
    def effective_sizes(self) -> Floats:
        """Effective sample size (Σw)²/Σw² of each cell, shape (2, K); 0 where empty."""
        sizes = np.zeros_like(self.cell_squares)
        np.divide(self.cell_weights**2, self.cell_squares, out=sizes, where=self.cell_squares > 0)
        return sizes

    @cached_property
    def cell_squares(self) -> Floats:
        """Sum of the squared weights of each cell, shape (2, K)."""
        return self._by_cell(self.weight_squared)

    def _by_cell(self, column: Floats) -> Floats:
        if column.strides == (0,) and len(column):  # one constant: count the rows instead
            totals = np.bincount(self.cell, minlength=self.n_cells) * column[0]
        else:
            totals = np.bincount(self.cell, weights=column, minlength=self.n_cells)
        return np.asarray(totals, dtype=np.float64).reshape(2, self.n_groups)

    @property
    def prevalence(self) -> float:
        """Share of positives, p; NaN without observations."""
        return float(_shares(self.cell_weights[1].sum(), self.cell_weights.sum()))

    @property
    def prevalence_by_group(self) -> Floats:
        """Share of positives in each group, p_z; NaN for an empty group."""
        return _shares(self.cell_weights[1], self.cell_weights.sum(axis=0))

    @property
    def group_share(self) -> Floats:
        """Share of each group, q_z."""
        return _shares(self.cell_weights.sum(axis=0), self.cell_weights.sum())

    @cached_property
    def has_ties(self) -> bool:
        """Whether two observations share a score."""
        return bool((self.count != 1.0).any() or (self.score[1:] == self.score[:-1]).any())

    def pairs(self) -> list[tuple[int, int]]:
        """All pairs (i, j), i < j, of group positions."""
        return [(i, j) for i in range(self.n_groups) for j in range(i + 1, self.n_groups)]

    def position(self, group: Hashable) -> int:
        """Position of a group label in `groups`."""
        try:
            return self.groups.index(group)
        except ValueError:
            known = ", ".join(repr(known) for known in self.groups[:10])
            raise ValueError(f"There is no group {group!r}; the groups are {known}.") from None

    def cell_name(self, cell: int) -> str:
        """For instance 'positives of Female'."""
        positive, group = divmod(cell, self.n_groups)
        return f"{CLASSES[positive]} of {label_text(self.groups[group])}"

    def empty_cells(self) -> list[str]:
        """Names of the cells without any weight."""
        return [self.cell_name(int(c)) for c in np.flatnonzero(self.cell_weights == 0)]

    def require_cells(self) -> None:
        """Raise one sentence if there are fewer than two groups or a cell is empty."""
        if self.n_groups < 2:
            found = f"only {self.groups[0]!r}" if self.groups else "none"
            raise ValueError(f"A gap needs at least two groups, but there is {found}.")
        for name, weights in zip(CLASSES, self.cell_weights, strict=True):
            if weights.sum() == 0:
                raise ValueError(
                    f"There are no {name} at all: every label is of the other class "
                    "(is pos_label right?)."
                )
        empty = self.empty_cells()
        if empty:
            raise ValueError(
                f"There are no {' and no '.join(empty[:4])}, so gaps of that group are undefined; "
                "merge it with another group or leave it out."
            )

    # ------------------------------------------------------------------ distributions

    @cached_property
    def cell_distributions(self) -> list[Distribution]:
        """The distribution of the score in each of the 2K cells."""
        return [self._select(np.flatnonzero(self.cell == c)) for c in range(self.n_cells)]

    def pooled(self, on: OneOrBoth) -> Distribution:
        """The distribution of the score over all groups together, of one class or of both."""
        classes = [CLASSES.index(name) for name in class_names(on)]
        return self._select(np.flatnonzero(np.isin(self.cell // self.n_groups, classes)))

    def mixture(self, proportions: Floats) -> Distribution:
        """The mixture of the cells in the given proportions (2K of them, adding up to one)."""
        proportions = np.asarray(proportions, dtype=np.float64)
        totals = self.cell_weights.reshape(-1)
        scale = np.divide(proportions, totals, out=np.zeros(self.n_cells), where=totals > 0)
        rows = np.flatnonzero(proportions[self.cell] > 0)
        factor = scale[self.cell[rows]]
        return Distribution(
            self.score[rows],
            self.weight[rows] * factor,
            self.count[rows],
            self.weight_squared[rows] * factor**2,
        )

    def _select(self, rows: NDArray[np.intp]) -> Distribution:
        if self.weight.strides == (0,):  # one observation a row: nothing to copy
            return Distribution(self.score[rows], np.broadcast_to(np.float64(1.0), rows.shape))
        columns = (self.weight, self.count, self.weight_squared)
        return Distribution(self.score[rows], *(column[rows] for column in columns))


def _shares(part: Any, whole: Any) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(part / whole)


def _sum_runs(
    column: Floats, order: NDArray[np.intp] | None, starts: NDArray[np.intp] | None
) -> Floats:
    assert order is not None
    return column[order] if starts is None else np.add.reduceat(column[order], starts)


def decode(
    y_true: Any,
    sensitive_features: Any,
    *,
    pos_label: Any = None,
    group_order: Sequence[Hashable] | None = None,
) -> tuple[NDArray[np.bool_], NDArray[np.intp], tuple[Hashable, ...]]:
    """Which rows are positive, the position of each row's group, and the group labels."""
    positive = _positive(to_array(y_true, "y_true"), pos_label, "y_true")
    columns = to_columns(sensitive_features, "sensitive_features")
    return positive, *_group_codes(columns, group_order)


def _positive(labels: NDArray[Any], pos_label: Any, name: str) -> NDArray[np.bool_]:
    """Which rows are positive; refuses more than two labels and a positive one left to guess."""
    codes, found = encode(labels, name)
    if len(found) > 2:
        shown = ", ".join(repr(label) for label in found[:5]) + (", …" if len(found) > 5 else "")
        raise ValueError(f"{name} must have two labels, but it has {len(found)} of them ({shown}).")
    if pos_label is None:
        if not set(found) <= {0, 1} and not set(found) <= {-1, 1}:
            shown = " and ".join(repr(label) for label in found)
            word = "labels" if len(found) > 1 else "label"
            raise ValueError(
                f"{name} has the {word} {shown}: say which is positive with pos_label."
            )
        pos_label = 1
    if pos_label in found:
        return np.asarray(codes == found.index(pos_label))
    if len(found) == 2:
        shown = " and ".join(repr(label) for label in found)
        raise ValueError(f"pos_label {pos_label!r} is not a label of {name}, which has {shown}.")
    return np.zeros(len(labels), dtype=bool)


def _check_counts(counts: Floats, weights: Floats | None, name: str) -> None:
    bad = np.flatnonzero(counts != np.round(counts))
    if bad.size:
        raise ValueError(f"{name} must hold whole numbers, but row {bad[0]} is {counts[bad[0]]:g}.")
    if weights is not None:
        bad = np.flatnonzero((counts == 0.0) & (weights > 0.0))
        if bad.size:
            raise ValueError(f"{name} is 0 at row {bad[0]}, where the weight is positive.")


def _check_squares(numbers: dict[str, Floats], name: str) -> None:
    """Σw² of c weights that add up to W lies between W²/c and W²."""
    squares = numbers["weight_squared"]
    counts = numbers.get("count", np.ones(len(squares)))
    square = numbers.get("weight", counts) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(counts > 0, square / counts, 0.0)
    bad = np.flatnonzero((squares < low * (1 - 1e-9)) | (squares > square * (1 + 1e-9)))
    if bad.size:
        raise ValueError(
            f"{name} is {squares[bad[0]]:g} at row {bad[0]}, which is no sum of squares of "
            "weights that add up to the weight there."
        )


def _group_codes(
    columns: dict[str, NDArray[Any]], group_order: Iterable[Any] | None
) -> tuple[NDArray[np.intp], tuple[Hashable, ...]]:
    """Group positions and group labels, in the given order or sorted."""
    check_lengths(columns)
    codes, found = cross([encode(column, name) for name, column in columns.items()])
    if group_order is None:
        return codes, tuple(found)
    if isinstance(group_order, str | bytes) or not isinstance(group_order, Iterable):
        raise ValueError(f"group_order must be a list of group labels, not {group_order!r}.")
    order = tuple(tuple(label) if isinstance(label, list) else label for label in group_order)
    if len(set(order)) < len(order):
        raise ValueError(f"group_order names a group twice: {order!r}.")
    missing = [label for label in found if label not in order]
    if missing:
        raise ValueError(f"There is a group {missing[0]!r}, which group_order does not name.")
    position = np.array([order.index(label) for label in found], dtype=np.intp)
    return position[codes], order


def check_scores(scores: object) -> None:
    """Refuse what is not a `GroupedScores`."""
    if not isinstance(scores, GroupedScores):
        raise TypeError(
            f"Expected a GroupedScores, not {type(scores).__name__}: "
            "make one with GroupedScores.from_arrays."
        )
