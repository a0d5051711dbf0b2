"""How well a score ranks within each group: the groups' own ROC curves and the pooled one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from evenscore.curves import RocCurve
from evenscore.inference.aucs import auc_estimates
from evenscore.inference.bands import Band, BandKind, roc_band
from evenscore.inference.estimate import Estimate, percent
from evenscore.plots.corners import polygon_corners
from evenscore.plots.display import ScoreDisplay, diagonal, legend_below, unit_square
from evenscore.plots.style import ThemeName
from evenscore.plots.text import as_label, group_names
from evenscore.scores import CLASSES, GroupedScores

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from evenscore.results import AuditResult

__all__ = ["GroupRocCurve", "GroupRocDisplay", "auc_text"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GroupRocCurve:
    """One ROC curve, positives against negatives: its vertices, its AUC, its band if any."""

    name: str
    x: Floats
    y: Floats
    auc: Estimate
    band: Band | None = None
    reason: str = ""
    pooled: bool = False

    @property
    def label(self) -> str:
        """For the legend."""
        return (
            f"{self.name}: {self.reason}" if self.reason else f"{self.name}: {auc_text(self.auc)}"
        )


def auc_text(auc: Estimate) -> str:
    """An AUC and its interval in few words.

    >>> auc_text(Estimate("AUC", 0.8, 0.75, 0.85, 0.95, "t"))
    'AUC 0.800 (0.750 to 0.850)'
    """
    if np.isnan(auc.value):
        return "AUC undefined"
    if np.isnan(auc.low):
        return f"AUC {auc.value:.3f} (no interval)"
    return f"AUC {auc.value:.3f} ({auc.low:.3f} to {auc.high:.3f})"


@dataclass(eq=False)
class GroupRocDisplay(ScoreDisplay):
    """ROC_{Hz,Gz} of every group z, and ROC_{H,G} of all together; AUCs with intervals.

    The curves are polygons whose areas are the AUCs, a tie counting one half.

    >>> import evenscore as es
    >>> y, s, groups = [0, 1] * 50, range(100), list("aabb") * 25
    >>> display = es.plots.GroupRocDisplay.from_predictions(
    ...     y, s, sensitive_features=groups, ax=es.plots.figure()[1])
    >>> [line.get_label()[:9] for line in display.lines_]
    ['a: AUC 0.', 'b: AUC 0.', 'everyone:']

    After `plot`: `lines_` and `bands_`, one an entry of `curves`, and `legend_`.
    """

    curves: tuple[GroupRocCurve, ...]
    lines_: list[Line2D] = field(init=False, repr=False)
    bands_: list[Artist | None] = field(init=False, repr=False)
    legend_: Any = field(init=False, repr=False)

    @classmethod
    def from_scores(
        cls,
        scores: GroupedScores,
        *,
        pooled: bool = True,
        band: BandKind | None = None,
        confidence_level: float = 0.95,
        n_resamples: int = 500,
        random_state: int = 0,
    ) -> Self:
        """From scores by cell; `band` is a kind of `inference.roc_band`, or None for none.

        A group without negatives or without positives has no curve; the legend says so.
        """
        overall, table = auc_estimates(scores, confidence_level=confidence_level)
        k, cells = scores.n_groups, scores.cell_distributions
        rows = [
            (name, cells[z], cells[k + z], table[z][k + z])
            for z, name in enumerate(group_names(scores.groups))
        ]
        if pooled:
            rows.append(
                ("everyone", scores.pooled("negatives"), scores.pooled("positives"), overall)
            )
        found = []
        for name, negatives, positives, auc in rows:
            curve = RocCurve(negatives, positives)
            sides = zip(CLASSES, (negatives, positives), strict=True)
            empty = [f"no {side}" for side, sample in sides if sample.total == 0.0]
            shown = None
            if band is not None and not empty:
                shown = roc_band(
                    curve.with_ties_split(),  # the polygon that is drawn
                    np.linspace(0.0, 1.0, 201),
                    kind=band,
                    confidence_level=confidence_level,
                    n_resamples=n_resamples,
                    random_state=random_state,
                )
            reason = " and ".join(empty)
            found.append(
                GroupRocCurve(
                    name, *polygon_corners(curve), auc, shown, reason, pooled=auc is overall
                )
            )
        return cls(tuple(found))

    @classmethod
    def from_audit(cls, result: AuditResult) -> Self:
        """From an audit, which keeps thinned curves and no bands."""
        everyone, *groups = result.roc_curves
        names = (*group_names(result.groups), "everyone")
        aucs = (*result.auc_by_group, result.auc)
        curves = []
        for name, found, auc in zip(names, (*groups, everyone), aucs, strict=True):
            reason = "; ".join(auc.warnings) if len(found.x) == 0 else ""
            pooled = auc is result.auc
            curves.append(GroupRocCurve(name, found.x, found.y, auc, reason=reason, pooled=pooled))
        return cls(tuple(curves))

    def plot(
        self,
        ax: Axes | None = None,
        *,
        legend: bool = True,
        theme: ThemeName | None = None,
    ) -> Self:
        """Draw the curves; that of all together, in the colour of the text, is the last."""
        with self._drawing(ax, theme) as (axes, found):
            unit_square(axes)
            diagonal(axes, found)
            self.lines_, self.bands_ = [], []
            for number, curve in enumerate(self.curves):
                style = found.series(number)
                color = found.text if curve.pooled else style.color
                [line] = axes.plot(
                    curve.x,
                    curve.y,
                    color=color,
                    linewidth=1.1 if curve.pooled else 1.8,
                    linestyle="-" if curve.pooled else style.linestyle,
                    marker=None if curve.pooled else style.marker,
                    markersize=4.5,
                    markevery=(0.03 + 0.05 * number, 0.25),
                    label=as_label(curve.label),
                    zorder=3.0,
                )
                self.lines_.append(line)
                band = None
                if curve.band is not None:
                    band = axes.fill_between(
                        curve.band.rates, curve.band.low, curve.band.high, color=color, alpha=0.15,
                        linewidth=0.0, label="_nolegend_", zorder=2.0,
                    )  # fmt: skip
                self.bands_.append(band)
            axes.set_xlabel("false positive rate", fontsize=9)
            axes.set_ylabel("true positive rate", fontsize=9)
            self.legend_ = legend_below(axes) if legend else None
            if self.legend_ is not None and self.curves:
                level = percent(self.curves[0].auc.confidence_level)
                self.legend_.set_title(f"AUC with {level} interval", prop={"size": 8.5})
        return self
