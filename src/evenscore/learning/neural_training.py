"""Training a network on all pairs: the objective's slopes are tabulated, batches read the table.

The derivative of the objective at a score depends on the score and its cell only. So a *round* is:
score a sample of the training rows, evaluate the objective (all pairs, exact thresholds), tabulate
its slopes; then some steps of Adam in which each row of a batch looks up its own derivative. Now
and then the strict gaps move the multipliers. Training is in single precision; in double precision
where every batch is all rows, so that there a weight of two is a row given twice, to rounding.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from evenscore.learning.multipliers import AugmentedLagrangian, shared
from evenscore.learning.network import Layers, forward, hidden_layers
from evenscore.learning.objective import Evaluation, Objective, Standardised, standardise
from evenscore.learning.parameters import seed_of
from evenscore.learning.task import Look, Task
from evenscore.learning.training_set import TrainingSet
from evenscore.scores.arrays import Floats

if TYPE_CHECKING:
    from evenscore.learning.neural import NeuralScorer

_TABLE = 2048  # points of a table of slopes
_SAMPLE = 16_384  # training rows on which the objective is evaluated, at most
_STEPS = 10  # steps in a round
_ROUNDS = 4  # rounds between two updates of the multipliers
_START = 0.05  # share of the training before the first update
_PENALTY, _GAIN = 8.0, 0.1  # of the augmented Lagrangian; updates come before the minimum

_ADAM = optax.scale_by_adam()


def _n_rounds(n_iter: int) -> int:
    return max(1, round(n_iter / _STEPS))


def n_updates(n_iter: int) -> int:
    """How many iterates `train` hands out: every few rounds, and the last."""
    return -(-_n_rounds(n_iter) // _ROUNDS) + 1


def train(
    scorer: "NeuralScorer",
    X: Floats,
    data: TrainingSet,
    task: Task,
    learning_rate: float,
    l2: tuple[float, float],
    keep: Callable[[Floats, Layers, Look], None],
) -> None:
    """Train on prepared features X of the rows of `data`; hand every update's network to `keep`.

    `l2` is that of the linear part and that of the layers.
    """
    n, d = X.shape
    rng = np.random.default_rng(seed_of(scorer.random_state))
    index, sample = data.thinned(_SAMPLE) if n > _SAMPLE else (np.arange(n), data)
    objective = task.objective(sample, bandwidth=scorer.bandwidth, guards=scorer.guards)
    rule = AugmentedLagrangian(
        strength=task.bounds(objective),
        penalty=shared(_PENALTY, len(data.groups)),
        growth=1.0,
        gain=_GAIN,
    )
    state = rule.init(task.aims(objective, scorer.margin), *objective.terms.sharing)
    centred = data.share * (data.positive - data.share @ data.positive)
    start = X.T @ centred, hidden_layers([d, *scorer.hidden], rng)
    rounds = _n_rounds(scorer.n_iter)
    weight, draw = _sampling(data, scorer.batch_size, rng)
    exact = n <= scorer.batch_size
    precision = jnp.float64 if exact else jnp.float32
    with jax.enable_x64(exact):
        on_device = partial(jnp.asarray, dtype=precision)
        columns = on_device(X), jnp.asarray(data.cell, dtype=jnp.int32), on_device(weight)
        sampled = on_device(X[index])
        params = jax.tree.map(on_device, start)
        moments = _ADAM.init(params)
        for number in range(rounds + 1):
            raw = np.asarray(_score(params, sampled), dtype=np.float64)
            standard = standardise(raw, sample.share)
            evaluation = objective.evaluate(standard.score, partial(rule.respond, state))
            if number % _ROUNDS == 0 or number == rounds:
                params = _rescale(params, standard.scale)
                standard = standardise(raw / standard.scale, sample.share)
                strict = objective.strict(standard.score)
                if number >= _START * rounds:
                    state = rule.update(state, strict.terms, evaluation.gaps)
                linear, layers = jax.tree.map(lambda a: np.asarray(a, dtype=np.float64), params)
                moved = objective.terms.of_gaps(state.multipliers)
                keep(linear, layers, Look(evaluation.value, strict, moved))
            if number == rounds:
                return
            # Of weights that would give scores of standard deviation one.
            scaled = l2[0] / standard.scale**2, l2[1] / standard.scale**2
            table = _tabulate(evaluation, standard, objective, scaled, params)
            done = number / rounds
            fall = min(1.0, 0.1 + 10.0 * done) * 0.5 * (1 + np.cos(np.pi * done))
            rate = learning_rate * fall
            params, moments = _steps(params, moments, columns, draw(), table, scaled, rate)


def _sampling(
    data: TrainingSet, batch_size: int, rng: np.random.Generator
) -> tuple[Floats, Callable[[], NDArray[np.int32]]]:
    """The weights of rows in a batch, and what draws the row numbers of the batches of a round.

    Half of a batch is drawn evenly from all rows and half evenly from the cells, so that small
    cells are seen; weights undo it. If all rows fit in a batch, every batch is all of them.
    """
    n, cell = len(data), data.cell
    weight = np.ones(n) if data.weight is None else data.weight
    if n <= batch_size:
        everybody = np.tile(np.arange(n, dtype=np.int32), (_STEPS, 1))
        return weight, lambda: everybody
    counts = np.bincount(cell)
    chance = 0.5 / n + 0.5 / (np.count_nonzero(counts) * counts[cell])
    cumulative = np.cumsum(chance)

    def draw() -> NDArray[np.int32]:
        uniform = rng.random((_STEPS, batch_size)) * cumulative[-1]
        return np.asarray(np.searchsorted(cumulative, uniform), dtype=np.int32)

    return weight / (chance * batch_size), draw


class _Table(NamedTuple):
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
    placed = grid.place(points)
    cell_weights = np.maximum(objective.cell_weights.reshape(-1, 1), 1e-300)
    slopes = np.stack(
        [grid.read_at(evaluation.slopes, cell, placed) for cell in range(objective.n_cells)]
    )
    shift, along = evaluation.gradient.sum(), float(evaluation.gradient @ standard.score)
    linear, layers = params
    along += l2[0] * float(jnp.sum(linear**2)) + l2[1] * float(jnp.sum(layers[-1][0] ** 2))
    values = slopes / cell_weights - (shift + along * points) / total_weight
    step = max((high - low) * standard.scale / (_TABLE - 1), 1e-30)
    return _Table(
        float(standard.mean + low * standard.scale),
        float(step),
        jnp.asarray(values / standard.scale, dtype=linear.dtype),
    )


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
    params: Any, moments: Any, columns: Any, batches: Any, table: _Table, l2: Any, rate: Any
) -> Any:
    """Adam on the batches, one compiled loop."""
    X, cell, weight = columns
    start, step, values = table

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
