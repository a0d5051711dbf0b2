"""Where the scores of each class and group lie."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import StepPatch
from matplotlib.ticker import FuncFormatter

from evenscore.auditing import AuditResult
from evenscore.inference.estimate import check_count
from evenscore.scores import GroupedScores, check_scores
from evenscore.scores.arrays import Floats
from evenscore.scores.thinning import Histogram, histogram
from evenscore.showing.names import as_label, group_names
from evenscore.showing.plots.display import ScoreDisplay, frame
from evenscore.showing.plots.style import Theme


@dataclass(eq=False, repr=False)
class ScoreDistributionDisplay(ScoreDisplay):
    """Histograms of the score by cell: positives up, negatives down, one colour per group.

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,)
        The edges of the bins.
    density : ndarray of shape (2, n_groups, n_bins)
        The share of a cell in a bin by the bin's width; an empty cell has NaN.
    counts : ndarray of shape (2, n_groups)
        The numbers of observations.
    groups : tuple of str
        The groups as they are shown.

    Attributes
    ----------
    steps_ : list of list of StepPatch
        The outlines by class and group.
    legend_
        The legend, or None.

    Examples
    --------
    >>> import evenscore as es
    >>> y, s, groups = [0, 1] * 50, range(100), list("aabb") * 25
    >>> display = es.plots.ScoreDistributionDisplay.from_predictions(
    ...     y, s, sensitive_features=groups, n_bins=10, ax=es.plots.figure()[1])
    >>> (display.density @ np.diff(display.edges)).round(6).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    _figsize: ClassVar[tuple[float, float]] = (6.2, 3.9)

    edges: Floats
    density: Floats
    counts: Floats
    groups: tuple[str, ...]
    steps_: list[list[StepPatch]] = field(init=False, repr=False)

    @classmethod
    def from_scores(cls, scores: GroupedScores, *, n_bins: int = 40) -> Self:
        """From scores by cell.

        Parameters
        ----------
        scores : GroupedScores
            The scores by cell.
        n_bins : int
            How many bins; a score of few distinct values has one for each of them.

        Returns
        -------
        Self
            The display, not yet drawn.
        """
        check_scores(scores)
        check_count(n_bins, "n_bins", 3)
        return cls._of(histogram(scores, n_bins), scores.cell_counts, scores.groups)

    @classmethod
    def from_audit(cls, result: AuditResult) -> Self:
        """From an audit, which keeps the histograms.

        Parameters
        ----------
        result : AuditResult
            The audit.

        Returns
        -------
        Self
            The display, not yet drawn.
        """
        return cls._of(result.distributions, result.sample.cell_counts, result.groups)

    @classmethod
    def _of(cls, bars: Histogram, counts: Floats, groups: tuple[Hashable, ...]) -> Self:
        density = bars.density.reshape(2, len(groups), len(bars.edges) - 1)
        return cls(bars.edges, density, counts, group_names(groups))

    def _draw(self, ax: Axes, theme: Theme) -> None:
        frame(ax, "score", "negatives ←  density  → positives")
        self.steps_ = [[], []]
        filled = len(self.groups) <= 2  # more of them are a muddle
        for number, name in enumerate(self.groups):
            style = theme.series(number)
            negatives, positives = self.counts[:, number]
            label = as_label(f"{name}: {positives:,.0f} positives, {negatives:,.0f} negatives")
            for row, sign in ((1, 1.0), (0, -1.0)):
                heights = sign * np.nan_to_num(self.density[row, number])
                if filled:
                    # Not by `stairs`, which would look again for the limits of the ax.
                    ax.add_artist(
                        StepPatch(
                            heights, self.edges, fill=True, facecolor=style.color,
                            linewidth=0.0, alpha=0.22, zorder=2.0,
                        )
                    )  # fmt: skip
                outline = ax.stairs(
                    heights, self.edges, color=style.color, linewidth=1.5,
                    linestyle=style.linestyle, zorder=3.0,
                    label=label if row else "_nolegend_",
                )  # fmt: skip
                self.steps_[row].append(outline)
        ax.axhline(0.0, color=theme.muted, linewidth=0.9, zorder=3.5)
        ax.margins(x=0.0)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{abs(value):.3g}"))
