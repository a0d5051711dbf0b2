"""AUC equalities beyond the catalogue: between any mixtures of cells, or of elementary gaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenscore.catalogue import Mixtures
from evenscore.measures import ELEMENTARY, four_cells

__all__ = ["Combination", "Equality"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Equality:
    """AUC_{αᵀD, βᵀD} − AUC_{α'ᵀD, β'ᵀD}, D = (H⁰, H¹, G⁰, G¹) of the two groups compared."""

    alpha: tuple[float, ...]
    beta: tuple[float, ...]
    alpha_prime: tuple[float, ...]
    beta_prime: tuple[float, ...]

    def mixtures(self, cell_weights: Floats, first: int, second: int) -> list[Mixtures]:
        """(reference, target) of the two AUCs compared, as proportions of the cells."""
        n_groups = cell_weights.shape[1]
        vectors = np.zeros((4, 2 * n_groups))
        vectors[:, four_cells(n_groups, first, second)] = [
            self.alpha,
            self.beta,
            self.alpha_prime,
            self.beta_prime,
        ]
        return [(vectors[0], vectors[1]), (vectors[2], vectors[3])]

    def sides(self, cell_weights: Floats, first: int, second: int) -> tuple[Floats, Floats]:
        """Coefficients of the two AUCs over the AUC matrix."""
        left, right = (np.outer(*pair) for pair in self.mixtures(cell_weights, first, second))
        return left, right


@dataclass(frozen=True)
class Combination:
    """Γ₁C₁ + … + Γ₅C₅ of the two groups compared."""

    gap_weights: tuple[float, ...]

    def sides(self, cell_weights: Floats, first: int, second: int) -> tuple[Floats, Floats]:
        """Its positive and its negative part."""
        n_groups = cell_weights.shape[1]
        cells = four_cells(n_groups, first, second)
        full = np.zeros((2 * n_groups, 2 * n_groups))
        full[np.ix_(cells, cells)] = np.tensordot(self.gap_weights, ELEMENTARY, axes=1)
        return np.maximum(full, 0.0), np.maximum(-full, 0.0)

    def mixtures(self, cell_weights: Floats, first: int, second: int) -> list[Mixtures]:
        """Refused: it is not made of two AUCs."""
        raise ValueError("A combination of elementary gaps has no pair of curves.")
