"""What was read from a file says itself whether it is whole."""

from dataclasses import replace

import numpy as np
import pytest

import evenscore as es
from evenscore.learning.encoding import SpreadCodes
from evenscore.learning.features import FeatureScaling
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
    return es.LinearScorer().fit(*rows[:2])


@pytest.fixture(scope="module")
def grown(rows):
    return es.BoostedScorer(n_estimators=3, categorical_features=[2], random_state=0).fit(*rows[:2])


@pytest.fixture
def boosted(grown, rows):
    """The same trees again."""
    fresh = es.BoostedScorer(n_estimators=3, categorical_features=[2], random_state=0)
    vars(fresh).update(vars(grown))
    return fresh


def refused(thing, *arguments):
    with pytest.raises(ValueError, match=r"^[A-Z\w].*\.$") as caught:
        thing.check_whole(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_was_fitted_is_whole(linear, boosted, rows):
    linear.check_whole()
    boosted.check_whole()
    assert boosted.linear_ is not None
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


def test_trees_and_their_start(boosted):
    for name, odd in {"model_": 5, "linear_": 5, "n_jobs": "2", "booster": "other"}.items():
        kept = getattr(boosted, name)
        setattr(boosted, name, odd)
        refused(boosted)
        setattr(boosted, name, kept)
    boosted.n_jobs = 0
    refused(boosted)
    boosted.n_jobs = None
    start = boosted.linear_
    for name, odd in {"columns": None, "means": ONES * np.nan, "features": None,
                      "coefficients": np.ones(1), "constant": np.inf}.items():  # fmt: skip
        boosted.linear_ = replace(start, **{name: odd})
        assert f"LinearStart.{name} must" in refused(boosted)
    boosted.linear_, boosted.model_ = None, boosted.model_.replace("left_child=", "left_child=9 ")
    assert refused(boosted).startswith("Tree 0 is not whole")


@pytest.mark.parametrize("numbers", [(3,), (-1,), (0.0,), (True,), ("a",), None, [0]])
def test_columns_that_are_not_there(numbers):
    refused(SpreadCodes(numbers), 3)
    refused(SpreadCodes((0,), (numbers,)), 3)


@pytest.mark.parametrize("codes", [((3, 1),), ((0, 101),), ((0, -1),), ((0,),), (5,), None])
def test_codes_that_cannot_be(codes):
    refused(SpreadCodes((0,), codes), 3)
    SpreadCodes((0,), ((2, 3), (1, 0))).check_whole(3)


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
