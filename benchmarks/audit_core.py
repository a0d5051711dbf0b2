"""The cost of the audit's core, in units of one sort and of scikit-learn, in one run.

An audit here is everything from raw columns to numbers: decoding labels and groups, the 2K × 2K AUC
matrix, every named gap of every pair of groups, and both ROC gaps at 100 rates for every pair.

    python benchmarks/audit_core.py            # 10^5, 10^6, 10^7 rows
    python benchmarks/audit_core.py --max 6    # up to 10^6

Seconds are of CPU; ratios are medians of repeats in which both sides run by turns.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys

import numpy as np
from measuring.ratios import Ratio, record
from measuring.timing import by_turns

RATES = np.arange(1, 101) / 101


def columns(n: int, kind: str = "continuous"):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 4, n)
    y = rng.integers(0, 2, n)
    score = rng.normal(size=n) + 0.7 * y + 0.2 * groups
    if kind == "text groups":
        groups = np.array(["north", "east", "south", "west"])[groups]
    if kind == "100 levels":
        score = np.round(score * 10)
    weight = rng.gamma(2.0, size=n) if kind == "weights" else None
    return y, score, groups, weight


def audit(y, score, groups, weight=None):
    from evenscore import AucConstraint, GroupedScores, RocConstraint, constraint_names
    from evenscore.scores.aucs import auc_matrix

    scores = GroupedScores.from_arrays(y, score, sensitive_features=groups, sample_weight=weight)
    matrix = auc_matrix(scores)
    gaps = [AucConstraint.named(name).values(scores) for name in constraint_names()]
    roc = RocConstraint(on="both", rates=tuple(RATES)).values(scores)
    assert len(gaps) == 8
    assert len(roc) == 2 * 6 * 100
    return matrix


def four_aucs(y, score, groups, weight=None):
    from sklearn.metrics import roc_auc_score

    found = []
    for k in np.unique(groups):
        own = groups == k
        found.append(
            roc_auc_score(y[own], score[own], sample_weight=None if weight is None else weight[own])
        )
    return found


def ratios(data, name: str, repeats: int) -> tuple[Ratio, Ratio]:
    """An audit over one sort, and over scikit-learn's AUCs."""
    seconds = by_turns(
        {
            "audit": lambda: audit(*data),
            "argsort": lambda: np.argsort(data[1]),
            "sklearn": lambda: four_aucs(*data),
        },
        repeats,
    )
    return (
        record(
            f"audit's core, {name}", "argsort of the scores", seconds["audit"], seconds["argsort"]
        ),
        record(
            f"audit's core, {name}", "scikit-learn's 4 AUCs", seconds["audit"], seconds["sklearn"]
        ),
    )


def peak_memory_ratio(n: int) -> float:
    """Peak extra memory of one audit, in a fresh process, over the size of the score array."""
    code = (
        "import resource, sys; sys.path.insert(0, 'benchmarks'); import audit_core as b\n"
        "b.audit(*b.columns(1000))\n"
        f"data = b.columns({n})\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        # Touch the peak of making the columns away: only what goes beyond it counts as extra,
        # so start from what is held now.
        "held = int(open('/proc/self/statm').read().split()[1]) * resource.getpagesize() // 1024\n"
        "b.audit(*data)\n"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(before, held, after)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, held, after = map(int, out.stdout.split())
    if after == before:
        print(f"   (making the columns peaked higher, {before} KB: the ratio is an upper bound)")
    return (after - held) * 1024 / (8 * n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max", type=int, default=7, help="largest power of ten (default 7)")
    top = parser.parse_args().max

    print("rows         audit / argsort   sklearn's 4 AUCs / audit   audit, s   s per 10^6 rows")
    for power in range(5, top + 1):
        n = 10**power
        data = columns(n)
        sort, sklearn = ratios(data, f"10^{power} rows", {5: 7, 6: 5}.get(power, 3))
        print(
            f"10^{power}   {sort.value:18.2f}   {1 / sklearn.value:24.2f}   {sort.seconds:8.3f}"
            f"   {sort.seconds / n * 1e6:15.3f}"
        )
    matrix = audit(*data)
    aucs = np.diag(matrix.values[:4, 4:])
    print(f"largest difference from sklearn's AUCs: {np.abs(aucs - four_aucs(*data)).max():.1e}")

    n = 10 ** min(top, 6)
    print(f"\nother inputs, 10^{min(top, 6)} rows: audit / argsort, sklearn's 4 AUCs / audit")
    for kind in ("text groups", "100 levels", "weights"):
        data = columns(n, kind)
        sort, sklearn = ratios(data, f"{kind}, 10^{min(top, 6)} rows", 5)
        print(f"   {kind:12s} {sort.value:8.2f} {1 / sklearn.value:8.2f}")

    print("\none auc_gap at n = 1,000 / one roc_auc_score:", f"{small_call().value:.2f}")
    n = 10**top
    print(f"peak extra memory at 10^{top} rows / score array: {peak_memory_ratio(n):.2f}")


def small_call(calls: int = 50) -> Ratio:
    from sklearn.metrics import roc_auc_score

    from evenscore.metrics import auc_gap

    y, score, groups, _ = columns(1000)
    groups = groups % 2

    def repeated(call):
        return lambda: [call() for _ in range(calls)]

    seconds = by_turns(
        {
            "ours": repeated(lambda: auc_gap(y, score, sensitive_features=groups)),
            "theirs": repeated(lambda: roc_auc_score(y, score)),
        },
        7,
    )
    name = f"auc_gap, 1,000 rows, {calls} calls"
    return record(name, "as many of roc_auc_score", seconds["ours"], seconds["theirs"])


if __name__ == "__main__":
    print(f"NumPy {np.__version__}, {resource.getpagesize()} byte pages")
    main()
