"""What a constrained fit costs: its CPU time as a ratio to plain LightGBM with the same trees.

Both grow as many trees of the same size from the same rows, on one thread, and both build their own
data set of bins. Two ratios: of the constrained trees alone, and of a fit as users call it, which
also learns the score without constraints and a reweighed one, tells the price, reports gaps with
intervals, and starts again where it has failed. All are fitted in turn, so that a busy machine
slows all down, and the ratios are medians over repeats. Beside them: AUC and worst gaps on test
rows of the fit, of plain LightGBM, and of LightGBM with the weights of Kamiran and Calders (2012)
under which class and group are independent. Gaps are those of what was asked: ROC gaps at the rates
1/8 and 1/4 of both classes, or error rates over all cuts with an overall false positive rate of 5 %
to 35 %.

    python benchmarks/fit_cost.py                          # some minutes
    python benchmarks/fit_cost.py --data adult bank --asked roc --repeats 9
    python benchmarks/fit_cost.py --profile                # where the CPU time goes
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
import warnings
from dataclasses import dataclass, replace

import lightgbm
import numpy as np
from measuring.ratios import record
from measuring.timing import cpu_seconds
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

import evenscore as es
from evenscore.gaps import as_constraints
from evenscore.gaps.family import family_values

ASKED = {
    "roc": es.RocConstraint(on="both", rates=(1 / 8, 1 / 4)),
    "rates": es.RateConstraint("fpr", "fnr", cuts=es.Cuts(between=(0.05, 0.35), of="negatives")),
}
ROUNDS, RATE, L2 = 200, 0.15, 20.0  # the defaults of BoostedScorer


@dataclass(frozen=True, eq=False)
class Part:
    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray

    def measured(self, score, asked) -> tuple[float, float]:
        """AUC and the worst gap."""
        table = es.GroupedScores.from_arrays(self.y, score, sensitive_features=self.groups)
        worst = np.max(np.abs(family_values(table, as_constraints(asked))))
        return float(roc_auc_score(self.y, score)), float(worst)


def two_groups(load):
    def parts() -> tuple[Part, Part]:
        data = load()
        return _parts(data, data.groups)

    return parts


def adult_by_race() -> tuple[Part, Part]:
    data = es.datasets.load_adult()
    return _parts(data, data.raw["race"])


def _parts(data, groups) -> tuple[Part, Part]:
    one, other = (Part(data.X[r], data.y[r], groups[r]) for r in (data.train, data.test))
    return one, other


DATA = {
    "adult": two_groups(es.datasets.load_adult),
    "bank": two_groups(es.datasets.load_bank),
    "adult by race": adult_by_race,
}


def plain(train: Part, weight=None) -> lightgbm.Booster:
    """LightGBM with as many trees as `BoostedScorer`, of the same size."""
    n, root = len(train.y), float(np.sqrt(len(train.y)))
    least = max(0.3, 8.0 / train.X.shape[1])
    settings = {
        "objective": "binary",
        "learning_rate": RATE,
        "num_leaves": int(np.clip(round(root / 10.0), 4, 15)),
        "min_data_in_leaf": int(np.clip(n // 25, 20, 50)),
        "feature_fraction_bynode": float(np.clip(root / 80.0, least, 1.0)),
        "bagging_fraction": float(np.clip(root / 80.0, 0.7, 1.0)),
        "bagging_freq": 1,
        "lambda_l2": L2,
        "force_row_wise": True,
        "deterministic": True,
        "num_threads": 1,
        "verbosity": -1,
    }
    rows = lightgbm.Dataset(train.X, train.y, weight=weight)
    return lightgbm.train(settings, rows, num_boost_round=ROUNDS)


def reweighing(train: Part) -> np.ndarray:
    """P(class) P(group) / P(class, group) of every row."""
    code = np.unique(train.groups, return_inverse=True)[1]
    cells = np.zeros((2, code.max() + 1))
    np.add.at(cells, (train.y, code), 1.0)
    expected = np.outer(cells.sum(axis=1), cells.sum(axis=0)) / len(code)
    return (expected / cells)[train.y, code]


def constrained(train: Part, asked) -> es.BoostedScorer:
    scorer = es.BoostedScorer(asked, tolerance=0.02, random_state=0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return scorer.fit(train.X, train.y, sensitive_features=train.groups)


def alone(train: Part, asked) -> None:
    """The constrained trees alone: no score beside them to compare with, no price, no intervals."""
    scorer = es.BoostedScorer(asked, tolerance=0.02, random_state=0, n_jobs=1)
    task = replace(scorer.task(), quick=True)
    rows = scorer._read(train.X, train.y, train.groups, None, task.constraints)
    scorer.learn(rows, None, task)


def one_line(name: str, label: str, repeats: int) -> str:
    train, test = DATA[name]()
    asked = ASKED[label]
    seconds: dict[str, list[float]] = {"plain": [], "fit": [], "trees alone": []}
    plain(train)  # the first fit of a process pays for loading
    for _ in range(repeats):
        taken, model = cpu_seconds(plain, train)
        seconds["plain"].append(taken)
        taken, scorer = cpu_seconds(constrained, train, asked)
        seconds["fit"].append(taken)
        seconds["trees alone"].append(cpu_seconds(alone, train, asked)[0])
    own, whole = (
        record(
            f"BoostedScorer, {what}, {label}, {name}", "LightGBM", seconds[what], seconds["plain"]
        )
        for what in ("trees alone", "fit")
    )
    weighted = plain(train, reweighing(train))
    scores = (
        scorer.decision_function(test.X),
        model.predict(test.X, raw_score=True),
        weighted.predict(test.X, raw_score=True),
    )
    entries = ("{:.4f} {:.3f}".format(*test.measured(score, asked)) for score in scores)
    in_training = train.measured(scorer.decision_function(train.X), asked)[1]
    n_groups = len(np.unique(train.groups))
    return (
        f"{name:14s} {n_groups:6d} {label:6s} {own.value:6.1f} x "
        f"({own.low:.1f} to {own.high:.1f}) {whole.value:6.1f} x "
        f"({whole.low:.1f} to {whole.high:.1f})  {whole.against_seconds:5.2f} s   "
        f"{'   '.join(entries)}   {in_training:.3f}"
    )


def profile(name: str, label: str, lines: int) -> None:
    train, _ = DATA[name]()
    profiler = cProfile.Profile(time.process_time)  # wall time is not ours on a busy machine
    profiler.runcall(constrained, train, ASKED[label])
    print(f"== {name}, {label}", flush=True)
    pstats.Stats(profiler).strip_dirs().sort_stats("tottime").print_stats(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="*", default=list(DATA), choices=list(DATA))
    parser.add_argument("--asked", nargs="*", default=list(ASKED), choices=list(ASKED))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--profile", action="store_true", help="only say where CPU time goes")
    parser.add_argument("--lines", type=int, default=25, help="of a profile")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        if not arguments.profile:
            print("CPU time of a fit, ratio to plain LightGBM (its seconds); test AUC and worst")
            print("gap of the fit, of plain and of reweighted LightGBM; training gap of the fit.")
        for name in arguments.data:
            for label in arguments.asked:
                if arguments.profile:
                    profile(name, label, arguments.lines)
                else:
                    print(one_line(name, label, arguments.repeats), flush=True)


if __name__ == "__main__":
    main()
