"""How often an audit calls any gap beyond the tolerance, or within it, that is not."""

from __future__ import annotations

from itertools import product

import numpy as np

from covering.laws import (
    People,
    discretised,
    larger_roc_gap,
    many_groups,
    mixed_with_other,
    reweighted,
    uneven_law,
)
from covering.tally import Tally
from evenscore import constraint_names
from evenscore.gaps import RocConstraint, as_constraints
from evenscore.gaps.family import family_estimates, family_intervals
from evenscore.inference.decisions import decide
from evenscore.inference.intervals import normal_quantile

TITLE = "Any gap wrongly called beyond the tolerance, or within it (nominal 5 % at most)"
COLUMNS = (
    "false beyond",
    "false within",
    "by itself, beyond",
    "by itself, within",
    "a true beyond",
)
RATES = (0.125, 0.25)
CASES = {  # how many groups differ from the others, and the tolerance
    "even": (0, 0.05),
    "even, at 0": (0, 1e-9),  # every gap is at the boundary
    "at the boundary": (1, None),  # the largest true gap
    "half at the boundary": (2, None),
    "just beyond": (1, 0.9999),  # of the largest true gap: it must not be called within
    "many just beyond": (2, 0.9999),
}


def settings(sizes):
    """Size of the smallest cell, number of groups, levels, weights, and how gaps lie."""
    return [
        {"cell": size, "groups": groups, "levels": levels, "weights": weights, "case": case}
        for size, groups, (levels, weights), case in product(
            sizes or (25, 100, 500),
            (2, 5),
            ((None, "none"), (5, "none"), (None, "by score"), (None, "clusters")),
            CASES,
        )
        if groups > CASES[case][0]
    ]


def true_gaps(law) -> dict[object, float]:
    """Every gap of an audit, by name, class, rate and pair of groups."""
    pairs = [(i, j) for i in range(law.n_groups) for j in range(i + 1, law.n_groups)]
    found: dict[object, float] = {
        (name, str(i), str(j), "", None, None): law.auc_gap(name, i, j)
        for name in constraint_names()
        for i, j in pairs
    }
    for on, (i, j) in product(("negatives", "positives"), pairs):
        for rate, gap in zip(RATES, larger_roc_gap(law, on, RATES, i, j), strict=True):
            found[f"roc_gap({on})", str(i), str(j), f"at {rate:.4g}", on, rate] = float(gap)
    return found


def run(setting, samples: int, rng: np.random.Generator) -> Tally:
    odd, tolerance = CASES[setting["case"]]
    milder = mixed_with_other(uneven_law(), 0.3)
    law = discretised(many_groups(milder, setting["groups"], odd), setting["levels"])
    weights = setting["weights"]
    clustered = weights == "clusters"
    true = true_gaps(law if clustered else reweighted(law, weights))
    if tolerance is None or tolerance > 0.5:
        tolerance = (tolerance or 1.0) * max(map(abs, true.values()))
    families = as_constraints([*constraint_names(), RocConstraint(rates=RATES)])
    tally = Tally()
    for _ in range(samples):
        size = setting["cell"]
        people = (
            People.clustered(law, size, rng) if clustered else People.draw(law, size, weights, rng)
        )
        scores = people.scored(law)
        gaps = family_estimates(scores, families)
        intervals = family_intervals(scores, families)
        gaps = decide(gaps, tolerance, 0.95, intervals=intervals)
        within = np.array([abs(true[gap.key]) <= tolerance + 1e-12 for gap in gaps])
        low, high = intervals(np.full(len(gaps), normal_quantile(0.95)))
        inside = (low >= -tolerance) & (high <= tolerance)
        found = {
            "beyond": np.array([gap.verdict == "beyond" for gap in gaps]),
            "within": np.array([gap.verdict == "within" for gap in gaps]),
            "beyond alone": np.array([gap.lies_beyond(tolerance) for gap in gaps]),
        }
        tally.note("false beyond", "", bool(np.any(found["beyond"] & within)))
        tally.note("by itself, beyond", "", bool(np.any(found["beyond alone"] & within)))
        if not within.all():
            tally.note("false within", "", bool(np.any(found["within"] & ~within)))
            tally.note("by itself, within", "", bool(np.any(inside & ~within)))
            tally.note("a true beyond", "", bool(np.any(found["beyond"] & ~within)))
    return tally
