"""The neural scorer: a network trained on all pairs, or by the paper's algorithms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from evenscore.constraints import Constraint, as_constraints
from evenscore.learning.multipliers import AugmentedLagrangian, excess
from evenscore.learning.objective import Strict
from evenscore.scorers.base import ConstraintLike, FairScorer, seed_of
from evenscore.scorers.features import FeatureScaling
from evenscore.scorers.history import History
from evenscore.scorers.network import forward
from evenscore.scorers.progress import progress
from evenscore.scorers.training_set import TrainingSet

__all__ = ["NeuralScorer"]

Floats = NDArray[np.float64]
_ENOUGH = 10_000  # rows, of which some can be spared to choose the best iterate
_COLLAPSED = 0.05  # a gap so far beyond the tolerance means that training went astray
_NEARLY_LINEAR = 4000  # up to so many observations, layers are held back like the linear part

Mode = Literal["complete", "paper"]


class NeuralScorer(FairScorer):
    """A fair score learned by a small network; needs the extra `neural` (JAX) to fit, not to score.

    Two modes:

    - `"complete"` (default): all pairs, exact thresholds, multipliers in proportion to the strict
      gaps, a network beside a linear part, regularised so that few data give a nearly linear score.
      Of more than 16,384 rows, that many (evenly from every class and group) drive the multipliers
      and make up `history_`; all rows are trained on, and `gaps_` is measured on all of them.
    - `"paper"`: Algorithms 1 and 2 as published, with their corrections: drawn pairs, fixed steps,
      updates on held-out rows, batch normalisation. It takes a `strength`, not a `tolerance`.

    Parameters
    ----------
    constraints : name, constraint or list of them
        What should be equal between groups; none by default.
    tolerance : float, default 0.02
        The gap each constraint may leave, unless it has a tolerance of its own.
    strength : float
        Instead of a tolerance: the penalty λ of the objective AUC − λ Σ |gap|.
    mode : "complete" or "paper"
    hidden : tuple of int
        Widths of the hidden layers; by default (64, 64), in paper mode two as wide as the features.
    l2 : float
        Weight of ½‖w‖² of the linear part, for features and scores of standard deviation one; of
        the layers' weights, l2 · min(1, 4000/n). By default 4d/n for d features and n observations:
        few data give a nearly linear score. In paper mode of all weights, by default 0.05.
    n_iter : int
        Steps of Adam, in tens; by default 3,000, in paper mode 20,000.
    batch_size : int
        By default 512, in paper mode 100.
    learning_rate : float
        By default 0.003, falling to zero; in paper mode 0.001 throughout.
    margin : float, default 0.01
        The part of the tolerance left to new data: training aims at tolerance − margin, or at zero
        if that is less.
    guards : bool, default True
        With a tolerance, constrain the rates around those of a ROC constraint too, so that gaps do
        not return on new data; two standard errors more than the tolerance are left there.
    compress : bool, default True
        Pass every standardised feature through asinh, which tames long tails. Not in paper mode.
    bandwidth : float, default 0.3
        Of the logistic function that replaces the step, in standard deviations of the score. Not in
        paper mode, where it is 1/2 for pairs and 1 for rates.
    validation_fraction : float
        Share of the rows kept aside, on which the best iterate is chosen; without any, on the
        training rows (with a strength, the last iterate is kept). By default 0.1 of 10,000 rows or
        more and none of fewer, which are worth more for training; 0.4 in paper mode, whose updates
        look there.
    n_pairs, update_every, multiplier_step, threshold_step
        Paper mode: pairs drawn from a batch (B), iterations between two updates (n_adapt), and the
        steps Δc and Δt. The paper's Δt of 0.001 cannot bring a threshold where it should be within
        20,000 iterations; the default is 0.01.
    cross_fit : int, default 0
        Folds, at least 2, to look at rows that were not trained on: `gaps_["cross_fit"]`. Where an
        interval lies beyond the tolerance, what training closed in appearance only is allowed for.
        Takes as many more fits; twice as many where something had to be allowed for.
    random_state : int, optional
    verbose : bool, default False
        Show a progress bar on a terminal.
    """

    def __init__(
        self,
        constraints: ConstraintLike = (),
        *,
        tolerance: float | None = None,
        strength: float | None = None,
        mode: Mode = "complete",
        hidden: tuple[int, ...] | None = None,
        l2: float | None = None,
        n_iter: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        margin: float = 0.01,
        guards: bool = True,
        compress: bool = True,
        bandwidth: float = 0.3,
        validation_fraction: float | None = None,
        n_pairs: int = 100,
        update_every: int = 50,
        multiplier_step: float = 0.01,
        threshold_step: float = 0.01,
        cross_fit: int = 0,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.constraints = constraints
        self.tolerance = tolerance
        self.strength = strength
        self.mode = mode
        self.hidden = hidden
        self.l2 = l2
        self.n_iter = n_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.margin = margin
        self.guards = guards
        self.compress = compress
        self.bandwidth = bandwidth
        self.validation_fraction = validation_fraction  # type: ignore[assignment]
        self.n_pairs = n_pairs
        self.update_every = update_every
        self.multiplier_step = multiplier_step
        self.threshold_step = threshold_step
        self.cross_fit = cross_fit
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ fitting

    def fit_many(
        self,
        X: Any,
        y: Any,
        grid: Sequence[Mapping[str, Any]],
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> list[Self]:
        """Fit once for every entry of a grid, all in one program; paper mode only.

        An entry may give `strength`, `l2` and `random_state`; all fits hold out the same rows,
        those that this scorer's own `random_state` draws. Returns one fitted scorer an entry.
        """
        if self.mode != "paper":
            raise ValueError("fit_many needs mode='paper': fit the others one by one.")
        unknown = sorted(
            {key for entry in grid for key in entry} - {"strength", "l2", "random_state"}
        )
        if unknown:
            raise ValueError(f"fit_many varies strength, l2 and random_state, not {unknown[0]}.")
        scorers = [clone(self).set_params(**entry) for entry in grid]
        for scorer in scorers:
            scorer._check_parameters()
        if not scorers:
            return []
        constraints = tuple(as_constraints(self.constraints))
        reader = clone(self)
        data = reader._training_set(X, y, sensitive_features, sample_weight, constraints)
        train, held_out = reader._hold_out(data)
        for scorer in scorers:
            for name in ("classes_", "groups_", "n_features_in_", "feature_names_in_"):
                if hasattr(reader, name):
                    setattr(scorer, name, getattr(reader, name))
            scorer._begin(data, constraints)
        _fit_paper(scorers, train, held_out, constraints)
        for scorer in scorers:
            scorer._finish(data, train, held_out, constraints)
        return scorers

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.mode not in ("complete", "paper"):
            raise ValueError(f"mode must be 'complete' or 'paper', not {self.mode!r}.")
        if self.mode == "paper" and self.tolerance is not None:
            raise ValueError("mode='paper' takes a strength; tolerance belongs to mode='complete'.")
        if self.mode == "paper" and self.cross_fit:
            raise ValueError("mode='paper' looks at its validation rows: cross_fit must be 0.")
        if self.mode == "paper" and self.strength is None and as_constraints(self.constraints):
            raise ValueError("mode='paper' needs a strength, for instance strength=0.25.")
        for name in ("bandwidth", "multiplier_step", "threshold_step"):
            self._check_number(name, 0.0, above=True)
        self._check_number("learning_rate", 0.0, above=True, optional=True)
        self._check_number("margin", 0.0, 1.0)
        self._check_number("l2", 0.0, optional=True)
        for name in ("n_iter", "batch_size"):
            self._check_count(name, optional=True)
        for name in ("n_pairs", "update_every"):
            self._check_count(name)
        widths = () if self.hidden is None else self.hidden
        if not isinstance(widths, Iterable) or not all(
            isinstance(width, Integral) and width >= 1 for width in widths
        ):
            raise ValueError(f"hidden must hold whole numbers of at least 1, not {self.hidden!r}.")
        if find_spec("jax") is None or find_spec("optax") is None:
            raise ImportError("NeuralScorer.fit needs JAX: pip install 'evenscore[neural]'.")

    def _validation_share(self, n: int) -> float:
        if self.validation_fraction is not None:
            return self.validation_fraction
        if self.mode == "paper":
            return 0.4
        return 0.1 if n >= _ENOUGH else 0.0

    def _learn(
        self, train: TrainingSet, held_out: TrainingSet | None, constraints: tuple[Constraint, ...]
    ) -> None:
        if self.mode == "paper":
            _fit_paper([self], train, held_out, constraints)
        else:
            self._fit_complete(train, held_out, constraints)

    def _fit_complete(
        self, train: TrainingSet, held_out: TrainingSet | None, constraints: tuple[Constraint, ...]
    ) -> None:
        from evenscore.scorers import complete_training

        self.features_ = FeatureScaling.fit(train.X, train.share, compress=self.compress)
        l2 = self._l2(train, self.l2)
        settings = complete_training.Settings(
            hidden=(64, 64) if self.hidden is None else tuple(self.hidden),
            learning_rate=3e-3 if self.learning_rate is None else self.learning_rate,
            batch_size=512 if self.batch_size is None else self.batch_size,
            n_iter=3000 if self.n_iter is None else self.n_iter,
            l2=(l2, l2 * min(1.0, _NEARLY_LINEAR / train.n_observations)),
        )
        best, reached = self._attempt(train, held_out, constraints, settings)
        if not reached:  # now and then training collapses; with smaller steps it does not
            history, self.history_ = self.history_, History()
            slower = replace(settings, learning_rate=settings.learning_rate / 3.0)
            other, reached = self._attempt(train, held_out, constraints, slower)
            if other.merit > best.merit:
                best = other
            else:
                self.history_ = history
        if not np.all(np.isfinite(best.iterate.linear)):
            raise ValueError("Training diverged: take a smaller learning_rate.")
        self.linear_, self.layers_ = best.iterate.linear, best.iterate.layers

    def _attempt(
        self,
        train: TrainingSet,
        held_out: TrainingSet | None,
        constraints: tuple[Constraint, ...],
        settings: Any,
    ) -> tuple[_Best, bool]:
        """Train once: the best iterate, and whether its gaps are near what is tolerated."""
        from evenscore.scorers import complete_training

        guards = self.guards and self.strength is None
        checked = None if held_out is None else held_out.objective(constraints)
        prepared = None if held_out is None else self._prepare(held_out.X)
        tolerance = self._tolerances(train.objective(constraints))
        best = _Best(None, -np.inf, np.inf)
        updates = complete_training.n_updates(settings.n_iter)

        with progress("NeuralScorer", updates, verbose=self.verbose) as advance:

            def keep(iterate: complete_training.Iterate) -> None:
                nonlocal best
                asked = slice(0, len(tolerance))
                strict = Strict(iterate.strict.auc, iterate.strict.gaps[asked])
                self.history_.add(iterate.objective, strict, iterate.multipliers[asked])
                beyond = np.abs(excess(strict.gaps, tolerance))
                worst = float(np.max(beyond, initial=0.0))
                advance(f"AUC {strict.auc:.4f}, worst gap beyond its tolerance {worst:.4f}")
                if self.strength is not None or len(self.history_) < 0.3 * updates:
                    # With a penalty the last one; otherwise the multipliers are on their way.
                    best = _Best(iterate, -np.inf, 0.0 if self.strength is not None else worst)
                    return
                merit = strict.auc - worst - float(beyond.sum())
                if checked is not None and prepared is not None:
                    score = prepared @ iterate.linear + forward(iterate.layers, prepared)
                    seen = checked.strict(score)
                    # A cell too small to be held out has no gap there, and no say.
                    total = float(np.nansum(np.abs(excess(seen.gaps, tolerance))))
                    merit = seen.auc - worst - total / max(1, len(tolerance))
                if merit >= best.merit:
                    best = _Best(iterate, merit, worst)

            complete_training.train(
                self._prepare(train.X),
                train,
                lambda rows: rows.objective(
                    constraints,
                    bandwidth=self.bandwidth,
                    guards=guards,
                    optimism=self._optimism,
                ),
                lambda objective: self._aims(objective, self.margin),
                AugmentedLagrangian(
                    strength=np.inf if self.strength is None else self.strength,
                    penalty=self._shared(8.0),
                    growth=1.0,
                    gain=0.1,
                ),
                settings,
                np.random.default_rng(seed_of(self.random_state)),
                keep,
            )
        return best, best.worst <= _COLLAPSED

    def _prepare(self, X: Any) -> Floats:
        return np.asarray(self.features_.transform(X) - self.features_.mean)

    def _raw_score(self, X: Any) -> Floats:
        prepared = self._prepare(X)
        return np.asarray(prepared @ self.linear_ + forward(self.layers_, prepared))


@dataclass(frozen=True, eq=False)
class _Best:
    """An iterate, how good it is, and its worst gap beyond the tolerance."""

    iterate: Any
    merit: float
    worst: float


def _fit_paper(
    scorers: list[NeuralScorer],
    train: TrainingSet,
    held_out: TrainingSet | None,
    constraints: tuple[Constraint, ...],
) -> None:
    """Algorithms 1 and 2, for scorers that differ in strength, l2 and random state only."""
    from evenscore.scorers import paper_training

    if held_out is None:
        raise ValueError("mode='paper' needs a validation_fraction above 0: updates look there.")
    empty = np.flatnonzero(np.bincount(held_out.cell, minlength=2 * len(held_out.groups)) == 0)
    if constraints and len(empty):
        name = held_out.grouped(np.zeros(len(held_out))).cell_name(int(empty[0]))
        raise ValueError(
            f"There are too few {name} to hold some out, and mode='paper' must look at them."
        )
    first, d = scorers[0], train.X.shape[1]
    features = FeatureScaling.fit(train.X, train.share, compress=False)
    for scorer in scorers:
        scorer.features_ = features
    settings = paper_training.PaperSettings(
        hidden=(d, d) if first.hidden is None else tuple(first.hidden),
        learning_rate=1e-3 if first.learning_rate is None else first.learning_rate,
        batch_size=100 if first.batch_size is None else first.batch_size,
        n_pairs=first.n_pairs,
        n_iter=20_000 if first.n_iter is None else first.n_iter,
        update_every=first.update_every,
        multiplier_step=first.multiplier_step,
        threshold_step=first.threshold_step,
    )
    fits = [
        paper_training.Fit(
            0.0 if scorer.strength is None else scorer.strength,
            0.05 if scorer.l2 is None else scorer.l2,
            int(np.random.default_rng(seed_of(scorer.random_state)).integers(2**31)),
        )
        for scorer in scorers
    ]
    checked = held_out.objective(constraints)
    updates = -(-settings.n_iter // settings.update_every)
    with progress("NeuralScorer", updates * len(fits), verbose=first.verbose) as advance:

        def keep(update: paper_training.Update) -> None:
            strict, multipliers = update.strict, update.multipliers
            gap_cost = float(multipliers @ strict.gaps)
            scorers[update.fit].history_.add(1.0 - strict.auc + gap_cost, strict, multipliers)
            advance(f"AUC {strict.auc:.4f}")

        trained = paper_training.train(
            first._prepare(train.X),
            train.cell,
            train.weight,
            first._prepare(held_out.X),
            checked,
            settings,
            fits,
            keep,
        )
    for scorer, layers in zip(scorers, trained, strict=True):
        scorer.layers_, scorer.linear_ = layers, np.zeros(d)
