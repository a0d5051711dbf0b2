"""The best scores at every tolerance, of those that maximise AUC − Σ m gap for some multipliers m.

Whoever may draw lots between several orders of people reaches a convex set of (AUC, gaps), so that
the largest AUC with |gap_j| ≤ ε_j is the smallest value of its dual,

    D(m) = max over orders of [AUC − Σ m_j gap_j] + Σ ε_j |m_j|.

What can be asked is which order is the best for given multipliers (`look`). From the orders known
so far a small linear programme finds the best lottery, and multipliers at which a better order
could be; that order joins them. The orders do not depend on the tolerance: they are kept, and the
next tolerance starts with all of them. Multipliers of a programme with few orders are far out, so
half the way there is tried as well, from where D is known to be smallest. Nobody is ranked by lot
in the end: multipliers are also tried where the lottery has its mean, and the search ends when a
single order is as good.

*Spare* (free disposal): where the AUC is a mean Σ b_k A_k of statistics of the groups, the best
order of those for which no group counts negatively is found by letting every A_k be worse than it
is, by u_k ≥ 0 at the price b_k u_k: the multipliers of that programme leave every group a weight
b_k − Σ m_j C_jk ≥ 0. At a tolerance of 0 it maximises the least of the A_k.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self, final

import numpy as np
from scipy.optimize import linprog

from evenscore.learning.task import MISSED, WORTH
from evenscore.scores.arrays import Floats

Look = Callable[[Floats], tuple[float, Floats]]
"""From multipliers to the AUC and the gaps of the best order for them."""

CLOSE = 1e-4
"""A gap so little beyond a tolerance is within it."""
_ENOUGH = 2e-5  # AUC by which a single order may be worse than the best lottery
_SAME = 1e-7  # multipliers so near to each other are the same
# A hard constraint is a penalty that is doubled as long as a gap is beyond its tolerance. The AUC
# changes by a few times a gap at the most: where 64 times are not enough, nothing is.
_FIRST, _LAST = 0.5, 64.0


@final
@dataclass(frozen=True, eq=False)
class Order:
    """The best order for some multipliers: its AUC and its gaps."""

    multipliers: Floats
    auc: float
    gaps: Floats

    @property
    def worst(self) -> float:
        """The size of its largest gap."""
        return float(np.max(np.abs(self.gaps), initial=0.0))


@final
@dataclass(frozen=True, eq=False)
class Spare:
    """Statistics of the groups that may be worse than they are: see the module.

    `shares`, (K,), are those of the groups in the AUC, and `effect`, (gaps, K), says how each gap
    changes with each statistic.

    >>> spare = Spare(np.array([0.5, 0.5]), np.array([[1.0, -1.0]]))
    >>> order = Order(np.zeros(1), 0.8, np.array([0.1]))
    >>> spare.statistics(order), spare.value(order, 0.02), spare.value(order, 0.0)
    (array([0.85, 0.75]), 0.76, 0.75)
    """

    shares: Floats
    effect: Floats

    def weights(self, multipliers: Floats) -> Floats:
        """What every group counts for, of multipliers (…, gaps)."""
        return np.asarray(self.shares - multipliers @ self.effect)

    def statistics(self, order: Order) -> Floats:
        """Those of the groups, which have the AUC for their mean and the gaps for differences."""
        rows = np.vstack([self.effect, self.shares])
        found, *_ = np.linalg.lstsq(rows, np.append(order.gaps, order.auc), rcond=None)
        return np.asarray(found.round(15))

    def value(self, order: Order, tolerance: float) -> float:
        """Their mean, once those above the least and the tolerance are lowered to that."""
        found = self.statistics(order)
        return float(self.shares @ np.minimum(found, found.min() + tolerance))


@final
@dataclass(eq=False)
class DualSearch:
    """Orders known so far, and the search for better ones.

    Parameters
    ----------
    look : function
        Gives AUC and gaps of the best order for given multipliers.
    n_gaps : int
        How many gaps there are.
    most : int
        Orders looked at for one tolerance, at most, for every direction in which gaps can differ.
    enough : float
        AUC by which the order found may be worse than the best lottery.
    n_free : int
        In how many directions gaps can differ: with K groups there are K(K − 1)/2, in K − 1.

    Examples
    --------
    A smooth law, whose gap falls from 0.2 as the multiplier rises:

    >>> def look(m):
    ...     return 0.9 - 0.25 * m[0] ** 2, 0.2 - 0.5 * m
    >>> best = DualSearch(look, 1).solve(np.array([0.05]))
    >>> round(float(best.gaps[0]), 3), round(best.auc, 3), round(float(best.multipliers[0]), 2)
    (0.05, 0.878, 0.3)
    """

    look: Look
    n_gaps: int
    most: int = 40
    enough: float = _ENOUGH
    n_free: int = 1
    orders: list[Order] = field(default_factory=list, init=False)

    def at(self, multipliers: Floats) -> Order:
        """The best order for some multipliers; it is kept."""
        multipliers = np.asarray(multipliers, dtype=np.float64)
        for order in self.orders:
            if np.max(np.abs(order.multipliers - multipliers), initial=0.0) <= _SAME:
                return order
        auc, gaps = self.look(multipliers)
        self.orders.append(Order(multipliers, float(auc), np.asarray(gaps)))
        return self.orders[-1]

    def solve(
        self, tolerance: Floats, strength: Floats | None = None, spare: Spare | None = None
    ) -> Order:
        """The order of largest AUC whose gaps are within their tolerances, or come nearest.

        With a strength for every gap: of the largest AUC − Σ strength · (what is beyond). With
        `spare`, of those orders for which no group counts negatively; all tolerances are then the
        same, and gaps may be left.
        """
        self.at(np.zeros(self.n_gaps))
        last = len(self.orders) + self.most * self.n_free
        if strength is not None:
            return self._search(_Wanted(tolerance, strength, spare, hard=False), last)[0]
        price = _FIRST
        while True:
            wanted = _Wanted(tolerance, np.full(self.n_gaps, price), spare, hard=True)
            best, beyond = self._search(wanted, last)
            if beyond <= CLOSE or price >= _LAST or len(self.orders) >= last:
                return best
            price *= 2.0

    def _search(self, wanted: "_Wanted", last: int) -> tuple[Order, float]:
        """The best order known in the end, and how far the best lottery is beyond."""
        while True:
            known = len(self.orders)
            lottery = _Lottery.best(self.orders, wanted)
            worth = self._worth(lottery.multipliers)
            self.at(lottery.multipliers)
            if self.n_free > 1:
                self.at(0.5 * (lottery.multipliers + self._centre(wanted)))
            best = max(self.orders, key=wanted.value)
            if self._worth(lottery.multipliers) <= worth + self.enough:  # the best of all lotteries
                if wanted.value(best) >= lottery.value - self.enough:
                    return best, lottery.beyond
                self.at(lottery.mean(self.orders[:known]))
            if len(self.orders) == known or len(self.orders) >= last:
                return max(self.orders, key=wanted.value), lottery.beyond

    def _centre(self, wanted: "_Wanted") -> Floats:
        """The multipliers at which the dual is smallest, of those looked at."""
        known = np.array([order.multipliers for order in self.orders])
        aucs = np.array([order.auc for order in self.orders])
        gaps = np.array([order.gaps for order in self.orders])
        dual = np.max(aucs - known @ gaps.T, axis=1) + np.abs(known) @ wanted.tolerance
        allowed = np.all(np.abs(known) <= wanted.price + _SAME, axis=1)
        if wanted.spare is not None:
            allowed &= np.all(wanted.spare.weights(known) >= -_SAME, axis=1)
        return np.asarray(known[int(np.argmin(np.where(allowed, dual, np.inf)))])

    def _worth(self, multipliers: Floats) -> float:
        """The largest AUC − Σ m gap of the orders known."""
        return max(order.auc - float(multipliers @ order.gaps) for order in self.orders)

    def frontier(self) -> list[Order]:
        """The orders that no other beats in both AUC and largest gap, from the largest AUC on."""
        kept: list[Order] = []
        for order in sorted(self.orders, key=lambda order: (-order.auc, order.worst)):
            if not kept or order.worst < kept[-1].worst:
                kept.append(order)
        return kept


@final
@dataclass(frozen=True, eq=False)
class _Wanted:
    """What a search is for: tolerances, and what each gap costs a lottery beyond them.

    A single order is judged by the same price if it is the user's (`hard` is False), or else as all
    learners judge: a tolerance that is missed costs 0.15 of AUC, and more the further it is missed.
    """

    tolerance: Floats
    price: Floats
    spare: Spare | None
    hard: bool

    def value(self, order: Order) -> float:
        """AUC less what is beyond costs; where something is spared, without that."""
        if self.spare is not None:
            return self.spare.value(order, float(self.tolerance.min()))
        beyond = np.maximum(np.abs(order.gaps) - self.tolerance, 0.0)
        if not self.hard:
            return order.auc - float(self.price @ beyond)
        worst = float(beyond.max(initial=0.0))
        return order.auc - (WORTH * worst + MISSED if worst > CLOSE else 0.0)


@final
@dataclass(frozen=True, eq=False)
class _Lottery:
    """The best mixture of some orders, and the multipliers that show it to be the best of these."""

    value: float
    odds: Floats
    multipliers: Floats
    beyond: float

    @classmethod
    def best(cls, orders: list[Order], wanted: _Wanted) -> Self:
        """By a linear programme in the odds, in what is beyond and in what is spared."""
        n, n_gaps = len(orders), len(wanted.tolerance)
        gaps = np.array([order.gaps for order in orders]).reshape(n, n_gaps).T
        identity, effect, shares = np.eye(n_gaps), np.zeros((n_gaps, 0)), np.zeros(0)
        if wanted.spare is not None:
            effect, shares = wanted.spare.effect, wanted.spare.shares
        rows = np.block([[gaps, -identity, -effect], [-gaps, -identity, effect]])
        whole = np.concatenate([np.ones(n), np.zeros(n_gaps + len(shares))])
        found = linprog(
            np.concatenate([[-order.auc for order in orders], wanted.price, shares]),
            A_ub=rows,
            b_ub=np.concatenate([wanted.tolerance, wanted.tolerance]),
            A_eq=whole[None],
            b_eq=[1.0],
            method="highs",
        )
        if found.status != 0:
            raise RuntimeError(f"The linear programme of the multipliers failed: {found.message}")
        above, below = np.split(-np.asarray(found.ineqlin.marginals), 2)
        beyond = float(np.max(found.x[n : n + n_gaps], initial=0.0))
        return cls(-float(found.fun), found.x[:n], above - below, beyond)

    def mean(self, orders: list[Order]) -> Floats:
        """The mean multipliers of the orders drawn."""
        return np.asarray(self.odds @ np.array([order.multipliers for order in orders]))
