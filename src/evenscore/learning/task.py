"""The two ends of learning: what a scorer is asked to do, and what it reports of having done it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from evenscore.gaps import GapFamily
from evenscore.learning.objective import Objective, Strict
from evenscore.learning.training_set import TrainingSet
from evenscore.scores.arrays import Floats

DEFAULT_TOLERANCE = 0.02
TOLERANCES = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005)  # of a path: each half of the one before, or so
# Standard errors left to a guard: chance alone seldom moves it further. One or four were no better.
_GUARD_ERRORS = 2.0
# Standard errors that a gap between more than two groups may leave, whatever its tolerance: a gap
# between cells of a hundred people is closed further only by fitting noise, and the pairs of groups
# pull against each other. Of five groups with cells from 87 people the AUC was 0.45 without and
# 0.81 with, at smaller gaps.
_CHANCE_ERRORS = 1.0
# What the worst gap beyond what is allowed costs, in AUC, where iterates are compared: so much per
# unit, and so much for being beyond at all, which users asked not to be. With 5 per unit an AUC of
# 0.74 was given up for one of 0.55 to make a gap of 0.10 one of 0.06, neither being within 0.01.
WORTH, MISSED = 2.0, 0.15
SLACK = 1e-3
"""A training gap so little beyond what is allowed is within it."""
_BELOW_CHANCE = 10.0  # what an AUC below one half costs there: any other iterate is better


def excess(gaps: Floats, tolerance: Floats | float) -> Floats:
    """How far each gap is beyond ±tolerance, with its sign.

    >>> excess(np.array([0.03, -0.03, 0.01]), 0.02).round(3)
    array([ 0.01, -0.01,  0.  ])
    """
    return np.asarray(gaps - np.clip(gaps, -np.asarray(tolerance), tolerance))


@final
@dataclass(frozen=True, eq=False)
class Task:
    """What a scorer is asked to do: close gaps to a tolerance, or pay for them.

    Parameters
    ----------
    constraints : tuple of constraints
        What should be equal between groups.
    tolerance : float, optional
        The gap that a constraint without a tolerance of its own may leave: by default 0.02, and 0
        with a strength.
    strength : float or several, optional
        The penalty λ of AUC − λ Σ |gap|, one for all constraints or one for each; None if gaps have
        to be within their tolerance.

    Examples
    --------
    >>> from evenscore.gaps import as_constraints
    >>> rows = TrainingSet(np.zeros((4, 1)), np.array([True, True, False, False]),
    ...                    np.array([0, 1, 0, 1]), ("a", "b"), None)
    >>> task = Task(tuple(as_constraints(["bnsp", "bpsn"])))
    >>> objective = task.objective(rows)
    >>> task.tolerances(objective), task.aims(objective, margin=0.01)
    (array([0.02, 0.02]), array([0.01, 0.01]))
    """

    constraints: tuple[GapFamily, ...]
    tolerance: float | None = None
    strength: float | Sequence[float] | None = None

    def __post_init__(self) -> None:
        each = np.asarray(0.0 if self.strength is None else self.strength)
        if each.ndim and each.shape != (len(self.constraints),):
            raise ValueError(
                f"strength holds {each.size} numbers for {len(self.constraints)} constraints: give "
                "one for all, or one for each."
            )

    def strengths(self, objective: Objective) -> Floats | None:
        """The penalty of every gap asked for; None if gaps have to be within their tolerance."""
        if self.strength is None:
            return None
        each = np.broadcast_to(np.asarray(self.strength, dtype=np.float64), len(self.constraints))
        return objective.terms.by_constraint(each.tolist())

    def objective(
        self, rows: TrainingSet, *, bandwidth: float = 0.3, guards: bool = False
    ) -> Objective:
        """What is to be minimised on these rows; a penalty needs no guards."""
        return rows.objective(
            self.constraints,
            bandwidth=bandwidth,
            guards=guards and self.strength is None,
        )

    @property
    def default_tolerance(self) -> float:
        """The gap that a constraint without a tolerance of its own may leave."""
        if self.tolerance is not None:
            return self.tolerance
        return DEFAULT_TOLERANCE if self.strength is None else 0.0

    @property
    def of_families(self) -> list[float]:
        """The gap that each constraint may leave."""
        own = (one.tolerance for one in self.constraints)
        return [self.default_tolerance if each is None else each for each in own]

    def tolerances(self, objective: Objective) -> Floats:
        """The gap that every gap asked for may leave."""
        own = objective.terms.tolerance
        return np.where(np.isnan(own), self.default_tolerance, own)

    def chances(self, objective: Objective) -> Floats:
        """The gap that chance explains, of every gap asked for: a standard error."""
        errors = _CHANCE_ERRORS * np.nan_to_num(objective.standard_errors())
        return objective.terms.of_owners(errors)

    def allowances(self, objective: Objective) -> Floats:
        """The gap that every gap asked for may leave in training.

        Its tolerance; between more than two groups, what chance explains if that is more.
        """
        tolerance = self.tolerances(objective)
        if self.strength is not None or objective.n_groups <= 2:
            return tolerance
        return np.maximum(tolerance, self.chances(objective))

    def aims(self, objective: Objective, margin: float) -> Floats:
        """The gaps aimed at, of every term.

        Less than is tolerated by a margin, but between more than two groups no less than chance
        explains; two standard errors more are left to guards.
        """
        own = objective.terms.term_tolerance
        tolerance = np.where(np.isnan(own), self.default_tolerance, own)
        if self.strength is not None:
            return tolerance
        errors = np.nan_to_num(objective.standard_errors())
        chance = _CHANCE_ERRORS * errors if objective.n_groups > 2 else 0.0
        aim = np.maximum(tolerance - margin, chance)
        return np.where(objective.terms.asked, aim, aim + _GUARD_ERRORS * errors)


@final
@dataclass
class History:
    """What happened while a scorer learned, one entry per score that was looked at.

    `gaps` are strict ones, in the order of the scorer's `gaps_`, and so are `multipliers`, of a
    learner that has any. Of a gap over a range of cuts it is the largest of several. `chosen` is
    the number of the entry that was returned, if the learner says. `settled` says whether learning
    ended because nothing got better any more; None if the learner does not know.
    """

    objective: list[float] = field(default_factory=list)
    auc: list[float] = field(default_factory=list)
    gaps: list[Floats] = field(default_factory=list)
    multipliers: list[Floats] = field(default_factory=list)
    settled: bool | None = None
    chosen: int | None = None

    def __len__(self) -> int:
        return len(self.objective)

    def add(self, objective: float, strict: Strict, multipliers: Floats | None = None) -> None:
        """One more entry; the multipliers are those of the gaps asked for, if there are any."""
        self.objective.append(float(objective))
        self.auc.append(strict.auc)
        self.gaps.append(strict.gaps.copy())
        if multipliers is not None:
            self.multipliers.append(multipliers.copy())


@dataclass(eq=False)
class Choice:
    """Which iterate is the best, by the training rows.

    The best has the largest AUC less twice what its worst gap is beyond what is allowed, and less
    0.15 if it is beyond at all; with a strength, the largest AUC − Σ strength · |gap|. None that
    ranks below chance is better than one that does not. So no iterate is chosen that another one
    beats in both AUC and what the gaps cost. A gap that has no value counts as one of 1.
    """

    allowance: Floats  # of the gaps asked for
    strength: Floats | None
    history: History = field(default_factory=History, init=False)
    merit: float = field(default=-np.inf, init=False)

    def merit_of(self, strict: Strict) -> tuple[float, float]:
        """How far the worst gap is beyond what is allowed, and the merit, in AUC."""
        beyond = np.nan_to_num(np.abs(excess(strict.gaps, self.allowance)), nan=1.0)
        worst = float(np.max(beyond, initial=0.0))
        cost = WORTH * worst + MISSED * (worst > SLACK)
        if self.strength is not None:
            cost = float(self.strength @ beyond)
        return worst, strict.auc - cost - _BELOW_CHANCE * (strict.auc < 0.5)

    def better(self, objective: float, strict: Strict) -> bool:
        """Note an iterate; whether it is the best so far, which is kept in mind."""
        self.history.add(objective, strict)
        merit = self.merit_of(strict)[1]
        if not merit >= self.merit:
            return False
        self.merit, self.history.chosen = merit, len(self.history) - 1
        return True
