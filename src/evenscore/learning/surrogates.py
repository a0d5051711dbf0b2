"""What stands in for the step function while a scorer is trained: the logistic function.

Written for NumPy and JAX alike: `xp` is the array module to compute with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["logistic", "logistic_slope"]


def logistic(x: Any, xp: Any = np) -> Any:
    """σ(x) = 1 / (1 + e^−x), without overflow.

    >>> float(logistic(np.float64(0.0))), float(logistic(np.float64(-800.0)))
    (0.5, 0.0)
    """
    decay = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1.0, decay) / (1.0 + decay)


def logistic_slope(x: Any, xp: Any = np) -> Any:
    """σ'(x) = σ(x) (1 − σ(x)), without overflow."""
    decay = xp.exp(-xp.abs(x))
    return decay / xp.square(1.0 + decay)
