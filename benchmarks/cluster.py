"""Training on parts: how good it is, what a round costs, what is exchanged, how it grows.

*Quality*: `DistributedBoostedScorer` beside `BoostedScorer` on the same rows, by drawn splits of
Adult, Bank and census income (raw columns, categories as they are): test AUC and the worst gaps in
both error rates over all cuts with an overall false positive rate of 5 % to 35 %, differences
paired by split. *Workers*: how far apart scores are that 1, 2 and 4 workers learn (threads that
XGBoost connects like workers), with columns of few values and with noise that makes them
continuous.
*Rounds*: CPU time of a constrained round as a ratio to a plain round of XGBoost on the same bins
with the same trees, one thread, both in one process in turns; bytes and calls of the exchange; the
largest memory. *Paper*: what that comes to for 10^10 rows on 1,024 workers.

    python benchmarks/cluster.py quality --data adult bank census --seeds 5 --out quality.jsonl
    python benchmarks/cluster.py workers
    python benchmarks/cluster.py rounds --rows 100000 1000000 5000000
    python benchmarks/cluster.py                           # all of it, small
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import xgboost
from measuring.ratios import record
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

import evenscore as es
from evenscore.learning.boosters import TreeSettings
from evenscore.learning.exchange import OnePart
from evenscore.learning.growth import Growth
from evenscore.learning.task import Task
from evenscore.learning.training_set import TrainingSet
from evenscore.learning.xgboost_trees import XGBoostBooster

CUTS = es.Cuts(between=(0.05, 0.35), of="negatives")
FAIR = es.RateConstraint("fpr", "fnr", cuts=CUTS, tolerance=0.02)
LOADERS = {
    "adult": es.datasets.load_adult,
    "bank": es.datasets.load_bank,
    "census": es.datasets.load_census,
}


# ---------------------------------------------------------------------- quality


def table(name: str):
    """Features with a column of labels and one of groups, and what draws a split."""
    data = LOADERS[name]()
    if name == "census":
        frame = data.frame("pandas").drop(columns=["instance weight", "income", "sex"])
        numbers = [column for column in frame if frame[column].dtype.kind in "if"]
        frame = frame.astype(dict.fromkeys(numbers, float))
    else:
        frame = pd.DataFrame(data.X).rename(columns=str)
    frame = frame.assign(label=data.y, group=data.groups)
    return frame, data.split


def measured(score, rows) -> dict[str, float]:
    gaps = {
        rate: es.metrics.rate_gap(
            rows["label"], score, sensitive_features=rows["group"], rate=rate, cuts=CUTS
        )
        for rate in ("fpr", "fnr")
    }
    return {"auc": float(roc_auc_score(rows["label"], score)), **gaps}


def quality(names, seeds, out) -> None:
    lines = []
    for name in names:
        frame, split = table(name)
        features = [column for column in frame if column not in ("label", "group")]
        for seed in range(seeds):
            train, test = (frame.iloc[part] for part in split(seed))
            row = {"data": name, "seed": seed}
            start = time.process_time()
            one = es.BoostedScorer(FAIR, random_state=seed, n_jobs=1).fit(
                train[features], train["label"], sensitive_features=train["group"]
            )
            row["one machine"] = measured(one.decision_function(test[features]), test)
            row["one machine"]["cpu"] = time.process_time() - start
            start = time.process_time()
            parts = es.DistributedBoostedScorer(FAIR, random_state=seed).fit(
                train, label="label", group="group"
            )
            row["parts"] = measured(parts.decision_function(test[features]), test)
            row["parts"]["cpu"] = time.process_time() - start
            lines.append(row)
            print(json.dumps(row), flush=True)
            if out:
                with open(out, "a") as file:
                    print(json.dumps(row), file=file)
    for name in names:
        own = [line for line in lines if line["data"] == name]
        for measure in ("auc", "fpr", "fnr"):
            pairs = np.array([(o["one machine"][measure], o["parts"][measure]) for o in own])
            away = pairs[:, 1] - pairs[:, 0]
            error = away.std(ddof=1) / np.sqrt(len(away)) if len(away) > 1 else float("nan")
            print(
                f"{name:7s} {measure}: one machine {pairs[:, 0].mean():.4f}, parts "
                f"{pairs[:, 1].mean():.4f}, difference {away.mean():+.4f} (standard error "
                f"{error:.4f}, {len(own)} splits)"
            )


def workers(counts, names) -> None:
    """The same rows in the hands of more or fewer workers."""
    for name in names:
        frame, split = table(name)
        features = [column for column in frame if column not in ("label", "group")]
        for kind in ("few values", "continuous"):
            rows = frame
            if kind == "continuous":
                noise = np.random.default_rng(0)
                several = [c for c in features if frame[c].nunique() > 2]
                rows = frame.assign(
                    **{c: frame[c] + frame[c].std() * noise.normal(0.0, 0.05, len(frame))
                       for c in several}
                )  # fmt: skip
            train, test = (rows.iloc[part] for part in split(0))
            scores = {}
            for count in counts:
                scorer = es.DistributedBoostedScorer(FAIR, random_state=0, n_workers=count)
                scorer.fit(train, label="label", group="group")
                scores[count] = scorer.decision_function(test[features])
                line = measured(scores[count], test)
                away = float(np.abs(scores[count] - scores[counts[0]]).max())
                print(
                    f"{name}, {kind}, {count} workers: AUC {line['auc']:.5f}, gaps "
                    f"{line['fpr']:.4f} {line['fnr']:.4f}, largest difference of a score from "
                    f"{counts[0]} worker: {away:.2g}",
                    flush=True,
                )


# ---------------------------------------------------------------------- rounds


class Counting(OnePart):
    """One part that does what one of several does, and counts what it would send."""

    def __init__(self) -> None:
        self.calls = self.bytes = 0

    def sum(self, values):
        self.calls, self.bytes = self.calls + 1, self.bytes + values.nbytes
        return values

    max = sum


def made_up(n: int, d: int, seed: int = 0) -> TrainingSet:
    rng = np.random.default_rng(seed)
    positive, codes = rng.random(n) < 0.2, (rng.random(n) < 0.3).astype(np.intp)
    X = rng.standard_normal((n, d), dtype=np.float32).astype(np.float64)
    X[:, 0] += positive
    X[:, 1] += 0.5 * codes
    X[:, 2] += 0.5 * positive * codes
    return TrainingSet(X, positive, codes, ("a", "b"), None, exchange=Counting())


def settings(n: int, threads: int = 1) -> TreeSettings:
    return TreeSettings(0.15, 15, 50, 20.0, 1.0, 1.0, 1.0, 255, (), (), 0, threads)


def resident() -> float:
    """Megabytes that this process has now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def rounds(sizes, d: int, n_rounds: int, repeats: int) -> dict[str, float]:
    """A constrained round beside a plain one."""
    constants: dict[str, float] = {}
    for n in sizes:
        rows = made_up(n, d)
        exchange, own = rows.exchange, settings(n)
        before = resident()
        offset = 0.7 * rows.X[:, 0]  # trees start from a linear score
        trees = XGBoostBooster.begin(rows.X, offset, own, exchange)
        task = Task((FAIR,))
        objective = task.objective(rows, bandwidth=0.3, guards=True)
        plain_rows = xgboost.QuantileDMatrix(
            rows.X, label=rows.positive.astype(float), max_bin=255, nthread=1
        )
        options = {
            "objective": "binary:logistic", "eta": 0.15, "max_leaves": 15, "max_depth": 0,
            "grow_policy": "lossguide", "tree_method": "hist", "max_bin": 255, "lambda": 20.0,
            "min_child_weight": 3.0, "nthread": 1, "verbosity": 0,
        }  # fmt: skip
        plain = xgboost.Booster(options, [plain_rows])
        for number in range(2):
            plain.update(plain_rows, number)
        times: dict[str, list[float]] = {"plain": [], "constrained": []}
        growth = Growth(task, rows, objective, own, n_rounds * repeats, 0.02, None, _nothing)
        growth.start = 0  # no round of the likelihood
        state = {"round": 0, "since": 0.0}

        def advance(text: str, state=state, times=times, plain=plain, plain_rows=plain_rows):
            """After every constrained round; after some of them, as many plain ones."""
            state["round"] += 1
            if state["round"] % n_rounds:
                return
            middle = time.process_time()
            times["constrained"].append(middle - state["since"])
            for number in range(n_rounds):
                plain.update(plain_rows, 2 + state["round"] + number)
            state["since"] = time.process_time()
            times["plain"].append(state["since"] - middle)

        growth.advance = advance
        exchange.calls = exchange.bytes = 0
        state["since"] = time.process_time()
        growth._constrained(trees, "learning")
        name = f"a constrained round, {n:,} rows of {d} columns"
        ratio = record(name, "a plain round of XGBoost", times["constrained"], times["plain"])
        plain_ns, own_ns = (
            float(np.median(times[kind])) / n_rounds / n * 1e9 for kind in ("plain", "constrained")
        )
        n_own = n_rounds * repeats
        print(
            f"{n:>9,} rows, d = {d}: constrained / plain {ratio.value:.2f} "
            f"({ratio.low:.2f} to {ratio.high:.2f}); {plain_ns:.0f} and {own_ns:.0f} ns per row "
            f"and round; {exchange.calls / n_own:.1f} calls and "
            f"{exchange.bytes / n_own / 1000:.0f} kB per round; {(resident() - before):.0f} MB "
            f"beyond the {rows.X.nbytes / 2**20:.0f} MB of features; largest "
            f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB",
            flush=True,
        )
        constants = {
            "plain": plain_ns, "constrained": own_ns, "calls": exchange.calls / n_own,
            "bytes": exchange.bytes / n_own,
        }  # fmt: skip
        del trees, plain, plain_rows, growth, objective, rows
    return constants


def _nothing(text: str) -> None:
    """No bar is moved."""


def on_paper(constants, d: int) -> None:
    """What it comes to for many rows on many workers, by what was measured."""
    n, size, bandwidth, latency = 1e10, 1024, 1.25e9, 1e-3
    trees, objective = constants["plain"], constants["constrained"] - constants["plain"]
    per_row = n / size * 1e-9
    own = constants["bytes"]
    histograms = 16.0 * 255 * d * 14
    ring = 2.0 * (size - 1) / size * (own + histograms) / bandwidth
    waiting = (constants["calls"] + 15) * 2 * np.log2(size) * latency
    for threads in (1, 16):
        seconds = per_row * threads * (objective + trees / threads) + ring + waiting
        print(
            f"On paper, 10^10 rows, d = {d}, {size} workers"
            f"{'' if threads == 1 else f' on {size // threads} machines of {threads} threads'}: "
            f"{seconds:.1f} s per round ({per_row * threads * objective:.1f} objective, "
            f"{per_row * trees:.1f} trees, {ring + waiting:.2f} exchange at 10 Gbit/s and 1 ms), "
            f"{seconds * 200 / 60:.0f} minutes for 200 rounds."
        )
    print(
        "The objective is NumPy on one thread: with 16 threads per worker it takes "
        f"{16 * objective / trees:.1f} times as long as the trees. One worker per core, or chunks "
        "of the objective on a pool of threads, bring it back."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("quality", "workers", "rounds"))
    parser.add_argument("--data", nargs="+", default=["adult", "bank"], choices=LOADERS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out")
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000])
    parser.add_argument("--features", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=10, help="a multiple of 5")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        if given.what in (None, "quality"):
            quality(given.data, given.seeds, given.out)
        if given.what in (None, "workers"):
            workers(given.workers, [name for name in given.data if name != "census"][:1])
        if given.what in (None, "rounds"):
            constants = rounds(given.rows, given.features, given.rounds, given.repeats)
            on_paper(constants, given.features)


if __name__ == "__main__":
    main()
