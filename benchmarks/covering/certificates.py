"""How often a certificate of fair cuts claims a rate at which the gap is beyond the tolerance."""

from __future__ import annotations

from itertools import product

import numpy as np

from covering.laws import (
    People,
    discretised,
    larger_roc_gap,
    mixed_with_other,
    reweighted,
    uneven_law,
)
from covering.tally import Tally
from evenscore.inference import certify

TITLE = "Certificates of fair cuts: wrong (nominal 5 % at most), and given at all"
COLUMNS = ("dkw wrong", "dkw given", "simultaneous wrong", "simultaneous given")
GRID = np.linspace(0.0, 1.0, 4001)


def settings(sizes):
    """Sizes of the smallest cell, levels and weights; tolerances just below the largest gap."""
    return [
        {"cell": size, "levels": levels, "weights": weights}
        for size, levels, weights in product(
            sizes or (40, 300, 3000), (None, 5), ("none", "random", "by score")
        )
    ]


def run(setting, samples: int, rng: np.random.Generator) -> Tally:
    law = discretised(mixed_with_other(uneven_law(), 0.2), setting["levels"])
    truth = reweighted(law, setting["weights"])
    gaps = np.max([np.abs(larger_roc_gap(truth, on, GRID)) for on in ("negatives", "positives")], 0)
    tolerance = min(0.45, 0.95 * float(gaps.max()))
    tally = Tally()
    for _ in range(samples):
        scores = People.draw(law, setting["cell"], setting["weights"], rng).scored(law)
        for method in ("dkw", "simultaneous"):
            found = certify(
                scores,
                tolerance,
                method=method,
                n_rates=201,
                n_resamples=200,
                random_state=rng,
            )
            claimed = (found.low <= GRID) & (found.high >= GRID)
            wrong = found.certified and bool(np.any(gaps[claimed] > tolerance + 1e-9))
            tally.note(f"{method} wrong", "", wrong)
            tally.note(f"{method} given", "", found.certified)
    return tally
