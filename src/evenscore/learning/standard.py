"""Standardised scores: mean zero, standard deviation one, with the way back for gradients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Standardised", "standardise"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Standardised:
    """(raw − mean) / scale, under weights that add up to one."""

    score: Floats
    mean: float
    scale: float
    share: Floats

    def pull_back(self, gradient: Floats) -> Floats:
        """The gradient with respect to the raw scores, mean and scale moving with them."""
        total, along = float(gradient.sum()), float(gradient @ self.score)
        return (gradient - self.share * (total + along * self.score)) / self.scale


def standardise(raw: Floats, share: Floats) -> Standardised:
    """Standardise scores; constant ones become zero, with a scale of one.

    >>> standardise(np.array([1.0, 3.0]), np.array([0.5, 0.5])).score
    array([-1.,  1.])
    """
    mean = float(share @ raw)
    centred = raw - mean
    scale = float(np.sqrt(share @ np.square(centred)))
    if not scale > 1e-12 * max(abs(mean), 1e-300):
        return Standardised(np.zeros_like(raw), mean, 1.0, share)
    return Standardised(centred / scale, mean, scale, share)
