"""AUC gaps and AUCs near one, where a handful of people decide; tails light and heavy."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy import integrate, stats

from covering.tally import Tally
from evenscore import AucConstraint, GroupedScores, constraint_names
from evenscore.gaps import EstimateSettings, as_constraints
from evenscore.gaps.family import family_estimates
from evenscore.inference import auc_estimates

TITLE = "AUC gaps near an AUC of one (nominal 95 %; tests at 0.05/12, Holm's first step over 12)"
COLUMNS = ("the seven others", "pair_error", "AUCs", "rejected at 0.42 %")
TAILS = {"normal": stats.norm, "Student 5": stats.t(5), "Student 3": stats.t(3)}


def settings(sizes):
    """People, share of the second group, tails, AUC, and whether the groups are alike."""
    return [
        {"people": size, "second": share, "tails": tails, "auc": auc, "groups": groups}
        for size, share, tails, auc, groups in product(
            sizes or (200, 600, 4000), (0.5, 0.2), TAILS, (0.95, 0.99, 0.995), ("alike", "apart")
        )
    ]


def auc_of(law, shift: float) -> float:
    """P(X + shift > Y) for independent X and Y of one law."""
    return float(integrate.quad(lambda x: law.cdf(x + shift) * law.pdf(x), -np.inf, np.inf)[0])


def shift_of(law, auc: float) -> float:
    low, high = 0.0, 40.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if auc_of(law, middle) < auc else (low, middle)
    return low


def run(setting, samples: int, rng: np.random.Generator) -> Tally:
    law = TAILS[setting["tails"]]
    shift = shift_of(law, setting["auc"])
    apart = 0.0 if setting["groups"] == "alike" else 0.3
    means = np.array([0.0, apart, shift, shift + 1.5 * apart])
    matrix = np.array([[auc_of(law, b - a) for b in means] for a in means])
    share = np.array([1.0 - setting["second"], setting["second"]])
    cells = np.array([0.6 * share, 0.4 * share])
    truth = {
        name: float(np.sum(AucConstraint.named(name).coefficients(cells, 0, 1) * matrix))
        for name in constraint_names()
    }
    families, tally = as_constraints(constraint_names()), Tally()
    for _ in range(samples):
        cell = rng.choice(4, setting["people"], p=cells.ravel())
        score = means[cell] + law.rvs(size=len(cell), random_state=rng)
        scores = GroupedScores.from_arrays(cell // 2, score, sensitive_features=cell % 2)
        for gap in family_estimates(scores, families, EstimateSettings()):
            kind = "pair_error" if gap.name == "pair_error" else "the seven others"
            tally.inside(kind, gap.name, gap.low, truth[gap.name], gap.high)
            if not apart:
                tally.note("rejected at 0.42 %", gap.name, gap.p_value <= 0.05 / 12)
        _, table = auc_estimates(scores)
        for i, j in ((0, 2), (1, 3), (1, 2)):
            tally.inside("AUCs", (i, j), table[i][j].low, matrix[i, j], table[i][j].high)
    return tally
