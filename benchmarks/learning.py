"""Fair scorers on the paper's four data sets: AUC, gaps and their floors on test sets.

Mean over stratified splits of the paper's sizes. The floor of a gap is its mean size after
shuffling the groups within each class of the test set: what chance alone leaves. Seconds are those
of a fit on this machine (with `--rows`, CPU seconds). Of the AUC constraints `EvenScorer` takes
those that say something of rates at cuts. With constraints it leaves out columns that state the
group; without, it knows of no groups. COMPAS is read from EVENSCORE_DATA.

    python benchmarks/learning.py                          # every scorer, 10 splits
    python benchmarks/learning.py --scorers linear --data german compas --splits 3
    python benchmarks/learning.py --rows 1000000           # how a fit grows with n
    python benchmarks/learning.py --rows 20000 --repeats 5 # beside LogisticRegression
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np
from measuring.ratios import record
from measuring.timing import by_turns, cpu_seconds
from paper_numbers import ROC
from sklearn.linear_model import LogisticRegression

import evenscore as es
from evenscore import datasets
from evenscore.gaps import as_constraints
from evenscore.learning.objective import Objective

LOADERS = {
    "german": datasets.load_german,
    "adult": datasets.load_adult,
    "compas": datasets.load_compas,
    "bank": datasets.load_bank,
}
SCORERS = {"even": es.EvenScorer, "linear": es.LinearScorer}
CONSTRAINTS = {
    "roc": ROC,
    "inter_group": "inter_group",
    "bnsp": "bnsp",
    "bpsn": "bpsn",
    "intra_group": "intra_group",
}
NOT_AT_CUTS = ("inter_group", "intra_group")  # for `LinearScorer` alone


def floors(objective: Objective, score, rng: np.random.Generator, repeats: int = 50):
    """Mean size of each gap after shuffling the groups within each class."""
    found = []
    for _ in range(repeats):
        codes = objective.codes.copy()
        for kind in (False, True):
            rows = np.flatnonzero(objective.positive == kind)
            codes[rows] = rng.permutation(codes[rows])
        shuffled = Objective(
            objective.positive, codes, objective.n_groups, objective.terms.families
        )
        found.append(np.abs(shuffled.strict(score).gaps))
    return np.mean(found, axis=0)


def one_fit(make, data, split: int, constraint):
    """AUC, sizes of the gaps (of the constraint, or of ROC), floors and seconds of a fit."""
    train, test = data.split(split)
    scorer = make(constraints=() if constraint is None else constraint, random_state=split)
    groups = {} if constraint is None else {"sensitive_features": data.groups[train]}
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scorer.fit(data.X[train], data.y[train], **groups)
    seconds = time.perf_counter() - start
    score = scorer.decision_function(data.X[test])
    codes = (data.groups[test] == data.group_order[1]).astype(int)
    checked = as_constraints(ROC if constraint is None else constraint)
    objective = Objective(data.y[test] == 1, codes, 2, checked)
    strict = objective.strict(score)
    return (
        strict.auc,
        np.abs(strict.gaps),
        floors(objective, score, np.random.default_rng(0)),
        seconds,
    )


def table(names, scorers, constraints, splits: int) -> None:
    print(f"Test sets, mean over {splits} splits; |gap| beside its floor.")
    for name in names:
        data = LOADERS[name]()
        for label in scorers:
            for told in constraints:
                if label == "even" and told in NOT_AT_CUTS:
                    continue
                constraint = None if told == "none" else CONSTRAINTS[told]
                fits = [one_fit(SCORERS[label], data, s, constraint) for s in range(splits)]
                auc, gap, floor, seconds = (
                    np.mean(part, axis=0) for part in zip(*fits, strict=True)
                )
                gaps = "  ".join(f"{g:.3f} ({f:.3f})" for g, f in zip(gap, floor, strict=True))
                print(
                    f"{name:7s} {label:7s} {told:12s} AUC {auc:.4f}  |gap| {gaps}  "
                    f"worst above floor {np.max(gap - floor):+.3f}  {seconds:5.1f} s",
                    flush=True,
                )


def growth(label: str, n: int, repeats: int) -> None:
    """CPU seconds and memory of one fit on n rows of 20 features, ROC constraints."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    group = (rng.random(n) < 0.3).astype(int)
    X[:, 0] += group
    y = (X[:, :5].sum(axis=1) + 2.0 * rng.standard_normal(n) > 1.0).astype(int)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def fit():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scorer = SCORERS[label](constraints=ROC, random_state=0)
            return scorer.fit(X, y, sensitive_features=group)

    seconds, scorer = cpu_seconds(fit)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    worst = max(abs(gap.value) for gap in scorer.gaps_)
    print(
        f"{label}: {n:,} rows × 20: {seconds:.1f} s, peak memory {after / 1e6:.2f} GB "
        f"({before / 1e6:.2f} GB before), converged {scorer.converged_}, worst gap {worst:.4f}"
    )
    if repeats:
        logistic = LogisticRegression()
        taken = by_turns({"ours": fit, "theirs": lambda: logistic.fit(X, y)}, repeats)
        name = f"{SCORERS[label].__name__}, {n:,} rows of 20 columns"
        ratio = record(name, "LogisticRegression", taken["ours"], taken["theirs"])
        print(f"   {ratio.value:.0f} fits of LogisticRegression")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scorers", nargs="*", default=list(SCORERS), choices=list(SCORERS))
    parser.add_argument("--data", nargs="*", default=list(LOADERS), choices=list(LOADERS))
    parser.add_argument(
        "--constraints", nargs="*", default=["none", *CONSTRAINTS], choices=["none", *CONSTRAINTS]
    )
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--rows", type=int, help="only time a fit on so many rows")
    parser.add_argument("--repeats", type=int, default=0, help="of it, by turns with scikit-learn")
    arguments = parser.parse_args()
    if arguments.rows:
        for label in arguments.scorers:
            growth(label, arguments.rows, arguments.repeats)
        return
    table(arguments.data, arguments.scorers, arguments.constraints, arguments.splits)


if __name__ == "__main__":
    main()
