"""RepairedScorer: any classifier, and one increasing map per group that makes its score fair.

`EvenScorer` is the repair without the group of whoever is scored.
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import (
    check_is_fitted,
    validate_data,
)

from evenscore.gaps import ConstraintLike, as_constraints
from evenscore.inference.estimate import Estimate
from evenscore.learning.cross_fitting import cross_fitting_folds
from evenscore.learning.encoding import FeatureEncoding
from evenscore.learning.parameters import seed_of
from evenscore.learning.training_set import (
    TrainingSet,
    cut_at_prevalence,
    refuse_idle_groups,
    two_classes,
)
from evenscore.learning.trees import FEW, default_trees
from evenscore.learning.wrapping import check_table, checked_labels, fitted, weight_parameter
from evenscore.repairing.fitting import RepairSettings, repair_rows
from evenscore.repairing.maps import Unseen, apply_by_group
from evenscore.scores.arrays import Floats
from evenscore.scores.reading import Rows
from evenscore.scores.sources import column_names, to_numbers


@dataclass(eq=False, repr=False)
class RepairedScorer(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose score is repaired: it needs the group to fit *and to score*.

    The classifier is cross-fitted: every row is scored by a model that has not seen it, and
    `repair` finds the maps on those scores, and warns of what they cannot reach. Without groups and
    constraints it is the classifier itself.

    Treating people by their group when decisions are made may be unlawful where you are, even to
    make them fair (see `repair`). `EvenScorer` and `LinearScorer` need the group only to fit.

    Parameters
    ----------
    estimator : classifier, optional
        Any with `decision_function` or `predict_proba`; LightGBM trees by default. A
        `FrozenEstimator` is scored as it is: give rows it has not been fitted on.
    constraints : name, constraint or list of them
        What should be equal between groups; needed if `fit` is given groups.
    tolerance, share, guards, unseen, min_beyond
        Those of `repair`.
    cv : int, splitter or list of splits, optional
        A number of folds (drawn within every class and group; by default 5, and 10 below 2,000
        rows), a splitter that leaves every row out once, or a list of such splits. With `cluster`
        folds keep clusters whole, a splitter that parts them is refused, and one that splits by
        groups is given them.
    ensemble : bool, default True
        The score of a new row is the mean of the repaired scores of the models of all folds, whose
        law is the one the maps were made for; otherwise that of one model fitted on all rows.
    soften : float, default 400
        That of `repair`; 0 makes the gaps of the cross-fitted scores vanish exactly.
    n_jobs : int, optional
        Fits at a time.
    random_state : int, optional
        Of the folds and the default trees.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The two classes; a high score stands for the second.
    groups_ : tuple
        The groups, in the order of the maps.
    estimators_ : list
        The fitted models.
    repair_ : Repair or None
        The maps; None without constraints.
    gaps_ : dict
        The gaps "before" and "after", on the cross-fitted scores, with intervals.
    intercept_ : float
        What is added so that as many rows score above 0 as are of the second class.
    n_features_in_, feature_names_in_
        What is known of the features.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from evenscore import RocConstraint
    >>> from evenscore.datasets import load_german
    >>> data = load_german()
    >>> train, test = data.train, data.test
    >>> constraint = RocConstraint(on="both", rates=(1 / 8, 1 / 4))
    >>> scorer = RepairedScorer(GaussianNB(), constraint, random_state=0)
    >>> _ = scorer.fit(data.X[train], data.y[train], sensitive_features=data.groups[train])
    >>> all(gap.low < 0 < gap.high for gap in scorer.gaps_["after"])
    True
    >>> scorer.decision_function(data.X[test], sensitive_features=data.groups[test]).shape
    (300,)
    """

    estimator: Any = None
    constraints: ConstraintLike = ()
    _: KW_ONLY
    tolerance: float | None = None
    share: float | None = None
    guards: bool = True
    cv: Any = None
    ensemble: bool = True
    unseen: Unseen = "error"
    min_beyond: float = 5.0
    soften: float = 400.0
    n_jobs: int | None = None
    random_state: Any = None

    # ------------------------------------------------------------------ fitting

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        cluster: Any = None,
    ) -> Self:
        """Fit the classifier on folds, and the maps on the scores of the rows left out.

        Parameters
        ----------
        X : table
            Features; they go to the classifier as they are.
        y : column
            Labels of two classes.
        sensitive_features : column, or several
            The groups; needed with constraints, and refused without.
        sample_weight : column of numbers, optional
            For the classifier, if it takes any, and for the maps.
        cluster : column, or several, optional
            Who or what each row is about, where there are several rows per person, household or
            branch; of several columns their combinations. Folds keep clusters whole, and the
            intervals of gaps go by clusters.

        Returns
        -------
        RepairedScorer
            Itself.
        """
        constraints = as_constraints(self.constraints)
        refuse_idle_groups(sensitive_features, constraints)
        y = checked_labels(self, X, y)
        self.classes_ = two_classes(y)
        positive = y == self.classes_[1]
        data = TrainingSet.read(
            X, positive, sensitive_features, sample_weight, constraints, cluster
        )
        self.groups_ = data.groups
        score = self._cross_fit(data, y, bool(constraints))
        self.repair_ = None
        self.gaps_: dict[str, list[Estimate]] = {"before": [], "after": []}
        if constraints:
            names = ("tolerance", "share", "guards", "unseen", "min_beyond", "soften")
            settings = RepairSettings(
                **{name: getattr(self, name) for name in names},
                averaged=len(self.estimators_) > 1,
            )
            checked = to_numbers(score, "The score")
            rows = Rows(positive, data.codes, data.groups, data.weight, checked, data.cluster)
            self.repair_ = repair_rows(
                rows, constraints, settings, column_names(sensitive_features)
            )
            self.gaps_ = {when: list(gaps) for when, gaps in self.repair_.gaps.items()}
            score = apply_by_group(score, data.codes, self.repair_.maps)
        self.intercept_ = -cut_at_prevalence(score, data)
        return self

    def _cross_fit(self, data: TrainingSet, y: NDArray[Any], constrained: bool) -> Floats:
        """Set `estimators_`; the scores of the training rows, by models that have not seen them."""
        seed = int(np.random.default_rng(seed_of(self.random_state)).integers(2**31 - 1))
        estimator = self.estimator
        if isinstance(estimator, FrozenEstimator):
            known = getattr(estimator, "classes_", self.classes_)
            if list(known) != list(self.classes_):
                raise ValueError(
                    f"The frozen estimator knows the classes {_listed(known)}, but y holds "
                    f"{_listed(self.classes_)}."
                )
            self.estimators_ = [estimator]
            return self._base_score(estimator, data.X)
        if estimator is None:
            if FeatureEncoding.fit(data.X, native=False) is not None:
                raise ValueError(
                    "RepairedScorer without an estimator takes numbers, and X has columns of "
                    "texts or categories: encode them, or give an estimator that takes them."
                )
            estimator = default_trees(len(data), data.X, seed, self.n_jobs)
        if data.weight is not None and weight_parameter(estimator) is None:
            warnings.warn(
                f"{type(estimator).__name__} takes no sample_weight: it is fitted without, and the "
                "weights count for the maps only.",
                UserWarning,
                stacklevel=3,
            )
        rows = np.arange(len(data))
        if not constrained:
            self.estimators_ = [fitted(estimator, data, y, rows)]
            return self._base_score(self.estimators_[0], data.X)
        cv = (10 if len(data) < FEW else 5) if self.cv is None else self.cv
        folds = cross_fitting_folds(cv, data, y, seed)
        models = Parallel(n_jobs=self.n_jobs)(
            delayed(fitted)(estimator, data, y, train) for train, _ in folds
        )
        score = np.empty(len(data))
        for model, (_, test) in zip(models, folds, strict=True):
            score[test] = self._base_score(model, _safe_indexing(data.X, test))
        self.estimators_ = models if self.ensemble else [fitted(estimator, data, y, rows)]
        return score

    # ------------------------------------------------------------------ scoring

    def _base_score(self, model: Any, X: Any) -> Floats:
        """The classifier's own score for the second class."""
        if hasattr(model, "decision_function"):
            score = np.asarray(model.decision_function(X), dtype=np.float64)
            return score[:, -1] if score.ndim == 2 else score
        if hasattr(model, "predict_proba"):
            return np.asarray(model.predict_proba(X), dtype=np.float64)[:, -1]
        raise TypeError(
            f"{type(model).__name__} has neither decision_function nor predict_proba: there is no "
            "score to repair."
        )

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """The repaired score: the higher, the more likely the second class.

        With constraints `sensitive_features` is needed here, too: every group has its own map.
        """
        check_is_fitted(self)
        if self.repair_ is not None and sensitive_features is None:
            raise ValueError(
                "A repaired score maps each group in its own way: pass sensitive_features to "
                "score (EvenScorer and LinearScorer need no groups for that)."
            )
        check_table(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        scores = [self._base_score(model, X) for model in self.estimators_]
        if self.repair_ is not None:
            scores = [
                self.repair_.transform(score, sensitive_features=sensitive_features)
                for score in scores
            ]
        return np.asarray(np.mean(scores, axis=0) + self.intercept_)

    def predict(self, X: Any, *, sensitive_features: Any = None) -> NDArray[Any]:
        """The second class where the score is above 0.

        Zero is where as many training rows are predicted to be of the second class as are.
        """
        above = self.decision_function(X, sensitive_features=sensitive_features) > 0.0
        return np.asarray(self.classes_[above.astype(np.intp)])

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        sensitive_features: Any = None,
    ) -> float:
        """The AUC of the repaired score; the gaps are in `gaps_`.

        A score is repaired as a ranking, for cuts still to be chosen: the accuracy of `predict`
        would judge it at one cut, the one that selects as many as are of the second class.
        """
        ranked = self.decision_function(X, sensitive_features=sensitive_features)
        if len(np.unique(y)) < 2:
            raise ValueError("An AUC needs rows of both classes, and y holds one only.")
        return float(roc_auc_score(y, ranked, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        if self.estimator is not None:
            inner = get_tags(self.estimator)
            tags.input_tags = inner.input_tags
        return tags


def _listed(classes: Any) -> str:
    return " and ".join(repr(label) for label in np.asarray(classes).tolist())
