"""Classifiers as plain arrays: the same chances as the fitted ones, and no altered array."""

from dataclasses import replace

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from evenscore.learning.plain_models import Forest, Line, plain
from evenscore.learning.posteriors import _line


def rows(n=500, n_classes=2, missing=True, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n, 4))
    X[:, 0] += y
    X[:, 1] = np.round(X[:, 1])  # thresholds at which there are rows, zero among them
    X[:, 2] *= rng.random(n) < 0.4
    if missing:
        X[rng.random((n, 4)) < 0.15] = np.nan
    return X, y


def lightgbm(**more):
    return LGBMClassifier(n_estimators=25, num_leaves=6, min_child_samples=5, verbosity=-1,
                          n_jobs=1, random_state=0, **more)  # fmt: skip


def histograms():
    return HistGradientBoostingClassifier(max_iter=25, max_leaf_nodes=6, min_samples_leaf=5)


def odd_rows():
    """Zeros of both signs, what is just beside a threshold, and what is far away."""
    corners = np.array([0.0, -0.0, 1e-40, -1e-40, 1e308, -1e308, np.inf, -np.inf, np.nan])
    return np.array(np.meshgrid(corners, corners, [0.0, np.nan], [0.5, 1.0])).reshape(4, -1).T


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("make", [lightgbm, histograms, lambda: _line(np.zeros((1, 4)), ())])
@pytest.mark.parametrize("missing", [False, True])
def test_the_chances_are_those_of_the_classifier(make, n_classes, missing):
    X, y = rows(n_classes=n_classes, missing=missing)
    labels = np.array(["a", "b", "c"])[y]
    model = make().fit(X, labels)
    found = plain(model, np.array(["a", "b", "c"]), 4)
    found.check_whole(4)
    for some in (X, rows(200, missing=True, seed=1)[0] if missing else X[:0]):
        if len(some):
            np.testing.assert_allclose(
                found.predict_proba(some), model.predict_proba(some), rtol=0, atol=1e-12
            )
    assert found.classes_.tolist() == list(range(n_classes))


@pytest.mark.parametrize("make", [lightgbm, histograms])
@pytest.mark.parametrize("missing", [False, True])
def test_odd_values_go_the_same_way(make, missing):
    X, y = rows(missing=missing)
    model, odd = make().fit(X, y), odd_rows()
    found = plain(model, np.arange(2), 4)
    np.testing.assert_allclose(
        found.predict_proba(odd), model.predict_proba(odd), rtol=0, atol=1e-12
    )


def test_values_at_a_threshold_go_the_same_way():
    X, y = rows(missing=False)
    for make in (lightgbm, histograms):
        model = make().fit(X, y)
        found = plain(model, np.arange(2), 4)
        inner = found.left != np.arange(len(found.left))
        inner &= np.abs(found.threshold) > 1e-30  # LightGBM rounds those around zero when it tells
        at = np.repeat(X[:1], 3 * inner.sum(), axis=0)
        thresholds = found.threshold[inner]
        beside = [np.nextafter(thresholds, -9), thresholds, np.nextafter(thresholds, 9)]
        at[np.arange(len(at)), np.tile(found.feature[inner], 3)] = np.concatenate(beside)
        np.testing.assert_allclose(
            found.predict_proba(at), model.predict_proba(at), rtol=0, atol=1e-12
        )


def test_sparse_rows_and_many_rows():
    X, y = rows(missing=False)
    table = sparse.csr_matrix(np.where(np.abs(X) < 0.5, 0.0, X))
    for model in (lightgbm().fit(table, y), _line(table, ()).fit(table, y)):
        found = plain(model, np.arange(2), 4)
        expected = model.predict_proba(table)
        np.testing.assert_allclose(found.predict_proba(table), expected, atol=1e-12)
        np.testing.assert_allclose(found.predict_proba(table.toarray()), expected, atol=1e-12)
    model = lightgbm().fit(X, y)
    many = np.tile(X, (50, 1))  # more than go down the trees together
    np.testing.assert_allclose(
        plain(model, np.arange(2), 4).predict_proba(many), model.predict_proba(many), atol=1e-12
    )


def test_one_class_alone_and_classes_that_are_missing():
    X, y = rows(missing=False)
    alone = DummyClassifier().fit(X, np.full(len(X), 2))
    found = plain(alone, np.arange(3), 4)
    assert found.classes_.tolist() == [2]
    np.testing.assert_array_equal(found.predict_proba(X), np.ones((len(X), 1)))
    found.check_whole(4)
    some = lightgbm().fit(X, 2 * y)  # classes 0 and 2 of three
    found = plain(some, np.arange(3), 4)
    assert found.classes_.tolist() == [0, 2]
    np.testing.assert_allclose(found.predict_proba(X), some.predict_proba(X), atol=1e-12)


def test_what_cannot_be_plain_is_refused():
    X, y = rows(missing=False)
    X[:, 3] = np.arange(len(X)) % 6
    X[:, 0] = np.isin(X[:, 3], (1, 4)) == y
    with pytest.raises(ValueError, match="RandomForestClassifier"):
        plain(RandomForestClassifier(n_estimators=2).fit(X, y), np.arange(2), 4)
    category = np.isin(X[:, 3], (1, 4)).astype(int)
    for model in (
        lightgbm(min_data_per_group=1, cat_smooth=0.1).fit(X, category, categorical_feature=[3]),
        HistGradientBoostingClassifier(max_iter=3, categorical_features=[3]).fit(X, category),
    ):
        with pytest.raises(ValueError, match="categor"):
            plain(model, np.arange(2), 4)


# ---------------------------------------------------------------------- altered arrays


@pytest.fixture(scope="module")
def forest():
    X, y = rows()
    return plain(lightgbm().fit(X, y), np.arange(2), 4)


@pytest.fixture(scope="module")
def line():
    X, y = rows(n_classes=3)
    return plain(_line(X, ()).fit(X, y), np.arange(3), 4)


def changed(array, place, value):
    other = array.copy()
    other[place] = value
    return other


def refused(model, width=4):
    with pytest.raises(ValueError, match=r"^(Forest|Line)\b.*\.$") as caught:
        model.check_whole(width)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_is_whole_passes(forest, line):
    forest.check_whole(4)
    forest.check_whole(9)
    line.check_whole(4)


NUMBERS = ("starts", "feature", "left", "right", "classes_")


@pytest.mark.parametrize("name", [*NUMBERS, "threshold", "value", "missing_left", "base"])
def test_an_array_of_another_kind(forest, name):
    own = getattr(forest, name)
    odd = [None, "x", own.tolist(), own[None], own.astype(object), own.astype(complex)]
    odd.append(own.astype(float if name in (*NUMBERS, "missing_left") else int))
    if name not in ("starts", "classes_"):  # fewer trees, or one class, are a forest as well
        odd.append(own[:-1])
    for one in odd:
        refused(replace(forest, **{name: one}))
    if own.dtype.kind == "f":
        for bad in (np.nan, np.inf, -np.inf):
            refused(replace(forest, **{name: changed(own, 0, bad)}))


def test_trees_that_are_none(forest):
    n, inner = len(forest.feature), np.flatnonzero(forest.left > np.arange(len(forest.left)))
    second = int(forest.starts[1])
    last = int(inner[inner < second][-1])
    cases = {
        "left": [
            changed(forest.left, last, 0),  # a child before its parent: a circle
            changed(forest.left, last, last),  # half a leaf
            changed(forest.left, last, n),
            changed(forest.left, last, -1),
            changed(forest.left, last, second + 1),  # of another tree
            changed(forest.left, last, 10**12),
        ],
        "feature": [changed(forest.feature, 0, bad) for bad in (4, -1, 10**12)],
        "starts": [
            changed(forest.starts, 0, 1),
            changed(forest.starts, 1, 0),
            changed(forest.starts, -1, n),
            changed(forest.starts, -1, -1),
            forest.starts[:0],
        ],
        "classes_": [
            np.array([], dtype=int),
            np.array([1, 0]),
            np.array([0, 0]),
            np.array([-1, 0]),
        ],
        "base": [np.zeros(2), np.zeros(0)],
    }
    for name, wrong in cases.items():
        for one in wrong:
            refused(replace(forest, **{name: one}))
    refused(forest, width=int(forest.feature.max()))
    refused(replace(forest, classes_=np.array([0, 1, 2])))
    vars(hidden := replace(forest))["predict_proba"] = None
    assert "predict_proba" in refused(hidden)
    nothing = {name: getattr(forest, name)[:0] for name in vars(forest)}
    refused(Forest(**nothing | {"base": forest.base, "classes_": forest.classes_}))


@pytest.mark.parametrize(
    ("name", "odd"),
    [
        ("fill", [None, np.zeros(3), np.full(4, np.nan), np.arange(4)]),
        ("centre", [np.zeros((4, 1)), np.array([0.0, 1.0, 2.0, np.inf])]),
        ("scale", [np.zeros(4), np.array([1.0, 1.0, -1.0, 1.0]), np.ones(5)]),
        ("compress", [None, 1, "yes", np.True_]),
        ("weights", [np.zeros((1, 4)), np.zeros((3, 3)), np.zeros(4), [[0.0] * 4] * 3]),
        ("start", [np.zeros(1), np.zeros(2), np.zeros((3, 1)), None]),
        ("classes_", [np.array([0, 1]), np.array([2, 1, 0]), np.array([0.0, 1.0, 2.0])]),
    ],
)
def test_a_line_of_something_else(line, name, odd):
    for one in odd:
        refused(replace(line, **{name: one}))
    assert isinstance(line, Line)
    refused(line, width=5)
