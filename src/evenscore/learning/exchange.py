"""How parts of the rows, each held by another worker, add up to the whole.

The objective needs other people's rows through small sums only: moments, the masses of the cells
on a grid, a histogram of the scores, sums over the leaves of a tree. A learner is written once, for
a part of the rows; wherever it needs a sum (or a largest value) over *all* rows it asks an
`Exchange`. Alone, the part is the whole and the exchange is the identity. With several workers
everybody calls the same functions in the same order with arrays of the same shape, and everybody
is given the same answer, so that all of them take the same decisions.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar, final

import numpy as np

from evenscore.scores.arrays import Floats


class Exchange(ABC):
    """Sums and largest values over all parts; a subclass for every way to talk to the others."""

    @property
    @abstractmethod
    def rank(self) -> int:
        """The number of this part, from 0."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many parts there are."""

    @abstractmethod
    def sum(self, values: Floats) -> Floats:
        """The sum over all parts of an array of doubles, entry by entry.

        Parameters
        ----------
        values : array
            Of the same shape in every part.

        Returns
        -------
        array
            The same in every part.
        """

    @abstractmethod
    def max(self, values: Floats) -> Floats:
        """The largest over all parts, entry by entry; the smallest is minus that of minus.

        Parameters
        ----------
        values : array
            Of the same shape in every part.

        Returns
        -------
        array
            The same in every part.
        """

    @property
    def alone(self) -> bool:
        """Whether all rows are at hand, so that scores need not be counted in bins."""
        return False

    def total(self, value: float) -> float:
        """The sum over all parts of one number."""
        return float(self.sum(np.array([value], dtype=np.float64))[0])

    def ends(self, values: Floats) -> tuple[float, float]:
        """The smallest and the largest of all values; of none at all, infinity and minus that."""
        low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
        low, high = self.max(np.array([-low, high], dtype=np.float64))
        return -float(low), float(high)

    def agreed(self, values: Floats) -> Floats:
        """What the first part says: the same everywhere, whatever machines round differently."""
        return self.sum(values if self.rank == 0 else np.zeros_like(values))

    def gathered(self, rows: Floats, places: Any, total: int) -> Floats:
        """An array that all parts fill together, each its own rows.

        Parameters
        ----------
        rows : array
            The rows that this part has.
        places : array of int
            Where they stand among all; no two parts have the same.
        total : int
            How many rows there are in all.
        """
        whole = np.zeros((total, *rows.shape[1:]))
        whole[places] = rows
        return self.sum(whole)


class OnePart(Exchange):
    """The only worker of a cluster: it does what one of several would do, bins included."""

    @property
    def rank(self) -> int:
        """0."""
        return 0

    @property
    def size(self) -> int:
        """1."""
        return 1

    def sum(self, values: Floats) -> Floats:
        """What there is.

        >>> ALONE.sum(np.array([1.0, 2.0]))
        array([1., 2.])
        """
        return values

    def max(self, values: Floats) -> Floats:
        """What there is."""
        return values


@final
class Alone(OnePart):
    """All rows are here, and numbers are exact."""

    @property
    def alone(self) -> bool:
        """True."""
        return True


ALONE = Alone()
"""For whoever has all rows."""

Value = TypeVar("Value")


class once(Generic[Value]):  # noqa: N801, a decorator
    """A property that is computed once: `functools.cached_property` as it is from Python 3.12 on.

    Before, a thread that computes one holds a lock that another thread may need to compute the
    same of its own object, and where the two wait for each other's sums neither would go on.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self.function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Value:
        if instance is None:
            return self  # type: ignore[return-value]
        value = vars(instance)[self.name] = self.function(instance)
        return value
