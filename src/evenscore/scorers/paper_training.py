"""Algorithms 1 and 2 of the paper, many fits at once.

Algorithm 1 drives AUC gaps: pairs are drawn from small batches, as many for every AUC of a gap as
for the overall one, and the multiplier m = λc moves by a fixed step with the sign of the strict gap
on the validation rows. Algorithm 2 drives ROC gaps: each has a threshold t and a coefficient c, and
whichever of the two is further off is moved by a fixed step. The penalty ½ l2 ‖W‖² is of all that
is trained, biases too. The iterations between two updates are one compiled loop over all fits; they
differ in strength, l2 and random state and share the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from evenscore.learning.multipliers import SignRule
from evenscore.learning.objective import Objective, Strict
from evenscore.learning.pairs import incomplete_auc
from evenscore.learning.surrogates import logistic
from evenscore.scorers.network import Layers, forward, hidden_layers

__all__ = ["Fit", "PaperSettings", "Update", "train"]

Floats = NDArray[np.float64]

_PAIR_BANDWIDTH = 0.5  # σ(2(s − s')): the factor comes from labels in {−1, 1}
_EPSILON = 1e-3  # added to the variance by the batch normalisation
_MOMENTUM = 0.99
_DEVIATION = 0.01  # of the initial weights


@dataclass(frozen=True)
class PaperSettings:
    """What all fits of a batch have in common."""

    hidden: tuple[int, ...]
    learning_rate: float
    batch_size: int
    n_pairs: int
    n_iter: int
    update_every: int
    multiplier_step: float
    threshold_step: float


@dataclass(frozen=True)
class Fit:
    """What is a fit's own."""

    strength: float
    l2: float
    seed: int


@dataclass(frozen=True, eq=False)
class Update:
    """What was seen of a fit on the validation rows, and the multipliers until then."""

    fit: int
    multipliers: Floats
    strict: Strict


class _State(NamedTuple):
    """Of one fit, on the device; stacked for many. All layers are one vector: Adam is one step."""

    weights: Any
    moments: Any
    mean: Any
    variance: Any
    key: Any


def train(
    X: Floats,
    cell: NDArray[np.intp],
    weight: Floats | None,
    held_out: Floats,
    checked: Objective,
    settings: PaperSettings,
    fits: list[Fit],
    keep: Callable[[Update], None],
) -> list[Layers]:
    """Train all fits on rows X of the given cells; `checked` is the objective of the held-out rows.

    Rows are drawn in proportion to their weights. Every update of every fit is handed to `keep`.
    Returns the layers of each fit, the normalisation being part of the last one.
    """
    adam = optax.adam(settings.learning_rate)
    chances = None if weight is None else jnp.asarray(np.cumsum(weight / weight.sum()), jnp.float32)
    rows, labels = jnp.asarray(X, dtype=jnp.float32), jnp.asarray(cell, dtype=jnp.int32)
    checked_rows = jnp.asarray(held_out, dtype=jnp.float32)
    state = _stack([_init(X.shape[1], settings, fit, adam) for fit in fits])
    l2 = jnp.asarray([fit.l2 for fit in fits], jnp.float32)
    rules = [_Rules(checked, fit.strength, settings) for fit in fits]
    # However many iterations there are, the program is the same.
    program, scores_of = _compile(_Gaps.of(checked), replace(settings, n_iter=0))

    def advance(state: _State) -> Any:
        multipliers = np.stack([rule.multipliers for rule in rules]).astype(np.float32)
        thresholds = np.stack([rule.thresholds for rule in rules]).astype(np.float32)
        return program(state, rows, labels, chances, multipliers, thresholds, l2)

    n_updates = -(-settings.n_iter // settings.update_every)
    state = advance(state)
    for number in range(n_updates):
        scores = np.asarray(scores_of(state, checked_rows), dtype=np.float64)
        multipliers = [rule.multipliers for rule in rules]
        seen = [rule.update(score) for rule, score in zip(rules, scores, strict=True)]
        if number < n_updates - 1:
            state = advance(state)  # at work while the host goes on
        for fit, score in enumerate(scores):
            keep(Update(fit, multipliers[fit], seen[fit] or checked.strict(score)))
    return [_layers(state, fit, X.shape[1], settings) for fit in range(len(fits))]


class _Rules:
    """Multipliers and thresholds of one fit, moved by fixed steps after a look at held-out rows."""

    def __init__(self, objective: Objective, strength: float, settings: PaperSettings) -> None:
        self.objective, self.terms = objective, objective.terms
        self.rule = SignRule(strength, settings.multiplier_step)
        self.threshold_step = settings.threshold_step
        self.state = self.rule.init(np.zeros(len(self.terms)))
        self.thresholds = np.zeros(len(self.terms.roc))
        roc = self.terms.roc
        self.ends = [
            [np.flatnonzero(objective.cell == c) for c in cells[roc]]
            for cells in (self.terms.first, self.terms.second)
        ]

    @property
    def multipliers(self) -> Floats:
        return self.state.multipliers

    def update(self, score: Floats) -> Strict | None:
        """One step; also the strict gaps, if they were needed."""
        terms, roc, strict = self.terms, self.terms.roc, None
        gaps = np.zeros(len(terms))
        if len(roc) < len(terms):
            strict = self.objective.strict(score)
            gaps = strict.gaps.copy()
        if len(roc):
            rates = np.array([self._rates(score, members) for members in self.ends])
            gap = rates[1] - rates[0]
            away = rates.sum(axis=0) - 2.0 * terms.rate[roc]
            move = np.abs(away) > np.abs(gap)
            self.thresholds = self.thresholds + np.where(
                move, np.sign(away) * self.threshold_step, 0.0
            )
            gaps[roc] = np.where(move, 0.0, gap)
        self.state = self.rule.update(self.state, gaps, gaps)
        return strict

    def _rates(self, score: Floats, members: list[NDArray[np.intp]]) -> list[Any]:
        """The share of each ROC term's cell above the term's threshold."""
        share = self.objective.share
        return [
            share[rows] @ (score[rows] > threshold)
            for threshold, rows in zip(self.thresholds, members, strict=True)
        ]


def _init(d: int, settings: PaperSettings, fit: Fit, adam: Any) -> _State:
    rng = np.random.default_rng(fit.seed)
    layers = hidden_layers([d, *settings.hidden], rng, _DEVIATION)
    weights = jnp.asarray(_ravel(layers, np), dtype=jnp.float32)
    key = jax.random.key(int(rng.integers(2**31)))
    return _State(weights, adam.init(weights), jnp.zeros(()), jnp.ones(()), key)


def _stack(states: list[_State]) -> Any:
    return jax.tree.map(lambda *parts: jnp.stack(parts), *states)


def _ravel(layers: Any, xp: Any) -> Any:
    """One vector: weights and biases of one layer after the other."""
    return xp.concatenate([part.ravel() for layer in layers for part in layer])


def _unravel(weights: Any, d: int, hidden: tuple[int, ...]) -> Layers:
    """The layers again."""
    layers, start = [], 0
    for inputs, outputs in pairwise((d, *hidden, 1)):
        middle, stop = start + inputs * outputs, start + (inputs + 1) * outputs
        layers.append((weights[start:middle].reshape(inputs, outputs), weights[middle:stop]))
        start = stop
    return layers


def _layers(state: _State, fit: int, d: int, settings: PaperSettings) -> Layers:
    *inner, (weights, biases) = _unravel(
        np.asarray(state.weights[fit], dtype=np.float64), d, settings.hidden
    )
    scale = np.sqrt(float(state.variance[fit]) + _EPSILON)
    return [*inner, (weights / scale, (biases - float(state.mean[fit])) / scale)]


@lru_cache(maxsize=16)
def _compile(gaps: _Gaps, settings: PaperSettings) -> tuple[Any, Any]:
    """For all fits: the iterations between two updates as one program; the scores of rows."""
    adam = optax.adam(settings.learning_rate)

    def loss(layers: Layers, X: Any, pairs: _Pairs, shares: Any, thresholds: Any) -> Any:
        raw = forward(layers, X, jnp)
        mean, variance = jnp.mean(raw), jnp.var(raw)
        score = (raw - mean) / jnp.sqrt(variance + _EPSILON)
        value = incomplete_auc(
            score[pairs.low], score[pairs.high], pairs.weights, _PAIR_BANDWIDTH, jnp
        )
        if len(gaps.roc):
            value += jnp.sum(shares * logistic(score[:, None] - thresholds, jnp))
        return value, (mean, variance)

    def one(
        state: _State, X: Any, cell: Any, chances: Any, multipliers: Any, thresholds: Any, l2: Any
    ) -> _State:
        # All that does not depend on the network is done at once for all iterations.
        key, for_batches, for_pairs = jax.random.split(state.key, 3)
        size = (settings.update_every, settings.batch_size)
        if chances is None:
            batches = jax.random.randint(for_batches, size, 0, len(cell))
        else:
            drawn = jnp.searchsorted(chances, jax.random.uniform(for_batches, size))
            batches = drawn.clip(0, len(cell) - 1)
        uniform = jax.random.uniform(
            for_pairs, (settings.update_every, 1 + len(gaps.between), 2, settings.n_pairs)
        )
        cells = cell[batches]
        pairs = jax.vmap(partial(_pairs, gaps, multipliers[gaps.auc]))(cells, uniform)
        shares = jax.vmap(partial(_shares, gaps, multipliers[gaps.roc]))(cells)

        def iteration(state: _State, drawn: Any) -> tuple[_State, None]:
            layers = _unravel(state.weights, X.shape[1], settings.hidden)
            slopes, (mean, variance) = jax.grad(loss, has_aux=True)(layers, *drawn, thresholds)
            gradient = _ravel(slopes, jnp) + l2 * state.weights
            step, moments = adam.update(gradient, state.moments)
            return _State(
                state.weights + step,
                moments,
                _MOMENTUM * state.mean + (1.0 - _MOMENTUM) * mean,
                _MOMENTUM * state.variance + (1.0 - _MOMENTUM) * variance,
                key,
            ), None

        return jax.lax.scan(iteration, state, (X[batches], pairs, shares))[0]

    many = jax.vmap(one, in_axes=(0, None, None, None, 0, 0, 0))

    def advance(state: _State, X: Any, cell: Any, chances: Any, *own: Any) -> Any:
        if len(state.mean) > 1:
            return many(state, X, cell, chances, *own)
        # A single fit is faster without the axis of fits.
        alone, *own = jax.tree.map(lambda a: a[0], (state, *own))
        return jax.tree.map(lambda a: a[None], one(alone, X, cell, chances, *own))

    def scores(state: _State, X: Any) -> Any:
        def of_one(weights: Any, mean: Any, variance: Any) -> Any:
            layers = _unravel(weights, X.shape[1], settings.hidden)
            return (forward(layers, X, jnp) - mean) / jnp.sqrt(variance + _EPSILON)

        parts = state.weights, state.mean, state.variance
        if len(state.mean) > 1:
            return jax.vmap(of_one)(*parts)
        return of_one(*(part[0] for part in parts))[None]

    return jax.jit(advance), jax.jit(scores)


@dataclass(frozen=True, eq=False)
class _Gaps:
    """The gaps as the compiled loss needs them; equal ones share a compiled program."""

    n_cells: int
    between: Any  # (pairs, 2): the pairs of cells that AUC gaps compare
    coefficients: Any  # (AUC gaps, pairs)
    auc: NDArray[np.intp]
    roc: NDArray[np.intp]
    first: Any
    second: Any

    @classmethod
    def of(cls, objective: Objective) -> _Gaps:
        terms = objective.terms
        roc = terms.roc
        # AUC_ba = 1 − AUC_ab: only a < b is kept, up to a constant that does not matter.
        coefficients = terms.coefficients
        upper = np.triu(coefficients - coefficients.transpose(0, 2, 1), 1)
        between = np.argwhere(upper.any(axis=0))
        return cls(
            objective.n_cells, between, upper[:, between[:, 0], between[:, 1]],
            terms.auc, roc, terms.first[roc], terms.second[roc],
        )  # fmt: skip

    def _key(self) -> tuple[Any, ...]:
        parts = self.between, self.coefficients, self.auc, self.roc, self.first, self.second
        return self.n_cells, *(part.tobytes() for part in parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Gaps) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


class _Pairs(NamedTuple):
    """Pairs of a batch, whose mean of weight · σ is −AUC + Σ m · gap, up to a constant."""

    low: Any
    high: Any
    weights: Any


def _pairs(gaps: _Gaps, multipliers: Any, cell: Any, uniform: Any) -> _Pairs:
    """Draw pairs with replacement: of the two classes, and of any two cells a gap compares.

    What has no pair in the batch weighs nothing.
    """
    order = jnp.argsort(cell)  # the batch, one cell after the other
    ends = jnp.searchsorted(cell, jnp.arange(gaps.n_cells + 1), sorter=order)
    half = gaps.n_cells // 2
    low = jnp.array([0, *gaps.between[:, 0]]), jnp.array([half, *(gaps.between[:, 0] + 1)])
    high = jnp.array([half, *gaps.between[:, 1]]), jnp.array([-1, *(gaps.between[:, 1] + 1)])
    chosen, there = [], jnp.array(True)
    for side, (start, stop) in enumerate((low, high)):
        count = (ends[stop] - ends[start])[:, None]
        rank = jnp.minimum(jnp.floor(uniform[:, side] * count).astype(jnp.int32), count - 1)
        chosen.append(order[ends[start][:, None] + rank].reshape(-1))
        there = there & (count > 0)
    weights = jnp.concatenate([jnp.array([-1.0]), multipliers @ gaps.coefficients])
    weights = jnp.where(there, len(weights) * weights[:, None], 0.0)
    weights = jnp.broadcast_to(weights, uniform[:, 0].shape).reshape(-1)
    return _Pairs(chosen[0], chosen[1], weights)


def _shares(gaps: _Gaps, multipliers: Any, cell: Any) -> Any:
    """(batch, ROC gaps): weights with which Σ weight · σ(s − t) is Σ m · (difference of rates)."""
    ends = [(cell[:, None] == cells).astype(jnp.float32) for cells in (gaps.first, gaps.second)]
    first, second = (end / jnp.maximum(jnp.sum(end, axis=0), 1.0) for end in ends)
    return multipliers * (second - first)
