"""The groups' own ROC curves made equal, and the curves of other AUC notions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from support import reference
from support.making import draw, often, table_of

import evenscore as es
from evenscore import CurveConstraint, Cuts, RateConstraint
from evenscore.gaps import EstimateSettings
from evenscore.gaps.smooth import smooth_cells
from evenscore.gaps.words import Words
from evenscore.inference.bridges import band_quantile
from evenscore.inference.curve_gaps import RangeCurveGap

RATES = (0.07, 0.125, 0.5, 0.9)


def own_curve(rows, group, rate):
    """The curve of a group at a rate, person by person, ties split."""
    cells = [[(s, w) for y, s, g, w in rows if g == group and y == label] for label in (0, 1)]
    (h, w), (g, v) = (zip(*cell, strict=True) for cell in cells)
    return reference.split_roc(h, g, rate, w, v)


def rows_of(y, score, group, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    return list(zip(y.tolist(), score.tolist(), group.tolist(), weight.tolist(), strict=True))


@pytest.mark.parametrize(
    ("n_groups", "levels", "weights"),
    [(2, None, "integer"), (4, 10, "real"), (3, 1, None)],
)
def test_gaps_at_rates_are_those_of_a_naive_loop(n_groups, levels, weights):
    people = draw(3, n=90, n_groups=n_groups, levels=levels, weights=weights)
    scores, rows = table_of(*people), rows_of(*people)
    constraint = CurveConstraint(at=RATES)
    gaps = iter(zip(constraint.values(scores), constraint.keys(scores.groups), strict=True))
    for i, j in scores.pairs():
        for rate in RATES:
            value, key = next(gaps)
            naive = own_curve(rows, i, rate) - own_curve(rows, j, rate)
            assert value == pytest.approx(naive, abs=1e-9)
            assert (key.first, key.second, key.rate) == (str(i), str(j), rate)


@given(
    seed=st.integers(0, 10**6),
    levels=st.sampled_from([None, 10, 4]),
    weights=st.sampled_from([None, "real"]),
)
def test_the_largest_over_a_range_is_reached_and_never_exceeded(seed, levels, weights):
    scores = table_of(*draw(seed, n=40, levels=levels, weights=weights))
    low, high = 0.1, 0.6
    [value] = CurveConstraint(between=(low, high)).values(scores)
    # Polygons are lines between the rates of their vertices: all of these, from both sides.
    edges = [
        np.divide(np.cumsum(cell.weights[::-1]), cell.total)
        for cell in scores.of_class("negatives")
    ]
    edges = np.concatenate([*edges, [low, high]])
    near = np.concatenate([edges, edges - 1e-9, edges + 1e-9])
    near = near[(near >= low) & (near <= high)]
    gaps = CurveConstraint(at=tuple(np.unique(near))).values(scores)
    assert np.abs(gaps).max() == pytest.approx(abs(value), abs=1e-6)


@pytest.mark.parametrize("levels", [None, 4])
def test_groups_that_are_copies_have_no_gap_whatever_their_weights(levels):
    """Rates of the two curves that only rounding tells apart are one rate."""
    rng = np.random.default_rng(1)
    score = rng.normal(size=300)
    if levels:
        score = np.round(score * levels) / levels
    y, weight = rng.integers(0, 2, 300), rng.gamma(2.0, size=300)
    scores = table_of(
        np.tile(y, 2),
        np.concatenate([score, score + 3.0]),
        np.repeat(list("ab"), 300),
        np.concatenate([weight, weight / 3.0]),
    )
    for constraint in (CurveConstraint(at=RATES), CurveConstraint(between=(0.01, 0.99))):
        assert constraint.values(scores) == pytest.approx(0.0, abs=1e-9)


def test_known_by_hand():
    """At one half of the negatives, a selects both positives and b one of two."""
    score = [1, 2, 3, 4, 5, 1, 3, 4, 2, 5]
    y = [0, 0, 0, 0, 1, 0, 0, 0, 1, 1]
    group = list("aaaaabbbbb")
    [gap] = CurveConstraint(at=0.5).estimates(table_of(y, score, group))
    assert gap.first_value == 1.0
    assert gap.second_value == pytest.approx(0.5)
    assert (gap.value, gap.threshold, gap.second_threshold) == (0.5, 2.0, 3.0)
    assert gap.selected_share == gap.rate == 0.5
    for part in ("positives", "100.0% of group a", "50.0% of group b", "above 2 in group a"):
        assert part in gap.words
    words = Words(positives="people who repaid", negatives="defaulters", selected="granted a loan")
    told = CurveConstraint(at=0.5).say(gap, words)
    for part in ("among people who repaid", "granted a loan", "50%", "own defaulters"):
        assert part in told


def test_an_empty_cell_gives_nan_with_the_reason():
    y, score, group, _ = draw(1, n_groups=3)
    keep = ~((y == 1) & (group == 2))
    scores = table_of(y[keep], score[keep], group[keep])
    for constraint in (CurveConstraint(at=(0.2, 0.3)), CurveConstraint(between=(0.2, 0.3))):
        estimates = constraint.estimates(scores)
        values = constraint.values(scores)
        assert len(estimates) == len(values)
        for gap, value in zip(estimates, values, strict=True):
            assert np.isnan(value) == np.isnan(gap.value) == ("2" in (gap.first, gap.second))
            if np.isnan(value):
                [reason] = gap.warnings
                assert "positives of 2" in reason
                assert np.isnan(gap.low)
                assert np.isnan(gap.p_value)


@pytest.mark.slow
@settings(max_examples=often(8))
@given(seed=st.integers(0, 10**6), levels=st.sampled_from([None, 6]))
def test_estimates_are_the_values_and_agree_with_themselves(seed, levels):
    scores = table_of(*draw(seed, n=200, levels=levels, weights="real"))
    for constraint in (CurveConstraint(at=(0.1, 0.4)), CurveConstraint(between=(0.1, 0.4))):
        estimates = constraint.estimates(scores)
        ends = constraint.intervals(scores, EstimateSettings())
        wide, narrow = (ends(np.full(len(estimates), z)) for z in (2.5, 1.0))
        assert (wide[0] <= narrow[0]).all()
        assert (wide[1] >= narrow[1]).all()
        for gap, value in zip(estimates, constraint.values(scores), strict=True):
            assert gap.value == pytest.approx(value, abs=1e-9)
            assert gap.first_value - gap.second_value == pytest.approx(value, abs=1e-9)
            assert -1.0 <= gap.low <= gap.value <= gap.high <= 1.0
            assert gap.standard_error == pytest.approx((gap.high - gap.low) / 3.92, rel=1e-4)
            assert (gap.p_value <= 0.05) == gap.differs_from_zero or abs(gap.p_value - 0.05) < 1e-3


def test_a_sure_gap_does_not_vouch_for_an_unsure_one_the_other_way():
    """Of curves that cross, "at least so much" is about the direction of the largest gap seen."""
    gaps, errors = np.array([0.2, -0.15]), np.array([0.05, 0.01])
    for sign in (1.0, -1.0):
        one, two = (0.7, 0.5) if sign > 0.0 else (0.5, 0.7)
        gap = RangeCurveGap(0.1, one, two, sign * gaps, errors, np.full(100, 2.0))
        q = band_quantile(gap.maxima, 1.0)
        assert gap.interval(1.0) == pytest.approx(
            tuple(sorted((sign * (0.2 - q * 0.05), sign * 0.25)))
        )
        assert gap.interval(1.0)[0] < gap.value < gap.interval(1.0)[1]


def test_both_groups_may_be_asked_for_in_any_order():
    scores = table_of(*draw(2, n=300, n_groups=3))
    constraint = CurveConstraint(between=(0.1, 0.4))
    every = constraint.estimates(scores)
    [one] = constraint.estimates(scores, EstimateSettings(pairs=((2, 0),)))
    assert one.value == pytest.approx(-every[1].value)
    assert (one.first, one.second) == ("2", "0")
    assert one.threshold == pytest.approx(every[1].second_threshold)


@pytest.mark.slow
def test_coverage():
    """Binormal curves, whose difference is known."""
    rng = np.random.default_rng(4)
    rates, between = (0.05, 0.2), (0.05, 0.35)

    def truth(rate):
        curve = [norm.sf(norm.isf(rate) - d) for d in (1.5, 1.0)]
        return curve[0] - curve[1]

    asked = [(CurveConstraint(at=rate), truth(rate)) for rate in rates]
    largest = truth(np.linspace(*between, 2001)).max()
    asked.append((CurveConstraint(between=between), largest))
    y = np.repeat([0, 1, 0, 1], [900, 300, 700, 200])
    group = np.repeat([0, 1], [1200, 900])
    held, n = np.zeros(3), often(50)
    for _ in range(n):
        scores = table_of(y, rng.normal(size=2100) + y * (1.5 - 0.5 * group), group)
        for k, (constraint, true) in enumerate(asked):
            [low], [high] = constraint.intervals(scores, EstimateSettings())(np.array([1.96]))
            held[k] += low <= true <= high
    assert (held / n >= 0.93 - 2.0 * np.sqrt(0.93 * 0.07 / n)).all()


@pytest.mark.parametrize("n_groups", [2, 3])
def test_slopes_are_finite_differences(n_groups):
    y, score, group, weight = draw(
        8, n=60, n_groups=n_groups, levels=None, weights="real", shift=0.8
    )
    cell = y * n_groups + group
    totals = np.bincount(cell, weights=weight, minlength=2 * n_groups)
    share = weight / totals[cell]
    constraint = CurveConstraint(at=(0.15, 0.4))
    multipliers = np.random.default_rng(0).normal(size=len(constraint.keys(range(n_groups))))

    def surrogate(s):
        cells = smooth_cells(s, cell, share, totals.reshape(2, n_groups), 0.3)
        return cells, constraint.surrogate(cells)

    cells, found = surrogate(score)
    slopes = share * cells.grid.read(found.slopes(multipliers), cell, score)
    step = 1e-4
    for k in range(0, len(y), 7):
        moved = np.zeros(len(y))
        moved[k] = step
        ahead, back = (surrogate(score + sign * moved)[1].gaps for sign in (1, -1))
        expected = multipliers @ (ahead - back) / (2.0 * step)
        assert slopes[k] == pytest.approx(expected, abs=2e-5)


def test_the_surrogate_tends_to_the_gap():
    y, score, group, _ = draw(8, n=4000, levels=None, shift=0.8)
    cell, totals = y * 2 + group, np.bincount(y * 2 + group, minlength=4)
    cells = smooth_cells(score, cell, 1.0 / totals[cell], totals.reshape(2, 2).astype(float), 0.02)
    constraint = CurveConstraint(at=(0.1, 0.3))
    smooth, strict = constraint.surrogate(cells).gaps, constraint.values(table_of(y, score, group))
    assert smooth == pytest.approx(strict, abs=0.01)


def test_trained_guards_and_noise():
    constraint = CurveConstraint(between=(0.1, 0.4), tolerance=0.02)
    trained = constraint.trained()
    assert (trained.at[0], trained.at[-1], len(trained.at)) == (0.1, 0.4, 8)
    assert trained.tolerance == 0.02
    assert trained.trained() is trained
    assert all(rate < 0.1 or rate > 0.4 for rate in constraint.guards().at)
    assert constraint.learnable
    with pytest.raises(TypeError, match="rates of its own"):
        constraint.surrogate(None)
    sizes = np.array([400.0, 100.0, 200.0, 50.0])
    expected = np.sqrt(0.16 * (1 / 400 + 1 / 100) + 0.25 * (1 / 200 + 1 / 50))
    assert CurveConstraint(at=(0.2, 0.5)).noise(sizes)[0] == pytest.approx(expected)
    assert CurveConstraint(at=(0.2, 0.5)).noise(sizes).shape == (2,)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_is_learned_and_refused_by_repair():
    """One feature tells the classes apart in one group only: without it the curves are alike."""
    rng = np.random.default_rng(5)
    n = 1500
    y, group = rng.integers(0, 2, n), rng.integers(0, 2, n)
    X = np.column_stack([y, 2.0 * y * (group == 0)]) + rng.normal(size=(n, 2))
    constraint = CurveConstraint(at=(0.1, 0.3), tolerance=0.04)

    def largest(scorer):
        scores = table_of(y, scorer.decision_function(X), group)
        return np.abs(constraint.values(scores)).max()

    assert largest(es.LinearScorer(random_state=0).fit(X, y)) > 0.35
    fair = es.LinearScorer(constraint, random_state=0).fit(X, y, sensitive_features=group)
    assert largest(fair) <= 0.041
    assert fair.converged_
    with pytest.raises(ValueError, match="own ROC curve"):
        es.repair(y, X[:, 0], sensitive_features=group, constraints=constraint)


@pytest.mark.parametrize(
    ("name", "rate", "of"),
    [
        ("bnsp", "fnr", "negatives"),
        ("bpsn", "fpr", "positives"),
        ("zero_aeg", "fnr", "positives"),
        ("zero_aeg_negatives", "fpr", "negatives"),
    ],
)
def test_curves_at_common_cuts_are_rates(name, rate, of):
    family = CurveConstraint.named(name, between=(0.05, 0.35), tolerance=0.03)
    assert family == RateConstraint(rate, cuts=Cuts(between=(0.05, 0.35), of=of), tolerance=0.03)
    # Where the two curves of the notion are equal the rates are: here by definition, at a cut.
    scores = table_of(*draw(6, n=400, levels=None))
    one, two = es.AucConstraint.named(name).curves(scores, 0, 1)
    cut = float(scores.pooled(of).threshold(0.25))
    [value] = CurveConstraint.named(name, at=0.25).values(scores)
    own = [curve.reference if name == "bpsn" else curve.target for curve in (one, two)]
    above = [float(cell.survival(cut)) for cell in own]
    sign = -1.0 if rate == "fnr" else 1.0
    assert value == pytest.approx(sign * (above[0] - above[1]), abs=1e-12)


def test_the_intra_group_curves_have_a_family_of_their_own():
    assert CurveConstraint.named("intra_group", at=0.1) == CurveConstraint(at=(0.1,))
    scores = table_of(*draw(6, n=400))
    one, two = es.AucConstraint.named("intra_group").curves(scores, 0, 1)
    [value] = CurveConstraint(between=(1e-6, 1 - 1e-6)).values(scores)
    assert abs(value) >= abs(one.area - two.area)
    supremum = one.difference(two).supremum[0]
    assert abs(value) == pytest.approx(abs(supremum), abs=1e-4)
    with pytest.raises(ValueError, match="not 'inter_group'"):
        CurveConstraint.named("inter_group", at=0.1)


def test_bad_constraints():
    for message, arguments in (
        ("either between", {}),
        ("either between", {"between": (0.1, 0.2), "at": (0.1,)}),
        ("strictly between", {"at": (0.0, 0.5)}),
        ("strictly between", {"between": (0.0, 0.5)}),
        ("must differ", {"at": (0.5, 0.5)}),
        ("at", {"at": "x"}),
        ("tolerance", {"at": 0.1, "tolerance": 2.0}),
    ):
        with pytest.raises(ValueError, match=message):
            CurveConstraint(**arguments)
