"""The threshold explorer: what the slider shows, as data that the page's script only looks up.

Numbers are rounded here, once: rates are sent as whole tenths of a percent, so that the script
shows the very digits that a table of the same audit shows.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenscore.inference.cuts import CutTable, Shares
from evenscore.outlines import Outline
from evenscore.plots.style import LIGHT
from evenscore.report.merged_cuts import merged_cuts
from evenscore.report.selection import shown_groups, shown_note
from evenscore.results import AuditResult, numbers

__all__ = ["RATES", "Explorer", "Frame", "RocLine", "explorer", "json_block"]

Floats = NDArray[np.float64]

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
_DASHES = ("", "6 2", "6 1.5 1 1.5", "1 1.2", "3 1.2", "6 1.5 1 1.5 1 1.5")


@dataclass(frozen=True)
class Frame:
    """Where the square of rates lies in the picture, in its own units."""

    left: float = 58.0
    top: float = 10.0
    side: float = 320.0
    right: float = 12.0
    bottom: float = 42.0

    @property
    def width(self) -> float:
        """Of the whole picture."""
        return self.left + self.side + self.right

    @property
    def height(self) -> float:
        """Of the whole picture."""
        return self.top + self.side + self.bottom

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


@dataclass(frozen=True)
class RocLine:
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

    It opens with the first of them, `start`.
    """

    cuts: CutTable
    start: int
    asked: tuple[int, ...]
    frame: Frame
    everyone: str
    lines: tuple[RocLine, ...]
    note: str
    data: str

    @property
    def drawn(self) -> dict[int, RocLine]:
        """The drawn lines by group."""
        return {line.group: line for line in self.lines}


def explorer(result: AuditResult) -> Explorer:
    """The explorer of an audit."""
    asked = result.thresholds
    cuts, frame = merged_cuts(asked, result.explorer), Frame()
    places = np.searchsorted(cuts.thresholds, asked.thresholds).tolist()
    everyone, *curves = result.roc_curves
    shown = shown_groups(result)
    lines = tuple(
        RocLine(
            k,
            result.groups[k],
            frame.points(curves[k]),
            number % len(LIGHT.colors),
            _DASHES[number % len(_DASHES)],
            _MARKERS[number % len(_MARKERS)],
        )
        for number, k in enumerate(shown)
    )
    return Explorer(
        cuts,
        places[0],
        tuple(dict.fromkeys(places)),
        frame,
        frame.points(everyone),
        lines,
        shown_note(result, shown),
        json_block(_data(cuts, frame)),
    )


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
