"""Probabilities: an increasing function of the score, calibrated where it had not been trained."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.calibration import _sigmoid_calibration
from sklearn.metrics import log_loss, roc_auc_score

from evenscore import GroupedScores, LinearScorer, RocConstraint, metrics
from evenscore.learning import FairScorer, History
from evenscore.learning.calibrating import _BEND, Calibration


def drawn(n=4000, law=lambda t: 1.5 * t - 1.0, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.normal(size=n)
    return t, rng.random(n) < expit(law(t))


def table(t, positive, weight=None, groups=None):
    groups = np.zeros(len(t)) if groups is None else groups
    return GroupedScores.from_arrays(
        positive, t, sensitive_features=groups, sample_weight=weight
    )  # fmt: skip


def bent(t):
    """Steep in the middle, flat at both ends: no line."""
    return 1.5 * np.tanh(3.0 * t)


# ---------------------------------------------------------------------- the map


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-5, 5), st.booleans(), st.floats(0.1, 3)), min_size=2),
    st.booleans(),
)
def test_it_is_strictly_increasing_whatever_the_rows(rows, weighted):
    t, positive, weight = (np.array(column) for column in zip(*rows, strict=True))
    positive[:2] = True, False
    found = Calibration.fit(table(t, positive, weight if weighted else None))
    at = np.unique(np.concatenate((np.linspace(-8, 8, 400), [-1e6, -300.0, 300.0, 1e6])))
    assert np.all(np.diff(found._log_odds(at)) > 0.0)  # whose probabilities may round to 1
    p = found.probability(at)
    assert np.all(np.diff(p) >= 0.0)
    assert 0.0 <= p[0] < p[-1] <= 1.0


@pytest.mark.parametrize(
    "positive", ["separated", "reversed", "unrelated", "constant"], ids=lambda kind: kind
)
def test_scores_that_tell_everything_or_nothing(positive):
    t = np.linspace(-2.0, 2.0, 200)
    labels = {
        "separated": t > 0.0,
        "reversed": t < 0.0,
        "unrelated": np.arange(200) % 2 == 1,
        "constant": np.arange(200) % 4 == 1,
    }[positive]
    score = 0.0 * t if positive == "constant" else t
    found = Calibration.fit(table(score, labels))
    p = found.probability(t)
    assert np.all(np.diff(p) > 0.0)
    if positive == "separated":
        assert p[0] < 0.02 < 0.98 < p[-1]
    else:  # it has nothing to say, or worse: everybody's share
        np.testing.assert_allclose(p, labels.mean(), atol=0.02)


def test_the_optimum_by_another_algorithm():
    """The objective written again in plain steps, minimised from elsewhere."""
    t, positive = drawn(300, bent)
    found = Calibration.fit(table(t, positive))
    n_positive = positive.sum()
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (300 - n_positive + 2))
    slope = -_sigmoid_calibration(t, positive)[0]
    inner = found.knots[1:-1]
    assert len(inner) == 9

    def log_odds(parameters, at):
        """A polygon through (first inner knot, level), with a slope on either side of each knot."""
        level, first, *others = parameters
        total = level + first * np.minimum(at - inner[0], 0.0)
        for (start, end), one in zip(pairwise([*inner, np.inf]), others, strict=True):
            total = total + one * np.clip(at - start, 0.0, end - start)
        return total

    def objective(parameters):
        p = expit(log_odds(parameters, t))
        likelihood = np.sum(target * np.log(p) + (1 - target) * np.log(1 - p))
        return -likelihood + 0.5 * np.sum((np.diff(parameters[1:]) / (_BEND * slope)) ** 2)

    best = minimize(
        objective, np.full(11, 0.5), method="SLSQP", bounds=[(None, None)] + [(1e-3, None)] * 10,
        options={"ftol": 1e-12, "maxiter": 1000},
    )  # fmt: skip
    np.testing.assert_allclose(
        found.slopes, (np.diff(found.log_odds) / np.diff(found.knots))[[0, -1]]
    )
    own = [found.log_odds[1], *(np.diff(found.log_odds) / np.diff(found.knots))]
    assert objective(np.array(own)) <= best.fun + 1e-4
    np.testing.assert_allclose(found.log_odds[1:-1], log_odds(best.x, inner), atol=0.01)


def test_many_rows_find_the_law():
    t, positive = drawn(100_000, bent)
    at = np.linspace(-2.0, 2.0, 41)
    found = Calibration.fit(table(t, positive)).probability(at)
    np.testing.assert_allclose(found, expit(bent(at)), atol=0.04)
    a, b = _sigmoid_calibration(t, positive)
    assert np.abs(expit(-a * at - b) - expit(bent(at))).max() > 0.08


# ---------------------------------------------------------------------- scorers


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y, group = (rng.random(n) < 0.3).astype(int), (rng.random(n) < 0.4).astype(int)
    X = rng.normal(size=(n, 3)) + np.outer(y, [1.0, 0.5, 0.0])
    X[:, 0] += 0.5 * group
    return X, y, group


def test_without_folds_there_are_no_probabilities():
    X, y, _ = rows(100)
    for scorer in (LinearScorer(folds=0), LinearScorer(folds=0).fit(X, y)):
        assert not hasattr(scorer, "predict_proba")
        with pytest.raises(AttributeError, match="predict_proba") as caught:
            scorer.predict_proba(X)
        assert "folds=" in str(caught.value.__cause__)
    scorer = LinearScorer()  # by default
    assert hasattr(scorer, "predict_proba")
    assert hasattr(scorer.fit(X, y), "predict_proba")
    assert scorer.set_params(folds=0).predict_proba(X).shape == (100, 2)
    assert not hasattr(scorer.fit(X, y), "predict_proba")  # nothing is left of the fit before
    assert not hasattr(scorer.set_params(folds=3), "predict_proba")
    with pytest.raises(ValueError, match="folds must be"):
        LinearScorer(folds="many").fit(X, y)


@pytest.mark.parametrize("constraints", [(), RocConstraint(rates=(0.25,))], ids=["free", "fair"])
@pytest.mark.parametrize("weighted", [False, True])
def test_probabilities_rank_as_the_score_does(constraints, weighted):
    X, y, group = rows()
    labels = np.array(["repaid", "default"])[y]  # "repaid" is the second class
    more = {"sample_weight": np.random.default_rng(3).gamma(2.0, size=len(y))} if weighted else {}
    if constraints:
        more["sensitive_features"] = group
    scorer = LinearScorer(constraints, tolerance=0.2, folds=2, random_state=0)
    scorer.fit(X, labels, **more)
    new, outcome, groups = rows(500, seed=1)
    p, score = scorer.predict_proba(new), scorer.decision_function(new)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert np.all((p > 0.0) & (p < 1.0))
    order = np.argsort(score)
    assert np.all(np.diff(p[order, 1]) > 0.0)
    assert roc_auc_score(outcome == 0, p[:, 1]) == roc_auc_score(outcome == 0, score)
    gaps = [metrics.auc_gap(outcome, s, sensitive_features=groups) for s in (p[:, 1], score)]
    assert gaps[0] == gaps[1]
    weight = more.get("sample_weight")
    expected = np.average(labels == "repaid", weights=weight)
    inside = scorer.predict_proba(X)[:, 1]
    assert np.average(inside, weights=weight) == pytest.approx(expected, abs=0.03)


class Nearest(FairScorer):
    """Knows its training rows by heart, and of others whom they resemble most."""

    def learn(self, train, task):
        self.rows_, self.labels_ = train.X, train.positive
        return History()

    def raw_score(self, X):
        distance = np.abs(X[:, None, :] - self.rows_[None]).sum(axis=2)
        nearest = np.argmin(distance, axis=1)
        return self.labels_[nearest] + 1e-3 * X[:, 0]


def test_what_was_learned_by_heart_counts_for_nothing():
    """Its scores of the rows trained on are perfect; the probabilities of new rows are honest."""
    X, y, _ = rows(800)
    scorer = Nearest(folds=4, random_state=0).fit(X, y)
    assert scorer.score(X, y) == 1.0
    new, outcome, _ = rows(800, seed=1)
    p = scorer.predict_proba(new)[:, 1]
    assert log_loss(outcome, p) < log_loss(outcome, np.full(800, outcome.mean()))
    assert p.max() < 0.75
    like_positives = scorer.raw_score(new) > 0.5
    for part in (like_positives, ~like_positives):
        assert p[part].mean() == pytest.approx(outcome[part].mean(), abs=0.06)


def test_folds_without_constraints_keep_clusters_whole_and_need_rows_of_each_class():
    X, y, _ = rows(300)
    cluster = np.repeat(np.arange(100), 3)
    scorer = Nearest(folds=3, random_state=0).fit(
        np.repeat(X[:100], 3, axis=0), np.repeat(y[:100], 3), cluster=cluster
    )
    assert scorer.predict_proba(X).max() < 0.9  # not one row of a cluster told of another
    assert scorer.gaps_ == scorer.verdicts_ == []
    assert scorer.price_ is None
    few = np.arange(50) < 3
    with pytest.raises(ValueError, match=r"folds=4 needs .* 3 positives"):
        LinearScorer(folds=4).fit(X[:50], few)
    with pytest.raises(ValueError, match=r"4 clusters .* 2 with negatives"):
        LinearScorer(folds=4).fit(X[:50], np.arange(50) > 5, cluster=np.arange(50) // 3)


def test_log_odds_at_the_knots_are_those_kept():
    t, positive = drawn(800)
    found = Calibration.fit(table(t, positive))
    np.testing.assert_allclose(logit(found.probability(found.knots)), found.log_odds)
