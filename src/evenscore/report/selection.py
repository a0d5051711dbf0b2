"""Which groups and pairs of groups the pictures show, when there are too many for all of them."""

from __future__ import annotations

import math

from evenscore.results import AuditResult

__all__ = ["pairs_note", "shown_groups", "shown_note", "worst_gap_pairs"]

MOST_PAIRS = 3  # pairs of groups that have pictures of their own
MOST_GROUPS = 6  # groups in a picture


def worst_gap_pairs(result: AuditResult, most: int = MOST_PAIRS) -> list[tuple[str, str]]:
    """The pairs of groups with the largest ROC gaps, in either class; at most `most` of them."""
    largest: dict[tuple[str, str], float] = {}
    for curve in result.roc_gaps:
        size = -1.0 if math.isnan(curve.supremum) else abs(curve.supremum)
        pair = curve.first, curve.second
        largest[pair] = max(size, largest.get(pair, -1.0))
    return sorted(largest, key=lambda pair: -largest[pair])[:most]


def shown_groups(result: AuditResult, most: int = MOST_GROUPS) -> list[int]:
    """Positions of the groups that a picture shows: all, or those of the worst pairs."""
    if len(result.groups) <= most:
        return list(range(len(result.groups)))
    place = {group: k for k, group in enumerate(result.groups)}
    found: dict[int, None] = {}
    for pair in worst_gap_pairs(result, len(result.roc_gaps)):
        for group in pair:
            if len(found) < most:
                found[place[group]] = None
    return sorted(found)


def shown_note(result: AuditResult, shown: list[int]) -> str:
    """Says which groups are not in a picture; nothing if all are."""
    n = len(result.groups)
    if len(shown) == n:
        return ""
    return (
        f"Of {n} groups, the {len(shown)} that are in the pairs with the largest ROC gaps are drawn"
    )


def pairs_note(result: AuditResult, shown: int) -> str:
    """Says which pairs have no pictures; nothing if all have."""
    n = len(result.groups)
    pairs = n * (n - 1) // 2
    if shown >= pairs:
        return ""
    told = f"the {shown} pairs of groups" if shown > 1 else "the pair of groups"
    return f"Of {pairs:,} pairs, {told} with the largest ROC gaps are drawn."
