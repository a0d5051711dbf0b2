"""The linear scorer's problem: its slopes by differences, and the solver on what is known."""

import numpy as np
import pytest
from scipy import sparse
from support.making import draw

from evenscore import Cuts, RateConstraint, RocConstraint
from evenscore.gaps import as_constraints
from evenscore.learning.linear_solving import Problem, Solver
from evenscore.learning.objective import Objective
from evenscore.learning.task import Task
from evenscore.learning.training_set import TrainingSet

MIXED = ["inter_group", RateConstraint("fpr", "fnr", cuts=Cuts(between=(0.2, 0.5))),
         RocConstraint(on="positives", rates=(0.25,))]  # fmt: skip


def problem_of(constraints, n_groups=2, weights="real", n=400, l2=0.3, guards=False):
    y, score, group, weight = draw(5, n=n, n_groups=n_groups, weights=weights, levels=None)
    rng = np.random.default_rng(1)
    X = np.column_stack([score, rng.normal(size=(len(y), 3)), (rng.random(len(y)) < 0.3)])
    X[:, 1] += 0.5 * y - 0.7 * group
    positive, codes = y == 1, group.astype(np.intp)
    rows = TrainingSet(X, positive, codes, tuple(range(n_groups)), weight)
    objective = Objective(
        positive, codes, n_groups, as_constraints(constraints), weight=weight,
        bandwidth=0.4, guards=guards,
    )  # fmt: skip
    return Problem(X, rows.share, objective, l2), rows


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_slopes_are_differences_of_the_value_and_of_every_gap(n_groups, kind):
    problem, _ = problem_of(MIXED, n_groups, guards=True)
    problem.X = kind(problem.X)
    problem.some = np.arange(len(problem.objective.terms))
    weights, h = np.array([1.5, -0.4, 0.8, 0.3, -1.1]), 1e-4
    values, slopes = problem.at(weights)
    assert slopes.shape == (len(values), 5) == (1 + len(problem.objective.terms), 5)
    expected = []
    for step in h * np.eye(5):
        up, down = problem.at(weights + step)[0], problem.at(weights - step)[0]
        expected.append((up - down) / (2.0 * h))
    expected = np.array(expected).T
    assert np.abs(expected).max(axis=1).min() > 1e-4
    np.testing.assert_allclose(slopes, expected, rtol=2e-3, atol=2e-4)


def test_the_value_does_not_change_when_weights_are_multiplied():
    problem, _ = problem_of(MIXED)
    problem.some = np.arange(3)
    weights = np.array([1.5, -0.4, 0.8, 0.3, -1.1])
    one, slopes = (part.copy() for part in problem.at(weights))
    np.testing.assert_allclose(problem.at(7.0 * weights)[0], one, rtol=0, atol=1e-9)
    np.testing.assert_allclose(slopes @ weights, 0.0, atol=1e-9)
    assert problem.score(weights).std() == pytest.approx(1.0, abs=0.1)  # rows have weights


def test_of_some_gaps_the_slopes_are_in_their_order():
    problem, _ = problem_of(MIXED, 3)
    weights = np.ones(5)
    problem.some = np.arange(len(problem.objective.terms))
    every = problem.at(weights)[1]
    problem.some = np.array([1, 4, 9])
    problem._known.clear()
    np.testing.assert_allclose(problem.at(weights)[1], every[[0, 2, 5, 10]], atol=1e-12)


@pytest.mark.parametrize("strength", [None, (0.0, 30.0)])
def test_what_is_dear_is_closed_and_what_is_free_is_not(strength):
    """Two gaps: within a tolerance both; with strengths of 0 and 30 the second only."""
    asked = tuple(as_constraints(["bnsp", "bpsn"]))
    problem, rows = problem_of(asked, weights=None, n=2000, l2=1e-3)
    task = Task(asked, 0.01 if strength is None else None, strength)
    start = problem.best(np.ones(5), 30)
    before = np.abs(problem.objective.strict(problem.score(start)).gaps)
    solver = Solver(problem, task)
    solver.solve(start, 4)
    gaps = np.abs(problem.objective.strict(problem.score(solver.weights)).gaps)
    assert before.max() > 0.02
    assert gaps[1] <= 0.012
    assert gaps[0] <= 0.012 or strength
    assert solver.choice.history.settled
    assert len(rows) == 2004


def test_what_is_met_is_left_as_it_is():
    asked = tuple(as_constraints("bnsp"))
    problem, _ = problem_of(asked)
    start = problem.best(np.ones(5), 30)
    solver = Solver(problem, Task(asked, 0.9))
    solver.solve(start, 4)
    assert solver.weights is start
    assert len(solver.choice.history) == 1
