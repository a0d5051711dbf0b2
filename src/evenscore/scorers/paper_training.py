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
from functools import partial
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
    advance = _compile(checked, settings, adam)
    for _ in range(0, settings.n_iter, settings.update_every):
        multipliers = jnp.asarray(np.stack([rule.multipliers for rule in rules]), jnp.float32)
        thresholds = jnp.asarray(np.stack([rule.thresholds for rule in rules]), jnp.float32)
        state = advance(state, rows, labels, chances, multipliers, thresholds, l2)
        scores = np.asarray(_scores(state, checked_rows), dtype=np.float64)
        layers = jax.tree.map(lambda a: np.asarray(a, dtype=np.float64), state.layers)
        for number, rule in enumerate(rules):
            keep(
                Update(
                    number,
                    jax.tree.map(lambda a, k=number: a[k], layers),
                    float(state.mean[number]),
                    float(state.variance[number]),
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

    return jax.vmap(one)(state.layers, state.mean, state.variance)


def _compile(objective: Objective, settings: PaperSettings, adam: Any) -> Any:
    """The iterations between two updates, for all fits, as one program."""
    loss = partial(_loss, _Gaps.of(objective), settings.n_pairs)

    def iteration(
        state: _State, X: Any, cell: Any, chances: Any, multipliers: Any, thresholds: Any, l2: Any
    ) -> tuple[_State, None]:
        key, for_batch, for_pairs = jax.random.split(state.key, 3)
        if chances is None:
            batch = jax.random.randint(for_batch, (settings.batch_size,), 0, len(cell))
        else:
            uniform = jax.random.uniform(for_batch, (settings.batch_size,))
            batch = jnp.searchsorted(chances, uniform).clip(0, len(cell) - 1)
        gradient, output = jax.grad(loss, has_aux=True)(
            state.layers, X[batch], cell[batch], for_pairs, multipliers, thresholds, l2
        )
        updates, moments = adam.update(gradient, state.moments)
        layers = optax.apply_updates(state.layers, updates)
        mean = _MOMENTUM * state.mean + (1.0 - _MOMENTUM) * jnp.mean(output)
        variance = _MOMENTUM * state.variance + (1.0 - _MOMENTUM) * jnp.var(output)
        return _State(layers, moments, mean, variance, key), None

    def one(
        state: _State, X: Any, cell: Any, chances: Any, multipliers: Any, thresholds: Any, l2: Any
    ) -> Any:
        def body(state: _State, _: None) -> tuple[_State, None]:
            return iteration(state, X, cell, chances, multipliers, thresholds, l2)

        return jax.lax.scan(body, state, length=settings.update_every)[0]

    return jax.jit(jax.vmap(one, in_axes=(0, None, None, None, 0, 0, 0)))


@dataclass(frozen=True, eq=False)
class _Gaps:
    """The gaps as the compiled loss needs them."""

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

    @property
    def within_classes(self) -> bool:
        """Whether pairs of the same class count."""
        half = self.n_cells // 2
        same = self.coefficients.copy()
        same[:, :half, half:] = 0.0
        return bool(same.any())


def _loss(
    gaps: _Gaps, n_pairs: int, layers: Any, X: Any, cell: Any, key: Any, multipliers: Any,
    thresholds: Any, l2: Any,
) -> Any:  # fmt: skip
    """1 − AUC + Σ m · gap + ½ l2 ‖W‖², on a batch; also the network's output."""
    output = forward(layers, X, jnp)
    score = (output - jnp.mean(output)) / jnp.sqrt(jnp.var(output) + EPSILON)
    positive = cell >= gaps.n_cells // 2
    one, two, three, four = jax.random.split(key, 4)
    low, high = (_draw(k, n_pairs, m) for k, m in ((one, ~positive), (two, positive)))
    auc = incomplete_auc(score[low], score[high], 1.0, _PAIR_BANDWIDTH, jnp)
    both = jnp.any(positive) & jnp.any(~positive)
    loss = jnp.where(both, 1.0 - auc, 0.0)
    if len(gaps.auc):
        if gaps.within_classes:
            size = len(cell)
            more = [jax.random.randint(k, (n_pairs,), 0, size) for k in (three, four)]
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


def _draw(key: Any, size: int, mask: Any) -> Any:
    """Positions drawn with replacement among those of a mask."""
    cumulative = jnp.cumsum(mask)
    uniform = jax.random.uniform(key, (size,)) * cumulative[-1]
    return jnp.searchsorted(cumulative, jnp.floor(uniform), side="right").clip(0, len(mask) - 1)
