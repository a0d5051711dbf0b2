"""Group-blind repair, as research: a fair score made of the chances of class and group.

A score that ranks best under ROC constraints depends on the features only through the chances
π(x) = P(class, group | x). Here π is estimated by cross-fitted LightGBM (four cells, four classes),
and a linear score of few functions of π is trained with the common objective: the log-odds of the
class, and the log-odds of the group within each class times hats over the quantiles of the first,
so that every threshold may have a half-space of its own. It is compared with the boosted scorer on
Adult without sex, marital status and relationship, which determine the group or nearly so; and with
the repaired scorer, which is told the group when scoring: the bound.

    python benchmarks/blind_repair.py --splits 5
    python benchmarks/blind_repair.py --develop --splits 2       # on splits of the training rows
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from learning import ROC, floors
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

import evenscore as es
from evenscore.datasets.dataset import stratified_split
from evenscore.gaps import as_constraints
from evenscore.learning.boosters import default_trees
from evenscore.learning.objective import Objective

DETERMINING = ("sex=", "marital-status=", "relationship=")
N_HATS = 6


def features(chance, knots=None):
    """Functions of the chances (n, 4) of the cells (negatives, positives) × (group 0, group 1)."""
    chance = np.clip(chance, 1e-5, None)
    odds = np.log(chance[:, 2] + chance[:, 3]) - np.log(chance[:, 0] + chance[:, 1])
    group = [np.log(chance[:, 2 * c + 1]) - np.log(chance[:, 2 * c]) for c in (0, 1)]
    if knots is None:
        knots = np.quantile(odds, np.linspace(0.02, 0.98, N_HATS))
    hats = [np.interp(odds, knots, np.eye(N_HATS)[k]) for k in range(N_HATS)]
    columns = [odds, *hats[1:], *(one * hat for one in group for hat in hats)]
    return np.column_stack(columns), odds, knots


def blind(X, y, codes, fresh, seed):
    """Scores of fresh rows: of the plain log-odds, and of the fair score of the chances."""
    cell = 2 * y + codes
    chance, tests = np.empty((len(y), 4)), []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, cell):
        model = default_trees(len(train), X, seed, 1).fit(X[train], cell[train])
        chance[test] = model.predict_proba(X[test])
        tests.append(model.predict_proba(fresh))
    made, _, knots = features(chance)
    scorer = es.LinearScorer(ROC, compress=False).fit(made, y, sensitive_features=codes)
    parts = [features(one, knots) for one in tests]
    fair = np.mean([scorer.decision_function(part[0]) for part in parts], axis=0)
    return np.mean([part[1] for part in parts], axis=0), fair


def one_split(data, X, train, test, seed):
    y, codes = data.y, (data.groups == data.group_order[1]).astype(int)
    start = time.perf_counter()
    plain, fair = blind(X[train], y[train], codes[train], X[test], seed)
    seconds = {"plain": 0.0, "blind repair": time.perf_counter() - start}
    scores = {"plain": plain, "blind repair": fair}
    start = time.perf_counter()
    boosted = es.BoostedScorer(ROC, random_state=seed, n_jobs=1)
    boosted.fit(X[train], y[train], sensitive_features=codes[train])
    scores["boosted"] = boosted.decision_function(X[test])
    seconds["boosted"] = time.perf_counter() - start
    start = time.perf_counter()
    told = es.RepairedScorer(constraints=ROC, random_state=seed, n_jobs=1)
    told.fit(X[train], y[train], sensitive_features=codes[train])
    scores["repaired (told the group)"] = told.decision_function(
        X[test], sensitive_features=codes[test]
    )
    seconds["repaired (told the group)"] = time.perf_counter() - start
    objective = Objective(y[test] == 1, codes[test], 2, as_constraints(ROC))
    found = {}
    for name, score in scores.items():
        strict = objective.strict(score)
        floor = floors(objective, score, np.random.default_rng(0))
        found[name] = (strict.auc, np.abs(strict.gaps), floor, seconds[name])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--develop", action="store_true", help="on splits of the training rows")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    data = es.datasets.load_adult()
    kept = [k for k, name in enumerate(data.feature_names) if not name.startswith(DETERMINING)]
    X = data.X[:, kept]
    results = []
    for split in range(arguments.splits):
        train, test = data.split(split)
        if arguments.develop:
            rows = data.train
            parts = stratified_split(
                data.y[rows], data.groups[rows], data.group_order, len(rows) // 3, 1000 + split
            )
            train, test = (rows[part] for part in parts)
        results.append(one_split(data, X, train, test, split))
    print(f"Adult without {', '.join(DETERMINING)}: {arguments.splits} splits, |gap| (floor)")
    for name in results[0]:
        rows = [result[name] for result in results]
        auc, gap, floor, seconds = (np.mean(part, axis=0) for part in zip(*rows, strict=True))
        gaps = "  ".join(f"{g:.3f} ({f:.3f})" for g, f in zip(gap, floor, strict=True))
        print(f"{name:26s} AUC {auc:.4f}  |gap| {gaps}  {seconds:5.1f} s", flush=True)


if __name__ == "__main__":
    main()
