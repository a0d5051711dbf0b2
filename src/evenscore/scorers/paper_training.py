"""Algorithms 1 and 2 of the paper, many fits at once.

Algorithm 1 drives AUC gaps: pairs are drawn from small batches, the multiplier m = λc moves by a
fixed step with the sign of the strict gap on the validation rows. Algorithm 2 drives ROC gaps: each
has a threshold t and a coefficient c, and whichever of the two is further off is moved by a fixed
step. The iterations between two updates are one compiled loop over all fits; they differ in
strength, l2 and random state and share the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from evenscore.learning.multipliers import SignRule
from evenscore.learning.objective import Objective
from evenscore.learning.pairs import incomplete_auc
from evenscore.learning.surrogates import logistic
from evenscore.scorers.network import Layers, forward, hidden_layers

__all__ = ["Fit", "PaperSettings", "Update", "train"]

Floats = NDArray[np.float64]

_PAIR_BANDWIDTH = 0.5  # σ(2(s − s')): the factor comes from labels in {−1, 1}
EPSILON = 1e-3  # added to the variance by the batch normalisation
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
    """A fit at an update: network, normalisation, and what was seen on the validation rows."""

    fit: int
    layers: Layers
    mean: float
    variance: float
    multipliers: Floats
    score: Floats


class _State(NamedTuple):
    """Of one fit, on the device; stacked for many."""

    layers: Any
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
) -> None:
    """Train all fits on rows X of the given cells; `checked` is the objective of the held-out rows.

    Rows are drawn in proportion to their weights. Every update of every fit is handed to `keep`.
    """
    adam = optax.adam(settings.learning_rate)
    chances = None if weight is None else jnp.asarray(np.cumsum(weight / weight.sum()), jnp.float32)
    rows, labels = jnp.asarray(X, dtype=jnp.float32), jnp.asarray(cell, dtype=jnp.int32)
    checked_rows = jnp.asarray(held_out, dtype=jnp.float32)
    state = _stack([_init(X.shape[1], settings, fit, adam) for fit in fits])
    l2 = jnp.asarray([fit.l2 for fit in fits])
    rules = [_Rules(checked, fit.strength, settings) for fit in fits]
    advance = _compile(_Gaps.of(checked), settings)
    for _ in range(0, settings.n_iter, settings.update_every):
        multipliers = jnp.asarray(np.stack([rule.multipliers for rule in rules]), jnp.float32)
        thresholds = jnp.asarray(np.stack([rule.thresholds for rule in rules]), jnp.float32)
        state = advance(state, rows, labels, chances, multipliers, thresholds, l2)
        scores = np.asarray(_scores(state, checked_rows), dtype=np.float64)
        layers = jax.tree.map(lambda a: np.asarray(a, dtype=np.float64), state.layers)
        mean, variance = np.asarray(state.mean), np.asarray(state.variance)
        for number, rule in enumerate(rules):
            keep(
                Update(
                    number,
                    jax.tree.map(lambda a, k=number: a[k], layers),
                    float(mean[number]),
                    float(variance[number]),
                    rule.multipliers.copy(),
                    scores[number],
                )
            )
            rule.update(scores[number])


class _Rules:
    """Multipliers and thresholds of one fit, moved by fixed steps after a look at held-out rows."""

    def __init__(self, objective: Objective, strength: float, settings: PaperSettings) -> None:
        self.objective, self.terms = objective, objective.terms
        self.rule = SignRule(strength, settings.multiplier_step)
        self.threshold_step = settings.threshold_step
        self.state = self.rule.init(np.zeros(len(self.terms)))
        self.thresholds = np.zeros(len(self.terms.roc))

    @property
    def multipliers(self) -> Floats:
        return self.state.multipliers

    def update(self, score: Floats) -> None:
        terms, roc = self.terms, self.terms.roc
        gaps = np.zeros(len(terms))
        if len(roc) < len(terms):
            gaps = self.objective.strict(score).gaps
        if len(roc):
            rates = np.stack([self._rates(score, cells) for cells in (terms.first, terms.second)])
            gap = rates[1] - rates[0]
            away = rates.sum(axis=0) - 2.0 * terms.rate[roc]
            move = np.abs(away) > np.abs(gap)
            self.thresholds += np.where(move, np.sign(away) * self.threshold_step, 0.0)
            gaps[roc] = np.where(move, 0.0, gap)
        self.state = self.rule.update(self.state, gaps, gaps)

    def _rates(self, score: Floats, cells: NDArray[np.intp]) -> Floats:
        """The share of each ROC term's cell above the term's threshold."""
        objective, roc = self.objective, self.terms.roc
        return np.array(
            [
                objective.share[members] @ (score[members] > threshold)
                for threshold, members in zip(
                    self.thresholds, (objective.cell == c for c in cells[roc]), strict=True
                )
            ]
        )


def _init(d: int, settings: PaperSettings, fit: Fit, adam: Any) -> _State:
    rng = np.random.default_rng(fit.seed)
    layers = jax.tree.map(
        lambda a: jnp.asarray(a, dtype=jnp.float32),
        hidden_layers([d, *settings.hidden], rng, _DEVIATION),
    )
    key = jax.random.key(int(rng.integers(2**31)))
    return _State(layers, adam.init(layers), jnp.zeros(()), jnp.ones(()), key)


def _stack(states: list[_State]) -> Any:
    return jax.tree.map(lambda *parts: jnp.stack(parts), *states)


@jax.jit
def _scores(state: _State, X: Any) -> Any:
    def one(layers: Any, mean: Any, variance: Any) -> Any:
        return (forward(layers, X, jnp) - mean) / jnp.sqrt(variance + EPSILON)

    parts = state.layers, state.mean, state.variance
    if len(state.mean) > 1:
        return jax.vmap(one)(*parts)
    return one(*jax.tree.map(lambda a: a[0], parts))[None]


@lru_cache(maxsize=16)
def _compile(gaps: _Gaps, settings: PaperSettings) -> Any:
    """The iterations between two updates, for all fits, as one program."""
    adam = optax.adam(settings.learning_rate)
    loss = partial(_loss, gaps)

    def iteration(
        state: _State, batch: Any, uniform: Any, X: Any, cell: Any, *own: Any
    ) -> tuple[_State, None]:
        gradient, output = jax.grad(loss, has_aux=True)(
            state.layers, X[batch], cell[batch], uniform, *own
        )
        updates, moments = adam.update(gradient, state.moments)
        layers = optax.apply_updates(state.layers, updates)
        mean = _MOMENTUM * state.mean + (1.0 - _MOMENTUM) * jnp.mean(output)
        variance = _MOMENTUM * state.variance + (1.0 - _MOMENTUM) * jnp.var(output)
        return _State(layers, moments, mean, variance, state.key), None

    def one(state: _State, X: Any, cell: Any, chances: Any, *own: Any) -> Any:
        # All that chance decides between two updates is drawn at once, which is faster.
        key, for_batches, for_pairs = jax.random.split(state.key, 3)
        size = (settings.update_every, settings.batch_size)
        if chances is None:
            batches = jax.random.randint(for_batches, size, 0, len(cell))
        else:
            drawn = jnp.searchsorted(chances, jax.random.uniform(for_batches, size))
            batches = drawn.clip(0, len(cell) - 1)
        uniform = jax.random.uniform(for_pairs, (settings.update_every, 4, settings.n_pairs))

        def body(state: _State, drawn: Any) -> tuple[_State, None]:
            return iteration(state, *drawn, X, cell, *own)

        return jax.lax.scan(body, state._replace(key=key), (batches, uniform))[0]

    many = jax.vmap(one, in_axes=(0, None, None, None, 0, 0, 0))

    def advance(state: _State, X: Any, cell: Any, chances: Any, *own: Any) -> Any:
        if len(state.mean) > 1:
            return many(state, X, cell, chances, *own)
        # A single fit is faster without the axis of fits.
        alone, *own = jax.tree.map(lambda a: a[0], (state, *own))
        return jax.tree.map(lambda a: a[None], one(alone, X, cell, chances, *own))

    return jax.jit(advance)


@dataclass(frozen=True, eq=False)
class _Gaps:
    """The gaps as the compiled loss needs them; equal ones share a compiled program."""

    n_cells: int
    coefficients: Any  # (A, cells, cells) of the AUC gaps
    auc: NDArray[np.intp]
    roc: NDArray[np.intp]
    first: Any
    second: Any

    @classmethod
    def of(cls, objective: Objective) -> _Gaps:
        terms = objective.terms
        roc = terms.roc
        auc = terms.auc
        # AUC_ba = 1 − AUC_ab: only a < b is kept, up to a constant that does not matter.
        coefficients = terms.coefficients
        upper = np.triu(coefficients - coefficients.transpose(0, 2, 1), 1)
        return cls(objective.n_cells, upper, auc, roc, terms.first[roc], terms.second[roc])

    def _key(self) -> tuple[Any, ...]:
        parts = self.coefficients, self.auc, self.roc, self.first, self.second
        return self.n_cells, *(part.tobytes() for part in parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Gaps) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    @property
    def within_classes(self) -> bool:
        """Whether pairs of the same class count."""
        half = self.n_cells // 2
        same = self.coefficients.copy()
        same[:, :half, half:] = 0.0
        return bool(same.any())


def _loss(
    gaps: _Gaps, layers: Any, X: Any, cell: Any, uniform: Any, multipliers: Any, thresholds: Any,
    l2: Any,
) -> Any:  # fmt: skip
    """1 − AUC + Σ m · gap + ½ l2 ‖W‖², on a batch; also the network's output."""
    output = forward(layers, X, jnp)
    score = (output - jnp.mean(output)) / jnp.sqrt(jnp.var(output) + EPSILON)
    positive = cell >= gaps.n_cells // 2
    low, high = (_choose(u, m) for u, m in zip(uniform[:2], (~positive, positive), strict=True))
    auc = incomplete_auc(score[low], score[high], 1.0, _PAIR_BANDWIDTH, jnp)
    both = jnp.any(positive) & jnp.any(~positive)
    loss = jnp.where(both, 1.0 - auc, 0.0)
    if len(gaps.auc):
        if gaps.within_classes:
            more = jnp.floor(uniform[2:] * len(cell)).astype(jnp.int32)
            low, high = jnp.concatenate([low, more[0]]), jnp.concatenate([high, more[1]])
        cells = jnp.arange(gaps.n_cells)
        from_cell, to_cell = (cell[side][:, None] == cells for side in (low, high))
        counts = jnp.maximum(from_cell.T.astype(jnp.float32) @ to_cell, 1.0)
        # Each pair weighs coefficient · (pairs drawn) / (pairs drawn from its two cells).
        combined = jnp.tensordot(multipliers[gaps.auc], gaps.coefficients, axes=1)
        weights = (combined * len(low) / counts)[cell[low], cell[high]]
        loss += incomplete_auc(score[low], score[high], weights, _PAIR_BANDWIDTH, jnp)
    if len(gaps.roc):
        above = logistic(score[:, None] - thresholds, jnp)  # (batch, terms)
        members = [cell[:, None] == cells for cells in (gaps.first, gaps.second)]
        rates = [jnp.sum(above * m, axis=0) / jnp.maximum(jnp.sum(m, axis=0), 1) for m in members]
        loss += multipliers[gaps.roc] @ (rates[1] - rates[0])
    square = sum(jnp.sum(jnp.square(weights)) for weights, _ in layers)
    return loss + 0.5 * l2 * square, output


def _choose(uniform: Any, mask: Any) -> Any:
    """Positions among those of a mask, with replacement, as uniform numbers have it."""
    cumulative = jnp.cumsum(mask)
    rank = jnp.floor(uniform * cumulative[-1])
    return jnp.searchsorted(cumulative, rank, side="right").clip(0, len(mask) - 1)
