"""What four AUC notions cost over any classifier, and beside learning under the constraint.

Test rows, mean over splits, without the columns that state the group. `EvenScorer` over each
classifier, with its classifiers fitted once, and `LinearScorer` lose AUC against themselves without
constraints. The gap that is left is compared with its floor: the mean size of the gap after
shuffling the groups within each class of the test set. Default parameters throughout, the same for
every data set; the tolerance is 0.02. COMPAS is read from EVENSCORE_DATA.

With `--shifted`, `EvenScorer` gets the true posteriors of 20,000 people of the distribution
"shifted" of docs/optimal.md. Its AUC is compared with the largest that any score has at its gap.

    python benchmarks/optimal.py                                # 5 splits, four notions
    python benchmarks/optimal.py --data german compas --splits 3 --notions bnsp
    python benchmarks/optimal.py --shifted
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from cutting.problems import PROBLEMS, REAL
from learning import floors
from optimal_laws import at_gap, auc_matrix, plane, shifted
from optimal_laws import notion as notion_of
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import evenscore as es
from evenscore.gaps import as_constraints
from evenscore.learning.objective import Objective
from evenscore.learning.trees import default_trees

NOTIONS = ("bnsp", "bpsn", "zero_aeg", "zero_aeg_negatives")
MEANS = np.array([[0.0, 0.0], [0.5, 0.7], [1.4, 0.2], [1.6, 1.6]])  # "shifted": H0, H1, G0, G1
SHARES = np.array([[0.4, 0.6], [0.5, 0.5]])  # of the groups in the classes, which are equally large


def estimators(X, split: int) -> dict[str, object]:
    """Classifiers that EvenScorer is put over."""
    return {
        "by default": None,
        "LightGBM": default_trees(len(X), X, split, 1),
        "HistGradientBoosting": HistGradientBoostingClassifier(random_state=split),
        "LogisticRegression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    }


def measured(part, score, notion: str) -> tuple[float, float, float]:
    """AUC, size of the gap and its floor."""
    objective = Objective(part.y == 1, part.groups, 2, as_constraints(notion))
    strict = objective.strict(score)
    floor = floors(objective, score, np.random.default_rng(0))
    return strict.auc, float(abs(strict.gaps[0])), float(floor[0])


def one_split(name: str, split: int, notions) -> dict[tuple[str, str], np.ndarray]:
    """By scorer and notion: AUC, gap and floor without constraints and with them, (2, 3)."""
    train, test = PROBLEMS[name](split)
    known = {"sensitive_features": train.groups}
    found = {}

    def compare(label: str, notion: str, free, fair) -> None:
        scores = (scorer.decision_function(test.X) for scorer in (free, fair))
        found[label, notion] = np.array([measured(test, score, notion) for score in scores])

    for label, model in estimators(train.X, split).items():
        scorer = es.EvenScorer(notions[0], model, random_state=split).fit(train.X, train.y, **known)
        for notion in notions:
            compare(f"EvenScorer, {label}", notion, scorer.under(()), scorer.under(notion))
    free = es.LinearScorer().fit(train.X, train.y)
    for notion in notions:
        fair = es.LinearScorer(notion).fit(train.X, train.y, **known)
        compare("LinearScorer", notion, free, fair)
    return found


class Truth(ClassifierMixin, BaseEstimator):
    """The posteriors of "shifted"; `fit` finds out which: of the class, or of the groups of one."""

    KINDS = (((0, 1), (2, 3)), ((0,), (1,)), ((1,), (0,)), ((2,), (3,)), ((3,), (2,)))

    def fit(self, X, y):
        self.classes_, code = np.unique(y, return_inverse=True)
        told = [self._chances(X, kind)[np.arange(len(code)), code] for kind in self.KINDS]
        self.kind_ = self.KINDS[int(np.argmax([np.log(t).sum() for t in told]))]
        return self

    @staticmethod
    def _chances(X, kind):
        cells = np.exp(-np.square(X[:, None, :] - MEANS).sum(axis=2) / 2) * SHARES.ravel()
        asked = np.column_stack([cells[:, list(some)].sum(axis=1) for some in kind])
        return asked / asked.sum(axis=1, keepdims=True)

    def predict_proba(self, X):
        return self._chances(X, self.kind_)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def with_true_posteriors(notions, people: int = 20_000, side: int = 150) -> None:
    """AUC and gap on a grid, and the AUC of the best score with that gap."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, people)
    group = (rng.random(people) > SHARES[y, 0]).astype(int)
    X = MEANS[2 * y + group] + rng.standard_normal((people, 2))
    law, grid = shifted(side), np.column_stack(plane(side, -5.0, 7.0))
    for name in notions:
        for tolerance in (0.0, 0.05):
            asked = es.AucConstraint.named(name, tolerance=tolerance)
            scorer = es.EvenScorer(asked, Truth(), random_state=0)
            scorer.fit(X, y, sensitive_features=group)
            aucs = auc_matrix(law, scorer.decision_function(grid))
            auc = float(np.sum(np.outer(*law.pooled) * aucs))
            gap = float(np.sum(notion_of(name, law)[3] * aucs))
            most, _ = at_gap(law, name, gap)
            print(
                f"{name:19s}tolerance {tolerance:.2f}  gap {gap:+.4f}  AUC {auc:.4f}, at most "
                f"{most:.4f}, {most - auc:.4f} less",
                flush=True,
            )


def summary(name: str, found: list[dict]) -> None:
    """One line for each notion and scorer: means over splits."""
    for label, notion in sorted(found[0], key=lambda key: NOTIONS.index(key[1])):
        rows = np.array([one[label, notion] for one in found])
        (free, free_gap, _), (auc, gap, floor) = rows.mean(axis=0)
        lost = rows[:, 0, 0] - rows[:, 1, 0]
        error = lost.std(ddof=1) / np.sqrt(len(lost)) if len(lost) > 1 else np.nan
        print(
            f"{name:7s} {notion:19s}{label:33s}AUC {free:.4f} → {auc:.4f}, lost "
            f"{lost.mean():+.4f} ± {error:.4f}  gap {free_gap:.3f} → {gap:.3f} (floor {floor:.3f})",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    names = [name for name in REAL if name != "census"]
    parser.add_argument("--data", nargs="*", default=names, choices=list(REAL))
    parser.add_argument("--notions", nargs="*", default=list(NOTIONS), choices=NOTIONS)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--shifted", action="store_true", help="true posteriors instead of data")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # prices and gaps not reached are what is shown
    if arguments.shifted:
        with_true_posteriors(arguments.notions)
        return
    for name in arguments.data:
        splits = range(arguments.splits)
        summary(name, [one_split(name, split, arguments.notions) for split in splits])


if __name__ == "__main__":
    main()
