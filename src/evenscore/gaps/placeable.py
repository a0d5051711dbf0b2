"""Placeable: constraints that are linear in where people are placed.

A score places people: at a cut that selects a share u of a pool, a share A_c(u) of every cell c is
above. Rates at cuts are functions of the A_c at one cut, and the AUCs whose reference is a pooled
class are means of such rates over all cuts of that class. So whatever asks for equal rates at cuts
can be handed to the optimiser of `placement` as a list of `PlacedRate`.
"""

from dataclasses import dataclass
from typing import Protocol, final, runtime_checkable

from evenscore.scores.rates import Rate
from evenscore.scores.selection import Pool

AVERAGED = (0.01, 0.03, *(k / 16.0 for k in range(1, 16)), 0.97, 0.99)
"""Cuts at which a rate is taken whose mean over all cuts of a class should be equal: close to the
ends, beyond which other classes may have most of their people, closer together."""


@final
@dataclass(frozen=True)
class PlacedRate:
    """A rate that should be equal between groups at cuts of a pool.

    Parameters
    ----------
    rate : Rate
    pool : "everyone", "negatives" or "positives"
    above : tuple of float
        The share of the pool that is above each cut.
    texts : tuple of str
        Where each cut is, in words; of an averaged rate one text for all.
    selects_above : bool
        Whether people above a cut are selected, or those below.
    averaged : bool
        Whether the mean over the cuts should be equal instead of the rate at each.
    between : two shares, optional
        If all cuts of a range are meant, those above its first and its last.
    """

    rate: Rate
    pool: Pool
    above: tuple[float, ...]
    texts: tuple[str, ...]
    selects_above: bool = True
    averaged: bool = False
    between: tuple[float, float] | None = None


@runtime_checkable
class Placeable(Protocol):
    """A constraint that says which rates should be equal, at which cuts of which pool."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def tolerance(self) -> float | None:
        """The gap that may be left; None: as the verb's own tolerance says."""

    def placed(self) -> tuple[PlacedRate, ...]:
        """The rates; a sentence if this one cannot be written so."""
