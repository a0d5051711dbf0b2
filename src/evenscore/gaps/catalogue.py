"""The catalogue of AUC fairness notions, as data: to add one, add an entry to `catalogue.toml`.

An entry says which people are compared with which; the audit, the training, the command and the
tests all read it.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from evenscore.gaps.words import DEFAULT_WORDS, Words
from evenscore.scores import CLASSES
from evenscore.scores.arrays import Floats

Mixtures = tuple[Floats, Floats]
Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Population:
    """Some cells, in the proportions of the data: one class or both, of one group or of all."""

    classes: Literal["negatives", "positives", "both"]
    whose: Literal["everyone", "own group", "other group", "reference group"]

    def masses(self, cell_weights: Floats, own: int, other: int) -> Floats:
        """Weight of each of the 2K cells in it, for the group `own` compared with `other`.

        The reference group is the first one in the order of the groups. `cell_weights` has shape
        (…, 2, K): one table of weights, or many.
        """
        masses = np.zeros_like(cell_weights)
        rows = slice(None) if self.classes == "both" else CLASSES.index(self.classes)
        columns = {"own group": own, "other group": other, "reference group": 0}
        column = columns.get(self.whose, slice(None))
        masses[..., rows, column] = cell_weights[..., rows, column]
        return masses.reshape(*cell_weights.shape[:-2], -1)


@dataclass(frozen=True)
class Notion:
    """An AUC fairness notion: a statistic of a group, which should not depend on the group.

    `pairs` lists (reference, target) populations. One pair is AUC_{reference, target}; of several,
    the mean in the proportions in which such pairs of people occur. The gap of two groups is the
    statistic of the first minus that of the second. `title` is its plain name; `sentence` says what
    the statistic is the probability of, `{group}` being "among women" (and `{other}` "among men");
    `mistake` what happens otherwise, if that is a mistake. `reading` says what it means that the
    statistic of `{high}` is the higher one. All may use the `{positives}` and `{negatives}` of
    `Words`.
    """

    name: str
    pairs: tuple[tuple[Population, Population], ...]
    formula: str
    title: str
    sentence: str
    source: str
    reading: str
    mistake: str = ""

    # Its populations are pooled in the proportions of the data, which vary with the sample.
    proportions_vary: ClassVar[bool] = True

    def statistic(self, cell_weights: Floats, own: int, other: int) -> Floats:
        """Coefficients, over the 2K × 2K AUC matrix, of the statistic of group `own`.

        They are the shares of the pairs of cells among all pairs of people that are compared; NaN
        if there is no such pair.
        """
        compared: Floats | float = 0.0
        for reference, target in self.pairs:
            below, above = (side.masses(cell_weights, own, other) for side in (reference, target))
            compared = compared + below[..., :, None] * above[..., None, :]
        total = np.sum(compared, axis=(-2, -1), keepdims=True)
        with np.errstate(invalid="ignore"):
            return np.asarray(compared / total)

    @property
    def ranks_higher(self) -> int:
        """Where the group with the higher statistic ranks: 1 higher, −1 lower, 0 neither.

        It ranks higher if its people are those outranking, lower if they are those outranked; where
        they are both, the statistic is about mistakes and favours nobody.

        >>> CATALOGUE["bnsp"].ranks_higher, CATALOGUE["bpsn"].ranks_higher
        (1, -1)
        """
        below, above = (
            any(pair[side].whose == "own group" for pair in self.pairs) for side in (0, 1)
        )
        return int(above) - int(below)

    @property
    def compares_others(self) -> bool:
        """Whether the statistic of a group depends on the group it is compared with."""
        return any(side.whose == "other group" for pair in self.pairs for side in pair)

    def value(self, cell_weights: Floats, aucs: Floats, own: int, other: int) -> float:
        """The statistic of group `own`: the sum of `statistic` ∘ aucs, without making the matrix.

        NaN if nobody is compared; `aucs` has 0 in the place of NaN for empty cells.
        """
        won = total = 0.0
        for reference, target in self.pairs:
            below, above = (side.masses(cell_weights, own, other) for side in (reference, target))
            won += float(below @ aucs @ above)
            total += float(below.sum() * above.sum())
        return won / total if total > 0 else np.nan

    def statistics(self, cell_weights: Floats, aucs: Floats, pairs: Pairs) -> Floats:
        """The statistics of the two groups of every pair, (2, pairs)."""
        if self.compares_others:
            both = [[(i, j) for i, j in pairs], [(j, i) for i, j in pairs]]
            return np.array([[self.value(cell_weights, aucs, *p) for p in side] for side in both])
        n_groups = cell_weights.shape[1]
        by_group = np.array([self.value(cell_weights, aucs, k, k) for k in range(n_groups)])
        return np.asarray(by_group[np.array(pairs, dtype=np.intp).reshape(-1, 2)].T)

    def sides(self, cell_weights: Floats, first: int, second: int) -> tuple[Floats, Floats]:
        """The two statistics whose difference is the gap."""
        return (
            self.statistic(cell_weights, first, second),
            self.statistic(cell_weights, second, first),
        )

    def mixtures(self, cell_weights: Floats, first: int, second: int) -> list[Mixtures]:
        """(reference, target) of the two AUCs compared, as proportions of the cells."""
        if len(self.pairs) > 1:
            raise ValueError(f"{self.name} averages several AUCs: it has no pair of curves.")
        both = []
        for pair in ((first, second), (second, first)):
            reference, target = (side.masses(cell_weights, *pair) for side in self.pairs[0])
            with np.errstate(invalid="ignore"):  # nobody: NaN
                both.append((reference / reference.sum(), target / target.sum()))
        return both

    def meaning(self, words: Words = DEFAULT_WORDS) -> str:
        """What such a gap compares, in one sentence.

        >>> CATALOGUE["bnsp"].meaning()
        'In how many pairs of people, group by group: in the group, positives rank above negatives \
of any group.'
        """
        what = self.sentence.format(
            group="in the group", other="in the other group", **words.classes
        )
        return f"In how many pairs of people, group by group: {what}."

    def plain_name(self, words: Words = DEFAULT_WORDS) -> str:
        """The title in the user's words.

        >>> CATALOGUE["bnsp"].plain_name(Words(positives="people who repaid"))
        'People who repaid ranked too low'
        """
        text = self.title.format(**words.classes)
        return text[:1].upper() + text[1:]

    @property
    def has_reference(self) -> bool:
        """Whether the groups are measured beside a reference group."""
        return any(side.whose == "reference group" for pair in self.pairs for side in pair)

    def say_gap(
        self,
        first: str,
        second: str,
        left: float,
        right: float,
        *,
        sure: bool = True,
        reference: str = "",
        words: Words = DEFAULT_WORDS,
    ) -> str:
        """The gap in words: what it means, and how often either thing happens, in pairs of people.

        `left` and `right` are the statistics of the two groups. Where the notion is about mistakes,
        these are counted; a tie counts half. If it is not `sure` which of the two is higher, the
        shares are told and no more. A `reference` group, if there is one, is named.
        """
        if self.mistake:
            sentence, left, right = self.mistake, 1.0 - left, 1.0 - right
            high, low = (first, second) if left < right else (second, first)
        else:
            sentence = self.sentence
            high, low = (first, second) if left > right else (second, first)
        sides = [(left, first, second), (right, second, first)]
        sides.sort(key=lambda side: -side[0])  # what happens more often comes first
        among = {group: words.among(group) for group in (first, second)}
        shares = "; ".join(
            sentence.format(group=among[group], other=among[other], **words.classes)
            + f" in {share:.1%}{of}"
            for (share, group, other), of in zip(sides, (" of pairs", ""), strict=True)
        )
        lead = f"with {words.whom(reference)} as the reference group, " if reference else ""
        if left == right or not sure:
            return f"{lead}{shares}"
        reading = self.reading.format(
            high=words.whom(high),
            low=words.whom(low),
            among_high=among[high],
            among_low=among[low],
            **words.classes,
        )
        return f"{lead}{reading}: {shares}"


def read_notions(text: str) -> dict[str, Notion]:
    """The notions by name that a text as in `catalogue.toml` describes.

    Parameters
    ----------
    text : str
        A table of TOML for each; a population is written as "negatives of everyone".

    Returns
    -------
    dict of Notion
        `AucConstraint(notion.name, notion)` is then a constraint like those of the catalogue.

    Examples
    --------
    >>> text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    >>> read_notions(text) == CATALOGUE
    True
    """
    entries = tomllib.loads(text)
    for entry in entries.values():
        entry["pairs"] = tuple(
            tuple(Population(*side.split(" of ")) for side in pair) for pair in entry["pairs"]
        )
    return {name: Notion(name=name, **entry) for name, entry in entries.items()}


CATALOGUE = read_notions(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def constraint_names() -> list[str]:
    """Names of the AUC constraints in the catalogue.

    >>> constraint_names()[:4]
    ['intra_group', 'bnsp', 'bpsn', 'inter_group']
    """
    return list(CATALOGUE)
