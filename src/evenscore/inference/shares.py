"""How many observations a weighted share is worth.

Sums over people come as arrays of shape (3, …): of their weights, of the squares, and of ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenscore.inference.estimate import student
from evenscore.scores import GroupedScores
from evenscore.thresholds import GroupRates

__all__ = ["share_size", "sums_above", "sums_by_cell", "weight_by_class"]

Floats = NDArray[np.float64]

_ADDED = 2.0  # people of typical weight; measured in benchmarks/covering/cuts.py
_EXACT = 1e-9  # the noise of equal weights is less, but for rounding
_FREEDOM = 3.0


def share_size(
    inside: Floats, outside: Floats, z: float, *, typical: Floats | None = None
) -> Floats:
    """The effective number of observations behind a weighted share, for Wilson's interval at z.

    `inside` and `outside` are sums over the people that the share p counts and those it does not.
    Its variance is V = Σw²(x − p)²/(Σw)², x being 1 inside and 0 outside, and the size is
    p(1 − p)/V = Σw/((1 − p)h₁ + p h₀) with h = Σw²/Σw inside and outside. Weights that depend on x
    make it larger or smaller than Kish's (Σw)²/Σw².

    The h are estimates, perhaps from few people, and low where p happens to be low: taken at their
    value, they make intervals that hold in as little as 80 % of samples instead of 95 %. So each
    side counts two more people of the weight typical of both, if that makes the size smaller; and
    the size is multiplied by (z/t)², t being Student's quantile with 2n(1 + q)/(q + 3q²) degrees of
    freedom (three at least) for a side of n people, q the squared coefficient of variation of the
    weights within the sides: the noise of h for weights with a gamma law. Without weights the size
    is the number of people. Where a side is empty, those who are missing are taken to weigh what
    the others do: if they weigh much more the interval is too short, and no sample without them
    can tell. `typical`, h of both sides in a wider population (shape (2, …), NaN if unknown), can.
    0 where there is nobody at all.

    >>> sums = np.array([25.0, 25.0, 25.0])
    >>> float(share_size(sums, 3.0 * sums, 1.96))  # weights of one
    100.0
    >>> heavy = np.array([100.0, 400.0, 25.0])  # 25 people of weight 4
    >>> float(share_size(heavy, 3.0 * sums, 1.96).round(1))
    75.3
    """
    weight, square, count = np.stack(np.broadcast_arrays(inside, outside), axis=1)
    total, squares, people = (np.sum(part, axis=0) for part in (weight, square, count))
    known = (total > 0.0) & (squares > 0.0)
    total = np.where(known, total, 1.0)
    pooled = np.where(known, squares / total, 1.0)
    if typical is not None:
        pooled = np.where(np.isnan(typical), pooled, typical)
    there = weight > _EXACT * total  # less is what rounding left of nobody
    other = weight[::-1] / total  # 1 − p for the people inside
    shrunk = (square + _ADDED * pooled**2) / (weight + _ADDED * pooled)
    heavy = np.divide(square, weight, out=shrunk.copy(), where=there)
    parts = other * shrunk
    plain = (other * heavy).sum(axis=0)
    part = np.where(known, parts.sum(axis=0), 1.0)
    within = np.divide(count * square, np.square(weight), out=np.ones_like(weight), where=there)
    vary = np.maximum((count * within).sum(axis=0) / np.maximum(people, 1.0) - 1.0, 0.0)
    behind = np.where(there, count + _ADDED, np.maximum(people, 1.0))
    noise = (np.square(parts / part) / behind).sum(axis=0)
    noise *= vary * (1.0 + 3.0 * vary) / (2.0 * (1.0 + vary))
    freedom = np.maximum(1.0 / np.maximum(noise, _EXACT), _FREEDOM)
    shorter = np.square(z / student(np.asarray(z), freedom))
    shorter = np.where(noise > _EXACT, shorter, 1.0)
    return np.where(known, total / np.maximum(part, plain) * shorter, 0.0)


def sums_by_cell(scores: GroupedScores) -> Floats:
    """The sums over the people of each cell, shape (3, classes, groups)."""
    return np.stack([scores.cell_weights, scores.cell_squares, scores.cell_counts])


def weight_by_class(sums: Floats) -> Floats:
    """Σw²/Σw of the positives, then the negatives, of every group: `typical` of `share_size`."""
    weight, square = sums[:2]
    found = np.divide(square, weight, out=np.full(weight.shape, np.nan), where=weight > 0.0)
    return np.asarray(found[::-1])


def sums_above(scores: GroupedScores, rates: GroupRates) -> Floats:
    """The sums over those selected, shape (3, thresholds, classes, groups)."""
    columns = scores.weight_squared, scores.count
    if all(c is scores.weight or np.array_equal(c, scores.weight) for c in columns):
        return np.stack([rates.selected] * 3)
    order = np.argsort(rates.thresholds, kind="stable")
    starts = np.searchsorted(scores.score, rates.thresholds[order], side="right").tolist()
    above = np.zeros((2, scores.n_cells))
    found = np.zeros((2, *rates.selected.shape))
    stop = len(scores)
    for position, start in zip(order[::-1].tolist(), reversed(starts), strict=True):
        rows = slice(start, stop)
        for sums, column in zip(above, columns, strict=True):
            sums += np.bincount(scores.cell[rows], column[rows], minlength=scores.n_cells)
        found[:, position] = above.reshape(2, 2, -1)
        stop = start
    return np.concatenate([rates.selected[None], found])
