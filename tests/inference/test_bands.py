import numpy as np
import pytest
from scipy.special import bdtrik
from scipy.stats import norm
from support.binning import drawn_rows
from support.making import draw, gap_estimates, often, table_of

from evenscore import RocConstraint, RocCurve
from evenscore.gaps.roc import anchored_gaps
from evenscore.inference import (
    bootstrap,
    certify,
    rate_difference_estimates,
    roc_band,
    roc_gap_band,
)
from evenscore.inference.bands import _calibrated, _coarsened, _reach, dkw_bands
from evenscore.inference.bootstrap import RocReplicates, redraw
from evenscore.inference.pointwise import _binomial_quantiles
from evenscore.inference.redrawing import redraw_both
from evenscore.paper.laws import SquareLaw, credit_law
from evenscore.scores.distribution import Distribution

RATES = np.linspace(0.05, 0.6, 23)


def pair(law, label, n0, n1, rng):
    mixtures = (
        (law.negatives if label == 0 else law.positives)(0),
        (law.negatives if label == 0 else law.positives)(1),
    )
    samples = (
        Distribution.from_sample(law.mixture_quantile(m, 1 - rng.random(n)))
        for m, n in zip(mixtures, (n0, n1), strict=True)
    )
    return RocCurve(*samples), law.roc_curve(*mixtures)(RATES)


def inverse(sample, u):
    """inf{t : F(t) >= u} of a sample."""
    if u <= 0 or u > 1:
        return -np.inf if u <= 0 else np.inf
    ranks = np.arange(1, len(sample) + 1) / len(sample)
    return np.sort(sample)[np.argmax(ranks >= u - 1e-12)]


def test_dkw_is_the_formula_of_the_specification():
    """G1(G0⁻¹(u)) within [Ĝ1(Ĝ0⁻¹(u − e0)) − e1, Ĝ1(Ĝ0⁻¹(u + e0)) + e1], in terms of c.d.f.s."""
    rng = np.random.default_rng(0)
    for levels in (False, True):
        x0, x1 = rng.normal(size=300), rng.normal(0.3, 1, size=200)
        if levels:
            x0, x1 = np.round(x0 * 2), np.round(x1 * 2)
        band = roc_band(
            RocCurve(Distribution.from_sample(x0), Distribution.from_sample(x1)), RATES, kind="dkw"
        )
        e0, e1 = (np.sqrt(np.log(4 / 0.05) / (2 * n)) for n in (300, 200))

        for a, low, high in zip(RATES, band.low, band.high, strict=True):
            u = 1 - a
            below, above = (np.mean(x1 <= inverse(x0, v)) for v in (u - e0, u + e0))
            assert high == pytest.approx(min(1, 1 - (below - e1)))
            assert low == pytest.approx(max(0, 1 - (above + e1)))


def test_coverage_of_bands():
    """A small version of benchmarks/coverage.py, of a score with ties."""
    law, rng = credit_law().discretised(10), np.random.default_rng(460)
    hits = {"pointwise": [], "simultaneous": [], "dkw": []}
    n = often(50)
    for _ in range(n):
        curve, truth = pair(law, 1, 60, 400, rng)
        for kind, found in hits.items():
            band = roc_band(curve, RATES, kind=kind, n_resamples=100, random_state=rng)
            inside = (band.low <= truth + 1e-9) & (truth - 1e-9 <= band.high)
            found.append(inside.mean() if kind == "pointwise" else inside.all())
    assert 0.93 <= np.mean(hits["pointwise"]) <= 0.995
    assert np.mean(hits["simultaneous"]) >= 0.94 - 2.5 * np.sqrt(0.94 * 0.06 / n)
    assert np.mean(hits["dkw"]) >= 0.95


def test_ties_ask_for_more():
    """With ties the bootstrap must be right twice as often: the band of a tied sample is wider."""
    rng = np.random.default_rng(0)
    one, two = (np.round(rng.normal(size=400) * 2) for _ in range(2))
    tied = RocCurve(Distribution.from_sample(one), Distribution.from_sample(two))
    wide = roc_band(tied, RATES, confidence_level=0.9, random_state=1)
    assert wide.shift[0] > 0
    jitter = RocCurve(
        Distribution.from_sample(one + rng.uniform(-1e-6, 1e-6, 400)), Distribution.from_sample(two)
    )
    assert wide.shift[0] > roc_band(jitter, RATES, confidence_level=0.9, random_state=1).shift[0]


def test_simultaneous_band_is_between_pointwise_and_dkw():
    curve, _ = pair(credit_law(), 1, 500, 500, np.random.default_rng(0))
    width = {
        kind: (lambda b: b.high - b.low)(roc_band(curve, RATES, kind=kind))
        for kind in ("pointwise", "simultaneous", "dkw")
    }
    assert np.all(width["simultaneous"] <= width["dkw"] + 1e-12)
    assert width["pointwise"].mean() < width["simultaneous"].mean()
    same = roc_band(curve, RATES)
    np.testing.assert_array_equal(same.high - same.low, width["simultaneous"])  # deterministic


def test_large_samples_are_seen_through_levels():
    rng = np.random.default_rng(0)
    one, two = (Distribution.from_sample(rng.normal(size=n)) for n in (30_000, 20_000))
    small = _coarsened(one, two)
    assert max(len(s) for s in small) <= 4096
    for before, after in zip((one, two), small, strict=True):
        assert after.n_observations == before.n_observations
        assert after.effective_size == pytest.approx(before.effective_size)
    fine, coarse = RocCurve(one, two).evaluate(RATES), RocCurve(*small).evaluate(RATES)
    np.testing.assert_allclose(coarse, fine, atol=2e-3)
    band = roc_band(RocCurve(one, two), RATES, n_resamples=200)
    assert np.all(band.high - band.low < 4 * 1.48 / np.sqrt(20_000))


@pytest.mark.parametrize(("weights", "split"), [("real", False), (None, True)])
def test_bands_of_many_targets_are_those_of_each(weights, split):
    """And of the formula on the curve itself, which is cut anew for every target."""
    cells = table_of(*draw(3, n=300, n_groups=4, weights=weights)).cell_distributions[:4]
    bands = dkw_bands(cells[0], cells[1:], RATES, 0.9, split_ties=split)
    for target, band in zip(cells[1:], bands, strict=True):
        curve = RocCurve(cells[0], target, ties_split=split)
        e0, e1 = band.shift
        left = np.where(e0 > RATES, 0.0, curve.evaluate(np.maximum(RATES - e0, 0.0)))
        np.testing.assert_allclose(band.value, curve.evaluate(RATES), atol=1e-12)
        np.testing.assert_allclose(band.low, np.maximum(left - e1, 0.0), atol=1e-12)
        right = curve.evaluate(np.minimum(RATES + e0, 1.0))
        np.testing.assert_allclose(band.high, np.minimum(right + e1, 1.0), atol=1e-12)
        alone = roc_band(curve, RATES, kind="dkw", confidence_level=0.9)
        np.testing.assert_array_equal(alone.low, band.low)
        assert alone.shift == band.shift


def test_gap_band_is_the_roc_band_less_the_rate():
    scores = table_of(*draw(3, n=300))
    band = roc_gap_band(scores, "negatives", RATES, kind="dkw")
    np.testing.assert_allclose(band.value, anchored_gaps(scores, "negatives", RATES))
    assert np.all((band.low <= band.value) & (band.value <= band.high))


def test_bands_say_when_they_are_weak():
    weighted = table_of(*draw(3, n=300, weights="real"))
    told = roc_gap_band(weighted, "negatives", RATES, kind="dkw").warnings[0]
    assert "large samples" in told
    small = table_of(*draw(3, n=40))
    assert "observations only" in roc_gap_band(small, "positives", RATES).warnings[0]
    empty = roc_band(RocCurve(Distribution.from_sample([]), Distribution.from_sample([1.0])), RATES)
    assert np.isnan(empty.low).all()
    assert empty.warnings == ("a sample is empty",)
    with pytest.raises(ValueError, match="kind must be"):
        roc_gap_band(small, "positives", RATES, kind="normal")


def test_equal_weights_change_no_band():
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=90), rng.normal(0.2, 1, size=70)
    plain = RocCurve(Distribution.from_sample(one), Distribution.from_sample(two))
    weighted = RocCurve(
        Distribution.from_sample(one, np.full(90, 3.0)),
        Distribution.from_sample(two, np.full(70, 0.25)),
    )
    for kind in ("pointwise", "simultaneous", "dkw"):
        expected, found = (roc_band(curve, RATES, kind=kind) for curve in (plain, weighted))
        np.testing.assert_allclose(found.low, expected.low, atol=1e-12)
        np.testing.assert_allclose(found.high, expected.high, atol=1e-12)
        assert found.warnings == expected.warnings


def test_roc_gap_estimates_agree_with_the_bootstrap():
    score, y, group = SquareLaw(0.3).sample(4000, 0)
    scores = table_of(y, score, group)
    constraint = RocConstraint(on="both", rates=(0.2, 0.45))
    ours = gap_estimates(scores, constraint)
    boot = bootstrap(scores, constraint.values, n_resamples=300, random_state=0).intervals()
    for one, two in zip(ours, boot, strict=True):
        assert one.value == pytest.approx(two.value)
        assert one.standard_error == pytest.approx(two.standard_error, rel=0.25)
        assert one.low <= one.value <= one.high


def test_roc_gap_p_values_are_those_of_the_interval():
    scores = table_of(*draw(3, n=800, levels=None))
    for estimate in gap_estimates(scores, RocConstraint(on="both", rates=(0.125, 0.25))):
        for level in (0.5, 0.9, 0.99):
            alone = RocConstraint(on=estimate.on, rates=(estimate.rate,))
            [again] = gap_estimates(scores, alone, confidence_level=level)
            outside = again.low > 0 or again.high < 0
            assert outside == (estimate.p_value < 1 - level)
        assert estimate.adjusted_p_value >= estimate.p_value


def test_rate_differences_at_a_fixed_threshold():
    """Newcombe's method 10: published example, 56/70 against 48/80 gives 0.0524 to 0.3339."""
    y = np.concatenate([np.zeros(70), np.zeros(80), [1, 1]]).astype(int)
    group = np.concatenate([np.repeat("a", 70), np.repeat("b", 80), ["a", "b"]])
    score = np.concatenate([np.arange(70) < 56, np.arange(80) < 48, [True, True]]).astype(float)
    [fpr] = rate_difference_estimates(table_of(y, score, group), 0.5, ["fpr"])
    assert fpr.value == pytest.approx(0.2)
    assert (fpr.low, fpr.high) == (pytest.approx(0.0524, abs=1e-4), pytest.approx(0.3339, abs=1e-4))
    assert 0.001 < fpr.p_value < 0.02
    for cut, name, named in (
        (0.5, "precision", "'precision'.*fpr"),
        ([0.5, 0.6], "fpr", "threshold"),
        (0.5, "tpr", "'tpr'.*fpr"),
    ):
        with pytest.raises(ValueError, match=named):
            rate_difference_estimates(table_of(y, score, group), cut, [name])
    [fnr] = rate_difference_estimates(table_of(y, score, group), 0.5, "fnr")
    assert fnr.value == 0.0


def test_rate_differences_with_weights_and_empty_cells():
    scores = table_of(*draw(3, n=300, weights="real"))
    for estimate in rate_difference_estimates(scores, 0.3):
        assert estimate.low < estimate.value < estimate.high
    empty = table_of([0, 1, 0], [1, 2, 2], ["a", "a", "b"])
    [fnr] = rate_difference_estimates(empty, 1.5, ["fnr"])
    assert np.isnan(fnr.low)
    assert "empty cell" in fnr.warnings[0]


def equal(n, seed=0):
    rng = np.random.default_rng(seed)
    return table_of(rng.integers(0, 2, n), rng.normal(size=n), rng.integers(0, 2, n))


def test_a_fair_score_is_certified_from_the_size_announced():
    small = certify(equal(400), 0.05, on="negatives")
    assert not small.certified
    assert np.isnan(small.low)
    assert small.thresholds == ()
    assert small.words.startswith("Not certified: the negatives of ")
    assert f"{small.needed:,} observations in every cell" in small.words
    sizes = [certify(equal(n), 0.05, on="negatives").needed for n in (20, 400)]
    assert sizes[0] == sizes[1]
    # So many observations in every cell: certified at most rates, more often than not.
    wide = [certify(equal(4 * small.needed, seed), 0.05, on="negatives") for seed in range(9)]
    assert np.median([c.high - c.low if c.certified else 0.0 for c in wide]) > 0.45
    large = certify(equal(10 * small.needed), 0.05, on="negatives")
    assert large.certified
    assert (large.low, large.high) == (0.05, 0.95)


def test_certificate_by_hand():
    """DKW shared between two classes, and the slack between three rates."""
    scores = equal(60_000, seed=5)
    found = certify(scores, 0.4, interval=(0.2, 0.6), n_rates=3)
    k = np.sqrt(np.log(4 / 0.025) / 2)  # 5 % shared by negatives and positives
    rates, worst = np.array([0.2, 0.4, 0.6]), np.zeros(2)
    cells = scores.cell_distributions
    for one, two in ((0, 1), (1, 0), (2, 3), (3, 2)):  # cut in either group
        curve = RocCurve(cells[one], cells[two]).with_ties_split()
        e0, e1 = (k / np.sqrt(len(c)) for c in (curve.reference, curve.target))
        high, low = curve.evaluate(rates + e0) + e1, curve.evaluate(rates - e0) - e1
        for step in range(2):
            above, below = high[step + 1] - rates[step], rates[step + 1] - low[step]
            worst[step] = max(worst[step], above, below)
    assert found.reach == pytest.approx(worst.min())
    assert found.reach > 0.2  # the slack of a step of 0.2 alone
    [at] = [t for t in found.thresholds if (t.on, t.first, t.second) == ("positives", "0", "1")]
    e0 = k / np.sqrt(len(cells[2]))
    cuts = cells[2].threshold([0.6 - e0, 0.2 + e0])
    assert (at.low, at.high) == pytest.approx(tuple(cuts))


def test_tiny_cells_are_never_certified_by_the_bootstrap():
    tiny = table_of([0, 0, 1, 1], [3, 2, 5, 4], ["a", "b"] * 2)
    found = certify(tiny, 0.2, interval=(0, 0.5), method="simultaneous")
    assert not found.certified
    assert "too small" in found.warnings[0]
    assert "worth 1 observation" in found.words
    uneven = table_of([0, 1] * 60, np.arange(120) % 40, np.arange(120) >= 80)
    assert "of True are worth 20" in certify(uneven, 0.2, on="negatives").words


def test_an_uneven_score_is_refused_for_its_gaps_not_for_its_size():
    score, y, group = credit_law().sample(50_000, 0)
    found = certify(table_of(y, score, group), 0.02, on="positives", interval=(0.1, 0.6))
    assert not found.certified
    assert "too large" in found.words


def test_within_an_interval_and_several_groups():
    rng = np.random.default_rng(0)
    n = 60_000
    scores = table_of(rng.integers(0, 2, n), rng.normal(size=n), rng.integers(0, 3, n))
    found = certify(scores, 0.06, interval=(0.1, 0.4))
    assert found.certified
    assert found.low >= 0.1
    assert found.high <= 0.4
    assert len(found.thresholds) == 12  # two classes, six ordered pairs


def test_bad_certificates():
    scores = equal(400)
    for tolerance in (0.0, 0.5, 1.0, np.nan, None, "0.1"):
        with pytest.raises(ValueError, match="tolerance"):
            certify(scores, tolerance)
    for named, bad in (("method", {"method": "normal"}), ("n_rates", {"n_rates": 1})):
        with pytest.raises(ValueError, match=named):
            certify(scores, 0.1, **bad)
    for on, named, more in (
        ("negatives", "n_resamples", {"n_resamples": 0}),
        ("both", "on must be", {}),
        ("negatives", "groups 0 to 1", {"first": 5}),
    ):
        with pytest.raises(ValueError, match=named):
            roc_gap_band(scores, on, RATES, **more)
    with pytest.raises(TypeError, match="GroupedScores"):
        certify(None, 0.1)
    with pytest.raises(ValueError, match="no positives of b"):
        certify(table_of([0, 1, 0], [1, 2, 2], ["a", "a", "b"]), 0.1)


@pytest.mark.parametrize("weights", [None, "real"])
def test_replicates_are_curves_of_the_replicate(weights):
    """Of rows redrawn with weights of their own, ties split or not."""
    rng = np.random.default_rng(7)
    rates = np.linspace(0.0, 1.0, 23)
    for levels in (None, 10):
        cells = table_of(*draw(1, levels=levels, weights=weights)).cell_distributions
        one, two = cells[0].homogeneous(), cells[1].homogeneous()
        w1, w2 = redraw(one, 10, rng), redraw(two, 10, rng)
        for split in (False, True):
            found = RocReplicates(one, two, w1, w2, ties_split=split).evaluate(rates)
            for row, a, b in zip(found, w1, w2, strict=True):
                samples = (
                    Distribution.from_sample(side.values, weight)
                    for side, weight in ((one, a), (two, b))
                )
                curve = RocCurve(*samples, ties_split=split)
                np.testing.assert_allclose(row, curve.evaluate(rates), atol=1e-12)


def test_the_smallest_part_is_that_with_which_enough_replicates_hold_both_curves():
    rng = np.random.default_rng(6)
    plain = Distribution.from_sample(rng.normal(size=80)).homogeneous()
    tied = Distribution.from_sample(np.round(rng.normal(size=60) + 0.5, 1)).homogeneous()
    curves = [RocCurve(plain, tied), RocCurve(tied, plain)]
    drawn = redraw_both(plain, tied, 99, np.random.default_rng(3))

    def held(part):
        inside = np.ones(99, dtype=bool)
        for curve, weights in zip(curves, (drawn, drawn[::-1]), strict=True):
            sides, centre = (curve.reference, curve.target), curve.evaluate(RATES)
            way = RocReplicates(*sides, *weights, ties_split=False)
            e0, e1 = (part * _reach(side, 0.8) for side in sides)
            low = np.where(e0 > RATES, 0.0, way.evaluate(np.maximum(RATES - e0, 0.0))) - e1
            away = np.maximum(low - centre, centre - way.evaluate(RATES + e0) - e1)
            inside &= away.max(axis=1) <= 1e-9
        return inside.sum()

    found = _calibrated(curves, RATES, 0.8, 99, 3)  # a third of the error: one sample has ties
    assert held(found) >= np.ceil((1.0 - 0.2 / 3.0) * 98) + 1 > held(found - 1.0 / 512.0)


def test_split_ties_show_no_gap_between_groups_of_one_law():
    y, groups = [0, 1] * 200, ["a"] * 200 + ["b"] * 200
    scores = table_of(y, [0, 0, 1, 1] * 100, groups)
    constraint = RocConstraint(on="negatives", rates=(0.25,))
    [split] = gap_estimates(scores, constraint)
    cells = scores.cell_distributions
    assert RocCurve(*cells[:2]).evaluate(0.25) - 0.25 == -0.25  # Definition 1: nobody is selected
    assert split.value == 0.0
    assert split.low < 0.0 < split.high
    assert split.p_value == pytest.approx(1.0)
    # Of one score for all, every replicate is the curve itself: the smallest part does.
    alone = RocCurve(*[Distribution.from_sample(np.ones(20))] * 2).with_ties_split()
    assert _calibrated([alone], np.array([0.25, 0.5]), 0.95, 20, 0) == 1.0 / 512.0


@pytest.mark.parametrize("method", ["dkw", "simultaneous"])
def test_a_certificate_of_a_table_of_bins_is_no_narrower_than_that_of_the_rows(method):
    rows = drawn_rows(n=2000, level=5, shift=0.05)
    exact, binned = (
        certify(table, 0.3, method=method, n_rates=21, n_resamples=60)
        for table in (rows.exact, rows.binned)
    )
    assert binned.reach >= exact.reach - 0.005  # the bootstrap sees other ties
    for on in ("negatives", "positives"):
        rates = np.linspace(0.01, 0.99, 60)
        one, two = (
            roc_gap_band(table, on, rates, kind="dkw") for table in (rows.exact, rows.binned)
        )
        assert np.all(two.low <= one.low + 1e-9)
        assert np.all(two.high >= one.high - 1e-9)


def test_quick_quantiles_of_large_binomials_are_a_seventh_of_a_person_off_at_most():
    z, size = np.array([1.0, 1.96, 2.6, 7.5]), np.array([900.0, 400.0, 5000.0, 1000.0])
    rate = np.array([0.2, 0.2, 0.2, 0.065])
    found = _binomial_quantiles(z, size, rate)
    for row, sign in zip(found, (-1.0, 1.0), strict=True):
        exact = bdtrik(norm.cdf(sign * z), size, rate)
        np.testing.assert_allclose(row, exact, atol=1.0 / 7.0)
