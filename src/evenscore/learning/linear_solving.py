"""The linear scorer's problem, and the solver that it is handed to.

    minimise over w and t ≥ 0    1 − AUC(w) + ½ l2 ‖w‖² + Σ_j price_j t_j
    subject to                   |gap_k(w) + c_k| ≤ aim_k + t_j(k)   for all k,

AUC and gaps being smooth ones of the standardised score. With a tolerance there is one t for all
gaps asked for, and another for their guards: what would cost more than two of AUC for a gap of one
is left, and said. With a strength each gap has its own t, at the price of its strength. c is the
distance of the strict gaps from the smooth ones at the weights found before: the problem is solved,
looked at, and solved again from there. The solver is SciPy's SLSQP, sequential quadratic programs,
from the weights that are best without constraints. Value, gaps and all their slopes cost one pass
over the rows: slopes are functions on a grid.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from evenscore.learning.objective import Objective, Standardised, Strict, standardise
from evenscore.learning.task import Choice, Task
from evenscore.scores.arrays import Floats, Ints

_DEAR, _GUARD = 2.0, 0.2  # of AUC, for a gap of 1 beyond its aim, and for one of a guard
_MARGIN = 0.01  # the part of a tolerance that is left to new data
_STEPS = 30  # quadratic programs at most, each time
_MOST = 150  # gaps that the solver is told of
_SAME = 1e-3  # of AUC, or of the dearest gap: what got better by less has settled


@dataclass(eq=False)
class Problem:
    """The objective as a function of the weights: it does not change when they are multiplied."""

    X: Any
    share: Floats
    objective: Objective
    l2: float
    some: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    _known: dict[bytes, tuple[Floats, Floats]] = field(default_factory=dict)

    def score(self, weights: Floats) -> Floats:
        """Standardised scores."""
        return self._standardised(weights).score

    def unit(self, weights: Floats) -> Floats:
        """The weights whose scores have a standard deviation of one."""
        return np.asarray(weights / self._standardised(weights).scale)

    def _standardised(self, weights: Floats) -> Standardised:
        return standardise(self.X @ weights, self.share)

    def at(self, weights: Floats) -> tuple[Floats, Floats]:
        """1 − AUC + ½ l2 ‖w‖² and all gaps; slopes of it and of `some` gaps, in their order."""
        key = weights.tobytes()
        if key not in self._known:
            self._known.clear()
            self._known[key] = self._evaluated(weights)
        return self._known[key]

    def _evaluated(self, weights: Floats) -> tuple[Floats, Floats]:
        standard = self._standardised(weights)
        found = self.objective.linearised(standard.score, self.some)
        # Sums over rows near a point of the grid: of features, of one, of the score.
        rows = sparse.csr_array(found.placed.T)
        beside = np.column_stack([np.ones(len(standard.score)), standard.score])
        moved, ends = found.slopes @ (rows @ self.X), found.slopes @ (rows @ beside)
        own = self.share @ self.X if not sparse.issparse(self.X) else self.X.T @ self.share
        along = self.X.T @ (self.share * standard.score)
        slopes = (moved - np.outer(ends[:, 0], own) - np.outer(ends[:, 1], along)) / standard.scale
        unit = weights / standard.scale
        square = float(unit @ unit)
        values = np.concatenate([[1.0 - found.auc + 0.5 * self.l2 * square], found.gaps])
        slopes[0] += self.l2 * (unit - square * along) / standard.scale
        return values, slopes

    def best(self, weights: Floats, steps: int) -> Floats:
        """L-BFGS from the given weights, without constraints."""

        def first(weights: Floats) -> tuple[float, Floats]:
            values, slopes = self.at(weights)
            return float(values[0]), slopes[0]

        found = minimize(
            first,
            weights,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": steps, "maxcor": 20, "ftol": 1e-7},
        )
        return self.unit(found.x)


@dataclass(eq=False)
class Solver:
    """The constrained problem; the best weights that were looked at, by exact AUC and gaps."""

    problem: Problem
    task: Task

    def __post_init__(self) -> None:
        objective, task = self.problem.objective, self.task
        self.aim = task.aims(objective, _MARGIN)
        self.choice = Choice(task.allowances(objective), task.strengths(objective))
        self.weights: Floats = np.zeros(0)
        terms = objective.terms
        # Which t each term has, and what each costs.
        self.owner = np.where(terms.asked, 0, 1)
        self.price = np.array([_DEAR, _GUARD])
        strengths = task.strengths(objective)
        if strengths is not None:
            self.owner, self.price = terms.owner, strengths

    def _look(self, weights: Floats) -> Strict:
        """Exact AUC and gaps; the weights are kept if they are the best so far."""
        strict = self.problem.objective.strict(self.problem.score(weights))
        if self.choice.better(1.0 - strict.auc, strict):
            self.weights = weights
        return strict

    def solve(self, weights: Floats, rounds: int) -> None:
        """Solve from some weights, correct by the strict gaps, and solve again."""
        strict = self._look(weights)
        if self.task.strength is None and np.all(np.abs(strict.terms) <= self.aim):
            self.choice.history.settled = True  # nothing is to be changed
            return
        off: Floats | None = None
        settled = False
        for _ in range(rounds):
            before = self.choice.merit
            new = np.nan_to_num(strict.terms - self.problem.at(weights)[0][1:])
            off = new if off is None else 0.5 * (off + new)  # strict gaps may be much steeper
            weights = self._solved(weights, off, strict)
            strict = self._look(weights)
            settled = self.choice.merit <= before + _SAME * max(1.0, float(self.price.max()))
            if self.task.strength is None and self.choice.merit_of(strict)[0] <= 0.0:
                settled = True
                break
        self.choice.history.settled = settled

    def _solved(self, weights: Floats, off: Floats, strict: Strict) -> Floats:
        """The weights that the solver finds, strict gaps being so far off the smooth ones.

        Of very many gaps only those that are furthest beyond their aim, or nearest to it.
        """
        d, problem = len(weights), self.problem
        some = np.sort(np.argsort(self.aim - np.abs(strict.terms), kind="stable")[:_MOST])
        problem.some = some
        problem._known.clear()
        off, aim, owner = off[some], self.aim[some], self.owner[some]
        spread = np.zeros((len(off), len(self.price)))
        spread[np.arange(len(off)), owner] = 1.0

        def value(x: Floats) -> float:
            return float(problem.at(x[:d])[0][0] + self.price @ x[d:])

        def slope(x: Floats) -> Floats:
            return np.concatenate([problem.at(x[:d])[1][0], self.price])

        def room(x: Floats) -> Floats:
            gaps = np.nan_to_num(problem.at(x[:d])[0][1:][some]) + off
            wide = aim + spread @ x[d:]
            return np.concatenate([wide - gaps, wide + gaps])

        def room_slope(x: Floats) -> Floats:
            slopes = np.nan_to_num(problem.at(x[:d])[1][1:])
            return np.block([[-slopes, spread], [slopes, spread]])

        start = np.concatenate([weights, np.zeros(len(self.price))])
        lacking = np.maximum(-room(start), 0.0).reshape(2, -1).max(axis=0)
        np.maximum.at(start, d + owner, lacking)
        found = minimize(
            value,
            start,
            jac=slope,
            method="SLSQP",
            bounds=[(None, None)] * d + [(0.0, None)] * len(self.price),
            constraints={"type": "ineq", "fun": room, "jac": room_slope},
            options={"maxiter": _STEPS, "ftol": 1e-5},
        )
        return problem.unit(found.x[:d])
