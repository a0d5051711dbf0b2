"""The cost of intervals for every gap, in units of one sort and of fairlearn's bootstrap.

Ours: from raw columns to the AUC matrix and all named gaps of all pairs of four groups, with
intervals and p-values. Theirs: `MetricFrame(..., n_boot=10)` for the four within-group AUCs; the
usual n_boot=100 takes ten times as long (`--boot 100` measures it).

    python benchmarks/inference.py [--rows 1000000]

Seconds are of CPU; ratios are medians of repeats in which both sides run by turns.
"""

from __future__ import annotations

import argparse

import numpy as np
from audit_core import columns
from measuring.ratios import record
from measuring.timing import by_turns

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
    parser.add_argument("--resamples", type=int, default=100, help="of 10,000 rows, by both")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    y, score, groups, _ = columns(arguments.rows)
    seconds = by_turns(
        {
            "ours": lambda: intervals(y, score, groups),
            "argsort": lambda: np.argsort(score),
            "theirs": lambda: fairlearn_intervals(y, score, groups, arguments.boot),
        },
        arguments.repeats,
    )
    found = intervals(y, score, groups)
    name = f"intervals of {len(found)} gaps, {arguments.rows:,} rows"
    sort = record(name, "argsort of the scores", seconds["ours"], seconds["argsort"])
    label = f"fairlearn's n_boot={arguments.boot} of 4 AUCs"
    theirs = record(name, label, seconds["ours"], seconds["theirs"])
    print(
        f"{arguments.rows:,} rows, 4 groups, {len(found)} gaps with intervals: {sort.seconds:.3f} s"
    )
    print(f"   ours / argsort: {sort.value:.2f}")
    print(f"   {label} / ours: {1 / theirs.value:.0f}")
    part, some = slice(0, 10_000), arguments.resamples
    few = GroupedScores.from_arrays(y[part], score[part], sensitive_features=groups[part])
    families = as_constraints(constraint_names())
    seconds = by_turns(
        {
            "ours": lambda: bootstrap(few, lambda t: family_values(t, families), n_resamples=some),
            "theirs": lambda: fairlearn_intervals(y[part], score[part], groups[part], some),
        },
        arguments.repeats,
    )
    name = f"{some} resamples of {len(found)} gaps, 10,000 rows"
    theirs = record(name, "fairlearn's of 4 AUCs", seconds["ours"], seconds["theirs"])
    print(f"10,000 rows, {some} resamples: fairlearn's 4 AUCs / our {len(found)} gaps: ", end="")
    print(f"{1 / theirs.value:.1f}")


if __name__ == "__main__":
    main()
