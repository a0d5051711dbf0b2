"""How the boosted scorer drives trees: where they start, what a round asks for, which are kept."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from evenscore.learning.boosters import Booster
from evenscore.learning.encoding import SpreadCodes
from evenscore.learning.features import FeatureScaling
from evenscore.learning.multipliers import AugmentedLagrangian, MultiplierState
from evenscore.learning.objective import Evaluation, Objective, Strict, standardise
from evenscore.learning.task import Choice, Look, Stage
from evenscore.learning.training_set import TrainingSet
from evenscore.learning.wholeness import check_names, check_numbers, part_of
from evenscore.scores.arrays import Floats, Ints, chunks

# benchmarks/constants.py halves and doubles each of them, on splits of German and COMPAS.
# Share of the rounds that maximise the likelihood, of few and of many rows: more leave gaps, fewer
# cost AUC. On inner folds of Adult 0.4 has an AUC larger by 0.001 than 0.3, and gaps alike.
START, START_OF_MANY, _MANY_ROWS = 0.3, 0.4, 10_000
EVERY = 5  # rounds between two updates of the multipliers: 2 and 10 are within noise
_LEAST = 0.5  # curvature of a row at which the objective is flat, times the bandwidth
_STEEP = 0.3  # more of it for a row, times its gradient; as for _LEAST, gaps grow on either side
_LAST = 0.1  # learning rate of the last rounds, relative to the first: 0.05 is as good
# Of the log-odds is started from: trees undo the rest of a feature more easily than all of it. On
# German 0.35 costs an AUC of 0.005 and 1 a gap of 0.02.
_LINEAR = 0.7
_ROWS = 32_768  # to learn that start from, at most: a quarter of them costs an AUC of 0.001
_FIRST_ROWS = (
    8192  # of more, so many are solved first; two of Newton's steps on all are then enough
)
_TABLE = 1 << 15  # places of leaf values: a row's is some millionths off, and never on an edge
_FEW = 500  # columns for which Newton's method is the fastest


def constant(X: Any) -> bool:
    """Whether no feature varies, so that there is nothing to split on.

    >>> constant(np.array([[1.0, np.nan], [1.0, np.nan]])), constant(np.array([[1.0], [np.nan]]))
    (True, False)
    """
    if sparse.issparse(X):
        return bool(np.all(X.max(axis=0).toarray() == X.min(axis=0).toarray()))
    low = np.fmin.reduce(X, axis=0, initial=np.inf)
    high = np.fmax.reduce(X, axis=0, initial=-np.inf)
    # Known values that differ, or some known and some missing.
    return not np.any((low < high) | (np.isnan(X).any(axis=0) & (low <= high)))


@dataclass(frozen=True, eq=False)
class LinearStart:
    """A linear score that trees start from, so that they need not build slopes.

    It is a share of the log-odds by logistic regression on compressed features, their mean zero.
    Weights have a prior variance of 1/(2d), for d features of variance one: before data are seen
    the score has a variance of ½ whatever d is. A missing value counts as the feature's mean.
    Categories are a column per code. In folds of training rows that gains 0.007 of AUC (standard
    error 0.004) on German and 0.0002 (0.0001) on Adult over a start without them, and trees that
    split sets of codes then rank as well as trees on a column per level.
    """

    columns: SpreadCodes
    means: Floats
    features: FeatureScaling
    coefficients: Floats
    constant: float

    @classmethod
    def fit(
        cls, train: TrainingSet, left_out: Sequence[int] = (), categorical: Sequence[int] = ()
    ) -> Self | None:
        """Learn from all columns but some; none if there are no others."""
        columns = SpreadCodes.of(train.X, left_out, categorical)
        if not columns.width:
            return None
        rows = train.sampled(_ROWS)
        X = columns.transform(rows.X)
        means = _known_means(X, rows.share)
        X = _filled(X, means)
        features = FeatureScaling.fit(X, rows.share, compress=True)
        prepared = features.transform(X)
        newton = columns.width <= _FEW
        if newton and sparse.issparse(prepared):
            prepared = prepared.toarray()
        model = LogisticRegression(
            C=1.0 / (2.0 * columns.width),
            solver="newton-cholesky" if newton else "lbfgs",
            tol=1e-8 if newton else 1e-4,
            warm_start=True,
        )
        weight = rows.share * train.n_observations
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a start need not be exact
            if newton and len(rows) > 2 * _FIRST_ROWS:
                some, part = rows.thinned(_FIRST_ROWS)
                model.fit(prepared[some], part.positive, part.share * train.n_observations)
                model.set_params(max_iter=2)
            model.fit(prepared, rows.positive, weight)
        coefficients = _LINEAR * model.coef_[0]
        constant = -float(rows.share @ (prepared @ coefficients))
        return cls(columns, means, features, coefficients, constant)

    def check_whole(self, n_features: int) -> None:
        """Refuse what was read from a file and is no linear score of so many features."""
        check_names(self)
        columns = part_of(self, "columns", SpreadCodes)
        columns.check_whole(n_features)
        part_of(self, "features", FeatureScaling).check_whole(columns.width)
        for name in ("means", "coefficients"):
            check_numbers(self, name, (columns.width,))
        check_numbers(self, "constant", ())

    def score(self, X: Any) -> Floats:
        """Of all columns of X."""
        prepared = self.features.transform(_filled(self.columns.transform(X), self.means))
        return np.asarray(prepared @ self.coefficients + self.constant)


def _known_means(X: Any, share: Floats) -> Floats:
    """The mean of each column's known values; zero if there are none."""
    if sparse.issparse(X):
        parts = np.nan_to_num(X.data), np.isnan(X.data).astype(np.float64)
        values, missing = (sparse.csr_array((p, X.indices, X.indptr), shape=X.shape) for p in parts)
        weight, total = 1.0 - np.asarray(missing.T @ share), np.asarray(values.T @ share)
    else:
        if not np.isnan(X.sum()):
            return np.asarray(share @ X)
        known = ~np.isnan(X)
        weight, total = share @ known, share @ np.where(known, X, 0.0)
    return np.asarray(np.where(weight > 1e-12, total / np.maximum(weight, 1e-12), 0.0))


def _filled(X: Any, means: Floats) -> Any:
    """X with the means in place of missing values."""
    if sparse.issparse(X):
        missing = np.isnan(X.data)
        if not missing.any():
            return X
        data = np.where(missing, means[X.indices], X.data)
        return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
    if not np.isnan(X.sum()):
        return X
    missing = np.isnan(X)
    return np.where(missing, means, X) if missing.any() else X


# ---------------------------------------------------------------------- rounds


def likely_rounds(n_rows: int, rounds: int) -> int:
    """How many of the rounds maximise the likelihood, before those of the objective."""
    return round((START if n_rows < _MANY_ROWS else START_OF_MANY) * rounds)


def fall_of(done: float) -> float:
    """What steps are multiplied by when a share of the rounds after the start is done."""
    return float(_LAST + (1.0 - _LAST) * 0.5 * (1.0 + np.cos(np.pi * done)))


@dataclass(eq=False)
class Likelihood:
    """Gradient and curvature of the likelihood at every row; rows weigh one on average.

    The prevalence, which the scores leave out, is that of the rows as they are weighted.
    """

    rows: TrainingSet
    rounds: int
    round: int = 0

    def __post_init__(self) -> None:
        self.weight = self.rows.share * len(self.rows)
        prevalence = self.rows.prevalence
        self.log_odds = float(np.log(prevalence / (1.0 - prevalence)))
        self.start = likely_rounds(len(self.rows), self.rounds)

    def __call__(self, raw: Floats) -> tuple[Floats, Floats]:
        """Of the scores of a round; steps shrink as rounds go by."""
        number, self.round = self.round, self.round + 1
        done = max(0.0, (number - self.start) / (self.rounds - self.start))
        gradient, curvature, fall = np.empty(len(raw)), np.empty(len(raw)), fall_of(done)
        for rows in chunks(len(raw)):
            weight, chance = self.weight[rows], expit(raw[rows] + self.log_odds)
            gradient[rows] = (weight * fall) * (chance - self.rows.positive[rows])
            slope = weight * chance
            curvature[rows] = slope - slope * chance
        return gradient, curvature


def _nearest(values: Floats) -> Callable[[Floats], Ints]:
    """What finds the nearest of some increasing values: by a table, unless two are very close.

    A search among a dozen values costs more than the rest of what is done to a row.

    >>> _nearest(np.array([-1.0, 0.5, 2.0]))(np.array([-3.0, 0.4, 1.9, 7.0]))
    array([0, 1, 2, 2])
    """
    between = 0.5 * (values[1:] + values[:-1])
    width = float(values[-1] - values[0])
    if len(values) < 2 or not np.diff(values).min() > 8.0 * width / _TABLE:
        return lambda x: np.searchsorted(between, x)
    scale, start = (_TABLE - 1) / width, float(values[0])
    table = np.searchsorted(between, start + np.arange(_TABLE) / scale)

    def found(x: Floats) -> Ints:
        place = x - start
        place *= scale
        place += 0.5
        np.clip(place, 0.0, _TABLE - 1.0, out=place)
        return np.asarray(table.take(place.astype(np.intp)))

    return found


@dataclass(eq=False)
class OwnPull:
    """What rows have done to their own scores, tree by tree.

    The value of a leaf is w = −G/(H + λ), G and H being the sums of gradient and curvature over its
    rows. Without row i it would be larger by (g_i + w h_i)/(H − h_i + λ), times the learning rate.
    The sum over trees is what is missing from the score of a new row just like it. A leaf where a
    few people of a small cell have nearly all of the gradient is fitted to these very people, and
    a gap that is closed by them comes back on new rows: gaps are therefore looked at without what
    rows have done to themselves. Which splits are made has been chosen on the same rows, too, the
    more so the more terms ask for something: the pull is counted `times`, once and up to twice.

    On inner folds of Bank, both error rates over a range of cuts: worst FNR gap 0.135 with the pull
    counted once, 0.109 with it counted twice; on Adult and COMPAS no difference.
    """

    learning_rate: float
    l2: float
    times: float
    total: Floats
    before: tuple[Floats, Floats, Floats] | None = None  # scores, gradient, curvature

    def note(self, raw: Floats, leaves: Floats) -> None:
        """A tree with these leaf values was grown on what is known of the round before."""
        if self.before is None:
            return
        scores, gradient, curvature = self.before
        values = np.unique(leaves)
        find = _nearest(values)
        leaf, weight = np.empty(len(raw), dtype=np.intp), np.zeros(len(values))
        for rows in chunks(len(raw)):
            leaf[rows] = find(raw[rows] - scores[rows])
            weight += np.bincount(leaf[rows], curvature[rows], minlength=len(values))
        value = values / self.learning_rate
        for rows in chunks(len(raw)):
            own, slope = curvature[rows], value.take(leaf[rows])
            others = weight.take(leaf[rows])
            others -= own
            np.maximum(others, 0.0, out=others)
            others += self.l2
            pull = slope * own
            pull += gradient[rows]
            known = others > 1e-12  # a leaf of one row is that row's own work
            if known.all():
                pull /= others
            else:
                pull = np.divide(pull, others, out=-slope, where=known)
            pull *= self.learning_rate
            self.total[rows] += pull

    def expected(self, raw: Floats) -> Floats:
        """Scores as they would be on new rows like these."""
        return raw + self.times * self.total


@dataclass(eq=False)
class Gradient:
    """Gradient and curvature of the objective at every row, called by a booster.

    Rows weigh one on average. It is the gradient at the standardised scores, with a curvature of
    (½ · share in its class + 0.3 |gradient|) / bandwidth, so that the step of a row on its own is a
    few bandwidths at most, whatever the multipliers. Steps shrink as rounds go by. With `level` the
    gaps tolerated shrink too, from that to what is aimed at, over the first two thirds.
    """

    train: TrainingSet
    objective: Objective
    rule: AugmentedLagrangian
    aim: Floats
    rounds: int
    own: OwnPull
    stage: Stage = "learning"
    level: float = 0.0
    round: int = 0
    look: Look | None = None
    state: MultiplierState = field(init=False)

    def __post_init__(self) -> None:
        train = self.train
        self.state = self.rule.init(self.aim, *self.objective.terms.sharing)
        parts = np.where(train.positive, train.prevalence, 1.0 - train.prevalence)
        self.least = _LEAST * train.share * len(train) / parts

    def __call__(self, raw: Floats) -> tuple[Floats, Floats]:
        """Gradient and curvature at the scores of a round."""
        number, self.round, self.look = self.round, self.round + 1, None
        done = number / self.rounds
        evaluation = self.evaluate(raw, closely=number % EVERY == 0)
        n, scale = len(self.train), self.standard.scale
        gradient, curvature = self.standard.pull_back(evaluation.gradient), evaluation.gradient
        fall, width = n * fall_of(done), self.objective.bandwidth * scale**2
        for rows in chunks(len(raw)):
            gradient[rows] *= fall
            part = np.abs(curvature[rows], out=curvature[rows])
            part *= _STEEP * n
            part += self.least[rows]
            part /= width
        self.own.before = raw.copy(), gradient, curvature
        return gradient, curvature

    def evaluate(self, raw: Floats, *, closely: bool) -> Evaluation:
        """Evaluate the objective; closely: look at the strict gaps and move the multipliers."""
        self.standard = standardise(raw, self.train.share)
        score = self.standard.score
        if self.level:
            left = self.level * max(0.0, 1.0 - 1.5 * self.round / self.rounds)
            self.state = replace(self.state, tolerance=np.maximum(self.aim, left))
        evaluation = self.objective.evaluate(score, partial(self.rule.respond, self.state))
        if closely:
            expected = self.objective.strict(self.own.expected(raw))
            self.state = self.rule.update(self.state, expected.terms, evaluation.gaps)
            moved = self.objective.terms.of_gaps(self.state.multipliers)
            strict = replace(expected, auc=self.objective.auc(score))
            self.look = Look(evaluation.value, strict, moved, self.stage)
        return evaluation


@dataclass(eq=False)
class HeldOut:
    """Rows that were not trained on, and their scores as the trees of one booster are added."""

    rows: TrainingSet
    objective: Objective
    threads: int
    score: Floats
    n_trees: int = 0

    def afresh(self) -> Self:
        """The same rows, no tree yet."""
        return replace(self)

    def strict(self, booster: Booster, n_trees: int) -> Strict:
        """AUC and gaps with the first trees: scores of before, and what the trees since add."""
        if n_trees > self.n_trees:
            self.score = self.score + booster.predict(
                self.rows.X, first=self.n_trees, last=n_trees, threads=self.threads
            )
            self.n_trees = n_trees
        return self.objective.strict(self.score)


@dataclass(eq=False)
class TreeChoice(Choice):
    """The best trees so far: of which booster, how many, and the scores of the training rows."""

    booster: Booster | None = None
    n_trees: int = 0
    raw: Floats | None = None
    expected: Floats | None = None
    beaten: frozenset[Stage] = frozenset()  # by rows not trained on: not to be chosen

    def consider(
        self,
        booster: Booster,
        look: Look,
        raw: Floats,
        own: OwnPull | None,
        held_out: HeldOut | None,
    ) -> str:
        """Compare the trees of a booster with the best so far; says how things stand."""
        new = None if held_out is None else held_out.strict(booster, booster.n_trees)
        worst, merit = self.note(look, new)
        if look.stage not in self.beaten and self.better(merit):
            self.booster, self.n_trees = booster, booster.n_trees
            self.raw = raw.copy()
            self.expected = None if own is None else own.expected(raw)
        return f"AUC {look.strict.auc:.4f}, worst gap beyond what is allowed {worst:.4f}"
