"""The pictures of a report, from the numbers of an audit as they are. Nothing is computed here."""

import math
from collections.abc import Sequence

import numpy as np

from evenscore.auditing import AuditResult
from evenscore.auditing.parts import GapCurve
from evenscore.gaps.cuts import percent as percents
from evenscore.gaps.rates import rate_heading
from evenscore.inference.cut_curves import RateCurve
from evenscore.inference.cuts import Shares
from evenscore.inference.estimate import Estimate, percent
from evenscore.scores import ClassName
from evenscore.scores.arrays import Floats
from evenscore.scores.rates import CATALOGUE
from evenscore.scores.thinning import Outline
from evenscore.showing.at_cuts import axis_texts, cut_names, missing_cuts_note, single_cuts
from evenscore.showing.names import short_names
from evenscore.showing.numbers import points
from evenscore.showing.page.charts import (
    SERIES,
    Chart,
    Entry,
    area,
    marker,
    stroke,
    swatch,
    upright,
)
from evenscore.showing.report.selection import shown_groups, shown_note, worst_gap_pairs

MOST_CURVES = 4  # groups in a picture with a line or two for each
_MARKED = (0.15, 0.5, 0.85)  # where on a line its marks are
_APART = 0.14  # of groups at a single cut, in widths of a place


def series_of(result: AuditResult) -> dict[str, int]:
    """The number of each group's colour and shape, the same in every picture and table."""
    some = [result.groups[k] for k in shown_groups(result)]
    others = [group for group in result.groups if group not in some]
    return {group: number for number, group in enumerate([*some, *others])}


# ---------------------------------------------------------------------- at the cuts in use


def cut_charts(
    results: Sequence[AuditResult], names: Sequence[str] = ("",), *, prefix: str = ""
) -> list[Chart]:
    """Rates of the groups at the cuts in use, those compared first, of one score or of several.

    All have the same scale, so that a difference looks as large as it is.
    """
    if not all(len(result.cut_curves.selected_share) for result in results):
        return []
    compared = {gap.name.removesuffix("_gap") for gap in results[0].cut_gaps}
    rates = [curve.rate for curve in results[0].cut_curves.rates]
    order = sorted(rates, key=lambda rate: (rate not in compared, rate != "fnr"))
    made = {rate: [_CutPicture(result, rate) for result in results] for rate in order}
    top = max(picture.top for pictures in made.values() for picture in pictures)
    charts: list[Chart] = []
    for rate, pictures in made.items():
        for picture, name in zip(pictures, names, strict=True):
            charts.append(picture.chart(f"{prefix}{rate}{len(charts)}", name, top))
    return charts


class _CutPicture:
    """A rate of the main groups at the cuts in use, with intervals and the tolerance."""

    def __init__(self, result: AuditResult, rate: str) -> None:
        self.result, self.rate = result, rate
        curves = result.cut_curves
        self.shown = [result.groups[k] for k in shown_groups(result)]
        self.names = dict(zip(self.shown, short_names(self.shown), strict=True))
        self.series = series_of(result)
        self.single = {} if result.cuts.is_range else single_cuts(result)
        kept = np.arange(len(curves.selected_share))
        if not result.cuts.is_range:
            kept = np.array(list(self.single.values()), dtype=np.intp)
        self.share = curves.selected_share[kept]
        [curve] = [curve for curve in curves.rates if curve.rate == rate]
        self.rates = _of_groups(curve, curves.groups, self.shown, kept)
        gaps = [gap for gap in result.cut_gaps if gap.name == f"{rate}_gap"]
        reference = result.settings.reference_group
        known = [
            gap
            for gap in gaps
            if {gap.first, gap.second} <= {*self.shown, reference} and not math.isnan(gap.value)
        ]
        self.largest: Estimate | None = max(known, key=lambda gap: abs(gap.value), default=None)
        self.reference = reference if reference in self.shown else None

    @property
    def top(self) -> float:
        """The upper end of the scale: a little above the highest rate or interval."""
        parts = [self.rates.high, self.rates.value]
        highest = max((float(np.nanmax(p)) for p in parts if np.isfinite(p).any()), default=0.5)
        return min(1.0, max(1.08 * highest, 2.5 * self.result.settings.tolerance))

    def chart(self, name: str, score: str, top: float) -> Chart:
        result, words = self.result, self.result.settings.words
        heading = rate_heading(self.rate, words)
        x_label, _ = axis_texts(self.rate, result.cuts, words)
        places = bool(not result.cuts.is_range)
        title = CATALOGUE[self.rate].title
        where = result.cuts.text(words)
        chart = Chart(
            name,
            f"{title.capitalize()} ({heading}) of {', '.join(self.shown)}, {where}."
            f" {self._caption()}",
            self._range(),
            (0.0, top),
            x_label=x_label,
            heading=f"{score}: {heading.lower()}" if score else heading,
            caption=self._caption(),
            x_text=self._place if places else percents,
            x_ticks=range(len(self.share)) if places else None,
            y_text=percents,
        )
        if not len(self.share):
            return chart
        self._ribbon(chart)
        draw = self._dots if places else self._lines
        draw(chart)
        self._mark(chart)
        self._legend(chart)
        return chart

    def _place(self, number: float) -> str:
        names = cut_names(self.result.cuts)
        return names[list(self.single)[round(number)]]

    def _range(self) -> tuple[float, float]:
        if not self.result.cuts.is_range:
            return -0.5, max(len(self.share), 1) - 0.5
        low, high = float(self.share[0]), float(self.share[-1])
        margin = 0.03 * (high - low) or 0.02
        return max(low - margin, 0.0), min(high + margin, 1.0)

    def _lines(self, chart: Chart) -> None:
        for k, group in enumerate(self.shown):
            series = self.series[group]
            chart.band(
                self.share, self.rates.low[:, k], self.rates.high[:, k], "band", series=series
            )
        for k, group in enumerate(self.shown):
            chart.line(self.share, self.rates.value[:, k], self.series[group])
            at = [
                int(min(max(mark + 0.04 * k, 0.0), 1.0) * (len(self.share) - 1)) for mark in _MARKED
            ]
            chart.marks(self.share[at], self.rates.value[at, k], self.series[group])

    def _dots(self, chart: Chart) -> None:
        across = np.arange(len(self.share), dtype=np.float64)
        for k, group in enumerate(self.shown):
            x = across + _APART * (k - (len(self.shown) - 1) / 2.0)
            for t, place in enumerate(x.tolist()):
                chart.error_bar(
                    place, self.rates.low[t, k], self.rates.high[t, k], self.series[group]
                )
            chart.marks(x, self.rates.value[:, k], self.series[group])

    def _ribbon(self, chart: Chart) -> None:
        """As high as the tolerance, between the lowest group and the highest, or around one."""
        tolerance, value = self.result.settings.tolerance, self.rates.value
        if len(self.shown) < 2:
            return
        if self.reference is not None:
            middle = value[:, self.shown.index(self.reference)]
            low, high = middle - tolerance, middle + tolerance
        else:
            with np.errstate(invalid="ignore"):
                known = np.isfinite(value).any(axis=1)
                lowest, highest = (
                    np.where(known, pick(np.where(np.isfinite(value), value, fill), axis=1), np.nan)
                    for pick, fill in ((np.min, np.inf), (np.max, -np.inf))
                )
            middle = (lowest + highest) / 2.0
            low, high = middle - tolerance / 2.0, middle + tolerance / 2.0
        if self.result.cuts.is_range:
            chart.band(self.share, np.maximum(low, 0.0), high, "ribbon")
            return
        for k in range(len(low)):
            ends = [k - 0.4, k + 0.4]
            chart.band(ends, [max(low[k], 0.0)] * 2, [high[k]] * 2, "ribbon")

    def _mark(self, chart: Chart) -> None:
        gap = self.largest
        if gap is None or math.isnan(gap.selected_share):
            return
        x = gap.selected_share
        if not self.result.cuts.is_range:
            x = float(np.argmin(np.abs(self.share - x)))
        chart.largest(x, gap.first_value, gap.second_value)

    def _legend(self, chart: Chart) -> None:
        settings = self.result.settings
        chart.legend += [
            Entry(swatch(self.series[group], line=self.result.cuts.is_range), self.names[group])
            for group in self.shown
        ]
        if len(self.shown) > 1:
            whose = "between groups" if self.reference is None else f"from {self.reference}"
            text = f"tolerance: {points(settings.tolerance)} {whose}"
            chart.legend.append(Entry(area("ribbon"), text))
        level = percent(self.result.cut_curves.confidence_level)
        if self.result.cuts.is_range:
            chart.legend.append(Entry(area("band plain"), f"{level} band, for one cut at a time"))
        else:
            chart.legend.append(Entry(upright("cross series-0"), f"{level} error bar"))
        if self.largest is not None:
            chart.legend.append(Entry(upright(), "largest difference in the picture"))

    def _caption(self) -> str:
        result = self.result
        parts = []
        if self.largest is not None:
            gap = self.largest
            parts.append(f"Largest difference between the groups drawn: {points(gap.value)}")
        hidden = [
            gap
            for gap in result.cut_gaps
            if gap.name == f"{self.rate}_gap" and not math.isnan(gap.value)
        ]
        largest = abs(self.largest.value) if self.largest is not None else math.inf
        if any(abs(gap.value) > largest for gap in hidden):
            parts.append("between smaller groups it is larger, as the table of gaps shows")
        missing = missing_cuts_note(result.cuts, self.single)
        note = shown_note(result, shown_groups(result))
        text = "; ".join([*parts, *filter(None, [missing])])
        text = f"{text}." if text else ""
        return f"{text} {note}." if note else text


def _of_groups(
    curve: RateCurve, groups: Sequence[str], shown: Sequence[str], kept: np.ndarray
) -> Shares:
    columns = [groups.index(name) for name in shown]
    parts = (curve.shares.value, curve.shares.low, curve.shares.high)
    return Shares(*(part[kept][:, columns] for part in parts))


# ---------------------------------------------------------------------- the score itself


def distribution_chart(result: AuditResult) -> Chart:
    """How the score is distributed in each group and class."""
    bars, words = result.distributions, result.settings.words
    shown = shown_groups(result, MOST_CURVES)
    density = bars.density.reshape(2, len(result.groups), len(bars.edges) - 1)
    names, series = short_names([result.groups[k] for k in shown]), series_of(result)
    tall = float(np.nanmax(np.nan_to_num(density[:, shown]), initial=0.0)) or 1.0
    note = shown_note(result, shown)
    chart = Chart(
        "scores",
        f"Histograms of the score by group, {words.positives} upwards and {words.negatives} "
        f"downwards, for {', '.join(names)}.",
        (float(bars.edges[0]), float(bars.edges[-1])),
        (-1.05 * tall, 1.05 * tall),
        x_label="score",
        heading="How the score is distributed",
        caption=f"Upwards: {words.positives}; downwards: {words.negatives}. Each class of a group "
        f"has the same area, however many people it has.{f' {note}.' if note else ''}",
        y_text=lambda value: f"{abs(value):.3g}",
    )
    for name, k in zip(names, shown, strict=True):
        number = series[result.groups[k]]
        for row, sign in ((1, 1.0), (0, -1.0)):
            chart.steps(bars.edges, sign * density[row, k], number, filled=len(shown) <= 2)
        negatives, positives = result.sample.cell_counts[:, k]
        text = f"{name}: {positives:,.0f} {words.positives}, {negatives:,.0f} {words.negatives}"
        chart.legend.append(Entry(swatch(number), text))
    chart.rule("axis", y=0.0)
    return chart


def unit_chart(name: str, title: str, x_label: str, heading: str) -> Chart:
    """A square of rates from 0 to 1, and the line of equal rates."""
    quarters = (0.0, 0.25, 0.5, 0.75, 1.0)
    chart = Chart(
        name,
        title,
        (0.0, 1.0),
        (0.0, 1.0),
        x_label=x_label,
        heading=heading,
        x_text=percents,
        y_text=percents,
        x_ticks=quarters,
        y_ticks=quarters,
        width=400.0,
        height=392.0,
    )
    chart.plain_line([0.0, 1.0], [0.0, 1.0], "diagonal")
    return chart


def roc_chart(result: AuditResult) -> Chart:
    """The ROC curve of each group and of everyone, as those who are selected make it."""
    words, low = result.settings.words, result.cuts.selected == "low"
    everyone, *groups = result.roc_curves
    shown = shown_groups(result, MOST_CURVES)
    names, series = short_names([result.groups[k] for k in shown]), series_of(result)
    note = shown_note(result, shown)
    chart = unit_chart(
        "roc",
        f"ROC curves of {', '.join(names)} and of everyone. Overall, {result.auc.words}.",
        f"share of {words.negatives} {words.selected}",
        f"Share of {words.positives} {words.selected}",
    )
    chart.caption = (
        "How well the score ranks within each group at every cut: the higher the curve, the "
        f"better. The marks are at the cut picked above.{f' {note}.' if note else ''}"
    )
    chart.plain_line(*_selecting(everyone, low=low), "everyone")
    for name, k in zip(names, shown, strict=True):
        number, auc = series[result.groups[k]], result.auc_by_group[k]
        chart.line(*_selecting(groups[k], low=low), number)
        chart.raw(
            f'<g class="point series-{number % SERIES}" data-point="{k}" visibility="hidden">'
            f'<path class="cross" d=""/><path class="marker" d="{marker(number)}"/></g>'
        )
        chart.legend.append(Entry(swatch(number), f"{name}: {_auc(auc)}"))
    chart.legend.append(Entry(stroke("everyone"), f"everyone: {_auc(result.auc)}"))
    return chart


def _selecting(curve: Outline, *, low: bool) -> tuple[Floats, Floats]:
    """A ROC curve as the selection makes it: where low scores are selected, turned round."""
    return (1.0 - curve.x, 1.0 - curve.y) if low else (curve.x, curve.y)


def _auc(auc: Estimate) -> str:
    if math.isnan(auc.value):
        return "; ".join(auc.warnings) or "no AUC"
    ends = "no interval" if math.isnan(auc.low) else f"{auc.low:.3f} to {auc.high:.3f}"
    return f"AUC {auc.value:.3f} ({ends})"


# ---------------------------------------------------------------------- ROC gaps


def pair_charts(result: AuditResult) -> list[tuple[str, str, Chart, Chart]]:
    """ROC gaps and inter-group curves of the pairs with the largest gaps."""
    made = []
    for k, (first, second) in enumerate(worst_gap_pairs(result)):
        curves = _curves(result, (first, second))
        made.append(
            (
                first,
                second,
                gap_chart(f"gaps{k}", result, (first, second)),
                _between(f"curves{k}", result, curves, first, second),
            )
        )
    return made


def _curves(result: AuditResult, pair: tuple[str, str]) -> list[GapCurve]:
    return [curve for curve in result.roc_gaps if (curve.first, curve.second) == pair]


def gap_chart(
    name: str,
    result: AuditResult,
    pair: tuple[str, str],
    heading: str = "",
    reach: tuple[float, float] | None = None,
) -> Chart:
    """The ROC gaps of a pair over all rates, with bands and the tolerance."""
    first, second = pair
    words, tolerance = result.settings.words, result.settings.tolerance
    curves = [curve for curve in _curves(result, pair) if not curve.reason]
    seen = [
        f"{curve.supremum:+.3f} among {words.of(curve.on)} (at a rate of {curve.supremum_rate:.3f})"
        for curve in curves
        if not math.isnan(curve.supremum)
    ]
    largest = f"The largest gap seen, without an interval, is {' and '.join(seen)}."
    if not seen:
        largest = "No gap is defined."
    chart = Chart(
        name,
        f"ROC gaps between {first} and {second} at every rate. {largest}",
        (0.0, 1.0),
        reach or gap_reach([result], pair),
        x_label=f"rate: share of {first} beyond the cut",
        heading=heading or f"ROC gap: above zero, more of {second} are {words.selected}",
        caption=largest,
        x_text=percents,
        y_text=lambda value: f"{value:+.3g}",
    )
    chart.band([0.0, 1.0], [-tolerance] * 2, [tolerance] * 2, "ribbon")
    chart.rule("axis", y=0.0)
    order: tuple[ClassName, ...] = ("negatives", "positives")
    for curve in curves:
        series = order.index(curve.on)
        chart.band(
            curve.rates, curve.simultaneous_low, curve.simultaneous_high, "band wide", series
        )
        chart.band(curve.rates, curve.pointwise_low, curve.pointwise_high, "band", series)
    for curve in curves:
        series = order.index(curve.on)
        chart.line(curve.rates, curve.value, series)
        for rate, value, low, high in curve.marks.tolist():
            chart.error_bar(rate, low, high, series)
            chart.marks([rate], [value], series)
        chart.legend.append(Entry(swatch(series), words.of(curve.on)))
    for curve in _curves(result, pair):
        if curve.reason:
            chart.legend.append(Entry("", f"{words.of(curve.on)}: {curve.reason}"))
    level = percent(result.settings.confidence_level)
    chart.legend += [
        Entry(area("ribbon"), f"tolerance ±{tolerance:g}"),
        Entry(area("band plain"), f"{level} band, at one rate"),
        Entry(area("band wide plain"), f"{level} band, at all rates at once"),
    ]
    return chart


def gap_reach(results: Sequence[AuditResult], pair: tuple[str, str]) -> tuple[float, float]:
    """The scale on which the ROC gaps of a pair and their bands can be seen, for all scores."""
    reach = 1.5 * results[0].settings.tolerance
    curves = [curve for result in results for curve in _curves(result, pair) if not curve.reason]
    lows = [float(np.nanmin(curve.simultaneous_low)) for curve in curves]
    highs = [float(np.nanmax(curve.simultaneous_high)) for curve in curves]
    finite = [x for x in (*lows, *highs) if math.isfinite(x)]
    return min([-reach, *finite]) - 0.02, max([reach, *finite]) + 0.02


def _between(
    name: str, result: AuditResult, curves: list[GapCurve], first: str, second: str
) -> Chart:
    """The inter-group curves: on the diagonal, as many of both groups are selected."""
    words = result.settings.words
    chart = unit_chart(
        name,
        f"Share of {second} above each cut against the share of {first} above it, by class. The "
        "diagonal means even treatment.",
        f"share of {first} beyond the cut",
        f"Share of {second} beyond the cut",
    )
    chart.caption = (
        f"The same as curves: on the diagonal, as many of both groups are {words.selected}."
    )
    order: tuple[ClassName, ...] = ("negatives", "positives")
    for curve in curves:
        if not curve.reason:
            series = order.index(curve.on)
            chart.line(curve.rates, curve.rates + curve.value, series)
            chart.legend.append(Entry(swatch(series), words.of(curve.on)))
    return chart
