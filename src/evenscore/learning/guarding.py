"""A fair score beside the same scorer without constraints: which is kept, and what it costs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evenscore.learning.cross_fitting import learn_on
from evenscore.learning.price import Price
from evenscore.learning.task import Choice, History, Task, TrainingScores
from evenscore.learning.training_set import TrainingSet
from evenscore.repairing.fitting import RepairSettings, find_maps
from evenscore.repairing.maps import apply_by_group
from evenscore.scores.arrays import Floats

if TYPE_CHECKING:
    from evenscore.learning.base import FairScorer

_REPAIRED_ROWS = 65_536  # on which the score without constraints is repaired, at most


def compared(
    scorer: FairScorer, train: TrainingSet, task: Task, history: History
) -> TrainingScores:
    """What a learner did not do: learn without constraints, and with Kamiran and Calders' weights.

    Where one of the two is better than what was learned, the scorer becomes it.
    """
    objective = task.objective(train)
    choice = Choice(task.allowances(objective), task.strengths(objective))
    nothing = np.zeros(len(objective.terms.tolerance))
    final = scorer.raw_score(train.X)
    strict = objective.strict(final)
    best, merit = len(history), choice.merit_of(strict)[1]
    history.add(1.0 - strict.auc, strict, nothing)
    free = replace(task, constraints=(), strength=None, optimism=0.0)
    first = final
    for stage, rows in (("without constraints", train), ("reweighed", train.reweighed())):
        other = learn_on(scorer, rows, free)
        raw = other.raw_score(train.X)
        strict = objective.strict(raw)
        history.add(1.0 - strict.auc, strict, nothing, stage)  # type: ignore[arg-type]
        first = raw if stage == "without constraints" else first
        if choice.merit_of(strict)[1] > merit:
            best, merit, final = len(history) - 1, choice.merit_of(strict)[1], raw
            scorer.become(other)
    history.chosen = best
    return TrainingScores(first, final)


def price_of(
    scores: TrainingScores, final: Floats, train: TrainingSet, task: Task, *, aware: bool = False
) -> Price:
    """What the constraints cost; `aware` scorers know the group already."""
    objective = task.objective(train)
    before, after = objective.reported(scores.free), objective.reported(final)
    repaired, left = (None if aware else _repaired(scores.free, train, task)) or (None, None)
    return Price(
        before.auc,
        after.auc,
        _largest(before.gaps),
        _largest(after.gaps),
        repaired,
        left,
        "on the training rows",
    )


def _largest(gaps: Floats) -> float:
    sizes = np.abs(gaps)
    return float(np.nanmax(sizes)) if np.any(np.isfinite(sizes)) else float("nan")


def _repaired(free: Floats, train: TrainingSet, task: Task) -> tuple[float, float] | None:
    """AUC and largest gap of a score with one increasing map per group; None if none is known."""
    rows = replace(train, X=free[:, None]).sampled(_REPAIRED_ROWS)
    score = np.ascontiguousarray(rows.X[:, 0])
    try:  # all the way, which is found more quickly than a repair that stops at a tolerance
        _, solution = find_maps(rows.grouped(score), task.constraints, RepairSettings())
    except ValueError:  # a family that no map is known to close, or cells too small for one
        return None
    strict = task.objective(train).reported(apply_by_group(free, train.codes, solution.maps))
    return strict.auc, _largest(strict.gaps)
