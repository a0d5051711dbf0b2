"""The paper's panel: how well a score ranks, and how alike it treats two groups, in one square."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenscore.curves import RocCurve
from evenscore.inference.aucs import auc_estimates
from evenscore.inference.bands import BandKind
from evenscore.inference.estimate import Estimate
from evenscore.plots.corners import polygon_corners
from evenscore.plots.display import Pairs, ScoreDisplay, diagonal, legend_below, unit_square
from evenscore.plots.group_roc import auc_text
from evenscore.plots.inter_group_curves import InterGroupCurve, inter_group_curves
from evenscore.plots.inter_group_roc import draw_inter_group
from evenscore.plots.style import LineStyle, ThemeName
from evenscore.plots.text import literal
from evenscore.scores import GroupedScores

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["PaperRocDisplay"]

Floats = NDArray[np.float64]
_OVERALL = "all: positives against negatives"


@dataclass(eq=False)
class PaperRocDisplay(ScoreDisplay):
    """ROC_{H⁰,H¹}, ROC_{G⁰,G¹} and the overall ROC_{H,G}, with marks at the constrained rates.

    The overall curve, in the colour of the text, is the polygon whose area is the AUC written above
    the panel; the others are the step functions of the paper's Definition 1, on which its gaps are
    read: ties are not split. For the paper's figures plot the test rows first, then the training
    rows dashed on the same axes:

    >>> import evenscore as es
    >>> y, s, groups = [0, 1] * 50, range(100), list("aabb") * 25
    >>> panel = es.plots.PaperRocDisplay.from_predictions(
    ...     y, s, sensitive_features=groups, rates=(1 / 8, 1 / 4),
    ...     ax=es.plots.figure()[1], name="test")
    >>> panel.plot(panel.ax_, name="train", linestyle="--").lines_[0].get_linestyle()
    '--'

    After `plot`: `overall_` (a line), `lines_`, `points_`, `bands_` (as `InterGroupRocDisplay`)
    and `legend_`.
    """

    curves: tuple[InterGroupCurve, ...]
    overall_x: Floats
    overall_y: Floats
    auc: Estimate
    overall_: Line2D = field(init=False, repr=False)
    lines_: list[Line2D] = field(init=False, repr=False)
    bands_: list[Artist | None] = field(init=False, repr=False)
    points_: list[Line2D | None] = field(init=False, repr=False)
    legend_: Any = field(init=False, repr=False)

    @classmethod
    def from_scores(
        cls,
        scores: GroupedScores,
        *,
        rates: ArrayLike = (),
        pairs: Pairs = None,
        band: BandKind | None = None,
        confidence_level: float = 0.95,
        n_resamples: int = 500,
        random_state: int = 0,
    ) -> Self:
        """From scores by cell; options as those of `InterGroupRocDisplay`, but without bands."""
        curves = inter_group_curves(
            scores,
            pairs=pairs,
            rates=rates,
            band=band,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            random_state=random_state,
            split_ties=False,
        )
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
        """Draw the panel; `name` and `linestyle` tell data sets on the same axes apart.

        The AUC of every data set is added to the title.
        """
        with self._drawing(ax, theme) as (axes, found):
            unit_square(axes)
            diagonal(axes, found)
            told = set(axes.get_legend_handles_labels()[1])
            [self.overall_] = axes.plot(
                self.overall_x,
                self.overall_y,
                color=found.text,
                linewidth=1.8,
                linestyle=linestyle,
                label="_nolegend_" if _OVERALL in told else _OVERALL,
                zorder=2.8,
            )
            draw_inter_group(
                self, axes, found, linestyle=linestyle, name=name, show_bands=show_bands
            )
            marked = [line for line in axes.lines if line.get_gid() == "rate"]
            drawn = {float(np.asarray(line.get_xdata())[0]) for line in marked}
            for rate in sorted({r for curve in self.curves for r in curve.rates.tolist()} - drawn):
                axes.axvline(
                    rate, color=found.muted, linewidth=0.6, alpha=0.6, zorder=1.2, gid="rate"
                )
            before = axes.get_title()
            lines = [literal(title)] if title is not None else [before] if before else []
            written = auc_text(self.auc)
            lines.append(written if name is None else f"{literal(name)}: {written}")
            axes.set_title("\n".join(lines), fontsize=9.5)
            axes.set_xlabel("share of the reference above the cut", fontsize=9)
            axes.set_ylabel("share of the other above it", fontsize=9)
            self.legend_ = legend_below(axes) if legend else None
        return self
