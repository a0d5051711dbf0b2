"""Features that state the group: a score that sees them needs the group of whoever it scores."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier

from evenscore.learning.training_set import TrainingSet
from evenscore.scores.arrays import Ints

_ROWS = 4_000  # that are looked at
_LEAVES = 16  # of a tree that tells a group
_WRONG = 0.001  # share of rows of which it may be wrong; of a small group less
_ENTRIES = 50_000_000  # of a sparse matrix that are made dense
_TRIES = 50


def telling_columns(data: TrainingSet) -> Ints:
    """The columns by which a small tree tells a group, of rows that it has not seen.

    Columns are taken away until none does.

    >>> rng = np.random.default_rng(0)
    >>> X, codes = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    >>> X[:, 1] = codes
    >>> telling_columns(TrainingSet(X, rng.random(200) < 0.5, codes, ("a", "b"), None))
    array([1])
    """
    some = data.sampled(_ROWS)
    X, codes = some.X, some.codes
    if sparse.issparse(X):
        if X.shape[0] * X.shape[1] > _ENTRIES:
            return np.zeros(0, dtype=np.intp)
        X = X.toarray()
    half = np.random.default_rng(0).permutation(len(some)) % 2 == 0
    kept = np.arange(X.shape[1])
    for _ in range(_TRIES):
        used = _used(X[:, kept], codes, half, len(data.groups))
        if not len(used):
            break
        kept = np.delete(kept, used)
    return np.setdiff1d(np.arange(X.shape[1]), kept)


def _used(X: Any, codes: Ints, half: Any, n_groups: int) -> Ints:
    """The columns of a small tree, if it tells people of a group in the other half of the rows."""
    if not X.shape[1]:
        return np.zeros(0, dtype=np.intp)
    for k in range(1 if n_groups == 2 else n_groups):
        own = codes == k
        if own[~half].all() or not own[~half].any():
            continue  # nobody to be wrong about
        tree = DecisionTreeClassifier(max_leaf_nodes=_LEAVES, random_state=0)
        tree.fit(X[half], own[half])
        if np.mean(tree.predict(X[~half]) != own[~half]) <= _WRONG * min(1.0, 2.0 * own.mean()):
            used = np.flatnonzero(tree.feature_importances_ > 0.0)
            if len(used):
                return used
    return np.zeros(0, dtype=np.intp)
