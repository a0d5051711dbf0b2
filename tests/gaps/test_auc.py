import numpy as np
import pytest
from support.making import draw, gap_estimates, often

from evenscore import AucConstraint, GroupedScores, RocConstraint, constraint_names
from evenscore.gaps import as_constraints
from evenscore.gaps.family import family_values
from evenscore.inference import auc_estimates, placement_moments
from evenscore.inference import bootstrap as bootstrap_statistic
from evenscore.inference.decisions import detectable
from evenscore.metrics import paired_differences
from evenscore.paper.laws import credit_law
from evenscore.scores.aucs import auc_matrix


def make(y, score, group, weight=None):
    return GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)


def bootstrap(scores, constraints, **options):
    families = as_constraints(constraints)
    return bootstrap_statistic(scores, lambda table: family_values(table, families), **options)


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


def uneven(n=400, seed=5):
    """Three groups far apart in size, prevalence and mean: pooled proportions matter."""
    rng = np.random.default_rng(seed)
    group = rng.choice(3, n, p=[0.6, 0.25, 0.15])
    y = (rng.random(n) < np.array([0.6, 0.3, 0.45])[group]).astype(int)
    return y, rng.normal(size=n) + y + 1.5 * group, group, rng.gamma(2.0, size=n)


@pytest.mark.slow
@pytest.mark.parametrize("levels", [False, True])
def test_gaps_meet_the_jackknife_by_observation(levels):
    y, score, group, weight = uneven()
    if levels:
        score = np.round(score * 2)
    names = constraint_names()

    def statistic(scores):
        return [*family_values(scores, as_constraints(names)), auc_matrix(scores).overall]

    scores = make(y, score, group, weight)
    found = [e.standard_error for e in gap_estimates(scores, names)]
    overall, _ = auc_estimates(scores)
    expected = np.sqrt(jackknife(y, score, group, weight, statistic))
    # They agree to order 1/n: the correction for small cells differs.
    np.testing.assert_allclose([*found, overall.standard_error], expected, rtol=0.06)
    # And it matters that proportions vary: with fixed ones some errors are far smaller.
    fixed = [e.standard_error for e in gap_estimates(scores, names, sampling="cells")]
    assert np.max(np.array(found) / fixed) > 1.3
    assert overall.standard_error > 1.2 * auc_estimates(scores, sampling="cells")[0].standard_error


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


@pytest.mark.slow
@pytest.mark.parametrize("sampling", ["cells", "observations"])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("levels", [False, True])
def test_bootstrap_agrees(sampling, weights, levels):
    y, score, group, weight = uneven(n=900)
    score = np.round(score * 2) if levels else score
    scores = make(y, score, group, weight if weights else None)
    names = constraint_names()
    analytic = gap_estimates(scores, names, sampling=sampling)
    resampled = bootstrap(scores, names, n_resamples=600, sampling=sampling, random_state=0)
    for one, two in zip(analytic, resampled.intervals(method="normal"), strict=True):
        assert two.standard_error == pytest.approx(one.standard_error, rel=0.14), one.name


@pytest.mark.slow
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
        random_state=np.random.default_rng(0),  # `rng` from SciPy 1.15 on, which takes both
    )  # fmt: skip
    ours = bootstrap(
        make(y, score, group), "inter_group", n_resamples=3000, sampling="cells", random_state=0
    )
    [interval] = ours.intervals()
    assert interval.standard_error == pytest.approx(theirs.standard_error, rel=0.06)
    assert interval.low == pytest.approx(theirs.confidence_interval.low, abs=0.01)
    assert interval.high == pytest.approx(theirs.confidence_interval.high, abs=0.01)


@pytest.mark.slow
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
    from evenscore.inference.bootstrap import RocReplicates, redraw
    from evenscore.scores.distribution import Distribution

    rng = np.random.default_rng(0)
    rates = np.array([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
    for levels in (None, 10):
        y, score, group, weight = draw(1, levels=levels, weights="real")
        cells = make(y, score, group, weight).cell_distributions
        one, two = cells[0].homogeneous(), cells[1].homogeneous()
        w1, w2 = redraw(one, 20, rng), redraw(two, 20, rng)
        found = RocReplicates(one, two, w1, w2).evaluate(rates)
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
    assert gap.warnings == ()
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
    assert "the positives of 2 are worth less than two observations" in found[1].warnings[0]


def test_degrees_of_freedom_are_welchs():
    y, score, group, _ = draw(3)
    _, table = auc_estimates(make(y, score, group))
    h, g = score[(y == 0) & (group == 0)], score[(y == 1) & (group == 0)]
    v10 = np.var([np.mean((g > x) + 0.5 * (g == x)) for x in h], ddof=1) / len(h)
    v01 = np.var([np.mean((h < x) + 0.5 * (h == x)) for x in g], ddof=1) / len(g)
    expected = (v10 + v01) ** 2 / (v10**2 / (len(h) - 1) + v01**2 / (len(g) - 1))
    assert table[0][2].degrees_of_freedom == pytest.approx(expected)


def test_a_gap_without_variance_is_not_certain():
    """Perfectly separated cells: DeLong's variance is zero, what we know is not."""
    y, score = [0] * 3 + [1] * 3 + [0] * 3 + [1] * 3, [0, 1, 2, 3, 4, 5] * 2
    [gap] = gap_estimates(make(y, score, ["a"] * 6 + ["b"] * 6), "intra_group")
    assert gap.low < -0.3 < 0.3 < gap.high
    assert gap.p_value == pytest.approx(1.0)
    assert len(gap.warnings) == 2
    y, group = np.repeat([0, 1, 0, 1], 40), np.repeat(["a", "a", "b", "b"], 40)
    [gap] = gap_estimates(make(y, np.arange(160), group), "inter_group")  # b far above a
    assert gap.value == 1.0
    assert 0.8 < gap.low < gap.high == 1.0
    assert gap.p_value < 1e-6


@pytest.mark.slow
def test_coverage_near_separation():
    from scipy.stats import norm

    rng = np.random.default_rng(0)
    shift = (4.0, 3.0)
    truth = norm.cdf(shift[0] / np.sqrt(2)) - norm.cdf(shift[1] / np.sqrt(2))
    y, group = np.divmod(np.repeat(np.arange(4), 50), 2)
    inside = 0
    for _ in range(400):
        score = rng.normal(size=200) + y * np.array(shift)[group]
        [gap] = gap_estimates(make(y, score, group), "intra_group", sampling="cells")
        inside += gap.low <= truth <= gap.high
    assert inside / 400 >= 0.93


def test_one_dominating_weight_gives_no_interval():
    y, score, group, _ = draw(3, n=400)
    for heavy in (1e6, 1e30):
        weight = np.ones(len(y))
        weight[10] = heavy
        [gap] = gap_estimates(make(y, score, group, weight), "intra_group")
        assert np.isnan(gap.low)
        assert "worth less than two observations" in gap.warnings[0]


def test_perfect_separation_uses_the_cells_compared():
    """A tiny third cell must not widen the interval of two large ones."""
    y = np.repeat([0, 1, 0, 1], [1000, 1000, 2, 2])
    group = np.repeat(["a", "b"], [2000, 4])
    score = np.concatenate([np.arange(2000), [5, 3000, 7, 9]])
    table = auc_estimates(make(y, score, group))[1]
    assert table[0][2].low > 0.99


def test_students_quantile():
    from scipy.stats import norm, t

    from evenscore.inference.intervals import student

    for level in (0.5, 0.9, 0.99):
        for freedom, error in ((10, 3e-3), (30, 3e-4), (1e6, 1e-6)):
            exact = t.ppf(0.5 + level / 2, freedom)
            found = student(np.array(norm.ppf(0.5 + level / 2)), np.array(float(freedom)))
            assert found == pytest.approx(exact, rel=error)


@pytest.mark.slow
def test_the_p_value_belongs_to_the_interval():
    scores = make(*draw(3, n=300, n_groups=3))
    for gap in gap_estimates(scores, constraint_names()):
        for level in (0.3, 0.8, 0.99):
            again = gap_estimates(scores, gap.name, confidence_level=level)
            [same] = [e for e in again if (e.first, e.second) == (gap.first, gap.second)]
            assert (same.low > 0 or same.high < 0) == (gap.p_value < 1 - level)


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
    assert "perfect separation" in table[0][2].warnings[-1]


def test_holm_and_detectable_gap():
    y, score, group, _ = draw(3, n=600, n_groups=3, shift=0.6)
    found = gap_estimates(make(y, score, group), "zero_aeg_negatives")
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
    [wide, *_] = gap_estimates(make(y, score, group), "bnsp", confidence_level=0.999)
    assert "99.9% interval" in str(wide)


def coverage(law, size, weighted, n):
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


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("levels", [None, 10])
@pytest.mark.parametrize("size", [50, 500])
def test_coverage_of_gap_intervals(size, levels, weighted):
    """A small version of benchmarks/coverage.py: within 93-97 %, plus its own sampling error."""
    law = credit_law() if levels is None else credit_law().discretised(levels)
    n = often(80)
    error = 0.3 / np.sqrt(n)  # of several gaps of a sample, which go together
    assert 0.945 - error <= coverage(law, size, weighted, n) <= 0.955 + error


@pytest.mark.slow
def test_coverage_by_observation():
    law = credit_law()
    inside = dict.fromkeys(constraint_names(), 0)
    n = often(120)
    for seed in range(n):
        score, y, group = law.sample(600, seed)
        for e in gap_estimates(make(y, score, group), constraint_names()):
            inside[e.name] += e.low <= law.auc_gap(e.name) <= e.high
    error = 2.5 * np.sqrt(0.05 * 0.95 / n)
    assert all(0.95 - error <= hits / n <= 1.0 for hits in inside.values()), inside
    assert np.mean(list(inside.values())) <= 0.985 * n


def test_bad_arguments():
    scores = make(*draw(0))
    for level in (0.0, 1.0, 95):
        with pytest.raises(ValueError, match="confidence_level"):
            gap_estimates(scores, "bnsp", confidence_level=level)
    with pytest.raises(ValueError, match="sampling must be"):
        gap_estimates(scores, "bnsp", sampling="rows")
    with pytest.raises(ValueError, match="sampling must be"):
        bootstrap(scores, "bnsp", sampling="rows")
    with pytest.raises(ValueError, match="sampling must be"):
        auc_estimates(scores, sampling="rows")
    for bad in (1, 2.5, None, "10", True):
        with pytest.raises(ValueError, match="n_resamples must be a whole number of at least 2"):
            bootstrap(scores, "bnsp", n_resamples=bad)
    for bad in (None, "0.95", 0, 1, 95):
        with pytest.raises(ValueError, match="confidence_level must lie"):
            auc_estimates(scores, confidence_level=bad)
    for call in (auc_estimates, lambda s: gap_estimates(s, "bnsp"), lambda s: bootstrap(s, "bnsp")):
        with pytest.raises(TypeError, match="Expected a GroupedScores"):
            call(None)


# ---------------------------------------------------------------------- as the command line writes


@pytest.mark.parametrize("name", ["intra_group", "inter_group"])
def test_two_aucs_written_out_are_the_named_notion(name):
    text = {"intra_group": "H0,G0 = H1,G1", "inter_group": " H0 , G1=H1,G0 "}[name]
    y, score, group, _ = draw(3, n=200)
    scores = GroupedScores.from_arrays(y, score, sensitive_features=group)
    parsed = AucConstraint.parse(text)
    np.testing.assert_allclose(parsed.values(scores), AucConstraint.named(name).values(scores))
    assert parsed.name == " ".join(text.split())
    assert AucConstraint.parse(name, tolerance=0.1) == AucConstraint.named(name, tolerance=0.1)


def test_mixtures_written_out():
    """bnsp with equal shares of the groups among the negatives."""
    parsed = AucConstraint.parse("0.5 H0 + .5*H1, G0 = 0.25H0+0.25 H0 + 0.5 H1, G1")
    given = AucConstraint.from_mixtures(
        [0.5, 0.5, 0, 0], [0, 0, 1, 0], [0.5, 0.5, 0, 0], [0, 0, 0, 1]
    )
    np.testing.assert_allclose(parsed.gap_weights(), given.gap_weights())


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("H0,G0", "There is no AUC constraint named"),
        ("H0,G0 = H1", "are written as H0,G0 = H1,G1"),
        ("H0,G0 = H1,G1 = H0,G1", "are written as H0,G0 = H1,G1"),
        ("H0,G0 = H1,G2", "not as 'H0,G0 = H1,G2'"),
        ("-1 H0 + 2 H1,G0 = H1,G1", "are written as"),
        ("H0 + H1,G0 = H1,G1", "The proportions of 'H0 \\+ H1' in .* add up to 2 instead of 1"),
        ("H0,G0 = G0,G1", "This is an unfairness constraint"),
        ("=", "are written as"),
        ("H0,G0 = H0,G0", "Both sides of .* are the same AUC"),
    ],
)
def test_what_is_written_otherwise_is_refused(text, match):
    with pytest.raises(ValueError, match=match):
        AucConstraint.parse(text)
