"""The pictures of a report: displays of the audit, drawn once for both themes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from evenscore.auditing import AuditResult
from evenscore.scores.rates import CATALOGUE
from evenscore.showing.plots import (
    AucMatrixDisplay,
    CutRatesDisplay,
    GroupRocDisplay,
    InterGroupRocDisplay,
    RocGapDisplay,
    ScoreDistributionDisplay,
    figure,
)
from evenscore.showing.plots.text import literal, shorten
from evenscore.showing.report.colours import Palette
from evenscore.showing.report.inline_svg import inline_svg
from evenscore.showing.report.selection import shown_groups, shown_note, worst_gap_pairs

MOST_CURVES = 4  # groups in a picture with a line or two for each
ENTRY = 0.19  # inches of a group's line in the legend


class Picture(NamedTuple):
    """Markup of an SVG, and the sentences under it."""

    svg: str
    caption: str


class PairPictures(NamedTuple):
    """What is drawn of a pair of groups."""

    first: str
    second: str
    gaps: Picture
    curves: Picture


def _picture(
    palette: Palette,
    name: str,
    size: tuple[float, float],
    draw: Callable[[Any], object],
    title: str,
    caption: str,
) -> Picture:
    drawing, ax = figure(figsize=size)
    draw(ax)
    for part in (drawing, ax):
        part.set_facecolor("none")  # the page's own ground is behind it
    return Picture(inline_svg(drawing, name=name, title=title, palette=palette), caption)


def cut_pictures(
    results: Sequence[AuditResult], palette: Palette, names: Sequence[str] = ("",)
) -> list[Picture]:
    """Rates of the groups at the cuts in use, those compared first, of one score or of several.

    The pictures of a rate have the same scale, whatever the score.
    """
    pictures: list[Picture] = []
    if not all(len(result.cut_curves.selected_share) for result in results):
        return pictures
    compared = {gap.name.removesuffix("_gap") for gap in results[0].cut_gaps}
    rates = [curve.rate for curve in results[0].cut_curves.rates]
    for rate in sorted(rates, key=lambda rate: rate not in compared):
        displays = [CutRatesDisplay.from_audit(result, rate=rate) for result in results]
        top = max(display.top for display in displays)
        for result, display, name in zip(results, displays, names, strict=True):
            size = 4.9, 4.1 + ENTRY * len(display.groups)
            draw = partial(_draw_at_cuts, display, name, top)
            key, told = f"{rate}{len(pictures)}", _at_cuts(result, display)
            pictures.append(_picture(palette, key, size, draw, *told))
    return pictures


def _draw_at_cuts(display: CutRatesDisplay, name: str, top: float, ax: Any) -> None:
    display.plot(ax)
    ax.set_ylim(0.0, top)
    if name:
        ax.set_title(f"{literal(shorten(name))}: {ax.get_title().lower()}", fontsize=10)


def _at_cuts(result: AuditResult, display: CutRatesDisplay) -> tuple[str, str]:
    """Title and caption of a picture of rates at the cuts in use."""
    title = CATALOGUE[display.rate].title
    gaps = [gap for gap in result.cut_gaps if gap.name == f"{display.rate}_gap"]
    gaps = [gap for gap in gaps if not math.isnan(gap.value)]
    where = result.cuts.text(result.settings.words)
    names = ", ".join(group.name for group in display.groups)
    caption = f"{title.capitalize()} by group."
    if gaps:
        some = [gap for gap in gaps if result.is_headline(gap)] or gaps
        largest = max(some, key=lambda gap: abs(gap.value))
        caption = f"{largest.words[:1].upper()}{largest.words[1:]}."
        if max(abs(gap.value) for gap in gaps) > abs(largest.value):
            caption += " Smaller groups differ by more: the table of gaps has them."
    if display.note:
        caption += f" {display.note[:1].upper()}{display.note[1:]}."
    return f"{title.capitalize()} of {names}, {where}. {caption}", caption


def pair_pictures(result: AuditResult, palette: Palette) -> list[PairPictures]:
    """ROC gaps and inter-group curves of the pairs with the largest gaps."""
    pictures = []
    for k, pair in enumerate(worst_gap_pairs(result)):
        first, second = pair
        told = _told(result, pair, "at every rate", "How far apart the two groups are at every cut")
        draw_gaps = RocGapDisplay.from_audit(result, pairs=[pair]).plot
        gaps = _picture(palette, f"gaps{k}", (5.0, 4.6), draw_gaps, *told)
        title = (
            f"Share of {second} above each cut against the share of {first} above it, for "
            "negatives and for positives. The diagonal means even treatment."
        )
        caption = "The same as curves: on the diagonal, both groups are selected equally often."
        draw = InterGroupRocDisplay.from_audit(result, pairs=[pair]).plot
        curves = _picture(palette, f"curves{k}", (4.0, 4.5), draw, title, caption)
        pictures.append(PairPictures(first, second, gaps, curves))
    return pictures


def _told(result: AuditResult, pair: tuple[str, str], where: str, what: str) -> tuple[str, str]:
    """Title and caption of a picture of ROC gaps, with the largest ones as the audit found them."""
    first, second = pair
    gaps = [
        f"{curve.supremum:+.3f} among {curve.on} (at a rate of {curve.supremum_rate:.3f})"
        for curve in result.roc_gaps
        if (curve.first, curve.second) == pair and not math.isnan(curve.supremum)
    ]
    largest = f"The largest gap seen, without an interval, is {' and '.join(gaps)}."
    if not gaps:
        largest = "No gap is defined."
    return (
        f"ROC gaps between {first} and {second} {where}. {largest}",
        f"{what}: above zero, {second} is selected more often than {first}. {largest}",
    )


def distribution_picture(result: AuditResult, palette: Palette) -> Picture:
    """How the score is distributed in each group and class."""
    display = ScoreDistributionDisplay.from_audit(result)
    shown = shown_groups(result, MOST_CURVES)
    display = replace(
        display,
        density=display.density[:, shown],
        counts=display.counts[:, shown],
        groups=tuple(display.groups[k] for k in shown),
    )
    names, note = _shown(result, shown)
    title = (
        f"Histograms of the score by group, positives upwards and negatives downwards, for {names}."
    )
    caption = (
        "How the score is distributed: positives upwards, negatives downwards, each group in its "
        f"own colour.{note}"
    )
    size = 5.0, 3.9 + ENTRY * len(shown)
    return _picture(palette, "scores", size, display.plot, title, caption)


def roc_picture(result: AuditResult, palette: Palette) -> Picture:
    """The ROC curve of each group and of everyone."""
    *groups, everyone = GroupRocDisplay.from_audit(result).curves
    shown = shown_groups(result, MOST_CURVES)
    display = GroupRocDisplay((*(groups[k] for k in shown), everyone))
    names, note = _shown(result, shown)
    title = f"ROC curves of {names} and of everyone. Overall, {result.auc.words}."
    caption = "How well the score ranks within each group: the higher the curve, the better."
    size = 4.0, 4.3 + ENTRY * len(shown)
    return _picture(palette, "roc", size, display.plot, title, caption + note)


def _shown(result: AuditResult, shown: list[int]) -> tuple[str, str]:
    """The names of the groups shown, and a further sentence if some are left out."""
    note = shown_note(result, shown)
    return ", ".join(result.groups[k] for k in shown), f" {note}." if note else ""


def matrix_picture(result: AuditResult, palette: Palette) -> Picture:
    """The AUCs between all cells as a map of colours, where a table would be too wide."""
    display = AucMatrixDisplay.from_audit(result)
    compared = set(result.compared_groups)
    kept = [k for k, group in enumerate(2 * result.groups) if group in compared]
    parts = {name: getattr(display, name)[np.ix_(kept, kept)] for name in ("values", "low", "high")}
    display = replace(display, **parts, cells=tuple(display.cells[k] for k in kept))
    side = 1.6 + 0.36 * len(display.cells)

    def draw(ax: Any) -> None:
        display.plot(ax, colorbar=False)
        for text, value in zip(chain(*display.texts_), display.values.flat, strict=True):
            if not math.isnan(value):
                text.set_color(palette.ink_on(value))

    title = "Map of the AUCs between all cells, with numbers."
    caption = (
        "How often one of the column is ranked above one of the row; 0.5 means alike. There is no "
        "room for the intervals here: the JSON file of this audit has them."
    )
    return _picture(palette, "matrix", (side, side), draw, title, caption)


def before_after_pictures(
    before: AuditResult, after: AuditResult, pair: tuple[str, str], palette: Palette
) -> tuple[Picture, Picture]:
    """The ROC gaps of two scores of the same people, on the same scale."""
    displays = [RocGapDisplay.from_audit(side, pairs=[pair]) for side in (before, after)]
    curves = [curve for display in displays for curve in display.curves if not curve.reason]
    bands = [band for curve in curves for band in curve.bands]
    reach = 1.5 * after.settings.tolerance
    lowest = min([-reach, *(np.nanmin(band.low) for band in bands)])
    highest = max([reach, *(np.nanmax(band.high) for band in bands)])

    def picture(when: str, side: AuditResult, display: RocGapDisplay) -> Picture:
        def draw(ax: Any) -> None:
            display.plot(ax)
            ax.set_ylim(lowest - 0.02, highest + 0.02)
            ax.set_title(when, fontsize=10)

        told = _told(side, pair, when, when.capitalize())
        return _picture(palette, when, (4.5, 4.6), draw, *told)

    return picture("before", before, displays[0]), picture("after", after, displays[1])
