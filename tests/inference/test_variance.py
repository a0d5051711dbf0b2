import numpy as np
import pytest
from conftest import draw

from evenscore import AucConstraint, GroupedScores, RocConstraint, constraint_names
from evenscore.datasets import SquareLaw, credit_law
from evenscore.inference import (
    auc_estimates,
    bootstrap,
    gap_estimates,
    paired_differences,
    placement_moments,
)
from evenscore.measures import auc_matrix


def make(y, score, group, weight=None):
    return GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)


def delong(h, g):
    """DeLong's variance of one AUC, by its definition: variances of the placements."""
    v10 = [np.mean((g > x) + 0.5 * (g == x)) for x in h]
    v01 = [np.mean((h < x) + 0.5 * (h == x)) for x in g]
    return np.var(v10, ddof=1) / len(h) + np.var(v01, ddof=1) / len(g)


@pytest.mark.parametrize("levels", [None, 10])
def test_one_auc_has_delongs_variance(levels):
    y, score, group, _ = draw(3, levels=levels)
    _, table = auc_estimates(make(y, score, group))
    for i in range(4):
        for j in range(4):
            if i == j:
                continue
            h, g = (score[(y == c // 2) & (group == c % 2)] for c in (i, j))
            assert table[i][j].standard_error ** 2 == pytest.approx(delong(h, g), rel=1e-10)


def jackknife(y, score, group, weight, statistic):
    """Leave-one-out variance, an independent way to the same limit."""
    n = len(y)
    values = []
    for i in range(n):
        keep = np.arange(n) != i
        values.append(statistic(make(y[keep], score[keep], group[keep], weight[keep])))
    return (n - 1) / n * np.sum((np.array(values) - np.mean(values, axis=0)) ** 2, axis=0)


@pytest.mark.parametrize("levels", [None, 10])
def test_gaps_meet_the_jackknife_by_observation(levels):
    y, score, group, weight = draw(5, n=400, n_groups=3, levels=levels, weights="real")
    names = constraint_names()

    def statistic(scores):
        matrix = auc_matrix(scores)
        return [g.value for name in names for g in AucConstraint.named(name).gaps(scores, matrix)]

    found = gap_estimates(make(y, score, group, weight), names)
    expected = np.sqrt(jackknife(y, score, group, weight, statistic))
    # They agree to order 1/n: the correction for small cells differs.
    np.testing.assert_allclose([e.standard_error for e in found], expected, rtol=0.04)


def test_an_observation_in_both_terms_is_counted_once():
    """zero_aeg pools the positives: the own group is on both sides of its AUC."""
    y, score, group, _ = draw(8, n=1000, levels=None)
    [gap] = gap_estimates(make(y, score, group), "zero_aeg", sampling="cells")
    [same] = gap_estimates(make(y, score, group), AucConstraint.from_gap_weights([0, 1, 0, 0, 0]))
    assert gap.value == pytest.approx(same.value)
    assert gap.standard_error == pytest.approx(same.standard_error, rel=1e-9)


def test_integer_weights_are_not_repetitions_for_the_variance():
    """A weight of 4 is one observation that counts four times: less is known than from four."""
    y, score, group, weight = draw(2, weights="integer")
    times = weight.astype(int)
    [weighted] = gap_estimates(make(y, score, group, weight), "inter_group")
    repeated = make(np.repeat(y, times), np.repeat(score, times), np.repeat(group, times))
    [many] = gap_estimates(repeated, "inter_group")
    assert weighted.value == pytest.approx(many.value)
    assert weighted.standard_error > 1.3 * many.standard_error


@pytest.mark.parametrize("weights", [None, "real"])
def test_the_table_knows_enough(weights):
    """Aggregating equal scores first changes no interval."""
    y, score, group, weight = draw(4, levels=10, weights=weights)
    scores = make(y, score, group, weight)
    again = GroupedScores.from_table(
        scores.to_table(), weight="weight", count="count", weight_squared="weight_squared"
    )
    for one, two in zip(gap_estimates(scores, "bnsp"), gap_estimates(again, "bnsp"), strict=True):
        assert one.standard_error == pytest.approx(two.standard_error, rel=1e-12)


def test_moments_give_the_auc_matrix(sample):
    _, scores = sample
    np.testing.assert_allclose(
        placement_moments(scores).matrix.values, auc_matrix(scores).values, atol=1e-14
    )


@pytest.mark.parametrize("sampling", ["cells", "observations"])
@pytest.mark.parametrize("weights", [None, "real"])
@pytest.mark.parametrize("levels", [None, 10])
def test_bootstrap_agrees(sampling, weights, levels):
    y, score, group, weight = draw(6, n=600, levels=levels, weights=weights)
    scores = make(y, score, group, weight)
    names = constraint_names()
    analytic = gap_estimates(scores, names, sampling=sampling)
    resampled = bootstrap(scores, names, n_resamples=4000, sampling=sampling, random_state=0)
    for one, two in zip(analytic, resampled.intervals(method="normal"), strict=True):
        assert two.standard_error == pytest.approx(one.standard_error, rel=0.07), one.name


def test_bootstrap_agrees_with_scipy():
    from scipy.stats import bootstrap as scipy_bootstrap

    y, score, group, _ = draw(6, n=300, levels=None)
    samples = [score[(y == c // 2) & (group == c % 2)] for c in range(4)]

    def gap(h0, h1, g0, g1, axis=-1):
        def auc(h, g):
            return np.mean(g[..., None, :] > h[..., :, None], axis=(-2, -1))

        return auc(h0, g1) - auc(h1, g0)

    theirs = scipy_bootstrap(
        samples, gap, n_resamples=3000, method="percentile", vectorized=True, batch=100,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    ours = bootstrap(
        make(y, score, group), "inter_group", n_resamples=3000, sampling="cells", random_state=0
    )
    [interval] = ours.intervals()
    assert interval.standard_error == pytest.approx(theirs.standard_error, rel=0.06)
    assert interval.low == pytest.approx(theirs.confidence_interval.low, abs=0.01)
    assert interval.high == pytest.approx(theirs.confidence_interval.high, abs=0.01)


def test_bootstrap_keeps_its_distribution():
    scores = make(*draw(6, n=300))
    kept = bootstrap(scores, ["bnsp", RocConstraint(rates=(0.25, 0.5))], random_state=1)
    wide, narrow = kept.intervals(0.99), kept.intervals(0.5)
    for one, two in zip(wide, narrow, strict=True):
        assert one.low <= two.low <= two.high <= one.high
    for estimate, basic in zip(wide, kept.intervals(0.99, "basic"), strict=True):
        assert basic.low == pytest.approx(2 * estimate.value - estimate.high)
    same = bootstrap(scores, ["bnsp", RocConstraint(rates=(0.25, 0.5))], random_state=1)
    np.testing.assert_array_equal(kept.replicates, same.replicates)
    with pytest.raises(ValueError, match="method must be"):
        kept.intervals(method="bca")


def test_roc_replicates_are_roc_curves_of_the_replicate():
    from evenscore import RocCurve
    from evenscore.distributions import Distribution
    from evenscore.inference.bootstrap import redraw, roc_replicates

    rng = np.random.default_rng(0)
    rates = np.array([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
    for levels in (None, 10):
        y, score, group, weight = draw(1, levels=levels, weights="real")
        cells = make(y, score, group, weight).cell_distributions
        one, two = cells[0].homogeneous(), cells[1].homogeneous()
        w1, w2 = redraw(one, 20, rng), redraw(two, 20, rng)
        found = roc_replicates(one, two, w1, w2, rates)
        for row, a, b in zip(found, w1, w2, strict=True):
            curve = RocCurve(
                Distribution.from_sample(one.values, a), Distribution.from_sample(two.values, b)
            )
            np.testing.assert_allclose(row, curve.evaluate(rates), atol=1e-12)


def test_rows_of_unequal_weights_are_split_with_the_same_moments():
    y, score, group, weight = draw(1, levels=1, weights="real")
    weight[0] = 40.0  # one very heavy observation: the lighter part of its row must stay positive
    for cell in make(y, score, group, weight).cell_distributions:
        split = cell.homogeneous()
        assert np.all(split.weights >= 0)
        for name in ("weights", "counts", "squares"):
            assert getattr(split, name).sum() == pytest.approx(getattr(cell, name).sum())
        assert np.allclose(split.squares, split.weights**2 / split.counts)


def test_paired_difference_is_delongs():
    """DeLong, DeLong and Clarke-Pearson (1988) for two AUCs of one group, by covariances."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [80, 60])
    one = rng.normal(size=140) + y
    two = one + rng.normal(size=140)
    h1, g1, h2, g2 = one[y == 0], one[y == 1], two[y == 0], two[y == 1]
    v10 = np.array([[np.mean(g > x) for x in h] for h, g in ((h1, g1), (h2, g2))])
    v01 = np.array([[np.mean(h < x) for x in g] for h, g in ((h1, g1), (h2, g2))])
    S = np.cov(v10) / 80 + np.cov(v01) / 60
    expected = S[0, 0] + S[1, 1] - 2 * S[0, 1]
    # Two groups that are copies of each other, so that cells are all there: halves the variance.
    twice = [np.tile(v, 2) for v in (y, one, two)]
    groups = np.repeat(["a", "b"], 140)
    [auc, gap] = paired_differences(
        *twice, sensitive_features=groups, constraints="intra_group", sampling="cells"
    )
    assert auc.value == pytest.approx(np.mean(v01[0]) - np.mean(v01[1]))
    assert auc.standard_error**2 == pytest.approx(expected / 2, rel=0.02)
    assert gap.value == pytest.approx(0.0, abs=1e-15)
    assert gap.standard_error**2 == pytest.approx(2 * expected, rel=1e-9)
    assert (gap.first, gap.second) == ("a", "b")


def test_paired_difference_is_known_better_than_either():
    score, y, group = credit_law().sample(2000, 0)
    other = score + np.random.default_rng(0).normal(scale=0.02, size=len(score))
    [_, gap] = paired_differences(
        y, score, other, sensitive_features=group, constraints="inter_group"
    )
    [alone] = gap_estimates(make(y, score, group), "inter_group")
    assert gap.standard_error < 0.3 * alone.standard_error


def test_an_empty_or_single_cell_says_why_there_is_no_interval():
    y, score, group, _ = draw(3, n_groups=3)
    empty = ~((y == 1) & (group == 2))
    [ok, *undefined] = gap_estimates(make(y[empty], score[empty], group[empty]), "bnsp")
    assert np.isfinite(ok.low)
    for estimate in undefined:
        assert np.isnan([estimate.value, estimate.low, estimate.p_value]).all()
        assert estimate.warnings == ("bnsp is undefined: there are no positives of 2",)
    alone = empty.copy()
    alone[np.flatnonzero(~empty)[0]] = True
    found = gap_estimates(make(y[alone], score[alone], group[alone]), "bnsp")
    assert np.isfinite(found[1].value)
    assert np.isnan(found[1].low)
    assert "only one observation among the positives of 2" in found[1].warnings[0]


def test_small_cells_carry_a_warning():
    y, score, group, _ = draw(3, n=40)
    [estimate] = gap_estimates(make(y, score, group), "intra_group")
    assert "small cells" in estimate.warnings[0]
    [estimate] = gap_estimates(make(*draw(3, n=400)), "intra_group")
    assert estimate.warnings == ()


def test_perfect_separation_has_a_wilson_interval():
    scores = make([0] * 50 + [1] * 50, range(100), ["a", "b"] * 50)
    overall, table = auc_estimates(scores)
    assert overall.value == 1.0
    assert 0.8 < overall.low < 1.0 == overall.high
    assert table[0][2].method.startswith("perfect separation")


def test_holm_and_detectable_gap():
    y, score, group, _ = draw(3, n=600, n_groups=3, shift=0.6)
    found = gap_estimates(make(y, score, group), "zero_aeg_negatives")
    p = np.array([e.p_value for e in found])
    order = np.argsort(p)
    expected = np.maximum.accumulate(np.minimum(1, p[order] * [3, 2, 1]))
    np.testing.assert_allclose(np.array([e.adjusted_p_value for e in found])[order], expected)
    assert found[0].detectable(0.8) == pytest.approx(2.8 * found[0].standard_error, rel=0.01)
    with pytest.raises(ValueError, match="power"):
        found[0].detectable(1.0)


def coverage(law, size, weighted, n=400):
    rng = np.random.default_rng(size)
    inside, total = 0, 0
    weights = np.full((2, 2), float(size))
    truth = {
        name: np.sum(AucConstraint.named(name).coefficients(weights, 0, 1) * law.auc_matrix())
        for name in constraint_names()
    }
    y, group = np.divmod(np.repeat(np.arange(4), size), 2)
    for _ in range(n):
        score = np.concatenate([law.mixture_quantile(c, 1 - rng.random(size)) for c in np.eye(4)])
        weight = rng.gamma(2.0, size=len(y)) if weighted else None
        for e in gap_estimates(make(y, score, group, weight), constraint_names(), sampling="cells"):
            inside += e.low <= truth[e.name] <= e.high
            total += 1
    return inside / total


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("levels", [None, 10])
@pytest.mark.parametrize("size", [50, 500])
def test_coverage_of_gap_intervals(size, levels, weighted):
    """A small version of benchmarks/coverage.py: within 93-97 %, plus its own sampling error."""
    law = SquareLaw(0.3) if levels is None else SquareLaw(0.3).discretised(levels)
    assert 0.925 <= coverage(law, size, weighted) <= 0.975


def test_coverage_by_observation():
    law = credit_law()
    inside = dict.fromkeys(constraint_names(), 0)
    for seed in range(400):
        score, y, group = law.sample(600, seed)
        for e in gap_estimates(make(y, score, group), constraint_names()):
            inside[e.name] += e.low <= law.auc_gap(e.name) <= e.high
    assert all(0.92 <= hits / 400 <= 0.985 for hits in inside.values()), inside


def test_bad_arguments():
    scores = make(*draw(0))
    for level in (0.0, 1.0, 95):
        with pytest.raises(ValueError, match="confidence_level"):
            gap_estimates(scores, "bnsp", confidence_level=level)
    with pytest.raises(ValueError, match="sampling must be"):
        gap_estimates(scores, "bnsp", sampling="rows")
    with pytest.raises(ValueError, match="sampling must be"):
        bootstrap(scores, "bnsp", sampling="rows")
    with pytest.raises(ValueError, match="n_resamples"):
        bootstrap(scores, "bnsp", n_resamples=1)
    with pytest.raises(TypeError, match="roc_gap_estimates"):
        gap_estimates(scores, RocConstraint(rates=(0.5,)))
    with pytest.raises(TypeError, match="AUC constraints"):
        paired_differences(
            [0, 1, 0, 1], [1, 2, 3, 4], [1, 2, 3, 4], sensitive_features=list("aabb"),
            constraints=RocConstraint(rates=(0.5,)),
        )  # fmt: skip
