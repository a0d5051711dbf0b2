"""Scoring rates and impact ratios by category, as New York City's Local Law 144 defines them."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self, final

import numpy as np

from evenscore.auditing.blocks.base import (
    NONE,
    AuditInput,
    Block,
    BlockTable,
    left_out,
    register,
    told,
)
from evenscore.gaps.words import Words
from evenscore.inference.cuts import Shares, ratio_table
from evenscore.inference.estimate import percent
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.scores.labels import distinct_names, label_text
from evenscore.scores.selection import ROUNDING, Ladder, Side
from evenscore.scores.thinning import rounded_up

SMALL_SHARE = 0.02
"""A category with less of the data may be left out of the impact ratios, by the rule."""

_UNKNOWN = frozenset(
    (
        "", "?", "-", "–", "n/a", "#n/a", "na", "nan", "null", "none", "missing", "unknown",
        "unspecified", "undisclosed", "not specified", "not given", "not disclosed", "not stated",
        "not known", "not available", "no answer", "no response", "declined", "decline to answer",
        "declined to answer", "decline to state", "prefer not to say", "prefer not to answer",
    )
)  # fmt: skip
_ROWS = 24


@dataclass(frozen=True, eq=False)
class Categories:
    """The categories of one column, or the intersections of all.

    `people` are counted, `share` is their share of the data. `scoring_rate` is the share above the
    median, `impact_ratio` that over the rate of the `favoured` category; NaN of `unknown` ones.
    """

    column: str
    names: tuple[str, ...]
    people: Floats
    share: Floats
    scoring_rate: Shares
    impact_ratio: Shares
    favoured: str
    unknown: tuple[bool, ...]

    @property
    def small(self) -> tuple[bool, ...]:
        """Which categories hold less than 2 % of the data."""
        return tuple((self.share < SMALL_SHARE).tolist())


@register
@final
@dataclass(frozen=True, eq=False)
class LocalLaw144(Block):
    """Scoring rates and impact ratios by each column of groups, and by all of them together.

    `median` is that of everyone. There are no `tables_by` with one group.
    """

    median: float
    tables_by: tuple[Categories, ...]
    side: Side
    confidence_level: float
    words: Words

    name: ClassVar[str] = "local_law_144"
    title: ClassVar[str] = "New York City Local Law 144"
    meaning: ClassVar[str] = (
        "Which share of each category scores above the median of everyone, as audits of tools for "
        "hiring in New York City report it. It is neither a judgement nor a promise of compliance."
    )
    needs_outcomes: ClassVar[bool] = False

    @classmethod
    def compute(cls, audit: AuditInput) -> Self:
        """One table for each column, then one for the intersections."""
        settings, side = audit.settings, audit.cuts.selected
        level = settings.confidence_level
        table, threshold, median = _halves(audit.ladder_of_everyone)
        made = []
        together = [is_unknown(name) for name in audit.scores.names]
        for column in audit.columns:
            unknown = [is_unknown(value) for value in column.values]
            names = distinct_names(map(settings.words.named, column.values))
            own = replace(column.table(table), groups=names)
            made.append(_categories(own, column.name, unknown, threshold, side, level))
            together = [
                one or unknown[place] for one, place in zip(together, column.positions, strict=True)
            ]
        name = " and ".join(column.name for column in audit.columns)
        made.append(_categories(table, name, together, threshold, side, level))
        several = tuple(part for part in made if len(part.names) > 1)
        return cls(median, several, side, level, settings.words)

    def tables(self) -> tuple[BlockTable, ...]:
        """One row for each category; the definitions are below the first table."""
        level, words = percent(self.confidence_level), self.words
        where = "above" if self.side == "high" else "below"
        columns = (
            "category", "remark", words.people, "share of data",
            f"{where} the median ({level})", f"impact ratio ({level})",
        )  # fmt: skip
        made: list[BlockTable] = []
        for part in self.tables_by:
            rows = []
            for k, name in enumerate(part.names[:_ROWS]):
                marks = [
                    "unknown" if part.unknown[k] else "",
                    "under 2% of the data" if part.small[k] else "",
                    "most favoured" if name == part.favoured else "",
                ]
                rows.append(
                    (
                        name,
                        ", ".join(mark for mark in marks if mark),
                        f"{part.people[k]:,.0f}",
                        f"{part.share[k]:.1%}",
                        told(*part.scoring_rate.ends(k), ".1%"),
                        "1 (most favoured)"
                        if name == part.favoured
                        else told(*part.impact_ratio.ends(k), ".2f"),
                    )
                )
            title = f"{self.title}, by {part.column}" if part.column else self.title
            note = "" if made else self._definitions(where)
            note += self._about(part) + left_out(part.names, len(rows))
            made.append(BlockTable(title, columns, tuple(rows), note.strip(), names=2))
        return tuple(made)

    def _definitions(self, where: str) -> str:
        text = (
            "By the definitions of 6 RCNY § 5-300 as they are understood here, which is not legal "
            f"advice: the scoring rate is the share of a category that scores {where} the median "
            f"of everyone, {self.median:.6g} (strictly: whoever has the median itself is not), and "
            "the impact ratio is that over the scoring rate of the most favoured category, the one "
            "with the highest rate of those that are known and hold at least 2% of the data. The "
            "rule lets an auditor leave out smaller categories: they are marked, and shown all the "
            "same. Intervals of ratios hold for all pairs of the other categories at once."
        )
        if self.side == "low":
            text += (
                " Low scores are selected here, so that rates are of scores below the median, "
                "where the rule speaks of scores above it."
            )
        return text

    def _about(self, part: Categories) -> str:
        unknown = [name for name, one in zip(part.names, part.unknown, strict=True) if one]
        number = float(part.people[list(part.unknown)].sum())
        text = f" {number:,.0f} {self.words.people} are in categories taken to be unknown"
        if unknown:
            text += f" ({', '.join(unknown[:6])}{', …' if len(unknown) > 6 else ''}): they count "
            text += "in the median, and have no impact ratio"
        text += "; rows without any value are refused when data are read."
        if not part.favoured:
            text += f" {NONE}: nobody is beyond the median, or fewer than two categories are known."
        return text


def is_unknown(label: Hashable) -> bool:
    """Whether a category is what people write when they do not know.

    >>> is_unknown("N/A "), is_unknown(""), is_unknown("''"), is_unknown("Other")
    (True, True, True, False)
    """
    return label_text(label).strip().strip("'\"").strip().casefold() in _UNKNOWN


def _halves(ladder: Ladder) -> tuple[GroupedScores, float, float]:
    """The table with two scores only, beyond the median and not; the cut between; the median.

    The median of an even number is in the middle of two scores, unless these are equal. If it is
    within a bin of a table of bins, it is taken to be in the middle of that, and the table as it
    is: intervals then know how many may be beyond.
    """
    scores, high = ladder.scores, ladder.side == "high"
    step = ladder.last_up_to(0.5)
    middle = ladder.levels[step]
    if ladder.is_open[step] and ladder.share[step] <= 0.5 - ROUNDING:
        lowest, highest = (float(end[step]) for end in ladder.extents)
        middle = lowest / 2.0 + highest / 2.0
        below = middle if lowest <= middle < highest else lowest
        return scores, below, middle
    if ladder.share[step] > 0.5 - ROUNDING:
        edges = ladder.extents if high else ladder.extents[::-1]
        middle = edges[1][step] / 2.0 + edges[0][step - 1] / 2.0
    ends = ladder.levels[[step, max(step - 1, 0)]]
    below = float(ends[0] if high else ends[1])
    if not high and step == 0:  # nobody is below the median
        below = float(np.nextafter(below, -np.inf))
    levels = np.unique([max(below, scores.score[0]), scores.score[-1]])
    return rounded_up(scores, levels), below, float(middle)


def _categories(
    table: GroupedScores,
    column: str,
    unknown: Sequence[bool],
    threshold: float,
    side: Side,
    level: float,
) -> Categories:
    share = table.group_share
    known = [k for k, one in enumerate(unknown) if not one and share[k] > 0.0]
    large = [k for k in known if share[k] >= SMALL_SHARE]
    compared = large if len(large) > 1 else known
    found = ratio_table(
        table,
        [threshold],
        confidence_level=level,
        compared=compared,
        side=side,
        inclusive=side == "low",
    )
    ratios = Shares(
        *(
            np.where(unknown, np.nan, part[0])
            for part in (found.ratio.value, found.ratio.low, found.ratio.high)
        )
    )
    rate = found.selection_rate
    value = ratios.value[~np.isnan(ratios.value)]
    return Categories(
        column,
        table.names,
        table.cell_counts.sum(axis=0),
        share,
        Shares(rate.value[0], rate.low[0], rate.high[0]),
        ratios,
        found.against[0] if len(value) else "",
        tuple(unknown),
    )
