"""The tables of gaps: by notion and pair of groups, the largest first."""

from __future__ import annotations

import math
from dataclasses import dataclass

from evenscore.catalogue import CATALOGUE
from evenscore.inference.estimate import Estimate
from evenscore.report.interval_bars import Bar, Ruler, ruler_for
from evenscore.report.words import notion_sentence, roc_gap_sentence
from evenscore.results import AuditResult

__all__ = ["GapBlock", "GapRow", "GapTable", "auc_gap_table", "roc_gap_table"]

MOST_ROWS = 6  # of a notion; the JSON file and the data frame have all


@dataclass(frozen=True)
class GapRow:
    """One gap of a pair of groups."""

    gap: Estimate
    verdict: str
    detectable: float
    bar: Bar | None


@dataclass(frozen=True)
class GapBlock:
    """The rows of one notion."""

    name: str
    sentence: str
    rows: tuple[GapRow, ...]
    left_out: int


@dataclass(frozen=True)
class GapTable:
    """Blocks on a common scale."""

    blocks: tuple[GapBlock, ...]
    ruler: Ruler


def auc_gap_table(result: AuditResult) -> GapTable:
    """The named AUC gaps."""
    ruler = ruler_for(result.gaps, result.settings.tolerance)
    blocks = [
        _block(
            result,
            name,
            notion_sentence(notion),
            [gap for gap in result.gaps if gap.name == name],
            ruler,
        )
        for name, notion in CATALOGUE.items()
    ]
    return GapTable(tuple(block for block in blocks if block.rows), ruler)


def roc_gap_table(result: AuditResult) -> GapTable:
    """The ROC gaps at the rates asked for."""
    gaps = result.roc_gaps_at_rates
    ruler = ruler_for(gaps, result.settings.tolerance)
    kinds = dict.fromkeys((gap.on, gap.rate) for gap in gaps)
    return GapTable(
        tuple(
            _block(
                result,
                f"{on}, rate {rate:.4g}",
                roc_gap_sentence(on or "", rate or 0.0),
                [gap for gap in gaps if (gap.on, gap.rate) == (on, rate)],
                ruler,
            )
            for on, rate in kinds
        ),
        ruler,
    )


def _block(
    result: AuditResult, name: str, sentence: str, gaps: list[Estimate], ruler: Ruler
) -> GapBlock:
    smallest = {found.key: found.value for found in result.detectable}
    gaps = sorted(gaps, key=lambda gap: 1.0 if math.isnan(gap.value) else -abs(gap.value))
    rows = tuple(
        GapRow(gap, result.verdict(gap), smallest.get(gap.key, math.nan), ruler.bar(gap))
        for gap in gaps[:MOST_ROWS]
    )
    return GapBlock(name, sentence, rows, len(gaps) - len(rows))
