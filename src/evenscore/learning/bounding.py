"""What no score built on the chances of a fit can exceed: the dual of the program, at every row.

The chances of a positive are made to agree with how often rows were positive (isotonic regression
of rows left out): a bound on chances that are off would be off with them. Everybody then stands for
what their chances say of all cells, and not for the cell that they are in.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from sklearn.isotonic import IsotonicRegression

from evenscore.gaps.placeable import Placeable
from evenscore.learning.bars import coordinates
from evenscore.learning.placing import Evidence
from evenscore.placement.bars import Knots
from evenscore.placement.problem import Points
from evenscore.placement.program import best_placement, bound
from evenscore.scores.arrays import Floats, Ints

_CLUSTERS, _PARTS = 8, 12  # of what is known of the groups, and of the log-odds in each
_STEPS = 79  # even cuts
_ROWS = 20_000  # that a bound is read on


@final
@dataclass(frozen=True)
class Bound:
    """An AUC that no score exceeds, if the chances are right, and its standard error.

    >>> print(Bound(0.9123, 0.0011))
    If these chances are right, no score built on them has an AUC above 0.912 (standard error \
0.0011) under the constraints.
    """

    value: float
    standard_error: float

    def __str__(self) -> str:
        return (
            "If these chances are right, no score built on them has an AUC above "
            f"{self.value:.3f} (standard error {self.standard_error:.4f}) under the constraints."
        )


def bound_of(
    evidence: Evidence, families: Sequence[Placeable], tolerances: Sequence[float]
) -> Bound:
    """The bound under some constraints, what cannot be told from chance being allowed."""
    if not families:
        raise ValueError("bound_ is about constraints, and there are none.")
    everyone, n_groups = evidence.points, len(evidence.rows.groups)
    cells = recalibrated(evidence.crossed.cells, everyone)
    index, some = everyone.thinned(_ROWS)
    odds, groups = coordinates(cells[index], n_groups)
    cells = cells[index] * some.weight[:, None]
    each = np.repeat(np.arange(2 * n_groups), len(some))
    spread = Points(np.tile(odds, 2 * n_groups), each, cells.T.reshape(-1), n_groups)
    problem = evidence.problem(families, tolerances, spread).finer(_STEPS)
    atoms = _atoms(odds, groups)
    held = np.zeros((atoms.max() + 1, 2 * n_groups))
    np.add.at(held, atoms, cells)
    held = held[held.sum(axis=1) > 0.0]
    value, error = bound(problem, best_placement(problem, held), cells)
    return Bound(value, error)


def recalibrated(cells: Floats, points: Points) -> Floats:
    """Chances of cells whose chances of a positive agree with the rows' classes."""
    n_groups = points.n_groups
    said = cells[:, n_groups:].sum(axis=1)
    positive = points.cell >= n_groups
    risen = IsotonicRegression(y_min=1e-6, y_max=1.0 - 1e-6, out_of_bounds="clip")
    chance = risen.fit(said, positive, sample_weight=points.weight).predict(said)
    parts = cells.reshape(len(cells), 2, n_groups)
    parts = parts / np.maximum(parts.sum(axis=2, keepdims=True), 1e-12)
    parts *= np.stack([1.0 - chance, chance], axis=1)[:, :, None]
    return np.asarray(parts.reshape(cells.shape))


def _atoms(odds: Floats, groups: Floats) -> Ints:
    """A part of the log-odds in one of some clusters of what is known of the groups."""
    cluster = np.argmax(Knots.fit(groups, _CLUSTERS, 1.0)(groups), axis=1)
    atoms = np.zeros(len(odds), dtype=np.intp)
    inner = np.linspace(0.0, 1.0, _PARTS + 1)[1:-1]
    for k in np.unique(cluster):
        own = np.flatnonzero(cluster == k)
        edges = np.quantile(odds[own], inner)
        atoms[own] = k * _PARTS + np.searchsorted(edges, odds[own])
    return atoms
