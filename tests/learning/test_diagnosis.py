"""Training to a target: gaps on rows not trained on, verdicts, and their reasons."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from evenscore import LinearScorer, RocConstraint, metrics
from evenscore.inference.estimate import Estimate
from evenscore.learning.diagnosis import judge, worst
from evenscore.learning.training_set import TrainingSet


def estimate(value, half=0.01):
    return Estimate("gap", value, value - half, value + half, 0.95, "normal")


def verdict(training, new=None, expected=None, size=1000.0, **options):
    return judge(
        "gap",
        0.02,
        training,
        new,
        training.value if expected is None else expected,
        ("positives of b", size),
        **options,
    )


def rows(n=1200, seed=0, noise=0):
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.integers(0, 2, n)
    X = rng.normal(size=(n, 3 + noise))
    X[:, 0] += 1.2 * y + 0.8 * group
    X[:, 1] += 0.7 * y
    return X, y, group


# ---------------------------------------------------------------------- the words


STATES = [  # the gap in training, on new rows, what else is known, and what is said
    (estimate(0.01), None, {}, "reached in training", ""),
    (estimate(0.01), estimate(0.005), {}, "reached", ""),
    (estimate(0.01), estimate(-0.015), {}, "cannot tell", "1000 positives of b"),
    (estimate(0.01), estimate(0.015), {}, "cannot tell", "about 2,800"),
    (estimate(0.01), estimate(0.025), {}, "cannot tell", "about 4,000"),
    (estimate(0.01), estimate(0.04), {}, "not reached", "too closely"),
    (estimate(0.01), estimate(-0.04), {}, "not reached", "too closely"),
    (estimate(0.05), None, {}, "not reached", "still closing"),
    (estimate(0.05), None, {"conflict": "others pull"}, "not reached", "^others pull$"),
    (estimate(0.01), None, {"conflict": "others pull"}, "reached in training", ""),
    (estimate(0.05), None, {"allowed": 0.04}, "not reached", "still closing"),
    (estimate(0.05), None, {"allowed": 0.06}, "cannot tell", "chance .* 0.060"),
    (estimate(0.05), None, {"allowed": 0.06, "conflict": "x"}, "cannot tell", "chance .* 0.060"),
    (estimate(0.0), None, {"allowed": 0.06, "expected": 0.05}, "cannot tell", "chance .* 0.060"),
    (estimate(0.05), estimate(0.0), {"allowed": 0.06}, "cannot tell", "chance"),
    (estimate(0.05), estimate(0.1), {"allowed": 0.06}, "not reached", "still closing"),
    (estimate(0.01), estimate(0.005), {"allowed": 0.06}, "reached", ""),
    (estimate(0.05), None, {"size": 40.0}, "not reached", "only 40 positives of b"),
    (estimate(0.15), None, {"size": 40.0}, "not reached", "still closing"),
    (estimate(0.05), estimate(0.0), {}, "not reached", "still closing"),
    (estimate(0.0), estimate(0.03), {"expected": 0.06}, "not reached", "than training"),
    (estimate(-0.1), estimate(0.12, 0.05), {"expected": 0.01}, "not reached", "too closely"),
    (estimate(0.0), estimate(0.0, np.nan), {}, "cannot tell", "too few"),
    (estimate(np.nan), estimate(0.0), {}, "cannot tell", "too few"),
]


def test_states_and_reasons():
    for training, new, options, state, reason in STATES:
        found = verdict(training, new, **options)
        assert found.state == state
        assert (found.reason == "") == state.startswith("reached")
        assert re.search(reason, found.reason)
        value = "no value" if np.isnan(training.value) else f"{training.value:+.3f}"
        assert str(found).startswith(f"gap: {state}, {value} in training")
        assert str(found).endswith(".")


def test_no_number_of_rows_proves_a_gap_of_zero():
    found = judge("gap", 0.0, estimate(0.0), estimate(0.001), 0.0, ("positives of b", 300.0))
    assert found.state == "cannot tell"
    assert "exactly zero" in found.reason


def test_the_gap_that_decided_is_the_one_told():
    found = verdict(estimate(-0.1), estimate(0.12, 0.05), expected=0.01)
    assert found.value == 0.12
    assert found.where == "on rows not trained on"
    found = verdict(estimate(0.01), estimate(0.005, 0.005), expected=0.03)
    assert found.beyond == pytest.approx(0.01)
    assert found.where == "expected on new rows"
    assert repr(found) == f"<GapOutcome {found}>"


def test_an_interval_within_the_tolerance_is_what_reaches():
    for value in np.linspace(-0.06, 0.06, 25):
        for half in (0.001, 0.01, 0.05):
            state = verdict(estimate(0.0), estimate(value, half)).state
            inside = abs(value) + half * 1.6449 / 1.9600 <= 0.02  # the 90 % interval
            outside = abs(value) - half > 0.02
            assert state == ("reached" if inside else "not reached" if outside else "cannot tell")


def test_the_worst_is_the_one_furthest_beyond():
    some = [verdict(estimate(0.01)), verdict(estimate(0.05)), verdict(estimate(-0.09))]
    assert worst(some) is some[2]
    assert worst(some[:1]) is None


# ---------------------------------------------------------------------- folds


def test_folds_share_out_every_cell():
    rng = np.random.default_rng(0)
    cell = rng.permutation(np.repeat([0, 1, 2, 3], [7, 100, 23, 4]))
    codes, positive = cell % 2, cell >= 2
    data = TrainingSet(np.zeros((134, 1)), positive, codes, (0, 1), None)
    fold = data.folds(4, rng)
    counts = np.array([np.bincount(fold[cell == c], minlength=4) for c in range(4)])
    assert np.all(np.ptp(counts, axis=1) <= 1)


@pytest.mark.slow
def test_cross_fitted_gaps_are_those_of_rows_not_trained_on():
    X, y, group = rows(600, noise=5)
    scorer = LinearScorer("inter_group", cross_fit=2, random_state=0, tolerance=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        scorer.fit(X, y, sensitive_features=group)
    (new,) = scorer.gaps_["cross_fit"]
    assert new.low < new.value < new.high
    fresh, labels, groups = rows(20_000, seed=1, noise=5)
    truth = metrics.auc_gap(
        labels,
        scorer.decision_function(fresh),
        sensitive_features=groups,
        constraint="inter_group",
    )
    assert new.low - 0.02 < truth < new.high + 0.02
    again = clone(scorer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        again.fit(X, y, sensitive_features=group)
    np.testing.assert_array_equal(again.decision_function(X), scorer.decision_function(X))
    assert repr(again.gaps_["cross_fit"]) == repr(scorer.gaps_["cross_fit"])  # NaN is not NaN


# ---------------------------------------------------------------------- reasons, as fits give them


def test_a_conflict_is_told():
    # Group 1 has its positives above and its negatives above: no linear score serves both rates.
    rng = np.random.default_rng(0)
    n = 2000
    y, group = rng.integers(0, 2, n), rng.integers(0, 2, n)
    X = (1.5 * y + group * np.where(y == 1, 1.0, -1.0) + rng.normal(size=n))[:, None]
    X = np.column_stack([X, X[:, 0] + 0.3 * rng.normal(size=n) + 2.0 * group])
    both = RocConstraint(on="both", rates=(0.25,))
    scorer = LinearScorer(both, guards=False)
    told = r"roc_gap\((negatives|positives)\) at 0\.25, 0 and 1.* tried .* 0\.\d+, .* 0\.\d+"
    with pytest.warns(ConvergenceWarning, match=told):
        scorer.fit(X, y, sensitive_features=group)
    assert sum("of this kind" in found.reason for found in scorer.verdicts_) == 1
    for on in ("negatives", "positives"):
        alone = LinearScorer(RocConstraint(on=on, rates=(0.25,)), guards=False)
        alone.fit(X, y, sensitive_features=group)
        assert alone.converged_


@pytest.mark.slow
def test_validation_rows_decide_where_there_are_no_folds():
    X, y, group = rows()
    scorer = LinearScorer("bnsp", validation_fraction=0.3, random_state=0)
    scorer.fit(X, y, sensitive_features=group)
    (found,) = scorer.verdicts_
    assert found.new is scorer.gaps_["validation"][0]
    assert found.state in ("reached", "cannot tell")


def test_a_penalty_promises_nothing():
    X, y, group = rows()
    scorer = LinearScorer("bnsp", strength=0.5, cross_fit=2).fit(X, y, sensitive_features=group)
    assert scorer.verdicts_ == []
    assert len(scorer.gaps_["cross_fit"]) == 1


# ---------------------------------------------------------------------- refusals


def test_too_few_rows_for_the_folds():
    X, y, group = rows(200)
    members = np.flatnonzero((group == 1) & (y == 1))
    kept = np.setdiff1d(np.arange(200), members[3:])
    with pytest.raises(ValueError, match=r"cross_fit=5 .* 3 positives of 1"):
        LinearScorer("bnsp", cross_fit=5).fit(X[kept], y[kept], sensitive_features=group[kept])
