"""Training a network on all pairs: the objective's slopes are tabulated, batches read the table.

The derivative of the objective at a score depends on the score and its cell only. So a *round* is:
score a sample of the training rows, evaluate the objective (all pairs, exact thresholds), tabulate
its slopes; then some steps of Adam in which each row of a batch looks up its own derivative. Now
and then the strict gaps move the multipliers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from evenscore.learning.multipliers import AugmentedLagrangian
from evenscore.learning.objective import Evaluation, Objective, Strict
from evenscore.learning.standard import Standardised, standardise
from evenscore.scorers.network import Layers, forward, hidden_layers
from evenscore.scorers.training_set import TrainingSet

__all__ = ["Iterate", "Settings", "n_updates", "train"]

Floats = NDArray[np.float64]

_TABLE = 2048  # points of a table of slopes
_SAMPLE = 16_384  # training rows on which the objective is evaluated, at most
_STEPS = 10  # steps in a round
_ROUNDS = 4  # rounds between two updates of the multipliers
_START = 0.05  # share of the training before the first update

_ADAM = optax.scale_by_adam()


@dataclass(frozen=True)
class Settings:
    """How to train."""

    hidden: tuple[int, ...]
    learning_rate: float
    batch_size: int
    n_iter: int
    l2: tuple[float, float]  # of the linear part and of the layers


@dataclass(frozen=True, eq=False)
class Iterate:
    """A network at an update of the multipliers: a linear part beside the layers."""

    linear: Floats
    layers: Layers
    strict: Strict
    objective: float
    multipliers: Floats


def _n_rounds(n_iter: int) -> int:
    return max(1, round(n_iter / _STEPS))


def n_updates(n_iter: int) -> int:
    """How many iterates `train` hands out: every few rounds, and the last."""
    return -(-_n_rounds(n_iter) // _ROUNDS) + 1


def train(
    X: Floats,
    data: TrainingSet,
    objective_of: Callable[[TrainingSet], Objective],
    aim_of: Callable[[Objective], Floats],
    rule: AugmentedLagrangian,
    settings: Settings,
    rng: np.random.Generator,
    keep: Callable[[Iterate], None],
) -> None:
    """Train on prepared features X of the rows of `data`; hand every update's iterate to `keep`."""
    n, d = X.shape
    index, sample = data.thinned(_SAMPLE) if n > _SAMPLE else (np.arange(n), data)
    objective = objective_of(sample)
    state = rule.init(aim_of(objective))
    rows = _Rows.of(X, data, settings.batch_size)
    sampled = jnp.asarray(X[index], dtype=jnp.float32)
    centred = data.share * (data.positive - data.share @ data.positive)
    params = _to_device((X.T @ centred, hidden_layers([d, *settings.hidden], rng)))
    moments = _ADAM.init(params)
    rounds = _n_rounds(settings.n_iter)
    for number in range(rounds + 1):
        raw = np.asarray(_score(params, sampled), dtype=np.float64)
        standard = standardise(raw, sample.share)
        evaluation = objective.evaluate(standard.score, partial(rule.respond, state))
        if number % _ROUNDS == 0 or number == rounds:
            params = _rescale(params, standard.scale)
            standard = standardise(raw / standard.scale, sample.share)
            strict = objective.strict(standard.score)
            if number >= _START * rounds:
                state = rule.update(state, strict.gaps, evaluation.gaps)
            linear, layers = jax.tree.map(lambda a: np.asarray(a, dtype=np.float64), params)
            keep(Iterate(linear, layers, strict, evaluation.value, state.multipliers))
        if number == rounds:
            return
        linear_l2, layers_l2 = (weight / standard.scale**2 for weight in settings.l2)
        l2 = linear_l2, layers_l2  # of weights that would give scores of standard deviation one
        table = _tabulate(evaluation, standard, objective, l2, params)
        done = number / rounds
        rate = (
            settings.learning_rate * min(1.0, 0.1 + 10.0 * done) * 0.5 * (1 + np.cos(np.pi * done))
        )
        params, moments = _steps(
            params,
            moments,
            rows.X,
            rows.cell,
            rows.weight,
            rows.draw(rng),
            (table.values, table.start, table.step),
            l2,
            rate,
        )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Training rows on the device, and how batches are drawn from them.

    Half of a batch is drawn evenly from all rows and half evenly from the cells, so that small
    cells are seen; weights undo it. If all rows fit in a batch, every batch is all of them.
    """

    X: Any
    cell: Any
    weight: Any
    cumulative: Floats | None
    batch_size: int

    @classmethod
    def of(cls, X: Floats, data: TrainingSet, batch_size: int) -> _Rows:
        n = len(data)
        cell = data.cell
        weight = np.ones(n) if data.weight is None else data.weight
        cumulative = None
        if n > batch_size:
            counts = np.bincount(cell)
            chance = 0.5 / n + 0.5 / (np.count_nonzero(counts) * counts[cell])
            weight = weight / (chance * batch_size)
            cumulative = np.cumsum(chance)
        return cls(
            jnp.asarray(X, dtype=jnp.float32),
            jnp.asarray(cell, dtype=jnp.int32),
            jnp.asarray(weight, dtype=jnp.float32),
            cumulative,
            batch_size,
        )

    def draw(self, rng: np.random.Generator) -> NDArray[np.int32]:
        """Row numbers of the batches of a round."""
        if self.cumulative is None:
            return np.tile(np.arange(len(self.cell), dtype=np.int32), (_STEPS, 1))
        uniform = rng.random((_STEPS, self.batch_size)) * self.cumulative[-1]
        return np.asarray(np.searchsorted(self.cumulative, uniform), dtype=np.int32)


@dataclass(frozen=True, eq=False)
class _Table:
    """Slopes of the objective by raw score, for a row of weight one in each cell."""

    start: float
    step: float
    values: Any


def _tabulate(
    evaluation: Evaluation,
    standard: Standardised,
    objective: Objective,
    l2: tuple[float, float],
    params: Any,
) -> _Table:
    """The slopes, with those of mean and scale (and of l2 through the scale) taken into account."""
    grid, total_weight = evaluation.grid, float(objective.cell_weights.sum())
    low, high = standard.score.min(), standard.score.max()
    points = np.linspace(low, high, _TABLE)
    cell_weights = np.maximum(objective.cell_weights.reshape(-1, 1), 1e-300)
    slopes = np.stack(
        [grid.read(evaluation.slopes, cell, points) for cell in range(objective.n_cells)]
    )
    shift, along = evaluation.gradient.sum(), float(evaluation.gradient @ standard.score)
    linear, layers = params
    along += l2[0] * float(jnp.sum(linear**2)) + l2[1] * float(jnp.sum(layers[-1][0] ** 2))
    values = slopes / cell_weights - (shift + along * points) / total_weight
    step = max((high - low) * standard.scale / (_TABLE - 1), 1e-30)
    return _Table(
        float(standard.mean + low * standard.scale),
        float(step),
        jnp.asarray(values / standard.scale, dtype=jnp.float32),
    )


def _to_device(params: Any) -> Any:
    return jax.tree.map(lambda a: jnp.asarray(a, dtype=jnp.float32), params)


def _rescale(params: Any, scale: float) -> Any:
    """The same ranking, scores of standard deviation one: what l2 means does not drift."""
    linear, layers = params
    last = tuple(part / scale for part in layers[-1])
    return linear / scale, [*layers[:-1], last]


@jax.jit
def _score(params: Any, X: Any) -> Any:
    linear, layers = params
    return X @ linear + forward(layers, X, jnp)


@jax.jit
def _steps(
    params: Any, moments: Any, X: Any, cell: Any, weight: Any, batches: Any, table: Any,
    l2: Any, rate: Any,
) -> Any:  # fmt: skip
    """Adam on the batches, one compiled loop."""
    values, start, step = table

    def one(carry: Any, batch: Any) -> Any:
        params, moments = carry
        rows, row_cells = X[batch], cell[batch]
        raw, pull_back = jax.vjp(lambda p: _score(p, rows), params)
        position = (raw - start) / step
        index = jnp.clip(jnp.floor(position), 0, _TABLE - 2).astype(jnp.int32)
        part = jnp.clip(position - index, 0.0, 1.0)
        slope = values[row_cells, index] * (1.0 - part) + values[row_cells, index + 1] * part
        ((linear, layers),) = pull_back(slope * weight[batch])
        linear = linear + l2[0] * params[0]
        layers = [(w + l2[1] * p[0], b) for (w, b), p in zip(layers, params[1], strict=True)]
        updates, moments = _ADAM.update((linear, layers), moments)
        params = jax.tree.map(lambda p, u: p - rate * u, params, updates)
        return (params, moments), None

    (params, moments), _ = jax.lax.scan(one, (params, moments), batches)
    return params, moments
