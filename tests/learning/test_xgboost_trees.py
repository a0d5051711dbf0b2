"""Trees of XGBoost: alone, forked, resumed, and grown by several workers together."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from connected import connected

from evenscore.learning.boosters import TreeSettings
from evenscore.learning.boosting import OwnPull
from evenscore.learning.xgboost_text import Trees
from evenscore.learning.xgboost_trees import XGBoostBooster

xgboost = pytest.importorskip("xgboost")

SETTINGS = TreeSettings(
    learning_rate=0.2,
    max_leaves=6,
    min_rows=10,
    l2=1.0,
    features_per_tree=1.0,
    features_per_split=1.0,
    rows_per_tree=1.0,
    max_bins=255,
    categorical=(),
    monotone=(),
    seed=3,
    threads=1,
)
DRAWN = replace(SETTINGS, features_per_tree=0.8, features_per_split=0.6, rows_per_tree=0.8)
KINDS = {
    "numbers": {},
    "codes": {"categorical": (2,)},
    "missing": {"missing": True},
    "both": {"categorical": (2,), "missing": True},
}


def rows(n=400, missing=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 2] = rng.integers(0, 12, n)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    target = np.sin(np.nan_to_num(X[:, 0])) + np.nan_to_num(X[:, 2]) % 3 + 0.3 * rng.normal(size=n)
    return X, target, 0.1 * np.cos(np.arange(n))


def towards(target):
    """Slopes of the logistic distance from a target, which no tree reaches exactly."""
    return lambda raw: (np.tanh(raw - target), 1.0 / np.cosh(raw - target) ** 2)


def begun(n=400, settings=SETTINGS, missing=False, categorical=()):
    X, target, offset = rows(n, missing)
    settings = replace(settings, categorical=categorical)
    return X, target, offset, XGBoostBooster.begin(X, offset, settings)


def grown(booster, target, rounds):
    for _ in range(rounds):
        assert booster.grow(towards(target))
    return booster


def same(one, two):
    """Whether two boosters have the same trees and scores, to the last bit."""
    np.testing.assert_array_equal(one.training_scores(), two.training_scores())
    assert (one.n_trees, one.round) == (two.n_trees, two.round)
    assert one.to_text(one.n_trees) == two.to_text(two.n_trees)
    np.testing.assert_array_equal(one.last_leaves(), two.last_leaves())


# ---------------------------------------------------------------------- alone


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_the_training_rows_are_offset_and_trees(kind):
    X, target, offset, booster = begun(**KINDS[kind])
    np.testing.assert_allclose(booster.training_scores(), offset, rtol=1e-7)
    np.testing.assert_array_equal(booster.predict(X), 0.0)
    assert (booster.n_trees, booster.last_leaves()) == (0, None)
    before = np.mean(np.abs(target - offset))
    grown(booster, target, 12)
    scores = booster.training_scores()
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, offset + booster.predict(X), atol=1e-5)
    assert np.mean(np.abs(target - scores)) < 0.5 * before
    again = XGBoostBooster.from_text(booster.to_text(12))
    assert again.n_trees == 12
    np.testing.assert_array_equal(again.predict(X), booster.predict(X))
    np.testing.assert_array_equal(again.predict(X, threads=2), booster.predict(X, threads=2))
    assert again.to_text(12) == booster.to_text(12)
    assert again.to_text(3) == booster.to_text(3)


def test_slopes_are_asked_for_once_at_the_scores_so_far():
    _, target, _, booster = begun()
    asked = []

    def slopes(raw):
        asked.append(raw)
        return towards(target)(raw)

    before = booster.training_scores()
    booster.grow(slopes)
    assert len(asked) == 1
    np.testing.assert_array_equal(asked[0], before)


def test_scores_of_some_trees_add_up():
    X, target, _, booster = begun()
    grown(booster, target, 9)
    text = XGBoostBooster.from_text(booster.to_text(9))
    for trees in (booster, text, grown(booster.fork(), target, 3)):
        for first, last in ((0, 3), (3, 5), (7, 9), (0, 9), (4, 4), (5, 4), (8, 20)):
            parts = [trees.predict(X, first=k, last=k + 1) for k in range(first, min(last, 9))]
            parts += [trees.predict(X, first=9)] if last > 9 else []
            expected = np.sum(parts, axis=0) if parts else np.zeros(len(X))
            np.testing.assert_allclose(
                trees.predict(X, first=first, last=last), expected, atol=1e-5
            )
        assert trees.predict(X[:0]).shape == (0,)


def test_no_trees_have_a_text_too():
    X, target, _, booster = begun()
    grown(booster, target, 1)
    none = XGBoostBooster.from_text(booster.to_text(0))
    assert none.n_trees == 0
    np.testing.assert_array_equal(none.predict(X), 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_leaves_of_the_last_tree(kind):
    X, target, _, booster = begun(**KINDS[kind])
    for k in range(5):
        before = booster.training_scores()
        grown(booster, target, 1)
        added = np.unique(booster.predict(X, first=k))
        leaves = booster.last_leaves()
        assert leaves.dtype == np.float64
        assert 2 <= len(leaves) <= SETTINGS.max_leaves
        np.testing.assert_array_equal(np.unique(leaves), added)
        moved = booster.training_scores() - before
        nearest = np.abs(moved[:, None] - leaves).min(axis=1)
        assert nearest.max() < 1e-6


def test_what_rows_have_done_to_themselves_is_found_by_the_leaves():
    _, target, _, booster = begun(settings=replace(SETTINGS, max_leaves=3))
    raw = booster.training_scores()
    gradient, curvature = towards(target)(raw)
    own = OwnPull(0.2, 1.0, 1.0, np.zeros(len(raw)), before=(raw, gradient, curvature))
    grown(booster, target, 1)
    moved = booster.training_scores() - raw
    own.note(booster.training_scores(), booster.last_leaves())
    row = 0
    leaf = np.abs(moved - moved[row]) < 1e-6
    others = leaf.copy()
    others[row] = False
    without = -0.2 * gradient[others].sum() / (curvature[others].sum() + 1.0)
    assert own.total[row] == pytest.approx(without - moved[row], abs=1e-6)


def test_leaves_have_the_weight_of_so_many_rows():
    X, _, offset = rows(400)
    target = np.sin(X[:, 0])
    slopes = lambda raw: (raw - target, np.full(len(raw), 0.25))  # noqa: E731
    for least in (10, 60, 150):
        booster = XGBoostBooster.begin(X, offset, replace(SETTINGS, min_rows=least))
        assert booster.grow(slopes)
        counts = np.unique(booster.predict(X), return_counts=True)[1]
        assert counts.min() >= least
    assert not XGBoostBooster.begin(X, offset, replace(SETTINGS, min_rows=201)).grow(slopes)


def test_a_round_without_a_split_leaves_nothing():
    X, target, offset, booster = begun(settings=replace(SETTINGS, min_rows=201))
    assert not booster.grow(towards(target))
    assert (booster.n_trees, booster.round) == (0, 1)
    np.testing.assert_array_equal(booster.training_scores(), offset.astype(np.float32))
    np.testing.assert_array_equal(booster.predict(X), 0.0)
    assert booster.last_leaves() is None
    assert Trees.read(booster.to_text(0)).trees == ()


def test_missing_values_are_a_way_of_their_own():
    X, _, offset = rows(400)
    X[::2, 1] = np.nan
    target = np.where(np.isnan(X[:, 1]), 1.0, -1.0)
    booster = grown(XGBoostBooster.begin(X, offset, SETTINGS), target, 1)
    added = booster.predict(X)
    assert np.all(added[::2] > 0.0)
    assert np.all(added[1::2] < 0.0)


def test_codes_are_no_numbers():
    X, _, offset = rows(400)
    target = np.where(np.isin(X[:, 2], [1, 4, 5, 9]), 1.0, -1.0)
    stump = replace(SETTINGS, max_leaves=2, categorical=(2,))
    booster = grown(XGBoostBooster.begin(X, offset, stump), target, 1)
    np.testing.assert_array_equal(booster.predict(X) > 0.0, target > 0.0)
    new = X[:8].copy()
    new[:, 2] = [-1.0, 12.0, 500.0, 1e30, -1e30, 2.5, np.nan, 4.0]
    assert np.all(np.isfinite(booster.predict(new)))


def test_codes_that_are_large_are_refused():
    X, _, offset = rows(400)
    X[7, 2] = 65_535.0
    settings = replace(SETTINGS, categorical=(1, 2), max_leaves=3)
    X[:, 1] = np.nan
    XGBoostBooster.begin(X, offset, settings)
    X[7, 2] = 65_536.0
    with pytest.raises(ValueError, match=r"^XGBoost takes codes .* column 2 holds 65536: number"):
        XGBoostBooster.begin(X, offset, settings)


def test_scores_rise_with_features_that_they_must_rise_with():
    X, target, offset = rows(600, missing=True)
    settings = replace(SETTINGS, monotone=(-1, 1, 0, 0), categorical=(2,))
    booster = grown(
        XGBoostBooster.begin(X, offset, settings), target + np.nan_to_num(X[:, 0]) ** 2, 15
    )
    steps = np.linspace(-3.0, 3.0, 50)
    for column, sign in ((0, -1), (1, 1)):
        for row in X[:40]:
            same_but_one = np.tile(row, (50, 1))
            same_but_one[:, column] = steps
            assert np.all(sign * np.diff(booster.predict(same_but_one)) >= -1e-6)
    free = grown(XGBoostBooster.begin(X, offset, SETTINGS), target, 15)
    same_but_one = np.tile(X[0], (50, 1))
    same_but_one[:, 0] = steps
    assert np.any(np.diff(free.predict(same_but_one)) > 0.0)


def test_values_beyond_single_precision():
    X, target, offset = rows(400)
    X[::5, 1], X[1::5, 1], X[2::5, 3] = 1e300, -1e300, 3e38
    booster = grown(XGBoostBooster.begin(X, offset, SETTINGS), target + 0.01 * np.sign(X[:, 1]), 8)
    scores = booster.predict(X)
    np.testing.assert_allclose(booster.training_scores(), offset + scores, atol=1e-5)
    again = XGBoostBooster.from_text(booster.to_text(8))
    np.testing.assert_array_equal(again.predict(np.asfortranarray(X)), scores)


def test_how_much_xgboost_says_is_left_alone():
    for verbosity in (1, 2):
        with xgboost.config_context(verbosity=verbosity):
            _, target, _, booster = begun()
            grown(booster.fork(), target, 2).predict(rows()[0])
            XGBoostBooster.from_text(booster.to_text(0))
            assert xgboost.get_config()["verbosity"] == verbosity


def test_several_threads_may_score_at_once():
    X, target, _, booster = begun()
    text = grown(booster, target, 20).to_text(20)
    expected, found = booster.predict(X), {}

    def work(number):
        for _ in range(20):
            scorer = XGBoostBooster.from_text(text)
            found[number] = scorer.predict(X, threads=1 + number % 2)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for scores in found.values():
        np.testing.assert_array_equal(scores, expected)
    assert len(found) == 4


def test_a_text_is_checked():
    _, target, _, booster = begun()
    text = grown(booster, target, 2).to_text(2)
    XGBoostBooster.check_text(text, 4)
    with pytest.raises(ValueError, match=r"^The trees take 4 features, not 3\.$"):
        XGBoostBooster.check_text(text, 3)
    for read in (XGBoostBooster.from_text, booster.follow):
        with pytest.raises(ValueError, match=r"^The text of the trees is not JSON\.$"):
            read(text[:-1])


# ---------------------------------------------------------------------- forks


@pytest.mark.parametrize("settings", [SETTINGS, DRAWN], ids=["whole", "drawn"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_fork_grows_what_would_have_been_grown(settings, kind):
    X, target, _, trunk = begun(settings=settings, **KINDS[kind])
    grown(trunk, target, 5)
    early, late = trunk.fork(), trunk.fork()
    other = grown(trunk.fork(), -target, 4)
    grown(late, target, 4)
    grown(trunk, target, 4)
    grown(early, target, 4)
    for fork in (early, late, grown(late.fork().fork(), target, 0)):
        same(fork, trunk)
        np.testing.assert_array_equal(fork.predict(X), trunk.predict(X))
    _, _, _, whole = begun(settings=settings, **KINDS[kind])
    same(grown(whole, target, 9), trunk)
    assert other.to_text(5) == trunk.to_text(5)
    assert other.to_text(6) != trunk.to_text(6)
    again = XGBoostBooster.from_text(other.to_text(9))
    np.testing.assert_array_equal(again.predict(X), other.predict(X))


def test_a_fork_before_the_first_tree():
    _, target, _, trunk = begun(settings=DRAWN)
    fork = grown(trunk.fork(), target, 3)
    same(fork, grown(trunk, target, 3))


# ---------------------------------------------------------------------- resumed runs


class Slopes:
    """Slopes that change from round to round; they remember the scores they were asked at."""

    def __init__(self, target):
        self.target, self.scores = target, []

    def __call__(self, raw):
        self.scores.append(raw)
        gradient, curvature = towards(self.target)(raw)
        return gradient / len(self.scores), curvature


def run(booster, target, rounds):
    slopes = Slopes(target)
    found = [booster.grow(slopes) for _ in range(rounds)]
    return slopes.scores, found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("settings", [SETTINGS, DRAWN], ids=["whole", "drawn"])
def test_a_resumed_run_goes_on_as_if_never_stopped(settings, kind):
    options = {"settings": settings, **KINDS[kind]}
    X, target, _, whole = begun(**options)
    scores, found = run(whole, target, 10)
    assert all(found)
    for recorded in (0, 1, 4, 10):
        _, _, _, resumed = begun(**options)
        resumed.follow(whole.to_text(recorded))
        again, found = run(resumed, target, 10)
        assert all(found)
        np.testing.assert_array_equal(again, scores)
        same(resumed, whole)
        np.testing.assert_array_equal(resumed.predict(X), whole.predict(X))


def test_what_is_known_while_trees_are_followed():
    X, target, _, whole = begun(settings=DRAWN)
    _, _, _, resumed = begun(settings=DRAWN)
    text = begun(settings=DRAWN)[3]
    run(text, target, 6)
    resumed.follow(text.to_text(6))
    ours, theirs = Slopes(target), Slopes(target)
    for k in range(8):
        assert (whole.grow(theirs), resumed.grow(ours)) == (True, True)
        same(resumed, whole)
        np.testing.assert_array_equal(resumed.predict(X), whole.predict(X))
        assert resumed.n_trees == k + 1


@pytest.mark.parametrize("kind", KINDS)
def test_runs_with_forks_are_resumed(kind):
    options = {"settings": DRAWN, **KINDS[kind]}
    _, target, _, trunk = begun(**options)
    run(trunk, target, 4)
    first, second = trunk.fork(), trunk.fork()
    run(first, -target, 4)
    scores, _ = run(second, np.cos(target), 6)
    _, _, _, resumed = begun(**options)
    resumed.follow(second.to_text(7))  # the trunk, and half of a branch
    run(resumed, target, 4)
    branch = resumed.fork()  # amid what is followed
    branch.follow(first.to_text(6))
    run(branch, -target, 4)
    same(branch, first)
    branch = resumed.fork()
    branch.follow(second.to_text(7))
    again, _ = run(branch, np.cos(target), 6)
    np.testing.assert_array_equal(again, scores)
    same(branch, second)


def test_rounds_without_a_split_are_followed_too():
    X, target, offset = rows(300)
    X[:, :3] = 0.0
    X[::2, 1] = 1.0
    # Two of four columns cannot be split: a tree may be drawn that has only these.
    settings = replace(DRAWN, features_per_tree=0.5, features_per_split=1.0)
    whole = XGBoostBooster.begin(X, offset, settings)
    scores, found = run(whole, target, 20)
    assert {*found} == {True, False}
    assert whole.n_trees == sum(found)
    assert whole.rounds == [*np.flatnonzero(found)]
    text = whole.to_text(whole.n_trees)
    assert Trees.read(text).rounds == tuple(whole.rounds)
    np.testing.assert_array_equal(XGBoostBooster.from_text(text).predict(X), whole.predict(X))
    for recorded in (1, whole.n_trees // 2, whole.n_trees):
        resumed = XGBoostBooster.begin(X, offset, settings)
        resumed.follow(whole.to_text(recorded))
        again, found_again = run(resumed, target, 20)
        assert found_again == found
        np.testing.assert_array_equal(again, scores)
        same(resumed, whole)


def test_trees_of_another_run_are_not_followed():
    _, target, _, booster = begun()
    grown(booster, target, 3)
    _, _, _, other = begun(settings=replace(SETTINGS, seed=4))
    grown(other, -target, 5)
    _, _, _, codes = begun(categorical=(2,))
    before = booster.training_scores()
    for text in (other.to_text(5), codes.to_text(0)):
        with pytest.raises(ValueError, match=r"^The recorded trees do not begin with those that"):
            booster.follow(text)
    booster.follow(booster.to_text(2))  # no more than there are
    np.testing.assert_array_equal(booster.training_scores(), before)
    same(grown(booster, target, 1), grown(begun()[3], target, 4))


# ---------------------------------------------------------------------- workers


def few_valued(n=900):
    X, target, offset = rows(n, missing=True)
    X[:, [0, 1, 3]] = np.round(2.0 * X[:, [0, 1, 3]]) / 2.0
    return X, np.sign(target), np.round(offset, 1)


def exact(target):
    """Slopes that add up without rounding, in whatever order."""
    return lambda raw: (np.round(8.0 * (raw - target)) / 8.0, np.full(len(raw), 0.5))


def in_parts(parts, settings, work):
    X, target, offset = few_valued()

    def one(part, exchange):
        booster = XGBoostBooster.begin(X[part], offset[part], settings, exchange)
        return work(booster, exact(target[part]), part)

    return connected(one, [np.arange(900)[part] for part in parts])


PARTS = {
    "one": [slice(None)],
    "two": [slice(0, 300), slice(300, None)],
    "three": [slice(0, 500), slice(500, 520), slice(520, None)],
    "an empty part": [slice(None), slice(0, 0)],
    "an empty part first": [slice(0, 0), slice(0, 450), slice(450, None)],
}


@pytest.mark.slow
@pytest.mark.parametrize("parts", PARTS)
def test_parts_grow_the_trees_of_the_whole(parts):
    X, target, offset = few_valued()
    drawn = replace(SETTINGS, features_per_split=0.6, categorical=(2,), min_rows=25)

    def work(booster, slopes, part):
        assert all(booster.grow(slopes) for _ in range(6))
        fork = booster.fork()
        assert all(fork.grow(slopes) for _ in range(4))
        resumed = booster.fork()
        resumed.follow(fork.to_text(8))
        assert all(resumed.grow(slopes) for _ in range(4))
        same(resumed, fork)
        scores = fork.training_scores()
        assert scores.shape == (len(part),)
        np.testing.assert_allclose(scores, offset[part] + fork.predict(X[part]), atol=1e-5)
        return fork.to_text(10), scores, fork.last_leaves()

    found = in_parts(PARTS[parts], drawn, work)
    whole = XGBoostBooster.begin(X, offset, drawn)
    for _ in range(10):
        whole.grow(exact(target))
    for text, _, leaves in found:
        assert text == whole.to_text(10)
        np.testing.assert_array_equal(leaves, whole.last_leaves())
    scores = np.concatenate([scores for _, scores, _ in found])
    np.testing.assert_array_equal(scores, whole.training_scores())


@pytest.mark.slow
def test_parts_agree_that_there_is_no_split():
    def work(booster, slopes, part):
        found = booster.grow(slopes)
        return found, booster.n_trees, booster.training_scores()

    for found, n_trees, scores in in_parts(
        PARTS["an empty part"], replace(SETTINGS, min_rows=451), work
    ):
        assert (found, n_trees) == (False, 0)
        assert len(scores) in (0, 900)


@pytest.mark.slow
def test_parts_agree_to_refuse_large_codes():
    def work(part, exchange):
        X, _, offset = rows(50)
        X[0, 2] = 1e6 if part else 0.0
        with pytest.raises(ValueError, match="column 2 holds 1000000"):
            XGBoostBooster.begin(X, offset, replace(SETTINGS, categorical=(2,)), exchange)
        return True

    assert connected(work, [0, 1]) == [True, True]
