"""What is to be done: the parts of every experiment, at full scale or quickly."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal, get_args

from reproduction.parts import Outcome, Part
from reproduction.published import (
    KINDS,
    L2,
    L2_GRID,
    RATES,
    STRENGTH,
    STRENGTH_GRID,
    DataName,
    Kind,
)
from reproduction.real import SCORERS, fingerprint, fit_grid, fit_published, fit_split
from reproduction.synthetic import LEARNED, Experiment, learn

_TOGETHER = 10  # synthetic runs in one part
# Of a processor, about: the paper's 20,000 iterations on a data set, and a synthetic run.
_SECONDS: dict[DataName, float] = {
    "german": 6, "adult": 20, "compas": 3, "bank": 9, "compas_two_years": 3,
}  # fmt: skip
_RUN_SECONDS = 3.5

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

    data: tuple[DataName, ...] = get_args(DataName)
    runs: int = 100
    synthetic_iterations: int = 10_000
    seeds: int = 5
    iterations: int = 20_000
    strengths: tuple[float, ...] = STRENGTH_GRID
    l2s: tuple[float, ...] = L2_GRID
    splits: int = 10
    scorers: tuple[str, ...] = tuple(SCORERS)
    area_runs: int = 20
    reading_seeds: int = 2

    @property
    def full(self) -> bool:
        """Whether it is all, on whatever data."""
        return self == replace(FULL, data=self.data)


FULL = Scale()
QUICK = Scale(
    data=("german",),
    runs=3,
    synthetic_iterations=500,
    seeds=2,
    iterations=300,
    strengths=(0.0, 0.25),
    l2s=(0.05, 0.5),
    splits=2,
    scorers=("paper", "linear", "even", "repaired"),
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
        """The data sets with published numbers; Compas prepared in the other way has none."""
        return tuple(name for name in self.data if name in L2)

    @cached_property
    def synthetic(self) -> dict[Experiment, list[Part]]:
        """By experiment."""
        return {one: self._learned(one, self.scale.runs, "radius") for one in LEARNED}

    @cached_property
    def area(self) -> dict[Experiment, list[Part]]:
        """Example 2 as printed, uniform in area, where the published numbers fit uniform radii."""
        rings = [experiment for experiment in LEARNED if experiment.example == "rings"]
        return {one: self._learned(one, self.scale.area_runs, "area") for one in rings}

    def _learned(self, experiment: Experiment, runs: int, uniform: str) -> list[Part]:
        """A run is the same whatever the number of runs."""
        return [
            Part(
                f"synthetic-{experiment.example}-{experiment.kind}-{first}",
                learn,
                {
                    "example": experiment.example,
                    "kind": experiment.kind,
                    "runs": list(range(first, min(first + _TOGETHER, runs))),
                    "n_iter": self.scale.synthetic_iterations,
                    "uniform": uniform,
                },
                _RUN_SECONDS
                * min(_TOGETHER, runs - first)
                * self.scale.synthetic_iterations
                / 10_000,
            )
            for first in range(0, runs, _TOGETHER)
        ]

    @cached_property
    def real(self) -> dict[tuple[DataName, Kind], Part]:
        """By data set and constraint, on the published split."""
        common = {"seeds": list(range(self.scale.seeds)), "n_iter": self.scale.iterations}
        return {
            (name, kind): _on(name, f"real-{name}-{kind}", fit_published, kind=kind, **common)
            for name in self.data
            for kind in KINDS
        }

    @cached_property
    def grid(self) -> dict[tuple[DataName, Kind, float], Part]:
        """By data set, algorithm and λ: all λ_reg are trained together."""
        common = {"l2s": list(self.scale.l2s), "n_iter": self.scale.iterations}
        parts = {}
        for name, kind, strength in product(self.published, KINDS[1:], self.scale.strengths):
            own = {"kind": kind, "strength": strength, **common}
            label = f"grid-{name}-{kind}-{strength:g}"
            parts[name, kind, strength] = _on(name, label, fit_grid, **own)
        return parts

    @cached_property
    def splits(self) -> dict[tuple[DataName, str], list[Part]]:
        """By data set and scorer, of the paper's sizes and stratified by class and group."""
        parts: dict[tuple[DataName, str], list[Part]] = {}
        splits = range(self.scale.splits)
        for name, scorer, split in product(self.published, self.scale.scorers, splits):
            own = {"scorer": scorer, "split": split, "n_iter": self.scale.iterations}
            part = _on(name, f"split-{name}-{scorer}-{split}", fit_split, **own)
            parts.setdefault((name, scorer), []).append(part)
        return parts

    @cached_property
    def readings(self) -> dict[tuple[DataName, str], Part]:
        """Algorithm 2 by data set and reading; ours are Δt = 0.01, the plain sum, both classes."""
        common = {"seeds": list(range(self.scale.reading_seeds)), "n_iter": self.scale.iterations}
        step = "Δt = 0.001, as printed"
        mean = "ROC terms averaged over the rates of a class, as printed"
        program = "negatives only, as the authors' program"
        parts = {}
        for name in self.published:
            # The mean of two terms is their sum with half the strength.
            halved = {"kind": "roc", "strength": STRENGTH[name, "roc"] / len(RATES), **common}
            printed = {"kind": "roc", "threshold_step": 0.001, **common}
            parts[name, step] = _on(name, f"reading-step-{name}", fit_published, **printed)
            parts[name, mean] = _on(name, f"reading-mean-{name}", fit_published, **halved)
            alone = {"kind": "roc", "on": "negatives", **common}
            parts[name, program] = _on(name, f"reading-negatives-{name}", fit_published, **alone)
        return parts

    def parts(self, target: Target) -> list[Part]:
        """All parts of an experiment."""
        found = [*getattr(self, target).values()]
        if target == "readings":
            found += self.area.values()
        return [part for some in found for part in ([some] if isinstance(some, Part) else some)]


def _on(name: DataName, label: str, work: Callable[..., Outcome], **parameters: Any) -> Part:
    """Work on a data set, a fingerprint of which is among the parameters."""
    fits = len(parameters.get("seeds") or parameters.get("l2s") or KINDS)
    seconds = fits * _SECONDS[name] * parameters["n_iter"] / FULL.iterations
    return Part(label, work, {"name": name, "data": fingerprint(name), **parameters}, seconds)
