"""How a scorer learned: AUC, gaps and multipliers, update by update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from evenscore.plots.display import Display, frame, legend_below, tolerance_strip
from evenscore.plots.style import Theme, ThemeName
from evenscore.plots.text import as_label, literal, shorten

if TYPE_CHECKING:
    from matplotlib.lines import Line2D

__all__ = ["HistoryDisplay"]

Floats = NDArray[np.float64]
Part = Literal["auc", "gaps", "multipliers"]

_TOLD = 8  # gaps with a colour and a name of their own
_LABELS: dict[Part, str] = {"auc": "AUC", "gaps": "gap", "multipliers": "multiplier"}


@dataclass(eq=False)
class HistoryDisplay(Display):
    """The training history of a scorer: AUC, strict gaps and multipliers, one entry an update.

    `auc` has n entries, `gaps` and `multipliers` n rows with a column a gap. With more than eight
    gaps the eight that ended largest are named, and the others drawn in grey. They are numbers of
    the rows trained on: what a score is worth elsewhere is what `gaps_` and an audit tell.

    >>> import evenscore as es
    >>> display = HistoryDisplay(
    ...     auc=[0.8, 0.78], gaps=[[0.2], [0.05]], multipliers=[[0.0], [1.0]], names=("a gap",))
    >>> axes = es.plots.figure(3)[1]
    >>> [ax.get_ylabel() for ax in display.plot(axes).axes_]
    ['AUC', 'gap', 'multiplier']

    After `plot`: `axes_` (`ax_` is the first), `lines_`, by part, and `legend_`.
    """

    _figsize: ClassVar[tuple[float, float]] = (6.2, 5.4)

    auc: Any
    gaps: Any
    multipliers: Any
    names: tuple[str, ...]
    tolerance: float | None = None
    axes_: list[Axes] = field(init=False, repr=False)
    lines_: dict[str, list[Line2D]] = field(init=False, repr=False)
    legend_: Any = field(init=False, repr=False)

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
        """From a fitted scorer, which has `history_` and `gap_names_`."""
        history = getattr(scorer, "history_", None)
        if history is None:
            raise TypeError(f"{type(scorer).__name__} has no history: fit a scorer first.")
        tolerances = {verdict.tolerance for verdict in getattr(scorer, "verdicts_", ())}
        return cls(
            history.auc,
            history.gaps,
            history.multipliers,
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
        """Draw the parts one below the other, or on the axes given, one a part.

        Without constraints there are no gaps and no multipliers: the AUC alone is drawn.
        """
        known: tuple[Part, ...] = get_args(Part) if self.names else ("auc",)
        parts = known if parts is None else tuple(parts)
        for part in parts:
            if part not in known:
                raise ValueError(f"parts must be some of {', '.join(known)}, not {part!r}.")
        axes = self._axes_for(ax, parts, theme)
        order = np.argsort(-np.abs(np.nan_to_num(self.gaps[-1], nan=np.inf)), kind="stable")
        told = sorted(order[:_TOLD].tolist())
        self.lines_ = {}
        for place, part in zip(axes, parts, strict=True):
            with self._drawing(place, theme) as (drawn, found):
                self.lines_[part] = self._draw(drawn, found, part, told)
                drawn.set_ylabel(_LABELS[part], fontsize=9)
        axes[-1].set_xlabel("update", fontsize=9)
        self.axes_, self.ax_ = axes, axes[0]
        self.legend_ = None
        if legend and self.names:
            with self._drawing(axes[-1], None):
                self.legend_ = legend_below(axes[-1])
            self.ax_ = axes[0]
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
            grid = first.get_subplotspec().subgridspec(len(parts), 1)  # type: ignore[union-attr]
            figure = first.figure
            first.remove()
            made: list[Axes] = []
            for row in range(len(parts)):
                made.append(figure.add_subplot(grid[row], sharex=made[0] if made else None))
            for upper in made[:-1]:
                upper.tick_params(labelbottom=False)
            return made

    def _draw(self, ax: Axes, theme: Theme, part: Part, told: list[int]) -> list[Line2D]:
        frame(ax)
        updates = np.arange(1, len(self.auc) + 1)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        # One update alone is a point; a line through it would not be seen.
        lonely = "o" if len(updates) == 1 else None
        if part == "auc":
            return ax.plot(updates, self.auc, color=theme.text, linewidth=1.7, marker=lonely)
        ax.axhline(0.0, color=theme.muted, linewidth=0.8, zorder=1.6)
        if part == "gaps" and self.tolerance is not None:
            tolerance_strip(ax, theme, -self.tolerance, self.tolerance)
        columns = self.gaps if part == "gaps" else self.multipliers
        lines = []
        for k, name in enumerate(self.names):
            own = k in told
            style = theme.series(told.index(k)) if own else None
            label = as_label(literal(shorten(name, 64)))
            lines += ax.plot(
                updates,
                columns[:, k],
                color=style.color if style else theme.muted,
                linestyle=style.linestyle if style else "-",
                marker=style.marker if style else lonely,
                markersize=4.0,
                markevery=max(1, len(updates) // 6),
                linewidth=1.5 if style else 0.7,
                alpha=1.0 if style else 0.6,
                label=label if own else "_nolegend_",
                zorder=3.0 if own else 2.0,
            )
        others = len(self.names) - len(told)
        if others:
            told_of = f"{others} other gaps, which ended smaller"
            ax.plot([], [], color=theme.muted, linewidth=0.7, alpha=0.6, label=told_of)
        if part == "gaps" and self.tolerance is not None:
            ax.set_title(f"shaded: tolerance ±{self.tolerance:g}", fontsize=8, loc="right", pad=2.0)
        return lines
