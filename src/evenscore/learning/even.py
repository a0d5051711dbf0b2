"""EvenScorer: any classifier's chances, and bars on them that treat groups equally at the cuts."""

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.utils import get_tags, indexable
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from evenscore.gaps import ConstraintLike, GapFamily, as_constraints
from evenscore.gaps.family import with_tolerance
from evenscore.gaps.placeable import Placeable
from evenscore.learning.bounding import Bound, bound_of
from evenscore.learning.features import FeatureReader
from evenscore.learning.left_out import LeftOut, squared_distances
from evenscore.learning.parameters import check_count, check_number, seed_of
from evenscore.learning.placing import Evidence, Placer
from evenscore.learning.posteriors import (
    KEPT,
    KINDS,
    MOST_KEPT,
    CrossFitted,
    Posteriors,
    Recipe,
)
from evenscore.learning.price import PriceWarning
from evenscore.learning.spreading import spread
from evenscore.learning.task import DEFAULT_TOLERANCE, TOLERANCES
from evenscore.learning.telling import telling_columns
from evenscore.learning.training_set import (
    TrainingSet,
    labels_of,
    refuse_idle_groups,
    two_classes,
)
from evenscore.learning.wholeness import check_names, check_positions, part_of
from evenscore.learning.wrapping import check_table, checked_labels, weight_parameter
from evenscore.scores.arrays import Floats, Ints

_MANY = 100_000  # rows, from which on threads of the algebra pay


class EvenScorer(FeatureReader, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learn a score that treats groups equally at the cuts in use, over any classifier.

    The classifier gives chances of class and group, on folds that it has not seen. A person is
    above a cut if their log-odds of a positive reach its *bar*, which moves smoothly with how
    likely each group is; the bars with the largest AUC under the constraints are found by linear
    programs. The group is needed to fit, never to score. Of two people whose groups are equally
    likely, the one more likely positive is never placed lower.

    The score is a *position*, a share of everyone: 0.9 is ahead of 90% of people like those it was
    fitted on. So a threshold of 0.8 selects a fifth of them.

    Parameters
    ----------
    constraints : constraint, name or list of them
        What should be equal: `RateConstraint`, `RocConstraint`, and of the AUC notions "bnsp",
        "bpsn", "zero_aeg" and "zero_aeg_negatives". Others are for `LinearScorer`. One without a
        tolerance of its own may leave a gap of 0.02; without constraints the score is the
        classifier's.
    estimator : classifier, "trees" or "logistic", optional
        Any with `predict_proba`; features go to it as they are, and it is asked for chances of the
        groups too. By default boosted trees blended with a logistic regression, which take missing
        values, texts and categories of a data frame: LightGBM's, or scikit-learn's where it is not
        installed. "trees" and "logistic" are one of the two.
    folds : int, default 3
        Each model is fitted without one of so many folds.
    repeats : int, default 1
        How often folds are drawn: more make positions steadier, at the cost of as many fits.
    smoothness : float, default 0.2
        How little a place may hang on a hair. Two bars keep at least this share of the distance
        they have without constraints, and a hundredth of it is what differences between bars of
        neighbouring people must gain in AUC. At 0 the ranking is best and places are least stable.
    random_state : int, optional
        Of the folds and of the default classifier.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The two classes; a high position stands for the second.
    groups_ : tuple
        The groups.
    bars_ : Bars or None
        Which odds are needed at each cut, by how likely each group is: `print` and `plot` it. None
        without constraints.
    gaps_ : list of Estimate
        The gaps with intervals, on rows that neither the classifiers nor the bars have seen.
    price_ : Price or None
        AUC and largest gap on these rows, against the same classifier without constraints.
    prevalence_ : float
        The share of the second class: as many are predicted to be of it.
    verdicts_ : list of str
        For each gap whether it is within its tolerance, and how sure that is; and where more than
        the tolerance was allowed, since less cannot be told from chance.
    converged_ : bool
        Whether no gap is certain to be beyond its tolerance, on these rows and on those that bars
        were found on.
    left_out_ : LeftOut
        These rows with their scores, without constraints and with. Not kept in files.
    path_ : list of EvenScorer
        The same classifiers without constraints and under smaller and smaller tolerances; `path`
        takes others.
    bound_ : Bound
        An AUC that no score built on these chances exceeds under the constraints.
    columns_ : array or None
        The columns that the default classifier sees, if some state the group: those are left out.
    posteriors_ : Posteriors
        The fitted classifiers: from features to chances of class and group.

    Notes
    -----
    `placement.bars` has the formula of the bars. New people are scored by the mean of the fold
    models' chances. A gap may be left of half its standard error, if that is more than the
    tolerance: less cannot be distinguished from noise.

    Examples
    --------
    >>> from evenscore import Cuts, RateConstraint
    >>> from evenscore.datasets import load_german
    >>> data = load_german()
    >>> fair = RateConstraint("fnr", cuts=Cuts(between=(0.5, 0.8)), tolerance=0.05)
    >>> scorer = EvenScorer(fair, random_state=0)
    >>> with warnings.catch_warnings(action="ignore"):  # columns that state the group are left out
    ...     scorer = scorer.fit(data.X, data.y, sensitive_features=data.groups)
    >>> bool(0.3 < (scorer.decision_function(data.X) > 0.6).mean() < 0.5)
    True
    """

    def __init__(
        self,
        constraints: ConstraintLike = (),
        estimator: Any = None,
        *,
        folds: int = 3,
        repeats: int = 1,
        smoothness: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.constraints = constraints
        self.estimator = estimator
        self.folds = folds
        self.repeats = repeats
        self.smoothness = smoothness
        self.random_state = random_state

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
        """Fit the classifiers on folds, and find the bars on the chances of the rows left out.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
            The features.
        y : array of shape (n,)
            Labels of two classes.
        sensitive_features : vector or several columns, optional
            The groups; of several columns their intersections. Needed with constraints, and refused
            without.
        sample_weight : array of shape (n,), optional
            A row with a weight of two counts as two rows.
        cluster : column, or several, optional
            Who or what each row is about, where there are several rows per person, household or
            branch: folds keep them together, and intervals of gaps go by them.

        Returns
        -------
        EvenScorer
            Itself.
        """
        families = self.check_parameters()
        data = self._read(X, y, sensitive_features, sample_weight, cluster, families)
        rng = np.random.default_rng(seed_of(self.random_state))
        data = self._without_telling(data)
        recipe = self._recipe(data, int(rng.integers(2**31 - 1)))
        inner, order = _in_order_met(data)
        folds = _drawn(inner, int(self.folds), int(self.repeats), rng)
        _require_cells(inner, families, folds[0], int(self.folds))
        labels = self.classes_[inner.positive.astype(np.intp)]
        with threadpool_limits(1 if len(data) < _MANY else None, user_api="blas"):
            crossed = CrossFitted.fit(recipe, inner, labels, folds)
            self.posteriors_ = crossed.posteriors
            self._evidence = Evidence(inner.bare, crossed, order, int(self.folds))
            self._path: list[Self] | None = None
            self._settle(families)
        return self

    @property
    def _by_default(self) -> bool:
        """Whether the classifier is ours."""
        return self.estimator is None or isinstance(self.estimator, str)

    def check_parameters(self) -> list[Any]:
        """The constraints; bad parameters and what cannot be placed are refused."""
        check_count(self, "folds", 2)
        check_count(self, "repeats")
        check_number(self, "smoothness", 0.0, 1.0)
        if isinstance(self.estimator, str) and self.estimator not in KINDS:
            known = " or ".join(map(repr, KINDS))
            raise ValueError(f"estimator must be a classifier, {known}, not {self.estimator!r}.")
        if not self._by_default and not hasattr(self.estimator, "predict_proba"):
            kind = type(self.estimator).__name__
            raise TypeError(
                f"{kind} has no predict_proba, and bars are on chances: wrap it, as in "
                f"CalibratedClassifierCV({kind}())."
            )
        families = as_constraints(self.constraints)
        for family in families:
            if not isinstance(family, Placeable):
                raise TypeError(
                    f"{family.name} says nothing about rates at cuts, which EvenScorer makes "
                    "equal: ask for a RateConstraint at the cuts that will be used, or take "
                    "LinearScorer."
                )
            family.placed()
        return families

    def _without_telling(self, data: TrainingSet) -> TrainingSet:
        """Without features that state the group; a classifier of the user's sees all."""
        self.columns_ = None
        if not self._by_default or len(data.groups) < 2:
            return data
        telling = telling_columns(data)
        if not len(telling):
            return data
        self.columns_ = np.setdiff1d(np.arange(data.X.shape[1]), telling)
        names = self._names(data.X.shape[1])
        told = ", ".join(names[k] for k in telling[:5].tolist())
        told += ", …" if len(telling) > 5 else ""
        if not len(self.columns_):
            raise ValueError(f"All features state the group: there is nothing but {told}.")
        state, them = ("states", "it") if len(telling) == 1 else ("state", "them")
        _warn(
            f"EvenScorer leaves out {told}, which {state} the group: a score that sees {them} "
            "needs the group of whoever it scores. An estimator of your own takes all."
        )
        return replace(data, X=data.X[:, self.columns_])

    def _names(self, n_features: int) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        if self.encoding_ is not None:
            names = self.encoding_.feature_names
        if names is None:
            return [f"column {k}" for k in range(n_features)]
        return [str(name) for name in names]

    def _recipe(self, data: TrainingSet, seed: int) -> Recipe:
        if self._by_default:
            codes: Any = () if self.encoding_ is None else self.encoding_.categorical
            if self.columns_ is not None:
                codes = np.flatnonzero(np.isin(self.columns_, codes)).tolist()
            return Recipe.default(data.X, codes, seed, self.estimator)
        if data.weight is not None and weight_parameter(self.estimator) is None:
            _warn(
                f"{type(self.estimator).__name__} takes no sample_weight: it is fitted without, "
                "and the weights count for the bars only."
            )
        return Recipe.of(self.estimator)

    def _read(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        sample_weight: ArrayLike | None,
        cluster: Any,
        families: Sequence[GapFamily],
    ) -> TrainingSet:
        """The rows of positive weight; sets what scikit-learn sets."""
        refuse_idle_groups(sensitive_features, families)
        self.encoding_ = None
        if self._by_default:
            X, y = self._matrix(X, y)
            X = sparse.csr_matrix(X) if sparse.issparse(X) else X
        else:
            X = indexable(X)[0]
            y = checked_labels(self, X, y)
        self.classes_ = two_classes(y)
        data = TrainingSet.read(
            X, y == self.classes_[1], sensitive_features, sample_weight, families, cluster
        )
        self.groups_ = data.groups
        self.prevalence_ = data.prevalence
        if data.weight is not None and not np.all(data.weight > 0.0):
            data = data.rows(data.weight > 0.0)
        if data.positive.all() or not data.positive.any():
            raise ValueError("Rows of positive weight are of one class only.")
        return data

    def _settle(self, families: Sequence[Any]) -> None:
        """Find bars under some constraints, and say what came of them."""
        tolerances = _tolerances(families)
        evidence = self._known("under")
        odds = evidence.points.odds
        if np.ptp(odds) < 1e-9:
            _warn("The classifier gives every row the same chance: all positions are equal.")
        found = evidence.place(families, tolerances, float(self.smoothness))
        self.placer_, self.bars_ = found.placer, found.bars
        self.gaps_, self.verdicts_, self.price_ = [], [], None
        rows = np.flatnonzero(~np.isnan(found.told))
        named = evidence.named(self.groups_).rows(rows)
        self.left_out_ = LeftOut(named, odds[rows], found.told[rows])
        self.converged_ = True
        if not families:
            return
        off = None
        if found.others:  # how far the bars of each fold are from the final ones, on all rows
            final = found.placer.crossings(evidence.crossed.cells)
            everyone = evidence.named(self.groups_)
            others = [everyone.grouped(one) for one in found.others]
            off = squared_distances(families, everyone.grouped(final), others)
        self.gaps_ = self.left_out_.gaps(families, tolerances, off)
        verdicts = self.left_out_.verdicts(families, tolerances, self.gaps_)
        self.verdicts_ = [*verdicts, *found.spared]
        self.price_ = self.left_out_.price(families, self.gaps_)
        beyond = [v for g, v in zip(self.gaps_, verdicts, strict=True) if g.verdict == "beyond"]
        self.converged_ = not beyond and not found.left
        if not self.converged_:
            told = beyond[0] if beyond else f"{found.left}."
            if evidence.tells_groups:
                told += (
                    " The features tell the group of almost everybody: leave out what states it."
                )
            _warn(f"EvenScorer did not reach what was asked. {told}", ConvergenceWarning)
        if self.price_.warning is not None:
            _warn(f"EvenScorer {self.price_.warning}", PriceWarning)

    # ------------------------------------------------------------------ other constraints

    def _known(self, asked: str) -> Evidence:
        """What bars are found on."""
        check_is_fitted(self)
        evidence: Evidence | None = getattr(self, "_evidence", None)
        if evidence is None:
            raise ValueError(
                f"{asked} needs the chances of the people that EvenScorer was fitted on, which are "
                "not kept in files: fit it again."
            )
        return evidence

    def under(self, constraints: ConstraintLike) -> Self:
        """The same fitted classifiers under other constraints: only the bars are found anew.

        Parameters
        ----------
        constraints : constraint, name or list of them
            What should be equal, between the groups of the fit.

        Returns
        -------
        EvenScorer
            Another one, fitted.
        """
        evidence = self._known("under")
        other: Self = clone(self).set_params(constraints=constraints)
        families = other.check_parameters()
        if families and len(self.groups_) < 2:
            raise ValueError("EvenScorer was fitted without groups: fit it with constraints.")
        for name, value in vars(self).items():
            if name.endswith("_"):
                setattr(other, name, value)
        other._evidence = evidence
        with threadpool_limits(1 if len(evidence.rows) < _MANY else None, user_api="blas"):
            other._settle(families)
        return other

    def path(self, tolerances: Sequence[float] = TOLERANCES) -> list[Self]:
        """Scorers of the same classifiers at several tolerances of all constraints.

        Parameters
        ----------
        tolerances : list of float
            The gaps that each constraint may leave, whatever its own tolerance is; infinity stands
            for no constraints.

        Returns
        -------
        list of EvenScorer
            In the same order, each with its own `gaps_`, `price_`, `bars_`.
        """
        self._known("path_")
        scorers, families = [], as_constraints(self.constraints)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what each leaves and costs is what is shown
            for tolerance in tolerances:
                kept = [] if np.isinf(tolerance) else families
                scorers.append(self.under([with_tolerance(one, tolerance) for one in kept]))
        return scorers

    @property
    def path_(self) -> list[Self]:
        """Without constraints, and at the tolerances 0.2, 0.1, 0.05, 0.02, 0.01 and 0.005."""
        known: list[Self] | None = getattr(self, "_path", None)
        if known is None:
            known = self._path = self.path((np.inf, *TOLERANCES))
        return known

    @property
    def bound_(self) -> Bound:
        """An AUC that no score built on these chances exceeds under the constraints."""
        families = self.check_parameters()
        return bound_of(self._known("bound_"), families, _tolerances(families))

    def stored(self) -> Self:
        """A copy for a model file: default classifiers as plain arrays, no bars in words.

        Returns
        -------
        EvenScorer
            It gives the same positions.
        """
        check_is_fitted(self)
        if not self._by_default:
            kind = type(self.estimator).__name__
            raise ValueError(f"A model file holds no classifier of your own: pickle {kind}.")
        other, width = copy(self), self.n_features_in_
        width = width if self.columns_ is None else len(self.columns_)
        other.posteriors_ = self.posteriors_.plain(self.classes_, width)
        other.bars_ = None
        return other

    def check_whole(self) -> None:
        """Refuse a scorer that was read from a file and cannot score: altered, or cut.

        Raises
        ------
        ValueError
            With one sentence that says which part is not as `fit` makes it.
        """
        check_names(self)
        width = part_of(self, "n_features_in_", int)
        if width < 1:
            raise ValueError(f"n_features_in_ must be at least 1, not {width}.")
        if not self._by_default or getattr(self, "encoding_", 0) is not None:
            raise ValueError("EvenScorer in a file must have plain classifiers and features.")
        columns = part_of(self, "columns_", np.ndarray, optional=True)
        if columns is not None:
            whole = columns.ndim == 1 and columns.dtype.kind == "i"
            positions = tuple(columns.tolist()) if whole else None
            check_positions("EvenScorer.columns_", positions, width)
            width = len(columns)
        posteriors, placer = (
            part_of(self, name, kind)
            for name, kind in (("posteriors_", Posteriors), ("placer_", Placer))
        )
        posteriors.check_whole(width)
        placer.check_whole(posteriors.n_groups)

    def __getstate__(self) -> dict[str, Any]:
        """What is kept in files: nothing about single people."""
        state = dict(super().__getstate__())
        for name in ("_evidence", "_path", "left_out_"):
            state.pop(name, None)
        return state

    # ------------------------------------------------------------------ scoring

    def decision_function(self, X: Any) -> Floats:
        """The position of each row: the share of people like those in training who are behind it.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
            The features; no groups.

        Returns
        -------
        array of shape (n,)
            Between 0 and 1.
        """
        check_is_fitted(self)
        if self._by_default:
            X = self._matrix(X)
            X = sparse.csr_matrix(X) if sparse.issparse(X) else X
            X = X if self.columns_ is None else X[:, self.columns_]
        else:
            check_table(X)
            validate_data(self, X, skip_check_array=True, reset=False)
        return self.placer_(self.posteriors_(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The second class of as many as are in training: those in front.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
            The features.

        Returns
        -------
        array of shape (n,)
            Labels, of `classes_`.
        """
        ahead = self.decision_function(X) > 1.0 - self.prevalence_
        return np.asarray(self.classes_[ahead.astype(np.intp)])

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The AUC of the positions: a score is for ranking.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
            The features.
        y : array of shape (n,)
            Labels, of `classes_`; there must be some of both.
        sample_weight : array of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        float
        """
        positive = labels_of(y, self.classes_)
        if len(np.unique(positive)) < 2:
            raise ValueError("An AUC needs rows of both classes, and y holds one only.")
        return float(
            roc_auc_score(positive, self.decision_function(X), sample_weight=sample_weight)
        )

    @property
    def accepts_sparse(self) -> bool:
        """What the default trees take; a classifier of the user's is asked itself."""
        return find_spec("lightgbm") is not None

    @property
    def accepts_missing(self) -> bool:
        """The default trees take missing values."""
        return True

    @property
    def accepts_codes(self) -> bool:
        """The default trees take categories as they are."""
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse, tags.input_tags.allow_nan = self.accepts_sparse, True
        if not self._by_default:
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def _in_order_met(data: TrainingSet) -> tuple[TrainingSet, Ints]:
    """The groups in the order in which rows have them, so that what they are called has no effect.

    And the place of each of the user's groups in that order.
    """
    _, first = np.unique(data.codes, return_index=True)
    met = np.argsort(first)
    place = np.argsort(met)
    groups = tuple(data.groups[k] for k in met.tolist())
    return replace(data, codes=place[data.codes], groups=groups), place


def _drawn(data: TrainingSet, folds: int, repeats: int, rng: np.random.Generator) -> list[Ints]:
    """The fold of every row, for each drawing; −1 for those kept from all models.

    Each class and group is spread evenly; clusters stay whole.
    """
    n = len(data)
    every = max(KEPT, int(np.ceil(n / MOST_KEPT)))
    if data.cluster is None:
        order = rng.permutation(n)
        order = order[np.argsort(data.cell[order], kind="stable")]
        kept = np.zeros(n, dtype=bool)
        kept[order[every - 1 :: every]] = True
    else:
        kept = spread(data.cluster, data.cell, [1.0 - 1.0 / every, 1.0 / every], rng) == 1
    rows, drawn = np.flatnonzero(~kept), []
    some = data.bare.rows(rows)
    for _ in range(repeats):
        fold = np.full(n, -1, dtype=np.intp)
        fold[rows] = some.folds(folds, rng)
        drawn.append(fold)
    return drawn


def _require_cells(
    data: TrainingSet, families: Sequence[GapFamily], fold: Ints, folds: int
) -> None:
    """Refuse folds without a class, or without a cell that a constraint is about."""
    n_groups = len(data.groups)
    needed = np.zeros(2 * n_groups, dtype=bool)
    for family in families:
        needed |= family.cells(n_groups).any(axis=0)
    counts, unit, having = data.separable(data.cell, 2 * n_groups)
    for cell in np.flatnonzero(needed & (counts < 2 * folds)).tolist():
        raise ValueError(
            f"EvenScorer with folds={folds} needs {2 * folds} {unit} of each class of each group "
            f"that a constraint is about, but there are {counts[cell]} {having}"
            f"{data.cell_name(cell)}."
        )
    for k in range(folds):
        for cell in np.flatnonzero(needed).tolist():
            if not np.any((fold == k) & (data.cell == cell)):
                raise ValueError(
                    f"Fold {k + 1} of {folds} has no {data.cell_name(cell)}: clusters stay whole, "
                    "and theirs are too few. Lower folds."
                )
    for kind, name in enumerate(("negatives", "positives")):
        if len(np.unique(fold[data.positive == bool(kind)])) < 2:
            raise ValueError(
                f"EvenScorer with folds={folds} needs more {name}: with so few, one of its models "
                "would be fitted without any."
            )


def _tolerances(families: Sequence[GapFamily]) -> list[float]:
    return [DEFAULT_TOLERANCE if one.tolerance is None else one.tolerance for one in families]


def _warn(text: str, kind: type[Warning] = UserWarning) -> None:
    """Warn whoever called `fit`, or `under`."""
    warnings.warn(text, kind, stacklevel=4)
