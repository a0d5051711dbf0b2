"""Which groups and pairs of groups the pictures show, when there are too many for all of them."""

import math

from evenscore.auditing import AuditResult

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
    pairs = worst_gap_pairs(result, len(result.roc_gaps))
    groups = list(dict.fromkeys(group for pair in pairs for group in pair))
    return sorted(result.groups.index(group) for group in groups[:most])


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
