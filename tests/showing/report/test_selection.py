"""Pictures show the worst pairs, and the page says so."""

import numpy as np
from report_cases import case

from evenscore.showing.report.selection import pairs_note, shown_groups, shown_note, worst_gap_pairs


def test_all_groups_where_there_is_room():
    assert shown_groups(case(4)) == [0, 1, 2, 3]
    assert shown_note(case(4), [0, 1, 2, 3]) == ""
    assert pairs_note(case(), 1) == ""


def test_the_worst_pairs_come_first():
    result = case(4)
    largest = {}
    for curve in result.roc_gaps:
        pair = curve.first, curve.second
        largest[pair] = max(largest.get(pair, 0.0), np.abs(curve.supremum))
    found = worst_gap_pairs(result)
    assert len(found) == 3
    assert min(largest[pair] for pair in found) >= max(
        size for pair, size in largest.items() if pair not in found
    )
    shown = shown_groups(result, 2)
    assert {result.groups[k] for k in shown} == set(found[0])
    assert "Of 4 groups, the 2" in shown_note(result, shown)


def test_one_group_has_no_pairs():
    assert worst_gap_pairs(case(1)) == []
    assert shown_groups(case(1)) == [0]
