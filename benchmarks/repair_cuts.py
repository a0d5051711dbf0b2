"""Repair at the cuts in use, beside matching the groups' laws: AUC and worst gaps on test rows.

Mean over stratified splits of the paper's sizes. The range is that of the cuts with an overall
false positive rate of 5 % to 35 %; a gap is the largest over all of it. Every method maps the same
cross-fitted LightGBM probabilities, and a test row gets the mean of the mapped scores of the models
of all folds, as in `RepairedScorer`. The matchings are ten lines each, and strong: the score of a
group is mapped so that a law of the group (everyone's, the negatives', the mean of negatives' and
positives', or the mean of the two maps) becomes that of the other groups, at every score.

Differences are RepairedScorer less matching, with standard errors over the splits (which share
people). A repair is beaten where a matching is better in AUC *and* in the worst gap asked for, both
by more than two of them. COMPAS is read from EVENSCORE_DATA.

    python benchmarks/repair_cuts.py                         # 10 splits
    python benchmarks/repair_cuts.py --data german --splits 3
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any, ClassVar

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

import evenscore as es
from evenscore import datasets
from evenscore.learning.trees import FEW, default_trees

LOADERS = {
    "adult": datasets.load_adult,
    "bank": datasets.load_bank,
    "compas": datasets.load_compas,
    "german": datasets.load_german,
}
CUTS = es.Cuts(between=(0.05, 0.35), of="negatives")
BOTH = es.RateConstraint("fpr", "fnr", cuts=CUTS)
ASKED = {"fpr": ("fpr",), "fnr": ("fnr",), "fpr and fnr": ("fpr", "fnr")}


class Remembered(ClassifierMixin, BaseEstimator):
    """LightGBM trees that are not fitted twice on the same rows."""

    known: ClassVar[dict[str, Any]] = {}

    def __init__(self, n_rows: int, seed: int) -> None:
        self.n_rows, self.seed = n_rows, seed

    def fit(self, X, y):
        key = joblib.hash((X, y, self.n_rows, self.seed))
        if key not in self.known:
            self.known[key] = default_trees(self.n_rows, X, self.seed, 1).fit(X, y)
        self.model_ = self.known[key]
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


# ---------------------------------------------------------------------- matchings


def law(y, score, weight_of_negatives):
    """The values of a group and the share up to each of its law."""
    order = np.argsort(score)
    share = np.where(
        y == 1, (1 - weight_of_negatives) / np.sum(y == 1), weight_of_negatives / np.sum(y == 0)
    )
    values, last = np.unique(score[order][::-1], return_index=True)
    return values, np.cumsum(share[order])[len(score) - 1 - last]


def matched(y, score, group, which):
    """The map that makes one law of all groups the same: to the mean of their quantiles."""
    weights = {"everyone": lambda z: np.mean(y[group == z] == 0), "negatives": lambda z: 1.0}
    weights |= {"positives": lambda z: 0.0, "average": lambda z: 0.5}
    laws = {z: law(y[group == z], score[group == z], weights[which](z)) for z in np.unique(group)}

    def mapped(new, groups):
        result = np.empty(len(new))
        for z in laws:
            rank = np.interp(new[groups == z], *laws[z])
            quantiles = [np.interp(rank, share, values) for values, share in laws.values()]
            result[groups == z] = np.mean(quantiles, axis=0)
        return result

    return mapped


def mean_of_maps(y, score, group):
    maps = [matched(y, score, group, which) for which in ("negatives", "positives")]
    return lambda new, groups: np.mean([some(new, groups) for some in maps], axis=0)


MATCHINGS = {
    "everyone": lambda *rows: matched(*rows, "everyone"),
    "negatives": lambda *rows: matched(*rows, "negatives"),
    "average of laws": lambda *rows: matched(*rows, "average"),
    "average of maps": mean_of_maps,
}


# ---------------------------------------------------------------------- one split


def one_split(data, split: int) -> dict[str, tuple[float, float, float]]:
    """AUC and the sizes of the worst FPR and FNR gaps on test rows, by method."""
    train, test = data.split(split)
    X, y, groups = data.X[train], data.y[train], data.groups[train]
    n_folds = 10 if len(train) < FEW else 5
    cells = np.char.add(groups.astype(str), y.astype(str))
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=split).split(X, cells))
    trees = Remembered(len(train), split)
    score, on_test = np.empty(len(train)), []
    for some, rest in folds:
        model = Remembered(len(train), split).fit(X[some], y[some])
        score[rest] = model.predict_proba(X[rest])[:, 1]
        on_test.append(model.predict_proba(data.X[test])[:, 1])
    labels, tested = data.y[test], data.groups[test]

    def measured(final):
        table = es.GroupedScores.from_arrays(labels, final, sensitive_features=tested)
        return roc_auc_score(labels, final), *np.abs(BOTH.values(table))

    found = {"none": measured(np.mean(on_test, axis=0))}
    for name, fit in MATCHINGS.items():
        mapping = fit(y, score, groups)
        found[name] = measured(np.mean([mapping(some, tested) for some in on_test], axis=0))
    for name, rates in ASKED.items():
        scorer = es.RepairedScorer(trees, es.RateConstraint(*rates, cuts=CUTS), cv=folds)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The repair leaves")
            scorer.fit(X, y, sensitive_features=groups)
        final = scorer.decision_function(data.X[test], sensitive_features=tested)
        found[f"repaired, {name}"] = measured(final)
    Remembered.known.clear()
    return found


# ---------------------------------------------------------------------- tables


def told(values) -> str:
    """A mean over splits, with its standard error."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):+.4f} ± {error:.4f}"


def show(name: str, fits) -> bool:
    """Print the table of a data set; whether no matching beats a repair."""
    rows = {method: np.array([fit[method] for fit in fits]) for method in fits[0]}
    for method, values in rows.items():
        auc, fpr, fnr = values.mean(axis=0)
        print(f"{name:7s} {method:22s} AUC {auc:.4f}  worst gap: fpr {fpr:.4f}  fnr {fnr:.4f}")
    good = True
    for asked, rates in ASKED.items():
        columns = [1 + ("fpr", "fnr").index(rate) for rate in rates]
        ours = rows[f"repaired, {asked}"]
        for method in MATCHINGS:
            theirs = rows[method]
            auc = ours[:, 0] - theirs[:, 0]
            gap = ours[:, columns].max(axis=1) - theirs[:, columns].max(axis=1)
            beyond = [
                -part.mean() > 2.0 * part.std(ddof=1) / np.sqrt(len(part)) for part in (auc, -gap)
            ]
            good &= not all(beyond)
            verdict = "BEATEN" if all(beyond) else ""
            print(
                f"{name:7s} repaired, {asked:12s} − {method:16s} AUC {told(auc)}  worst gap asked "
                f"for {told(gap)} {verdict}",
                flush=True,
            )
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", default=list(LOADERS), choices=list(LOADERS))
    parser.add_argument("--splits", type=int, default=10)
    arguments = parser.parse_args()
    print(f"Test rows, mean over {arguments.splits} splits; ±: one standard error.")
    verdicts = []
    for name in arguments.data:
        data = LOADERS[name]()
        verdicts.append(show(name, [one_split(data, k) for k in range(arguments.splits)]))
    print("No matching beats a repair." if all(verdicts) else "A matching beats a repair.")


if __name__ == "__main__":
    main()
