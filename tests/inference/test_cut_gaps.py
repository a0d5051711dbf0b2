"""Gaps at cuts: standard errors, single cuts, the largest over a range, Gaussian bridges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from support.making import draw, often, table_of
from support.naive_cuts import NAMES, Sample

from evenscore import Cuts, RateConstraint
from evenscore.gaps import EstimateSettings
from evenscore.inference.bridges import DRAWS, Bridges, band_quantile, grid_steps
from evenscore.inference.cut_certificates import certify_rates
from evenscore.inference.cut_gaps import RateErrors, point_gaps, range_gaps, undominated
from evenscore.inference.decisions import decide
from evenscore.inference.intervals import wilson
from evenscore.scores.rates import CATALOGUE
from evenscore.scores.selection import Ladder

SETTINGS = EstimateSettings()


def ladder_of(*rows, of="everyone", side="high", **more):
    return Ladder.make(table_of(*rows, **more), of, side)


# Whether a person with label y, selected or not, is one of those the rate is among, and counted.
PEOPLE = {
    "selection": lambda y, chosen: (True, chosen),
    "fpr": lambda y, chosen: (y == 0, chosen),
    "fnr": lambda y, chosen: (y == 1, not chosen),
    "error": lambda y, chosen: (True, chosen != bool(y)),
    "precision": lambda y, chosen: (chosen, y == 1),
    "false_omission": lambda y, chosen: (not chosen, y == 1),
}


@pytest.mark.parametrize("name", PEOPLE)
def test_errors_are_those_of_shares_with_four_more_people(name):
    rows = draw(5, n=300)
    ladder, sample = ladder_of(*rows), Sample(*rows)
    at = RateErrors(ladder).at(CATALOGUE[name], ladder.selected(np.arange(1, ladder.n_steps)))
    for k, chosen in enumerate(sample.choices()):
        for g in range(2):
            told = [
                PEOPLE[name](y, chosen(score))[1]
                for y, score, group, _ in sample.rows
                if group == g and PEOPLE[name](y, chosen(score))[0]
            ]
            if not told:
                assert np.isnan(at.error[k, g])
                continue
            n = len(told)
            smoothed = (sum(told) + 2) / (n + 4)
            assert at.error[k, g] == pytest.approx(np.sqrt(smoothed * (1 - smoothed) / n))
            assert at.size[k, g] == n


@pytest.mark.slow
def test_errors_are_the_spread_of_samples():
    """Weights that go with the score: gaps of many samples spread as their errors say."""
    rng = np.random.default_rng(0)
    values, errors = [], []
    for _ in range(200):
        y, group = rng.integers(0, 2, (2, 1_000))
        normal = rng.normal(size=len(y))
        weight = rng.gamma(3.0, size=len(y)) * np.where(normal > 0.0, 3.0, 1.0)
        ladder = ladder_of(y, normal + y + 0.4 * group, group, weight)
        selected = ladder.selected(np.array([ladder.step_at(0.8, inclusive=False)]))
        at = [RateErrors(ladder).at(CATALOGUE[name], selected) for name in NAMES]
        values.append([rate.value[0, 0] - rate.value[0, 1] for rate in at])
        errors.append([rate.gap((0, 1))[1][0] for rate in at])
    ratio = np.mean(errors, axis=0) / np.std(values, axis=0)
    assert ((ratio > 0.88) & (ratio < 1.2)).all()  # the error of an error of 200 samples is 5 %


def test_clusters_make_errors_larger():
    y, score, group, _ = draw(1, n=396)
    twice = [np.repeat(column, 2) for column in (y, score, group)]
    cluster = np.repeat(np.arange(len(y)), 2)
    one = ladder_of(*twice)
    two = ladder_of(*twice, cluster=cluster)
    step = np.array([one.n_steps // 2])
    for name in NAMES:
        plain, clustered = (
            RateErrors(ladder).at(CATALOGUE[name], ladder.selected(step)).error
            for ladder in (one, two)
        )
        assert (clustered / plain > 1.25).all()  # √2 in large samples
        assert (clustered / plain < 1.65).all()


def test_the_error_of_a_gap_is_the_larger_of_two():
    ladder = ladder_of(*draw(5, n=300))
    at = RateErrors(ladder).at(CATALOGUE["fpr"], ladder.selected(np.arange(1, ladder.n_steps)))
    _, error, known = at.gap((0, 1))
    low, high = wilson(at.value, at.size, 2.0)
    gap = at.value[:, 0] - at.value[:, 1]
    most = gap + np.hypot(high[:, 0] - at.value[:, 0], at.value[:, 1] - low[:, 1])
    least = gap - np.hypot(at.value[:, 0] - low[:, 0], high[:, 1] - at.value[:, 1])
    newcombe = np.maximum(np.abs(most), np.abs(least)) - np.abs(gap)
    plain = np.hypot(*at.error.T)
    np.testing.assert_allclose(error, np.maximum(newcombe / 2.0, plain), atol=1e-12)
    assert (error > plain).any()
    assert (error == plain).any()
    assert known.all()
    for one, two in zip(at.gap((0, 1)), at.gap((1, 0)), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-12)


def test_a_cut_by_its_share_of_everyone_has_a_larger_error_where_rates_diverge():
    """Selection of two groups at a common cut: in closed form, by the delta method."""
    rng = np.random.default_rng(0)
    n = 200_000
    group = rng.integers(0, 2, n)
    score = rng.normal(size=n) + 1.5 * group
    ladder = ladder_of(np.zeros(n, int), score, group, pos_label=1)
    step = ladder.last_up_to(0.3)
    [[number]] = point_gaps(
        RateErrors(ladder), CATALOGUE["selection"], [step], [(0, 1)], by_share=False
    )
    [[share]] = point_gaps(
        RateErrors(ladder), CATALOGUE["selection"], [step], [(0, 1)], by_share=True
    )
    t = ladder.threshold(step, inclusive=False)
    above, density = norm.sf(t - np.array([0.0, 1.5])), norm.pdf(t - np.array([0.0, 1.5]))
    r = (density[0] - density[1]) / density.mean()  # dD/da
    # Of group 0 a person above adds 2/n − r/n · (1 − a) and so on: each group is a half.
    a = above.mean()
    variance = 0.0
    for f, sign in zip(above, (2.0, -2.0), strict=True):
        moved = (sign * (1 - f) - r * (1 - a), sign * (0 - f) - r * (0 - a))
        variance += 0.5 * (f * moved[0] ** 2 + (1 - f) * moved[1] ** 2) / n
    assert number.error == pytest.approx(np.sqrt(np.sum(above * (1 - above)) * 2.0 / n), rel=0.02)
    assert share.error == pytest.approx(max(np.sqrt(variance), number.error), rel=0.05)
    assert share.value == number.value


def test_intervals_at_a_cut_are_symmetric_and_end_at_one():
    ladder = ladder_of(*draw(2, n=40))
    [[gap]] = point_gaps(
        RateErrors(ladder), CATALOGUE["fnr"], [ladder.n_steps // 2], [(0, 1)], by_share=False
    )
    low, high = gap.interval(1.0)
    assert (low + high) / 2.0 == pytest.approx(gap.value)
    assert gap.interval(50.0) == (-1.0, 1.0)


@pytest.mark.parametrize(("n_groups", "weights"), [(2, "real"), (3, None)])
def test_the_upper_end_is_a_maximum_over_all_cuts_of_the_widened_range(n_groups, weights):
    ladder = ladder_of(*draw(8, n=400, n_groups=n_groups, levels=None, weights=weights))
    errors, pairs = RateErrors(ladder), ladder.scores.pairs()
    inside, widened = (50, 150), (40, 170)
    rates = [CATALOGUE["fpr"], CATALOGUE["error"]]
    table = range_gaps(errors, rates, inside, widened, pairs)
    for rate, row in zip(rates, table, strict=True):
        for (i, j), gap in zip(pairs, row, strict=True):
            best, largest = 0.0, 0.0
            for step in range(widened[0], widened[1] + 1):
                at = errors.at(rate, ladder.selected(np.array([step])))
                size = abs(at.value[0, i] - at.value[0, j])
                best = max(best, size + 1.3 * at.gap((i, j))[1][0])
                if inside[0] <= step <= inside[1]:
                    largest = max(largest, size)
            assert abs(gap.value) == pytest.approx(largest)
            assert gap.high(1.3) == pytest.approx(best)
            assert gap.low(1.3) <= largest <= gap.high(0.0) + 1e-12
            assert inside[0] <= gap.step <= inside[1]


@settings(max_examples=often(10))
@given(st.integers(0, 10**6), st.sampled_from([0.3, 1.0, 1.96]))
def test_the_lower_end_is_about_gaps_of_the_sign_of_the_largest_seen(seed, z):
    y, score, group, _ = draw(seed, n=80, levels=None)
    ladder = ladder_of(np.tile(y, 30), np.tile(score, 30), np.tile(group, 30))
    errors, rate = RateErrors(ladder), CATALOGUE["error"]
    [[gap]] = range_gaps(errors, [rate], (10, 60), (8, 65), [(0, 1)])
    q, best = band_quantile(gap.maxima, z), 0.0
    for step in grid_steps(ladder, 10, 60).tolist():
        at = errors.at(rate, ladder.selected(np.array([step])))
        one, two = at.value[0].tolist()
        if (one > two) == (gap.value > 0.0):
            best = max(best, abs(one - two) - q * at.gap((0, 1))[1][0])
    assert gap.low(z) == pytest.approx(best, abs=1e-12)
    low, high = gap.interval(z)
    assert low <= gap.value <= high
    if best == 0.0:
        assert low == -high


def crossing_people():
    """At 2, 1 % of a and 12 % of b are selected, surely; at 1, less surely, 53 % and 41 %."""
    n, score = 700, []
    for top, middle in ((7, 371), (84, 287)):
        score += [np.linspace(2.001, 3, top), np.linspace(1.001, 2, middle - top)]
        score += [np.linspace(0, 1, n - middle)]
    both = np.concatenate([*score, np.tile(np.linspace(0, 3, n), 2)])
    return np.repeat([0, 1], 2 * n), both, np.tile(np.repeat(["a", "b"], n), 2)


def test_a_sure_gap_does_not_vouch_for_an_unsure_one_the_other_way():
    y, score, group = crossing_people()
    scores = table_of(y, score, group)
    range_of_cuts = RateConstraint("fpr", cuts=Cuts(between=(0.05, 0.65), of="negatives"))
    at = RateConstraint("fpr", cuts=Cuts(thresholds=(1.0, 2.0))).estimates(scores)
    [gap] = range_of_cuts.estimates(scores)
    assert at[0].value > -at[1].value
    assert gap.value == pytest.approx(at[0].value, abs=0.01)
    # The gap the other way is smaller and surer: with it, the least would be about 0.07.
    assert 0.0 < gap.low < at[0].low < -at[1].high
    assert gap.low < 0.06
    [turned] = range_of_cuts.estimates(table_of(y, score, np.where(group == "a", "z", "b")))
    assert (turned.low, turned.high) == pytest.approx((-gap.high, -gap.low))
    [decided] = decide([gap], 0.06, 0.95, intervals=range_of_cuts.intervals(scores, SETTINGS))
    assert decided.verdict == "unclear"
    assert decided.beyond_test.low == pytest.approx(gap.low)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30))
def test_undominated_points_are_enough(points):
    points = np.array(points).T
    kept = undominated(points)
    for z in (0.0, 0.3, 1.0, 4.0):
        assert np.max(kept[0] + z * kept[1]) == pytest.approx(np.max(points[0] + z * points[1]))


def test_a_range_with_cuts_that_cannot_be_told_is_not_within_anything():
    y, score, group, _ = draw(3, n=400, levels=None)
    scores = table_of(y, score, group)
    [gap] = RateConstraint("precision", cuts=Cuts(between=(0.02, 0.5))).estimates(scores)
    assert gap.high == 1.0
    assert "too few people" in " ".join(gap.warnings)


def test_everybody_alike_on_one_side_warns_of_nothing():
    """All positives of both groups above every cut: no noise at all, and no division by zero."""
    y = np.repeat([0, 1], 200)
    score = np.concatenate([np.arange(200.0), np.full(200, 1e3)])
    scores = table_of(y, score, np.tile([0, 1], 200))
    [gap] = RateConstraint("fnr", cuts=Cuts(between=(0.6, 0.9))).estimates(scores)
    assert gap.value == 0.0
    assert -0.05 < gap.low <= 0.0 <= gap.high < 0.05


def test_bridges_spread_as_the_rates_of_samples_do():
    """Covariances between cuts, rates and pairs, against those over many samples."""
    rng = np.random.default_rng(0)
    n, cuts = 2_000, np.array([0.3, 0.8, 1.5])
    rates = [CATALOGUE[name] for name in ("fpr", "error", "precision")]
    seen, last = [], None
    for _ in range(250):
        y, group = rng.integers(0, 2, (2, n))
        ladder = ladder_of(y, rng.normal(size=n) + y, group)
        steps = np.array([ladder.step_at(t, inclusive=False) for t in cuts[::-1]])
        at = ladder.selected(steps)
        values = [rate.values(at.weight, ladder.scores.cell_weights) for rate in rates]
        seen.append(np.concatenate([value[:, 0] - value[:, 1] for value in values]))
        last = Bridges(ladder, steps)
    noise = np.concatenate([last.of(rate, (0, 1)).noise for rate in rates])
    spread = np.concatenate([last.of(rate, (0, 1)).spread for rate in rates])
    assert noise.shape == (9, DRAWS)
    np.testing.assert_allclose(noise.std(axis=1), spread, rtol=0.07)
    np.testing.assert_allclose(np.std(seen, axis=0), spread, rtol=0.15)
    np.testing.assert_allclose(np.corrcoef(noise), np.corrcoef(np.array(seen).T), atol=0.2)


def test_maxima_between_cuts_are_those_of_a_finer_grid():
    rng = np.random.default_rng(1)
    y, group = rng.integers(0, 2, (2, 30_000))
    ladder = ladder_of(y, rng.normal(size=30_000) + y, group)
    rate, quantiles = CATALOGUE["fpr"], {}
    for cuts in (20, 1_500):
        bridges = Bridges(ladder, grid_steps(ladder, 3_000, 12_000, cuts), 5)
        found = bridges.of(rate, (0, 1))
        size = found.studentised()
        quantiles[cuts] = np.quantile(size.max(axis=0), (0.5, 0.9))
        largest = bridges.largest_between(size, found.stream)
        quantiles[cuts, "between"] = np.quantile(largest, (0.5, 0.9))
    np.testing.assert_allclose(quantiles[20, "between"], quantiles[1_500], atol=0.12)
    assert (quantiles[1_500] - quantiles[20] > 0.1).all()
    assert (quantiles[20, "between"] - quantiles[20] > 0.1).all()


@given(st.integers(2, 200), st.integers(0, 10**6))
def test_a_grid_holds_both_ends(cuts, seed):
    ladder = ladder_of(*draw(seed, n=100, levels=12))
    first, last = sorted(np.random.default_rng(seed).integers(1, ladder.n_steps, 2).tolist())
    steps = grid_steps(ladder, first, last, cuts)
    assert (steps[0], steps[-1]) == (first, last)
    assert (np.diff(steps) > 0).all()


def test_quantiles_of_maxima_go_on_beyond_the_draws():
    one = np.sort(np.abs(np.random.default_rng(0).normal(size=1_500)))
    found = [band_quantile(one, z) for z in (0.5, 1.0, 2.0, 3.0, 5.0, 8.0)]
    assert (np.diff(found) > 0.0).all()
    assert all(q >= z for q, z in zip(found, (0.5, 1.0, 2.0, 3.0, 5.0, 8.0), strict=True))
    assert found[-1] < 9.0
    assert band_quantile(np.zeros(1_500), 3.0) >= 3.0


def test_names_and_places_of_groups_change_no_random_number():
    """Intervals and certificates of three groups are the same in any order of the groups."""
    rng = np.random.default_rng(3)
    n = 900
    y, group = rng.integers(0, 2, n), rng.choice(3, n, p=(0.5, 0.3, 0.2))
    score = rng.normal(size=n) + y + 0.3 * group
    family = RateConstraint("fpr", "fnr", "selection", cuts=Cuts(between=(0.1, 0.5)))
    found = []
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        table = table_of(y, score, group, group_order=order)
        ladder = family.cuts.ladder(table)
        band = certify_rates(
            ladder, family.entries, family.cuts.steps(ladder), tolerance=0.2, method="band"
        )
        sizes = {}
        for gap in family.estimates(table):
            ends = sorted([abs(gap.low), abs(gap.high)])
            sizes[gap.name, frozenset((gap.first, gap.second))] = (abs(gap.value), *ends)
        found.append((sizes, band.reach, band.certified))
    for sizes, reach, certified in found[1:]:
        assert sizes.keys() == found[0][0].keys()
        for key, ends in sizes.items():
            assert ends == pytest.approx(found[0][0][key], abs=1e-6)
        assert reach == pytest.approx(found[0][1], abs=1e-6)
        assert certified == found[0][2]
