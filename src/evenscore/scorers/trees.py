"""The classifier that is repaired if none is given: LightGBM trees that suit the number of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenscore.scorers.threads import tree_threads

__all__ = ["FEW", "default_trees"]

FEW = 2000  # rows, below which more folds and slower learning pay


def default_trees(n: int, X: Any, seed: int, n_jobs: int | None) -> Any:
    """LightGBM trees, more and larger ones where there are more rows."""
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
