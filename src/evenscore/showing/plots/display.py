"""What the displays share: columns or an estimator in, axes and theme, a legend out of the way."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from inspect import signature
from textwrap import wrap
from typing import Any, ClassVar, Literal, Self
from weakref import WeakSet

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from evenscore.inference.bands import Band
from evenscore.scores import GroupedScores
from evenscore.scores.sources import to_array
from evenscore.showing.plots.style import Theme, ThemeName, dress, theme_of
from evenscore.showing.plots.style import theme as theme_named

ResponseMethod = Literal["auto", "decision_function", "predict_proba"]

_ENTRY = 0.19  # inches of a legend's line
_BELOW = 0.5  # inches from the axes to the legend, which tick labels and the axis label take
_LINE = 0.15  # inches that every further line of the axis label takes
_LETTERS = 54  # of a legend's line: what fits under a panel
_MADE: WeakSet[Any] = WeakSet()  # figures made here: they may grow with their legend


class Display:
    """Data that knows how to draw itself; after `plot`, `ax_`, `figure_` and its artists.

    Displays made from columns or an estimator are drawn at once; those from an audit, from scores
    or from a path are drawn by `plot`. Without axes, pyplot makes a figure:
    `plt.close(display.figure_)` closes it.
    """

    _figsize: ClassVar[tuple[float, float]] = (4.6, 4.6)
    _legend_columns: ClassVar[int] = 1

    ax_: Axes
    figure_: Figure | SubFigure
    legend_: Any
    tolerance_: Any

    def __repr__(self) -> str:
        drawn = "drawn" if hasattr(self, "ax_") else "not drawn yet: call plot()"
        return f"<{type(self).__name__}, {drawn}>"

    def plot(
        self, ax: Axes | None = None, *, legend: bool = True, theme: ThemeName | None = None
    ) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default in a new figure.
        legend : bool
            Whether to add a legend, below the axes where there is room.
        theme : {"light", "dark"}, optional
            By default axes that are given keep their colours.

        Returns
        -------
        Self
            The display itself.
        """
        with self._drawing(ax, theme, legend) as (axes, palette):
            self._draw(axes, palette)
        return self

    def _draw(self, ax: Axes, theme: Theme) -> None:
        """Draw everything but the legend."""
        raise NotImplementedError

    def _finish(self, ax: Axes, theme: Theme) -> None:
        """Add what depends on the legend, which may have changed the figure's size."""

    @contextmanager
    def _drawing(
        self, ax: Axes | None, theme: ThemeName | None, legend: bool = False
    ) -> Iterator[tuple[Axes, Theme]]:
        """The axes to draw on and the theme in force; `ax_`, `figure_` and `legend_` are set.

        Without a theme, axes that are given keep their colours, and the series get colours that
        are legible on them.
        """
        made = ax is None
        if ax is None:
            import matplotlib.pyplot as plt

            with nullcontext() if theme is None else theme_named(theme):
                ax = plt.subplots(figsize=self._figsize, layout="constrained")[1]
            _MADE.add(ax.figure)
        elif not isinstance(ax, Axes):
            raise TypeError(f"ax must be axes of matplotlib, not {type(ax).__name__}.")
        with theme_named(theme or theme_of(ax).name) as palette:
            if theme is not None and not made:
                dress(ax, palette)
            self.ax_, self.figure_ = ax, ax.figure
            yield ax, palette
            self.legend_ = legend_below(ax, self._legend_columns) if legend else None
            self._finish(ax, palette)


class ScoreDisplay(Display, ABC):
    """A display of a score by class and group; those of curves keep a list of each artist."""

    lines_: list[Line2D]
    bands_: list[Any]
    points_: list[Any]

    @classmethod
    @abstractmethod
    def from_scores(cls, scores: GroupedScores) -> Self:
        """From scores by cell."""

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        sensitive_features: Any,
        pos_label: Any = None,
        sample_weight: Any = None,
        group_order: Sequence[Hashable] | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """From columns, drawn at once as in scikit-learn.

        Parameters
        ----------
        y_true, y_score, sensitive_features, pos_label, sample_weight, group_order
            Labels, scores and groups, as `GroupedScores.from_arrays` takes them.
        ax : Axes, optional
            Where to draw; by default in a new figure.
        **options
            Those of `from_scores`, which gives the same display undrawn, and of `plot`.

        Returns
        -------
        Self
            The display, drawn.
        """
        scores = GroupedScores.from_arrays(
            y_true,
            y_score,
            sensitive_features=sensitive_features,
            pos_label=pos_label,
            sample_weight=sample_weight,
            group_order=group_order,
        )
        drawing = {
            name: options.pop(name) for name in signature(cls.plot).parameters & options.keys()
        }
        draw: Callable[..., Self] = cls.from_scores(scores, **options).plot
        return draw(ax, **drawing)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        response_method: ResponseMethod = "auto",
        pos_label: Any = None,
        **options: Any,
    ) -> Self:
        """From a fitted classifier and the rows to score, drawn at once.

        Parameters
        ----------
        estimator
            A fitted classifier of two classes, or a scorer.
        X, y, sensitive_features
            The rows to score, their labels and groups. An estimator whose method has an argument
            `sensitive_features`, like `RepairedScorer`, is given the groups.
        response_method : {"auto", "decision_function", "predict_proba"}
            Where the scores come from; "auto" takes the first of the two that there is.
        pos_label
            The positive label; by default the second of the estimator's classes.
        **options
            Those of `from_predictions`.

        Returns
        -------
        Self
            The display, drawn.
        """
        if pos_label is None:
            pos_label = _scored_label(estimator)
        scores = _scores_of(estimator, X, sensitive_features, response_method, pos_label)
        return cls.from_predictions(
            y, scores, sensitive_features=sensitive_features, pos_label=pos_label, **options
        )


def _scored_label(estimator: Any) -> Any:
    """The label that higher scores speak for; None if the estimator does not say."""
    if getattr(estimator, "classes_", None) is None:
        return None
    classes = np.asarray(estimator.classes_).tolist()
    if len(classes) != 2:
        raise ValueError(
            f"{type(estimator).__name__} knows {len(classes)} classes, but a score ranks two."
        )
    return classes[1]


def _scores_of(
    estimator: Any, X: Any, groups: Any, response_method: ResponseMethod, pos_label: Any
) -> Any:
    """The scores that a fitted estimator gives to rows, higher for the positive label."""
    known: tuple[str, ...] = ("decision_function", "predict_proba")
    if response_method not in ("auto", *known):
        named = " or ".join(map(repr, known))
        raise ValueError(f"response_method must be 'auto', {named}, not {response_method!r}.")
    wanted = known if response_method == "auto" else (response_method,)
    name = next((name for name in wanted if hasattr(estimator, name)), None)
    if name is None:
        raise TypeError(f"{type(estimator).__name__} has no {' and no '.join(wanted)}.")
    method = getattr(estimator, name)
    # Scorers take groups if they were fitted with them as a feature, and refuse them otherwise.
    takes_groups = "sensitive_features" in signature(method).parameters
    takes_groups = takes_groups and getattr(estimator, "use_groups", True)
    scores = method(X, sensitive_features=groups) if takes_groups else method(X)
    scores = np.asarray(to_array(scores, name) if np.ndim(scores) == 1 else scores)
    second = _scored_label(estimator)
    reverse = pos_label is not None and second is not None and pos_label != second
    if scores.ndim == 2 and scores.shape[1] == 2:
        return scores[:, 0 if reverse else 1]
    if scores.ndim != 1:
        raise ValueError(f"{name} gives an array of shape {scores.shape}, not one score per row.")
    return -scores if reverse else scores


# ---------------------------------------------------------------------- axes and legends


def unit_square(ax: Axes, theme: Theme, x: str, y: str) -> None:
    """Rates from 0 to 1 on both axes, drawn to the same scale, and the line of equal rates."""
    frame(ax, x, y)
    ticks = np.linspace(0.0, 1.0, 5)
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal", xticks=ticks, yticks=ticks)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:g}")
    if all(line.get_gid() != "diagonal" for line in ax.lines):  # one for all data sets overlaid
        ax.plot(
            [0.0, 1.0], [0.0, 1.0], color=theme.muted, linewidth=0.9, linestyle=(0, (2.0, 2.0)),
            zorder=1.5, gid="diagonal",
        )  # fmt: skip


def frame(ax: Axes, x: str = "", y: str = "") -> None:
    """Faint grid below everything, and no more of a frame than the two axes, which are named."""
    label_axes(ax, x, y)
    ax.set_axisbelow(True)
    ax.grid(True, linewidth=0.6, color=matplotlib.rcParams["grid.color"])
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8.5)


def label_axes(ax: Axes, x: str, y: str) -> None:
    """What is on the axes, a little larger than the ticks."""
    ax.set_xlabel(x, fontsize=9)
    ax.set_ylabel(y, fontsize=9)


def tolerance_strip(
    ax: Axes, theme: Theme, tolerance: float | None, label: str, *, upright: bool = False
) -> Any:
    """What is within a tolerance: shaded, with dotted ends that a print shows; None without one.

    `label` has the place of the number; an upright strip is of sizes, which have no sign.
    """
    if tolerance is None:
        return None
    span, low = (ax.axvspan, 0.0) if upright else (ax.axhspan, -tolerance)
    return span(
        low, tolerance, facecolor=theme.strip, edgecolor=theme.muted,
        linewidth=0.8, linestyle=":", zorder=1.0, label=label.format(tolerance),
    )  # fmt: skip


def draw_band(ax: Axes, band: Band | None, color: str, alpha: float) -> Any:
    """What is between the ends of a band, shaded; None if there is no band."""
    if band is None:
        return None
    return ax.fill_between(
        band.rates, band.low, band.high, color=color, alpha=alpha, linewidth=0.0,
        label="_nolegend_", zorder=2.0,
    )  # fmt: skip


def legend_below(ax: Axes, columns: int = 1) -> Any:
    """A legend of everything labelled, under the axes, where it hides no curve.

    In a figure without a layout engine, which would make room for it, it is within the axes.
    """
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return None
    figure, before = ax.figure, ax.get_legend()
    longest = _LETTERS
    if isinstance(figure, Figure) and figure in _MADE:
        longest = max(longest, int(12 * figure.get_figwidth() / columns))
    labels = [_wrapped(label, longest) for label in labels]
    if isinstance(figure, Figure) and figure in _MADE:
        earlier = [] if before is None else [text.get_text() for text in before.get_texts()]
        more = _lines(labels) - _lines(earlier)
        figure.set_figheight(figure.get_figheight() + _ENTRY * more / columns)
    options: dict[str, Any] = dict(fontsize=8.5, handlelength=3.2)
    if figure.get_layout_engine() is None:
        # Nobody makes room below these axes: a legend there would be cut off.
        options |= dict(loc="best", framealpha=0.8)
    else:
        below = _BELOW + _LINE * ax.get_xlabel().count("\n")
        down = ScaledTranslation(0.0, -below, figure.dpi_scale_trans)
        options |= dict(
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=ax.transAxes + down,
            borderaxespad=0.0,
            frameon=False,
            ncols=columns,
        )
    legend = ax.legend(handles, labels, **options)
    for text in legend.get_texts():
        text.set_text(text.get_text().removeprefix(" "))  # see `as_label`
    return legend


def _wrapped(label: str, longest: int) -> str:
    """A label in several lines if it is long, broken between words alone."""
    lines = wrap(
        label, longest, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines) if len(lines) > 1 else label


def _lines(labels: Sequence[str]) -> int:
    return sum(label.count("\n") + 1 for label in labels)
