"""The catalogue of AUC fairness notions, as data: to add a notion, add an entry to `CATALOGUE`.

An entry says which people are compared with which; the audit, the training, the command and the
tests all read it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenscore.scores import CLASSES

__all__ = ["CATALOGUE", "Notion", "Population", "constraint_names"]

Floats = NDArray[np.float64]

Mixtures = tuple[Floats, Floats]


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


_H = Population("negatives", "everyone")
_G = Population("positives", "everyone")
_H_OWN = Population("negatives", "own group")
_G_OWN = Population("positives", "own group")
_G_OTHER = Population("positives", "other group")
_F_REFERENCE = Population("both", "reference group")


@dataclass(frozen=True)
class Notion:
    """An AUC fairness notion: a statistic of a group, which should not depend on the group.

    `pairs` lists (reference, target) populations. One pair is AUC_{reference, target}; of several,
    the mean in the proportions in which such pairs of people occur. The gap of two groups is the
    statistic of the first minus that of the second. `sentence` says what the statistic is the
    probability of, for `{group}` (and `{other}`); `mistake` what happens otherwise, if that is a
    mistake. `reading` says what it means that the statistic of `{high}` is the higher one.
    """

    name: str
    pairs: tuple[tuple[Population, Population], ...]
    formula: str
    sentence: str
    source: str
    reading: str
    mistake: str = ""

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
        found = []
        for pair in ((first, second), (second, first)):
            reference, target = (side.masses(cell_weights, *pair) for side in self.pairs[0])
            with np.errstate(invalid="ignore"):  # nobody: NaN
                found.append((reference / reference.sum(), target / target.sum()))
        return found

    def say(self, group: str, other: str) -> str:
        """What the statistic of `group` is the probability of."""
        return self.sentence.format(group=group, other=other)

    def say_gap(
        self, first: str, second: str, left: float, right: float, *, sure: bool = True
    ) -> str:
        """The gap in words: what it means, and how often either thing happens, in pairs of people.

        `left` and `right` are the statistics of the two groups. Where the notion is about mistakes,
        these are counted; a tie counts half. If it is not `sure` which of the two is higher, the
        shares are told and no more.
        """
        if self.mistake:
            told, left, right = self.mistake, 1.0 - left, 1.0 - right
            high, low = (first, second) if left < right else (second, first)
        else:
            told = self.sentence
            high, low = (first, second) if left > right else (second, first)
        sides = [(left, first, second), (right, second, first)]
        sides.sort(key=lambda side: -side[0])  # what happens more often comes first
        shares = "; ".join(
            f"{told.format(group=group, other=other)} in {share:.1%}{of}"
            for (share, group, other), of in zip(sides, (" of pairs", ""), strict=True)
        )
        if left == right or not sure:
            return shares
        return f"{self.reading.format(high=high, low=low)}: {shares}"


_BEUTEL = "Beutel et al., 2019, Fairness in recommendation ranking through pairwise comparisons"
_BORKAN = "Borkan et al., 2019, Nuanced metrics for measuring unintended bias"
_KALLUS = "Kallus and Zhou, 2019, The fairness of risk scores beyond classification"
_VOGEL = "Vogel, Bellet and Clémençon, 2021, Learning fair scoring functions"

CATALOGUE: dict[str, Notion] = {
    notion.name: notion
    for notion in (
        Notion(
            "intra_group",
            ((_H_OWN, _G_OWN),),
            "AUC(H0, G0) − AUC(H1, G1)",
            "a positive of {group} outranks a negative of {group}",
            f"{_BEUTEL}; subgroup AUC of {_BORKAN}",
            "the score tells positives from negatives better within {high} than within {low}",
            "a positive of {group} is ranked below a negative of {group}",
        ),
        Notion(
            "bnsp",
            ((_H, _G_OWN),),
            "AUC(H, G0) − AUC(H, G1)",
            "a positive of {group} outranks a negative of any group",
            f"background negative, subgroup positive: {_BORKAN}; pairwise accuracy of {_BEUTEL}",
            "positives of {low} are wrongly ranked low more often than positives of {high}",
            "a positive of {group} is ranked below a negative of any group",
        ),
        Notion(
            "bpsn",
            ((_H_OWN, _G),),
            "AUC(H0, G) − AUC(H1, G)",
            "a negative of {group} is outranked by a positive of any group",
            f"background positive, subgroup negative: {_BORKAN}",
            "negatives of {low} are wrongly ranked high more often than negatives of {high}",
            "a negative of {group} is ranked above a positive of any group",
        ),
        Notion(
            "inter_group",
            ((_H_OWN, _G_OTHER),),
            "AUC(H0, G1) − AUC(H1, G0)",
            "a positive of {other} outranks a negative of {group}",
            f"xAUC: {_KALLUS}; {_BEUTEL}",
            "mistakes between the groups rank {high} too low more often than {low}",
            "a positive of {other} is ranked below a negative of {group}",
        ),
        Notion(
            "zero_aeg",
            ((_G, _G_OWN),),
            "AUC(G, G0) − AUC(G, G1)",
            "a positive of {group} outranks a positive of any group",
            f"average equality gap of the positives: {_BORKAN}",
            "among all positives, those of {high} rank higher than those of {low}",
        ),
        Notion(
            "zero_aeg_negatives",
            ((_H, _H_OWN),),
            "AUC(H, H0) − AUC(H, H1)",
            "a negative of {group} outranks a negative of any group",
            f"average equality gap of the negatives, after {_BORKAN}",
            "among all negatives, those of {high} rank higher than those of {low}",
        ),
        Notion(
            "reference_group",
            ((_F_REFERENCE, _G_OWN),),
            "AUC(F0, G0) − AUC(F0, G1), F0 = everybody in group 0",
            "a positive of {group} outranks somebody of the reference group",
            _VOGEL,
            "beside the reference group, positives of {high} rank higher than those of {low}",
        ),
        Notion(
            "pair_error",
            ((_H, _G_OWN), (_H_OWN, _G)),
            "A(0) − A(1), A(z) = P(well ordered | labels differ, one of the two in z)",
            "somebody of {group} and somebody of the other class are well ordered",
            f"parity in mistreatment for pairs: {_VOGEL}",
            "pairs with somebody of {low} are ordered wrongly more often than those of {high}",
            "somebody of {group} and somebody of the other class are ordered wrongly",
        ),
    )
}


def constraint_names() -> list[str]:
    """Names of the AUC constraints in the catalogue.

    >>> constraint_names()[:4]
    ['intra_group', 'bnsp', 'bpsn', 'inter_group']
    """
    return list(CATALOGUE)
