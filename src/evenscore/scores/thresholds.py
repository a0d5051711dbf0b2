"""Cutting the score: rates of each group at a threshold, and the thresholds that are fair.

A person is selected if their score is *above* the threshold (s > t), as in the paper.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evenscore.scores import GroupedScores, check_scores
from evenscore.scores.arrays import Bools, Floats, ratio
from evenscore.scores.distribution import RATE_TOLERANCE, to_floats

RateName = Literal["fpr", "tpr", "fnr", "selection_rate", "error_rate", "precision"]
RATES: tuple[RateName, ...] = ("fpr", "tpr", "fnr", "selection_rate", "error_rate", "precision")


@dataclass(frozen=True, eq=False)
class GroupRates:
    """What a cut does to each group; rates have shape (thresholds, groups), NaN if undefined."""

    thresholds: Floats
    groups: tuple[Hashable, ...]
    selected: Floats  # weight above the threshold, shape (thresholds, 2, K)
    rejected: Floats  # weight at or below it

    @property
    def selection_rate(self) -> Floats:
        """P(s > t) in the group."""
        above, below = self.selected.sum(axis=1), self.rejected.sum(axis=1)
        return ratio(above, above + below)

    @property
    def fpr(self) -> Floats:
        """False positive rate: share of the group's negatives that is selected."""
        return ratio(self.selected[:, 0], self.selected[:, 0] + self.rejected[:, 0])

    @property
    def tpr(self) -> Floats:
        """True positive rate: share of the group's positives that is selected."""
        return ratio(self.selected[:, 1], self.selected[:, 1] + self.rejected[:, 1])

    @property
    def fnr(self) -> Floats:
        """False negative rate: share of the group's positives that is rejected."""
        return ratio(self.rejected[:, 1], self.selected[:, 1] + self.rejected[:, 1])

    @property
    def error_rate(self) -> Floats:
        """Share of the group that is misclassified (the paper's M)."""
        wrong = self.selected[:, 0] + self.rejected[:, 1]
        return ratio(wrong, wrong + self.rejected[:, 0] + self.selected[:, 1])

    @property
    def precision(self) -> Floats:
        """Share of positives among those selected; NaN if nobody is."""
        return ratio(self.selected[:, 1], self.selected.sum(axis=1))

    def rate(self, name: RateName) -> Floats:
        """A rate by name, one of `RATES`."""
        if name not in RATES:
            raise ValueError(f"There is no rate {name!r}; there are {', '.join(RATES)}.")
        return np.asarray(getattr(self, name))


def rates_at(scores: GroupedScores, thresholds: ArrayLike) -> GroupRates:
    """The rates of each group when the score is cut at the given threshold(s).

    >>> s = GroupedScores.from_arrays([0, 1, 0, 1], [1, 2, 2, 3], sensitive_features=list("aabb"))
    >>> rates_at(s, [1.5]).fpr
    array([[0., 1.]])
    """
    check_scores(scores)
    cut = np.atleast_1d(to_floats(thresholds, "thresholds"))
    if cut.ndim != 1 or np.isnan(cut).any():
        raise ValueError("thresholds must be one or several numbers, none of them NaN.")
    rejected = np.empty((len(cut), 2, scores.n_groups))
    totals = np.empty((2, scores.n_groups))
    for cell, sample in zip(np.ndindex(totals.shape), scores.cell_distributions, strict=True):
        rejected[:, *cell] = sample.weight_below(cut, inclusive=True) if len(sample) else 0.0
        totals[cell] = sample.total
    return GroupRates(cut, scores.groups, totals - rejected, rejected)


@dataclass(frozen=True, eq=False)
class FairThresholds:
    """Thresholds at which a rate is the same in the groups compared, in increasing order.

    Entry i is the interval low[i] ≤ t < high[i] on which the gap stays within the tolerance; or,
    where `jump[i]`, the single score low[i] = high[i] at which the gap passes from one sign to the
    other without any threshold of equality in between (a sample's rates move in steps).
    """

    rate: RateName
    groups: tuple[Hashable, ...]
    tolerance: float
    low: Floats
    high: Floats
    jump: Bools

    def __len__(self) -> int:
        return len(self.low)

    def contains(self, threshold: ArrayLike) -> Bools:
        """Whether the score cut at `threshold` is fair."""
        cut = np.asarray(threshold, dtype=np.float64)[..., None]
        inside = (self.low <= cut) & (cut < self.high)
        return np.asarray(inside.any(axis=-1))


def fair_thresholds(
    scores: GroupedScores,
    rate: RateName,
    groups: Sequence[Hashable] | None = None,
    *,
    tolerance: float = 0.0,
) -> FairThresholds:
    """All thresholds at which the score, cut there, is fair as a classifier (Proposition 2).

    `groups` are the groups compared, all by default. Fair means that their rates differ by at most
    `tolerance`. Cuts that select everybody or nobody are left out. Between two groups, the
    places where the gap jumps over zero are listed too.

    >>> s = GroupedScores.from_arrays([0, 0, 0, 0, 1, 1], [1, 4, 2, 3, 5, 6],
    ...                               sensitive_features=list("aabbab"))
    >>> fair = fair_thresholds(s, "fpr")
    >>> list(zip(fair.low.tolist(), fair.high.tolist()))
    [(2.0, 3.0), (4.0, 6.0)]
    """
    check_scores(scores)
    if not isinstance(tolerance, Real) or not tolerance >= 0.0:
        raise ValueError(f"tolerance must be at least 0, not {tolerance!r}.")
    if rate not in RATES:
        raise ValueError(f"There is no rate {rate!r}; there are {', '.join(RATES)}.")
    if isinstance(groups, str):
        raise ValueError(f"groups must be a list of group labels, not {groups!r}.")
    compared = scores.groups if groups is None else tuple(groups)
    positions = [scores.position(group) for group in compared]
    if len(positions) < 2 or len(set(positions)) < len(positions):
        raise ValueError(f"Fairness compares two groups or more, but {compared!r} was given.")
    levels = np.unique(scores.score[np.isin(scores.cell % scores.n_groups, positions)])
    # On [levels[i], levels[i + 1]) the classifier is the same; at the last level nobody is left.
    by_group = rates_at(scores, levels[:-1]).rate(rate)[:, positions]
    weights = scores.cell_weights[:, positions]
    needed = {"fpr": weights[0], "tpr": weights[1], "fnr": weights[1]}.get(
        rate, weights.sum(axis=0)
    )
    if (needed == 0).any():
        name = compared[int(np.argmin(needed))]
        raise ValueError(f"The {rate} of group {name!r} is undefined: it has an empty cell.")
    spread = by_group.max(axis=1) - by_group.min(axis=1)  # NaN (a precision of nobody) is unfair
    fair = spread <= tolerance + RATE_TOLERANCE
    change = np.flatnonzero(np.diff(np.concatenate(([False], fair, [False])).astype(np.int8)))
    low, high = levels[change[::2]], levels[change[1::2]]
    jump = np.zeros(len(low), dtype=bool)
    if len(positions) == 2:
        sign = np.sign(by_group[:, 0] - by_group[:, 1])
        over = ~fair[:-1] & ~fair[1:] & (sign[:-1] * sign[1:] < 0)
        at = levels[1:-1][over]
        low, high = np.concatenate([low, at]), np.concatenate([high, at])
        jump = np.concatenate([jump, np.ones(len(at), dtype=bool)])
        order = np.argsort(low, kind="stable")
        low, high, jump = low[order], high[order], jump[order]
    return FairThresholds(rate, compared, tolerance, low, high, jump)
