"""A picture as inline SVG: drawn once, in colours that the style sheet chooses.

Every light colour becomes a variable of the page's palette. Style attributes become presentation
attributes, since the page's policy allows no inline style, and text stays text, in the page's own
type.
"""

import io
import re
import warnings
from html import escape
from typing import Any
from xml.etree import ElementTree

import matplotlib
import numpy as np
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from evenscore.showing.report.colours import Palette

_SHOWN = {"svg", "g", "path", "use", "defs", "clipPath", "rect", "text", "tspan"}
_LEFT_OUT = {"metadata", "style"}
_COLOURED = {"path", "use", "text"}
_DROPPED = {"font-family", "font", "version", "style"}
_PIXELS = 1.4  # of the page to a point of the picture
_POINTS = 72.0  # an inch
_MARGIN = 2.88  # points around what is drawn
_NUMBER = re.compile(r"-?\d+\.\d+")
_REFERENCE = re.compile(r"url\(#(.+)\)")


def inline_svg(figure: Figure, *, name: str, title: str, palette: Palette) -> str:
    """The picture as markup; `name` makes its ids unique on the page, `title` is its alt text."""
    name = f"picture-{name}"
    svg, box = _drawn(figure)
    walk = _Walk(name, palette)
    inside = "".join(map(walk.element, ElementTree.fromstring(svg)))
    corner = f"{box.x0:.2f} {figure.bbox.height - box.y1:.2f}"
    return (
        f'<svg class="plot" viewBox="{corner} {box.width:.2f} {box.height:.2f}" '
        f'width="{_PIXELS * box.width:.0f}" height="{_PIXELS * box.height:.0f}" '
        f'role="img" aria-labelledby="{name}-title">'
        f'<title id="{name}-title">{escape(title)}</title>{inside}</svg>'
    )


def _drawn(figure: Figure) -> tuple[str, Bbox]:
    """SVG of a figure with one pair of axes, and the box in points around what is drawn.

    To save a figure to a tight box, matplotlib would arrange it twice, draw it twice and measure
    every text three times.
    """
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "evenscore"}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # The browser has the letters that matplotlib's font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.set_dpi(_POINTS)
        buffer = io.StringIO()
        nothing = {"Date": None, "Creator": None}
        size = figure.bbox.width, figure.bbox.height
        renderer: Any = RendererSVG(*size, buffer, metadata=nothing)  # type: ignore[no-untyped-call]
        box = _arranged(figure, renderer)
        figure.draw(renderer)
        renderer.finalize()
    return buffer.getvalue(), box.padded(_MARGIN)


def _arranged(figure: Figure, renderer: Any) -> Any:
    """Give the axes all the room that labels and legend leave; the box around everything."""
    ax: Any
    [ax] = figure.axes
    engine: Any = figure.get_layout_engine()
    free = _POINTS * np.array([engine.get()["w_pad"], engine.get()["h_pad"]])
    figure.set_layout_engine("none")
    ax.spines[:].set_in_layout(False)  # they are where the axes end, and take long to measure
    whole = ax.get_tightbbox(renderer, for_layout_only=True)
    corners = free + ax.bbox.min - whole.min, figure.bbox.max - free + ax.bbox.max - whole.max
    ax.set_position(Bbox(corners).transformed(figure.transFigure.inverted()))
    return ax.get_tightbbox(renderer)


class _Walk:
    """Writes elements for the page; gives short ids in order of appearance."""

    def __init__(self, name: str, palette: Palette) -> None:
        self.name, self.palette = name, palette
        self.ids: dict[str, str] = {}

    def element(self, element: ElementTree.Element) -> str:
        tag = _bare(element.tag)
        if tag in _LEFT_OUT:
            return ""
        if tag not in _SHOWN:
            raise ValueError(f"The picture {self.name} has an element {tag}.")
        inside = "".join(map(self.element, element))
        if tag in ("text", "tspan"):
            inside = escape(element.text or "") + inside
        if tag in ("g", "defs") and not inside:
            return ""
        attributes = self.attributes(tag, element)
        if tag == "g" and not attributes:
            return inside
        return f"<{tag}{attributes}>{inside}</{tag}>" if inside else f"<{tag}{attributes}/>"

    def attributes(self, tag: str, element: ElementTree.Element) -> str:
        values = {_bare(key): value for key, value in element.attrib.items()}
        for rule in values.get("style", "").split(";"):
            key, _, value = rule.partition(":")
            values[key.strip()] = value.strip()
        if tag in _COLOURED and "id" not in values:
            values.setdefault("fill", "#000000")  # what SVG, and so matplotlib, takes for granted
        texts = []
        for key, value in values.items():
            if not key or key in _DROPPED or (key == "id" and tag not in ("path", "clipPath")):
                continue
            if key == "id":
                value = self.renamed(value)
            elif key == "href":
                value = f"#{self.renamed(value.removeprefix('#'))}"
            elif reference := _REFERENCE.fullmatch(value):
                value = f"url(#{self.renamed(reference[1])})"
            elif key in ("fill", "stroke") and value != "none":
                value = self.palette.use(value)
            elif key == "transform" and value.startswith("rotate(-0 "):
                continue
            else:
                value = _NUMBER.sub(_rounded, " ".join(value.split()))
            texts.append(f' {key}="{escape(value)}"')
        return "".join(texts)

    def renamed(self, reference: str) -> str:
        return self.ids.setdefault(reference, f"{self.name}-{len(self.ids)}")


def _bare(name: str) -> str:
    """A name without its namespace."""
    return name.rsplit("}", 1)[-1]


def _rounded(number: re.Match[str]) -> str:
    """Hundredths of a point are finer than any screen."""
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
