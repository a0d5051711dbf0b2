"""Boosted trees by default: LightGBM's, or scikit-learn's where it is not installed."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from joblib import cpu_count, effective_n_jobs

from evenscore.extras import require

FEW = 2000  # rows, below which more folds and slower learning pay
_MANY = 100_000  # rows, from which on more threads pay


def tree_threads(n_jobs: int | None, n_rows: int) -> int:
    """As many as asked for, up to all there are; else one, of many rows what OpenMP allows (−1).

    The trees of some ten thousand rows take a moment each. Threads that wait for each other many
    times a second gain little on an idle machine, and on a busy one they cost minutes.
    """
    if n_jobs is not None:
        return min(int(effective_n_jobs(int(n_jobs))), int(cpu_count()))
    return 1 if n_rows < _MANY else -1


def boosted_trees(
    count: int,
    rate: float,
    leaves: int,
    least: int,
    shape: tuple[int, int],
    codes: Sequence[int],
    seed: int,
) -> Any:
    """So many trees with so many leaves of so many rows at least, of a table of some shape."""
    if find_spec("lightgbm") is None:
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(
            max_iter=count,
            learning_rate=rate,
            max_leaf_nodes=leaves,
            min_samples_leaf=max(least, 1),
            l2_regularization=5.0,
            categorical_features=list(codes) or None,
            early_stopping=False,
            random_state=seed,
        )
    require("EvenScorer", "lightgbm")  # recent enough
    n, d = shape
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=count,
        learning_rate=rate,
        num_leaves=leaves,
        min_child_samples=max(least, 1),
        reg_lambda=5.0,
        colsample_bynode=float(np.clip(8.0 / max(d, 1), 0.3, 1.0)),
        random_state=seed,
        n_jobs=tree_threads(None, n),
        deterministic=True,
        force_row_wise=True,
        verbosity=-1,
    )


def default_trees(n: int, X: Any, seed: int, n_jobs: int | None) -> Any:
    """The classifier that is repaired if none is given: more and larger trees for more rows."""
    require("RepairedScorer without an estimator", "lightgbm")
    from lightgbm import LGBMClassifier

    d = X.shape[1] if hasattr(X, "shape") and len(X.shape) == 2 else 1
    root = float(np.sqrt(n))
    few = n < 20_000
    return LGBMClassifier(
        n_estimators=300 if n < FEW else 200 if few else 400,
        learning_rate=0.03 if few else 0.05,
        num_leaves=int(np.clip(round(root / 10.0), 4, 15)),
        min_child_samples=int(np.clip(n // 50, 10, 50)),
        colsample_bynode=float(np.clip(8.0 / max(d, 1), 0.3, 1.0)),
        subsample=0.7,
        subsample_freq=1,
        reg_lambda=1.0,
        random_state=seed,
        n_jobs=tree_threads(n_jobs, n),
        deterministic=True,
        force_row_wise=True,
        verbosity=-1,
    )
