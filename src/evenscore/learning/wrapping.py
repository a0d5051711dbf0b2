"""What scorers over a classifier of the user's share: its features as they are, copies, fits."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, column_or_1d, has_fit_parameter, validate_data

from evenscore.learning.training_set import TrainingSet
from evenscore.scores.arrays import Ints
from evenscore.scores.sources import counted


def check_table(X: Any) -> None:
    """Refuse an array that is not a table; what is in it is for the classifier to judge."""
    if isinstance(X, np.ndarray) and X.ndim != 2:
        raise ValueError(
            f"X must be a table of rows and features, but its shape is {X.shape}. Reshape your "
            "data to one row per person."
        )


def checked_labels(scorer: Any, X: Any, y: Any) -> NDArray[Any]:
    """A column of labels, as many as rows of X; sets what scikit-learn wants to know of X."""
    if y is None:
        raise ValueError(
            f"This {type(scorer).__name__} estimator requires y to be passed, but the target y "
            "is None."
        )
    check_table(X)
    validate_data(scorer, X, skip_check_array=True)
    labels = column_or_1d(y, warn=True)
    if len(labels) != _num_samples(X):
        raise ValueError(f"y has {counted(len(labels), 'row')} but X has {_num_samples(X)}.")
    if len(labels) == 0:
        raise ValueError("X and y have no rows.")
    return np.asarray(labels)


def fitted(
    estimator: Any, data: TrainingSet, target: NDArray[Any], rows: Ints, **options: Any
) -> Any:
    """A copy of a classifier, fitted on some rows, with the weights of the data.

    Where there is nothing to tell apart, one that says so; `options` are of the classifier's `fit`.
    """
    alike = bool(np.all(target[rows] == target[rows[:1]]))
    model = DummyClassifier() if alike else clone(estimator)
    options = {} if alike else options
    X = data.X if len(rows) == len(target) else _safe_indexing(data.X, rows)
    name = weight_parameter(model)
    if data.weight is None or name is None:
        return model.fit(X, target[rows], **options)
    return model.fit(X, target[rows], **{name: data.weight[rows]}, **options)


def weight_parameter(model: Any) -> str | None:
    """How `fit` calls the weights of rows, if it takes any: of a pipeline, those of its last step.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> weight_parameter(make_pipeline(LogisticRegression()))
    'logisticregression__sample_weight'
    """
    if has_fit_parameter(model, "sample_weight"):
        return "sample_weight"
    if isinstance(model, Pipeline) and has_fit_parameter(model.steps[-1][1], "sample_weight"):
        return f"{model.steps[-1][0]}__sample_weight"
    return None


def without_class_weights(estimator: Any) -> Any:
    """The same classifier for other classes: weights of classes by name are not about those."""
    named = {
        name: None
        for name, value in estimator.get_params().items()
        if name.rpartition("__")[2] == "class_weight" and isinstance(value, dict)
    }
    return clone(estimator).set_params(**named) if named else estimator
