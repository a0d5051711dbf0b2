"""A rate of the groups at the cuts in use, and how far apart it may be.

At a cut, two groups differ by more than the tolerance ε if one of them lies outside a ribbon of
height ε that is centred between the lowest and the highest: the groups are even where all lines run
within it. If all groups are compared with one of them, the ribbon reaches ε to both sides of that
one.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from evenscore.auditing import AuditResult
from evenscore.auditing.blocks import CutsInUse
from evenscore.auditing.blocks.cuts_in_use import curve_steps
from evenscore.auditing.declared import DEFAULT_TOLERANCE
from evenscore.gaps import Cuts, RateConstraint
from evenscore.gaps.cuts import DEFAULT_CUTS, check_cuts
from evenscore.gaps.cuts import percent as percents
from evenscore.gaps.words import DEFAULT_WORDS, Words
from evenscore.inference.cut_curves import CutCurves, cut_curves
from evenscore.inference.cut_gaps import RateErrors
from evenscore.inference.estimate import Estimate, EstimateSettings, percent
from evenscore.scores import GroupedScores, check_scores
from evenscore.scores.arrays import Floats, Ints
from evenscore.scores.rates import CATALOGUE
from evenscore.scores.sources import to_numbers
from evenscore.showing.at_cuts import (
    GroupRate,
    LargestGap,
    axis_texts,
    cut_names,
    largest_gap,
    missing_cuts_note,
    shown_groups_note,
    single_cuts,
)
from evenscore.showing.names import as_label, group_names, in_lines, literal
from evenscore.showing.plots.display import ScoreDisplay, frame
from evenscore.showing.plots.style import SeriesStyle, Theme

MOST = 6  # groups: more lines are a muddle
_EACH = 12  # cuts, up to which every one has a mark
_UNDER, _BESIDE = 48, 36  # letters of a line at the two axes
_ALPHA = 0.18  # of the bands
_APART = 0.14  # of groups at a single cut, in widths of a place


@dataclass(eq=False, repr=False)
class CutRatesDisplay(ScoreDisplay):
    """A rate of each group over the cuts in use, with intervals, and the tolerance as a ribbon.

    Over a range of cuts there is a line for each group, and a band that holds at one cut; single
    cuts have dots with error bars. A line that leaves the ribbon is further from another than the
    tolerance. The largest gap is marked where it is.

    Parameters
    ----------
    rate : str
        Which one, of `evenscore.rate_names()`.
    share : ndarray
        The share of the pool that each cut selects, from the strictest.
    groups : tuple of GroupRate
        The rates of the groups at these cuts.
    largest : LargestGap, optional
        The gap to be marked.
    tolerance : float, optional
        How far apart two groups may be.
    reference : str, optional
        The group that all others are compared with, if they are.
    places : tuple of str
        What single cuts are called; none if the cuts are those of a range.
    confidence_level : float
        That of the intervals.
    axes : pair of str
        What is on the two axes.
    note : str
        Which groups are shown, if not all are.
    reason : str
        Why there is no cut, if there is none.

    Attributes
    ----------
    lines_, bands_, points_ : list
        The artists, one per entry of `groups`: lines and bands of a range, else error bars.
    tolerance_, largest_, legend_
        The ribbon, the mark of the largest gap and the legend, or None.

    Examples
    --------
    >>> import evenscore as es
    >>> y, s, groups = [0, 1] * 50, range(100), list("aabb") * 25
    >>> display = es.plots.CutRatesDisplay.from_predictions(
    ...     y, s, sensitive_features=groups, rate="fnr", cuts=es.Cuts(between=(0.1, 0.4)),
    ...     tolerance=0.05, ax=es.plots.figure()[1])
    >>> [line.get_label() for line in display.lines_]
    ['a', 'b']
    """

    _figsize: ClassVar[tuple[float, float]] = (5.4, 4.0)

    rate: str
    share: Floats
    groups: tuple[GroupRate, ...]
    largest: LargestGap | None = None
    tolerance: float | None = None
    reference: str | None = None
    places: tuple[str, ...] = ()
    confidence_level: float = 0.95
    axes: tuple[str, str] = ("", "")
    note: str = ""
    reason: str = ""

    @classmethod
    def from_scores(
        cls,
        scores: GroupedScores,
        *,
        rate: str = "fnr",
        cuts: Cuts = DEFAULT_CUTS,
        tolerance: float | None = DEFAULT_TOLERANCE,
        words: Words = DEFAULT_WORDS,
        confidence_level: float = 0.95,
    ) -> Self:
        """From scores by cell.

        Parameters
        ----------
        scores : GroupedScores
            The scores by cell.
        rate : str
            Which one, of `evenscore.rate_names()`.
        cuts : Cuts
            The cuts in use; by default those that select 5 % to 50 % of everyone.
        tolerance : float, optional
            How far apart two groups may be, by default as in an audit; None for no ribbon.
        words : Words
            What the axes call people and outcomes.
        confidence_level : float
            That of the intervals.

        Returns
        -------
        Self
            The display, not yet drawn: of the first six groups if there are more.
        """
        check_scores(scores)
        family = RateConstraint(rate, cuts=check_cuts(cuts))
        ladder, shown = cuts.ladder(scores), list(range(min(scores.n_groups, MOST)))
        places, steps = cuts.steps(ladder), curve_steps(cuts, ladder)
        missing = [number for number, (first, last) in enumerate(places) if first > last]
        curves = cut_curves(
            RateErrors(ladder),
            family.entries,
            steps,
            shown,
            inclusive=cuts.inclusive,
            confidence_level=confidence_level,
        )
        pairs = tuple((i, j) for i, j in scores.pairs() if j < MOST)
        settings = EstimateSettings(confidence_level, pairs=pairs)
        single = {
            number: int(np.searchsorted(steps, first))
            for number, (first, last) in enumerate(places)
            if first <= last
        }
        return cls._made(
            rate,
            cuts,
            curves,
            scores.names[: len(shown)],
            family.estimates(scores, settings) if pairs else [],
            words,
            single,
            tolerance=tolerance,
            note=shown_groups_note(len(shown), scores.n_groups, "the first"),
            reason=cuts.why_none(ladder, missing[0]) if len(missing) == len(places) else "",
        )

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_score: Any, *, sensitive_features: Any, **options: Any
    ) -> Self:
        """From columns, drawn at once as in scikit-learn.

        Parameters
        ----------
        y_true, y_score, sensitive_features
            Labels, scores and groups. If the labels are None, outcomes are unknown, and the
            selection rates are drawn.
        **options
            Those of `GroupedScores.from_arrays`, of `from_scores` and of `plot`.

        Returns
        -------
        Self
            The display, drawn.
        """
        if y_true is None:
            options = {"rate": "selection", **options}
            if options["rate"] != "selection":
                raise ValueError(
                    f"The rate {options['rate']!r} needs outcomes, and there is no y_true."
                )
            y_true = np.zeros(len(to_numbers(y_score, "y_score")), dtype=bool)
        return super().from_predictions(
            y_true, y_score, sensitive_features=sensitive_features, **options
        )

    @classmethod
    def from_audit(cls, result: AuditResult, *, rate: str | None = None) -> Self:
        """From an audit: its curves, its largest gap and its tolerance as they are.

        Parameters
        ----------
        result : AuditResult
            The audit.
        rate : str, optional
            One of those that the audit has over its cuts; by default the first.

        Returns
        -------
        Self
            The display, not yet drawn: of the main groups if there are many.
        """
        known = [curve.rate for curve in result.cut_curves.rates]
        rate = rate or next(iter(known), "")
        if rate not in known:
            raise ValueError(f"The audit has no rate {rate!r} at its cuts; it has {known}.")
        compared = result.compared_groups
        some = compared if result.n_pairs <= 3 else result.main_groups
        which = "the main ones" if some == result.main_groups and len(some) <= MOST else "the first"
        reference = result.settings.reference_group
        if reference in compared and reference not in some[:MOST]:
            some = (reference, *some)
        some = some[:MOST]
        gaps = [gap for gap in result.cut_gaps if gap.name == f"{rate}_gap"]
        return cls._made(
            rate,
            result.cuts,
            result.cut_curves,
            some,
            [gap for gap in gaps if {gap.first, gap.second} <= {*some, reference}],
            result.settings.words,
            {} if result.cuts.is_range else single_cuts(result),
            tolerance=result.settings.tolerance,
            reference=reference,
            note=shown_groups_note(len(some), len(result.groups), which),
            reason=result.block(CutsInUse).reason,
        )

    @classmethod
    def _made(
        cls,
        rate: str,
        cuts: Cuts,
        curves: CutCurves,
        some: tuple[str, ...],
        gaps: list[Estimate],
        words: Words,
        single: dict[int, int],
        *,
        tolerance: float | None,
        reference: str | None = None,
        note: str = "",
        reason: str = "",
    ) -> Self:
        """The rate of some groups, over a range or at single cuts: where these are, by number."""
        names = dict(zip(some, group_names(some), strict=True))
        kept: Ints = np.arange(len(curves.selected_share))
        places: tuple[str, ...] = ()
        if not cuts.is_range:
            kept = np.array(list(single.values()), dtype=np.intp)
            places = tuple(cut_names(cuts)[number] for number in single)
        [shares] = [curve.shares for curve in curves.rates if curve.rate == rate]
        positions = [curves.groups.index(name) for name in some]
        groups = tuple(
            GroupRate(
                names[name], *(part[kept, k] for part in (shares.value, shares.low, shares.high))
            )
            for name, k in zip(some, positions, strict=True)
        )
        return cls(
            rate,
            curves.selected_share[kept],
            groups,
            largest_gap(gaps, names),
            tolerance,
            names.get(reference or ""),
            places,
            curves.confidence_level,
            axis_texts(rate, cuts, words),
            "; ".join(filter(None, (note, missing_cuts_note(cuts, single)))),
            reason,
        )

    # ------------------------------------------------------------------ drawing

    def _draw(self, ax: Axes, theme: Theme) -> None:
        """Draw the ribbon, the groups and the largest gap."""
        x, y = map(literal, self.axes)
        frame(ax, in_lines(x, _UNDER), in_lines(y, _BESIDE))
        ax.set_title(CATALOGUE[self.rate].title.capitalize(), fontsize=10)
        self.lines_, self.bands_, self.points_ = [], [], []
        self.tolerance_ = None
        self.largest_: Any = None
        ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: percents(share)))
        if not len(self.share):
            ax.set(xticks=[], yticks=[])
            text = in_lines(literal(self.reason or "There is no cut."), _BESIDE)
            ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes, fontsize=9)
            return
        for number, group in enumerate(self.groups):
            style = theme.series(number)
            if self.places:
                self.points_.append(self._dots(ax, number, group, style))
            else:
                self._line(ax, number, group, style)
        self._ribbon(ax, theme)
        if self.largest is not None:
            self.largest_ = self._mark(ax, theme, self.largest)
        level = percent(self.confidence_level)
        if not self.places:
            ax.fill_between(
                [], [], [], color=theme.text, alpha=_ALPHA, label=f"{level} band, at one cut"
            )
            ax.xaxis.set_major_formatter(FuncFormatter(lambda share, _: percents(share)))
            ax.set_xlim(*_padded(self.share))
        else:
            ax.set_xticks(range(len(self.places)), [literal(place) for place in self.places])
            ax.set_xlim(-0.5, len(self.places) - 0.5)
        ax.set_ylim(0.0, self.top)

    @property
    def top(self) -> float:
        """Where the upright axis ends, from zero: a little above all that is drawn."""
        tops = [top for group in self.groups for top in group.high if not np.isnan(top)]
        tops += [high for high in self._tolerated()[1] if not np.isnan(high)]
        return float(min(1.06 * max([0.05, *tops]), 1.02))

    def _line(self, ax: Axes, number: int, group: GroupRate, style: SeriesStyle) -> None:
        """The rate over a range, with its band; few cuts have a mark each."""
        few = np.sum(~np.isnan(group.value)) <= _EACH
        [line] = ax.plot(
            self.share,
            group.value,
            **style._asdict(),
            linewidth=1.8,
            markersize=4.5,
            markevery=1 if few else (0.05 + 0.06 * number, 0.3),
            label=as_label(self._label(group)),
            zorder=3.0,
        )
        self.lines_.append(line)
        band = ax.fill_between(
            self.share, group.low, group.high, color=style.color, alpha=_ALPHA, linewidth=0.0,
            label="_nolegend_", zorder=2.0,
        )  # fmt: skip
        self.bands_.append(band)

    def _dots(self, ax: Axes, number: int, group: GroupRate, style: SeriesStyle) -> Any:
        """The rate at single cuts, groups side by side."""
        apart = min(_APART, 0.7 / len(self.groups))
        return ax.errorbar(
            np.arange(len(self.share)) + apart * (number - (len(self.groups) - 1) / 2.0),
            group.value,
            yerr=np.maximum([group.value - group.low, group.high - group.value], 0.0),  # rounding
            fmt=style.marker,
            color=style.color,
            markersize=5.5,
            elinewidth=1.3,
            capsize=3.0,
            label=as_label(self._label(group)),
            zorder=3.0,
        )

    def _label(self, group: GroupRate) -> str:
        """For the legend: the group, or why it has no rate."""
        if np.isnan(group.value).all():
            on = CATALOGUE[self.rate].on
            return f"{group.name}: {f'no {on}' if on else 'too few people'}"
        if not self.places:
            return group.name
        return f"{group.name}, with its {percent(self.confidence_level)} interval"

    def _tolerated(self) -> tuple[Floats, Floats]:
        """Where the ribbon begins and ends at each cut; nothing without a tolerance."""
        if self.tolerance is None or len(self.groups) < 2:
            return np.zeros(0), np.zeros(0)
        values = np.stack([group.value for group in self.groups])
        known = ~np.isnan(values)
        lowest = np.where(known, values, np.inf).min(axis=0)
        highest = np.where(known, values, -np.inf).max(axis=0)
        middle = (np.minimum(lowest, 1.0) + np.maximum(highest, 0.0)) / 2.0
        half = self.tolerance / 2.0
        if self.reference is not None:
            [middle] = [group.value for group in self.groups if group.name == self.reference]
            half = self.tolerance
        middle = np.where(known.sum(axis=0) > 1, middle, np.nan)
        return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)

    def _ribbon(self, ax: Axes, theme: Theme) -> None:
        """As high as the tolerance, between the lowest group and the highest, or around one."""
        low, high = self._tolerated()
        if self.tolerance is None or not len(low):
            return
        whose = "between groups" if self.reference is None else f"from {self.reference}"
        options: dict[str, Any] = dict(
            facecolor=theme.strip, edgecolor=theme.muted, linewidth=0.8, linestyle=":", zorder=1.0,
            label=f"tolerance: {100.0 * self.tolerance:g} points {whose}",
        )  # fmt: skip
        if self.places:
            self.tolerance_ = ax.bar(range(len(low)), high - low, bottom=low, width=0.8, **options)
        else:
            self.tolerance_ = ax.fill_between(self.share, low, high, **options)

    def _mark(self, ax: Axes, theme: Theme, gap: LargestGap) -> Any:
        """A bar from one group to the other, at the cut where they are furthest apart."""
        x = gap.share
        if self.places:
            x = float(np.argmin(np.abs(self.share - gap.share)))
        ends = gap.first_value, gap.second_value
        return ax.errorbar(
            [x], [sum(ends) / 2.0], yerr=abs(ends[0] - ends[1]) / 2.0, fmt="none",
            color=theme.text, elinewidth=1.3, capsize=4.0, label=as_label(gap.label), zorder=4.0,
        )  # fmt: skip

    def _finish(self, ax: Axes, theme: Theme) -> None:
        if self.legend_ is not None and self.note:
            self.legend_.set_title(self.note, prop={"size": 8.5})


def _padded(share: Floats) -> tuple[float, float]:
    """A little more than from the strictest cut to the loosest."""
    low, high = float(share[0]), float(share[-1])
    margin = 0.03 * (high - low) or 0.02
    return max(low - margin, 0.0), min(high + margin, 1.0)
