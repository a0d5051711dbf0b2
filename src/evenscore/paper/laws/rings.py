"""The quarter disc and the quarter ring around it, of the paper's Example 2."""

from dataclasses import dataclass
from typing import Literal, Self, final

import numpy as np
from numpy.typing import ArrayLike

from evenscore.paper.laws.base import RandomState, check_class, checked_size, gauss_legendre
from evenscore.paper.laws.planar import PlanarLaw
from evenscore.scores import ClassName
from evenscore.scores.arrays import Floats, Ints

Uniform = Literal["area", "radius"]


@final
@dataclass(frozen=True)
class RingsLaw(PlanarLaw):
    """Example 2: a quarter disc (group 0: radius <= 1/2) and the quarter ring around it (group 1).

    eta(x) = (2/pi) arctan(x2/x1) in both groups and s_c(x) = -c x1 + (1-c) x2. By the reflection
    x1 <-> x2, which swaps the classes and turns s_c into -s_{1-c}, the AUC and the intra-group gap
    are symmetric about c = 1/2, where the AUC is largest.

    The points are uniform in area, as the paper's densities 16/pi and 16/(3 pi) say, or, with
    `uniform="radius"`, have uniform radii; the paper's table of results agrees with the latter.

    >>> for uniform in ("area", "radius"):
    ...     law = RingsLaw(c=0.5, uniform=uniform)
    ...     gap = float(law.roc_gap("negatives", 0.75))
    ...     print(round(law.auc(), 4), round(law.intra_group_gap(), 4), round(gap, 4))
    0.8132 -0.0102 -0.3251
    0.8043 -0.0239 -0.3708
    """

    q1: float = 1 / 2
    uniform: Uniform = "area"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.uniform not in ("area", "radius"):
            raise ValueError(f'uniform must be "area" or "radius", not {self.uniform!r}.')

    @classmethod
    def best(cls, q1: float = 1 / 2, uniform: Uniform = "area") -> Self:
        """The law of the score with the largest AUC among the s_c: c = 1/2."""
        return cls(0.5, q1, uniform)

    @classmethod
    def roc_fair(
        cls,
        rate: float = 3 / 4,
        on: ClassName = "negatives",
        q1: float = 1 / 2,
        uniform: Uniform = "area",
    ) -> Self:
        """The law of the s_c whose ROC gap at the rate is 0, since both groups' thresholds are 0.

        The sign of s_c depends on the angle alone, which has the same law in both groups: with
        tan(phi) = c/(1-c), P(S > 0) = (1 - 2 phi/pi)^2 for negatives and 1 - (2 phi/pi)^2 for
        positives. Setting it equal to the rate gives c.

        >>> law = RingsLaw.roc_fair(0.75, uniform="radius")
        >>> round(law.c, 4), round(law.auc(), 4), round(law.intra_group_gap(), 4)
        (0.176, 0.75, -0.0644)
        """
        if not 0 < rate < 1:
            raise ValueError(f"rate must lie strictly between 0 and 1, not {rate}.")
        check_class(on)
        share = 1 - np.sqrt(rate) if on == "negatives" else np.sqrt(1 - rate)  # phi = share * pi/2
        sine, cosine = np.sin(share * np.pi / 2), np.cos(share * np.pi / 2)
        return cls(float(sine / (sine + cosine)), q1, uniform)

    @property
    def coefficients(self) -> Floats:
        """(-c, 1 - c)."""
        return np.array([-self.c, 1 - self.c])

    @property
    def support(self) -> Floats:
        """[-c, 1 - c] in the cells of group 1 and half of it in those of group 0."""
        ring = [-self.c, 1 - self.c]
        disc = [-self.c / 2, (1 - self.c) / 2]
        return np.array([disc, ring, disc, ring])

    @property
    def breakpoints(self) -> Floats:
        """The ends of the supports, and 0, around which the densities are not smooth."""
        return np.unique([*self.support.ravel(), 0.0])

    # In polar coordinates s_c = L r sin(theta - phi), with L = |(c, 1-c)| and tan(phi) = c/(1-c).
    # On the unit disc P(r > rho) = 1 - rho^2 (uniform in area) or 1 - rho (uniform radius), so that
    # P(S > t), t >= 0, is the integral over the angle v = theta - phi, from arcsin(w) with w = t/L
    # to pi/2 - phi, of a linear density times 1 - (w/sin v)^2 or 1 - w/sin v. P(S < -t) is the same
    # with v = phi - theta up to phi. The ring is (4 discs - 1 half-sized disc)/3, or 2 discs - 1.

    def _disc_tail(self, t: Floats, upper: bool, density: bool) -> Floats:
        """P(S > t) or P(S < -t), or minus the slope, at t >= 0: [negatives, positives] last."""
        length = float(np.hypot(self.c, 1 - self.c))
        phi = float(np.arctan2(self.c, 1 - self.c))
        toward, away = (1 - self.c, self.c) if upper else (self.c, 1 - self.c)
        if toward == 0:
            return np.zeros((*t.shape, 2))
        end = np.pi / 2 - phi if upper else phi
        sine, cosine = toward / length, away / length  # of `end`
        w = np.minimum(t / length, sine)
        angle = np.minimum(np.arcsin(w), end)
        integrals = _inverse_squares if self.uniform == "area" else _inverses
        # The integrals of w/sin^2 (or 1/sin) and of v w/sin^2 (or v/sin) from `angle` to `end`.
        constant, linear = integrals(w, angle, end, sine, cosine)
        if density:
            scale = 2 / length if self.uniform == "area" else 1 / length
            constant, linear = scale * constant, scale * linear
        else:
            constant = (end - angle) - w * constant
            linear = (end - angle) * (end + angle) / 2 - w * linear
        # Density of v: (8/pi^2) (pi/2 - phi -+ v) among the negatives and (8/pi^2) (phi +- v)
        # among the positives, with the upper sign in the upper tail.
        linear = linear if upper else -linear
        tails = np.stack([(np.pi / 2 - phi) * constant - linear, phi * constant + linear], axis=-1)
        within = (t < toward)[..., None]
        return np.where(within, np.maximum(8 / np.pi**2 * tails, 0.0), 0.0)

    def _disc(self, t: Floats, density: bool) -> Floats:
        """The c.d.f.s (or densities) of the score on the unit disc, [negatives, positives] last."""
        above = self._disc_tail(np.abs(t), upper=True, density=density)
        below = self._disc_tail(np.abs(t), upper=False, density=density)
        # The density at 0 is the same from both sides unless one side is empty (c = 0 or 1).
        right = (t >= 0 if self.c < 1 else t > 0)[..., None]
        return np.where(right, above if density else 1 - above, below)

    def _by_cell(self, whole: Floats, disc: Floats) -> Floats:
        ring = (4 * whole - disc) / 3 if self.uniform == "area" else 2 * whole - disc
        return np.stack([disc[..., 0], ring[..., 0], disc[..., 1], ring[..., 1]], axis=-1)

    def cdf(self, t: ArrayLike) -> Floats:
        """P(S <= t) in every cell, in closed form but for one smooth integral: shape (..., 4).

        >>> RingsLaw(c=0.5).cdf(0.0).tolist()  # the angle is below pi/4, whatever the radius
        [0.75, 0.75, 0.25, 0.25]
        """
        t = np.asarray(t, dtype=float)
        # The half-sized disc at t is the unit disc at 2t.
        cells = self._by_cell(self._disc(t, density=False), self._disc(2 * t, density=False))
        return np.clip(cells, 0.0, 1.0)

    def pdf(self, t: ArrayLike) -> Floats:
        """The density of the score in every cell: shape (..., 4).

        With uniform radii the density of group 0 is infinite at 0, like -log|t| around it.
        """
        t = np.asarray(t, dtype=float)
        at = np.where(t == 0, np.finfo(float).tiny, t) if self.uniform == "radius" else t
        if self.c == 1 and self.uniform == "radius":
            at = np.where(t == 0, -at, at)
        cells = self._by_cell(self._disc(at, density=True), 2 * self._disc(2 * at, density=True))
        if self.uniform == "radius":
            cells[..., [0, 2]] = np.where((t == 0)[..., None], np.inf, cells[..., [0, 2]])
        return np.maximum(cells, 0.0)

    def draw_features(self, n: int, random_state: RandomState = None) -> tuple[Floats, Ints, Ints]:
        """Draw n independent (X, y, groups), X of shape (n, 2); they do not depend on c."""
        rng = np.random.default_rng(random_state)
        share, u = rng.random(checked_size(n)), rng.random(n)  # theta = share * pi/2
        groups = (rng.random(n) < self.q1).astype(np.intp)
        if self.uniform == "area":
            radius = np.sqrt(np.where(groups == 1, 1 + 3 * u, u)) / 2
        else:
            radius = np.where(groups == 1, 1 + u, u) / 2
        angle = share * np.pi / 2
        X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
        return X, (rng.random(n) < share).astype(np.intp), groups


def _inverse_squares(
    w: Floats, angle: Floats, end: float, sine: float, cosine: float
) -> tuple[Floats, Floats]:
    """Integrals of w/sin(v)^2 and v w/sin(v)^2 from arcsin(w) to `end`.

    Primitives: -cot(v) and log(sin v) - v cot(v); w cot(arcsin w) = sqrt(1 - w^2).
    """
    at_angle, at_end = np.sqrt((1 - w) * (1 + w)), w * (cosine / sine)
    logarithm = w * np.log(sine / np.where(w > 0, w, sine))  # tends to 0 with w
    return at_angle - at_end, angle * at_angle - end * at_end + logarithm


def _inverses(
    w: Floats, angle: Floats, end: float, sine: float, cosine: float
) -> tuple[Floats, Floats]:
    """Integrals of 1/sin(v) and v/sin(v) from arcsin(w) to `end`; 0 for the first where w = 0.

    The first has the primitive log(tan(v/2)), tan(v/2) = sin/(1 + cos). The second has none that
    is elementary, but v/sin(v) is analytic in |v| < pi, so that on [0, pi/2] a Gauss-Legendre rule
    with 16 nodes is exact to rounding.
    """
    half_tangent = np.where(w > 0, w, 1.0) / (1 + np.sqrt((1 - w) * (1 + w)))
    logarithm = np.where(w > 0, np.log(sine / (1 + cosine) / half_tangent), 0.0)
    nodes, weights = gauss_legendre(16)
    v = angle[..., None] + (end - angle)[..., None] * nodes
    return logarithm, (end - angle) * ((v / np.sin(v)) @ weights)
