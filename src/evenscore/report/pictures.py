"""The pictures of a report: displays of the audit, drawn in both themes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenscore.plots import (
    AucMatrixDisplay,
    GroupRocDisplay,
    InterGroupRocDisplay,
    RocGapDisplay,
    ScoreDistributionDisplay,
    figure,
)
from evenscore.plots.style import ThemeName
from evenscore.report.colours import Palette
from evenscore.report.inline_svg import inline_svg
from evenscore.report.selection import shown_groups, shown_note, worst_gap_pairs
from evenscore.results import AuditResult

__all__ = [
    "PairPictures",
    "Picture",
    "before_after_pictures",
    "distribution_picture",
    "gap_picture",
    "matrix_picture",
    "pair_pictures",
    "roc_picture",
]

Size = tuple[float, float]


@dataclass(frozen=True)
class Picture:
    """Markup of an SVG, and the sentences under it."""

    svg: str
    caption: str


@dataclass(frozen=True)
class PairPictures:
    """What is drawn of a pair of groups."""

    first: str
    second: str
    gaps: Picture
    curves: Picture


def _picture(
    draw: Callable[[Any], object],
    size: Size,
    *,
    name: str,
    title: str,
    caption: str,
    palette: Palette,
) -> Picture:
    drawn = []
    themes: tuple[ThemeName, ...] = ("light", "dark")
    for theme in themes:
        made, ax = figure(theme=theme, figsize=size)
        draw(ax)
        made.set_facecolor("none")  # the page's own ground is behind it
        ax.set_facecolor("none")
        drawn.append(made)
    svg = inline_svg(drawn[0], drawn[1], name=name, title=title, palette=palette)
    return Picture(svg, caption)


def pair_pictures(result: AuditResult, palette: Palette) -> list[PairPictures]:
    """ROC gaps and inter-group curves of the pairs with the largest gaps."""
    return [
        PairPictures(
            first,
            second,
            gap_picture(result, (first, second), f"gaps{k}", palette),
            _curve_picture(result, (first, second), f"curves{k}", palette),
        )
        for k, (first, second) in enumerate(worst_gap_pairs(result))
    ]


def gap_picture(result: AuditResult, pair: tuple[str, str], name: str, palette: Palette) -> Picture:
    """The ROC gaps of a pair of groups over all rates."""
    display = RocGapDisplay.from_audit(result, pairs=[pair])
    first, second = pair
    return _picture(
        lambda ax: display.plot(ax),
        (5.0, 4.6),
        name=name,
        title=f"ROC gaps between {first} and {second} at every rate. {_largest(result, pair)}",
        caption=(
            f"How far apart the two groups are at every cut: above zero, {second} is selected more "
            f"often than {first}. {_largest(result, pair)}"
        ),
        palette=palette,
    )


def _largest(result: AuditResult, pair: tuple[str, str]) -> str:
    """The largest gaps in words, as the audit found them."""
    told = [
        f"{curve.supremum:+.3f} among {curve.on} (at a rate of {curve.supremum_rate:.3f})"
        for curve in result.roc_gaps
        if (curve.first, curve.second) == pair and not math.isnan(curve.supremum)
    ]
    return (
        f"The largest gap seen, without an interval, is {' and '.join(told)}."
        if told
        else "No gap is defined."
    )


def _curve_picture(
    result: AuditResult, pair: tuple[str, str], name: str, palette: Palette
) -> Picture:
    display = InterGroupRocDisplay.from_audit(result, pairs=[pair])
    first, second = pair
    return _picture(
        lambda ax: display.plot(ax),
        (4.0, 4.5),
        name=name,
        title=(
            f"Share of {second} above each cut against the share of {first} above it, for "
            "negatives and for positives. The diagonal means even treatment."
        ),
        caption="The same as curves: on the diagonal, both groups are selected equally often.",
        palette=palette,
    )


def distribution_picture(result: AuditResult, palette: Palette) -> Picture:
    """How the score is distributed in each group and class."""
    display = ScoreDistributionDisplay.from_audit(result)
    shown = shown_groups(result, 4)
    display = replace(
        display,
        density=display.density[:, shown],
        counts=display.counts[:, shown],
        groups=tuple(display.groups[k] for k in shown),
    )
    return _picture(
        lambda ax: display.plot(ax),
        (5.0, _height(3.9, shown)),
        name="scores",
        title=(
            "Histograms of the score by group, positives upwards and negatives downwards, for "
            f"{_names(result, shown)}."
        ),
        caption=(
            "How the score is distributed: positives upwards, negatives downwards, each group in "
            f"its own colour.{_not_shown(result, shown)}"
        ),
        palette=palette,
    )


def roc_picture(result: AuditResult, palette: Palette) -> Picture:
    """The ROC curve of each group and of everyone."""
    display = GroupRocDisplay.from_audit(result)
    shown = shown_groups(result, 4)
    *groups, everyone = display.curves
    display = replace(display, curves=(*(groups[k] for k in shown), everyone))
    return _picture(
        lambda ax: display.plot(ax),
        (4.0, _height(4.3, shown)),
        name="roc",
        title=(
            f"ROC curves of {_names(result, shown)} and of everyone. Overall, {result.auc.words}."
        ),
        caption=(
            "How well the score ranks within each group: the higher the curve, the better."
            f"{_not_shown(result, shown)}"
        ),
        palette=palette,
    )


def _height(least: float, shown: list[int]) -> float:
    """Every group has a line in the legend."""
    return least + 0.19 * len(shown)


def _names(result: AuditResult, shown: list[int]) -> str:
    return ", ".join(result.groups[k] for k in shown)


def _not_shown(result: AuditResult, shown: list[int]) -> str:
    """A further sentence of a caption, if groups are left out."""
    note = shown_note(result, shown)
    return f" {note}." if note else ""


def matrix_picture(result: AuditResult, palette: Palette) -> Picture:
    """The AUCs between all cells as a map of colours, where a table would be too wide."""
    display = AucMatrixDisplay.from_audit(result)
    side = 1.6 + 0.36 * len(display.cells)
    return _picture(
        lambda ax: display.plot(ax, colorbar=False),
        (side, side),
        name="matrix",
        title="Map of the AUCs between all cells, with numbers.",
        caption=(
            "How often one of the column is ranked above one of the row; 0.5 means alike. There is "
            "no room for the intervals here: the JSON file of this audit has them."
        ),
        palette=palette,
    )


def before_after_pictures(
    before: AuditResult, after: AuditResult, pair: tuple[str, str], palette: Palette
) -> tuple[Picture, Picture]:
    """The ROC gaps of two scores of the same people, on the same scale."""
    sides = (before, after)
    displays = [RocGapDisplay.from_audit(side, pairs=[pair]) for side in sides]
    ends = [
        float(end)
        for display in displays
        for curve in display.curves
        for band in curve.bands
        for part in (band.low, band.high)
        for end in (np.nanmin(part), np.nanmax(part))
        if not curve.reason
    ]
    reach = 1.5 * after.settings.tolerance
    limits = min([-reach, *ends]) - 0.02, max([reach, *ends]) + 0.02
    first, second = pair

    def picture(told: str, side: AuditResult, display: RocGapDisplay) -> Picture:
        def draw(ax: Any) -> None:
            display.plot(ax)
            ax.set_ylim(limits)
            ax.set_title(told, fontsize=10)

        largest = _largest(side, pair)
        return _picture(
            draw,
            (4.5, 4.6),
            name=told,
            title=f"ROC gaps between {first} and {second} {told}. {largest}",
            caption=f"{told.capitalize()}: above zero, {second} is selected more often than "
            f"{first}. {largest}",
            palette=palette,
        )

    return picture("before", before, displays[0]), picture("after", after, displays[1])
