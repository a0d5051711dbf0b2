"""What a round of trees asks for: likelihood, and what rows have done to their own scores."""

import numpy as np
import pytest
from scipy.special import expit

from evenscore.learning.boosters import LightGBMBooster, TreeSettings
from evenscore.learning.boosting import Likelihood, OwnPull, fall_of
from evenscore.learning.training_set import TrainingSet


def rows(n=300, seed=0, weights=False):
    rng = np.random.default_rng(seed)
    y, group = rng.random(n) < 0.3, rng.integers(0, 2, n)
    X = rng.normal(size=(n, 3)) + y[:, None]
    weight = rng.gamma(2.0, size=n) if weights else None
    return TrainingSet(X, y, group, (0, 1), weight), rng.normal(size=n)


# ---------------------------------------------------------------------- the likelihood


@pytest.mark.parametrize("weights", [False, True])
def test_slopes_of_the_likelihood_by_finite_differences(weights):
    data, raw = rows(40, weights=weights)
    likelihood = Likelihood(data, rounds=100)
    weight = np.ones(40) if data.weight is None else data.weight
    weight = weight / weight.mean()
    prevalence = weight[data.positive].sum() / weight.sum()

    def loss(scores):
        chance = expit(scores + np.log(prevalence / (1.0 - prevalence)))
        return -np.sum(weight * np.log(np.where(data.positive, chance, 1.0 - chance)))

    gradient, curvature = likelihood(raw)
    h = 1e-4
    for k, step in enumerate(h * np.eye(40)):
        up, middle, down = loss(raw + step), loss(raw), loss(raw - step)
        assert gradient[k] == pytest.approx((up - down) / (2 * h), abs=1e-6)
        assert curvature[k] == pytest.approx((up - 2 * middle + down) / h**2, abs=1e-5)
    # A score of zero everywhere is the prevalence, at which the gradients add up to nothing.
    assert abs(Likelihood(data, rounds=100)(np.zeros(40))[0].sum()) < 1e-10


def test_steps_of_the_likelihood_shrink_after_the_start():
    data, raw = rows(40)
    likelihood = Likelihood(data, rounds=100)
    answers = [likelihood(raw) for _ in range(100)]
    assert likelihood.round == 100
    first, curvature = answers[0]
    shares = [float((gradient / first).mean()) for gradient, _ in answers]
    np.testing.assert_allclose(shares[:31], 1.0)
    assert np.all(np.diff(shares[30:]) < 0.0)
    np.testing.assert_allclose(shares[65], fall_of(0.5))
    for gradient, other in answers:
        np.testing.assert_array_equal(other, curvature)
        assert np.ptp(gradient / first) < 1e-12


# ---------------------------------------------------------------------- what rows do to themselves


@pytest.mark.parametrize("l2", [0.5, 20.0])
def test_the_own_pull_is_what_a_leaf_would_be_without_the_row(l2):
    data, _ = rows(120)
    rng = np.random.default_rng(1)
    settings = TreeSettings(0.2, 6, 5, l2, 1.0, 1.0, 1.0, 255, (), (), 0, 1)
    booster = LightGBMBooster.begin(data.X, rng.normal(size=120), settings)
    own = OwnPull(settings.learning_rate, l2, 1.0, np.zeros(120))
    expected = np.zeros(120)
    raw = booster.training_scores()
    for _ in range(3):
        # LightGBM keeps gradients as single precision: such as it can keep.
        gradient, curvature = (
            column.astype(np.float32).astype(np.float64)
            for column in (rng.normal(size=120) - data.X[:, 0], rng.uniform(0.5, 2.0, 120))
        )
        own.before = raw.copy(), gradient, curvature
        assert booster.grow(lambda _, g=gradient, h=curvature: (g, h))
        raw = booster.training_scores()
        own.note(raw, booster.last_leaves())
        leaf = booster.model.predict(data.X, pred_leaf=True)[:, -1]
        assert len(np.unique(leaf)) > 2
        for i in range(120):
            others = (leaf == leaf[i]) & (np.arange(120) != i)
            value = -gradient[leaf == leaf[i]].sum() / (curvature[leaf == leaf[i]].sum() + l2)
            without = -gradient[others].sum() / (curvature[others].sum() + l2)
            expected[i] += 0.2 * (without - value)
        np.testing.assert_allclose(own.total, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(own.expected(raw), raw + own.total)
