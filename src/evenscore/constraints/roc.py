"""ROC constraints: the distributions of two groups should agree at chosen rates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from evenscore.constraints.gap import Gap, check_tolerance, undefined
from evenscore.distributions import check_interval, to_floats
from evenscore.labels import label_text
from evenscore.measures import roc_gap
from evenscore.scores import CLASSES, ClassName, GroupedScores, OneOrBoth, check_scores, class_names

__all__ = ["RocConstraint"]

_SPACING = 0.025  # of the rates in an interval, unless their number is given


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
        check_tolerance(self.tolerance)
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
        reason = undefined(name, scores, empty) if empty else None
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
