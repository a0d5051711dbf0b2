"""Problems of placement from masses of atoms, and people of known chances."""

import numpy as np

from evenscore.placement.problem import Points, Problem


def points_of(masses):
    """Every cell of every atom as a point with its weight."""
    n, cells = masses.shape
    half = cells // 2
    positives, negatives = masses[:, half:].sum(axis=1), masses[:, :half].sum(axis=1)
    odds = np.log(np.maximum(positives, 1e-9) / np.maximum(negatives, 1e-9))
    cell = np.tile(np.arange(cells), n)
    return Points(np.repeat(odds, cells), cell, masses.reshape(-1), half)


def problem_of(constraints, masses, tolerance):
    """The problem of atoms, with so many people that chance plays no part."""
    points = points_of(masses)
    sizes = np.full(masses.shape[1], 1e15)
    return Problem.of(constraints, [tolerance] * len(constraints), points, sizes)


def people(n, n_groups=2, seed=0, apart=1.0):
    """Log-odds of a positive and of groups, as a perfect classifier gives them, and cells."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, n_groups, n)
    centre = apart * np.arange(n_groups)
    x = centre[group] + rng.normal(size=n)
    chance = np.exp(-((x[:, None] - centre) ** 2) / 2.0)
    chance /= chance.sum(axis=1, keepdims=True)
    slope = np.linspace(0.95, 1.05, n_groups)
    v = rng.normal(size=n)
    by_group = 1.0 / (1.0 + np.exp(-(slope * v[:, None] + 0.5 * centre - 1.0)))
    eta = (chance * by_group).sum(axis=1)
    positive = rng.random(n) < by_group[np.arange(n), group]
    columns = []
    for given in (1.0 - by_group, by_group):
        own = chance * given
        own /= own.sum(axis=1, keepdims=True)
        columns += [np.log(own[:, k] / (1.0 - own[:, k])) for k in range(1, n_groups)]
    groups = np.clip(np.column_stack(columns), -6.9, 6.9)
    cell = group + n_groups * positive
    return Points(np.log(eta / (1.0 - eta)), cell, np.ones(n), n_groups), groups
