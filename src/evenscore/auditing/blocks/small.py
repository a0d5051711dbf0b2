"""The groups that are too small to be compared: who they are, and what is known of them."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self, final

from evenscore.auditing.blocks.base import AuditInput, Block, BlockTable, register, told
from evenscore.auditing.blocks.cuts_in_use import chosen_cuts
from evenscore.inference.aucs import auc_estimates
from evenscore.inference.cuts import cut_table
from evenscore.inference.estimate import Estimate, percent
from evenscore.scores.arrays import ratio
from evenscore.scores.selection import Side


@dataclass(frozen=True, eq=False)
class SmallGroup:
    """A group that is not compared: its people, and what is known of them, with intervals.

    `share` is its share of everyone, `auc` the AUC within it, `selection_rate` (with `low` and
    `high`) the share of it above the first cut looked at; NaN where nobody is there.
    """

    name: str
    negatives: float
    positives: float
    share: float
    auc: Estimate
    selection_rate: float
    low: float
    high: float


@register
@final
@dataclass(frozen=True, eq=False)
class SmallGroups(Block):
    """The groups with too few people in a class to be compared; `cut` is the first cut asked for.

    It is NaN if there is none, as where all scores are equal. They are people of the population all
    the same: pooled populations, the overall AUC and the cuts are of everyone.
    """

    groups: tuple[SmallGroup, ...]
    cut: float
    confidence_level: float
    least: int
    side: Side = "high"

    name: ClassVar[str] = "small_groups"
    title: ClassVar[str] = "Groups too small to be compared"
    meaning: ClassVar[str] = (
        "What is known of groups with too few people. That they have no verdict does not mean "
        "that they are treated alike."
    )
    for_each_column: ClassVar[bool] = True
    needs_outcomes: ClassVar[bool] = False

    @classmethod
    def compute(cls, audit: AuditInput) -> Self:
        """From the people of the small groups alone."""
        level, choice = audit.settings.confidence_level, audit.groups
        first = chosen_cuts(audit)[0][:1]
        cuts = audit.cuts
        groups: list[SmallGroup] = []
        if choice.small:
            scores = choice.only(audit.scores, choice.small)
            _, aucs = auc_estimates(scores, confidence_level=level)
            rate = cut_table(
                scores,
                first,
                confidence_level=level,
                side=cuts.selected,
                inclusive=cuts.inclusive,
            ).selection_rate
            total = audit.scores.cell_weights.sum()
            shares = ratio(scores.cell_weights.sum(axis=0), total)
            for k, name in enumerate(scores.names):
                auc = replace(aucs[k][scores.n_groups + k], name="AUC", first=name)
                negatives, positives = scores.cell_counts[:, k].tolist()
                value, low, high = (
                    float(p[0, k]) if len(p) else math.nan
                    for p in (rate.value, rate.low, rate.high)
                )
                share = float(shares[k])
                groups.append(SmallGroup(name, negatives, positives, share, auc, value, low, high))
        cut = float(first[0]) if len(first) else math.nan
        return cls(tuple(groups), cut, level, choice.least or 0, cuts.selected)

    def tables(self) -> tuple[BlockTable, ...]:
        """One row per small group, if there are any."""
        if not self.groups:
            return ()
        level = percent(self.confidence_level)
        where = f"{'above' if self.side == 'high' else 'below'} {self.cut:.4g}"
        if math.isnan(self.cut):
            where = "at no cut"
        columns = (
            "group", "negatives", "positives", "share of sample", f"AUC within ({level})",
            f"selected {where} ({level})",
        )  # fmt: skip
        rows = tuple(
            (
                group.name,
                f"{group.negatives:,.0f}",
                f"{group.positives:,.0f}",
                f"{group.share:.1%}",
                told(group.auc.value, group.auc.low, group.auc.high, ".3f"),
                told(group.selection_rate, group.low, group.high, ".1%"),
            )
            for group in self.groups
        )
        note = "They are not compared, and there are no gaps with them"
        if self.least:
            note = f"With fewer than {self.least} people in a class, they are not compared"
        note += "; they count in what is said of everyone."
        return (BlockTable(self.title, columns, rows, note),)
