"""Laws of (score, class, group) whose AUCs, ROC curves and gaps are known exactly.

With K groups there are 2K cells, ordered D = (H_0, ..., H_{K-1}, G_0, ..., G_{K-1}): the negatives
of every group, then the positives. A mixture of cells is a probability vector of length 2K, and
AUC_{a'D, b'D} = a' A b, where A is the matrix of the AUCs between cells.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenscore.scores import CLASSES, ClassName
from evenscore.scores.arrays import Floats, Ints
from evenscore.scores.distribution import check_rates

if TYPE_CHECKING:
    from evenscore.gaps import AucConstraint
    from evenscore.paper.laws.tabulated import DiscreteLaw

RandomState = int | np.random.Generator | None

# Halving any interval of scores this often leaves less than one unit in the last place.
_HALVINGS = 64


class ScoreLaw(ABC):
    """The joint law of a score, a binary class and a group, known well enough to be the truth.

    A subclass gives `groups` (K labels), `cell_weights` (shape (2, K): [c, k] = P(class c,
    group k)), the c.d.f.s and generalised inverses of the cells, and the AUCs between them;
    mixtures, ROC curves, gaps, samples and discretisation follow from those here.

    >>> from evenscore.paper.laws import SquareLaw
    >>> law = SquareLaw(c=0.5)
    >>> law.auc_matrix().shape, round(law.auc(), 6)
    ((4, 4), 0.733333)
    """

    @property
    @abstractmethod
    def groups(self) -> tuple[Any, ...]:
        """The K group labels; the first is the paper's group 0."""

    @property
    @abstractmethod
    def cell_weights(self) -> Floats:
        """P(class = c, group = k), shape (2, K); the entries sum to one."""

    @abstractmethod
    def cdf(self, t: ArrayLike) -> Floats:
        """P(S <= t) in every cell: shape (..., 2K) for t of shape (...)."""

    @abstractmethod
    def mixture_quantile(self, mixture: ArrayLike, u: ArrayLike) -> Floats:
        """inf{t : F(t) >= u} for the mixture F = mixture' D; minus infinity at u = 0."""

    @abstractmethod
    def auc_matrix(self) -> Floats:
        """A[i, j] = P(S_j > S_i) + P(S_j = S_i)/2 between cells; diagonal 1/2 and A + A' = 1."""

    # -- cells and mixtures ---------------------------------------------------------------------

    @property
    def n_groups(self) -> int:
        """The number K of groups."""
        return len(self.groups)

    def quantile(self, u: ArrayLike) -> Floats:
        """inf{t : F(t) >= u} in every cell: shape (..., 2K) for u of shape (...)."""
        cells = np.eye(2 * self.n_groups)
        return np.stack([self.mixture_quantile(cell, u) for cell in cells], axis=-1)

    def negatives(self, group: int | None = None) -> Floats:
        """H_k as a mixture of cells; H, pooled in the proportions of the law, without `group`.

        >>> from evenscore.paper.laws import SquareLaw
        >>> SquareLaw(c=0.5, q1=0.75).negatives().tolist()
        [0.25, 0.75, 0.0, 0.0]
        """
        return self._class_mixture(0, group)

    def positives(self, group: int | None = None) -> Floats:
        """G_k as a mixture of cells; G, pooled in the proportions of the law, without `group`."""
        return self._class_mixture(1, group)

    def _class_mixture(self, class_: int, group: int | None) -> Floats:
        weights = np.zeros((2, self.n_groups))
        if group is None:
            weights[class_] = self.cell_weights[class_] / self.cell_weights[class_].sum()
        elif 0 <= group < self.n_groups:
            weights[class_, group] = 1.0
        else:
            raise ValueError(f"group must be an index from 0 to {self.n_groups - 1}, not {group}.")
        return weights.ravel()

    def _mixture(self, mixture: ArrayLike) -> Floats:
        vector = np.asarray(mixture, dtype=float)
        if vector.shape != (2 * self.n_groups,):
            raise ValueError(
                f"A mixture needs one weight for each of the {2 * self.n_groups} cells, "
                f"but its shape is {vector.shape}."
            )
        if not (np.all(vector >= 0) and abs(vector.sum() - 1) <= 1e-9):
            raise ValueError("The weights of a mixture must be non-negative and sum to one.")
        return vector

    # -- AUC and ROC ----------------------------------------------------------------------------

    def auc(self, reference: ArrayLike | None = None, target: ArrayLike | None = None) -> float:
        """AUC_{h,g} = P(S_g > S_h) + P(S_g = S_h)/2 = reference' A target.

        By default the pooled negatives against the pooled positives: the AUC of the score.

        >>> from evenscore.paper.laws import SquareLaw
        >>> law = SquareLaw(c=0.0)
        >>> round(law.auc(law.negatives(1), law.positives(1)), 12) == round(5 / 6, 12)
        True
        """
        h = self.negatives() if reference is None else self._mixture(reference)
        g = self.positives() if target is None else self._mixture(target)
        return float(h @ self.auc_matrix() @ g)

    def roc_curve(
        self, reference: ArrayLike | None = None, target: ArrayLike | None = None
    ) -> LawRocCurve:
        """ROC_{h,g}(rate) = 1 - g(h^-1(1 - rate)) of two mixtures, as a callable.

        By default the pooled negatives against the pooled positives.

        >>> from evenscore.paper.laws import SquareLaw
        >>> law = SquareLaw(c=0.0)
        >>> curve = law.roc_curve(law.negatives(1), law.positives(1))
        >>> round(float(curve(0.25)), 12)  # h(t) = 2t - t^2, g(t) = t^2
        0.75
        """
        h = self.negatives() if reference is None else self._mixture(reference)
        g = self.positives() if target is None else self._mixture(target)
        return LawRocCurve(self, tuple(h.tolist()), tuple(g.tolist()))

    def auc_gap(self, constraint: str | AucConstraint, first: int = 0, second: int = 1) -> float:
        """The population gap of an AUC constraint between two groups: the sum of coefficients * A.

        The sign is that of the difference which names the constraint, `first` minus `second`.
        """
        from evenscore.gaps import AucConstraint

        constraint = AucConstraint.named(constraint) if isinstance(constraint, str) else constraint
        coefficients = constraint.coefficients(self.cell_weights, first, second)
        return float(np.sum(coefficients * self.auc_matrix()))

    def roc_gap(self, on: ClassName, rate: ArrayLike, first: int = 0, second: int = 1) -> Floats:
        """Delta_{F,rate} = ROC_{F_first, F_second}(rate) - rate, F the negatives or the positives.

        Positive where the second group scores higher.

        >>> from evenscore.paper.laws import RingsLaw
        >>> float(RingsLaw(c=0.5).roc_gap("negatives", 0.75).round(4))
        -0.3251
        """
        check_class(on)
        within = self.negatives if on == "negatives" else self.positives
        rate = check_rates(rate)
        return np.asarray(self.roc_curve(within(first), within(second))(rate) - rate)

    # -- samples and discretisation -------------------------------------------------------------

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Floats, Ints, NDArray[Any]]:
        """Draw n independent (scores, y, groups): y in {0, 1}, groups the labels of the law.

        >>> from evenscore.paper.laws import credit_law
        >>> scores, y, groups = credit_law().sample(5, random_state=0)
        >>> scores.shape, sorted(set(y.tolist()) | set(groups.tolist()))
        ((5,), [0, 1])
        """
        rng = np.random.default_rng(random_state)
        cells = rng.choice(2 * self.n_groups, size=checked_size(n), p=self.cell_weights.ravel())
        # 1 - U lies in (0, 1], where every quantile is finite; U itself may be 0.
        u = 1.0 - rng.random(n)
        scores = np.empty(n)
        for cell, mixture in enumerate(np.eye(2 * self.n_groups)):
            drawn = cells == cell
            scores[drawn] = self.mixture_quantile(mixture, u[drawn])
        y, group = np.divmod(cells, self.n_groups)
        return scores, y, np.asarray(self.groups)[group]

    def discretised(self, levels: int = 10, thresholds: ArrayLike | None = None) -> DiscreteLaw:
        """The law of the level of S: the number of thresholds below S, plus one.

        Level l is t_{l-1} < S <= t_l. Without `thresholds` they are the pooled quantiles at
        1/levels, 2/levels, ..., so that the levels of a continuous score are equally probable.

        >>> from evenscore.paper.laws import credit_law
        >>> deciles = credit_law().discretised(10)
        >>> deciles.values.tolist()
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]
        >>> (deciles.cell_weights.ravel() @ deciles.probabilities).round(12).tolist() == [0.1] * 10
        True
        """
        from evenscore.paper.laws.tabulated import DiscreteLaw

        if thresholds is None:
            if levels < 2:
                raise ValueError(f"levels must be at least 2, not {levels}.")
            u = np.arange(1, levels) / levels
            cuts = np.unique(self.mixture_quantile(self.cell_weights.ravel(), u))
        else:
            cuts = np.asarray(thresholds, dtype=float)
            if cuts.ndim != 1 or cuts.size == 0 or not np.all(np.diff(cuts) > 0):
                raise ValueError("thresholds must be a non-empty increasing sequence.")
        cumulative = self.cdf(cuts).T
        probabilities = np.diff(cumulative, axis=1, prepend=0.0, append=1.0)
        values = np.arange(1.0, cuts.size + 2)
        return DiscreteLaw(values, probabilities, self.cell_weights, groups=self.groups)


@final
@dataclass(frozen=True)
class LawRocCurve:
    """The exact ROC curve of two mixtures of the cells of a law; call it with rates.

    ROC_{h,g}(rate) = 1 - g(h^-1(1 - rate)), with h^-1(u) = inf{t : h(t) >= u}; so ROC(1) = 1, and
    ROC(0) = P(S_g > every S_h), which need not be 0.

    >>> from evenscore.paper.laws import RingsLaw
    >>> law = RingsLaw(c=0.5)
    >>> law.roc_curve(law.negatives(), law.positives())([0.0, 1.0]).round(6).tolist()
    [0.0, 1.0]
    """

    law: ScoreLaw
    reference: tuple[float, ...]
    target: tuple[float, ...]

    def __call__(self, rate: ArrayLike) -> Floats:
        """1 - g(h^-1(1 - rate)), of the shape of `rate`."""
        survival = 1.0 - self.law.cdf(self.threshold(rate))
        return np.asarray(survival @ np.asarray(self.target))

    def threshold(self, rate: ArrayLike) -> Floats:
        """h^-1(1 - rate): the score above which lies a share `rate` of the reference."""
        rate = check_rates(rate)
        return self.law.mixture_quantile(self.reference, 1.0 - rate)

    @property
    def area(self) -> float:
        """The AUC of the two mixtures, ties counted one half."""
        return self.law.auc(self.reference, self.target)


class ContinuousLaw(ScoreLaw):
    """A law whose cells have densities that are smooth between finitely many breakpoints."""

    @property
    @abstractmethod
    def support(self) -> Floats:
        """The lowest and the highest score of every cell, shape (2K, 2)."""

    @property
    @abstractmethod
    def breakpoints(self) -> Floats:
        """Increasing scores, between which every c.d.f. is smooth, from the lowest to the top."""

    @abstractmethod
    def pdf(self, t: ArrayLike) -> Floats:
        """The density of the score in every cell: shape (..., 2K) for t of shape (...)."""

    def auc_matrix(self) -> Floats:
        """A[i, j] = integral of F_i dF_j, by quadrature on every piece: exact to rounding.

        >>> from evenscore.paper.laws import RingsLaw
        >>> A = RingsLaw(c=0.3).auc_matrix()
        >>> bool(abs(A + A.T - 1).max() < 1e-14)
        True
        """
        nodes, weights = _graded_gauss_legendre()
        left, length = self.breakpoints[:-1, None], np.diff(self.breakpoints)[:, None]
        t, w = (left + length * nodes).ravel(), (length * weights).ravel()
        below: Floats = self.cdf(t).T @ (w[:, None] * self.pdf(t))
        # A + A' = 1 holds for the integrals; imposing it halves the rounding error.
        return (1.0 + below - below.T) / 2

    def mixture_quantile(self, mixture: ArrayLike, u: ArrayLike) -> Floats:
        """inf{t : F(t) >= u}, by bisection to the last bit; minus infinity at u = 0.

        The upper end of the support is returned exactly: where the density vanishes there, the
        c.d.f. rounds to 1 well before it.

        >>> from evenscore.paper.laws import SquareLaw
        >>> law = SquareLaw(c=0.25)
        >>> law.mixture_quantile(law.positives(), [0.0, 1.0]).tolist()
        [-inf, 1.0]
        """
        mixture = self._mixture(mixture)
        u = check_rates(u, "u")
        ends = self.support[mixture > 0]
        lowest, highest = ends[:, 0].min(), ends[:, 1].max()
        low, high = np.full(u.shape, lowest), np.full(u.shape, highest)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            reached = self.cdf(middle) @ mixture >= u
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return np.where(u <= 0, -np.inf, np.where(u >= 1, highest, high))


@lru_cache(maxsize=2)
def gauss_legendre(n: int) -> tuple[Floats, Floats]:
    """Nodes and weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return (nodes + 1) / 2, weights / 2


@lru_cache(maxsize=1)
def _graded_gauss_legendre() -> tuple[Floats, Floats]:
    """Nodes and weights on [0, 1] crowded at both ends by t = p(v), p'(v) = 630 v^4 (1-v)^4.

    The grading turns t log t and square-root behaviour at a breakpoint into something with eight
    derivatives, and keeps exactness for polynomials of degree 13.
    """
    v, weights = gauss_legendre(64)
    # p(v) = v^5 (126 - 420 v + 540 v^2 - 315 v^3 + 70 v^4); near v = 1 use p(v) = 1 - p(1 - v).
    tail = np.minimum(v, 1 - v)
    graded = tail**5 * (126 + tail * (-420 + tail * (540 + tail * (-315 + tail * 70))))
    nodes = np.where(v <= 0.5, graded, 1 - graded)
    return nodes, weights * 630 * (v * (1 - v)) ** 4


def check_class(on: str) -> None:
    """Refuse what is not a class."""
    if on not in CLASSES:
        raise ValueError(f'on must be "negatives" or "positives", not {on!r}.')


def checked_size(n: int) -> int:
    """The sample size, refused unless it is a positive integer."""
    if not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n must be a positive integer, not {n!r}.")
    return int(n)
