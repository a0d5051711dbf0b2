"""The rows behind an audit, kept in memory so that two scores of the same people can be paired."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["People"]


@dataclass(frozen=True, eq=False)
class People:
    """Label, score, group position and weight of every row, in the order given."""

    positive: NDArray[np.bool_]
    score: NDArray[np.float64]
    codes: NDArray[np.integer[Any]]
    groups: tuple[str, ...]
    weight: NDArray[np.float64] | None = None

    def differs(self, other: People) -> str:
        """Why the two are not the same people, row by row; nothing if they are."""
        n, m = len(self.score), len(other.score)
        if n != m:
            return f"one audit has {n:,} rows and the other {m:,}"
        if self.groups != other.groups:
            return "the groups are not the same, or not in the same order"
        for name, one, two in (
            ("label", self.positive, other.positive),
            ("group", self.codes, other.codes),
        ):
            rows = np.flatnonzero(one != two)
            if rows.size:
                return f"the {name} at row {rows[0]} is not the same"
        mine, theirs = (np.ones(n) if p.weight is None else p.weight for p in (self, other))
        rows = np.flatnonzero(mine != theirs)
        return f"the weight at row {rows[0]} is not the same" if rows.size else ""
