"""A sample after the maps: its gaps with intervals, and whether scores have become equal."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from evenscore.constraints import Constraint
from evenscore.inference.estimate import Estimate
from evenscore.inference.gaps import constraint_estimates
from evenscore.repairs.maps import IncreasingMap, apply_by_group
from evenscore.scores import GroupedScores

__all__ = ["estimates", "merged_values", "repaired_scores"]


def repaired_scores(scores: GroupedScores, maps: tuple[IncreasingMap, ...]) -> GroupedScores:
    """The table of scores after the maps."""
    codes = scores.cell % scores.n_groups
    mapped = apply_by_group(scores.score, codes, maps)
    positive = scores.cell >= scores.n_groups
    if scores.weight.strides == (0,):  # one observation a row
        return GroupedScores._build(mapped, positive, codes.astype(np.intp), scores.groups)
    return GroupedScores._build(
        mapped,
        positive,
        codes.astype(np.intp),
        scores.groups,
        weight=scores.weight,
        count=scores.count,
        weight_squared=scores.weight_squared,
    )


def merged_values(before: GroupedScores, after: GroupedScores) -> int:
    """How many distinct scores of a group are no longer distinct after the maps.

    An increasing map does that in floating point only, where it squeezes scores together that
    differ by little more than the precision of doubles, as saturated probabilities do.
    """
    return _distinct(before) - _distinct(after)


def _distinct(scores: GroupedScores) -> int:
    """Number of distinct pairs of a score and a group."""
    tied = np.flatnonzero(scores.score[1:] == scores.score[:-1])
    rows = np.union1d(tied, tied + 1)  # the others are alone with their score
    level = np.cumsum(np.diff(scores.score[rows], prepend=np.nan) != 0.0)
    group = scores.cell[rows].astype(np.intp) % scores.n_groups
    return len(scores) - len(rows) + len(np.unique(level * scores.n_groups + group))


def estimates(
    scores: GroupedScores, constraints: Iterable[Constraint], confidence_level: float
) -> tuple[Estimate, ...]:
    """Every gap with its interval."""
    return tuple(constraint_estimates(scores, constraints, confidence_level=confidence_level))
