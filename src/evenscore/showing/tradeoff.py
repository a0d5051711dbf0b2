"""What fairness costs: the path of a trade-off, and prices of claims, as tables and as a page."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenscore.auditing.blocks import BlockTable
from evenscore.auditing.provenance import InputFile
from evenscore.files.atomic import write_atomically
from evenscore.inference.estimate import percent
from evenscore.showing.certified import section
from evenscore.showing.numbers import interval, plain
from evenscore.showing.page.charts import Chart, Entry, area, stroke, swatch
from evenscore.showing.page.shell import render

if TYPE_CHECKING:
    from evenscore.choosing import CertifiedChoice, ClaimPrices, TradeoffPath

PRICED = "What each claim costs, on rows not learned from: AUC, and what is left of every gap"
"""The title of a table of prices."""

_NEAR = 24.0  # units of the picture: labels of points nearer than this would lie on each other
_CHOSEN = 2  # the number of the colour and shape of the point that is chosen


def price_table(claims: ClaimPrices) -> BlockTable:
    """A row per claim."""
    rows = []
    for claim in claims.claims:
        price = claims.price(claim)
        rows.append(
            (
                " and ".join(kind.removesuffix("_gap") for kind in claim.kinds) or "nothing",
                plain(claim.auc.value),
                interval(claim.auc.low, claim.auc.high),
                plain(price) if claim.kinds else "",
                *(plain(abs(claim.worst(kind).value)) for kind in claims.kinds),
            )
        )
    gaps = (kind.replace("_", " ") for kind in claims.kinds)
    level = percent(claims.claims[0].auc.confidence_level)
    columns = ("equal", "AUC", f"{level} interval", "price", *gaps)
    return BlockTable(PRICED, columns, tuple(rows))


NUMBERS = 6
"""Columns of the table before the one that says which gap is the worst."""


def path_table(path: TradeoffPath, chosen: int | None = None) -> BlockTable:
    """A row per point."""
    level = f"{percent(path.points[0].auc.confidence_level)} interval"
    rows: list[tuple[str, ...]] = []
    for k, point in enumerate(path.points):
        remarks = {
            "chosen": k == chosen,
            "Pareto front": k in path.pareto,
            "not converged": not point.converged,
        }
        rows.append(
            (
                str(point),
                ", ".join(remark for remark, holds in remarks.items() if holds),
                plain(point.auc.value),
                interval(point.auc.low, point.auc.high),
                plain(point.worst_gap),
                interval(*point.worst_interval),
                point.worst.title,
            )
        )
    columns: tuple[str, ...] = ("point", "remarks", "AUC", level, "worst gap", level, "which gap")
    about, note = {row[-1] for row in rows}, ""
    if len(about) == 1:  # said once
        note = f"The worst gap is {about.pop()}."
        columns, rows = columns[:NUMBERS], [row[:NUMBERS] for row in rows]
    return BlockTable(_title(path), columns, tuple(rows), note, names=2)


def _title(path: TradeoffPath) -> str:
    return f"What fairness costs {type(path.scorer).__name__}, by {path.points[0].parameter}"


def path_chart(
    path: TradeoffPath, chosen: int | None = None, tolerance: float | None = None
) -> Chart:
    """AUC against the worst gap of every point, with intervals; better is up and to the left."""
    points = path.points
    gaps = [(point.worst_gap, *point.worst_interval) for point in points]
    aucs = [(point.auc.value, point.auc.low, point.auc.high) for point in points]
    right = max((x for gap in gaps for x in gap if math.isfinite(x)), default=0.1)
    heights = [y for auc in aucs for y in auc if math.isfinite(y)] or [0.5, 1.0]
    margin = 0.08 * (max(heights) - min(heights)) or 0.01
    level = percent(points[0].auc.confidence_level)
    chart = Chart(
        "path",
        f"AUC against the worst gap of {len(points)} points; their numbers are in the table.",
        (0.0, max(1.08 * right, 1.3 * (tolerance or 0.0), 1e-3)),
        (min(heights) - margin, max(heights) + margin),
        x_label="worst gap between groups, cross-validated",
        heading="AUC, cross-validated",
        caption="Better is up (it ranks people well) and to the left (it does so evenly).",
        width=520.0,
        height=340.0,
    )
    if tolerance is not None:
        chart.band([0.0, tolerance], [chart.y[0]] * 2, [chart.y[1]] * 2, "ribbon")
        chart.legend.append(Entry(area("ribbon"), f"tolerance {tolerance:g}"))
    front = sorted(path.pareto, key=lambda k: gaps[k][0])
    chart.plain_line([gaps[k][0] for k in front], [aucs[k][0] for k in front], "front")
    for k, (gap, auc) in enumerate(zip(gaps, aucs, strict=True)):
        chart.plain_line([gap[1], gap[2]], [auc[0], auc[0]], "whisker")
        chart.plain_line([gap[0], gap[0]], [auc[1], auc[2]], "whisker")
        chart.marks([gap[0]], [auc[0]], _CHOSEN if k == chosen else 0)
    for x, y, names in _labels(path, chart):
        chart.text(x, y, ", ".join(names))
    chart.legend.append(Entry(swatch(0, line=False), f"a point, with {level} intervals"))
    if chosen is not None:
        chart.legend.append(Entry(swatch(_CHOSEN, line=False), "chosen"))
    chart.legend.append(Entry(stroke("front"), "Pareto front: no other point beats these"))
    return chart


def _labels(path: TradeoffPath, chart: Chart) -> list[tuple[float, float, list[str]]]:
    """What is written beside the points; those that lie together share a label."""
    labels: list[tuple[float, float, list[str]]] = []
    for point in path.points:
        x, y = point.worst_gap, point.auc.value
        if not (math.isfinite(x) and math.isfinite(y)):
            continue
        name = "none" if math.isinf(point.value) else f"{point.value:g}"
        for u, v, names in labels:
            if (
                abs(chart.at_x(u) - chart.at_x(x)) < _NEAR
                and abs(chart.at_y(v) - chart.at_y(y)) < _NEAR
            ):
                names.append(name)
                break
        else:
            labels.append((x, y, [name]))
    return labels


def page(
    path: TradeoffPath,
    *,
    title: str = "",
    tolerance: float | None = None,
    chosen: int | None = None,
    refusal: str = "",
    claims: ClaimPrices | None = None,
    certified: CertifiedChoice | None = None,
    files: Mapping[str, InputFile] | None = None,
    assumption: str = "",
) -> str:
    """The page of a path: what is certified, what each claim costs, a picture and a table."""
    from evenscore import __version__
    from evenscore.choosing.path import CHOSEN_HERE

    return render(
        "showing/tradeoff.html.jinja",
        title=title or _title(path),
        scorer=type(path.scorer).__name__,
        chart=path_chart(path, chosen, None if chosen is None else tolerance),
        table=path_table(path, chosen),
        prices=None if claims is None else price_table(claims),
        certified=None if certified is None else section(certified),
        files=files or {},
        refusal=refusal,
        choice=CHOSEN_HERE if chosen is not None and certified is None else "",
        assumption=assumption,
        version=__version__,
    )


def write(path: TradeoffPath, target: str | os.PathLike[str], **options: Any) -> Path:
    """Write the page of a path to a file, whole or not at all; give its path."""
    return write_atomically(target, page(path, **options))
