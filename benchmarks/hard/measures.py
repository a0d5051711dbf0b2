"""AUC and gaps of scores on test rows, and paired standard errors of their differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import evenscore as es
from evenscore.gaps import as_constraints
from evenscore.gaps.family import family_values

from .laws import Rows


@dataclass(frozen=True, eq=False)
class Scored:
    """A score of some rows, judged by the constraints.

    What is said of its gaps is one number: with a tolerance the size of the worst one, with a
    strength the sum of all sizes, which is what is paid for.
    """

    rows: Rows
    score: np.ndarray
    families: tuple
    summed: bool

    def measured(self, weight: np.ndarray | None = None) -> tuple[float, float]:
        """AUC and gaps; weights are times those of the rows."""
        rows, w = self.rows, self.rows.weight
        kept = slice(None)
        if weight is not None:
            w, kept = w * weight, weight > 0
        table = es.GroupedScores.from_arrays(
            rows.y[kept],
            self.score[kept],
            sensitive_features=rows.groups[kept],
            sample_weight=w[kept],
        )
        return self.auc(w), in_one_number(family_values(table, self.families), self.summed)

    def auc(self, weight: np.ndarray) -> float:
        """Share of the pairs in order, ties one half, all cells weighted."""
        if not hasattr(self, "_level"):
            object.__setattr__(self, "_level", np.unique(self.score, return_inverse=True)[1])
        level, n = self._level, self._level.max() + 1
        kinds = [
            np.bincount(level, weights=weight * (self.rows.y == kind), minlength=n)
            for kind in (0, 1)
        ]
        below = np.cumsum(kinds[0]) - 0.5 * kinds[0]
        return float(kinds[1] @ below / (kinds[0].sum() * kinds[1].sum()))


def in_one_number(gaps: np.ndarray, summed: bool) -> float:
    """The size of the worst gap, or the sum of all sizes; undefined ones do not count."""
    sizes = np.abs(gaps)
    return float(np.nansum(sizes) if summed else np.nanmax(sizes, initial=0.0))


def judged(rows: Rows, scores: dict[str, np.ndarray], constraints, summed: bool) -> dict:
    """AUC and gaps of several scores."""
    families = tuple(as_constraints(list(constraints)))
    parts = {name: Scored(rows, score, families, summed) for name, score in scores.items()}
    return {name: dict(zip(("auc", "gap"), p.measured(), strict=True)) for name, p in parts.items()}


def errors(
    rows: Rows, scores: dict[str, np.ndarray], constraints, summed: bool, resamples: int, seed: int
) -> dict:
    """Standard errors of AUC and gaps, and of what they differ by from the first score.

    Rows are drawn again within cells, the same ones for every score: what chance has in common to
    two scores cancels in their difference.
    """
    families = tuple(as_constraints(list(constraints)))
    parts = [Scored(rows, score, families, summed) for score in scores.values()]
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(rows.cell == c) for c in np.unique(rows.cell)]
    drawn = np.empty((resamples, len(parts), 2))
    for b in range(resamples):
        weight = np.zeros(len(rows.y))
        for cell in members:
            weight[cell] = np.bincount(rng.integers(len(cell), size=len(cell)), minlength=len(cell))
        drawn[b] = [part.measured(weight) for part in parts]
    own, paired = (a.std(axis=0, ddof=1).tolist() for a in (drawn, drawn - drawn[:, :1]))
    return {
        name: {
            "auc_se": own[k][0],
            "gap_se": own[k][1],
            "auc_paired_se": paired[k][0],
            "gap_paired_se": paired[k][1],
        }
        for k, name in enumerate(scores)
    }
