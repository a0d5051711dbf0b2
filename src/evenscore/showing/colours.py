"""Colours that all eyes tell apart, light and dark: those of the plots and of the pages.

The colours are those of Okabe and Ito, a little lighter on a dark ground.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Colours:
    """Colours of the ground, of what is written on it, and of the series."""

    background: str
    text: str
    muted: str  # axes, diagonals, what is not the message
    faint: str  # grids and strips
    series: tuple[str, ...]


LIGHT = Colours(
    background="#ffffff",
    text="#1a1a1a",
    muted="#6b6b6b",
    faint="#dedede",
    series=("#0072B2", "#D55E00", "#009E73", "#B0568C", "#B07A00", "#3A9BDC", "#5C4B9B"),
)
DARK = Colours(
    background="#15181c",
    text="#ececec",
    muted="#a0a5ab",
    faint="#3a3f46",
    series=("#56B4E9", "#F58A3C", "#2CC79B", "#E39BC4", "#F0C040", "#8FA8FF", "#C4B7F5"),
)


def mixed(one: str, other: str, share: float) -> str:
    """A colour between two, with so much of the first.

    >>> mixed("#ffffff", "#000000", 0.5)
    '#808080'
    """
    pairs = zip(_parts(one), _parts(other), strict=True)
    return "#" + "".join(f"{round(255.0 * (share * a + (1 - share) * b)):02x}" for a, b in pairs)


def contrasting(color: str) -> str:
    """Near black or near white, whichever is legible on a colour.

    >>> contrasting("#ffffff"), contrasting("#15181c")
    ('#101010', '#fafafa')
    """
    return ink_on(_parts(color))


def ink_on(parts: Iterable[float]) -> str:
    """The same, of red, green and blue between 0 and 1."""
    return "#101010" if luminance(parts) > 0.18 else "#fafafa"


def luminance(parts: Iterable[float]) -> float:
    """Relative luminance; black and white contrast equally with one of 0.18 (WCAG)."""
    linear = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return sum(part * share for part, share in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


def _parts(color: str) -> list[float]:
    """Red, green and blue of a colour such as #0072B2."""
    return [int(color[k : k + 2], 16) / 255.0 for k in (1, 3, 5)]
