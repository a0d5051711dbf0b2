"""What blindness costs: scorers without, with and repaired by the group of whoever is scored.

Asked for: equal false positive and false negative rates at every cut with an overall false positive
rate of 5 % to 35 %, tolerance 0.02. Reported: AUC and the worst gap of each rate over that range,
on test rows. `EvenScorer` is over LightGBM; "aware" has the group among its features. On `hidden`
(`hard/hidden.py`) the features say nothing about the group, and a blind fair score can hardly rank;
on Adult, Bank and COMPAS they say much, or all, of it ("blind" there is without the columns that
give the group away). COMPAS is read from EVENSCORE_DATA.

A score that uses the group, aware or repaired, treats groups differently, which may be unlawful
where decisions must not depend on it.

    python benchmarks/blindness.py
    python benchmarks/blindness.py --data hidden --scorers "fair, blind" "fair, aware"
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hard.hidden import hidden_group
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

import evenscore as es
from evenscore import datasets
from evenscore.learning.trees import default_trees

CUTS = es.Cuts(between=(0.05, 0.35), of="negatives")
FAIR = es.RateConstraint("fpr", "fnr", cuts=CUTS, tolerance=0.02)


@dataclass(frozen=True, eq=False)
class Part:
    """Rows, the features without the group."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray


def hidden() -> tuple[Part, Part]:
    return Part(*hidden_group(16_000, 0)), Part(*hidden_group(40_000, 1))


def real(load, *starts: str) -> Callable[[], tuple[Part, Part]]:
    """A data set without the features whose names start so: they are the group, or name it."""

    def parts() -> tuple[Part, Part]:
        data = load()
        kept = [k for k, name in enumerate(data.feature_names) if not name.startswith(starts)]
        one, other = (
            Part(data.X[rows][:, kept], data.y[rows], data.groups[rows])
            for rows in (data.train, data.test)
        )
        return one, other

    return parts


DATA = {
    "hidden": hidden,
    "adult": real(datasets.load_adult, "sex", "relationship"),
    "bank": real(datasets.load_bank, "age"),
    "compas": real(datasets.load_compas, "race"),
}


def learned(constraints, *, aware: bool):
    def features(part: Part) -> np.ndarray:
        known = np.unique(part.groups)
        return np.column_stack([part.X, part.groups == known[0]]) if aware else part.X

    def scores(train: Part, test: Part) -> np.ndarray:
        known = {"sensitive_features": train.groups} if constraints else {}
        X = features(train)
        scorer = es.EvenScorer(constraints, default_trees(len(X), X, 0, 1), random_state=0)
        return scorer.fit(X, train.y, **known).decision_function(features(test))

    return scores


def repaired(train: Part, test: Part) -> np.ndarray:
    scorer = es.RepairedScorer(constraints=FAIR, random_state=0)
    scorer.fit(train.X, train.y, sensitive_features=train.groups)
    return scorer.decision_function(test.X, sensitive_features=test.groups)


SCORERS = {
    "free, blind": learned((), aware=False),
    "free, aware": learned((), aware=True),
    "fair, blind": learned(FAIR, aware=False),
    "fair, aware": learned(FAIR, aware=True),
    "repaired": repaired,
}


def line(name: str, train: Part, test: Part) -> str:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        score = SCORERS[name](train, test)
    seconds = time.process_time() - start
    table = es.GroupedScores.from_arrays(test.y, score, sensitive_features=test.groups)
    fpr, fnr = np.abs(FAIR.values(table))
    auc = roc_auc_score(test.y, score)
    return f"  {name:12s} AUC {auc:.3f}  gaps fpr {fpr:.3f} fnr {fnr:.3f}  {seconds:5.1f} CPU s"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="*", default=list(DATA), choices=list(DATA))
    parser.add_argument("--scorers", nargs="*", default=list(SCORERS), choices=list(SCORERS))
    arguments = parser.parse_args()
    with threadpool_limits(1):
        for name in arguments.data:
            try:
                train, test = DATA[name]()
            except OSError as error:
                print(f"{name} is left out: {error}", flush=True)
                continue
            print(f"{name}, {len(train.y):,} training and {len(test.y):,} test rows", flush=True)
            for scorer in arguments.scorers:
                print(line(scorer, train, test), flush=True)


if __name__ == "__main__":
    main()
