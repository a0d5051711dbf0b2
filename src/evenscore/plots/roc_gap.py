"""How far apart two groups are at every rate: ROC gaps with their bands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenscore.distributions import check_rates
from evenscore.inference.bands import Band, BandKind, roc_gap_band
from evenscore.inference.estimate import percent
from evenscore.plots.audited import audited_curves
from evenscore.plots.display import (
    Pairs,
    ScoreDisplay,
    chosen_pairs,
    frame,
    legend_below,
    tolerance_strip,
)
from evenscore.plots.style import ThemeName
from evenscore.plots.text import as_label, group_names
from evenscore.scores import CLASSES, ClassName, GroupedScores, OneOrBoth, check_scores, class_names

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from evenscore.results import AuditResult

__all__ = ["GapSeries", "RocGapDisplay"]

Floats = NDArray[np.float64]

_ALPHA: dict[BandKind, float] = {"pointwise": 0.24, "simultaneous": 0.12, "dkw": 0.12}


@dataclass(frozen=True, eq=False)
class GapSeries:
    """Δ_{F,a} over the rates, of one class and pair of groups, with its bands.

    `bands` are of gaps (`inference.roc_gap_band`), all over the same rates: the first one's values
    are the curve. `asked` are points to be marked, with their intervals, as rows (rate, value,
    low, high). Without a curve, `reason` says why. `first` and `second` are the names of the groups
    as they are shown.
    """

    on: ClassName
    first: str
    second: str
    bands: tuple[Band, ...]
    asked: Floats = field(default_factory=lambda: np.zeros((0, 4)))
    reason: str = ""

    @property
    def label(self) -> str:
        """For the legend."""
        told = f"{self.on}: {self.second} against {self.first}"
        return f"{told} ({self.reason})" if self.reason else told


def _at(band: Band, rates: Floats) -> Floats:
    """Rows (rate, value, low, high) of a band at some of its rates."""
    places = np.searchsorted(band.rates, rates)
    return np.stack([part[places] for part in (band.rates, band.value, band.low, band.high)], 1)


@dataclass(eq=False)
class RocGapDisplay(ScoreDisplay):
    """ROC gaps of both classes over all rates, with bands, the tolerance and the rates asked for.

    Above zero the second group of a pair scores higher: at the cut that keeps a share a of the
    first, a share a + Δ of the second is kept. The darker band holds at one rate, the lighter one
    at all rates at once.

    >>> import evenscore as es
    >>> y, s, groups = [0, 1] * 50, range(100), list("aabb") * 25
    >>> display = es.plots.RocGapDisplay.from_predictions(
    ...     y, s, sensitive_features=groups, bands=("pointwise",), tolerance=0.05,
    ...     ax=es.plots.figure()[1])
    >>> len(display.lines_)
    2

    After `plot`: `lines_`, `bands_` (a list a curve) and `points_` (an error bar container or
    None), one an entry of `curves`; `tolerance_` (the strip, or None) and `legend_`.
    """

    _figsize: ClassVar[tuple[float, float]] = (6.2, 3.9)

    curves: tuple[GapSeries, ...]
    tolerance: float | None = None
    lines_: list[Line2D] = field(init=False, repr=False)
    bands_: list[list[Artist]] = field(init=False, repr=False)
    points_: list[Any] = field(init=False, repr=False)
    tolerance_: Any = field(init=False, repr=False)
    legend_: Any = field(init=False, repr=False)

    @classmethod
    def from_scores(
        cls,
        scores: GroupedScores,
        *,
        on: OneOrBoth = "both",
        pairs: Pairs = None,
        rates: ArrayLike = (),
        tolerance: float | None = None,
        bands: tuple[BandKind, ...] = ("pointwise", "simultaneous"),
        confidence_level: float = 0.95,
        n_resamples: int = 500,
        random_state: int = 0,
        split_ties: bool = True,
    ) -> Self:
        """From scores by cell.

        `pairs` are pairs of group labels; by default the first group with every other. `rates` are
        marked, with their pointwise intervals. Ties are split, as an audit does; with
        `split_ties=False` gaps are those of the step function, Definition 1 of the paper.
        """
        check_scores(scores)
        if not bands:
            raise ValueError("bands must name at least one kind of band.")
        asked = np.unique(np.atleast_1d(check_rates(rates)))
        grid = np.union1d(np.linspace(0.0, 1.0, 201), asked)
        names = group_names(scores.groups)
        found = []
        for first, second in chosen_pairs(scores, pairs):
            for name in class_names(on):
                row = scores.cell_weights[CLASSES.index(name)]
                empty = [names[k] for k in (first, second) if row[k] == 0.0]
                reason = f"undefined, there are no {name} of {' and '.join(empty)}" if empty else ""
                made = tuple(
                    roc_gap_band(
                        scores,
                        name,
                        grid,
                        first=first,
                        second=second,
                        kind=kind,
                        confidence_level=confidence_level,
                        n_resamples=n_resamples,
                        random_state=random_state,
                        split_ties=split_ties,
                    )
                    for kind in bands
                )
                one = next((band for band in made if band.kind == "pointwise"), made[0])
                found.append(
                    GapSeries(name, names[first], names[second], made, _at(one, asked), reason)
                )
        return cls(tuple(found), tolerance)

    @classmethod
    def from_audit(
        cls, result: AuditResult, *, on: OneOrBoth = "both", pairs: Pairs = None
    ) -> Self:
        """From an audit: its curves, bands, rates and tolerance as they are."""
        return cls(
            tuple(
                GapSeries(
                    curve.found.on,
                    curve.first,
                    curve.second,
                    (curve.band("pointwise"), curve.band("simultaneous")),
                    curve.asked,
                    curve.reason,
                )
                for curve in audited_curves(result, on=on, pairs=pairs)
            ),
            result.settings.tolerance,
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        show_bands: bool | None = None,
        legend: bool = True,
        theme: ThemeName | None = None,
    ) -> Self:
        """Draw the gaps; by default bands are shown for up to two curves, as more are a muddle."""
        if show_bands is None:
            show_bands = len(self.curves) <= 2
        pairs = list(dict.fromkeys((curve.first, curve.second) for curve in self.curves))
        with self._drawing(ax, theme) as (axes, found):
            frame(axes)
            axes.axhline(0.0, color=found.muted, linewidth=0.9, zorder=1.6)
            self.lines_, self.bands_, self.points_ = [], [], []
            kinds: dict[str, float] = {}
            for number, curve in enumerate(self.curves):
                positive = curve.on == "positives"
                pair = pairs.index((curve.first, curve.second))
                style = found.series(pair if len(pairs) > 1 else int(positive))
                face = style.color if positive or len(pairs) == 1 else found.background
                main = curve.bands[0]
                [line] = axes.plot(
                    main.rates,
                    main.value,
                    color=style.color,
                    linewidth=1.7,
                    linestyle="-" if positive or len(pairs) == 1 else (0, (4.0, 1.5)),
                    marker=style.marker,
                    markersize=4.5,
                    markerfacecolor=face,
                    markevery=[] if len(curve.asked) else (8 + 5 * number, 40),
                    label=as_label(curve.label),
                    zorder=3.0,
                )
                self.lines_.append(line)
                drawn: list[Artist] = []
                for band in curve.bands if show_bands else ():
                    drawn.append(
                        axes.fill_between(
                            band.rates,
                            band.low,
                            band.high,
                            color=style.color,
                            alpha=_ALPHA[band.kind],
                            linewidth=0.0,
                            label="_nolegend_",
                            zorder=2.0,
                        )
                    )
                    told = "at one rate" if band.kind == "pointwise" else "at all rates at once"
                    kinds[f"{percent(band.confidence_level)} band, {told}"] = _ALPHA[band.kind]
                self.bands_.append(drawn)
                self.points_.append(_asked(axes, curve, number, style, face))
            self.tolerance_ = None
            if self.tolerance is not None:
                self.tolerance_ = tolerance_strip(axes, found, -self.tolerance, self.tolerance)
                self.tolerance_.set_label(f"tolerance ±{self.tolerance:g}")
            for told, alpha in kinds.items():
                axes.fill_between([], [], [], color=found.text, alpha=alpha, label=told)
            axes.set_xlim(0.0, 1.0)
            firsts, seconds = (
                {getattr(c, side) for c in self.curves} for side in ("first", "second")
            )
            one = firsts.pop() if len(firsts) == 1 else "the first group"
            two = seconds.pop() if len(seconds) == 1 else "the other group"
            axes.set_xlabel(f"rate: share of {one} above the cut", fontsize=9)
            axes.set_ylabel(f"ROC gap (above 0: {two} higher)", fontsize=9)
            self.legend_ = legend_below(axes) if legend else None
        return self


def _asked(ax: Axes, curve: GapSeries, number: int, style: Any, face: str) -> Any:
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
