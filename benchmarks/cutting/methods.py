"""Ways to a score that treats groups equally at the cuts in use: ours and other libraries'.

A method is given training rows and returns a function from rows to scores. Trees grow on one
thread. Of the other libraries FairGBM alone is tuned, on a fifth of the training rows, since it has
no default for a range of cuts.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import evenscore as es
from evenscore.learning.trees import boosted_trees, default_trees

from .measures import RANGES, RATES
from .problems import Part
from .program import Program

CUTS = RANGES["negatives"]
TOLERANCES = (0.0, 0.02, 0.05, 0.1)
Scores = Callable[[Part], np.ndarray]


def asked(tolerance: float) -> es.RateConstraint:
    return es.RateConstraint(*RATES, cuts=CUTS, tolerance=tolerance)


def trees(seed: int) -> LGBMClassifier:
    return LGBMClassifier(random_state=seed, n_jobs=1, verbosity=-1)


def _raw(model: LGBMClassifier, rows: Part) -> np.ndarray:
    return np.asarray(model.predict(rows.X, raw_score=True))


def plain(train: Part, seed: int) -> Scores:
    model = trees(seed).fit(train.X, train.y)
    return lambda rows: _raw(model, rows)


def reweighing(train: Part, seed: int) -> Scores:
    """Kamiran and Calders (2012): weights under which class and group are independent."""
    cells = np.bincount(train.cell).reshape(2, -1)
    expected = np.outer(cells.sum(axis=1), cells.sum(axis=0)) / len(train.y)
    weight = (expected / cells).reshape(-1)[train.cell]
    model = trees(seed).fit(train.X, train.y, sample_weight=weight)
    return lambda rows: _raw(model, rows)


def learned(make: Callable[[int], object]) -> Callable[[Part, int], Scores]:
    """A scorer that needs groups to fit only."""

    def fit(train: Part, seed: int) -> Scores:
        scorer = make(seed).fit(train.X, train.y, sensitive_features=train.groups)
        return lambda rows: scorer.decision_function(rows.X)

    return fit


def even(tolerance: float):
    return learned(lambda seed: es.EvenScorer(asked(tolerance), random_state=seed))


def over_trees(train: Part, seed: int) -> Scores:
    """EvenScorer over trees of one's own, which see the columns that state the group, too."""
    own = boosted_trees(200, 0.08, 25, 40, train.X.shape, (), seed)
    scorer = es.EvenScorer(asked(0.02), own, random_state=seed)
    scorer.fit(train.X, train.y, sensitive_features=train.groups)
    return lambda rows: scorer.decision_function(rows.X)


def unconstrained(train: Part, seed: int) -> Scores:
    scorer = es.EvenScorer(random_state=seed).fit(train.X, train.y)
    return lambda rows: scorer.decision_function(rows.X)


def program(tolerance: float):
    return learned(lambda seed: Program(asked(tolerance), random_state=seed))


def linear(tolerance: float):
    return learned(lambda seed: es.LinearScorer(asked(tolerance), random_state=seed))


def repaired(tolerance: float):
    def fit(train: Part, seed: int) -> Scores:
        base = default_trees(len(train.y), train.X, seed, 1)
        scorer = es.RepairedScorer(base, asked(tolerance), random_state=seed)
        scorer.fit(train.X, train.y, sensitive_features=train.groups)
        return lambda rows: scorer.decision_function(rows.X, sensitive_features=rows.groups)

    return fit


# ------------------------------------------------------ other libraries


@cache
def library(name: str):
    """A module, or the sentence why there is none."""
    try:
        return importlib.import_module(name)
    except Exception as error:  # a library for other versions may raise anything
        return f"{name} cannot be imported here ({type(error).__name__}: {error})."


def fairgbm(train: Part, seed: int) -> Scores:
    """FairGBM's constraint at one threshold, that with an FPR of 20 % of plain LightGBM.

    The rate of its multipliers and the number of trees are those of six that lose least, AUC less
    the worst gap, on a fifth of the training rows. Through its own interface: that for
    scikit-learn does not run with today's.
    """
    module = library("fairgbm")

    def fitted(part: Part, rate: float, rounds: int):
        start = trees(seed).fit(part.X, part.y).predict_proba(part.X)[:, 1]
        settings = {
            "objective": "constrained_cross_entropy",
            "constraint_type": "FPR,FNR",
            "constraint_fpr_tolerance": 0.02,
            "constraint_fnr_tolerance": 0.02,
            "score_threshold": float(np.quantile(start[part.y == 0], 0.8)),
            "multiplier_learning_rate": rate,
            "num_threads": 1,
            "verbose": -1,
            "seed": seed,
        }
        rows = module.Dataset(part.X, part.y, constraint_group=part.groups)
        return module.train(settings, rows, num_boost_round=rounds)

    inner, outer = train_test_split(
        np.arange(len(train.y)), test_size=0.2, random_state=seed, stratify=train.cell
    )
    best, chosen, outer_rows = -np.inf, None, train.rows(outer)
    for rate in (0.01, 0.1, 0.3):
        for rounds in (100, 300):
            score = np.asarray(fitted(train.rows(inner), rate, rounds).predict(outer_rows.X))
            table = es.GroupedScores.from_arrays(
                outer_rows.y, score, sensitive_features=outer_rows.groups
            )
            gaps = np.abs(asked(0.0).values(table))
            worth = roc_auc_score(outer_rows.y, score) - np.nan_to_num(gaps, nan=1.0).max()
            if worth > best:
                best, chosen = worth, (rate, rounds)
    model = fitted(train, *chosen)
    return lambda part: np.asarray(model.predict(part.X))


def fairlearn(train: Part, seed: int) -> Scores:
    """Exponentiated gradient over plain LightGBM; the mean chance that its classifiers give.

    It speaks of classifiers, cut at a chance of one half: the only cut it equalises.
    """
    reductions = library("fairlearn.reductions")
    parity = reductions.EqualizedOdds(difference_bound=0.02)
    learner = reductions.ExponentiatedGradient(trees(seed), parity)
    learner.fit(train.X, train.y, sensitive_features=train.groups)
    used = [(w, learner.predictors_[k]) for k, w in learner.weights_.items() if w > 0.0]
    # Where all rows have one label the library's classifier is a constant, without chances.
    return lambda rows: sum(
        w * (m.predict_proba(rows.X)[:, 1] if hasattr(m, "predict_proba") else m.predict(rows.X))
        for w, m in used
    )


def equipy(train: Part, seed: int) -> Scores:
    """Its own aim, parity of selection at every cut, with the group; maps made on a fifth."""
    inner, outer = train_test_split(
        np.arange(len(train.y)), test_size=0.2, random_state=seed, stratify=train.cell
    )
    model = trees(seed).fit(train.X[inner], train.y[inner])
    maps = library("equipy.fairness").FairWasserstein(sigma=0.0001)
    maps.fit(model.predict_proba(train.X[outer])[:, 1], train.groups[outer][:, None])
    return lambda rows: np.asarray(
        maps.transform(model.predict_proba(rows.X)[:, 1], rows.groups[:, None])
    )


@dataclass(frozen=True)
class Method:
    """How to fit; the library it takes; whether it is told the group of whoever is scored."""

    fit: Callable[[Part, int], Scores]
    needs: str = ""
    aware: bool = False
    steady: bool = False  # whether it is looked at how places move
    published: bool = False  # whether it is fitted with columns of the group too


METHODS = {
    "LightGBM": Method(plain, published=True),
    "EvenScorer, nothing asked": Method(unconstrained, steady=True),
    **{
        f"EvenScorer {t:g}": Method(even(t), steady=t == 0.02, published=t in (0.0, 0.02, 0.05))
        for t in TOLERANCES
    },
    "EvenScorer 0.02 over trees": Method(over_trees, published=True),
    **{f"program {t:g}": Method(program(t), steady=t == 0.02) for t in (0.0, 0.02)},
    "LinearScorer 0.02": Method(linear(0.02)),
    "reweighing": Method(reweighing),
    "FairGBM": Method(fairgbm, "fairgbm"),
    "fairlearn": Method(fairlearn, "fairlearn.reductions"),
    "RepairedScorer 0.02": Method(repaired(0.02), aware=True),
    "EquiPy": Method(equipy, "equipy.fairness", aware=True),
}


def of_file(path: Path) -> Method:
    """A method of your own: `fit(train, seed)` of a Python file, which returns a function."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Method(module.fit, steady=True)
