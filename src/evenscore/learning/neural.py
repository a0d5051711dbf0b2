"""The neural scorer: a network trained on all pairs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from evenscore.extras import require
from evenscore.learning.base import FairScorer
from evenscore.learning.features import FeatureScaling, default_l2
from evenscore.learning.network import Layers, check_layers, check_widths, forward
from evenscore.learning.parameters import check_count, check_number
from evenscore.learning.progress import progress
from evenscore.learning.task import Choice, History, Look, Task
from evenscore.learning.training_set import TrainingSet
from evenscore.learning.wholeness import check_numbers, part_of
from evenscore.scores.arrays import Floats

_ENOUGH = 10_000  # rows, of which some can be spared to choose the best iterate
_COLLAPSED = 0.05  # a gap so far beyond the tolerance means that training went astray
# benchmarks/constants.py halves and doubles the rest, on splits of German and COMPAS.
_NEARLY_LINEAR = 4000  # observations up to which layers are held back like the linear part
_UNDER_WAY = 0.3  # share of the updates before which multipliers are on their way


@dataclass(eq=False)
class _Attempt(Choice):
    """The best network of a training, and its worst gap beyond the tolerance."""

    updates: int
    checked: Any  # prepared features of rows held out, and their objective
    network: Any = None  # the linear part and the layers
    worst: float = np.inf

    def consider(self, linear: Floats, layers: Layers, look: Look) -> str:
        """Compare a network with the best so far; says how things stand."""
        early = len(self.history) + 1 < _UNDER_WAY * self.updates
        new = None
        if self.checked is not None and self.strength is None and not early:
            X, objective = self.checked
            new = objective.strict(X @ linear + forward(layers, X))
        worst, merit = self.note(look, new)
        if early or self.better(merit):
            self.network = (linear, layers)
            self.worst = worst if self.strength is None else 0.0
        return f"AUC {look.strict.auc:.4f}, worst gap beyond what is allowed {worst:.4f}"


@dataclass(eq=False, repr=False, kw_only=True)
class NeuralScorer(FairScorer):
    """A fair score learned by a small network; needs the extra `neural` (JAX) to fit, not to score.

    All pairs count, thresholds are exact, multipliers follow the strict gaps. The network stands
    beside a linear part and is regularised so that few data give a nearly linear score. Of more
    than 16,384 rows, that many (evenly from every class and group) drive the multipliers and make
    up `history_`; all rows are trained on, and `gaps_` is measured on all of them. Algorithms 1
    and 2 of the paper, as published, are `evenscore.paper.PaperScorer`.

    Parameters
    ----------
    constraints
    tolerance
    strength
    hidden : tuple of int, default (64, 64)
        Widths of the hidden layers.
    l2 : float, optional
        Weight of ½‖w‖² of the linear part, for features and scores of standard deviation one; of
        the layers' weights, l2 · min(1, 4000/n). By default 4d/n for d features and n observations:
        few data give a nearly linear score.
    n_iter : int, default 3000
        Steps of Adam, in tens.
    batch_size : int, default 512
        Rows of a step.
    learning_rate : float, default 0.003
        Learning rate of the first steps; it falls to zero.
    margin : float, default 0.01
        The part of the tolerance left to new data: training aims at tolerance − margin, or at zero
        if that is less.
    guards
    use_groups
    compress : bool, default True
        Pass every standardised feature through asinh, which tames long tails.
    bandwidth : float, default 0.3
        Width of the logistic function that replaces the step, in standard deviations of the score.
    validation_fraction : float, optional
        Share of the rows kept aside, on which the best iterate is chosen; without any, on the
        training rows. By default 0.1 of 10,000 rows or more and none of fewer, which are worth more
        for training.
    cross_fit
    random_state : int, optional
        Which rows are kept aside, the initial layers and the batches.
    verbose

    Attributes
    ----------
    linear_ : array of shape (n_features,)
        Weights of the linear part.
    layers_ : list of (weights, biases)
        The network beside it.
    features_ : FeatureScaling
        How features are standardised and compressed.
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
    >>> from evenscore.datasets import load_german
    >>> data = load_german()
    >>> scorer = NeuralScorer("inter_group", tolerance=0.05, n_iter=300, random_state=0)
    >>> scorer = scorer.fit(data.X, data.y, sensitive_features=data.groups)
    >>> scorer.converged_
    True
    """

    hidden: tuple[int, ...] = (64, 64)
    l2: float | None = None
    n_iter: int = 3000
    batch_size: int = 512
    learning_rate: float = 3e-3
    margin: float = 0.01
    compress: bool = True
    bandwidth: float = 0.3
    validation_fraction: float | None = None

    def check_parameters(self) -> None:
        """Refuse bad parameters, and a machine without JAX."""
        super().check_parameters()
        for name in ("bandwidth", "learning_rate"):
            check_number(self, name, 0.0, above=True)
        check_number(self, "margin", 0.0, 1.0)
        check_number(self, "l2", 0.0, optional=True)
        for name in ("n_iter", "batch_size"):
            check_count(self, name)
        check_widths(self.hidden)
        require(type(self).__name__, "jax", "optax")

    def held_out_share(self, n: int) -> Any:
        """As given; by default a tenth of many rows, none of few."""
        if self.validation_fraction is not None:
            return self.validation_fraction
        return 0.1 if n >= _ENOUGH else 0.0

    def learn(self, train: TrainingSet, held_out: TrainingSet | None, task: Task) -> History:
        """Train, and once more with smaller steps if training collapses; keep the best iterate."""
        self.features_ = FeatureScaling.fit(train.X, train.share, compress=self.compress)
        attempt = self._attempt(train, held_out, task, self.learning_rate)
        if attempt.worst > _COLLAPSED:  # now and then; with smaller steps it does not happen
            other = self._attempt(train, held_out, task, self.learning_rate / 3.0)
            if other.merit > attempt.merit:
                attempt = other
        self.linear_, self.layers_ = attempt.network
        if not np.all(np.isfinite(self.linear_)):
            raise ValueError("Training diverged: take a smaller learning_rate.")
        return attempt.history

    def _attempt(
        self, train: TrainingSet, held_out: TrainingSet | None, task: Task, learning_rate: float
    ) -> _Attempt:
        """Train once, and choose among the iterates."""
        from evenscore.learning import neural_training

        checked = None
        if held_out is not None:
            checked = self._prepare(held_out.X), held_out.objective(task.constraints)
        objective = task.objective(train)
        updates = neural_training.n_updates(self.n_iter)
        allowed, strengths = task.allowances(objective), task.strengths(objective)
        attempt = _Attempt(allowed, strengths, updates, checked)
        l2 = default_l2(train) if self.l2 is None else self.l2
        with progress("NeuralScorer", updates, verbose=self.verbose) as advance:
            neural_training.train(
                self,
                self._prepare(train.X),
                train,
                task,
                learning_rate,
                (l2, l2 * min(1.0, _NEARLY_LINEAR / train.n_observations)),
                lambda *network: advance(attempt.consider(*network)),
            )
        return attempt

    def _prepare(self, X: Any) -> Floats:
        return np.asarray(self.features_.transform(X) - self.features_.mean)

    def check_learned(self, n_features: int) -> None:
        """Scaling, linear part and layers of so many features."""
        part_of(self, "features_", FeatureScaling).check_whole(n_features)
        check_numbers(self, "linear_", (n_features,))
        check_layers(part_of(self, "layers_", list), n_features)

    def raw_score(self, X: Any) -> Floats:
        """The linear part and the network beside it."""
        prepared = self._prepare(X)
        return np.asarray(prepared @ self.linear_ + forward(self.layers_, prepared))
