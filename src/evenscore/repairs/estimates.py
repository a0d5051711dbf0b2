"""Gaps with intervals, before and after the maps, at a cost that suits ten million rows."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from evenscore.constraints import Constraint
from evenscore.distributions import Distribution
from evenscore.inference.estimate import Estimate
from evenscore.inference.gaps import constraint_estimates
from evenscore.repairs.maps import IncreasingMap, apply_by_group
from evenscore.scores import GroupedScores

__all__ = ["estimates", "remembering", "repaired_scores"]


class _Remembered(Distribution):
    """A sample that finds out only once what intervals ask it some hundred times."""

    @cached_property
    def is_tied(self) -> bool:
        if self.counts is not None and bool((self.counts != 1.0).any()):
            return True
        return bool((self.values[1:] == self.values[:-1]).any())

    @cached_property
    def effective_size(self) -> float:
        if self.counts is None and self.weights.strides == (0,):
            return float(len(self.values))
        return super().effective_size

    @cached_property
    def n_observations(self) -> float:
        return super().n_observations


def remembering(scores: GroupedScores) -> GroupedScores:
    """The same table, whose cells remember whether they are tied and what they are worth."""
    columns = ("values", "weights", "counts", "squares")
    scores.__dict__["cell_distributions"] = [
        _Remembered(*(getattr(cell, name) for name in columns))
        for cell in scores.cell_distributions
    ]
    return scores


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


def estimates(
    scores: GroupedScores, constraints: Iterable[Constraint], confidence_level: float
) -> tuple[Estimate, ...]:
    """Every gap with its interval."""
    found = constraint_estimates(
        remembering(scores), constraints, confidence_level=confidence_level
    )
    return tuple(found)
