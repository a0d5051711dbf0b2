"""Rates of the groups over many cuts, each with the interval that it has by itself.

A rate at a cut is a share, and its interval is Wilson's, with effective sizes where there are
weights or clusters. A standardised rate is no share: its interval is that of its standard error.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenscore.inference.cut_gaps import RateErrors
from evenscore.inference.cuts import Shares
from evenscore.inference.estimate import check_level
from evenscore.inference.intervals import normal_quantile
from evenscore.scores.arrays import Floats, Ints
from evenscore.scores.rates import Rate


@dataclass(frozen=True, eq=False)
class RateCurve:
    """A rate of each group at some cuts, (cuts, groups), with the ends of its intervals."""

    rate: str
    title: str
    shares: Shares


@dataclass(frozen=True, eq=False)
class CutCurves:
    """Rates of the groups over some cuts, from the strictest, with pointwise bands.

    `selected_share` is the share of the pool that each cut selects, and `thresholds` are scores at
    which it is made.
    """

    thresholds: Floats
    selected_share: Floats
    groups: tuple[str, ...]
    confidence_level: float
    rates: tuple[RateCurve, ...]


def cut_curves(
    errors: RateErrors,
    rates: Sequence[Rate],
    steps: Ints,
    groups: Sequence[int],
    *,
    inclusive: bool = False,
    confidence_level: float = 0.95,
) -> CutCurves:
    """The rates of the groups at these positions, at increasing steps of a ladder.

    >>> from evenscore.scores import GroupedScores
    >>> from evenscore.scores.rates import CATALOGUE
    >>> from evenscore.scores.selection import Ladder
    >>> scores = GroupedScores.from_arrays(
    ...     [0, 1] * 50, range(100), sensitive_features=["a", "a", "b", "b"] * 25)
    >>> ladder = Ladder.make(scores, "everyone", "high")
    >>> curves = cut_curves(RateErrors(ladder), [CATALOGUE["fpr"]], np.array([20, 40]), [0, 1])
    >>> curves.thresholds, curves.rates[0].shares.value
    (array([79., 59.]), array([[0.2, 0.2],
           [0.4, 0.4]]))
    """
    z = normal_quantile(0.5 + check_level(confidence_level) / 2.0)
    ladder, some = errors.ladder, list(groups)
    selected = ladder.selected(steps)
    curves = []
    for rate in rates:
        at = errors.at(rate, selected)
        value = np.where(at.assessable, at.value, np.nan)[:, some]
        if rate.standardised:
            half = z * at.error[:, some]
            shares = Shares(value, np.maximum(value - half, 0.0), np.minimum(value + half, 1.0))
        else:
            shares = Shares.of(value, at.size[:, some], z)
        curves.append(RateCurve(rate.name, rate.title, shares))
    return CutCurves(
        np.array([ladder.threshold(int(step), inclusive=inclusive) for step in steps]),
        ladder.share[steps],
        tuple(ladder.scores.names[k] for k in some),
        confidence_level,
        tuple(curves),
    )
