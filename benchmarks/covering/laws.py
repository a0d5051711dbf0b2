"""People drawn from laws whose truth is known, also where weights depend on class or score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from evenscore import GroupedScores
from evenscore.paper.laws import DiscreteLaw, PiecewiseLinearLaw, ScoreLaw, credit_law

WEIGHTS = ("none", "random", "by class", "by score")
HEAVY_CLASS, HEAVY_HALF = 3.0, 4.0
TOGETHER, CORRELATION = 5, 0.3  # rows of a cluster, and the correlation of their normal scores


def uneven_law(cell_weights=((0.3, 0.15), (0.35, 0.2))) -> PiecewiseLinearLaw:
    """The credit score with negatives that differ too, and groups of two sizes by default."""
    credit = credit_law()
    rows = credit.cdf_values.copy()
    rows[1] = [0.0, 0.25, 0.45, 0.55, 0.68, 0.78, 0.85, 1.0]
    return PiecewiseLinearLaw(credit.knots, rows, cell_weights)


def mixed_with_other(law: PiecewiseLinearLaw, part: float) -> PiecewiseLinearLaw:
    """Each of two groups partly scored like the other: 0.5 makes them alike, 1 exchanges them."""
    rows = law.cdf_values
    return PiecewiseLinearLaw(
        law.knots, (1.0 - part) * rows + part * rows[[1, 0, 3, 2]], law.cell_weights
    )


def many_groups(law: PiecewiseLinearLaw, n_groups: int, odd: int = 0) -> PiecewiseLinearLaw:
    """Groups of one size scored like the law's first, but for `odd` of them, like its second."""
    which = np.array([1] * odd + [0] * (n_groups - odd))
    rows = np.concatenate([law.cdf_values[which], law.cdf_values[2 + which]])
    return PiecewiseLinearLaw(law.knots, rows, np.full((2, n_groups), 0.5 / n_groups))


def discretised(law: ScoreLaw, levels: int | None) -> ScoreLaw:
    """The score rounded to so many levels, from 1/levels to 1; as it is, if None."""
    if levels is None:
        return law
    found = law.discretised(levels)
    return DiscreteLaw(found.values / levels, found.probabilities, found.cell_weights)


def reweighted(law: ScoreLaw, weights: str, kept: float = 1.0) -> ScoreLaw:
    """The law that weighted shares estimate; `kept` is the share of people whose rank is weighed.

    "by class": positives weigh three times as much. "by score": the upper half of every cell weighs
    four times as much, by the score itself or by one that has the same rank for `kept` of the cell.
    """
    cells = law.cell_weights.copy()
    if weights == "by class":
        cells[1] *= HEAVY_CLASS
    cells /= cells.sum()

    def tilt(cdf: np.ndarray) -> np.ndarray:
        if weights != "by score":
            return cdf
        below, above = np.minimum(cdf, 0.5), np.maximum(cdf - 0.5, 0.0)
        heavy = (below + HEAVY_HALF * above) / (0.5 + 0.5 * HEAVY_HALF)
        return kept * heavy + (1.0 - kept) * cdf

    if isinstance(law, DiscreteLaw):
        cumulative = tilt(law.cdf(law.values).T)
        return DiscreteLaw(law.values, np.diff(cumulative, axis=1, prepend=0.0), cells)
    knots = np.union1d(law.knots, law.quantile(0.5))  # the tilt bends at the medians
    return PiecewiseLinearLaw(knots, tilt(law.cdf(knots).T), cells)


@dataclass(frozen=True)
class People:
    """Classes, groups, weights, and the rank of each person within the cell, in (0, 1]."""

    y: np.ndarray
    group: np.ndarray
    rank: np.ndarray
    weight: np.ndarray | None
    cluster: np.ndarray | None = None

    @classmethod
    def clustered(cls, law: ScoreLaw, cell_size: int, rng: np.random.Generator) -> People:
        """Rows in clusters, each in one group: the ranks of a cluster are alike, and uniform.

        There are so many that the smallest cell is expected to be worth so many clusters.
        """
        shares = law.cell_weights.sum(axis=0)
        while True:
            n = round(cell_size / law.cell_weights.min())
            of_cluster = rng.choice(law.n_groups, size=n, p=shares / shares.sum())
            cluster = np.repeat(np.arange(n), TOGETHER)
            group = of_cluster[cluster]
            y = (rng.random(len(group)) < (law.cell_weights[1] / shares)[group]).astype(int)
            if len(np.unique(y * law.n_groups + group)) == 2 * law.n_groups:
                break
        common = rng.normal(size=n)[cluster]
        own = rng.normal(size=len(cluster))
        rank = ndtr(np.sqrt(CORRELATION) * common + np.sqrt(1.0 - CORRELATION) * own)
        return cls(y, group, rank, None, cluster)

    @classmethod
    def draw(cls, law: ScoreLaw, cell_size: int, weights: str, rng: np.random.Generator) -> People:
        """People drawn at random, so many that the smallest cell is expected to have its size."""
        while True:
            n = round(cell_size / law.cell_weights.min())
            cell = rng.choice(2 * law.n_groups, size=n, p=law.cell_weights.ravel())
            if len(np.unique(cell)) == 2 * law.n_groups:
                break
        y, group = np.divmod(cell, law.n_groups)
        rank = 1.0 - rng.random(n)
        weight = None if weights == "none" else rng.gamma(2.0, size=n)
        if weights == "by class":
            weight = weight * np.where(y == 1, HEAVY_CLASS, 1.0)
        if weights == "by score":
            weight = weight * np.where(rank > 0.5, HEAVY_HALF, 1.0)
        return cls(y, group, rank, weight)

    def score(self, law: ScoreLaw, rank: np.ndarray | None = None) -> np.ndarray:
        """The score of everybody, from their rank within the cell."""
        rank = self.rank if rank is None else rank
        found = np.empty(len(rank))
        for number, cell in enumerate(np.eye(2 * law.n_groups)):
            own = self.y * law.n_groups + self.group == number
            found[own] = law.mixture_quantile(cell, rank[own])
        return found

    def scored(self, law: ScoreLaw) -> GroupedScores:
        return GroupedScores.from_arrays(
            self.y,
            self.score(law),
            sensitive_features=self.group,
            sample_weight=self.weight,
            cluster=self.cluster,
        )


def split_roc_gap(law: ScoreLaw, on: str, rates, first: int = 0, second: int = 1) -> np.ndarray:
    """The true ROC gap, ties broken at random: between atoms the curve is straight."""
    rates = np.asarray(rates)
    if not isinstance(law, DiscreteLaw):
        return law.roc_gap(on, rates, first, second)
    above = 1.0 - law.cdf(np.concatenate([[-np.inf], law.values]))[::-1]
    shift = law.n_groups * (on == "positives")
    return np.interp(rates, above[:, shift + first], above[:, shift + second]) - rates


def larger_roc_gap(law: ScoreLaw, on: str, rates, first: int = 0, second: int = 1) -> np.ndarray:
    """The true gap as it is reported: cut in the group where it is larger, and signed."""
    one = split_roc_gap(law, on, rates, first, second)
    two = -split_roc_gap(law, on, rates, second, first)
    return np.where(np.abs(one) >= np.abs(two), one, two)
