"""ROC intervals beside a jump of the curve: where the one group has nobody and the other many."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import ndtr, ndtri

from covering.tally import Tally
from evenscore.inference import roc_band
from evenscore.scores.curve import RocCurve
from evenscore.scores.distribution import Distribution

TITLE = "Intervals of a ROC curve at single rates, in standard errors of the cut from a jump"
AROUND = (-2.0, -1.0, -0.3, 0.05, 0.3, 1.0, 2.0, 3.0)
COLUMNS = (*(f"{step:+g}" for step in AROUND), "smooth")
RATES = (0.03, 0.125, 0.25, 0.5, 0.8)
AT = 0.25


def settings(sizes):
    """Sizes of the two samples, and how far the curve jumps."""
    pairs = [(size, size) for size in sizes] if sizes else [(30, 30), (300, 300), (2000, 2000)]
    pairs += [] if sizes else [(2000, 300), (300, 2000), (200, 25), (25, 200)]
    return [
        {"reference": one, "target": two, "jump": jump}
        for (one, two), jump in product(pairs, (0.06, 0.2, 0.6))
    ]


def run(setting, samples: int, rng: np.random.Generator) -> Tally:
    one, two, jump = setting["reference"], setting["target"], setting["jump"]
    error = np.sqrt(AT * (1.0 - AT) / one)
    rates = np.clip(AT + error * np.array(AROUND), 0.005, 0.995)
    true = rates * (1.0 - jump) + jump * (rates > AT)
    smooth = np.array(RATES)
    normal = ndtr((0.4 - ndtri(1.0 - smooth)) / 1.2)
    tally = Tally()
    for _ in range(samples):
        reference, target = (np.where(u > 1.0 - AT, u + 1.0, u) for u in _uniform(rng, one, two))
        between = rng.random(two) < jump
        target = np.where(between, 1.0 - AT + rng.random(two), target)
        band = _band(reference, target, rates)
        for step, low, truth, high in zip(AROUND, band.low, true, band.high, strict=True):
            tally.inside(f"{step:+g}", "", low, truth, high)
        band = _band(rng.normal(size=one), 0.4 + 1.2 * rng.normal(size=two), smooth)
        for rate, low, truth, high in zip(RATES, band.low, normal, band.high, strict=True):
            tally.inside("smooth", rate, low, truth, high)
    return tally


def _uniform(rng: np.random.Generator, *sizes: int) -> list[np.ndarray]:
    return [rng.random(size) for size in sizes]


def _band(reference: np.ndarray, target: np.ndarray, rates: np.ndarray):
    curve = RocCurve(*map(Distribution.from_sample, (reference, target))).with_ties_split()
    return roc_band(curve, rates, kind="pointwise")
