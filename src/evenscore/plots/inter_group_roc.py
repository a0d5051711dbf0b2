"""One group against another within a class: the paper's curves, and the diagonal of fairness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenscore.inference.bands import BandKind
from evenscore.plots.audited import audited_curves
from evenscore.plots.display import (
    Pairs,
    ScoreDisplay,
    diagonal,
    legend_below,
    unit_square,
)
from evenscore.plots.inter_group_curves import InterGroupCurve, inter_group_curves
from evenscore.plots.style import LineStyle, Theme, ThemeName
from evenscore.plots.text import as_label, literal
from evenscore.scores import GroupedScores, OneOrBoth

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from evenscore.results import AuditResult

__all__ = ["InterGroupRocDisplay", "draw_inter_group"]

Floats = NDArray[np.float64]


@dataclass(eq=False)
class InterGroupRocDisplay(ScoreDisplay):
    """ROC_{H⁰,H¹} and ROC_{G⁰,G¹} against the diagonal, with bands.

    At the cut that keeps a share x of the first group, a share y of the second is kept: above the
    diagonal the second group scores higher. Ties are split, as in an audit: the curves are
    polygons, on the diagonal for groups of one law. To overlay a second data set, plot it on the
    same axes with another line style:

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

    After `plot`: `lines_`, `bands_` and `points_`, one an entry of `curves` (None where there is
    nothing to draw), and `legend_`.
    """

    curves: tuple[InterGroupCurve, ...]
    lines_: list[Line2D] = field(init=False, repr=False)
    bands_: list[Artist | None] = field(init=False, repr=False)
    points_: list[Line2D | None] = field(init=False, repr=False)
    legend_: Any = field(init=False, repr=False)

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

        `pairs` are pairs of group labels; by default the first group with every other. `rates` are
        marked on the curves. `band` is a kind of `inference.roc_band`, or None for none; a
        simultaneous one rests on `n_resamples` resamples. With `split_ties=False` the curves are
        the step functions of the paper's Definition 1.
        """
        return cls(
            inter_group_curves(
                scores,
                on=on,
                pairs=pairs,
                rates=rates,
                band=band,
                confidence_level=confidence_level,
                n_resamples=n_resamples,
                random_state=random_state,
                split_ties=split_ties,
            )
        )

    @classmethod
    def from_audit(
        cls,
        result: AuditResult,
        *,
        on: OneOrBoth = "both",
        pairs: Pairs = None,
        band: Literal["pointwise", "simultaneous"] | None = "simultaneous",
    ) -> Self:
        """From an audit: its curves, bands and rates as they are."""
        found = []
        for curve in audited_curves(result, on=on, pairs=pairs):
            gap = curve.band(band or "pointwise")
            rates, (asked, value, *_) = gap.rates, curve.asked.T
            # ROC(a) = a + Δ(a), of the curve and of both ends of the band.
            roc = replace(gap, value=rates + gap.value, low=rates + gap.low, high=rates + gap.high)
            found.append(
                InterGroupCurve(
                    curve.found.on,
                    curve.first,
                    curve.second,
                    rates,
                    roc.value,
                    asked,
                    asked + value,
                    roc if band is not None and not curve.reason else None,
                    curve.reason,
                )
            )
        return cls(tuple(found))

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
        """Draw the curves; `name` and `linestyle` tell data sets on the same axes apart.

        By default bands are shown for up to two curves: more of them hide each other.
        """
        with self._drawing(ax, theme) as (axes, found):
            unit_square(axes)
            diagonal(axes, found)
            draw_inter_group(
                self, axes, found, linestyle=linestyle, name=name, show_bands=show_bands
            )
            firsts = sorted({curve.first for curve in self.curves})
            seconds = sorted({curve.second for curve in self.curves})
            one = firsts[0] if len(firsts) == 1 else "the first group"
            two = seconds[0] if len(seconds) == 1 else "the other group"
            axes.set_xlabel(f"share of {one} above the cut", fontsize=9)
            axes.set_ylabel(f"share of {two} above it", fontsize=9)
            self.legend_ = legend_below(axes) if legend else None
        return self


def draw_inter_group(
    display: Any,
    ax: Axes,
    theme: Theme,
    *,
    linestyle: LineStyle,
    name: str | None,
    show_bands: bool | None,
) -> None:
    """Draw the `curves` of a display and set its `lines_`, `bands_` and `points_`.

    One pair of groups: a colour a class. Several: a colour a pair, and the classes differ in
    whether their markers are filled.
    """
    curves: Sequence[InterGroupCurve] = display.curves
    pairs = list(dict.fromkeys((curve.first, curve.second) for curve in curves))
    told = set(ax.get_legend_handles_labels()[1])
    solid = linestyle in ("-", "solid")
    if show_bands is None:
        show_bands = sum(curve.band is not None for curve in curves) <= 2
    display.lines_, display.bands_, display.points_ = [], [], []
    for curve in curves:
        positive = curve.on == "positives"
        pair = pairs.index((curve.first, curve.second))
        style = theme.series(pair if len(pairs) > 1 else int(positive))
        filled = positive if len(pairs) > 1 else solid
        face = style.color if filled else theme.background
        label = as_label(curve.label)
        marked = len(curve.rates) > 0
        [line] = ax.plot(
            curve.x,
            curve.y,
            color=style.color,
            linestyle=linestyle,
            linewidth=1.8 if positive or len(pairs) == 1 else 1.2,
            label="_nolegend_" if label in told else label,
            marker=style.marker,
            markersize=5.0,
            markerfacecolor=face,
            markeredgecolor=style.color,
            # Some markers on the way tell curves apart without colour; marked rates do so too.
            markevery=[] if marked else (0.04 + 0.05 * len(display.lines_), 0.22),
            zorder=3.0,
        )
        display.lines_.append(line)
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
        display.points_.append(points)
        band = None
        if show_bands and curve.band is not None:
            band = ax.fill_between(
                curve.band.rates,
                curve.band.low,
                curve.band.high,
                color=style.color,
                alpha=0.18 if solid else 0.09,
                linewidth=0.0,
                label="_nolegend_",
                zorder=2.0,
            )
        display.bands_.append(band)
    if name is not None:
        ax.plot([], [], color=theme.text, linestyle=linestyle, linewidth=1.5,
                label=as_label(literal(name)))  # fmt: skip
