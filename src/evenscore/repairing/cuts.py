"""The cuts that are to be the same in all groups, and by how much maps miss that.

A target asks that, at a rate a of a class, the cut be the same for all groups. A group z has its
own cut t_z there (the class's threshold at rate a in the group), everybody together has c. The maps
send every t_z to c: whoever cuts the repaired score at c still selects a share a of the class, now
in every group. Only the order of scores matters to a gap or to an AUC, so the common value costs
nothing by itself; that it is c keeps the thresholds in use meaningful.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from evenscore.gaps.family import CutTarget
from evenscore.repairing.maps import IncreasingMap
from evenscore.scores import CLASSES, ClassName, GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.scores.distribution import Distribution
from evenscore.scores.sources import counted

_ROUNDING = 1e-12  # a gap beyond its tolerance by no more is within it


@dataclass(frozen=True, eq=False, kw_only=True)
class WantedCut(ABC):
    """A cut in a sample: the groups' own places for it, and the common one.

    A rate is a share of some law of each group. Cuts of one `strand` belong together: between
    those that are `guarded` the groups stay aligned. Cuts that are not `asked` for give way.
    """

    name: str
    strand: str
    rate: float
    asked: bool
    guarded: bool
    tolerance: float
    common: float
    own: Floats  # (K,)
    excess: Floats  # (K,): rate of each group at the common cut, less the rate

    def share(self, slack: float) -> float:
        """How far to go from the common cut to the own ones, to leave about slack · tolerance.

        What is left indeed is for the search to measure.
        """
        spread, left = float(np.ptp(self.excess)), slack * self.tolerance
        if left <= 0.0:
            return 1.0
        return max(0.0, 1.0 - left / spread) if spread > 0.0 else 0.0

    @abstractmethod
    def positions(self, share: float) -> Floats:
        """The score of each group that is mapped to the common cut, (K,): a share of the way."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassCut(WantedCut):
    """A cut at a rate of a class, the strand: every group has its own there."""

    cells: tuple[Distribution, ...]

    def positions(self, share: float) -> Floats:
        """The score of each group that is mapped to the common cut: by rates of the class."""
        if share >= 1.0:
            return self.own
        if share <= 0.0:
            return np.full(len(self.own), self.common)
        rates = np.clip(self.rate + (1.0 - share) * self.excess, 0.0, 1.0 - 1e-9)
        return np.array(
            [float(cell.threshold(rate)) for cell, rate in zip(self.cells, rates, strict=True)]
        )


def wanted_cuts(
    scores: GroupedScores,
    targets: Iterable[tuple[CutTarget, float]],
    *,
    min_beyond: float,
    sizes: Floats,
) -> list[ClassCut]:
    """All rates asked for, and their guards where the cells are large enough for them.

    A target comes with its tolerance; of two for the same rate the stricter counts. `sizes` are the
    effective sizes of the cells, (2, K), by the labels.
    """
    asked: dict[tuple[ClassName, float], tuple[bool, float]] = {}  # guarded, tolerance
    around: dict[tuple[ClassName, float], tuple[bool, float]] = {}
    for target, tolerance in targets:
        c = CLASSES.index(target.on)
        beyond = sizes[c] * min(target.rate, 1.0 - target.rate)
        if not target.asked and beyond.min() < min_beyond:
            continue
        if beyond.min() + 1e-9 < min_beyond:
            group = int(np.argmin(beyond))
            raise ValueError(
                f"The {scores.cell_name(c * scores.n_groups + group)} are worth "
                f"{counted(sizes[c, group], 'observation')}, {beyond[group]:.1f} of them beyond "
                f"the cut at rate {target.rate:.4g}, where a repair needs {min_beyond:g} "
                "(min_beyond): join groups, ask for other rates or find more data."
            )
        rates, key = asked if target.asked else around, (target.on, target.rate)
        guarded, least = rates.get(key, (False, np.inf))
        rates[key] = guarded or target.guarded, min(least, tolerance)
    pooled = {on: scores.pooled(on) for on in {on for on, _ in (*around, *asked)}}
    wanted = []
    for (on, rate), (guarded, tolerance) in {**around, **asked}.items():
        offset = CLASSES.index(on) * scores.n_groups
        cells = tuple(scores.cell_distributions[offset : offset + scores.n_groups])
        common = float(pooled[on].threshold(rate))
        wanted.append(
            ClassCut(
                name=f"{on} at {rate:.4g}",
                strand=on,
                rate=rate,
                asked=(on, rate) in asked,
                guarded=guarded,
                tolerance=tolerance,
                common=common,
                own=np.array([float(cell.threshold(rate)) for cell in cells]),
                excess=np.array([float(cell.survival(common)) - rate for cell in cells]),
                cells=cells,
            )
        )
    return _without_conflicts(wanted)


def _without_conflicts(wanted: list[ClassCut]) -> list[ClassCut]:
    """Without the guards that some group has on the other side of a rate asked for.

    Pooled with that rate, such a guard would make a map leap at the very cut that matters, and the
    sampling error of the cut be multiplied there.
    """
    asked = [cut for cut in wanted if cut.asked]
    return asked + [
        guard
        for guard in wanted
        if not guard.asked and not any(_reversed(guard, cut) for cut in asked)
    ]


def _reversed(guard: ClassCut, asked: ClassCut) -> bool:
    sides = np.sign(guard.own - asked.own)
    return bool(sides[0] == 0.0 or np.any(sides != sides[0]))


# ---------------------------------------------------------------------- how far maps miss them


def worst_excess(wanted: Sequence[ClassCut], maps: Sequence[IncreasingMap]) -> float:
    """By how much the worst gap at a rate asked for is beyond its tolerance; at most 0 if none is.

    The gaps are those of the definition after the maps, ties split and the cut made in either
    group, on all rows and yet without mapping or sorting them.
    """
    worst = -np.inf
    for on in CLASSES:
        asked = [cut for cut in wanted if cut.asked and cut.strand == on]
        if asked:
            tolerance = np.array([cut.tolerance for cut in asked])
            worst = max(worst, float(np.max(largest_gaps(asked, maps) - tolerance)) - _ROUNDING)
    return worst


def largest_gaps(wanted: Sequence[ClassCut], maps: Sequence[IncreasingMap]) -> Floats:
    """The largest gap between any two groups after the maps, at several rates of one class."""
    rates, own = np.array([cut.rate for cut in wanted]), np.array([cut.own for cut in wanted]).T
    at = np.array([mapping(cuts) for mapping, cuts in zip(maps, own, strict=True)])
    # (K, 2, K, rates): of every group the shares above, and at, the cuts made in every group.
    shares = np.array(
        [
            _shares_after(cell, mapping, at)
            for cell, mapping in zip(wanted[0].cells, maps, strict=True)
        ]
    )
    # A rate is left in a group by everybody above its own cut and a part of those tied with it.
    above, tied = np.moveaxis(np.array([side[:, z] for z, side in enumerate(shares)]), 1, 0)
    part = np.clip(np.divide(rates - above, tied, out=np.zeros_like(tied), where=tied > 0), 0, 1)
    return np.asarray(np.abs(shares[:, 0] + part * shares[:, 1] - rates).max(axis=(0, 1)))


def _shares_after(
    cell: Distribution, mapping: IncreasingMap, cuts: Floats
) -> tuple[Floats, Floats]:
    """The shares of a cell that a map puts above each cut, and on it.

    Maps increase in floating point too, so that halving finds how many values are mapped below or
    to a cut; the inverse of a map, which is rounded, would lose ties.
    """
    limits = np.stack([np.nextafter(cuts, -np.inf), cuts])
    low, high = np.zeros(limits.shape, dtype=np.intp), np.full(limits.shape, len(cell))
    while np.any(low < high):
        middle = (low + high) // 2
        value = mapping(cell.values[np.minimum(middle, len(cell) - 1)])
        is_below = (value <= limits) & (low < high)
        low, high = np.where(is_below, middle + 1, low), np.where(is_below, high, middle)
    below, up_to = np.where(low > 0, cell.cumulative[np.maximum(low, 1) - 1], 0.0)
    return (cell.total - up_to) / cell.total, (up_to - below) / cell.total
