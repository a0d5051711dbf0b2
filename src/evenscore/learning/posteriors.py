"""Chances of class and group at x, of people that no model has seen, from any classifier.

Rows are parted into folds; the models of a fold are fitted without it. A small part is kept from
all of them: there, chances of one fold's models and the mean of all can be compared, as new people
have the mean. What is averaged is chances, never scores: averaged scores drift back to the unequal
order.

By default the classifier is a blend: boosted trees and a logistic regression, of the class and of
the group given the class as a feature, multiplied in the powers that make rows left out likeliest.
Trees alone lose where effects add up, lines alone where they do not. A classifier of the user's is
taken as it is, for the class, and for the group once in each class: what may be added to its
features is not known. Chances of the groups are blended with their plain shares, too: where the
features tell nothing about the group, models of different folds differ by noise, and bars would
follow it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from sklearn.utils import _safe_indexing

from evenscore.learning.plain_models import Forest, Line, plain
from evenscore.learning.training_set import TrainingSet
from evenscore.learning.trees import boosted_trees
from evenscore.learning.wholeness import check_names, check_numbers, part_of
from evenscore.learning.wrapping import fitted, without_class_weights
from evenscore.scores.arrays import Floats, Ints, chunks

_ROWS = 10_000  # that a logistic regression and a blend are fitted on: more change little
_LEAST = 1e-6  # a chance, where logarithms are taken
KEPT, MOST_KEPT = 10, 5_000  # one row in so many is kept from all models, but no more rows

KINDS = ("trees", "logistic")
"""Of the default classifier: by default a blend of both."""

Cells = Floats
"""Chances of the 2K cells, (n, 2K): class · K + group."""


@final
@dataclass(frozen=True)
class Recipe:
    """Which classifiers are fitted: of so many rows and columns, each a list to be blended.

    `joint`: the class is a feature of the group's; `categorical` are columns of codes.
    """

    label: Callable[[int, int], list[Any]]
    group: Callable[[int, int], list[Any]]
    joint: bool
    categorical: tuple[int, ...] = ()

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """A classifier of the user's."""
        groups = without_class_weights(estimator)
        return cls(lambda n, d: [estimator], lambda n, d: [groups], joint=False)

    @classmethod
    def default(
        cls, X: Any, categorical: Sequence[int], seed: int, kind: str | None = None
    ) -> Self:
        """Trees and a line, which need no tuning, or one kind; a smaller forest for the group."""
        codes = tuple(categorical)
        some = slice(None) if kind is None else [slice(0, 1), slice(1, 2)][KINDS.index(kind)]

        def label(n: int, d: int) -> list[Any]:
            leaves, least = int(np.clip(np.sqrt(n) / 7.0, 4, 31)), int(np.clip(n // 100, 10, 40))
            count = int(np.clip(n // 60, 120, 250))
            trees = boosted_trees(count, 0.08, leaves, least, (n, d), codes, seed)
            return [trees, _line(X, codes)][some]

        def group(n: int, d: int) -> list[Any]:
            leaves, least = 15 if n > 3000 else 8, min(40, n // 20)
            trees = boosted_trees(60, 0.1, leaves, least, (n, d), codes, seed)
            return [trees, _line(X, codes)][some]

        return cls(label, group, joint=True, categorical=codes)


def _line(X: Any, codes: Sequence[int]) -> Any:
    """A logistic regression on features whose long tails are compressed."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    fill = SimpleImputer(keep_empty_features=True)
    if sparse.issparse(X):
        steps = [fill, StandardScaler(with_mean=False)]
    else:
        steps = [fill, StandardScaler(), FunctionTransformer(np.arcsinh)]
    numbers = make_pipeline(*steps)
    if codes:
        levels = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=50)
        numbers = make_column_transformer((levels, list(codes)), remainder=numbers)
    return make_pipeline(numbers, LogisticRegression(max_iter=100, tol=1e-3))


@final
@dataclass(frozen=True, eq=False)
class FoldModels:
    """The classifiers fitted without one fold: of the class, and of the group in each class."""

    label: list[Any]
    groups: tuple[list[Any], list[Any]]
    joint: bool

    @classmethod
    def fit(cls, recipe: Recipe, data: TrainingSet, labels: NDArray[Any], rows: Ints) -> Self:
        """Fitted on some rows; `labels` are the user's."""
        d = data.X.shape[1] if hasattr(data.X, "shape") else 1
        label = [_fitted(model, recipe, data, labels, rows) for model in recipe.label(len(rows), d)]
        made = recipe.group(len(rows), d)
        if recipe.joint:
            both = [_fitted(m, recipe, data, data.codes, rows, positive=True) for m in made]
            return cls(label, (both, both), True)
        kinds = [rows[data.positive[rows] == kind] for kind in (False, True)]
        one, other = ([_fitted(m, recipe, data, data.codes, some) for m in made] for some in kinds)
        return cls(label, (one, other), False)

    def plain(self, classes: NDArray[Any], n_groups: int, width: int) -> Self:
        """The same as plain arrays."""
        label = [plain(model, classes, width) for model in self.label]
        codes, width = np.arange(n_groups), width + self.joint
        one, other = ([plain(m, codes, width) for m in models] for models in self.groups)
        return replace(self, label=label, groups=(one, one if self.joint else other))

    def check_whole(self, width: int, n_groups: int) -> None:
        """Refuse what was read from a file and is no set of classifiers of so many features."""
        check_names(self)
        width_of_groups = width + part_of(self, "joint", bool)
        groups = part_of(self, "groups", tuple)
        parts = [(part_of(self, "label", list), width, 2)]
        parts += [(models, width_of_groups, n_groups) for models in groups]
        if len(groups) != 2 or not all(type(models) is list and models for models, *_ in parts):
            raise ValueError("FoldModels must hold classifiers of the class, and of both groups.")
        for models, own, n_classes in parts:
            for model in models:
                if type(model) not in (Forest, Line):
                    raise ValueError("FoldModels must hold forests and lines.")
                model.check_whole(own)
                if model.classes_.max() >= n_classes:
                    raise ValueError("FoldModels must hold classifiers of classes that there are.")

    def chances(self, X: Any, n_groups: int) -> tuple[list[Floats], list[list[Floats]]]:
        """What classifiers say of the class, (n, 2), and of the group in each class, (n, K)."""
        label = [_spread(model, X, np.arange(2), places=True) for model in self.label]
        groups = []
        for kind, models in enumerate(self.groups):
            known = _with_class(X, np.full(_rows(X), kind)) if self.joint else X
            groups.append([_spread(model, known, np.arange(n_groups)) for model in models])
        return label, groups


def _fitted(
    model: Any,
    recipe: Recipe,
    data: TrainingSet,
    target: NDArray[Any],
    rows: Ints,
    *,
    positive: bool = False,
) -> Any:
    """A classifier fitted on some rows, those of a line being thinned.

    With `positive` the class is a feature.
    """
    part = data.bare.rows(rows)
    if hasattr(model, "steps") and recipe.joint and len(rows) > _ROWS:
        thin, part = part.thinned(_ROWS)
        rows = rows[thin]
    own = target[rows]
    known = _with_class(data.X, part.positive, rows) if positive else _safe_indexing(data.X, rows)
    part = replace(part, X=known)
    options = {}
    if recipe.categorical and type(model).__name__ == "LGBMClassifier":
        options["categorical_feature"] = list(recipe.categorical)
    return fitted(model, part, own, np.arange(len(own)), **options)


def _with_class(X: Any, positive: NDArray[Any], rows: Ints | None = None) -> Any:
    """Rows of a matrix with their class as the last column; one copy, no more."""
    column = np.asarray(positive, dtype=np.float64)[:, None]
    if sparse.issparse(X):
        some = X if rows is None else X[rows]
        return sparse.csr_matrix(sparse.hstack([some, sparse.csr_matrix(column)]))
    both = np.empty((len(column), X.shape[1] + 1))
    for part in chunks(len(column)):
        both[part, :-1] = X[part if rows is None else rows[part]]
    both[:, -1:] = column
    return both


def _rows(X: Any) -> int:
    return int(X.shape[0] if hasattr(X, "shape") else len(X))


def _spread(model: Any, X: Any, codes: Ints, *, places: bool = False) -> Floats:
    """Chances of all codes: a classifier knows those that it has met; labels by their places."""
    found = np.asarray(model.predict_proba(X), dtype=np.float64)
    if places and found.shape[1] == len(codes):
        return found
    chances = np.zeros((len(found), len(codes)))
    chances[:, np.searchsorted(codes, model.classes_)] = found
    return chances


@final
@dataclass(frozen=True, eq=False)
class Posteriors:
    """From features to chances of the cells: the mean over the models of all folds.

    `shares`, (2, K), are those of the groups in each class: what a classifier of the group is
    blended with, so that one which tells nothing about rows left out says nothing.
    """

    models: tuple[FoldModels, ...]
    label_powers: Floats
    group_powers: Floats
    shares: Floats
    n_groups: int

    def plain(self, classes: NDArray[Any], width: int) -> Self:
        """The same as plain arrays, which a file can hold; of default classifiers only."""
        models = tuple(one.plain(classes, self.n_groups, width) for one in self.models)
        return replace(self, models=models)

    def check_whole(self, width: int) -> None:
        """Refuse what was read from a file and is no set of models of so many features."""
        check_names(self)
        n_groups, models = part_of(self, "n_groups", int), part_of(self, "models", tuple)
        check_numbers(self, "shares", (2, n_groups), above=0.0)
        if n_groups < 1 or not models or not all(type(one) is FoldModels for one in models):
            raise ValueError("Posteriors must hold the models of each fold.")
        for one in models:
            one.check_whole(width, n_groups)
            check_numbers(self, "label_powers", (len(one.label),))
            check_numbers(self, "group_powers", (len(one.groups[0]) + 1,))
            if len(one.groups[0]) != len(one.groups[1]):
                raise ValueError("FoldModels must hold as many classifiers for each class.")

    def of(self, label: Sequence[Floats], groups: Sequence[Sequence[Floats]]) -> Cells:
        """The cells' chances, of what the classifiers of a fold say."""
        classes = blended(label, self.label_powers)
        parts = [
            blended([*some, np.broadcast_to(share, some[0].shape)], self.group_powers)
            for some, share in zip(groups, self.shares, strict=True)
        ]
        return np.hstack([classes[:, [kind]] * part for kind, part in enumerate(parts)])

    def by_model(self, X: Any) -> list[Cells]:
        """What the models of each fold say."""
        return [self.of(*models.chances(X, self.n_groups)) for models in self.models]

    def __call__(self, X: Any) -> Cells:
        """The chances of new people."""
        return np.asarray(np.mean(self.by_model(X), axis=0))


def blended(chances: Sequence[Floats], powers: Floats) -> Floats:
    """Products of chances to some powers, adding up to one; of one alone itself."""
    if len(chances) == 1:
        return chances[0]
    logs = sum(
        power * np.log(np.maximum(part, _LEAST))
        for part, power in zip(chances, powers, strict=True)
    )
    product = np.exp(logs - np.max(logs, axis=1, keepdims=True))
    return np.asarray(product / product.sum(axis=1, keepdims=True))


def likeliest_powers(chances: Sequence[Floats], target: Ints, weight: Floats | None) -> Floats:
    """The powers under which a blend makes the target likeliest; a concave problem."""
    if len(chances) == 1:
        return np.ones(1)
    some = np.arange(len(target))
    if len(target) > _ROWS:
        some = np.linspace(0, len(target) - 1, _ROWS).astype(np.intp)
    logs = np.array([np.log(np.maximum(part[some], _LEAST)) for part in chances])
    share = np.ones(len(some)) if weight is None else weight[some]
    share, own = share / share.sum(), logs[:, np.arange(len(some)), target[some]]

    def unlikely(powers: Floats) -> tuple[float, Floats]:
        total = np.tensordot(powers, logs, axes=1)
        total -= total.max(axis=1, keepdims=True)
        part = np.exp(total)
        part /= part.sum(axis=1, keepdims=True)
        chance = part[np.arange(len(some)), target[some]]
        slopes = (part * logs).sum(axis=2) - own
        return -float(share @ np.log(np.maximum(chance, 1e-300))), slopes @ share

    start = np.full(len(chances), 1.0 / len(chances))
    found = minimize(unlikely, start, jac=True, bounds=[(0.0, None)] * len(chances))
    return np.asarray(found.x)


@final
@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Chances of rows that no model has seen.

    Parameters
    ----------
    posteriors : Posteriors
        For new people.
    cells : array of shape (n, 2K)
        Of every row, by the models of its fold (their mean, if folds were drawn several times); of
        rows kept from all models by all.
    kept : array of shape (m,)
        Which rows those are.
    alone : array of shape (folds, m, 2K)
        Chances of these rows by the models of one fold, as other rows have theirs.
    fold : array of shape (n,)
        The fold of every row when folds were first drawn; −1 for those kept.
    """

    posteriors: Posteriors
    cells: Cells
    kept: Ints
    alone: Floats
    fold: Ints

    @classmethod
    def fit(
        cls, recipe: Recipe, data: TrainingSet, labels: NDArray[Any], folds: Sequence[Ints]
    ) -> Self:
        """Fit the models of every fold of every drawing; `folds` are −1 for rows that are kept."""
        n, n_groups = len(data), len(data.groups)
        kept = np.flatnonzero(folds[0] < 0)
        models, said, of_kept = [], [], []
        for fold in folds:
            parts: list[Any] = []
            for k in range(int(fold.max()) + 1):
                train, test = np.flatnonzero((fold != k) & (fold >= 0)), np.flatnonzero(fold == k)
                models.append(FoldModels.fit(recipe, data, labels, train))
                chances = models[-1].chances(_safe_indexing(data.X, test), n_groups)
                parts.append((test, *chances))
                if len(kept):
                    some = models[-1].chances(_safe_indexing(data.X, kept), n_groups)
                    of_kept.append(some)
            said.append(_joined(parts, n))
        seen = np.flatnonzero(folds[0] >= 0)
        weight = None if data.weight is None else data.weight[seen]
        kinds = data.positive.astype(np.intp)
        label, groups = said[0]
        own = [
            np.where(kinds[:, None] == 1, positives, negatives)
            for negatives, positives in zip(*groups, strict=True)
        ]
        cell = data.cell[seen]
        shares = np.bincount(cell, weight, 2 * n_groups).reshape(2, -1) + 0.5
        shares /= shares.sum(axis=1, keepdims=True)
        own.append(shares[kinds])
        posteriors = Posteriors(
            tuple(models),
            likeliest_powers([part[seen] for part in label], kinds[seen], weight),
            likeliest_powers([part[seen] for part in own], data.codes[seen], weight),
            np.asarray(shares, dtype=np.float64),
            n_groups,
        )
        cells = np.mean([posteriors.of(*one) for one in said], axis=0)
        alone = np.zeros((0, 0, 2 * n_groups))
        if len(kept):
            each = np.array([posteriors.of(*one) for one in of_kept])
            alone = each.reshape(len(folds), -1, *each.shape[1:]).mean(axis=0)
            cells[kept] = alone.mean(axis=0)
        return cls(posteriors, cells, kept, alone, folds[0])


def _joined(parts: Sequence[Any], n: int) -> tuple[list[Floats], list[list[Floats]]]:
    """What was said of the rows of each fold, as columns of all rows."""

    def whole(pieces: list[Floats]) -> Floats:
        column = np.full((n, pieces[0].shape[1]), 0.5)
        for (test, *_), piece in zip(parts, pieces, strict=True):
            column[test] = piece
        return column

    label = [whole([part[1][m] for part in parts]) for m in range(len(parts[0][1]))]
    groups = [
        [whole([part[2][kind][m] for part in parts]) for m in range(len(parts[0][2][kind]))]
        for kind in (0, 1)
    ]
    return label, groups
