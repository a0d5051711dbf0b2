"""Which groups and pairs of groups the pictures show, when there are too many for all of them."""

import math

from evenscore.auditing import AuditResult

MOST_PAIRS = 3  # pairs of groups that have pictures of their own
MOST_GROUPS = 6  # groups in a picture


def worst_gap_pairs(result: AuditResult, most: int = MOST_PAIRS) -> list[tuple[str, str]]:
    """The pairs with the largest ROC gaps, in either class, at most `most`: of main groups.

    If only few groups are compared, of all.
    """
    largest: dict[tuple[str, str], float] = {}
    main = [curve for curve in result.roc_gaps if result.is_headline(curve)]
    for curve in result.roc_gaps if _few(result) else main or result.roc_gaps:
        size = -1.0 if math.isnan(curve.supremum) else abs(curve.supremum)
        pair = curve.first, curve.second
        largest[pair] = max(size, largest.get(pair, -1.0))
    return sorted(largest, key=lambda pair: -largest[pair])[:most]


def _few(result: AuditResult) -> bool:
    """Whether there is room for every pair of groups."""
    return result.n_pairs <= MOST_PAIRS


def shown_groups(result: AuditResult, most: int = MOST_GROUPS) -> list[int]:
    """Positions of the groups that a picture shows: the main ones, or all if they are few."""
    names = result.compared_groups if _few(result) else result.main_groups
    if len(names) > most:  # those in the pairs with the largest gaps at the cuts in use
        gaps = [gap for gap in result.cut_gaps if not math.isnan(gap.value)]
        gaps.sort(key=lambda gap: -abs(gap.value))
        pairs = [(gap.first, gap.second) for gap in gaps]
        named = dict.fromkeys(name for pair in pairs for name in pair if name in names)
        names = (*named, *(name for name in names if name not in named))[:most]
    return sorted(result.groups.index(name) for name in names)


def tabled_groups(result: AuditResult, most: int = MOST_GROUPS) -> list[int]:
    """Positions of the groups that have a column in a table: the largest that are compared."""
    positions = [result.groups.index(name) for name in result.compared_groups]
    positions.sort(key=lambda k: -result.sample.group_share[k])
    return sorted(positions[:most])


def shown_note(result: AuditResult, shown: list[int]) -> str:
    """Says which groups are not shown; nothing if all are."""
    if len(shown) == len(result.groups):
        return ""
    share = result.sample.group_share[shown].sum()
    names = tuple(result.groups[k] for k in shown)
    told = f"{len(shown)}"
    if names == result.main_groups:
        told = f"the {len(shown)} main ones"
    elif names == result.compared_groups:
        told = f"the {len(shown)} that are compared"
    return f"Of {len(result.groups)} groups, {told} are shown, with {share:.1%} of the people"


def pairs_note(result: AuditResult, shown: int) -> str:
    """Says which pairs have no pictures; nothing if all have."""
    if shown >= result.n_pairs:
        return ""
    told, are = (f"the {shown} pairs", "are") if shown > 1 else ("the pair", "is")
    main = {(c.first, c.second) for c in result.roc_gaps if result.is_headline(c)}
    largest = " with the largest ROC gaps" if len(main) > shown else ""
    return f"Of {result.n_pairs:,} pairs of groups, {told} of main groups{largest} {are} drawn."
