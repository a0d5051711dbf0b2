"""What all scorers share: checking, groups, tolerances, diagnostics, the scikit-learn interface."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Hashable, Iterable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from evenscore.constraints import Constraint, RocConstraint, as_constraints
from evenscore.distributions import Distribution
from evenscore.inference.estimate import Estimate, gap_title
from evenscore.inference.gaps import constraint_estimates
from evenscore.labels import label_text
from evenscore.learning.multipliers import excess
from evenscore.learning.objective import Objective
from evenscore.scorers.cross_fitting import cross_fit, learn_on
from evenscore.scorers.history import History
from evenscore.scorers.training_set import TrainingSet, group_codes, two_classes
from evenscore.scorers.verdicts import SLACK, Verdict, judge, worst
from evenscore.scores import GroupedScores

__all__ = ["ConstraintLike", "FairScorer", "cut_at_prevalence", "seed_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
ConstraintLike = str | Constraint | Iterable[str | Constraint]

DEFAULT_TOLERANCE = 0.02
_GUARD_ERRORS = 2.0  # standard errors that a guard leaves, beside what is tolerated


class FairScorer(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the scorers; a subclass says how to learn (`_learn`) and to score (`_raw_score`).

    After `fit`: `classes_`, `groups_`, `n_features_in_` (and `feature_names_in_`), `intercept_`,
    `gap_names_`, `history_`, `gaps_` (a dictionary: "train" and, if rows were held out,
    "validation", or, if asked for, "cross_fit", each a list of estimates with intervals),
    `converged_` (in training, what is known to return on new rows included) and, with a tolerance,
    `verdicts_`: for every gap, whether it was reached on rows not trained on, and if not, why. To
    find out why the worst gap was not reached in training, it is tried without the others: one
    more fit.
    """

    _accept_sparse: ClassVar[bool] = False
    _allow_nan: ClassVar[bool] = False

    constraints: ConstraintLike
    tolerance: float | None
    strength: float | None
    validation_fraction: float
    cross_fit: int = 0
    random_state: Any
    _optimism: Floats | float

    # ------------------------------------------------------------------ fitting

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn a score that ranks the second of the two classes above the first.

        `sensitive_features` (a vector, or several columns whose intersections are the groups) is
        needed to fit with constraints and never to score. A row with a sample weight of two counts
        as two rows.
        """
        self._check_parameters()
        constraints = tuple(as_constraints(self.constraints))
        data = self._training_set(X, y, sensitive_features, sample_weight, constraints)
        train, held_out = self._hold_out(data)
        self._begin(data, constraints)
        looked = self._look_ahead(data, constraints)
        self._learn(train, held_out, constraints)
        self._finish(data, train, held_out, constraints, looked)
        return self

    def _look_ahead(
        self, data: TrainingSet, constraints: tuple[Constraint, ...]
    ) -> list[Estimate] | None:
        """The gaps on rows not trained on, if asked for; what they say is allowed for."""
        folds = self.cross_fit
        if not folds or not constraints:
            return None
        objective = data.objective(constraints)
        terms = objective.terms
        looked_at = np.unique(np.concatenate([terms.cells(k) for k in range(len(terms))]))
        counts = np.bincount(data.cell, minlength=2 * len(data.groups))
        few = int(looked_at[np.argmin(counts[looked_at])])
        if counts[few] < folds:
            name = data.grouped(np.zeros(len(data))).cell_name(few)
            raise ValueError(
                f"cross_fit={folds} needs {folds} rows of every class and group compared, but "
                f"there are {counts[few]} {name}."
            )
        tolerance = self._tolerances(objective)
        found = cross_fit(
            self,
            data,
            constraints,
            int(folds),
            tolerance if self.strength is None else None,
            np.random.default_rng(seed_of(self.random_state)),
        )
        self._optimism = found.optimism
        return found.gaps

    def _begin(self, data: TrainingSet, constraints: tuple[Constraint, ...]) -> None:
        self.__dict__.pop("converged_", None)
        self._optimism = 0.0
        self.history_ = History()
        self.gap_names_ = _gap_names(constraints, data.groups)

    def _finish(
        self,
        data: TrainingSet,
        train: TrainingSet,
        held_out: TrainingSet | None,
        constraints: tuple[Constraint, ...],
        looked: list[Estimate] | None = None,
    ) -> None:
        raw = self._raw_score(data.X)
        self.intercept_ = -cut_at_prevalence(raw, data)
        try:
            scores = raw if train is data else self._raw_score(train.X)
            self._diagnose(train, scores, held_out, constraints, looked)
        finally:
            del self._optimism

    @abstractmethod
    def _learn(
        self, train: TrainingSet, held_out: TrainingSet | None, constraints: tuple[Constraint, ...]
    ) -> None:
        """Set the attributes that `_raw_score` needs; fill `history_`."""

    @abstractmethod
    def _raw_score(self, X: Any) -> Floats:
        """Scores of validated features."""

    def _check_parameters(self) -> None:
        self._check_number("tolerance", 0.0, optional=True)
        self._check_number("strength", 0.0, optional=True)
        self._check_count("cross_fit", 0)
        if self.cross_fit == 1:
            raise ValueError("cross_fit must be 0 or at least 2 folds, not 1.")
        share = self._validation_share(0)
        if not isinstance(share, Real) or not 0.0 <= float(share) < 1.0:
            raise ValueError(f"validation_fraction must be at least 0 and below 1, not {share!r}.")

    def _check_number(
        self,
        name: str,
        least: float,
        most: float = np.inf,
        *,
        above: bool = False,
        optional: bool = False,
    ) -> None:
        """Refuse a parameter that is not a finite number within its range."""
        value = getattr(self, name)
        if optional and value is None:
            return
        fine = isinstance(value, Real) and least <= float(value) <= most
        if fine and np.isfinite(float(value)) and not (above and value == least):
            return
        told = f"above {least:g}" if above else f"of at least {least:g}"
        upper = "" if most == np.inf else f" and at most {most:g}"
        raise ValueError(f"{name} must be a finite number {told}{upper}, not {value!r}.")

    def _check_count(self, name: str, least: int = 1, *, optional: bool = False) -> None:
        """Refuse a parameter that is not a whole number, or too small."""
        value = getattr(self, name)
        if optional and value is None:
            return
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}.")

    def _validation_share(self, n: int) -> float:
        """The share of n rows to hold out."""
        return self.validation_fraction

    def _accepted(self) -> dict[str, Any]:
        """What `validate_data` lets through."""
        return {
            "accept_sparse": "csr" if self._accept_sparse else False,
            "ensure_all_finite": "allow-nan" if self._allow_nan else True,
            "dtype": np.float64,
        }

    def _training_set(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        sample_weight: ArrayLike | None,
        constraints: tuple[Constraint, ...],
    ) -> TrainingSet:
        X, y = validate_data(self, X, y, **self._accepted())
        self.classes_ = two_classes(y)
        positive = y == self.classes_[1]
        codes, groups = group_codes(positive, sensitive_features, constraints)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            if not np.all(weight > 0.0):
                kept = weight > 0.0
                X, positive, codes, weight = X[kept], positive[kept], codes[kept], weight[kept]
        self.groups_ = groups
        data = TrainingSet(X, positive, codes, groups, weight)
        if positive.all() or not positive.any():
            raise ValueError("Rows of positive weight are of one class only.")
        if constraints:
            _require_cells(data, constraints)
        return data

    def _hold_out(self, data: TrainingSet) -> tuple[TrainingSet, TrainingSet | None]:
        """Training and held-out rows; the same share of every class and group, none left empty."""
        share = self._validation_share(len(data))
        if share == 0.0:
            return data, None
        rng = np.random.default_rng(seed_of(self.random_state))
        held = np.zeros(len(data), dtype=bool)
        for c in np.unique(data.cell):
            members = np.flatnonzero(data.cell == c)
            size = round(share * len(members))
            held[rng.permutation(members)[: min(max(size, 1), len(members) - 1)]] = True
        checked = data.rows(held)
        if checked.positive.all() or not checked.positive.any():
            return data, None
        return data.rows(~held), checked

    # ------------------------------------------------------------------ what may be left

    def _tolerances(self, objective: Objective) -> Floats:
        """The gap every term of an objective may leave."""
        default = self.tolerance
        if default is None:
            default = DEFAULT_TOLERANCE if self.strength is None else 0.0
        told = objective.terms.tolerance
        return np.where(np.isnan(told), default, told)

    def _aims(self, objective: Objective, margin: float) -> Floats:
        """The gaps aimed at: less than tolerated, by guards two standard errors more."""
        tolerance = self._tolerances(objective)
        if self.strength is not None:
            return tolerance
        aim = np.maximum(tolerance - margin, 0.0)
        noise = _GUARD_ERRORS * objective.standard_errors()
        return np.where(objective.terms.asked, aim, aim + noise)

    def _shared(self, penalty: float) -> float:
        """A penalty for two groups, shared out among the pairs that a group is compared in."""
        return penalty / max(1, len(self.groups_) - 1)

    def _l2(self, train: TrainingSet, told: float | None) -> float:
        """Weight of ½‖w‖²: as told, or 4d/n, more where data are few."""
        return 4.0 * train.X.shape[1] / train.n_observations if told is None else told

    # ------------------------------------------------------------------ diagnosis

    def _diagnose(
        self,
        train: TrainingSet,
        scores: Floats,
        held_out: TrainingSet | None,
        constraints: tuple[Constraint, ...],
        looked: list[Estimate] | None,
    ) -> None:
        self.gaps_ = {"train": constraint_estimates(train.grouped(scores), constraints)}
        if held_out is not None:
            new = held_out.grouped(self._raw_score(held_out.X))
            self.gaps_["validation"] = constraint_estimates(new, constraints)
        if looked is not None:
            self.gaps_["cross_fit"] = looked
        self.verdicts_: list[Verdict] = []
        if self.strength is not None:  # a penalty promises no gap
            if not hasattr(self, "converged_"):
                self.converged_ = self._settled(self.strength)
            return
        self.verdicts_ = self._verdicts(train, constraints)
        tolerance = np.array([verdict.tolerance for verdict in self.verdicts_])
        expected = np.array([gap.value for gap in self.gaps_["train"]]) + self._optimism
        self.converged_ = bool(np.all(np.abs(excess(expected, tolerance)) <= SLACK))
        missed = worst(self.verdicts_)
        if missed is not None:
            warnings.warn(
                f"{type(self).__name__} did not reach {missed.name}: the gap is "
                f"{missed.value:+.3f} {missed.where}, {missed.beyond:.3f} beyond the tolerance of "
                f"{missed.tolerance:g}; {missed.reason}.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _verdicts(self, train: TrainingSet, constraints: tuple[Constraint, ...]) -> list[Verdict]:
        """One for every gap; the gap furthest beyond its tolerance in training is tried alone."""
        objective = train.objective(constraints)
        tolerance = self._tolerances(objective)
        training = self.gaps_["train"]
        expected = np.array([gap.value for gap in training]) + self._optimism
        beyond = np.abs(excess(expected, tolerance))
        new = self.gaps_.get("cross_fit", self.gaps_.get("validation"))
        sizes = np.bincount(train.cell, minlength=objective.n_cells)
        names = train.grouped(np.zeros(len(train)))
        verdicts = []
        for k, name in enumerate(self.gap_names_):
            alone = None
            if beyond[k] > SLACK and beyond[k] == beyond.max() and len(beyond) > 1:
                alone = self._reached_alone(train, k, constraints, float(tolerance[k]))
            cells = objective.terms.cells(k)
            small = int(cells[np.argmin(sizes[cells])])
            verdicts.append(
                judge(
                    name,
                    float(tolerance[k]),
                    training[k],
                    None if new is None else new[k],
                    float(expected[k]),
                    (names.cell_name(small), float(sizes[small])),
                    alone=alone,
                )
            )
        return verdicts

    def _reached_alone(
        self,
        train: TrainingSet,
        number: int,
        constraints: tuple[Constraint, ...],
        tolerance: float,
    ) -> bool | None:
        """Whether a gap is reached if nothing else is asked; None if nothing else is."""
        gaps = self.gaps_["train"]
        gap = gaps[number]
        alike = [(g.name, g.on, g.rate) == (gap.name, gap.on, gap.rate) for g in gaps]
        if all(alike):
            return None
        asked: tuple[Constraint, ...]
        if gap.rate is not None and gap.on is not None:
            asked = (RocConstraint(on=gap.on, rates=(gap.rate,), tolerance=tolerance),)
        else:
            asked = tuple(c for c in constraints if c.name == gap.name)[:1]
        optimism = np.broadcast_to(self._optimism, len(gaps))[alike]
        if not asked or len(optimism) != len(train.objective(asked).terms):
            return None
        other = learn_on(self, train, asked, optimism)
        found = train.objective(asked, optimism=optimism).strict(other._raw_score(train.X)).gaps
        return bool(np.max(np.abs(found)) <= tolerance + SLACK)

    def _settled(self, strength: float) -> bool:
        """Whether AUC − strength · Σ|gap| has stopped rising; warn if not."""
        gaps = np.array(self.history_.gaps).reshape(len(self.history_), -1)
        merit = np.array(self.history_.auc) - strength * np.abs(gaps).sum(axis=1)
        tenth = len(merit) // 10
        if tenth and merit[-tenth:].mean() <= merit[-2 * tenth : -tenth].mean() + 5e-3:
            return True
        warnings.warn(
            f"{type(self).__name__} stopped while AUC − strength · |gaps| was still rising, or too "
            "soon to tell: train longer.",
            ConvergenceWarning,
            stacklevel=5,
        )
        return False

    # ------------------------------------------------------------------ scoring

    def decision_function(self, X: Any) -> Floats:
        """The score: the higher, the more likely the second class; no groups are needed."""
        check_is_fitted(self)
        X = validate_data(self, X, **self._accepted(), reset=False)
        return self._raw_score(X) + self.intercept_

    def predict(self, X: Any) -> NDArray[Any]:
        """The second class where the score is above 0.

        Zero is where as many training rows are predicted to be of the second class as are. For
        another threshold, cut `decision_function` yourself.
        """
        above = self.decision_function(X) > 0.0
        return np.asarray(self.classes_[above.astype(np.intp)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = self._accept_sparse
        tags.input_tags.allow_nan = self._allow_nan
        return tags


def seed_of(random_state: Any) -> Any:
    """What `numpy.random.default_rng` takes, from all that scikit-learn allows."""
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(0, 2**31 - 1)
    return random_state


def _require_cells(data: TrainingSet, constraints: tuple[Constraint, ...]) -> None:
    """Refuse rows on which a gap asked for cannot be computed, a class of a group being empty."""
    counts = np.bincount(data.cell, minlength=2 * len(data.groups))
    if np.all(counts):
        return
    scores = data.grouped(np.zeros(len(data)))
    for constraint in constraints:
        for gap in constraint.gaps(scores):
            if gap.reason is not None:
                raise ValueError(f"{gap.reason} to learn from.")


def cut_at_prevalence(raw: Floats, data: TrainingSet) -> float:
    """A threshold between two scores, above which lies the share of positives."""
    scores = Distribution.from_sample(raw, data.weight)
    prevalence = float(data.share[data.positive].sum())
    above = 1.0 - scores.cumulative / scores.total
    k = int(np.argmin(np.abs(above[:-1] - prevalence))) if len(scores) > 1 else 0
    return float(scores.values[k : k + 2].mean())


def _gap_names(constraints: tuple[Constraint, ...], groups: tuple[Hashable, ...]) -> list[str]:
    """A readable name of every gap, in the order of `constraint.gaps`."""
    n = len(groups)
    if not constraints:
        return []
    tiny = GroupedScores.from_arrays(
        np.repeat([0, 1], n),
        np.zeros(2 * n),
        sensitive_features=np.tile(np.arange(n), 2),
    )
    names = []
    for constraint in constraints:
        for gap in constraint.gaps(tiny):
            one, two = (label_text(groups[int(code)]) for code in (gap.first, gap.second))
            names.append(gap_title(gap.name, gap.rate, one, two))
    return names
