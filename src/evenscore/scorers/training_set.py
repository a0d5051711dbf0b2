"""The rows a scorer learns from or is checked on."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from evenscore.columns import counted
from evenscore.constraints import Constraint
from evenscore.labels import label_text
from evenscore.learning.objective import Objective
from evenscore.scores import GroupedScores, decode

__all__ = ["TrainingSet", "group_codes", "two_classes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Rows to learn from or to check on: features, class, group, weight."""

    X: Any
    positive: NDArray[np.bool_]
    codes: Ints
    groups: tuple[Hashable, ...]
    weight: Floats | None

    def __len__(self) -> int:
        return len(self.positive)

    @property
    def cell(self) -> Ints:
        """Class · K + group of every row."""
        return self.codes + len(self.groups) * self.positive

    @property
    def share(self) -> Floats:
        """Weights that add up to one."""
        if self.weight is None:
            return np.full(len(self), 1.0 / len(self))
        return np.asarray(self.weight / self.weight.sum())

    @property
    def n_observations(self) -> float:
        """How many observations the rows stand for: a weight of 2 is a row given twice.

        Weights that add up to less than the number of rows are taken as relative ones.
        """
        return float(len(self) if self.weight is None else max(len(self), self.weight.sum()))

    def rows(self, index: Any) -> TrainingSet:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[index]
        return TrainingSet(
            self.X[index], self.positive[index], self.codes[index], self.groups, weight
        )

    def thinned(self, size: int) -> tuple[Ints, TrainingSet]:
        """About `size` rows, evenly from every class and group, weighted to stand for all.

        A small cell keeps up to 200 rows.
        """
        cell = self.cell
        weight = np.ones(len(self)) if self.weight is None else self.weight.copy()
        kept = []
        for c in np.unique(cell):
            members = np.flatnonzero(cell == c)
            wanted = max(min(len(members), 200), round(size * len(members) / len(self)))
            some = members[np.linspace(0, len(members) - 1, wanted).astype(np.intp)]
            weight[some] *= weight[members].sum() / weight[some].sum()
            kept.append(some)
        index = np.sort(np.concatenate(kept))
        part = self.rows(index)
        return index, replace(part, weight=weight[index])

    def folds(self, count: int, rng: np.random.Generator) -> Ints:
        """A fold for every row, drawn so that each class and group is spread evenly over them."""
        order = rng.permutation(len(self))
        order = order[np.argsort(self.cell[order], kind="stable")]
        fold = np.empty(len(self), dtype=np.intp)
        fold[order] = np.arange(len(self)) % count
        return fold

    def objective(self, constraints: Sequence[Constraint], **options: Any) -> Objective:
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
        """Scores of these rows by class and group, under the groups' own names."""
        labels = np.empty(len(self.groups), dtype=object)
        labels[:] = [label_text(group) for group in self.groups]
        order = labels.tolist()
        return GroupedScores.from_arrays(
            self.positive,
            score,
            sensitive_features=labels[self.codes] if len(set(order)) == len(order) else self.codes,
            sample_weight=self.weight,
            group_order=order if len(set(order)) == len(order) else range(len(order)),
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


def group_codes(
    positive: NDArray[np.bool_], sensitive_features: Any, constraints: Sequence[Constraint]
) -> tuple[Ints, tuple[Hashable, ...]]:
    """The position of every row's group, and the groups; one called "all" if none are given."""
    n = len(positive)
    if sensitive_features is None:
        if constraints:
            raise ValueError(
                f"{constraints[0].name} compares groups: pass sensitive_features to fit."
            )
        return np.zeros(n, dtype=np.intp), ("all",)
    _, codes, groups = decode(positive, sensitive_features)
    if len(codes) != n:
        raise ValueError(f"sensitive_features has {counted(len(codes), 'row')} but X has {n}.")
    if constraints and len(groups) < 2:
        raise ValueError(
            f"{constraints[0].name} compares groups, but sensitive_features holds only "
            f"{label_text(groups[0])}."
        )
    return codes, groups
