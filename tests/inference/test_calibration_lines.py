"""Calibration slopes and intercepts: scikit-learn's, by hand, invariances and coverage."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from support.making import often

from evenscore import GroupedScores
from evenscore.inference.calibration_lines import calibration_lines


def table(y, score, group, **more):
    return GroupedScores.from_arrays(y, score, sensitive_features=group, pos_label=1, **more)


def people(seed, n=3000, a=0.3, b=0.8, weighted=False):
    rng = np.random.default_rng(seed)
    x, group = 1.5 * rng.normal(size=n) - 1.0, rng.integers(0, 2, n)
    y = (rng.random(n) < expit(a + b * x + 0.5 * group)).astype(int)
    return y, expit(x), group, rng.gamma(2.0, size=n) if weighted else np.ones(n)


def by_scikit_learn(x, y, weight):
    found = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000)
    found.fit(x[:, None], y, sample_weight=weight)
    return found.intercept_[0], found.coef_[0, 0]


def test_two_scores_by_hand():
    """Two scores fix the line: the log-odds there are those of the shares.

    At a score of 0.5 (log-odds 0) one in four is positive, at 0.8 (log-odds ln 4) four in five.
    So the intercept is ln(1/3) and the slope (ln 4 − ln(1/3))/ln 4 = ln 12/ln 4.
    """
    y = [1] * 10 + [0] * 30 + [1] * 40 + [0] * 10
    found = calibration_lines(table(y, [0.5] * 40 + [0.8] * 50, ["a"] * 90))
    assert found.logits
    assert found.intercept.value[0] == pytest.approx(-np.log(3.0), rel=1e-8)
    assert found.slope.value[0] == pytest.approx(np.log(12.0) / np.log(4.0), rel=1e-8)
    # Its variance is that of a share: 1/10 + 1/30 on the scale of log-odds, times n/(n − 2).
    half = (found.intercept.high[0] - found.intercept.low[0]) / 2.0
    n = 90.0  # 40 negatives times four is more than everybody
    assert half == pytest.approx(np.sqrt((1 / 10 + 1 / 30) * n / (n - 2)) * 1.9873, rel=1e-3)


@pytest.mark.parametrize(("weighted", "n"), [(True, 300), (False, 12_000)])  # many: in blocks
def test_it_is_scikit_learns(weighted, n):
    y, score, group, weight = people(1, n, weighted=weighted)
    found = calibration_lines(table(y, score, group, sample_weight=weight))
    for k, own in enumerate((group >= 0, group == 0, group == 1)):
        a, b = by_scikit_learn(logit(score[own]), y[own], weight[own])
        assert found.intercept.value[k] == pytest.approx(a, abs=2e-6)
        assert found.slope.value[k] == pytest.approx(b, abs=2e-6)


def naive_errors(x, y, weight, cluster):
    """The sandwich, row by row, at the maximum that scikit-learn finds."""
    a, b = by_scikit_learn(x, y, weight)
    p = expit(a + b * x)
    design = np.stack([np.ones(len(x)), x], axis=1)
    bread = np.linalg.inv((design * (weight * p * (1 - p))[:, None]).T @ design)
    scores = design * (weight * (y - p))[:, None]
    sums = np.stack([np.bincount(cluster, column) for column in scores.T], axis=1)
    return np.sqrt(np.diag(bread @ (sums.T @ sums) @ bread))


@pytest.mark.parametrize(("weighted", "clustered"), [(True, False), (False, True)])
def test_intervals_are_the_sandwichs(weighted, clustered):
    y, score, group, weight = people(2, 12_000, weighted=weighted)
    rows = np.arange(len(y)) // (5 if clustered else 1)
    more = {"cluster": rows} if clustered else {}
    found = calibration_lines(table(y, score, group, sample_weight=weight, **more))
    own = group == 1
    errors = naive_errors(logit(score[own]), y[own], weight[own], rows[own])
    for line, error in zip((found.intercept, found.slope), errors, strict=True):
        half = (line.high[2] - line.low[2]) / 2.0
        assert half / 1.96 == pytest.approx(error, rel=3e-3)


def test_in_the_large_is_where_the_mean_probability_is_the_share():
    y, score, group, weight = people(3, weighted=True)
    found = calibration_lines(table(y, score, group, sample_weight=weight)).in_the_large
    for k, own in enumerate((group >= 0, group == 0, group == 1)):
        p = expit(found.value[k] + logit(score[own]))
        share = np.average(y[own], weights=weight[own])
        assert np.average(p, weights=weight[own]) == pytest.approx(share, abs=1e-8)


def test_other_scores_are_standardised():
    y, score, group, _ = people(4)
    marks = 600.0 + 50.0 * logit(score)
    found = calibration_lines(table(y, marks, group))
    assert not found.logits
    assert found.centre == pytest.approx(marks.mean())
    assert found.scale == pytest.approx(marks.std())
    a, b = by_scikit_learn((marks - marks.mean()) / marks.std(), y, np.ones(len(y)))
    assert found.intercept.value[0] == pytest.approx(a, abs=2e-6)
    assert found.slope.value[0] == pytest.approx(b, abs=2e-6)
    assert np.isnan(found.in_the_large.value).all()
    assert "between 0 and 1" in found.in_the_large.reason[0]
    # Neither the unit of the score nor its origin matters.
    for other in (1e200 * marks, marks - 600.0):
        again = calibration_lines(table(y, other, group))
        np.testing.assert_allclose(again.slope.low, found.slope.low, rtol=1e-6)
    assert not calibration_lines(table([0, 1], [0.0, 0.5], ["a", "a"])).logits


def test_weights_are_repeated_people_and_names_do_not_matter():
    y, score, group, _ = people(5, 400)
    weight = np.random.default_rng(0).integers(1, 4, 400)
    found = calibration_lines(table(y, score, group, sample_weight=weight.astype(float)))
    repeated = calibration_lines(table(*(np.repeat(part, weight) for part in (y, score, group))))
    np.testing.assert_allclose(repeated.slope.value, found.slope.value, rtol=1e-7)
    renamed = calibration_lines(
        table(y[::-1], score[::-1], 1 - group[::-1], sample_weight=7.0 * weight[::-1])
    )
    np.testing.assert_allclose(renamed.slope.low[[0, 2, 1]], found.slope.low, rtol=1e-7)


def test_reasons_in_the_place_of_numbers():
    def reasons(y, score, group=None):
        lines = calibration_lines(table(y, score, group or ["a"] * len(y)))
        assert (np.isnan(lines.slope.value) == [bool(r) for r in lines.slope.reason]).all()
        return lines.slope.reason

    for y, score in (
        ([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4]),
        ([0, 0, 1, 1], [0.1, 0.3, 0.3, 0.4]),  # they touch
        ([1, 1, 0, 0], [0.1, 0.2, 0.3, 0.4]),
    ):
        assert all("do not overlap" in reason for reason in reasons(y, score))
    assert reasons([0, 1, 0, 1], [0.3] * 4) == ("all scores are equal",) * 2
    missing = reasons([0, 0, 1], [0.1, 0.2, 0.3], list("aab"))[1:]
    assert missing == ("there are no positives", "there are no negatives")
    y, score = [0, 1, 0, 1] + [0] * 20, [0.1, 0.2, 0.3, 0.4] + [0.15] * 20  # many of one class
    few = calibration_lines(table(y, score, ["a"] * 24))
    assert not np.isnan(few.slope.value[0])
    assert np.isnan(few.slope.low[0])
    assert "10 observations" in few.slope.reason[0]


def test_scores_that_differ_in_the_last_digit_only_are_equal():
    """Beside 1e12, 0 and 1e-12 are one score: they tell nothing of the slope."""
    y, score = [0, 1, 0, 1, 0, 1], [0.0, 1e-12, 1e-12, 0.0, 1e12, 1e12]
    found = calibration_lines(table(y, score, list("aaaabb")))
    assert found.slope.reason[1:] == ("all scores are equal",) * 2
    assert np.isfinite(found.slope.value[0])


def test_scores_next_to_zero_and_one():
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, 200)
    score = np.where(rng.random(200) < 0.5, 1e-300, 1.0 - 1e-16)
    found = calibration_lines(table(y, score, ["a"] * 200))
    _, b = by_scikit_learn((logit(score) + 300.0) / 300.0, y, np.ones(200))
    assert found.slope.value[0] * 300.0 == pytest.approx(b, rel=1e-4)
    assert np.isfinite(found.slope.low[0])


def test_coverage():
    """With weights and clusters: the scores of a cluster are alike, outcomes given them are not."""
    rng, n, a = np.random.default_rng(3), 400, -0.5
    cluster, runs, held = np.arange(n) // 4, often(120), np.zeros(3)
    for _ in range(runs):
        x = rng.normal(size=n)[cluster]
        y = (rng.random(n) < expit(a + x)).astype(int)
        weight = rng.gamma(2.0, size=n)
        found = calibration_lines(
            table(y, expit(x), ["a"] * n, sample_weight=weight, cluster=cluster)
        )
        truths = zip((found.intercept, found.slope, found.in_the_large), (a, 1.0, a), strict=True)
        held += [line.low[0] <= truth <= line.high[0] for line, truth in truths]
    assert (held / runs > 0.95 - 2.5 * np.sqrt(0.05 * 0.95 / runs)).all()
    assert np.mean(held / runs) < 0.99
