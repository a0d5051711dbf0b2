"""Precision-recall curves by group at a common prevalence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.metrics import average_precision_score, precision_recall_curve
from support.making import draw, often, table_of

from evenscore import metrics
from evenscore.inference.precision_recall import average_precision_estimates
from evenscore.scores.precision_recall import average_precisions, precision_recall_curves


@pytest.mark.parametrize(("levels", "weights"), [(None, "real"), (10, None), (1, "integer")])
def test_at_a_groups_own_prevalence_it_is_that_of_scikit_learn(levels, weights):
    y, score, group, weight = draw(4, n=150, n_groups=3, levels=levels, weights=weights)
    found = average_precisions(table_of(y, score, group, weight), "own")
    curves = precision_recall_curves(table_of(y, score, group, weight), "own")
    for k in range(3):
        own = group == k
        w = None if weight is None else weight[own]
        expected = average_precision_score(y[own], score[own], sample_weight=w)
        assert found[k] == pytest.approx(expected, abs=1e-12)
        precision, recall, _ = precision_recall_curve(y[own], score[own], sample_weight=w)
        for r in np.unique(recall[recall > 0.0]):
            strictest = precision[np.flatnonzero(recall >= r - 1e-12)[-1]]
            assert curves[k].evaluate(r) == pytest.approx(strictest, abs=1e-12)


@given(
    seed=st.integers(0, 10**6),
    levels=st.sampled_from([None, 8]),
    prevalence=st.floats(0.02, 0.98),
)
def test_at_any_prevalence_it_is_that_of_people_weighted_to_it(seed, levels, prevalence):
    y, score, group, weight = draw(seed, n=60, levels=levels, weights="real")
    found = average_precisions(table_of(y, score, group, weight), prevalence)
    for k in range(2):
        own = group == k
        share = [weight[own & (y == c)].sum() for c in (0, 1)]
        w = weight[own] * np.where(y[own] == 1, prevalence / share[1], (1 - prevalence) / share[0])
        expected = average_precision_score(y[own], score[own], sample_weight=w)
        assert found[k] == pytest.approx(expected, abs=1e-9)


def test_groups_alike_but_for_their_prevalence_differ_in_what_is_seen_alone():
    rng = np.random.default_rng(0)
    h, g = rng.normal(size=400), rng.normal(size=200) + 1.0
    score = np.concatenate([h, g, np.tile(h, 5), g])
    y = np.repeat([0, 1, 0, 1], [400, 200, 2000, 200])
    group = np.repeat(["a", "b"], [600, 2200])
    kwargs = {"sensitive_features": group}
    assert metrics.average_precision_gap(y, score, **kwargs) == pytest.approx(0.0, abs=1e-12)
    assert metrics.average_precision_gap(y, score, **kwargs, prevalence="own") > 0.2
    signed = metrics.average_precision_gap(
        y, score, **kwargs, prevalence="own", signed=True, group_order=["b", "a"]
    )
    assert signed < -0.2


def test_an_empty_cell_is_said():
    y, score, group, _ = draw(1, n_groups=3)
    keep = ~((y == 1) & (group == 2))
    y, score, group = y[keep], score[keep], group[keep]
    scores = table_of(y, score, group)
    assert np.isnan(average_precisions(scores)).tolist() == [False, False, True]
    assert np.isnan(precision_recall_curves(scores)[2].evaluate(0.5))
    estimates = average_precision_estimates(scores, n_resamples=50)
    assert [np.isnan(e.value) for e in estimates] == [False, False, True, False, True, True]
    assert all(e.warnings[0].endswith("positives of 2") for e in estimates if np.isnan(e.value))
    with pytest.raises(ValueError, match="positives of 2"):
        metrics.average_precision_gap(y, score, sensitive_features=group)


def test_bad_prevalences():
    scores = table_of(*draw(1))
    for bad in (0.0, 1.0, -0.1, "mean", None, True, np.nan, 10**400, np.zeros((2, 2))):
        with pytest.raises(ValueError, match="prevalence") as caught:
            average_precisions(scores, bad)
        assert "\n" not in str(caught.value)


def test_estimates_have_intervals_and_the_groups_names():
    y, score, group, weight = draw(3, n=400, n_groups=3, weights="real")
    scores = table_of(y, score, np.array(["a", "b and c", "0.5"])[group], weight)
    estimates = average_precision_estimates(scores, n_resamples=100)
    assert len(estimates) == 6
    assert [e.first for e in estimates[:3]] == [str(g) for g in scores.groups]
    values = average_precisions(scores)
    for estimate, value in zip(estimates, values, strict=False):
        assert estimate.value == value
        assert estimate.low < value < estimate.high
        assert np.isnan(estimate.p_value)
    for estimate, (i, j) in zip(estimates[3:], scores.pairs(), strict=True):
        assert estimate.value == pytest.approx(values[i] - values[j])
        assert (estimate.first_value, estimate.second_value) == (values[i], values[j])
        assert estimate.adjusted_p_value >= estimate.p_value
    again = average_precision_estimates(scores, n_resamples=100)
    assert again == estimates


@pytest.mark.slow
def test_coverage_of_average_precisions():
    """A law whose average precision is an integral; samples of 200 and 600 people."""

    def truth(shift, p=0.3):
        r = (np.arange(10_000) + 0.5) / 10_000
        return np.mean(p * r / (p * r + (1 - p) * norm.sf(norm.isf(r) + shift)))

    rng = np.random.default_rng(7)
    true = np.array([truth(1.5), truth(1.0), truth(1.5) - truth(1.0)])
    y = np.repeat([0, 1, 0, 1], [140, 60, 420, 180])
    group = np.repeat([0, 1], [200, 600])
    held, n = np.zeros(3), often(30)
    for seed in range(n):
        score = rng.normal(size=800) + y * np.where(group == 0, 1.5, 1.0)
        estimates = average_precision_estimates(
            table_of(y, score, group), 0.3, n_resamples=150, sampling="cells", random_state=seed
        )
        held += [e.low <= t <= e.high for e, t in zip(estimates, true, strict=True)]
    assert (held / n >= 0.93 - 2.0 * np.sqrt(0.93 * 0.07 / n)).all(), held / n
