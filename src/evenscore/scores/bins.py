"""Ordered bins of a score: a grid, with finer grids inside some of its bins.

A grid of level l has 2^l bins of equal width between two ends. Grids of different levels nest: with
X = (s − start) · scale, the bin at level l is ⌊X · 2^(l − L)⌋, L being the finest level, and a
product with a power of two is exact in floating point. A subtraction, a product, rounding down and
comparisons are all that a key takes, and each of them is increasing, so that keys are in the order
of the scores in every engine, and the same ones. Scores beyond the ends have a bin on each side.

A score at which a threshold is, or one that very many people have, can be set *apart*: it has a bin
of its own, and whoever is below it is never in one bin with whoever is above.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from evenscore.scores.arrays import Bools, Floats, Ints

FINEST = 50
"""The finest level: beyond, the bins of a double would not be told apart."""

_LISTED = 2**17  # bins in such a list at most
_COMPARED = 6  # ranges up to which comparisons ask whether a bin is among them, not a list


@dataclass(frozen=True)
class Ranges:
    """Whole numbers, as ranges from `first` to `last` with both ends, increasing and apart.

    >>> Ranges.of(np.array([5, 1, 2, 3, 9])).first
    (1, 5, 9)
    """

    first: tuple[int, ...]
    last: tuple[int, ...]

    @classmethod
    def of(cls, first: Ints, last: Ints | None = None) -> "Ranges":
        """The union of ranges; of single numbers if there are no last ones."""
        if not len(first):
            return cls((), ())
        last = first if last is None else last
        order = np.argsort(first, kind="stable")
        first, reach = first[order], np.maximum.accumulate(last[order])
        starts = np.flatnonzero(np.append(True, first[1:] > reach[:-1] + 1))
        ends = np.append(starts[1:] - 1, len(first) - 1)
        return cls(tuple(first[starts].tolist()), tuple(reach[ends].tolist()))

    def __len__(self) -> int:
        return len(self.first)

    @property
    def total(self) -> int:
        """How many numbers there are in all."""
        return sum(self.last) - sum(self.first) + len(self.first)

    def contain(self, numbers: Floats) -> Bools:
        """Which numbers are among them."""
        place = np.searchsorted(np.array(self.first), numbers, side="right") - 1
        last = np.array(self.last)
        return np.asarray((place >= 0) & (numbers <= last[np.maximum(place, 0)]))

    def condition(self, number: Any) -> Any:
        """The same as a narwhals expression."""
        import narwhals as nw

        if len(self) <= _COMPARED:
            parts = [
                (number >= float(first)) & (number <= float(last))
                for first, last in zip(self.first, self.last, strict=True)
            ]
            return parts[0] if len(parts) == 1 else nw.any_horizontal(*parts, ignore_nulls=False)
        spread = [k for a, b in zip(self.first, self.last, strict=True) for k in range(a, b + 1)]
        return number.cast(nw.Int64).is_in(spread)


@dataclass(frozen=True)
class Bins:
    """Ordered bins between two ends, and how fine they are where.

    Parameters
    ----------
    start
        The lower end.
    scale
        Bins of the finest level per unit of the score.
    levels
        The levels of the grids, increasing.
    finer
        For each level but the last, the bins of it that are divided into those of the next.
    apart
        Scores with a bin of their own, increasing.

    Examples
    --------
    >>> bins = Bins.between(0.0, 8.0, (1, 3), (Ranges((0,), (0,)),))
    >>> bins.key(np.array([-3.0, 0.5, 1.5, 3.5, 4.5, 7.0, 8.0, 100.0]))
    array([-4,  0,  1,  3,  4,  4,  8,  8])
    """

    start: float
    scale: float
    levels: tuple[int, ...]
    finer: tuple[Ranges, ...] = ()
    apart: tuple[float, ...] = ()

    @classmethod
    def between(
        cls,
        low: float,
        high: float,
        levels: tuple[int, ...],
        finer: tuple[Ranges, ...] = (),
        apart: tuple[float, ...] = (),
    ) -> "Bins":
        """Those between two scores."""
        width = high / 2.0 - low / 2.0  # the difference itself may overflow
        scale = 2.0 ** (levels[-1] - 1) / width if width > 0.0 else 1.0
        return cls(low, min(scale, 1e300), levels, finer, tuple(sorted(set(apart))))

    def at_levels(self, score: Floats, level: Ints) -> Floats:
        """The bin of each score in the grid of each level, as floating-point numbers."""
        return np.asarray(np.floor(self._place(score) * np.exp2(level - self.levels[-1])))

    def key(self, score: Floats) -> Ints:
        """The number of the bin of each score; increasing."""
        place = self._place(score)
        key = np.zeros(len(score))
        for level, inside in zip(self.levels, self._inside(place), strict=True):
            factor = self._factor(level)
            key[inside] = np.floor(place[inside] * factor) / factor
        for value in self.apart:
            key += (score >= value).astype(np.float64) + (score > value)
        return key.astype(np.int64)

    def level_of(self, score: Floats) -> Ints:
        """The level of the bin of each score."""
        level = np.zeros(len(score), dtype=np.int64)
        for own, inside in zip(self.levels, self._inside(self._place(score)), strict=True):
            level[inside] = own
        return level

    def _inside(self, place: Floats) -> list[Bools]:
        """Where each level is in use, or a finer one."""
        inside = [np.ones(len(place), dtype=bool)]
        for level, finer in zip(self.levels, self.finer, strict=False):
            number = np.floor(place * self._factor(level))
            inside.append(inside[-1] & finer.contain(number))
        return inside

    def expression(self, score: Any) -> Any:
        """The same as a narwhals expression of finite scores; a floating-point number."""
        import narwhals as nw

        place = ((score - self.start) * self.scale).clip(-1.0, 2.0 ** self.levels[-1])
        numbers = [
            (place if level == self.levels[-1] else place * self._factor(level)).floor()
            for level in self.levels
        ]
        key = numbers[-1]
        for k in reversed(range(len(self.finer))):
            here = numbers[k] * (1.0 / self._factor(self.levels[k]))
            key = nw.when(self.finer[k].condition(numbers[k])).then(key).otherwise(here)
        for value in self.apart:
            key = key + (score >= value).cast(nw.Float64) + (score > value).cast(nw.Float64)
        return key

    def _place(self, score: Floats) -> Floats:
        with np.errstate(over="ignore"):
            place = (score - self.start) * self.scale
        return np.clip(place, -1.0, 2.0 ** self.levels[-1])

    def _factor(self, level: int) -> float:
        return 2.0 ** (level - self.levels[-1])

    # ------------------------------------------------------------------ in a file

    def to_dict(self) -> dict[str, Any]:
        """Plain data, from which `from_dict` makes the same bins."""
        return {
            "start": self.start,
            "scale": self.scale,
            "levels": list(self.levels),
            "finer": [[list(ranges.first), list(ranges.last)] for ranges in self.finer],
            "apart": list(self.apart),
        }

    @classmethod
    def from_dict(cls, content: Any) -> "Bins":
        """Bins from plain data; a ValueError if they are none."""
        try:
            finer = tuple(
                Ranges(tuple(map(_whole, first)), tuple(map(_whole, last)))
                for first, last in content["finer"]
            )
            bins = cls(
                _finite(content["start"]),
                _finite(content["scale"]),
                tuple(map(_whole, content["levels"])),
                finer,
                tuple(map(_finite, content["apart"])),
            )
        except (KeyError, TypeError, ValueError, OverflowError):
            raise ValueError("its bins cannot be read") from None
        good = (
            bins.scale > 0.0
            and len(bins.levels) == len(finer) + 1
            and all(0 <= level <= FINEST for level in bins.levels)
            and _increasing(bins.levels)
            and _increasing(bins.apart)
            and all(
                0 < len(ranges.first) == len(ranges.last)
                and (len(ranges) <= _COMPARED or ranges.total <= _LISTED)
                and _increasing([k for pair in zip(ranges.first, ranges.last, strict=True)
                                 for k in (pair[0], pair[1] + 0.5)])
                for ranges in finer
            )
        )  # fmt: skip
        if not good:
            raise ValueError("its bins cannot be read")
        return bins


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 2**53:
        raise ValueError
    return value


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return float(value)


def _increasing(numbers: Any) -> bool:
    return all(a < b for a, b in pairwise(numbers))
