import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.making import draw, often, table_of
from support.reference import Rows

import evenscore as es
from evenscore import GroupedScores
from evenscore.scores.thresholds import fair_thresholds, rates_at

NAMES = ("fpr", "fnr", "selection", "error")


def test_rates_at_any_threshold(sample):
    rows, scores = sample
    cuts = [-1e9, *np.quantile(rows.score, [0.1, 0.5, 0.9]), 0.3, 1e9]
    found = rates_at(scores, cuts)
    for i, cut in enumerate(cuts):
        for k, group in enumerate(scores.groups):
            expected = rows.rates(cut, group)
            for name in NAMES:
                assert found.rate(name)[i, k] == pytest.approx(expected[name], abs=1e-13)


def test_the_names_are_those_of_the_catalogue():
    scores = table_of(*draw(2, n=200, weights="real"))
    rates = rates_at(scores, [0.1, 0.4])
    for name in es.rate_names():
        np.testing.assert_array_equal(getattr(rates, name), rates.rate(name))
        assert rates.rate(name).shape == (2, 2)
        assert name in dir(rates)
    for cut, chosen in zip((0.1, 0.4), rates.standardised_precision, strict=True):
        recall, fall_out = ((1.0 - rates_at(scores, cut).fnr[0]), rates_at(scores, cut).fpr[0])
        p = scores.prevalence
        expected = p * recall / (p * recall + (1 - p) * fall_out)
        np.testing.assert_allclose(chosen, expected, rtol=1e-12)
    for name in ("tpr", "selection_rate"):
        with pytest.raises(AttributeError, match=f"There is no rate '{name}'"):
            getattr(rates, name)
        with pytest.raises(ValueError, match=f"There is no rate '{name}'"):
            rates.rate(name)
    copied = pickle.loads(pickle.dumps(rates))
    np.testing.assert_array_equal(copied.fpr, rates.fpr)


def test_columns_give_what_the_table_gives():
    y, score, group, weight = draw(5, n=150, n_groups=3, weights="real")
    named = {"sensitive_features": group, "sample_weight": weight, "group_order": [2, 0, 1]}
    scores = GroupedScores.from_arrays(y, score, **named)
    found = es.rates_at(y, score, [0.2, 0.6], **named)
    assert found.groups == scores.groups
    np.testing.assert_array_equal(found.fnr, rates_at(scores, [0.2, 0.6]).fnr)
    one = es.fair_thresholds(y, score, "error", [0, 2], tolerance=0.1, **named)
    two = fair_thresholds(scores, "error", [0, 2], tolerance=0.1)
    assert one.groups == two.groups
    np.testing.assert_array_equal([one.low, one.high], [two.low, two.high])


def test_rates_of_nobody_are_nan():
    rates = rates_at(table_of([0, 1, 0, 1], [1, 2, 2, 3], list("aabb")), [1.5, 10.0])
    np.testing.assert_array_equal(rates.precision, [[1.0, 0.5], [np.nan, np.nan]])
    rates = rates_at(table_of([0, 1, 0], [1, 2, 2], list("aab")), 1.5)
    np.testing.assert_array_equal(rates.fnr, [[0.0, np.nan]])
    assert rates.fpr.tolist() == [[0.0, 1.0]]


@settings(max_examples=often(40))
@given(
    name=st.sampled_from(NAMES),
    seed=st.integers(0, 10**6),
    levels=st.sampled_from([None, 10]),
    weights=st.sampled_from([None, "integer"]),
    tolerance=st.sampled_from([0.0, 0.05, 0.2]),
)
def test_fair_thresholds_by_trying_them_all(name, seed, levels, weights, tolerance):
    y, score, group, weight = draw(seed, n=25, levels=levels, weights=weights)
    rows, scores = Rows(y, score, group, weight), table_of(y, score, group, weight)
    fair = fair_thresholds(scores, name, tolerance=tolerance)
    values = np.unique(score)

    def gap(cut):
        return rows.rates(cut, 0)[name] - rows.rates(cut, 1)[name]

    # A cut at each score and one between each two: all classifiers that differ, and then some.
    between = (values[:-1] + values[1:]) / 2
    for cut in (*values[:-1], *between):
        assert fair.contains(cut) == (abs(gap(cut)) <= tolerance + 1e-12), cut
    for trivial in (values[0] - 1, values[-1], values[-1] + 1):
        assert not fair.contains(trivial)
    jumps = {
        float(after)
        for before, after in pairwise(values[:-1])
        if gap(before) * gap(after) < 0
        and min(abs(gap(before)), abs(gap(after))) > tolerance + 1e-12
    }
    assert set(fair.low[fair.jump].tolist()) == jumps
    assert np.all(np.diff(fair.low) >= 0)
    assert np.all(fair.high[~fair.jump] > fair.low[~fair.jump])


def test_more_than_two_groups():
    y, score, group, _ = draw(3, n=300, n_groups=3, levels=None)
    scores = table_of(y, score, group)
    fair = fair_thresholds(scores, "fpr", tolerance=0.1)
    for cut in np.linspace(-2, 3, 101):
        rates = rates_at(scores, cut).fpr[0]
        assert fair.contains(cut) == (rates.max() - rates.min() <= 0.1)
    assert not fair.jump.any()
    assert len(fair_thresholds(table_of([0, 1] * 2, [2] * 4, list("aabb")), "fpr")) == 0
    pair = fair_thresholds(scores, "fpr", (0, 2), tolerance=0.1)
    assert pair.contains(fair.low).all()


def test_bad_requests():
    scores = table_of([0, 1, 0, 1], [1, 2, 2, 3], ["a", "a", "b", "b"])
    empty = table_of([0, 1, 0], [1, 2, 2], ["a", "a", "b"])
    for table, name, groups, tolerance, named in (
        (scores, "accuracy", None, 0.0, "'accuracy'"),
        (scores, "fpr", ("a", "c"), 0.0, "no group 'c'"),
        (scores, "fpr", ("a",), 0.0, "two groups"),
        (scores, "fpr", None, -1, "tolerance"),
        (empty, "fnr", None, 0.0, "fnr of group 'b'"),
    ):
        with pytest.raises(ValueError, match=named):
            fair_thresholds(table, name, groups, tolerance=tolerance)
    with pytest.raises(ValueError, match="NaN"):
        rates_at(scores, np.nan)
