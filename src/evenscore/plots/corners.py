"""The points through which a ROC curve is drawn: all its corners, or as many as can be seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenscore.curves import RocCurve
from evenscore.outlines import outline

__all__ = ["polygon_corners", "step_corners"]

Floats = NDArray[np.float64]
Corners = tuple[Floats, Floats]

_MOST = 2000  # corners; a picture has no more pixels to show


def step_corners(curve: RocCurve) -> Corners:
    """The step function of Definition 1, on which ROC gaps are read, corner by corner.

    >>> from evenscore.metrics import roc_curve
    >>> x, y = step_corners(roc_curve([1, 2], [2, 3]))
    >>> x.tolist(), y.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0, 1.0])
    """
    gap = curve.gap()
    if np.isnan(gap.start).any():
        return np.zeros(0), np.zeros(0)
    edges, heights = gap.edges, gap.start + gap.edges[:-1]
    if len(edges) > _MOST:
        rates = np.linspace(0.0, 1.0, _MOST // 2 + 1)
        return np.append(0.0, rates), np.append(0.0, curve.evaluate(rates))
    return (
        np.concatenate(([0.0], np.repeat(edges, 2)[1:-1], [1.0])),
        np.concatenate(([0.0], np.repeat(heights, 2), [1.0])),
    )


def polygon_corners(curve: RocCurve) -> Corners:
    """The polygon through the vertices: the area under it is the AUC, ties counting one half."""
    x, y = curve.vertices
    if np.isnan(x).any() or np.isnan(y).any():
        return np.zeros(0), np.zeros(0)
    if len(x) > _MOST:
        thinned = outline(curve, "", _MOST)
        return thinned.x, thinned.y
    return x, y
