"""How often intervals, bands, tests and certificates are right, on laws whose truth is known.

One part for each kind of statement (see `covering/`), each in many settings: sizes of the smallest
cell, scores without ties or with few levels, weights (none, random, depending on the class or on
the score). An entry is the share of samples in which a nominal 95 % interval holds the true value,
the least and the largest of the quantities of its kind; or the share in which a 5 % test rejects
what is true. The standard error of a share near 95 % over 2,000 samples is 0.5 %, so that the least
of ten is about 1 % too low.

What was seen in the smallest cells (25 people; 200 to 600 samples): shares at cuts and in bins of
the score hold in 92 % and more, the least where they are near 0 or 1 or of a handful of people.
Paired differences hold in 92 % and more, and tests of them reject what is true in 5 % but for
chance, those of magnitudes and of ROC gaps mostly in less. Of the 120 gaps of five even groups
some is called beyond in 4 % at most. No certificate was wrong (cells of 40 and 300). Gaps by
cross-fitting hold in 95 % and more; there a sample is a fit: ask for 100 of them.

Gaps exactly at the tolerance (`boundary`, cells of 2,500; 2,000 samples each): of two groups some
is called beyond in 0.5 to 0.8 %, within in 1.4 to 1.7 % (each by itself: 6 to 10 % and 7 to 8 %);
of five groups, two of which differ, in 1 % at most (29 to 36 %): without ties and with 20 levels,
with weights by score, with clusters. Of two equal scores some gap is told to have changed in 0.2
to 1.1 % (`paired`, cells of 100). Beside a jump of the curve ROC intervals hold in 95 to 98 %
(`jumps`, cells of 100; 1,500 samples).

With clusters of 1 to 20 rows that are alike (correlation 0.3; 40 and 200 clusters a group, 1,000
samples, 400 for bands and the bootstrap with 200 clusters): shares, rate differences, calibration
and ROC gaps hold in 92.9 % and more, simultaneous bands in 95 to 99 %, DKW's always, the bootstrap
in 93 to 95 %. Of groups that share clusters, differences hold in
97 % and more: what the clusters have in common is not claimed. As if rows were independent, shares
hold in 69 to 97 %.

    python benchmarks/coverage.py    # 2,000 samples each, some hours
    python benchmarks/coverage.py --parts cuts family --samples 300
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from covering import (
    auc_clusters,
    bands,
    boundary,
    certificates,
    clusters,
    cross_fit,
    cuts,
    family,
    gaps,
    jumps,
    near_one,
    paired,
)

PARTS = {
    "gaps": gaps,
    "near_one": near_one,
    "auc_clusters": auc_clusters,
    "bands": bands,
    "jumps": jumps,
    "cuts": cuts,
    "paired": paired,
    "family": family,
    "boundary": boundary,
    "certificates": certificates,
    "cross_fit": cross_fit,
    "clusters": clusters,
}


def one_setting(task) -> dict[str, tuple[float, float]]:
    part, setting, samples, seed = task
    tally = PARTS[part].run(setting, samples, np.random.default_rng(seed))
    return tally.ranges(samples)


def shown(found: tuple[float, float] | None) -> str:
    if found is None:
        return "–"
    low, high = found
    return f"{low:.1%}" if low == high else f"{low:.1%} – {high:.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--sizes", type=int, nargs="*", help="of cells, instead of each part's")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    print(f"{arguments.samples:,} samples a setting; nominal 95 % for intervals, 5 % for tests.")
    with ProcessPoolExecutor(arguments.workers) as pool:
        for part in arguments.parts:
            settings = PARTS[part].settings(arguments.sizes)
            tasks = [
                (part, setting, arguments.samples, 1000 * number)
                for number, setting in enumerate(settings)
            ]
            columns = PARTS[part].COLUMNS
            widths = {name: max(len(name), 15) for name in columns}
            labels = {
                name: max(len(name), *(len(str(setting[name])) for setting in settings))
                for name in settings[0]
            }
            print(f"\n{PARTS[part].TITLE}")
            print(" ".join(f"{name:>{labels[name]}s}" for name in labels), end="  ")
            print("  ".join(f"{name:>{widths[name]}s}" for name in columns))
            for setting, found in zip(settings, pool.map(one_setting, tasks), strict=True):
                print(" ".join(f"{setting[name]!s:>{labels[name]}s}" for name in labels), end="  ")
                entries = (f"{shown(found.get(name)):>{widths[name]}s}" for name in columns)
                print("  ".join(entries), flush=True)


if __name__ == "__main__":
    main()
