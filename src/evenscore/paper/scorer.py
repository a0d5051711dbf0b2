"""The paper's Algorithms 1 and 2 as a scorer."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from evenscore.gaps import ConstraintLike
from evenscore.learning.base import FairScorer
from evenscore.learning.left_out import LeftOut
from evenscore.learning.parameters import check_count, check_number, seed_of
from evenscore.learning.task import History, Task
from evenscore.learning.training_set import TrainingSet
from evenscore.paper.network import check_widths, forward
from evenscore.paper.training import learn_together
from evenscore.scores.arrays import Floats


class PaperScorer(FairScorer):
    """A network trained by Algorithms 1 and 2 as published, with their corrections.

    Pairs are drawn, multipliers and thresholds move by fixed steps after a look at rows held out,
    the output is batch-normalised. This is to compare with: whoever wants a fair score takes
    `EvenScorer`. What is wrong in print, and how it was read, is in
    docs/paper.md.

    Parameters
    ----------
    constraints
    strength : float, optional
        The penalty λ of the objective AUC − λ Σ |gap|; needed with constraints.
    hidden : tuple of int, optional
        Widths of the hidden layers; by default two, as wide as there are features.
    l2 : float, default 0.05
        Weight λ_reg of ½‖w‖², of all weights and biases.
    n_iter : int, default 20,000
        Steps of Adam.
    batch_size : int, default 100
        Rows of a step.
    learning_rate : float, default 0.001
        Of Adam, throughout.
    n_pairs : int, default 100
        Pairs drawn from a batch for every AUC (B).
    update_every : int, default 50
        Steps between two updates of multipliers and thresholds (n_adapt).
    multiplier_step : float, default 0.01
        Step of a multiplier, as a share of the strength (Δc).
    threshold_step : float, default 0.01
        Step of a threshold (Δt). The paper's 0.001 cannot bring a threshold where it should be
        within 20,000 iterations.
    validation_fraction : float, default 0.4
        Share of the rows kept aside, at which the updates look, and on which gaps are told.
    random_state : int, optional
        Which rows are kept aside, the initial layers, batches and pairs.
    verbose : bool, default False
        Show a progress bar, on a terminal or in a notebook.

    Attributes
    ----------
    layers_ : list of (weights, biases)
        The network; the normalisation is part of its last layer.
    features_ : FeatureScaling
        How features are standardised.
    classes_
    encoding_
    groups_
    gaps_ : list of Estimate
        On the rows kept aside.
    history_

    Examples
    --------
    >>> from evenscore.datasets import make_square
    >>> data = make_square(2000, random_state=0)
    >>> scorer = PaperScorer("intra_group", strength=1.0, hidden=(), n_iter=4000, random_state=0)
    >>> scorer = scorer.fit(data.X, data.y, sensitive_features=data.groups)
    >>> abs(scorer.gaps_[0].value) < 0.1
    True
    """

    folds = 0  # the paper looks at rows kept aside
    varied_together: ClassVar[tuple[str, ...]] = ("strength", "l2", "random_state")
    """Parameters that `fit_many` can vary in one program."""

    def __init__(
        self,
        constraints: ConstraintLike = (),
        *,
        strength: float | None = None,
        hidden: tuple[int, ...] | None = None,
        l2: float = 0.05,
        n_iter: int = 20_000,
        batch_size: int = 100,
        learning_rate: float = 1e-3,
        n_pairs: int = 100,
        update_every: int = 50,
        multiplier_step: float = 0.01,
        threshold_step: float = 0.01,
        validation_fraction: float = 0.4,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.constraints = constraints
        self.strength = strength
        self.hidden = hidden
        self.l2 = l2
        self.n_iter = n_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.n_pairs = n_pairs
        self.update_every = update_every
        self.multiplier_step = multiplier_step
        self.threshold_step = threshold_step
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.verbose = verbose

    def check_parameters(self) -> None:
        """Refuse bad parameters."""
        super().check_parameters()
        if self.strength is None and self.task().constraints:
            raise ValueError("PaperScorer needs a strength, for instance strength=0.25.")
        for name in ("learning_rate", "multiplier_step", "threshold_step"):
            check_number(self, name, 0.0, above=True)
        check_number(self, "l2", 0.0)
        for name in ("n_iter", "batch_size", "n_pairs", "update_every"):
            check_count(self, name)
        share = self.validation_fraction
        if not isinstance(share, Real) or not 0.0 < float(share) < 1.0:
            raise ValueError(f"validation_fraction must be above 0 and below 1, not {share!r}.")
        check_widths(() if self.hidden is None else self.hidden)

    def fit_many(
        self,
        X: Any,
        y: Any,
        grid: Sequence[Mapping[str, Any]],
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        cluster: Any = None,
    ) -> list[Self]:
        """Fit once for every entry of a grid, all in one program.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight, cluster
            As for `fit`.
        grid : list of dict
            An entry may give `strength`, `l2` and `random_state`. All fits hold out the same rows,
            those that this scorer's own `random_state` draws.

        Returns
        -------
        list of PaperScorer
            One fitted scorer per entry.
        """
        unknown = sorted({key for entry in grid for key in entry} - {*self.varied_together})
        if unknown:
            raise ValueError(f"fit_many varies strength, l2 and random_state, not {unknown[0]}.")
        scorers = [clone(self).set_params(**entry) for entry in grid]
        for scorer in scorers:
            scorer.check_parameters()
        if not scorers:
            return []
        reader = clone(self)
        constraints = reader.task().constraints
        data = reader._read(X, y, sensitive_features, sample_weight, constraints, cluster)
        for scorer in scorers:
            scorer.know(reader)
        train, held_out = reader._kept_aside(data)
        histories = _learn(scorers, train, held_out, reader.task())
        for scorer, history in zip(scorers, histories, strict=True):
            scorer._finish(data, scorer.task(), history)
        return scorers

    def learn(self, train: TrainingSet, task: Task) -> History:
        """Algorithm 1 for AUC gaps, Algorithm 2 for ROC gaps, both at once for both."""
        rows, held_out = self._kept_aside(train)
        return _learn([self], rows, held_out, task)[0]

    def _kept_aside(self, rows: TrainingSet) -> tuple[TrainingSet, TrainingSet | None]:
        """Rows to learn from and rows to look at: the same share of every class and group."""
        rng = np.random.default_rng(seed_of(self.random_state))
        return rows.hold_out(self.validation_fraction, rng)

    def _finish(self, data: TrainingSet, task: Task, history: History) -> None:
        super()._finish(data, task, history)
        held_out = self._kept_aside(data)[1]
        if held_out is not None:
            score = self.raw_score(held_out.X)
            self.gaps_ = LeftOut(held_out, score, score).gaps(task.constraints)

    def standardised(self, X: Any) -> Floats:
        """The features as the network takes them."""
        return np.asarray(self.features_.transform(X) - self.features_.mean)

    def raw_score(self, X: Any) -> Floats:
        """The output of the network."""
        return np.asarray(forward(self.layers_, self.standardised(X)))


def _learn(
    scorers: list[PaperScorer], train: TrainingSet, held_out: TrainingSet | None, task: Task
) -> list[History]:
    if held_out is None:
        raise ValueError("PaperScorer needs a validation_fraction above 0: updates look there.")
    empty = np.flatnonzero(np.bincount(held_out.cell, minlength=2 * len(held_out.groups)) == 0)
    if task.constraints and len(empty):
        raise ValueError(
            f"There are too few {held_out.cell_name(int(empty[0]))} to hold some out, and "
            "PaperScorer must look at them."
        )
    return learn_together(scorers, train, held_out, task)
