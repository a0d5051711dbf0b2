from functools import partial
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import norm, t
from support.making import draw, gap_estimates, often, table_of

from evenscore import AucConstraint, GroupedScores, RocConstraint, constraint_names
from evenscore.gaps import as_constraints
from evenscore.gaps.family import family_values
from evenscore.inference import auc_estimates, placement_moments
from evenscore.inference import bootstrap as bootstrap_statistic
from evenscore.inference.decisions import detectable
from evenscore.inference.intervals import student
from evenscore.metrics import paired_differences
from evenscore.paper.laws import credit_law
from evenscore.scores.aucs import auc_matrix
from evenscore.scores.distribution import Distribution


def bootstrap(scores, constraints, **options):
    families = as_constraints(constraints)
    return bootstrap_statistic(scores, lambda table: family_values(table, families), **options)


def delong(h, g):
    """DeLong's variance of one AUC in two parts, by its definition: variances of placements."""
    v10 = [np.mean((g > x) + 0.5 * (g == x)) for x in h]
    v01 = [np.mean((h < x) + 0.5 * (h == x)) for x in g]
    return np.var(v10, ddof=1) / len(h), np.var(v01, ddof=1) / len(g)


@pytest.mark.parametrize("levels", [None, 10])
def test_one_auc_has_delongs_variance(levels):
    y, score, group, _ = draw(3, levels=levels)
    _, table = auc_estimates(table_of(y, score, group))
    for i, j in permutations(range(4), 2):
        h, g = (score[(y == c // 2) & (group == c % 2)] for c in (i, j))
        v10, v01 = delong(h, g)
        assert table[i][j].standard_error ** 2 == pytest.approx(v10 + v01, rel=1e-10)
        welch = (v10 + v01) ** 2 / (v10**2 / (len(h) - 1) + v01**2 / (len(g) - 1))
        assert table[i][j].degrees_of_freedom == pytest.approx(welch)


def uneven(n=400, seed=5):
    """Three groups far apart in size, prevalence and mean: pooled proportions matter."""
    rng = np.random.default_rng(seed)
    group = rng.choice(3, n, p=[0.6, 0.25, 0.15])
    y = (rng.random(n) < np.array([0.6, 0.3, 0.45])[group]).astype(int)
    return y, rng.normal(size=n) + y + 1.5 * group, group, rng.gamma(2.0, size=n)


@pytest.mark.slow
def test_gaps_meet_the_jackknife_by_observation():
    """Leave-one-out, an independent way to the same limit; scores have ties."""
    y, score, group, weight = uneven()
    score = np.round(score * 2)
    names = constraint_names()

    def statistic(scores):
        return [*family_values(scores, as_constraints(names)), auc_matrix(scores).overall]

    left_out = []
    for i in range(len(y)):
        keep = np.arange(len(y)) != i
        left_out.append(statistic(table_of(y[keep], score[keep], group[keep], weight[keep])))
    expected = np.sqrt((len(y) - 1) * np.var(left_out, axis=0))
    scores = table_of(y, score, group, weight)
    found = [e.standard_error for e in gap_estimates(scores, names)]
    overall, _ = auc_estimates(scores)
    # They agree to order 1/n: the correction for small cells differs.
    np.testing.assert_allclose([*found, overall.standard_error], expected, rtol=0.06)
    # And it matters that proportions vary: with fixed ones some errors are far smaller.
    fixed = [e.standard_error for e in gap_estimates(scores, names, sampling="cells")]
    assert np.max(np.array(found) / fixed) > 1.3
    assert overall.standard_error > 1.2 * auc_estimates(scores, sampling="cells")[0].standard_error


@pytest.mark.parametrize("weights", [None, "real"])
def test_the_table_knows_enough(weights):
    """Aggregating equal scores first changes no interval."""
    y, score, group, weight = draw(4, levels=10, weights=weights)
    scores = table_of(y, score, group, weight)
    again = GroupedScores.from_table(
        scores.to_table(), weight="weight", count="count", weight_squared="weight_squared"
    )
    for one, two in zip(gap_estimates(scores, "bnsp"), gap_estimates(again, "bnsp"), strict=True):
        assert one.standard_error == pytest.approx(two.standard_error, rel=1e-12)


def test_moments_give_the_auc_matrix(sample):
    _, scores = sample
    found = placement_moments(scores).matrix.values
    np.testing.assert_allclose(found, auc_matrix(scores).values, atol=1e-14)


@pytest.mark.parametrize(("sampling", "levels"), [("cells", True), ("observations", False)])
def test_bootstrap_agrees(sampling, levels):
    y, score, group, weight = uneven(n=600)
    scores = table_of(y, np.round(score * 2) if levels else score, group, weight)
    names = constraint_names()
    analytic = gap_estimates(scores, names, sampling=sampling)
    resampled = bootstrap(scores, names, n_resamples=300, sampling=sampling, random_state=0)
    for one, two in zip(analytic, resampled.intervals(method="normal"), strict=True):
        assert two.standard_error == pytest.approx(one.standard_error, rel=0.2), one.name


def test_bootstrap_keeps_its_distribution():
    scores = table_of(*draw(6, n=300))
    asked = ["bnsp", RocConstraint(rates=(0.25, 0.5))]
    kept, same = (bootstrap(scores, asked, n_resamples=100, random_state=1) for _ in range(2))
    np.testing.assert_array_equal(kept.replicates, same.replicates)
    wide = kept.intervals(0.9)
    ends = np.quantile(kept.replicates, [0.05, 0.95], axis=0).T
    np.testing.assert_allclose([(e.low, e.high) for e in wide], ends)
    for estimate, basic in zip(wide, kept.intervals(0.9, "basic"), strict=True):
        assert basic.low == pytest.approx(2 * estimate.value - estimate.high)
    with pytest.raises(ValueError, match="method must be"):
        kept.intervals(method="bca")


def test_rows_of_unequal_weights_are_split_with_the_same_moments():
    y, score, group, weight = draw(1, levels=1, weights="real")
    weight[0] = 40.0  # one very heavy observation: the lighter part of its row must stay positive
    for cell in table_of(y, score, group, weight).cell_distributions:
        split = cell.homogeneous()
        assert np.all(split.weights >= 0)
        for name in ("weights", "counts", "squares"):
            assert getattr(split, name).sum() == pytest.approx(getattr(cell, name).sum())
        assert np.allclose(split.squares, split.weights**2 / split.counts)
    weights, counts = np.array([1.0, 2.0]), np.array([1.0, 2.0])
    rounded = Distribution(np.arange(2.0), weights, counts, np.array([1.0 + 1e-10, 2.5]))
    assert rounded.homogeneous().counts.sum() == 3.0  # one person is one, whatever the last digits


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
    assert gap.warnings == ()
    assert (gap.first, gap.second) == ("a", "b")


def test_a_single_person_says_why_there_is_no_interval():
    y, score, group, _ = draw(3, n_groups=3)
    cell = np.flatnonzero((y == 1) & (group == 2))
    keep = np.setdiff1d(np.arange(len(y)), cell[1:])
    found = gap_estimates(table_of(y[keep], score[keep], group[keep]), "bnsp")
    assert np.isfinite(found[0].low)
    assert np.isfinite(found[1].value)
    assert np.isnan(found[1].low)
    assert "positives of 2" in found[1].warnings[0]


def test_a_gap_without_variance_is_not_certain():
    """Perfectly separated cells: DeLong's variance is zero, what we know is not."""
    y, score = [0] * 3 + [1] * 3 + [0] * 3 + [1] * 3, [0, 1, 2, 3, 4, 5] * 2
    [gap] = gap_estimates(table_of(y, score, ["a"] * 6 + ["b"] * 6), "intra_group")
    assert gap.low < -0.3 < 0.3 < gap.high
    assert gap.p_value == pytest.approx(1.0)
    assert gap.degrees_of_freedom == pytest.approx(8.0)  # of four cells of three
    assert len(gap.warnings) == 2
    y, group = np.repeat([0, 1, 0, 1], 40), np.repeat(["a", "a", "b", "b"], 40)
    [gap] = gap_estimates(table_of(y, np.arange(160), group), "inter_group")  # b far above a
    assert gap.value == 1.0
    assert 0.8 < gap.low < gap.high == 1.0
    assert gap.p_value < 1e-6


def test_one_dominating_weight_gives_no_interval():
    y, score, group, _ = draw(3, n=400)
    weight = np.ones(len(y))
    weight[10] = 1e30
    [gap] = gap_estimates(table_of(y, score, group, weight), "intra_group")
    assert np.isnan(gap.low)
    assert "two observations" in gap.warnings[0]


def test_perfect_separation_has_a_wilson_interval_of_the_cells_compared():
    scores = table_of([0] * 50 + [1] * 50, range(100), ["a", "b"] * 50)
    overall, table = auc_estimates(scores)
    assert 0.8 < overall.low < 1.0 == overall.high == overall.value
    assert "perfect separation" in table[0][2].warnings[-1]
    # A tiny third cell must not widen the interval of two large ones.
    y = np.repeat([0, 1, 0, 1], [1000, 1000, 2, 2])
    score = np.concatenate([np.arange(2000), [5, 3000, 7, 9]])
    table = auc_estimates(table_of(y, score, np.repeat(["a", "b"], [2000, 4])))[1]
    assert table[0][2].low > 0.99


def test_students_quantile():
    for level in (0.5, 0.9, 0.99):
        for freedom, error in ((10, 3e-3), (30, 3e-4), (1e6, 1e-6)):
            exact = t.ppf(0.5 + level / 2, freedom)
            found = student(np.array(norm.ppf(0.5 + level / 2)), np.array(float(freedom)))
            assert found == pytest.approx(exact, rel=error)


def test_small_cells_carry_a_warning():
    y, score, group, _ = draw(3, n=40)
    [estimate] = gap_estimates(table_of(y, score, group), "intra_group")
    assert "small cells" in estimate.warnings[0]
    [estimate] = gap_estimates(table_of(*draw(3, n=400)), "intra_group")
    assert estimate.warnings == ()


def test_holm_and_detectable_gap():
    y, score, group, _ = draw(3, n=600, n_groups=3, shift=0.6)
    found = gap_estimates(table_of(y, score, group), "zero_aeg_negatives")
    p = np.array([e.p_value for e in found])
    order = np.argsort(p)
    expected = np.maximum.accumulate(np.minimum(1, p[order] * [3, 2, 1]))
    np.testing.assert_allclose(np.array([e.adjusted_p_value for e in found])[order], expected)
    gap = found[0]
    assert detectable(gap, 0.0, 0.95, 1) == pytest.approx(2.8 * gap.standard_error, rel=0.01)
    more = detectable(gap, 0.05, 0.95, 12)  # Holm over 12: 2.87 + 0.84 standard errors
    assert more == pytest.approx(0.05 + 3.71 * gap.standard_error, rel=0.01)
    for bad in (1.0, None):
        with pytest.raises(ValueError, match="power"):
            detectable(gap, 0.05, 0.95, 12, power=bad)
    [wide, *_] = gap_estimates(table_of(y, score, group), "bnsp", confidence_level=0.999)
    assert "99.9% interval" in str(wide)


@pytest.mark.slow
def test_coverage_by_observation():
    """The one simulation of intervals of AUC gaps here; benchmarks/coverage.py does it in full."""
    law, n = credit_law(), often(60)
    inside = dict.fromkeys(constraint_names(), 0)
    for seed in range(n):
        score, y, group = law.sample(400, seed)
        for e in gap_estimates(table_of(y, score, group), constraint_names()):
            inside[e.name] += e.low <= law.auc_gap(e.name) <= e.high
    error = 2.5 * np.sqrt(0.05 * 0.95 / n)
    assert all(0.95 - error <= hits / n <= 1.0 for hits in inside.values()), inside
    assert np.mean(list(inside.values())) <= 0.99 * n


def test_bad_arguments():
    scores = table_of(*draw(0))
    calls = auc_estimates, partial(gap_estimates, constraints="bnsp")
    resample = partial(bootstrap, constraints="bnsp")
    for call in calls:
        for level in (0, 1.0, 95, None, "0.95"):
            with pytest.raises(ValueError, match="confidence_level"):
                call(scores, confidence_level=level)
    for call in (*calls, resample):
        with pytest.raises(ValueError, match="sampling must be"):
            call(scores, sampling="rows")
        with pytest.raises(TypeError, match="GroupedScores"):
            call(None)
    for bad in (1, 2.5, None, "10", True):
        with pytest.raises(ValueError, match="n_resamples"):
            resample(scores, n_resamples=bad)


def test_aucs_written_out():
    scores = table_of(*draw(3, n=200))
    for name, text in (("intra_group", "H0,G0 = H1,G1"), ("inter_group", " H0 , G1=H1,G0 ")):
        parsed = AucConstraint.parse(text)
        np.testing.assert_allclose(parsed.values(scores), AucConstraint.named(name).values(scores))
        assert parsed.name == " ".join(text.split())
        assert AucConstraint.parse(name, tolerance=0.1) == AucConstraint.named(name, tolerance=0.1)
    # bnsp with equal shares of the groups among the negatives.
    parsed = AucConstraint.parse("0.5 H0 + .5*H1, G0 = 0.25H0+0.25 H0 + 0.5 H1, G1")
    given = AucConstraint.from_mixtures(
        [0.5, 0.5, 0, 0], [0, 0, 1, 0], [0.5, 0.5, 0, 0], [0, 0, 0, 1]
    )
    np.testing.assert_allclose(parsed.gap_weights(), given.gap_weights())


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("H0,G0", "no AUC constraint"),
        ("H0,G0 = H1", "are written as"),
        ("H0,G0 = H1,G1 = H0,G1", "are written as"),
        ("H0,G0 = H1,G2", "not as 'H0,G0 = H1,G2'"),
        ("-1 H0 + 2 H1,G0 = H1,G1", "are written as"),
        ("H0 + H1,G0 = H1,G1", "H0 .* H1.* 2 instead of 1"),
        ("H0,G0 = G0,G1", "unfairness"),
        ("H0,G0 = H0,G0", "the same AUC"),
    ],
)
def test_what_is_written_otherwise_is_refused(text, match):
    with pytest.raises(ValueError, match=match):
        AucConstraint.parse(text)


def test_a_repair_may_shift_groups_against_each_other():
    """Or pairs of them, if people of one group are compared with those of the other only."""
    for name, n_free in (("bnsp", 3), ("zero_aeg", 3), ("inter_group", 6)):
        assert AucConstraint.named(name).targets(4).n_free == n_free
    men, women = np.eye(4)[:2]  # AUC(H0, H1) and AUC(H1, H0) add up to one
    assert AucConstraint.from_mixtures(men, women, women, men).targets(2).n_free == 1
    with pytest.raises(ValueError, match="intra_group"):
        AucConstraint.named("intra_group").targets(4)
