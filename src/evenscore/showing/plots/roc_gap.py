"""How far apart two groups are at every rate: ROC gaps with their bands."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from evenscore.auditing import AuditResult, GapCurve
from evenscore.auditing.declared import DEFAULT_TOLERANCE
from evenscore.inference.bands import Band, BandKind
from evenscore.inference.estimate import percent
from evenscore.scores import GroupedScores, OneOrBoth, class_names
from evenscore.scores.arrays import Floats
from evenscore.scores.distribution import check_rates
from evenscore.showing.plots.curves import (
    BAND_RATES,
    BandSettings,
    PairCurve,
    Pairs,
    PairStyles,
    comparisons,
)
from evenscore.showing.plots.display import ScoreDisplay, draw_band, frame, tolerance_strip
from evenscore.showing.plots.style import SeriesStyle, ThemeName
from evenscore.showing.plots.text import as_label, group_names, literal

_ALPHA: dict[BandKind, float] = {"pointwise": 0.24, "simultaneous": 0.12, "dkw": 0.12}


@dataclass(frozen=True, eq=False)
class GapSeries(PairCurve):
    """Δ_{F,a} over the rates, of one class and pair of groups, with its bands.

    Parameters
    ----------
    on : {"negatives", "positives"}
        The class.
    first, second : str
        The groups as they are shown.
    bands : tuple of Band
        Bands of gaps (`inference.roc_gap_band`), all over the same rates: the first one's values
        are the curve.
    asked : ndarray of shape (n_points, 4)
        Points to be marked, with their intervals, as rows (rate, value, low, high).
    reason : str
        Why there is no curve, if there is none.
    """

    bands: tuple[Band, ...]
    asked: Floats = field(default_factory=lambda: np.zeros((0, 4)))


@dataclass(eq=False, repr=False)
class RocGapDisplay(ScoreDisplay):
    """ROC gaps of both classes over all rates, with bands, the tolerance and the rates asked for.

    Above zero the second group of a pair scores higher: at the cut that keeps a share a of the
    first, a share a + Δ of the second is kept. The darker band holds at one rate, the lighter one
    at all rates at once.

    Parameters
    ----------
    curves : tuple of GapSeries
        The gaps.
    tolerance : float, optional
        Gaps up to here are shaded.

    Attributes
    ----------
    lines_, bands_, points_ : list
        The artists, one per entry of `curves`: a line, a list of bands, and an error bar container
        or None.
    tolerance_, legend_
        The strip and the legend, or None.

    Examples
    --------
    >>> import evenscore as es
    >>> y, s, groups = [0, 1] * 50, range(100), list("aabb") * 25
    >>> display = es.plots.RocGapDisplay.from_predictions(
    ...     y, s, sensitive_features=groups, bands=("pointwise",), tolerance=0.05,
    ...     ax=es.plots.figure()[1])
    >>> len(display.lines_)
    2
    """

    _figsize: ClassVar[tuple[float, float]] = (6.2, 3.9)

    curves: tuple[GapSeries, ...]
    tolerance: float | None = None

    @classmethod
    def from_scores(
        cls,
        scores: GroupedScores,
        *,
        on: OneOrBoth = "both",
        pairs: Pairs = None,
        rates: ArrayLike = (),
        tolerance: float | None = DEFAULT_TOLERANCE,
        bands: tuple[BandKind, ...] = ("pointwise", "simultaneous"),
        confidence_level: float = 0.95,
        n_resamples: int = 500,
        random_state: int = 0,
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
            Rates to mark, with their pointwise intervals.
        tolerance : float, optional
            Gaps up to here are shaded, by default as in an audit; None for no strip.
        bands : tuple of {"pointwise", "simultaneous", "dkw"}
            Kinds of `inference.roc_gap_band`.
        confidence_level : float
            That of the bands.
        n_resamples, random_state : int
            Those of the bootstrap behind a simultaneous band.

        Returns
        -------
        Self
            The display, not yet drawn.
        """
        if not bands:
            raise ValueError("bands must name at least one kind of band.")
        asked = np.unique(np.atleast_1d(check_rates(rates)))
        grid = np.union1d(BAND_RATES, asked)
        places = np.searchsorted(grid, asked)
        curves = []
        settings = BandSettings(confidence_level, n_resamples, random_state)
        for pair, curve in comparisons(scores, on, pairs, split_ties=True):
            around = {kind: settings.around(curve, grid, kind).gap() for kind in bands}
            main = around.get("pointwise", around[bands[0]])
            marks = np.stack([main.rates, main.value, main.low, main.high], axis=1)[places]
            gaps = tuple(around.values())
            curves.append(GapSeries(*pair.names, gaps, marks, reason=pair.reason))
        return cls(tuple(curves), tolerance)

    @classmethod
    def from_audit(
        cls, result: AuditResult, *, on: OneOrBoth = "both", pairs: Pairs = None
    ) -> Self:
        """From an audit: its curves, bands, rates and tolerance as they are.

        Parameters
        ----------
        result : AuditResult
            The audit.
        on : {"both", "negatives", "positives"}
            The classes to show.
        pairs : sequence of pairs of group labels, optional
            By default the first group with every other.

        Returns
        -------
        Self
            The display, not yet drawn.
        """
        # A curve's first may be no group: all others together.
        groups = tuple(dict.fromkeys([*result.groups, *(c.first for c in result.roc_gaps)]))
        names = dict(zip(groups, group_names(groups), strict=True))
        curves = []
        for curve in _audited(result, on, pairs):
            level, notes = curve.confidence_level, curve.warnings
            ends = curve.pointwise_low, curve.pointwise_high
            one = Band(curve.rates, curve.value, *ends, level, "pointwise", warnings=notes)
            ends = curve.simultaneous_low, curve.simultaneous_high
            bands = one, replace(one, low=ends[0], high=ends[1], kind="simultaneous")
            pair = curve.on, names[curve.first], names[curve.second]
            reason = f"undefined, {literal(curve.reason)}" if curve.reason else ""
            curves.append(GapSeries(*pair, bands, curve.marks, reason=reason))
        return cls(tuple(curves), result.settings.tolerance)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        show_bands: bool | None = None,
        legend: bool = True,
        theme: ThemeName | None = None,
    ) -> Self:
        """Draw the gaps.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default in a new figure.
        show_bands : bool, optional
            By default bands are shown for up to two curves, as more are a muddle.
        legend : bool
            Whether to add a legend, below the axes where there is room.
        theme : {"light", "dark"}, optional
            By default axes that are given keep their colours.

        Returns
        -------
        Self
            The display itself.
        """
        if show_bands is None:
            show_bands = len(self.curves) <= 2
        with self._drawing(ax, theme, legend) as (axes, palette):
            styles = PairStyles(self.curves, palette)
            one, two = styles.names
            rate, gap = f"rate: share of {one} above the cut", f"ROC gap (above 0: {two} higher)"
            frame(axes, rate, gap)
            axes.axhline(0.0, color=palette.muted, linewidth=0.9, zorder=1.6)
            self.lines_, self.bands_, self.points_ = [], [], []
            kinds: dict[str, float] = {}
            for number, curve in enumerate(self.curves):
                style = styles.of(curve)
                solid = curve.on == "positives" or not styles.several
                face = style.color if solid else palette.background
                main = curve.bands[0]
                [line] = axes.plot(
                    main.rates,
                    main.value,
                    **style._replace(linestyle="-" if solid else (0, (4.0, 1.5)))._asdict(),
                    linewidth=1.7,
                    markersize=4.5,
                    markerfacecolor=face,
                    markevery=[] if len(curve.asked) else (8 + 5 * number, 40),
                    label=as_label(curve.label),
                    zorder=3.0,
                )
                self.lines_.append(line)
                bands = curve.bands if show_bands else ()
                self.bands_.append(
                    [draw_band(axes, band, style.color, _ALPHA[band.kind]) for band in bands]
                )
                for band in bands:
                    where = "at one rate" if band.kind == "pointwise" else "at all rates at once"
                    kinds[f"{percent(band.confidence_level)} band, {where}"] = _ALPHA[band.kind]
                self.points_.append(_asked(axes, curve, number, style, face))
            self.tolerance_ = tolerance_strip(axes, palette, self.tolerance, "tolerance ±{:g}")
            for label, alpha in kinds.items():
                axes.fill_between([], [], [], color=palette.text, alpha=alpha, label=label)
            axes.set_xlim(0.0, 1.0)
        return self


def _audited(result: AuditResult, on: OneOrBoth, pairs: Pairs) -> list[GapCurve]:
    """The curves of an audit for some pairs of groups, by default the first with every other.

    An audit of many groups keeps the worst pairs alone: if none of the first group's is among
    them, all that were kept.
    """
    kept = [curve for curve in result.roc_gaps if curve.on in class_names(on)]
    if not kept and result.n_pairs:
        raise ValueError(
            "This audit was not asked for ROC gaps of that class: give it constraints=RocConstraint"
            "(…), beside whatever else should be equal."
            if result.roc_gaps
            else "This audit was not asked for ROC gaps: give it constraints=RocConstraint(…), "
            "beside whatever else should be equal."
        )
    if pairs is None:
        chosen = [curve for curve in kept if curve.first == result.groups[0]] or kept
    else:
        chosen = []
        for pair in pairs:
            curves = [curve for curve in kept if (curve.first, curve.second) == tuple(pair)]
            if not curves:
                known = ", ".join(dict.fromkeys(f"({c.first!r}, {c.second!r})" for c in kept))
                raise ValueError(
                    f"The audit has no ROC gap of the pair ({pair[0]!r}, {pair[1]!r}); "
                    f"it has {known}."
                )
            chosen += curves
    # A pair's two classes together.
    return sorted(chosen, key=lambda curve: result.groups.index(curve.second))


def _asked(ax: Axes, curve: GapSeries, number: int, style: SeriesStyle, face: str) -> Any:
    """Marks with intervals at the rates asked for, a little apart where curves share a rate."""
    if not len(curve.asked) or curve.reason:
        return None
    rates, value, low, high = curve.asked.T
    beside = 0.006 * ((number + 1) // 2) * (-1.0) ** number
    return ax.errorbar(
        rates + beside,
        value,
        yerr=np.stack([value - low, high - value]),
        fmt=style.marker,
        color=style.color,
        markerfacecolor=face,
        markersize=5.5,
        elinewidth=1.3,
        capsize=3.0,
        label="_nolegend_",
        zorder=4.0,
    )
