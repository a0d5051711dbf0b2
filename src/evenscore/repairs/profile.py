"""A sample of scores seen through few values, so that alignments can be tried out quickly.

Every group keeps at most some thousand of its values; the people between two of them are counted at
the upper one. With fewer values nothing is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenscore.constraints import AucConstraint
from evenscore.measures import AucMatrix, auc_matrix
from evenscore.repairs.maps import IncreasingMap
from evenscore.scores import GroupedScores

__all__ = ["GroupProfile", "Profile"]

Floats = NDArray[np.float64]

_NODES = 2048


@dataclass(frozen=True, eq=False)
class GroupProfile:
    """The values of a group, increasing, and the weight of both classes up to each of them."""

    values: Floats
    negatives: Floats  # cumulative
    positives: Floats

    @cached_property
    def rank(self) -> Floats:
        """Share of the group up to each value, the two classes counting the same."""
        shares = [part / part[-1] for part in (self.negatives, self.positives) if part[-1] > 0]
        return np.asarray(np.mean(shares, axis=0))

    def value_at(self, rank: Floats) -> Floats:
        """The first value whose rank reaches the given one."""
        index = np.searchsorted(self.rank, np.asarray(rank) - 1e-12, side="left")
        return np.asarray(self.values[np.minimum(index, len(self.values) - 1)])

    def rank_of(self, value: Floats) -> Floats:
        """Share up to and including a value."""
        index = np.searchsorted(self.values, value, side="right")
        return np.where(index > 0, self.rank[np.maximum(index, 1) - 1], 0.0)

    @property
    def masses(self) -> tuple[Floats, Floats]:
        """Weight of the negatives and of the positives at each value."""
        return np.diff(self.negatives, prepend=0.0), np.diff(self.positives, prepend=0.0)


@dataclass(frozen=True, eq=False)
class Profile:
    """The groups of a sample, each through few of its values."""

    groups: tuple[GroupProfile, ...]
    low: float
    high: float
    smallest: float  # effective size of the smallest cell

    @classmethod
    def of(cls, scores: GroupedScores) -> Profile:
        """Thin the table of scores."""
        n = scores.n_groups
        cells = scores.cell_distributions
        found = []
        for group in range(n):
            pair = cells[group], cells[n + group]
            nodes = np.unique(np.concatenate([_thinned(cell.values) for cell in pair]))
            found.append(
                GroupProfile(
                    nodes,
                    *(
                        cell.weight_below(nodes, inclusive=True)
                        if len(cell)
                        else np.zeros(len(nodes))
                        for cell in pair
                    ),
                )
            )
        return cls(
            tuple(found),
            float(scores.score[0]),
            float(scores.score[-1]),
            float(scores.effective_sizes.min()),
        )

    @cached_property
    def _table(self) -> dict[str, Floats]:
        weights = [part for group in self.groups for part in group.masses]
        sizes = [len(group.values) for group in self.groups]
        return {
            "weight": np.concatenate(weights),
            "label": np.concatenate([np.repeat([0, 1], size) for size in sizes]),
            "group": np.repeat(np.arange(len(sizes)), 2 * np.array(sizes)),
        }

    def scores(self, maps: tuple[IncreasingMap, ...]) -> GroupedScores:
        """The sample after the maps."""
        mapped = [mapping(group.values) for mapping, group in zip(maps, self.groups, strict=True)]
        table = {**self._table, "score": np.concatenate([np.tile(part, 2) for part in mapped])}
        return GroupedScores.from_table(table, weight="weight", group_order=range(len(self.groups)))

    def matrix(self, maps: tuple[IncreasingMap, ...]) -> AucMatrix:
        """AUCs between the cells after the maps."""
        return auc_matrix(self.scores(maps))

    def gaps(self, maps: tuple[IncreasingMap, ...], constraints: list[AucConstraint]) -> Floats:
        """The AUC gaps after the maps, in the order of `constraint.gaps`."""
        scores = self.scores(maps)
        matrix = auc_matrix(scores)
        found = [gap.value for one in constraints for gap in one.gaps(scores, matrix)]
        return np.array(found, dtype=np.float64)


def _thinned(values: Floats) -> Floats:
    if len(values) <= _NODES:
        return values
    return values[np.linspace(0, len(values) - 1, _NODES).astype(np.intp)]
