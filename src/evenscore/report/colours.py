"""The colours of the page: every one has a light and a dark side, chosen by the style sheet."""

from __future__ import annotations

from matplotlib.colors import to_hex, to_rgb

from evenscore.plots.style import DARK, LIGHT, Theme, contrasting

__all__ = ["SHADES", "Palette", "shade"]

SHADES = 21
"""Steps of the scale from 0 (first colour) over ½ (ground) to 1 (second colour)."""


def shade(value: float) -> int:
    """Which step of the scale an AUC is on.

    >>> shade(0.0), shade(0.5), shade(1.0)
    (0, 10, 20)
    """
    return round(min(max(value, 0.0), 1.0) * (SHADES - 1))


class Palette:
    """Pairs of a light and a dark colour, named in order of their first use."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], str] = {}

    def use(self, light: str, dark: str) -> str:
        """A CSS value that is one colour or the other.

        >>> Palette().use("#ffffff", "#000000")
        'var(--c0)'
        """
        name = self._names.setdefault((light, dark), f"--c{len(self._names)}")
        return f"var({name})"

    def style_sheet(self) -> str:
        """Rules that define all colours; dark ones on a dark screen only, never in print."""
        light, dark = (_rules(theme) for theme in (LIGHT, DARK))
        for pair, name in self._names.items():
            light.append(f"{name}:{pair[0]}")
            dark.append(f"{name}:{pair[1]}")
        shades = [f".shade-{k}{{background:var(--s{k});color:var(--t{k})}}" for k in range(SHADES)]
        series = [f".series-{k}{{--series:var(--series-{k})}}" for k in range(len(LIGHT.colors))]
        return "\n".join(
            [
                f":root{{{';'.join(light)}}}",
                f"@media screen and (prefers-color-scheme:dark){{:root{{{';'.join(dark)}}}}}",
                *shades,
                *series,
            ]
        )


def _rules(theme: Theme) -> list[str]:
    found = [
        f"--ground:{theme.background}",
        f"--text:{theme.text}",
        f"--faint:{theme.faint}",
        *(f"--series-{k}:{color.lower()}" for k, color in enumerate(theme.colors)),
    ]
    for k in range(SHADES):
        ground = _scale(theme, k / (SHADES - 1))
        found += [f"--s{k}:{ground}", f"--t{k}:{contrasting(ground)}"]
    return found


def _scale(theme: Theme, value: float) -> str:
    """Half as strong as a picture's colours: there is small print on it."""
    end = theme.colors[0] if value < 0.5 else theme.colors[1]
    strength = 0.6 * abs(value - 0.5) * 2.0
    pairs = zip(to_rgb(end), to_rgb(theme.background), strict=True)
    red, green, blue = (strength * a + (1.0 - strength) * b for a, b in pairs)
    return to_hex((red, green, blue))
