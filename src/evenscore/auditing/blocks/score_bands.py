"""Bands of the score: how many of each group are in them, and how many of those are positive."""

from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np

from evenscore.auditing.blocks.base import (
    AuditInput,
    Block,
    BlockTable,
    in_order,
    left_out,
    register,
    told,
)
from evenscore.gaps.words import Words
from evenscore.inference.calibration import calibration_by_group
from evenscore.inference.cuts import Shares, cut_table
from evenscore.inference.estimate import percent
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.scores.deciles import Deciles

_ROWS = 55  # eleven bands, the last of which is everybody, of five groups


@register
@final
@dataclass(frozen=True, eq=False)
class ScoreBands(Block):
    """Everyone (the first of `groups`) and each group in bands of the score, the strictest first.

    Arrays are (bands, groups), and the last band is all scores together. `people` are counted,
    `cumulative` is the share of a group in a band and all stricter ones, and `positives` the share
    of positives among those in a band, unknown without outcomes. `edges` are the highest scores
    below the end of each band but the last.
    """

    bands: tuple[str, ...]
    edges: Floats
    groups: tuple[str, ...]
    people: Floats
    cumulative: Shares
    positives: Shares | None
    confidence_level: float
    words: Words

    name: ClassVar[str] = "score_bands"
    title: ClassVar[str] = "Score bands"
    meaning: ClassVar[str] = (
        "Who has which scores, and how many of them turned out to be positive. Bands are those of "
        "this sample: other people will not be spread over them in equal parts."
    )
    needs_outcomes: ClassVar[bool] = False

    @classmethod
    def compute(cls, audit: AuditInput) -> Self:
        """Bands between the cuts that select a tenth, two tenths, … of everyone."""
        deciles, table, level = audit.deciles, audit.deciles.table, audit.settings.confidence_level
        known, order = audit.outcomes_known, list(in_order(audit.groups))
        everyone = table.regrouped([0] * table.n_groups, ("everyone",))
        parts = [
            _bands(everyone, deciles, [0], level, outcomes_known=known),
            _bands(table, deciles, order, level, outcomes_known=known),
        ]
        people = np.concatenate([part[0] for part in parts], axis=1)
        return cls(
            (*deciles.bands, "all scores"),
            deciles.highest_below,
            ("everyone", *audit.groups.named(order)),
            people,
            _joined([part[1] for part in parts]),
            _joined([part[2] for part in parts]) if known else None,
            level,
            audit.settings.words,
        )

    def tables(self) -> tuple[BlockTable, ...]:
        """One row for each band and group."""
        level, words = percent(self.confidence_level), self.words
        shown = range(min(len(self.groups), max(3, _ROWS // len(self.bands))))
        rows = []
        for b, band in enumerate(self.bands):
            for g in shown:
                row = [band if g == 0 else "", self.groups[g], f"{self.people[b, g]:,.0f}"]
                if self.positives is not None:
                    row.append(told(*self.positives.ends(b, g), ".1%"))
                rows.append((*row, told(*self.cumulative.ends(b, g), ".1%")))
        columns = ["band", "group", words.people]
        if self.positives is not None:
            columns.append(f"share of {words.positives} ({level})")
        columns.append(f"cumulatively {words.selected} ({level})")
        note = (
            "Bands lie between the cuts that select at most a tenth, two tenths, … of everyone, "
            "the strictest first; people who share a score are in one band, and everybody is in "
            "exactly one: the number behind “up to” belongs to the band, that behind “above” does "
            f"not. The last column is the share of a group that is {words.selected} if this band "
            "and those before it are."
        )
        note += left_out(self.groups[1:], len(shown) - 1)
        return (BlockTable(self.title, tuple(columns), tuple(rows), note, names=2),)


def _bands(
    table: GroupedScores, deciles: Deciles, order: list[int], level: float, *, outcomes_known: bool
) -> tuple[Floats, Shares, Shares]:
    """People, cumulative shares and shares of positives of some groups, all scores last."""
    edges, low = np.sort(deciles.highest_below), deciles.ladder.side == "low"
    ends = np.append(np.searchsorted(table.score, edges, side="right"), len(table))
    [counts] = table.sums_between(ends, table.count)
    by_band = counts.reshape(len(ends), 2, table.n_groups).sum(axis=1)[:, order]
    by_band = by_band if low else by_band[::-1]
    people = np.concatenate([by_band, by_band.sum(axis=0, keepdims=True)])
    selected = cut_table(
        table,
        deciles.highest_below,
        confidence_level=level,
        side=deciles.ladder.side,
        inclusive=low,
    ).selection_rate
    there = np.where(people[-1] > 0.0, 1.0, np.nan)
    whole = np.stack([there, there])  # of the last band, and of all of them
    cumulative = Shares(
        *(
            np.concatenate([part[:, order], whole])
            for part in (selected.value, selected.low, selected.high)
        )
    )
    if not outcomes_known:
        return people, cumulative, cumulative
    bins, one = (
        calibration_by_group(table, inner=inner, confidence_level=level).positives
        for inner in (edges, np.zeros(0))
    )
    positives = Shares(
        *(
            np.concatenate([part if low else part[::-1], all_of_it])[:, order]
            for part, all_of_it in (
                (bins.value, one.value), (bins.low, one.low), (bins.high, one.high),
            )
        )
    )  # fmt: skip
    return people, cumulative, positives


def _joined(parts: list[Shares]) -> Shares:
    """Those of several tables side by side."""
    return Shares(
        *(
            np.concatenate([getattr(part, name) for part in parts], axis=1)
            for name in ("value", "low", "high")
        )
    )
