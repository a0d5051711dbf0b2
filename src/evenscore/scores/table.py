"""GroupedScores: how a score is distributed in each class of each group.

Everything an audit reports is a function of one table: (score, class, group) → total weight,
number of observations and sum of squared weights. This module builds that table from rows that
`reading` has decoded.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenscore.scores.arrays import Bools, Floats, Ints, ratio, starts_of_runs
from evenscore.scores.binned import Binned
from evenscore.scores.bins import Bins
from evenscore.scores.clusters import Clusters
from evenscore.scores.distribution import Distribution, check_weights
from evenscore.scores.labels import default_order, label_text
from evenscore.scores.reading import group_positions, positive_rows, read_rows
from evenscore.scores.sorting import sort_rows
from evenscore.scores.sources import check_lengths, column_reader, to_array, to_numbers
from evenscore.scores.stored import OPTIONAL, read_columns, write_columns

ClassName = Literal["negatives", "positives"]
CLASSES: tuple[ClassName, ClassName] = ("negatives", "positives")
OneOrBoth = Literal["negatives", "positives", "both"]


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

    Parameters
    ----------
    groups
        The labels of the groups, in order.
    score, cell
        The score and the cell of each row.
    weight, count, weight_squared
        The total weight of a row's observations, their number, and the sum of their squared
        weights.
    clusters
        Which observations belong together; None if all are taken to be independent.
    binned
        What the scores of the table stand for, where they are bins; None if they are scores.

    Examples
    --------
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
    clusters: Clusters | None = field(default=None, kw_only=True)
    binned: Binned | None = field(default=None, kw_only=True)

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
        cluster: Any = None,
        group_order: Sequence[Hashable] | None = None,
    ) -> "GroupedScores":
        """One row per observation; columns are lists, NumPy, pandas, polars or pyarrow.

        Parameters
        ----------
        y_true
            Labels; two different ones at most.
        y_score
            Scores.
        sensitive_features
            One column of groups, or several whose intersections are the groups.
        pos_label
            The positive label; may be left out for labels 0/1, −1/1 and False/True.
        sample_weight
            Weights of at least 0.
        cluster
            Who or what a row is about, where there are several rows per person, household or
            branch: rows of one cluster are not taken to be independent.
        group_order
            The groups in order (the first is the paper's 0); may name some that do not occur. By
            default groups are sorted.

        Returns
        -------
        GroupedScores
            The table.
        """
        rows = read_rows(
            y_true,
            sensitive_features,
            y_score=to_array(y_score, "y_score"),
            pos_label=pos_label,
            sample_weight=sample_weight,
            cluster=cluster,
            group_order=group_order,
        )
        return rows.grouped()

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
    ) -> "GroupedScores":
        """One row per many observations: what a GROUP BY of score, label and group returns.

        A (score, label, group) may appear in several rows; they add up.

        Parameters
        ----------
        table
            A data frame or a mapping of columns; the next arguments name its columns.
        score, label
            The score and the label of each row.
        group
            A column of groups, or a list of columns whose intersections are the groups.
        weight
            The total weight of each row's observations; by default their count.
        count
            The number of observations of each row; by default 1.
        weight_squared
            The sum of their squared weights; by default weight²/count, as if the weights within a
            row were equal.
        pos_label, group_order
            As in `from_arrays`.

        Returns
        -------
        GroupedScores
            The table.

        Examples
        --------
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
        positive = positive_rows(to_array(column(label), str(label)), pos_label, str(label))
        by_name = {str(name): to_array(column(name), str(name)) for name in names}
        codes, groups = group_positions(by_name, group_order)
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
        return cls.from_codes(values, positive, codes, groups, **numbers)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        score: str,
        label: str,
        group: str | Sequence[str],
        weight: str | None = None,
        pos_label: Any = None,
        group_order: Sequence[Hashable] | None = None,
        accuracy: float = 1e-4,
        cuts: Any = None,
        bins: Bins | None = None,
        drop_missing: bool = False,
        cluster: Any = None,
    ) -> "GroupedScores":
        """One row per observation, where the data are: a frame of any engine.

        The engine groups the rows, and only the groups come back. A frame of more than 100,000 rows
        is gone through five times at most; if it has too many distinct scores, they are put into
        bins, and the table says what the order within them leaves unknown (`binned`).

        Parameters
        ----------
        frame
            A pandas, polars or pyarrow frame, a lazy frame of polars, a DuckDB relation, a Spark
            DataFrame, a Dask collection or an Ibis table.
        score, label, weight
            The names of its columns.
        group
            The name of a column of groups, or of several whose intersections are the groups.
        pos_label, group_order
            As in `from_arrays`.
        accuracy
            By how much bins may leave an AUC between two cells uncertain, and a rate at a cut ten
            times as much. It is not reached where that would take too many rows, and `binned` says
            so. 0 asks for every distinct score.
        cuts
            The `Cuts` that will be used: bins are finest there, and exact at thresholds.
        bins
            Those of another table, `other.binned.bins`, so that the two can be merged.
        drop_missing
            Leave out rows in which a value is missing, instead of refusing them.
        cluster
            Refused: only rows say which of them belong together.

        Returns
        -------
        GroupedScores
            The table.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"score": [0.1, 0.7, 0.4], "paid": [0, 1, 1], "sex": list("fmf")})
        >>> GroupedScores.from_frame(frame, score="score", label="paid", group="sex").cell_counts
        array([[1., 0.],
               [1., 1.]])
        """
        from evenscore.scores.frames import read_frame  # it makes tables

        refuse_clusters(cluster)
        return read_frame(
            frame,
            score=score,
            label=label,
            group=group,
            weight=weight,
            pos_label=pos_label,
            group_order=group_order,
            accuracy=accuracy,
            cuts=cuts,
            bins=bins,
            drop_missing=drop_missing,
        ).scores

    @classmethod
    def from_codes(
        cls,
        score: Floats,
        positive: Bools,
        codes: NDArray[np.integer[Any]],
        groups: tuple[Hashable, ...],
        *,
        weight: Floats | None = None,
        count: Floats | None = None,
        weight_squared: Floats | None = None,
        cluster: NDArray[Any] | None = None,
    ) -> "GroupedScores":
        """From arrays that are decoded already, which are not checked again.

        Parameters
        ----------
        score
            Finite scores.
        positive
            Whether each row is of the positive class.
        codes
            The position of each row's group in `groups`.
        groups
            The labels of the groups.
        weight, count, weight_squared
            As in `from_table`.
        cluster
            The number of each row's cluster, one observation per row.

        Returns
        -------
        GroupedScores
            The table.

        Examples
        --------
        >>> GroupedScores.from_codes(
        ...     np.array([0.3, 0.1]), np.array([True, False]), np.array([0, 1]), ("a", "b")).score
        array([0.1, 0.3])
        """
        n_cells = 2 * len(groups)
        cell = codes.astype(np.min_scalar_type(max(n_cells - 1, 0)))
        cell += positive * cell.dtype.type(len(groups))
        if weight is None and count is None and cluster is None:
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
            weight_squared = ratio(weight * weight, count, 0.0)
        columns = [weight, count, weight_squared]
        heavy = weight > 0
        if not heavy.all():
            score, cell, *columns = (column[heavy] for column in (score, cell, *columns))
            cluster = None if cluster is None else cluster[heavy]
        rows = sort_rows(score, cell, n_cells, with_order=True)
        sums = (_sum_runs(column, rows.order, rows.starts) for column in columns)
        table = cls._frozen(groups, rows.score, rows.cell, *sums)
        if cluster is None:
            return table
        assert rows.order is not None
        starts = np.arange(len(score)) if rows.starts is None else rows.starts
        row = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(score)))
        # Numbered as they are met in the table: neither the order of rows nor names matter.
        _, first, number = np.unique(cluster[rows.order], return_index=True, return_inverse=True)
        place = np.empty(len(first), dtype=np.intp)
        place[np.argsort(first)] = np.arange(len(first))
        members = Clusters(row, place[number.reshape(-1)], columns[0][rows.order], len(first))
        return replace(table, clusters=members)

    @classmethod
    def from_bins(
        cls,
        bins: Bins | None,
        key: Ints,
        lowest: Floats,
        highest: Floats,
        positive: Bools,
        codes: NDArray[np.integer[Any]],
        groups: tuple[Hashable, ...],
        **sums: Floats,
    ) -> "GroupedScores":
        """From rows that are people of one bin, one class and one group, decoded already.

        Parameters
        ----------
        bins
            The bins; they are kept, so that tables of the same bins can be added up. None if they
            are not known.
        key
            The number of each row's bin.
        lowest, highest
            The lowest and the highest score in each row.
        positive, codes, groups
            As in `from_codes`.
        **sums
            weight, count and weight_squared, as in `from_codes`.

        Returns
        -------
        GroupedScores
            The table, in which the score of a bin is the highest in it.

        Examples
        --------
        >>> scores = GroupedScores.from_bins(
        ...     Bins.between(0.0, 1.0, (1,)), np.array([0, 0]), np.array([0.1, 0.2]),
        ...     np.array([0.3, 0.4]), np.array([False, True]), np.array([0, 0]), ("a",))
        >>> scores.score, scores.binned.lowest
        (array([0.4, 0.4]), array([0.1]))
        """
        _, place = np.unique(key, return_inverse=True)
        place = place.reshape(-1)
        low, high = np.full((2, int(place.max(initial=-1)) + 1), np.inf)
        np.minimum.at(low, place, lowest)
        np.minimum.at(high, place, -highest)
        high = -high
        if np.any(low[1:] <= high[:-1]):
            raise ValueError("The bins of these scores overlap: they were not made by one engine.")
        table = cls.from_codes(high[place], positive, codes, groups, **sums)
        return replace(table, binned=Binned(high, low, high, bins))

    @classmethod
    def _frozen(cls, groups: tuple[Hashable, ...], *columns: NDArray[Any]) -> "GroupedScores":
        for column in columns:
            column.flags.writeable = False
        return cls(groups, *columns)

    def merge(self, other: "GroupedScores") -> "GroupedScores":
        """The table of the two sets of observations together: exactly that of their union.

        Tables of bins add up if the bins are the same ones (`from_frame(…, bins=…)`); one of
        scores is put into the bins of the other.

        Parameters
        ----------
        other
            Another table.

        Returns
        -------
        GroupedScores
            Groups keep this table's order, followed by those that only `other` has; if both are
            in the default (sorted) order, so is the result.
        """
        check_scores(other)
        if self.clusters is not None or other.clusters is not None:
            raise ValueError(
                "Tables with clusters do not add up: who is in both is not known. Join the rows "
                "first, and pass the clusters of all of them."
            )
        new = [group for group in other.groups if group not in self.groups]
        groups = (*self.groups, *new)
        if all(list(table.groups) == default_order(table.groups) for table in (self, other)):
            groups = tuple(default_order(groups))
        positive, codes = [], []
        for table in (self, other):
            position = np.array([groups.index(group) for group in table.groups], dtype=np.intp)
            positive.append(table._decoded()[0].astype(bool))
            codes.append(position[table._decoded()[1]])
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("score", *OPTIONAL)
        }
        people = (np.concatenate(positive), np.concatenate(codes), groups)
        score = columns.pop("score")
        bins = _common_bins(self, other)
        if bins is None:
            return self.from_codes(score, *people, **columns)
        ends = [_extent(table) for table in (self, other)]
        lowest, highest = (np.concatenate(parts) for parts in zip(*ends, strict=True))
        return self.from_bins(bins, bins.key(highest), lowest, highest, *people, **columns)

    def regrouped(self, positions: Sequence[int], groups: tuple[Hashable, ...]) -> "GroupedScores":
        """The same people under other groups; rows of equal score and class add up.

        Parameters
        ----------
        positions
            For each group of this table, the position of its people's new group in `groups`; −1
            leaves them out.
        groups
            The labels of the new groups.

        Returns
        -------
        GroupedScores
            The table.

        Examples
        --------
        >>> scores = GroupedScores.from_arrays(
        ...     [0, 1, 1], [0.1, 0.7, 0.7], sensitive_features=list("abc"))
        >>> scores.regrouped([0, 1, 1], ("a", "all others")).cell_counts
        array([[1., 0.],
               [0., 2.]])
        """
        positive, codes = self._decoded()
        codes = np.asarray(positions, dtype=np.intp)[codes]
        kept = codes >= 0
        columns = {"score": self.score}
        if self.weight.strides != (0,):  # else every row is one observation of weight 1
            columns |= {name: getattr(self, name) for name in OPTIONAL}
        if not kept.all():
            positive, codes = positive[kept], codes[kept]
            columns = {name: column[kept] for name, column in columns.items()}
        table = self.from_codes(
            positive=positive.astype(bool), codes=codes, groups=groups, **columns
        )
        if self.clusters is None:
            return replace(table, binned=self.binned)
        score, cell = columns["score"], codes + len(groups) * positive
        order = np.lexsort((cell, score))
        starts = np.zeros(len(order), dtype=np.intp)
        starts[starts_of_runs(score[order], cell[order])] = 1
        rows = np.empty(len(order), dtype=np.intp)  # where each row of this table has gone
        rows[order] = np.cumsum(starts) - 1
        return replace(table, clusters=self.clusters.take(np.flatnonzero(kept)).moved(rows))

    @cached_property
    def mirrored(self) -> "GroupedScores":
        """The same people with all scores negated: whoever was lowest is highest.

        >>> scores = GroupedScores.from_arrays(
        ...     [0, 1, 1], [0.1, 0.7, 0.7], sensitive_features=list("abc"))
        >>> scores.mirrored.score
        array([-0.7, -0.7, -0.1])
        """
        order = np.lexsort((self.cell, -self.score))
        kept: dict[int, Floats] = {}  # a column that is another one stays so
        for column in (self.weight, self.count, self.weight_squared):
            if id(column) not in kept:
                kept[id(column)] = column if column.strides == (0,) else column[order]
        columns = (kept[id(c)] for c in (self.weight, self.count, self.weight_squared))
        table = self._frozen(self.groups, -self.score[order], self.cell[order], *columns)
        if self.clusters is None:
            return replace(table, binned=self.binned and self.binned.mirrored)
        rows = np.empty(len(order), dtype=np.intp)
        rows[order] = np.arange(len(order))
        return replace(table, clusters=self.clusters.moved(rows))

    def _decoded(self) -> tuple[Ints, Ints]:
        """The class and the group of each row."""
        return np.divmod(self.cell.astype(np.intp), max(self.n_groups, 1))

    def to_table(self) -> dict[str, NDArray[Any]]:
        """The columns for `from_table`.

        Groups without anybody are not in it: to keep them and the order of the groups, read it with
        `from_table(…, group_order=scores.groups)`.

        Returns
        -------
        dict
            score, label (0/1), group, weight, count, weight_squared.
        """
        positive, code = self._decoded()
        labels = np.empty(self.n_groups, dtype=object)
        labels[:] = self.groups
        return {
            "score": self.score,
            "label": positive,
            "group": labels[code],
            **{name: getattr(self, name) for name in OPTIONAL},
        }

    def save(self, path: str | PathLike[str], *, about: Mapping[str, Any] | None = None) -> Path:
        """Write the table to a JSON file, whole or not at all; `load` gives the same table again.

        Parameters
        ----------
        path
            The file to write.
        about
            What the table is about, to be kept beside it: the names of the columns `score`,
            `label`, `groups` and `weight`, and the labels `positive` and `negative`. Commands
            refuse to merge tables that are about different things.

        Returns
        -------
        Path
            The same path.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> scores = GroupedScores.from_arrays(
        ...     [0, 1], [0.1, 0.7], sensitive_features={"sex": ["f", "m"], "old": [0, 1]})
        >>> with TemporaryDirectory() as folder:
        ...     GroupedScores.load(scores.save(f"{folder}/scores.json")).groups
        (('f', 0), ('m', 1))
        """
        if self.clusters is not None:
            raise ValueError("A table with clusters cannot be saved: it would lose who is in them.")
        positive, code = self._decoded()
        columns = {"score": self.score, "label": positive, "group": code}
        if self.weight.strides != (0,):  # else every row is one observation of weight 1
            columns |= {name: getattr(self, name) for name in OPTIONAL}
        lists = {name: column.tolist() for name, column in columns.items()}
        if self.binned is None:
            return write_columns(path, self.groups, lists, about=about)
        if self.binned.bins is None:
            raise ValueError(
                "This table cannot be saved to be merged: its bins were made elsewhere, and what "
                "they are is not known."
            )
        lists["lowest"] = self.binned.extent(self.score)[0].tolist()
        return write_columns(path, self.groups, lists, self.binned.bins, about)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "GroupedScores":
        """Read the file that `save` wrote; whatever does not fit is refused in one sentence.

        Parameters
        ----------
        path
            The file to read.

        Returns
        -------
        GroupedScores
            The table, with the same groups in the same order.
        """
        groups, columns, bins = read_columns(path)
        named = {name: name for name in OPTIONAL if name in columns}
        try:
            scores = cls.from_table(columns, pos_label=1, group_order=range(len(groups)), **named)
            if bins is not None:
                binned = _binned(columns["score"], columns["lowest"], bins)
                scores = replace(scores, binned=binned)
        except ValueError as error:
            raise ValueError(f"{Path(path).name}: {error}") from None
        return replace(scores, groups=groups)

    # ------------------------------------------------------------------ what it knows

    def __len__(self) -> int:
        """Number of distinct (score, cell) rows."""
        return len(self.score)

    def __repr__(self) -> str:
        groups = ", ".join(self.names[:6])
        more = f", … ({self.n_groups} groups)" if self.n_groups > 6 else ""
        n = int(self.cell_counts.sum())
        return f"<GroupedScores: {n:,} observations, groups {groups}{more}>"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the groups are called."""
        return tuple(label_text(group) for group in self.groups)

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
        return self.by_cell(self.weight)

    @cached_property
    def cell_counts(self) -> Floats:
        """Number of observations in each cell, shape (2, K)."""
        return self.by_cell(self.count)

    @cached_property
    def effective_sizes(self) -> Floats:
        """Effective sample size (Σw)²/Σw² of each cell, shape (2, K); 0 where empty."""
        return ratio(self.cell_weights**2, self.cell_squares, 0.0)

    @cached_property
    def independent_sizes(self) -> Floats:
        """How many observations each cell is worth at the least, shape (2, K); 0 where empty.

        With clusters their effective number, which intervals rest on: a cell of three clusters of
        a hundred rows is worth three. Otherwise `effective_sizes`.
        """
        if self.clusters is None:
            return self.effective_sizes
        sizes = [cell.independent_size for cell in self.cell_distributions]
        return np.array(sizes, dtype=np.float64).reshape(2, self.n_groups)

    @cached_property
    def is_clustered(self) -> bool:
        """Whether two observations are of one cluster, whatever cells they are in."""
        clusters = self.clusters
        return clusters is not None and len(clusters.present) < self.cell_counts.sum()

    @cached_property
    def clusters_by_group(self) -> Floats | None:
        """How many clusters each group has rows of; None without clusters."""
        if self.clusters is None:
            return None
        group = self.cell[self.clusters.row].astype(np.intp) % max(self.n_groups, 1)
        found = np.unique(group * np.intp(self.clusters.n) + self.clusters.cluster)
        return np.bincount(found // self.clusters.n, minlength=self.n_groups).astype(np.float64)

    @cached_property
    def cell_squares(self) -> Floats:
        """Sum of the squared weights of each cell, shape (2, K)."""
        return self.by_cell(self.weight_squared)

    def by_cell(self, column: Floats) -> Floats:
        """The sums of a column over the rows of each cell, shape (2, K)."""
        if column.strides == (0,) and len(column):  # one constant: count the rows instead
            totals = np.bincount(self.cell, minlength=self.n_cells) * column[0]
        else:
            totals = np.bincount(self.cell, weights=column, minlength=self.n_cells)
        return np.asarray(totals, dtype=np.float64).reshape(2, self.n_groups)

    @property
    def prevalence(self) -> float:
        """Share of positives, p; NaN without observations."""
        return float(ratio(self.cell_weights[1].sum(), self.cell_weights.sum()))

    @property
    def prevalence_by_group(self) -> Floats:
        """Share of positives in each group, p_z; NaN for an empty group."""
        return ratio(self.cell_weights[1], self.cell_weights.sum(axis=0))

    @property
    def group_share(self) -> Floats:
        """Share of each group, q_z."""
        return ratio(self.cell_weights.sum(axis=0), self.cell_weights.sum())

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
        return f"{CLASSES[positive]} of {self.names[group]}"

    def empty_cells(self) -> list[str]:
        """Names of the cells without any weight."""
        return [self.cell_name(int(c)) for c in np.flatnonzero(self.cell_weights == 0)]

    def require_classes(self) -> None:
        """Raise one sentence if a class has nobody in it."""
        for name, weights in zip(CLASSES, self.cell_weights, strict=True):
            if weights.sum() == 0:
                raise ValueError(
                    f"There are no {name} at all: every label is of the other class "
                    "(is pos_label right?)."
                )

    def require_cells(self) -> None:
        """Raise one sentence if there are fewer than two groups or a cell is empty."""
        if self.n_groups < 2:
            known = f"only {self.groups[0]!r}" if self.groups else "none"
            raise ValueError(f"A gap needs at least two groups, but there is {known}.")
        self.require_classes()
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

    def of_class(self, on: ClassName) -> list[Distribution]:
        """The distribution of the score in one class of each group."""
        start = CLASSES.index(on) * self.n_groups
        return self.cell_distributions[start : start + self.n_groups]

    def sums_between(self, ends: Ints, *columns: Floats) -> Floats:
        """Sums of columns by cell, over the rows between two ends: (columns, ends, cells).

        `ends` are positions of rows, increasing; the first sum starts at the first row.
        """
        n_sums = len(ends) * self.n_cells
        place = np.repeat(np.arange(len(ends)) * self.n_cells, np.diff(ends, prepend=0))
        place += self.cell[: len(place)]
        sums = [np.bincount(place, column[: len(place)], n_sums) for column in columns]
        return np.array(sums, dtype=np.float64).reshape(len(columns), len(ends), self.n_cells)

    def pooled(self, on: OneOrBoth) -> Distribution:
        """The distribution of the score over all groups together, of one class or of both."""
        classes = class_names(on)
        if len(classes) == 2:
            return self._select(np.arange(len(self)))
        positive = self.cell >= self.n_groups
        return self._select(np.flatnonzero(positive if on == "positives" else ~positive))

    def mixture(self, proportions: Floats) -> Distribution:
        """The mixture of the cells in the given proportions (2K of them, adding up to one)."""
        proportions = np.asarray(proportions, dtype=np.float64)
        totals = self.cell_weights.reshape(-1)
        scale = ratio(proportions, totals, 0.0)
        rows = np.flatnonzero(proportions[self.cell] > 0)
        factor = scale[self.cell[rows]]
        return Distribution(
            self.score[rows],
            self.weight[rows] * factor,
            self.count[rows],
            self.weight_squared[rows] * factor**2,
        )

    def _select(self, rows: Ints) -> Distribution:
        if self.weight.strides == (0,):  # one observation a row: nothing to copy
            return Distribution(self.score[rows], np.broadcast_to(np.float64(1.0), rows.shape))
        return Distribution(
            self.score[rows],
            *(getattr(self, name)[rows] for name in OPTIONAL),
            clusters=None if self.clusters is None else self.clusters.take(rows),
        )


def refuse_clusters(cluster: Any) -> None:
    """Refuse clusters of a table that was grouped elsewhere."""
    if cluster is not None:
        raise ValueError(
            "Clusters need rows: a table of counts does not say which rows belong together, so "
            "pass the rows to audit(…, cluster=…) or to GroupedScores.from_arrays(…, cluster=…)."
        )


def _common_bins(first: GroupedScores, second: GroupedScores) -> Bins | None:
    """The bins of two tables, or of the one that has any."""
    known = [table.binned for table in (first, second) if table.binned is not None]
    if not known:
        return None
    bins = known[0].bins
    if bins is None or any(other.bins != bins for other in known):
        raise ValueError(
            "The scores of these tables were put into different bins, so that they do not add up: "
            "make both with the same ones (bins=first.binned.bins in from_frame, --bins-of on the "
            "command line)."
        )
    return bins


def _extent(table: GroupedScores) -> tuple[Floats, Floats]:
    """The lowest and the highest score that each row stands for."""
    if table.binned is None:
        return table.score, table.score
    return table.binned.extent(table.score)


def _binned(score: Any, lowest: Any, bins: Bins) -> Binned:
    """The extents of bins from the rows of a file."""
    high, place = np.unique(np.asarray(score, dtype=np.float64), return_inverse=True)
    low = np.full(len(high), np.inf)
    ends = to_numbers(lowest, "lowest")
    if len(ends) != len(place):
        raise ValueError("lowest and score differ in length.")
    np.minimum.at(low, place.reshape(-1), ends)
    apart = np.all(low[1:] > high[:-1]) and np.all(np.diff(bins.key(high)) > 0)
    if np.any(low > high) or not apart or np.any(bins.key(low) != bins.key(high)):
        raise ValueError("the scores are not those of its bins.")
    return Binned(high, low, high, bins)


def _sum_runs(column: Floats, order: Ints | None, starts: Ints | None) -> Floats:
    assert order is not None
    return column[order] if starts is None else np.add.reduceat(column[order], starts)


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
    low = ratio(square, counts, 0.0)
    bad = np.flatnonzero((squares < low * (1 - 1e-9)) | (squares > square * (1 + 1e-9)))
    if bad.size:
        raise ValueError(
            f"{name} is {squares[bad[0]]:g} at row {bad[0]}, which is not a sum of squares of "
            "weights that add up to the weight there."
        )


def check_scores(scores: object) -> None:
    """Refuse what is not a `GroupedScores`."""
    if not isinstance(scores, GroupedScores):
        raise TypeError(
            f"Expected a GroupedScores, not {type(scores).__name__}: "
            "make one with GroupedScores.from_arrays."
        )
