"""AUCs, gaps, ROC gaps and bands."""

from __future__ import annotations

from itertools import product

import numpy as np

from covering.laws import larger_roc_gap, split_roc_gap
from covering.tally import Tally
from evenscore import AucConstraint, GroupedScores, RocConstraint, constraint_names
from evenscore.gaps import EstimateSettings, as_constraints
from evenscore.gaps.family import family_estimates
from evenscore.inference import auc_estimates, roc_gap_band
from evenscore.paper.laws import credit_law

TITLE = "AUCs, gaps and bands"
RATES = (0.03, 0.125, 0.25, 0.5)
GRID = np.linspace(0.05, 0.5, 46)
COLUMNS = (
    "AUCs",
    "gaps, cells drawn",
    "gaps, people drawn",
    "ROC gap at a rate",
    "ROC gap, warned",
    "simultaneous band",
    "dkw band",
)


def settings(sizes):
    """Cell sizes, levels of the score and weights."""
    return [
        {"cell": size, "levels": levels, "weights": weights}
        for size, levels, weights in product(
            sizes or (50, 200, 2000), (None, 10), ("none", "random")
        )
    ]


def draw(law, cell_size: int, weighted: bool, rng: np.random.Generator) -> GroupedScores:
    """So many observations of every cell, whatever the proportions of the law."""
    n_cells = 2 * law.n_groups
    scores = [law.mixture_quantile(c, 1.0 - rng.random(cell_size)) for c in np.eye(n_cells)]
    y, group = np.divmod(np.repeat(np.arange(n_cells), cell_size), law.n_groups)
    weight = rng.gamma(2.0, size=len(y)) if weighted else None
    return GroupedScores.from_arrays(
        y, np.concatenate(scores), sensitive_features=group, sample_weight=weight
    )


def truths(law, cell_size: int):
    """True AUC matrix, gaps (at equal cell sizes), ROC gaps at rates and on the grid."""
    weights = np.full((2, law.n_groups), float(cell_size))
    matrix = law.auc_matrix()
    gaps = {
        name: float(np.sum(AucConstraint.named(name).coefficients(weights, 0, 1) * matrix))
        for name in constraint_names()
    }
    overall = float(matrix[: law.n_groups, law.n_groups :].mean())
    roc = {on: larger_roc_gap(law, on, RATES) for on in ("negatives", "positives")}
    grid = {on: split_roc_gap(law, on, GRID) for on in ("negatives", "positives")}
    return matrix, gaps, overall, roc, grid


def run(setting, samples: int, rng: np.random.Generator) -> Tally:
    law = credit_law()
    if setting["levels"] is not None:
        law = law.discretised(setting["levels"])
    cell_size, weighted = setting["cell"], setting["weights"] == "random"
    matrix, gaps, overall, roc, grid = truths(law, cell_size)
    people_gaps = {name: law.auc_gap(name) for name in constraint_names()}
    named = as_constraints(constraint_names())
    tally = Tally()
    for _ in range(samples):
        scores = draw(law, cell_size, weighted, rng)
        total, table = auc_estimates(scores, sampling="cells")
        tally.inside("AUCs", "overall", total.low, overall, total.high)
        for i, j in ((0, 2), (1, 3), (0, 3), (0, 1)):
            tally.inside("AUCs", (i, j), table[i][j].low, matrix[i, j], table[i][j].high)
        for gap in family_estimates(scores, named, EstimateSettings(sampling="cells")):
            tally.inside("gaps, cells drawn", gap.name, gap.low, gaps[gap.name], gap.high)
        for gap in RocConstraint(on="both", rates=RATES).estimates(scores):
            truth = roc[gap.on][RATES.index(gap.rate)]
            name = "ROC gap, warned" if gap.warnings else "ROC gap at a rate"
            tally.inside(name, (gap.on, gap.rate), gap.low, truth, gap.high)
        score, y, group = law.sample(round(cell_size / law.cell_weights.min()), rng)
        weight = rng.gamma(2.0, size=len(y)) if weighted else None
        people = GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)
        for gap in family_estimates(people, named):
            tally.inside("gaps, people drawn", gap.name, gap.low, people_gaps[gap.name], gap.high)
        for on, kind in product(("negatives", "positives"), ("simultaneous", "dkw")):
            band = roc_gap_band(scores, on, GRID, kind=kind, n_resamples=300, random_state=rng)
            tally.inside(f"{kind} band", on, band.low, grid[on], band.high)
    return tally
