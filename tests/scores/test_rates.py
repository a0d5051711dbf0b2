"""The catalogue of rates: every entry against a confusion matrix, and its slopes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import naive_cuts
from support.making import often

from evenscore.scores.rates import CATALOGUE, RATES, Rate, rate_names

PLACES = {"tn": (0, 0), "fp": (0, 1), "fn": (1, 0), "tp": (1, 1)}

weights = st.integers(0, 50).map(float)
four = st.lists(weights, min_size=4, max_size=4)


def test_every_rate_has_its_expected_row():
    assert set(naive_cuts.EXPECTED) == set(rate_names())
    for rate in RATES:
        counted, among = (text.split() for text in naive_cuts.EXPECTED[rate.name])
        for key, (c, side) in PLACES.items():
            assert rate.counted[c][side] == (key in counted)
            assert rate.among[c][side] == (key in among)


def test_what_is_said_of_a_rate_fits_its_tables():
    for rate in RATES:
        if rate.on is not None:
            assert rate.classes == (("negatives", "positives").index(rate.on),)
        else:
            assert rate.classes == (0, 1)
        one_side = all(row[0] == 0 for row in rate.among) or all(row[1] == 0 for row in rate.among)
        assert rate.scarce == one_side
        below = not any(row[1] for row in rate.among)
        assert rate.whom == ("not selected" if below else "selected")
        assert rate.needs_outcomes == (rate.name != "selection")
        # Where one more is selected of a class, the rate moves as `selects` says, or both ways.
        moves = {row[1] - row[0] for row in rate.counted} - {0}
        assert (rate.selects in moves and len(moves) == 1) or rate.selects == 0
        # From nobody to everybody selected, in a group with few positives and one with many.
        totals = np.array([[9.0, 1.0], [1.0, 9.0]])
        ends = rate.of_shares(np.stack([np.zeros((2, 2)), np.ones((2, 2))]), totals)[0]
        spans = [[0.0, 0.0], [1.0, 1.0]]
        assert rate.spans == (ends.tolist() in (spans, spans[::-1]) and rate.selects != 0)


def people_of(tn, fp, fn, tp):
    return [(0, False, tn), (0, True, fp), (1, False, fn), (1, True, tp)]


@given(four, four)
def test_values_are_those_of_confusion_matrices(one, two):
    sums = np.array([one, two])  # tn, fp, fn, tp
    selected = np.array([sums[:, 1], sums[:, 3]])
    totals = np.array([sums[:, 0] + sums[:, 1], sums[:, 2] + sums[:, 3]])
    if totals.sum() == 0:
        return
    prevalence = totals[1].sum() / totals.sum()
    for rate in RATES:
        found = rate.values(selected, totals)
        for g, own in enumerate((one, two)):
            expected = naive_cuts.rate(rate.name, people_of(*own), prevalence)
            if rate.standardised and min(totals[:, g]) == 0:
                continue  # a rate of both classes, one of which is empty
            np.testing.assert_allclose(found[g], expected, atol=1e-12)


def test_a_standardised_rate_of_an_empty_class_is_not_made_up():
    selected, totals = np.array([[3.0, 2.0], [0.0, 4.0]]), np.array([[9.0, 9.0], [0.0, 9.0]])
    value = CATALOGUE["standardised_precision"].values(selected, totals)
    weights = CATALOGUE["standardised_precision"].cell_weights(totals)
    np.testing.assert_allclose(weights, [[18 / 27, 18 / 27], [0.0, 9 / 27]])
    assert np.isnan(value[0])
    assert not np.isnan(value[1])


@given(st.lists(st.floats(0.05, 0.95), min_size=4, max_size=4), st.integers(0, 10**6))
def test_slopes_are_finite_differences(shares, seed):
    totals = np.random.default_rng(seed).uniform(1.0, 9.0, (2, 2))
    shares = np.array(shares).reshape(2, 2)
    for rate in RATES:
        value, slopes = rate.of_shares(shares, totals)
        np.testing.assert_allclose(value, rate.values(shares * totals, totals), atol=1e-12)
        for c in range(2):
            moved = np.zeros((2, 2))
            moved[c] = 1e-6
            high, low = (rate.of_shares(shares + s * moved, totals)[0] for s in (1, -1))
            np.testing.assert_allclose(slopes[c], (high - low) / 2e-6, atol=1e-6)


@settings(max_examples=often(10))
@given(st.lists(st.floats(0.1, 0.9), min_size=4, max_size=4), st.integers(0, 10**6))
def test_influence_is_what_one_more_person_adds(shares, seed):
    totals = np.random.default_rng(seed).uniform(1.0, 9.0, (2, 2))
    shares = np.array(shares).reshape(2, 2)
    selected = shares * totals
    for rate in RATES:
        unit = rate.influence(shares, totals)
        for c in range(2):
            for side in range(2):
                change = []
                for sign in (1.0, -1.0):
                    more = np.zeros((2, 2))
                    more[c] = sign * 1e-6
                    new = selected + side * more, totals + more
                    if rate.standardised:  # the shares of the classes are given, not estimated
                        new_shares = new[0] / new[1]
                        change.append(rate.of_shares(new_shares, totals)[0])
                    else:
                        change.append(rate.values(*new))
                expected = (change[0] - change[1]) / 2e-6
                np.testing.assert_allclose(unit[c, side], expected, atol=1e-6)


def test_tables_that_are_no_rate_are_refused():
    for counted, among, said in (
        (((0, 2), (0, 1)), ((1, 1), (1, 1)), "zeros and ones"),
        (((0, 0.5), (0, 1)), ((1, 1), (1, 1)), "zeros and ones"),
        ((0, 1), ((1, 1), (1, 1)), "zeros and ones"),
        (((0, 1), (0, 1)), ((0, 0), (1, 1)), "not among"),
    ):
        with pytest.raises(ValueError, match=f"'odd'.*{said}"):
            Rate("odd", "odd rate", counted, among)
