"""Probabilities corrected on rows not trained on: each by itself, then those of all cells jointly.

The optimal score takes probabilities at their word, and classifiers have two faults. They are too
sure of themselves, above all of the groups of a few people: log p' = a_k + b log p_k, but for the
sum, mends that, and where nothing can be told b is near 0. And they are of a shape that the truth
need not have: in groups by age, logistic regression has the chance of old age rise with everything
that old age goes along with. Of all scores that look at people through these probabilities the best
one needs the chances of the cells given the probabilities. They are learned as a correction of the
logarithms, linear and quadratic in the logarithms of the probabilities, with a ridge that lets few
rows correct little.
"""

from dataclasses import dataclass
from typing import Self, final

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from evenscore.scores.arrays import Floats, Ints

_LEAST = 1e-9  # a probability below is taken to be that
_PRIOR = 1.0  # rows with which the prior b = 1, a = 0 counts, per unit squared
# Logarithms of odds beyond tell no more, and their squares would tell too much: with 8, logistic
# regression loses 0.001 more AUC on inner folds of Bank and 0.002 more of German, under "bpsn".
_FURTHEST = 5.0
# Rows with which the prior of no joint correction counts, per unit squared of a coefficient of
# standardised terms. In a prototype, on inner folds of training rows (German, COMPAS, Bank, Adult;
# logistic regression; four notions), 10, 30, 100 and 300 lose 0.024, 0.025, 0.027 and 0.030 of AUC
# on Bank under "bpsn", 0.045 without a correction; on German 0.009, 0.007, 0.007 and 0.007, 0.006
# without; elsewhere the differences are below 0.003.
_RIDGE = 30.0
_TERMS = 21  # of two groups, for which that was measured: the more there are, the larger the ridge
_CROSSED = 12  # logarithms of odds of which all products are terms; of more, only squares are


@final
@dataclass(frozen=True, eq=False)
class Recalibration:
    """log p' = offsets + slope · log p, less what makes the probabilities add up to one.

    >>> rng = np.random.default_rng(0)
    >>> log_odds = rng.normal(size=4000)
    >>> target = (rng.random(4000) < 1 / (1 + np.exp(-log_odds))).astype(int)
    >>> sure = 1 / (1 + np.exp(-3.0 * log_odds))  # three times too sure
    >>> found = Recalibration.fit(np.column_stack((1 - sure, sure)), target)
    >>> bool(abs(found.slope - 1 / 3) < 0.03)
    True
    """

    slope: float
    offsets: Floats

    @classmethod
    def fit(cls, probabilities: Floats, target: Ints, weight: Floats | None = None) -> Self:
        """From probabilities of rows not trained on, (n, K), and what came true."""
        if not len(target):
            return cls(1.0, np.zeros(probabilities.shape[1]))
        logs, (share, n) = logarithms(probabilities), _shares(len(target), weight)
        prior, n_classes = _PRIOR / n, logs.shape[1]
        truth = np.eye(n_classes)[target]

        def value_and_gradient(parameters: Floats) -> tuple[float, Floats]:
            slope, offsets = parameters[0], parameters[1:]
            found = log_softmax(slope * logs + offsets, axis=1)
            off = share[:, None] * (np.exp(found) - truth)
            away = np.concatenate([[slope - 1.0], offsets])
            value = -share @ found[np.arange(len(target)), target] + 0.5 * prior * away @ away
            gradient = np.concatenate([[np.sum(off * logs)], off.sum(axis=0)])
            return float(value), gradient + prior * away

        start = np.concatenate([[1.0], np.zeros(n_classes)])
        bounds = [(0.0, None), *[(None, None)] * n_classes]
        solved = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds)
        return cls(float(solved.x[0]), np.asarray(solved.x[1:]))

    def __call__(self, probabilities: Floats) -> Floats:
        """Recalibrated probabilities."""
        logs = logarithms(probabilities)
        return np.asarray(softmax(self.slope * logs + self.offsets, axis=1))


@final
@dataclass(frozen=True, eq=False)
class JointRecalibration:
    """log P(cell) + terms · coefficients, less what makes the probabilities add up to one.

    The terms are 1, the logarithms of odds, standardised, and their products.
    """

    centre: Floats
    scale: Floats
    coefficients: Floats

    @classmethod
    def fit(cls, odds: Floats, cells: Floats, target: Ints, weight: Floats | None = None) -> Self:
        """From rows not trained on: logarithms of odds, (n, d), P(cell), (n, c), and the cells."""
        (share, n), n_cells = _shares(len(target), weight), cells.shape[1]
        odds = np.clip(odds, -_FURTHEST, _FURTHEST)
        centre = share @ odds
        scale = np.sqrt(share @ np.square(odds - centre))
        scale[scale <= 1e-9] = 1.0
        terms = _terms((odds - centre) / scale)
        logs, truth = logarithms(cells), np.eye(n_cells)[target]
        ridge = _RIDGE * max(1.0, terms.shape[1] / _TERMS) / n

        def value_and_gradient(parameters: Floats) -> tuple[float, Floats]:
            coefficients = parameters.reshape(-1, n_cells)
            found = log_softmax(logs + terms @ coefficients, axis=1)
            off = share[:, None] * (np.exp(found) - truth)
            value = -share @ found[np.arange(len(target)), target]
            value += 0.5 * ridge * parameters @ parameters
            return float(value), (terms.T @ off).reshape(-1) + ridge * parameters

        start = np.zeros(terms.shape[1] * n_cells)
        solved = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B")
        return cls(centre, scale, np.asarray(solved.x.reshape(-1, n_cells)))

    def __call__(self, odds: Floats, cells: Floats) -> Floats:
        """Recalibrated probabilities of the cells, (n, c)."""
        odds = np.clip(odds, -_FURTHEST, _FURTHEST)
        terms = _terms((odds - self.centre) / self.scale)
        return np.asarray(softmax(logarithms(cells) + terms @ self.coefficients, axis=1))


def logarithms(probabilities: Floats) -> Floats:
    """Of probabilities that are not too small."""
    return np.asarray(np.log(np.maximum(probabilities, _LEAST)))


def log_odds(probabilities: Floats) -> Floats:
    """Logarithms of the odds of each class against all others."""
    return np.asarray(logarithms(probabilities) - logarithms(1.0 - probabilities))


def _terms(standard: Floats) -> Floats:
    n, d = standard.shape
    first, second = np.triu_indices(d) if d <= _CROSSED else (np.arange(d), np.arange(d))
    products = standard[:, first] * standard[:, second]
    return np.concatenate([np.ones((n, 1)), standard, products], axis=1)


def _shares(n: int, weight: Floats | None) -> tuple[Floats, float]:
    """Weights that add up to one, and how many equal ones they are worth (Kish's number)."""
    share = np.full(n, 1.0 / n) if weight is None else weight / weight.max()
    share = share / share.sum()
    return share, float(1.0 / np.sum(np.square(share)))
