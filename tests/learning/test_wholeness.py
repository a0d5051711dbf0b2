"""What was read from a file says itself whether it is whole."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest

import evenscore as es
from evenscore.learning.features import FeatureScaling
from evenscore.learning.plain_models import Forest
from evenscore.learning.wholeness import check_numbers, check_positions, part_of

ONES = np.ones(3)
SCALING = FeatureScaling(ONES, ONES, ONES, ONES, True, np.array([0, 2]))
ODD = [None, "x", 1, [1.0, 1.0, 1.0], np.ones(2), np.ones((3, 1)), np.arange(3), ONES * np.nan,
       ONES * np.inf, np.array(["a", "b", "c"]),
       np.array([1.0, None, 2.0], dtype=object)]  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y, group, X = rng.integers(0, 2, 200), rng.integers(0, 2, 200), rng.normal(size=(200, 3))
    X[:, 0] += y
    X[:, 2] = rng.integers(0, 3, 200)
    return X, y, group


@pytest.fixture
def linear(rows):
    return pickle.loads(pickle.dumps(es.LinearScorer(folds=0).fit(*rows[:2])))


@pytest.fixture(scope="module")
def fitted(rows):
    """As a file holds it: plain classifiers, nobody's rows."""
    X, y, group = rows
    fair = es.RateConstraint("fnr", cuts=es.Cuts(at=0.5), tolerance=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        scorer = es.EvenScorer(fair, folds=2, random_state=0).fit(X, y, sensitive_features=group)
    return pickle.dumps(scorer.stored())


@pytest.fixture
def even(fitted):
    return pickle.loads(fitted)


def refused(thing, *arguments):
    with pytest.raises(ValueError, match=r"^[A-Z\w].*\.$") as caught:
        thing.check_whole(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_was_fitted_is_whole(linear, even, rows):
    linear.check_whole()
    even.check_whole()
    assert isinstance(even.posteriors_.models[0].label[0], Forest)
    SCALING.check_whole(3)
    replace(SCALING, tailed=None).check_whole(3)
    X, y, group = rows
    with_groups = es.LinearScorer(use_groups=True).fit(X, y, sensitive_features=group)
    with_groups.check_whole()


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_scaling(odd):
    for name in ("centre", "spread", "scale", "mean"):
        assert refused(replace(SCALING, **{name: odd}), 3).startswith(f"FeatureScaling.{name} must")
    for name in ("spread", "scale"):
        told = refused(replace(SCALING, **{name: np.array([1.0, 0.0, 1.0])}), 3)
        assert f"FeatureScaling.{name} " in told
    refused(SCALING, 2)
    refused(replace(SCALING, compress=1), 3)
    for tailed in (
        np.array([0, 3]),
        np.array([-1]),
        np.array([0.0]),
        np.array([[0]]),
        (0,),
        np.ones(0),
    ):
        assert "FeatureScaling.tailed" in refused(replace(SCALING, tailed=tailed), 3)


WRONG = {  # what no fit sets
    "coef_": ODD,
    "intercept_": [None, "x", True, np.nan, np.inf, [0.0], np.zeros(1), 10**400, 1j],
    "n_features_in_": [None, 0, -3, 3.0, "3", True, 4, 2],
    **{name: ["x"] for name in ("encoding_", "group_feature_", "features_", "compress")},
}


@pytest.mark.parametrize("name", WRONG)
def test_attributes_of_another_kind_or_missing(linear, name):
    for odd in WRONG[name]:
        setattr(linear, name, odd)
        told = refused(linear)
        assert name in ("n_features_in_", "coef_") or f"LinearScorer.{name} must" in told
    if name != "compress":  # which is a parameter
        delattr(linear, name)
        assert f"LinearScorer.{name} must" in refused(linear)


def test_attributes_that_hide_methods(linear):
    for name in ("raw_score", "decision_function", "__sklearn_is_fitted__", "_x", "check_whole"):
        vars(linear)[name] = None
        with pytest.raises(ValueError, match=f"no attribute '{name}'"):
            es.LinearScorer.check_whole(linear)
        del vars(linear)[name]


EVEN = {  # what no fit sets
    "n_features_in_": [None, 0, 3.0, True, 4, 2],
    "columns_": [[0], np.array([0.0]), np.array([3]), np.array([-1]), np.array([[0]])],
    "encoding_": ["x", 5],
    "estimator": [5],
    "posteriors_": [None, 5, "x"],
    "placer_": [None, 5, "x"],
}


@pytest.mark.parametrize("name", EVEN)
def test_an_even_scorer_lacks_or_has_something_else(even, name):
    for odd in EVEN[name]:
        setattr(even, name, odd)
        refused(even)
    if name not in ("estimator", "encoding_"):
        delattr(even, name)
        assert f"EvenScorer.{name} must" in refused(even)
    for parameter in ("repeats", "smoothness", "folds"):
        value = vars(even).pop(parameter)
        assert parameter in refused(even)
        vars(even)[parameter] = value
    vars(even)["decision_function"] = None
    with pytest.raises(ValueError, match="no attribute 'decision_function'"):
        es.EvenScorer.check_whole(even)


WRONG_PARTS = {
    "posteriors_": {
        "models": [None, (), [], (5,)],
        "label_powers": [None, np.ones(3), np.array([1.0, np.nan]), np.array([1, 2])],
        "group_powers": [np.ones(1), np.array([np.inf, 1.0])],
        "n_groups": [None, 0, 1, 3, 2.0, True],
    },
    "placer_": {
        "knots": [None, 5],
        "levels": [None, np.ones(3), np.ones((0, 3)), np.full((1, 1), np.nan)],
        "scale": [None, 0.0, -1.0, np.nan, "x", np.ones(1)],
        "map": [None, 5],
        "n_groups": [1, 3, None],
    },
}


@pytest.mark.parametrize("part", WRONG_PARTS)
def test_parts_of_an_even_scorer(even, part):
    whole = getattr(even, part)
    for name, wrong in WRONG_PARTS[part].items():
        for odd in wrong:
            setattr(even, part, replace(whole, **{name: odd}))
            refused(even)
    setattr(even, part, whole)
    even.check_whole()


@pytest.mark.parametrize("inner", ["knots", "map"])
def test_parts_of_the_bars(even, inner):
    placer = even.placer_
    whole = getattr(placer, inner)
    for name, value in vars(whole).copy().items():
        for odd in (None, "x", np.full(np.shape(value), np.nan), np.ones(7)):
            even.placer_ = replace(placer, **{inner: replace(whole, **{name: odd})})
            refused(even)
    if inner == "map":
        falling = replace(whole, shares=whole.shares[::-1].copy())
        even.placer_ = replace(placer, map=falling)
        assert "rise" in refused(even)


def test_models_of_a_fold(even):
    posteriors = even.posteriors_
    first = posteriors.models[0]
    label, (one, other) = first.label, first.groups
    wrong = [
        replace(first, label=[]),
        replace(first, label=[5, *label[1:]]),
        replace(first, label=tuple(label)),
        replace(first, label=label[:1]),
        replace(first, groups=(one,)),
        replace(first, groups=[one, other]),
        replace(first, groups=(one, one[:1])),
        replace(first, groups=(label, label)),  # which lack a feature, the class
        replace(first, joint=1),
        replace(first, label=[replace(label[0], classes_=np.array([0, 2])), label[1]]),
    ]
    for odd in wrong:
        even.posteriors_ = replace(posteriors, models=(odd, *posteriors.models[1:]))
        refused(even)


def test_sizes_in_words():
    class Owner:
        single, several = np.ones(2), np.ones(1)

    with pytest.raises(ValueError, match=r"Owner.single"):
        check_numbers(Owner(), "single", ())
    with pytest.raises(ValueError, match=r"Owner.several .*2 × 3"):
        check_numbers(Owner(), "several", (2, 3))
    with pytest.raises(ValueError, match=r"Owner.several .*int or None"):
        part_of(Owner(), "several", int, optional=True)
    with pytest.raises(ValueError, match=r"Places .*0 to 2"):
        check_positions("Places", (0, 3), 3)
