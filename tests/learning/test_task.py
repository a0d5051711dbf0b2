"""What a scorer is asked to do, what it reports, and which of its iterates is the best."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenscore import Cuts, LinearScorer, RateConstraint, RocConstraint
from evenscore.gaps import as_constraints
from evenscore.learning.objective import Strict
from evenscore.learning.task import SLACK, Choice, Task
from evenscore.learning.training_set import TrainingSet


def rows(n=500, n_groups=2, seed=0):
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.integers(0, n_groups, n)
    X = rng.normal(size=(n, 3))
    X[:, 0] += 1.2 * y + 0.8 * group
    X[:, 1] += 0.8 * y
    return X, y, group


def training_set(n=900, n_groups=2, seed=0):
    X, y, group = rows(n, n_groups, seed)
    return TrainingSet(X, y == 1, group, tuple(range(n_groups)), None)


# ---------------------------------------------------------------------- which iterate

SHARES = st.floats(0.0, 1.0).map(lambda share: round(share, 3))
ITERATES = st.lists(
    st.tuples(SHARES, st.lists(st.floats(-0.5, 0.5), min_size=3, max_size=3)),
    min_size=1,
    max_size=12,
)


def chosen(choice, iterates):
    """The number of the iterate that is kept of these, noted one by one."""
    for auc, gaps in iterates:
        strict = Strict(auc, np.array(gaps), np.array(gaps))
        choice.better(1.0 - auc, strict)
    return choice.history.chosen


@given(ITERATES, st.lists(st.floats(0.0, 0.2), min_size=3, max_size=3))
def test_no_iterate_beats_the_chosen_one_in_both(iterates, allowance):
    choice = Choice(np.array(allowance), None)
    best = chosen(choice, iterates)
    beyond = [max(0.0, *(abs(g) - a for g, a in zip(gaps, allowance, strict=True)))
              for _, gaps in iterates]  # fmt: skip
    aucs = [auc for auc, _ in iterates]
    for auc, far in zip(aucs, beyond, strict=True):
        assert not (auc > aucs[best] + 1e-12 and far < beyond[best] - 1e-12)
    assert aucs[best] >= 0.5 or max(aucs) < 0.5  # below chance only if all are
    assert len(choice.history) == len(iterates)


@given(ITERATES, st.lists(st.floats(0.0, 3.0), min_size=3, max_size=3))
def test_under_a_penalty_the_chosen_one_has_the_largest_penalised_auc(iterates, strength):
    best = chosen(Choice(np.zeros(3), np.array(strength)), iterates)
    useful = [k for k, (auc, _) in enumerate(iterates) if auc >= 0.5] or range(len(iterates))
    values = {k: iterates[k][0] - np.abs(iterates[k][1]) @ strength for k in useful}
    assert values[best] == pytest.approx(max(values.values()), abs=1e-9)


def test_within_what_is_allowed_comes_first():
    """A gap just beyond costs 0.15 of AUC, and twice what it is beyond."""
    choice = Choice(np.array([0.02]), None)
    inside, near, far = (
        choice.merit_of(Strict(auc, np.zeros(0), np.array([gap])))
        for auc, gap in ((0.8, -0.02), (0.8, 0.02 + SLACK / 2), (0.8, 0.03))
    )
    assert inside == (0.0, 0.8)
    assert near == pytest.approx((SLACK / 2, 0.8 - SLACK))
    assert far == pytest.approx((0.01, 0.8 - 0.15 - 0.02))
    assert choice.merit_of(Strict(0.499, np.zeros(0), np.zeros(1)))[1] < -9.0


def test_a_gap_without_a_value_counts_as_one():
    choice = Choice(np.array([0.02, 0.02]), None)
    worst, merit = choice.merit_of(Strict(0.8, np.zeros(0), np.array([0.0, np.nan])))
    assert worst == 1.0
    assert merit == pytest.approx(0.8 - 2.0 - 0.15)
    penalised = Choice(np.zeros(2), np.array([0.5, 2.0]))
    merit = penalised.merit_of(Strict(0.8, np.zeros(0), np.array([0.06, 0.0])))[1]
    assert merit == pytest.approx(0.8 - 0.5 * 0.06)


# ---------------------------------------------------------------------- what is allowed


def test_what_chance_explains_is_allowed_between_more_than_two_groups():
    constraints = tuple(as_constraints("inter_group"))
    for n_groups in (2, 4):
        data = training_set(400, n_groups)
        task = Task(constraints)
        objective = task.objective(data)
        error = objective.standard_errors()
        assert error.min() > 0.02
        np.testing.assert_array_equal(task.chances(objective), error)
        allowed = error if n_groups > 2 else np.full(len(error), 0.02)
        np.testing.assert_array_equal(task.allowances(objective), allowed)
        np.testing.assert_array_equal(
            task.aims(objective, 0.02), error if n_groups > 2 else np.zeros(len(error))
        )
        loose = Task(constraints, tolerance=0.9)
        np.testing.assert_array_equal(loose.allowances(objective), np.full(len(error), 0.9))
        penalised = Task(constraints, strength=1.0)
        np.testing.assert_array_equal(penalised.allowances(objective), np.zeros(len(error)))


def test_guards_are_left_two_standard_errors():
    data = training_set(400, 3)
    task = Task((RocConstraint(on="negatives", rates=(0.25,)),), tolerance=0.3)
    objective = task.objective(data, guards=True)
    error, asked = objective.standard_errors(), objective.terms.asked
    aims = task.aims(objective, 0.1)
    np.testing.assert_allclose(aims[asked], 0.2)
    np.testing.assert_allclose(aims[~asked], 0.2 + 2.0 * error[~asked])


# ---------------------------------------------------------------------- strengths

MIXTURE = (
    RateConstraint("fpr", "fnr", cuts=Cuts(between=(0.2, 0.5))),
    *as_constraints("inter_group"),
    RocConstraint(on="positives", rates=(0.25, 0.5)),
)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_a_strength_for_every_constraint(n_groups):
    data = training_set(n_groups=n_groups)
    task = Task(MIXTURE, strength=[0.25, 0.5, 2.0])
    objective = task.objective(data)
    strengths = task.strengths(objective)
    assert len(strengths) == len(objective.terms.tolerance)
    pairs = n_groups * (n_groups - 1) // 2
    assert strengths.tolist() == [0.25] * (2 * pairs) + [0.5] * pairs + [2.0] * (2 * pairs)
    one = Task(MIXTURE, strength=0.5)
    many = Task(MIXTURE, strength=(0.5, 0.5, 0.5))
    np.testing.assert_array_equal(many.strengths(objective), one.strengths(objective))


@pytest.mark.parametrize("strength", [[1.0], [1.0, 2.0, 3.0]])
def test_strengths_of_another_number_are_refused(strength):
    X, y, group = rows(100)
    with pytest.raises(ValueError, match=f"strength .*{len(strength)} numbers for 2"):
        LinearScorer(["inter_group", "bnsp"], strength=strength).fit(X, y, sensitive_features=group)


@pytest.mark.parametrize("bad", [[1.0, -1.0], [1.0, np.nan], [1.0, "2"], [np.inf, 1.0]])
def test_bad_strengths_are_refused(bad):
    X, y, group = rows(100)
    with pytest.raises(ValueError, match=r"^strength must be"):
        LinearScorer(["inter_group", "bnsp"], strength=bad).fit(X, y, sensitive_features=group)
