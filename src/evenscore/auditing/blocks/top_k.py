"""Who is at the top: how many of each group are among the k highest scores."""

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
from evenscore.inference.estimate import percent
from evenscore.inference.top_k import TopK, top_k
from evenscore.scores.selection import Side

_ROWS = 45


@register
@final
@dataclass(frozen=True, eq=False)
class TopScores(Block):
    """How many of each group are among the 10, 20, 50, … highest scores, or lowest if `side` is so.

    There are none (`top`) with one group, or fewer than ten people. `order` are positions of the
    groups as the table lists them.
    """

    top: TopK | None
    order: tuple[int, ...]
    side: Side
    weighted: bool
    words: Words
    omitted: tuple[str, ...] = ()

    name: ClassVar[str] = "top_k"
    title: ClassVar[str] = "Groups among the k highest scores"
    meaning: ClassVar[str] = (
        "What part of the highest scores each group has, beside its part of everyone. A small part "
        "of the top does not say why: groups may differ in what the score is right to see."
    )
    needs_outcomes: ClassVar[bool] = False

    @classmethod
    def compute(cls, audit: AuditInput) -> Self:
        """For k = 10, 20, 50, 100, … up to the number of people."""
        scores, settings = audit.scores, audit.settings
        found: TopK | None = None
        omitted: tuple[str, ...] = ()
        if len(audit.groups.compared) > 1:
            found = top_k(audit.ladder_of_everyone, confidence_level=settings.confidence_level)
            if not len(found.k):
                found = None
                omitted = ("There are fewer than ten people, and so no ten highest scores.",)
        weighted = not np.allclose(scores.effective_sizes, scores.cell_counts, rtol=1e-9)
        side = audit.cuts.selected
        return cls(found, in_order(audit.groups), side, weighted, settings.words, omitted)

    def tables(self) -> tuple[BlockTable, ...]:
        """One row for each k and group."""
        found, people = self.top, self.words.people
        if found is None:
            return ()
        level, end = percent(found.confidence_level), f"{self.side}est"
        shown = self.order[: max(2, _ROWS // len(found.k))]
        rows = []
        for t, k in enumerate(found.k):
            for g in shown:
                number = f"{found.number[t, g]:,.1f}".removesuffix(".0")
                share = told(*found.share.ends(t, g), ".1%")
                head = f"{k:,.0f}" if g == shown[0] else ""
                rows.append((head, found.groups[g], number, share, f"{found.group_share[g]:.1%}"))
        note = (
            f"Among the k {people} with the {end} scores. Of those who share the score at the "
            "boundary a fraction counts in each group, as if ties were broken at random: numbers "
            "need not be whole. Intervals take the boundary as given, and hold one by one."
        )
        if self.weighted:
            note += (
                f" With weights, the k {end} are those who hold k in n of all weight, n being the "
                f"number of {people}."
            )
        note += left_out(found.groups, len(shown))
        columns = ("k", "group", "among them", f"share of the k ({level})", "share of everyone")
        title = self.title.replace("highest", end)
        return (BlockTable(title, columns, tuple(rows), note, names=2),)
