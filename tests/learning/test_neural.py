import pickle
import sys
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenscore import LinearScorer, NeuralScorer, RocConstraint, metrics
from evenscore.datasets import load_german

pytest.importorskip("jax", reason="the extra `neural` is not installed")
pytest.importorskip("optax", reason="the extra `neural` is not installed")

ROC = RocConstraint(on="both", rates=(1 / 8, 1 / 4))


def small(**options):
    return NeuralScorer(**{"hidden": (8,), "n_iter": 100, **options})


@parametrize_with_checks([small()])
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # the checks warn about themselves
        check(estimator)


@pytest.fixture(scope="module")
def german():
    return load_german()


def bent(n=4000, seed=0):
    """A class that no linear score tells apart, and a feature in which the groups differ."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    group = rng.integers(0, 2, n)
    y = (np.abs(X[:, 0]) + 0.3 * X[:, 1] + 0.4 * rng.standard_normal(n) > 0.8).astype(int)
    X[:, 1] += group
    return X, y, group


# ---------------------------------------------------------------------- all pairs


@pytest.mark.slow
def test_it_learns_what_a_linear_score_cannot():
    X, y, _ = bent()
    scorer = NeuralScorer(n_iter=1000, random_state=0).fit(X, y)
    X2, y2, _ = bent(seed=1)
    assert roc_auc_score(y2, scorer.decision_function(X2)) > 0.88
    linear = LinearScorer().fit(X, y)
    assert roc_auc_score(y2, linear.decision_function(X2)) < 0.7


@pytest.mark.slow
@pytest.mark.parametrize("constraint", ["inter_group", "bnsp", ROC])
def test_the_tolerance_is_reached(constraint):
    X, y, group = bent()
    scorer = NeuralScorer(constraint, tolerance=0.03, n_iter=1500, random_state=0)
    scorer.fit(X, y, sensitive_features=group)
    assert scorer.converged_
    assert max(abs(gap.value) for gap in scorer.gaps_["train"]) <= 0.03 + 1e-3
    X2, y2, group2 = bent(8000, seed=1)
    score = scorer.decision_function(X2)
    free = NeuralScorer(n_iter=1500, random_state=0).fit(X, y)
    assert roc_auc_score(y2, score) > roc_auc_score(y2, free.decision_function(X2)) - 0.05
    if constraint != ROC:
        before, after = (
            abs(metrics.auc_gap(y2, s.decision_function(X2), sensitive_features=group2,
                                constraint=constraint)) for s in (free, scorer)
        )  # fmt: skip
        assert after < 0.6 * before


@pytest.mark.slow
def test_a_penalty_and_three_groups():
    X, y, _ = bent()
    group = np.random.default_rng(5).choice(["a", "b", "c"], len(y))
    X[:, 1] += group == "c"
    free, tied = (
        NeuralScorer("inter_group", strength=strength, n_iter=800, random_state=0).fit(
            X, y, sensitive_features=group
        )
        for strength in (0.0, 2.0)
    )
    worst = [max(abs(gap.value) for gap in s.gaps_["train"]) for s in (free, tied)]
    assert worst[1] < 0.5 * worst[0]
    assert np.all(np.abs(tied.history_.multipliers) <= 2.0)
    assert len(tied.gap_names_) == 3 == len(tied.history_.gaps[-1])


@pytest.mark.slow
def test_what_is_not_reached_warns():
    rng = np.random.default_rng(0)
    group = rng.choice(["no", "yes"], 300)
    X, y = (group == "yes").astype(float)[:, None], rng.integers(0, 2, 300)
    scorer = small(constraints="zero_aeg", tolerance=0.0, validation_fraction=0.3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="did not reach zero_aeg, no and yes"):
        scorer.fit(X, y, sensitive_features=group)
    assert not scorer.converged_
    assert set(scorer.gaps_) == {"train", "validation"}


@pytest.mark.slow
def test_weights_are_repetitions(german):
    """Every batch being all rows, training is in double precision."""
    rng = np.random.default_rng(0)
    rows = rng.permutation(1000)[:200]
    X, y = german.X[rows], german.y[rows]
    weight = rng.integers(0, 3, 200)
    same = dict(batch_size=1000, random_state=0)
    weighted = small(**same).fit(X, y, sample_weight=weight)
    repeated = small(**same).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    scores = [scorer.decision_function(X) for scorer in (weighted, repeated)]
    np.testing.assert_allclose(*scores, atol=1e-7)


@pytest.mark.slow
def test_the_same_random_state_gives_the_same_score(german):
    fit = dict(X=german.X, y=german.y, sensitive_features=german.groups)
    one, two, other = (
        small(constraints="bnsp", batch_size=64, tolerance=0.2, random_state=seed).fit(**fit)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one.decision_function(german.X), two.decision_function(german.X))
    assert np.any(one.decision_function(german.X) != other.decision_function(german.X))


@pytest.mark.slow
def test_scoring_needs_no_jax(german, monkeypatch):
    scorer = small().fit(german.X, german.y)
    expected = scorer.decision_function(german.X)
    stored = pickle.dumps(scorer)
    for name in [name for name in sys.modules if name.split(".")[0] in ("jax", "optax")]:
        monkeypatch.setitem(sys.modules, name, None)
    np.testing.assert_array_equal(pickle.loads(stored).decision_function(german.X), expected)


@pytest.mark.slow
def test_a_cell_too_small_to_hold_out():
    X, y, _ = bent(600)
    group = np.where(np.arange(600) % 2, "a", "b").astype(object)
    group[np.flatnonzero(y == 1)[0]] = group[np.flatnonzero(y == 0)[0]] = "rare"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        scorer = small(constraints="bnsp", validation_fraction=0.2).fit(
            X, y, sensitive_features=group
        )
    assert np.all(np.isfinite(scorer.decision_function(X)))


@pytest.mark.slow
def test_a_penalty_says_whether_it_has_settled():
    X, y, group = bent(1000)
    with pytest.warns(ConvergenceWarning, match="too soon to tell"):
        scorer = small(constraints="inter_group", strength=1.0, n_iter=10).fit(
            X, y, sensitive_features=group
        )
    assert not scorer.converged_


def test_slopes_read_from_the_table_are_the_gradient(german):
    """One full batch: the gradient by the table against finite differences of the objective."""
    from functools import partial

    import jax.numpy as jnp

    from evenscore.learning import neural_training as training
    from evenscore.learning.multipliers import AugmentedLagrangian
    from evenscore.learning.objective import standardise
    from evenscore.learning.training_set import TrainingSet

    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    positive, codes = rng.random((2, 300)) < 0.5
    weight = rng.gamma(2.0, size=300)
    data = TrainingSet(X, positive, codes.astype(np.intp), ("a", "b"), weight)
    objective = data.objective([ROC], bandwidth=0.5)
    rule = AugmentedLagrangian()
    state = rule.init(np.full(4, 0.01))
    raw = X @ [1.0, 0.5] + 0.3 * codes
    raw /= standardise(raw, data.share).scale

    def value(raw):
        score = standardise(raw, data.share).score
        return objective.evaluate(score, partial(rule.respond, state)).value

    standard = standardise(raw, data.share)
    evaluation = objective.evaluate(standard.score, partial(rule.respond, state))
    nothing = jnp.zeros(2), [(jnp.zeros((2, 1)), jnp.zeros(1))]
    table = training._tabulate(evaluation, standard, objective, (0.0, 0.0), nothing)
    points = table.start + table.step * np.arange(training._TABLE)
    for row in range(0, 300, 29):
        step = np.zeros(300)
        step[row] = 1e-5
        expected = (value(raw + step) - value(raw - step)) / 2e-5
        found = weight[row] * np.interp(raw[row], points, np.asarray(table.values[data.cell[row]]))
        assert found == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (dict(n_iter=0), "n_iter"),
        (dict(batch_size=0), "batch_size"),
        (dict(learning_rate=-1.0), "learning_rate"),
        (dict(margin=2.0), "margin"),
        (dict(bandwidth=0.0), "bandwidth"),
        (dict(l2=-1.0), "l2"),
        (dict(hidden=(0,)), "hidden"),
        (dict(hidden=64), "hidden"),
        (dict(validation_fraction=1.0), "validation_fraction"),
    ],
)
def test_bad_parameters_are_refused(german, options, match):
    with pytest.raises(ValueError, match=match):
        NeuralScorer(**options).fit(german.X, german.y, sensitive_features=german.groups)
