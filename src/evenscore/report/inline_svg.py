"""One inline SVG out of a picture's light and dark versions.

Both are the same shapes in other colours: they are walked side by side, and every colour becomes
one that the style sheet chooses. Style attributes become presentation attributes, since the page's
policy allows no inline style, and text stays text, in the page's own type.
"""

from __future__ import annotations

import io
import re
import warnings
from html import escape
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import matplotlib

from evenscore.report.colours import Palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["inline_svg"]

_SHOWN = {"svg", "g", "path", "use", "defs", "clipPath", "rect", "text", "tspan"}
_LEFT_OUT = {"metadata", "style"}
_DROPPED = {"font-family", "font", "width", "height", "version", "style", "id"}
_PIXELS = 1.4  # of the page to a point of the picture
_NUMBER = re.compile(r"-?\d+\.\d+")
_COLOUR = re.compile(r"#[0-9a-f]{6}")
_REFERENCE = re.compile(r"url\(#(.+)\)")


def inline_svg(light: Figure, dark: Figure, *, name: str, title: str, palette: Palette) -> str:
    """The picture as markup; `name` makes its ids unique on the page, `title` is its alt text."""
    name = f"picture-{name}"
    one, two = (ElementTree.fromstring(_saved(figure)) for figure in (light, dark))
    walk = _Walk(name, palette)
    inside = "".join(walk.element(*pair) for pair in zip(one, two, strict=True))
    left, top, width, height = (float(part) for part in one.attrib["viewBox"].split())
    box = f"{left:g} {top:g} {width:g} {height:g}"
    return (
        f'<svg class="plot" viewBox="{box}" width="{_PIXELS * width:.0f}" '
        f'height="{_PIXELS * height:.0f}" role="img" aria-labelledby="{name}-title">'
        f'<title id="{name}-title">{escape(title)}</title>{inside}</svg>'
    )


def _saved(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "evenscore"}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # The browser has the letters that matplotlib's font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(
            buffer,
            format="svg",
            metadata={"Date": None, "Creator": None},
            bbox_inches="tight",
            pad_inches=0.04,
        )
    return buffer.getvalue()


class _Walk:
    """Writes elements of both versions as one; gives short ids in order of appearance."""

    def __init__(self, name: str, palette: Palette) -> None:
        self.name, self.palette = name, palette
        self.ids: dict[str, str] = {}

    def element(self, light: ElementTree.Element, dark: ElementTree.Element) -> str:
        tag = light.tag.rsplit("}", 1)[-1]
        if tag in _LEFT_OUT:
            return ""
        if tag not in _SHOWN or len(light) != len(dark) or light.tag != dark.tag:
            raise ValueError(f"The picture {self.name} cannot be shown in both themes.")
        inside = "".join(self.element(*pair) for pair in zip(light, dark, strict=True))
        if tag in ("text", "tspan"):
            inside = escape(light.text or "") + inside
        if tag in ("g", "defs") and not inside:
            return ""
        attributes = self.attributes(tag, _all_attributes(light), _all_attributes(dark))
        if tag == "g" and not attributes:
            return inside
        return f"<{tag}{attributes}>{inside}</{tag}>" if inside else f"<{tag}{attributes}/>"

    def attributes(self, tag: str, light: dict[str, str], dark: dict[str, str]) -> str:
        if "id" in light and tag in ("path", "clipPath"):
            light["id"] = self.renamed(light["id"])
        else:
            light.pop("id", None)
        found = []
        for key, value in light.items():
            if key == "href":
                value = f"#{self.renamed(value.removeprefix('#'))}"
            elif reference := _REFERENCE.fullmatch(value):
                value = f"url(#{self.renamed(reference[1])})"
            elif key in ("fill", "stroke") and _COLOUR.fullmatch(value):
                value = self.palette.use(value, dark[key])
            elif key == "transform" and value.startswith("rotate(-0 "):
                continue
            elif key == "d":
                value = _NUMBER.sub(_rounded, " ".join(value.split()))
            else:
                value = _NUMBER.sub(_rounded, value)
            found.append(f' {key}="{escape(value)}"')
        return "".join(found)

    def renamed(self, reference: str) -> str:
        return self.ids.setdefault(reference, f"{self.name}-{len(self.ids)}")


def _all_attributes(element: ElementTree.Element) -> dict[str, str]:
    """Attributes without their namespaces, those in the style among them."""
    found = {key.rsplit("}", 1)[-1]: value for key, value in element.attrib.items()}
    for rule in found.pop("style", "").split(";"):
        key, colon, value = rule.partition(":")
        if colon:
            found[key.strip()] = value.strip()
    whole = {"rect"}  # whose width and height are its own
    tag = element.tag.rsplit("}", 1)[-1]
    kept = {"id"} | ({"width", "height"} if tag in whole else set())
    return {key: value for key, value in found.items() if key in kept or key not in _DROPPED}


def _rounded(found: re.Match[str]) -> str:
    """Hundredths of a point are finer than any screen."""
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")
