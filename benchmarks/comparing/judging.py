"""One judge for all tools: what they answer is measured by evenscore, on test rows."""

from __future__ import annotations

import numpy as np
from cutting.measures import RANGES, RATES, measured

import evenscore as es

WHERE = "everyone"  # the range of cuts, of cutting.measures
HALF = es.Cuts(thresholds=(0.5,))


def judge_score(part, score, shuffles: int) -> dict[str, float | None]:
    """AUC, the worst gap of each rate over the cuts in use, and what chance leaves of it.

    None where no cut is in the range: so many people share one score.
    """
    found = measured(part, score, shuffles)
    gaps = {name: None if np.isnan(gap) else gap for name, gap in found[WHERE].items()}
    return {"auc": found["auc"], **gaps}


def judge_decision(part, decision) -> dict[str, float]:
    """The share selected, the share that is right, and the gaps at this one cut."""
    selected = np.asarray(decision, dtype=float)
    gaps = {
        rate: es.metrics.rate_gap(
            part.y, selected, sensitive_features=part.groups, rate=rate, cuts=HALF
        )
        for rate in RATES
    }
    right = float(np.mean(selected == part.y))
    return {"selected": float(selected.mean()), "accuracy": right, **gaps}


def cut_at(score, number: int) -> np.ndarray:
    """The decisions that select so many of the best scores (more where the last are tied)."""
    score = np.asarray(score)
    if number == 0:
        return np.zeros(len(score), dtype=int)
    return (score >= np.partition(score, -number)[-number]).astype(int)


def n_cuts(y, score, groups) -> int:
    """How many different cuts of a score lie in the range."""
    table = es.GroupedScores.from_arrays(y, score, sensitive_features=groups)
    cuts = RANGES[WHERE]
    [(first, last)] = cuts.steps(cuts.ladder(table))
    return int(last - first + 1)


def reference(y, score, groups, threshold: float) -> dict[str, float]:
    """What evenscore says of the numbers that another tool may report too."""
    told = {"sensitive_features": groups}
    rates = es.rates_at(y, score, threshold, **told)
    found = {"abroca": es.metrics.abroca(y, score, **told)}
    for rate in ("fpr", "fnr", "selection", "precision"):
        by_group = getattr(rates, rate)[0]
        found |= {f"{rate} {g}": v for g, v in zip(rates.groups, by_group, strict=True)}
        found[f"{rate} gap"] = float(np.ptp(by_group))
    # fair-scoring: the gap of a class, averaged over all cuts by the share they leave below
    thresholds, number = np.unique(score, return_counts=True)
    middle = (np.cumsum(number) - (number + 1) / 2) / (len(score) - 1)
    everywhere = es.rates_at(y, score, thresholds, **told)
    for name, rate in (("equal opportunity", "fnr"), ("predictive equality", "fpr")):
        sizes = np.ptp(getattr(everywhere, rate), axis=1)
        found[name] = float(np.sum(sizes[:-1] * np.diff(middle)))
    return found


def largest_difference(
    found: dict[str, float], known: dict[str, float]
) -> tuple[int, float | None]:
    """How many numbers have the same name, and the largest difference among them."""
    both = sorted(set(found) & set(known))
    sizes = [abs(found[name] - known[name]) for name in both]
    return len(both), float(np.max(sizes)) if sizes else None
