import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    LeaveOneGroupOut,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenscore import (
    Cuts,
    GroupedScores,
    RateConstraint,
    RepairedScorer,
    RocConstraint,
    metrics,
)
from evenscore.datasets import load_german

ROC = RocConstraint(on="both", rates=(1 / 8, 1 / 4))


@parametrize_with_checks([RepairedScorer(LogisticRegression()), RepairedScorer(GaussianNB())])
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


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), RidgeClassifier(), GaussianNB(), None], ids=str
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


def matched(score, groups, laws):
    """Every group's score as the share of its law below it: the laws become the same."""
    mapped = np.empty(len(score))
    for z, law in enumerate(laws):
        some = np.sort(law)
        mapped[groups == z] = np.interp(score[groups == z], some, np.arange(len(some)) / len(some))
    return mapped


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "label"), [("fpr", 0), ("fnr", 1)])
def test_rates_at_cuts_are_as_equal_on_new_rows_as_after_matching(rate, label):
    cuts = Cuts(between=(0.1, 0.4))
    differences = []
    for seed in range(4):
        X, y, group = rows(1500, seed=seed)
        folds = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(X, 2 * y + group))
        scorer = RepairedScorer(LogisticRegression(), RateConstraint(rate, cuts=cuts), cv=folds)
        scorer.fit(X, y, sensitive_features=group)
        cross = np.empty(len(y))
        for model, (_, left_out) in zip(scorer.estimators_, folds, strict=True):
            cross[left_out] = model.decision_function(X[left_out])
        laws = [cross[(y == label) & (group == z)] for z in (0, 1)]
        X, y, group = rows(20_000, seed=100 + seed)
        scores = [
            np.mean(some, axis=0)
            for some in (
                [model.decision_function(X) for model in scorer.estimators_],
                [matched(model.decision_function(X), group, laws) for model in scorer.estimators_],
            )
        ]
        scores.append(scorer.decision_function(X, sensitive_features=group))
        before, theirs, ours = (
            (
                np.abs(
                    RateConstraint(rate, cuts=cuts).values(
                        GroupedScores.from_arrays(y, score, sensitive_features=group)
                    )
                )[0],
                roc_auc_score(y, score),
            )
            for score in scores
        )
        assert ours[0] < 0.25 * before[0]
        differences.append(np.subtract(ours, theirs))
    gap, auc = np.mean(differences, axis=0)
    assert gap < 0.005
    assert auc > -0.001


def test_exact_on_the_cross_fitted_scores_without_softening():
    X, y, group = rows(4000)
    scorer = RepairedScorer(LogisticRegression(), ROC, soften=0, random_state=0)
    scorer.fit(X, y, sensitive_features=group)
    assert gap_sizes(scorer).max() < 1 / 900
    soft = RepairedScorer(LogisticRegression(), ROC, random_state=0)
    soft.fit(X, y, sensitive_features=group)
    assert 0.0 < gap_sizes(soft).max() < 0.05


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
def test_german_with_trees():
    data = load_german()
    train, test = data.train, data.test
    scorer = RepairedScorer(constraints=ROC, n_jobs=1, random_state=0)
    scorer.fit(data.X[train], data.y[train], sensitive_features=data.groups[train])
    score = scorer.decision_function(data.X[test], sensitive_features=data.groups[test])
    assert roc_auc_score(data.y[test], score) > 0.74
    assert all(gap.low < 0.0 < gap.high for gap in scorer.gaps_["after"])
    again = clone(scorer).fit(data.X[train], data.y[train], sensitive_features=data.groups[train])
    np.testing.assert_array_equal(
        again.decision_function(data.X[test], sensitive_features=data.groups[test]), score
    )


@pytest.mark.parametrize("options", [dict(tolerance=0.1), dict(share=0.5)])
def test_partial_repair(options):
    X, y, group = rows(4000)
    scorer = RepairedScorer(LogisticRegression(), "inter_group", **options, random_state=0)
    scorer.fit(X, y, sensitive_features=group)
    assert 0.05 < gap_sizes(scorer).max() < gap_sizes(scorer, "before").max() / 1.5


def test_zero_is_where_the_share_of_positives_is_kept():
    X, y, group = rows(4000)
    labels = np.array(["good", "poor"])[y]
    scorer = RepairedScorer(LogisticRegression(), ROC, random_state=0)
    scorer.fit(X, labels, sensitive_features=group)
    predicted = scorer.predict(X, sensitive_features=group)
    assert np.mean(predicted == "poor") == pytest.approx(y.mean(), abs=0.02)


def test_it_is_scored_by_its_auc():
    X, y, group = rows(1500)
    labels = np.array(["good", "poor"])[y]
    weight = np.random.default_rng(0).gamma(2, size=1500)
    scorer = RepairedScorer(LogisticRegression(), ROC, random_state=0)
    scorer.fit(X, labels, sensitive_features=group)
    score = scorer.decision_function(X, sensitive_features=group)
    for some in (None, weight):
        assert scorer.score(X, labels, some, sensitive_features=group) == pytest.approx(
            roc_auc_score(y, score, sample_weight=some), abs=1e-12
        )


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


def test_any_splitter():
    X, y, group = rows()
    scorer = RepairedScorer(LogisticRegression(), ROC, cv=StratifiedKFold(3))
    assert len(scorer.fit(X, y, sensitive_features=group).estimators_) == 3


def test_models_are_fitted_on_the_rows_that_the_splitter_says():
    X, y, group = rows(900)
    # Of the other fold, each model sees only some rows.
    splits = [(np.arange(600, 900), np.arange(450)), (np.arange(300), np.arange(450, 900))]
    scorer = RepairedScorer(LogisticRegression(), ROC, cv=splits)
    scorer.fit(X, y, sensitive_features=group)
    for model, (train, _) in zip(scorer.estimators_, splits, strict=True):
        alone = LogisticRegression().fit(X[train], y[train])
        np.testing.assert_array_equal(model.coef_, alone.coef_)
    masks = [tuple(np.isin(np.arange(900), part) for part in split) for split in splits]
    same = clone(scorer).set_params(cv=masks).fit(X, y, sensitive_features=group)
    np.testing.assert_array_equal(same.estimators_[1].coef_, scorer.estimators_[1].coef_)


def test_households_stay_together():
    X, y, group = rows(900)
    household = np.arange(900) // 3
    splits = list(GroupKFold(3).split(X, y, household))
    scorer = RepairedScorer(LogisticRegression(), ROC, cv=splits)
    assert len(scorer.fit(X, y, sensitive_features=group).estimators_) == 3


@pytest.mark.parametrize(
    ("cv", "told"),
    [
        (
            GroupKFold(3),
            r"^GroupKFold splits by groups, .* list\(splitter.split\(X, y, groups\)\)\.$",
        ),
        (LeaveOneGroupOut(), "LeaveOneGroupOut splits by groups, which fit does not take"),
        (
            RepeatedStratifiedKFold(n_splits=3, n_repeats=2),
            "leaves row 0 out in 2 folds: every row",
        ),
        (TimeSeriesSplit(3), "cv leaves row 0 out in no fold: every row must be left out once"),
        ([(np.arange(900), np.arange(900))], "Fold 0 of cv trains on row 0, which it is to score"),
        ([([0], np.arange(1, 900)), (np.arange(1, 900), [0])], "Fold 0 of cv trains on one class"),
    ],
    ids=["group", "leave one", "repeated", "time", "same", "one row"],
)
def test_splitters_that_will_not_do(cv, told):
    X, y, group = rows(900)
    with pytest.raises(ValueError, match=told):
        RepairedScorer(LogisticRegression(), ROC, cv=cv).fit(X, y, sensitive_features=group)


@pytest.mark.slow
def test_columns_of_groups_are_found_by_name():
    X, y, group = rows(2000, 4)
    frame = pd.DataFrame({"sex": np.array(["f", "m"])[group % 2], "old": group // 2})
    scorer = RepairedScorer(LogisticRegression(), ROC, random_state=0)
    scorer.fit(X, y, sensitive_features=frame)
    np.testing.assert_array_equal(
        scorer.decision_function(X, sensitive_features=frame[["old", "sex"]]),
        scorer.decision_function(X, sensitive_features=frame),
    )


def test_a_data_frame_goes_to_the_classifier_as_it_is():
    X, y, group = rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=np.where(X[:, 2] > 0, "x", "y"))
    inner = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["kind"]), (StandardScaler(), ["a", "b"])),
        LogisticRegression(),
    )
    scorer = RepairedScorer(inner, ROC, random_state=0)
    scorer.fit(frame, y, sensitive_features=pd.Series(group))
    assert scorer.feature_names_in_.tolist() == ["a", "b", "c", "kind"]
    assert scorer.decision_function(frame, sensitive_features=group).shape == (2000,)


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


def test_trees_are_stored_by_skops():
    skops = pytest.importorskip("skops.io")
    X, y, group = rows(600)
    scorer = RepairedScorer(constraints=ROC, cv=2, n_jobs=1, random_state=0)
    scorer.fit(X, y, sensitive_features=group)
    saved = skops.dumps(scorer)
    loaded = skops.loads(saved, trusted=skops.get_untrusted_types(data=saved))
    np.testing.assert_array_equal(
        loaded.decision_function(X, sensitive_features=group),
        scorer.decision_function(X, sensitive_features=group),
    )


@pytest.mark.slow
def test_groups_are_routed_through_a_pipeline():
    X, y, group = rows()
    with config_context(enable_metadata_routing=True):
        scorer = RepairedScorer(LogisticRegression(), ROC, random_state=0)
        scorer.set_fit_request(sensitive_features=True)
        scorer.set_decision_function_request(sensitive_features=True)
        scorer.set_score_request(sensitive_features=True)
        pipeline = make_pipeline(StandardScaler(), scorer).fit(X, y, sensitive_features=group)
        score = pipeline.decision_function(X, sensitive_features=group)
        assert roc_auc_score(y, score) > 0.75
        found = cross_val_score(pipeline, X, y, params={"sensitive_features": group}, cv=3)
    assert found.mean() > 0.75  # the AUC


# ---------------------------------------------------------------------- refusals


def test_scoring_needs_the_groups_and_says_why():
    X, y, group = rows()
    scorer = RepairedScorer(LogisticRegression(), ROC).fit(X, y, sensitive_features=group)
    for call in (scorer.decision_function, scorer.predict):
        with pytest.raises(
            ValueError,
            match=r"^A repaired score maps each group in its own way: pass sensitive_features to "
            r"score \(LinearScorer and BoostedScorer need no groups for that\)\.$",
        ):
            call(X)
    with pytest.raises(ValueError, match="the group 7 at row 0, for which the repair has no map"):
        scorer.predict(X[:1], sensitive_features=[7])
    lenient = RepairedScorer(LogisticRegression(), ROC, unseen="unchanged", random_state=0)
    lenient.fit(X, y, sensitive_features=group)
    score = lenient.decision_function(X[:2], sensitive_features=[7, 0])
    plain = np.mean([model.decision_function(X[:1]) for model in lenient.estimators_])
    assert score[0] == pytest.approx(plain + lenient.intercept_)


def test_groups_without_constraints_are_refused():
    X, y, group = rows(400)
    with pytest.raises(ValueError, match=r"^sensitive_features are given, but nothing is to be"):
        RepairedScorer(GaussianNB()).fit(X, y, sensitive_features=group)
    plain = RepairedScorer(GaussianNB()).fit(X, y)
    np.testing.assert_allclose(
        plain.decision_function(X) - plain.intercept_,
        GaussianNB().fit(X, y).predict_proba(X)[:, 1],
    )


class Silent(GaussianNB):
    """A classifier without a score."""

    predict_proba = property()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (dict(cv=1), "cv must be at least 2"),
        (dict(cv="prefit"), "cv must be a number of folds or a splitter, not 'prefit'"),
        (dict(cv=900), "900 folds need 900 rows of each class"),
        (dict(constraints="intra_group"), "intra_group compares people within groups"),
        (dict(tolerance=0.1, share=0.1), "not both"),
        (dict(soften=-1), "soften must be a number of at least 0"),
        (dict(min_beyond=200), "where a repair needs 200"),
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
    with pytest.raises(ValueError, match=r"^sensitive_features are given, but nothing is to be "):
        RepairedScorer(LogisticRegression()).fit(X, y, sensitive_features=group)
    with pytest.raises(ValueError, match="compares groups: pass sensitive_features to fit"):
        scorer.fit(X, y)
    with pytest.raises(ValueError, match="sensitive_features has 10 rows but X has 1000"):
        scorer.fit(X, y, sensitive_features=group[:10])
    with pytest.raises(ValueError, match="one class only"):
        scorer.fit(X, 0 * y, sensitive_features=group)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        scorer.fit(X, np.arange(1000) % 3, sensitive_features=group)
    with pytest.raises(ValueError, match="compares groups, but sensitive_features holds only 0"):
        scorer.fit(X, y, sensitive_features=0 * group)
    with pytest.raises(ValueError, match="sensitive_features has 1 row but X has 1000"):
        scorer.fit(X, y, sensitive_features=group[:1])
    with pytest.raises(TypeError, match="Silent has neither decision_function nor predict_proba"):
        RepairedScorer(Silent(), ROC).fit(X, y, sensitive_features=group)


def test_a_frozen_classifier_of_other_classes_is_refused():
    X, y, group = rows(400)
    model = FrozenEstimator(LogisticRegression().fit(X, np.array(["good", "bad"])[y]))
    with pytest.raises(ValueError, match="knows the classes"):
        RepairedScorer(model, ROC).fit(X, y, sensitive_features=group)
