"""The linear scorer: full batch, deterministic, L-BFGS inside an augmented Lagrangian."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from evenscore.constraints import Constraint
from evenscore.learning.multipliers import AugmentedLagrangian, MultiplierState, excess
from evenscore.learning.objective import Objective, Strict
from evenscore.learning.standard import standardise
from evenscore.scorers.base import ConstraintLike, FairScorer
from evenscore.scorers.features import FeatureScaling
from evenscore.scorers.history import History
from evenscore.scorers.progress import progress
from evenscore.scorers.training_set import TrainingSet

__all__ = ["LinearScorer"]

Floats = NDArray[np.float64]

_BEYOND = 10.0  # what a gap beyond the tolerance costs, in AUC, when solutions are compared
_PATIENCE = 5  # updates without a better penalised AUC, after which a fit is done
_FIRST_ROWS = 8192  # with many more rows, so many are solved first and all start from there
_FIRST_UPDATES = 6  # of the multipliers, on those


class LinearScorer(FairScorer):
    """A fair score that is linear in the (compressed) features.

    It maximises the AUC under AUC and ROC constraints, or with a penalty on their gaps. All pairs
    count; the multipliers follow the strict gaps, those an audit computes. The same data give the
    same score.

    Parameters
    ----------
    constraints : name, constraint or list of them
        What should be equal between groups; none by default.
    tolerance : float, default 0.02
        The gap each constraint may leave, unless it has a tolerance of its own.
    strength : float
        Instead of a tolerance: the penalty λ of the objective AUC − λ Σ |gap|.
    margin : float, default 0.01
        The part of the tolerance left to new data: training aims at tolerance − margin, or at zero
        if that is less.
    guards : bool, default True
        With a tolerance, constrain the rates around those of a ROC constraint too, so that gaps do
        not return on new data; two standard errors more than the tolerance are left there.
    l2 : float, optional
        Weight of ½‖w‖², for features and scores of standard deviation one. By default 4d/n, for d
        features and n observations: more where data are few.
    compress : bool, default True
        Pass every standardised feature through asinh, which tames long tails (not absurd values,
        which spoil the standard deviation); two-valued features are not affected.
    bandwidth : float, default 0.2
        Of the logistic function that replaces the step, in standard deviations of the score.
    max_iter : int, default 20
        Updates of the multipliers.
    max_inner_iter : int, default 40
        Iterations of L-BFGS between two updates.
    validation_fraction : float, default 0
        Share of the rows kept aside, on which `gaps_["validation"]` is measured.
    cross_fit : int, default 0
        Folds, at least 2, to look at rows that were not trained on: `gaps_["cross_fit"]`. Where an
        interval lies beyond the tolerance, what training closed in appearance only is allowed for.
        Takes as many more fits; twice as many where something had to be allowed for.
    random_state : int, optional
        Which rows are kept aside.
    verbose : bool, default False
        Show a progress bar on a terminal.

    Attributes
    ----------
    coef_, intercept_
        The score is `features_.transform(X) @ coef_ + intercept_`; without `compress`,
        `X @ coef_ + intercept_`.

    Examples
    --------
    >>> from evenscore.datasets import load_german
    >>> data = load_german()
    >>> scorer = LinearScorer(constraints="inter_group", tolerance=0.02)
    >>> scorer = scorer.fit(data.X, data.y, sensitive_features=data.groups)
    >>> scorer.converged_, abs(scorer.gaps_["train"][0].value) <= 0.02
    (True, True)
    """

    _accept_sparse: ClassVar[bool] = True

    def __init__(
        self,
        constraints: ConstraintLike = (),
        *,
        tolerance: float | None = None,
        strength: float | None = None,
        margin: float = 0.01,
        guards: bool = True,
        l2: float | None = None,
        compress: bool = True,
        bandwidth: float = 0.2,
        max_iter: int = 20,
        max_inner_iter: int = 40,
        validation_fraction: float = 0.0,
        cross_fit: int = 0,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.constraints = constraints
        self.tolerance = tolerance
        self.strength = strength
        self.margin = margin
        self.guards = guards
        self.l2 = l2
        self.compress = compress
        self.bandwidth = bandwidth
        self.max_iter = max_iter
        self.max_inner_iter = max_inner_iter
        self.validation_fraction = validation_fraction
        self.cross_fit = cross_fit
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_number("margin", 0.0, 1.0)
        self._check_number("bandwidth", 0.0, above=True)
        self._check_number("l2", 0.0, optional=True)
        self._check_count("max_iter")
        self._check_count("max_inner_iter")

    def _learn(
        self, train: TrainingSet, held_out: TrainingSet | None, constraints: tuple[Constraint, ...]
    ) -> None:
        features = FeatureScaling.fit(train.X, train.share, compress=self.compress)
        X = features.transform(train.X)
        l2 = self._l2(train, self.l2)
        start = X.T @ (train.share * (train.positive - train.share @ train.positive))
        state = None
        if len(train) > 2 * _FIRST_ROWS:
            some, part = train.thinned(_FIRST_ROWS)
            rounds = min(_FIRST_UPDATES, self.max_iter)
            first = self._solve(X[some], part, constraints, l2, start, rounds)
            start, state = first.weights, first.state
            self.history_ = History()
        solution = self._solve(X, train, constraints, l2, start, self.max_iter, state)
        if solution.merit[1] < 0.5:  # a local optimum: a constant score would be better
            history, self.history_ = self.history_, History()
            other = self._solve(X, train, constraints, l2, -solution.weights, self.max_iter)
            if other.merit > solution.merit:
                solution = other
            else:
                self.history_ = history
        self.features_ = features
        self.coef_ = solution.weights
        self.n_iter_ = len(self.history_)
        if self.strength is not None:
            self.converged_ = solution.settled
            if not solution.settled:
                warnings.warn(
                    f"LinearScorer stopped after {self.n_iter_} updates of the multipliers, "
                    "while AUC − strength · |gaps| was still rising: raise max_iter.",
                    ConvergenceWarning,
                    stacklevel=3,
                )
        if not self.compress:
            self.coef_ = self.coef_ / (features.spread * features.scale)

    def _solve(
        self,
        X: Any,
        train: TrainingSet,
        constraints: tuple[Constraint, ...],
        l2: float,
        start: Floats,
        max_iter: int,
        state: MultiplierState | None = None,
    ) -> _Solution:
        """The method of multipliers: minimise, look at the strict gaps, move the multipliers."""
        objective = train.objective(
            constraints,
            bandwidth=self.bandwidth,
            guards=self.guards and self.strength is None,
            optimism=self._optimism,
        )
        aim = self._aims(objective, self.margin)
        rule = AugmentedLagrangian(strength=np.inf if self.strength is None else self.strength)
        state = rule.init(aim) if state is None else replace(state, tolerance=aim)
        tolerance = self._tolerances(objective)
        spare = 0.5 * (tolerance - aim)
        noise = 0.25 * objective.standard_errors()
        slack = np.maximum(1e-3, np.where(objective.terms.asked, spare, noise))
        problem = _Problem(X, train.share, objective, l2)
        weights = start
        best: _Solution | None = None
        rounds = max_iter if len(aim) else 1
        asked = objective.terms.asked
        settled, still, least = not len(aim), 0, min(3, len(aim))
        with progress("LinearScorer", rounds, verbose=self.verbose) as advance:
            for number in range(rounds):
                with threadpool_limits(1, user_api="blas"):  # products too small to share out
                    weights = problem.minimise(weights, rule, state, self.max_inner_iter)
                score = standardise(X @ weights, train.share).score
                strict = objective.strict(score)
                evaluation = objective.evaluate(score, partial(rule.respond, state))
                state = rule.update(state, strict.gaps, evaluation.gaps)
                beyond = np.abs(excess(strict.gaps, aim))
                self.history_.add(
                    evaluation.value,
                    Strict(strict.auc, strict.gaps[asked]),
                    state.multipliers[asked],
                )
                worst = float(np.max(beyond[asked], initial=0.0))
                advance(f"AUC {strict.auc:.4f}, worst gap beyond its aim {worst:.4f}")
                # Strict gaps jump: the last solution need not be the best one.
                if self.strength is None:
                    over = np.max((beyond - slack)[asked], initial=0.0)
                    left = np.max(np.abs(excess(strict.gaps, tolerance))[asked], initial=0.0)
                    merit = strict.auc - float(over + _BEYOND * left), strict.auc
                    settled = bool(np.all(beyond <= slack))
                else:
                    merit = strict.auc - self.strength * float(beyond[asked].sum()), strict.auc
                    settled = not len(aim) or (
                        best is not None and merit[0] <= best.merit[0] + 1e-4
                    )
                if best is None or merit >= best.merit:
                    best = _Solution(weights, merit, settled, state)
                still = still + 1 if settled else 0
                if still >= (1 if self.strength is None else _PATIENCE) and number >= least:
                    break
        assert best is not None
        return replace(best, settled=settled, state=state)

    def _raw_score(self, X: Any) -> Floats:
        prepared = self.features_.transform(X) if self.compress else X
        return np.asarray(prepared @ self.coef_)


@dataclass(frozen=True, eq=False)
class _Solution:
    """Weights, and how good they are: the AUC less what gaps cost, then the AUC."""

    weights: Floats
    merit: tuple[float, float]
    settled: bool
    state: MultiplierState


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

        found = minimize(
            value_and_gradient,
            weights,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iter, "maxcor": 20, "ftol": 1e-7},
        )
        return np.asarray(found.x / standardise(self.X @ found.x, self.share).scale)
