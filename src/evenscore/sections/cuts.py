"""Thresholds at which the score is fair as a classifier."""

from __future__ import annotations

import numpy as np

from evenscore.distributions import Distribution
from evenscore.results import FairCuts
from evenscore.scores import GroupedScores
from evenscore.thresholds import RateName, fair_thresholds

__all__ = ["fair_cut_section"]

_FAIR_RATES: tuple[RateName, ...] = ("fpr", "fnr", "selection_rate", "error_rate")
_NAMES = {
    "fpr": "false positive rates",
    "fnr": "false negative rates",
    "selection_rate": "selection rates",
    "error_rate": "error rates",
}
_KEPT_CUTS = 20


def fair_cut_section(
    scores: GroupedScores, tolerance: float, everyone: Distribution, *, exact: bool
) -> tuple[FairCuts, ...]:
    """The thresholds at which each rate differs by the tolerance at most between all groups.

    `everyone` is the distribution of all scores; `exact` says whether the table is the full one.
    """
    evaluated = len(np.unique(scores.score))
    return tuple(
        _fair_cuts(scores, rate, tolerance, everyone, evaluated, exact) for rate in _FAIR_RATES
    )


def _fair_cuts(
    scores: GroupedScores,
    rate: RateName,
    tolerance: float,
    everyone: Distribution,
    evaluated: int,
    exact: bool,
) -> FairCuts:
    try:
        fair = fair_thresholds(scores, rate, tolerance=tolerance)
    except ValueError as error:  # one group, or an empty cell: it says so
        nothing = np.zeros(0)
        reason = str(error) if scores.n_groups > 1 else "Fairness needs two groups."
        return FairCuts(
            rate, tolerance, nothing, nothing, nothing, nothing, 0, 0.0, 0, exact, "", reason
        )
    low, high = fair.low[~fair.jump], fair.high[~fair.jump]
    most, least = everyone.survival(low), everyone.survival(high)
    order = np.argsort(least - most, kind="stable")
    keep = np.sort(order[:_KEPT_CUTS])
    rest = order[_KEPT_CUTS:]
    long = [k for k in keep[::-1] if most[k] - least[k] > 0.002]
    told = ", ".join(f"{least[k]:.1%} to {most[k]:.1%}" for k in long)
    if told:
        words = f"the {_NAMES[rate]} differ by {tolerance:g} at most when the cut selects {told}"
        short = len(keep) - len(long)
        if short:
            words += f", and in {short} short range{'s' if short > 1 else ''} beside"
    else:
        words = f"no cut makes the {_NAMES[rate]} differ by {tolerance:g} at most for long"
    return FairCuts(
        rate,
        tolerance,
        low[keep],
        high[keep],
        least[keep],
        most[keep],
        len(rest),
        float((most - least)[rest].sum()),
        evaluated,
        exact,
        words,
    )
