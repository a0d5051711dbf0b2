"""What a cut does to each group, with intervals: rates, precision and the ratio of selection rates.

The threshold is taken as given. A rate is a share, and its interval is Wilson's; with weights, the
effective size of those it is a share of takes the place of their number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenscore.inference.estimate import check_level, normal_quantile, wilson
from evenscore.labels import label_text
from evenscore.scores import GroupedScores
from evenscore.thresholds import GroupRates, rates_at

__all__ = ["CutTable", "ImpactRatio", "Shares", "cut_table", "ratio_limits"]

Floats = NDArray[np.float64]

FOUR_FIFTHS = 0.8
FOUR_FIFTHS_REMARK = (
    "Four fifths is a rule of thumb of hiring practice in the United States; a ratio below it or "
    "above it proves nothing by itself."
)


@dataclass(frozen=True, eq=False)
class Shares:
    """Many shares with the ends of their intervals; NaN where there is nobody to be a share of."""

    value: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, value: Floats, size: Floats, z: float) -> Shares:
        """Shares among `size` (effective) observations, with Wilson's intervals."""
        known = size > 0
        low, high = wilson(np.where(known, value, 0.5), np.where(known, size, 1.0), z)
        known &= ~np.isnan(value)
        return cls(value, np.where(known, low, np.nan), np.where(known, high, np.nan))


@dataclass(frozen=True, eq=False)
class ImpactRatio:
    """The lowest of the groups' selection rates over the highest, at each threshold.

    The interval is made of Wilson's intervals of the two rates (the method of variance estimates
    recovery for a ratio). It takes the two groups as given, although they were picked as the
    extreme ones. `notes` says in words what the ratio is, beside four fifths.
    """

    value: Floats
    low: Floats
    high: Floats
    lowest: tuple[str, ...]
    highest: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class CutTable:
    """Rates of each group at each threshold (shape (thresholds, groups)), and of everyone.

    A person is selected if their score is above the threshold. `selected` is the weight selected in
    a group and `selected_share` the share of everyone. `labels` says where a threshold comes from.
    """

    thresholds: Floats
    labels: tuple[str, ...]
    groups: tuple[str, ...]
    confidence_level: float
    selected: Floats
    selected_share: Floats
    selection_rate: Shares
    fpr: Shares
    fnr: Shares
    precision: Shares
    impact_ratio: ImpactRatio
    remark: str = FOUR_FIFTHS_REMARK


def cut_table(
    scores: GroupedScores,
    thresholds: ArrayLike,
    *,
    labels: tuple[str, ...] | None = None,
    confidence_level: float = 0.95,
) -> CutTable:
    """The rates of each group at the given thresholds, each with its interval.

    >>> y, groups = [0, 1] * 50, ["a"] * 50 + ["b"] * 50
    >>> scores = GroupedScores.from_arrays(y, range(100), sensitive_features=groups)
    >>> table = cut_table(scores, [24.5])
    >>> table.selection_rate.value
    array([[0.5, 1. ]])
    >>> table.impact_ratio.value, table.impact_ratio.lowest
    (array([0.5]), ('a',))
    """
    level = check_level(confidence_level)
    z = normal_quantile(0.5 + level / 2.0)
    rates = rates_at(scores, thresholds)
    weights, squares = scores.cell_weights, scores.cell_squares
    cells = effective(weights, squares)
    groups = effective(weights.sum(axis=0), squares.sum(axis=0))
    chosen = rates.selected.sum(axis=1)
    total = weights.sum()
    names = tuple(label_text(group) for group in scores.groups)
    selection = Shares.of(rates.selection_rate, np.broadcast_to(groups, chosen.shape), z)
    return CutTable(
        rates.thresholds,
        ("",) * len(rates.thresholds) if labels is None else labels,
        names,
        level,
        chosen,
        chosen.sum(axis=1) / total if total > 0 else np.full(len(chosen), np.nan),
        selection,
        Shares.of(rates.fpr, np.broadcast_to(cells[0], chosen.shape), z),
        Shares.of(rates.fnr, np.broadcast_to(cells[1], chosen.shape), z),
        Shares.of(rates.precision, effective(chosen, _squares_above(scores, rates)), z),
        _impact_ratio(selection, names),
    )


def effective(weight: Floats, square: Floats) -> Floats:
    """(Σw)²/Σw², 0 where there is nobody."""
    sizes = np.zeros_like(np.asarray(weight, dtype=np.float64))
    np.divide(np.square(weight), square, out=sizes, where=np.asarray(square) > 0)
    return sizes


def _squares_above(scores: GroupedScores, rates: GroupRates) -> Floats:
    """Sum of the squared weights of those selected, by threshold and group."""
    chosen: Floats = rates.selected.sum(axis=1)
    if scores.weight is scores.weight_squared or np.array_equal(
        scores.weight, scores.weight_squared
    ):
        return chosen
    order = np.argsort(rates.thresholds, kind="stable")
    starts = np.searchsorted(scores.score, rates.thresholds[order], side="right").tolist()
    above = np.zeros(scores.n_cells)
    found: Floats = np.zeros_like(chosen)
    stop = len(scores)
    for position, start in zip(order[::-1].tolist(), reversed(starts), strict=True):
        rows = slice(start, stop)
        above += np.bincount(
            scores.cell[rows], weights=scores.weight_squared[rows], minlength=scores.n_cells
        )
        found[position] = above.reshape(2, -1).sum(axis=0)
        stop = start
    return found


def _impact_ratio(selection: Shares, groups: tuple[str, ...]) -> ImpactRatio:
    n = len(selection.value)
    values, low, high = (np.full(n, np.nan) for _ in range(3))
    lowest, highest, notes = [], [], []
    for t, rates in enumerate(selection.value):
        known = np.flatnonzero(~np.isnan(rates))
        if len(known) < 2:
            least = most = -1
            notes.append("a ratio of selection rates needs two groups")
        else:
            least, most = known[np.argmin(rates[known])], known[np.argmax(rates[known])]
            if rates[most] > 0:
                p, q = (
                    (rates[k], selection.low[t, k], selection.high[t, k]) for k in (least, most)
                )
                values[t] = rates[least] / rates[most]
                low[t], high[t] = ratio_limits(p, q)
                notes.append(_note(float(values[t]), groups[least], groups[most]))
            else:
                notes.append("nobody is selected: there is no ratio")
        lowest.append(groups[least] if least >= 0 else "")
        highest.append(groups[most] if most >= 0 else "")
    return ImpactRatio(values, low, high, tuple(lowest), tuple(highest), tuple(notes))


def _note(ratio: float, lowest: str, highest: str) -> str:
    if ratio == 1.0:
        return "all groups are selected at the same rate"
    side = "below" if ratio < FOUR_FIFTHS else "not below"
    return f"{lowest} is selected {ratio:.2f} times as often as {highest}, {side} four fifths"


def ratio_limits(
    part: tuple[float, float, float], whole: tuple[float, float, float]
) -> tuple[float, float]:
    """Interval of a ratio of two independent shares, from (value, low, high) of each.

    Donner and Zou (2012): like the interval of a difference, it recovers the variances from the
    intervals of the two, so that a share of zero does no harm.

    >>> low, high = ratio_limits((0.4, 0.37, 0.43), (0.5, 0.47, 0.53))
    >>> round(low, 3), round(high, 3)
    (0.726, 0.88)
    """
    (p, p_low, p_high), (q, q_low, q_high) = part, whole

    def root(a: float, b: float) -> float:
        return float(np.sqrt(max((p * q) ** 2 - a * b * (2.0 * p - a) * (2.0 * q - b), 0.0)))

    # The lower limit as c/(pq + √…) instead of (pq − √…)/d, which may be 0/0.
    below = p * q + root(p_low, q_high)
    low = p_low * (2.0 * p - p_low) / below if below > 0.0 else 0.0
    least = q_low * (2.0 * q - q_low)
    high = (p * q + root(p_high, q_low)) / least if least > 0.0 else np.inf
    return float(low), float(high)
