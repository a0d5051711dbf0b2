"""What fairness costs: AUC against the worst gap, point by point."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Text

from evenscore.inference.estimate import percent
from evenscore.showing.names import literal
from evenscore.showing.plots.display import Display, frame, tolerance_strip
from evenscore.showing.plots.style import Theme


@dataclass(eq=False, repr=False)
class TradeoffDisplay(Display):
    """AUC against the worst gap of the points of a path, with intervals; better is up and left.

    Hollow points did not converge.

    Parameters
    ----------
    names : tuple of str
        What is written beside the points, one entry per point.
    auc, gap : array-like of shape (n_points, 3)
        AUC, and magnitude of the worst gap, as rows (value, low, high).
    converged : tuple of bool
        Whether training came to an end at the point.
    pareto : tuple of int
        Positions of the points that no other beats.
    chosen : int, optional
        Position of the point that is selected; the rows that report it also chose it, so that it
        looks a little better than it is.
    tolerance : float, optional
        Gaps up to here are shaded.
    confidence_level : float
        That of the intervals.
    title : str
        What is written above.

    Attributes
    ----------
    points_ : list of Line2D
        The points, those that converged and those that did not.
    bars_, front_, chosen_, tolerance_, texts_, legend_
        The other artists, after `plot`.

    Examples
    --------
    >>> display = TradeoffDisplay(
    ...     names=("no constraints", "0.02"), auc=[(0.9, 0.88, 0.92), (0.87, 0.85, 0.89)],
    ...     gap=[(0.2, 0.15, 0.25), (0.02, 0.0, 0.05)], converged=(True, True), pareto=(0, 1))
    >>> import evenscore as es
    >>> display.plot(es.plots.figure()[1]).front_.get_xdata().tolist()
    [0.02, 0.2]
    """

    _figsize: ClassVar[tuple[float, float]] = (6.2, 4.2)
    _legend_columns: ClassVar[int] = 3

    names: tuple[str, ...]
    auc: Any
    gap: Any
    converged: tuple[bool, ...]
    pareto: tuple[int, ...]
    chosen: int | None = None
    tolerance: float | None = None
    confidence_level: float = 0.95
    title: str = ""
    points_: list[Line2D] = field(init=False, repr=False)
    bars_: Any = field(init=False, repr=False)
    front_: Line2D = field(init=False, repr=False)
    chosen_: Line2D | None = field(init=False, repr=False)
    texts_: list[Text] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.auc, self.gap = (np.asarray(part, dtype=np.float64) for part in (self.auc, self.gap))
        shape = (len(self.names), 3)
        if not self.names or self.auc.shape != shape or self.gap.shape != shape:
            raise ValueError(
                f"A trade-off has a row (value, low, high) of AUC and of gap for each of its "
                f"{len(self.names)} points, not arrays of shapes {self.auc.shape} and "
                f"{self.gap.shape}."
            )

    @classmethod
    def from_path(cls, path: Any, *, tolerance: float | None = None) -> Self:
        """From the path of a trade-off.

        Parameters
        ----------
        path : TradeoffPath
            The path.
        tolerance : float, optional
            The point that it selects is marked.

        Returns
        -------
        Self
            The display, not yet drawn.
        """
        points = path.points
        names = (str(point) if math.isinf(point.value) else f"{point.value:g}" for point in points)
        return cls(
            tuple(map(literal, names)),
            [(point.auc.value, point.auc.low, point.auc.high) for point in points],
            [(point.worst_gap, *point.worst_interval) for point in points],
            tuple(point.converged for point in points),
            path.pareto,
            None if tolerance is None else points.index(path.chosen(tolerance)),
            tolerance,
            points[0].auc.confidence_level,
            f"{type(path.scorer).__name__}, by {points[0].parameter}",
        )

    def _draw(self, ax: Axes, theme: Theme) -> None:
        frame(ax, "worst |gap| between groups, cross-validated", "AUC, cross-validated")
        blue, vermilion, green = theme.colors[:3]
        (x, *sides), (y, *heights) = self.gap.T, self.auc.T
        self.bars_ = ax.errorbar(
            x, y, xerr=np.abs(sides - x), yerr=np.abs(heights - y), fmt="none", ecolor=blue,
            alpha=0.55, elinewidth=1.0, label=f"{percent(self.confidence_level)} interval",
        )  # fmt: skip
        front = sorted(self.pareto, key=lambda k: x[k])
        [self.front_] = ax.plot(
            x[front], y[front], linestyle="--", linewidth=1.3, color=vermilion, marker="D",
            markersize=10.0, markerfacecolor="none", label="Pareto front", zorder=2.5,
        )  # fmt: skip
        self.points_ = []
        for label, converged in (("a point", True), ("not converged", False)):
            face = blue if converged else theme.background
            some = [k for k, done in enumerate(self.converged) if done is converged]
            if some:
                self.points_ += ax.plot(
                    x[some], y[some], "o", color=blue, markerfacecolor=face, label=label,
                    zorder=3.0,
                )  # fmt: skip
        self.chosen_ = None
        if self.chosen is not None:
            [self.chosen_] = ax.plot(
                x[self.chosen], y[self.chosen], "*", color=green, markersize=15.0,
                markeredgecolor=theme.text, markeredgewidth=0.8, label="chosen", zorder=4.0,
            )  # fmt: skip
        self.tolerance_ = tolerance_strip(ax, theme, self.tolerance, "tolerance {:g}", upright=True)
        if self.title:
            ax.set_title(literal(self.title), fontsize=10)
        ax.set_xlim(0.0, np.nanmax([*1.3 * x, *1.05 * sides[1]], initial=1e-3))

    def _finish(self, ax: Axes, theme: Theme) -> None:
        """Write the names beside the points, from the top down, each below those in its way."""
        x, y = self.gap[:, 0], self.auc[:, 0]
        places = ax.transData.transform(np.column_stack([x, y])) * 72.0 / ax.figure.dpi
        written: list[tuple[float, float]] = []
        self.texts_ = []
        for k in np.argsort(-y, kind="stable"):
            left, top = places[k]
            near = [height for start, height in written if abs(start - left) < 40.0]
            height = min([top - 8.0, *(other - 11.0 for other in near)])
            written.append((left, height))
            text = ax.annotate(
                self.names[k],
                (x[k], y[k]),
                (18.0, height - top),
                textcoords="offset points",
                fontsize=8,
                va="center",
                zorder=3.5,
                arrowprops=dict(arrowstyle="-", color=theme.muted, linewidth=0.6),
            )
            self.texts_.append(text)


def plot_path(path: Any, ax: Axes | None = None) -> Axes:
    """Draw a `TradeoffPath`; give the axes."""
    return TradeoffDisplay.from_path(path).plot(ax).ax_
