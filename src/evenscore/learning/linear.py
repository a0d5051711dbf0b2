"""The linear scorer: full batch, deterministic, L-BFGS inside an augmented Lagrangian."""

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from evenscore.learning.base import FairScorer
from evenscore.learning.features import FeatureScaling, default_l2
from evenscore.learning.multipliers import AugmentedLagrangian, MultiplierState, excess
from evenscore.learning.objective import Objective, standardise
from evenscore.learning.parameters import check_count, check_number, progress
from evenscore.learning.task import History, Task
from evenscore.learning.training_set import TrainingSet
from evenscore.scores.arrays import Floats

_BEYOND = 10.0  # what a gap beyond the tolerance costs, in AUC, among solutions; 5 and 20 do, too
_PATIENCE = 5  # updates without a better penalised AUC, after which a fit is done
_FIRST_ROWS = 8192  # with many more rows, so many are solved first and all start from there
_FIRST_UPDATES = 6  # of the multipliers, on those


@dataclass(frozen=True, eq=False)
class _Solution:
    """Weights, and how good they are: the AUC less what gaps cost, then the AUC."""

    weights: Floats
    merit: tuple[float, float]
    settled: bool
    state: MultiplierState
    history: History


@dataclass(frozen=True, eq=False)
class _Problem:
    """The objective as a function of the weights: it does not change when they are multiplied."""

    X: Any
    share: Floats
    objective: Objective
    l2: float

    def minimise(
        self, weights: Floats, rule: AugmentedLagrangian, state: MultiplierState, max_iter: int
    ) -> Floats:
        """L-BFGS from the given weights; what comes back gives scores of standard deviation one."""

        def value_and_gradient(weights: Floats) -> tuple[float, Floats]:
            standard = standardise(self.X @ weights, self.share)
            evaluation = self.objective.evaluate(standard.score, partial(rule.respond, state))
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
        return np.asarray(solution.x / standardise(self.X @ solution.x, self.share).scale)


@dataclass(eq=False, repr=False, kw_only=True)
class LinearScorer(FairScorer):
    """A fair score that is linear in the (compressed) features.

    It maximises the AUC under constraints, or with a penalty on their gaps. All pairs count; the
    multipliers follow the strict gaps, those an audit computes. The same data give the same score.

    Parameters
    ----------
    constraints
    tolerance
    strength
    margin : float, default 0.01
        The part of the tolerance left to new data: training aims at tolerance − margin, or at zero
        if that is less.
    guards
    use_groups
    l2 : float, optional
        Weight of ½‖w‖², for features and scores of standard deviation one. By default 4d/n, for d
        features and n observations: more where data are few.
    compress : bool, default True
        Pass every standardised feature through asinh, which tames long tails (not absurd values,
        which spoil the standard deviation); two-valued features are not affected.
    bandwidth : float, default 0.2
        Width of the logistic function that replaces the step, in standard deviations of the score.
    max_iter : int, default 20
        Updates of the multipliers, at most.
    max_inner_iter : int, default 40
        Iterations of L-BFGS between two updates, at most.
    validation_fraction : float, default 0
        Share of the rows kept aside, on which `gaps_["validation"]` is measured.
    cross_fit
    random_state : int, optional
        Which rows are kept aside.
    verbose

    Attributes
    ----------
    coef_, intercept_ : array of shape (n_features,), float
        The score is `features_.transform(X) @ coef_ + intercept_`; without `compress`,
        `X @ coef_ + intercept_`. With categories X is `encoding_.transform(X)`, whose columns are
        `encoding_.feature_names`.
    features_ : FeatureScaling
        How features are standardised and compressed.
    n_iter_ : int
        Updates of the multipliers.
    classes_
    encoding_
    groups_
    group_feature_
    gap_names_
    gaps_
    verdicts_
    converged_
    history_

    Examples
    --------
    >>> from evenscore import Cuts, RateConstraint
    >>> from evenscore.datasets import load_german
    >>> data = load_german()
    >>> fair = RateConstraint("fnr", cuts=Cuts(between=(0.5, 0.8)), tolerance=0.05)
    >>> scorer = LinearScorer(fair)
    >>> scorer = scorer.fit(data.X, data.y, sensitive_features=data.groups)
    >>> scorer.converged_, abs(scorer.gaps_["train"][0].value) <= 0.05
    (True, True)
    """

    margin: float = 0.01
    l2: float | None = None
    compress: bool = True
    bandwidth: float = 0.2
    max_iter: int = 20
    max_inner_iter: int = 40

    @property
    def accepts_sparse(self) -> bool:
        """Sparse features stay sparse."""
        return True

    def check_parameters(self) -> None:
        """Refuse bad parameters."""
        super().check_parameters()
        check_number(self, "margin", 0.0, 1.0)
        check_number(self, "bandwidth", 0.0, above=True)
        check_number(self, "l2", 0.0, optional=True)
        check_count(self, "max_iter")
        check_count(self, "max_inner_iter")

    def learn(self, train: TrainingSet, held_out: TrainingSet | None, task: Task) -> History:
        """Solve, from where a solution on some of the rows is if there are many."""
        features = FeatureScaling.fit(train.X, train.share, compress=self.compress)
        X = features.transform(train.X)
        start = X.T @ (train.share * (train.positive - train.share @ train.positive))
        state = None
        if len(train) > 2 * _FIRST_ROWS:
            some, part = train.thinned(_FIRST_ROWS)
            updates = min(_FIRST_UPDATES, self.max_iter)
            first = self._solve(self._problem(X[some], part, train, task), task, start, updates)
            start, state = first.weights, first.state
        problem = self._problem(X, train, train, task)
        solution = self._solve(problem, task, start, self.max_iter, state)
        if solution.merit[1] < 0.5:  # a local optimum: a constant score would be better
            other = self._solve(problem, task, -solution.weights, self.max_iter)
            if other.merit > solution.merit:
                solution = other
        self.features_ = features
        self.coef_ = solution.weights
        if not self.compress:
            self.coef_ = self.coef_ / (features.spread * features.scale)
        history = solution.history
        self.n_iter_ = len(history)
        if task.strength is not None:
            history.settled = solution.settled
            if not solution.settled:
                warnings.warn(
                    f"LinearScorer stopped after {self.n_iter_} updates of the multipliers, "
                    "while AUC − strength · |gaps| was still rising: raise max_iter.",
                    ConvergenceWarning,
                    stacklevel=3,
                )
        return history

    def _problem(self, X: Any, rows: TrainingSet, train: TrainingSet, task: Task) -> _Problem:
        """What is to be minimised on prepared features of some of the training rows."""
        objective = task.objective(rows, bandwidth=self.bandwidth, guards=self.guards)
        return _Problem(X, rows.share, objective, default_l2(train) if self.l2 is None else self.l2)

    def _solve(
        self,
        problem: _Problem,
        task: Task,
        start: Floats,
        max_iter: int,
        state: MultiplierState | None = None,
    ) -> _Solution:
        """The method of multipliers: minimise, look at the strict gaps, move the multipliers."""
        objective = problem.objective
        terms, tolerance = objective.terms, task.tolerances(objective)
        aim = task.aims(objective, self.margin)
        aimed = tolerance if task.strength is not None else np.maximum(tolerance - self.margin, 0.0)
        rule = AugmentedLagrangian(strength=task.bound)
        state = rule.init(aim, *terms.sharing) if state is None else replace(state, tolerance=aim)
        # Half of the margin, or a quarter of a guard's standard error, is as good as closed.
        spare = np.maximum(1e-3, 0.5 * (tolerance - aimed))
        noise = np.maximum(1e-3, 0.25 * objective.standard_errors())
        slack = np.where(terms.asked, np.append(spare, 0.0)[terms.owner], noise)
        weights, best, history = start, None, History()
        rounds = max_iter if len(aim) else 1
        settled, still, least = not len(aim), 0, min(3, len(aim))
        with progress("LinearScorer", rounds, verbose=self.verbose) as advance:
            for number in range(rounds):
                with threadpool_limits(1, user_api="blas"):  # products too small to share out
                    weights = problem.minimise(weights, rule, state, self.max_inner_iter)
                score = standardise(problem.X @ weights, problem.share).score
                strict = objective.strict(score)
                evaluation = objective.evaluate(score, partial(rule.respond, state))
                state = rule.update(state, strict.terms, evaluation.gaps)
                beyond = np.abs(excess(strict.gaps, aimed))
                history.add(evaluation.value, strict, terms.of_gaps(state.multipliers))
                worst = float(np.max(beyond, initial=0.0))
                advance(f"AUC {strict.auc:.4f}, worst gap beyond its aim {worst:.4f}")
                # Strict gaps jump: the last solution need not be the best one.
                if task.strength is None:
                    over = np.max(beyond - spare, initial=0.0)
                    left = np.max(np.abs(excess(strict.gaps, tolerance)), initial=0.0)
                    merit = strict.auc - float(over + _BEYOND * left), strict.auc
                    settled = bool(np.all(np.abs(excess(strict.terms, aim)) <= slack))
                else:
                    merit = strict.auc - task.strength * float(beyond.sum()), strict.auc
                    settled = not len(aim) or (
                        best is not None and merit[0] <= best.merit[0] + 1e-4
                    )
                if best is None or merit >= best.merit:
                    best = _Solution(weights, merit, settled, state, history)
                still = still + 1 if settled else 0
                if still >= (1 if task.strength is None else _PATIENCE) and number >= least:
                    break
        assert best is not None
        return replace(best, settled=settled, state=state)

    def raw_score(self, X: Any) -> Floats:
        """Prepared features times coefficients."""
        prepared = self.features_.transform(X) if self.compress else X
        return np.asarray(prepared @ self.coef_)
