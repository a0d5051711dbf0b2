"""Gaps in rows beside the tolerance, on a common scale: by notion, and before and after."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from evenscore.auditing import AuditResult, ComparisonResult
from evenscore.inference.estimate import Estimate
from evenscore.showing.report.colours import Palette
from evenscore.showing.report.pictures import before_after_pictures
from evenscore.showing.report.selection import worst_gap_pairs

MOST_GAPS = 6  # of a notion; the JSON file and the data frame have all
MOST_DIFFERENCES = 60  # in the table of before and after


class Bar(NamedTuple):
    """Where the interval and the value of one row lie."""

    low: float
    high: float
    value: float


@dataclass(frozen=True)
class Ruler:
    """The common scale of a table's rows, from −reach to reach."""

    reach: float
    tolerance: float
    width: float = 180.0

    def at(self, value: float) -> float:
        """Where a value lies, kept within the picture.

        >>> Ruler(1.0, 0.05).at(0.0)
        90.0
        """
        kept = min(max(value, -self.reach), self.reach)
        return round(self.width * (0.5 + 0.48 * kept / self.reach), 1)

    def bar(self, estimate: Estimate) -> Bar | None:
        """The bar of an estimate; None without a value."""
        if math.isnan(estimate.value):
            return None
        ends = (estimate.value if math.isnan(end) else end for end in (estimate.low, estimate.high))
        return Bar(*map(self.at, (*ends, estimate.value)))


def ruler_for(estimates: Iterable[Estimate], tolerance: float) -> Ruler:
    """A scale on which all estimates and the tolerance can be seen."""
    ends = [abs(x) for e in estimates for x in (e.value, e.low, e.high)]
    return Ruler(max([1.6 * tolerance, *(x for x in ends if math.isfinite(x))]), tolerance)


def gap_tables(result: AuditResult) -> list[dict[str, Any]]:
    """One table for each heading, with a block for each kind of gap, main groups first."""
    tables = []
    for heading, gaps in result.headings.items():
        ruler = ruler_for(map(_over_all, gaps), result.settings.tolerance)
        kinds: dict[str, list[Estimate]] = {}
        for gap in gaps:
            kinds.setdefault(gap.kind, []).append(gap)
        blocks = [
            {
                "name": kind,
                "sentence": result.meanings.get(kind, ""),
                "rows": [_row(result, gap, ruler) for gap in _first(result, some)[:MOST_GAPS]],
                "left_out": max(0, len(some) - MOST_GAPS),
            }
            for kind, some in kinds.items()
        ]
        tables.append({"heading": heading, "blocks": blocks, "ruler": ruler})
    return tables


def _first(result: AuditResult, gaps: list[Estimate]) -> list[Estimate]:
    """The gaps between main groups, then the others, each the largest first."""
    return sorted(gaps, key=lambda gap: (not result.is_headline(gap), _smallness(gap)))


def _smallness(gap: Estimate) -> float:
    return 1.0 if math.isnan(gap.value) else -abs(gap.value)


def _row(result: AuditResult, gap: Estimate, ruler: Ruler) -> dict[str, Any]:
    detectable = float(np.minimum(result.detectable(gap), 1.0))  # NaN stays NaN
    return {"gap": gap, "detectable": detectable, "bar": ruler.bar(_over_all(gap))}


def _over_all(gap: Estimate) -> Estimate:
    """The gap with the interval over all gaps, which is drawn."""
    low, high = gap.ends("beyond")
    return replace(gap, low=low, high=high)


def comparison_table(
    before: AuditResult, after: AuditResult, comparison: ComparisonResult, palette: Palette
) -> dict[str, Any]:
    """What the page shows of two scores of the same people; differences are after − before."""
    gaps = comparison.gaps
    sides = [side for gap in gaps for side in (gap.one, gap.other)]
    ruler = ruler_for(sides, after.settings.tolerance)
    rows: list[dict[str, Any]] = [{"found": comparison.auc, "before": None, "after": None}]
    for gap in gaps[: MOST_DIFFERENCES - 1]:
        rows.append({"found": gap, "before": ruler.bar(gap.other), "after": ruler.bar(gap.one)})
    most, pairs = comparison.most_changed, worst_gap_pairs(before, 1)
    return {
        "before": before.title or "before",
        "after": after.title or "after",
        "words": comparison.words[:2],
        "most_changed": "" if most is None else f"{most.words}.",
        "rows": rows,
        "left_out": len(gaps) + 1 - len(rows),
        "ruler": ruler,
        "pictures": before_after_pictures(before, after, pairs[0], palette) if pairs else (),
    }
