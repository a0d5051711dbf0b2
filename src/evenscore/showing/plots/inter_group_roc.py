"""One group against another within a class: the paper's curves, and the diagonal of fairness."""

from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from evenscore.auditing import AuditResult
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
    polygon_corners,
    step_corners,
)
from evenscore.showing.plots.display import ScoreDisplay, draw_band, unit_square
from evenscore.showing.plots.roc_gap import RocGapDisplay
from evenscore.showing.plots.style import LineStyle, Theme, ThemeName
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
        Corners of the polygon (ties split) or of the step function.
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


@dataclass(eq=False, repr=False)
class InterGroupRocDisplay(InterGroupDisplay):
    """ROC_{H⁰,H¹} and ROC_{G⁰,G¹} against the diagonal, with bands.

    At the cut that keeps a share x of the first group, a share y of the second is kept: above the
    diagonal the second group scores higher. Ties are split, as in an audit: the curves are
    polygons, on the diagonal for groups of one law.

    Parameters
    ----------
    curves : tuple of InterGroupCurve
        The curves.

    Attributes
    ----------
    lines_, bands_, points_ : list
        The artists, one per entry of `curves`; None where there is nothing to draw.
    legend_
        The legend, or None.

    Examples
    --------
    To overlay a second data set, plot it on the same axes with another line style:

    >>> import evenscore as es
    >>> y, s, groups = [0, 1] * 50, range(100), list("aabb") * 25
    >>> figure, ax = es.plots.figure()
    >>> test = es.plots.InterGroupRocDisplay.from_predictions(
    ...     y, s, sensitive_features=groups, band=None, ax=ax, name="test")
    >>> train = es.plots.InterGroupRocDisplay.from_predictions(
    ...     y[::2], s[::2], sensitive_features=groups[::2], band=None,
    ...     ax=ax, name="train", linestyle="--")
    >>> test.figure_ is train.figure_ is figure
    True
    """

    @classmethod
    def from_scores(
        cls,
        scores: GroupedScores,
        *,
        on: OneOrBoth = "both",
        pairs: Pairs = None,
        rates: ArrayLike = (),
        band: BandKind | None = "simultaneous",
        confidence_level: float = 0.95,
        n_resamples: int = 500,
        random_state: int = 0,
        split_ties: bool = True,
    ) -> Self:
        """From scores by cell.

        Parameters
        ----------
        scores : GroupedScores
            The scores by cell.
        on : {"both", "negatives", "positives"}
            The classes to show.
        pairs : sequence of pairs of group labels, optional
            By default the first group with every other.
        rates : array-like
            Rates to mark on the curves.
        band : {"simultaneous", "pointwise", "dkw"}, optional
            A kind of `inference.roc_band`; None for no bands.
        confidence_level : float
            That of the bands.
        n_resamples, random_state : int
            Those of the bootstrap behind a simultaneous band.
        split_ties : bool
            Whether ties are split, as an audit does; otherwise the curves are the step functions
            of the paper's Definition 1.

        Returns
        -------
        Self
            The display, not yet drawn.
        """
        marked = np.atleast_1d(check_rates(rates))
        grid = np.union1d(BAND_RATES, marked)
        corners = polygon_corners if split_ties else step_corners
        curves = []
        settings = BandSettings(confidence_level, n_resamples, random_state)
        for pair, curve in comparisons(scores, on, pairs, split_ties):
            around = None
            if band is not None and not pair.reason:
                around = settings.around(curve, grid, band)
            points = *corners(curve), marked, curve.evaluate(marked)
            curves.append(InterGroupCurve(*pair.names, *points, around, reason=pair.reason))
        return cls(tuple(curves))

    @classmethod
    def from_audit(
        cls,
        result: AuditResult,
        *,
        on: OneOrBoth = "both",
        pairs: Pairs = None,
        band: Literal["pointwise", "simultaneous"] | None = "simultaneous",
    ) -> Self:
        """From an audit: its curves, bands and rates as they are.

        Parameters
        ----------
        result : AuditResult
            The audit.
        on : {"both", "negatives", "positives"}
            The classes to show.
        pairs : sequence of pairs of group labels, optional
            By default the first group with every other.
        band : {"simultaneous", "pointwise"}, optional
            Which band to show; None for none.

        Returns
        -------
        Self
            The display, not yet drawn.
        """
        curves = []
        for series in RocGapDisplay.from_audit(result, on=on, pairs=pairs).curves:
            gap = {gap.kind: gap for gap in series.bands}[band or "pointwise"]
            rates, (asked, value, *_) = gap.rates, series.asked.T
            # ROC(a) = a + Δ(a), of the curve and of both ends of the band.
            roc = replace(gap, value=rates + gap.value, low=rates + gap.low, high=rates + gap.high)
            around = None if band is None or series.reason else roc
            points = rates, roc.value, asked, asked + value
            curves.append(InterGroupCurve(*series.names, *points, around, reason=series.reason))
        return cls(tuple(curves))

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        linestyle: LineStyle = "-",
        show_bands: bool | None = None,
        legend: bool = True,
        theme: ThemeName | None = None,
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default in a new figure.
        name, linestyle
            What tells data sets on the same axes apart.
        show_bands : bool, optional
            By default bands are shown for up to two curves: more of them hide each other.
        legend : bool
            Whether to add a legend, below the axes where there is room.
        theme : {"light", "dark"}, optional
            By default axes that are given keep their colours.

        Returns
        -------
        Self
            The display itself.
        """
        with self._drawing(ax, theme, legend) as (axes, palette):
            one, two = PairStyles(self.curves, palette).names
            names = f"share of {one} above the cut", f"share of {two} above it"
            unit_square(axes, palette, *names)
            self._draw_curves(axes, palette, linestyle, name, show_bands)
        return self
