"""EvenScorer: any classifier's chances, and bars on them that treat groups equally at the cuts."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.utils import get_tags, indexable
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from evenscore.gaps import ConstraintLike, GapFamily, as_constraints
from evenscore.gaps.family import family_estimates, largest
from evenscore.gaps.placeable import Placeable
from evenscore.learning.bars import Bars, PositionMap, coordinates
from evenscore.learning.features import FeatureReader
from evenscore.learning.parameters import check_count, check_number, seed_of
from evenscore.learning.posteriors import KEPT, MOST_KEPT, CrossFitted, Recipe
from evenscore.learning.price import Price
from evenscore.learning.spreading import spread
from evenscore.learning.task import DEFAULT_TOLERANCE
from evenscore.learning.training_set import (
    TrainingSet,
    labels_of,
    refuse_idle_groups,
    two_classes,
)
from evenscore.learning.wrapping import check_table, checked_labels, weight_parameter
from evenscore.placement.bars import Knots, common_bars, find_bars, positions, shares_above
from evenscore.placement.problem import Points, Problem
from evenscore.scores.arrays import Floats, Ints
from evenscore.scores.aucs import overall_auc
from evenscore.scores.labels import distinct_names

_MOST_POINTS = 200_000  # that bars are found on; of more people a sample by cell
_MANY = 100_000  # rows, from which on threads of the algebra pay
_KNOTS = {True: (12.0, 4, 8), False: (5.0, 8, 24)}  # √n over so much, between these: 2 groups, more
_WIDEN = 1.5  # distances to the nearest knot: how far a knot reaches
_POLISH = 3  # programs on the counts of all


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
    estimator : classifier, optional
        Any with `predict_proba`; features go to it as they are, and it is asked for chances of the
        groups too. By default boosted trees blended with a logistic regression, which take missing
        values, texts and categories of a data frame: LightGBM's, or scikit-learn's where it is not
        installed.
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
    >>> _ = scorer.fit(data.X, data.y, sensitive_features=data.groups)
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
        families = self._checked()
        data = self._read(X, y, sensitive_features, sample_weight, cluster, families)
        rng = np.random.default_rng(seed_of(self.random_state))
        recipe = self._recipe(data, int(rng.integers(2**31 - 1)))
        inner, order = _in_order_met(data)
        folds = _drawn(inner, int(self.folds), int(self.repeats), rng)
        _require_cells(inner, families, folds[0], int(self.folds))
        labels = self.classes_[inner.positive.astype(np.intp)]
        with threadpool_limits(1 if len(data) < _MANY else None, user_api="blas"):
            crossed = CrossFitted.fit(recipe, inner, labels, folds)
            self.posteriors_ = crossed.posteriors
            told = self._place(inner, crossed, families, order)
        self.gaps_, self.price_ = _measured(data, families, told)
        return self

    def _checked(self) -> list[GapFamily]:
        """The constraints; bad parameters and what cannot be placed are refused."""
        check_count(self, "folds", 2)
        check_count(self, "repeats")
        check_number(self, "smoothness", 0.0, 1.0)
        if self.estimator is not None and not hasattr(self.estimator, "predict_proba"):
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
                    "equal: ask for a RateConstraint at the cuts that will be used."
                )
            family.placed()
        return families

    def _recipe(self, data: TrainingSet, seed: int) -> Recipe:
        if self.estimator is None:
            codes = () if self.encoding_ is None else self.encoding_.categorical
            return Recipe.default(data.X, codes, seed)
        if data.weight is not None and weight_parameter(self.estimator) is None:
            warnings.warn(
                f"{type(self.estimator).__name__} takes no sample_weight: it is fitted without, "
                "and the weights count for the bars only.",
                UserWarning,
                stacklevel=3,
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
        if self.estimator is None:
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

    def _place(
        self, data: TrainingSet, crossed: CrossFitted, families: Sequence[Any], order: Ints
    ) -> tuple[Floats, Floats]:
        """Set the bars, and the map from where they are crossed to shares of everyone.

        Gives log-odds, and where they cross bars that were found without these rows.
        """
        K = len(data.groups)
        odds, groups = coordinates(crossed.cells, K)
        if np.ptp(odds) == 0.0:
            warnings.warn(
                "The classifier gives every row the same chance: all positions are equal.",
                UserWarning,
                stacklevel=4,
            )
        weight = np.ones(len(data)) if data.weight is None else data.weight
        everyone = Points(odds, data.cell, weight, K)
        self._scale = float(np.maximum(np.sqrt(np.cov(odds, aweights=weight)), 1e-6))
        told, self.bars_ = odds, None
        if not families:
            self.knots_, self.levels_ = Knots.one(groups.shape[1]), np.array([[np.median(odds)]])
        else:
            sizes = data.grouped(odds).independent_sizes.reshape(-1)
            tolerances = [
                DEFAULT_TOLERANCE if one.tolerance is None else one.tolerance for one in families
            ]
            problem = Problem.of(families, tolerances, everyone, sizes)
            told = self._find(problem, everyone, groups, crossed)
            self.bars_ = Bars.of(
                problem,
                everyone.weight,
                self._bars(groups),
                crossed.cells,
                distinct_names(data.groups),
                order,
            )
        raw = self._raw(odds, groups)
        alone = [self._raw(*coordinates(cells, K)) for cells in crossed.alone]
        self.map_ = PositionMap.fit(raw, weight, crossed.kept, alone)
        return odds, told

    def _find(
        self, problem: Problem, everyone: Points, groups: Floats, crossed: CrossFitted
    ) -> Floats:
        """Set the bars, found from the mean of those of the folds, each found without one.

        There are many bars nearly as good as the best; the mean is in their middle, and moves less
        with the sample. Where equal bars meet every band they are the answer. Gives where rows
        cross the bars found without their fold; NaN of rows in all of them.
        """
        index, points = everyone.thinned(_MOST_POINTS)
        groups, fold = groups[index], crossed.fold[index]
        common = common_bars(problem, points)
        equal = shares_above(points, np.ones((len(points), 1)), common[:, None])
        if all(part.max() <= 0.0 for part in problem.excess(equal)):
            self.knots_, self.levels_ = Knots.one(groups.shape[1]), common[:, None]
            return np.where(crossed.fold < 0, np.nan, everyone.odds)
        part, least, most = _KNOTS[points.n_groups == 2]
        number = int(np.clip(np.sqrt(len(everyone)) / part, least, most))
        self.knots_ = Knots.fit(groups, number, _WIDEN)
        find = partial(find_bars, problem, knots=self.knots_, smoothness=float(self.smoothness))
        levels, told = [], np.full(len(everyone), np.nan)
        for k in range(int(self.folds)):
            some, test = fold != k, crossed.fold == k
            levels.append(find(points.rows(some), groups[some]))
            there = coordinates(crossed.cells[test], everyone.n_groups)
            own = self.knots_(there[1]) @ levels[-1].T
            told[test] = positions(there[0], own, self._scale)
        mean = np.mean(levels, axis=0)
        self.levels_ = find(points, groups, start=mean, polish=_POLISH)
        left = problem.shortfall(shares_above(points, self.knots_(groups), self.levels_))
        if left:
            warnings.warn(
                f"EvenScorer did not reach what was asked on rows not trained on: {left}.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return told

    # ------------------------------------------------------------------ scoring

    def _bars(self, groups: Floats) -> Floats:
        """The bars of people, (n, J); alone or in a batch the same."""
        return np.asarray(np.einsum("nb,jb->nj", self.knots_(groups), self.levels_))

    def _raw(self, odds: Floats, groups: Floats) -> Floats:
        return positions(odds, self._bars(groups), self._scale)

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
        if self.estimator is None:
            X = self._matrix(X)
            X = sparse.csr_matrix(X) if sparse.issparse(X) else X
        else:
            check_table(X)
            validate_data(self, X, skip_check_array=True, reset=False)
        odds, groups = coordinates(self.posteriors_(X), self.posteriors_.n_groups)
        return self.map_(self._raw(odds, groups), len(self.levels_))

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
        if self.estimator is not None:
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
    some = replace(data, X=np.zeros((n, 0))).rows(rows)
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


def _measured(
    data: TrainingSet, families: Sequence[GapFamily], told: tuple[Floats, Floats]
) -> tuple[list[Any], Price | None]:
    """Gaps and price on rows that neither models nor bars have seen."""
    if not families:
        return [], None
    odds, crossed = told
    rows = np.flatnonzero(~np.isnan(crossed))
    some = replace(data, X=np.zeros((len(data), 0))).rows(rows)
    free, fair = some.grouped(odds[rows]), some.grouped(crossed[rows])
    gaps = family_estimates(fair, families)
    before = np.concatenate([family.values(free) for family in families])
    first, last = (abs(largest(part)) for part in (before, np.array([g.value for g in gaps])))
    aucs = overall_auc(free), overall_auc(fair)
    return gaps, Price(*aucs, first, last, None, None, "on rows not trained on")
