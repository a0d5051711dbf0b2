"""How often bands of a ROC curve hold it where weights go with the score.

Scores are normal and weights exp(slope · score): the weighted law is the same one, moved by the
slope, and so is the curve. "apart" is how far the target lies above the reference.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from covering.tally import Tally
from evenscore.inference import roc_band
from evenscore.scores.curve import RocCurve
from evenscore.scores.distribution import Distribution

TITLE = "Bands of ROC curves with weights exp(slope · score)"
COLUMNS = ("pointwise", "simultaneous band", "dkw band")
RATES = np.array([0.02, 0.05, 0.125, 0.25, 0.5, 0.75, 0.9, 0.97])
GRID = np.linspace(0.02, 0.98, 49)


def settings(sizes):
    """Sizes of the two samples alike; slopes 0 (no weights) to ±1; near and far targets."""
    return [
        {"cell": size, "slope": slope, "apart": apart}
        for size, slope, apart in product(
            sizes or (100, 300, 1000), (0.0, 0.5, 1.0, -1.0), (0.3, 3.0, -3.0)
        )
    ]


def run(setting, samples: int, rng: np.random.Generator) -> Tally:
    from scipy.special import ndtr, ndtri

    def drawn(mean: float) -> Distribution:
        score = rng.normal(mean, 1.0, setting["cell"])
        weight = np.exp(setting["slope"] * score) if setting["slope"] else None
        return Distribution.from_sample(score, weight)

    def truth(rates):
        return ndtr(ndtri(rates) + setting["apart"])

    tally = Tally()
    for _ in range(samples):
        curve = RocCurve(drawn(0.0), drawn(setting["apart"]))
        band = roc_band(curve, RATES, kind="pointwise")
        for rate, low, height, high in zip(RATES, band.low, truth(RATES), band.high, strict=True):
            tally.inside("pointwise", rate, low, height, high)
        for kind in ("simultaneous", "dkw"):
            band = roc_band(curve, GRID, kind=kind, n_resamples=200, random_state=rng)
            tally.inside(f"{kind} band", "", band.low, truth(GRID), band.high)
    return tally
