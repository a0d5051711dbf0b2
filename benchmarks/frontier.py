"""How well scores rank, and how fair they are, when fairness is asked for: every scorer at once.

Test sets of the paper's sizes, mean over stratified splits, default parameters, the same for every
data set. First the ROC constraint (both classes at 1/8 and 1/4, tolerance 0.02), beside LightGBM
without constraint and the published rows; then the paper's AUC constraint of each data set. The
floor of a gap is its mean size after shuffling the groups within each class of the test set.

    python benchmarks/frontier.py                       # 10 splits
    python benchmarks/frontier.py --data german --splits 3 --scorers boosted
    python benchmarks/frontier.py --cells               # Adult by race and sex: ten groups
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from learning import LOADERS, PAPER_GAP, ROC, SCORERS, one_fit
from lightgbm import LGBMClassifier
from paper_numbers import REAL
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit

import evenscore as es
from evenscore.gaps import as_constraints
from evenscore.learning.objective import Objective


class PlainLightGBM:
    """LightGBM's defaults, but for a learning rate of 0.05: nobody asks for fairness."""

    def __init__(self, constraints=(), *, random_state=None):
        self.model = LGBMClassifier(
            learning_rate=0.05, n_jobs=1, random_state=random_state, verbose=-1
        )

    def fit(self, X, y, sensitive_features=None):
        self.model.fit(X, y)

    def decision_function(self, X):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about feature names, which LightGBM invents
            return self.model.predict(X, raw_score=True)


def row(label: str, fits: list) -> None:
    auc, gap, floor, seconds = (np.mean(part, axis=0) for part in zip(*fits, strict=True))
    error = np.std([fit[0] for fit in fits], ddof=1) / np.sqrt(len(fits)) if len(fits) > 1 else 0.0
    gaps = "  ".join(f"{g:.3f} ({f:.3f})" for g, f in zip(gap, floor, strict=True))
    print(
        f"  {label:22s} AUC {auc:.4f} ± {error:.4f}  |gap| (floor) {gaps}  "
        f"worst above floor {np.max(gap - floor):+.3f}  {seconds:.1f} s",
        flush=True,
    )


def published(name: str, kind: str) -> None:
    auc, gap, *rates = REAL[name, kind]
    told = "  ".join(f"{g:.2f}" for g in ([gap] if kind == "auc" else rates))
    print(f"  {'published, ' + kind:22s} AUC {auc:.2f}  |gap| {told}", flush=True)


def table(names, scorers, splits: int) -> None:
    for name in names:
        data = LOADERS[name]()
        for constraint, kind in ((ROC, "roc"), (PAPER_GAP[name], "auc")):
            told = constraint if kind == "auc" else "ROC at 1/8, 1/4 (negatives, positives)"
            print(f"{name}, {told}, {splits} splits", flush=True)
            row("LightGBM", [one_fit(PlainLightGBM, data, s, constraint) for s in range(splits)])
            for label in scorers:
                if kind == "auc":  # what the constraint costs is judged beside the same scorer
                    free = [
                        one_fit(SCORERS[label], data, s, None, checked=constraint)
                        for s in range(splits)
                    ]
                    row(f"{label}, no constraint", free)
                row(label, [one_fit(SCORERS[label], data, s, constraint) for s in range(splits)])
            published(name, "none")
            published(name, kind)


def by_race_and_sex(data) -> np.ndarray:
    """Adult's groups: five races times two sexes."""
    races = [k for k, name in enumerate(data.feature_names) if name.startswith("race=")]
    race = np.array([data.feature_names[k].removeprefix("race=") for k in races])
    return np.array(
        [
            f"{r}, {sex}"
            for r, sex in zip(race[data.X[:, races].argmax(axis=1)], data.groups, strict=True)
        ]
    )


def worst_by_chance(positive, codes, checked, score, repeats: int = 20) -> float:
    """The mean of the worst gap after shuffling the groups within each class."""
    rng, found = np.random.default_rng(0), []
    for _ in range(repeats):
        shuffled = codes.copy()
        for kind in (False, True):
            rows = np.flatnonzero(positive == kind)
            shuffled[rows] = rng.permutation(codes[rows])
        objective = Objective(positive, shuffled, int(codes.max()) + 1, checked)
        found.append(np.max(np.abs(objective.strict(score).gaps)))
    return float(np.mean(found))


def cells(scorers, splits: int) -> None:
    """Adult by race and sex: ten groups, twenty cells, 45 pairs; the worst pair."""
    data = LOADERS["adult"]()
    X, y, groups = data.X, data.y, by_race_and_sex(data)
    names, codes = np.unique(groups, return_inverse=True)
    cell = codes + len(names) * (y == 1)
    print(f"Adult, {len(names)} groups, cells of {np.bincount(cell).min()} rows and more")
    folds = StratifiedShuffleSplit(splits, test_size=len(data.test), random_state=0)
    for told in ("bnsp", "inter_group", es.RocConstraint(on="negatives", rates=(1 / 8, 1 / 4))):
        checked = as_constraints(told)
        for label in scorers:
            for asked in ((), told):
                found = []
                for split, (train, test) in enumerate(folds.split(X, cell)):
                    scorer = SCORERS[label](asked, random_state=split)
                    needed = {"sensitive_features": groups[train]} if asked else {}
                    start = time.perf_counter()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", ConvergenceWarning)
                        scorer.fit(X[train], y[train], **needed)
                    seconds = time.perf_counter() - start
                    stricts = [
                        Objective(y[rows] == 1, codes[rows], len(names), checked).strict(
                            scorer.decision_function(X[rows])
                        )
                        for rows in (train, test)
                    ]
                    worst = [np.max(np.abs(strict.gaps)) for strict in stricts]
                    floor = worst_by_chance(
                        y[test] == 1, codes[test], checked, scorer.decision_function(X[test])
                    )
                    found.append((stricts[1].auc, *worst, floor, seconds))
                auc, in_training, on_test, floor, seconds = np.mean(found, axis=0)
                print(
                    f"  {checked[0].name:12s} {label:8s} {'constrained' if asked else 'free':12s} "
                    f"AUC {auc:.4f}  worst pair {in_training:.3f} in training, {on_test:.3f} on "
                    f"test rows (floor {floor:.3f})  {seconds:.1f} s",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scorers", nargs="*", default=list(SCORERS), choices=list(SCORERS))
    parser.add_argument("--data", nargs="*", default=list(LOADERS), choices=list(LOADERS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--cells", action="store_true", help="ten groups only")
    arguments = parser.parse_args()
    if arguments.cells:
        cells(arguments.scorers, arguments.splits)
    else:
        table(arguments.data, arguments.scorers, arguments.splits)


if __name__ == "__main__":
    main()
