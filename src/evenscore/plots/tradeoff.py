"""What fairness costs: AUC against the worst gap, point by point."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from evenscore.inference.estimate import percent
from evenscore.plots.display import Display, frame, legend_below, tolerance_strip
from evenscore.plots.style import ThemeName
from evenscore.plots.text import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

__all__ = ["TradeoffDisplay"]

Floats = NDArray[np.float64]


@dataclass(eq=False)
class TradeoffDisplay(Display):
    """AUC against the worst gap of the points of a path, with intervals; better is up and left.

    One entry a point: `names`, `auc` and `gap` (the magnitude of the worst) as rows (value, low,
    high), `converged`; `pareto` are the positions of the points that no other beats, `chosen` that
    of the one selected, if any. Hollow points did not converge.

    >>> display = TradeoffDisplay(
    ...     names=("no constraints", "0.02"), auc=[(0.9, 0.88, 0.92), (0.87, 0.85, 0.89)],
    ...     gap=[(0.2, 0.15, 0.25), (0.02, 0.0, 0.05)], converged=(True, True), pareto=(0, 1))
    >>> import evenscore as es
    >>> display.plot(es.plots.figure()[1]).front_.get_xdata().tolist()
    [0.02, 0.2]

    After `plot`: `points_` (lines of the points, those that converged and those that did not),
    `bars_`, `front_`, `chosen_`, `tolerance_`, `texts_` and `legend_`.
    """

    _figsize: ClassVar[tuple[float, float]] = (6.2, 4.2)

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
    tolerance_: Any = field(init=False, repr=False)
    texts_: list[Text] = field(init=False, repr=False)
    legend_: Any = field(init=False, repr=False)

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
        """From a `TradeoffPath`; with a tolerance, the point that it selects is marked."""
        points = path.points
        names = tuple(
            literal(str(point) if math.isinf(point.value) else f"{point.value:g}")
            for point in points
        )
        return cls(
            names,
            [(point.auc.value, point.auc.low, point.auc.high) for point in points],
            [(point.worst_gap, *point.worst_interval) for point in points],
            tuple(point.converged for point in points),
            path.pareto,
            None if tolerance is None else points.index(path.chosen(tolerance)),
            tolerance,
            points[0].auc.confidence_level,
            f"{type(path.scorer).__name__}, by {points[0].parameter}",
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        legend: bool = True,
        theme: ThemeName | None = None,
    ) -> Self:
        """Draw the points, their intervals, the Pareto front and the choice."""
        with self._drawing(ax, theme) as (axes, found):
            frame(axes)
            blue, vermilion, green = found.colors[:3]
            (x, *sides), (y, *heights) = self.gap.T, self.auc.T
            told = f"{percent(self.confidence_level)} interval"
            self.bars_ = axes.errorbar(
                x, y, xerr=np.abs(sides - x), yerr=np.abs(heights - y), label=told, fmt="none",
                ecolor=blue, alpha=0.55, elinewidth=1.0,
            )  # fmt: skip
            front = sorted(self.pareto, key=lambda k: x[k])
            [self.front_] = axes.plot(
                x[front], y[front], linestyle="--", linewidth=1.3, color=vermilion, marker="D",
                markersize=10.0, markerfacecolor="none", label="Pareto front", zorder=2.5,
            )  # fmt: skip
            self.points_ = []
            for label, converged, face in (
                ("a point", True, blue),
                ("not converged", False, found.background),
            ):
                some = [k for k, done in enumerate(self.converged) if done is converged]
                if some:
                    self.points_ += axes.plot(
                        x[some], y[some], "o", color=blue, markerfacecolor=face, label=label,
                        zorder=3.0,
                    )  # fmt: skip
            self.chosen_ = None
            if self.chosen is not None:
                [self.chosen_] = axes.plot(
                    x[self.chosen], y[self.chosen], "*", color=green, markersize=15.0,
                    markeredgecolor=found.text, markeredgewidth=0.8, label="chosen", zorder=4.0,
                )  # fmt: skip
            self.tolerance_ = None
            if self.tolerance is not None:
                self.tolerance_ = tolerance_strip(axes, found, 0.0, self.tolerance, upright=True)
                self.tolerance_.set_label(f"tolerance {self.tolerance:g}")
            axes.set_xlabel("worst |gap| between groups, cross-validated", fontsize=9)
            axes.set_ylabel("AUC, cross-validated", fontsize=9)
            if self.title:
                axes.set_title(literal(self.title), fontsize=10)
            axes.set_xlim(0.0, np.nanmax([*1.3 * x, *1.05 * sides[1]], initial=1e-3))
            self.legend_ = legend_below(axes, columns=3) if legend else None
            self.texts_ = _names(axes, self.names, x, y, found.muted)
        return self


def _names(ax: Axes, names: tuple[str, ...], x: Floats, y: Floats, color: str) -> list[Text]:
    """Write the names beside the points, from the top down, each below those in its way."""
    places = ax.transData.transform(np.column_stack([x, y])) * 72.0 / ax.figure.dpi
    written: list[tuple[float, float]] = []
    texts: list[Text] = []
    for k in np.argsort(-y, kind="stable"):
        left, top = places[k]
        near = [height for start, height in written if abs(start - left) < 40.0]
        height = min([top - 8.0, *(other - 11.0 for other in near)])
        written.append((left, height))
        texts.append(
            ax.annotate(
                names[k],
                (x[k], y[k]),
                (18.0, height - top),
                textcoords="offset points",
                fontsize=8,
                va="center",
                zorder=3.5,
                arrowprops=dict(arrowstyle="-", color=color, linewidth=0.6),
            )
        )
    return texts
