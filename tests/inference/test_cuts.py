"""Rates at a cut with intervals, calibration and paired ROC gaps: closed forms and coverage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm
from support.binning import binned_rows, drawn_rows
from support.making import draw, often, table_of

from evenscore import GroupedScores, RocConstraint
from evenscore.gaps import EstimateSettings
from evenscore.inference import calibration_by_group, cut_table, rate_difference_estimates
from evenscore.inference.cuts import _at, ratio_limits, ratio_table
from evenscore.inference.intervals import wilson
from evenscore.inference.paired import PairedScores
from evenscore.inference.shares import share_size
from evenscore.scores.brackets import selected_between
from evenscore.scores.reading import read_rows


def test_intervals_are_wilsons():
    y, score, group, _ = draw(1, n=300, levels=None)
    scores = table_of(y, score, group)
    table = cut_table(scores, [0.3, -0.5], confidence_level=0.9)
    for t, cut in enumerate(table.thresholds):
        for k in range(2):
            own = group == k
            for name, inside, event in (
                ("selection_rate", own, score > cut),
                ("fpr", own & (y == 0), score > cut),
                ("fnr", own & (y == 1), score <= cut),
                ("precision", own & (score > cut), y == 1),
            ):
                n, hits = int(inside.sum()), int((inside & event).sum())
                found = getattr(table, name)
                limits = binomtest(hits, n).proportion_ci(0.9, method="wilson")
                assert found.value[t, k] == hits / n
                assert found.low[t, k] == pytest.approx(limits.low, abs=1e-9)
                assert found.high[t, k] == pytest.approx(limits.high, abs=1e-9)


def test_weights_shrink_the_effective_size():
    y, score, group, weight = draw(2, n=300, levels=None, weights="real")
    plain, weighted, doubled = (
        cut_table(table_of(y, score, group, w), [0.0]) for w in (None, weight, 2 * weight)
    )
    for name in ("selection_rate", "fpr", "fnr", "precision"):
        one, two, three = (getattr(table, name) for table in (plain, weighted, doubled))
        assert np.all(two.high - two.low > one.high - one.low)
        np.testing.assert_allclose(two.low, three.low)
    chosen = (score > 0.0) & (group == 0)
    w, x = weight[chosen], y[chosen] == 1
    p, z = w[x].sum() / w.sum(), 1.959964
    # Wilson's formula, with n a little below p(1 − p)/V of the variance V of the weighted share.
    size = p * (1 - p) * w.sum() ** 2 / np.sum(w**2 * (x - p) ** 2)
    sums = [np.array([w[side].sum(), np.square(w[side]).sum(), side.sum()]) for side in (x, ~x)]
    own = [weight[(group == 0) & (y == label)] for label in (1, 0)]
    n = float(share_size(*sums, z, typical=np.array([np.sum(v**2) / np.sum(v) for v in own])))
    assert 0.8 * size < n < size
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    assert weighted.precision.low[0, 0] == pytest.approx(middle - half, abs=1e-6)


def weighted_by_outcome(seed, n=2400):
    """People whose weight depends on the class and on the score, and what is true of them."""
    rng = np.random.default_rng(seed)
    y, group = (rng.uniform(size=n) < 0.1).astype(int), rng.integers(0, 2, n)
    score = rng.uniform(size=n)
    weight = rng.uniform(0.5, 1.5, n) * np.where(y == 1, 3.0, 1.0) * np.where(score > 0.7, 4.0, 1.0)
    # Score and class are independent: one in ten is positive and weighs three times as much.
    return (y, score, group, weight), {"precision": 0.25, "fpr": 4 * 0.3 / (4 * 0.3 + 0.7)}


def test_intervals_cover_with_weights_that_depend_on_the_outcome():
    inside = {"precision": 0, "fpr": 0, "fnr": 0, "selection_rate": 0, "calibration": 0, "gap": 0}
    kish = runs = often(100)
    for seed in range(runs):
        (y, score, group, weight), true = weighted_by_outcome(seed)
        true |= {"selection_rate": true["fpr"], "fnr": 1.0 - true["fpr"]}
        scores = table_of(y, score, group, weight)
        table = cut_table(scores, [0.7])
        for name, value in true.items():
            found = getattr(table, name)
            inside[name] += np.mean((found.low <= value) & (value <= found.high))
        found = calibration_by_group(scores, n_bins=2).positives
        inside["calibration"] += np.mean((found.low <= 0.25) & (found.high >= 0.25))
        estimates = rate_difference_estimates(scores, 0.7, ["fpr", "error"])
        inside["gap"] += np.mean([e.low <= 0.0 <= e.high for e in estimates])
        chosen = (score > 0.7) & (group == 0)
        size = weight[chosen].sum() ** 2 / np.square(weight[chosen]).sum()
        low, high = wilson(table.precision.value[0, 0], size, 1.959964)
        kish -= bool(low <= true["precision"] <= high)
    for name, hits in inside.items():
        assert 0.9 < hits / runs < 0.995, (name, hits / runs)
    assert kish / runs > 0.08  # misses of the size (Σw)²/Σw², which does not know of the outcome


def sides(x, weight):
    """Sums of weights, squares and ones inside and outside shares, along the last axis."""
    return [
        np.stack([np.sum(side * weight**power, axis=-1) for power in (1, 2, 0)]) for side in (x, ~x)
    ]


def test_a_share_of_none_or_all_has_kishs_size():
    weight = np.array([1.0, 1.0, 1.0, 1.0, 6.0])
    nobody = np.zeros(5, dtype=bool)
    for x in (nobody, ~nobody):
        size = float(share_size(*sides(x, weight), 1.96))
        assert 0.3 * 2.5 < size <= 2.5  # Kish's is 100/40; weights that vary take some of it
    same = 3.0 * np.ones(5)
    for x in (nobody, ~nobody):
        assert float(share_size(*sides(x, same), 1.96)) == pytest.approx(5.0)
    assert share_size(np.zeros(3), np.zeros(3), 1.96) == 0.0


def test_classes_that_are_missing_weigh_what_they_weigh_elsewhere():
    y, score = np.arange(200) % 4 == 0, np.arange(200.0)
    weight, group = np.where(y, 5.0, 1.0), np.repeat([0, 1], 100)
    y[-20:], weight[-20:] = False, 1.0  # nobody of the highest is positive
    scores = table_of(y, score, group, weight)
    found = cut_table(scores, [179.5]).precision
    # As good as 20/5 people: one positive among them would have weighed five times as much.
    assert found.value[0, 1] == 0.0
    assert found.high[0, 1] == pytest.approx(float(wilson(0.0, 4.0, 1.959964)[1]), abs=1e-6)
    bins = calibration_by_group(scores, n_bins=20)
    assert bins.positives.value[-1, 1] == 0.0
    size = bins.weight[-1, 1] / 5.0
    expected = float(wilson(0.0, size, 1.959964)[1])
    assert bins.positives.high[-1, 1] == pytest.approx(expected, abs=1e-6)


def test_equal_weights_are_the_number_of_people_and_large_samples_the_variance():
    rng = np.random.default_rng(0)
    x = rng.random(40) < 0.3
    assert float(share_size(*sides(x, np.full(40, 0.1)), 1.96)) == pytest.approx(40.0)
    x = rng.random(400_000) < 0.3
    weight = rng.gamma(2.0, size=len(x)) * np.where(x, 3.0, 1.0)
    p = weight[x].sum() / weight.sum()
    size = p * (1 - p) * weight.sum() ** 2 / np.sum(weight**2 * (x - p) ** 2)
    assert float(share_size(*sides(x, weight), 1.96)) == pytest.approx(size, rel=1e-3)


@pytest.mark.parametrize(("n", "p", "heavy"), [(25, 0.8, 1.0), (60, 0.97, 3.0)])
def test_weighted_shares_of_few_people_cover(n, p, heavy):
    """p(1 − p)/V alone misses a truth in one of ten samples here; see benchmarks/coverage.py."""
    rng, z = np.random.default_rng(1), 1.959964
    x = rng.random((4000, n)) < p
    weight = rng.gamma(2.0, size=x.shape) * np.where(x, heavy, 1.0)
    truth = p * heavy / (p * heavy + 1.0 - p)
    inside, outside = sides(x, weight)
    share = inside[0] / (inside[0] + outside[0])
    low, high = wilson(share, share_size(inside, outside, z), z)
    assert 0.94 < np.mean((low <= truth) & (truth <= high)) < 0.995


def test_the_excess_allows_for_the_mean_score():
    """Nobody is positive below one half: the share is known, the mean score of the bin is not."""
    rng, held = np.random.default_rng(2), 0
    for _ in range(150):
        score, group = rng.random(400), rng.integers(0, 2, 400)
        y = (score > 0.5) & (rng.random(400) < score)
        scores = table_of(y, score, group)
        found = calibration_by_group(scores, n_bins=3)
        assert found.positives.value[0].tolist() == [0.0, 0.0]
        truth = -found.edges[1] / 2.0
        held += np.mean((found.excess.low[0] <= truth) & (truth <= found.excess.high[0]))
    assert held / 150 > 0.92


def test_four_fifths_is_told_by_the_interval():
    def note(*shares, n=400):
        y, score, group = [], [], []
        for k, share in enumerate(shares):
            chosen = np.arange(n) < share * n
            y += [0, 1] * (n // 2)
            score += chosen.tolist()
            group += [f"g{k}"] * n
        scores = table_of(y, score, group)
        ratio = cut_table(scores, [0.5]).impact_ratio
        assert f"interval {ratio.low[0]:.2f} to {ratio.high[0]:.2f}" in ratio.notes[0]
        return ratio.notes[0]

    unclear = "cannot tell"
    assert note(0.25, 0.5).endswith(", below four fifths")
    assert note(0.5, 0.5 + 1 / 400, n=4000).endswith(", not below four fifths")
    assert unclear in note(0.36, 0.5)
    # Among more groups the same two shares show less.
    assert note(0.335, 0.5).endswith(", below four fifths")
    crowd = note(0.335, 0.5, *[0.42] * 8)
    assert "45 pairs" in crowd
    assert unclear in crowd


def test_a_group_of_two_does_not_hide_who_is_below_four_fifths():
    y, group = [0, 1] * 401, ["a"] * 400 + ["b"] * 400 + ["few"] * 2
    score = [1] * 100 + [0] * 300 + [1] * 200 + [0] * 202
    scores = table_of(y, score, group)
    [note] = cut_table(scores, [0.5]).impact_ratio.notes
    for part in ("few is 0.00 times that of b", "a is 0.50 times that of b", "all 3 pairs"):
        assert part in note
    assert note.endswith("below four fifths")
    [note] = cut_table(scores, [0.5], burden=True).impact_ratio.notes
    assert "four fifths" not in note


def test_nobody_selected_has_no_ratio():
    y, score, group, _ = draw(3, n=50, levels=None)
    scores = table_of(y, score, group)
    table = cut_table(scores, [np.inf, -np.inf])
    assert np.isnan(table.impact_ratio.value[0])
    assert "nobody is selected" in table.impact_ratio.notes[0]
    assert table.impact_ratio.value[1] == 1.0
    assert "same rate" in table.impact_ratio.notes[1]
    assert np.isnan(table.precision.value[0]).all()


def test_ratio_limits():
    rng, z = np.random.default_rng(0), 1.959964
    p, q, n, runs = 0.1, 0.3, 60, 500
    inside = 0
    for one, two in rng.binomial(n, (p, q), (runs, 2)) / n:
        limits = [tuple(float(x) for x in wilson(s, n, z)) for s in (one, two)]
        low, high = ratio_limits((one, *limits[0]), (two, *limits[1]))
        inside += low <= p / q <= high
    assert inside / runs > 0.925
    assert ratio_limits((0.0, 0.0, 0.1), (0.5, 0.4, 0.6))[0] == 0.0
    assert ratio_limits((0.1, 0.0, 0.5), (0.1, 0.0, 0.5))[1] == np.inf


def test_calibration_refuses_nobody_and_bad_bins():
    scores = table_of([], [], [])
    with pytest.raises(ValueError, match="nobody"):
        calibration_by_group(scores)
    y, score, group, _ = draw(4, n=50)
    full = table_of(y, score, group)
    for bad in (0, 2.5, True):
        with pytest.raises(ValueError, match=f"n_bins.*{bad}"):
            calibration_by_group(full, n_bins=bad)


def paired(y, scores, group, rates, *, weight=None, n_resamples=400, random_state=0):
    rows = read_rows(y, group, sample_weight=weight)
    settings = EstimateSettings(n_resamples=n_resamples, random_state=random_state)
    return RocConstraint(rates=rates).paired(PairedScores(rows, scores), settings)


@pytest.mark.parametrize("weights", [None, "real"])
def test_paired_roc_gaps_are_differences_of_roc_gaps(weights):
    y, score, group, weight = draw(5, n=120, n_groups=3, levels=5, weights=weights)
    other = -score + np.arange(len(y)) % 3
    rates = [0.1, 0.5]
    found = iter(paired(y, (score, other), group, rates, weight=weight, n_resamples=20))
    one, two = (table_of(y, s, group, weight) for s in (score, other))
    for on in ("negatives", "positives"):
        for i, j in one.pairs():
            constraint = RocConstraint(on=on, rates=rates)
            gaps = [constraint.values(side, [(i, j)]) for side in (one, two)]
            for first, second in zip(*gaps, strict=True):
                both = next(found)
                assert both.difference.value == pytest.approx(first - second, abs=1e-9)
                assert both.total.value == pytest.approx(first + second, abs=1e-9)


def test_paired_roc_gap_intervals_cover():
    # Two scores of the same law, correlated: the true difference of their gaps is zero.
    rng = np.random.default_rng(1)
    n, found = 500, []
    for run in range(often(40)):
        y, group = rng.integers(0, 2, n), rng.integers(0, 2, n)
        latent = rng.normal(size=n) + y + 0.5 * group
        one, two = (latent + rng.normal(size=n) for _ in range(2))
        for both in paired(y, (one, two), group, (0.25, 0.5), n_resamples=100, random_state=run):
            found.append(both.difference.low <= 0.0 <= both.difference.high)
    assert 0.9 < np.mean(found) < 1.0


def test_paired_roc_gaps_need_every_cell():
    with pytest.raises(ValueError, match="no positives of b"):
        paired([False, True, False], (np.zeros(3), np.zeros(3)), list("aab"), [0.5])


def ratios_of(score, group, cut, **more):
    scores = table_of([0] * len(score), score, group, pos_label=1)
    return ratio_table(scores, [cut], **more)


def test_ratios_by_hand():
    """Selected are 10 of 40 of a, 30 of 60 of b and 3 of 4 of the small c."""
    score = [1] * 10 + [0] * 30 + [1] * 30 + [0] * 30 + [1] * 3 + [0]
    group = ["a"] * 40 + ["b"] * 60 + ["c"] * 4
    found = ratios_of(score, group, 0.5, compared=[0, 1])
    np.testing.assert_allclose(found.selection_rate.value, [[0.25, 0.5, 0.75]])
    assert found.against == ("b",)
    np.testing.assert_allclose(found.ratio.value, [[0.5, 1.0, 1.5]])
    assert found.selected_share[0] == pytest.approx(43 / 104)
    # The pair of the extremes is the impact ratio of a cut, with its interval.
    extremes = found.extremes
    assert (extremes.lowest, extremes.highest) == (("a",), ("b",))
    assert extremes.low[0] == found.ratio.low[0, 0]
    assert extremes.high[0] == found.ratio.high[0, 0]
    assert (found.ratio.low[0, 1], found.ratio.high[0, 1]) == (1.0, 1.0)
    against = ratios_of(score, group, 0.5, compared=[0, 1], reference=0)
    np.testing.assert_allclose(against.ratio.value, [[1.0, 2.0, 3.0]])
    everybody = ratios_of(score, group, 0.5)
    assert everybody.against == ("c",)
    # Over three pairs each interval is at a third of the level.
    z = float(norm.isf(0.025 / 3))
    one, two = ((s, *map(float, wilson(s, n, z))) for s, n in ((0.25, 40), (0.75, 4)))
    assert everybody.ratio.ends(0, 0)[1:] == pytest.approx(ratio_limits(one, two))


def test_ratios_of_nobody_and_of_zero():
    nobody = ratios_of([1, 2, 3, 4], list("aabb"), 9.0)
    assert np.isnan(nobody.ratio.value).all()
    zero = ratios_of([0] * 20 + [1] * 20, ["a"] * 20 + ["b"] * 20, 0.5, reference=0)
    assert np.isnan(zero.ratio.value).all()  # over a rate of zero there is no ratio
    other = ratios_of([0] * 20 + [1] * 20, ["a"] * 20 + ["b"] * 20, 0.5)
    assert other.ratio.ends(0, 0)[:2] == (0.0, 0.0)
    assert 0.0 < other.ratio.high[0, 0] < 0.5
    few = ratios_of([0, 1, 1, 0], list("aabb"), 0.5)
    assert few.ratio.high[0, 1] > 3.0


@pytest.mark.slow
def test_ratios_to_a_reference_cover():
    """With weights and clusters."""
    rng, runs, held = np.random.default_rng(5), often(150), 0
    group, rates = np.repeat([0, 1], 160), np.array([0.3, 0.4])
    cluster = np.arange(320) // 4
    for _ in range(runs):
        score = np.sqrt(0.5) * (rng.normal(size=320) + rng.normal(size=80)[cluster])
        weight = rng.gamma(2.0, size=320)
        above = score - norm.isf(rates)[group]
        scores = table_of(np.zeros(320), above, group, weight, cluster, pos_label=1)
        found = ratio_table(scores, [0.0], reference=1).ratio
        held += bool(found.low[0, 0] <= rates[0] / rates[1] <= found.high[0, 0])
    assert 0.95 - 2.5 * np.sqrt(0.05 * 0.95 / runs) < held / runs <= 1.0


@settings(max_examples=often(15))
@given(binned_rows(), st.sampled_from(["high", "low"]), st.booleans(), st.integers(0, 99))
def test_rates_and_ratios_at_a_threshold_within_a_bin_hold_those_of_the_rows(
    rows, side, inclusive, seed
):
    cuts = np.random.default_rng(seed).choice(rows.score, 3)
    exact, binned = (
        cut_table(table, cuts, side=side, inclusive=inclusive)
        for table in (rows.exact, rows.binned)
    )
    for name in ("selection_rate", "fpr", "fnr", "precision"):
        one, two = getattr(exact, name), getattr(binned, name)
        known = ~np.isnan(one.value) & ~np.isnan(two.value)
        assert np.all(one.value[known] >= two.low[known] - 1e-9)
        assert np.all(one.value[known] <= two.high[known] + 1e-9)
    one, two = (
        ratio_table(table, cuts, reference=0, side=side, inclusive=inclusive).ratio
        for table in (rows.exact, rows.binned)
    )
    known = ~np.isnan(one.value) & ~np.isnan(two.value)
    assert np.all(one.value[known] >= two.low[known] - 1e-9)
    assert np.all(one.value[known] <= two.high[known] + 1e-9)
    for gap, other in zip(
        rate_difference_estimates(rows.exact, cuts[0]),
        rate_difference_estimates(rows.binned, cuts[0]),
        strict=True,
    ):
        assert np.isnan(gap.value) or abs(gap.value - other.value) <= other.bracket + 1e-9
        assert np.isnan(gap.value) or other.low - 1e-9 <= gap.value <= other.high + 1e-9


def test_a_ratio_without_chance_is_between_the_extreme_ones_of_the_bin():
    """With very many people, the interval is that of the least over the most, and back."""
    rows = drawn_rows(n=400, level=2)
    weight = {"weight": np.full(400, 1e8), "count": np.full(400, 1e8)}
    binned = GroupedScores.from_bins(
        rows.bins, rows.bins.key(rows.score), rows.score, rows.score, rows.positive, rows.group,
        ("a", "b"), **weight,
    )  # fmt: skip
    cut = float(np.median(rows.score))
    least, most = (part.sum(axis=1)[0] for part in selected_between(binned, np.array([cut])))
    found = ratio_table(binned, [cut], reference=1).ratio
    assert found.low[0, 0] == pytest.approx(least[0] / most[1], rel=1e-3)
    assert found.high[0, 0] == pytest.approx(most[0] / least[1], rel=1e-3)
    # By hand: chance alone is from 0.05 below to 0.1 above, wherever the share is.
    within = np.array([[0.35]]), np.array([[0.45]])
    for at in (0.35, 0.4, 0.45):
        assert _at((0.4, 0.3, 0.55), at, within, 0, 0) == pytest.approx((at, at - 0.05, at + 0.1))
