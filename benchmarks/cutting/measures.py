"""Worst gaps over the cuts in use, what chance alone leaves of them, and how places move."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

import evenscore as es

RANGES = {
    "negatives": es.Cuts(between=(0.05, 0.35), of="negatives"),
    "everyone": es.Cuts(between=(0.1, 0.4), of="everyone"),
}
RATES = ("fpr", "fnr")


def measured(part, score, shuffles: int) -> dict:
    """AUC, and by range the worst gap of each rate between any two groups, with its floor.

    The floor is the mean of the worst gap over shuffles of the groups within each class. It needs
    no second table: at a cut that selects m of a class of n, a shuffle selects as many of each
    group as are among the first m of n shuffled labels.
    """
    table = es.GroupedScores.from_arrays(part.y, score, sensitive_features=part.groups)
    counts = table.cell_counts.astype(int)
    labels = [np.repeat(np.arange(table.n_groups), counts[c]) for c in range(2)]
    steps, found = {}, {"auc": float(roc_auc_score(part.y, score))}
    for name, cuts in RANGES.items():
        gaps = es.RateConstraint(*RATES, cuts=cuts).values(table).reshape(2, -1)
        gaps = np.abs(gaps).max(axis=1)
        ladder = cuts.ladder(table)
        [(first, last)] = cuts.steps(ladder)
        selected = ladder.selected(np.arange(first, last + 1)).count.round().astype(int)
        # The same by counting, as the shuffles do it: a check on both.
        counted = [_worst(selected[:, c], counts[c]) for c in (0, 1)]
        if not np.allclose(gaps, counted, rtol=0.0, atol=1e-9, equal_nan=True):
            raise AssertionError(f"Worst gaps {gaps} but {counted} by counting.")
        steps[name] = selected.sum(axis=2)
        found[name] = dict(zip(RATES, gaps.tolist(), strict=True))
    rng = np.random.default_rng(0)
    floors: dict = {name: np.zeros(2) for name in RANGES}
    for _ in range(shuffles):
        for c in (0, 1):
            drawn = rng.permutation(labels[c])[:, None] == np.arange(table.n_groups)
            up_to = np.vstack([np.zeros((1, table.n_groups)), np.cumsum(drawn, axis=0)])
            for name, numbers in steps.items():
                floors[name][c] += _worst(up_to[numbers[:, c]], counts[c])
    for name in RANGES:
        for rate, total in zip(RATES, floors[name], strict=True):
            found[name][f"{rate}_floor"] = float(total / shuffles) if shuffles else float("nan")
    return found


def _worst(selected, counts) -> float:
    """The largest difference of the groups' shares selected, (cuts, groups), of a class."""
    if not len(selected):
        return float("nan")
    return float(np.ptp(selected / counts, axis=1).max())


def moved(one, other) -> list[float]:
    """By how much the ranks of the same people differ between two scores: median, 90 %, 99 %."""
    change = np.abs(rankdata(one) - rankdata(other)) / len(one)
    return np.quantile(change, (0.5, 0.9, 0.99)).tolist()
