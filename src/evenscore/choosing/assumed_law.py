"""The law that a plan assumes: scores are normal in each class of each group.

The negatives of a group have scores N(m, 1), its positives N(m + d, 1), so that the score ranks
them with an AUC of Φ(d/√2). A score without gaps has one m and one d for all groups. If some true
gap is assumed, one group, that with the smallest cell, is moved: its scores are higher by a
constant or, where that changes nothing (a gap of AUCs within groups), its classes lie nearer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenscore.gaps import GapFamily
from evenscore.gaps.family import family_values
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.scores.selection import pool_classes

LEVELS = 2_000  # of the table of a law, equally likely: cuts are 0.05 % of everyone apart
_FARTHEST = 4.0  # standard deviations by which a group may be moved


@dataclass(frozen=True, eq=False)
class AssumedLaw:
    """Normal scores of the 2K cells: their shares of everybody and their means, (2, groups)."""

    shares: Floats
    means: Floats

    @classmethod
    def without_gaps(cls, group_shares: Floats, prevalence: Floats, auc: float) -> "AssumedLaw":
        """All groups alike but for their prevalence.

        >>> law = AssumedLaw.without_gaps(np.array([0.7, 0.3]), np.array([0.5, 0.5]), 0.8)
        >>> law.means[1].round(2)
        array([1.19, 1.19])
        """
        from scipy.special import ndtri

        shares = np.stack([group_shares * (1.0 - prevalence), group_shares * prevalence])
        means = np.zeros_like(shares)
        means[1] = np.sqrt(2.0) * ndtri(auc)
        return cls(shares / shares.sum(), means)

    def above(self, thresholds: Floats) -> Floats:
        """The share of each cell above some thresholds, (thresholds, 2, groups)."""
        from scipy.special import ndtr

        return np.asarray(ndtr(self.means - thresholds[:, None, None]))

    def thresholds(self, shares: Floats, classes: Sequence[int] = (0, 1)) -> Floats:
        """Above which these shares of all people of some classes are, by bisection."""
        weights = self.shares[list(classes)] / self.shares[list(classes)].sum()
        low, high = (np.full(len(shares), end) for end in (-12.0, 12.0 + self.means.max()))
        for _ in range(60):
            middle = (low + high) / 2.0
            more = np.sum(self.above(middle)[:, list(classes)] * weights, axis=(1, 2)) > shares
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        return np.asarray((low + high) / 2.0)

    def masses(self, families: Sequence[GapFamily]) -> Floats:
        """The share of everybody in each level of a fine scale and each cell, (levels, 2, groups).

        The cuts at which some family looks lie between two levels.
        """
        ends = [self.thresholds(np.arange(1, LEVELS) / LEVELS)]
        for family in families:
            asked = family.rates_at_cuts
            if asked is not None:
                cuts = asked.cuts
                shares = np.array([*(cuts.between or ()), *cuts.at])
                shares = shares if cuts.selected == "high" else 1.0 - shares
                ends.append(self.thresholds(shares, pool_classes(cuts.of)))
        between = np.unique(np.concatenate(ends).round(12))
        none, every = np.zeros((1, *self.shares.shape)), np.ones((1, *self.shares.shape))
        up_to = np.concatenate([none, 1.0 - self.above(between), every])
        return np.maximum(np.diff(up_to, axis=0), 0.0) * self.shares

    def moved(self, families: Sequence[GapFamily], gap: float) -> "AssumedLaw":
        """The law with one group moved so that the largest gap of some families is `gap`.

        Where it is larger than that already, prevalence being unequal, nothing is moved.
        """
        from scipy.optimize import brentq

        if self.largest_gap(families) >= gap - 1e-9:
            return self
        group = int(np.argmin(self.shares.min(axis=0)))
        ways: tuple[Callable[[float], AssumedLaw], ...] = (
            lambda by: self._by(group, by, by),
            lambda by: self._by(group, 0.0, -by),
        )
        for way, farthest in zip(ways, (_FARTHEST, float(self.means[1, group])), strict=True):
            sizes = (farthest * np.array([0.02, 0.1, 0.3, 1.0])).tolist()
            for by in sizes:
                if way(by).largest_gap(families) > gap:
                    found = brentq(
                        lambda by, way=way: way(by).largest_gap(families) - gap,
                        0.0,
                        by,
                        xtol=1e-6,
                    )
                    return way(float(found))
        raise ValueError(
            f"No score that moves one group has a largest gap of {gap:g} here: assume a smaller "
            "gap."
        )

    def _by(self, group: int, negatives: float, positives: float) -> "AssumedLaw":
        means = self.means.copy()
        means[:, group] += negatives, positives
        return replace(self, means=means)

    def largest_gap(self, families: Sequence[GapFamily]) -> float:
        """The size of the largest gap of some families."""
        table = expected_table(self.masses(families), 1e6)
        return float(np.max(np.abs(family_values(table, families))))


def expected_table(masses: Floats, n: float) -> GroupedScores:
    """What is expected of n people of whom such shares are in the levels and cells."""
    levels, _, n_groups = masses.shape
    score, positive, group = np.meshgrid(
        np.arange(float(levels)), [False, True], np.arange(n_groups), indexing="ij"
    )
    return GroupedScores.from_codes(
        score.ravel(), positive.ravel(), group.ravel(), tuple(range(n_groups)),
        count=n * masses.ravel(),
    )  # fmt: skip
