"""The threshold explorer: what the slider shows, as data that the page's script only looks up.

Numbers are rounded here, once: rates are sent as whole tenths of a percent, so that the script
shows the very digits that a table of the same audit shows.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from evenscore.auditing import AuditResult
from evenscore.inference.cuts import CutTable, ImpactRatio, Shares
from evenscore.scores.selection import Side
from evenscore.scores.thinning import Outline
from evenscore.showing import numbers
from evenscore.showing.plots.style import LIGHT
from evenscore.showing.report.selection import shown_groups, shown_note

RATES = ("selection_rate", "fpr", "fnr", "precision")

# Shapes of about the same area, around (0, 0), in the order of the plots' markers.
_MARKERS = (
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "M-4-4h8v8h-8z",
    "M0-5.2L5 4h-10z",
    "M0-5.4L5.4 0L0 5.4L-5.4 0z",
    "M0 5.2L5-4h-10z",
    "M-1.8-5h3.6v3.2h3.2v3.6h-3.2v3.2h-3.6v-3.2h-3.2v-3.6h3.2z",
)


@dataclass(frozen=True)
class Frame:
    """Where the square of rates lies in the picture, in its own units."""

    left: float = 58.0
    top: float = 10.0
    side: float = 320.0
    width: float = 390.0  # of the whole picture
    height: float = 372.0

    def x(self, rate: float) -> float:
        """Where a false positive rate is drawn."""
        return round(self.left + self.side * rate, 2)

    def y(self, rate: float) -> float:
        """Where a true positive rate is drawn."""
        return round(self.top + self.side * (1.0 - rate), 2)

    def points(self, curve: Outline) -> str:
        """The vertices of a curve, for a polyline."""
        return " ".join(
            f"{self.x(x):.1f},{self.y(y):.1f}"
            for x, y in zip(curve.x.tolist(), curve.y.tolist(), strict=True)
        )


class RocLine(NamedTuple):
    """A group's ROC curve as it is drawn."""

    group: int
    name: str
    points: str
    series: int
    dash: str
    marker: str


@dataclass(frozen=True)
class Explorer:
    """Everything the section needs; `asked` are the positions of the cuts asked for.

    It opens with the first of them.
    """

    cuts: CutTable
    asked: tuple[int, ...]
    frame: Frame
    everyone: str
    lines: tuple[RocLine, ...]
    note: str
    data: str


def explorer(result: AuditResult) -> Explorer:
    """The explorer of an audit."""
    asked = result.thresholds
    cuts, frame = merged_cuts(asked, result.explorer), Frame()
    everyone, *curves = (_as_cut(curve, cuts.side) for curve in result.roc_curves)
    shown = shown_groups(result)
    lines = tuple(
        RocLine(k, result.groups[k], frame.points(curves[k]), number, _dash(number), marker)
        for number, (k, marker) in enumerate(zip(shown, _MARKERS, strict=False))
    )
    places = tuple(dict.fromkeys(np.searchsorted(cuts.thresholds, asked.thresholds).tolist()))
    note, data = shown_note(result, shown), json_block(_data(cuts, frame))
    return Explorer(cuts, places, frame, frame.points(everyone), lines, note, data)


def _as_cut(curve: Outline, side: Side) -> Outline:
    """A ROC curve where low scores are selected: of those whom the audit's curve leaves out."""
    if side == "high":
        return curve
    x, y = 1.0 - curve.x[::-1], 1.0 - curve.y[::-1]
    return replace(curve, thresholds=curve.thresholds[::-1], x=x, y=y)


def merged_cuts(asked: CutTable, others: CutTable) -> CutTable:
    """The rows of both, by threshold; of two with the same threshold, the one asked for."""
    both = np.concatenate([asked.thresholds, others.thresholds])
    order = np.unique(both, return_index=True)[1].tolist()
    names = ("thresholds", "labels", "selected", "selected_share", *RATES, "impact_ratio")
    return replace(asked, **_merged(asked, others, names, order))


def _merged(one: Any, other: Any, names: Iterable[str], order: list[int]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for name in names:
        first, second = getattr(one, name), getattr(other, name)
        if isinstance(first, Shares | ImpactRatio):
            parts = [part.name for part in fields(first)]
            merged[name] = type(first)(**_merged(first, second, parts, order))
        elif isinstance(first, tuple):
            merged[name] = tuple((*first, *second)[k] for k in order)
        else:
            merged[name] = np.concatenate([first, second])[order]
    return merged


def _dash(number: int) -> str:
    """The dashes of the plots' line style, as SVG has them."""
    style = LIGHT.series(number).linestyle
    return "" if isinstance(style, str) else " ".join(f"{length:g}" for length in style[1])


def _data(cuts: CutTable, frame: Frame) -> dict[str, Any]:
    ratio = cuts.impact_ratio
    return {
        "frame": [frame.left, frame.top, frame.side],
        "thresholds": [f"{t:.4g}" for t in cuts.thresholds.tolist()],
        "share": [_tenths(share) for share in cuts.selected_share.tolist()],
        "selected": [[f"{n:,.0f}" for n in row] for row in cuts.selected.tolist()],
        "rates": {name: _triples(getattr(cuts, name)) for name in RATES},
        "ratio": [numbers.ratio(value) for value in ratio.value.tolist()],
        "notes": list(ratio.notes),
        "none": numbers.NONE,
        "no_interval": numbers.NO_INTERVAL,
    }


def _triples(shares: Shares) -> list[list[list[int | None]]]:
    """(value, low, high) by threshold and group."""
    parts = np.stack([shares.value, shares.low, shares.high], axis=-1)
    return [[[_tenths(x) for x in cell] for cell in row] for row in parts.tolist()]


def _tenths(share: float) -> int | None:
    """Tenths of a percent, rounded as the tables round: 0.12345 is 123."""
    return None if math.isnan(share) else int(f"{share:.1%}"[:-1].replace(".", ""))


def json_block(data: Any) -> str:
    r"""JSON that can stand in a script element: no text in it can end the element or start markup.

    >>> json_block("</script>&")
    '"\\u003c/script\\u003e\\u0026"'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
