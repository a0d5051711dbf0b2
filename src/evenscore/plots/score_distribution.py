"""Where the scores of each class and group lie."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from evenscore.inference.estimate import check_count
from evenscore.outlines import Histogram, histogram
from evenscore.plots.display import ScoreDisplay, frame, legend_below
from evenscore.plots.style import ThemeName
from evenscore.plots.text import as_label, group_names
from evenscore.scores import GroupedScores, check_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import StepPatch

    from evenscore.results import AuditResult

__all__ = ["ScoreDistributionDisplay"]

Floats = NDArray[np.float64]


@dataclass(eq=False)
class ScoreDistributionDisplay(ScoreDisplay):
    """Histograms of the score by cell: positives upwards, negatives downwards, a colour a group.

    `edges` are those of the bins, `density` the share of a cell in a bin by the bin's width, shape
    (2, K, bins), and `counts` the numbers of observations, shape (2, K). An empty cell has NaN.

    >>> import evenscore as es
    >>> y, s, groups = [0, 1] * 50, range(100), list("aabb") * 25
    >>> display = es.plots.ScoreDistributionDisplay.from_predictions(
    ...     y, s, sensitive_features=groups, n_bins=10, ax=es.plots.figure()[1])
    >>> (display.density @ np.diff(display.edges)).round(6).tolist()
    [[1.0, 1.0], [1.0, 1.0]]

    After `plot`: `steps_`, the outlines by class and group, and `legend_`.
    """

    _figsize: ClassVar[tuple[float, float]] = (6.2, 3.9)

    edges: Floats
    density: Floats
    counts: Floats
    groups: tuple[str, ...]
    steps_: list[list[StepPatch]] = field(init=False, repr=False)
    legend_: Any = field(init=False, repr=False)

    @classmethod
    def from_scores(cls, scores: GroupedScores, *, n_bins: int = 40) -> Self:
        """From scores by cell; a score of few distinct values has a bin for each of them."""
        check_scores(scores)
        check_count(n_bins, "n_bins", 3)
        return cls._from_histogram(
            histogram(scores, n_bins), scores.cell_counts, group_names(scores.groups)
        )

    @classmethod
    def from_audit(cls, result: AuditResult) -> Self:
        """From an audit, which keeps the histograms."""
        return cls._from_histogram(
            result.distributions, result.sample.cell_counts, group_names(result.groups)
        )

    @classmethod
    def _from_histogram(cls, found: Histogram, counts: Floats, names: tuple[str, ...]) -> Self:
        density = found.density.reshape(2, len(names), len(found.edges) - 1)
        return cls(found.edges, density, counts, names)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        legend: bool = True,
        theme: ThemeName | None = None,
    ) -> Self:
        """Draw the histograms."""
        with self._drawing(ax, theme) as (axes, found):
            frame(axes)
            self.steps_ = [[], []]
            fill = 0.22 if len(self.groups) <= 2 else 0.0  # more of them are a muddle
            for number, name in enumerate(self.groups):
                style = found.series(number)
                negatives, positives = self.counts[:, number]
                label = as_label(f"{name}: {positives:,.0f} positives, {negatives:,.0f} negatives")
                for row, sign in ((1, 1.0), (0, -1.0)):
                    heights = sign * np.nan_to_num(self.density[row, number])
                    axes.stairs(
                        heights, self.edges, fill=True, color=style.color, alpha=fill,
                        label="_nolegend_", zorder=2.0,
                    )  # fmt: skip
                    outline = axes.stairs(
                        heights, self.edges, color=style.color, linewidth=1.5,
                        linestyle=style.linestyle, zorder=3.0,
                        label=label if row else "_nolegend_",
                    )  # fmt: skip
                    self.steps_[row].append(outline)
            axes.axhline(0.0, color=found.muted, linewidth=0.9, zorder=3.5)
            axes.margins(x=0.0)
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{abs(value):.3g}"))
            axes.set_xlabel("score", fontsize=9)
            axes.set_ylabel("negatives ←  density  → positives", fontsize=9)
            self.legend_ = legend_below(axes) if legend else None
        return self
