"""Rows for clusters: some columns of few values, a category, missing values, weights."""

import numpy as np
import pandas as pd

from evenscore import Cuts, RateConstraint

FAIR = RateConstraint("fpr", "fnr", cuts=Cuts(between=(0.1, 0.4)), tolerance=0.05)
COLUMNS = {"label": "repaid", "group": "sex", "weight": "weight"}


def cluster_rows(n=9000, *, continuous=False, seed=0):
    """Rows in the order of their cells: whoever holds a few of them in a row lacks whole cells."""
    rng = np.random.default_rng(seed)
    sex, repaid = rng.choice(["man", "woman"], n, p=[0.7, 0.3]), rng.random(n) < 0.4
    woman = sex == "woman"
    income = rng.normal(size=n) + repaid - 0.3 * woman
    debt = rng.normal(size=n) - 0.5 * repaid
    debt[rng.random(n) < 0.05] = np.nan
    job = np.where(rng.random(n) < 0.85, rng.choice(["clerk", "cook"], n), "smith").astype(object)
    job[(job == "smith") & ~repaid & (rng.random(n) < 0.5)] = "cook"
    job[rng.random(n) < 0.02] = None
    if not continuous:
        income, debt = income.round(1), debt.round(1)
    frame = pd.DataFrame({"income": income, "debt": debt, "job": job})
    frame = frame.assign(
        sex=sex, repaid=np.where(repaid, "yes", "no"), weight=rng.choice([0.5, 1.0, 2.0], n)
    )
    order = np.lexsort([np.arange(n), repaid, woman])
    return frame.iloc[order].reset_index(drop=True)
