"""Fairness constraints: AUC gaps (named, or between mixtures of cells) and pointwise ROC gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray

from evenscore.catalogue import CATALOGUE, Mixtures, Notion
from evenscore.curves import RocCurve
from evenscore.distributions import check_interval, to_floats
from evenscore.labels import label_text
from evenscore.measures import ELEMENTARY, AucMatrix, auc_matrix, four_cells, roc_curve, roc_gap
from evenscore.scores import (
    CLASSES,
    ClassName,
    GroupedScores,
    OneOrBoth,
    check_scores,
    class_names,
)

__all__ = [
    "AucConstraint",
    "Combination",
    "Constraint",
    "Gap",
    "RocConstraint",
    "as_constraints",
    "combine",
    "worst",
]

Floats = NDArray[np.float64]

_SPACING = 0.025  # of the rates in an interval, unless their number is given


# ---------------------------------------------------------------------- other definitions


@dataclass(frozen=True)
class _Equality:
    """AUC_{αᵀD, βᵀD} − AUC_{α'ᵀD, β'ᵀD}, D = (H⁰, H¹, G⁰, G¹) of the two groups compared."""

    alpha: tuple[float, ...]
    beta: tuple[float, ...]
    alpha_prime: tuple[float, ...]
    beta_prime: tuple[float, ...]

    def mixtures(self, cell_weights: Floats, first: int, second: int) -> list[Mixtures]:
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


# ---------------------------------------------------------------------- gaps


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


# ---------------------------------------------------------------------- AUC constraints


@dataclass(frozen=True)
class AucConstraint:
    """An AUC fairness constraint: two AUCs between mixtures of cells should be equal.

    Make one with `named`, `from_mixtures` or `from_gap_weights`. `tolerance`, if given, is the gap
    that a scorer may leave.

    >>> AucConstraint.named("bnsp").name
    'bnsp'
    """

    name: str
    definition: Notion | _Equality | Combination
    tolerance: float | None = None

    def __post_init__(self) -> None:
        _check_tolerance(self.tolerance)

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
        return cls(name, _Equality(*(tuple(v.tolist()) for v in vectors)), tolerance)

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
            reason = _undefined(self.name, scores, self._missing_cells(scores, first, second))
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


def _undefined(name: str, scores: GroupedScores, cells: list[int]) -> str:
    return f"{name} is undefined: there are no {' and no '.join(map(scores.cell_name, cells))}"


# ---------------------------------------------------------------------- ROC constraints


@dataclass(frozen=True)
class RocConstraint:
    """Pointwise ROC constraint: Δ_{F,a} = ROC_{F⁰,F¹}(a) − a should vanish at the rates a.

    `on` is the class F whose two distributions are aligned ("negatives", "positives" or "both").
    Say either `rates`, or an `interval` of rates with `n_rates` equally spaced ones in it, its ends
    included (by default one every 0.025 at least). `tolerance`, if given, is the gap that a scorer
    may leave.

    The gap is signed: positive where the *second* group scores higher. The cut is made in the first
    group (in the order of the groups), so exchanging the groups does more than flip the sign.

    >>> RocConstraint(on="negatives", interval=(0.1, 0.4), n_rates=4).rates
    (0.1, 0.2, 0.3, 0.4)
    """

    on: OneOrBoth = "both"
    rates: tuple[float, ...] = ()
    tolerance: float | None = None
    interval: tuple[float, float] | None = None
    n_rates: int | None = None

    def __post_init__(self) -> None:
        class_names(self.on)
        _check_tolerance(self.tolerance)
        rates = np.atleast_1d(to_floats(self.rates, "rates"))
        if self.interval is None:
            if self.n_rates is not None:
                raise ValueError("n_rates says how to cut an interval: give interval as well.")
        else:
            low, high = check_interval(self.interval)
            n_rates = self.n_rates
            if n_rates is None:
                n_rates = max(2, int(np.ceil((high - low) / _SPACING - 1e-9)) + 1)
            if isinstance(n_rates, bool) or not isinstance(n_rates, Integral) or n_rates < 2:
                raise ValueError(f"An interval needs a whole n_rates ≥ 2, not {n_rates!r}.")
            spaced = tuple(np.round(np.linspace(low, high, int(n_rates)), 15).tolist())
            if rates.size and tuple(rates.tolist()) != spaced:
                raise ValueError("Give either rates or an interval, not both.")
            rates = np.asarray(spaced)
            object.__setattr__(self, "interval", (low, high))
            object.__setattr__(self, "n_rates", int(n_rates))
        if rates.size == 0:
            raise ValueError("A ROC constraint needs rates, for instance rates=(0.125, 0.25).")
        if rates.ndim != 1 or not np.all((rates > 0.0) & (rates < 1.0)):
            raise ValueError(f"rates must lie strictly between 0 and 1, not {self.rates!r}.")
        if len(set(rates.tolist())) < rates.size:
            raise ValueError(f"rates must differ, but {self.rates!r} repeats one.")
        object.__setattr__(self, "rates", tuple(rates.tolist()))

    @property
    def name(self) -> str:
        """For instance 'roc_gap(both; 0.125, 0.25)'."""
        if self.interval is None:
            told = ", ".join(f"{rate:.4g}" for rate in self.rates)
        else:
            told = "{} rates from {:.4g} to {:.4g}".format(len(self.rates), *self.interval)
        return f"roc_gap({self.on}; {told})"

    def gaps(
        self, scores: GroupedScores, pairs: Iterable[tuple[int, int]] | None = None
    ) -> list[Gap]:
        """Δ for every class, pair of groups (or only the `pairs` of positions given) and rate."""
        check_scores(scores)
        pairs = scores.pairs() if pairs is None else list(pairs)
        return [
            gap
            for on in class_names(self.on)
            for first, second in pairs
            for gap in self._gaps(scores, on, first, second)
        ]

    def _gaps(self, scores: GroupedScores, on: ClassName, first: int, second: int) -> list[Gap]:
        one, two = (label_text(scores.groups[position]) for position in (first, second))
        values = roc_gap(scores, on, self.rates, first, second)
        name = f"roc_gap({on})"
        offset = CLASSES.index(on) * scores.n_groups
        cells = [offset + first, offset + second]
        empty = [cell for cell in cells if scores.cell_weights.reshape(-1)[cell] == 0]
        reason = _undefined(name, scores, empty) if empty else None
        return [
            Gap(
                name,
                one,
                two,
                float(value),
                f"the cut that selects at most {rate:.1%} of the {on} of {one} "
                f"selects {rate + value:.1%} of those of {two}",
                reason,
                on,
                rate,
            )
            for rate, value in zip(self.rates, values, strict=True)
        ]


Constraint = AucConstraint | RocConstraint


def as_constraints(constraints: str | Constraint | Iterable[str | Constraint]) -> list[Constraint]:
    """A name, a constraint, or several of them, as a list of constraints.

    >>> [constraint.name for constraint in as_constraints(["bnsp", RocConstraint(rates=(0.25,))])]
    ['bnsp', 'roc_gap(both; 0.25)']
    """
    if isinstance(constraints, str | AucConstraint | RocConstraint):
        constraints = [constraints]
    found: list[Constraint] = []
    for constraint in constraints:
        if isinstance(constraint, str):
            constraint = AucConstraint.named(constraint)
        if not isinstance(constraint, AucConstraint | RocConstraint):
            raise TypeError(
                "A constraint is a name, an AucConstraint or a RocConstraint, "
                f"not {type(constraint).__name__}."
            )
        found.append(constraint)
    return found


def _check_tolerance(tolerance: float | None) -> None:
    if tolerance is None:
        return
    if not isinstance(tolerance, Real) or not 0.0 <= tolerance < 1.0:
        raise ValueError(f"tolerance must be at least 0 and below 1, not {tolerance!r}.")
