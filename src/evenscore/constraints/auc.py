"""AUC constraints: two AUCs between mixtures of cells should be equal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenscore.catalogue import CATALOGUE, Notion
from evenscore.constraints.definitions import Combination, Equality
from evenscore.constraints.gap import Gap, check_tolerance, undefined
from evenscore.curves import RocCurve
from evenscore.distributions import to_floats
from evenscore.labels import label_text
from evenscore.measures import AucMatrix, auc_matrix, roc_curve
from evenscore.scores import GroupedScores, check_scores

__all__ = ["AucConstraint", "combine"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AucConstraint:
    """An AUC fairness constraint: two AUCs between mixtures of cells should be equal.

    Make one with `named`, `from_mixtures` or `from_gap_weights`. `tolerance`, if given, is the gap
    that a scorer may leave.

    >>> AucConstraint.named("bnsp").name
    'bnsp'
    """

    name: str
    definition: Notion | Equality | Combination
    tolerance: float | None = None

    def __post_init__(self) -> None:
        check_tolerance(self.tolerance)

    @classmethod
    def named(cls, name: str, *, tolerance: float | None = None) -> AucConstraint:
        """A constraint of the catalogue; `constraint_names()` lists them."""
        if not isinstance(name, str) or name not in CATALOGUE:
            raise ValueError(
                f"There is no AUC constraint named {name!r}; there are {', '.join(CATALOGUE)}."
            )
        return cls(name, CATALOGUE[name], tolerance)

    @classmethod
    def from_mixtures(
        cls,
        alpha: Sequence[float],
        beta: Sequence[float],
        alpha_prime: Sequence[float],
        beta_prime: Sequence[float],
        *,
        name: str = "mixtures",
        tolerance: float | None = None,
    ) -> AucConstraint:
        """AUC_{αᵀD, βᵀD} = AUC_{α'ᵀD, β'ᵀD} with D = (H⁰, H¹, G⁰, G¹); α, β reference and target.

        Refused unless (e₁ + e₂)ᵀ[(α − α') − (β − β')] = 0: by Theorem 1, any other such equality
        fails for some score even when the groups are alike, so it would create unfairness.
        With more than two groups it is applied to every pair of them.

        >>> AucConstraint.from_mixtures([1, 0, 0, 0], [0, 0, 1, 0],
        ...                             [0, 1, 0, 0], [0, 0, 0, 1]).gap_weights()
        array([0., 0., 1., 1., 1.])
        """
        vectors = []
        given = {
            "alpha": alpha,
            "beta": beta,
            "alpha_prime": alpha_prime,
            "beta_prime": beta_prime,
        }
        for label, vector in given.items():
            array = to_floats(vector, label)
            if array.shape != (4,):
                raise ValueError(f"{label} needs four proportions, of (H0, H1, G0, G1).")
            if not np.all(array >= 0.0) or abs(array.sum() - 1.0) > 1e-9:
                raise ValueError(f"{label} must be non-negative and add up to one, not {vector!r}.")
            vectors.append(array)
        a, b, a2, b2 = vectors
        excess = float(((a - a2) - (b - b2))[:2].sum())
        if abs(excess) > 1e-9:
            raise ValueError(
                "This is an unfairness constraint (Theorem 1): even between groups that are alike "
                "it fails unless the score is uninformative, because the first AUC compares "
                f"negatives with positives {abs(excess):.3g} "
                f"{'more' if excess > 0 else 'less'} often than the second, "
                "(e1 + e2)·[(alpha - alpha') - (beta - beta')] being "
                f"{excess:.3g} instead of 0."
            )
        return cls(name, Equality(*(tuple(v.tolist()) for v in vectors)), tolerance)

    @classmethod
    def from_gap_weights(
        cls, gap_weights: Sequence[float], *, name: str = "", tolerance: float | None = None
    ) -> AucConstraint:
        """ΓᵀC = 0 for any five weights Γ of the elementary gaps C₁..C₅."""
        array = to_floats(gap_weights, "gap_weights")
        if array.shape != (5,) or not np.all(np.isfinite(array)):
            raise ValueError(f"gap_weights needs five finite numbers, not {gap_weights!r}.")
        told = name or "gap_weights(" + ", ".join(f"{weight:g}" for weight in array) + ")"
        return cls(told, Combination(tuple(array.tolist())), tolerance)

    def coefficients(self, cell_weights: Floats, first: int, second: int) -> Floats:
        """W, 2K × 2K, such that the gap of two groups is the sum of W ∘ AUC matrix.

        `cell_weights` may be many tables, (…, 2, K); proportions of the data give as many W.
        """
        left, right = self.definition.sides(np.asarray(cell_weights), first, second)
        return np.asarray(left - right)

    def gap_weights(self, cell_weights: Floats | None = None) -> Floats:
        """Γ, such that the gap of two groups is ΓᵀC; it may depend on the cells' weights (2, 2).

        With w_ij = W_ij − W_ji: Γ = (w₁₂, w₄₃, w₁₃, w₁₃ + w₁₄, w₄₂).
        """
        if cell_weights is None:
            if isinstance(self.definition, Notion):
                raise ValueError(
                    f"The weights of {self.name} depend on the data: give cell_weights."
                )
            cell_weights = np.ones((2, 2))
        cell_weights = np.asarray(cell_weights, dtype=np.float64)
        if cell_weights.shape != (2, 2):
            raise ValueError("Gap weights are defined for two groups only.")
        W = self.coefficients(cell_weights, 0, 1)
        w = W - W.T
        return np.array([w[0, 1], w[3, 2], w[0, 2], w[0, 2] + w[0, 3], w[3, 1]])

    def gaps(
        self,
        scores: GroupedScores,
        matrix: AucMatrix | None = None,
        pairs: Iterable[tuple[int, int]] | None = None,
    ) -> list[Gap]:
        """The gap of every pair of groups, or of the `pairs` (of positions) given.

        `matrix` spares computing the AUC matrix again.
        """
        check_scores(scores)
        matrix = auc_matrix(scores) if matrix is None else matrix
        values = self._statistics(scores, matrix)
        pairs = scores.pairs() if pairs is None else pairs
        return [self._gap(scores, values, first, second) for first, second in pairs]

    def _statistics(self, scores: GroupedScores, matrix: AucMatrix) -> Callable[[int, int], float]:
        """What is compared, as a function of (group, the other group)."""
        definition, weights = self.definition, scores.cell_weights
        if not isinstance(definition, Notion):
            # Defined for an ordered pair: the left side for (i, j), the right one for (j, i).
            def side(own: int, other: int) -> float:
                left, right = definition.sides(weights, min(own, other), max(own, other))
                return float(combine(left if own < other else right, matrix.values))

            return side
        aucs = np.nan_to_num(matrix.values)
        if definition.compares_others:
            return lambda own, other: definition.value(weights, aucs, own, other)
        by_group = [definition.value(weights, aucs, k, k) for k in range(scores.n_groups)]
        return lambda own, other: by_group[own]

    def _gap(
        self, scores: GroupedScores, values: Callable[[int, int], float], first: int, second: int
    ) -> Gap:
        one, two = (label_text(scores.groups[position]) for position in (first, second))
        left, right = values(first, second), values(second, first)
        if isinstance(self.definition, Notion):
            words = (
                f"{self.definition.say(one, two)} in {left:.1%} of pairs; "
                f"{self.definition.say(two, one)} in {right:.1%}"
            )
        else:
            words = f"{self.name}: {left:.3f} against {right:.3f} ({one}, {two})"
        reason = None
        if np.isnan(left - right):
            reason = undefined(self.name, scores, self._missing_cells(scores, first, second))
        return Gap(self.name, one, two, left - right, words, reason)

    def _missing_cells(self, scores: GroupedScores, first: int, second: int) -> list[int]:
        """The empty cells without which the gap of two groups cannot be computed."""
        empty = np.flatnonzero(scores.cell_weights.reshape(-1) == 0)
        filled = scores.cell_weights.copy().reshape(-1)
        filled[empty] = 1.0
        missing = []
        for cell in empty.tolist():
            weights = filled.copy()
            weights[cell] = 0.0
            sides = self.definition.sides(weights.reshape(2, -1), first, second)
            coefficients = np.abs(sides[0]) + np.abs(sides[1])
            used = coefficients.sum(axis=0) + coefficients.sum(axis=1)
            if np.isnan(used[cell]) or used[cell] > 0:
                missing.append(cell)
        return missing or empty.tolist()

    def curves_by_pair(self, scores: GroupedScores) -> Iterator[tuple[RocCurve, RocCurve]]:
        """`curves` of every pair of groups, none of them made twice."""
        check_scores(scores)
        definition, made = self.definition, {}
        shared = isinstance(definition, Notion) and not definition.compares_others
        for pair in scores.pairs():
            found = []
            for group, other, side in zip(pair, reversed(pair), (0, 1), strict=True):
                key = group if shared else (group, other)
                if key not in made:
                    mixtures = definition.mixtures(scores.cell_weights, *pair)
                    made[key] = roc_curve(scores, *mixtures[side])
                found.append(made[key])
            yield found[0], found[1]

    def curves(
        self, scores: GroupedScores, first: int = 0, second: int = 1
    ) -> tuple[RocCurve, RocCurve]:
        """The two ROC curves whose areas the constraint compares.

        For `intra_group` the area between them is ABROCA.
        """
        one, two = (
            roc_curve(scores, *pair)
            for pair in self.definition.mixtures(scores.cell_weights, first, second)
        )
        return one, two


def combine(coefficients: Floats, aucs: Floats) -> Floats:
    """Σ coefficients ∘ aucs, where a coefficient of zero ignores an empty cell's NaN."""
    return np.asarray(np.where(coefficients == 0.0, 0.0, coefficients * aucs).sum(axis=(-2, -1)))
