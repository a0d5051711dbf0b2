"""Rates at a cut with intervals, calibration and paired ROC gaps: closed forms and coverage."""

import numpy as np
import pytest
from conftest import draw
from scipy.stats import binomtest

from evenscore import GroupedScores
from evenscore.inference import calibration_by_group, cut_table
from evenscore.inference.cuts import ratio_limits
from evenscore.inference.estimate import wilson
from evenscore.inference.paired_rates import paired_roc_gap_differences
from evenscore.measures import roc_gap


def test_intervals_are_wilsons():
    y, score, group, _ = draw(1, n=300, levels=None)
    scores = GroupedScores.from_arrays(y, score, sensitive_features=group)
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
        cut_table(
            GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=w), [0.0]
        )
        for w in (None, weight, 2 * weight)
    )
    for name in ("selection_rate", "fpr", "fnr", "precision"):
        one, two, three = (getattr(table, name) for table in (plain, weighted, doubled))
        assert np.all(two.high - two.low > one.high - one.low)
        np.testing.assert_allclose(two.low, three.low)
    chosen = (score > 0.0) & (group == 0)
    w = weight[chosen]
    # Wilson's formula, with n = (Σw)²/Σw².
    n, p, z = w.sum() ** 2 / np.square(w).sum(), w[y[chosen] == 1].sum() / w.sum(), 1.959964
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    assert weighted.precision.low[0, 0] == pytest.approx(middle - half, abs=1e-6)


def test_nobody_selected_has_no_ratio():
    y, score, group, _ = draw(3, n=50, levels=None)
    scores = GroupedScores.from_arrays(y, score, sensitive_features=group)
    table = cut_table(scores, [np.inf, -np.inf])
    assert np.isnan(table.impact_ratio.value[0])
    assert "nobody is selected" in table.impact_ratio.notes[0]
    assert table.impact_ratio.value[1] == 1.0
    assert "same rate" in table.impact_ratio.notes[1]
    assert np.isnan(table.precision.value[0]).all()


def test_ratio_limits_cover():
    rng = np.random.default_rng(0)
    z = 1.959964
    for p, q, n in ((0.1, 0.3, 60), (0.4, 0.5, 200), (0.02, 0.1, 150)):
        inside = 0
        for _ in range(1500):
            one, two = rng.binomial(n, p) / n, rng.binomial(n, q) / n
            if two == 0:
                inside += 1
                continue
            limits = [tuple(float(x) for x in wilson(s, n, z)) for s in (one, two)]
            low, high = ratio_limits((one, *limits[0]), (two, *limits[1]))
            inside += low <= p / q <= high
        assert inside / 1500 > 0.93
    assert ratio_limits((0.0, 0.0, 0.1), (0.5, 0.4, 0.6))[0] == 0.0
    assert ratio_limits((0.1, 0.0, 0.5), (0.1, 0.0, 0.5))[1] == np.inf


def test_calibration_refuses_nobody_and_bad_bins():
    scores = GroupedScores.from_arrays([], [], sensitive_features=[])
    with pytest.raises(ValueError, match="nobody"):
        calibration_by_group(scores)
    y, score, group, _ = draw(4, n=50)
    full = GroupedScores.from_arrays(y, score, sensitive_features=group)
    with pytest.raises(ValueError, match="n_bins must be a whole number"):
        calibration_by_group(full, n_bins=0)


@pytest.mark.parametrize("weights", [None, "real"])
def test_paired_roc_gaps_are_differences_of_roc_gaps(weights):
    y, score, group, weight = draw(5, n=120, n_groups=3, levels=5, weights=weights)
    other = -score + np.arange(len(y)) % 3
    rates = [0.1, 0.5]
    found = iter(
        paired_roc_gap_differences(
            y == 1, score, other, group, list("abc"), rates, sample_weight=weight, n_resamples=20
        )
    )
    one, two = (
        GroupedScores.from_arrays(y, s, sensitive_features=group, sample_weight=weight)
        for s in (score, other)
    )
    for on in ("negatives", "positives"):
        for i, j in one.pairs():
            expected = roc_gap(one, on, rates, i, j) - roc_gap(two, on, rates, i, j)
            for value in expected:
                assert next(found).value == pytest.approx(value, abs=1e-9)


def test_paired_roc_gap_intervals_cover():
    # Two scores of the same law, correlated: the true difference of their gaps is zero.
    rng = np.random.default_rng(1)
    n, inside, total = 600, 0, 0
    for run in range(60):
        y, group = rng.integers(0, 2, n), rng.integers(0, 2, n)
        latent = rng.normal(size=n) + y + 0.5 * group
        one, two = (latent + rng.normal(size=n) for _ in range(2))
        for estimate in paired_roc_gap_differences(
            y == 1, one, two, group, ["a", "b"], (0.25, 0.5), n_resamples=200, random_state=run
        ):
            inside += estimate.low <= 0.0 <= estimate.high
            total += 1
    assert 0.9 < inside / total <= 1.0


def test_paired_roc_gaps_need_every_cell():
    with pytest.raises(ValueError, match="no positives of b"):
        paired_roc_gap_differences(
            np.array([False, True, False]), np.zeros(3), np.zeros(3), np.array([0, 0, 1]),
            ["a", "b"], [0.5],
        )  # fmt: skip
