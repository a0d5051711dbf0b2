"""How the boosted scorer drives trees: where they start, what a round asks for, which are kept."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
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
from evenscore.learning.task import Choice, Look, Task
from evenscore.learning.training_set import TrainingSet
from evenscore.scores.arrays import Floats

# benchmarks/constants.py halves and doubles each of them, on splits of German and COMPAS.
START = 0.3  # share of the rounds that maximise the likelihood: more leave gaps, fewer cost AUC
SETTLED = 0.6  # share of the updates after which an iterate may be the one kept; hardly matters
_EVERY = 5  # rounds between two updates of the multipliers: 2 and 10 are within noise
_LEAST = 0.5  # curvature of a row at which the objective is flat, times the bandwidth
_STEEP = 0.3  # more of it for a row, times its gradient; as for _LEAST, gaps grow on either side
_LAST = 0.1  # learning rate of the last rounds, relative to the first: 0.05 is as good
# Of the log-odds is started from: trees undo the rest of a feature more easily than all of it. On
# German 0.35 costs an AUC of 0.005 and 1 a gap of 0.02.
_LINEAR = 0.7
_ROWS = 32_768  # to learn that start from, at most
_FEW = 500  # columns for which Newton's method is the fastest


def constant(X: Any) -> bool:
    """Whether no feature varies, so that there is nothing to split on."""
    if sparse.issparse(X):
        return bool(np.all(X.max(axis=0).toarray() == X.min(axis=0).toarray()))
    return all(
        np.array_equal(X[:, k], np.full(len(X), X[0, k]), equal_nan=True) for k in range(X.shape[1])
    )


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
        rows = train if len(train) <= _ROWS else train.thinned(_ROWS)[1]
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
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a start need not be exact
            model.fit(prepared, rows.positive, rows.share * train.n_observations)
        coefficients = _LINEAR * model.coef_[0]
        constant = -float(rows.share @ (prepared @ coefficients))
        return cls(columns, means, features, coefficients, constant)

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
        known = ~np.isnan(X)
        if known.all():
            return np.asarray(share @ X)
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
    missing = np.isnan(X)
    return np.where(missing, means, X) if missing.any() else X


# ---------------------------------------------------------------------- rounds


@dataclass(eq=False)
class Gradient:
    """Gradient and curvature of every row, called by a booster with the scores of a round.

    Rows weigh one on average. The first rounds are those of the likelihood: while all scores are
    alike a gap means nothing. Then comes the gradient of the objective at the standardised scores,
    with a curvature of (½ · share in its class + 0.3 |gradient|) / bandwidth, so that the step of a
    row on its own is a few bandwidths at most, whatever the multipliers. Steps shrink as rounds go
    by.
    """

    train: TrainingSet
    objective: Objective
    rule: AugmentedLagrangian
    aim: Floats
    rounds: int
    round: int = 0
    look: Look | None = None
    state: MultiplierState = field(init=False)

    def __post_init__(self) -> None:
        train = self.train
        self.state = self.rule.init(self.aim, *self.objective.terms.sharing)
        self.start = round(START * self.rounds)
        self.weight = train.share * len(train)
        prevalence = float(train.share[train.positive].sum())
        self.log_odds = float(np.log(prevalence / (1.0 - prevalence)))
        self.least = _LEAST * self.weight / np.where(train.positive, prevalence, 1.0 - prevalence)

    def __call__(self, raw: Floats) -> tuple[Floats, Floats]:
        """Gradient and curvature at the scores of a round."""
        number, self.round, self.look = self.round, self.round + 1, None
        if number < self.start:
            chance = expit(raw + self.log_odds)
            return self.weight * (chance - self.train.positive), self.weight * chance * (1 - chance)
        evaluation = self.evaluate(raw, closely=number % _EVERY == 0)
        done = (number - self.start) / (self.rounds - self.start)
        n, scale = len(raw), self.standard.scale
        gradient = n * self.standard.pull_back(evaluation.gradient)
        curvature = self.least + _STEEP * n * np.abs(evaluation.gradient)
        fall = _LAST + (1.0 - _LAST) * 0.5 * (1.0 + np.cos(np.pi * done))
        return fall * gradient, curvature / (self.objective.bandwidth * scale**2)

    def evaluate(self, raw: Floats, *, closely: bool) -> Evaluation:
        """Evaluate the objective; closely: look at the strict gaps and move the multipliers."""
        self.standard = standardise(raw, self.train.share)
        score = self.standard.score
        evaluation = self.objective.evaluate(score, partial(self.rule.respond, self.state))
        if closely:
            strict = self.objective.strict(score)
            self.state = self.rule.update(self.state, strict.terms, evaluation.gaps)
            moved = self.objective.terms.of_gaps(self.state.multipliers)
            self.look = Look(evaluation.value, strict, moved)
        return evaluation


@dataclass(eq=False)
class HeldOut:
    """Rows that were not trained on, and their scores as trees are added."""

    rows: TrainingSet
    objective: Objective
    threads: int
    score: Floats
    n_trees: int = 0

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
    """Which number of trees is the best; the first few may not be chosen."""

    first: float
    held_out: HeldOut | None
    n_trees: int = 0

    @classmethod
    def of(cls, task: Task, objective: Objective, rounds: int, held_out: HeldOut | None) -> Self:
        """For a number of rounds: without rows held out, multipliers have to have settled."""
        share = START if held_out is not None else START + (1.0 - START) * SETTLED
        return cls(task.tolerances(objective), task.strength, share * rounds, held_out)

    def consider(self, booster: Booster, n_trees: int, look: Look) -> str:
        """Compare the first trees of a booster with the best so far; says how things stand."""
        new = None if self.held_out is None else self.held_out.strict(booster, n_trees)
        worst, merit = self.note(look, new)
        if new is None and self.strength is not None:
            merit = float(n_trees)  # under a penalty the last are the best
        if (n_trees >= self.first and merit >= self.merit) or not self.n_trees:
            self.merit, self.n_trees = merit, n_trees
        return f"AUC {look.strict.auc:.4f}, worst gap beyond its tolerance {worst:.4f}"
