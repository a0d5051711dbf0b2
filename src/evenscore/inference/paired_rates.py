"""Two scores of the same people at a cut: by how much do their ROC gaps differ?

The two scores of a person go together, so people are redrawn, within their cell, and both gaps are
computed for the same draw: the bootstrap needs no estimate of a density. Ties are split, as in an
audit (see `roc_gap_estimates`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenscore.distributions import RATE_TOLERANCE
from evenscore.inference.bootstrap import RandomState
from evenscore.inference.estimate import (
    SMALL_CELL,
    Estimate,
    check_count,
    check_level,
    counted,
    normal_quantile,
    t_test,
)
from evenscore.inference.magnitudes import Paired
from evenscore.scores import CLASSES, ClassName

__all__ = ["paired_roc_gaps"]

Floats = NDArray[np.float64]

_CHUNK = 1 << 15  # entries of the table of draws and people of a cell
_FEW_BEYOND = 10  # observations; measured in benchmarks/covering/paired.py
_DRAWS = 64  # at a time: shares offset by the number of the draw keep thirteen digits


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

    def cumulative(self, drawn: NDArray[np.intp]) -> Floats:
        """Share of the weight up to each person, everybody counted as often as drawn, by draw."""
        sums = np.cumsum(self.weight * drawn[:, self.order], axis=1)
        sums /= sums[:, -1:]
        return sums


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
    p-value is at least 2/(n_resamples + 1). Where fewer than ten observations of the first group
    are expected beyond the cut, draws repeat what few people do: an end of the interval is then the
    farther one of the percentile's and the normal law's, and a warning says so.

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
        once = [np.ones((1, len(own)), dtype=np.intp) for own in rows]
        values = np.concatenate([_gaps(side, once, pairs, rates) for side in cells])
        draws = np.empty((2, n_resamples, len(pairs), len(rates)))
        step = int(np.clip(_CHUNK // max(len(own) for own in rows), 1, _DRAWS))
        for start in range(0, n_resamples, step):
            part = slice(start, min(start + step, n_resamples))
            drawn = [_redrawn(len(own), part.stop - start, rng) for own in rows]
            draws[:, part] = [_gaps(side, drawn, pairs, rates) for side in cells]
        sizes = [_effective(weight[own]) for own in rows]
        for p, (i, j) in enumerate(pairs):
            smaller = min(sizes[i], sizes[j])
            told: tuple[str, ...] = ()
            if smaller < SMALL_CELL:
                told = (f"the smaller sample is worth {counted(smaller)} only",)
            for r, rate in enumerate(rates):
                names = on, groups[i], groups[j], float(rate)
                one, two = draws[:, :, p, r]
                sides = values[:, p, r].tolist()
                beyond = min(rate, 1.0 - rate) * sizes[i]
                difference, total = (
                    _estimate(names, sides, sides[0] + sign * sides[1], one + sign * two, level)
                    for sign in (-1.0, 1.0)
                )
                if beyond < _FEW_BEYOND:
                    difference, total = (_widened(e, beyond) for e in (difference, total))
                found.append(
                    Paired(
                        *(replace(e, warnings=(*told, *e.warnings)) for e in (difference, total))
                    )
                )
    return found


def _redrawn(n: int, draws: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """How often each of n people is drawn, shape (draws, n)."""
    found = rng.integers(0, n, (draws, n))
    found += n * np.arange(draws)[:, None]
    return np.bincount(found.ravel(), minlength=draws * n).reshape(draws, n)


def _gaps(
    cells: list[_Cell],
    drawn: list[NDArray[np.intp]],
    pairs: list[tuple[int, int]],
    rates: Sequence[float],
) -> Floats:
    """Δ at every rate, ties split, by draw of the people and pair: shape (draws, pairs, rates)."""
    cumulative = [cell.cumulative(own) for cell, own in zip(cells, drawn, strict=True)]
    share = np.asarray(rates)
    draw = np.arange(len(drawn[0]))[:, None]
    # All draws at once: the shares of draw b lie in (b, b + 1].
    need = draw + (1.0 - share - RATE_TOLERANCE)
    found = np.empty((len(draw), len(pairs), len(share)))
    cuts, parts = [], []
    for cell, shares in zip(cells, cumulative, strict=True):
        place = np.searchsorted((draw + shares).ravel(), need, side="left")
        cut = cell.values[np.maximum(place - draw * len(cell.values), 0)]
        under, up_to = _below(cell, shares, cut)
        tied = up_to - under
        missing = share - (1.0 - up_to)  # of the rate, after those above the cut
        part = np.divide(missing, tied, out=np.zeros_like(tied), where=tied > 0)
        cuts.append(cut)
        parts.append(np.clip(part, 0.0, 1.0))
    for p, (i, j) in enumerate(pairs):
        under, up_to = _below(cells[j], cumulative[j], cuts[i])
        found[:, p] = 1.0 - up_to + parts[i] * (up_to - under) - share
    return found


def _below(cell: _Cell, shares: Floats, cuts: Floats) -> tuple[Floats, Floats]:
    """Shares of a cell below the cuts, and up to them, by draw."""
    places = (np.searchsorted(cell.values, cuts, side=side) for side in _SIDES)
    under, up_to = (
        np.where(k > 0, np.take_along_axis(shares, np.maximum(k, 1) - 1, axis=1), 0.0)
        for k in places
    )
    return under, up_to


_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


def _effective(weight: Floats) -> float:
    return float(weight.sum() ** 2 / np.square(weight).sum())


def _estimate(
    names: tuple[ClassName, str, str, float],
    sides: Sequence[float],
    value: float,
    draws: Floats,
    level: float,
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
    )


def _widened(estimate: Estimate, beyond: float) -> Estimate:
    """The interval that holds the normal law's as well, for few observations beyond the cut."""
    e, error = estimate, estimate.standard_error
    half = normal_quantile(0.5 + e.confidence_level / 2.0) * error
    p_value = e.p_value
    if error > 0.0:
        p_value = max(p_value, t_test(e.value, error, e.degrees_of_freedom))
    told = (
        f"{counted(beyond)} of the first group can be expected beyond the cut: the interval is wide"
    )
    return replace(
        e,
        low=min(e.low, e.value - half),
        high=max(e.high, e.value + half),
        method="paired bootstrap, percentile and normal",
        p_value=p_value,
        warnings=(told,),
    )
