"""The group as a feature: what it buys, that it is needed to score, and what is refused."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from evenscore import Cuts, LinearScorer, RateConstraint
from evenscore.files.models import TRUSTED
from evenscore.learning.group_feature import GroupFeature
from evenscore.metrics import rate_gap

CUTS = Cuts(between=(0.2, 0.5))
FAIR = RateConstraint("fnr", cuts=CUTS, tolerance=0.03)
QUICK = RateConstraint("fnr", cuts=Cuts(at=0.3), tolerance=0.05)  # reached at the first attempt


def hidden(n=4000, seed=0):
    """A signal that is shifted in one group, and nothing that tells the groups apart but that."""
    rng = np.random.default_rng(seed)
    y, z = rng.random(n) < 0.4, rng.random(n) < 0.5
    shifted = 2.0 * y + 2.5 * z + rng.normal(size=n)
    weak = 0.5 * y + rng.normal(size=n)
    return np.column_stack([shifted, weak]), y.astype(int), np.where(z, "m", "f")


def fitted(scorer, *rows, **columns):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of gaps that are left
        return scorer.fit(*rows, **columns)


# ---------------------------------------------------------------------- what it buys


def test_groups_that_features_hide_are_worth_auc_at_the_same_gaps():
    X, y, group = hidden()
    fresh, labels, groups = hidden(20_000, seed=1)
    blind = fitted(LinearScorer(FAIR), X, y, sensitive_features=group)
    told = LinearScorer(FAIR, use_groups=True).fit(X, y, sensitive_features=group)
    without = blind.decision_function(fresh)
    score = told.decision_function(fresh, sensitive_features=groups)
    assert roc_auc_score(labels, score) > 0.88
    assert roc_auc_score(labels, score) > roc_auc_score(labels, without) + 0.08
    assert told.converged_
    assert abs(told.gaps_[0].value) <= 0.1
    gap = rate_gap(labels, score, sensitive_features=groups, rate="fnr", cuts=CUTS)
    assert gap < 0.08
    assert told.n_features_in_ == 2


def test_it_is_the_score_of_a_matrix_with_the_group_in_it():
    X, y, group = hidden(600)
    codes = np.where(group == "m", 1.0, 0.0)
    by_hand = np.column_stack([X, 1.0 - codes, codes])
    one = fitted(LinearScorer(QUICK), by_hand, y, sensitive_features=group)
    two = fitted(LinearScorer(QUICK, use_groups=True), X, y, sensitive_features=group)
    expected = one.decision_function(by_hand)
    score = two.decision_function(X, sensitive_features=group)
    np.testing.assert_allclose(score, expected, rtol=1e-9)
    labels = np.where(score > 0.0, 1, 0)
    np.testing.assert_array_equal(two.predict(X, sensitive_features=group), labels)
    auc = roc_auc_score(y, score)
    assert two.score(X, y, sensitive_features=group) == pytest.approx(auc, abs=1e-12)
    sparser = fitted(
        LinearScorer(QUICK, use_groups=True), sparse.csr_array(X), y, sensitive_features=group
    )
    again = sparser.decision_function(sparse.csr_array(X), sensitive_features=group)
    np.testing.assert_allclose(again, score, atol=1e-6)


def test_several_columns_with_categories_beside_them():
    X, y, group = hidden(900)
    rng = np.random.default_rng(0)
    old, job = rng.integers(0, 2, 900), rng.choice(["smith", "clerk"], 900)
    frame = pd.DataFrame({"a": X[:, 0], "job": job, "b": X[:, 1]})
    columns = pd.DataFrame({"male": (group == "m").astype(int), "old": old})
    scorer = fitted(LinearScorer(use_groups=True), frame, y, sensitive_features=columns)
    assert scorer.groups_ == ((0, 0), (0, 1), (1, 0), (1, 1))
    score = scorer.decision_function(frame, sensitive_features=columns)
    swapped = pl.DataFrame({"old": old, "male": columns["male"].to_numpy()})
    again = scorer.decision_function(frame, sensitive_features=swapped)  # matched by name
    np.testing.assert_array_equal(again, score)
    as_array = scorer.decision_function(frame, sensitive_features=columns.to_numpy())
    np.testing.assert_array_equal(as_array, score)
    assert roc_auc_score(y, score) > 0.88
    with pytest.raises(ValueError, match=r"1 column, .* 2"):
        scorer.decision_function(frame, sensitive_features=old)
    with pytest.raises(ValueError, match="'male', 'age'"):
        scorer.decision_function(frame, sensitive_features=columns.rename(columns={"old": "age"}))


# ---------------------------------------------------------------------- what is refused


def test_what_is_refused():
    X, y, group = hidden(300)
    told = fitted(LinearScorer(use_groups=True), X, y, sensitive_features=group)
    kind = type(told).__name__
    sentence = f"{kind} .*use_groups"
    for method in (told.decision_function, told.predict):
        with pytest.raises(ValueError, match=sentence):
            method(X)
    with pytest.raises(ValueError, match=sentence):
        told.score(X, y)
    sentence = "sensitive_features .*constraints"
    with pytest.raises(ValueError, match=sentence):
        LinearScorer().fit(X, y, sensitive_features=group)
    blind = fitted(LinearScorer(), X, y)
    with pytest.raises(ValueError, match=f"{kind} needs no groups"):
        blind.predict(X, sensitive_features=group)
    new = group.copy()
    new[7] = "x"
    sentence = "'x' at row 7.*'f'"
    with pytest.raises(ValueError, match=sentence):
        told.decision_function(X, sensitive_features=new)
    with pytest.raises(ValueError, match=r"299 rows .* 300"):
        told.decision_function(X, sensitive_features=group[1:])
    missing = group.astype(object)
    missing[5] = None
    with pytest.raises(ValueError, match="missing at row 5"):
        told.decision_function(X, sensitive_features=missing)
    with pytest.raises(ValueError, match=r"use_groups=True .*sensitive_features"):
        LinearScorer(use_groups=True).fit(X, y)


# ---------------------------------------------------------------------- with scikit-learn


def test_pickled_and_stored():
    X, y, group = hidden(300)
    columns = {"sex": group, "old": np.arange(300) % 2}
    scorer = LinearScorer(use_groups=True)
    scorer = fitted(scorer, X, y, sensitive_features=columns)
    score = scorer.decision_function(X, sensitive_features=columns)
    content = skops.io.dumps(scorer)
    assert set(skops.io.get_untrusted_types(data=content)) <= TRUSTED
    for again in (
        pickle.loads(pickle.dumps(scorer)),
        skops.io.loads(content, trusted=sorted(TRUSTED)),
    ):
        assert again.group_feature_ == scorer.group_feature_
        other = again.decision_function(X, sensitive_features=columns)
        np.testing.assert_array_equal(other, score)
    assert clone(scorer).use_groups


def test_one_column_or_one_per_group():
    X, codes = np.array([[0.5], [0.7], [0.9]]), np.array([2, 0, 1])
    native = GroupFeature(("a", "b", "c"), None, native=True)
    np.testing.assert_array_equal(native.beside(X, codes), np.column_stack([X, codes]))
    spread = GroupFeature(("a", "b", "c"), None, native=False)
    np.testing.assert_array_equal(
        spread.beside(sparse.csr_array(X), codes).toarray(),
        np.column_stack([X, np.eye(3)[codes]]),
    )
