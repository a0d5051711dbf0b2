"""Who is ranked above whom: the AUCs between all cells, as a map of colours with numbers."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text

from evenscore.auditing import AuditResult
from evenscore.inference.aucs import auc_estimates
from evenscore.inference.estimate import percent
from evenscore.scores import CLASSES, GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.showing.plots.display import ScoreDisplay, label_axes
from evenscore.showing.plots.style import ThemeName, contrasting
from evenscore.showing.plots.text import group_names

_MOST_NUMBERS = 24  # cells, beyond which numbers do not fit
_MOST_INTERVALS = 8
_MOST_NAMES = 60


def _cell_names(groups: Iterable[Hashable]) -> tuple[str, ...]:
    names = group_names(groups, longest=20)
    return tuple(f"{side} of {name}" for side in CLASSES for name in names)


@dataclass(eq=False, repr=False)
class AucMatrixDisplay(ScoreDisplay):
    """The AUC of every row's cell (reference) and every column's cell (target).

    Parameters
    ----------
    values : ndarray of shape (n_cells, n_cells)
        `values[i, j]` is the probability that one of cell j scores above one of cell i, a tie
        counting one half; ½, the colour of the middle, means alike.
    low, high : ndarray of shape (n_cells, n_cells)
        The ends of the intervals; NaN where there is none.
    cells : tuple of str
        The cells as they are shown.
    confidence_level : float
        That of the intervals.

    Attributes
    ----------
    mesh_, colorbar_
        The map and its scale.
    texts_ : list of list of Text
        The numbers by row; none if there is no room.

    Examples
    --------
    >>> import evenscore as es
    >>> y, s, groups = [0, 1] * 50, range(100), list("aabb") * 25
    >>> display = es.plots.AucMatrixDisplay.from_predictions(
    ...     y, s, sensitive_features=groups, ax=es.plots.figure()[1])
    >>> display.texts_[0][0].get_text()
    '0.50'
    """

    values: Floats
    low: Floats
    high: Floats
    cells: tuple[str, ...]
    confidence_level: float = 0.95
    mesh_: Any = field(init=False, repr=False)
    texts_: list[list[Text]] = field(init=False, repr=False)
    colorbar_: Any = field(init=False, repr=False)

    @classmethod
    def from_scores(cls, scores: GroupedScores, *, confidence_level: float = 0.95) -> Self:
        """From scores by cell; an empty cell has NaN in its row and column.

        Parameters
        ----------
        scores : GroupedScores
            The scores by cell.
        confidence_level : float
            That of the intervals.

        Returns
        -------
        Self
            The display, not yet drawn.
        """
        _, table = auc_estimates(scores, confidence_level=confidence_level)
        value, low, high = (
            np.array([[getattr(entry, part) for entry in row] for row in table])
            for part in ("value", "low", "high")
        )
        return cls(value, low, high, _cell_names(scores.groups), confidence_level)

    @classmethod
    def from_audit(cls, result: AuditResult) -> Self:
        """From an audit, which keeps the matrix with its intervals.

        Parameters
        ----------
        result : AuditResult
            The audit.

        Returns
        -------
        Self
            The display, not yet drawn.
        """
        matrix, level = result.auc_matrix, result.settings.confidence_level
        return cls(matrix.values, matrix.low, matrix.high, _cell_names(result.groups), level)

    def plot(  # type: ignore[override]  # a map of colours has no legend
        self,
        ax: Axes | None = None,
        *,
        intervals: bool | None = None,
        colorbar: bool = True,
        theme: ThemeName | None = None,
    ) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default in a new figure.
        intervals : bool, optional
            Whether to write intervals under the numbers; by default where there is room.
        colorbar : bool
            Whether to add the scale.
        theme : {"light", "dark"}, optional
            By default axes that are given keep their colours.

        Returns
        -------
        Self
            The display itself.
        """
        n = len(self.cells)
        show = n <= _MOST_INTERVALS if intervals is None else intervals
        own = ax is None
        with self._drawing(ax, theme) as (axes, palette):
            if own:
                side = float(np.clip(0.78 * n, 2.6, 9.0))
                self.figure_.set_size_inches(side + 2.9, side + 1.6)  # type: ignore[union-attr]
            scale = palette.scale
            self.mesh_ = axes.pcolormesh(
                np.ma.masked_invalid(self.values), cmap=scale, vmin=0.0, vmax=1.0,
                edgecolors=palette.background, linewidth=1.0 if n <= _MOST_NAMES else 0.0,
            )  # fmt: skip
            self.texts_ = [
                [self._number(axes, i, j, scale, show, palette.text) for j in range(n)]
                for i in range(n if n <= _MOST_NUMBERS else 0)
            ]
            axes.axhline(n / 2, color=palette.text, linewidth=1.0)
            axes.axvline(n / 2, color=palette.text, linewidth=1.0)
            axes.set(xlim=(0, n), ylim=(n, 0), aspect="equal")
            axes.spines[:].set_visible(False)
            axes.tick_params(length=0.0, labelsize=8.5)
            names = self.cells if n <= _MOST_NAMES else ()
            middles = (np.arange(len(names)) + 0.5).tolist()
            axes.set_yticks(middles, names)
            axes.set_xticks(middles, names, rotation=35, ha="right", rotation_mode="anchor")
            target = "target: probability that one of these …"
            label_axes(axes, target, "… is ranked above one of these (reference)")
            self.colorbar_ = None
            if colorbar:
                self.colorbar_ = axes.figure.colorbar(self.mesh_, ax=axes, shrink=0.8, pad=0.03)
                small = f" (small: {percent(self.confidence_level)} interval)" if show else ""
                self.colorbar_.set_label(f"AUC{small}", fontsize=9)
                self.colorbar_.ax.tick_params(labelsize=8.5)
                self.colorbar_.outline.set_visible(False)
        return self

    def _number(self, ax: Axes, i: int, j: int, scale: Any, interval: bool, text: str) -> Text:
        value, low, high = (float(part[i, j]) for part in (self.values, self.low, self.high))
        number = "none" if np.isnan(value) else f"{value:.2f}"
        size = 9.5 if len(self.cells) <= _MOST_INTERVALS else 6.5
        color = text if np.isnan(value) else contrasting(scale(value)[:3])
        centred: dict[str, Any] = dict(ha="center", va="center", color=color)
        if interval and i != j and not np.isnan(low):
            ax.text(j + 0.5, i + 0.72, f"{low:.2f}–{high:.2f}", fontsize=6.5, **centred)
        return ax.text(j + 0.5, i + 0.45, number, fontsize=size, **centred)
