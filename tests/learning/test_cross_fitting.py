"""The intervals by cross-fitting: whom they test, and how far the folds' scorers are off."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from evenscore import AucConstraint, GroupedScores, LinearScorer, RocConstraint
from evenscore.gaps.family import family_estimates, family_values
from evenscore.inference.intervals import t_quantile
from evenscore.learning import FairScorer, History
from evenscore.learning.training_set import TrainingSet

FAMILIES = [RocConstraint(on="both", rates=(0.25,)), AucConstraint.named("intra_group")]


def rows(n=900, seed=0):
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), (rng.random(n) < 0.4).astype(int)
    X = rng.normal(size=(n, 4)) + np.outer(y, [1.0, 0.6, 0.0, 0.0])
    X[:, 0] += 0.5 * group
    X[:, 2] += 0.4 * group * y
    return X, y, group


def fitted(scorer, X, y, group, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return scorer.fit(X, y, sensitive_features=group, **options)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_every_number_again_in_plain_steps(weighted):
    X, y, group = rows(500)
    weight = np.random.default_rng(5).uniform(0.5, 2.0, len(y)) if weighted else None
    asked = dict(strength=0.1, random_state=3)
    scorer = fitted(LinearScorer(FAMILIES, folds=3, **asked), X, y, group, sample_weight=weight)

    def grouped(score):
        return GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)

    data = TrainingSet.read(X, y == 1, group, weight, FAMILIES)
    fold = data.folds(3, np.random.default_rng(3))
    pooled, deviations = np.empty(len(y)), []
    final = family_values(grouped(scorer.decision_function(X)), FAMILIES)
    for k in range(3):
        kept = fold != k
        w = np.ones(kept.sum()) if weight is None else weight[kept]
        other = fitted(
            LinearScorer(FAMILIES, folds=0, **asked), X[kept], y[kept], group[kept], sample_weight=w
        )
        score = other.decision_function(X)
        mean = np.average(score[kept], weights=w)
        scale = np.sqrt(np.average((score[kept] - mean) ** 2, weights=w))
        pooled[~kept] = (score[~kept] - mean) / scale
        deviations.append(family_values(grouped(score), FAMILIES) - final)
    tested = family_estimates(grouped(pooled), FAMILIES)
    added = np.mean(np.square(deviations), axis=0)
    assert np.all(added > 0.0)
    for gap, narrow, variance in zip(scorer.gaps_, tested, added, strict=True):
        assert gap.key == narrow.key
        assert gap.value == pytest.approx(narrow.value)
        assert gap.standard_error == pytest.approx(np.hypot(narrow.standard_error, variance**0.5))
        moved = t_quantile(0.975, narrow.degrees_of_freedom) * variance**0.5
        assert gap.low == pytest.approx(gap.value - np.hypot(narrow.value - narrow.low, moved))
        assert gap.high == pytest.approx(gap.value + np.hypot(narrow.high - narrow.value, moved))


class FirstFeature(FairScorer):
    """Learns nothing: the folds' scorers are the final one."""

    def learn(self, train, task):
        return History()

    def raw_score(self, X):
        return np.asarray(X[:, 0])


def test_scorers_that_do_not_differ_add_nothing():
    X, y, group = rows(600)
    asked = dict(strength=0.0, random_state=0)
    scorer = fitted(FirstFeature(FAMILIES, folds=4, **asked), X, y, group)
    assert all("folds' scorers" not in gap.method for gap in scorer.gaps_)
    inside = fitted(FirstFeature(FAMILIES, folds=0, **asked), X, y, group)
    assert inside.price_ is inside.left_out_ is None
    for new, old in zip(scorer.gaps_, inside.gaps_, strict=True):
        # The same people and nearly the same score, folds being standardised by themselves.
        assert new.standard_error == pytest.approx(old.standard_error, rel=0.1)
