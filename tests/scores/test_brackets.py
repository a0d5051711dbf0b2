"""What a table of bins says is within its brackets of what the rows say."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.binning import binned_rows, drawn_rows

from evenscore.scores import CLASSES
from evenscore.scores.aucs import auc_matrix, inter_group_curve, overall_auc
from evenscore.scores.bins import Bins
from evenscore.scores.brackets import (
    auc_bracket,
    auc_brackets,
    curve_bracket,
    has_open_bins,
    open_levels,
    overall_auc_bracket,
    rates_between,
    selected_between,
)
from evenscore.scores.rates import RATES
from evenscore.scores.selection import Ladder
from evenscore.scores.thresholds import rates_at

SLACK = 1e-12


def within(exact, binned, bracket):
    """Whether a number is as near as its bracket says, where both tables have it."""
    apart = np.abs(np.asarray(exact) - np.asarray(binned))
    return bool(np.all(np.isnan(apart) | (apart <= np.asarray(bracket) + SLACK)))


@given(binned_rows())
def test_every_auc_is_within_its_bracket(rows):
    exact, binned = rows.exact, rows.binned
    assert within(auc_matrix(exact).values, auc_matrix(binned).values, auc_brackets(binned))
    assert within(overall_auc(exact), overall_auc(binned), overall_auc_bracket(binned))
    assert auc_bracket(binned) == auc_brackets(binned).max()
    assert not auc_brackets(exact).any()
    assert overall_auc_bracket(exact) == auc_bracket(exact) == 0.0


def test_the_bracket_of_an_auc_is_reached():
    """With all negatives below all positives of one bin, and the other way round."""
    rows = drawn_rows(n=200)
    for sign, auc in ((1.0, 1.0), (-1.0, 0.0)):
        score = sign * rows.positive + 0.01 * np.tanh(rows.score)
        moved = replace(rows, score=score, bins=Bins.between(-9.0, 9.0, (0,)))
        assert has_open_bins(moved.binned)
        assert overall_auc(moved.exact) == auc
        assert overall_auc(moved.binned) == 0.5
        assert overall_auc_bracket(moved.binned) == pytest.approx(0.5)


@given(binned_rows(), st.sampled_from([False, True]), st.sampled_from([False, True]))
def test_rates_by_group_at_any_threshold_are_within_their_least_and_most(rows, low, inclusive):
    exact, binned = rows.exact, rows.binned
    if low:
        exact, binned = exact.mirrored, binned.mirrored
    spread = exact.score[:: max(1, len(exact) // 7)]
    cuts = np.concatenate([spread, spread[1:] / 2 + spread[:-1] / 2, [-100.0, 100.0]])
    cuts = np.nextafter(cuts, -np.inf) if inclusive else cuts
    truth = rates_at(exact, cuts)
    least, most = selected_between(binned, cuts)
    assert np.all(least <= truth.selected + SLACK * 100)
    assert np.all(truth.selected <= most + SLACK * 100)
    for rate in RATES:
        low_end, high_end = rates_between(rate, least, most, truth.totals)
        value = truth.rate(rate.name)
        assert np.all(np.isnan(value) | ((low_end <= value + 1e-9) & (value <= high_end + 1e-9)))


@given(binned_rows(), st.floats(0.0, 1.0))
def test_roc_curves_are_within_their_bracket(rows, rate):
    exact, binned = rows.exact, rows.binned
    for on in CLASSES:
        curves = [inter_group_curve(table, on).with_ties_split() for table in (exact, binned)]
        if not all(len(curve.reference) and len(curve.target) for curve in curves):
            continue
        heights = [float(curve.evaluate(rate)) for curve in curves]
        bracket = curve_bracket(binned, curves[1].reference, curves[1].target, rate)
        assert within(*heights, bracket)


@given(binned_rows(), st.sampled_from(["high", "low"]), st.booleans())
def test_thresholds_of_a_ladder_are_at_ends_of_bins(rows, side, inclusive):
    exact, binned = (Ladder.make(table, "everyone", side) for table in (rows.exact, rows.binned))
    for step in range(binned.n_steps + 1):
        cut = binned.threshold(step, inclusive=inclusive)
        fine = exact.step_at(cut, inclusive=inclusive)
        assert exact.share[fine] == pytest.approx(binned.share[step], abs=1e-9)
        assert binned.step_at(cut, inclusive=inclusive) == step
        assert binned.level_at(cut, inclusive=inclusive) is None


@given(binned_rows(), st.sampled_from(["high", "low"]), st.booleans())
def test_a_threshold_lies_in_the_level_that_it_parts(rows, side, inclusive):
    exact, binned = (Ladder.make(table, "everyone", side) for table in (rows.exact, rows.binned))
    for cut in rows.score[:5]:
        level = binned.level_at(cut, inclusive=inclusive)
        share = exact.share[exact.step_at(cut, inclusive=inclusive)]
        step = binned.step_at(cut, inclusive=inclusive)
        if level is None:
            assert share == pytest.approx(binned.share[step], abs=1e-9)
        else:
            assert step in (level, level + 1)
            assert binned.share[level] - 1e-9 <= share <= binned.share[level + 1] + 1e-9
            assert level in open_levels(binned, 0, binned.n_steps)
