"""Rates by group at fixed cuts, the ratio of selection rates, and calibration by group."""

from __future__ import annotations

from itertools import product

import numpy as np

from covering.laws import WEIGHTS, People, discretised, reweighted, uneven_law
from covering.tally import Tally
from evenscore.inference import calibration_by_group, cut_table

TITLE = "Rates at cuts, impact ratio and calibration by group"
COLUMNS = (
    "shares",
    "shares, near 0 or 1",
    "shares of few",
    "impact ratio",
    "four fifths told",
    "calibration",
    "calibration, of few",
    "excess",
)
NAMES = "selection_rate", "fpr", "fnr", "precision"
QUANTILES = (0.02, 0.3, 0.7, 0.98)  # of everybody, where the cuts are
FEW = 20  # people (expected) that a share is one of


def settings(sizes):
    """Sizes of the smallest cell, levels of the score and weights."""
    return [
        {"cell": size, "levels": levels, "weights": weights}
        for size, levels, weights in product(sizes or (25, 100, 1000), (None, 5), WEIGHTS)
    ]


def true_rates(law, cuts) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Rates of each group, and the share of everybody that each is a share of."""
    k = law.n_groups
    cells = law.cell_weights
    above = (1.0 - law.cdf(cuts)).reshape(-1, 2, k) * cells
    everybody, chosen = cells.sum(axis=0), above.sum(axis=1)
    shape = np.ones_like(chosen)
    rates = {
        "selection_rate": chosen / everybody,
        "fpr": above[:, 0] / cells[0],
        "fnr": 1.0 - above[:, 1] / cells[1],
        "precision": above[:, 1] / chosen,
    }
    wholes = {
        "selection_rate": everybody * shape,
        "fpr": cells[0] * shape,
        "fnr": cells[1] * shape,
        "precision": chosen,
    }
    return rates, wholes


def true_bins(law, edges) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mass, share of positives and mean score in (edges[b], edges[b + 1]], shape (bins, groups)."""
    k = law.n_groups
    ends = np.concatenate([[-np.inf], edges[1:]])

    def by_cell(moment):
        return np.diff(moment(ends), axis=0).reshape(-1, 2, k) * law.cell_weights

    def first_moment(t):  # E S 1{S ≤ t} = ∫ over ranks up to F(t)
        if hasattr(law, "values"):
            part = np.cumsum(law.values * law.probabilities, axis=1)
            padded = np.concatenate([np.zeros((2 * k, 1)), part], axis=1)
            return padded[:, np.searchsorted(law.values, t, side="right")].T
        knots, rows = law.knots, law.cdf_values
        t = np.clip(t, knots[0], knots[-1])
        points = np.union1d(knots, t)
        heights = np.stack([np.interp(points, knots, row) for row in rows])
        middle = (points[1:] + points[:-1]) / 2.0
        part = np.cumsum(middle * np.diff(heights, axis=1), axis=1)
        padded = np.concatenate([np.zeros((2 * k, 1)), part], axis=1)
        return padded[:, np.searchsorted(points, t)].T

    mass, total = by_cell(law.cdf), by_cell(first_moment)
    everybody = mass.sum(axis=1)
    safe = np.where(everybody > 0, everybody, np.nan)
    return everybody, mass[:, 1] / safe, total.sum(axis=1) / safe


def run(setting, samples: int, rng: np.random.Generator) -> Tally:
    law = discretised(uneven_law(), setting["levels"])
    true_law = reweighted(law, setting["weights"])
    cuts = np.unique(law.mixture_quantile(law.cell_weights.ravel(), np.array(QUANTILES)))
    cuts = cuts[cuts < law.mixture_quantile(law.cell_weights.ravel(), 1.0)]
    rates, _ = true_rates(true_law, cuts)
    wholes = true_rates(law, cuts)[1]
    n = setting["cell"] / law.cell_weights.min()
    tally = Tally()
    for _ in range(samples):
        scores = People.draw(law, setting["cell"], setting["weights"], rng).scored(law)
        table = cut_table(scores, cuts)
        for name, (t, k) in product(NAMES, np.ndindex(rates["fpr"].shape)):
            found, truth = getattr(table, name), rates[name][t, k]
            if np.isnan(found.low[t, k]):
                continue
            kind = "shares, near 0 or 1" if min(truth, 1.0 - truth) < 0.05 else "shares"
            if n * wholes[name][t, k] < FEW:
                kind = "shares of few"
            tally.inside(kind, (name, t, k), found.low[t, k], truth, found.high[t, k])
        ratio, chosen = table.impact_ratio, rates["selection_rate"]
        for t in range(len(cuts)):
            if np.isnan(ratio.value[t]):
                continue
            low, high = int(ratio.lowest[t]), int(ratio.highest[t])
            tally.inside(
                "impact ratio", t, ratio.low[t], chosen[t, low] / chosen[t, high], ratio.high[t]
            )
            truly_below = chosen[t].min() / chosen[t].max() < 0.8
            note = ratio.notes[t]
            wrong = (note.endswith(" not below four fifths") and truly_below) or (
                note.endswith("), below four fifths") and not truly_below
            )
            tally.note("four fifths told", t, not wrong)
        found = calibration_by_group(scores)
        _, share, mean = true_bins(true_law, found.edges)
        people = n * true_bins(law, found.edges)[0]
        for b, k in np.ndindex(share.shape):
            if np.isnan(found.positives.low[b, k]):
                continue
            kind = "calibration, of few" if people[b, k] < FEW else "calibration"
            interval = found.positives
            tally.inside(kind, (b, k), interval.low[b, k], share[b, k], interval.high[b, k])
            if found.probabilities and kind == "calibration":
                interval = found.excess
                excess = share[b, k] - mean[b, k]
                tally.inside("excess", (b, k), interval.low[b, k], excess, interval.high[b, k])
    return tally
