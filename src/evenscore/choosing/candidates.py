"""Candidates for a certified choice, and the rows they are fitted to or tested on, as passed."""

import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from evenscore.choosing.path import (
    Parameter,
    at_point,
    cluster_for,
    fit_to,
    groups_for,
    has_path,
    point_name,
)
from evenscore.choosing.validation import read_rows_of
from evenscore.gaps import ConstraintLike, GapFamily, as_constraints
from evenscore.learning.price import PriceWarning
from evenscore.learning.training_set import TrainingSet
from evenscore.repairing import Repair
from evenscore.scores.arrays import Bools, Floats, Ints
from evenscore.scores.labels import label_text
from evenscore.scores.reading import positive_rows
from evenscore.scores.sources import column_names, to_array, to_columns, to_numbers


@dataclass(frozen=True, eq=False)
class Given:
    """Columns of rows as they were passed, all of the same length."""

    X: Any
    y: Any
    sensitive_features: Any
    sample_weight: Any = None
    cluster: Any = None

    def read(self, positive: Bools) -> TrainingSet:
        """The rows of positive weight, decoded; the X of each is its position."""
        places = np.arange(_num_samples(self.X))
        return read_rows_of(
            places, positive, self.sensitive_features, self.sample_weight, self.cluster
        )

    def take(self, index: Ints) -> "Given":
        """Some of the rows."""
        weight, cluster = self.sample_weight, self.cluster
        return Given(
            _safe_indexing(self.X, index),
            to_array(self.y, "y")[index],
            _some(self.sensitive_features, index, "sensitive_features"),
            None if weight is None else to_array(weight, "sample_weight")[index],
            None if cluster is None else _some(cluster, index, "cluster"),
        )

    def fitting(self, scorer: Any) -> Callable[[], Any]:
        """How to fit a scorer on these rows: not before its turn has come."""

        def fitted() -> Any:
            columns = (self.sensitive_features, self.sample_weight, self.cluster)
            with _untold():
                return fit_to(scorer, self.X, self.y, *columns)

        return fitted

    def turns(self, scorer: Any, parameter: Parameter, values: Sequence[float]) -> "list[Turn]":
        """A scorer at several values of a parameter, to be fitted on these rows in this order.

        A scorer that can be fitted at all of them together is, when the first one's turn has come.
        """
        names = [point_name(parameter, value) for value in values]
        together = has_path(scorer)
        if not together and parameter not in getattr(scorer, "varied_together", ()):
            scorers = [at_point(clone(scorer), parameter, value) for value in values]
            return [Turn(n, self.fitting(one)) for n, one in zip(names, scorers, strict=True)]
        known: list[Any] = []

        def at(k: int) -> Any:
            if not known:
                columns = groups_for(scorer, self.sensitive_features)
                columns |= cluster_for(scorer, self.cluster)
                columns["sample_weight"] = self.sample_weight
                grid = [{parameter: value} for value in values]
                with _untold():
                    if together:
                        fitted = clone(scorer).fit(self.X, self.y, **columns)
                        known.extend(fitted.path(values))
                    else:
                        known.extend(clone(scorer).fit_many(self.X, self.y, grid, **columns))
            return known[k]

        return [Turn(name, partial(at, k)) for k, name in enumerate(names)]

    def same_rows(self, X: Any) -> bool:
        """Whether these features are those of another table, row by row."""
        if self.X is X:
            return True
        arrays = isinstance(self.X, np.ndarray) and isinstance(X, np.ndarray)
        return arrays and np.array_equal(self.X, X)


@contextmanager
def _untold() -> Iterator[None]:
    """How fair a candidate is, and at which price, is tested: a fit need not say it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", PriceWarning)
        yield


class Turn(NamedTuple):
    """A candidate whose turn may come: its name, and how to have it fitted."""

    name: str
    fitted: Callable[[], Any]


def scores_of(candidate: Any, X: Any, sensitive_features: Any, name: str) -> Floats:
    """A candidate's score of every row; groups are told to those that need them."""
    if isinstance(candidate, Repair):
        return candidate.transform(X, sensitive_features=sensitive_features)
    groups = {}
    if getattr(candidate, "use_groups", False) or getattr(candidate, "repair_", None) is not None:
        groups = {"sensitive_features": sensitive_features}
    score = None
    for method in ("decision_function", "predict_proba"):
        if score is None and hasattr(candidate, method):
            score = np.asarray(getattr(candidate, method)(X, **groups))
    if score is None:
        raise TypeError(
            f"{type(candidate).__name__} has neither decision_function nor predict_proba: there is "
            "no score to certify."
        )
    return to_numbers(score[:, -1] if score.ndim == 2 else score, f"The score of {name}")


def check_groups(known: Sequence[Hashable], data: TrainingSet) -> None:
    """Refuse rows held out that lack one of the groups that candidates were fitted with.

    Groups of another kind altogether are fine: a score may be learned with regard to one column and
    certified with regard to another.
    """
    require_groups(known, data.groups)


def require_groups(known: Sequence[Hashable], held_out: Sequence[Hashable]) -> None:
    """Refuse people held out among whom one of the known groups is missing, but not all are."""
    missing = [group for group in known if group not in held_out]
    if missing and len(missing) < len(known):
        raise ValueError(
            f"The held-out rows have nobody of group {label_text(missing[0])}, but candidates were "
            "fitted with some: nothing could be certified about it."
        )


def listed(candidates: Any) -> tuple[list[Any], bool]:
    """The candidates, and whether it is one by itself."""
    if not isinstance(candidates, list | tuple):
        if hasattr(candidates, "__next__"):
            raise TypeError("candidates can be read only once, being an iterator: give a list.")
        return [candidates], True
    if not candidates:
        raise ValueError("There is no candidate to choose from: the list is empty.")
    return list(candidates), False


def all_fitted(candidates: Sequence[Any]) -> bool:
    """Whether all candidates are fitted, or none of them: refused if it is some."""
    fitted = [_is_fitted(one) for one in candidates]
    if any(fitted) and not all(fitted):
        one, other = (type(candidates[fitted.index(what)]).__name__ for what in (True, False))
        raise ValueError(
            f"Some candidates are fitted ({one} at {fitted.index(True) + 1}) and some are not "
            f"({other} at {fitted.index(False) + 1}): give either all fitted, with rows held out, "
            "or none."
        )
    return all(fitted)


def _is_fitted(candidate: Any) -> bool:
    if isinstance(candidate, Repair) or not hasattr(candidate, "fit"):
        return True
    try:
        check_is_fitted(candidate)
    except NotFittedError:
        return False
    return True


def families_of(candidates: Sequence[Any], constraints: ConstraintLike | None) -> list[GapFamily]:
    """What is to be certified: as given, or what the scorers were asked for."""
    if constraints is not None:
        return as_constraints(constraints)
    asked: list[list[GapFamily]] = []
    for one in candidates:
        own = () if isinstance(one, Repair) else getattr(one, "constraints", ())
        if as_constraints(own) and as_constraints(own) not in asked:
            asked.append(as_constraints(own))
    if len(asked) != 1:
        what = "have different constraints" if asked else "do not say what should be equal"
        raise ValueError(f"The candidates {what}: pass what is to be certified as constraints.")
    return asked[0]


def positive_of(y: Any, pos_label: Any, candidates: Sequence[Any], *, repaired: bool) -> Bools:
    """Which rows are positive: as the label says, or as the scorers were fitted."""
    labels = to_array(y, "y")
    if repaired:
        return positive_rows(labels, pos_label, "y")
    if pos_label is not None:
        raise ValueError("pos_label is for repairs: a scorer knows its own two classes.")
    for one in candidates:
        if hasattr(one, "classes_"):
            return as_fitted(labels, np.asarray(one.classes_), type(one).__name__)
    classes = np.unique(labels)
    if len(classes) != 2:
        raise ValueError(f"y must have two classes, but it has {len(classes)}.")
    return np.asarray(labels == classes[1])


def as_fitted(labels: Any, classes: Any, who: str) -> Bools:
    """Whether labels are the second of two classes; labels that are neither are refused."""
    odd = [label for label in np.unique(labels).tolist() if label not in classes.tolist()]
    if odd:
        known = " and ".join(map(label_text, classes.tolist()))
        raise ValueError(f"y holds the label {label_text(odd[0])}, but {who} knows {known}.")
    return np.asarray(labels == classes[1])


def names_of(candidates: Sequence[Any], names: Sequence[str] | None) -> list[str]:
    """What the candidates are called: all different."""
    if names is None:
        called = [_described(one) for one in candidates]
        if len(set(called)) < len(called):
            called = [f"{k}. {name}" for k, name in enumerate(called, 1)]
        return called
    if isinstance(names, str) or len(names) != len(candidates):
        n = len(candidates)
        raise ValueError(f"names must be a list of {n}, one for each candidate, not {names!r}.")
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise ValueError(f"names must be texts that differ, not {names!r}.")
    return list(names)


def _described(candidate: Any) -> str:
    """A scorer by its kind and what is usually varied."""
    varied = ("tolerance", "strength", "share")
    parts = [(name, getattr(candidate, name, None)) for name in varied]
    text = ", ".join(f"{name}={value}" for name, value in parts if value is not None)
    kind = type(candidate).__name__
    return f"{kind}({text})" if text else kind


def itself(candidate: Any) -> Callable[[], Any]:
    """How to have a candidate fitted that is."""
    return lambda: candidate


def _some(columns: Any, index: Ints, name: str) -> Any:
    """Some rows of one or several columns, with their names if they have any."""
    parts = [column[index] for column in to_columns(columns, name).values()]
    names = column_names(columns)
    if names is not None:
        return dict(zip(names, parts, strict=True))
    return parts[0] if len(parts) == 1 else parts
