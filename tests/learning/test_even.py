"""EvenScorer: what it promises of positions, gaps on new people, words, and bad input."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import evenscore as es
from evenscore import AucConstraint, Cuts, EvenScorer, RateConstraint, RocConstraint
from evenscore.learning.bars import PositionMap, coordinates
from evenscore.learning.price import PriceWarning
from evenscore.learning.training_set import TrainingSet
from evenscore.placement.bars import positions

# Of few people a gap may stay a little beyond its tolerance, which is told: see the last test.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
BOTH = RateConstraint("fpr", "fnr", cuts=Cuts(between=(0.1, 0.4)), tolerance=0.02)
LINE = make_pipeline(StandardScaler(), LogisticRegression())
ZERO, FOLDS = "a position is a share, which 0 does not cut", "folds are drawn of rows, not weights"
NOT_MEANT = {
    "check_classifiers_train": ZERO,
    "check_classifiers_classes": ZERO,
    "check_sample_weight_equivalence_on_dense_data": FOLDS,
    "check_sample_weight_equivalence_on_sparse_data": FOLDS,
}


@parametrize_with_checks(
    [EvenScorer(estimator=LogisticRegression(), random_state=0), EvenScorer(random_state=0)],
    expected_failed_checks=lambda _: NOT_MEANT,
)
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # the checks warn about themselves
        check(estimator)


def people(n=4000, n_groups=2, seed=0, apart=0.7):
    """Features that tell class and group; the groups differ in where they are."""
    rng = np.random.default_rng(seed)
    group = rng.choice(n_groups, n, p=np.arange(n_groups, 0, -1) / (n_groups * (n_groups + 1) / 2))
    positive = rng.random(n) < 0.3
    X = rng.normal(size=(n, 4))
    X[:, 0] += 1.3 * positive + apart * group
    X[:, 1] += 0.8 * positive
    X[:, 2] += 1.2 * group
    return X, positive.astype(int), np.array([f"group {k}" for k in group])


def gaps(scorer, constraint, X, y, groups):
    data = TrainingSet.read(X, y == 1, groups, None, ())
    return np.abs(constraint.values(data.grouped(scorer.decision_function(X))))


@pytest.fixture(scope="module")
def fitted():
    X, y, groups = people()
    return EvenScorer(BOTH, LINE, random_state=0).fit(X, y, sensitive_features=groups)


@pytest.fixture(scope="module")
def new():
    return people(30_000, seed=1)


# ---------------------------------------------------------------------- what it is for


def test_gaps_are_closed_on_new_people_and_the_price_is_told(fitted, new):
    X, y, _ = new
    free = EvenScorer(estimator=LINE, random_state=0).fit(*people()[:2])
    assert gaps(free, BOTH, *new).max() > 0.08
    assert gaps(fitted, BOTH, *new).max() < 0.05
    price = fitted.price_
    assert price.auc.low - 0.01 < fitted.score(X, y) < price.auc.high + 0.01
    assert price.free.low - 0.01 < free.score(X, y) < price.free.high + 0.01
    assert price.difference.low - 0.01 < free.score(X, y) - fitted.score(X, y)
    assert free.score(X, y) - fitted.score(X, y) < price.difference.high + 0.01
    assert 0.0 < price.difference.low < price.drop < price.difference.high < 0.1
    assert price.difference.high - price.difference.low < price.auc.high - price.auc.low
    assert price.gap == max(fitted.gaps_, key=lambda gap: abs(gap.value))
    assert abs(price.free_gap.value) > 0.08 > abs(price.gap.value)
    assert free.price_ is None
    assert free.gaps_ == free.verdicts_ == []


def test_what_is_told_is_of_rows_that_nothing_was_found_on(fitted):
    told = fitted.left_out_
    assert 3500 < len(told.rows) < 4000  # some are kept from all models, and seen by all bars
    assert told.rows.groups == fitted.groups_
    assert fitted.price_.auc.value == told.auc.value
    gaps_told = [gap.value for gap in told.gaps([BOTH])]
    assert gaps_told == [gap.value for gap in fitted.gaps_]
    assert {gap.verdict for gap in fitted.gaps_} <= {"within", "beyond", "unclear"}
    assert not fitted.converged_ or all(gap.verdict != "beyond" for gap in fitted.gaps_)
    for gap, sentence in zip(fitted.gaps_, fitted.verdicts_, strict=False):
        assert sentence.startswith(f"{gap.title}: ")
        assert f"{gap.value:+.3f}" in sentence


@pytest.mark.slow  # seven fits of a line
@pytest.mark.parametrize(
    "constraint",
    [
        RateConstraint("fnr", cuts=Cuts(between=(0.1, 0.3), of="negatives"), tolerance=0.01),
        RateConstraint("selection", cuts=Cuts(at=(0.2, 0.3)), tolerance=0.02),
        RocConstraint("negatives", (0.125, 0.25), tolerance=0.01),
        *(AucConstraint.named(name, tolerance=0.01) for name in ("bnsp", "bpsn", "zero_aeg")),
        AucConstraint.named("zero_aeg_negatives", tolerance=0.01),
    ],
)
def test_every_kind_of_constraint_it_takes(constraint, new):
    X, y, groups = people()
    free = EvenScorer(estimator=LINE, random_state=0).fit(X, y)
    scorer = EvenScorer(constraint, LINE, random_state=0).fit(X, y, sensitive_features=groups)
    assert gaps(scorer, constraint, *new).max() < 0.045
    assert gaps(scorer, constraint, *new).max() < gaps(free, constraint, *new).max()


@pytest.mark.slow  # bars under four constraints
def test_several_constraints_each_with_its_cuts_and_pool(new):
    X, y, groups = people()
    asked = [BOTH, RateConstraint("fnr", cuts=Cuts(at=(0.1,), of="negatives")), "bnsp"]
    scorer = EvenScorer(asked, LINE, random_state=0).fit(X, y, sensitive_features=groups)
    assert len(scorer.gaps_) == 4
    assert gaps(scorer, BOTH, *new).max() < 0.05


@pytest.mark.slow  # bars of three groups, twice
def test_three_groups_and_their_names_and_order():
    X, y, groups = people(6000, 3)
    scorer = EvenScorer(BOTH, LINE, random_state=0).fit(X, y, sensitive_features=groups)
    named = np.array([{"0": "z", "1": "m", "2": "a"}[g[-1]] for g in groups])
    other = clone(scorer).fit(X, y, sensitive_features=named)
    np.testing.assert_array_equal(scorer.decision_function(X), other.decision_function(X))
    assert len(scorer.gaps_) == 6
    assert gaps(scorer, BOTH, *people(20_000, 3, seed=5)).max() < 0.08


# ---------------------------------------------------------------------- positions


def test_without_constraints_and_where_they_are_met_the_ranks_are_the_classifiers(new):
    X, y, groups = people(apart=0.0)
    loose = RateConstraint("fnr", cuts=Cuts(between=(0.1, 0.4)), tolerance=0.3)
    for scorer in (
        EvenScorer(estimator=LINE, random_state=0).fit(X, y),
        EvenScorer(loose, LINE, random_state=0).fit(X, y, sensitive_features=groups),
    ):
        for rows in (X, new[0]):
            chance = coordinates(scorer.posteriors_(rows), scorer.posteriors_.n_groups)[0]
            place = scorer.decision_function(rows)
            np.testing.assert_array_equal(np.argsort(place), np.argsort(chance))
            models = [fold.label[0].predict_proba(rows)[:, 1] for fold in scorer.posteriors_.models]
            assert np.mean(np.argsort(np.mean(models, axis=0)) == np.argsort(place)) > 0.999
    assert scorer.bars_.are_common
    assert "same odds" in str(scorer.bars_)


def test_a_position_is_a_share_of_everyone(fitted, new):
    place = fitted.decision_function(new[0])
    assert 0.0 < place.min() < place.max() < 1.0
    for cut, share in ((0.95, 0.05), (0.9, 0.1), (0.8, 0.2), (0.6, 0.4)):
        noise = 3.0 * np.sqrt(share * (1.0 - share) / 4000)
        assert np.mean(place > cut) == pytest.approx(share, abs=noise)
    assert np.mean(fitted.predict(new[0])) == pytest.approx(fitted.prevalence_, abs=0.03)


def test_one_person_alone_or_in_a_batch_and_beside_an_extreme_newcomer(fitted, new):
    some = new[0][:50]
    batch = fitted.decision_function(some)
    alone = np.array([fitted.decision_function(row[None])[0] for row in some])
    np.testing.assert_allclose(alone, batch, rtol=0.0, atol=1e-12)
    extreme = np.vstack([some, np.full((2, 4), 1e6), np.full((1, 4), -1e6)])
    with_them = fitted.decision_function(extreme)
    np.testing.assert_allclose(with_them[:50], batch, rtol=0.0, atol=1e-12)
    assert np.all((with_them >= 0.0) & (with_them <= 1.0))


def test_similar_people_get_similar_positions(fitted, new):
    """A change of .01 in every log-odds moves nobody by ten times what it moves η's own ranks."""
    odds, groups = coordinates(fitted.posteriors_(new[0]), 2)
    placer = fitted.placer_

    def placed(by):
        raw = positions(odds + by, placer.bars(groups + by), placer.scale)
        return placer.map(raw, len(placer.levels))

    place, moved = placed(0.0), placed(0.01)
    np.testing.assert_allclose(place, fitted.decision_function(new[0]), atol=1e-12)
    own = [np.searchsorted(np.sort(odds), odds + d) / len(odds) for d in (0.0, 0.01)]
    assert np.abs(moved - place).max() <= 10.0 * np.abs(own[1] - own[0]).max()


def test_the_map_knows_that_the_mean_of_models_spreads_less():
    rng = np.random.default_rng(0)
    truth, n = rng.normal(size=20_000), 20_000
    models = truth + 0.5 * rng.normal(size=(3, n))
    kept = np.arange(2000)
    raw = models[0].copy()
    raw[kept] = models[:, kept].mean(axis=0)
    found = PositionMap.fit(raw + 10.0, np.ones(n), kept, list(models[:, kept] + 10.0))
    fresh = rng.normal(size=100_000)
    mean = fresh + (0.5 * rng.normal(size=(3, 100_000))).mean(axis=0) + 10.0
    for cut in (0.95, 0.9, 0.6):
        assert np.mean(found(mean, 20) > cut) == pytest.approx(1.0 - cut, abs=0.006)
    assert np.all(np.diff(found(np.linspace(0.0, 21.0, 500), 20)) > 0.0)


# ---------------------------------------------------------------------- other constraints


def counting(kind):
    """A classifier that notes its fits."""

    class Counting(kind):
        fits = 0

        def fit(self, *args, **kwargs):
            type(self).fits += 1
            return super().fit(*args, **kwargs)

    return Counting


@pytest.mark.slow  # four times bars
def test_under_other_constraints_only_the_bars_are_found_anew():
    X, y, groups = people(2000)
    kind = counting(GaussianNB)
    scorer = EvenScorer(BOTH, kind(), random_state=0).fit(X, y, sensitive_features=groups)
    fits = kind.fits
    assert fits == 3 * 3  # of each fold the class, and the group in each class
    other = RateConstraint("fnr", cuts=Cuts(at=0.2), tolerance=0.05)
    again = scorer.under(other)
    assert kind.fits == fits
    assert again.posteriors_ is scorer.posteriors_
    assert again.constraints is other
    assert scorer.constraints is BOTH
    assert len(again.gaps_) == 1
    fresh = EvenScorer(other, kind(), random_state=0).fit(X, y, sensitive_features=groups)
    np.testing.assert_array_equal(fresh.decision_function(X), again.decision_function(X))
    assert fresh.verdicts_ == again.verdicts_
    assert again.get_params()["folds"] == 3
    back = again.under(BOTH)
    np.testing.assert_array_equal(back.decision_function(X), scorer.decision_function(X))
    free = again.under([])
    assert free.price_ is free.bars_ is None
    for bad, error in (("inter_group", TypeError), (RATES, ValueError)):
        with pytest.raises(error):
            scorer.under(bad)
    alone = EvenScorer(estimator=LINE, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="without groups"):
        alone.under(BOTH)


@pytest.mark.slow  # bars of six tolerances are what it is about
def test_the_path_goes_from_free_to_strict_without_a_warning(fitted):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = fitted.path_
    assert len(path) == 7
    free, *fair = path
    assert free.price_ is None
    assert [one.constraints[0].tolerance for one in fair] == [0.2, 0.1, 0.05, 0.02, 0.01, 0.005]
    assert {one.constraints[0].cuts for one in fair} == {BOTH.cuts}
    X = people()[0]
    own = path[4].decision_function(X)  # 0.02, its own tolerance
    np.testing.assert_array_equal(own, fitted.decision_function(X))
    aucs = [free.left_out_.auc.value, *(one.price_.auc.value for one in fair)]
    worst = [abs(one.price_.gap.value) for one in fair]
    assert np.all(np.diff(aucs) < 5e-3)  # but for noise, more fairness is not better ranking
    assert aucs[0] == fair[0].price_.free.value == fair[-1].price_.free.value
    assert worst[-1] < worst[0]
    assert fair[0].price_.drop < 0.005


@pytest.mark.slow  # twice bars
def test_a_path_of_ones_own_tolerances(fitted):
    strict, free = fitted.path([0.05, np.inf])
    assert strict.constraints[0].tolerance == 0.05
    assert list(free.constraints) == []
    assert BOTH.tolerance == 0.02


def test_a_constraint_that_is_met_already_changes_no_rank():
    X, y, groups = people(2000, seed=3, apart=0.1)
    loose = RateConstraint("fnr", cuts=Cuts(between=(0.1, 0.4)), tolerance=0.4)
    free = EvenScorer(estimator=LINE, random_state=0).fit(X, y)
    fair = EvenScorer(loose, LINE, random_state=0).fit(X, y, sensitive_features=groups)
    for rows in (X, people(500, seed=4)[0]):
        # Folds are drawn within groups, which `free` does not know: its models are others.
        own = fair.under([]).decision_function(rows)
        np.testing.assert_array_equal(np.argsort(fair.decision_function(rows)), np.argsort(own))
    assert fair.price_.drop == 0.0
    assert free.score(X, y) == pytest.approx(fair.score(X, y), abs=0.01)


@pytest.mark.slow  # the program of all rows, twice
def test_no_score_beats_the_bound(fitted):
    bound = fitted.bound_
    assert "AUC above" in str(bound)
    assert 0.0 < bound.standard_error < 0.01
    assert fitted.price_.auc.value < bound.value + 2.0 * bound.standard_error
    assert bound.value < fitted.price_.free.value + 2.0 * bound.standard_error
    wider = fitted.under(RateConstraint("fpr", "fnr", cuts=BOTH.cuts, tolerance=0.2)).bound_
    assert wider.value > bound.value
    with pytest.raises(ValueError, match="constraints"):
        _ = fitted.under([]).bound_


def test_what_is_pickled_holds_nobody_and_has_no_path(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    X = people()[0]
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    assert not hasattr(again, "left_out_")
    assert str(again.price_) == str(fitted.price_)
    assert again.verdicts_ == fitted.verdicts_
    for asked in (lambda: again.path_, lambda: again.under(BOTH), lambda: again.bound_):
        with pytest.raises(ValueError, match=r"fit it again\.$") as caught:
            asked()
        assert "\n" not in str(caught.value)
    assert len(pickle.dumps(again)) < 200_000


def test_a_high_price_is_warned_of_where_the_fit_is():
    rng = np.random.default_rng(0)
    y, group = rng.integers(0, 2, (2, 2000))
    X = np.column_stack([2.0 * y + 2.5 * group + rng.normal(size=2000), rng.normal(size=2000)])
    fair = RateConstraint("fnr", cuts=Cuts(at=0.3), tolerance=0.02)
    scorer = EvenScorer(fair, LINE, random_state=0)
    with pytest.warns(PriceWarning, match=r"^EvenScorer .*AUC") as caught:
        scorer.fit(X, y, sensitive_features=group)
    with pytest.warns(PriceWarning) as again:
        scorer.under(fair)
    assert {warning.filename for warning in (*caught, *again)} == {__file__}
    assert str(scorer.price_) in str(caught[-1].message)


# ---------------------------------------------------------------------- rows as people have them


@pytest.mark.slow  # two fits each
@pytest.mark.parametrize("kind", ["trees", "logistic", None])
def test_features_that_state_the_group_are_left_out_and_named(kind):
    X, y, groups = people(600)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["sex"] = groups
    frame["number"] = np.where(groups == "group 1", 3.0, 7.0)
    scorer = EvenScorer(BOTH, kind, folds=2, random_state=0)
    with pytest.warns(UserWarning, match=r"^EvenScorer leaves out sex, number,") as caught:
        scorer.fit(frame, y, sensitive_features=groups)
    assert {warning.filename for warning in caught} == {__file__}
    assert scorer.columns_.tolist() == [0, 1, 2, 3]
    other = frame.assign(sex=frame["sex"].to_numpy()[::-1], number=0.0)
    np.testing.assert_array_equal(scorer.decision_function(other), scorer.decision_function(frame))
    without = clone(scorer).fit(frame[list("abcd")], y, sensitive_features=groups)
    assert without.columns_ is None
    np.testing.assert_allclose(
        without.decision_function(frame[list("abcd")]), scorer.decision_function(frame), atol=1e-12
    )
    with pytest.raises(ValueError, match="nothing but sex, number"):
        clone(scorer).fit(frame[["sex", "number"]], y, sensitive_features=groups)


def test_a_classifier_of_ones_own_sees_all_features():
    X, y, groups = people(600)
    X = np.column_stack([X, groups == "group 1"])
    scorer = EvenScorer(BOTH, LINE, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", PriceWarning)
        scorer.fit(X, y, sensitive_features=groups)
    assert scorer.columns_ is None
    assert scorer.posteriors_.models[0].label[0].n_features_in_ == 5


@pytest.mark.parametrize("kind", ["trees", "logistic"])
def test_one_kind_of_classifier_alone(kind):
    X, y, groups = people(800)
    scorer = EvenScorer(BOTH, kind, folds=2, random_state=0).fit(X, y, sensitive_features=groups)
    [label] = scorer.posteriors_.models[0].label
    assert (type(label).__name__ == "LGBMClassifier") == (kind == "trees")
    assert scorer.score(*people(3000, seed=1)[:2]) > 0.75


@pytest.mark.slow  # the default classifier, twice
def test_default_trees_take_frames_with_categories_and_missing_values():
    X, y, groups = people(1500)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.loc[::7, "b"] = np.nan
    frame["job"] = np.where(X[:, 3] > 0.5, "smith", np.where(X[:, 3] < -0.5, "clerk", None))
    scorer = EvenScorer(BOTH, random_state=0).fit(frame, y, sensitive_features=groups)
    assert list(scorer.feature_names_in_) == ["a", "b", "c", "d", "job"]
    same = EvenScorer(BOTH, random_state=0)
    same.fit(pl.from_pandas(frame), y, sensitive_features=pl.Series(groups))
    place = scorer.decision_function(frame)
    np.testing.assert_allclose(same.decision_function(pl.from_pandas(frame)), place, atol=1e-9)
    odd = frame.head(2).assign(job="king")
    with pytest.warns(UserWarning, match="king"):
        assert scorer.decision_function(odd).shape == (2,)
    assert scorer.score(frame, y) > 0.75


@pytest.mark.slow  # scikit-learn's trees take a second
def test_without_lightgbm_the_trees_are_scikit_learns(monkeypatch):
    monkeypatch.setattr("evenscore.learning.trees.find_spec", lambda name: None)
    X, y, groups = people(1200)
    X[::9, 1] = np.nan
    scorer = EvenScorer(BOTH, random_state=0).fit(X, y, sensitive_features=groups)
    kind = type(scorer.posteriors_.models[0].label[0]).__name__
    assert kind == "HistGradientBoostingClassifier"
    assert scorer.score(X, y) > 0.75


@pytest.mark.slow  # three fits
def test_weights_count_and_zero_weights_do_not(new):
    X, y, groups = people(2000)
    weight = np.where(groups == "group 1", 3.0, 1.0)
    scorer = EvenScorer(BOTH, LINE, random_state=0)
    scorer.fit(X, y, sensitive_features=groups, sample_weight=weight)
    share = np.average(scorer.decision_function(X) > 0.8, weights=weight)
    assert share == pytest.approx(0.2, abs=0.03)
    more = np.vstack([X, X[:100] + 50.0])
    other = clone(scorer).fit(
        more,
        np.r_[y, 1 - y[:100]],
        sensitive_features=np.r_[groups, groups[:100]],
        sample_weight=np.r_[weight, np.zeros(100)],
    )
    np.testing.assert_allclose(other.decision_function(X), scorer.decision_function(X))
    with pytest.warns(UserWarning, match="sample_weight"):
        EvenScorer(estimator=KNN()).fit(X, y, sample_weight=weight)


class KNN(GaussianNB):
    """A classifier that takes no weights."""

    def fit(self, X, y):
        return super().fit(X, y)


def test_clusters_stay_in_one_fold():
    X, y, groups = people(1000)
    cluster = np.repeat(np.arange(250), 4)
    seen = []

    class Spy(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            seen.append(set(X[:, 3].tolist()))
            return super().fit(X, y, sample_weight)

    EvenScorer(BOTH, Spy(), random_state=0).fit(X, y, sensitive_features=groups, cluster=cluster)
    number = dict(zip(X[:, 3].tolist(), cluster.tolist(), strict=True))
    labels = [rows for rows in seen if len(rows) > 500]
    assert len(labels) == 3
    for rows in labels:
        inside = {number[x] for x in rows}
        assert all((number[x] in inside) == (x in rows) for x in X[:, 3].tolist())


@pytest.mark.slow  # a search is five fits
def test_repeats_folds_pickles_and_searches():
    X, y, groups = people(1500)
    scorer = EvenScorer(BOTH, LINE, folds=2, repeats=2, random_state=0)
    scorer.fit(X, y, sensitive_features=groups)
    assert len(scorer.posteriors_.models) == 4
    again = pickle.loads(pickle.dumps(scorer))
    np.testing.assert_array_equal(again.decision_function(X), scorer.decision_function(X))
    np.testing.assert_array_equal(
        clone(scorer).fit(X, y, sensitive_features=groups).decision_function(X),
        scorer.decision_function(X),
    )
    search = GridSearchCV(EvenScorer(BOTH, LINE, random_state=0), {"smoothness": [0.1, 0.4]}, cv=2)
    search.fit(X, y, sensitive_features=groups)
    assert search.best_score_ > 0.7


# ---------------------------------------------------------------------- in words and as a picture


@pytest.mark.slow  # a picture
def test_bars_in_words_and_drawn(fitted):
    text = str(fitted.bars_)
    for part in ("10% of everyone", "40% of everyone", "80% likely group 0", "20% likely"):
        assert part in text
    assert len(text.splitlines()) == 3
    ax = fitted.bars_.plot(group="group 1")
    assert ax.get_yscale() == "log"
    assert "group 1" in ax.get_title(loc="left")
    assert [t.get_text() for t in ax.texts][-1] == "40% of everyone"
    with pytest.raises(ValueError, match="'men'"):
        fitted.bars_.plot(group="men")
    german = es.datasets.load_german()  # whose features state the group
    scorer = EvenScorer(RateConstraint("fnr", cuts=Cuts(between=(0.5, 0.8))), LINE, random_state=0)
    scorer.fit(german.X, german.y, sensitive_features=german.groups)
    assert "female" in str(scorer.bars_)


# ---------------------------------------------------------------------- bad input

X0, Y0, GROUPS0 = people(300)
RATES = RateConstraint("fnr", cuts=Cuts(thresholds=(600,)))


@pytest.mark.parametrize(
    ("given", "error", "named"),
    [
        (dict(estimator=RidgeClassifier()), TypeError, "RidgeClassifier has no predict_proba"),
        (dict(constraints="inter_group"), TypeError, "LinearScorer"),
        (dict(constraints="intra_group"), TypeError, "LinearScorer"),
        (
            dict(constraints=es.CurveConstraint.named("intra_group", between=(0.1, 0.3))),
            TypeError,
            "cuts",
        ),
        (dict(constraints=RATES), ValueError, "shares"),
        (dict(folds=1), ValueError, "folds"),
        (dict(repeats=0), ValueError, "repeats"),
        (dict(smoothness=-0.1), ValueError, "smoothness"),
        (dict(smoothness=np.nan), ValueError, "smoothness"),
        (dict(estimator="forest"), ValueError, "'trees' or 'logistic', not 'forest'"),
    ],
)
def test_what_is_refused_says_why(given, error, named):
    scorer = EvenScorer(**{"constraints": BOTH, "estimator": LINE, **given})
    with pytest.raises(error, match=named):
        scorer.fit(X0, Y0, sensitive_features=GROUPS0)


def test_rows_that_are_refused_say_why():
    scorer = EvenScorer(BOTH, LINE, random_state=0)
    with pytest.raises(ValueError, match="only group 0"):
        scorer.fit(X0, Y0, sensitive_features=np.full(300, "group 0"))
    with pytest.raises(ValueError, match="sensitive_features"):
        scorer.fit(X0, Y0)
    with pytest.raises(ValueError, match="one class only"):
        scorer.fit(X0, np.ones(300), sensitive_features=GROUPS0)
    few = np.flatnonzero((Y0 == 1) & (GROUPS0 == "group 1"))[3:]
    rest = np.setdiff1d(np.arange(300), few)
    with pytest.raises(ValueError, match="there are 3 positives of group 1"):
        scorer.fit(X0[rest], Y0[rest], sensitive_features=GROUPS0[rest])
    lumped = np.where((Y0 == 1) & (GROUPS0 == "group 1"), 0, np.arange(300))
    with pytest.raises(ValueError, match="clusters"):
        scorer.fit(X0, Y0, sensitive_features=GROUPS0, cluster=lumped)
    for value in (np.inf, np.nan):
        bad = X0.copy()
        bad[4, 2] = value
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            scorer.fit(bad, Y0, sensitive_features=GROUPS0)


def test_a_constant_classifier_and_a_tolerance_out_of_reach_are_told():
    with pytest.warns(UserWarning, match="same chance"):
        EvenScorer(BOTH, DummyClassifier(), random_state=0).fit(X0, Y0, sensitive_features=GROUPS0)
    rng = np.random.default_rng(0)
    y, group = rng.integers(0, 2, 3000), rng.integers(0, 2, 3000)
    # Positives of one group are taken for negatives of the other, and three values are all.
    X = (y + group)[:, None].astype(float)
    hard = RateConstraint("fpr", "fnr", cuts=Cuts(between=(0.1, 0.4)), tolerance=0.0)
    scorer = EvenScorer(hard, GaussianNB(), random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"^EvenScorer .*fnr_gap.* beyond 0") as caught:
        scorer.fit(X, y, sensitive_features=group)
    assert {warning.filename for warning in caught} == {__file__}
    assert not scorer.converged_
    assert {"beyond 0" in sentence for sentence in scorer.verdicts_} == {True, False}
