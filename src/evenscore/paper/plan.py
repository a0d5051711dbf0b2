"""What is to be done: the parts of every experiment, at full scale or quickly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from evenscore.paper.evidence import area_parts, reading_parts
from evenscore.paper.parts import Part
from evenscore.paper.published import L2_GRID, STRENGTH_GRID, DataName, Kind
from evenscore.paper.real import grid_parts, published_parts
from evenscore.paper.splits import SCORERS, split_parts
from evenscore.paper.synthetic import Experiment, synthetic_parts

__all__ = ["EXPERIMENTS", "FULL", "QUICK", "Plan", "Scale", "Target"]

Target = Literal["synthetic", "real", "grid", "splits", "readings"]

EXPERIMENTS: dict[Target, str] = {
    "synthetic": "Examples 1 and 2, Algorithms 1 and 2",
    "real": "real data at the published parameters",
    "grid": "the full grid of λ and λ_reg",
    "splits": "many splits, every scorer",
    "readings": "other readings of the paper",
}
"""The experiments that take time, in the order in which they are done."""


@dataclass(frozen=True)
class Scale:
    """How much is done: numbers of runs, seeds, splits and iterations, and the grid."""

    data: tuple[DataName, ...] = ("german", "adult", "compas", "bank")
    other_compas: bool = True
    runs: int = 100
    synthetic_iterations: int = 10_000
    seeds: int = 5
    iterations: int = 20_000
    strengths: tuple[float, ...] = STRENGTH_GRID
    l2s: tuple[float, ...] = L2_GRID
    splits: int = 10
    scorers: tuple[str, ...] = tuple(SCORERS)
    network_iterations: int | None = None
    area_runs: int = 20
    reading_seeds: int = 2

    @property
    def all_data(self) -> tuple[DataName, ...]:
        """The four data sets, and Compas prepared in the other way."""
        return (*self.data, "compas_two_years") if self.other_compas else self.data


FULL = Scale()
QUICK = Scale(
    data=("german",),
    other_compas=False,
    runs=3,
    synthetic_iterations=500,
    seeds=2,
    iterations=300,
    strengths=(0.0, 0.25),
    l2s=(0.05, 0.5),
    splits=2,
    scorers=("paper", "linear", "repaired"),
    network_iterations=300,
    area_runs=2,
    reading_seeds=1,
)
"""To see everything at work in about a minute; its numbers mean nothing."""


@dataclass(frozen=True, eq=False)
class Plan:
    """The parts of every experiment on the data sets that are there."""

    scale: Scale
    data: tuple[DataName, ...]

    @cached_property
    def published(self) -> tuple[DataName, ...]:
        """The data sets with published numbers."""
        return tuple(name for name in self.data if name in self.scale.data)

    @cached_property
    def synthetic(self) -> dict[Experiment, list[Part]]:
        """By experiment."""
        return synthetic_parts(runs=self.scale.runs, n_iter=self.scale.synthetic_iterations)

    @cached_property
    def real(self) -> dict[tuple[DataName, Kind], Part]:
        """By data set and constraint."""
        return published_parts(self.data, seeds=self.scale.seeds, n_iter=self.scale.iterations)

    @cached_property
    def grid(self) -> dict[tuple[DataName, Kind, float], Part]:
        """By data set, algorithm and λ."""
        return grid_parts(
            self.published,
            strengths=self.scale.strengths,
            l2s=self.scale.l2s,
            n_iter=self.scale.iterations,
        )

    @cached_property
    def splits(self) -> dict[tuple[DataName, str], list[Part]]:
        """By data set and scorer."""
        return split_parts(
            self.published,
            self.scale.scorers,
            splits=self.scale.splits,
            n_iter=self.scale.network_iterations,
        )

    @cached_property
    def readings(self) -> dict[tuple[str, DataName], Part]:
        """By reading and data set."""
        return reading_parts(
            self.published, seeds=self.scale.reading_seeds, n_iter=self.scale.iterations
        )

    @cached_property
    def area(self) -> dict[Experiment, list[Part]]:
        """Example 2 as printed, by experiment."""
        return area_parts(runs=self.scale.area_runs, n_iter=self.scale.synthetic_iterations)

    def parts(self, target: Target) -> list[Part]:
        """All parts of an experiment."""
        if target == "readings":
            return [*_flat(self.readings), *_flat(self.area)]
        return list(_flat(getattr(self, target)))


def _flat(parts: Mapping[Any, Part | Sequence[Part]]) -> Iterator[Part]:
    for made in parts.values():
        if isinstance(made, Part):
            yield made
        else:
            yield from made
