"""A sample of scores seen through few values, so that alignments can be tried out quickly.

Every group keeps at most some thousand of its values; the people between two of them are counted at
the upper one. With fewer values nothing is lost.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from evenscore.repairing.maps import IncreasingMap
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.scores.aucs import auc_matrix

_NODES = 2048  # of a cell: an interval between two holds a share of 1/2048 of it


@dataclass(frozen=True, eq=False)
class GroupProfile:
    """The values of a group, increasing, and the weight of both classes up to each of them."""

    values: Floats
    up_to: Floats  # (2, values): negatives, positives

    @cached_property
    def rank(self) -> Floats:
        """Share of the group up to each value, the two classes counting the same."""
        return np.asarray(np.mean([part / part[-1] for part in self.up_to if part[-1] > 0], axis=0))

    def value_at(self, rank: Floats) -> Floats:
        """The first value whose rank reaches the given one."""
        index = np.searchsorted(self.rank, np.asarray(rank) - 1e-12, side="left")
        return np.asarray(self.values[np.minimum(index, len(self.values) - 1)])

    def rank_of(self, value: Floats) -> Floats:
        """Share up to and including a value."""
        index = np.searchsorted(self.values, value, side="right")
        return np.where(index > 0, self.rank[np.maximum(index, 1) - 1], 0.0)

    @property
    def masses(self) -> Floats:
        """Weight of the negatives and of the positives at each value."""
        return np.diff(self.up_to, prepend=0.0)


@dataclass(frozen=True, eq=False)
class Profile:
    """The groups of a sample, each through few of its values."""

    groups: tuple[GroupProfile, ...]
    low: float
    high: float
    smallest: float  # effective size of the smallest cell
    error: float = 0.0  # of a gap between two shares, at the most

    @classmethod
    def of(cls, scores: GroupedScores) -> Self:
        """Thin the table of scores."""
        n, cells = scores.n_groups, scores.cell_distributions
        groups = []
        for pair in zip(cells[:n], cells[n:], strict=True):
            nodes = np.unique(np.concatenate([_thinned(cell.values) for cell in pair]))
            up_to = [
                cell.weight_below(nodes, inclusive=True) if len(cell) else np.zeros(len(nodes))
                for cell in pair
            ]
            groups.append(GroupProfile(nodes, np.array(up_to)))
        ends = float(scores.score[0]), float(scores.score[-1])
        error = 2.0 / _NODES if max(map(len, cells)) > _NODES else 0.0
        return cls(tuple(groups), *ends, float(scores.effective_sizes.min()), error)

    @cached_property
    def _rows(self) -> dict[str, Any]:
        """The columns of the table that no map changes."""
        sizes = [len(group.values) for group in self.groups]
        return {
            "positive": np.concatenate([np.repeat([False, True], size) for size in sizes]),
            "codes": np.repeat(np.arange(len(sizes)), 2 * np.array(sizes)),
            "groups": tuple(range(len(sizes))),
            "weight": np.concatenate([group.masses.reshape(-1) for group in self.groups]),
        }

    def scores(self, maps: tuple[IncreasingMap, ...]) -> GroupedScores:
        """The sample after the maps."""
        mapped = [mapping(group.values) for mapping, group in zip(maps, self.groups, strict=True)]
        return GroupedScores.from_codes(
            np.concatenate([np.tile(part, 2) for part in mapped]), **self._rows
        )

    def auc(self, maps: tuple[IncreasingMap, ...]) -> float:
        """The AUC of everybody after the maps."""
        return auc_matrix(self.scores(maps)).overall


def _thinned(values: Floats) -> Floats:
    if len(values) <= _NODES:
        return values
    return values[np.linspace(0, len(values) - 1, _NODES).astype(np.intp)]
