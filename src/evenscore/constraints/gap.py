"""The gap of a constraint between two groups, and what all constraints check alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real

import numpy as np

from evenscore.scores import ClassName, GroupedScores

__all__ = ["Gap", "check_tolerance", "undefined", "worst"]


@dataclass(frozen=True)
class Gap:
    """The gap of one constraint between two groups, signed.

    An AUC gap is what is said of `first` minus what is said of `second`. A ROC gap, which has `on`
    and `rate`, is the share of `second` above the cut minus that of `first`: positive where the
    second group scores higher. `value` is NaN when it cannot be computed, and `reason` says why.
    """

    name: str
    first: str
    second: str
    value: float
    words: str
    reason: str | None = None
    on: ClassName | None = None
    rate: float | None = None

    def __str__(self) -> str:
        return self.reason if self.reason is not None else self.words


def worst(gaps: Iterable[Gap]) -> Gap:
    """The gap of largest magnitude; one that could not be computed counts as the worst of all."""
    gaps = list(gaps)
    if not gaps:
        raise ValueError("There is no gap to choose from: a gap needs at least two groups.")
    undefined = [gap for gap in gaps if np.isnan(gap.value)]
    return undefined[0] if undefined else max(gaps, key=lambda gap: abs(gap.value))


def undefined(name: str, scores: GroupedScores, cells: list[int]) -> str:
    """Why a gap has no value: the cells that are empty."""
    return f"{name} is undefined: there are no {' and no '.join(map(scores.cell_name, cells))}"


def check_tolerance(tolerance: float | None) -> None:
    """Refuse a tolerance that is no gap."""
    if tolerance is None:
        return
    if not isinstance(tolerance, Real) or not 0.0 <= tolerance < 1.0:
        raise ValueError(f"tolerance must be at least 0 and below 1, not {tolerance!r}.")
