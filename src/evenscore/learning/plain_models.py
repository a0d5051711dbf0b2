"""The default classifiers as plain arrays, which can be read from a file without running anything.

Trees of LightGBM and of scikit-learn are read as they are and give the same chances, up to rounding
in the last digit. A file may come from anybody: `check_whole` refuses what is no forest or line.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from scipy import sparse
from scipy.special import expit, softmax

from evenscore.learning.wholeness import check_names, check_numbers, part_of
from evenscore.scores.arrays import Bools, Floats, Ints

_ROWS = 20_000  # that go down the trees together: their places stay in the cache


@final
@dataclass(frozen=True, eq=False)
class Forest:
    """Boosted trees, their nodes one after the other; a leaf is its own child.

    Attributes
    ----------
    starts : array of int
        The first node of each tree; trees of the classes take turns.
    feature, left, right : arrays of int
        Of every node; children come after their parent.
    threshold, value : arrays
        A row goes left if its feature is at most the threshold; what a leaf adds.
    missing_left : array of bool
        Whether a row goes left that lacks the feature.
    base : array
        Where the sums of each class start, one number if there are two classes.
    classes_ : array of int
        The codes of the classes.
    """

    starts: Ints
    feature: Ints
    left: Ints
    right: Ints
    threshold: Floats
    value: Floats
    missing_left: Bools
    base: Floats
    classes_: Ints

    @classmethod
    def of(cls, nodes: list[list[tuple[Any, ...]]], base: Floats, classes: Ints) -> Self:
        """Trees of nodes (feature, left, right, threshold, value, missing left), by their places.

        Children of a tree come after their parents; those of a leaf are the leaf.
        """
        sizes = [len(tree) for tree in nodes]
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        columns = [
            np.array(part) for part in zip(*(n for tree in nodes for n in tree), strict=True)
        ]
        shift = np.repeat(starts, sizes)
        feature, left, right = (part.astype(np.int64) for part in columns[:3])
        return cls(
            starts,
            feature,
            left + shift,
            right + shift,
            columns[3].astype(np.float64),
            columns[4].astype(np.float64),
            columns[5].astype(np.bool_),
            base,
            classes,
        )

    def predict_proba(self, X: Any) -> Floats:
        """The chances of the classes."""
        sums = np.tile(self.base, (X.shape[0], 1))
        for first in range(0, X.shape[0], _ROWS):
            rows = slice(first, first + _ROWS)
            part = X[rows].toarray() if sparse.issparse(X) else np.asarray(X[rows])
            for k, start in enumerate(self.starts.tolist()):
                sums[rows, k % len(self.base)] += self.value[self._leaf(part, start)]
        return _chances(sums, len(self.classes_))

    def _leaf(self, X: Floats, start: int) -> Ints:
        node = np.full(len(X), start)
        moving = np.arange(len(X))
        while len(moving):
            at = node[moving]
            seen = X[moving, self.feature[at]]
            goes_left = np.where(np.isnan(seen), self.missing_left[at], seen <= self.threshold[at])
            node[moving] = np.where(goes_left, self.left[at], self.right[at])
            moving = moving[node[moving] != at]
        return node

    def check_whole(self, n_features: int) -> None:
        """Refuse what was read from a file and is no forest over so many features."""
        check_names(self)
        n = len(part_of(self, "feature", np.ndarray))
        for name in ("starts", "feature", "left", "right", "classes_"):
            _check_whole_numbers(self, name, None if name in ("starts", "classes_") else n)
        check_numbers(self, "threshold", (n,))
        check_numbers(self, "value", (n,))
        missing = part_of(self, "missing_left", np.ndarray)
        if missing.dtype != np.bool_ or missing.shape != (n,):
            raise ValueError("Forest.missing_left must say yes or no for every node.")
        _check_classes(self, "base")
        at, ends = np.arange(n), np.append(self.starts[1:], n)
        rising = n > 0 and len(self.starts) > 0 and self.starts[0] == 0
        rising = rising and bool(np.all(self.starts < ends))
        if not rising or not np.all((self.feature >= 0) & (self.feature < n_features)):
            raise ValueError("Forest must hold trees over its features.")
        end = np.repeat(ends, ends - self.starts)
        leaf = (self.left == at) & (self.right == at)
        inner = (self.left > at) & (self.right > at) & (self.left < end) & (self.right < end)
        if not np.all(leaf | inner):
            raise ValueError("Forest must hold trees: children come after their parents.")


@final
@dataclass(frozen=True, eq=False)
class Line:
    """A logistic regression on features that are filled, scaled and, if so, compressed by asinh."""

    fill: Floats
    centre: Floats
    scale: Floats
    compress: bool
    weights: Floats
    start: Floats
    classes_: Ints

    def predict_proba(self, X: Any) -> Floats:
        """The chances of the classes."""
        full = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        full = np.where(np.isnan(full), self.fill, full)
        full = (full - self.centre) / self.scale
        if self.compress:
            full = np.arcsinh(full)
        return _chances(full @ self.weights.T + self.start, len(self.classes_))

    def check_whole(self, n_features: int) -> None:
        """Refuse what was read from a file and is no line over so many features."""
        check_names(self)
        part_of(self, "compress", bool)
        _check_whole_numbers(self, "classes_", None)
        _check_classes(self, "start")
        for name in ("fill", "centre"):
            check_numbers(self, name, (n_features,))
        check_numbers(self, "scale", (n_features,), above=0.0)
        check_numbers(self, "weights", (len(self.start), n_features))


def _chances(sums: Floats, n_classes: int) -> Floats:
    """Of sums for each class; of two classes those of the second."""
    if n_classes != 2:
        return np.asarray(softmax(sums, axis=1))
    second = expit(sums[:, 0])
    return np.column_stack([1.0 - second, second])


def _check_whole_numbers(owner: Any, name: str, n: int | None) -> None:
    value = part_of(owner, name, np.ndarray)
    if value.dtype.kind != "i" or value.ndim != 1 or (n is not None and len(value) != n):
        raise ValueError(f"{type(owner).__name__}.{name} must hold whole numbers.")


def _check_classes(owner: Any, name: str) -> None:
    """As many starts as there are classes, or one of two."""
    n = len(owner.classes_)
    check_numbers(owner, name, (1 if n == 2 else n,))
    rising = np.all(np.diff(owner.classes_) > 0) and np.all(owner.classes_ >= 0)
    if n < 1 or not rising:
        raise ValueError(f"{type(owner).__name__}.classes_ must hold codes, in order.")


# ---------------------------------------------------------------------- from fitted classifiers


def plain(model: Any, classes: Any, n_features: int) -> Forest | Line:
    """A fitted default classifier as arrays; `classes` are the labels that codes stand for."""
    if isinstance(model, Forest | Line):
        return model  # read from a file
    codes = np.searchsorted(classes, model.classes_).astype(np.int64)
    kind = type(model).__name__
    if kind == "LGBMClassifier":
        trees = [list(_lightgbm(tree)) for tree in _dumped(model)]
        width = 1 if len(codes) == 2 else len(codes)
        return Forest.of(trees, np.zeros(width), codes)
    if kind == "HistGradientBoostingClassifier":
        nodes = [list(_histogram(tree.nodes)) for step in model._predictors for tree in step]
        return Forest.of(nodes, np.asarray(model._baseline_prediction, np.float64).ravel(), codes)
    nothing, one = np.zeros(n_features), np.ones(n_features)
    if kind == "DummyClassifier":
        return Line(nothing, nothing, one, False, np.zeros((1, n_features)), np.zeros(1), codes)
    if kind == "Pipeline" and "pipeline" in model.named_steps:
        steps = dict(model.named_steps["pipeline"].steps)
        fill, scaler = steps["simpleimputer"], steps["standardscaler"]
        last = model.named_steps["logisticregression"]
        return Line(
            np.asarray(fill.statistics_, dtype=np.float64),
            nothing if scaler.mean_ is None or not scaler.with_mean else scaler.mean_,
            scaler.scale_,
            "functiontransformer" in steps,
            last.coef_,
            last.intercept_,
            codes,
        )
    raise ValueError(f"{kind} cannot be stored as plain numbers: pickle the scorer instead.")


def _dumped(model: Any) -> list[dict[str, Any]]:
    return [tree["tree_structure"] for tree in model.booster_.dump_model()["tree_info"]]


def _lightgbm(root: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The nodes of a tree, parents first."""
    waiting = [root]
    for k, node in enumerate(waiting):  # which grows
        if "split_feature" not in node:
            yield 0, k, k, 0.0, node["leaf_value"], True
        else:
            if node["decision_type"] != "<=":
                raise ValueError("Trees that split categories cannot be stored as plain numbers.")
            threshold = float(node["threshold"])
            missing = node["default_left"] if node["missing_type"] == "NaN" else threshold >= 0.0
            left = len(waiting)
            yield node["split_feature"], left, left + 1, threshold, 0.0, missing
            waiting += [node["left_child"], node["right_child"]]


def _histogram(nodes: Any) -> Iterator[tuple[Any, ...]]:
    """The nodes of a tree, parents first."""
    for k, node in enumerate(nodes):
        if node["is_leaf"]:
            yield 0, k, k, 0.0, node["value"], True
        elif node["is_categorical"]:
            raise ValueError("Trees that split categories cannot be stored as plain numbers.")
        else:
            # Infinity sends everybody left who has a value; files hold finite numbers.
            threshold = np.nan_to_num(node["num_threshold"], posinf=np.finfo(np.float64).max)
            yield (
                node["feature_idx"],
                node["left"],
                node["right"],
                float(threshold),
                0.0,
                bool(node["missing_go_to_left"]),
            )
