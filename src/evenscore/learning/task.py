"""The two ends of learning: what a scorer is asked to do, and what it reports of having done it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, final

import numpy as np

from evenscore.gaps import GapFamily
from evenscore.learning.multipliers import excess
from evenscore.learning.objective import Objective, Strict
from evenscore.learning.training_set import TrainingSet
from evenscore.scores.arrays import Floats

DEFAULT_TOLERANCE = 0.02
# Standard errors left to a guard: chance alone seldom moves it further. One or four are no better
# (benchmarks/constants.py).
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

Stage = Literal["without constraints", "reweighed", "learning", "restart"]


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
    optimism : array or float
        By how much each gap is known to be larger on new rows, signed.

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
    optimism: Floats | float = 0.0

    def __post_init__(self) -> None:
        each = np.asarray(0.0 if self.strength is None else self.strength)
        if each.ndim and each.shape != (len(self.constraints),):
            raise ValueError(
                f"strength holds {each.size} numbers for {len(self.constraints)} constraints: give "
                "one for all, or one for each."
            )

    def bounds(self, objective: Objective) -> Floats | float:
        """Of the multipliers of all terms: the strengths; a tolerance is a hard constraint."""
        if self.strength is None:
            return np.inf
        if isinstance(self.strength, Sequence | np.ndarray):
            return objective.terms.by_constraint(self.strength)[0]
        return float(self.strength)

    def strengths(self, objective: Objective) -> Floats | None:
        """The penalty of every gap asked for; None if gaps have to be within their tolerance."""
        if self.strength is None:
            return None
        each = np.broadcast_to(np.asarray(self.strength, dtype=np.float64), len(self.constraints))
        return objective.terms.by_constraint(each.tolist())[1]

    def objective(
        self, rows: TrainingSet, *, bandwidth: float = 0.3, guards: bool = False
    ) -> Objective:
        """What is to be minimised on these rows; a penalty needs no guards."""
        return rows.objective(
            self.constraints,
            bandwidth=bandwidth,
            guards=guards and self.strength is None,
            optimism=self.optimism,
        )

    @property
    def default_tolerance(self) -> float:
        """The gap that a constraint without a tolerance of its own may leave."""
        if self.tolerance is not None:
            return self.tolerance
        return DEFAULT_TOLERANCE if self.strength is None else 0.0

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
@dataclass(frozen=True, eq=False)
class TrainingScores:
    """Scores of the training rows that a learner has at hand, so that nobody makes them again.

    Parameters
    ----------
    free : array
        Without constraints.
    final : array, optional
        Of the scorer, as `raw_score` would give them.
    expected : array, optional
        Of the scorer, as they would be on new rows like these: without what a row has done to its
        own score. So are then the gaps in the history, of what was learned with constraints.
    """

    free: Floats
    final: Floats | None = None
    expected: Floats | None = None


@final
@dataclass
class History:
    """What happened while a scorer learned, one entry per update of the multipliers.

    `gaps` are strict ones, with what they are known to grow by on new rows, if anything; like
    `multipliers` they are in the order of the scorer's `gap_names_`. Of a gap over a range of cuts,
    which has a multiplier for each of several, it is the largest of them. `stage` says what an
    entry is of: the score "without constraints" and the "reweighed" one, which others are compared
    with, "learning" itself, and a "restart" where that had failed; `chosen` is the number of the
    entry that was returned, if the learner says; `beaten` that rows not trained on have shown what
    was learned to be worse in both AUC and gaps than one of those; `obstacle` why a tolerance was
    not reached, if the learner knows. `settled` says whether learning ended because nothing got
    better any more; None if the learner does not know.
    """

    objective: list[float] = field(default_factory=list)
    auc: list[float] = field(default_factory=list)
    gaps: list[Floats] = field(default_factory=list)
    multipliers: list[Floats] = field(default_factory=list)
    stage: list[Stage] = field(default_factory=list)
    settled: bool | None = None
    chosen: int | None = None
    beaten: bool = False
    obstacle: str = ""
    scores: TrainingScores | None = field(default=None, repr=False)  # until fit has used them
    notes: list[tuple[str, type[Warning]]] = field(default_factory=list, repr=False)  # likewise

    def __len__(self) -> int:
        return len(self.objective)

    def add(
        self, objective: float, strict: Strict, multipliers: Floats, stage: Stage = "learning"
    ) -> None:
        """One more entry; the multipliers are those of the gaps asked for."""
        self.objective.append(float(objective))
        self.auc.append(strict.auc)
        self.gaps.append(strict.gaps.copy())
        self.multipliers.append(multipliers.copy())
        self.stage.append(stage)

    def entries(self, *stages: Stage) -> list[int]:
        """The numbers of the entries of some stages."""
        return [number for number, stage in enumerate(self.stage) if stage in stages]

    @property
    def free_auc(self) -> float | None:
        """The AUC without constraints, if the learner has looked."""
        some = self.entries("without constraints")
        return self.auc[some[0]] if some else None

    def frontier(self, *stages: Stage) -> list[tuple[float, float]]:
        """AUC and size of the largest gap of the entries (of some stages) that no other beats.

        >>> history = History()
        >>> for auc, gap in ((0.8, 0.3), (0.7, 0.4), (0.7, 0.1)):
        ...     history.add(0.0, Strict(auc, np.zeros(0), np.array([gap])), np.zeros(1))
        >>> history.frontier()
        [(0.8, 0.3), (0.7, 0.1)]
        """
        numbers = self.entries(*stages) if stages else range(len(self))
        points = [(self.auc[k], float(np.max(np.abs(self.gaps[k]), initial=0.0))) for k in numbers]
        kept: list[tuple[float, float]] = []
        for auc, gap in sorted(points, key=lambda point: (-point[0], point[1])):
            if np.isfinite(gap) and (not kept or gap < kept[-1][1]):
                kept.append((auc, gap))
        return kept


@dataclass(frozen=True, eq=False)
class Look:
    """What a look at an iterate has shown, and the multipliers of the gaps asked for after it."""

    objective: float
    strict: Strict
    multipliers: Floats
    stage: Stage = "learning"


@dataclass(eq=False)
class Choice:
    """Which iterate is the best, by the training rows or by rows held out.

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
        worst = float(np.max(self._beyond(strict), initial=0.0))
        below = _BELOW_CHANCE * (strict.auc < 0.5)
        return worst, strict.auc - self.cost_of(strict) - below

    def cost_of(self, strict: Strict) -> float:
        """What the gaps cost, in AUC."""
        beyond = self._beyond(strict)
        if self.strength is not None:
            return float(self.strength @ beyond)
        worst = float(np.max(beyond, initial=0.0))
        return WORTH * worst + MISSED * (worst > SLACK)

    def _beyond(self, strict: Strict) -> Floats:
        return np.nan_to_num(np.abs(excess(strict.gaps, self.allowance)), nan=1.0)

    def note(self, look: Look, new: Strict | None = None) -> tuple[float, float]:
        """Note an iterate: how far its worst gap is beyond what is allowed, and its merit.

        With AUC and gaps on rows held out, `new`, the AUC is theirs, and of their gaps the mean of
        what is beyond counts too: single ones are noise. A cell too small to be held out has no say
        there.
        """
        self.history.add(look.objective, look.strict, look.multipliers, look.stage)
        worst, merit = self.merit_of(look.strict)
        if new is None:
            return worst, merit
        left = np.nan_to_num(np.abs(excess(new.gaps, self.allowance)))
        merit += new.auc - look.strict.auc
        if self.strength is not None:
            beyond = self._beyond(look.strict)
            return worst, merit + float(self.strength @ (beyond - left))
        return worst, merit - float(np.mean(left)) if len(left) else merit

    def better(self, merit: float) -> bool:
        """Whether the iterate just noted is the best so far; it is kept in mind if so."""
        if not merit >= self.merit:
            return False
        self.merit, self.history.chosen = merit, len(self.history) - 1
        return True
