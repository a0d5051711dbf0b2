"""Ways to a score that is fair at the cuts in use: ours, the literature's, and other libraries'.

A method is given the training part of a job and what is asked for, and returns a function from rows
to scores. Every tree is grown on one thread. The learning rate of plain LightGBM, which the methods
built on it share, was chosen by cross-validation within the training rows of the default splits of
four of the data sets; other splits have some of those rows among their test rows. Nothing of the
other libraries was tuned.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.model_selection import StratifiedKFold

import evenscore as es
from evenscore.learning.boosters import default_trees

from .measures import RANGES

TOLERANCE = 0.02
ASKED = {
    "fnr": es.RateConstraint("fnr", cuts=RANGES["negatives"], tolerance=TOLERANCE),
    "fpr": es.RateConstraint("fpr", cuts=RANGES["negatives"], tolerance=TOLERANCE),
    "both": es.RateConstraint("fpr", "fnr", cuts=RANGES["negatives"], tolerance=TOLERANCE),
    "both of everyone": es.RateConstraint(
        "fpr", "fnr", cuts=RANGES["everyone"], tolerance=TOLERANCE
    ),
}
PAPER = es.RocConstraint(on="both", rates=(1 / 8, 1 / 4), tolerance=TOLERANCE)


@dataclass(frozen=True, eq=False)
class Part:
    """Rows: features, labels 0 and 1, and groups 0 and 1."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray

    @property
    def cell(self) -> np.ndarray:
        return 2 * self.y + self.groups


Scores = Callable[[Part], np.ndarray]


def trees(train: Part, seed: int) -> LGBMClassifier:
    """LightGBM with the trees of `BoostedScorer`."""
    n, d = train.X.shape
    root = float(np.sqrt(n))
    return LGBMClassifier(
        n_estimators=200,
        learning_rate=0.05,
        num_leaves=int(np.clip(round(root / 10.0), 4, 15)),
        min_child_samples=int(np.clip(n // 25, 20, 50)),
        colsample_bynode=float(np.clip(root / 80.0, min(1.0, max(0.3, 8.0 / d)), 1.0)),
        subsample=float(np.clip(root / 80.0, 0.7, 1.0)),
        subsample_freq=1,
        random_state=seed,
        n_jobs=1,
        verbosity=-1,
    )


def _raw(model: LGBMClassifier, rows: Part) -> np.ndarray:
    return np.asarray(model.predict(rows.X, raw_score=True))


def plain(train: Part, asked, seed: int) -> Scores:
    model = trees(train, seed).fit(train.X, train.y)
    return lambda rows: _raw(model, rows)


def reweighing(train: Part, asked, seed: int) -> Scores:
    """Kamiran and Calders (2012): weights under which class and group are independent."""
    n = len(train.y)
    cells = np.bincount(train.cell, minlength=4).reshape(2, 2)
    expected = np.outer(cells.sum(axis=1), cells.sum(axis=0)) / n
    weight = (expected / cells).reshape(-1)[train.cell]
    model = trees(train, seed).fit(train.X, train.y, sample_weight=weight)
    return lambda rows: _raw(model, rows)


def boosted(train: Part, asked, seed: int) -> Scores:
    scorer = es.BoostedScorer(asked, random_state=seed, n_jobs=1)
    scorer.fit(train.X, train.y, sensitive_features=train.groups)
    return lambda rows: scorer.decision_function(rows.X)


def free(train: Part, asked, seed: int) -> Scores:
    scorer = es.BoostedScorer(random_state=seed, n_jobs=1).fit(train.X, train.y)
    return lambda rows: scorer.decision_function(rows.X)


def paper(train: Part, asked, seed: int) -> Scores:
    return boosted(train, PAPER, seed)


def linear(train: Part, asked, seed: int) -> Scores:
    scorer = es.LinearScorer(asked, random_state=seed)
    scorer.fit(train.X, train.y, sensitive_features=train.groups)
    return lambda rows: scorer.decision_function(rows.X)


# ------------------------------------------------------ with the group of whoever is scored


def folds(train: Part, seed: int) -> list:
    """The folds that repaired and matched scores share."""
    n_splits = 10 if len(train.y) < 2000 else 5
    split = StratifiedKFold(n_splits, shuffle=True, random_state=seed)
    return list(split.split(train.X, train.cell))


def repaired(train: Part, asked, seed: int) -> Scores:
    scorer = es.RepairedScorer(
        default_trees(len(train.y), train.X, seed, 1),
        asked,
        cv=folds(train, seed),
        random_state=seed,
    )
    scorer.fit(train.X, train.y, sensitive_features=train.groups)
    return lambda rows: scorer.decision_function(rows.X, sensitive_features=rows.groups)


def cross_fitted(train: Part, seed: int) -> tuple[list[LGBMClassifier], np.ndarray]:
    """The models that `repaired` fits too, and scores of rows that they have not seen."""
    models, score = [], np.empty(len(train.y))
    for inside, outside in folds(train, seed):
        model = default_trees(len(train.y), train.X, seed, 1)
        models.append(model.fit(train.X[inside], train.y[inside]))
        score[outside] = model.predict(train.X[outside], raw_score=True)
    return models, score


def ensemble(train: Part, asked, seed: int) -> Scores:
    """What is repaired and matched, as it is."""
    models, _ = cross_fitted(train, seed)
    return lambda rows: np.mean([_raw(model, rows) for model in models], axis=0)


def to_quantiles(score: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The quantiles of the target where those of the source are; beyond the ends a shift."""
    source, target = np.sort(source), np.sort(target)
    middle = (np.arange(len(source)) + 0.5) / len(source)
    images = np.interp(middle, (np.arange(len(target)) + 0.5) / len(target), target)
    beyond = score - np.clip(score, source[0], source[-1])
    return np.interp(score, source, images) + beyond


def matching(*classes: tuple[int, ...]) -> Callable[[Part, object, int], Scores]:
    """Group by group to the quantiles of all groups, of some classes; the mean of several."""

    def fit(train: Part, asked, seed: int) -> Scores:
        models, known = cross_fitted(train, seed)

        def matched(score: np.ndarray, groups: np.ndarray) -> np.ndarray:
            result = np.empty(len(score))
            for group in (0, 1):
                rows, own = groups == group, train.groups == group
                result[rows] = np.mean(
                    [
                        to_quantiles(score[rows], known[own & among], known[among])
                        for among in (np.isin(train.y, kinds) for kinds in classes)
                    ],
                    axis=0,
                )
            return result

        return lambda rows: np.mean(
            [matched(_raw(model, rows), rows.groups) for model in models], axis=0
        )

    return fit


# ------------------------------------------------------ other libraries


@cache
def library(name: str):
    """A module, or the sentence why there is none."""
    try:
        return importlib.import_module(name)
    except Exception as error:  # a library for other versions may raise anything
        return f"{name} cannot be imported here ({type(error).__name__}: {error})."


def _asked_rates(asked) -> str:
    return ",".join(rate.upper() for rate in asked.rates)


def fairgbm(train: Part, asked, seed: int) -> Scores:
    """FairGBM's constraint at one threshold, that with an FPR of 20 % of plain LightGBM.

    Through its own interface: that for scikit-learn does not run with today's. Its classifier
    takes probabilities, its booster gives them.
    """
    module = library("fairgbm")
    shape = trees(train, seed)
    start = shape.fit(train.X, train.y).predict_proba(train.X)[:, 1]
    threshold = float(np.quantile(start[train.y == 0], 0.8))
    settings = {
        "objective": "constrained_cross_entropy",
        "constraint_type": _asked_rates(asked),
        "constraint_fpr_tolerance": TOLERANCE,
        "constraint_fnr_tolerance": TOLERANCE,
        "score_threshold": threshold,
        "learning_rate": shape.learning_rate,
        "num_leaves": shape.num_leaves,
        "min_data_in_leaf": shape.min_child_samples,
        "feature_fraction_bynode": shape.get_params()["colsample_bynode"],
        "bagging_fraction": shape.subsample,
        "bagging_freq": 1,
        "num_threads": 1,
        "verbose": -1,
        "seed": seed,
    }
    rows = module.Dataset(train.X, train.y, constraint_group=train.groups)
    model = module.train(settings, rows, num_boost_round=shape.n_estimators)
    return lambda part: np.asarray(model.predict(part.X))


def fair_trees(train: Part, asked, seed: int) -> Scores:
    """The forest of its documentation: θ = 0.3, depth 5; parity of selection at all cuts."""
    forest = library("fair_trees").FairRandomForestClassifier(
        n_estimators=100, theta=0.3, Z_agg="max", max_depth=5, random_state=seed, n_jobs=1
    )
    forest.fit(train.X, train.y, Z=train.groups)
    return lambda rows: forest.predict_proba(rows.X)[:, 1]


def fairlearn(train: Part, asked, seed: int) -> Scores:
    """Exponentiated gradient over plain LightGBM; the mean chance that its classifiers give.

    It speaks of classifiers, cut at a chance of one half: the only cut it makes fair.
    """
    reductions = library("fairlearn.reductions")
    parity = {
        "FNR": reductions.TruePositiveRateParity,
        "FPR": reductions.FalsePositiveRateParity,
        "FPR,FNR": reductions.EqualizedOdds,
    }[_asked_rates(asked)]
    learner = reductions.ExponentiatedGradient(
        trees(train, seed), parity(difference_bound=TOLERANCE)
    )
    learner.fit(train.X, train.y, sensitive_features=train.groups)
    used = [(w, learner.predictors_[k]) for k, w in learner.weights_.items() if w > 0.0]
    # Where all rows have one label the library's classifier is a constant, without chances.
    return lambda rows: sum(
        w * (m.predict_proba(rows.X)[:, 1] if hasattr(m, "predict_proba") else m.predict(rows.X))
        for w, m in used
    )


@dataclass(frozen=True)
class Method:
    """A way to a score; `asked` is what it can be asked for, `needs` the library it needs."""

    fit: Callable[[Part, object, int], Scores]
    asked: tuple[str, ...] = ("",)
    needs: str = ""


_ALL = tuple(ASKED)
_RATES = ("fnr", "fpr", "both")  # other libraries know no range of cuts

METHODS = {
    "LightGBM": Method(plain),
    "BoostedScorer, free": Method(free),
    "paper's rates": Method(paper),
    "BoostedScorer": Method(boosted, _ALL),
    "LinearScorer": Method(linear, _ALL),
    "reweighing": Method(reweighing),
    "FairGBM": Method(fairgbm, _RATES, "fairgbm"),
    "fair-trees": Method(fair_trees, needs="fair_trees"),
    "fairlearn": Method(fairlearn, _RATES, "fairlearn.reductions"),
    "ensemble": Method(ensemble),
    "matching, everyone": Method(matching((0, 1))),
    "matching, negatives": Method(matching((0,))),
    "matching, averaged": Method(matching((0,), (1,))),
    "RepairedScorer": Method(repaired, _ALL),
}
