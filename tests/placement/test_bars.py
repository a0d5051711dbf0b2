"""Bars: slopes, what they promise of places, what is planned and what is measured."""

import numpy as np
import pytest
from support.placing import people, problem_of

from evenscore import AucConstraint, Cuts, RateConstraint, RocConstraint
from evenscore.placement.bars import (
    Crowd,
    Knots,
    area,
    common_bars,
    find_bars,
    positions,
    shares_above,
)
from evenscore.placement.problem import Points, Problem
from evenscore.placement.program import best_placement

BOTH = RateConstraint("fpr", "fnr", cuts=Cuts(between=(0.1, 0.4)), tolerance=0.01)


def problem_for(constraints, points):
    sizes = np.bincount(points.cell, minlength=2 * points.n_groups).astype(float)
    return Problem.of(constraints, [c.tolerance or 0.0 for c in constraints], points, sizes)


def found(constraints, points, groups, knots=6, **options):
    problem = problem_for(constraints, points)
    centres = Knots.fit(groups, knots, 1.5)
    bars = find_bars(problem, points, groups, centres, smoothness=0.2, polish=3, **options)
    return problem, centres, bars, shares_above(points, centres(groups), bars)


@pytest.fixture(scope="module")
def crowd():
    return people(8000)


# ---------------------------------------------------------------------- what slopes say


@pytest.mark.parametrize("n_groups", [2, 3])
def test_slopes_are_those_of_the_smoothed_shares(n_groups):
    points, groups = people(500, n_groups)
    problem = problem_for([BOTH], points)
    knots = Knots.fit(groups, 3, 1.0)
    some = Crowd.of(points, knots(groups), 0.2)
    bars = common_bars(problem, points)[:, None] + np.linspace(-0.3, 0.3, 3)
    slopes = some.slopes(some.beyond(bars))
    start = area(problem, some.shares(some.beyond(bars), hard=False))
    for j, b in ((0, 0), (3, 1), (len(bars) - 1, 2)):
        moved = bars.copy()
        moved[j, b] += 1e-5
        shares = some.shares(some.beyond(moved), hard=False)
        before = some.shares(some.beyond(bars), hard=False)
        np.testing.assert_allclose((shares - before)[:, j] / 1e-5, slopes[:, j, b], atol=1e-5)
        rise = (area(problem, shares)[0] - start[0]) / 1e-5
        assert rise == pytest.approx(float((start[1][:, j] * slopes[:, j, b]).sum()), abs=1e-5)


@pytest.mark.parametrize("rate", ["fpr", "fnr", "selection", "error", "precision"])
@pytest.mark.parametrize("selected", ["high", "low"])
def test_slopes_of_rates_by_finite_differences(rate, selected):
    points, _ = people(300)
    cuts = Cuts(at=(0.2, 0.4), selected=selected)
    problem = problem_for([RateConstraint(rate, cuts=cuts)], points)
    band, rng = problem.bands[0], np.random.default_rng(0)
    shares = rng.uniform(0.2, 0.8, (4, len(problem.above)))
    _, slopes = band.rates(shares, problem.masses)
    for cell in range(4):
        moved = shares.copy()
        moved[cell] += 1e-6
        before, after = (band.rates(some, problem.masses)[0] for some in (shares, moved))
        change = (after - before) / 1e-6
        np.testing.assert_allclose(change[:, cell % 2], slopes[:, cell], atol=1e-4)
        np.testing.assert_allclose(change[:, 1 - cell % 2], 0.0, atol=1e-9)


# ---------------------------------------------------------------------- what is promised of places


def test_of_two_people_with_the_same_groups_the_more_qualified_is_never_lower(crowd):
    points, groups = crowd
    _, knots, bars, _ = found([BOTH], points, groups)
    odds = np.linspace(-30.0, 30.0, 400)
    for some in groups[:: len(groups) // 20]:
        own = knots(np.repeat(some[None], 400, axis=0)) @ bars.T
        place = positions(odds, own, 1.0)
        assert np.all(np.diff(place) > 0.0)
        assert 0.0 < place[0] < 1.0 < len(bars) < place[-1] < len(bars) + 1.0


def test_bars_keep_their_distance_and_add_up(crowd):
    points, groups = crowd
    problem, knots, bars, _ = found([BOTH], points, groups)
    apart = -np.diff(common_bars(problem, points))
    assert np.all(-np.diff(bars, axis=0) >= 0.2 * apart[:, None] - 1e-6)
    member = knots(groups)
    np.testing.assert_allclose(member.sum(axis=1), 1.0, atol=1e-12)
    assert member.min() >= 0.0
    np.testing.assert_array_equal(knots(groups[:1]), member[:1])


def test_a_small_change_moves_nobody_far(crowd):
    """With bars at least a fifth as far apart as common ones, five times as far as η's own rank."""
    points, groups = crowd
    _, knots, bars, _ = found([BOTH], points, groups)
    own = knots(groups) @ bars.T
    place, moved = (positions(points.odds + d, own, 1.0) for d in (0.0, 0.01))
    ranks = [np.searchsorted(np.sort(place), p) / len(place) for p in (place, moved)]
    plain = [np.searchsorted(np.sort(points.odds), points.odds + d) / len(place) for d in (0, 0.01)]
    assert np.abs(ranks[1] - ranks[0]).max() <= 10.0 * np.abs(plain[1] - plain[0]).max()


# ---------------------------------------------------------------------- planned and measured

ASKED = [
    [BOTH],
    [RateConstraint("fnr", cuts=Cuts(between=(0.05, 0.35), of="negatives"), tolerance=0.0)],
    [RateConstraint("selection", cuts=Cuts(at=(0.2,)), tolerance=0.0)],
    [RateConstraint("error", cuts=Cuts(at=(0.5,)), tolerance=0.02)],
    [RateConstraint("fpr", cuts=Cuts(between=(0.5, 0.8), selected="low"), tolerance=0.01)],
    [RateConstraint("precision", cuts=Cuts(at=(0.2, 0.3)), tolerance=0.02)],
    [RateConstraint("false_omission", cuts=Cuts(at=(0.3,)), tolerance=0.05)],
    [RocConstraint("both", (0.125, 0.25), tolerance=0.01)],
    [AucConstraint.named("bnsp", tolerance=0.0)],
    [AucConstraint.named("bpsn", tolerance=0.0)],
    [AucConstraint.named("zero_aeg", tolerance=0.0)],
    [AucConstraint.named("zero_aeg_negatives", tolerance=0.0)],
    [BOTH, AucConstraint.named("bnsp", tolerance=0.01)],
    [BOTH, RateConstraint("fnr", cuts=Cuts(between=(0.1, 0.3), of="negatives"), tolerance=0.01)],
]


@pytest.mark.slow  # fourteen problems, a tenth of a second to a second each
@pytest.mark.parametrize("constraints", ASKED, ids=lambda c: " and ".join(x.name for x in c)[:40])
def test_gaps_and_shares_are_as_planned(constraints, crowd):
    points, groups = crowd
    problem, _, bars, shares = found(constraints, points, groups)
    assert max(float(part.max()) for part in problem.excess(shares)) < 0.013
    missing = np.abs(np.sum(problem.pools * shares.T, axis=1) - problem.above)
    assert missing.max() < 0.01
    equal = shares_above(points, np.ones((len(points), 1)), common_bars(problem, points)[:, None])
    assert area(problem, shares)[0] <= area(problem, equal)[0] + 0.002
    order = common_bars(problem, points)
    assert np.all(np.diff(order) <= 0.0)
    assert np.all(np.diff(bars, axis=0) <= 1e-9)


def test_three_groups(crowd):
    points, groups = people(9000, 3)
    problem, _, _, shares = found([BOTH], points, groups, knots=10)
    assert max(float(part.max()) for part in problem.excess(shares)) < 0.02


def test_bars_come_near_the_program(crowd):
    """On the same people in some hundred atoms: no bars are better, and these little worse."""
    points, groups = crowd
    problem, knots, _, shares = found([BOTH], points, groups)
    near = np.lexsort((points.odds, knots(groups).argmax(axis=1)))
    atom = np.empty(len(points), dtype=int)
    atom[near] = np.arange(len(points)) * 150 // len(points)
    masses = np.zeros((150, 4))
    np.add.at(masses, (atom, points.cell), 1.0)
    best = best_placement(problem_of([BOTH], masses, 0.01), masses).auc
    assert -0.01 < best - area(problem, shares)[0] < 0.03


def test_what_cannot_be_met_says_which_where_and_by_how_much():
    """One group's positives look like the other's negatives: nobody can equalise both rates."""
    rng = np.random.default_rng(0)
    cell = np.repeat(np.arange(4), 500)
    centre = np.array([0.0, 2.0, 2.0, 4.0])[cell]
    odds = centre + 0.3 * rng.normal(size=2000)
    points = Points(odds, cell, np.ones(2000), 2)
    groups = rng.normal(size=(2000, 2))  # which know nothing of the group
    problem, _, _, shares = found([BOTH], points, groups)
    text = problem.shortfall(shares)
    assert "fpr and fnr" in text
    assert "0.01" in text
    assert "of everyone" in text


# ---------------------------------------------------------------------- invariances


def test_rows_permuted_and_groups_renamed_are_the_same(crowd):
    points, groups = people(3000, seed=1)
    *_, shares = found([BOTH], points, groups)
    mixed = np.random.default_rng(0).permutation(3000)
    *_, same = found([BOTH], points.rows(mixed), groups[mixed])
    np.testing.assert_allclose(same, shares, atol=2e-3)
    other = Points(points.odds, points.cell ^ 1, points.weight, 2)
    problem, *_, renamed = found([BOTH], other, -groups)
    expected = area(problem, shares[[1, 0, 3, 2]])[0]
    assert area(problem, renamed)[0] == pytest.approx(expected, abs=0.005)


def test_a_weight_of_two_is_a_person_given_twice():
    points, groups = people(2000, seed=2)
    twice = np.random.default_rng(0).random(2000) < 0.3
    index = np.concatenate([np.arange(2000), np.flatnonzero(twice)])
    weighed = Points(points.odds, points.cell, 1.0 + twice, 2)
    sizes = np.full(4, 500.0)
    knots = Knots.fit(groups, 4, 1.5)
    bars = []
    for some, own in ((weighed, groups), (points.rows(index), groups[index])):
        problem = Problem.of([BOTH], [0.01], some, sizes)
        bars.append(find_bars(problem, some, own, knots, smoothness=0.2, polish=2))
    shares = [shares_above(weighed, knots(groups), one) for one in bars]
    np.testing.assert_allclose(shares[0], shares[1], atol=0.01)


def test_a_sample_by_cell_stands_for_all():
    points, _ = people(5000, seed=3)
    rare = np.flatnonzero(points.cell == 3)[100:]
    points = points.rows(np.setdiff1d(np.arange(5000), rare))
    index, some = points.thinned(1500)
    assert len(np.unique(index)) == len(index) < 2100
    np.testing.assert_allclose(some.masses, points.masses)
    assert np.sum(some.cell == 3) == 100
    for share in (0.1, 0.5):
        pool = points.masses / points.masses.sum()
        assert some.height(pool, share) == pytest.approx(points.height(pool, share), abs=0.02)
