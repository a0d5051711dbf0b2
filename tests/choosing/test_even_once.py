"""EvenScorer in paths, prices and certificates: classifiers are fitted once, bars anew."""

import warnings

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from evenscore import (
    Cuts,
    EvenScorer,
    LinearScorer,
    RateConstraint,
    certified_choice,
    claim_prices,
    tradeoff_path,
)
from evenscore.choosing.path import at_point, has_path
from evenscore.gaps import as_constraints

BOTH = RateConstraint("fpr", "fnr", cuts=Cuts(at=0.3))
ONCE = 3 * 3  # fits: of each fold the class, and the group in each class


class Counting(GaussianNB):
    """A classifier that notes its fits."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Counting.fits += 1
        return super().fit(X, y, sample_weight)


@pytest.fixture(autouse=True)
def _none_yet():
    Counting.fits = 0


def people(n=1200, seed=0):
    rng = np.random.default_rng(seed)
    y, z = rng.random(n) < 0.4, rng.random(n) < 0.5
    X = np.stack([y + rng.normal(size=n), 0.7 * y + 1.2 * z + rng.normal(size=n)], axis=1)
    return X, y.astype(int), np.where(z, "b", "a")


def even(**options):
    return EvenScorer(BOTH, Counting(), random_state=0, **options)


def fitted(X, y, groups, **columns):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return even().fit(X, y, sensitive_features=groups, **columns)


@pytest.mark.slow  # the bars of a path, twice
def test_a_path_fits_once_and_its_points_are_what_fits_tell():
    X, y, groups = people()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = tradeoff_path(even(), X, y, sensitive_features=groups, tolerances=[0.1, 0.03])
    assert Counting.fits == ONCE
    assert [point.value for point in path.points] == [np.inf, 0.1, 0.03]
    direct = fitted(X, y, groups).path([np.inf, 0.1, 0.03])
    for point, one, own in zip(path.points, direct, path.fitted, strict=True):
        np.testing.assert_array_equal(own.decision_function(X), one.decision_function(X))
        assert point.auc.value == own.left_out_.auc.value == one.left_out_.auc.value
        assert point.converged == own.converged_
        if own.price_ is not None:
            assert point.auc == own.price_.auc
            assert [gap.value for gap in point.gaps] == [gap.value for gap in own.gaps_]
    assert path.points[0].worst_gap == pytest.approx(abs(path.fitted[1].price_.free_gap.value))
    assert path.points[0].worst_gap > 0.15 > path.points[2].worst_gap


@pytest.mark.slow  # the bars of a path
def test_a_selected_point_is_fitted_already():
    X, y, groups = people()
    path = tradeoff_path(even(), X, y, sensitive_features=groups, tolerances=[0.2, 0.05])
    chosen = path.chosen(0.2)
    before = Counting.fits
    scorer = path.select(tolerance=0.2)
    assert Counting.fits == before
    assert scorer is path.fitted[path.points.index(chosen)]
    assert not hasattr(path.scorer, "posteriors_")


@pytest.mark.slow  # two paths
def test_folds_are_the_scorers_own_unless_told():
    X, y, groups = people()
    ask = dict(sensitive_features=groups, tolerances=[0.1])
    path = tradeoff_path(even(), X, y, cv=2, **ask)
    assert len(path.fitted[0].posteriors_.models) == 2
    path = tradeoff_path(even(folds=4), X, y, **ask)
    assert len(path.fitted[0].posteriors_.models) == 4
    with pytest.raises(ValueError, match="folds"):
        tradeoff_path(even(), X, y, cv=1, **ask)
    with pytest.raises(ValueError, match="strengths"):
        tradeoff_path(even(), X, y, sensitive_features=groups, strengths=[1.0])


@pytest.mark.slow  # bars with clusters, twice
def test_weights_and_clusters_get_through():
    X, y, groups = people()
    weight, cluster = np.where(groups == "a", 2.0, 1.0), np.arange(1200) // 2
    ask = dict(sample_weight=weight, cluster=cluster)
    path = tradeoff_path(even(), X, y, sensitive_features=groups, tolerances=[0.05], **ask)
    one = fitted(X, y, groups, **ask).path([0.05])[0]
    assert path.points[1].auc == one.price_.auc


@pytest.mark.slow  # the bars of four claims
def test_prices_of_claims_from_one_fit():
    X, y, groups = people()
    prices = claim_prices(even(), X, y, sensitive_features=groups)
    assert Counting.fits == ONCE
    kinds = prices.kinds
    assert [claim.kinds for claim in prices.claims] == [(), kinds[:1], kinds[1:], kinds]
    once = fitted(X, y, groups)
    fnr = RateConstraint("fnr", cuts=BOTH.cuts)
    assert prices.claims[2].auc == once.under(fnr).price_.auc
    assert prices.claims[3].auc == once.price_.auc
    assert prices.claims[0].auc.value == once.price_.free.value
    assert prices.price(prices.claims[3]) == pytest.approx(once.price_.drop)
    # To close one gap leaves the other: all gaps of all claims are told.
    assert {len(claim.gaps) for claim in prices.claims} == {2}


@pytest.mark.slow  # bars of six tolerances are what it is about
def test_a_certified_choice_fits_once():
    X, y, groups = people(4000)
    choice = certified_choice(even(), X, y, sensitive_features=groups, tolerance=0.12)
    assert Counting.fits == ONCE
    assert [test.name for test in choice.tests][:1] == ["tolerance=0.005"]
    assert choice.tests[-1].name == "no constraints"
    assert choice.certified
    assert choice.scorer.constraints[0].tolerance > 0.0


@pytest.mark.slow  # the bars of a path, twice
def test_points_of_a_path_are_certified_without_a_fit():
    X, y, groups = people()
    path = tradeoff_path(even(), X, y, sensitive_features=groups, tolerances=[0.1, 0.03])
    others = people(3000, seed=1)
    before = Counting.fits
    choice = path.certify(*others[:2], sensitive_features=others[2], tolerance=0.15)
    assert Counting.fits == before
    assert choice.certified
    [own] = [k for k, point in enumerate(path.points) if str(point) == choice.test.name]
    np.testing.assert_array_equal(
        choice.scorer.decision_function(X), path.fitted[own].decision_function(X)
    )


def test_who_has_a_path():
    assert has_path(EvenScorer())
    assert not has_path(LinearScorer())
    point = at_point(even(), "tolerance", 0.3)
    assert [one.tolerance for one in point.constraints] == [0.3]
    assert as_constraints(at_point(even(), "tolerance", np.inf).constraints) == []
