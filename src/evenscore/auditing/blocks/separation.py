"""How well the score sets positives apart from negatives within each group: KS and Gini."""

from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np

from evenscore.auditing.blocks.base import (
    AuditInput,
    Block,
    BlockTable,
    in_order,
    left_out,
    reasons,
    register,
    told,
)
from evenscore.gaps.words import Words
from evenscore.inference.estimate import Estimate, Estimates, percent
from evenscore.inference.separation import ks_distances
from evenscore.scores.arrays import Floats

_ROWS = 16


@register
@final
@dataclass(frozen=True, eq=False)
class Separation(Block):
    """KS and Gini of everyone (the first of `groups`) and within each group.

    `at` is the score up to which the shares of positives and negatives differ most.
    """

    groups: tuple[str, ...]
    ks: Estimates
    at: Floats
    gini: Estimates
    confidence_level: float
    words: Words

    name: ClassVar[str] = "separation"
    title: ClassVar[str] = "KS and Gini by group"
    meaning: ClassVar[str] = (
        "How well the score sets positives apart from negatives within each group. A score can do "
        "that equally well in all groups and still select one of them far more often."
    )
    for_each_column: ClassVar[bool] = True

    @classmethod
    def compute(cls, audit: AuditInput) -> Self:
        """Gini from the AUCs and their intervals, KS from the distributions."""
        scores, settings = audit.scores, audit.settings
        level, k = settings.confidence_level, scores.n_groups
        found = ks_distances(scores, confidence_level=level, random_state=settings.random_state)
        overall, matrix = audit.aucs
        ginis = _ginis([overall, *(matrix[g][k + g] for g in range(k))])
        order = [0, *(g + 1 for g in in_order(audit.groups))]
        names = ("everyone", *scores.names)
        return cls(
            tuple(names[g] for g in order),
            found.distance.take(order),
            found.at[order],
            ginis.take(order),
            level,
            settings.words,
        )

    def tables(self) -> tuple[BlockTable, ...]:
        """One row for everyone and one for each group."""
        level, words = percent(self.confidence_level), self.words
        shown = range(min(len(self.groups), _ROWS))
        rows = tuple(
            (
                self.groups[k],
                told(*self.ks.ends(k), ".3f"),
                told(float(self.at[k]), 0.0, 0.0, ".4g").split(" (")[0],
                told(*self.gini.ends(k), ".3f"),
            )
            for k in shown
        )
        note = (
            f"KS is the largest distance between the distribution functions of {words.positives} "
            f"and {words.negatives}, reached at the score in the next column (a point estimate, "
            "without an interval); Gini is 2 AUC − 1, with the interval of the AUC. The interval "
            "of KS is conservative: its upper end is too high rather than too low."
        )
        note += left_out(self.groups[1:], len(shown) - 1)
        note += reasons(
            (self.groups[k], reason)
            for k in shown
            for reason in dict.fromkeys((self.ks.reason[k], self.gini.reason[k]))
        )
        columns = ("group", f"KS ({level})", "at score", f"Gini ({level})")
        return (BlockTable(self.title, columns, rows, note),)


def _ginis(aucs: list[Estimate]) -> Estimates:
    value, low, high = np.array([(auc.value, auc.low, auc.high) for auc in aucs]).T
    known = [auc.has_interval for auc in aucs]
    reason = ["" if known[k] else "; ".join(auc.warnings) for k, auc in enumerate(aucs)]
    return Estimates(2.0 * value - 1.0, 2.0 * low - 1.0, 2.0 * high - 1.0, tuple(reason))
