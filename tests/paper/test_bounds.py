import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.making import table_of

from evenscore.paper.bounds import (
    auc_learning_bound,
    density_ratio,
    rates_needed,
    roc_learning_bound,
    sample_size_needed,
    sup_gap_bound,
)
from evenscore.paper.laws import PiecewiseLinearLaw


def two_slopes(low):
    """Negatives of group 1 with density `low` on [0, ½] and 2 − `low` on [½, 1]; others uniform."""
    uniform = [0.0, 0.5, 1.0]
    cdf = [uniform, [0.0, low / 2, 1.0], uniform, uniform]
    return PiecewiseLinearLaw(uniform, cdf, cell_weights=np.full((2, 2), 0.25))


@given(st.floats(0.2, 1.0), st.integers(1, 12))
def test_proposition_one_holds_for_a_law(low, m):
    law, ratio = two_slopes(low), (2 - low) / low
    rates = np.arange(1, m + 1) / (m + 1)
    gap = float(np.abs(law.roc_gap("negatives", rates)).max())
    supremum = np.abs(law.roc_gap("negatives", np.linspace(0, 1, 1001))).max()
    assert supremum <= sup_gap_bound(rates, gap, ratio) + 1e-12
    if m > 1:
        inner = np.linspace(rates[0], rates[-1], 501)
        within = sup_gap_bound(rates, gap, ratio, within=True)
        assert np.abs(law.roc_gap("negatives", inner)).max() <= within + 1e-12


RATES = st.lists(st.floats(0.02, 0.98), min_size=1, max_size=6, unique=True).map(sorted)
RATIOS = st.one_of(st.floats(1.0, 30.0), st.just(np.inf))


def highest(rates, gap, ratio, a):
    """At the rates a: the least of all lines that start where Δ is known. Written differently."""
    up, down = (ratio - 1.0 if ratio < np.inf else 1e12), 1.0 - 1.0 / ratio
    lines = [
        np.where(a >= at, height + up * (a - at), height + down * (at - a))
        for at, height in [(0.0, 0.0), *((rate, gap) for rate in rates), (1.0, 0.0)]
    ]
    return np.min(lines, axis=0)


@given(RATES, st.floats(0.0, 0.3), st.floats(1.001, 30.0))
def test_the_sharp_bound_is_the_top_of_a_gap_that_can_be(rates, gap, ratio):
    """Δ follows the envelope, which is allowed itself: its slopes are, and it is zero at the ends.

    The bound is the largest value of the envelope, of one side or the other.
    """
    a = np.unique(np.concatenate([np.linspace(0, 1, 4001), rates]))
    upper = highest(rates, gap, ratio, a)
    lower = highest([1 - r for r in rates], gap, ratio, 1 - a)  # of −Δ, seen from the right
    for envelope in (upper, lower):
        assert envelope[0] == envelope[-1] == 0.0
        assert np.all(envelope[np.isin(a, rates)] <= gap + 1e-12)
    steps = np.diff(a)
    slopes = (np.diff(upper) / steps)[steps > 1e-6]  # others are rounding
    assert slopes.max() <= ratio - 1 + 1e-6
    assert slopes.min() >= 1 / ratio - 1 - 1e-6
    bound = sup_gap_bound(rates, gap, ratio)
    top = max(upper.max(), lower.max())
    steepest = max(ratio - 1, 1.0) / 4000
    assert top - 1e-9 <= bound <= top + steepest
    if len(rates) > 1:
        inner = (a >= rates[0]) & (a <= rates[-1])
        top = max(upper[inner].max(), lower[inner].max())
        assert top - 1e-9 <= sup_gap_bound(rates, gap, ratio, within=True) <= top + steepest


@given(RATES, st.floats(0.0, 0.05), st.floats(1.2, 20.0))
def test_the_formula_of_the_sharp_bound(rates, gap, ratio):
    f, late = (ratio - 1) / (ratio + 1), ratio / (ratio + 1)
    edge = max(rates[0], 1 - rates[-1])
    inner = max(np.diff(rates), default=0.0)
    formula = max(gap + f * inner if len(rates) > 1 else 0.0, gap * late + f * edge)
    reach = min(ratio - 1, 1 - 1 / ratio) * min(rates[0], 1 - rates[-1])
    found = sup_gap_bound(rates, gap, ratio)
    assert found <= formula + 1e-12
    if gap <= reach:  # Δ can be as large as the gap at every rate
        assert found == pytest.approx(min(formula, 1.0), abs=1e-12)


@given(RATES, st.floats(0.0, 0.3), RATIOS, RATIOS)
def test_bounds_are_ordered(rates, gap, one, other):
    """Sharp ≤ what a rising curve implies ≤ printed; and the further densities may be apart."""
    sharp = [sup_gap_bound(rates, gap, ratio) for ratio in sorted((one, other))]
    assert sharp[0] <= sharp[1] + 1e-12
    widest = np.diff([0.0, *rates, 1.0]).max()
    assert sharp[1] <= sup_gap_bound(rates, gap) + 1e-12 <= min(1.0, gap + widest) + 2e-12
    printed = sup_gap_bound(rates, gap, one, as_printed=True)
    assert gap + widest <= printed + 1e-12
    assert sup_gap_bound(rates[::-1], gap, one) == sup_gap_bound(rates, gap, one)
    mirrored = sup_gap_bound([1 - rate for rate in rates], gap, one)
    assert mirrored == pytest.approx(sup_gap_bound(rates, gap, one), abs=1e-9)


def test_the_sharp_bound_is_attained_by_a_law():
    """Rates 1/8 and 1/4, gap 0.02, B/b = 3: two densities between b and 3b with a gap of .39."""
    rates, gap, ratio = (1 / 8, 1 / 4), 0.02, 3.0
    bound = sup_gap_bound(rates, gap, ratio)
    assert bound == pytest.approx(0.39)
    # After 1/4 the curve is as flat as can be, then as steep: −Δ rises, and falls to 0 at 1.
    turn = 0.25 + (ratio - 1 - gap / 0.75) * 0.75 / (ratio - 1 / ratio)
    a = np.array([0.0, 1 / 8, 1 / 4, turn, 1.0])
    roc = a - np.array([0.0, 0.0, gap, bound, 0.0])
    slopes = np.diff(roc) / np.diff(a)
    assert np.all(slopes >= 1 / ratio - 1e-9)
    assert np.all(slopes <= ratio + 1e-9)
    # Densities with that ratio, between b and 3b: where the curve is steep the target is dense.
    lengths = np.diff(a) * np.where(slopes > 1, np.maximum(slopes, 1.0), 1.0)
    knots = np.concatenate([[0.0], np.cumsum(lengths[::-1])])  # scores fall as rates rise
    reference, target = 1 - a[::-1], 1 - roc[::-1]
    densities = np.diff([reference, target], axis=1) / np.diff(knots)
    assert densities.max() / densities.min() <= ratio + 1e-9
    law = PiecewiseLinearLaw(
        knots, [reference, target, reference, target], cell_weights=np.full((2, 2), 0.25)
    )
    np.testing.assert_array_less(np.abs(law.roc_gap("negatives", np.array(rates))), gap + 1e-12)
    found = np.abs(law.roc_gap("negatives", np.linspace(0, 1, 100_001))).max()
    assert found == pytest.approx(bound, abs=1e-4)


@given(st.floats(0.01, 1.0), st.floats(0.0, 0.5), RATIOS)
def test_the_inverse_of_proposition_one(margin, gap, ratio):
    m = rates_needed(gap + margin, gap, ratio)
    if m == 0:
        assert 1 - 2 / (ratio + 1) <= gap + margin + 1e-12
        return
    assert sup_gap_bound(np.arange(1, m + 1) / (m + 1), gap, ratio) <= gap + margin + 1e-9
    for fewer in range(1, m):
        rates = np.arange(1, fewer + 1) / (fewer + 1)
        assert sup_gap_bound(rates, gap, ratio) > gap + margin - 1e-9


def test_fewer_rates_may_do_where_the_gap_is_nearly_as_large_as_it_can_be():
    """Bounds of 1 to 6 rates are .19, .1933, .19, .18, .1833, .1757."""
    assert rates_needed(0.18, 0.15, 1.5) == 4


@given(st.floats(0.01, 1.0), st.floats(0.0, 0.5), st.floats(1.0, 50.0))
def test_the_inverse_of_the_printed_bound(margin, gap, ratio):
    m = rates_needed(gap + margin, gap, ratio, as_printed=True)

    def printed(m):
        return sup_gap_bound(np.arange(1, m + 1) / (m + 1), gap, ratio, as_printed=True)

    assert printed(m) <= gap + margin + 1e-9
    assert m == 1 or printed(m - 1) > gap + margin - 1e-9
    assert rates_needed(gap + margin, gap, ratio) <= m


def test_theorem_two_by_hand():
    n, delta, epsilon, V, strength, C = 10_000, 0.05, 0.1, 5, 2.0, 3.0
    expected = (
        C * np.sqrt(V / n) * 8.5
        + np.sqrt(np.log(260) / 9999) * (8 + 10 * 0.1)
        + 0.5 * (np.log(260) / 20_000 + 1 / (4 * 9999))
        + 8 * (np.log(260) / 10_000 + 1 / (4 * 9999))
    ) / 0.01
    found = auc_learning_bound(
        n, delta=delta, epsilon=epsilon, vc_dimension=V, strength=strength, constant=C
    )
    assert found.value == pytest.approx(expected)
    assert found.vacuous


def test_theorem_three_by_hand():
    found = roc_learning_bound(
        10_000, delta=0.05, epsilon=0.1, vc_dimension=5, strengths=[0.5, 0.5, 1.0],
        density_ratio=4.0, constant=3.0,
    )  # fmt: skip
    c = 5.0 * 2.0
    expected = (
        3 * (0.5 + 0.2 * c) * np.sqrt(5 / 10_000)
        + 0.2 * (1 + 3 * c) * np.sqrt(np.log(380) / 9999)
        + 0.5 * (np.log(380) / 20_000 + 1 / (4 * 9999))
    ) / 0.01
    assert found.value == pytest.approx(expected)
    assert found.vacuous


def bound(n, **changes):
    good = dict(delta=0.1, epsilon=0.2, vc_dimension=3, strength=0.5, constant=1.0)
    return auc_learning_bound(n, **(good | changes))


def test_sample_size_is_the_smallest():
    n = sample_size_needed(bound, 0.3)
    assert bound(n).value <= 0.3 < bound(n - 1).value
    assert not bound(n).vacuous


def test_density_ratio_of_known_densities():
    score, y, group = two_slopes(0.5).sample(200_000, np.random.default_rng(0))
    # Relative to the pooled negatives the densities are 1/0.75, 0.5/0.75 below ½ and
    # 1/1.25, 1.5/1.25 above: B/b = 2.
    scores = table_of(y, score, group)
    assert density_ratio(scores, on="negatives", n_bins=8) == pytest.approx(2.0, rel=0.05)
    far = table_of([0, 1] * 40, range(80), [0] * 40 + [1] * 40)
    assert density_ratio(far) == np.inf
    two_values = table_of([0, 1] * 40, [0, 0, 1, 1] * 20, [0, 0, 1, 1, 1, 1, 0, 0] * 10)
    assert density_ratio(two_values) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="n_bins"):
        density_ratio(far, n_bins=0)


def test_bad_arguments():
    for call, message in (
        (lambda: sup_gap_bound([0.5], 0.1, 0.5), "at least 1"),
        (lambda: sup_gap_bound([0.5], 1.5, 2.0), "gap"),
        (lambda: sup_gap_bound([0.5], 0.1, 2.0, within=True), "two"),
        (lambda: sup_gap_bound([1.5], 0.1, 2.0), "between 0 and 1"),
        (lambda: rates_needed(0.1, 0.1, 2.0), "larger"),
        (lambda: rates_needed(0.2, 0.1, as_printed=True), "finite"),
        (lambda: sample_size_needed(bound, 0.0), "excess"),
        (lambda: bound(1), "^n "),
        (lambda: bound(100, delta=0.0), "delta"),
        (lambda: bound(100, epsilon=0.3), "epsilon"),
        (lambda: bound(100, strength=-1.0), "Strengths"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
