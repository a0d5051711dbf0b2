from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import reference
from support.making import often

from evenscore import RocCurve
from evenscore.scores.curve import CurveDifference, ReferenceCuts, _snapped
from evenscore.scores.distribution import Distribution

levels = st.lists(st.integers(0, 6), min_size=1, max_size=12)


def curve(h, g, hw=None, gw=None):
    return RocCurve(Distribution.from_sample(h, hw), Distribution.from_sample(g, gw))


@given(levels, levels, st.integers(0, 24), st.data())
def test_evaluate_is_definition_one(h, g, k, data):
    rate = Fraction(k, 24)  # often exactly at a step
    assert float(curve(h, g).evaluate(float(rate))) == pytest.approx(reference.roc(h, g, rate))
    weights = [
        data.draw(st.lists(st.integers(1, 9), min_size=len(s), max_size=len(s))) for s in (h, g)
    ]
    found = curve(h, g, *weights).evaluate(float(rate))
    assert float(found) == pytest.approx(reference.roc(h, g, rate, *weights))


def test_weights_that_doubles_cannot_add_exactly_do_not_move_the_steps():
    h = np.arange(10.0)
    tenths = np.full(10, 0.1)
    rates = np.arange(11) / 10
    plain = curve(h, h + 0.5).evaluate(rates)
    np.testing.assert_allclose(curve(h, h + 0.5, tenths, tenths).evaluate(rates), plain, atol=1e-15)
    np.testing.assert_allclose(curve(h, h + 0.5).evaluate(1 - np.arange(11)[::-1] / 10), plain)


@given(levels, levels)
def test_area_is_the_auc_and_the_trapezoids(h, g):
    c = curve(h, g)
    x, y = c.vertices
    assert c.area == pytest.approx(reference.auc(h, g))
    assert c.area == pytest.approx(np.trapezoid(y, x))
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
    assert np.all(np.diff(x) >= 0)
    assert np.all(np.diff(y) >= 0)


@given(levels, levels, st.integers(0, 20))
def test_inverse_is_the_smallest_rate_that_reaches(h, g, k):
    c, value = curve(h, g), k / 20
    rate = float(c.inverse(value))
    assert c.evaluate(rate) >= value - 1e-9
    grid = np.linspace(0, 1, 841)
    reached = grid[c.evaluate(grid) >= value - 1e-9]
    assert rate <= reached[0] + 1e-12


@given(levels, levels, st.integers(0, 40))
def test_interpolate_runs_through_the_vertices(h, g, k):
    c = curve(h, g)
    x, y = c.vertices
    for rate in x:
        assert float(c.interpolate(rate)) == pytest.approx(y[x <= rate + 1e-12].max())
    rate = k / 40
    inside = [
        y0 + (rate - x0) / (x1 - x0) * (y1 - y0)
        for x0, x1, y0, y1 in zip(x[:-1], x[1:], y[:-1], y[1:], strict=True)
        if x0 < rate < x1
    ]
    if inside:
        assert float(c.interpolate(rate)) == pytest.approx(inside[0])


@settings(max_examples=often(10))
@given(levels, levels, levels, levels)
def test_difference_against_a_fine_grid(h, g, h2, g2):
    one, two = curve(h, g), curve(h2, g2)
    d = one.difference(two)
    grid = (np.arange(50_000) + 0.5) / 50_000
    values = one.interpolate(grid) - two.interpolate(grid)
    assert reference.signed_area(d) == pytest.approx(one.area - two.area, abs=1e-12)
    assert d.area == pytest.approx(np.abs(values).mean(), abs=1e-4)
    assert abs(d.supremum[0]) == pytest.approx(np.abs(values).max(), abs=4e-4)
    assert d.area >= abs(reference.signed_area(d)) - 1e-12


@given(levels, levels, st.floats(0, 0.9), st.floats(0.01, 1))
def test_gap_over_an_interval(h, g, low, width):
    high = min(1.0, low + width)
    c = curve(h, g)
    d = c.gap().restrict(low, high)
    grid = low + (np.arange(20_000) + 0.5) / 20_000 * (high - low)
    values = c.evaluate(grid) - grid
    assert d.mean_absolute == pytest.approx(np.abs(values).mean(), abs=1e-3)
    assert abs(d.supremum[0]) == pytest.approx(np.abs(values).max(), abs=1e-3)
    value, rate = d.supremum
    assert low - 1e-12 <= rate <= high + 1e-12
    near = [c.evaluate(min(max(rate + e, 0), 1)) - rate for e in (-1e-9, 0, 1e-9)]
    assert min(abs(v - value) for v in near) < 1e-6


@given(levels, levels, st.integers(0, 11), st.integers(1, 12))
def test_supremum_over_a_closed_interval_includes_its_ends(h, g, low, width):
    """Ends on the steps of the curve: the values there count, the one reached by a jump too."""
    low, high = low / 12, min(1.0, (low + width) / 12)
    c = curve(h, g)
    d = c.gap().restrict(low, high)
    rates = np.unique(np.concatenate([[low, high], np.arange(13) / 12, c.vertices[0]]))
    rates = rates[(rates >= low) & (rates <= high)]
    values = c.evaluate(rates) - rates
    assert abs(d.supremum[0]) >= np.abs(values).max() - 1e-12
    # And nothing else: every limit value is one of evaluate, or its limit from the left.
    before = c.evaluate(np.maximum(rates - 1e-9, 0.0)) - rates
    limits = np.abs(np.concatenate([values, before[rates > low]]))
    assert abs(d.supremum[0]) <= limits.max() + 1e-8


def test_ends_of_intervals_that_are_an_ulp_off_a_step_and_people_without_weight():
    c = curve(np.arange(10.0), [0.5])
    assert c.gap().restrict(0.3 * 3, 0.95).supremum[0] == pytest.approx(0.1)
    assert c.gap().restrict(0.9, 0.95).supremum[0] == pytest.approx(0.1)
    c = curve([1, 2, 3, 4], [2, 3, 5], [1, 0, 1, 1], [1, 0, 1])
    assert len(c.reference) == 3
    assert np.isfinite(c.gap().restrict(0.1, 0.9).area)


def test_vertices_that_only_rounding_tells_apart_are_one():
    onto = np.array([0.0, 0.3, 0.5, 1.0])
    found = _snapped(np.array([0.1, 0.3 - 1e-13, 0.4, 0.5 + 1e-13, 1.0]), onto)
    assert found.tolist() == [0.1, 0.3, 0.4, 0.5, 1.0]


def test_area_of_a_piece_that_changes_sign():
    # 1 on (0, ½) falling to −1 on (½, 1): a quarter of two triangles, and three eighths.
    d = CurveDifference(np.array([0, 0.5, 1]), np.array([1.0, 1.0]), np.array([-1.0, 0.5]))
    assert d.area == pytest.approx(0.25 + 0.375)


def test_ends_and_equal_curves():
    assert curve([1, 2], [0, 1, 2, 3]).evaluate([0.0, 1.0]).tolist() == [0.25, 1.0]
    assert curve([1, 2], [0, 1, 2]).evaluate([0.0])[0] == 0.0
    d = curve([1, 2, 2, 3], [2, 3]).difference(curve([10, 20, 20, 30], [20, 30]))
    assert (d.area, d.supremum[0]) == (0.0, 0.0)


def test_an_empty_sample_gives_nan():
    empty = curve([], [1.0, 2.0])
    assert np.isnan(empty.area)
    assert np.isnan(empty.evaluate([0.2, 1.0])).all()
    assert np.isnan(empty.inverse(0.5))
    assert np.isnan(empty.interpolate(0.5))
    assert np.isnan(empty.gap().supremum[0])
    assert np.isnan(empty.difference(curve([1], [2])).area)


def test_rates_outside_the_unit_interval_are_refused():
    c = curve([1], [2])
    for call in (c.evaluate, c.inverse, c.interpolate):
        for bad in (-0.1, 1.1, np.nan):
            with pytest.raises(ValueError, match="between 0 and 1"):
                call(bad)
    for bad in ((0.5, 0.5), (0.5, 0.2), (-0.1, 0.5), (0.5, 1.1)):
        with pytest.raises(ValueError, match="low < high"):
            c.gap().restrict(*bad)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rates", [7, 400])  # fewer than people of the reference, and more
def test_cuts_of_a_reference_serve_every_target(weighted, n_rates):
    rng = np.random.default_rng(3)

    def sample(n):
        weight = rng.uniform(0.2, 3.0, n) if weighted else None
        return Distribution.from_sample(rng.integers(0, 9, n), weight)

    reference, rates = sample(50), np.sort(rng.random(n_rates))
    cuts = [ReferenceCuts.at(reference, rates, split=split) for split in (False, True)]
    for target in (sample(30), sample(80)):
        curve = RocCurve(reference, target)
        step, split = (cut.share_of(target) for cut in cuts)
        np.testing.assert_array_equal(step, curve.evaluate(rates))
        # The polygon by its vertices; rates drawn at random are at none of them.
        np.testing.assert_allclose(split, np.interp(rates, *curve.vertices), atol=1e-9)
