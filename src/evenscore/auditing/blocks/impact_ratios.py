"""Adverse impact ratios wherever the score might be cut: at every tenth of everyone."""

from dataclasses import dataclass
from typing import ClassVar, Self, final

from evenscore.auditing.blocks.base import (
    AuditInput,
    Block,
    BlockTable,
    in_order,
    left_out,
    register,
    told,
)
from evenscore.gaps.cuts import percent
from evenscore.gaps.words import Words
from evenscore.inference import estimate
from evenscore.inference.cuts import RatioTable, ratio_table

_ROWS = 45  # of the table of groups: more cannot be read


@register
@final
@dataclass(frozen=True, eq=False)
class ImpactRatios(Block):
    """Selection rates and their ratios at the cuts that select a tenth, two tenths, … of everyone.

    `shares` are the tenths that each of the `cuts` serves, and `missing` those that no cut does.
    `order` are positions of the groups as the table lists them, and `reference` is the group whose
    rate the others are compared with, if one was asked for. There are no `ratios` of one group, or
    if there is no cut.
    """

    cuts: tuple[str, ...]
    shares: tuple[tuple[float, ...], ...]
    missing: tuple[float, ...]
    ratios: RatioTable | None
    order: tuple[int, ...]
    reference: str
    words: Words
    omitted: tuple[str, ...] = ()

    name: ClassVar[str] = "impact_ratios"
    title: ClassVar[str] = "Adverse impact ratio at every decile cut"
    meaning: ClassVar[str] = (
        "How often each group would be selected relative to another, if a tenth, two tenths, … of "
        "everyone were. It does not say whether those selected deserved it, nor why rates differ."
    )
    for_each_column: ClassVar[bool] = True
    needs_outcomes: ClassVar[bool] = False

    @classmethod
    def compute(cls, audit: AuditInput) -> Self:
        """Ratios to the highest rate of the groups compared, or to that of the reference group."""
        deciles, groups, words = audit.deciles, audit.groups, audit.settings.words
        ratios: RatioTable | None = None
        omitted: tuple[str, ...] = ()
        if len(groups.compared) > 1 and len(deciles.steps):
            ratios = ratio_table(
                deciles.table,
                deciles.highest_below,
                confidence_level=audit.settings.confidence_level,
                burden=words.selected_is == "bad",
                compared=groups.compared,
                reference=groups.reference,
                side=audit.cuts.selected,
                inclusive=audit.cuts.selected == "low",
            )
        elif len(groups.compared) > 1:
            omitted = ("There are no impact ratios at decile cuts: all scores are equal.",)
        reference = "" if groups.reference is None else groups.names[groups.reference]
        return cls(
            deciles.texts,
            deciles.shares,
            deciles.missing,
            ratios,
            in_order(groups),
            reference,
            words,
            omitted,
        )

    def tables(self) -> tuple[BlockTable, ...]:
        """The extreme rates at each cut, and the rates of all groups."""
        found = self.ratios
        if found is None:
            return ()
        level, words = estimate.percent(found.confidence_level), self.words
        asked = [", ".join(map(percent, shares)) for shares in self.shares]
        share = [f"{part:.1%}" for part in found.selected_share]
        extremes = found.extremes
        rows = tuple(
            (
                asked[t],
                self.cuts[t],
                share[t],
                extremes.lowest[t],
                extremes.highest[t],
                told(extremes.value[t], extremes.low[t], extremes.high[t], ".2f"),
            )
            for t in range(len(self.cuts))
        )
        note = (
            "Each cut is the loosest that selects at most the share in the first column of all "
            f"{words.people}. The ratio is the lowest share {words.selected} of the groups that "
            "are compared over the highest; its interval holds for all pairs of these groups at "
            f"once, at one cut. {found.remark}"
        )
        if self.missing:
            shares = ", ".join(map(percent, self.missing))
            note += f" No cut selects as few as {shares}: too many share the score at that end."
        columns = ("selecting up to", "cut", "of everyone", "lowest", "highest", f"ratio ({level})")
        first = BlockTable(self.title, columns, rows, note, names=5)

        shown = self.order[: max(2, _ROWS // len(self.cuts))]
        by_group = []
        for t in range(len(self.cuts)):
            for k in shown:
                head = (self.cuts[t], share[t]) if k == shown[0] else ("", "")
                ratio = told(*found.ratio.ends(t, k), ".2f")
                if found.groups[k] == found.against[t]:
                    ratio = "1 (the reference)" if self.reference else "1 (the highest)"
                rate = told(*found.selection_rate.ends(t, k), ".1%")
                by_group.append((*head, found.groups[k], rate, ratio))
        against, holds = "the highest rate", "hold for all pairs of compared groups at once"
        if self.reference:
            against, holds = self.reference, "hold one by one"
        note = (
            f"A ratio is the share {words.selected} of a group over that of "
            f"{self.reference or 'the group that is selected most often of those compared'}; "
            f"intervals of ratios {holds}, those of rates one by one."
        )
        note += left_out(found.groups, len(shown))
        headings = (
            "cut", "of everyone", "group", f"{words.selected} ({level})",
            f"ratio to {against} ({level})",
        )  # fmt: skip
        title = "Selection rates and ratios by group at every decile cut"
        return first, BlockTable(title, headings, tuple(by_group), note, names=3)
