"""The gaps a scorer is trained to close, one by one, as arrays.

A constraint asks for many gaps: one for each pair of groups, and for ROC constraints each class and
rate. Guards are gaps at rates around those asked for. A constraint met only at isolated rates may
leave the two distributions crossing steeply there; the sampling error of the gap is multiplied by
that slope, so the gap returns on new data. Constraining the neighbourhood too keeps the slope near
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from evenscore.constraints import AucConstraint, Constraint, RocConstraint
from evenscore.scores import CLASSES, GroupedScores, class_names

__all__ = ["Terms", "guard_rates", "with_guards"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_AROUND = (0.4, 0.8, 1.2, 1.6)
_NEAR = 0.1  # a guard nearer than this share of a rate to it is left out


def guard_rates(rates: Sequence[float]) -> tuple[float, ...]:
    """Rates around those asked for: 0.4, 0.8, 1.2 and 1.6 times each, counted from the nearer end.

    >>> [round(rate, 3) for rate in guard_rates((0.125, 0.25))]
    [0.05, 0.1, 0.15, 0.2, 0.3, 0.4]
    """
    found: list[float] = []
    for rate in rates:
        near = min(rate, 1.0 - rate)
        for factor in _AROUND:
            guard = near * factor if rate <= 0.5 else 1.0 - near * factor
            least = _NEAR * min(guard, 1.0 - guard)
            if all(abs(guard - other) > least for other in (*rates, *found)):
                found.append(guard)
    return tuple(sorted(found))


def with_guards(constraints: Sequence[Constraint]) -> list[Constraint]:
    """For every ROC constraint at given rates, one more at its guard rates.

    Constraints over an interval of rates guard themselves.
    """
    return [
        replace(constraint, rates=guard_rates(constraint.rates))
        for constraint in constraints
        if isinstance(constraint, RocConstraint)
        and constraint.interval is None
        and guard_rates(constraint.rates)
    ]


@dataclass(frozen=True, eq=False)
class Terms:
    """All gaps of some constraints, in the order of `constraint.gaps`.

    An AUC gap, at the positions `auc`, is Σ coefficients ∘ AUC matrix. A ROC gap, at the positions
    `roc`, compares two cells at a rate. `tolerance` is NaN where the constraint does not say.
    `asked` tells the constraints of the user from their guards.
    """

    constraints: tuple[Constraint, ...]
    coefficients: Floats  # of the AUC gaps, (A, 2K, 2K)
    rate: Floats  # NaN for AUC gaps
    first: Ints  # cells of a ROC gap; groups of an AUC gap
    second: Ints
    tolerance: Floats
    asked: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.rate)

    @property
    def roc(self) -> Ints:
        """Positions of the ROC gaps."""
        return np.flatnonzero(~np.isnan(self.rate))

    @property
    def auc(self) -> Ints:
        """Positions of the AUC gaps."""
        return np.flatnonzero(np.isnan(self.rate))

    @classmethod
    def of(
        cls, constraints: Sequence[Constraint], cell_weights: Floats, *, guards: bool = False
    ) -> Terms:
        """Terms of the constraints between the groups of a (2, K) table of cell weights."""
        n_groups = cell_weights.shape[1]
        pairs = list(combinations(range(n_groups), 2))
        around = with_guards(constraints) if guards else []
        rows: list[tuple[float, int, int, float, bool]] = []
        matrices: list[Floats] = []
        for number, constraint in enumerate([*constraints, *around]):
            told = np.nan if constraint.tolerance is None else constraint.tolerance
            asked = number < len(constraints)
            if isinstance(constraint, AucConstraint):
                for i, j in pairs:
                    rows.append((np.nan, i, j, told, asked))
                    matrices.append(constraint.coefficients(cell_weights, i, j))
                continue
            for on in class_names(constraint.on):
                offset = CLASSES.index(on) * n_groups
                for i, j in pairs:
                    for rate in constraint.rates:
                        rows.append((rate, offset + i, offset + j, told, asked))
        columns = [
            np.array([row[k] for row in rows], dtype=kind)
            for k, kind in enumerate((np.float64, np.intp, np.intp, np.float64, bool))
        ]
        coefficients = np.array(matrices).reshape(len(matrices), 2 * n_groups, 2 * n_groups)
        return cls((*constraints, *around), coefficients, *columns)

    def need(self, cells: Ints) -> NDArray[np.bool_]:
        """Which gaps cannot be computed without some of these cells."""
        needed = np.isin(self.first, cells) | np.isin(self.second, cells)
        used = self.coefficients[:, cells, :].any(axis=(1, 2))
        used |= self.coefficients[:, :, cells].any(axis=(1, 2))
        needed[self.auc] = used
        return needed

    def cells(self, term: int) -> Ints:
        """The cells that one gap looks at."""
        if not np.isnan(self.rate[term]):
            return np.array([self.first[term], self.second[term]])
        used = self.coefficients[int(np.searchsorted(self.auc, term))]
        return np.flatnonzero(used.any(axis=0) | used.any(axis=1))

    def strict(self, scores: GroupedScores) -> Floats:
        """The exact gaps, by the very functions an audit calls."""
        gaps = [gap.value for constraint in self.constraints for gap in constraint.gaps(scores)]
        return np.array(gaps, dtype=np.float64)
