import numpy as np
import pytest
from scipy.stats import ks_2samp, permutation_test
from support.making import draw, often

from evenscore import GroupedScores
from evenscore.inference import permutation_tests
from evenscore.paper.laws import credit_law


def make(y, score, group, weight=None):
    return GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)


def negatives(one, two, weight=None):
    score = np.concatenate([one, two])
    return make(np.zeros(len(score), int), score, np.repeat([0, 1], [len(one), len(two)]), weight)


@pytest.mark.parametrize("levels", [False, True])
def test_statistics_and_p_values_agree_with_scipy(levels):
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=60), rng.normal(0.35, 1, size=50)
    if levels:
        one, two = np.round(one * 2), np.round(two * 2)

    def centred_auc(x, y, axis=-1):
        above = y[..., None, :] > x[..., :, None]
        equal = y[..., None, :] == x[..., :, None]
        return np.abs((above + 0.5 * equal).mean(axis=(-2, -1)) - 0.5)

    theirs = permutation_test(
        (one, two), centred_auc, n_resamples=4000, alternative="greater", vectorized=True,
        batch=200, random_state=np.random.default_rng(1),
    )  # fmt: skip
    [ours] = permutation_tests(
        negatives(one, two), on="negatives", statistic="auc", n_permutations=4000
    )
    assert ours.value == pytest.approx(theirs.statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue, abs=0.02)
    [ks] = permutation_tests(negatives(one, two), on="negatives", n_permutations=4000)
    assert ks.value == pytest.approx(ks_2samp(one, two).statistic)
    if not levels:
        assert ks.p_value == pytest.approx(ks_2samp(one, two).pvalue, abs=0.02)


@pytest.mark.parametrize("statistic", ["auc", "supremum"])
@pytest.mark.parametrize("levels", [None, 10])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_level_is_kept(statistic, levels, weighted):
    """A small version of benchmarks/coverage.py: 5 % within three standard errors."""
    law = credit_law() if levels is None else credit_law().discretised(levels)
    rng = np.random.default_rng(3)
    rejected = 0
    n = often(200)
    for _ in range(n):
        score = law.mixture_quantile(law.negatives(0), 1 - rng.random(120))
        weight = rng.gamma(2.0, size=120) if weighted else None
        [test] = permutation_tests(
            negatives(score[:70], score[70:], weight), on="negatives", statistic=statistic,
            n_permutations=99, random_state=rng,
        )  # fmt: skip
        rejected += test.p_value <= 0.05
    assert rejected / n <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / n)
    assert rejected / n >= 0.005  # a lattice of ties makes the test a little cautious


def test_a_difference_is_found():
    score, y, group = credit_law().sample(3000, 0)
    negative, positive = permutation_tests(make(y, score, group))
    assert (negative.on, positive.on) == ("negatives", "positives")
    assert negative.p_value > 0.01
    assert positive.p_value == pytest.approx(1 / 1000)
    assert positive.is_bound
    assert not negative.is_bound
    assert positive.adjusted_p_value == pytest.approx(2 / 1000)


def test_many_distinct_scores_are_cut_into_classes():
    rng = np.random.default_rng(0)
    scores = negatives(rng.normal(size=20_000), rng.normal(0.05, 1, size=15_000))
    [test] = permutation_tests(scores, on="negatives", n_permutations=99)
    assert test.p_value == pytest.approx(0.01)


def test_ties_of_the_supremum_are_broken_by_the_auc():
    """Among splits with the same supremum, those with a larger shift count as more extreme."""
    from itertools import combinations

    one, two = np.array([1.0, 2.0, 3.0, 6.0]), np.array([4.0, 5.0, 7.0, 8.0])
    pooled = np.sort(np.concatenate([one, two]))

    def pair(second):
        first = np.setdiff1d(pooled, second)
        sup = max(abs(np.mean(first <= t) - np.mean(second <= t)) for t in pooled)
        return round(sup, 9), round(abs(np.mean(second[None] > first[:, None]) - 0.5), 9)

    observed = pair(two)
    splits = [pair(np.array(c)) for c in combinations(pooled, 4)]
    exact = np.mean([s >= observed for s in splits])
    without = np.mean([s[0] >= observed[0] for s in splits])
    assert exact < without
    [test] = permutation_tests(negatives(one, two), on="negatives", n_permutations=20_000)
    assert test.p_value == pytest.approx(exact, abs=0.01)


def test_weights_come_with_a_warning():
    scores = negatives(np.arange(20.0), np.arange(30.0), np.linspace(1, 2, 50))
    [test] = permutation_tests(scores, on="negatives", n_permutations=9)
    assert "weights are distributed alike" in test.warnings[0]


def test_too_many_people():
    table = {"score": [1, 2, 1, 2], "label": [0] * 4, "group": list("aabb"), "n": [4e8] * 4}
    scores = GroupedScores.from_table(table, count="n")
    with pytest.raises(ValueError, match="fewer than 10\\^9 people"):
        permutation_tests(scores, on="negatives", n_permutations=9)


def test_several_groups_and_an_empty_cell():
    y, score, group, _ = draw(4, n_groups=3)
    keep = ~((y == 1) & (group == 2))
    found = permutation_tests(make(y[keep], score[keep], group[keep]), n_permutations=49)
    assert len(found) == 6
    assert [test.reason for test in found[3:]] == [
        None,
        "there are no positives of 2",
        "there are no positives of 2",
    ]
    assert np.isnan(found[-1].adjusted_p_value)


def test_bad_arguments():
    scores = make(*draw(0))
    with pytest.raises(ValueError, match="statistic must be"):
        permutation_tests(scores, statistic="mean")
    for bad in (0, 2.5, None):
        with pytest.raises(ValueError, match="n_permutations"):
            permutation_tests(scores, n_permutations=bad)
