"""What a fit tells of its gaps, against those of the final scorer on many fresh rows.

Features of two groups, drawn from four laws: in "smooth" the groups differ in means and in a
spread, in "crossed" there are few features and an interaction, so that the folds' scorers differ
more, in "heavy" there are more features, with heavy tails. "memorised" has 40 features and a scorer
that nothing regularises: what it closes in training returns, and is corrected for. The truth is
measured for every fit on fresh rows, 30 times as many and at least 200,000: its error is a fifth of
the interval's at most. "tested only" is the interval that counts who was tested and takes the
folds' scorers for the final one; "wider by" is how much wider that of `LinearScorer` is. Samples
are fits, of half a second to some ten: ask for 100 to 300.

    python benchmarks/coverage.py --parts cross_fit --samples 100
"""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
from sklearn.base import clone

from covering.tally import Tally
from evenscore import EvenScorer, GroupedScores, LinearScorer, RocConstraint
from evenscore.gaps import as_constraints
from evenscore.gaps.family import family_estimates, family_values

TITLE = "Gaps of the final scorer by cross-fitting (95 %), and how much wider than by testing alone"
COLUMNS = ("told", "tested only", "wider by")
FRESH, LEAST = 30, 200_000  # fresh rows, for each row and altogether
ASKED = RocConstraint(on="both", rates=(0.125, 0.25), tolerance=0.02)
SCORERS = {
    "linear": LinearScorer(ASKED),
    "even": EvenScorer(ASKED),
    "overfitted": LinearScorer(["intra_group", "bnsp"], tolerance=0.02, l2=0.0),
}


def settings(sizes):
    """Rows, law, scorer and folds; `sizes` are numbers of rows here."""
    cases = (("linear", 3), ("linear", 2), ("linear", 10), ("even", 3))
    laws = [law for law in LAWS if law != "memorised"]
    return [
        {"rows": size, "law": law, "scorer": scorer, "folds": folds}
        for size, law, (scorer, folds) in (
            *product(sizes or (2000, 20_000), laws, cases),
            *product(sizes or (1500,), ["memorised"], [("overfitted", 3)]),
        )
    ]


def smooth(n: int, rng: np.random.Generator):
    group = rng.random(n) < 0.35
    X = rng.normal(size=(n, 5))
    X[:, 0] += 0.6 * group
    X[:, 1] -= 0.4 * group
    X[:, 2] *= np.where(group, 1.4, 1.0)
    X[:, 3] += 0.3 * group * X[:, 0]
    logit = 0.9 * X[:, 0] + 0.6 * X[:, 1] - 0.4 * X[:, 2] * X[:, 3] + 0.5 * np.abs(X[:, 4])
    return X, group, logit - 0.3 - 0.3 * group


def crossed(n: int, rng: np.random.Generator):
    group = rng.random(n) < 0.35
    X = rng.normal(size=(n, 4)) + np.outer(group, [0.7, -0.5, 0.0, 0.6])
    logit = X[:, 0] + 0.7 * X[:, 1] + 0.5 * X[:, 0] * X[:, 1] + 0.4 * X[:, 3]
    return X, group, logit + 0.8 * np.abs(X[:, 2]) - 0.8


def heavy(n: int, rng: np.random.Generator):
    group = rng.random(n) < 0.45
    X = rng.standard_t(6, (n, 8))
    X[:, :4] += np.outer(group, [0.5, 0.0, -0.5, 0.2])
    X[:, 5] = rng.random(n) < np.where(group, 0.6, 0.3)
    logit = 0.7 * X[:, 0] + 0.5 * X[:, 1] + 0.5 * X[:, 2] + 0.8 * X[:, 5] - 0.6
    return X, group, logit + 0.3 * X[:, 6] * group - 0.2 * X[:, 7] ** 2


def memorised(n: int, rng: np.random.Generator):
    """Labels are drawn first: the small group's are hard to tell."""
    y, group = rng.random(n) < 0.5, rng.random(n) < 0.25
    X = rng.normal(size=(n, 40))
    X[:, 0] += np.where(group, 0.3, 1.8) * y
    X[:, 1] = group
    return X, group, np.where(y, np.inf, -np.inf)


LAWS = {"smooth": smooth, "crossed": crossed, "heavy": heavy, "memorised": memorised}


def draw(law: str, n: int, rng: np.random.Generator):
    """Features, labels and groups."""
    X, group, logit = LAWS[law](n, rng)
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-logit))).astype(int), group.astype(int)


def run(setting, samples: int, rng: np.random.Generator) -> Tally:
    tally = Tally()
    for number in range(samples):
        scorer = clone(SCORERS[setting["scorer"]])
        scorer.set_params(folds=setting["folds"], random_state=number)
        X, y, group = draw(setting["law"], setting["rows"], rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scorer.fit(X, y, sensitive_features=group)
        X, y, group = draw(setting["law"], max(LEAST, FRESH * setting["rows"]), rng)
        score = scorer.decision_function(X)
        asked = as_constraints(scorer.constraints)
        fresh = GroupedScores.from_arrays(y, score, sensitive_features=group)
        truth = family_values(fresh, asked)
        narrow = family_estimates(scorer.left_out_.table, asked)
        for k, (wide, tested) in enumerate(zip(scorer.gaps_, narrow, strict=True)):
            tally.inside("told", k, wide.low, truth[k], wide.high)
            tally.inside("tested only", k, tested.low, truth[k], tested.high)
            tally.measure("wider by", k, (wide.high - wide.low) / (tested.high - tested.low) - 1.0)
    return tally
