"""What the displays share: columns or an estimator in, axes and theme, a legend out of the way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from inspect import signature
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self
from weakref import WeakSet

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation

from evenscore.columns import to_array
from evenscore.plots.style import Theme, ThemeName, dress, mix, theme_of
from evenscore.plots.style import theme as theme_named
from evenscore.scores import GroupedScores

if TYPE_CHECKING:
    from matplotlib.figure import SubFigure

__all__ = [
    "Display",
    "ScoreDisplay",
    "chosen_pairs",
    "diagonal",
    "legend_below",
    "scores_of",
    "tolerance_strip",
    "unit_square",
]

ResponseMethod = Literal["auto", "decision_function", "predict_proba"]
Pairs = Sequence[tuple[Hashable, Hashable]] | None

_ENTRY = 0.19  # inches of a legend's line
_LETTERS = 54  # of a legend's line: what fits under a panel
_MADE: WeakSet[Any] = WeakSet()  # figures made here: they may grow with their legend


class Display(ABC):
    """Data that knows how to draw itself; after `plot`, `ax_`, `figure_` and its artists.

    Displays made from columns or an estimator are drawn at once; those from an audit, from scores
    or from a path are drawn by `plot`. Without axes, pyplot makes a figure:
    `plt.close(display.figure_)` closes it.
    """

    _figsize: ClassVar[tuple[float, float]] = (4.6, 4.6)

    ax_: Axes
    figure_: Figure | SubFigure

    @contextmanager
    def _drawing(self, ax: Axes | None, theme: ThemeName | None) -> Iterator[tuple[Axes, Theme]]:
        """The axes to draw on and the theme in force; `ax_` and `figure_` are set.

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
        with theme_named(theme or theme_of(ax).name) as found:
            if theme is not None and not made:
                dress(ax, found)
            self.ax_, self.figure_ = ax, ax.figure
            yield ax, found


class ScoreDisplay(Display):
    """A display of a score by class and group."""

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
        """From columns: labels, scores and groups (see `GroupedScores.from_arrays`).

        As in scikit-learn it is drawn at once, on `ax` or in a new figure. Further options are
        those of `from_scores`, which gives the same display undrawn, and of `plot`.
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

    @abstractmethod
    def plot(self, ax: Axes | None = None, *, theme: ThemeName | None = None) -> Self:
        """Draw it, on the given axes or on new ones."""

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
        sample_weight: Any = None,
        group_order: Sequence[Hashable] | None = None,
        **options: Any,
    ) -> Self:
        """From a fitted classifier and the rows to score, drawn at once like `from_predictions`.

        Scores come from `decision_function` or else `predict_proba`; the positive label is the
        second of the estimator's classes unless another is given.
        """
        if pos_label is None:
            pos_label = scored_label(estimator)
        return cls.from_predictions(
            y,
            scores_of(estimator, X, sensitive_features, response_method, pos_label),
            sensitive_features=sensitive_features,
            pos_label=pos_label,
            sample_weight=sample_weight,
            group_order=group_order,
            **options,
        )


def scored_label(estimator: Any) -> Any:
    """The label that higher scores speak for; None if the estimator does not say."""
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return None
    found = np.asarray(classes).tolist()
    if len(found) != 2:
        raise ValueError(
            f"{type(estimator).__name__} knows {len(found)} classes, but a score ranks two."
        )
    return found[1]


def scores_of(
    estimator: Any,
    X: Any,
    sensitive_features: Any = None,
    response_method: ResponseMethod = "auto",
    pos_label: Any = None,
) -> Any:
    """The scores that a fitted estimator gives to rows, higher for the positive label.

    An estimator whose method has an argument `sensitive_features`, like `RepairedScorer`, is given
    the groups.
    """
    known: tuple[str, ...] = ("decision_function", "predict_proba")
    if response_method not in ("auto", *known):
        raise ValueError(
            f"response_method must be 'auto', {' or '.join(map(repr, known))}, "
            f"not {response_method!r}."
        )
    wanted = known if response_method == "auto" else (response_method,)
    name = next((name for name in wanted if hasattr(estimator, name)), None)
    if name is None:
        raise TypeError(f"{type(estimator).__name__} has no {' and no '.join(wanted)}.")
    method = getattr(estimator, name)
    takes_groups = "sensitive_features" in signature(method).parameters
    found = method(X, sensitive_features=sensitive_features) if takes_groups else method(X)
    scores = np.asarray(to_array(found, name) if np.ndim(found) == 1 else found)
    second = scored_label(estimator)
    reverse = pos_label is not None and second is not None and pos_label != second
    if scores.ndim == 2 and scores.shape[1] == 2:
        return scores[:, 0 if reverse else 1]
    if scores.ndim != 1:
        raise ValueError(f"{name} gives an array of shape {scores.shape}, not one score a row.")
    return -scores if reverse else scores


def chosen_pairs(scores: GroupedScores, pairs: Pairs) -> list[tuple[int, int]]:
    """Positions of the pairs of groups to show: those named, or the first with every other."""
    if scores.n_groups < 2:
        found = f"only {scores.groups[0]!r}" if scores.groups else "none"
        raise ValueError(f"Groups are compared two by two, but there is {found}.")
    if pairs is None:
        return [(0, k) for k in range(1, scores.n_groups)]
    found_pairs = [(scores.position(one), scores.position(two)) for one, two in pairs]
    for one, two in found_pairs:
        if one == two:
            raise ValueError(f"A pair needs two groups, not {scores.groups[one]!r} twice.")
    return found_pairs


# ---------------------------------------------------------------------- axes and legends


def unit_square(ax: Axes) -> None:
    """Rates from 0 to 1 on both axes, drawn to the same scale."""
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
    ticks = np.linspace(0.0, 1.0, 5)
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    frame(ax)


def frame(ax: Axes) -> None:
    """Faint grid below everything, and no more of a frame than the two axes."""
    ax.set_axisbelow(True)
    ax.grid(True, linewidth=0.6, color=matplotlib.rcParams["grid.color"])
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8.5)


def diagonal(ax: Axes, theme: Theme) -> Any:
    """The line of equal rates; drawn once, however many data sets are overlaid."""
    for line in ax.lines:
        if line.get_gid() == "diagonal":
            return line
    [line] = ax.plot(
        [0.0, 1.0], [0.0, 1.0], color=theme.muted, linewidth=0.9, linestyle=(0, (2.0, 2.0)),
        zorder=1.5, gid="diagonal",
    )  # fmt: skip
    return line


def tolerance_strip(
    ax: Axes, theme: Theme, low: float, high: float, *, upright: bool = False
) -> Any:
    """What is within a tolerance: shaded, with dotted ends that a print shows."""
    span = ax.axvspan if upright else ax.axhspan
    return span(
        low, high, facecolor=mix(theme.faint, theme.background), edgecolor=theme.muted,
        linewidth=0.8, linestyle=":", zorder=1.0,
    )  # fmt: skip


def legend_below(ax: Axes, *, columns: int = 1, below: float = 36.0) -> Any:
    """A legend of everything labelled, under the axes, where it hides no curve.

    In a figure without a layout engine, which would make room for it, it is within the axes.

    `below` is how far under, in points: the room that tick labels and the axis label take.
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
        down = ScaledTranslation(0.0, -below / 72.0, figure.dpi_scale_trans)
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
        label, longest, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False,
        drop_whitespace=True,
    )  # fmt: skip
    return "\n".join(lines) if len(lines) > 1 else label


def _lines(labels: Sequence[str]) -> int:
    return sum(label.count("\n") + 1 for label in labels)
