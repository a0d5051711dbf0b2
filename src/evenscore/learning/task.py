"""The two ends of learning: what a scorer is asked to do, and what it reports of having done it."""

from dataclasses import dataclass, field
from typing import final

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
    strength : float, optional
        The penalty λ of AUC − λ Σ |gap|; None if gaps have to be within their tolerance.
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
    strength: float | None = None
    optimism: Floats | float = 0.0

    @property
    def bound(self) -> float:
        """Of the multipliers: the strength; a tolerance is a hard constraint."""
        return np.inf if self.strength is None else self.strength

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

    def aims(self, objective: Objective, margin: float) -> Floats:
        """The gaps aimed at, of every term: less than tolerated, by guards two errors more."""
        own = objective.terms.term_tolerance
        tolerance = np.where(np.isnan(own), self.default_tolerance, own)
        if self.strength is not None:
            return tolerance
        aim = np.maximum(tolerance - margin, 0.0)
        noise = _GUARD_ERRORS * objective.standard_errors()
        return np.where(objective.terms.asked, aim, aim + noise)


@final
@dataclass
class History:
    """What happened while a scorer learned, one entry per update of the multipliers.

    `gaps` are strict ones, with what they are known to grow by on new rows, if anything; like
    `multipliers` they are in the order of the scorer's `gap_names_`. Of a gap over a range of cuts,
    which has a multiplier for each of several, it is the largest of them. `settled` says whether
    learning ended because nothing got better any more; None if the learner does not know.
    """

    objective: list[float] = field(default_factory=list)
    auc: list[float] = field(default_factory=list)
    gaps: list[Floats] = field(default_factory=list)
    multipliers: list[Floats] = field(default_factory=list)
    settled: bool | None = None

    def __len__(self) -> int:
        return len(self.objective)

    def add(self, objective: float, strict: Strict, multipliers: Floats) -> None:
        """One more entry; the multipliers are those of the gaps asked for."""
        self.objective.append(float(objective))
        self.auc.append(strict.auc)
        self.gaps.append(strict.gaps.copy())
        self.multipliers.append(multipliers.copy())


@dataclass(frozen=True, eq=False)
class Look:
    """What a look at an iterate has shown, and the multipliers of the gaps asked for after it."""

    objective: float
    strict: Strict
    multipliers: Floats


@dataclass(eq=False)
class Choice:
    """How good iterates are, by the training rows or by rows held out; a learner keeps the best."""

    tolerance: Floats  # of the gaps asked for
    strength: float | None
    history: History = field(default_factory=History, init=False)
    merit: float = field(default=-np.inf, init=False)

    def note(self, look: Look, new: Strict | None) -> tuple[float, float]:
        """Note an iterate: how far its worst gap is beyond its tolerance, and its merit, in AUC.

        The worst training gap counts twice, for itself and in the sum of all; with rows held out
        the AUC is theirs, and in place of the sum comes the mean of what their gaps are beyond.
        `new` are AUC and gaps on rows held out; a cell too small to be held out has no say there.
        """
        self.history.add(look.objective, look.strict, look.multipliers)
        beyond = np.abs(excess(look.strict.gaps, self.tolerance))
        worst = float(np.max(beyond, initial=0.0))
        if new is None:
            return worst, look.strict.auc - worst - float(beyond.sum())
        left = float(np.nansum(np.abs(excess(new.gaps, self.tolerance))))
        if self.strength is not None:
            return worst, new.auc - self.strength * left
        return worst, new.auc - worst - left / max(1, len(self.tolerance))
