"""How plots look: colours that all eyes tell apart, light and dark, and not by colour alone.

Every series also has its own line style and marker, so that a print in black and white can be read.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from evenscore.showing import colours

ThemeName = Literal["light", "dark"]
LineStyle = str | tuple[int, tuple[float, ...]]


class SeriesStyle(NamedTuple):
    """What tells one series from another."""

    color: str
    linestyle: LineStyle
    marker: str


@dataclass(frozen=True)
class Theme:
    """Colours of the ground, of what is written on it, and of the series."""

    name: ThemeName
    background: str
    text: str
    muted: str  # axes, diagonals, what is not the message
    faint: str  # grids and strips
    colors: tuple[str, ...]

    @property
    def strip(self) -> str:
        """Halfway from faint to the ground: lighter without letting through what is behind."""
        return colours.mixed(self.faint, self.background, 0.5)

    @property
    def rc(self) -> dict[Any, Any]:
        """The settings of matplotlib that make it."""
        return {name: getattr(self, role) for role, names in _RC.items() for name in names.split()}

    def series(self, number: int) -> SeriesStyle:
        """The style of a series: the first seven differ in all three respects."""
        return SeriesStyle(
            self.colors[number % len(self.colors)],
            _LINES[number % len(_LINES)],
            _MARKERS[number % len(_MARKERS)],
        )


# The settings of matplotlib by the colour of a theme that they have.
_RC = {
    "background": "figure.facecolor savefig.facecolor axes.facecolor legend.facecolor",
    "muted": "axes.edgecolor xtick.color ytick.color",
    "faint": "grid.color legend.edgecolor",
    "text": "axes.labelcolor axes.titlecolor text.color xtick.labelcolor ytick.labelcolor "
    "legend.labelcolor",
}
_LINES: tuple[LineStyle, ...] = (
    "-",
    (0, (6.0, 2.0)),
    (0, (6.0, 1.5, 1.0, 1.5)),
    (0, (1.0, 1.2)),
    (0, (3.0, 1.2)),
    (0, (6.0, 1.5, 1.0, 1.5, 1.0, 1.5)),
    (0, (10.0, 2.0, 3.0, 2.0)),
    (0, (4.0, 3.0)),
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")


def _theme(name: ThemeName, of: colours.Colours) -> Theme:
    return Theme(name, of.background, of.text, of.muted, of.faint, of.series)


LIGHT, DARK = _theme("light", colours.LIGHT), _theme("dark", colours.DARK)
_THEMES: dict[ThemeName, Theme] = {"light": LIGHT, "dark": DARK}


def _named(name: ThemeName) -> Theme:
    if name not in _THEMES:
        raise ValueError(f"theme must be 'light' or 'dark', not {name!r}.")
    return _THEMES[name]


@contextmanager
def theme(name: ThemeName) -> Iterator[Theme]:
    """What is made meanwhile has the theme's colours; matplotlib's settings then return.

    Parameters
    ----------
    name : {"light", "dark"}
        Which theme.

    Yields
    ------
    Theme
        Its colours.

    Examples
    --------
    >>> import matplotlib
    >>> with theme("dark") as dark:
    ...     matplotlib.rcParams["figure.facecolor"] == dark.background
    True
    >>> matplotlib.rcParams["figure.facecolor"] == dark.background
    False
    """
    colors = _named(name)
    with matplotlib.rc_context(colors.rc):
        yield colors


def figure(
    rows: int = 1,
    columns: int = 1,
    *,
    theme: ThemeName = "light",
    figsize: tuple[float, float] | None = None,
    **options: Any,
) -> tuple[Figure, Any]:
    """A figure and its axes in a theme's colours, which pyplot knows nothing of.

    Nothing keeps it open: it vanishes with its last name.

    Parameters
    ----------
    rows, columns : int
        How many axes there are.
    theme : {"light", "dark"}
        Whose colours it has.
    figsize : pair of float, optional
        Width and height in inches; by default as many axes need.
    **options
        Those of `Figure.subplots`.

    Returns
    -------
    figure : Figure
        The figure.
    axes : Axes or ndarray of Axes
        Its axes.

    Examples
    --------
    >>> made, axes = figure(1, 2, theme="dark")
    >>> axes.shape
    (2,)
    """
    with matplotlib.rc_context(_named(theme).rc):
        size = figsize or (4.4 * columns, 4.8 * rows)
        made = Figure(figsize=size, layout=ConstrainedLayoutEngine(h_pad=0.09, w_pad=0.07))
        return made, made.subplots(rows, columns, **options)


def theme_of(ax: Axes) -> Theme:
    """The theme whose colours are legible on these axes."""
    grounds = (to_rgba(part.get_facecolor()) for part in (ax, ax.figure))
    visible = next((ground for ground in grounds if ground[3] > 0.0), to_rgba("white"))
    return LIGHT if colours.luminance(visible[:3]) > 0.18 else DARK


def dress(ax: Axes, theme: Theme) -> None:
    """Give axes that exist already, and their figure, the colours of a theme."""
    ax.set_facecolor(theme.background)
    ax.figure.set_facecolor(theme.background)
    for spine in ax.spines.values():
        spine.set_edgecolor(theme.muted)
    ax.tick_params(which="both", color=theme.muted, labelcolor=theme.text, grid_color=theme.faint)
    for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
        text.set_color(theme.text)
