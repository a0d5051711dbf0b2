"""Who is selected, at every cut that a score has.

A cut selects everybody with a score above it (or below, where low scores are selected), and is the
same cut as any other that selects the same people: a sample with m distinct scores has m + 1 of
them. Here they are steps of a ladder: step j selects the j strictest distinct scores, step 0
nobody, step m everybody. Rates only change from step to step, so that whatever is said of all steps
is exact.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self, get_args
from weakref import WeakKeyDictionary

import numpy as np

from evenscore.scores.arrays import Bools, Floats, Ints, starts_of_runs
from evenscore.scores.table import GroupedScores

Pool = Literal["everyone", "negatives", "positives"]
Side = Literal["high", "low"]
POOLS: tuple[Pool, ...] = get_args(Pool)

ROUNDING = 1e-12  # of a share: sums of weights are not known any better
_ENTRIES = 1 << 22  # of arrays made at once: 32 MB each

_STEPS: WeakKeyDictionary[GroupedScores, dict[tuple[Pool, Side], tuple[Ints, Floats]]] = (
    WeakKeyDictionary()
)


def pool_classes(of: Pool) -> tuple[int, ...]:
    """The classes of a pool: 0 for negatives, 1 for positives."""
    return {"everyone": (0, 1), "negatives": (0,), "positives": (1,)}[of]


@dataclass(frozen=True, eq=False)
class Selected:
    """Sums over those selected at some steps, (steps, 2, groups).

    `weight`, `square` and `count` are of weights, squared weights and people.
    """

    step: Ints
    weight: Floats
    square: Floats
    count: Floats


@dataclass(frozen=True, eq=False)
class Ladder:
    """The cuts of a table, from the strictest, and the share of a pool that each selects.

    `ends` are the positions of rows between which the distinct scores lie, (levels + 1).

    >>> table = GroupedScores.from_arrays([0, 1, 0], [1, 2, 3], sensitive_features=list("aba"))
    >>> ladder = Ladder.make(table, "everyone", "high")
    >>> ladder.share.round(2), ladder.last_up_to(0.5)
    (array([0.  , 0.33, 0.67, 1.  ]), 1)
    >>> ladder.selected(np.array([1])).weight[0]
    array([[1., 0.],
           [0., 0.]])
    """

    scores: GroupedScores
    of: Pool
    side: Side
    ends: Ints
    share: Floats

    @classmethod
    def make(cls, scores: GroupedScores, of: Pool, side: Side) -> Self:
        """The ladder of a table; where its steps are is kept as long as the table is."""
        known = _STEPS.setdefault(scores, {})
        if (of, side) not in known:
            known[of, side] = cls._steps(scores, of, side)
        return cls(scores, of, side, *known[of, side])

    @staticmethod
    def _steps(scores: GroupedScores, of: Pool, side: Side) -> tuple[Ints, Floats]:
        """The ends of the runs of equal scores, and the share of the pool up to each step."""
        ends = np.append(starts_of_runs(scores.score), len(scores))
        within = np.zeros(2 * scores.n_groups, dtype=bool).reshape(2, -1)
        within[list(pool_classes(of))] = True
        pool = within.reshape(-1)[scores.cell] * scores.weight
        if side == "high":
            pool = pool[::-1]
        up_to = np.concatenate([[0.0], np.cumsum(pool)])
        total = up_to[-1]
        steps = ends if side == "low" else len(scores) - ends[::-1]
        share = up_to[steps] / total if total > 0.0 else np.full(len(ends), np.nan)
        return ends, share

    @cached_property
    def levels(self) -> Floats:
        """The distinct scores, the strictest first."""
        levels = self.scores.score[self.ends[:-1]]
        return levels if self.side == "low" else levels[::-1]

    @cached_property
    def extents(self) -> tuple[Floats, Floats]:
        """The lowest and the highest score that each of the levels stands for."""
        binned = self.scores.binned
        return (self.levels, self.levels) if binned is None else binned.extent(self.levels)

    @cached_property
    def is_open(self) -> Bools:
        """Whether each level stands for several scores: level k lies between steps k and k + 1."""
        lowest, highest = self.extents
        return np.asarray(lowest < highest)

    def level_at(self, threshold: float, *, inclusive: bool) -> int | None:
        """The level that a threshold parts, if it is within one."""
        lowest, highest = self.extents
        if (self.side == "high") != inclusive:
            parted = (lowest <= threshold) & (threshold < highest)
        else:
            parted = (lowest < threshold) & (threshold <= highest)
        found = np.flatnonzero(parted)
        return int(found[0]) if len(found) else None

    @property
    def n_steps(self) -> int:
        """How many cuts there are but that which selects nobody."""
        return len(self.ends) - 1

    def last_up_to(self, share: float) -> int:
        """The loosest step that selects at most this share of the pool."""
        return int(np.searchsorted(self.share, share + ROUNDING, side="right")) - 1

    def first_from(self, share: float) -> int:
        """The strictest step that selects at least this share of the pool."""
        return int(np.searchsorted(self.share, share - ROUNDING, side="left"))

    def step_at(self, threshold: float, *, inclusive: bool) -> int:
        """The step that a threshold makes."""
        levels = self.levels if self.side == "low" else -self.levels
        threshold = threshold if self.side == "low" else -threshold
        return int(np.searchsorted(levels, threshold, side="right" if inclusive else "left"))

    def threshold(self, step: int, *, inclusive: bool) -> float:
        """A threshold that makes a step: a score of the sample, infinite at the ends.

        Exclusive, it is the first score that is not selected; inclusive, the last that is.
        """
        at = step - 1 if inclusive else step
        if 0 <= at < self.n_steps:
            return float(self.extents[(self.side == "high") != inclusive][at])
        return float("inf" if (at < 0) == (self.side == "high") else "-inf")

    @cached_property
    def pool_size(self) -> float:
        """How many people the pool is worth: (Σw)²/Σw², of clusters their effective number."""
        classes = list(pool_classes(self.of))
        weights, sizes = self.scores.cell_weights[classes], self.scores.independent_sizes[classes]
        known = sizes > 0.0
        return float(weights.sum() ** 2 / np.sum(weights[known] ** 2 / sizes[known]))

    def selected(self, steps: Ints) -> Selected:
        """Sums over those selected at increasing steps."""
        scores = self.scores
        ends = self.ends[steps] if self.side == "low" else self.ends[self.n_steps - steps][::-1]
        columns = [scores.weight]
        same = [c is scores.weight for c in (scores.weight_squared, scores.count)]
        if not all(same):
            columns += [scores.weight_squared, scores.count]
        sums = np.cumsum(scores.sums_between(ends, *columns), axis=1)
        if self.side == "high":
            totals = [scores.cell_weights, scores.cell_squares, scores.cell_counts][: len(columns)]
            total = np.stack([part.reshape(-1) for part in totals])[:, None]
            above = total - sums[:, ::-1]
            sums = np.where(above > ROUNDING * total, above, 0.0)
        shaped = [part.reshape(len(steps), 2, scores.n_groups) for part in sums]
        if len(shaped) == 1:
            return Selected(steps, shaped[0], shaped[0], shaped[0])
        return Selected(steps, *shaped)

    def runs(self, first: int, last: int) -> Iterator[Selected]:
        """Sums over those selected at all steps from the first to the last, some at a time."""
        at_once = max(1024, _ENTRIES // max(1, self.scores.n_cells))
        for start in range(first, last + 1, at_once):
            yield self.selected(np.arange(start, min(start + at_once, last + 1)))
