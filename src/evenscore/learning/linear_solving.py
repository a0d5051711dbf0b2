"""How the linear scorer looks for its weights: from the score without constraints, tightening.

The first attempt is the method of multipliers from the weights that are best without constraints.
If it fails (a gap stays beyond what is allowed, the score ranks below chance, or it costs much) the
tolerance is tightened in steps from what the unconstrained score leaves, other starts are tried,
and the best weights found are moved about a little under the exact objective. Every iterate is
looked at with exact AUC and gaps, and the best of all is kept.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize

from evenscore.learning.multipliers import AugmentedLagrangian, MultiplierState, excess
from evenscore.learning.objective import Objective, Respond, Standardised, standardise
from evenscore.learning.task import SLACK, Choice, Look, Stage, Task
from evenscore.scores.arrays import Floats

_PATIENCE = 5  # updates without a better penalised AUC, after which a fit is done
_LEVELS = (0.6, 0.35, 0.2, 0.1, 0.05)  # of the tightening, as shares of the first excess
_INNER = 15  # iterations of L-BFGS between updates on the way: each starts near its solution
_DEAR = 0.05  # a price, in AUC, at which another way is looked for
_MOVES, _MOST_COLUMNS = 600, 64  # random moves of the best weights, and of how many at most
_POPULATION, _DRAWN, _FEW_COLUMNS = 24, 300, 16  # that moves; drawn at random for few features


@dataclass(frozen=True, eq=False)
class Problem:
    """The objective as a function of the weights: it does not change when they are multiplied."""

    X: Any
    share: Floats
    objective: Objective
    l2: float

    def score(self, weights: Floats) -> Floats:
        """Standardised scores."""
        return self._standardised(weights).score

    def _standardised(self, weights: Floats) -> Standardised:
        return standardise(self.X @ weights, self.share)

    def minimise(self, weights: Floats, respond: Respond, max_iter: int) -> Floats:
        """L-BFGS from the given weights; what comes back gives scores of standard deviation one."""

        def value_and_gradient(weights: Floats) -> tuple[float, Floats]:
            standard = self._standardised(weights)
            evaluation = self.objective.evaluate(standard.score, respond)
            unit = weights / standard.scale
            square = float(unit @ unit)
            raw = standard.pull_back(evaluation.gradient)
            raw -= self.l2 * square / standard.scale * self.share * standard.score
            gradient = self.X.T @ raw + self.l2 * unit / standard.scale
            return evaluation.value + 0.5 * self.l2 * square, gradient

        solution = minimize(
            value_and_gradient,
            weights,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iter, "maxcor": 20, "ftol": 1e-7},
        )
        return np.asarray(solution.x / self._standardised(solution.x).scale)


@dataclass(eq=False)
class WeightChoice(Choice):
    """The best weights so far."""

    weights: Floats | None = None
    state: MultiplierState | None = None  # the multipliers after it
    seen: list[Floats] = field(default_factory=list)

    def consider(self, weights: Floats, look: Look, state: MultiplierState | None = None) -> float:
        """Compare weights with the best so far; gives how far the worst gap is beyond."""
        worst, merit = self.note(look)
        self.seen.append(weights)
        if self.better(merit):
            self.weights, self.state = weights, state
        return worst


@dataclass(eq=False)
class Solver:
    """The method of multipliers on one problem; whatever it looks at is offered to a choice."""

    problem: Problem
    task: Task
    margin: float
    max_inner_iter: int
    choice: WeightChoice
    advance: Callable[[str], None]

    def __post_init__(self) -> None:
        objective, task = self.problem.objective, self.task
        self.rule = AugmentedLagrangian(strength=task.bounds(objective))
        self.aim = task.aims(objective, self.margin)
        terms = objective.terms
        # Half of the margin, or a quarter of a guard's standard error, is as good as closed.
        spare = np.maximum(SLACK, 0.5 * (task.allowances(objective) - self._aims))
        noise = np.maximum(SLACK, 0.25 * np.nan_to_num(objective.standard_errors()))
        self.slack = np.where(terms.asked, np.append(spare, 0.0)[terms.owner], noise)

    def look(self, weights: Floats, stage: Stage) -> Look:
        """Exact AUC and gaps of some weights, offered to the choice."""
        strict = self.problem.objective.strict(self.problem.score(weights))
        look = Look(1.0 - strict.auc, strict, np.zeros(len(strict.gaps)), stage)
        self.choice.consider(weights, look)
        return look

    @property
    def _aims(self) -> Floats:
        """The gaps aimed at, of those asked for."""
        terms = self.problem.objective.terms
        return terms.of_owners(np.where(terms.asked, self.aim, 0.0))

    def within_aims(self, gaps: Floats) -> bool:
        """Whether all gaps are as small as is aimed at."""
        return bool(np.all(np.abs(gaps) <= self._aims))

    def solve(
        self,
        start: Floats,
        max_iter: int,
        stage: Stage,
        *,
        state: MultiplierState | None = None,
        level: float = 0.0,
        max_inner_iter: int | None = None,
    ) -> tuple[Floats, MultiplierState, bool]:
        """Minimise, look at the strict gaps, move the multipliers, and again.

        A `level` is the gap that every term may leave on the way to its aim. Gives the last
        weights and multipliers, and whether nothing got better any more.
        """
        objective, task = self.problem.objective, self.task
        aim = np.maximum(self.aim, level)
        sharing = objective.terms.sharing
        state = self.rule.init(aim, *sharing) if state is None else replace(state, tolerance=aim)
        weights, settled, still, best = start, False, 0, -np.inf
        for number in range(max_iter):
            weights = self.problem.minimise(
                weights,
                partial(self.rule.respond, state),
                self.max_inner_iter if max_inner_iter is None else max_inner_iter,
            )
            score = self.problem.score(weights)
            strict = objective.strict(score)
            evaluation = objective.evaluate(score, partial(self.rule.respond, state))
            state = self.rule.update(state, strict.terms, evaluation.gaps)
            moved = objective.terms.of_gaps(state.multipliers)
            look = Look(evaluation.value, strict, moved, stage)
            worst = self.choice.consider(weights, look, state)
            self.advance(f"AUC {strict.auc:.4f}, worst gap beyond what is allowed {worst:.4f}")
            if task.strength is None:
                settled = bool(np.all(np.abs(excess(strict.terms, aim)) <= self.slack))
                enough = 1
            else:
                merit = self.choice.merit_of(strict)[1]
                settled, best, enough = merit <= best + 1e-4, max(best, merit), _PATIENCE
            still = still + 1 if settled else 0
            if still >= enough and number >= min(3, len(aim)):
                break
        return weights, state, settled

    # ------------------------------------------------------------------ where that fails

    def failed(self) -> bool:
        """Whether the best iterate so far asks for other ways.

        A gap beyond what is allowed, a ranking no better than chance, or one that costs much.
        """
        history, chosen = self.choice.history, self.choice.history.chosen
        assert chosen is not None
        auc, free = history.auc[chosen], history.free_auc
        if auc < 0.5 or (free is not None and free - auc > _DEAR):
            return True
        chances = self.task.chances(self.problem.objective)
        allowed = np.maximum(self.choice.allowance, chances)
        beyond = np.nan_to_num(np.abs(excess(history.gaps[chosen], allowed)))
        return self.task.strength is None and bool(np.max(beyond, initial=0.0) > SLACK)

    def tighten(self, start: Floats, max_iter: int) -> None:
        """From what the start leaves to what is aimed at, in steps, each from the one before."""
        strict = self.problem.objective.strict(self.problem.score(start))
        first = float(np.max(np.abs(excess(strict.terms, self.aim)), initial=0.0))
        weights, state = start, None
        inner = min(_INNER, self.max_inner_iter)
        for share in _LEVELS:
            weights, state, _ = self.solve(
                weights, 2, "restart", state=state, level=share * first, max_inner_iter=inner
            )
        rounds = max(2, max_iter // 2)
        self.solve(weights, rounds, "restart", state=state, max_inner_iter=inner)

    def move_about(self) -> None:
        """Random moves of the best weights seen, kept where the exact objective is better.

        Strict gaps are steps where scores are tied, and of few features there are many local
        optima: there the smooth objective is a poor guide. A population of the best weights, and
        of some drawn at random, moves along its own differences (differential evolution).
        """
        best = self.choice.weights
        assert best is not None
        moving = np.flatnonzero(np.ptp(self.choice.seen, axis=0))  # constant features do nothing
        n = len(moving)
        if not 0 < n <= _MOST_COLUMNS:
            return
        rng = np.random.default_rng(0)

        def spread(values: Floats) -> Floats:
            full = np.zeros(len(best))
            full[moving] = values
            return full

        n_drawn = _DRAWN if n <= _FEW_COLUMNS else 0
        drawn = [spread(rng.standard_normal(n)) for _ in range(n_drawn)]
        members = []
        for weights in (*self.choice.seen, *drawn):
            unit = weights / max(float(np.linalg.norm(weights)), 1e-300)
            members.append((self._merit(unit), unit))
        members = sorted(members, key=lambda member: -member[0])[:_POPULATION]
        for _ in range(_MOVES):
            k, i, j = rng.integers(len(members), size=3)
            share = rng.uniform(0.2, 1.0)
            trial = members[k][1] + share * (members[i][1] - members[j][1])
            trial = trial + spread(rng.standard_normal(n) * 10.0 ** rng.uniform(-3.0, -0.7))
            if rng.random() < 0.5:
                trial = trial + share * (members[0][1] - members[k][1])
            trial = trial / np.linalg.norm(trial)
            merit = self._merit(trial)
            if merit > members[k][0]:
                members[k] = merit, trial
                members.sort(key=lambda member: -member[0])
        self.look(members[0][1], "restart")

    def _merit(self, weights: Floats) -> float:
        reported = self.problem.objective.reported(self.problem.score(weights))
        return self.choice.merit_of(reported)[1]
