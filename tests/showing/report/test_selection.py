"""Pictures show the worst pairs, and the page says so."""

import numpy as np
import pytest
from support.report_cases import case

from evenscore.showing.report.selection import pairs_note, shown_groups, shown_note, worst_gap_pairs


@pytest.mark.slow
def test_all_groups_where_there_is_room():
    assert shown_groups(case(3)) == [0, 1, 2]
    assert len(worst_gap_pairs(case(3))) == 3
    assert shown_note(case(3), [0, 1, 2]) == ""
    assert pairs_note(case(), 1) == ""


@pytest.mark.slow
def test_the_worst_pairs_of_main_groups_come_first():
    result = case(6, n=900)
    assert len(result.main_groups) == 5
    largest = {}
    for curve in result.roc_gaps:
        pair = curve.first, curve.second
        if not set(pair) <= set(result.main_groups):
            continue
        largest[pair] = max(largest.get(pair, 0.0), np.abs(curve.supremum))
    found = worst_gap_pairs(result)
    assert len(found) == 3
    assert min(largest[pair] for pair in found) >= max(
        size for pair, size in largest.items() if pair not in found
    )
    shown = shown_groups(result, 2)
    gaps = [gap for gap in result.cut_gaps if {gap.first, gap.second} <= set(result.main_groups)]
    worst = max(gaps, key=lambda gap: abs(gap.value))
    assert {result.groups[k] for k in shown} == {worst.first, worst.second}
    assert shown_note(result, shown).startswith("Of 6 groups, 2 are shown, with ")
    assert [result.groups[k] for k in shown_groups(result)] == list(result.main_groups)
    assert "the 5 main ones are shown" in shown_note(result, shown_groups(result))


def test_one_group_has_no_pairs():
    assert worst_gap_pairs(case(1)) == []
    assert shown_groups(case(1)) == [0]
