"""What happened while a scorer learned."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evenscore.learning.objective import Strict

__all__ = ["History"]

Floats = NDArray[np.float64]


@dataclass
class History:
    """What happened, one entry an update of the multipliers.

    `gaps` are strict ones, with what they are known to grow by on new rows, if anything; like
    `multipliers` they are in the order of the scorer's `gap_names_`.
    """

    objective: list[float] = field(default_factory=list)
    auc: list[float] = field(default_factory=list)
    gaps: list[Floats] = field(default_factory=list)
    multipliers: list[Floats] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.objective)

    def add(self, objective: float, strict: Strict, multipliers: Floats) -> None:
        """One more entry."""
        self.objective.append(float(objective))
        self.auc.append(strict.auc)
        self.gaps.append(strict.gaps.copy())
        self.multipliers.append(multipliers.copy())
