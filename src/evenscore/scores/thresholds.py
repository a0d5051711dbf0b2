"""Cutting the score: rates of each group at a threshold, and the thresholds that are fair.

A person is selected if their score is *above* the threshold (s > t), as in the paper.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from evenscore.scores import CLASSES, GroupedScores, check_scores
from evenscore.scores.arrays import Bools, Floats
from evenscore.scores.distribution import RATE_TOLERANCE, to_floats
from evenscore.scores.labels import shown
from evenscore.scores.rates import CATALOGUE, rate_named


@dataclass(frozen=True, eq=False)
class GroupRates:
    """What a cut does to each group.

    `selected`, (thresholds, 2, groups), are the weights of its negatives and positives above the
    threshold, `totals`, (2, groups), those of all of them. Every rate of the catalogue
    (`evenscore.rate_names()`) is an attribute: an array (thresholds, groups), NaN where nobody is
    behind it.
    """

    thresholds: Floats
    groups: tuple[Hashable, ...]
    selected: Floats
    totals: Floats

    def rate(self, name: str) -> Floats:
        """A rate by its name in the catalogue."""
        return rate_named(name).values(self.selected, self.totals)

    def __getattr__(self, name: str) -> Floats:
        if name not in CATALOGUE:
            raise AttributeError(f"There is no rate {name!r}; there are {', '.join(CATALOGUE)}.")
        return self.rate(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *CATALOGUE})


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
    return GroupRates(cut, scores.groups, totals - rejected, totals)


@dataclass(frozen=True, eq=False)
class FairThresholds:
    """Thresholds at which a rate is the same in the groups compared, in increasing order.

    Entry i is the interval low[i] ≤ t < high[i] on which the gap stays within the tolerance; or,
    where `jump[i]`, the single score low[i] = high[i] at which the gap passes from one sign to the
    other without any threshold of equality in between (a sample's rates move in steps).
    """

    rate: str
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
    rate: str,
    groups: Sequence[Hashable] | None = None,
    *,
    tolerance: float = 0.0,
) -> FairThresholds:
    """All thresholds at which the score, cut there, is fair as a classifier (Proposition 2).

    `rate` is one of the catalogue; `groups` are the groups compared, all by default. Fair means
    that their rates differ by at most `tolerance`. Cuts that select everybody or nobody are left
    out. Between two groups, the places where the gap jumps over zero are listed too.

    >>> s = GroupedScores.from_arrays([0, 0, 0, 0, 1, 1], [1, 4, 2, 3, 5, 6],
    ...                               sensitive_features=list("aabbab"))
    >>> fair = fair_thresholds(s, "fpr")
    >>> list(zip(fair.low.tolist(), fair.high.tolist()))
    [(2.0, 3.0), (4.0, 6.0)]
    """
    check_scores(scores)
    if not isinstance(tolerance, Real) or not 0.0 <= tolerance <= 1.0:
        raise ValueError(f"tolerance must lie between 0 and 1, not {shown(tolerance)}.")
    entry = rate_named(rate)
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
    if entry.on is not None:
        needed = weights[CLASSES.index(entry.on)]
    else:
        needed = weights.min(axis=0) if entry.standardised else weights.sum(axis=0)
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
