"""How the boosted scorer drives LightGBM: what a round asks for, and which trees are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenscore.learning.multipliers import AugmentedLagrangian, MultiplierState, excess
from evenscore.learning.objective import Evaluation, Objective, Strict
from evenscore.learning.standard import standardise
from evenscore.learning.surrogates import logistic
from evenscore.scorers.training_set import TrainingSet

__all__ = [
    "Choice",
    "Gradient",
    "HeldOut",
    "Seen",
    "constant",
    "load",
    "matrix",
    "predict",
    "training_scores",
]

Floats = NDArray[np.float64]

START = 0.3  # share of the rounds that maximise the likelihood, before any constraint
SETTLED = 0.6  # share of the updates after which an iterate may be the one kept
_EVERY = 5  # rounds between two updates of the multipliers
_LEAST = 0.5  # curvature of a row at which the objective is flat, times the bandwidth
_STEEP = 0.3  # more of it for a row, times its gradient
_LAST = 0.1  # learning rate of the last rounds, relative to the first


@lru_cache(maxsize=8)
def load(model: str) -> Any:
    """The trees of a text, so that a scorer holds (and saves) nothing but the text."""
    import lightgbm

    return lightgbm.Booster(model_str=model)


def constant(X: Any) -> bool:
    """Whether no feature varies, which LightGBM refuses to look at."""
    if sparse.issparse(X):
        return bool(np.all(X.max(axis=0).toarray() == X.min(axis=0).toarray()))
    return all(
        np.array_equal(X[:, k], np.full(len(X), X[0, k]), equal_nan=True) for k in range(X.shape[1])
    )


def matrix(X: Any) -> Any:
    """X as LightGBM takes it."""
    return sparse.csr_matrix(X) if sparse.issparse(X) else X


def training_scores(booster: Any) -> Floats:
    """The scores that a booster keeps of its training rows, handed out to metrics only."""
    kept: list[Floats] = []

    def look(raw: Floats, _: Any) -> tuple[str, float, bool]:
        kept.append(np.array(raw, dtype=np.float64))
        return "look", 0.0, True

    booster.eval_train(feval=look)
    return kept[0]


def predict(booster: Any, X: Any, threads: int, **options: Any) -> Floats:
    """What trees add to the score of every row."""
    raw = booster.predict(matrix(X), raw_score=True, num_threads=threads, **options)
    return np.asarray(raw, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Seen:
    """Scores whose strict gaps have been looked at, and the multipliers after that."""

    evaluation: Evaluation
    strict: Strict
    multipliers: Floats
    constant: bool

    def asked(self, n: int) -> tuple[Strict, Floats]:
        """AUC, gaps and multipliers without those of the guards, which come last."""
        return Strict(self.strict.auc, self.strict.gaps[:n]), self.multipliers[:n]


@dataclass(eq=False)
class Gradient:
    """Gradient and curvature of every row, called by LightGBM with the scores of a round.

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
    seen: Seen | None = None
    state: MultiplierState = field(init=False)

    def __post_init__(self) -> None:
        train = self.train
        self.state = self.rule.init(self.aim)
        self.start = round(START * self.rounds)
        self.weight = train.share * len(train)
        prevalence = float(train.share[train.positive].sum())
        self.log_odds = float(np.log(prevalence / (1.0 - prevalence)))
        self.least = _LEAST * self.weight / np.where(train.positive, prevalence, 1.0 - prevalence)

    def __call__(self, raw: Floats, _: Any) -> tuple[Floats, Floats]:
        """Gradient and curvature at the scores of a round."""
        number, self.round, self.seen = self.round, self.round + 1, None
        if number < self.start:
            chance = logistic(raw + self.log_odds)
            return self.weight * (chance - self.train.positive), self.weight * chance * (1 - chance)
        evaluation = self.look(raw, number % _EVERY == 0)
        done = (number - self.start) / (self.rounds - self.start)
        n, scale = len(raw), self.standard.scale
        gradient = n * self.standard.pull_back(evaluation.gradient)
        curvature = self.least + _STEEP * n * np.abs(evaluation.gradient)
        fall = _LAST + (1.0 - _LAST) * 0.5 * (1.0 + np.cos(np.pi * done))
        return fall * gradient, curvature / (self.objective.bandwidth * scale**2)

    def look(self, raw: Floats, closely: bool = True) -> Evaluation:
        """Evaluate the objective; closely: look at the strict gaps and move the multipliers."""
        self.standard = standardise(raw, self.train.share)
        score = self.standard.score
        evaluation = self.objective.evaluate(score, partial(self.rule.respond, self.state))
        if closely:
            strict = self.objective.strict(score)
            self.state = self.rule.update(self.state, strict.gaps, evaluation.gaps)
            self.seen = Seen(evaluation, strict, self.state.multipliers, np.ptp(raw) == 0.0)
        return evaluation


@dataclass(eq=False)
class HeldOut:
    """Rows that were not trained on, and their scores as trees are added."""

    rows: TrainingSet
    objective: Objective
    threads: int
    score: Floats
    n_trees: int = 0

    def strict(self, booster: Any, n_trees: int) -> Strict:
        """AUC and gaps with the first trees: scores of before, and what the trees since add."""
        if n_trees > self.n_trees:
            self.score = self.score + predict(
                booster,
                self.rows.X,
                self.threads,
                start_iteration=self.n_trees,
                num_iteration=n_trees - self.n_trees,
            )
            self.n_trees = n_trees
        return self.objective.strict(self.score)


@dataclass(eq=False)
class Choice:
    """Which number of trees is the best, by the training rows or by rows held out."""

    tolerance: Floats
    strength: float | None
    first: float
    keep: Callable[[Seen], None]
    held_out: HeldOut | None
    n_trees: int = 0
    best: float = -np.inf

    def __call__(self, booster: Any, n_trees: int, seen: Seen) -> str:
        """Look at the first trees of a booster; says how things stand."""
        self.keep(seen)
        strict, _ = seen.asked(len(self.tolerance))
        beyond = np.abs(excess(strict.gaps, self.tolerance))
        worst = float(np.max(beyond, initial=0.0))
        merit = strict.auc - worst - float(beyond.sum())
        if self.held_out is not None:
            checked = self.held_out.strict(booster, n_trees)
            left = np.abs(excess(checked.gaps, self.tolerance))
            total = float(np.nansum(left))  # a cell too small to be held out has no say
            merit = checked.auc - worst - total / max(1, len(left))
            if self.strength is not None:
                merit = checked.auc - self.strength * total
        elif self.strength is not None:
            merit = float(n_trees)
        if (n_trees >= self.first and merit >= self.best) or not self.n_trees:
            self.best, self.n_trees = merit, n_trees
        return f"AUC {strict.auc:.4f}, worst gap beyond its tolerance {worst:.4f}"
