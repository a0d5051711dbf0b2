"""Multipliers of the saddle problem: two rules with the same `init`, `respond` and `update`.

Minimising 1 − AUC + Σ λ|gap| is a saddle problem, since λ|g| is the largest m·g with |m| ≤ λ. A
rule moves the multipliers m: `respond` says what the current (surrogate) gaps cost and the
derivative of that cost, `update` moves m after looking at the strict gaps. A strength of infinity
is a hard constraint; a tolerance ε lets |g| ≤ ε cost nothing: |g| becomes max(|g| − ε, 0).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from evenscore.scores.arrays import Floats, Ints

_SWING = 0.02  # a gap less far beyond the other side may be there by chance
_SEVERAL = 2.0  # steps of a term that has a share of a penalty only: with 1, gaps are larger


@dataclass(frozen=True, eq=False)
class MultiplierState:
    """Multipliers, the gaps tolerated, and what the augmented Lagrangian keeps.

    That is: its penalty, strict minus surrogate gaps, what was beyond the tolerance last, and the
    share of a step that a multiplier takes whose gap has swung from one side to the other.
    `together` are the positions of the terms of one gap, which share its strength, and `share` is
    the part of the penalty that a term has.
    """

    multipliers: Floats
    tolerance: Floats
    penalty: float = 0.0
    correction: Floats | float = 0.0
    beyond: Floats | None = None
    ease: Floats | float = 1.0
    together: tuple[Ints, ...] = ()
    share: Floats | float = 1.0


def excess(gaps: Floats, tolerance: Floats | float) -> Floats:
    """How far each gap is beyond ±tolerance, with its sign.

    >>> excess(np.array([0.03, -0.03, 0.01]), 0.02).round(3)
    array([ 0.01, -0.01,  0.  ])
    """
    return np.asarray(gaps - np.clip(gaps, -np.asarray(tolerance), tolerance))


def shared(penalty: float, n_groups: int) -> float:
    """A penalty for two groups, shared out among the pairs that a group is compared in."""
    return penalty / max(1, n_groups - 1)


def _within_sum(values: Floats, most: float) -> Floats:
    """The nearest point whose sizes add up to no more: all sizes are lowered by the same.

    >>> _within_sum(np.array([3.0, -2.0, 0.5]), 3.0)
    array([ 2., -1.,  0.])
    """
    sizes = np.abs(values)
    if sizes.sum() <= most:
        return values
    falling = np.sort(sizes)[::-1]
    left = (np.cumsum(falling) - most) / np.arange(1, len(values) + 1)
    lowered = left[np.flatnonzero(falling >= left)[-1]]
    return np.asarray(np.sign(values) * np.maximum(sizes - lowered, 0.0))


@dataclass(frozen=True)
class MultiplierRule(ABC):
    """A way to move multipliers, each kept within ±strength.

    The strength is one for all multipliers or one for each. A gap that is the largest of several,
    as over a range of cuts, has a multiplier for each: λ times the largest size is the largest
    Σ m·g with Σ |m| ≤ λ, so that they share the strength.
    """

    strength: Floats | float = np.inf

    def __post_init__(self) -> None:
        if not np.all(np.asarray(self.strength) >= 0.0):
            raise ValueError(f"strength must be at least 0, not {self.strength!r}.")

    def init(
        self, tolerance: Floats, together: tuple[Ints, ...] = (), share: Floats | float = 1.0
    ) -> MultiplierState:
        """Zero multipliers, one for each tolerance; those of one gap share strength and penalty."""
        aims = np.asarray(tolerance, dtype=np.float64)
        return MultiplierState(np.zeros(len(aims)), aims, together=together, share=share)

    @abstractmethod
    def update(self, state: MultiplierState, strict: Floats, surrogate: Floats) -> MultiplierState:
        """Multipliers after seeing the strict gaps (and the surrogate ones beside them)."""

    def respond(self, state: MultiplierState, gaps: Floats) -> tuple[float, Floats]:
        """Cost of the surrogate gaps and its derivative: m · gaps and m, if a rule says no more."""
        return float(state.multipliers @ gaps), state.multipliers

    def bound(self, multipliers: Floats, together: tuple[Ints, ...] = ()) -> Floats:
        """The nearest within ±strength, those of one gap together."""
        bounded = np.clip(multipliers, -self.strength, self.strength)
        strength = np.broadcast_to(self.strength, bounded.shape)
        for some in together:
            if np.isfinite(strength[some[0]]):
                bounded[some] = _within_sum(multipliers[some], float(strength[some[0]]))
        return bounded


@final
@dataclass(frozen=True)
class SignRule(MultiplierRule):
    """The paper's rule: every multiplier takes a step of fixed size in the direction of its gap.

    With strength λ, m = λc and c moves by ±`step` within [−1, 1].
    """

    step: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.all(np.isfinite(self.strength)):
            raise ValueError("The sign rule moves by a share of the strength: give a finite one.")

    def update(self, state: MultiplierState, strict: Floats, surrogate: Floats) -> MultiplierState:
        """One step for each gap beyond the tolerance."""
        direction = np.sign(excess(strict, state.tolerance))
        moved = state.multipliers + self.step * self.strength * direction
        moved = self.bound(moved, state.together)
        return replace(state, multipliers=moved)


@final
@dataclass(frozen=True)
class AugmentedLagrangian(MultiplierRule):
    """Multipliers with a quadratic penalty ρ, which makes the inner problem well behaved.

    A gap g costs ½ρ·dist(g + m/ρ, [−ε, ε])², so that the derivative m' = ρ(u − clip(u, ±ε)), at
    u = g + m/ρ, is the next multiplier. The surrogate is corrected by its difference from the
    strict gap at the last update: what converges to zero is the strict gap. ρ grows while the
    violation does not shrink by half, up to a limit. On small samples strict gaps jump; `damping`
    is the share of a new difference that enters the correction. `gain` is the share of a step that
    is made: less than one where updates come before the minimum is reached. There a multiplier also
    does well to wait while its gap is closing by itself: with `hold` it does not grow as long as
    what is beyond the tolerance is less than that share of what it was. A strict gap may be much
    steeper than its surrogate: one that swings from beyond the tolerance on one side to beyond it
    on the other, and by more than half as far, has its steps halved from then on. The terms of one
    gap move together, so that each has a share of the penalty only.
    """

    penalty: float = 4.0
    growth: float = 1.3
    damping: float = 0.5
    max_penalty: float = 16.0
    gain: float = 1.0
    hold: float = 0.0

    def init(
        self, tolerance: Floats, together: tuple[Ints, ...] = (), share: Floats | float = 1.0
    ) -> MultiplierState:
        """Zero multipliers and the initial penalty."""
        return replace(super().init(tolerance, together, share), penalty=self.penalty)

    def respond(self, state: MultiplierState, gaps: Floats) -> tuple[float, Floats]:
        """The augmented cost; beyond the strength it goes on linearly."""
        rho = state.penalty * state.share
        wanted = rho * excess(gaps + state.correction + state.multipliers / rho, state.tolerance)
        bounded = self.bound(wanted, state.together)
        cost = float(np.sum(bounded * (wanted - 0.5 * bounded) / rho))
        return cost, bounded

    def update(self, state: MultiplierState, strict: Floats, surrogate: Floats) -> MultiplierState:
        """The multiplier method's step, with the strict gaps."""
        penalty = state.penalty
        rho = penalty * state.share
        wanted = rho * excess(strict + state.multipliers / rho, state.tolerance)
        beyond = excess(strict, state.tolerance)
        before, ease = state.beyond, state.ease
        if before is not None:
            far = np.abs(beyond) > np.maximum(_SWING, 0.5 * np.abs(before))
            ease = np.where(far & (beyond * before < 0.0), 0.5 * ease, ease)
        gain = np.minimum(1.0, self.gain * np.where(np.less(state.share, 1.0), _SEVERAL, 1.0))
        moved = state.multipliers + gain * ease * (wanted - state.multipliers)
        moved = self.bound(moved, state.together)
        if before is not None:
            closing = (np.abs(beyond) < self.hold * np.abs(before)) & (beyond * before > 0.0)
            growing = np.abs(moved) > np.abs(state.multipliers)
            moved = np.where(closing & growing, state.multipliers, moved)
            now, then = (np.max(np.abs(part), initial=0.0) for part in (beyond, before))
            if now > 0.5 * then:
                penalty = min(penalty * self.growth, self.max_penalty)
        news = strict - surrogate - state.correction
        correction = state.correction + self.damping * ease * news
        return replace(
            state,
            multipliers=moved,
            penalty=penalty,
            correction=correction,
            beyond=beyond,
            ease=ease,
        )
