"""Pictures as inline SVG: drawn once, in colours that the style sheet chooses.

A chart knows its axes and writes what is drawn between them; lines, bands and marks have classes,
never colours, so that one drawing serves a light screen, a dark one and paper. What stands in a
legend is text of the page, which wraps, and is collected beside the drawing.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from textwrap import wrap
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

SERIES = 7  # colours of the style sheet
_RIGHT = 20.0  # beside the upright end: half of the last tick's letters
_DASHES = ("", "7 3", "7 2.5 1.5 2.5", "1.5 2", "4 2", "7 2.5 1.5 2.5 1.5 2.5", "11 3 4 3", "5 4")

# Shapes of about the same area, around (0, 0).
MARKERS = (
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "M-4-4h8v8h-8z",
    "M0-5.2L5 4h-10z",
    "M0-5.4L5.4 0L0 5.4L-5.4 0z",
    "M0 5.2L5-4h-10z",
    "M-1.8-5h3.6v3.2h3.2v3.6h-3.2v3.2h-3.6v-3.2h-3.2v-3.6h3.2z",
    "M-4.5-2.5h9v5h-9z",
)


class Entry(NamedTuple):
    """A line of a legend: what it looks like, and what it says."""

    swatch: str
    text: str


def dash(series: int) -> str:
    """The dashes of a series, so that a print in black and white can be read."""
    return _DASHES[series % len(_DASHES)]


def marker(series: int) -> str:
    """The shape of a series' marks."""
    return MARKERS[series % len(MARKERS)]


def swatch(series: int, *, line: bool = True) -> str:
    """A series in a legend or a table."""
    path = ""
    if line:
        path = f'<path class="curve" d="M1 7H33" stroke-dasharray="{dash(series) or "none"}"/>'
    return _small(
        f'{path}<path class="marker" transform="translate(17 7)" d="{marker(series)}"/>',
        f"series-{series % SERIES}",
    )


def area(css: str) -> str:
    """A shaded area in a legend."""
    return _small(f'<rect class="{css}" x="1" y="2" width="32" height="10"/>')


def stroke(css: str) -> str:
    """A line in a legend."""
    return _small(f'<path class="{css}" d="M1 7H33"/>')


def upright(css: str = "largest") -> str:
    """An upright bar in a legend: by default the mark of the largest gap."""
    return _small(f'<path class="{css}" d="M17 1V13M13 1H21M13 13H21"/>')


def _small(inside: str, css: str = "") -> str:
    return (
        f'<svg class="swatch {css}" viewBox="0 0 34 14" width="34" height="14" '
        f'aria-hidden="true">{inside}</svg>'
    )


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between two ends, at most so many.

    >>> ticks(0.1, 0.4), ticks(0.0, 1.0, 5)
    ([0.1, 0.2, 0.3, 0.4], [0.0, 0.25, 0.5, 0.75, 1.0])
    """
    span = high - low
    if not (math.isfinite(span) and span > 1e-300):
        return [low]
    raw = span / most
    power = 10.0 ** math.floor(math.log10(raw))
    for factor in (1.0, 2.0, 2.5, 5.0, 10.0, 20.0):
        step = factor * power
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first + 1 <= most:
            return [round(k * step, 12) + 0.0 for k in range(first, last + 1)]
    return [low, high]


def plain(value: float) -> str:
    """A tick that is a number."""
    return f"{value:.4g}"


@dataclass
class Chart:
    """A picture between two axes.

    Parameters
    ----------
    name : str
        Unique on the page.
    title : str
        What the picture shows, in words, for whoever cannot see it.
    x, y : pairs of numbers
        The ranges of the axes.
    x_label, y_label : str
        What is on them.
    heading, caption : str
        The text above and below it.
    """

    name: str
    title: str
    x: tuple[float, float]
    y: tuple[float, float]
    x_label: str = ""
    y_label: str = ""
    heading: str = ""
    caption: str = ""
    x_text: Callable[[float], str] = plain
    y_text: Callable[[float], str] = plain
    x_ticks: Sequence[float] | None = None
    y_ticks: Sequence[float] | None = None
    width: float = 440.0
    height: float = 300.0
    left: float = 52.0
    legend: list[Entry] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)

    @property
    def _labels(self) -> list[str]:
        return _wrapped(self.x_label, int((self.width - self.left) / 6.6))

    @property
    def bottom(self) -> float:
        """Where the lower axis is."""
        return self.height - 26.0 - 16.0 * len(self._labels)

    @property
    def top(self) -> float:
        """Where the picture begins; a label of the upright axis is above it."""
        return 24.0 if self.y_label else 8.0

    def at_x(self, value: float) -> float:
        """Where a number lies across."""
        low, high = self.x
        across = self.width - self.left - _RIGHT
        return round(self.left + across * (value - low) / (high - low), 1)

    def at_y(self, value: float) -> float:
        """Where a number lies upright."""
        low, high = self.y
        return round(self.bottom - (self.bottom - self.top) * (value - low) / (high - low), 1)

    # ------------------------------------------------------------------ what is drawn

    def line(self, x: ArrayLike, y: ArrayLike, series: int, css: str = "curve") -> None:
        """A line, in pieces where it has no value."""
        path = self._path(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))
        self.parts.append(
            f'<path class="{css} series-{series % SERIES}" '
            f'stroke-dasharray="{dash(series) or "none"}" d="{path}"/>'
        )

    def plain_line(self, x: ArrayLike, y: ArrayLike, css: str) -> None:
        """A line that is not of a series."""
        path = self._path(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))
        self.parts.append(f'<path class="{css}" d="{path}"/>')

    def marks(self, x: ArrayLike, y: ArrayLike, series: int) -> None:
        """Marks on a line."""
        for one, two in zip(np.atleast_1d(x).tolist(), np.atleast_1d(y).tolist(), strict=True):
            if math.isfinite(two):
                self.parts.append(
                    f'<path class="marker series-{series % SERIES}" d="{marker(series)}" '
                    f'transform="translate({self.at_x(one)} {self.at_y(two)})"/>'
                )

    def band(
        self, x: ArrayLike, low: ArrayLike, high: ArrayLike, css: str, series: int | None = None
    ) -> None:
        """What lies between two lines, shaded, where both are known."""
        across, lower, upper = (np.asarray(part, dtype=np.float64) for part in (x, low, high))
        known = np.isfinite(lower) & np.isfinite(upper)
        of = "" if series is None else f" series-{series % SERIES}"
        for run in _runs(known):
            if len(run) < 2:
                continue
            there = [f"{self.at_x(across[k])} {self._kept(upper[k])}" for k in run]
            back = [f"{self.at_x(across[k])} {self._kept(lower[k])}" for k in run[::-1]]
            self.parts.append(f'<path class="{css}{of}" d="M{"L".join([*there, *back])}z"/>')

    def error_bar(self, x: float, low: float, high: float, series: int) -> None:
        """An interval upright, with caps."""
        if math.isfinite(low) and math.isfinite(high):
            self.parts.append(
                f'<path class="cross series-{series % SERIES}" d="{self._i(x, low, high)}"/>'
            )

    def largest(self, x: float, low: float, high: float) -> None:
        """The mark of the largest gap."""
        self.parts.append(f'<path class="largest" d="{self._i(x, low, high)}"/>')

    def rule(self, css: str, *, x: float | None = None, y: float | None = None) -> None:
        """A straight line across the picture, at a number."""
        if x is not None:
            path = f"M{self.at_x(x)} {self.at_y(self.y[0])}V{self.at_y(self.y[1])}"
        else:
            assert y is not None
            path = f"M{self.at_x(self.x[0])} {self.at_y(y)}H{self.at_x(self.x[1])}"
        self.parts.append(f'<path class="{css}" d="{path}"/>')

    def steps(self, edges: ArrayLike, heights: ArrayLike, series: int, *, filled: bool) -> None:
        """A histogram from the zero line, upwards or downwards."""
        across, tall = np.asarray(edges, dtype=np.float64), np.nan_to_num(np.asarray(heights))
        zero = self.at_y(0.0)
        path = f"M{self.at_x(across[0])} {zero}" + "".join(
            f"V{self.at_y(height)}H{self.at_x(edge)}"
            for height, edge in zip(tall.tolist(), across[1:].tolist(), strict=True)
        )
        path += f"V{zero}"
        of = f"series-{series % SERIES}"
        if filled:
            self.parts.append(f'<path class="filled {of}" d="{path}z"/>')
        dashes = dash(series) or "none"
        self.parts.append(f'<path class="outline {of}" stroke-dasharray="{dashes}" d="{path}"/>')

    def text(self, x: float, y: float, words: str) -> None:
        """A few letters beside a point."""
        self.parts.append(
            f'<text x="{self.at_x(x) + 8}" y="{self.at_y(y) - 7}">{escape(words)}</text>'
        )

    def raw(self, markup: str) -> None:
        """Markup that a script moves, in the coordinates of the chart."""
        self.parts.append(markup)

    # ------------------------------------------------------------------ the whole

    def svg(self) -> str:
        """The picture."""
        identity = f"picture-{self.name}"
        return (
            f'<svg class="chart" viewBox="0 0 {self.width:g} {self.height:g}" role="img" '
            f'fill="none" stroke="currentColor" '
            f'width="{self.width:g}" height="{self.height:g}" '
            f'aria-labelledby="{identity}-title"><title id="{identity}-title">'
            f"{escape(self.title)}</title>{self._axes()}"
            f'<svg x="0" y="0" width="{self.width:g}" height="{self.height:g}">'
            f"{''.join(self.parts)}</svg></svg>"
        )

    def _axes(self) -> str:
        x_ticks = ticks(*self.x) if self.x_ticks is None else self.x_ticks
        y_ticks = ticks(*self.y) if self.y_ticks is None else self.y_ticks
        low, right = self.at_y(self.y[0]), self.at_x(self.x[1])
        high = self.at_y(self.y[1])
        grid = "".join(f"M{self.at_x(t)} {low}V{high}" for t in x_ticks)
        grid += "".join(f"M{self.left} {self.at_y(t)}H{right}" for t in y_ticks)
        parts = [f'<path class="grid" d="{grid}"/>']
        for t in x_ticks:
            parts.append(
                f'<text x="{self.at_x(t)}" y="{low + 16}" text-anchor="middle">'
                f"{escape(self.x_text(t))}</text>"
            )
        for t in y_ticks:
            parts.append(
                f'<text x="{self.left - 6}" y="{self.at_y(t) + 4}" text-anchor="end">'
                f"{escape(self.y_text(t))}</text>"
            )
        parts.append(f'<path class="axis" d="M{self.left} {high}V{low}H{right}"/>')
        if self.y_label:
            parts.append(f'<text x="2" y="13">{escape(self.y_label)}</text>')
        middle = (self.left + right) / 2.0
        for k, text in enumerate(self._labels):
            parts.append(
                f'<text x="{middle:g}" y="{low + 34 + 16 * k}" text-anchor="middle">'
                f"{escape(text)}</text>"
            )
        return "".join(parts)

    def _path(self, x: np.ndarray, y: np.ndarray) -> str:
        runs = _runs(np.isfinite(x) & np.isfinite(y))
        return "".join(
            "M" + "L".join(f"{self.at_x(x[k])} {self._kept(y[k])}" for k in run) for run in runs
        )

    def _kept(self, value: float) -> float:
        """Where a number lies upright, kept within the picture."""
        return self.at_y(min(max(float(value), self.y[0]), self.y[1]))

    def _i(self, x: float, low: float, high: float) -> str:
        across = self.at_x(x)
        left, right = f"M{across - 4:g}", f"H{across + 4:g}"
        below, above = self._kept(low), self._kept(high)
        return f"M{across} {below}V{above}{left} {below}{right}{left} {above}{right}"


def _runs(known: np.ndarray) -> list[np.ndarray]:
    """Positions next to each other at which something is known."""
    places = np.flatnonzero(known)
    parts = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    return [part for part in parts if len(part)]


def _wrapped(text: str, longest: int) -> list[str]:
    """A text in lines, broken between words where there are any."""
    return wrap(text, longest) if text else []
