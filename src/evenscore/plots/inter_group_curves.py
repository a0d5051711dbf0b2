"""The curves between groups within a class, as displays draw them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenscore.distributions import check_rates
from evenscore.inference.bands import Band, BandKind, roc_band
from evenscore.measures import inter_group_curve
from evenscore.plots.corners import polygon_corners, step_corners
from evenscore.plots.display import Pairs, chosen_pairs
from evenscore.plots.text import group_names
from evenscore.scores import (
    CLASSES,
    ClassName,
    GroupedScores,
    OneOrBoth,
    check_scores,
    class_names,
)

__all__ = ["InterGroupCurve", "inter_group_curves"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class InterGroupCurve:
    """ROC_{F⁰,F¹} of one class and one pair of groups, ready to be drawn.

    `x`, `y`: corners of the polygon (ties split) or of the step function; `rates`, `values`: the
    points to mark; `band`: its confidence band, if any. Without a curve `reason` says why. `first`
    and `second` are the names of the groups as they are shown.
    """

    on: ClassName
    first: str
    second: str
    x: Floats
    y: Floats
    rates: Floats = field(default_factory=lambda: np.zeros(0))
    values: Floats = field(default_factory=lambda: np.zeros(0))
    band: Band | None = None
    reason: str = ""

    @property
    def label(self) -> str:
        """For the legend."""
        told = f"{self.on}: {self.second} against {self.first}"
        return f"{told} ({self.reason})" if self.reason else told


def inter_group_curves(
    scores: GroupedScores,
    *,
    on: OneOrBoth = "both",
    pairs: Pairs = None,
    rates: ArrayLike = (),
    band: BandKind | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 500,
    random_state: int = 0,
    split_ties: bool = True,
) -> tuple[InterGroupCurve, ...]:
    """The curves of the classes and pairs asked for; see `InterGroupRocDisplay.from_scores`."""
    check_scores(scores)
    marked = np.atleast_1d(check_rates(rates))
    grid = np.union1d(np.linspace(0.0, 1.0, 201), marked)
    names = group_names(scores.groups)
    found = []
    for first, second in chosen_pairs(scores, pairs):
        for name in class_names(on):
            curve = inter_group_curve(scores, name, first, second)
            if split_ties:
                curve = curve.with_ties_split()
            x, y = polygon_corners(curve) if split_ties else step_corners(curve)
            row = scores.cell_weights[CLASSES.index(name)]
            empty = [names[k] for k in (first, second) if row[k] == 0.0]
            reason = f"undefined, there are no {name} of {' and '.join(empty)}" if empty else ""
            shown = None
            if band is not None and not empty:
                shown = roc_band(
                    curve,
                    grid,
                    kind=band,
                    confidence_level=confidence_level,
                    n_resamples=n_resamples,
                    random_state=random_state,
                )
            found.append(
                InterGroupCurve(
                    name,
                    names[first],
                    names[second],
                    x,
                    y,
                    marked,
                    curve.evaluate(marked),
                    shown,
                    reason,
                )
            )
    return tuple(found)
