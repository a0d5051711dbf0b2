"""Cuts of everybody together, and the groups' own cuts at which their rates agree.

At a cut t_z of group z the shares S_c,z(t_z) of its two classes are selected. Rates such as fpr,
fnr and selection are linear in these, and all of them rise or fall together as t_z moves: one map
per group has one cut per group to choose, whatever the number of rates. It is chosen where the mean
M_z of the rates (of one minus fnr) is a common u. For one rate that is equality. For fpr and fnr

    H̄_1(t_1) + Ḡ_1(t_1) = H̄_2(t_2) + Ḡ_2(t_2), so that H̄_1 − H̄_2 = −(Ḡ_1 − Ḡ_2):

two gaps of the same size, which is the least that the larger of the two can have, since both move
the same way with t_1 and t_2. What is left is how far apart the groups' own ROC curves are along
that diagonal, and no map of a group changes its ROC curve.

Of all u, a cut takes the one with which the share of the pool that it is named by stays what it
was: the cut that selects 10 % of everyone goes on selecting 10 % of everyone.

A range is aligned at few cuts, and between them the log-odds of the share of a group that is
selected are interpolated: a group's own cut is an order statistic of a small cell, and a map that
follows every one of them follows chance. The cuts are n^(−1/3) apart on the scale of u, n being the
size of the smallest law, and a tenth at the most. On fresh people of laws known beforehand the
worst gap over a range is no larger than with twice as many cuts, and smaller, most of all in small
samples, than if the groups' laws are matched at every score.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.special import expit, logit

from evenscore.gaps.cuts import Cuts, percent
from evenscore.gaps.family import CommonTarget
from evenscore.repairing.cuts import WantedCut
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.scores.distribution import Distribution
from evenscore.scores.selection import ROUNDING, pool_classes
from evenscore.scores.sources import counted

_WIDEST, _NARROWEST = 0.1, 0.01  # between the cuts of a range, on the scale of u
_BETWEEN = 8  # knots of a map from one of them to the next, where they are a tenth apart
# How often guards are set outside guards, for one score and for an average of several: measured on
# laws known beforehand, by the worst gap of the average of five noisy scores.
_OUTSIDE = {False: 1, True: 3}
_HALVINGS = 50  # of the scale of u
_MOST = 1.0 - 1e-9  # of a law: the cut that selects everybody is at no score


@dataclass(frozen=True, eq=False)
class GroupLaws:
    """The laws of a group by which its cuts are chosen.

    `mixed` is that of the rates, `pool` that of the people whose share names a cut, `everyone` that
    of all people of the group. Where low scores are selected they are those of minus the score
    (`sign` −1).
    """

    mixed: Distribution
    pool: Distribution
    everyone: Distribution
    sign: float

    def place(self, at: float, *, inclusive: bool) -> float:
        """The score to be mapped to a threshold that selects everybody beyond `at`.

        With `inclusive` the threshold itself is selected: the place lies between the last score
        that is not and the first that is.
        """
        values = self.everyone.values
        k = int(np.searchsorted(values, at, side="right"))
        if inclusive and k < len(values):
            after = float(values[k])
            at = (at + after) / 2.0 if (at + after) / 2.0 > at else after
        return self.sign * at

    def beyond(self, score: float, *, inclusive: bool) -> tuple[float, float]:
        """The shares of the mixed law and of everyone that a threshold selects."""
        first, second = (
            1.0 - float(law.weight_below(self.sign * score, inclusive=not inclusive)) / law.total
            for law in (self.mixed, self.everyone)
        )
        return first, second


@dataclass(frozen=True, eq=False, kw_only=True)
class CommonCut(WantedCut):
    """A cut of everybody; `selected` are the shares of each group at its own cut and the common."""

    laws: tuple[GroupLaws, ...]
    selected: Floats  # (2, K)
    inclusive: bool

    def positions(self, share: float) -> Floats:
        """The score of each group that is mapped to the common cut: by shares of everyone."""
        if share >= 1.0:
            return self.own
        if share <= 0.0:
            return np.full(len(self.own), self.common)
        own, common = self.selected
        return np.array(
            [
                law.place(float(law.everyone.threshold(rate)), inclusive=self.inclusive)
                for law, rate in zip(
                    self.laws, np.minimum(share * own + (1.0 - share) * common, _MOST), strict=True
                )
            ]
        )


def common_cuts(
    scores: GroupedScores,
    target: CommonTarget,
    tolerance: float,
    *,
    min_beyond: float,
    sizes: Floats,
    averaged: bool = False,
) -> list[CommonCut]:
    """The cuts of a sample that are to be the same in all groups, and those just outside.

    `sizes` are the effective sizes of the cells, (2, K), by the labels. Cuts outside are left out
    where a group has too few people for them. They reach further where repaired scores of several
    models will be `averaged`: somebody near the end of the range is then inside by some models and
    outside by others.
    """
    levels = Levels.of(scores, target, sizes)
    times = _OUTSIDE[averaged] if target.guarded else 0
    asked, outside = levels.asked(), levels.outside(times)
    beyond = levels.beyond(asked)
    # A range may start with few people as long as there are enough somewhere in it.
    lacking = beyond.max(axis=0) if target.cuts.is_range else beyond.min(axis=0)
    if lacking.min() + 1e-9 < min_beyond:
        group = int(np.argmin(lacking))
        raise ValueError(
            f"The group {scores.groups[group]} is worth {counted(levels.worth[group], 'person')} "
            f"to {levels.name}, {lacking[group]:.1f} of them beyond the cut, where a repair needs "
            f"{min_beyond:g} (min_beyond): join groups, ask for other cuts or find more data."
        )
    outside = outside[levels.beyond(outside).min(axis=1) >= min_beyond]
    wanted = levels.cuts(asked, levels.own(asked), tolerance, asked=True)
    if target.guarded or target.cuts.is_range:
        nodes = np.union1d(asked, outside)
        apart = float(np.median(np.diff(nodes))) if len(nodes) > 1 else 0.0
        knots = max(1, round(_BETWEEN * min(1.0, apart / _WIDEST)))
        between = np.linspace(nodes[:-1], nodes[1:], knots, endpoint=False)[1:].reshape(-1)
        around = levels.cuts(outside, levels.own(outside), tolerance, asked=False)
        around += levels.cuts(between, levels.smooth(nodes, between), tolerance, asked=False)
        wanted += [cut for cut in around if all(_in_order(cut, other) for other in wanted)]
    return wanted


def _in_order(cut: CommonCut, other: CommonCut) -> bool:
    """Whether the cut that selects more is the looser one; of a coarse score it need not be."""
    return (cut.rate - other.rate) * cut.laws[0].sign * (other.common - cut.common) > 0.0


@dataclass(frozen=True, eq=False)
class Levels:
    """Shares u of the groups' laws, the same for all groups: one for every cut.

    `worth` are the effective sizes of the laws; `pool` is the law of those whose shares name cuts,
    of all groups, on the scale on which high scores are selected.
    """

    scores: GroupedScores
    target: CommonTarget
    laws: tuple[GroupLaws, ...]
    worth: Floats
    pool: Distribution

    @classmethod
    def of(cls, scores: GroupedScores, target: CommonTarget, sizes: Floats) -> "Levels":
        """The laws of a sample: the classes of each group, mixed as the rates are made of them."""
        n, cells = scores.n_groups, scores.cell_distributions
        sign = 1.0 if target.cuts.selected == "high" else -1.0
        totals = scores.cell_weights
        pooled = np.zeros(totals.shape)
        pooled[list(pool_classes(target.cuts.of))] = 1.0
        mixture = target.mixture(totals)
        laws = []
        for z in range(n):
            pair = [cells[z], cells[n + z]]
            mixed, pool, everyone = (
                _law(pair, part[:, z], sign)
                for part in (mixture / totals, pooled, np.ones(totals.shape))
            )
            laws.append(GroupLaws(mixed, pool, everyone, sign))
        everybody = _law([law.pool for law in laws], np.ones(n), 1.0)
        return cls(scores, target, tuple(laws), 1.0 / np.sum(mixture**2 / sizes, axis=0), everybody)

    @property
    def name(self) -> str:
        """The rates, for instance 'fpr and fnr'."""
        return " and ".join(rate.name for rate in self.target.rates)

    # ------------------------------------------------------------------ levels and shares

    def own(self, levels: Floats) -> Floats:
        """The groups' own cuts at some levels, (K, levels), on the scale of the laws."""
        return np.array([_nearest(law.mixed, np.minimum(levels, _MOST)) for law in self.laws])

    def smooth(self, nodes: Floats, levels: Floats) -> Floats:
        """The groups' own cuts at levels between others: the log-odds of shares of everyone are.

        Shares do not depend on the scale of the score, and of everyone there are more than of a
        class.
        """
        if not len(levels):
            return np.zeros((len(self.laws), 0))
        x, k = np.unique(logit(np.clip(nodes, 1e-9, _MOST)), return_index=True)
        own = self.own(nodes[k])
        found = []
        for law, at in zip(self.laws, own, strict=True):
            y = logit(np.clip(law.everyone.survival(at), 1e-9, _MOST))
            share = expit(PchipInterpolator(x, y)(logit(np.clip(levels, 1e-9, _MOST))))
            found.append(law.everyone.threshold(np.minimum(share, _MOST)))
        return np.array(found)

    def shares(self, own: Floats) -> Floats:
        """The share of the pool that cuts of the groups, (K, levels), select."""
        selected = [
            law.pool.total - law.pool.weight_below(at, inclusive=True)
            for law, at in zip(self.laws, own, strict=True)
        ]
        return np.asarray(np.sum(selected, axis=0) / self.pool.total)

    def at(self, shares: Floats) -> Floats:
        """The largest levels with which no larger shares of the pool are selected."""
        low, high = np.zeros(shares.shape), np.ones(shares.shape)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            fits = self.shares(self.own(middle)) <= shares + ROUNDING
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return low

    def asked(self) -> Floats:
        """The levels of the cuts in use: of a range some, both ends among them."""
        cuts, shares = self.target.cuts, self._asked_shares()
        if cuts.between is None:
            return self.at(shares)
        low, high = self.at(np.array(cuts.between)).tolist()
        apart = float(np.clip(self.worth.min() ** (-1.0 / 3.0), _NARROWEST, _WIDEST))
        return np.linspace(low, high, max(2, round((high - low) / apart) + 1))

    def _asked_shares(self) -> Floats:
        """The shares that the cuts at points are to select; refused where there is no cut."""
        cuts, ladder = self.target.cuts, self.target.cuts.ladder(self.scores)
        steps = cuts.steps(ladder)
        for number, (first, last) in enumerate(steps):
            if first > last:
                why = cuts.why_none(ladder, number)
                raise ValueError(f"{self.name} cannot be repaired: {why}.")
        return np.array(cuts.at) if cuts.at else ladder.share[[first for first, _ in steps]]

    def outside(self, times: int) -> Floats:
        """The levels of the cuts just outside, and so many times of those outside these."""
        cuts = self.target.cuts
        found: list[float] = []
        if cuts.thresholds:
            shares = tuple(sorted(set(self._asked_shares().tolist())))
            cuts = replace(cuts, thresholds=(), at=shares, inclusive=False)
        for _ in range(times):
            around = cuts.guards()
            if around is None:
                break
            found += around.at
            ends = *(cuts.between or cuts.at), *around.at
            cuts = replace(cuts, at=(), between=(min(ends), max(ends)))
        return self.at(np.array(found))

    def beyond(self, levels: Floats) -> Floats:
        """How many people of each group a law has on the smaller side, (levels, K)."""
        return np.asarray(np.minimum(levels, 1.0 - levels)[:, None] * self.worth)

    # ------------------------------------------------------------------ cuts

    def cuts(
        self, levels: Floats, own: Floats, tolerance: float, *, asked: bool
    ) -> list[CommonCut]:
        """Cuts of the groups, (K, levels), on the scale of the laws, and what they become."""
        cuts, sign = self.target.cuts, self.laws[0].sign
        shares = self.shares(own)
        common = sign * self.pool.threshold(np.minimum(shares, _MOST))
        kept = bool(cuts.thresholds) and asked  # thresholds stay where they are
        inclusive = kept and cuts.inclusive
        if kept:
            common = np.array(cuts.thresholds)
        made = []
        for k, value in enumerate(common.tolist()):
            seen = np.array([law.beyond(value, inclusive=inclusive) for law in self.laws])
            selected = [
                float(law.everyone.survival(at))
                for law, at in zip(self.laws, own[:, k], strict=True)
            ]
            places = [
                law.place(float(at), inclusive=inclusive)
                for law, at in zip(self.laws, own[:, k], strict=True)
            ]
            made.append(
                CommonCut(
                    name=f"{self.name} at {percent(float(shares[k]))} of {_whom(cuts)}",
                    strand=f"{self.name} {cuts.text()}",
                    rate=float(levels[k]),
                    asked=asked,
                    guarded=self.target.guarded or cuts.is_range,
                    tolerance=tolerance,
                    common=value,
                    own=np.array(places),
                    excess=seen[:, 0] - float(levels[k]),
                    laws=self.laws,
                    selected=np.array([selected, seen[:, 1]]),
                    inclusive=inclusive,
                )
            )
        return made


def _law(parts: Sequence[Distribution], factors: Floats, sign: float) -> Distribution:
    """Several samples as one, their weights multiplied by factors."""
    return Distribution.from_sample(
        np.concatenate([sign * part.values for part in parts]),
        np.concatenate([f * part.weights for f, part in zip(factors, parts, strict=True)]),
    )


def _nearest(law: Distribution, levels: Floats) -> Floats:
    """The cuts that select shares nearest to these: of a coarse score no cut may select less."""
    above = law.threshold(levels)
    k = np.searchsorted(law.values, above, side="left")
    below = law.values[np.maximum(k, 1) - 1]
    more, less = law.survival(below), law.survival(above)
    return np.asarray(np.where((k > 0) & (more - levels < levels - less), below, above))


def _whom(cuts: Cuts) -> str:
    return "everyone" if cuts.of == "everyone" else f"all {cuts.of}"
