"""The linear scorer: full batch, deterministic, L-BFGS inside an augmented Lagrangian."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from evenscore.learning.base import FairScorer
from evenscore.learning.features import FeatureScaling, default_l2
from evenscore.learning.linear_solving import Problem, Solver, WeightChoice
from evenscore.learning.multipliers import MultiplierState
from evenscore.learning.parameters import check_count, check_number
from evenscore.learning.progress import progress
from evenscore.learning.task import History, Task, TrainingScores
from evenscore.learning.training_set import TrainingSet
from evenscore.learning.wholeness import check_numbers, part_of
from evenscore.scores.arrays import Floats

_FIRST_ROWS = 8192  # with many more rows, so many are solved first and all start from there
_FIRST_UPDATES = 6  # of the multipliers, on those


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
        Solutions that were looked at: the entries of `history_`, one at least.
    classes_
    encoding_
    groups_
    group_feature_
    gap_names_
    gaps_
    verdicts_
    price_
    calibration_
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
        """Solve from the score without constraints, and in other ways where that fails."""
        self.features_ = FeatureScaling.fit(train.X, train.share, compress=self.compress)
        X = self.features_.transform(train.X)
        weights = self._free(X, train)
        history = History(settled=True)
        if task.constraints:
            free, (weights, history) = weights, self._constrained(X, train, task, weights)
            history.scores = TrainingScores(free=X @ free)
        self.coef_ = weights
        if not self.compress:
            self.coef_ = self.coef_ / (self.features_.spread * self.features_.scale)
        self.n_iter_ = max(1, len(history))
        if task.strength is not None and not history.settled:
            text = (
                f"LinearScorer stopped after {len(history.entries('learning'))} updates of the "
                "multipliers, while AUC − strength · |gaps| was still rising: raise max_iter."
            )
            history.notes.append((text, ConvergenceWarning))
        return history

    def _l2(self, train: TrainingSet) -> float:
        return default_l2(train) if self.l2 is None else self.l2

    def _free(self, X: Any, train: TrainingSet) -> Floats:
        """The weights of the largest (surrogate) AUC; of many rows, from those of some."""
        start = X.T @ (train.share * (train.positive - train.prevalence))
        parts = [(X, train)]
        if len(train) > 2 * _FIRST_ROWS:
            part = train.sampled(_FIRST_ROWS)
            parts.insert(0, (self.features_.transform(part.X), part))
        for features, rows in parts:
            objective = rows.objective((), bandwidth=self.bandwidth)
            problem = Problem(features, rows.share, objective, self._l2(train))
            start = problem.minimise(start, lambda gaps: (0.0, gaps), self.max_inner_iter)
        return np.asarray(start)

    def _constrained(
        self, X: Any, train: TrainingSet, task: Task, free: Floats
    ) -> tuple[Floats, History]:
        """The best weights of all attempts, and what was looked at."""
        objective = task.objective(train, bandwidth=self.bandwidth, guards=self.guards)
        choice = WeightChoice(task.allowances(objective), task.strengths(objective))
        with progress("LinearScorer", self.max_iter, verbose=self.verbose) as advance:
            problem = Problem(X, train.share, objective, self._l2(train))
            solver = Solver(problem, task, self.margin, self.max_inner_iter, choice, advance)
            gaps = solver.look(free, "without constraints").strict.gaps
            if task.strength is None and solver.within_aims(gaps):
                choice.history.settled = True
                return free, choice.history
            reweighed = self._free(X, train.reweighed())
            solver.look(reweighed, "reweighed")
            start, state = self._first(X, train, task, free)
            weights, _, settled = solver.solve(start, self.max_iter, "learning", state=state)
            for start in (free, reweighed, -weights):
                if solver.failed():
                    solver.tighten(start, self.max_iter)
            if solver.failed():
                solver.move_about()
        choice.history.settled = settled
        assert choice.weights is not None
        return choice.weights, choice.history

    def _first(
        self, X: Any, train: TrainingSet, task: Task, free: Floats
    ) -> tuple[Floats, MultiplierState | None]:
        """Where to start: of many rows, where a solution on some of them is."""
        if len(train) <= 2 * _FIRST_ROWS:
            return free, None
        part = train.sampled(_FIRST_ROWS)
        objective = task.objective(part, bandwidth=self.bandwidth, guards=self.guards)
        sample = self.features_.transform(part.X)
        problem = Problem(sample, part.share, objective, self._l2(train))
        choice = WeightChoice(task.allowances(objective), task.strengths(objective))
        solver = Solver(problem, task, self.margin, self.max_inner_iter, choice, lambda text: None)
        solver.solve(free, min(_FIRST_UPDATES, self.max_iter), "learning")
        assert choice.weights is not None
        return choice.weights, choice.state

    def check_learned(self, n_features: int) -> None:
        """Scaling and coefficients of so many features."""
        if part_of(self, "compress", bool):
            part_of(self, "features_", FeatureScaling).check_whole(n_features)
        check_numbers(self, "coef_", (n_features,))

    def raw_score(self, X: Any) -> Floats:
        """Prepared features times coefficients."""
        prepared = self.features_.transform(X) if self.compress else X
        return np.asarray(prepared @ self.coef_)
