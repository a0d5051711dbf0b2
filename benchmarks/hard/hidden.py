"""A law whose features hide the group: what it costs to be fair without knowing who is who.

Six standard normal features, the same law in both groups, so that nothing can be learned of the
group from them. The log-odds of the positive class are a (x₁ − m_k) + c x₂, with m = ∓m of the two
groups: the same x₁ speaks for a positive in one group and for a negative in the other. At a cut of
a blind score of x₁, negatives of the group that needs more are selected more often, and its
positives refused less often; equal error rates leave it little but x₂. A scorer that is told the
group, or one increasing map per group of a blind score, moves the groups' scores against each other
and loses little.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

SLOPE, SHIFT, COMMON, FEATURES = 1.3, 0.8, 0.6, 6


def hidden_group(n: int, random_state: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, labels and groups of n rows."""
    rng = np.random.default_rng(random_state)
    groups = (rng.random(n) < 0.5).astype(np.int64)
    X = rng.standard_normal((n, FEATURES))
    log_odds = SLOPE * (X[:, 0] - SHIFT * (2 * groups - 1)) + COMMON * X[:, 1]
    return X, (rng.random(n) < expit(log_odds)).astype(np.int64), groups
