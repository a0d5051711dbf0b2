"""PlugInScorer: the fair score of largest AUC in closed form, over any probabilistic classifier."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Literal, Self, final, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import get_tags, indexable
from sklearn.utils.validation import _num_samples, validate_data

from evenscore.auditing.frames import Backend, data_frame
from evenscore.gaps import ConstraintLike, GapFamily
from evenscore.gaps.family import family_estimates, family_values
from evenscore.learning.base import FairScorer
from evenscore.learning.boosters import FEW, default_trees
from evenscore.learning.cross_fitting import CrossFitted, cross_fitting_folds
from evenscore.learning.dual import Order
from evenscore.learning.levelling import LevellingDown, levelling_down
from evenscore.learning.objective import Strict, standardise
from evenscore.learning.parameters import check_number, seed_of
from evenscore.learning.progress import progress
from evenscore.learning.rankings import Ranking, Rankings, free_ranking, masses_of
from evenscore.learning.ratio import RatioForm
from evenscore.learning.task import SLACK, History, Task, TrainingScores
from evenscore.learning.training_set import TrainingSet
from evenscore.learning.wrapping import check_table, checked_labels, weight_parameter
from evenscore.scores import CLASSES
from evenscore.scores.arrays import Floats
from evenscore.scores.labels import distinct_names

Aim = Literal["auc", "worst"]

# Of the gap without constraints: where the path is looked at, beside the tolerance asked for.
_PATH = (0.85, 0.7, 0.55, 0.4, 0.3, 0.2, 0.1, 0.0)
_FOLDS, _FOLDS_OF_FEW = 5, 10


@final
@dataclass(frozen=True, eq=False)
class PlugInPath:
    """The trade-off of AUC and gaps, on rows not trained on; no point beats another in both.

    Attributes
    ----------
    auc, worst_gap : array of shape (points,)
        From the score without constraints on, or from one that beats it, to the fairest.
    gaps, multipliers : array of shape (points, gaps)
        In the order of `gap_names`.
    weights : array of shape (points, groups) or None
        What each group counts for, where the AUC is a mean over the groups.
    gap_names : tuple of str
    """

    auc: Floats
    worst_gap: Floats
    gaps: Floats
    multipliers: Floats
    weights: Floats | None
    gap_names: tuple[str, ...]

    @classmethod
    def of(cls, rankings: Rankings) -> Self:
        """The orders looked at that no other beats."""
        orders = rankings.search.frontier()
        weights = [rankings.weights(order) for order in orders]
        families, groups = rankings.families, distinct_names(rankings.data.groups)
        return cls(
            np.array([order.auc for order in orders]),
            np.array([order.worst for order in orders]),
            np.array([order.gaps for order in orders]),
            np.array([order.multipliers for order in orders]),
            None if weights[0] is None else np.array(weights),
            tuple(key.title for family in families for key in family.keys(groups)),
        )

    def __len__(self) -> int:
        return len(self.auc)

    def __repr__(self) -> str:
        ends = (f"AUC {self.auc[k]:.3f} with a gap of {self.worst_gap[k]:.3f}" for k in (0, -1))
        return f"<PlugInPath of {len(self)} points, {' to '.join(ends)}>"

    def auc_at(self, tolerance: float) -> float:
        """The largest AUC with gaps up to a tolerance; NaN if there is none."""
        fair = self.auc[self.worst_gap <= tolerance]
        return float(fair.max()) if len(fair) else float("nan")

    def to_frame(self, backend: Backend | None = None) -> Any:
        """One row per point: AUC, largest gap, and the gap and multiplier of every pair of groups.

        `backend` is "pandas", "polars" or "pyarrow"; None takes the first that is installed.
        """
        columns: dict[str, list[Any]] = {
            "auc": self.auc.tolist(),
            "worst_gap": self.worst_gap.tolist(),
        }
        for k, name in enumerate(self.gap_names):
            columns[name] = self.gaps[:, k].tolist()
            columns[f"multiplier of {name}"] = self.multipliers[:, k].tolist()
        return data_frame(columns, backend)


class PlugInScorer(MetaEstimatorMixin, FairScorer):  # type: ignore[misc]
    """The fair score of largest AUC, in closed form, from the probabilities of any classifier.

    For "bnsp", "bpsn", "zero_aeg" and "zero_aeg_negatives" (and mixtures of their kind) the score
    that maximises the AUC under the constraint is known: a ratio of the densities of class and
    group, with one number for each gap. It needs no group to score. The densities come from the
    classifier's probabilities of the class, and of the group in each class; the numbers are found
    on rows that the classifiers have not seen, where every further tolerance costs some sorts:
    `path_` is the whole trade-off. docs/optimal.md has the theorem.

    Notions without such a formula are refused: take `BoostedScorer` or `LinearScorer` for them.

    Parameters
    ----------
    estimator : classifier, optional
        Any with `predict_proba`; LightGBM trees by default. Features go to it as they are. It is
        also asked for probabilities of groups, of which there may be more than two.
    constraints : name, constraint or list of them
        What should be equal between groups: "bnsp", "bpsn", "zero_aeg" or "zero_aeg_negatives";
        the first and the last of these, or the other two, may be asked for together.
    tolerance
    strength
    margin : float, default 0.01
        The part of the tolerance left to new data: multipliers are found for tolerance − margin, or
        for zero if that is less.
    objective : "auc" or "worst"
        "auc": the largest AUC within the tolerance. "worst", for one of "bnsp" and "bpsn": the
        score whose worst-off group is ranked as well as can be (minimax), whatever gap that leaves.
    cv : int, splitter or list of splits, optional
        A number of folds (drawn within every class and group; by default 5, and 10 below 2,000
        rows), a splitter that leaves every row out once, or a list of such splits.
    n_jobs : int, optional
        Folds that are fitted at a time.
    random_state : int, optional
        Of the folds and the default trees.
    verbose

    Attributes
    ----------
    ranking_ : PosteriorRanking or PlainRanking
        The fitted classifiers, and how they give the score.
    multipliers_ : array
        The number of each gap, in the order of `gap_names_`.
    weights_ : array or None
        What each group counts for, in the order of `groups_`, where the AUC is a mean over them.
    statistics_ : dict or None
        Where the AUC is a mean over the groups, what each of them has, on rows not trained on: with
        `objective="worst"` the least of these is what was made as large as can be.
    path_ : PlugInPath
        AUC and gaps on rows not trained on, from the score without constraints to the fairest.
    levelling_down_ : LevellingDown or None
        Of "bnsp" or "bpsn" with a tolerance: whether it takes ranking somebody worse on purpose, in
        a sentence with the price.
    classes_
    groups_
    gap_names_
    gaps_
    verdicts_
    price_
    calibration_ : Calibration
        The increasing map from the score to the probability of the second class.
    converged_
    history_

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from evenscore.datasets import load_german
    >>> data = load_german()
    >>> classifier = make_pipeline(StandardScaler(), LogisticRegression())
    >>> scorer = PlugInScorer(classifier, "bpsn", random_state=0)
    >>> scorer = scorer.fit(data.X, data.y, sensitive_features=data.groups)
    >>> scorer.converged_, abs(scorer.gaps_["cross_fit"][0].value) <= 0.02
    (True, True)
    >>> round(scorer.path_.auc_at(0.02), 2)
    0.78
    """

    varied_together: ClassVar[tuple[str, ...]] = ("tolerance", "strength")
    """Parameters that `fit_many` varies over the same fits."""

    def __init__(
        self,
        estimator: Any = None,
        constraints: ConstraintLike = (),
        *,
        tolerance: float | None = None,
        strength: float | Sequence[float] | None = None,
        margin: float = 0.01,
        objective: Aim = "auc",
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.estimator = estimator
        self.constraints = constraints
        self.tolerance = tolerance
        self.strength = strength
        self.margin = margin
        self.objective = objective
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def check_parameters(self) -> None:
        """Refuse bad parameters, and combinations that have no formula."""
        super().check_parameters()
        check_number(self, "margin", 0.0, 1.0)
        if self.objective not in get_args(Aim):
            texts = " or ".join(map(repr, get_args(Aim)))
            raise ValueError(f"objective must be {texts}, not {self.objective!r}.")
        if self.objective == "worst" and (self.tolerance, self.strength) != (None, None):
            raise ValueError(
                "objective='worst' takes no tolerance and no strength: it makes the worst-off "
                "group's ranking as good as can be, whatever gap that leaves."
            )
        if self.estimator is not None and not hasattr(self.estimator, "predict_proba"):
            kind = type(self.estimator).__name__
            raise TypeError(
                f"{kind} has no predict_proba, and the optimal score is made of probabilities: "
                f"wrap it, as in CalibratedClassifierCV({kind}())."
            )

    def task(self) -> Task:
        """Of the worst-off group's ranking nothing is promised about gaps."""
        task = super().task()
        return task if self.objective == "auc" else replace(task, strength=0.0)

    # ------------------------------------------------------------------ fitting

    def fit_many(
        self,
        X: Any,
        y: Any,
        grid: Sequence[Mapping[str, Any]],
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        cluster: Any = None,
    ) -> list[Self]:
        """Fit the classifiers once, and give a scorer for every entry of a grid.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight, cluster
            As for `fit`.
        grid : list of dict
            An entry may give `tolerance` or `strength`; a tolerance of infinity asks for nothing.
        """
        for entry in grid:
            for name in set(entry) - set(self.varied_together):
                raise ValueError(f"fit_many varies tolerance or strength, not {name}.")
        scorers = [clone(self) for _ in grid]
        reader = clone(self)
        reader.check_parameters()
        data = reader._read(
            X, y, sensitive_features, sample_weight, reader.task().constraints, cluster
        )
        known = reader._rankings(data, reader.task().constraints)
        for scorer, entry in zip(scorers, grid, strict=True):
            free = entry.get("tolerance") == np.inf
            scorer.set_params(**({"constraints": ()} if free else entry))
            scorer.check_parameters()
            scorer.know(reader)
            task = scorer.task()
            scorer._finish(data, data, None, task, scorer._choose(known, data, task))
        return scorers

    def learn(self, train: TrainingSet, held_out: TrainingSet | None, task: Task) -> History:
        """Fit the classifiers by folds, and find the multipliers on the rows left out."""
        if not task.constraints:
            self._forget()
            labels = self.classes_[train.positive.astype(np.intp)]
            self.ranking_: Ranking = free_ranking(self._estimator(train), train, labels)
            self.multipliers_ = np.zeros(0)
            return History(settled=True)
        with progress("PlugInScorer", 2, verbose=self.verbose) as advance:
            rankings = self._rankings(train, task.constraints)
            advance("classifiers are fitted")
            history = self._choose(rankings, train, task)
            advance("multipliers are found")
        return history

    def _forget(self) -> None:
        """What not every task has."""
        self.path_: PlugInPath | None = None
        self.levelling_down_: LevellingDown | None = None
        self.weights_: Floats | None = None
        self.statistics_: dict[str, float] | None = None

    def _estimator(self, data: TrainingSet) -> Any:
        """The classifier to be copied; one that takes no weights is said not to."""
        estimator = self.estimator
        if estimator is None:
            seed = int(np.random.default_rng(seed_of(self.random_state)).integers(2**31 - 1))
            estimator = default_trees(len(data), data.X, seed, self.n_jobs)
        if weight_parameter(estimator) is None and data.weight is not None:
            warnings.warn(
                f"{type(estimator).__name__} takes no sample_weight: it is fitted without, and the "
                "weights count for the multipliers only.",
                UserWarning,
                stacklevel=5,
            )
        return estimator

    def _rankings(self, data: TrainingSet, constraints: Sequence[GapFamily]) -> Rankings:
        """The orders of the rows for any multipliers, by models that have not seen them."""
        estimator = self._estimator(data)
        if self.objective == "worst" and RatioForm.of(constraints, masses_of(data)).groups is None:
            names = " and ".join(family.name for family in constraints)
            raise ValueError(
                "objective='worst' takes 'bnsp' or 'bpsn', and one of them only: the AUC is the "
                f"mean over the groups of what these compare, but not of {names}."
            )
        if not isinstance(self.cv, Integral | None) and len(data) < self._n_given:
            raise ValueError(
                "cv names rows by their places, but rows of weight 0 are left out: leave them out "
                "first, or let cv be a number of folds."
            )
        default = _FOLDS_OF_FEW if len(data) < FEW else _FOLDS
        cv = default if self.cv is None else self.cv
        target, seed = data.positive.astype(np.intp), seed_of(self.random_state)
        draw = int(np.random.default_rng(seed).integers(2**31 - 1))
        folds = cross_fitting_folds(cv, data, target, draw)
        return Rankings(estimator, data, constraints, folds, self.classes_[target], self.n_jobs)

    def _choose(self, rankings: Rankings, train: TrainingSet, task: Task) -> History:
        """The multipliers for a task, and everything that depends on them."""
        search, spare, history = rankings.search, rankings.spare, History(settled=True)
        self._forget()
        nothing = np.zeros(search.n_gaps)
        free = search.at(nothing)
        if not task.constraints:
            self._keep(rankings, free, train)
            return history
        objective = task.objective(train)
        for part in _PATH:
            search.solve(np.full(search.n_gaps, part * free.worst))
        aims, other = task.aims(objective, self.margin), None
        if spare is not None and task.strength is None:
            other = search.solve(aims, spare=spare)
        if self.objective == "worst":
            best = search.solve(nothing, spare=spare)
        else:  # last, so that it is the best of all that were looked at
            best = search.solve(aims, task.strengths(objective))
        if other is not None:
            self.levelling_down_ = _levelling_down(rankings, best, other, task)
        self.path_ = PlugInPath.of(rankings)
        least = min(search.orders, key=lambda order: order.worst)
        history.obstacle = (
            f"of all the orders looked at the fairest leaves {least.worst:.3f}, at AUC "
            f"{least.auc:.3f}"
        )
        for order in search.orders:
            strict = Strict(order.auc, np.zeros(0), order.gaps)
            history.add(
                1.0 - order.auc,
                strict,
                order.multipliers,
                "without constraints" if order is free else "learning",
            )
        history.chosen = search.orders.index(best)
        crossed = self._keep(rankings, best, train)
        history.scores = TrainingScores(
            free=rankings.scores(nothing),
            final=self.raw_score(train.X),
            expected=rankings.scores(best.multipliers),
            crossed=crossed,
        )
        return history

    def _keep(self, rankings: Rankings, order: Order, train: TrainingSet) -> CrossFitted:
        """Set what is learned; gives the scores of rows not trained on."""
        self.multipliers_, self.weights_ = order.multipliers, rankings.weights(order)
        if rankings.spare is not None:
            each = rankings.spare.statistics(order).tolist()
            self.statistics_ = dict(zip(distinct_names(train.groups), each, strict=True))
        self.ranking_ = rankings.final(order.multipliers)
        training = standardise(self.raw_score(train.X), train.share)
        score = (rankings.scores(order.multipliers) - training.mean) / training.scale
        by_fold = [
            family_values(train.grouped(one), rankings.families)
            for one in rankings.by_fold(order.multipliers)
        ]
        return CrossFitted(train.grouped(score), np.array(by_fold))

    def _matrix(self, X: Any, *y: Any) -> Any:
        """Features go to the classifier as they are; labels must be of two classes."""
        if y:
            self._n_given = _num_samples(X)
        if self.estimator is None:  # trees of ours, which take numbers
            return super()._matrix(X, *y)
        X = indexable(X)[0]
        if y:
            self.encoding_ = None
            return X, checked_labels(self, X, y[0])
        check_table(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        return X

    @property
    def accepts_missing(self) -> bool:
        """Whatever the classifier does; the default trees do."""
        return True

    @property
    def accepts_sparse(self) -> bool:
        """Whatever the classifier does; the default trees do."""
        return True

    # ------------------------------------------------------------------ scoring

    def raw_score(self, X: Any) -> Floats:
        """The ratio, as an angle, or the odds of the classifier where nothing is asked."""
        return self.ranking_.score(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        if self.estimator is not None:
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def _levelling_down(
    rankings: Rankings, best: Order, other: Order, task: Task
) -> LevellingDown | None:
    """Whether the score found ranks somebody worse on purpose, beside the best that does not.

    Nothing is said where the tolerance was not reached.
    """
    spare, [family], train = rankings.spare, rankings.families, rankings.data
    weights = rankings.weights(best)
    assert spare is not None
    assert weights is not None
    tolerance = float(task.tolerances(task.objective(train)).min())
    if best.worst > tolerance + SLACK:
        return None
    gaps = family_estimates(train.grouped(rankings.scores(other.multipliers)), [family])
    return levelling_down(
        family.name,
        CLASSES[rankings.weighed],
        tolerance,
        distinct_names(train.groups),
        weights.tolist(),
        (best.auc, spare.statistics(best).tolist()),
        (other.auc, spare.statistics(other).tolist()),
        max(gaps, key=lambda gap: abs(gap.value)),
    )
