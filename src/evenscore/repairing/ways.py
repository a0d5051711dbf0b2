"""Where not everything asked for can be had: the ways that are tried, and which is taken.

The cuts of one class, or of the rates of one constraint, make a *strand*. A group has the cuts of a
strand in their order, but the cuts of two strands may come in one order in one group and in another
order in another: then no increasing maps align all of them. The ways that are tried are

- all cuts aligned, those that conflict pooled, and parts of that way;
- a compromise: at every cut the mean of all rates that are asked for anywhere is made equal, as for
  rates at the same cuts (see common_cuts.py). All its cuts lie on one curve, so that none conflict;
- the cuts of every strand but one, or of one strand alone;
- the score as it is.

With e_j the excess of gap j over its tolerance, the *burden* of a way is max e_j + mean e_j: the
worst gap counts, and so do all the others. Ways that make the worst excess larger than it was are
left out. Of the rest the one with the least burden is taken; of those with about the least (up to
the error of the measurement) the one with the largest AUC. So no other way has less of the worst
excess, less of the sum and more AUC, and the score as it is, being among them, is not better in
both the worst and the sum.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evenscore.gaps.cuts import Cuts
from evenscore.gaps.family import Alignment, CommonTarget, GapFamily
from evenscore.repairing.common_cuts import common_cuts
from evenscore.repairing.cuts import WantedCut
from evenscore.repairing.maps import IncreasingMap
from evenscore.repairing.profile import Profile
from evenscore.scores import CLASSES, GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.scores.aucs import auc_matrix
from evenscore.scores.rates import CATALOGUE, Rate
from evenscore.scores.selection import ROUNDING

_OF_CLASS = {"negatives": CATALOGUE["fpr"], "positives": CATALOGUE["fnr"]}


@dataclass(frozen=True)
class Goal:
    """A family to be repaired: what the maps are to align for it, and the gap that may be left."""

    family: GapFamily
    alignment: Alignment
    tolerance: float


def joined_targets(goals: Sequence[Goal]) -> list[tuple[CommonTarget, float]]:
    """The rates asked for at cuts of everybody, those at the same cuts as one; and tolerances.

    The strictest tolerance counts.
    """
    joined: dict[Cuts, tuple[CommonTarget, float]] = {}
    for goal in goals:
        target = goal.alignment.common
        if target is None:
            continue
        known, tolerance = joined.get(target.cuts, (target, goal.tolerance))
        rates = tuple(dict.fromkeys((*known.rates, *target.rates)))
        joined[target.cuts] = replace(target, rates=rates), min(tolerance, goal.tolerance)
    return list(joined.values())


# ---------------------------------------------------------------------- how good a way is


@dataclass(frozen=True)
class Standing:
    """What maps leave: the worst excess of a gap over its tolerance, the mean one; and the AUC.

    `met` says whether no excess is larger than a standard error of the gap, were the groups alike.
    """

    worst: float
    mean: float
    auc: float
    met: bool

    @property
    def burden(self) -> float:
        """What is to be small."""
        return self.worst + self.mean


@dataclass(frozen=True, eq=False)
class Judge:
    """Measures maps by the gaps asked for, on the profile of a sample.

    `sizes` are the effective sizes of the cells by the labels, (2, K).
    """

    profile: Profile
    goals: Sequence[Goal]
    sizes: Floats

    @cached_property
    def _noise(self) -> Floats:
        """Standard errors of the gaps, were the groups alike."""
        sizes = self.sizes.reshape(-1)
        errors = np.concatenate([goal.family.noise(sizes) for goal in self.goals])
        return np.asarray(np.nan_to_num(errors))

    def standing(self, maps: tuple[IncreasingMap, ...]) -> Standing:
        """The excesses of the gaps that are left, and the AUC."""
        mapped = self.profile.scores(maps)
        excess = np.concatenate(
            [
                np.nan_to_num(np.abs(goal.family.values(mapped)), nan=1.0) - goal.tolerance
                for goal in self.goals
            ]
        )
        excess = np.maximum(excess, 0.0)
        met = bool(np.all(excess <= self._noise + self.profile.error + ROUNDING))
        return Standing(float(excess.max()), float(excess.mean()), auc_matrix(mapped).overall, met)

    def best(self, standings: Sequence[Standing]) -> int:
        """Which of several ways to take; the first is the score as it is."""
        error = self.profile.error + ROUNDING
        most = standings[0].worst + error
        allowed = [k for k, one in enumerate(standings) if one.worst <= most]
        least = min(standings[k].burden for k in allowed) + error
        return max(
            (k for k in allowed if standings[k].burden <= least), key=lambda k: standings[k].auc
        )


# ---------------------------------------------------------------------- the ways


def partly(wanted: Sequence[WantedCut]) -> Iterator[list[WantedCut]]:
    """The cuts of every strand but one, and of one strand alone."""
    strands = sorted({cut.strand for cut in wanted})
    for strand in strands:
        yield [cut for cut in wanted if cut.strand == strand]
        if len(strands) > 2:
            yield [cut for cut in wanted if cut.strand != strand]


def compromise(
    scores: GroupedScores,
    goals: Sequence[Goal],
    sizes: Floats,
    *,
    min_beyond: float,
    averaged: bool,
) -> list[WantedCut]:
    """All cuts asked for, at each of which the mean of all rates asked for is to be equal.

    There are none if the score is too coarse, or a group too small, for one of them.
    """
    targets = joined_targets(goals)
    rates: list[Rate] = [rate for target, _ in targets for rate in target.rates]
    for on in CLASSES:
        asked = [(goal, cut) for goal in goals for cut in goal.alignment.cuts if cut.on == on]
        shares = sorted({cut.rate for _, cut in asked if cut.asked})
        if shares:
            guarded = any(cut.guarded for _, cut in asked)
            tolerance = min(goal.tolerance for goal, _ in asked)
            cuts = Cuts(at=tuple(shares), of=on)
            targets.append((CommonTarget((_OF_CLASS[on],), cuts, guarded), tolerance))
            rates.append(_OF_CLASS[on])
    joint = tuple(dict.fromkeys(rates))
    wanted: list[WantedCut] = []
    for target, tolerance in targets:
        try:
            wanted += common_cuts(
                scores,
                replace(target, rates=joint),
                tolerance,
                min_beyond=min_beyond,
                sizes=sizes,
                averaged=averaged,
            )
        except ValueError:  # refused, in words for those who asked for that
            return []
    return wanted
