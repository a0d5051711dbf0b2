"""Two scores of the same people as a plain table."""

import math

from evenscore.auditing import ComparisonResult
from evenscore.auditing.blocks import BlockTable
from evenscore.inference.estimate import percent
from evenscore.showing.numbers import interval, plain, reasons, signed

CHANGES = {"not told apart": "cannot tell"}
"""How a change is said to people, where not as it is stored."""


def comparison_block(result: ComparisonResult) -> BlockTable:
    """AUC and gaps of both, and whether a gap became smaller."""
    level = percent(result.confidence_level)
    one, other = result.title or "this score", result.other_title or "the other"
    pair = f", {result.groups[0]} and {result.groups[1]}" if len(result.groups) == 2 else ""
    titles = {} if result.audits is None else result.audits[0].titles
    rows = []
    for row in result.differences:
        said = plain if row.title == "AUC" else signed
        low, high = (math.nan,) * 2 if row.test is None else (row.test.low, row.test.high)
        title = titles.get(row.one.kind, "")
        whom = "" if pair else f", {row.one.first} and {row.one.second}"
        rows.append(
            (
                f"{title} ({row.one.name}){whom}" if title else row.title.removesuffix(pair),
                CHANGES.get(row.change, row.change),
                said(row.one.value),
                said(row.other.value),
                interval(low, high, "signed"),
            )
        )
    columns = ("", "in size", one, other, f"difference in size,\n{level} over all")
    note = " ".join(reasons(row.difference for row in result.differences))
    return BlockTable(f"The same {result.n:,} people{pair}", columns, tuple(rows), note, names=2)
