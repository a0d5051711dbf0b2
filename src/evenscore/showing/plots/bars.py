"""Who has to pass which bar: the odds needed at each cut by how likely a group is."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from evenscore.showing.plots.display import frame
from evenscore.showing.plots.style import dress, figure, theme_of

_SHOWN = 5  # cuts, spread over those asked for


def plot_bars(bars: Any, group: int, ax: Axes | None = None) -> Axes:
    """Draw the odds needed at some cuts against how likely a group is; the axes.

    Lines are labelled at their ends; the likelihood is on the scale of log-odds, as bars are.
    """
    if ax is None:
        _, ax = figure(figsize=(6.2, 4.4))
    theme = theme_of(ax)
    dress(ax, theme)
    shown = np.unique(np.linspace(0, len(bars.cuts) - 1, _SHOWN).round().astype(int))
    x = np.log(bars.likely / (1.0 - bars.likely))
    for number, cut in enumerate(shown.tolist()):
        odds, style = bars.odds[cut, group], theme.series(number)
        known = np.flatnonzero(~np.isnan(odds))
        if not len(known):
            continue
        ax.plot(x[known], odds[known], color=style.color, linewidth=1.8)
        ax.annotate(
            bars.cuts[cut],
            (x[known[-1]], odds[known[-1]]),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=style.color,
            annotation_clip=False,
        )
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_xticks(x[::2], [f"{share:.0%}" for share in bars.likely[::2]])
    ax.set_xlim(x[0] - 0.1, x[-1] + 1.9)  # room for the labels at the right
    name = bars.groups[group]
    frame(ax, f"how likely a person is {name}, by all features", "odds of a positive needed")
    ax.set_title(_title(bars, group), loc="left")
    return ax


def _title(bars: Any, group: int) -> str:
    """What the picture shows: who needs higher odds at most cuts."""
    if bars.are_common:
        return "Everyone needs the same odds"
    ends = []
    for odds in bars.odds[:, group]:
        known = np.flatnonzero(~np.isnan(odds))
        if len(known) > 1:
            ends.append(odds[known[-1]] > odds[known[0]])
    name = bars.groups[group]
    if all(ends) or not any(ends):
        return f"People likely to be {name} need {'higher' if all(ends) else 'lower'} odds"
    return f"At some cuts people likely to be {name} need higher odds, at others lower"
