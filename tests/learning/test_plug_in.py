"""The optimal fair score over any classifier: what it reaches, refuses and tells."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import evenscore as es
from evenscore.gaps import as_constraints
from evenscore.gaps.family import family_values
from evenscore.learning.training_set import TrainingSet
from evenscore.scores.aucs import auc_matrix, overall_auc


@parametrize_with_checks([es.PlugInScorer(LogisticRegression())])
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # the checks warn about themselves
        check(estimator)


def people(n=4000, n_groups=2, seed=0, apart=0.8):
    """Gaussian features that tell class and group; the groups are shifted against each other."""
    rng = np.random.default_rng(seed)
    group = rng.choice(n_groups, n, p=np.arange(n_groups, 0, -1) / (n_groups * (n_groups + 1) / 2))
    positive = rng.random(n) < 0.3 + 0.1 * (group % 2)
    X = rng.normal(size=(n, 3))
    X[:, 0] += 1.2 * positive + apart * group
    X[:, 1] += 0.7 * positive
    X[:, 2] += 1.5 * group
    return X, positive.astype(int), np.array([f"group {k}" for k in group])


def table(scorer, X, y, groups):
    data = TrainingSet.read(X, y == 1, groups, None, ())
    return data.grouped(scorer.decision_function(X))


def gap_and_auc(scorer, notion, X, y, groups):
    scores = table(scorer, X, y, groups)
    return float(np.abs(family_values(scores, as_constraints(notion))).max()), overall_auc(scores)


@pytest.fixture(scope="module")
def new():
    return people(40_000, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("notion", ["bnsp", "zero_aeg"])
def test_a_gap_is_closed_on_new_people_for_less_auc_than_a_linear_score_pays(notion, new):
    X, y, groups = people()
    scorer = es.PlugInScorer(LogisticRegression(), notion, random_state=0)
    scorer.fit(X, y, sensitive_features=groups)
    free = es.PlugInScorer(LogisticRegression()).fit(X, y)
    linear = es.LinearScorer(notion).fit(X, y, sensitive_features=groups)
    gap, auc = gap_and_auc(scorer, notion, *new)
    assert gap < 0.04 < 0.08 < gap_and_auc(free, notion, *new)[0]
    assert auc > gap_and_auc(linear, notion, *new)[1] - 0.004
    assert scorer.converged_
    assert abs(scorer.gaps_["cross_fit"][0].value) <= 0.02
    assert scorer.price_.where == "on rows not trained on"
    assert scorer.price_.free == pytest.approx(scorer.path_.auc[0], abs=1e-3)
    assert scorer.price_.gap <= 0.0101 < 0.08 < scorer.price_.free_gap


def test_without_constraints_it_is_the_classifier():
    X, y, _ = people(500)
    scorer = es.PlugInScorer(LogisticRegression()).fit(X, y)
    plain = LogisticRegression().fit(X, y)
    score = scorer.decision_function(X)
    np.testing.assert_allclose(score - scorer.intercept_, plain.decision_function(X), atol=1e-9)
    assert scorer.path_ is scorer.levelling_down_ is None
    assert 0.25 < np.mean(scorer.predict(X)) < 0.45


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("intra_group", "intra_group has no optimal score"),
        (["bnsp", "bpsn"], "bnsp and bpsn together"),
        (es.RateConstraint("fnr", cuts=es.Cuts(between=(0.1, 0.4))), "does not compare AUCs"),
        (es.RocConstraint(rates=(0.1,)), "BoostedScorer"),
    ],
)
def test_what_has_no_formula_is_refused(asked, said):
    X, y, groups = people(300)
    with pytest.raises(ValueError, match=said):
        es.PlugInScorer(LogisticRegression(), asked).fit(X, y, sensitive_features=groups)


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"objective": "best"}, ValueError, "objective .*'best'"),
        ({"objective": "worst", "strength": 1.0}, ValueError, "no tolerance and no strength"),
        (
            {"objective": "worst", "constraints": "zero_aeg"},
            ValueError,
            "takes 'bnsp' or 'bpsn'",
        ),
        ({"margin": -0.1}, ValueError, "margin"),
        ({"cv": 1}, ValueError, "cv must be at least 2"),
        ({"estimator": RidgeClassifier()}, TypeError, "has no predict_proba.*CalibratedClass"),
    ],
)
def test_bad_parameters_get_one_sentence(options, kind, said):
    X, y, groups = people(300)
    given = {"estimator": LogisticRegression(), "constraints": "bnsp"} | options
    with pytest.raises(kind, match=said):
        es.PlugInScorer(**given).fit(X, y, sensitive_features=groups)


@pytest.mark.slow
def test_groups_and_constraints_go_together():
    X, y, groups = people(300)
    with pytest.raises(ValueError, match="constraints"):
        es.PlugInScorer(LogisticRegression()).fit(X, y, sensitive_features=groups)
    with pytest.raises(ValueError, match="pass sensitive_features to fit"):
        es.PlugInScorer(LogisticRegression(), "bnsp").fit(X, y)
    scorer = es.PlugInScorer(LogisticRegression(), "bnsp").fit(X, y, sensitive_features=groups)
    with pytest.raises(ValueError, match="needs no groups to score"):
        scorer.decision_function(X, sensitive_features=groups)


# ---------------------------------------------------------------------- the worst off


def one_sided(n=6000, seed=0):
    """Positives of group b are hard to tell from negatives, whatever the score looks at."""
    rng = np.random.default_rng(seed)
    group = (rng.random(n) < 0.4).astype(int)
    positive = rng.random(n) < 0.4
    X = rng.normal(size=(n, 2))
    X[:, 0] += positive * np.where(group == 1, 0.3, 2.0)
    return X, positive.astype(int), np.where(group == 1, "b", "a")


def statistics(scorer, X, y, groups):
    scores = table(scorer, X, y, groups)
    values, weights = auc_matrix(scores).values, scores.cell_weights[0]
    return (weights / weights.sum()) @ values[:2, 2:]


@pytest.mark.slow
def test_levelling_down_is_told_where_it_is_needed():
    X, y, groups = one_sided()
    scorer = es.PlugInScorer(LogisticRegression(), "bnsp", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        scorer.fit(X, y, sensitive_features=groups)
    found = scorer.levelling_down_
    assert found.needed is True
    assert found.weights[0] < 0.0
    assert found.left.low > 0.02
    assert found.fair[0] < found.otherwise[0] - 0.05
    assert found.fair[1] <= found.otherwise[1] + 5e-4
    assert "positives of a" in str(found)
    assert found.auc < found.auc_otherwise
    X, y, groups = people()
    easy = es.PlugInScorer(LogisticRegression(), "bnsp", random_state=0)
    found = easy.fit(X, y, sensitive_features=groups).levelling_down_
    assert found.needed is False
    assert min(found.weights) > 0.0
    assert "No levelling down" in str(found)


@pytest.mark.slow
def test_the_worst_off_group_is_ranked_as_well_as_can_be():
    X, y, groups = one_sided()
    worst = es.PlugInScorer(LogisticRegression(), "bnsp", objective="worst", random_state=0)
    worst.fit(X, y, sensitive_features=groups)
    assert worst.verdicts_ == []
    assert worst.weights_.min() >= 0.0
    assert set(worst.statistics_) == {"a", "b"}
    assert min(worst.statistics_.values()) == worst.statistics_["b"]
    new = one_sided(60_000, 1)
    least = statistics(worst, *new).min()
    for other in (
        es.PlugInScorer(LogisticRegression()).fit(X, y),
        es.PlugInScorer(LogisticRegression(), "bnsp", tolerance=0.1, random_state=0).fit(
            X, y, sensitive_features=groups
        ),
    ):
        assert least > statistics(other, *new).min() - 0.003


# ---------------------------------------------------------------------- the path


@pytest.mark.slow
def test_the_path_is_a_trade_off_of_many_points_from_the_same_fits():
    X, y, groups = people(3000)
    scorer = es.PlugInScorer(LogisticRegression(), "bpsn", random_state=0)
    path = scorer.fit(X, y, sensitive_features=groups).path_
    assert len(path) >= 10
    assert np.all(np.diff(path.auc) <= 0.0)
    assert np.all(np.diff(path.worst_gap) < 0.0)
    assert path.worst_gap[-1] < 1e-3
    assert path.auc_at(0.02) >= path.auc_at(0.01)
    assert np.isnan(path.auc_at(-1.0))
    frame = path.to_frame("pandas")
    assert list(frame.columns[:2]) == ["auc", "worst_gap"]
    assert "PlugInPath of" in repr(path)


# ---------------------------------------------------------------------- what a reviewer found


@pytest.mark.slow
def test_a_grid_varies_what_it_can():
    X, y, groups = people(600)
    scorer = es.PlugInScorer(LogisticRegression(), "bnsp", random_state=0)
    with pytest.raises(ValueError, match=r"fit_many .*constraints"):
        scorer.fit_many(X, y, [{"constraints": "bpsn"}], sensitive_features=groups)
    free, priced = scorer.fit_many(
        X, y, [{"tolerance": np.inf}, {"strength": 1.0}], sensitive_features=groups
    )
    assert free.path_ is free.levelling_down_ is None
    assert priced.levelling_down_ is None
    assert len(priced.path_) > 1
