import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    LeaveOneGroupOut,
    RepeatedStratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenscore import (
    RepairedScorer,
    RocConstraint,
    metrics,
)

ROC = RocConstraint(on="both", rates=(1 / 8, 1 / 4))


@parametrize_with_checks([RepairedScorer(LogisticRegression())])
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # the checks warn about themselves
        check(estimator)


def rows(n=2000, n_groups=2, seed=0):
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.integers(0, n_groups, n)
    X = rng.normal(size=(n, 3))
    X[:, 0] += 1.2 * y + 0.8 * group
    X[:, 1] += 0.5 * y
    return X, y, group


def gap_sizes(scorer, when="after"):
    return np.abs([gap.value for gap in scorer.gaps_[when]])


# ---------------------------------------------------------------------- what it does


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "ensemble"),
    [(LogisticRegression(), True), (RidgeClassifier(), False), (None, True)],
    ids=str,
)
def test_gaps_close_on_new_rows(estimator, ensemble):
    X, y, group = rows(4000)
    fresh, labels, groups = rows(8000, seed=1)
    scorer = RepairedScorer(estimator, ROC, ensemble=ensemble, n_jobs=1, random_state=0)
    scorer.fit(X, y, sensitive_features=group)
    assert len(scorer.estimators_) == (5 if ensemble else 1)
    assert gap_sizes(scorer, "before").max() > 0.15
    score = scorer.decision_function(fresh, sensitive_features=groups)
    for rate in ROC.rates:
        gap = metrics.roc_gap(labels, score, sensitive_features=groups, on="both", rate=rate)
        assert abs(gap) < 0.08
    plain = RepairedScorer(estimator, n_jobs=1).fit(X, y)
    lost = roc_auc_score(labels, plain.decision_function(fresh)) - roc_auc_score(labels, score)
    assert lost < 0.03


def test_a_frozen_classifier_is_scored_as_it_is():
    X, y, group = rows(4000)
    model = LogisticRegression().fit(X[:2000], y[:2000])
    scorer = RepairedScorer(FrozenEstimator(model), ROC, soften=0)
    scorer.fit(X[2000:], y[2000:], sensitive_features=group[2000:])
    score = scorer.decision_function(X, sensitive_features=group)
    expected = scorer.repair_.transform(model.decision_function(X), sensitive_features=group)
    np.testing.assert_allclose(score, expected + scorer.intercept_)
    assert gap_sizes(scorer).max() < 1 / 450


@pytest.mark.slow
def test_weights_reach_the_classifier_and_the_maps():
    X, y, group = rows(3000)
    weight = np.random.default_rng(0).integers(1, 4, 3000).astype(float)
    scorer = RepairedScorer(LogisticRegression(), ROC, random_state=0)
    plain = clone(scorer).fit(X, y, sensitive_features=group)
    scorer.fit(X, y, sensitive_features=group, sample_weight=weight)
    assert not np.array_equal(scorer.estimators_[0].coef_, plain.estimators_[0].coef_)
    piped = RepairedScorer(make_pipeline(StandardScaler(), LogisticRegression()), ROC)
    plain = clone(piped).fit(X, y, sensitive_features=group)
    piped.fit(X, y, sensitive_features=group, sample_weight=weight)
    one, two = (scorer.estimators_[0][-1].coef_ for scorer in (piped, plain))
    assert not np.array_equal(one, two)
    with pytest.warns(UserWarning, match="KNeighborsClassifier takes no sample_weight") as told:
        RepairedScorer(KNeighborsClassifier(100), ROC).fit(
            X, y, sensitive_features=group, sample_weight=weight
        )
    assert len(told) == 1  # not once a fold
    assert told[0].filename == __file__


# ---------------------------------------------------------------------- splitters


@pytest.mark.parametrize(
    ("cv", "told"),
    [
        (
            GroupKFold(3),
            "GroupKFold",
        ),
        (LeaveOneGroupOut(), "LeaveOneGroupOut"),
        (
            RepeatedStratifiedKFold(n_splits=3, n_repeats=2),
            "row 0 out in 2 folds",
        ),
        (TimeSeriesSplit(3), "row 0 out in no fold"),
        ([(np.arange(900), np.arange(900))], "Fold 0 .*row 0"),
        ([([0], np.arange(1, 900)), (np.arange(1, 900), [0])], "Fold 0 .*one class"),
    ],
    ids=["group", "leave one", "repeated", "time", "same", "one row"],
)
def test_splitters_that_will_not_do(cv, told):
    X, y, group = rows(900)
    with pytest.raises(ValueError, match=told):
        RepairedScorer(LogisticRegression(), ROC, cv=cv).fit(X, y, sensitive_features=group)


# ---------------------------------------------------------------------- scikit-learn's ways


def test_pickle_clone_and_skops():
    X, y, group = rows()
    scorer = RepairedScorer(LogisticRegression(), [ROC, "bnsp"], tolerance=0.02, random_state=0)
    scorer.fit(X, y, sensitive_features=group)
    score = scorer.decision_function(X, sensitive_features=group)
    loaded = pickle.loads(pickle.dumps(scorer))
    np.testing.assert_array_equal(loaded.decision_function(X, sensitive_features=group), score)
    assert clone(scorer).get_params()["constraints"] == [ROC, "bnsp"]
    skops = pytest.importorskip("skops.io")
    saved = skops.dumps(scorer)
    untrusted = skops.get_untrusted_types(data=saved)
    assert all(name.startswith("evenscore.") for name in untrusted)
    loaded = skops.loads(saved, trusted=untrusted)
    np.testing.assert_array_equal(loaded.decision_function(X, sensitive_features=group), score)
    assert loaded.repair_.to_dict() == scorer.repair_.to_dict()


# ---------------------------------------------------------------------- refusals


def test_scoring_needs_the_groups_and_says_why():
    X, y, group = rows()
    scorer = RepairedScorer(LogisticRegression(), ROC).fit(X, y, sensitive_features=group)
    for call in (scorer.decision_function, scorer.predict):
        with pytest.raises(ValueError, match="sensitive_features"):
            call(X)
    with pytest.raises(ValueError, match="7 at row 0"):
        scorer.predict(X[:1], sensitive_features=[7])
    lenient = RepairedScorer(LogisticRegression(), ROC, unseen="unchanged", random_state=0)
    lenient.fit(X, y, sensitive_features=group)
    score = lenient.decision_function(X[:2], sensitive_features=[7, 0])
    plain = np.mean([model.decision_function(X[:1]) for model in lenient.estimators_])
    assert score[0] == pytest.approx(plain + lenient.intercept_)


class Silent(GaussianNB):
    """A classifier without a score."""

    predict_proba = property()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (dict(cv=1), "cv must be at least 2"),
        (dict(cv="prefit"), "cv .*'prefit'"),
        (dict(cv=900), "900 folds"),
        (dict(constraints="intra_group"), "intra_group"),
        (dict(tolerance=0.1, share=0.1), "not both"),
        (dict(soften=-1), "soften"),
        (dict(min_beyond=200), "200"),
        (dict(unseen="skip"), "unseen must be"),
    ],
)
def test_bad_parameters(options, told):
    X, y, group = rows(1000)
    scorer = RepairedScorer(**{"estimator": GaussianNB(), "constraints": ROC, **options})
    with pytest.raises(ValueError, match=told):
        scorer.fit(X, y, sensitive_features=group)


def test_bad_data():
    X, y, group = rows(1000)
    scorer = RepairedScorer(GaussianNB(), ROC)
    with pytest.raises(ValueError, match=r"sensitive_features .*constraints"):
        RepairedScorer(LogisticRegression()).fit(X, y, sensitive_features=group)
    with pytest.raises(ValueError, match="pass sensitive_features"):
        scorer.fit(X, y)
    with pytest.raises(ValueError, match=r"10 rows .*1000"):
        scorer.fit(X, y, sensitive_features=group[:10])
    with pytest.raises(ValueError, match="one class only"):
        scorer.fit(X, 0 * y, sensitive_features=group)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        scorer.fit(X, np.arange(1000) % 3, sensitive_features=group)
    with pytest.raises(ValueError, match="only 0"):
        scorer.fit(X, y, sensitive_features=0 * group)
    with pytest.raises(ValueError, match=r"1 row .*1000"):
        scorer.fit(X, y, sensitive_features=group[:1])
    with pytest.raises(TypeError, match="Silent"):
        RepairedScorer(Silent(), ROC).fit(X, y, sensitive_features=group)
