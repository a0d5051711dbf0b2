"""What every part of an audit is."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from evenscore.auditing.groups import ComparedTable, GroupChoice, GroupColumn
from evenscore.auditing.parts import Settings
from evenscore.gaps import Cuts, GapFamily
from evenscore.inference.aucs import auc_estimates
from evenscore.inference.cuts import CutTable, Shares, cut_table
from evenscore.inference.estimate import Estimate
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats, starts_of_runs
from evenscore.scores.deciles import Deciles
from evenscore.scores.distribution import Distribution
from evenscore.scores.rates import Rate
from evenscore.scores.selection import Ladder
from evenscore.scores.thinning import coarsened

EXACT_LEVELS = 100_000  # distinct scores by cell up to which every one of them is a threshold
COARSE_LEVELS = 10_000  # thresholds looked at where there are more
_NAMED = 6  # groups in a sentence


@dataclass(frozen=True, eq=False)
class AuditInput:
    """What a block is computed from: the table, what was asked, and what several blocks share.

    `cuts` are the cuts in use, and `rates` what is compared there: gaps of the audit if `asked`,
    and else for context. `context` are then the gaps. `columns` are the columns of groups one by
    one, of which the groups are intersections; none if there is one only.
    """

    scores: GroupedScores
    settings: Settings
    groups: GroupChoice
    cuts: Cuts
    families: tuple[GapFamily, ...]
    rates: tuple[Rate, ...]
    asked: bool
    context: tuple[Estimate, ...] = ()
    outcomes_known: bool = True
    columns: tuple[GroupColumn, ...] = ()

    @cached_property
    def n_levels(self) -> int:
        """How many distinct scores there are."""
        return len(starts_of_runs(self.scores.score))

    @cached_property
    def coarse(self) -> GroupedScores:
        """The same table, or one with fewer levels, for what looks at every threshold."""
        scores = self.scores
        return coarsened(scores, COARSE_LEVELS) if len(scores) > EXACT_LEVELS else scores

    @cached_property
    def compared(self) -> tuple[ComparedTable, ...]:
        """The tables and the pairs of their groups that are compared."""
        return self.groups.tables(self.scores)

    @cached_property
    def coarse_compared(self) -> tuple[ComparedTable, ...]:
        """The same of the coarse table."""
        return self.compared if self.coarse is self.scores else self.groups.tables(self.coarse)

    @cached_property
    def everyone(self) -> Distribution:
        """The distribution of all scores."""
        return self.coarse.pooled("both")

    @cached_property
    def aucs(self) -> tuple[Estimate, list[list[Estimate]]]:
        """The overall AUC and those between all cells."""
        return auc_estimates(self.scores, confidence_level=self.settings.confidence_level)

    @cached_property
    def ladder_of_everyone(self) -> Ladder:
        """All cuts of the table, by the share of everyone, from the side that is selected."""
        return Ladder.make(self.scores, "everyone", self.cuts.selected)

    @cached_property
    def deciles(self) -> Deciles:
        """The cuts that select a tenth, two tenths, … of everyone."""
        return Deciles.make(self.ladder_of_everyone)

    @cached_property
    def ladder(self) -> Ladder:
        """All cuts of the table, as those in use count them."""
        return self.cuts.ladder(self.scores)

    def cut_table(self, thresholds: Floats, **options: Any) -> CutTable:
        """The rates of the groups at some thresholds, on the side that is selected."""
        table = cut_table(
            self.scores,
            thresholds,
            side=self.cuts.selected,
            inclusive=self.cuts.inclusive,
            **{
                "confidence_level": self.settings.confidence_level,
                "burden": self.settings.words.selected_is == "bad",
                "compared": self.groups.compared,
                **options,
            },
        )
        if self.outcomes_known:
            return table
        nothing = np.full(table.fpr.value.shape, np.nan)
        unknown = Shares(nothing, nothing, nothing)
        return replace(table, fpr=unknown, fnr=unknown, precision=unknown)


@dataclass(frozen=True)
class BlockTable:
    """A plain table: texts, ready to be shown anywhere.

    The first `names` columns are names, the others numbers.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    names: int = 1


NONE = "–"
"""What stands in a table where there is no number."""


def told(value: float, low: float, high: float, style: str) -> str:
    """A number and its interval in one cell; a dash where there is none.

    >>> told(0.25, 0.125, 0.5, ".1%"), told(1.0, math.nan, math.nan, ".2f")
    ('25.0% (12.5% to 50.0%)', '1.00 (no interval)')
    """
    if math.isnan(value):
        return NONE
    if math.isnan(low) or math.isnan(high):
        return f"{value:{style}} (no interval)"
    top = "no upper end" if math.isinf(high) else f"{high:{style}}"
    return f"{value:{style}} ({low:{style}} to {top})"


def in_order(groups: GroupChoice) -> tuple[int, ...]:
    """The groups as long tables have them: main ones, others that are compared, small ones."""
    others = [k for k in groups.compared if k not in groups.main]
    return (*groups.main, *others, *groups.small)


def left_out(groups: Sequence[str], shown: int) -> str:
    """A sentence on groups that a table has no room for, if there are any.

    >>> left_out("abc", 2)
    ' Of 3 groups 2 are listed, main ones first; all are in the JSON file.'
    """
    if len(groups) <= shown:
        return ""
    return (
        f" Of {len(groups)} groups {shown} are listed, main ones first; all are in the JSON file."
    )


def reasons(entries: Iterable[tuple[str, str]]) -> str:
    """Why numbers of some are missing, as the end of a note.

    >>> reasons([("a", "there are no positives"), ("b", ""), ("c", "there are no positives")])
    ' a, c: there are no positives.'
    """
    by_reason: dict[str, list[str]] = {}
    for name, reason in entries:
        if reason:
            by_reason.setdefault(reason, []).append(name)
    return "".join(
        f" {', '.join(names[:_NAMED])}{' and others' if len(names) > _NAMED else ''}: {reason}."
        for reason, names in by_reason.items()
    )


class Block(ABC):
    """A part of an audit: a frozen dataclass of plain data, computed from an `AuditInput`.

    Fields are numbers, texts, arrays, tuples and dataclasses of these: whatever `to_plain` writes
    and `from_plain` reads. `omitted` says what was left out, and `tables` shows the block wherever
    it has no template of its own, under its `title` and one sentence, `meaning`, about what it says
    and what it does not. A block that does not need outcomes is part of an audit without them too.
    One `for_each_column` is computed for every column of groups by itself as well, if there are
    several.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    meaning: ClassVar[str]
    needs_outcomes: ClassVar[bool] = True
    for_each_column: ClassVar[bool] = False
    omitted: tuple[str, ...] = ()

    @classmethod
    @abstractmethod
    def compute(cls, audit: AuditInput) -> Self:
        """The block of an audit."""

    def tables(self) -> tuple[BlockTable, ...]:
        """The block as tables, if it is not shown otherwise."""
        return ()


BLOCKS: dict[str, type[Block]] = {}
"""The blocks of an audit by name, in the order they are computed."""

BlockType = TypeVar("BlockType", bound=type[Block])


def register(block: BlockType) -> BlockType:
    """Make a block part of every audit."""
    BLOCKS[block.name] = block
    return block
