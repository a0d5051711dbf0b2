"""The paper's panel: how well a score ranks, and how alike it treats two groups, in one square."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from evenscore.inference.aucs import auc_estimates
from evenscore.inference.bands import BandKind
from evenscore.inference.estimate import Estimate
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.scores.curve import RocCurve
from evenscore.showing.plots.curves import polygon_corners
from evenscore.showing.plots.display import unit_square
from evenscore.showing.plots.group_roc import auc_text
from evenscore.showing.plots.inter_group_roc import InterGroupDisplay, inter_group_curves
from evenscore.showing.plots.style import LineStyle, ThemeName
from evenscore.showing.plots.text import literal

_OVERALL = "all: positives against negatives"


@dataclass(eq=False, repr=False)
class PaperRocDisplay(InterGroupDisplay):
    """ROC_{H⁰,H¹}, ROC_{G⁰,G¹} and the overall ROC_{H,G}, with marks at the constrained rates.

    The overall curve, in the colour of the text, is the polygon whose area is the AUC written above
    the panel; the others are the step functions of the paper's Definition 1, on which its gaps are
    read: ties are not split.

    Parameters
    ----------
    curves : tuple of InterGroupCurve
        The curves between groups.
    overall_x, overall_y : ndarray
        The vertices of the overall curve.
    auc : Estimate
        The area under it.

    Attributes
    ----------
    overall_ : Line2D
        The overall curve.
    lines_, points_, bands_ : list
        The artists, one per entry of `curves`; None where there is nothing to draw.
    legend_
        The legend, or None.

    Examples
    --------
    For the paper's figures plot the test rows first, then the training rows dashed on the same
    axes:

    >>> import evenscore as es
    >>> y, s, groups = [0, 1] * 50, range(100), list("aabb") * 25
    >>> panel = es.plots.PaperRocDisplay.from_predictions(
    ...     y, s, sensitive_features=groups, rates=(1 / 8, 1 / 4),
    ...     ax=es.plots.figure()[1], name="test")
    >>> panel.plot(panel.ax_, name="train", linestyle="--").lines_[0].get_linestyle()
    '--'
    """

    overall_x: Floats
    overall_y: Floats
    auc: Estimate
    overall_: Line2D = field(init=False, repr=False)

    @classmethod
    def from_scores(
        cls,
        scores: GroupedScores,
        *,
        band: BandKind | None = None,
        confidence_level: float = 0.95,
        **options: Any,
    ) -> Self:
        """From scores by cell.

        Parameters
        ----------
        scores : GroupedScores
            The scores by cell.
        band : {"simultaneous", "pointwise", "dkw"}, optional
            A kind of `inference.roc_band`; by default there are no bands.
        confidence_level : float
            That of the AUC's interval and of the bands.
        **options
            `on`, `pairs`, `rates`, `n_resamples` and `random_state`.

        Returns
        -------
        Self
            The display, not yet drawn.
        """
        curves = inter_group_curves(scores, band=band, confidence_level=confidence_level, **options)
        overall = RocCurve(scores.pooled("negatives"), scores.pooled("positives"))
        auc, _ = auc_estimates(scores, confidence_level=confidence_level)
        return cls(curves, *polygon_corners(overall), auc)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        linestyle: LineStyle = "-",
        title: str | None = None,
        show_bands: bool | None = None,
        legend: bool = True,
        theme: ThemeName | None = None,
    ) -> Self:
        """Draw the panel; the AUC of every data set is added to the title.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default in a new figure.
        name, linestyle
            What tells data sets on the same axes apart.
        title : str, optional
            What is written above the AUC.
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
            names = "share of the reference above the cut", "share of the other above it"
            unit_square(axes, palette, *names)
            labels = set(axes.get_legend_handles_labels()[1])
            [self.overall_] = axes.plot(
                self.overall_x,
                self.overall_y,
                color=palette.text,
                linewidth=1.8,
                linestyle=linestyle,
                label="_nolegend_" if _OVERALL in labels else _OVERALL,
                zorder=2.8,
            )
            self._draw_curves(axes, palette, linestyle, name, show_bands)
            marked = [line for line in axes.lines if line.get_gid() == "rate"]
            drawn = {float(np.asarray(line.get_xdata())[0]) for line in marked}
            for rate in sorted({r for curve in self.curves for r in curve.rates.tolist()} - drawn):
                axes.axvline(
                    rate, color=palette.muted, linewidth=0.6, alpha=0.6, zorder=1.2, gid="rate"
                )
            before = axes.get_title()
            lines = [literal(title)] if title is not None else [before] if before else []
            written = auc_text(self.auc)
            lines.append(written if name is None else f"{literal(name)}: {written}")
            axes.set_title("\n".join(lines), fontsize=9.5)
        return self
