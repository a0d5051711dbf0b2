"""Two features, one linear score s_c for every c in [0, 1]; the square of the paper's Example 1."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenscore.paper.laws.base import ContinuousLaw, RandomState, checked_size
from evenscore.scores.arrays import Floats, Ints


@dataclass(frozen=True)
class PlanarLaw(ContinuousLaw):
    """The law of the linear score s_c of an example whose features are two coordinates.

    Half of each group is positive, so that the cells weigh (q0, q1, q0, q1)/2.
    """

    c: float
    q1: float

    def __post_init__(self) -> None:
        if not 0 <= self.c <= 1:
            raise ValueError(f"c must lie in [0, 1], not {self.c}.")
        if not 0 < self.q1 < 1:
            raise ValueError(f"q1 must lie strictly between 0 and 1, not {self.q1}.")

    @property
    def groups(self) -> tuple[Any, ...]:
        """The labels 0 and 1."""
        return (0, 1)

    @property
    def cell_weights(self) -> Floats:
        """(q0, q1)/2 for the negatives and the same for the positives, shape (2, 2)."""
        return np.array([[1 - self.q1, self.q1]] * 2) / 2

    @property
    @abstractmethod
    def coefficients(self) -> Floats:
        """The coefficients of the two features in the score."""

    @abstractmethod
    def draw_features(self, n: int, random_state: RandomState = None) -> tuple[Floats, Ints, Ints]:
        """Draw n independent (X, y, groups), X of shape (n, 2); they do not depend on c."""

    def score(self, X: ArrayLike) -> Floats:
        """s_c(x) for every row of X, shape (n, 2)."""
        scores: Floats = np.asarray(X, dtype=float) @ self.coefficients
        return scores

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Floats, Ints, NDArray[Any]]:
        """Draw n independent (scores, y, groups): the scores of `draw_features`.

        >>> scores, y, groups = SquareLaw(c=1.0).sample(100, random_state=0)
        >>> X, _, _ = SquareLaw(c=1.0).draw_features(100, random_state=0)
        >>> bool((scores == X[:, 0]).all())
        True
        """
        X, y, groups = self.draw_features(n, random_state)
        return self.score(X), y, groups

    def intra_group_gap(self) -> float:
        """AUC_{H0,G0} - AUC_{H1,G1}, the gap named `intra_group`."""
        matrix = self.auc_matrix()
        return float(matrix[0, 2] - matrix[1, 3])

    def penalised_auc(self, strength: float = 1.0, at_rate: float | None = None) -> float:
        """AUC - strength * |gap|, which the constrained learner maximises.

        Without `at_rate` the gap is the intra-group one (the paper's L_lambda); with it, the ROC
        gap of the negatives at that rate (its L_Lambda).

        >>> fair, best = SquareLaw(c=0.5), SquareLaw(c=0.15)
        >>> fair.penalised_auc(0.0) < best.penalised_auc(0.0)
        True
        >>> fair.penalised_auc(1.0) > best.penalised_auc(1.0)
        True
        """
        if at_rate is None:
            gap = self.intra_group_gap()
        else:
            gap = float(self.roc_gap("negatives", at_rate))
        return self.auc() - strength * abs(gap)

    @classmethod
    def objective(
        cls, c: float, strength: float = 1.0, *, rate: float | None = None, **law: Any
    ) -> float:
        """`penalised_auc` as a function of c, of the law with the other parameters given.

        >>> round(SquareLaw.objective(0.5, strength=1.0), 4)
        0.7333
        """
        return cls(c, **law).penalised_auc(strength, rate)


@final
@dataclass(frozen=True)
class SquareLaw(PlanarLaw):
    """Example 1: X uniform on the unit square, eta_0(x) = x1, eta_1(x) = x2, s_c = c x1 + (1-c) x2.

    The c.d.f.s are piecewise cubic, so all AUCs are exact to rounding. As P(Y = 1 | x) is
    q0 x1 + q1 x2, the AUC is largest at c = q0 among all scores; the intra-group gap rises from
    -1/3 at c = 0 to 1/3 at c = 1 and vanishes at c = 1/2 only.

    >>> best = SquareLaw.best()
    >>> round(best.auc(), 4), round(best.intra_group_gap(), 4)
    (0.7876, -0.2728)
    >>> fair = SquareLaw(c=0.5)
    >>> round(fair.auc(), 4), fair.intra_group_gap()
    (0.7333, 0.0)
    """

    q1: float = 17 / 20

    @classmethod
    def best(cls, q1: float = 17 / 20) -> Self:
        """The law of the score with the largest AUC of all: c = q0 = 1 - q1."""
        return cls(1 - q1, q1)

    @property
    def coefficients(self) -> Floats:
        """(c, 1 - c)."""
        return np.array([self.c, 1 - self.c])

    @property
    def support(self) -> Floats:
        """[0, 1] in every cell, since every cell charges the whole square."""
        return np.array([[0.0, 1.0]] * 4)

    @property
    def breakpoints(self) -> Floats:
        """The scores of the corners of the square: 0, c, 1 - c and 1."""
        return np.unique([0.0, self.c, 1 - self.c, 1.0])

    # Of the two coordinates let X be the one with the smaller coefficient a and Y the other, with
    # coefficient b = 1 - a >= 1/2. Given X = x, S <= t means Y <= (t - a x)/b: certain for x below
    # `low`, impossible above `high`, and in between a polynomial in x of degree two at most after
    # multiplication by the density of X. Simpson's rule integrates it exactly, and as all terms
    # are positive there is no cancellation for any c, however small a is.

    def _pieces(self, t: Floats) -> tuple[Floats, Floats, Floats, Callable[[Floats], Floats]]:
        """`low`, x at the ends and the middle, y there, and the integral of values given there."""
        a, b = min(self.c, 1 - self.c), max(self.c, 1 - self.c)
        low = np.clip(t - b, 0, a) / a if a > 0 else np.zeros_like(t)
        high = np.clip(t, 0, a) / a if a > 0 else np.ones_like(t)
        x = np.stack([low, (low + high) / 2, high])
        return low, x, np.clip((t - a * x) / b, 0, 1), partial(_simpson, low, high)

    def _by_cell(self, small: list[Floats], large: list[Floats]) -> Floats:
        """Order (negatives, positives) by the coordinate that drives the label into cells.

        The label of group 0 depends on x1, whose coefficient is c, that of group 1 on x2.
        """
        first, second = (small, large) if self.c <= 1 - self.c else (large, small)
        return np.stack([first[0], second[0], first[1], second[1]], axis=-1)

    def cdf(self, t: ArrayLike) -> Floats:
        """P(S <= t) in every cell, piecewise cubic in t: shape (..., 4).

        >>> SquareLaw(c=0.0).cdf(0.5).tolist()
        [0.5, 0.75, 0.5, 0.25]
        """
        low, x, y, middle = self._pieces(np.asarray(t, dtype=float))
        # Density 2(1-x) or 2x for the coordinate that drives the label, 1 for the other.
        small = [low * (2 - low) + middle(2 * (1 - x) * y), low**2 + middle(2 * x * y)]
        large = [low + middle(y * (2 - y)), low + middle(y**2)]
        return self._by_cell(small, large)

    def pdf(self, t: ArrayLike) -> Floats:
        """The density of the score in every cell, piecewise quadratic in t: shape (..., 4)."""
        t = np.asarray(t, dtype=float)
        _, x, y, middle = self._pieces(t)
        scale = np.where((t >= 0) & (t <= 1), 1 / max(self.c, 1 - self.c), 0.0)
        small = [scale * middle(2 * (1 - x)), scale * middle(2 * x)]
        large = [scale * middle(2 * (1 - y)), scale * middle(2 * y)]
        return self._by_cell(small, large)

    def draw_features(self, n: int, random_state: RandomState = None) -> tuple[Floats, Ints, Ints]:
        """Draw n independent (X, y, groups), X of shape (n, 2); they do not depend on c."""
        rng = np.random.default_rng(random_state)
        X = rng.random((checked_size(n), 2))
        groups = (rng.random(n) < self.q1).astype(np.intp)
        probability = np.where(groups == 1, X[:, 1], X[:, 0])
        return X, (rng.random(n) < probability).astype(np.intp), groups


def _simpson(low: Floats, high: Floats, values: Floats) -> Floats:
    """The integral over [low, high] of a polynomial of degree <= 3 from its ends and its middle."""
    integral: Floats = (high - low) / 6 * (values[0] + 4 * values[1] + values[2])
    return integral
