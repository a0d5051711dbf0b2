"""What all scorers share: reading rows, holding some out, what is reported, scikit-learn's ways."""

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
)
from threadpoolctl import threadpool_limits

from evenscore.gaps import ConstraintLike, GapFamily, as_constraints
from evenscore.learning.calibrating import Calibration, has_probabilities
from evenscore.learning.cross_fitting import cross_fit
from evenscore.learning.encoding import FeatureEncoding
from evenscore.learning.features import FeatureReader
from evenscore.learning.group_feature import GroupFeature
from evenscore.learning.left_out import LeftOut, squared_distances
from evenscore.learning.objective import standardise
from evenscore.learning.parameters import (
    check_count,
    check_number,
    check_strength,
    described,
    seed_of,
)
from evenscore.learning.price import PriceWarning
from evenscore.learning.task import SLACK, History, Task
from evenscore.learning.training_set import (
    TrainingSet,
    cut_at_prevalence,
    labels_of,
    refuse_idle_groups,
    require_cells,
    two_classes,
)
from evenscore.learning.wholeness import check_names, check_numbers, part_of
from evenscore.scores.arrays import Floats
from evenscore.scores.aucs import overall_auc

_MANY = 100_000  # rows, from which on threads of the algebra pay


@dataclass(eq=False, repr=False)
class FairScorer(FeatureReader, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the scorers that learn; a subclass says how to learn and how to score.

    A subclass writes `learn` and `raw_score`. It takes the parameters below, unless its constructor
    offers others; those that it leaves out keep their defaults. Everything else is here: rows and
    groups are read and checked, some rows are held out, gaps are cross-fitted, measured and judged,
    and scikit-learn finds what it expects. A subclass whose docstring names one of these parameters
    or attributes on a line of its own has the description put in its place.

    Parameters
    ----------
    constraints : name, constraint or list of them
        What should be equal between groups, as a rule a `RateConstraint` at the cuts that will be
        used; nothing by default.
    tolerance : float, default 0.02
        The gap that each constraint may leave, unless it has a tolerance of its own.
    strength : float or list of floats, optional
        Instead of a tolerance: the penalty λ of the objective AUC − λ Σ |gap|, one for all
        constraints or one for each.
    use_groups : bool, default False
        The group is a feature, too, and needed to score. Such a score treats people of different
        groups differently. Where decisions must not depend on group membership this may be
        unlawful, whatever the aim: ask first.
    folds : int, default 3
        Gaps and the price are told of rows left out: so many more scorers, each learned without one
        fold, score it, and as many without constraints. `predict_proba` is calibrated on the same
        rows. With 0 all is told of the rows trained on, which flatters.
    random_state : int, optional
        Draws the folds, always the same by default, and whatever a subclass draws.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The two classes; a high score stands for the second.
    encoding_ : FeatureEncoding or None
        What the columns of a data frame with categories are; None if all features are numbers.
    groups_ : tuple
        The groups, in the order in which they are compared.
    group_feature_ : GroupFeature or None
        How the group stands beside the features, with `use_groups`.
    intercept_ : float
        Added to the raw score, so that 0 is where as many training rows are above as are positive.
    calibration_ : Calibration or None
        With folds, the increasing map from the score to the probability of the second class.
    gaps_ : list of Estimate
        The gaps with intervals, by folds. Intervals are about this scorer in the population (with
        `cluster`, by clusters), and account for the folds' scorers being others. Each gap has its
        own, not adjusted for the others; verdicts are.
    verdicts_ : list of str
        For each gap whether it is within its tolerance, and how sure that is; empty with a strength
        or without folds.
    price_ : Price or None
        AUC and largest gap on these rows, against the same scorer without constraints. A fit warns
        (`PriceWarning`) of a price above 0.02 and of a score that ranks below chance. None without
        constraints or folds.
    converged_ : bool
        With a tolerance, whether it is reached in training and no gap of rows left out is certain
        to be beyond it; with a strength, whether the objective had stopped rising.
    left_out_ : LeftOut or None
        The rows left out with their scores. Not kept in files.
    history_ : History
        Objective, AUC and gaps of every score that was looked at. The scorer is the best of them
        (`chosen`).

    Examples
    --------
    A scorer that takes the best of all features, by the AUC less what gaps are beyond their
    tolerance:

    >>> import numpy as np
    >>> from evenscore.datasets import make_square
    >>> from evenscore.learning import History
    >>> class BestFeature(FairScorer):
    ...     def learn(self, train, task):
    ...         objective, history = task.objective(train), History()
    ...         merits = []
    ...         for feature in train.X.T:
    ...             strict = objective.strict(feature)
    ...             history.add(1.0 - strict.auc, strict, np.zeros(len(strict.gaps)))
    ...             beyond = np.abs(strict.gaps) - task.tolerances(objective)
    ...             merits.append(strict.auc - np.maximum(beyond, 0.0).sum())
    ...         self.best_ = int(np.argmax(merits))
    ...         return history
    ...
    ...     def raw_score(self, X):
    ...         return X[:, self.best_]
    >>> data = make_square(2000, random_state=0)
    >>> scorer = BestFeature("intra_group", tolerance=0.4)
    >>> scorer = scorer.fit(data.X, data.y, sensitive_features=data.groups)
    >>> scorer.best_, scorer.converged_
    (1, True)
    >>> print(scorer.verdicts_[0])
    intra_group, 0 and 1: within 0.4, -0.272 (-0.329 to -0.215) on rows not trained on.
    """

    constraints: ConstraintLike = ()
    _: KW_ONLY
    tolerance: float | None = None
    strength: float | Sequence[float] | None = None
    use_groups: bool = False
    folds: int = 3
    random_state: Any = None

    advice: ClassVar[str] = ""
    """What to do where a tolerance is not reached in training, after a semicolon."""
    varied_together: ClassVar[tuple[str, ...]] = ()
    """Parameters that a method `fit_many`, if there is one, varies in one program."""

    known_by_reading: ClassVar[tuple[str, ...]] = (
        "n_features_in_",
        "feature_names_in_",
        "encoding_",
        "group_feature_",
        "classes_",
        "groups_",
    )
    """Attributes that reading rows sets, and that scorers learned on the same rows share."""

    # Groups passed to a search or a cross-validation are for `fit`, unless one asks for more.
    __metadata_request__score: ClassVar[dict[str, bool]] = {"sensitive_features": False}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__doc__:
            cls.__doc__ = described(cls.__doc__, FairScorer.__doc__ or "")

    # ------------------------------------------------------------------ for subclasses

    @abstractmethod
    def learn(self, train: TrainingSet, task: Task) -> History:
        """Learn, setting the attributes that `raw_score` needs, and report what happened.

        It is called on all rows by `fit`, and on some of them for each fold; it should depend on
        the parameters, on `n_features_in_` and on its arguments only.

        Parameters
        ----------
        train : TrainingSet
            Rows to learn from.
        task : Task
            The constraints, and how large gaps may be; none to learn the best ranking.

        Returns
        -------
        History
            An entry per score that was looked at, or an empty one.
        """

    @abstractmethod
    def raw_score(self, X: Any) -> Floats:
        """Scores of validated features, the higher the more likely the second class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
            The features.

        Returns
        -------
        array of shape (n,)
        """

    def check_learned(self, n_features: int) -> None:
        """Refuse what `raw_score` cannot use, of a scorer read from a file; by default nothing.

        Parameters
        ----------
        n_features : int
            How many features are going to be scored.

        Raises
        ------
        ValueError
            With one sentence.
        """

    def check_parameters(self) -> None:
        """Refuse bad parameters; a subclass checks its own after calling this."""
        check_number(self, "tolerance", 0.0, 1.0, optional=True)
        check_strength(self.strength)
        check_count(self, "folds", 0)
        if self.folds == 1:
            raise ValueError("folds must be 0 or at least 2, not 1.")

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
        """Learn a score that ranks the second of the two classes above the first.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
            The features. Texts and categories of a data frame are taken as they are.
        y : array of shape (n,)
            Labels of two classes.
        sensitive_features : vector or several columns, optional
            The groups; of several columns their intersections. Needed to fit with constraints, and
            refused without them, which say what to do about groups; to score they are needed with
            `use_groups` only.
        sample_weight : array of shape (n,), optional
            A row with a weight of two counts as two rows.
        cluster : column, or several, optional
            Who or what each row is about, where there are several rows per person, household or
            branch; of several columns their combinations. Intervals of gaps then go by clusters,
            and whoever is trained on in one row is never tested on in another: folds keep clusters
            whole, as even over classes and groups as that allows. What is learned from given rows
            does not depend on it.

        Returns
        -------
        self
        """
        self.check_parameters()
        task = self.task()
        data = self._read(X, y, sensitive_features, sample_weight, task.constraints, cluster)
        for text, category in self.learn_from(data, task):
            warnings.warn(text, category, stacklevel=2)
        return self

    def learn_from(
        self, data: TrainingSet, task: Task | None = None
    ) -> list[tuple[str, type[Warning]]]:
        """Learn from rows that have been read.

        Parameters
        ----------
        data : TrainingSet
            The rows.
        task : Task, optional
            The parameters, unless somebody has read them already.

        Returns
        -------
        list of (str, type of warning)
            What a user has to be told.
        """
        task = self.task() if task is None else task
        # Products of some thousand rows are too small to share out among threads.
        with threadpool_limits(1 if len(data) < _MANY else None, user_api="blas"):
            history = self.learn(data, task)
            self._finish(data, task, history)
            return self._told(data, task, history)

    def know(self, reader: "FairScorer") -> None:
        """Take over what reading rows has told another scorer of the kind.

        Parameters
        ----------
        reader : FairScorer
            One that has read the rows.
        """
        for name in self.known_by_reading:
            if hasattr(reader, name):
                setattr(self, name, getattr(reader, name))

    def task(self) -> Task:
        """What the parameters ask for."""
        return Task(tuple(as_constraints(self.constraints)), self.tolerance, self.strength)

    def _read(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        sample_weight: ArrayLike | None,
        constraints: tuple[GapFamily, ...],
        cluster: Any = None,
    ) -> TrainingSet:
        """The rows of positive weight; sets `classes_`, `groups_` and what scikit-learn sets."""
        if not self.use_groups:
            refuse_idle_groups(sensitive_features, constraints)
        X, y = self._matrix(X, y)
        self.classes_ = two_classes(y)
        positive = y == self.classes_[1]
        data = TrainingSet.read(
            X, positive, sensitive_features, sample_weight, constraints, cluster
        )
        self.groups_, self.group_feature_ = data.groups, None
        if self.use_groups:
            self.group_feature_ = GroupFeature.of(
                sensitive_features, data.groups, native=self.accepts_codes
            )
            data = replace(data, X=self.group_feature_.beside(data.X, data.codes))
        if data.weight is not None and not np.all(data.weight > 0.0):
            data = data.rows(data.weight > 0.0)
        if data.positive.all() or not data.positive.any():
            raise ValueError("Rows of positive weight are of one class only.")
        if constraints:
            require_cells(data, constraints)
        return data

    def _finish(self, data: TrainingSet, task: Task, history: History) -> None:
        """Set the attributes that all scorers have."""
        raw = self.raw_score(data.X)
        self.intercept_ = -cut_at_prevalence(raw, data)
        self.history_, self.calibration_ = history, None
        self.left_out_ = self.price_ = None
        self.gaps_, self.verdicts_ = [], []
        families = task.constraints
        if not self.folds:
            self.gaps_ = LeftOut(data, raw, raw).gaps(families)
            return
        seed = 0 if self.random_state is None else seed_of(self.random_state)
        rng = np.random.default_rng(seed)
        self.left_out_, by_fold = cross_fit(self, data, task, int(self.folds), rng)
        training = standardise(raw, data.share)
        centre = training.mean + self.intercept_
        self.calibration_ = Calibration.fit(self.left_out_.table, centre, training.scale)
        if not families:
            return
        tolerances = None if task.strength is not None else task.of_families
        off = squared_distances(families, data.grouped(raw), by_fold)
        self.gaps_ = self.left_out_.gaps(families, tolerances, off)
        self.price_ = self.left_out_.price(families, self.gaps_)
        if tolerances is not None:
            self.verdicts_ = self.left_out_.verdicts(families, tolerances, self.gaps_)

    def _told(
        self, data: TrainingSet, task: Task, history: History
    ) -> list[tuple[str, type[Warning]]]:
        """Set `converged_`; what a user has to be warned of."""
        name, told = type(self).__name__, list[tuple[str, type[Warning]]]()
        self.converged_ = history.settled is not False
        if task.strength is None and task.constraints:
            missed = self._missed(data, task)
            beyond = [
                v for g, v in zip(self.gaps_, self.verdicts_, strict=False) if g.verdict == "beyond"
            ]
            self.converged_ = not missed and not beyond
            reason = missed or (beyond[0] if beyond else "")
            if reason:
                told.append((f"{name} did not reach {reason}", ConvergenceWarning))
        if self.price_ is not None and self.price_.warning is not None:
            told.append((f"{name} {self.price_.warning}", PriceWarning))
        return told

    def _missed(self, data: TrainingSet, task: Task) -> str:
        """The gap that is furthest beyond what may be left in training, in words."""
        objective = task.objective(data)
        gaps = objective.reported(self.raw_score(data.X)).gaps
        allowed = np.maximum(task.tolerances(objective), task.chances(objective))
        beyond = np.nan_to_num(np.abs(gaps) - allowed)
        if beyond.max(initial=0.0) <= SLACK:
            return ""
        k = int(np.argmax(beyond))
        titles = [key.title for f in task.constraints for key in f.keys(data.groups)]
        limit = float(task.tolerances(objective)[k])
        return (
            f"{titles[k]}: {gaps[k]:+.3f} on the rows trained on, tolerance {limit:g}{self.advice}."
        )

    # ------------------------------------------------------------------ scoring

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """The score: the higher, the more likely the second class.

        No groups are needed, unless `use_groups` has made them a feature.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
            The features. Categories that were not seen in training are taken to be missing, and a
            warning counts them.
        sensitive_features : vector or several columns, optional
            The groups, with `use_groups` and only then.

        Returns
        -------
        array of shape (n,)
        """
        check_is_fitted(self)
        feature, name = self.group_feature_, type(self).__name__
        if feature is None and sensitive_features is not None:
            raise ValueError(
                f"This {name} needs no groups to score, being fitted without use_groups: leave "
                "sensitive_features out."
            )
        if feature is not None and sensitive_features is None:
            raise ValueError(
                f"This {name} was fitted with use_groups and needs the group of everyone it "
                "scores: pass sensitive_features."
            )
        X = self._matrix(X)
        if feature is not None:
            X = feature.beside(X, feature.codes(sensitive_features, X.shape[0]))
        return self.raw_score(X) + self.intercept_

    def check_whole(self) -> None:
        """Refuse a scorer that was read from a file and cannot score: altered, or cut.

        Raises
        ------
        ValueError
            With one sentence that says which attribute is not as `fit` sets it.
        """
        check_names(self)
        n_features = part_of(self, "n_features_in_", int)
        if n_features < 1:
            raise ValueError(f"n_features_in_ must be at least 1, not {n_features}.")
        check_numbers(self, "intercept_", ())
        encoding = part_of(self, "encoding_", FeatureEncoding, optional=True)
        group = part_of(self, "group_feature_", GroupFeature, optional=True)
        if encoding is None and group is None:  # others are told apart by what they are given
            self.check_learned(n_features)

    def predict(self, X: Any, *, sensitive_features: Any = None) -> NDArray[Any]:
        """The second class where the score is above 0.

        Zero is where as many training rows are predicted to be of the second class as are. For
        another threshold, cut `decision_function` yourself.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
            The features.
        sensitive_features : vector or several columns, optional
            The groups, with `use_groups` and only then.

        Returns
        -------
        array of shape (n,)
            Labels, of `classes_`.
        """
        above = self.decision_function(X, sensitive_features=sensitive_features) > 0.0
        return np.asarray(self.classes_[above.astype(np.intp)])

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """Probabilities of the two classes, of a scorer fitted with folds.

        They are an increasing function of the score, calibrated on rows that it had not been
        trained on, for all people together: groups of different prevalence with equal error rates
        cannot both be calibrated. Audit calibration by group before you use one as a probability.

        `predict` does not cut at ½, but where as many rows are above as are of the second class.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
            The features.
        sensitive_features : vector or several columns, optional
            The groups, of a scorer fitted with `use_groups`.

        Returns
        -------
        array of shape (n, 2)
            In the order of `classes_`.
        """
        scores = self.decision_function(X, sensitive_features=sensitive_features)
        assert self.calibration_ is not None
        return self.calibration_.of_both_classes(scores)

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        sensitive_features: Any = None,
    ) -> float:
        """The AUC of `decision_function`, not the accuracy of `predict`: a score is for ranking.

        It is the chance that a row of the second class scores above one of the first, a tie
        counting half: what `cross_val_score` and `GridSearchCV` look at, unless told otherwise.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
            The features.
        y : array of shape (n,)
            Labels, of `classes_`; there must be some of both.
        sample_weight : array of shape (n,), optional
            A row with a weight of two counts as two rows.
        sensitive_features : vector or several columns, optional
            The groups, of a scorer fitted with `use_groups`.

        Returns
        -------
        float
        """
        scores = self.decision_function(X, sensitive_features=sensitive_features)
        check_consistent_length(scores, y)
        positive = labels_of(y, self.classes_) == 1
        rows = TrainingSet.read(scores, positive, None, sample_weight, ())
        auc = overall_auc(rows.grouped(scores))
        if np.isnan(auc):
            raise ValueError("An AUC needs rows of both classes, and y holds one only.")
        return auc

    def stored(self) -> Self:
        """A copy for a model file; here the scorer itself.

        Returns
        -------
        FairScorer
        """
        return self

    def __getstate__(self) -> dict[str, Any]:
        """What is kept in files: nothing about single people."""
        return dict(super().__getstate__()) | {"left_out_": None}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = self.accepts_sparse
        tags.input_tags.allow_nan = self.accepts_missing
        return tags
