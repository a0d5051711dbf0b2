"""One group against another within a class: the curves of the paper's panel."""

from dataclasses import dataclass, field

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from evenscore.inference.bands import Band, BandKind
from evenscore.scores import GroupedScores, OneOrBoth
from evenscore.scores.arrays import Floats
from evenscore.scores.distribution import check_rates
from evenscore.showing.plots.curves import (
    BAND_RATES,
    BandSettings,
    PairCurve,
    Pairs,
    PairStyles,
    comparisons,
    step_corners,
)
from evenscore.showing.plots.display import ScoreDisplay, draw_band
from evenscore.showing.plots.style import LineStyle, Theme
from evenscore.showing.plots.text import as_label, literal


@dataclass(frozen=True, eq=False)
class InterGroupCurve(PairCurve):
    """ROC_{F⁰,F¹} of one class and one pair of groups, ready to be drawn.

    Parameters
    ----------
    on : {"negatives", "positives"}
        The class.
    first, second : str
        The groups as they are shown.
    x, y : ndarray
        Corners of the step function.
    rates, values : ndarray
        The points to mark.
    band : Band, optional
        The confidence band.
    reason : str
        Why there is no curve, if there is none.
    """

    x: Floats
    y: Floats
    rates: Floats = field(default_factory=lambda: np.zeros(0))
    values: Floats = field(default_factory=lambda: np.zeros(0))
    band: Band | None = None


@dataclass(eq=False, repr=False)
class InterGroupDisplay(ScoreDisplay):
    """A display of inter-group curves, alone or with others."""

    curves: tuple[InterGroupCurve, ...]

    def _draw_curves(
        self,
        ax: Axes,
        theme: Theme,
        linestyle: LineStyle,
        name: str | None,
        show_bands: bool | None,
    ) -> None:
        """Draw the curves, their marks and bands."""
        styles = PairStyles(self.curves, theme)
        labels = set(ax.get_legend_handles_labels()[1])
        solid = linestyle in ("-", "solid")
        if show_bands is None:
            show_bands = sum(curve.band is not None for curve in self.curves) <= 2
        self.lines_, self.bands_, self.points_ = [], [], []
        for curve in self.curves:
            positive, style = curve.on == "positives", styles.of(curve)
            filled = positive if styles.several else solid
            face = style.color if filled else theme.background
            label = as_label(curve.label)
            marked = len(curve.rates) > 0
            [line] = ax.plot(
                curve.x,
                curve.y,
                **style._replace(linestyle=linestyle)._asdict(),
                linewidth=1.8 if positive or not styles.several else 1.2,
                label="_nolegend_" if label in labels else label,
                markersize=5.0,
                markerfacecolor=face,
                # Some markers on the way tell curves apart without colour; marked rates do so too.
                markevery=[] if marked else (0.04 + 0.05 * len(self.lines_), 0.22),
                zorder=3.0,
            )
            self.lines_.append(line)
            points = None
            if marked and not curve.reason:
                [points] = ax.plot(
                    curve.rates,
                    curve.values,
                    linestyle="none",
                    marker=style.marker,
                    markersize=6.5,
                    markerfacecolor=face,
                    markeredgecolor=theme.background if filled else style.color,
                    markeredgewidth=0.9,
                    label="_nolegend_",
                    zorder=4.0 if solid else 3.9,
                    clip_on=False,
                )
            self.points_.append(points)
            band = curve.band if show_bands else None
            self.bands_.append(draw_band(ax, band, style.color, 0.18 if solid else 0.09))
        if name is not None:
            ax.plot([], [], color=theme.text, linestyle=linestyle, linewidth=1.5,
                    label=as_label(literal(name)))  # fmt: skip


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
) -> tuple[InterGroupCurve, ...]:
    """The step functions of the paper's Definition 1, with marks at `rates` and perhaps bands.

    `on` says of which classes, and `pairs` of which groups: by default the first with every other.
    """
    marked = np.atleast_1d(check_rates(rates))
    grid = np.union1d(BAND_RATES, marked)
    settings = BandSettings(confidence_level, n_resamples, random_state)
    curves = []
    for pair, curve in comparisons(scores, on, pairs):
        around = None
        if band is not None and not pair.reason:
            around = settings.around(curve, grid, band)
        points = *step_corners(curve), marked, curve.evaluate(marked)
        curves.append(InterGroupCurve(*pair.names, *points, around, reason=pair.reason))
    return tuple(curves)
