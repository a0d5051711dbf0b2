"""What every part of an audit is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from evenscore.auditing.groups import ComparedTable, GroupChoice, GroupColumn
from evenscore.auditing.parts import Settings
from evenscore.gaps import Cuts, GapFamily
from evenscore.inference.cuts import CutTable, Shares, cut_table
from evenscore.inference.estimate import Estimate
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats, starts_of_runs
from evenscore.scores.distribution import Distribution
from evenscore.scores.rates import Rate
from evenscore.scores.selection import Ladder
from evenscore.scores.thinning import coarsened

EXACT_LEVELS = 100_000  # distinct scores by cell up to which every one of them is a threshold
COARSE_LEVELS = 10_000  # thresholds looked at where there are more


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
