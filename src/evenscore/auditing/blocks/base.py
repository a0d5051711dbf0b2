"""What every part of an audit is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self, TypeVar

from evenscore.auditing.groups import ComparedTable, GroupChoice
from evenscore.auditing.parts import Settings
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.scores.distribution import Distribution
from evenscore.scores.thinning import coarsened

EXACT_LEVELS = 100_000  # distinct scores by cell up to which every one of them is a threshold
COARSE_LEVELS = 10_000  # thresholds looked at where there are more


@dataclass(frozen=True, eq=False)
class AuditInput:
    """What a block is computed from: the table, what was asked, and what several blocks share."""

    scores: GroupedScores
    settings: Settings
    groups: GroupChoice
    thresholds: Floats | None = None

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


@dataclass(frozen=True)
class BlockTable:
    """A block as a plain table: texts, ready to be shown anywhere."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


class Block(ABC):
    """A part of an audit: a frozen dataclass of plain data, computed from an `AuditInput`.

    Fields are numbers, texts, arrays, tuples and dataclasses of these: whatever `to_plain` writes
    and `from_plain` reads. `omitted` says what was left out, `table` shows the block where no
    template knows it.
    """

    name: ClassVar[str]
    omitted: tuple[str, ...] = ()

    @classmethod
    @abstractmethod
    def compute(cls, audit: AuditInput) -> Self:
        """The block of an audit."""

    def table(self) -> BlockTable | None:
        """The block as a table, if it is not shown otherwise."""
        return None


BLOCKS: dict[str, type[Block]] = {}
"""The blocks of an audit by name, in the order they are computed."""

BlockType = TypeVar("BlockType", bound=type[Block])


def register(block: BlockType) -> BlockType:
    """Make a block part of every audit."""
    BLOCKS[block.name] = block
    return block
