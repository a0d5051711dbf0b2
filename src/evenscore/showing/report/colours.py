"""The colours of the page: every one has a light and a dark side, chosen by the style sheet."""

from collections.abc import Iterator
from functools import cache
from warnings import warn

from matplotlib.colors import to_hex

from evenscore.showing.plots.style import DARK, LIGHT, Theme, contrasting, mixed

SHADES = 21
"""Steps of the scale from 0 (first colour) over ½ (ground) to 1 (second colour)."""


def shade(value: float) -> int:
    """Which step of the scale an AUC is on.

    >>> shade(0.0), shade(0.5), shade(1.0)
    (0, 10, 20)
    """
    return round(min(max(value, 0.0), 1.0) * (SHADES - 1))


class Palette:
    """The colours of the page's pictures, which are drawn in the light theme.

    Every colour becomes a variable, named in order of its first use, that is the colour itself or
    its dark counterpart.
    """

    def __init__(self) -> None:
        self._pairs = {light: (light, dark) for light, dark in counterparts().items()}
        self._names: dict[tuple[str, str], str] = {}

    def use(self, drawn: str) -> str:
        """The CSS value that stands for a colour of a picture.

        >>> Palette().use("#ffffff")
        'var(--c0)'
        """
        pair = self._pairs.get(drawn)
        if pair is None:
            warn(f"The colour {drawn} of a picture has no dark counterpart.", stacklevel=2)
            return drawn
        name = self._names.setdefault(pair, f"--c{len(self._names)}")
        return f"var({name})"

    def ink_on(self, value: float) -> str:
        """The colour in which to draw what is written on the scale's colour of a value.

        It is near black or near white in either theme, as is legible there; so that all cases can
        be told apart, each is drawn in a colour that is nobody else's.
        """
        light, dark = (contrasting(theme.scale(value)) for theme in (LIGHT, DARK))
        drawn = f"#{light[1:3]}{dark[1:3]}01"
        self._pairs[drawn] = light, dark
        return drawn

    def style_sheet(self) -> str:
        """Rules that define all colours; dark ones on a dark screen only, never in print."""
        light, dark = (_rules(theme) for theme in (LIGHT, DARK))
        for pair, name in self._names.items():
            light.append(f"{name}:{pair[0]}")
            dark.append(f"{name}:{pair[1]}")
        rules = [f":root{{{';'.join(light)}}}"]
        rules += [f"@media screen and (prefers-color-scheme:dark){{:root{{{';'.join(dark)}}}}}"]
        rules += [f".shade-{k}{{background:var(--s{k});color:var(--t{k})}}" for k in range(SHADES)]
        rules += [f".series-{k}{{--series:var(--series-{k})}}" for k in range(len(LIGHT.colors))]
        return "\n".join(rules)


@cache
def counterparts() -> dict[str, str]:
    """The dark colour of each light one that a picture may have.

    Bands and fills are colours of the series with an opacity, which is the same in both themes.
    """
    return dict(zip(inks(LIGHT), inks(DARK), strict=True))


def inks(theme: Theme) -> Iterator[str]:
    """All colours of a theme in which pictures are drawn, role by role."""
    roles = theme.background, theme.text, theme.muted, theme.faint, theme.strip, *theme.colors
    scale = theme.scale
    return map(to_hex, (*roles, *scale(range(scale.N))))


def _rules(theme: Theme) -> list[str]:
    rules = [
        f"--ground:{theme.background}",
        f"--text:{theme.text}",
        f"--faint:{theme.faint}",
        *(f"--series-{k}:{color.lower()}" for k, color in enumerate(theme.colors)),
    ]
    for k in range(SHADES):
        ground = _scale(theme, k / (SHADES - 1))
        rules += [f"--s{k}:{ground}", f"--t{k}:{contrasting(ground)}"]
    return rules


def _scale(theme: Theme, value: float) -> str:
    """Half as strong as a picture's colours: there is small print on it."""
    end = theme.colors[0] if value < 0.5 else theme.colors[1]
    return mixed(end, theme.background, 0.6 * abs(value - 0.5) * 2.0)
