"""The training objective in score space: value and gradient with respect to the scores.

One saddle problem serves every learner: minimise over the scores, and maximise over multipliers
|m_k| ≤ strength,

    1 − AUC(s) + Σ_k m_k gap_k(s),

AUC and gaps being surrogates (the step function replaced by a logistic one), for any mixture of AUC
and ROC constraints and any number of groups. A linear scorer multiplies the gradient by Xᵀ,
boosting takes it as it is, a network propagates it back.

The derivative at a score depends on the score and its cell only: it is a function on a grid for
each cell, the `slopes`. A learner that works in batches reads them at any score it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenscore.constraints import Constraint
from evenscore.learning.pairs import Grid, SmoothCells, smooth_cells
from evenscore.learning.surrogates import logistic_slope
from evenscore.learning.terms import Terms
from evenscore.measures import auc_matrix
from evenscore.scores import GroupedScores

__all__ = ["Cuts", "Evaluation", "Objective", "Strict", "cuts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Respond = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Surrogate AUC and gaps, the value 1 − AUC + cost of the gaps, and its gradient.

    `slopes` (cells × grid) are the derivatives for a score that holds the whole weight of its cell.
    """

    auc: float
    gaps: Floats
    value: float
    gradient: Floats
    grid: Grid
    slopes: Floats


@dataclass(frozen=True, eq=False)
class Strict:
    """Exact AUC and gaps."""

    auc: float
    gaps: Floats


class Objective:
    """Surrogate and strict AUC and gaps of scores, for fixed labels, groups and weights.

    `positive` and `codes` (group numbers 0..K−1) are as `decode` gives them. The bandwidth is in
    units of the score: standardise scores first. `optimism`, one for each gap asked for, is added
    to the gaps: by how much they are known to be larger on new rows. An empty cell counts for
    nothing where its coefficient is zero and makes gaps that need it NaN: check beforehand.
    """

    def __init__(
        self,
        positive: NDArray[np.bool_],
        codes: Ints,
        n_groups: int,
        constraints: Sequence[Constraint] = (),
        *,
        weight: Floats | None = None,
        bandwidth: float = 0.3,
        guards: bool = False,
        optimism: Floats | float = 0.0,
    ) -> None:
        if not bandwidth > 0.0:
            raise ValueError(f"bandwidth must be above 0, not {bandwidth!r}.")
        self.n_groups, self.n_cells = n_groups, 2 * n_groups
        self.positive, self.codes = np.asarray(positive, dtype=bool), np.asarray(codes)
        self.weight = weight
        self.bandwidth = float(bandwidth)
        self.cell = (self.codes + n_groups * self.positive).astype(np.intp)
        weights = np.ones(len(self.cell)) if weight is None else weight
        totals = np.bincount(self.cell, weights=weights, minlength=self.n_cells).astype(np.float64)
        self.cell_weights = totals.reshape(2, n_groups)
        self.share = weights / totals[self.cell]
        self.terms = Terms.of(constraints, self.cell_weights, guards=guards)
        self.optimism = np.zeros(len(self.terms))
        self.optimism[self.terms.asked] = optimism
        self._undefined = self.terms.need(np.flatnonzero(totals == 0.0))
        negatives, positives = self.cell_weights / self.cell_weights.sum(axis=1, keepdims=True)
        self._overall = np.zeros((self.n_cells, self.n_cells))
        self._overall[:n_groups, n_groups:] = np.outer(negatives, positives)

    def grouped(self, score: Floats) -> GroupedScores:
        """The scores by class and group, as an audit sees them."""
        return GroupedScores.from_arrays(
            self.positive,
            score,
            sensitive_features=self.codes,
            sample_weight=self.weight,
            group_order=range(self.n_groups),
        )

    def strict(self, score: Floats) -> Strict:
        """The exact overall AUC and the exact gap of every term."""
        scores = self.grouped(score)
        return Strict(float(auc_matrix(scores).overall), self.terms.strict(scores) + self.optimism)

    def standard_errors(self) -> Floats:
        """Of each gap, were the groups alike: √(a(1 − a)(1/n₀ + 1/n₁)) at a rate a.

        Of an AUC gap, that of the AUC of an uninformative score between two samples as large as the
        classes of a group, for both groups together. A weight of two counts as two observations;
        weights that add up to less than the number of rows are relative ones.
        """
        total = float(self.cell_weights.sum())
        sizes = self.cell_weights.reshape(-1) * max(1.0, len(self.cell) / total)
        inverse = 1.0 / np.where(sizes > 0.0, sizes, np.nan)
        terms, k = self.terms, self.n_groups
        roc = ~np.isnan(terms.rate)
        rate = np.where(roc, terms.rate, 0.5)
        ends = [inverse[cell] for cell in (terms.first, terms.second)]
        both = [inverse[cell % k] + inverse[cell % k + k] for cell in (terms.first, terms.second)]
        between = np.where(roc, rate * (1.0 - rate) * sum(ends), sum(both) / 12.0)
        return np.sqrt(between)

    def evaluate(self, score: Floats, respond: Respond) -> Evaluation:
        """Surrogates and the gradient with respect to the scores.

        `respond` turns the gaps into what they cost and the derivative of that cost by each gap:
        with fixed multipliers m, (m · gaps, m).
        """
        smooth = smooth_cells(score, self.cell, self.share, self.n_cells, self.bandwidth)
        aucs, terms = smooth.auc, self.terms
        auc = float(np.sum(self._overall * aucs))
        pairs, roc = terms.auc, terms.roc
        gaps = np.empty(len(terms))
        gaps[pairs] = np.tensordot(terms.coefficients, aucs, axes=2)
        cut = cuts(smooth, terms.first[roc], terms.second[roc], terms.rate[roc])
        gaps[roc] = cut.gaps
        gaps += self.optimism
        gaps[self._undefined] = np.nan
        cost, multipliers = respond(gaps)
        combined = np.tensordot(multipliers[pairs], terms.coefficients, axes=1) - self._overall
        # d/ds of Σ V_ij AUC_ij at a score of cell c: Σ_i (V_ic − V_ci) · density of cell i there.
        slopes = (combined - combined.T).T @ smooth.density
        cut.add_slopes(slopes, smooth, multipliers[roc])
        gradient = self.share * smooth.grid.read_at(slopes, self.cell, smooth.placed)
        return Evaluation(auc, gaps, 1.0 - auc + cost, gradient, smooth.grid, slopes)


@dataclass(frozen=True, eq=False)
class Cuts:
    """Thresholds of ROC gaps, the two cells compared, their densities there, and the gaps."""

    first: Ints
    second: Ints
    thresholds: Floats
    densities: tuple[Floats, Floats]
    gaps: Floats

    def add_slopes(self, slopes: Floats, smooth: SmoothCells, multipliers: Floats) -> None:
        """Add multiplier · dΔ/ds to the slopes, the thresholds moving with the scores.

        With k_z the density of group z at the threshold t, a score of the second group moves the
        gap by k(s − t) · 2k_0/(k_0 + k_1), one of the first by minus the same with k_1.
        """
        active = np.flatnonzero(multipliers)
        if not len(active):
            return
        away = (smooth.grid.points - self.thresholds[active, None]) / smooth.bandwidth
        kernel = logistic_slope(away) / smooth.bandwidth
        one, two = (density[active] for density in self.densities)
        factor = 2.0 * multipliers[active] / np.maximum(one + two, 1e-300)
        np.add.at(slopes, self.first[active], -(factor * two)[:, None] * kernel)
        np.add.at(slopes, self.second[active], (factor * one)[:, None] * kernel)


def cuts(smooth: SmoothCells, first: Ints, second: Ints, rates: Floats) -> Cuts:
    """Where the mean of two cells' surrogate rates is the rate asked, and by how much they differ.

    Exact on the smoothed distributions: the grid brackets each threshold, Newton's steps refine it.
    """
    grid = smooth.grid
    low, high = np.zeros(len(rates), dtype=np.intp), np.full(len(rates), grid.size - 1)
    for _ in range(int(grid.size).bit_length()):
        middle = (low + high) // 2
        mean = 0.5 * (smooth.below[first, middle] + smooth.below[second, middle])
        over = mean >= 1.0 - rates
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    both = np.concatenate([first, second])

    def read(position: Floats) -> tuple[Floats, Floats]:
        """Smoothed distribution functions and densities, (2 × cuts), at a position each."""
        placed = grid.place(np.tile(position, 2))
        below, density = (
            grid.read_at(part, both, placed).reshape(2, -1)
            for part in (smooth.below, smooth.density)
        )
        return below, density

    ends = [0.5 * (smooth.below[first, k] + smooth.below[second, k]) for k in (low, high)]
    part = np.clip((1.0 - rates - ends[0]) / np.maximum(ends[1] - ends[0], 1e-300), 0.0, 1.0)
    at: Floats = np.asarray(grid.start + grid.step * (low + part), dtype=np.float64)
    for _ in range(2):
        below, density = read(at)
        step = (below.mean(axis=0) - (1.0 - rates)) / np.maximum(density.mean(axis=0), 1e-12)
        at = at - np.clip(step, -grid.step, grid.step)
    below, density = read(at)
    one, two = density
    return Cuts(first, second, at, (one, two), below[0] - below[1])
