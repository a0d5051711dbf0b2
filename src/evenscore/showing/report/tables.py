"""Gaps in rows beside the tolerance, on a common scale: by notion, and before and after."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from evenscore.auditing import AuditResult, ComparisonResult
from evenscore.auditing.comparison import Difference
from evenscore.gaps.rates import rate_heading
from evenscore.inference.estimate import Estimate, percent
from evenscore.showing.report.pictures import cut_charts, gap_chart, gap_reach
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


def gap_tables(result: AuditResult, *, at_cuts: bool) -> list[dict[str, Any]]:
    """One table for each heading, with a block for each kind of gap, main groups first.

    Those about the cuts in use, or the others.
    """
    tables = []
    for heading, gaps in result.headed_gaps(at_cuts=at_cuts).items():
        ruler = ruler_for(map(_over_all, gaps), result.settings.tolerance)
        kinds: dict[str, list[Estimate]] = {}
        for gap in gaps:
            kinds.setdefault(gap.kind, []).append(gap)
        blocks = [
            {
                "name": some[0].name,
                "title": result.titles.get(kind) or kind,
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
    before: AuditResult, after: AuditResult, comparison: ComparisonResult
) -> dict[str, Any]:
    """What the page shows of two scores of the same people; differences are after − before."""
    gaps = comparison.gaps
    sides = [side for gap in gaps for side in (gap.one, gap.other)]
    ruler = ruler_for(sides, after.settings.tolerance)
    rows: list[dict[str, Any]] = [
        {"found": comparison.auc, "title": "AUC", "code": "", "before": None, "after": None}
    ]
    for gap in gaps[: MOST_DIFFERENCES - 1]:
        whom = f", {gap.one.first} and {gap.one.second}" if after.n_pairs > 1 else ""
        rows.append(
            {
                "found": gap,
                "title": f"{after.titles.get(gap.one.kind) or gap.one.kind}{whom}",
                "code": gap.one.name,
                "before": ruler.bar(gap.other),
                "after": ruler.bar(gap.one),
            }
        )
    pairs = worst_gap_pairs(before, 1)
    names = before.title or "before", after.title or "after"
    charts = []
    if pairs:
        reach = gap_reach([before, after], pairs[0])
        charts = [
            gap_chart(
                when, side, pairs[0], f"{name}: ROC gap of {pairs[0][0]} and {pairs[0][1]}", reach
            )
            for when, side, name in zip(("before", "after"), (before, after), names, strict=True)
        ]
    return {
        "before": names[0],
        "after": names[1],
        "at_cuts": _changes_at_cuts(after, comparison, names),
        "cut_charts": cut_charts((before, after), names),
        "words": comparison.words[:2],
        "rows": rows,
        "left_out": len(gaps) + 1 - len(rows),
        "ruler": ruler,
        "charts": charts,
    }


def _changes_at_cuts(
    after: AuditResult, comparison: ComparisonResult, names: tuple[str, str]
) -> list[tuple[str, str]]:
    """What changed at the cuts in use, a sentence for each rate: of the pair furthest apart before.

    Several cuts have a sentence each.
    """
    in_use = {gap.key for gap in after.cut_gaps}
    by_kind: dict[str, list[Difference]] = {}
    for gap in comparison.gaps:
        known = not (math.isnan(gap.one.value) or math.isnan(gap.other.value))
        if known and gap.difference.key in in_use:
            by_kind.setdefault(gap.difference.kind, []).append(gap)
    said = {
        "smaller gap": ("Smaller", "It is smaller with {level} confidence"),
        "larger gap": ("Larger", "It is larger with {level} confidence"),
        "not told apart": (
            "Cannot tell",
            "Chance could explain that, so which is smaller is not shown with {level} confidence",
        ),
    }
    texts = dict(zip(after.cuts.texts(), after.cuts.texts(after.settings.words), strict=True))
    level = percent(comparison.confidence_level)
    sentences = []
    for gaps in by_kind.values():
        headlines = [gap for gap in gaps if after.is_headline(gap.one)] or gaps
        gap = max(headlines, key=lambda gap: abs(gap.other.value))
        one, other = (100.0 * abs(side.value) for side in (gap.one, gap.other))
        what = "the largest difference"
        if not after.cuts.is_range:
            where = texts.get(gap.one.at, gap.one.at)
            what = f"{where}, the difference"
        mark, change = said[gap.change]
        text = (
            f"{_rate(after, gap)}: {what} between {gap.one.first} and {gap.one.second} is "
            f"{one:.1f} percentage points with “{names[1]}”, against {other:.1f} with "
            f"“{names[0]}”. "
            f"{change.format(level=level)}, allowing for everything that is compared."
        )
        sentences.append((mark, text))
    return sentences


def _rate(result: AuditResult, gap: Difference) -> str:
    return rate_heading(gap.one.name.removesuffix("_gap"), result.settings.words)
