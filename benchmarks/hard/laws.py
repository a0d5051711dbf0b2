"""Learning problems with groups that conflict, each a function of its number.

In group k a row has x = m_k + L z, with z standard normal and L a mixing matrix; some columns are
then skewed (exponentials, some of them rounded down to counts), some carry the group, some only
noise. The log-odds of the positive class are b_k + x'(β + δ_k) + a sum of products of two columns
whose weights differ by group, and b_k is solved for so that group k has the prevalence drawn for
it. Means, slopes and products all depend on the group, so that no blind score is without gaps, and
closing one opens another; in three problems of ten, one group's slopes have the opposite sign, and
in three nearly all columns are counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

import evenscore as es

LEAST_CELL = 60  # expected training rows of the smallest cell
N_TEST, LEAST_TEST = 20_000, 3_000  # test rows in all, and of a group at the least
NOTIONS = ("inter_group", "intra_group", "bnsp", "bpsn")
TOLERANCES, STRENGTHS = (0.01, 0.02, 0.05, 0.1), (0.5, 1.0, 3.0)
LOOSER = 3.0  # times the tolerance, or a share of the strength


@dataclass(frozen=True, eq=False)
class Rows:
    """Features, labels, groups; weights where groups are not drawn as often as they occur."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    weight: np.ndarray

    @property
    def cell(self) -> np.ndarray:
        return 2 * self.groups + self.y

    @property
    def reweighing(self) -> np.ndarray:
        """P(class) P(group) / P(class, group), as Kamiran and Calders (2012) weigh rows."""
        cells = np.bincount(self.cell, minlength=2 * (self.groups.max() + 1)).reshape(-1, 2)
        expected = np.outer(cells.sum(axis=1), cells.sum(axis=0)) / len(self.y)
        return (expected / cells)[self.groups, self.y]


@dataclass(frozen=True, eq=False)
class Law:
    """Parameters of the law above, of K groups and d columns."""

    shares: np.ndarray
    prevalences: np.ndarray
    means: np.ndarray  # (K, d)
    mixing: np.ndarray  # (d, d)
    skewed: np.ndarray  # columns
    counts: np.ndarray  # those of them that are whole numbers
    slopes: np.ndarray  # (K, d)
    products: np.ndarray  # pairs of columns, (m, 2)
    weights: np.ndarray  # of the products, (K, m)

    @property
    def n_groups(self) -> int:
        return len(self.shares)

    def features(self, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        X = self.means[groups] + rng.standard_normal((len(groups), len(self.mixing))) @ self.mixing
        X[:, self.skewed] = np.exp(0.7 * X[:, self.skewed])
        X[:, self.counts] = np.floor(0.7 * X[:, self.counts])
        return X

    def slope_part(self, X: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """The log-odds without intercept; clipped columns, so that no tail decides alone."""
        clipped = np.clip(X, -4.0, 4.0)
        first, second = self.products.T
        products = clipped[:, first] * clipped[:, second]
        return np.sum(clipped * self.slopes[groups], axis=1) + np.sum(
            products * self.weights[groups], axis=1
        )

    @cached_property
    def intercepts(self) -> np.ndarray:
        found, rng = [], np.random.default_rng(0)
        for k, prevalence in enumerate(self.prevalences):
            groups = np.full(20_000, k)
            part = self.slope_part(self.features(groups, rng), groups)
            found.append(brentq(lambda b, p=part, q=prevalence: expit(p + b).mean() - q, -60, 60))
        return np.array(found)

    def draw(self, counts: np.ndarray, rng: np.random.Generator) -> Rows:
        """So many rows of each group, weighted to what each group's share is."""
        groups = np.repeat(np.arange(self.n_groups), counts)
        X = self.features(groups, rng)
        chance = expit(self.slope_part(X, groups) + self.intercepts[groups])
        y = (rng.random(len(groups)) < chance).astype(np.int64)
        return Rows(X, y, groups, (self.shares * counts.sum() / counts)[groups])


@dataclass(frozen=True, eq=False)
class Problem:
    """A law, rows to train and to test on, and what is asked for."""

    number: int
    law: Law
    train: Rows
    test: Rows
    constraints: tuple
    tolerance: float | None
    strength: float | None

    def asked(self, *, looser: bool = False) -> dict:
        """What a scorer is given besides the constraints."""
        if self.tolerance is not None:
            return {"tolerance": self.tolerance * (LOOSER if looser else 1.0)}
        return {"strength": self.strength / (LOOSER if looser else 1.0)}

    def described(self) -> dict:
        cells = np.bincount(self.train.cell, minlength=2 * self.law.n_groups)
        asked = " and ".join(str(getattr(c, "name", c)) for c in self.constraints)
        return {
            "n": len(self.train.y),
            "d": self.train.X.shape[1],
            "groups": self.law.n_groups,
            "cells": [int(cells.min()), int(cells.max())],
            "asked": asked,
            **self.asked(),
        }


def problem(number: int) -> Problem:
    """The problem of this number, the same on every machine."""
    rng = np.random.default_rng([20_210, number])
    n = int(np.exp(rng.uniform(np.log(1_500), np.log(6_000))))
    law = _law(n, rng)
    while True:
        counts = rng.multinomial(n, law.shares)
        train = law.draw(counts, rng)
        cells = np.bincount(train.cell, minlength=2 * law.n_groups)
        if cells.min() >= LEAST_CELL // 2:
            break
    counts = np.maximum(LEAST_TEST, np.round(N_TEST * law.shares)).astype(int)
    test = law.draw(counts, rng)
    asked = _constraints(rng)
    if rng.random() < 0.75:
        goal = {"tolerance": float(rng.choice(TOLERANCES)), "strength": None}
    else:
        goal = {"tolerance": None, "strength": float(rng.choice(STRENGTHS))}
    order = rng.permutation(n)
    train = Rows(*(part[order] for part in (train.X, train.y, train.groups, np.ones(n))))
    return Problem(number, law, train, test, asked, **goal)


def _law(n: int, rng: np.random.Generator) -> Law:
    prevalence = rng.uniform(0.1, 0.5)
    n_groups = int(rng.integers(2, 7))
    while True:
        shares = rng.dirichlet(np.full(n_groups, rng.uniform(0.6, 3.0)))
        odds = prevalence / (1 - prevalence) * np.exp(rng.normal(0.0, 0.5, n_groups))
        prevalences = odds / (1 + odds)
        smaller = np.minimum(prevalences, 1 - prevalences)
        if n * np.min(shares * smaller) >= LEAST_CELL:
            break
        if rng.random() < 0.02 and n_groups > 2:
            n_groups -= 1
    d = int(np.exp(rng.uniform(np.log(3), np.log(31))))
    informative = rng.permutation(d)[: int(rng.integers(2, min(d, 8) + 1))]
    common, own = np.zeros(d), np.zeros((n_groups, d))
    common[informative] = rng.normal(size=len(informative))
    own[:, informative] = rng.normal(size=(n_groups, len(informative)))
    conflict = rng.uniform(0.1, 0.9)  # share of the slopes that is a group's own
    slopes = np.sqrt(1 - conflict) * common + np.sqrt(conflict) * own
    if rng.random() < 0.3:  # what speaks for one group's people speaks against another's
        slopes[int(rng.integers(n_groups))] *= -1.0
    slopes *= rng.uniform(0.6, 2.0) / np.sqrt(len(informative))
    shift = rng.uniform(0.0, 1.2)
    means = shift * rng.normal(size=(n_groups, d)) * (rng.random(d) < 0.6)
    if rng.random() < 0.5:  # a column that nearly names the group
        means[:, int(rng.integers(d))] += 2.0 * rng.permutation(n_groups)
    mixing = np.eye(d) + rng.uniform(0.0, 0.3) * rng.normal(size=(d, d))
    mixing /= np.linalg.norm(mixing, axis=0)
    coarse = rng.random() < 0.3  # nearly all columns are counts, mostly 0, as in COMPAS
    skewed = np.flatnonzero(rng.random(d) < (0.9 if coarse else 0.3))
    counts = skewed[rng.random(len(skewed)) < (0.9 if coarse else 0.5)]
    products = rng.choice(informative, size=(int(rng.integers(0, 4)), 2))
    weights = rng.normal(0.0, 0.4, (n_groups, len(products)))
    return Law(shares, prevalences, means, mixing, skewed, counts, slopes, products, weights)


def _constraints(rng: np.random.Generator) -> tuple:
    kind = rng.choice(["roc", "rates", "auc", "mixture"], p=[0.35, 0.35, 0.15, 0.15])
    if kind == "roc":
        return (_roc(rng),)
    if kind == "rates":
        return (_rates(rng),)
    if kind == "auc":
        return tuple(rng.choice(NOTIONS, size=int(rng.integers(1, 3)), replace=False).tolist())
    other = _roc(rng) if rng.random() < 0.5 else _rates(rng)
    return str(rng.choice(NOTIONS)), other


def _roc(rng: np.random.Generator) -> es.RocConstraint:
    on = str(rng.choice(["both", "negatives", "positives"], p=[0.6, 0.2, 0.2]))
    rates = rng.choice([0.1, 0.125, 0.25, 0.4, 0.5, 0.7], size=int(rng.integers(1, 4)))
    return es.RocConstraint(on=on, rates=tuple(np.unique(rates).tolist()))


def _rates(rng: np.random.Generator) -> es.RateConstraint:
    kinds = [("fpr",), ("fnr",), ("fpr", "fnr"), ("selection",)]
    names = kinds[int(rng.choice(4, p=[0.2, 0.2, 0.45, 0.15]))]
    of = str(rng.choice(["everyone", "negatives", "positives"], p=[0.5, 0.4, 0.1]))
    if rng.random() < 0.6:
        low = rng.uniform(0.05, 0.2)
        cuts = es.Cuts(between=(round(low, 2), round(low + rng.uniform(0.1, 0.3), 2)), of=of)
    else:
        at = rng.choice([0.1, 0.2, 0.3, 0.5], size=int(rng.integers(1, 4)), replace=False)
        cuts = es.Cuts(at=tuple(np.sort(at).tolist()), of=of)
    return es.RateConstraint(*names, cuts=cuts)
