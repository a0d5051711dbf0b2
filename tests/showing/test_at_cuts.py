"""What a picture of the cuts in use shows: which cuts, which gap, and the words on the axes."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.making import draw

from evenscore import Cuts, GroupedScores, Words, audit
from evenscore.scores.thresholds import rates_at
from evenscore.showing.at_cuts import (
    axis_texts,
    cut_names,
    largest_gap,
    missing_cuts_note,
    shown_groups_note,
    single_cuts,
)

WORDS = Words(people="applicants", positives="people who repaid", selected="granted a loan")


@pytest.mark.parametrize(
    "cuts",
    [
        Cuts(at=(0.1, 0.3)),
        Cuts(at=(0.1, 0.3), selected="low"),
        Cuts(thresholds=(0.5, 1.0), inclusive=True),
        Cuts(thresholds=(0.5, 1.0), selected="low"),
    ],
    ids=str,
)
@pytest.mark.parametrize("levels", [None, 10])
def test_single_cuts_are_where_the_curves_have_the_rates_of_these_cuts(cuts, levels):
    y, score, group, _ = draw(4, n=300, levels=levels)
    result = audit(y, score, sensitive_features=group, cuts=cuts)
    kept = single_cuts(result)
    assert list(kept) == [0, 1]
    curves, asked = result.cut_curves, result.thresholds
    [fnr] = [curve for curve in curves.rates if curve.rate == "fnr"]
    for number, place in kept.items():
        assert curves.selected_share[place] == pytest.approx(asked.selected_share[number])
        np.testing.assert_allclose(fnr.shares.value[place], asked.fnr.value[number])
        if cuts.selected == "high" and not cuts.inclusive:
            scores = GroupedScores.from_arrays(y, score, sensitive_features=group)
            exact = rates_at(scores, asked.thresholds[number]).rate("fnr")[0]
            np.testing.assert_allclose(fnr.shares.value[place], exact)


def test_a_cut_that_selects_nobody_is_none_and_is_named():
    y, score, group, _ = draw(4, n=300, levels=None)
    cuts = Cuts(thresholds=(0.5, 99.0, 100.0))
    result = audit(y, score, sensitive_features=group, cuts=cuts)
    kept = single_cuts(result)
    assert list(kept) == [0]
    assert cut_names(cuts) == ["0.5", "99", "100"]
    assert missing_cuts_note(cuts, kept).startswith("99 and 100 select ")
    assert missing_cuts_note(cuts, {0: 1, 1: 2}).startswith("100 selects ")
    assert missing_cuts_note(cuts, {0: 1, 1: 2, 2: 3}) == ""
    assert missing_cuts_note(Cuts(between=(0.1, 0.2)), {}) == ""
    assert cut_names(Cuts(at=(0.05, 0.125))) == ["5%", "12.5%"]


def test_the_axes_are_in_the_user_s_words():
    x, y = axis_texts("fnr", Cuts(between=(0.1, 0.2)), WORDS)
    assert "applicants granted a loan" in x
    assert "people who repaid" in y
    for cuts, told in (
        (Cuts(thresholds=(1.0,)), "cut: granted a loan if above"),
        (Cuts(thresholds=(1.0,), inclusive=True), "cut: granted a loan if above or equal"),
        (Cuts(thresholds=(1.0,), selected="low"), "cut: granted a loan if below"),
    ):
        assert axis_texts("fpr", cuts, WORDS)[0] == told


def test_the_largest_gap_is_found_among_those_with_a_value():
    y, score, group, _ = draw(4, n=300, n_groups=3, levels=None)
    result = audit(y, score, sensitive_features=group)
    gaps = [gap for gap in result.cut_gaps if gap.name == "fnr_gap"]
    worst = max(gaps, key=lambda gap: abs(gap.value))
    found = largest_gap(gaps, {worst.first: "short"})
    assert (found.share, found.first, found.second) == (
        worst.selected_share,
        "short",
        worst.second,
    )
    size = 100 * abs(worst.first_value - worst.second_value)
    assert size == pytest.approx(100 * abs(worst.value))
    assert found.label.startswith(f"largest gap, {size:.1f} points: short {worst.first_value:.1%},")
    nothing = [replace(gap, value=math.nan) for gap in gaps]
    assert largest_gap(nothing, {}) is None
    assert largest_gap([*nothing, worst], {}).first == worst.first


def test_the_note_on_groups_left_out():
    assert shown_groups_note(3, 3, "the largest") == ""
    assert shown_groups_note(3, 5, "the largest").startswith("3 of 5 groups")
