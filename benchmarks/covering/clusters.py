"""How often intervals hold where rows come in clusters, whose members are alike.

Scores are normal within each class and group, with the correlation 0.3 within clusters (of 1 to 20
rows, every size as frequent); so are the normal variables whose signs are the labels. Groups go by
cluster, or cross it: each row has its own. "as if independent" is what the shares do if nobody says
which rows belong together.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from covering.tally import Tally
from evenscore import GroupedScores
from evenscore.inference import (
    bootstrap,
    calibration_by_group,
    cut_table,
    rate_difference_estimates,
    roc_gap_band,
)
from evenscore.scores.thresholds import rates_at

TITLE = "Clusters of 1 to 20 rows, correlation 0.3"
COLUMNS = (
    "shares",
    "shares, near 0 or 1",
    "as if independent",
    "rate differences",
    "impact ratio",
    "calibration",
    "roc gaps",
    "roc gaps, edge",
    "simultaneous band",
    "dkw band",
    "bootstrap",
)
CUTS = np.array([-2.2, -0.7, 0.3, 1.2, 2.4])
RATES = np.array([0.02, 0.05, 0.125, 0.25, 0.5, 0.75, 0.9, 0.97])
GRID = np.linspace(0.02, 0.98, 49)
MEANS = np.array([[0.0, 0.3], [1.0, 1.2]])  # by class and group
CORRELATION = 0.3
NAMES = "selection_rate", "fpr", "fnr", "precision"


def settings(sizes):
    """Clusters of each group, how groups go, and weights (gamma distributed, of each row)."""
    return [
        {"clusters": size, "groups": groups, "weights": weights}
        for size, groups, weights in product(
            sizes or (40, 200), ("by cluster", "crossing"), ("none", "gamma")
        )
    ]


def drawn(setting, rng: np.random.Generator) -> GroupedScores:
    n_clusters = 2 * setting["clusters"]
    cluster = np.repeat(np.arange(n_clusters), rng.integers(1, 21, n_clusters))
    n = len(cluster)

    def alike():
        common = rng.normal(size=n_clusters)[cluster]
        return np.sqrt(CORRELATION) * common + np.sqrt(1.0 - CORRELATION) * rng.normal(size=n)

    label = (alike() > 0.0).astype(int)
    group = cluster % 2 if setting["groups"] == "by cluster" else rng.integers(0, 2, n)
    weight = rng.gamma(2.0, size=n) if setting["weights"] == "gamma" else None
    return GroupedScores.from_arrays(
        label,
        MEANS[label, group] + alike(),
        sensitive_features=group,
        sample_weight=weight,
        cluster=cluster,
        group_order=[0, 1],
    )


def true_rates() -> dict[str, np.ndarray]:
    """Half of everybody is positive; shape (cuts, groups)."""
    from scipy.special import ndtr

    above = ndtr(MEANS[None] - CUTS[:, None, None])
    chosen = above.sum(axis=1)
    return {
        "selection_rate": chosen / 2.0,
        "fpr": above[:, 0],
        "fnr": 1.0 - above[:, 1],
        "precision": above[:, 1] / chosen,
    }


def run(setting, samples: int, rng: np.random.Generator, parts=COLUMNS) -> Tally:
    from scipy.special import ndtr, ndtri

    rates, tally = true_rates(), Tally()
    between = MEANS[:, 1] - MEANS[:, 0]

    def fpr_difference(scores):
        one, two = rates_at(scores, CUTS[2]).fpr[0]
        return np.array([one - two])

    for _ in range(samples):
        scores = drawn(setting, rng)
        table = cut_table(scores, CUTS)
        alone = cut_table(replace(scores, clusters=None), CUTS)
        for name, (t, k) in product(NAMES, np.ndindex(rates["fpr"].shape)):
            truth = rates[name][t, k]
            edge = min(truth, 1.0 - truth) < 0.05
            for found, kind in (
                (table, "shares, near 0 or 1" if edge else "shares"),
                (alone, "as if independent"),
            ):
                share = getattr(found, name)
                if not np.isnan(share.low[t, k]) and not (edge and found is alone):
                    tally.inside(kind, (name, t, k), share.low[t, k], truth, share.high[t, k])
        chosen, ratio = rates["selection_rate"], table.impact_ratio
        for t in range(len(CUTS)):
            if not np.isnan(ratio.value[t]):
                low, high = int(ratio.lowest[t]), int(ratio.highest[t])
                truth = chosen[t, low] / chosen[t, high]
                tally.inside("impact ratio", t, ratio.low[t], truth, ratio.high[t])
        for t, cut in enumerate(CUTS):
            for e in rate_difference_estimates(scores, cut, ["fpr", "selection"]):
                rate = "selection_rate" if e.name == "selection" else e.name
                truth = rates[rate][t, 0] - rates[rate][t, 1]
                tally.inside("rate differences", (e.name, t), e.low, truth, e.high)
        if "calibration" in parts:
            found = calibration_by_group(scores)
            ends = np.concatenate([[-np.inf], found.edges[1:-1], [np.inf]])
            mass = np.diff(ndtr(ends[:, None, None] - MEANS), axis=0)
            truth = mass[:, 1] / mass.sum(axis=1)
            for b, k in np.ndindex(truth.shape):
                ends = found.positives.low[b, k], found.positives.high[b, k]
                if not np.isnan(ends[0]):
                    tally.inside("calibration", (b, k), ends[0], truth[b, k], ends[1])
        for on, apart in zip(("negatives", "positives"), between, strict=True):
            truth = ndtr(ndtri(RATES) + apart) - RATES
            band = roc_gap_band(scores, on, RATES, kind="pointwise")
            for r, rate in enumerate(RATES):
                kind = "roc gaps, edge" if min(rate, 1.0 - rate) <= 0.05 else "roc gaps"
                tally.inside(kind, (on, rate), band.low[r], truth[r], band.high[r])
            truth = ndtr(ndtri(GRID) + apart) - GRID
            for kind in ("simultaneous", "dkw"):
                if f"{kind} band" in parts:
                    seed = dict(n_resamples=200, random_state=rng)
                    band = roc_gap_band(scores, on, GRID, kind=kind, **seed)
                    tally.inside(f"{kind} band", on, band.low, truth, band.high)
        if "bootstrap" in parts:
            found = bootstrap(scores, fpr_difference, n_resamples=400, random_state=rng)
            [gap] = found.intervals()
            truth = rates["fpr"][2, 0] - rates["fpr"][2, 1]
            tally.inside("bootstrap", "", gap.low, truth, gap.high)
    return tally
