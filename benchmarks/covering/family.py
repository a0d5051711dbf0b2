"""How often an audit calls any gap beyond the tolerance that is not beyond it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from covering.laws import (
    People,
    discretised,
    many_groups,
    mixed_with_other,
    reweighted,
    split_roc_gap,
    uneven_law,
)
from covering.tally import Tally
from evenscore import constraint_names
from evenscore.inference import gap_estimates
from evenscore.inference.bands import roc_band
from evenscore.inference.estimate import Estimate
from evenscore.measures import inter_group_curve
from evenscore.results.family import beyond_all
from evenscore.results.parts import verdict

TITLE = "Any gap wrongly called beyond the tolerance (nominal 5 % at most)"
COLUMNS = ("by Holm, any", "alone, any", "by Holm, a true one")
RATES = (0.125, 0.25)
CASES = {  # how many groups differ from the others, and the tolerance
    "even": (0, 0.05),
    "even, at 0": (0, 1e-9),  # every gap is at the boundary
    "at the boundary": (1, None),  # the largest true gap
    "half at the boundary": (2, None),
}


def settings(sizes):
    """Size of the smallest cell, number of groups, levels, weights, and how gaps lie."""
    return [
        {"cell": size, "groups": groups, "levels": levels, "weights": weights, "case": case}
        for size, groups, (levels, weights), case in product(
            sizes or (25, 100, 500),
            (2, 5),
            ((None, "none"), (5, "none"), (None, "by score")),
            CASES,
        )
        if groups > CASES[case][0]
    ]


def true_gaps(law) -> dict[object, float]:
    """Every gap of an audit, by name, class, rate and pair of groups."""
    pairs = [(i, j) for i in range(law.n_groups) for j in range(i + 1, law.n_groups)]
    found: dict[object, float] = {
        (name, None, None, str(i), str(j)): law.auc_gap(name, i, j)
        for name in constraint_names()
        for i, j in pairs
    }
    for on, (i, j) in product(("negatives", "positives"), pairs):
        for rate, gap in zip(RATES, split_roc_gap(law, on, RATES, i, j), strict=True):
            found[f"roc_gap({on})", on, rate, str(i), str(j)] = float(gap)
    return found


def roc_gaps(scores) -> list[Estimate]:
    """What `roc_gap_estimates` gives, without the p-values, which take most of its time."""
    found = []
    for on, (i, j) in product(("negatives", "positives"), scores.pairs()):
        curve = inter_group_curve(scores, on, i, j).with_ties_split()
        band = roc_band(curve, np.array(RATES), kind="pointwise").gap()
        for rate, value, low, high in zip(RATES, band.value, band.low, band.high, strict=True):
            estimate = Estimate(f"roc_gap({on})", value, low, high, 0.95, "Wilson, both shares")
            found.append(replace(estimate, first=str(i), second=str(j), on=on, rate=rate))
    return found


def run(setting, samples: int, rng: np.random.Generator) -> Tally:
    odd, tolerance = CASES[setting["case"]]
    milder = mixed_with_other(uneven_law(), 0.3)
    law = discretised(many_groups(milder, setting["groups"], odd), setting["levels"])
    true = true_gaps(reweighted(law, setting["weights"]))
    tolerance = max(map(abs, true.values())) if tolerance is None else tolerance
    tally = Tally()
    for _ in range(samples):
        scores = People.draw(law, setting["cell"], setting["weights"], rng).scored(law)
        gaps = gap_estimates(scores, constraint_names())
        gaps += roc_gaps(scores)
        beyond = beyond_all(gaps, tolerance, 0.95, len(gaps))
        within = np.array([abs(true[gap.key]) <= tolerance + 1e-12 for gap in gaps])
        alone = np.array([verdict(gap, tolerance) == "beyond" for gap in gaps])
        tally.note("by Holm, any", "", bool(np.any(beyond & alone & within)))
        tally.note("alone, any", "", bool(np.any(alone & within)))
        if not within.all():
            tally.note("by Holm, a true one", "", bool(np.any(beyond & ~within)))
    return tally
