"""By how much the mean scores of the groups differ, in standard deviations."""

from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np

from evenscore.auditing.blocks.base import (
    AuditInput,
    Block,
    BlockTable,
    reasons,
    register,
    told,
)
from evenscore.auditing.gaps import ALL_PAIRS, worst_pairs
from evenscore.gaps.words import Words
from evenscore.inference.estimate import Estimates, percent
from evenscore.inference.means import MeanDifferences
from evenscore.scores.table import OneOrBoth


@register
@final
@dataclass(frozen=True, eq=False)
class StandardisedDifferences(Block):
    """Standardised mean differences of pairs of groups, overall and within each class.

    Of many pairs those with the largest differences overall are kept. Without outcomes there are
    none within classes.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    overall: Estimates
    positives: Estimates | None
    negatives: Estimates | None
    confidence_level: float
    words: Words
    omitted: tuple[str, ...] = ()

    name: ClassVar[str] = "mean_differences"
    title: ClassVar[str] = "Standardised differences of mean scores"
    meaning: ClassVar[str] = (
        "How far apart the mean scores of two groups are, in standard deviations. It is about "
        "means alone: groups with equal means can still differ at every cut."
    )
    for_each_column: ClassVar[bool] = True
    needs_outcomes: ClassVar[bool] = False

    @classmethod
    def compute(cls, audit: AuditInput) -> Self:
        """Those of the pairs that are compared."""
        level, words = audit.settings.confidence_level, audit.settings.words
        classes: tuple[OneOrBoth, ...] = ("both", "positives", "negatives")
        if not audit.outcomes_known:
            classes = ("both",)
        names: list[tuple[str, str]] = []
        main: list[bool] = []
        found: list[list[Estimates]] = []
        for table in audit.compared if audit.groups.n_pairs else ():
            means = MeanDifferences(table.table)
            names += [(table.table.names[i], table.table.names[j]) for i, j in table.pairs]
            main += [pair in table.main for pair in table.pairs]
            found.append([means.between(table.pairs, on, confidence_level=level) for on in classes])
        omitted: tuple[str, ...] = ()
        parts: list[Estimates | None] = [
            Estimates.joined(part) for part in zip(*found, strict=True)
        ]
        parts += [None] * (3 - len(parts))
        overall, positives, negatives = parts
        overall = overall or Estimates.unknown(())
        if len(names) > ALL_PAIRS:
            kept = worst_pairs(np.abs(overall.value).tolist(), main, ALL_PAIRS)
            omitted = (
                f"Standardised mean differences are kept for the {ALL_PAIRS} pairs of groups with "
                f"the largest ones, those of main groups first, of {len(names):,}.",
            )
            names = [names[k] for k in kept]
            overall = overall.take(kept)
            positives, negatives = (part and part.take(kept) for part in (positives, negatives))
        first, second = zip(*names, strict=True) if names else ((), ())
        return cls(first, second, overall, positives, negatives, level, words, omitted)

    def tables(self) -> tuple[BlockTable, ...]:
        """One row for each pair."""
        if not self.first:
            return ()
        level, words = percent(self.confidence_level), self.words
        parts = {f"overall ({level})": self.overall}
        if self.positives is not None and self.negatives is not None:
            parts |= {
                f"within {words.positives} ({level})": self.positives,
                f"within {words.negatives} ({level})": self.negatives,
            }
        rows = tuple(
            (*pair, *(told(*part.ends(k), "+.2f") for part in parts.values()))
            for k, pair in enumerate(zip(self.first, self.second, strict=True))
        )
        note = (
            "The mean score of the first group minus that of the second, divided by the pooled "
            "standard deviation within the two groups (Cohen's d, with n − 2); above zero, the "
            "first group scores higher. Each column has its own means and standard deviation."
        )
        note += reasons(
            (f"{one} and {two}", part.reason[k])
            for part in parts.values()
            for k, (one, two) in enumerate(zip(self.first, self.second, strict=True))
        )
        return (BlockTable(self.title, ("first", "second", *parts), rows, note, names=2),)
