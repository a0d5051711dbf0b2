"""The linear scorer: full batch, deterministic, one stated problem (`linear_solving`)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evenscore.learning.base import FairScorer
from evenscore.learning.features import FeatureScaling, default_l2
from evenscore.learning.linear_solving import Problem, Solver
from evenscore.learning.parameters import check_count, check_number
from evenscore.learning.task import History, Task
from evenscore.learning.training_set import TrainingSet
from evenscore.learning.wholeness import check_numbers, part_of
from evenscore.scores.arrays import Floats

_FIRST_ROWS = 8192  # with many more rows, so many are solved first and all start from there
_INNER = 40  # iterations of L-BFGS at most, without constraints


@dataclass(eq=False, repr=False, kw_only=True)
class LinearScorer(FairScorer):
    """A fair score that is linear in the (compressed) features.

    It maximises the AUC under constraints, or with a penalty on their gaps. All pairs count, and
    gaps are those an audit computes. The same data give the same score.

    Parameters
    ----------
    constraints
    tolerance
    strength
    use_groups
    l2 : float, optional
        Weight of ½‖w‖², for features and scores of standard deviation one. By default 4d/n, for d
        features and n observations: more where data are few.
    compress : bool, default True
        Pass every standardised feature through asinh, which tames long tails (not absurd values,
        which spoil the standard deviation); two-valued features are not affected.
    bandwidth : float, default 0.2
        Width of the logistic function that replaces the step, in standard deviations of the score.
    max_iter : int, default 5
        How often the problem is solved at most, each time corrected by the strict gaps.
    folds
    random_state : int, optional
        Draws the folds.

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
    gaps_
    verdicts_
    price_
    calibration_
    converged_
    left_out_
    history_

    Examples
    --------
    >>> from evenscore import Cuts, RateConstraint
    >>> from evenscore.datasets import load_german
    >>> data = load_german()
    >>> fair = RateConstraint("fnr", cuts=Cuts(between=(0.5, 0.8)), tolerance=0.05)
    >>> scorer = LinearScorer(fair)
    >>> scorer = scorer.fit(data.X, data.y, sensitive_features=data.groups)
    >>> scorer.converged_, abs(scorer.gaps_[0].value) <= 0.1
    (True, True)
    """

    l2: float | None = None
    compress: bool = True
    bandwidth: float = 0.2
    max_iter: int = 5

    advice: ClassVar[str] = (
        "; one weight per feature may not be enough: EvenScorer takes any classifier"
    )

    @property
    def accepts_sparse(self) -> bool:
        """Sparse features stay sparse."""
        return True

    def check_parameters(self) -> None:
        """Refuse bad parameters."""
        super().check_parameters()
        check_number(self, "bandwidth", 0.0, above=True)
        check_number(self, "l2", 0.0, optional=True)
        check_count(self, "max_iter")

    def learn(self, train: TrainingSet, task: Task) -> History:
        """Solve from the score without constraints; of many rows from the solution on some."""
        self.features_ = FeatureScaling.fit(train.X, train.share, compress=self.compress)
        X = self.features_.transform(train.X)
        l2 = default_l2(train) if self.l2 is None else self.l2
        weights, history = X.T @ (train.share * (train.positive - train.prevalence)), History()
        parts = [(X, train)]
        if len(train) > 2 * _FIRST_ROWS:
            part = train.sampled(_FIRST_ROWS)
            parts.insert(0, (self.features_.transform(part.X), part))
        for features, rows in parts:
            free = rows.objective((), bandwidth=self.bandwidth)
            weights = Problem(features, rows.share, free, l2).best(weights, _INNER)
        for features, rows in parts if task.constraints else ():
            objective = task.objective(rows, bandwidth=self.bandwidth, guards=True)
            solver = Solver(Problem(features, rows.share, objective, l2), task)
            solver.solve(weights, self.max_iter)
            weights, history = solver.weights, solver.choice.history
        self.coef_ = weights
        if not self.compress:
            self.coef_ = self.coef_ / (self.features_.spread * self.features_.scale)
        self.n_iter_ = max(1, len(history))
        return history

    def check_learned(self, n_features: int) -> None:
        """Scaling and coefficients of so many features."""
        if part_of(self, "compress", bool):
            part_of(self, "features_", FeatureScaling).check_whole(n_features)
        check_numbers(self, "coef_", (n_features,))

    def raw_score(self, X: Any) -> Floats:
        """Prepared features times coefficients."""
        prepared = self.features_.transform(X) if self.compress else X
        return np.asarray(prepared @ self.coef_)
