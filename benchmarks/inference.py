"""The cost of intervals for every gap, in units of one sort and of fairlearn's bootstrap.

Ours: from raw columns to the AUC matrix and all named gaps of all pairs of four groups, with
intervals and p-values. Theirs: `MetricFrame(..., n_boot=10)` for the four within-group AUCs; the
usual n_boot=100 takes ten times as long (`--boot 100` measures it).

    python benchmarks/inference.py [--rows 1000000]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from audit_core import columns, seconds

from evenscore import GroupedScores, constraint_names
from evenscore.gaps import as_constraints
from evenscore.gaps.family import family_estimates, family_values
from evenscore.inference import auc_estimates, bootstrap


def intervals(y, score, groups, weight=None):
    scores = GroupedScores.from_arrays(y, score, sensitive_features=groups, sample_weight=weight)
    auc_estimates(scores)
    return family_estimates(scores, as_constraints(constraint_names()))


def fairlearn_intervals(y, score, groups, n_boot: int):
    from fairlearn.metrics import MetricFrame
    from sklearn.metrics import roc_auc_score

    frame = MetricFrame(
        metrics=roc_auc_score,
        y_true=y,
        y_pred=score,
        sensitive_features=groups,
        n_boot=n_boot,
        ci_quantiles=[0.025, 0.975],
        random_state=0,
    )
    return frame.by_group_ci


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--boot", type=int, default=10, help="fairlearn's n_boot; 100 takes long")
    arguments = parser.parse_args()
    y, score, groups, _ = columns(arguments.rows)
    ours = seconds(lambda: intervals(y, score, groups), 5)
    sort = seconds(lambda: np.argsort(score), 5)
    start = time.perf_counter()
    fairlearn_intervals(y, score, groups, arguments.boot)
    theirs = time.perf_counter() - start
    found = intervals(y, score, groups)
    print(f"{arguments.rows:,} rows, 4 groups, {len(found)} gaps with intervals: {ours:.3f} s")
    print(f"   ours / argsort: {ours / sort:.2f}")
    print(f"   fairlearn's n_boot={arguments.boot} of 4 AUCs / ours: {theirs / ours:.0f}")
    part = slice(0, 10_000)
    few = GroupedScores.from_arrays(y[part], score[part], sensitive_features=groups[part])
    families = as_constraints(constraint_names())
    ours = seconds(
        lambda: bootstrap(few, lambda table: family_values(table, families), n_resamples=100), 3
    )
    start = time.perf_counter()
    fairlearn_intervals(y[part], score[part], groups[part], 100)
    theirs = time.perf_counter() - start
    print(f"10,000 rows, 100 resamples: fairlearn's 4 AUCs / our {len(found)} gaps: ", end="")
    print(f"{theirs / ours:.1f}")


if __name__ == "__main__":
    main()
