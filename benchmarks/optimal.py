"""What four AUC notions cost over any classifier, compared with learning under the constraint.

Test sets of the paper's sizes, mean over stratified splits. `EvenScorer` over LightGBM and
HistGradientBoosting is compared with `BoostedScorer`, over logistic regression with `LinearScorer`.
Each loses AUC against itself without constraints ("lost"). The gap it leaves is compared with its
floor: the mean size of the gap after shuffling the groups within each class of the test set. CPU
seconds are those of one thread, fits those of the classifier. Default parameters throughout, the
same for every data set; every scorer's tolerance is 0.02. COMPAS is read from EVENSCORE_DATA.

With `--shifted`, `EvenScorer` gets the true posteriors of 20,000 people of the distribution
"shifted" of docs/optimal.md. Its AUC is compared with the largest that any score has at its gap.

    python benchmarks/optimal.py                                # 5 splits, four notions
    python benchmarks/optimal.py --data german compas --splits 3 --notions bnsp
    python benchmarks/optimal.py --shifted
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from learning import LOADERS, floors
from optimal_laws import at_gap, auc_matrix, plane, shifted
from optimal_laws import notion as notion_of
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import evenscore as es
from evenscore.gaps import as_constraints
from evenscore.learning.boosters import default_trees
from evenscore.learning.objective import Objective

NOTIONS = ("bnsp", "bpsn", "zero_aeg", "zero_aeg_negatives")
MORE_LOST, ABOVE_FLOOR = 0.002, 0.02  # AUC that may be lost more; a gap above its floor
MEANS = np.array([[0.0, 0.0], [0.5, 0.7], [1.4, 0.2], [1.6, 1.6]])  # "shifted": H0, H1, G0, G1
SHARES = np.array([[0.4, 0.6], [0.5, 0.5]])  # of the groups in the classes, which are equally large


class Counted(ClassifierMixin, BaseEstimator):
    """A classifier that counts how often it is fitted."""

    fits = 0

    def __init__(self, model=None):
        self.model = model

    def fit(self, X, y, sample_weight=None):
        Counted.fits += 1
        self.model_ = clone(self.model)
        if sample_weight is None:
            self.model_.fit(X, y)
        else:
            self.model_.fit(X, y, sample_weight=sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


def estimators(n: int, X, split: int) -> dict[str, tuple[object, str]]:
    """Classifiers, and the scorer that each is compared with."""
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return {
        "LightGBM": (default_trees(n, X, split, 1), "boosted"),
        "HistGradientBoosting": (HistGradientBoostingClassifier(random_state=split), "boosted"),
        "LogisticRegression": (logistic, "linear"),
    }


LEARNED = {"boosted": es.BoostedScorer, "linear": es.LinearScorer}


def measured(scorer, data, split: int, notions, groups: bool):
    """CPU seconds of a fit, and of each notion AUC, gap and floor on test rows."""
    train, test = data.split(split)
    told = {"sensitive_features": data.groups[train]} if groups else {}
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scorer.fit(data.X[train], data.y[train], **told)
        seconds = time.process_time() - start
        score = scorer.decision_function(data.X[test])
    codes = (data.groups[test] == data.group_order[1]).astype(int)
    found = {}
    for notion in notions:
        objective = Objective(data.y[test] == 1, codes, 2, as_constraints(notion))
        strict = objective.strict(score)
        floor = floors(objective, score, np.random.default_rng(0))
        found[notion] = (strict.auc, float(abs(strict.gaps[0])), float(floor[0]))
    return seconds, found


def one_split(name: str, data, split: int, arguments, out) -> list[dict]:
    rows = []
    train, _ = data.split(split)
    known = {}
    for label in {label for _, label in estimators(2, data.X, split).values()}:
        make = LEARNED[label]
        _, free = measured(make(random_state=split), data, split, arguments.notions, False)
        for notion in arguments.notions:
            seconds, fair = measured(make(notion, random_state=split), data, split, [notion], True)
            known[label, notion] = (free[notion], fair[notion], seconds, 0)
    for label, (model, beside) in estimators(len(train), data.X, split).items():
        free_scorer = es.EvenScorer(estimator=Counted(model), random_state=split)
        _, free = measured(free_scorer, data, split, arguments.notions, False)
        for notion in arguments.notions:
            Counted.fits = 0
            scorer = es.EvenScorer(notion, Counted(model), random_state=split)
            seconds, fair = measured(scorer, data, split, [notion], True)
            known[label, notion] = (free[notion], fair[notion], seconds, Counted.fits)
            other = known[beside, notion]
            row = {"data": name, "split": split, "notion": notion, "estimator": label}
            for kind, (before, after, cpu, fits) in (
                ("even", known[label, notion]),
                (beside, other),
            ):
                row |= {"free": before[0]} if kind == "even" else {"beside_free": before[0]}
                prefix = "" if kind == "even" else "beside_"
                row |= {
                    f"{prefix}auc": after[0],
                    f"{prefix}lost": before[0] - after[0],
                    f"{prefix}free_gap": before[1],
                    f"{prefix}gap": after[1],
                    f"{prefix}floor": after[2],
                    f"{prefix}cpu": cpu,
                }
                if kind == "even":
                    row["fits"] = fits
            rows.append(row)
            if out is not None:
                with out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    return rows


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


def summary(rows: list[dict]) -> None:
    """One line for each data set, notion and classifier: means over splits."""
    for key in dict.fromkeys((r["data"], r["notion"], r["estimator"]) for r in rows):
        own = [r for r in rows if (r["data"], r["notion"], r["estimator"]) == key]
        mean = {k: np.mean([r[k] for r in own]) for k in own[0] if isinstance(own[0][k], float)}
        more = [r["lost"] - r["beside_lost"] for r in own]
        error = np.std(more, ddof=1) / np.sqrt(len(more)) if len(more) > 1 else 0.0
        ratio = np.median([r["cpu"] / r["beside_cpu"] for r in own])
        fine = np.mean(more) <= MORE_LOST and mean["gap"] - mean["floor"] <= ABOVE_FLOOR
        print(
            f"{key[0]:7s}{key[1]:19s}{key[2]:21s}AUC {mean['free']:.4f} → {mean['auc']:.4f}  lost "
            f"{mean['lost']:+.4f} (beside {mean['beside_lost']:+.4f}, {np.mean(more):+.4f} ± "
            f"{error:.4f})  gap {mean['free_gap']:.3f} → {mean['gap']:.3f} (floor "
            f"{mean['floor']:.3f}; beside {mean['beside_gap']:.3f})  {own[0]['fits']} fits, CPU × "
            f"{ratio:.2f}  {'' if fine else 'MISSED'}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="*", default=list(LOADERS), choices=list(LOADERS))
    parser.add_argument("--notions", nargs="*", default=list(NOTIONS), choices=NOTIONS)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--out", type=Path, help="add a line of JSON for every fit")
    parser.add_argument("--shifted", action="store_true", help="true posteriors instead of data")
    arguments = parser.parse_args()
    if arguments.shifted:
        with_true_posteriors(arguments.notions)
        return
    for name in arguments.data:
        data = LOADERS[name]()
        rows = []
        for split in range(arguments.splits):
            rows += one_split(name, data, split, arguments, arguments.out)
        summary(rows)


if __name__ == "__main__":
    main()
