"""How well a score ranks within each group: the groups' own ROC curves and the pooled one."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from matplotlib.axes import Axes

from evenscore.auditing import AuditResult
from evenscore.inference.aucs import auc_estimates
from evenscore.inference.bands import Band, BandKind, roc_band
from evenscore.inference.estimate import Estimate, percent
from evenscore.scores import CLASSES, GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.scores.curve import RocCurve
from evenscore.scores.thinning import outline
from evenscore.showing.names import as_label, group_names
from evenscore.showing.plots.display import ScoreDisplay, draw_band, unit_square
from evenscore.showing.plots.style import SeriesStyle, Theme

_BAND_RATES = np.linspace(0.0, 1.0, 201)  # half a per cent is finer than a picture shows
_MOST = 2000  # vertices; a picture has no more pixels to show


@dataclass(frozen=True, eq=False)
class GroupRocCurve:
    """One ROC curve, positives against negatives.

    Parameters
    ----------
    name : str
        The group as it is shown.
    x, y : ndarray
        The vertices.
    auc : Estimate
        The AUC with its interval.
    band : Band, optional
        The confidence band.
    reason : str
        Why there is no curve, if there is none.
    pooled : bool
        Whether it is the curve of everyone.
    """

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
        return f"{self.name}: {self.reason or auc_text(self.auc)}"


def polygon_corners(curve: RocCurve) -> tuple[Floats, Floats]:
    """The polygon through the vertices: the area under it is the AUC, ties counting one half."""
    x, y = curve.vertices
    if np.isnan(x).any() or np.isnan(y).any():
        return np.zeros(0), np.zeros(0)
    if len(x) > _MOST:
        thinned = outline(curve, "", _MOST)
        return thinned.x, thinned.y
    return x, y


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


@dataclass(eq=False, repr=False)
class GroupRocDisplay(ScoreDisplay):
    """ROC_{Hz,Gz} of every group z, and ROC_{H,G} of all together; AUCs with intervals.

    The curves are polygons whose areas are the AUCs, a tie counting one half.

    Parameters
    ----------
    curves : tuple of GroupRocCurve
        The curves.

    Attributes
    ----------
    lines_, bands_ : list
        The artists, one per entry of `curves`; None where there is no band.
    legend_
        The legend, or None.

    Examples
    --------
    >>> import evenscore as es
    >>> y, s, groups = [0, 1] * 50, range(100), list("aabb") * 25
    >>> display = es.plots.GroupRocDisplay.from_predictions(
    ...     y, s, sensitive_features=groups, ax=es.plots.figure()[1])
    >>> [line.get_label()[:9] for line in display.lines_]
    ['a: AUC 0.', 'b: AUC 0.', 'everyone:']
    """

    curves: tuple[GroupRocCurve, ...]

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
        """From scores by cell.

        A group without negatives or without positives has no curve; the legend says so.

        Parameters
        ----------
        scores : GroupedScores
            The scores by cell.
        pooled : bool
            Whether to show the curve of everyone too.
        band : {"pointwise", "simultaneous", "dkw"}, optional
            A kind of `inference.roc_band`; by default there are no bands.
        confidence_level : float
            That of the AUCs' intervals and of the bands.
        n_resamples, random_state : int
            Those of the bootstrap behind a simultaneous band.

        Returns
        -------
        Self
            The display, not yet drawn.
        """
        overall, table = auc_estimates(scores, confidence_level=confidence_level)
        k, cells = scores.n_groups, scores.cell_distributions
        rows = [
            (name, cells[z], cells[k + z], table[z][k + z])
            for z, name in enumerate(group_names(scores.groups))
        ]
        if pooled:
            classes = scores.pooled("negatives"), scores.pooled("positives")
            rows.append(("everyone", *classes, overall))
        curves = []
        for name, negatives, positives, auc in rows:
            curve = RocCurve(negatives, positives)
            sides = zip(CLASSES, (negatives, positives), strict=True)
            empty = [f"no {side}" for side, sample in sides if sample.total == 0.0]
            around = None
            if band is not None and not empty:
                polygon = curve.with_ties_split()  # which is drawn
                around = roc_band(
                    polygon,
                    _BAND_RATES,
                    kind=band,
                    confidence_level=confidence_level,
                    n_resamples=n_resamples,
                    random_state=random_state,
                )
            corners, reason = polygon_corners(curve), " and ".join(empty)
            curves.append(GroupRocCurve(name, *corners, auc, around, reason, pooled=auc is overall))
        return cls(tuple(curves))

    @classmethod
    def from_audit(cls, result: AuditResult) -> Self:
        """From an audit, which keeps thinned curves and no bands.

        Parameters
        ----------
        result : AuditResult
            The audit.

        Returns
        -------
        Self
            The display, not yet drawn.
        """
        everyone, *groups = result.roc_curves
        names = (*group_names(result.groups), "everyone")
        aucs = (*result.auc_by_group, result.auc)
        curves = []
        for name, points, auc in zip(names, (*groups, everyone), aucs, strict=True):
            reason = "; ".join(auc.warnings) if len(points.x) == 0 else ""
            corners, pooled = (points.x, points.y), auc is result.auc
            curves.append(GroupRocCurve(name, *corners, auc, reason=reason, pooled=pooled))
        return cls(tuple(curves))

    def _draw(self, ax: Axes, theme: Theme) -> None:
        """Draw the curves; that of all together, in the colour of the text, is the last."""
        unit_square(ax, theme, "false positive rate", "true positive rate")
        self.lines_, self.bands_ = [], []
        for number, curve in enumerate(self.curves):
            style = SeriesStyle(theme.text, "-", "") if curve.pooled else theme.series(number)
            [line] = ax.plot(
                curve.x,
                curve.y,
                **style._asdict(),
                linewidth=1.1 if curve.pooled else 1.8,
                markersize=4.5,
                markevery=(0.03 + 0.05 * number, 0.25),
                label=as_label(curve.label),
                zorder=3.0,
            )
            self.lines_.append(line)
            self.bands_.append(draw_band(ax, curve.band, style.color, 0.15))

    def _finish(self, ax: Axes, theme: Theme) -> None:
        if self.legend_ is not None and self.curves:
            level = percent(self.curves[0].auc.confidence_level)
            self.legend_.set_title(f"AUC with {level} interval", prop={"size": 8.5})
