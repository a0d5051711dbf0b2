"""What a fit says of itself: gaps, verdicts and the price, all read on the same rows.

None of the models that scored a row here has seen it, and neither has what was made of their
scores. So what is said is true of new people, up to the noise that the intervals tell.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from evenscore.gaps import GapFamily
from evenscore.gaps.family import family_estimates, family_intervals
from evenscore.inference.aucs import auc_estimates
from evenscore.inference.decisions import decide, holm
from evenscore.inference.estimate import Estimate
from evenscore.inference.paired import PairedScores, paired_auc
from evenscore.inference.widening import widened
from evenscore.learning.price import Price
from evenscore.learning.training_set import TrainingSet
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.scores.reading import Rows

_LEVEL = 0.95


@final
@dataclass(frozen=True, eq=False)
class LeftOut:
    """Rows with scores, with constraints and without, of models that have not seen them.

    Parameters
    ----------
    rows : TrainingSet
        Their features do not matter.
    free, fair : array of shape (n,)
        The scores.
    """

    rows: TrainingSet
    free: Floats
    fair: Floats

    @cached_property
    def table(self) -> GroupedScores:
        """The fair scores."""
        return self.rows.grouped(self.fair)

    @cached_property
    def auc(self) -> Estimate:
        """Of the fair scores."""
        return auc_estimates(self.table, confidence_level=_LEVEL)[0]

    def gaps(
        self,
        families: Sequence[GapFamily],
        tolerances: Sequence[float] | None = None,
        off: Floats | None = None,
    ) -> list[Estimate]:
        """The gaps of the fair scores, with verdicts if each family has a tolerance.

        `off`, (folds, gaps), are squared distances of the gaps of the folds' scorers from those of
        the final one, see `squared_distances`, by which intervals are wider.
        """
        gaps, intervals = family_estimates(self.table, families), None
        if off is not None:
            wider = np.mean(np.nan_to_num(off), axis=0).tolist()
            why = "widened by how far the folds' scorers are off"
            gaps = [widened(gap, by, why) for gap, by in zip(gaps, wider, strict=True)]
            said = iter(gaps)
            parts = [[next(said) for _ in family.keys(self.rows.groups)] for family in families]
            gaps = [gap for part in parts for gap in holm(part)]
            each = np.repeat(np.arange(len(families)), [len(part) for part in parts])
            gaps = [
                replace(gap, words=families[k].say(gap)) if gap.words else gap
                for k, gap in zip(each.tolist(), gaps, strict=True)
            ]
        elif tolerances is not None:
            intervals = family_intervals(self.table, families)
        if tolerances is None:
            return gaps
        return decide(gaps, self._each(families, tolerances), _LEVEL, intervals=intervals)

    def _each(self, families: Sequence[GapFamily], values: Sequence[float]) -> Floats:
        return np.repeat(values, [len(family.keys(self.rows.groups)) for family in families])

    def price(self, families: Sequence[GapFamily], gaps: Sequence[Estimate]) -> Price:
        """What the constraints cost and mend; `gaps` are those of the fair scores."""
        before = self.rows.grouped(self.free)
        rows = self.rows
        people = Rows(rows.positive, rows.codes, rows.groups, rows.weight, None, rows.cluster)
        return Price(
            auc_estimates(before, confidence_level=_LEVEL)[0],
            self.auc,
            paired_auc(PairedScores(people, (self.free, self.fair))).difference,
            largest_of(family_estimates(before, families)),
            largest_of(gaps),
        )

    def verdicts(
        self,
        families: Sequence[GapFamily],
        tolerances: Sequence[float],
        gaps: Sequence[Estimate],
    ) -> list[str]:
        """What became of every gap, in a sentence each."""
        sizes = self.rows.cell_sizes
        cells = np.concatenate([family.cells(len(self.rows.groups)) for family in families])
        told = []
        for gap, limit, used in zip(gaps, self._each(families, tolerances), cells, strict=True):
            few = int(min(np.flatnonzero(used), key=lambda cell: sizes[cell]))
            told.append(said(gap, float(limit), int(sizes[few]), self.rows.cell_name(few)))
        return told


def squared_distances(
    families: Sequence[GapFamily], own: GroupedScores, others: Sequence[GroupedScores]
) -> Floats:
    """How far the gaps of some scorers are from those of one, squared, (scorers, gaps).

    Of the largest gap of a range the sizes are compared: between two scorers that differ little it
    may be at another cut, and of the other sign.
    """
    columns = []
    for family in families:
        values = [family.values(table) for table in (own, *others)]
        if family.trained() is not family:
            values = [np.abs(part) for part in values]
        columns.append(np.square(np.array(values[1:]) - values[0]))
    return np.concatenate(columns, axis=1)


def largest_of(gaps: Sequence[Estimate]) -> Estimate:
    """The gap of largest size."""
    return max(gaps, key=lambda gap: np.nan_to_num(abs(gap.value), nan=-1.0))


_WORDS = {
    "within": "within",
    "beyond": "beyond",
    "unclear": "cannot tell whether within",
    "undefined": "cannot tell whether within",
}


def said(gap: Estimate, tolerance: float, size: int, cell: str) -> str:
    """A gap that was decided on, with the smallest cell that it looks at.

    >>> gap = Estimate("fnr_gap", 0.01, -0.02, 0.04, 0.95, "t", first="a", second="b")
    >>> print(said(decide([gap], 0.02, 0.95)[0], 0.02, 100, "positives of b"))
    fnr_gap, a and b: cannot tell whether within 0.02, +0.010 (-0.015 to +0.035) on rows not \
trained on; 100 positives of b are too few to be sure, and about 630 might do.
    """
    assert gap.verdict is not None
    text = f"{gap.title}: {_WORDS[gap.verdict]} {tolerance:g}"
    if np.isnan(gap.value):
        return f"{text}; {gap.warnings[0] if gap.warnings else 'it has no value'}."
    over = abs(gap.value) > tolerance
    low, high = gap.ends("beyond" if over else "within")
    text += f", {gap.value:+.3f} ({low:+.3f} to {high:+.3f}) on rows not trained on"
    if gap.verdict in ("within", "beyond"):
        return f"{text}."
    if gap.verdict == "undefined":
        return f"{text}; {size:,} {cell} are too few for an interval."
    if tolerance == 0.0:
        return f"{text}; no number of rows proves a gap of exactly zero."
    room = max(abs(tolerance - abs(gap.value)), 0.1 * tolerance)
    needed = float(f"{size * (0.5 * (high - low) / room) ** 2:.2g}")
    many = f"{size:,} {cell} are too few to be sure"
    return f"{text}; {many}, and about {needed:,.0f} {'would settle it' if over else 'might do'}."
