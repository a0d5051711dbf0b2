"""Two scores of the same people at a cut: by how much do their ROC gaps differ?

The two scores of a person go together, so people are redrawn, within their cell, and both gaps are
computed for the same draw: the bootstrap needs no estimate of a density. Ties are split, as in an
audit (see `roc_gap_estimates`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenscore.distributions import RATE_TOLERANCE
from evenscore.inference.bootstrap import RandomState
from evenscore.inference.estimate import SMALL_CELL, Estimate, check_count, check_level
from evenscore.inference.magnitudes import Paired
from evenscore.scores import CLASSES, ClassName

__all__ = ["paired_roc_gaps"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Cell:
    """The people of a cell, sorted by one score."""

    order: NDArray[np.intp]
    values: Floats
    weight: Floats

    @classmethod
    def of(cls, score: Floats, weight: Floats) -> _Cell:
        order = np.argsort(score, kind="stable")
        return cls(order, score[order], weight[order])

    def cumulative(self, drawn: Floats | None) -> Floats:
        """Weight up to each person, everybody counted as often as drawn."""
        return np.cumsum(self.weight if drawn is None else self.weight * drawn[self.order])


def paired_roc_gaps(
    positive: NDArray[np.bool_],
    y_score: Floats,
    other_score: Floats,
    codes: NDArray[np.integer],
    groups: Sequence[str],
    rates: Sequence[float],
    *,
    sample_weight: Floats | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 400,
    random_state: RandomState = 0,
) -> list[Paired]:
    """The ROC gaps of `y_score` minus (and plus) those of `other_score`, by class and pair.

    Columns are decoded already: `codes` are positions in `groups`. Percentile intervals; the
    p-value is at least 2/(n_resamples + 1).

    >>> y, codes = np.arange(200) % 2 == 1, np.arange(200) // 2 % 2
    >>> score = np.sin(np.arange(200.0))
    >>> found = paired_roc_gaps(y, score, score, codes, ["a", "b"], [0.25])
    >>> [paired.difference.value for paired in found]
    [0.0, 0.0]
    """
    level = check_level(confidence_level)
    check_count(n_resamples, "n_resamples", 2)
    rng = np.random.default_rng(random_state)
    weight = np.ones(len(y_score)) if sample_weight is None else sample_weight
    pairs = [(i, j) for i in range(len(groups)) for j in range(i + 1, len(groups))]
    found: list[Paired] = []
    for on in CLASSES:
        rows = [
            np.flatnonzero((positive == (on == "positives")) & (codes == k) & (weight > 0.0))
            for k in range(len(groups))
        ]
        empty = [groups[k] for k, own in enumerate(rows) if len(own) == 0]
        if empty:
            raise ValueError(f"There are no {on} of {empty[0]}, so gaps of it are undefined.")
        cells = [[_Cell.of(s[own], weight[own]) for own in rows] for s in (y_score, other_score)]
        values = np.stack([_gaps(side, None, pairs, rates) for side in cells])
        draws = np.empty((2, n_resamples, len(pairs), len(rates)))
        for b in range(n_resamples):
            drawn = [
                np.bincount(rng.integers(0, len(own), len(own)), minlength=len(own)) for own in rows
            ]
            draws[:, b] = [_gaps(side, drawn, pairs, rates) for side in cells]
        sizes = [_effective(weight[own]) for own in rows]
        for p, (i, j) in enumerate(pairs):
            smaller = min(sizes[i], sizes[j])
            told: tuple[str, ...] = ()
            if smaller < SMALL_CELL:
                told = (f"the smaller sample is worth {smaller:.0f} observations only",)
            for r, rate in enumerate(rates):
                names = on, groups[i], groups[j], float(rate)
                one, two = draws[:, :, p, r]
                sides = values[:, p, r].tolist()
                found.append(
                    Paired(
                        _estimate(names, sides, sides[0] - sides[1], one - two, level, told),
                        _estimate(names, sides, sides[0] + sides[1], one + two, level, told),
                    )
                )
    return found


def _gaps(
    cells: list[_Cell],
    drawn: list[NDArray[np.intp]] | None,
    pairs: list[tuple[int, int]],
    rates: Sequence[float],
) -> Floats:
    """Δ of every pair at every rate, ties split, for one draw of the people."""
    cumulative = [
        cell.cumulative(None if drawn is None else drawn[k].astype(np.float64))
        for k, cell in enumerate(cells)
    ]
    share = np.asarray(rates)
    need = 1.0 - share - RATE_TOLERANCE
    found = np.empty((len(pairs), len(share)))
    cuts, parts = [], []
    for cell, total in zip(cells, cumulative, strict=True):
        cut = cell.values[np.searchsorted(total, total[-1] * need, side="left")]
        under, up_to = _below(cell, total, cut)
        tied = up_to - under
        missing = share - (1.0 - up_to)  # of the rate, after those above the cut
        part = np.divide(missing, tied, out=np.zeros_like(tied), where=tied > 0)
        cuts.append(cut)
        parts.append(np.clip(part, 0.0, 1.0))
    for p, (i, j) in enumerate(pairs):
        under, up_to = _below(cells[j], cumulative[j], cuts[i])
        found[p] = 1.0 - up_to + parts[i] * (up_to - under) - share
    return found


def _below(cell: _Cell, cumulative: Floats, cuts: Floats) -> tuple[Floats, Floats]:
    """Shares of a cell below the cuts, and up to them."""
    places = (np.searchsorted(cell.values, cuts, side=side) for side in _SIDES)
    under, up_to = (np.where(k > 0, cumulative[np.maximum(k, 1) - 1], 0.0) for k in places)
    return under / cumulative[-1], up_to / cumulative[-1]


_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


def _effective(weight: Floats) -> float:
    return float(weight.sum() ** 2 / np.square(weight).sum())


def _estimate(
    names: tuple[ClassName, str, str, float],
    sides: Sequence[float],
    value: float,
    draws: Floats,
    level: float,
    warnings: tuple[str, ...],
) -> Estimate:
    on, first, second, rate = names
    low, high = np.quantile(draws, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    tail = 1 + min(int(np.sum(draws <= 0.0)), int(np.sum(draws >= 0.0)))
    return Estimate(
        f"roc_gap({on})",
        value,
        float(low),
        float(high),
        level,
        "paired bootstrap, percentile",
        float(draws.std(ddof=1)),
        p_value=min(1.0, 2.0 * tail / (len(draws) + 1)),
        first=first,
        second=second,
        on=on,
        rate=rate,
        words=f"roc_gap({on}) at {rate:.4g}: {sides[0]:.3f} against {sides[1]:.3f}",
        warnings=warnings,
    )
