import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import brentq
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenscore import BoostedScorer, RocConstraint, metrics
from evenscore.datasets import load_german
from evenscore.learning.boosting import LinearStart
from evenscore.learning.training_set import TrainingSet

ROC = RocConstraint(on="both", rates=(1 / 8, 1 / 4))


def small(constraints=(), **options):
    """Few rounds; no chance but that of rows held out."""
    defaults = dict(n_estimators=120, num_leaves=15, min_child_samples=20, subsample=1.0)
    common = dict(colsample_bynode=1.0, n_jobs=1, random_state=0)
    return BoostedScorer(constraints, **{**defaults, **common, **options})


@parametrize_with_checks([BoostedScorer(n_estimators=10, n_jobs=1)])
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # the checks warn about themselves
        check(estimator)


@pytest.fixture(scope="module")
def german():
    return load_german()


def rows(n=1500, n_groups=2, seed=0):
    """Three features: one useful and biased, one useful but not monotone, one noise."""
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.integers(0, n_groups, n)
    X = rng.normal(size=(n, 3))
    X[:, 0] += 1.2 * y + 0.8 * group
    X[:, 1] *= 0.4 + 1.6 * y
    return X, y, group


def gap_sizes(scorer, part=None):
    """Of the gaps that training looks at: as they are expected on new rows, if that is known."""
    if part is None:
        part = "expected" if "expected" in scorer.gaps_ else "train"
    return np.abs([gap.value for gap in scorer.gaps_[part]])


def auc(scorer, X, y):
    return roc_auc_score(y, scorer.decision_function(X))


# ---------------------------------------------------------------------- what it learns


def test_it_learns_what_a_linear_score_cannot():
    X, y, _ = rows()
    fresh, labels, _ = rows(seed=1)
    scorer = small().fit(X, y)
    assert auc(scorer, fresh, labels) > 0.88
    assert scorer.gaps_ == {"train": []}
    assert scorer.converged_


@pytest.mark.slow
@pytest.mark.parametrize("constraint", ["inter_group", ROC], ids=str)
def test_the_tolerance_is_reached_on_german(german, constraint):
    fair = BoostedScorer(constraint, n_jobs=1, random_state=0)
    fair.fit(german.X, german.y, sensitive_features=german.groups)
    assert fair.converged_
    assert gap_sizes(fair).max() <= 0.021
    score = fair.decision_function(german.X)
    found = metrics.gap_estimates(
        german.y, score, sensitive_features=german.groups, constraints=constraint
    )
    sizes = np.abs([gap.value for gap in found])
    np.testing.assert_allclose(sizes, gap_sizes(fair, "train"), atol=1e-12)
    assert sizes.max() <= 0.05
    assert auc(fair, german.X, german.y) > 0.8


@pytest.mark.slow
def test_rows_held_out_choose_the_number_of_trees():
    X, y, _ = rows(600)
    flip = np.random.default_rng(0).random(600) < 0.3
    noisy = np.where(flip, 1 - y, y)
    options = dict(n_estimators=300, reg_lambda=0.0, min_child_samples=5, num_leaves=31)
    plain, stopped = small(**options), small(validation_fraction=0.3, **options)
    plain.fit(X, noisy)
    stopped.fit(X, noisy)
    assert stopped.gaps_ == {"train": [], "validation": []}
    assert stopped.n_iter_ < plain.n_iter_
    fresh, labels, _ = rows(4000, seed=1)
    assert auc(stopped, fresh, labels) > auc(plain, fresh, labels) - 0.02


@pytest.mark.slow
def test_history():
    X, y, group = rows()
    scorer = small("bnsp").fit(X, y, sensitive_features=group)
    history = scorer.history_
    assert len(history) == len(history.auc) == len(history.gaps) == len(history.multipliers) > 5
    assert all(gaps.shape == (1,) for gaps in history.gaps)
    assert 0 < scorer.n_iter_ <= 120
    assert scorer.model_.count("\nTree=") == scorer.n_iter_
    assert np.abs(history.gaps[history.chosen]) == pytest.approx(gap_sizes(scorer), abs=1e-9)
    assert history.auc[history.chosen] == pytest.approx(auc(scorer, X, y), abs=1e-9)


# ---------------------------------------------------------------------- kinds of input


@pytest.mark.slow
def test_missing_values():
    X, y, group = rows(2000)
    X[np.random.default_rng(0).random(2000) < 0.3 + 0.3 * y, 1] = np.nan  # that tells something
    scorer = small("inter_group").fit(X, y, sensitive_features=group)
    assert scorer.converged_
    score = scorer.decision_function(X)
    assert np.all(np.isfinite(score))
    filled = np.nan_to_num(X)
    assert np.any(scorer.decision_function(filled) != score)
    assert roc_auc_score(y, score) > 0.85
    infinite = X.copy()
    infinite[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        scorer.fit(infinite, y, sensitive_features=group)
    with pytest.raises(ValueError, match="infinity"):
        scorer.predict(infinite)


@pytest.mark.slow
@pytest.mark.parametrize("told", [[1, 0, 0], {"income": 1}], ids=str)
def test_monotone(told):
    pd = pytest.importorskip("pandas")
    X, y, group = rows()
    frame = pd.DataFrame(X, columns=["income", "âge", "x [€]"])
    scorer = small("inter_group", monotone_constraints=told, tolerance=0.1)
    scorer.fit(frame, y, sensitive_features=group)
    assert scorer.feature_names_in_.tolist() == ["income", "âge", "x [€]"]
    grid = np.linspace(-4, 4, 200)
    for k, steady in ((0, True), (1, False)):
        line = np.zeros((200, 3))
        line[:, k] = grid
        steps = np.diff(scorer.decision_function(pd.DataFrame(line, columns=frame.columns)))
        assert np.any(steps > 0)
        assert np.all(steps >= 0) == steady


@pytest.mark.slow
def test_sparse_and_dense_give_the_same(german):
    for kind in (sparse.csc_array,):
        one, two = (
            small("inter_group", n_estimators=20).fit(X, german.y, sensitive_features=german.groups)
            for X in (german.X, kind(german.X))
        )
        np.testing.assert_allclose(
            one.decision_function(german.X), two.decision_function(kind(german.X)), atol=1e-10
        )


def test_useless_features():
    X, y, group = rows(200)
    zeros = sparse.csr_array(X.shape)
    for nothing in (0.0 * X, zeros, np.nan * X):
        scorer = small("inter_group")
        with pytest.warns(UserWarning, match="200 rows"):
            scorer.fit(nothing, y, sensitive_features=group)
        assert np.ptp(scorer.decision_function(X)) == 0.0
        assert scorer.n_iter_ == 0
        assert pickle.loads(pickle.dumps(scorer)).predict(X).shape == (200,)
    few = small(min_child_samples=101, linear_start=False)
    with pytest.warns(UserWarning, match="min_child_samples=101"):
        few.fit(X, y)
    assert np.ptp(few.decision_function(X)) == 0.0


# ---------------------------------------------------------------------- the linear start


def test_the_start_is_the_regression_it_says():
    X, y, _ = rows(500)
    train = TrainingSet(X, y == 1, np.zeros(500, dtype=int), ("all",), None)
    start = LinearStart.fit(train)
    scaled = start.features.transform(X)
    coefficients = start.coefficients / 0.7
    z = scaled @ coefficients

    def slope(b):  # of the penalised likelihood, at the intercept b that is best
        return scaled.T @ (y - 1 / (1 + np.exp(-z - b))) - 2 * 3 * coefficients

    b = brentq(lambda b: np.sum(y - 1 / (1 + np.exp(-z - b))), -20, 20)
    np.testing.assert_allclose(slope(b), 0.0, atol=1e-4)
    np.testing.assert_allclose(start.score(X).mean(), 0.0, atol=1e-12)
    np.testing.assert_allclose(start.score(X) - start.constant, 0.7 * z, atol=1e-12)


def test_the_start_leaves_monotone_features_to_the_trees():
    X, y, _ = rows(500)
    scorer = small(monotone_constraints=[1, 0, 0]).fit(X, y)
    assert scorer.linear_.columns.numbers == (1, 2)
    scorer = small(monotone_constraints=[1, 1, -1]).fit(X, y)
    assert scorer.linear_ is None


# ---------------------------------------------------------------------- refusals

BAD = {
    "tolerance": (-0.1, np.nan, "0.1"),
    "strength": (-1, np.inf),
    "validation_fraction": (-0.1, 1, None),
    "margin": (-0.1, 1.5, None),
    "bandwidth": (0, np.nan, "a"),
    "learning_rate": (0, -1.0, None),
    "reg_lambda": (-1.0, np.nan, None),
    "subsample": (0.0, 1.5, "a"),
    "colsample_bynode": (0.0, 1.5),
    "colsample_bytree": (0.0, 1.5, None),
    "n_estimators": (0, 2.5, True, None),
    "num_leaves": (1, 2.5),
    "min_child_samples": (0, "a"),
    "max_bin": (1, None),
    "n_jobs": (0, 1.5),
    "categorical_features": ("job", ["job"], [3], [1.5], [0]),
    "monotone_constraints": ([1, 0], [1, 0, 2], {"a": 1}, 1),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_parameters_are_refused(name):
    X, y, group = rows(100)
    for bad in BAD[name]:
        with pytest.raises(ValueError, match=name):
            small("inter_group", **{name: bad}).fit(X, y, sensitive_features=group)


def test_an_order_of_categories_is_refused():
    X, y, _ = rows(100)
    scorer = small(categorical_features=[0], monotone_constraints=[1, 0, 0])
    with pytest.raises(ValueError, match="categorical_features"):
        scorer.fit(np.abs(np.round(X)), y)
