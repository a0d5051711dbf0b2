"""Densities of the cells from a classifier's probabilities, and their corrections."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from evenscore.gaps import as_constraints
from evenscore.gaps.family import family_values
from evenscore.learning.posteriors import CellDensities, CellModels, cross_fitted
from evenscore.learning.rankings import Rankings
from evenscore.learning.recalibration import JointRecalibration
from evenscore.learning.training_set import TrainingSet
from evenscore.learning.wrapping import check_table, checked_labels, fitted
from evenscore.scores.aucs import overall_auc


def gaussian(n, seed=0, weight=None):
    """Gaussian cells of one spread: their densities are known, and logistic regression is right."""
    rng = np.random.default_rng(seed)
    positive, group = rng.random(n) < 0.4, (rng.random(n) < 0.3).astype(np.intp)
    X = rng.normal(size=(n, 2)) + np.column_stack([1.5 * positive, 1.0 * group])
    return TrainingSet(X, positive, group, ("a", "b"), weight)


def true_densities(X):
    """Of the cells (negatives a, negatives b, positives a, positives b)."""
    centres = [(0.0, 0.0), (0.0, 1.0), (1.5, 0.0), (1.5, 1.0)]
    return np.exp([-0.5 * np.sum(np.square(X - c), axis=1) for c in centres]).T


def folds(n, count=3):
    fold = np.arange(n) % count
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("model", [LogisticRegression(), GaussianNB()])
def test_densities_are_those_of_the_law(model):
    """Seconds: densities need 20,000 rows to come near the law's."""
    data = gaussian(20_000)
    models, found = cross_fitted(model, data, folds(len(data)), data.positive, None)
    assert len(models) == 3
    masses = np.bincount(data.cell, minlength=4).reshape(2, 2) / len(data)
    whole = CellModels.fit(model, data, np.arange(len(data)), data.positive)
    densities = CellDensities.fit(whole, found, data, masses)
    X = gaussian(2000, seed=1).X
    wanted, got = true_densities(X), densities.at(X)
    ratio = np.log(got / got[:, [0]]) - np.log(wanted / wanted[:, [0]])
    assert np.quantile(np.abs(ratio), 0.9) < 0.25


def test_rows_are_scored_by_models_that_have_not_seen_them():
    data = gaussian(300)
    models, found = cross_fitted(LogisticRegression(), data, folds(300), data.positive, None)
    for k, model in enumerate(models):
        own = np.arange(k, 300, 3)
        for part, known in zip(found, model.probabilities(data.X[own], 2), strict=True):
            np.testing.assert_array_equal(part[own], known)
        rows = np.flatnonzero(np.arange(300) % 3 != k)
        again = LogisticRegression().fit(data.X[rows], data.positive[rows])
        np.testing.assert_allclose(model.label.coef_, again.coef_)


def test_a_joint_correction_mends_what_is_not_of_the_right_shape():
    """The chance of the second group has a bend that a logistic regression cannot have."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 1))
    truth = expit(2.0 * np.square(X[:, 0]) - 2.0)
    target = (rng.random(20_000) < truth).astype(np.intp)
    given = np.column_stack([np.full(20_000, 1.0 - target.mean()), np.full(20_000, target.mean())])
    joint = JointRecalibration.fit(X, given, target)
    assert np.mean(np.abs(joint(X, given)[:, 1] - truth)) < 0.03
    few = JointRecalibration.fit(X[:20], given[:20], target[:20])
    moved = np.mean(np.abs(few(X, given)[:, 1] - given[:, 1]))
    assert moved < 0.5 * np.mean(np.abs(truth - given[:, 1]))


def test_a_group_may_be_missing_in_a_fold():
    data = gaussian(200)
    rows = np.flatnonzero((data.codes == 0) | ~data.positive)  # no positives of b
    models = CellModels.fit(LogisticRegression(), data, rows, data.positive)
    label, negatives, positives = models.probabilities(data.X[:5], 2)
    assert label.shape == negatives.shape == positives.shape == (5, 2)
    np.testing.assert_array_equal(positives, [[1.0, 0.0]] * 5)


# ---------------------------------------------------------------------- rankings


def rankings(data, name):
    splits = folds(len(data))
    return Rankings(LogisticRegression(), data, as_constraints(name), splits, data.positive, None)


def test_the_ratio_ranks_like_a_classifier_of_a_weighted_population():
    data, m = gaussian(10_000), np.array([0.3])
    found = rankings(data, "bnsp")
    ratio = found.search.at(m)
    share = np.bincount(data.codes[data.positive]) / data.positive.sum()
    weights = found.weights(ratio)
    np.testing.assert_allclose(weights, share + np.array([-0.3, 0.3]), atol=1e-9)
    assert found.weighed == 1
    factor = np.where(data.positive, (weights / share)[data.codes], 1.0)
    model = LogisticRegression().fit(data.X, data.positive, factor)
    table = data.grouped(model.decision_function(data.X))
    assert overall_auc(table) == pytest.approx(ratio.auc, abs=3e-3)
    np.testing.assert_allclose(family_values(table, found.families), ratio.gaps, atol=0.01)


def test_many_rows_are_searched_through_some(monkeypatch):
    import evenscore.learning.rankings as module

    data = gaussian(4000)
    whole = rankings(data, "bpsn").search.at(np.array([0.2]))
    monkeypatch.setattr(module, "_SEARCHED_ROWS", 1000)
    some = rankings(data, "bpsn").search.at(np.array([0.2]))
    assert some.auc != whole.auc
    assert some.auc == pytest.approx(whole.auc, abs=0.03)


# ---------------------------------------------------------------------- over a classifier


def test_nothing_to_tell_apart_is_no_reason_to_fail():
    data = gaussian(50)
    model = fitted(LogisticRegression(), data, np.zeros(50, dtype=np.intp), np.arange(50))
    np.testing.assert_array_equal(model.predict_proba(data.X), [[1.0]] * 50)


def test_tables_and_labels_are_checked():
    with pytest.raises(ValueError, match=r"its shape is \(3,\)"):
        check_table(np.zeros(3))
    with pytest.raises(ValueError, match="y has 1 row but X has 2"):
        checked_labels(LogisticRegression(), np.zeros((2, 1)), [1])
    with pytest.raises(ValueError, match="requires y to be passed"):
        checked_labels(LogisticRegression(), np.zeros((2, 1)), None)
