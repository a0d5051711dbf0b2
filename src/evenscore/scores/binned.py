"""What a table does not say if its scores are bins: the order of people within a bin.

A data engine with too many distinct scores groups them by ordered bins. Pairs of people in
different bins are ordered exactly; a pair within an *open* bin, one whose lowest and highest score
differ, is counted as a tie, ½, and is worth 0 to 1. Whatever is computed from such a table is
therefore off by a number that the table itself tells, its *bracket*: of an AUC between cells i and
j at most ½ Σ m_i(b) m_j(b) over the open bins b, m being shares of the cells; of a share of a cell
above a cut that lies within bin b, at most m(b). At the ends of a bin nothing is lost, and if every
bin is closed the table is exact.
"""

from dataclasses import dataclass

import numpy as np

from evenscore.scores.arrays import Bools, Floats
from evenscore.scores.bins import Bins


@dataclass(frozen=True, eq=False)
class Binned:
    """The extent of every bin of a table.

    Parameters
    ----------
    score
        What people in each bin have as their score in the table, increasing; tables made from this
        one may lack some of them.
    lowest, highest
        The lowest and the highest score of anybody in each bin.
    bins
        The bins by which people were grouped, so that others can be grouped alike.

    Examples
    --------
    >>> binned = Binned(np.array([1.0, 2.0]), np.array([0.5, 2.0]), np.array([1.0, 2.0]), None)
    >>> binned.is_open(np.array([1.0, 2.0, 2.0]))
    array([ True, False, False])
    """

    score: Floats
    lowest: Floats
    highest: Floats
    bins: Bins | None

    @property
    def n_open(self) -> int:
        """How many bins hold more than one score."""
        return int(np.sum(self.lowest < self.highest))

    def is_open(self, score: Floats) -> Bools:
        """Whether each of these scores of the table stands for several."""
        lowest, highest = self.extent(score)
        return np.asarray(lowest < highest)

    def extent(self, score: Floats) -> tuple[Floats, Floats]:
        """The lowest and the highest score of the bins of these scores of the table."""
        place = np.searchsorted(self.score, score)
        return self.lowest[place], self.highest[place]

    @property
    def mirrored(self) -> "Binned":
        """The same for scores that are negated."""
        score, lowest, highest = (-part[::-1] for part in (self.score, self.highest, self.lowest))
        return Binned(score, lowest, highest, None)
