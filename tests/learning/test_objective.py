import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.making import draw

from evenscore import AucConstraint, RocConstraint, constraint_names, metrics
from evenscore.gaps import as_constraints
from evenscore.gaps.smooth import smooth_cells
from evenscore.learning.objective import Objective, standardise


def make(constraints, n_groups=2, weights=None, n=60, seed=3, levels=None, **options):
    y, score, group, weight = draw(seed, n=n, n_groups=n_groups, weights=weights, levels=levels)
    objective = Objective(
        y == 1, group, n_groups, as_constraints(constraints), weight=weight, **options
    )
    return objective, score, (y, group, weight)


def surrogates(objective, score):
    """AUC and all gaps with their slopes, in a column per person."""
    found = objective.linearised(score, np.arange(len(objective.terms)))
    return found.auc, found.gaps, (found.placed @ found.slopes.T).T


def check_slopes(objective, score, error=5e-5):
    """Central differences of 1 − AUC and of every gap, in every score, relative to the largest."""

    def values(score):
        found = objective.linearised(score, np.zeros(0, dtype=np.intp))
        return np.concatenate([[1.0 - found.auc], found.gaps])

    slopes, h = surrogates(objective, score)[2], 1e-5
    columns = [
        (values(score + h * e) - values(score - h * e)) / (2 * h) for e in np.eye(len(score))
    ]
    for own, expected in zip(slopes, np.array(columns).T, strict=True):
        scale = np.abs(expected).max()
        assert scale > 1e-4
        np.testing.assert_allclose(own / scale, expected / scale, rtol=0, atol=error)
        assert abs(own.sum()) < error * scale  # shifting all scores changes nothing


ROC = RocConstraint(rates=(0.125, 0.6))
MIXTURES = {
    "roc": [ROC],
    "roc-negatives": [RocConstraint(on="negatives", rates=(0.25, 0.75))],
    "interval": [RocConstraint(on="positives", interval=(0.2, 0.3), n_rates=3)],
    "both kinds": ["inter_group", ROC, "pair_error"],
    "mixtures": [
        AucConstraint.from_mixtures([0.5, 0.5, 0, 0], [0, 0, 1, 0], [0.5, 0.5, 0, 0], [0, 0, 0, 1]),
        AucConstraint.from_gap_weights([1, -1, 0.5, 0, 2]),
    ],
    "none": [],
}


@pytest.mark.parametrize("weights", [None, "real"])
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("name", constraint_names())
def test_slopes_of_auc_constraints(name, n_groups, weights):
    objective, score, _ = make(name, n_groups, weights, n=30)
    check_slopes(objective, score)


@pytest.mark.parametrize("weights", [None, "real"])
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("case", MIXTURES)
def test_slopes_of_mixtures(case, n_groups, weights):
    objective, score, _ = make(MIXTURES[case], n_groups, weights, n=30)
    check_slopes(objective, score)


def test_slopes_with_tied_scores_and_guards():
    objective, score, _ = make(MIXTURES["both kinds"], levels=10, n=40, guards=True)
    check_slopes(objective, score, error=1e-4)


@pytest.mark.parametrize("bandwidth", [0.05, 1.0])
def test_slopes_at_other_bandwidths(bandwidth):
    objective, score, _ = make(MIXTURES["both kinds"], n=40, bandwidth=bandwidth)
    check_slopes(objective, score, error=1e-4)


def test_slopes_of_some_gaps_are_those_of_all():
    objective, score, _ = make(MIXTURES["both kinds"], n_groups=3, weights="real")
    every = objective.linearised(score, np.arange(len(objective.terms)))
    some = np.array([0, 3, len(objective.terms) - 1])
    part = objective.linearised(score, some)
    np.testing.assert_array_equal(part.slopes, every.slopes[np.r_[0, 1 + some]])
    np.testing.assert_array_equal(part.gaps, every.gaps)
    np.testing.assert_allclose(part.placed.sum(axis=1), objective.share)


# ---------------------------------------------------------------------- the value


def sigma(x):
    return 0.5 * (1 + math.tanh(x / 2))


@pytest.mark.parametrize("weights", [None, "real"])
def test_the_auc_is_the_mean_over_pairs(weights):
    objective, score, (y, _, weight) = make([], n_groups=3, weights=weights)
    weight = np.ones(len(y)) if weight is None else weight
    won = total = 0.0
    for i in np.flatnonzero(y == 0):
        for j in np.flatnonzero(y == 1):
            won += weight[i] * weight[j] * sigma((score[j] - score[i]) / 0.3)
            total += weight[i] * weight[j]
    auc, gaps, _ = surrogates(objective, score)
    assert auc == pytest.approx(won / total, abs=1e-7)
    assert gaps.shape == (0,)


@pytest.mark.slow
@pytest.mark.parametrize(("n_groups", "weights"), [(2, None), (3, "real")])
def test_surrogate_auc_gaps_tend_to_the_strict_ones(n_groups, weights):
    errors = []
    for bandwidth in (0.5, 0.05, 1e-3):
        objective, score, _ = make(constraint_names(), n_groups, weights, bandwidth=bandwidth)
        found = objective.linearised(score, np.zeros(0, dtype=np.intp))
        strict = objective.strict(score)
        errors.append(max(np.abs(found.gaps - strict.gaps).max(), abs(found.auc - strict.auc)))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.01


def test_surrogate_roc_gaps_tend_to_the_difference_at_the_common_threshold():
    """Not to the strict gap, cut in the first group: that is so only where both are zero."""
    constraint = RocConstraint(rates=(0.2, 0.5, 0.7))
    objective, score, (y, group, _) = make(constraint, n=2000, bandwidth=1e-3)
    found = surrogates(objective, score)[1]
    for k, (label, rate) in enumerate((c, r) for c in (0, 1) for r in (0.2, 0.5, 0.7)):
        one, two = (np.sort(score[(y == label) & (group == g)]) for g in (0, 1))
        means = [(np.mean(one > t) + np.mean(two > t)) / 2 for t in score]
        t = score[np.argmin(np.abs(np.array(means) - rate))]
        assert found[k] == pytest.approx(np.mean(two > t) - np.mean(one > t), abs=6e-3)
    alike = np.where(group == 1, score - 0.3 * (1 - 0.5 * y), score)  # groups of the same law
    strict = objective.strict(alike).gaps
    near = surrogates(objective, alike)[1]
    np.testing.assert_allclose(near, strict, atol=0.02)
    assert np.all(np.sign(objective.strict(score).gaps) == np.sign(found))


@pytest.mark.parametrize("levels", [None, 10])
@pytest.mark.parametrize("weights", [None, "real"])
def test_strict_is_what_the_metrics_give(levels, weights):
    constraints = [*constraint_names(), RocConstraint(rates=(0.125, 0.5))]
    objective, score, (y, group, weight) = make(constraints, weights=weights, levels=levels)
    common = dict(sensitive_features=group, sample_weight=weight)
    strict = objective.strict(score)
    signed = dict(signed=True, group_order=[0, 1])
    expected = [
        metrics.auc_gap(y, score, constraint=c, **common, **signed) for c in constraint_names()
    ]
    sizes = [
        metrics.roc_gap(y, score, on=on, rate=rate, **common)
        for on in ("negatives", "positives")
        for rate in (0.125, 0.5)
    ]
    np.testing.assert_allclose(strict.gaps[: len(expected)], expected, atol=1e-13)
    np.testing.assert_allclose(np.abs(strict.gaps[len(expected) :]), sizes, atol=1e-13)
    assert strict.auc == pytest.approx(metrics.auc_matrix(y, score, **common).overall, abs=1e-14)


def test_scores_alike_in_both_groups_have_no_gaps():
    rng = np.random.default_rng(0)
    y, score = np.tile([0, 1], 40), rng.normal(size=80)
    objective = Objective(
        np.tile(y, 2) == 1, np.repeat([0, 1], 80), 2, as_constraints(MIXTURES["both kinds"])
    )
    np.testing.assert_allclose(surrogates(objective, np.tile(score, 2))[1], 0.0, atol=1e-10)


# ---------------------------------------------------------------------- thresholds


@pytest.mark.parametrize("bandwidth", [0.02, 0.3, 3.0])
@pytest.mark.parametrize("levels", [None, 10])
@pytest.mark.parametrize("weights", [None, "real"])
def test_at_the_threshold_the_mean_rate_is_the_rate(weights, levels, bandwidth):
    y, score, group, weight = draw(6, n=120, weights=weights, levels=levels)
    cell = group + 2 * y
    weight = np.ones(len(y)) if weight is None else weight
    share = weight / np.bincount(cell, weights=weight)[cell]
    rates = np.array([0.001, 0.01, 0.125, 0.5, 0.8, 0.99])
    smooth = smooth_cells(score, cell, share, np.ones((2, 2)), bandwidth)
    gaps = iter(RocConstraint(rates=rates).surrogate(smooth).gaps)
    for first, second in ((0, 1), (2, 3)):
        mixture = 0.5 * np.isin(np.arange(4), (first, second))
        [thresholds] = smooth.thresholds(mixture[None], rates)
        for t, rate in zip(thresholds, rates, strict=True):
            gap = next(gaps)
            above = [
                math.fsum(share[k] * sigma((score[k] - t) / bandwidth) for k in members)
                for members in (np.flatnonzero(cell == first), np.flatnonzero(cell == second))
            ]
            assert sum(above) / 2 == pytest.approx(rate, abs=1e-6)
            assert gap == pytest.approx(above[1] - above[0], abs=2e-6)


def test_a_threshold_between_far_clusters():
    """Where the smoothed distributions are flat any threshold between will do, none far away."""
    score = np.repeat([0.0, 40.0], 40) + np.tile(np.linspace(0, 1, 40), 2)
    y, group = np.ones(80, dtype=bool), np.tile([0, 1], 40)
    y[:2] = False
    objective = Objective(y, group, 2, [RocConstraint(on="positives", rates=(0.5,))])
    _, gaps, slopes = surrogates(objective, score)
    assert np.all(np.isfinite(slopes))
    assert abs(gaps[0]) < 0.1


# ---------------------------------------------------------------------- standard errors


@pytest.mark.slow
def test_standard_errors_of_roc_gaps_of_groups_alike():
    """Seconds: a simulation of standard errors."""
    rng = np.random.default_rng(0)
    rates = (0.1, 0.25, 0.5)
    # Large cells: of few people the larger of the two ways round varies more.
    cell = np.repeat(np.arange(4), [4800, 2400, 1920, 3200])
    positive, codes = cell >= 2, cell % 2
    objective = Objective(positive, codes, 2, [RocConstraint(rates=rates)])
    found = []
    for _ in range(500):
        found.append(objective.strict(rng.normal(size=len(cell)) + positive).gaps)
    np.testing.assert_allclose(np.std(found, axis=0), objective.standard_errors(), rtol=0.15)


def test_standard_errors_count_a_weight_of_two_as_two_observations():
    rng = np.random.default_rng(0)
    cell, weight = np.tile(np.arange(4), 30), rng.integers(1, 4, 120).astype(float)
    constraints = as_constraints(["intra_group", RocConstraint(rates=(0.25,))])

    def errors(cell, weight):
        return Objective(cell >= 2, cell % 2, 2, constraints, weight=weight).standard_errors()

    repeated = errors(np.repeat(cell, weight.astype(int)), None)
    np.testing.assert_allclose(errors(cell, weight), repeated, rtol=1e-12)
    # Weights that add up to less than the number of rows say nothing of how many there are.
    np.testing.assert_allclose(errors(cell, np.full(120, 1e-3)), errors(cell, None), rtol=1e-12)


def test_standard_error_of_an_auc_gap_of_uninformative_scores():
    rng = np.random.default_rng(0)
    cell = np.repeat(np.arange(4), [60, 90, 50, 70])
    objective = Objective(cell >= 2, cell % 2, 2, as_constraints("intra_group"))
    found = [objective.strict(rng.normal(size=len(cell))).gaps[0] for _ in range(600)]
    assert objective.standard_errors()[0] == pytest.approx(np.std(found), rel=0.1)


# ---------------------------------------------------------------------- borders


def test_weights_are_repetitions():
    objective, score, (y, group, weight) = make(MIXTURES["both kinds"], weights="integer")
    times = weight.astype(int)
    again = Objective(
        np.repeat(y, times) == 1, np.repeat(group, times), 2, objective.terms.families
    )
    one, two = surrogates(objective, score), surrogates(again, np.repeat(score, times))
    assert one[0] == pytest.approx(two[0], abs=1e-10)
    np.testing.assert_allclose(one[1], two[1], atol=1e-10)
    ends = np.cumsum(times) - 1
    np.testing.assert_allclose(one[2], two[2][:, ends] * times, atol=1e-10)
    np.testing.assert_allclose(
        objective.strict(score).gaps, again.strict(np.repeat(score, times)).gaps, atol=1e-12
    )


def test_a_bandwidth_must_be_positive():
    for bad in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="bandwidth must be above 0"):
            Objective(np.array([True, False]), np.array([0, 0]), 1, bandwidth=bad)


def test_an_empty_cell_makes_the_gaps_that_need_it_nan():
    y = np.array([0, 1, 0, 1, 0, 0])
    group = np.array([0, 0, 1, 1, 2, 2])  # no positives of group 2
    score = np.array([0.1, 0.9, 0.3, 0.5, 0.2, 0.6])
    constraints = [
        "zero_aeg_negatives",
        "bnsp",
        RocConstraint(rates=(0.5,)),
        AucConstraint.from_gap_weights([1, 1, 1, 1, 1]),
    ]
    objective = Objective(y == 1, group, 3, as_constraints(constraints))
    found = objective.linearised(score, np.zeros(0, dtype=np.intp))
    strict = objective.strict(score)
    np.testing.assert_array_equal(np.isnan(found.gaps), np.isnan(strict.gaps))
    assert np.isnan(strict.gaps).sum() == 6
    assert np.isfinite(found.auc)
    roc = objective.terms.parts[2]
    assert np.isnan(objective.standard_errors()[roc][np.isnan(strict.gaps)[roc]]).all()


def test_groups_without_constraints_may_lack_a_class():
    y, group = np.array([0, 1, 0, 1, 0]), np.array([0, 0, 1, 1, 2])
    objective = Objective(y == 1, group, 3)
    score = np.array([0.0, 1.0, 0.5, 2.0, -1.0])
    check_slopes(objective, score)


# ---------------------------------------------------------------------- standardised scores


def random_shares(rng, n):
    share = rng.gamma(1.0, size=n)
    return share / share.sum()


@given(st.integers(2, 30), st.integers(0, 10_000), st.sampled_from([1e-6, 1.0, 1e8]))
def test_mean_zero_and_deviation_one(n, seed, size):
    rng = np.random.default_rng(seed)
    share = random_shares(rng, n)
    found = standardise(size * rng.normal(size=n) + 3.0 * size, share)
    assert share @ found.score == pytest.approx(0.0, abs=1e-12)
    assert share @ found.score**2 == pytest.approx(1.0)


def test_the_scale_undoes_it():
    rng = np.random.default_rng(0)
    raw, share = rng.normal(size=20), random_shares(rng, 20)
    found = standardise(raw, share)
    np.testing.assert_allclose(found.score * found.scale + found.mean, raw, atol=1e-14)


@pytest.mark.parametrize("constant", [0.0, 1.0, -1e9, 0.1])
def test_constant_scores_become_zero(constant):
    share = np.full(7, 1 / 7)
    found = standardise(np.full(7, constant), share)
    assert np.all(found.score == 0.0)
    assert found.scale == 1.0
