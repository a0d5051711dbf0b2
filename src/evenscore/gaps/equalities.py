"""AUC equalities beyond the catalogue: between any mixtures of cells, or of elementary gaps.

D = (H⁰, H¹, G⁰, G¹) are the cells of the two groups compared. The five elementary gaps, of which
every fair equality of AUCs between mixtures of D is a combination ΓᵀC (Theorem 1), are

    C₁ = AUC(H⁰, H¹) − ½,          C₂ = ½ − AUC(G⁰, G¹),        C₃ = AUC(H⁰, G⁰) − AUC(H⁰, G¹),
    C₄ = AUC(H⁰, G¹) − AUC(H¹, G⁰), C₅ = AUC(H¹, G⁰) − AUC(H¹, G¹).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from evenscore.gaps.catalogue import Mixtures, Pairs
from evenscore.gaps.words import DEFAULT_WORDS, Words
from evenscore.scores.arrays import Floats, Ints
from evenscore.scores.aucs import AucMatrix


def _elementary() -> Floats:
    """The five elementary gaps as coefficients of the 4 × 4 AUC matrix of (H⁰, H¹, G⁰, G¹)."""
    h0, h1, g0, g1 = range(4)
    terms = [
        [(+1, h0, h1), (-1, h0, h0)],
        [(+1, g0, g0), (-1, g0, g1)],
        [(+1, h0, g0), (-1, h0, g1)],
        [(+1, h0, g1), (-1, h1, g0)],
        [(+1, h1, g0), (-1, h1, g1)],
    ]
    coefficients = np.zeros((5, 4, 4))
    for row, parts in enumerate(terms):
        for sign, i, j in parts:
            coefficients[row, i, j] += sign
    coefficients.flags.writeable = False
    return coefficients


ELEMENTARY = _elementary()


def four_cells(n_groups: int, first: int, second: int) -> Ints:
    """Positions of (H^first, H^second, G^first, G^second) among the 2K cells."""
    return np.array([first, second, n_groups + first, n_groups + second])


def elementary_gaps(matrix: AucMatrix, first: int = 0, second: int = 1) -> Floats:
    """C₁..C₅ of two groups, from the AUC matrix (the paper's Section 3.1)."""
    cells = four_cells(matrix.cell_weights.shape[1], first, second)
    return np.asarray(np.tensordot(ELEMENTARY, matrix.values[np.ix_(cells, cells)], axes=2))


def combine(coefficients: Floats, aucs: Floats) -> Floats:
    """Σ coefficients ∘ aucs, where a coefficient of zero ignores an empty cell's NaN."""
    return np.asarray(np.where(coefficients == 0.0, 0.0, coefficients * aucs).sum(axis=(-2, -1)))


class PairEquality(ABC):
    """Two sides that should be equal, whose coefficients do not depend on the data."""

    proportions_vary = False
    compares_others = True
    has_reference = False
    ranks_higher = 0

    def meaning(self, words: Words = DEFAULT_WORDS) -> str:
        """What such a gap compares."""
        return (
            f"Compares two AUCs between mixtures of the groups' {words.positives} and "
            f"{words.negatives}."
        )

    def plain_name(self, words: Words = DEFAULT_WORDS) -> str:
        """What it is called beside its code."""
        return "Two AUCs between mixtures of the groups"

    @abstractmethod
    def sides(self, cell_weights: Floats, first: int, second: int) -> tuple[Floats, Floats]:
        """Coefficients of the two sides over the AUC matrix."""

    @abstractmethod
    def mixtures(self, cell_weights: Floats, first: int, second: int) -> list[Mixtures]:
        """(reference, target) of the two AUCs compared, as proportions of the cells."""

    def statistics(self, cell_weights: Floats, aucs: Floats, pairs: Pairs) -> Floats:
        """The two sides of every pair, (2, pairs); `aucs` is NaN for empty cells."""
        both = [[combine(side, aucs) for side in self.sides(cell_weights, *p)] for p in pairs]
        return np.array(both, dtype=np.float64).reshape(-1, 2).T

    def say_gap(
        self,
        first: str,
        second: str,
        left: float,
        right: float,
        *,
        sure: bool = True,
        reference: str = "",
        words: Words = DEFAULT_WORDS,
    ) -> str:
        """The two sides."""
        return f"{left:.3f} against {right:.3f} ({first}, {second})"


@final
@dataclass(frozen=True)
class Equality(PairEquality):
    """AUC_{αᵀD, βᵀD} − AUC_{α'ᵀD, β'ᵀD}."""

    alpha: tuple[float, ...]
    beta: tuple[float, ...]
    alpha_prime: tuple[float, ...]
    beta_prime: tuple[float, ...]

    def mixtures(self, cell_weights: Floats, first: int, second: int) -> list[Mixtures]:
        """The four mixtures, over the 2K cells."""
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
        """Products of the mixtures."""
        left, right = (np.outer(*pair) for pair in self.mixtures(cell_weights, first, second))
        return left, right


@final
@dataclass(frozen=True)
class Combination(PairEquality):
    """Γ₁C₁ + … + Γ₅C₅: its positive and its negative part, which are not AUCs."""

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
