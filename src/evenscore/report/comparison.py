"""Before and after: two scores of the same people, side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evenscore.report.colours import Palette
from evenscore.report.interval_bars import Bar, Ruler, ruler_for
from evenscore.report.pictures import Picture, before_after_pictures
from evenscore.report.selection import worst_gap_pairs
from evenscore.results import AuditResult, ComparisonResult
from evenscore.results.comparison import Difference

__all__ = ["ComparisonRow", "ComparisonSection", "comparison_section"]

MOST_ROWS = 60  # differences in the table


@dataclass(frozen=True)
class ComparisonRow:
    """An AUC or gap before and after."""

    found: Difference
    before: Bar | None
    after: Bar | None


@dataclass(frozen=True)
class ComparisonSection:
    """What the section shows; `one` of a row's difference is after, `other` before."""

    before: str
    after: str
    words: tuple[str, ...]
    most_changed: str
    rows: tuple[ComparisonRow, ...]
    left_out: int
    ruler: Ruler
    pictures: tuple[Picture, ...]


def comparison_section(
    before: AuditResult, after: AuditResult, comparison: ComparisonResult
) -> Callable[[Palette], ComparisonSection]:
    """What makes the section, once the page's colours are known."""
    sides = before.auc, comparison.auc.other, after.auc, comparison.auc.one
    if sides[0].value != sides[1].value or sides[2].value != sides[3].value:
        raise ValueError(
            "The comparison is not of these two audits in this order: it must be "
            "after.compare(before)."
        )

    def make(palette: Palette) -> ComparisonSection:
        gaps = comparison.gaps
        ruler = ruler_for(
            [side for gap in gaps for side in (gap.one, gap.other)], after.settings.tolerance
        )
        rows = [ComparisonRow(comparison.auc, None, None)]
        rows += [
            ComparisonRow(gap, ruler.bar(gap.other), ruler.bar(gap.one))
            for gap in gaps[: MOST_ROWS - 1]
        ]
        pairs = worst_gap_pairs(before, 1)
        return ComparisonSection(
            before.title or "before",
            after.title or "after",
            comparison.words[:2],
            "" if comparison.most_changed is None else f"{comparison.most_changed.words}.",
            tuple(rows),
            len(gaps) + 1 - len(rows),
            ruler,
            before_after_pictures(before, after, pairs[0], palette) if pairs else (),
        )

    return make
