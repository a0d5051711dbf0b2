"""Several rows per person: how often even groups are called uneven, with clusters and without."""

from __future__ import annotations

from itertools import product

import numpy as np

from covering.tally import Tally
from evenscore import GroupedScores, constraint_names
from evenscore.gaps import as_constraints
from evenscore.gaps.family import family_estimates, family_intervals
from evenscore.inference.decisions import decide

TITLE = "AUC gaps of even groups, rows in clusters (intraclass correlation 0.3; nominal 5 %)"
COLUMNS = ("p <= 0.05", "any beyond, Holm of 12", "without clusters", "any, without clusters")
TOLERANCE = 1e-9


def settings(sizes):
    """Number of clusters, rows in each, and what a cluster has in common besides its effect."""
    return [
        {"clusters": size, "rows": rows, "common": common}
        for size, rows, common in product(
            sizes or (40, 100, 400),
            ("10", "varying"),
            ("group", "group and class", "nothing"),
        )
    ]


def drawn(setting, rng: np.random.Generator):
    """Classes, scores, groups and clusters; a cluster of varying size has 9.3 rows on average."""
    n = setting["clusters"]
    sizes = np.full(n, 10) if setting["rows"] == "10" else 1 + rng.geometric(0.12, n)
    cluster = np.repeat(np.arange(n), sizes)
    group, y = rng.integers(0, 2, (2, len(cluster)))
    if setting["common"] != "nothing":
        group = rng.integers(0, 2, n)[cluster]
    if setting["common"] == "group and class":
        y = rng.integers(0, 2, n)[cluster]
    score = np.sqrt(0.3) * rng.normal(size=n)[cluster] + np.sqrt(0.7) * rng.normal(size=len(y))
    return y, score + 1.2 * y, group, cluster


def run(setting, samples: int, rng: np.random.Generator) -> Tally:
    families, tally = as_constraints(constraint_names()), Tally()
    for _ in range(samples):
        y, score, group, cluster = drawn(setting, rng)
        for known, single, whole in ((cluster, *COLUMNS[:2]), (None, *COLUMNS[2:])):
            scores = GroupedScores.from_arrays(y, score, sensitive_features=group, cluster=known)
            gaps = family_estimates(scores, families)
            for gap in gaps:
                tally.note(single, gap.name, gap.p_value <= 0.05)
            intervals = family_intervals(scores, families)
            gaps = decide(gaps, TOLERANCE, 0.95, intervals=intervals, total=12)
            tally.note(whole, "", any(gap.verdict == "beyond" for gap in gaps))
    return tally
