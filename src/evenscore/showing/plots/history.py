"""How a scorer learned: AUC, gaps and multipliers, update by update."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from evenscore.showing.names import shorten
from evenscore.showing.plots.display import Display, frame, tolerance_strip
from evenscore.showing.plots.style import SeriesStyle, Theme, ThemeName
from evenscore.showing.plots.text import as_label, literal

Part = Literal["auc", "gaps", "multipliers"]

_NAMED = 8  # gaps with a colour and a name of their own
_LABELS: dict[Part, str] = {"auc": "AUC", "gaps": "gap", "multipliers": "multiplier"}


@dataclass(eq=False, repr=False)
class HistoryDisplay(Display):
    """The training history of a scorer: AUC, strict gaps and multipliers, one entry an update.

    With more than eight gaps the eight that ended largest are named, and the others drawn in grey.
    They are numbers of the rows trained on: what a score is worth elsewhere is what `gaps_` and an
    audit tell.

    Parameters
    ----------
    auc : array-like of shape (n_updates,)
        The AUC after every update.
    gaps, multipliers : array-like of shape (n_updates, n_gaps)
        The gaps and their multipliers.
    names : tuple of str
        The names of the gaps.
    tolerance : float, optional
        Gaps up to here are shaded.

    Attributes
    ----------
    axes_ : list of Axes
        The axes, one per part; `ax_` is the first.
    lines_ : dict of str to list of Line2D
        The lines by part.
    legend_
        The legend, or None.

    Examples
    --------
    >>> import evenscore as es
    >>> display = HistoryDisplay(
    ...     auc=[0.8, 0.78], gaps=[[0.2], [0.05]], multipliers=[[0.0], [1.0]], names=("a gap",))
    >>> axes = es.plots.figure(3)[1]
    >>> [ax.get_ylabel() for ax in display.plot(axes).axes_]
    ['AUC', 'gap', 'multiplier']
    """

    _figsize: ClassVar[tuple[float, float]] = (6.2, 5.4)

    auc: Any
    gaps: Any
    multipliers: Any
    names: tuple[str, ...]
    tolerance: float | None = None
    axes_: list[Axes] = field(init=False, repr=False)
    lines_: dict[str, list[Line2D]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.auc = np.asarray(self.auc, dtype=np.float64)
        n, m = len(self.auc), len(self.names)
        if n == 0:
            raise ValueError("The history is empty: there was nothing to update in training.")
        for name in ("gaps", "multipliers"):
            array = np.asarray(getattr(self, name), dtype=np.float64).reshape(n, -1)
            if array.shape != (n, m):
                raise ValueError(
                    f"{name} has {array.shape[1]} columns, but there are {m} names of gaps."
                )
            setattr(self, name, array)

    @classmethod
    def from_scorer(cls, scorer: Any) -> Self:
        """From a fitted scorer.

        Parameters
        ----------
        scorer
            A scorer with `history_` and `gap_names_`.

        Returns
        -------
        Self
            The display, not yet drawn.
        """
        history = getattr(scorer, "history_", None)
        if history is None:
            raise TypeError(f"{type(scorer).__name__} has no history: fit a scorer first.")
        tolerances = {verdict.tolerance for verdict in getattr(scorer, "verdicts_", ())}
        # What the score is compared with is no step of its training.
        steps = history.entries("learning", "restart") or range(len(history))
        return cls(
            [history.auc[k] for k in steps],
            [history.gaps[k] for k in steps],
            [history.multipliers[k] for k in steps],
            tuple(scorer.gap_names_),
            tolerances.pop() if len(tolerances) == 1 else None,
        )

    def plot(
        self,
        ax: Axes | Sequence[Axes] | None = None,
        *,
        parts: Sequence[Part] | None = None,
        legend: bool = True,
        theme: ThemeName | None = None,
    ) -> Self:
        """Draw the parts one below the other, or on the axes given, one per part.

        Without constraints there are no gaps and no multipliers: the AUC alone is drawn.

        Parameters
        ----------
        ax : Axes or sequence of Axes, optional
            Where to draw, one per part; by default in a new figure.
        parts : sequence of {"auc", "gaps", "multipliers"}, optional
            What to draw; by default all.
        legend : bool
            Whether to add a legend, below the axes where there is room.
        theme : {"light", "dark"}, optional
            By default axes that are given keep their colours.

        Returns
        -------
        Self
            The display itself.
        """
        known: tuple[Part, ...] = get_args(Part) if self.names else ("auc",)
        parts = known if parts is None else tuple(parts)
        for part in parts:
            if part not in known:
                raise ValueError(f"parts must be some of {', '.join(known)}, not {part!r}.")
        axes = self._axes_for(ax, parts, theme)
        order = np.argsort(-np.abs(np.nan_to_num(self.gaps[-1], nan=np.inf)), kind="stable")
        named = sorted(order[:_NAMED].tolist())
        self.lines_ = {}
        for place, part in zip(axes, parts, strict=True):
            below = legend and bool(self.names) and place is axes[-1]
            with self._drawing(place, theme, below) as (drawn, palette):
                self.lines_[part] = self._draw_part(drawn, palette, part, named)
        axes[-1].set_xlabel("update", fontsize=9)
        self.axes_, self.ax_ = axes, axes[0]
        return self

    def _axes_for(
        self, ax: Axes | Sequence[Axes] | None, parts: Sequence[Part], theme: ThemeName | None
    ) -> list[Axes]:
        if ax is not None:
            given = [ax] if isinstance(ax, Axes) else list(np.ravel(np.asarray(ax, dtype=object)))
            if len(given) != len(parts):
                raise ValueError(
                    f"{len(parts)} parts ({', '.join(parts)}) need as many axes, not {len(given)}."
                )
            return given
        with self._drawing(None, theme) as (first, _):
            first.remove()
            return list(self.figure_.subplots(len(parts), sharex=True, squeeze=False)[:, 0])

    def _draw_part(self, ax: Axes, theme: Theme, part: Part, named: list[int]) -> list[Line2D]:
        frame(ax, y=_LABELS[part])
        updates = np.arange(1, len(self.auc) + 1)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        # One update alone is a point; a line through it would not be seen.
        lonely = "o" if len(updates) == 1 else ""
        if part == "auc":
            return ax.plot(updates, self.auc, color=theme.text, linewidth=1.7, marker=lonely)
        ax.axhline(0.0, color=theme.muted, linewidth=0.8, zorder=1.6)
        if part == "gaps":
            tolerance_strip(ax, theme, self.tolerance, "_nolegend_")
        columns = self.gaps if part == "gaps" else self.multipliers
        lines = []
        for k, name in enumerate(self.names):
            look: dict[str, Any] = dict(linewidth=0.7, alpha=0.6, label="_nolegend_", zorder=2.0)
            style = SeriesStyle(theme.muted, "-", lonely)
            if k in named:
                label = as_label(literal(shorten(name, 64)))
                look = dict(linewidth=1.5, alpha=1.0, label=label, zorder=3.0)
                style = theme.series(named.index(k))
            every = max(1, len(updates) // 6)
            lines += ax.plot(
                updates, columns[:, k], **style._asdict(), **look, markersize=4.0, markevery=every
            )
        others = len(self.names) - len(named)
        if others:
            label = f"{others} other gaps, which ended smaller"
            ax.plot([], [], color=theme.muted, linewidth=0.7, alpha=0.6, label=label)
        if part == "gaps" and self.tolerance is not None:
            ax.set_title(f"shaded: tolerance ±{self.tolerance:g}", fontsize=8, loc="right", pad=2.0)
        return lines
