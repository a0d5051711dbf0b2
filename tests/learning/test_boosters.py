"""Another library than LightGBM: stumps on single features, in this file alone."""

import json
import os

import numpy as np
import pytest
from scipy import sparse

from evenscore import BoostedScorer
from evenscore.learning import Booster
from evenscore.learning.boosters import (
    BOOSTERS,
    LightGBMBooster,
    TreeSettings,
    booster_class,
    tree_threads,
)


class Stumps(Booster):
    """One split a round: the best, by the gain, among a dozen quantiles of every feature."""

    def __init__(self, trees, X=None, scores=None, settings=None):
        self.trees, self.X, self.scores, self.settings = trees, X, scores, settings

    @classmethod
    def begin(cls, X, offset, settings):
        return cls([], X, offset.copy(), settings)

    def grow(self, slopes):
        gradient, curvature = slopes(self.scores.copy())
        best = None
        for k in range(self.X.shape[1]):
            for cut in np.unique(np.quantile(self.X[:, k], np.linspace(0.08, 0.92, 12))):
                left = self.X[:, k] <= cut
                values, gain = [], 0.0
                for side in (left, ~left):
                    total, weight = gradient[side].sum(), curvature[side].sum() + self.settings.l2
                    values.append(-self.settings.learning_rate * total / weight)
                    gain += total**2 / weight
                if best is None or gain > best[0]:
                    best = gain, [k, float(cut), *map(float, values)]
        self.trees.append(best[1])
        self.scores += self.predict(self.X, first=len(self.trees) - 1)
        return True

    @property
    def n_trees(self):
        return len(self.trees)

    def training_scores(self):
        return self.scores

    def predict(self, X, *, first=0, last=None, threads=1):
        total = np.zeros(len(X))
        for k, cut, low, high in self.trees[first:last]:
            total += np.where(X[:, k] <= cut, low, high)
        return total

    def to_text(self, n_trees):
        return json.dumps(self.trees[:n_trees])

    @classmethod
    def from_text(cls, text):
        return cls(json.loads(text))


def rows(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.integers(0, 2, n)
    X = rng.normal(size=(n, 3))
    X[:, 0] += 1.2 * y + 0.8 * group
    X[:, 1] += 0.8 * y
    return X, y, group


def stumps(constraints=(), **options):
    defaults = dict(n_estimators=200, learning_rate=1.0, random_state=0, booster=Stumps)
    return BoostedScorer(constraints, **{**defaults, **options})


def worst(scorer):
    return max(abs(gap.value) for gap in scorer.gaps_["train"])


@pytest.mark.slow
def test_a_fair_score_by_another_library(monkeypatch):
    X, y, group = rows()
    monkeypatch.setitem(BOOSTERS, "stumps", Stumps)
    free, fair = stumps("bnsp", tolerance=0.9, n_estimators=50), stumps("bnsp", booster="stumps")
    for scorer in (free, fair):
        scorer.fit(X, y, sensitive_features=group)
    assert worst(free) > 0.05
    assert fair.converged_
    assert worst(fair) <= 0.021
    assert fair.score(X, y) > free.score(X, y) - 0.06
    assert fair.n_iter_ == len(json.loads(fair.model_)) <= 200


def test_what_it_does_not_take_is_refused():
    X, y, _ = rows(100)
    missing = X.copy()
    missing[0, 0] = np.nan
    for features in (missing, sparse.csr_array(X)):
        with pytest.raises((ValueError, TypeError), match=r"NaN|[Ss]parse"):
            stumps().fit(features, y)
    for name, value in {"categorical_features": [0], "monotone_constraints": [1, 0, 0]}.items():
        with pytest.raises(ValueError, match=f"Stumps does not take {name}: leave them out"):
            stumps(**{name: value}).fit(X, y)


def test_the_class_of_lightgbm_is_its_name():
    X, y, _ = rows(300)
    assert booster_class("lightgbm") is LightGBMBooster
    by_class, by_name = stumps(booster=LightGBMBooster).fit(X, y), stumps(booster="lightgbm")
    assert by_class.model_ == by_name.fit(X, y).model_


def test_no_more_threads_than_there_are():
    assert tree_threads(10**9, 100) <= (os.cpu_count() or 1)
    assert (tree_threads(1, 10**6), tree_threads(None, 100), tree_threads(None, 10**6)) == (1, 1, 0)


def test_scores_of_the_first_trees_add_up():
    X, y, _ = rows(400)
    scorer = stumps(booster="lightgbm", linear_start=False, n_estimators=20).fit(X, y)
    booster = LightGBMBooster.from_text(scorer.model_)
    parts = booster.predict(X, last=5), booster.predict(X, first=5)
    np.testing.assert_allclose(sum(parts), booster.predict(X), atol=1e-12)


# ---------------------------------------------------------------------- forks

SETTINGS = TreeSettings(
    learning_rate=0.2,
    max_leaves=5,
    min_rows=10,
    l2=1.0,
    features_per_tree=1.0,
    features_per_split=1.0,
    rows_per_tree=1.0,
    max_bins=255,
    categorical=(),
    monotone=(),
    seed=0,
    threads=1,
)


def towards(target):
    """Slopes of the squared distance from a target."""
    return lambda raw: (raw - target, np.ones(len(raw)))


def grown(booster, target, rounds):
    for _ in range(rounds):
        assert booster.grow(towards(target))
    return booster


@pytest.fixture
def forked():
    """A trunk of five trees, and two forks that go on to different targets."""
    X, y, _ = rows(400)
    offset = 0.1 * X[:, 1]
    trunk = grown(LightGBMBooster.begin(X, offset, SETTINGS), y, 5)
    text = trunk.to_text(5)
    one = grown(trunk.fork(), np.sin(X[:, 2]), 4)
    two = grown(trunk.fork(), np.cos(X[:, 0]), 3)
    return X, y, offset, text, one, two


def test_forks_go_on_from_the_same_trees(forked):
    X, y, offset, text, one, two = forked
    assert (one.n_trees, two.n_trees) == (9, 8)
    trunk = LightGBMBooster.from_text(text).predict(X)
    for fork in (one, two):
        np.testing.assert_allclose(fork.training_scores(), offset + fork.predict(X), atol=1e-12)
        np.testing.assert_allclose(fork.predict(X, last=5), trunk, atol=1e-12)
    assert np.ptp(one.predict(X, first=5) - two.predict(X, first=5)) > 0.1
    # A fork grows what the trunk would have grown.
    whole = grown(LightGBMBooster.begin(X, offset, SETTINGS), y, 5)
    whole = grown(whole, np.sin(X[:, 2]), 4)
    np.testing.assert_allclose(one.predict(X), whole.predict(X), atol=1e-9)


def test_the_text_of_a_fork_holds_the_trunk_too(forked):
    X, _, _, text, one, two = forked
    for fork in (one, two):
        for n_trees in range(fork.n_trees + 1):
            joined = fork.to_text(n_trees)
            assert joined.count("\nTree=") == n_trees
            again = LightGBMBooster.from_text(joined)
            assert again.n_trees == n_trees
            expected = fork.predict(X, last=n_trees)
            np.testing.assert_allclose(again.predict(X), expected, rtol=0, atol=1e-12)
        assert fork.to_text(5) == text
    assert LightGBMBooster.from_text(one.to_text(9)).to_text(9).count("\nTree=") == 9


def test_the_leaves_of_the_last_tree(forked):
    X, _, _, _, one, _ = forked
    added = np.unique(one.predict(X, first=8))
    np.testing.assert_allclose(np.sort(one.last_leaves()), added, atol=1e-12)
    assert 2 <= len(added) <= 5


def test_what_is_no_booster_is_refused():
    X, y, _ = rows(100)
    for bad in ("catboost", None, int, Stumps([])):
        with pytest.raises(ValueError, match="booster must be 'lightgbm'"):
            stumps(booster=bad).fit(X, y)
