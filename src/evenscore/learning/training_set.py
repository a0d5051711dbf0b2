"""The rows a scorer learns from or is checked on."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from evenscore.gaps import GapFamily
from evenscore.learning.objective import Objective
from evenscore.learning.spreading import spread
from evenscore.scores import CLASSES, GroupedScores
from evenscore.scores.arrays import Bools, Floats, Ints
from evenscore.scores.distribution import Distribution
from evenscore.scores.labels import distinct_names, label_text
from evenscore.scores.reading import cluster_numbers, group_positions
from evenscore.scores.sources import counted, to_columns

_SMALL = 200  # rows that a cell keeps when rows are thinned: with fewer its rates are coarse


@final
@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Rows to learn from or to check on: features, class, group, weight, cluster.

    `codes` are the positions of the rows' groups among `groups`; without `weight` all count alike.
    `cluster` is the number of each row's cluster, not every number of which need occur: rows of one
    person, household or branch, which are not parted. Without it rows are independent.
    """

    X: Any
    positive: Bools
    codes: Ints
    groups: tuple[Hashable, ...]
    weight: Floats | None
    cluster: Ints | None = None

    @classmethod
    def read(
        cls,
        X: Any,
        positive: Bools,
        sensitive_features: Any,
        sample_weight: ArrayLike | None,
        constraints: Sequence[GapFamily],
        cluster: Any = None,
    ) -> Self:
        """Rows with groups (all of one, called "all", if none are given) and checked weights.

        `cluster` is a column, or several whose combinations are the clusters.
        """
        n, weight, members = len(positive), None, None
        codes: Ints = np.zeros(n, dtype=np.intp)
        groups: tuple[Hashable, ...] = ("all",)
        if sensitive_features is not None:
            columns = to_columns(sensitive_features, "sensitive_features")
            codes, groups = group_positions(columns, None)
            if len(codes) != n:
                rows = counted(len(codes), "row")
                raise ValueError(f"sensitive_features has {rows} but X has {n}.")
        if constraints and len(groups) < 2:
            why = ": pass sensitive_features to fit"
            if sensitive_features is not None:
                why = f", but sensitive_features holds only {label_text(groups[0])}"
            raise ValueError(f"{constraints[0].name} compares groups{why}.")
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        if cluster is not None:
            members = cluster_numbers(cluster)
            if len(members) != n:
                raise ValueError(f"cluster has {counted(len(members), 'row')} but X has {n}.")
        return cls(X, positive, codes, groups, weight, members)

    def __len__(self) -> int:
        return len(self.positive)

    @property
    def bare(self) -> Self:
        """The same rows without their features."""
        return replace(self, X=np.zeros((len(self), 0)))

    @property
    def cell(self) -> Ints:
        """Class · K + group of every row."""
        return self.codes + len(self.groups) * self.positive

    @cached_property
    def cell_sizes(self) -> Ints:
        """How many rows there are of every cell."""
        return np.bincount(self.cell, minlength=2 * len(self.groups))

    @cached_property
    def share(self) -> Floats:
        """Weights that add up to one."""
        if self.weight is None:
            return np.full(len(self), 1.0 / len(self))
        return np.asarray(self.weight / self.weight.sum())

    @cached_property
    def prevalence(self) -> float:
        """The share of the positives."""
        return float(self.share[self.positive].sum())

    @cached_property
    def n_observations(self) -> float:
        """How many observations the rows stand for: a weight of 2 is a row given twice.

        Weights that add up to less than the number of rows are taken as relative ones.
        """
        if self.weight is None:
            return float(len(self))
        return max(float(len(self)), float(self.weight.sum()))

    def cell_name(self, cell: int) -> str:
        """For instance 'positives of Female'."""
        kind, group = divmod(cell, len(self.groups))
        return f"{CLASSES[kind]} of {label_text(self.groups[group])}"

    def rows(self, index: Any) -> Self:
        """Some of the rows."""
        columns = (self.weight, self.cluster)
        weight, cluster = (None if column is None else column[index] for column in columns)
        return replace(
            self,
            X=_safe_indexing(self.X, index),
            positive=self.positive[index],
            codes=self.codes[index],
            weight=weight,
            cluster=cluster,
        )

    def separable(self, cell: Ints, n_cells: int) -> tuple[Ints, str, str]:
        """How much of each cell can be in different folds: its rows, or clusters with rows of it.

        And two texts for "… folds need … {rows} of every cell, but there are … {with }negatives".
        """
        if self.cluster is None:
            return np.bincount(cell, minlength=n_cells), "rows", ""
        found = np.unique(self.cluster * n_cells + cell)
        return np.bincount(found % n_cells, minlength=n_cells), "clusters with rows", "with "

    def hold_out(self, share: float, rng: np.random.Generator) -> tuple[Self, Self | None]:
        """Rows to learn from and rows kept aside: the same share of each cell, none left empty.

        None are kept aside if they would all be of one class. Clusters stay whole, shares being
        as even as that allows (see `spread`); none are kept aside if that would empty a cell.
        """
        if self.cluster is not None:
            return self._hold_out_clusters(share, rng)
        kept_aside = np.zeros(len(self), dtype=bool)
        for c in np.unique(self.cell):
            members = np.flatnonzero(self.cell == c)
            size = round(share * len(members))
            kept_aside[rng.permutation(members)[: min(max(size, 1), len(members) - 1)]] = True
        held_out = self.rows(kept_aside)
        if held_out.positive.all() or not held_out.positive.any():
            return self, None
        return self.rows(~kept_aside), held_out

    def _hold_out_clusters(
        self, share: float, rng: np.random.Generator
    ) -> tuple[Self, Self | None]:
        assert self.cluster is not None
        kept_aside = spread(self.cluster, self.cell, (1.0 - share, share), rng) == 1
        train, held_out = self.rows(~kept_aside), self.rows(kept_aside)
        both = held_out.positive.any() and not held_out.positive.all()
        if not both or len(np.unique(train.cell)) < len(np.unique(self.cell)):
            return self, None
        return train, held_out

    def sampled(self, size: int) -> Self:
        """About `size` rows that stand for all, as `thinned` has them; all if there are no more."""
        return self if len(self) <= size else self.thinned(size)[1]

    def thinned(self, size: int) -> tuple[Ints, Self]:
        """About `size` rows, evenly from every class and group, weighted to stand for all.

        A small cell keeps up to 200 rows.
        """
        cell = self.cell
        weight = np.ones(len(self)) if self.weight is None else self.weight.copy()
        kept = []
        for c in np.unique(cell):
            members = np.flatnonzero(cell == c)
            n = len(members)
            wanted = max(min(n, _SMALL), min(n, round(size * n / len(self))))
            some = members[np.linspace(0, n - 1, wanted).astype(np.intp)]
            weight[some] *= weight[members].sum() / weight[some].sum()
            kept.append(some)
        index = np.sort(np.concatenate(kept))
        part = self.rows(index)
        return index, replace(part, weight=weight[index])

    def folds(self, count: int, rng: np.random.Generator) -> Ints:
        """A fold for every row, drawn so that each class and group is spread evenly over them.

        Clusters stay whole: they are spread as evenly as that allows (see `spread`).
        """
        if self.cluster is not None:
            return spread(self.cluster, self.cell, np.full(count, 1.0 / count), rng)
        fold = np.empty(len(self), dtype=np.intp)
        order = rng.permutation(len(self))
        order = order[np.argsort(self.cell[order], kind="stable")]
        fold[order] = np.arange(len(self)) % count
        return fold

    def objective(self, constraints: Sequence[GapFamily], **options: Any) -> Objective:
        """The training objective of these rows."""
        return Objective(
            self.positive,
            self.codes,
            len(self.groups),
            constraints,
            weight=self.weight,
            **options,
        )

    def grouped(self, score: Floats) -> GroupedScores:
        """Scores of all rows by class and group, under the groups' own names."""
        return GroupedScores.from_codes(
            score,
            self.positive,
            self.codes,
            distinct_names(self.groups),
            weight=self.weight,
            cluster=self.cluster,
        )


def refuse_idle_groups(sensitive_features: Any, constraints: Sequence[GapFamily]) -> None:
    """Refuse groups about which nothing is asked: whoever passes them expects a fair score."""
    if sensitive_features is not None and not constraints:
        raise ValueError(
            "sensitive_features are given, but nothing is to be equal between groups: pass "
            "constraints, such as RateConstraint('fnr', cuts=Cuts(between=(0.1, 0.4))), or leave "
            "sensitive_features out."
        )


def two_classes(y: NDArray[Any]) -> NDArray[Any]:
    """The two classes among labels; one class, or more than two, are refused."""
    check_classification_targets(y)
    kind = type_of_target(y, input_name="y")
    classes = np.unique(y)
    if len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}."
        )
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class only, {label_text(classes[0])}: a score needs two to tell apart."
        )
    return np.asarray(classes)


def labels_of(y: Any, classes: NDArray[Any]) -> Ints:
    """The positions of labels among two classes; a label that is neither is refused.

    >>> labels_of(["no", "yes", "no"], np.array(["no", "yes"])).tolist()
    [0, 1, 0]
    """
    labels = column_or_1d(y)
    first, second = (np.asarray(labels == label) for label in classes)
    unknown = np.flatnonzero(~(first | second))
    if len(unknown):
        known = " and ".join(label_text(label) for label in classes)
        odd = label_text(labels[unknown[0]])
        raise ValueError(f"y is {odd} at row {unknown[0]}, and the classes are {known}.")
    return second.astype(np.intp)


def require_cells(data: TrainingSet, constraints: Sequence[GapFamily]) -> None:
    """Refuse rows on which a gap asked for cannot be computed, a class of a group being empty."""
    if np.all(data.cell_sizes):
        return
    scores = data.grouped(np.arange(len(data), dtype=np.float64))  # any score that parts people
    for family in constraints:
        for reason in family.reasons(scores, family.values(scores), None):
            if reason:
                raise ValueError(f"{reason} to learn from.")


def cut_at_prevalence(raw: Floats, data: TrainingSet) -> float:
    """A threshold between two scores, above which lies the share of positives."""
    scores = Distribution.from_sample(raw, data.weight)
    prevalence = data.prevalence
    above = 1.0 - scores.cumulative / scores.total
    k = int(np.argmin(np.abs(above[:-1] - prevalence))) if len(scores) > 1 else 0
    return float(scores.values[k : k + 2].mean())
