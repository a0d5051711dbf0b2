"""Two scores of the same people: differences of AUCs, gaps and ROC gaps, and of magnitudes."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import ndtr, ndtri

from covering.laws import (
    WEIGHTS,
    People,
    discretised,
    larger_roc_gap,
    mixed_with_other,
    reweighted,
    uneven_law,
)
from covering.tally import Tally
from evenscore import constraint_names
from evenscore.gaps import EstimateSettings, RocConstraint, as_constraints
from evenscore.inference.paired import PairedScores, paired_auc, size_changes
from evenscore.scores.reading import read_rows

TITLE = "Paired differences of two scores of the same people"
COLUMNS = (
    "AUC",
    "gaps",
    "gap magnitudes",
    "gaps reject",
    "gap mag. reject",
    "ROC gaps",
    "ROC gap magnitudes",
    "ROC gaps reject",
    "ROC gap mag. reject",
    "any change told",
)
RATES = (0.05, 0.125, 0.25, 0.5)
# The second score is of the same law, or of one with the groups partly or fully exchanged.
OTHERS = {"same": 0.0, "alike": 0.5, "exchanged": 1.0}
# Whose rank within the cell stays: that of so many; or everybody's, with noise.
COUPLINGS = {"noise": None, "half": 0.5, "most": 0.9}


def settings(sizes):
    """The other score, what couples the two, sizes of the smallest cell, levels and weights."""
    found = []
    for size, levels in product(sizes or (25, 100, 500), (None, 5)):
        for weights, coupling, other in (
            ("none", "noise", "same"),
            ("none", "noise", "exchanged"),
            ("none", "most", "same"),
            ("none", "most", "alike"),
            ("random", "noise", "same"),
            ("random", "most", "alike"),
            ("by class", "noise", "exchanged"),
            ("by score", "half", "same"),
            ("by score", "half", "alike"),
        ):
            assert weights in WEIGHTS
            case = {"cell": size, "levels": levels, "weights": weights}
            found.append({**case, "coupling": coupling, "other": other})
    return found


def other_rank(people: People, coupling: str, rng: np.random.Generator) -> np.ndarray:
    """Ranks of the second score: uniform in every cell, and dependent on those of the first."""
    kept = COUPLINGS[coupling]
    if kept is None:
        noise = rng.normal(size=len(people.rank))
        normal = ndtri(np.clip(people.rank, 1e-12, 1.0 - 1e-12))
        return ndtr(0.8 * normal + 0.6 * noise)
    fresh = 1.0 - rng.random(len(people.rank))
    return np.where(rng.random(len(fresh)) < kept, people.rank, fresh)


def truths(one, two) -> list[tuple[object, float, float]]:
    """What each of the two scores has, in the order of the estimates."""
    found: list[tuple[object, float, float]] = [("AUC", one.auc(), two.auc())]
    found += [(name, one.auc_gap(name), two.auc_gap(name)) for name in constraint_names()]
    for on in ("negatives", "positives"):
        gaps = zip(*(larger_roc_gap(law, on, RATES) for law in (one, two)), strict=True)
        found += [((on, rate), *both) for rate, both in zip(RATES, gaps, strict=True)]
    return found


def run(setting, samples: int, rng: np.random.Generator) -> Tally:
    # Groups of one size: exchanged, they have the same gaps with the other sign.
    base = uneven_law([[0.2, 0.2], [0.3, 0.3]])
    changed = mixed_with_other(base, OTHERS[setting["other"]])
    law, other = (discretised(one, setting["levels"]) for one in (base, changed))
    weights, kept = setting["weights"], COUPLINGS[setting["coupling"]] or 0.0
    assert weights != "by score" or kept > 0.0, "noise and weights by score have no closed form"
    true = truths(reweighted(law, weights), reweighted(other, weights, kept))
    tally = Tally()
    for _ in range(samples):
        people = People.draw(law, setting["cell"], weights, rng)
        scores = (
            people.score(law),
            people.score(other, other_rank(people, setting["coupling"], rng)),
        )
        rows = read_rows(people.y, people.group, sample_weight=people.weight)
        pair = PairedScores(rows, scores)
        found = [paired_auc(pair)]
        for family in as_constraints([*constraint_names(), RocConstraint(rates=RATES)]):
            found += family.paired(pair, EstimateSettings(random_state=rng))
        for (name, one, two), pair in zip(true, found, strict=True):
            note(tally, name, one, two, pair)
        if setting["other"] == "same" and setting["weights"] != "by score":  # the scores are alike
            auc, gaps = size_changes(found[0].difference, found[1:], 0.95)
            changed = any(test is not None and test.p_value <= 0.05 for test in (auc, *gaps))
            tally.note("any change told", "", changed)
    return tally


def note(tally: Tally, name, one: float, two: float, pair) -> None:
    """Whether the intervals hold, and whether a true hypothesis is rejected at 5 %."""
    d = pair.difference
    if name == "AUC":
        tally.inside("AUC", name, d.low, one - two, d.high)
        return
    kind = "ROC gap" if isinstance(name, tuple) else "gap"
    m = pair.magnitude
    tally.inside(f"{kind}s", name, d.low, one - two, d.high)
    tally.inside(f"{kind} magnitudes", name, m.low, abs(one) - abs(two), m.high)
    if abs(one - two) < 1e-12:
        tally.note(f"{kind}s reject", name, d.p_value <= 0.05)
    if abs(abs(one) - abs(two)) < 1e-12:
        tally.note(f"{kind} mag. reject", name, m.p_value <= 0.05)
