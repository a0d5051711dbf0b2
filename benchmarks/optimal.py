"""What the optimal fair score costs, beside a scorer that learns under the constraint.

Test sets of the paper's sizes, mean over stratified splits. `PlugInScorer` over LightGBM and
HistGradientBoosting stands beside `BoostedScorer`, over logistic regression beside `LinearScorer`:
each loses AUC against itself without constraint ("lost"), and the gap it leaves stands beside its
floor, the mean size of the gap after shuffling the groups within each class of the test set. CPU
seconds are those of one thread, fits those of the classifier. Default parameters throughout, the
same for every data set. COMPAS is read from EVENSCORE_DATA.

    python benchmarks/optimal.py                                # 5 splits, four notions
    python benchmarks/optimal.py --data german compas --splits 3 --notions bnsp
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from learning import LOADERS, floors
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
MORE_LOST, ABOVE_FLOOR = (
    0.002,
    0.015,
)  # what may be lost more, and what a gap may be above its floor


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
        free_scorer = es.PlugInScorer(Counted(model), random_state=split)
        _, free = measured(free_scorer, data, split, arguments.notions, False)
        for notion in arguments.notions:
            Counted.fits = 0
            scorer = es.PlugInScorer(Counted(model), notion, random_state=split)
            seconds, fair = measured(scorer, data, split, [notion], True)
            known[label, notion] = (free[notion], fair[notion], seconds, Counted.fits)
            other = known[beside, notion]
            row = {"data": name, "split": split, "notion": notion, "estimator": label}
            for kind, (before, after, cpu, fits) in (
                ("plug_in", known[label, notion]),
                (beside, other),
            ):
                row |= {"free": before[0]} if kind == "plug_in" else {"beside_free": before[0]}
                prefix = "" if kind == "plug_in" else "beside_"
                row |= {
                    f"{prefix}auc": after[0],
                    f"{prefix}lost": before[0] - after[0],
                    f"{prefix}free_gap": before[1],
                    f"{prefix}gap": after[1],
                    f"{prefix}floor": after[2],
                    f"{prefix}cpu": cpu,
                }
                if kind == "plug_in":
                    row["fits"] = fits
            rows.append(row)
            if out is not None:
                with out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    return rows


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
    arguments = parser.parse_args()
    for name in arguments.data:
        data = LOADERS[name]()
        rows = []
        for split in range(arguments.splits):
            rows += one_split(name, data, split, arguments, arguments.out)
        summary(rows)


if __name__ == "__main__":
    main()
