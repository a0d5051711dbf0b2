"""The colours of a page: every one has a light and a dark side, chosen by the style sheet."""

from functools import cache

from evenscore.showing.colours import DARK, LIGHT, Colours, contrasting, mixed

SHADES = 21
"""Steps of the scale from 0 (first colour) over ½ (ground) to 1 (second colour)."""


def shade(value: float) -> int:
    """Which step of the scale an AUC is on.

    >>> shade(0.0), shade(0.5), shade(1.0)
    (0, 10, 20)
    """
    return round(min(max(value, 0.0), 1.0) * (SHADES - 1))


@cache
def style_sheet() -> str:
    """Rules that define all colours; dark ones on a dark screen only, never in print."""
    rules = [f":root{{{';'.join(_rules(LIGHT))}}}"]
    dark = ";".join(_rules(DARK))
    rules += [f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"]
    rules += [f".shade-{k}{{background:var(--s{k});color:var(--t{k})}}" for k in range(SHADES)]
    rules += [f".series-{k}{{--series:var(--series-{k})}}" for k in range(len(LIGHT.series))]
    return "\n".join(rules)


def _rules(colours: Colours) -> list[str]:
    rules = [
        f"--ground:{colours.background}",
        f"--text:{colours.text}",
        f"--muted:{colours.muted}",
        f"--faint:{colours.faint}",
        f"--strip:{mixed(colours.faint, colours.background, 0.5)}",
        *(f"--series-{k}:{color.lower()}" for k, color in enumerate(colours.series)),
    ]
    for k in range(SHADES):
        ground = _scale(colours, k / (SHADES - 1))
        rules += [f"--s{k}:{ground}", f"--t{k}:{contrasting(ground)}"]
    return rules


def _scale(colours: Colours, value: float) -> str:
    """Half as strong as a picture's colours: there is small print on it."""
    end = colours.series[0] if value < 0.5 else colours.series[1]
    return mixed(end, colours.background, 0.6 * abs(value - 0.5) * 2.0)
