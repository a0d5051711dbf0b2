"""The trees of the boosted scorer: which attempts are grown, and which of them is kept."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenscore.learning.boosters import Booster, TreeSettings
from evenscore.learning.boosting import (
    EVERY,
    Gradient,
    HeldOut,
    Likelihood,
    OwnPull,
    TreeChoice,
    likely_rounds,
)
from evenscore.learning.multipliers import AugmentedLagrangian, excess, shared
from evenscore.learning.objective import Objective
from evenscore.learning.task import Look, Stage, Task
from evenscore.learning.training_set import TrainingSet
from evenscore.scores.arrays import Floats

# benchmarks/constants.py halves and doubles each of them, on splits of German and COMPAS.
_PENALTY = 16.0  # of the augmented Lagrangian: 8 and 32 are within noise
_GAIN, _MOST = 0.25, 0.5  # of an update in 200 rounds, more in fewer: twice that leaves gaps
_HOLD = 0.97  # a multiplier waits while its gap falls by 3 % per update; without, gaps are larger
_MANY_TERMS = 16.0  # of a pair of groups, from which on the pull of rows counts twice
_FAILED = 0.02  # a gap so far beyond what is allowed asks for another attempt


@dataclass(eq=False)
class Growth:
    """Attempts that share their first trees; whatever is looked at is offered to one choice."""

    task: Task
    train: TrainingSet
    objective: Objective
    settings: TreeSettings
    rounds: int
    margin: float
    held_out: HeldOut | None
    advance: Callable[[str], None]
    free: Floats | None = field(default=None, init=False)  # scores without constraints
    _text: str = field(default="", init=False)

    def __post_init__(self) -> None:
        task, objective = self.task, self.objective
        self.choice = TreeChoice(task.allowances(objective), task.strengths(objective))
        self.start = likely_rounds(len(self.train), self.rounds)
        self.aim = task.aims(objective, self.margin)

    def run(self, trunk: Booster, beaten: Collection[Stage] = ()) -> TreeChoice:
        """Grow from no tree; gives the best that was seen, but of stages known to be beaten."""
        self.choice.beaten = frozenset(beaten)
        self._grow(trunk, Likelihood(self.train, self.rounds), self.start)
        if not self.task.constraints:  # a fork, as beside constraints: the same score
            self._likely(trunk.fork() or trunk, self.train, "without constraints")
            return self.choice
        branch = trunk.fork()
        if branch is None:  # a library that cannot: the price then takes another fit
            self._constrained(trunk, "learning")
            return self.choice
        look = self._likely(branch, self.train, "without constraints")
        self.free = branch.training_scores()
        aims = self.objective.terms.of_owners(np.where(self.objective.terms.asked, self.aim, 0.0))
        if self.task.strength is None and np.all(np.abs(look.strict.gaps) <= aims):
            return self.choice
        self._likely(_forked(trunk), self.train.reweighed(), "reweighed")
        self._constrained(_forked(trunk), "learning")
        if self._failed() and "restart" not in beaten:
            beyond = excess(look.strict.terms, self.aim)
            first = float(np.max(np.abs(beyond), initial=0.0))
            self._constrained(_forked(trunk), "restart", level=first)
        return self.choice

    def stages(self, trunk: Booster) -> dict[Stage, tuple[Booster, int, Floats]]:
        """The score without constraints, the reweighed one, and the best constrained one.

        Each as a booster, how many trees of it, and the scores of its training rows; nothing of a
        library that cannot fork.
        """
        self._grow(trunk, Likelihood(self.train, self.rounds), self.start)
        best: dict[Stage, tuple[Booster, int, Floats]] = {}
        for stage in ("without constraints", "reweighed", "learning"):
            branch = trunk.fork()
            if branch is None:
                return {}
            self.choice = TreeChoice(self.choice.allowance, self.choice.strength)
            if stage == "learning":
                self._constrained(branch, "learning")
            else:
                rows = self.train if stage == "without constraints" else self.train.reweighed()
                self._likely(branch, rows, stage)
            assert self.choice.booster is not None
            assert self.choice.raw is not None
            kept = self.choice.booster, self.choice.n_trees, self.choice.raw
            best[stage] = kept
        return best

    def _failed(self) -> bool:
        """Whether the best so far is far beyond what is allowed, or no better than chance."""
        history, chosen = self.choice.history, self.choice.history.chosen
        assert chosen is not None
        if history.auc[chosen] < 0.5:
            return True
        allowed = np.maximum(self.choice.allowance, self.task.chances(self.objective))
        beyond = np.nan_to_num(np.abs(excess(history.gaps[chosen], allowed)))
        return self.task.strength is None and bool(np.max(beyond, initial=0.0) > _FAILED)

    # ------------------------------------------------------------------ one attempt

    def _grow(self, booster: Booster, slopes: Any, rounds: int) -> None:
        """Some rounds; those that find no split end the growth unless the next may find one."""
        for _ in range(rounds):
            grown = booster.grow(slopes)
            self.advance(self._text)
            if not grown and not self.settings.random:
                return

    def _likely(self, booster: Booster, rows: TrainingSet, stage: Stage) -> Look:
        """The remaining rounds along the likelihood of (weighted) rows."""
        slopes = Likelihood(rows, self.rounds, self.start)
        left = self.rounds - self.start
        held_out = None if self.held_out is None else self.held_out.afresh()
        # Rows held out choose the number of trees; the training rows would choose the last.
        steps = (
            [left] if held_out is None else np.diff(np.arange(0, left + EVERY, EVERY).clip(0, left))
        )
        for rounds in steps:
            self._grow(booster, slopes, int(rounds))
            raw = booster.training_scores()
            strict = self.objective.strict(raw)
            look = Look(1.0 - strict.auc, strict, np.zeros(len(strict.gaps)), stage)
            self._consider(booster, look, raw, None, held_out)
        return look

    def _constrained(self, booster: Booster, stage: Stage, level: float = 0.0) -> None:
        """The remaining rounds along the objective, the multipliers following the strict gaps."""
        rounds = self.rounds - self.start
        rule = AugmentedLagrangian(
            strength=self.task.bounds(self.objective),
            penalty=shared(_PENALTY, len(self.train.groups)),
            growth=1.0,
            gain=min(_MOST, _GAIN * max(1.0, 200.0 / max(1, self.rounds))),
            hold=_HOLD,
        )
        n_groups = len(self.train.groups)
        terms = int(self.objective.terms.asked.sum()) * 2 / (n_groups * (n_groups - 1))
        times = 1.0 + min(1.0, terms / _MANY_TERMS)
        nothing = np.zeros(len(self.train))
        own = OwnPull(self.settings.learning_rate, self.settings.l2, times, nothing)
        gradient = Gradient(
            self.train, self.objective, rule, self.aim, rounds, own, stage=stage, level=level
        )
        held_out = None if self.held_out is None else self.held_out.afresh()
        leaves: list[Floats | None] = [None]

        def slopes(raw: Floats) -> tuple[Floats, Floats]:
            if leaves[0] is not None:
                own.note(raw, leaves[0])
            answer = gradient(raw)
            if gradient.look is not None:  # at the trees before this one
                self._consider(booster, gradient.look, raw, own, held_out)
            return answer

        for _ in range(rounds):
            grown = booster.grow(slopes)
            leaves[0] = booster.last_leaves() if grown else None
            self.advance(self._text)
            if not grown and not self.settings.random:
                break
        raw = booster.training_scores()
        if leaves[0] is not None:
            own.note(raw, leaves[0])
        gradient.evaluate(raw, closely=True)
        assert gradient.look is not None
        self._consider(booster, gradient.look, raw, own, held_out)

    def _consider(
        self,
        booster: Booster,
        look: Look,
        raw: Floats,
        own: OwnPull | None,
        held_out: HeldOut | None,
    ) -> None:
        self._text = self.choice.consider(booster, look, raw, own, held_out)


def _forked(booster: Booster) -> Booster:
    """A fork of a booster that can."""
    branch = booster.fork()
    assert branch is not None
    return branch
