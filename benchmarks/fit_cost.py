"""What a constrained fit costs: CPU time of `EvenScorer` as a ratio to its own classifier.

The classifier is the default one of `EvenScorer`, trees and a line, fitted once to the labels of
all rows; beside it stands LightGBM with its defaults. Both and the fit are on one thread and
fitted in turn, so that a busy machine slows all down; ratios are medians over repeats. Of the fit,
the part of the bars is told, and by how much memory grows beyond the features at its peak, in
units of them; and what a path of ten tolerances costs, as a ratio to the fit, which is part of it.
Rows are synthetic, with twenty columns; groups are known to some degree.

    python benchmarks/fit_cost.py                          # ten minutes
    python benchmarks/fit_cost.py --rows 30000 --groups 2 5 --repeats 5
    python benchmarks/fit_cost.py --profile                # where the CPU time goes
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import threading
import time
import warnings

import numpy as np
from lightgbm import LGBMClassifier
from measuring.ratios import record
from measuring.timing import cpu_seconds
from threadpoolctl import threadpool_limits

import evenscore as es
from evenscore.learning.placing import Evidence
from evenscore.learning.posteriors import Recipe

FAIR = es.RateConstraint("fpr", "fnr", cuts=es.Cuts(between=(0.1, 0.4)), tolerance=0.02)
COLUMNS = 20
TEN = (0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 0.005, 0.0)


def people(n: int, n_groups: int):
    """Features, labels and groups; a group moves three columns and the slope of another."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, n_groups, n)
    X = rng.normal(size=(n, COLUMNS))
    shifts = rng.normal(size=(n_groups, 3))
    X[:, :3] += 0.8 * shifts[groups]
    slope = 1.0 + 0.5 * rng.normal(size=n_groups)
    odds = X[:, 3:8] @ np.full(5, 0.5) + slope[groups] * X[:, 0] + 0.5 * X[:, 8] * X[:, 9] - 1.0
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-odds))).astype(int), groups


def plain(X, y) -> None:
    """The default classifier of the labels."""
    for model in Recipe.default(X, (), 0).label(len(y), X.shape[1]):
        if hasattr(model, "n_jobs"):
            model.set_params(n_jobs=1)
        model.fit(X, y)


def lightgbm(X, y) -> None:
    LGBMClassifier(n_jobs=1, verbosity=-1).fit(X, y)


def constrained(X, y, groups) -> es.EvenScorer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return es.EvenScorer(FAIR, random_state=0).fit(X, y, sensitive_features=groups)


class Bars:
    """CPU seconds that fits spend on bars."""

    def __init__(self) -> None:
        self.seconds, self.inner = 0.0, Evidence.place

    def __enter__(self) -> Bars:
        def timed(*arguments):
            taken, found = cpu_seconds(self.inner, *arguments)
            self.seconds += taken
            return found

        Evidence.place = timed
        return self

    def __exit__(self, *_) -> None:
        Evidence.place = self.inner


class Peak:
    """The largest resident memory of this process beyond what it was, in bytes."""

    def __enter__(self) -> Peak:
        self.going, self.before = True, self._resident()
        self.most = self.before
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        return self

    def _watch(self) -> None:
        while self.going:
            self.most = max(self.most, self._resident())
            time.sleep(0.02)

    @staticmethod
    def _resident() -> int:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def __exit__(self, *_) -> None:
        self.going = False
        self.thread.join()

    @property
    def grown(self) -> int:
        return self.most - self.before


def one_line(n: int, n_groups: int, repeats: int) -> str:
    X, y, groups = people(n, n_groups)
    seconds: dict[str, list[float]] = {"plain": [], "lightgbm": [], "fit": []}
    lightgbm(X[:1000], y[:1000])  # the first fit of a process pays for loading
    bars, paths, grown = [], [], 0
    for _ in range(repeats):
        seconds["plain"].append(cpu_seconds(plain, X, y)[0])
        seconds["lightgbm"].append(cpu_seconds(lightgbm, X, y)[0])
        with Bars() as known, Peak() as memory:
            taken, scorer = cpu_seconds(constrained, X, y, groups)
        seconds["fit"].append(taken)
        paths.append(1.0 + cpu_seconds(scorer.path, TEN)[0] / taken)
        bars.append(known.seconds / seconds["fit"][-1])
        grown = max(grown, memory.grown)
    name = f"EvenScorer, {n:,} rows, {n_groups} groups"
    own = record(name, "its classifier", seconds["fit"], seconds["plain"])
    other = record(name, "LightGBM", seconds["fit"], seconds["lightgbm"])
    return (
        f"{n:>9,} {n_groups:3d}  {own.value:5.1f} x ({own.low:.1f} to {own.high:.1f}) "
        f"{other.value:6.1f} x LightGBM   bars {np.median(bars):4.0%}   "
        f"{own.against_seconds:6.2f} s   path {np.median(paths):4.1f} x   "
        f"memory + {grown / X.nbytes:.1f} x the data"
    )


def profile(n: int, n_groups: int, lines: int) -> None:
    X, y, groups = people(n, n_groups)
    profiler = cProfile.Profile(time.process_time)  # wall time is not ours on a busy machine
    profiler.runcall(constrained, X, y, groups)
    print(f"== {n:,} rows, {n_groups} groups", flush=True)
    pstats.Stats(profiler).strip_dirs().sort_stats("tottime").print_stats(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sizes = [1_000, 10_000, 30_000, 100_000, 1_000_000]
    parser.add_argument("--rows", nargs="*", type=int, default=sizes)
    parser.add_argument("--groups", nargs="*", type=int, default=[2, 5, 10])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--profile", action="store_true", help="only say where CPU time goes")
    parser.add_argument("--lines", type=int, default=25, help="of a profile")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        if not arguments.profile:
            print("CPU time of a fit, ratio to its own classifier (its seconds) and to LightGBM.")
        for n in arguments.rows:
            for n_groups in arguments.groups:
                if arguments.profile:
                    profile(n, n_groups, arguments.lines)
                else:
                    print(one_line(n, n_groups, arguments.repeats), flush=True)


if __name__ == "__main__":
    main()
