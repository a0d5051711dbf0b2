"""Where the curves of two groups cross: the cuts at which the score is even (Propositions 2, 3).

Two ROC curves of equal area that are not the same cross (Proposition 3). Where they do, the score
is fair as a classifier (Proposition 2), and on either side it favours one group or the other:

- bnsp, ROC_{H,G⁰} and ROC_{H,G¹}: at a common threshold with equal false negative rates;
- bpsn, ROC_{H⁰,G} and ROC_{H¹,G}: at a common threshold with equal false positive rates;
- intra_group, ROC_{H⁰,G⁰} and ROC_{H¹,G¹}: with both rates equal, each group being cut at a
  threshold of its own.

The rate of a crossing is the false positive rate there. Curves of samples cross by chance many
times. A crossing is told where one group is ahead on one side and the other group on the other, at
cuts looked at, with confidence over all of these cuts; it then lies between the two.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple, Self, final

import numpy as np

from evenscore.auditing.blocks.base import AuditInput, Block, BlockTable, register
from evenscore.auditing.groups import Pair
from evenscore.gaps import CurveConstraint, Cuts, GapFamily, RateConstraint
from evenscore.gaps.family import EstimateSettings, family_intervals
from evenscore.gaps.words import Words
from evenscore.inference.estimate import percent
from evenscore.inference.intervals import normal_quantile
from evenscore.scores import ClassName, GroupedScores
from evenscore.scores.curve import RocCurve
from evenscore.scores.distribution import Distribution
from evenscore.scores.thresholds import fair_thresholds

_RATES = tuple(np.round(np.arange(0.05, 0.96, 0.05), 2).tolist())  # where the curves are compared
_PAIRS = 6  # of groups, main ones first
_EVEN = 0.005  # rates that differ by no more are called equal: samples move in steps


@final
@dataclass(frozen=True, eq=False)
class Crossing:
    """Where the curves of two groups cross.

    `rate` is the false positive rate there, which lies between `low` and `high`. `thresholds` are
    those of the first and the second group, equal unless each is cut at its own, and lie between
    `least` and `most`. `ahead` is the group selected more often at stricter cuts. `even` is false
    where no cut makes the rates equal to 0.005: with many ties they change order from one cut to
    the next.
    """

    notion: str
    first: str
    second: str
    rate: float
    low: float
    high: float
    thresholds: tuple[float, float]
    least: tuple[float, float]
    most: tuple[float, float]
    ahead: str
    words: str
    even: bool = True


@register
@final
@dataclass(frozen=True, eq=False)
class Crossings(Block):
    """The crossings that can be told from chance; `untold` counts pairs of curves without one."""

    crossings: tuple[Crossing, ...]
    untold: int
    confidence_level: float
    words: Words
    omitted: tuple[str, ...] = ()

    name: ClassVar[str] = "crossings"
    title: ClassVar[str] = "Where the curves of two groups cross"
    meaning: ClassVar[str] = (
        "Cuts at which two groups are treated alike, while stricter cuts favour one of them and "
        "more generous cuts the other. Two curves with equal AUCs cross somewhere, unless they are "
        "the same. This says nothing of how large the differences on either side are."
    )

    @classmethod
    def compute(cls, audit: AuditInput) -> Self:
        """Pairs of main groups first."""
        low, level = audit.cuts.selected == "low", audit.settings.confidence_level
        pairs = [
            (number, pair, pair in table.main)
            for number, table in enumerate(audit.compared)
            for pair in table.pairs
        ]
        pairs.sort(key=lambda entry: not entry[2])
        found: list[Crossing] = []
        untold = 0
        for number, pair, _ in pairs[:_PAIRS]:
            tables = audit.compared[number].table, audit.coarse_compared[number].table
            if any(not sample.total for on in _CLASSES for sample in _of(tables[0], on, pair)):
                continue
            scores, coarse = (table.mirrored if low else table for table in tables)
            for curves in _CURVES:
                some = curves.crossings(scores, coarse, pair, level, audit.settings.words, low=low)
                untold += not some
                found += some
        omitted: tuple[str, ...] = ()
        if len(pairs) > _PAIRS:
            omitted = (
                f"Crossings of curves are looked for between {_PAIRS} of {len(pairs):,} pairs of "
                "groups, those of main groups first.",
            )
        return cls(tuple(found), untold, level, audit.settings.words, omitted)

    def tables(self) -> tuple[BlockTable, ...]:
        """One row for every crossing; nothing if there is none."""
        if not self.crossings:
            return ()
        words, level = self.words, percent(self.confidence_level)
        equal = {curves.notion: curves.equal(words) for curves in _CURVES}
        rows = tuple(
            (
                f"{crossing.first}, {crossing.second}",
                f"{crossing.notion}: {equal[crossing.notion]}",
                f"{crossing.rate:.1%} ({crossing.low:.1%} to {crossing.high:.1%})",
                _between(crossing),
                crossing.ahead,
            )
            for crossing in self.crossings
        )
        note = (
            f"A group is ahead if it is {words.selected} more often. A crossing is listed if one "
            "group is ahead at some stricter cut and the other at some more generous one, with "
            f"{level} confidence over the {len(_RATES)} cuts looked at for each pair of curves; it "
            "lies between those two cuts. Each group's own curve has its ties split."
        )
        if self.untold:
            curves = "pair of curves has" if self.untold == 1 else "pairs of curves have"
            note += f" {self.untold} other {curves} no crossing that can be told from chance."
        columns = (
            "groups",
            "what is equal there",
            f"{words.negatives} {words.selected}",
            "at the score",
            "ahead at stricter cuts",
        )
        return (BlockTable(self.title, columns, rows, note, names=2),)


def _between(crossing: Crossing) -> str:
    """The threshold, or both of them with their groups."""
    texts = [
        f"{value:.4g} ({low:.4g} to {high:.4g})"
        for value, low, high in zip(crossing.thresholds, crossing.least, crossing.most, strict=True)
    ]
    if not crossing.even:
        return f"{texts[0]}; no cut makes them equal"
    if crossing.notion != "intra_group":
        return texts[0]
    names = crossing.first, crossing.second
    return "; ".join(f"{name}: {text}" for name, text in zip(names, texts, strict=True))


_CLASSES: tuple[ClassName, ClassName] = ("negatives", "positives")


def _of(scores: GroupedScores, on: ClassName, pair: Pair) -> tuple[Distribution, Distribution]:
    cells = scores.of_class(on)
    return cells[pair[0]], cells[pair[1]]


class _Place(NamedTuple):
    """A false positive rate, and the thresholds of the two groups that have it."""

    rate: float
    thresholds: tuple[float, float]
    even: bool = True


class _Curves(NamedTuple):
    """Two curves of two groups, by the AUC notion that compares their areas."""

    notion: str
    on: ClassName | None  # whose rates are equal at a common threshold; None of own thresholds
    family: GapFamily

    def equal(self, words: Words) -> str:
        """What is equal where they cross."""
        if self.on is None:
            return "both error rates"
        return f"{words.of(self.on)} {words.selected}"

    def crossings(
        self,
        scores: GroupedScores,
        coarse: GroupedScores,
        pair: Pair,
        level: float,
        words: Words,
        *,
        low: bool,
    ) -> list[Crossing]:
        """Those that can be told, from strict to generous cuts."""
        settings = EstimateSettings(level, pairs=(pair,))
        n = len(_RATES)
        z = np.full(n, normal_quantile(1.0 - (1.0 - level) / (2 * n)))
        least, most = family_intervals(scores, [self.family], settings)(z)
        sign = np.where(least > 0.0, 1, np.where(most < 0.0, -1, 0)) * self.towards
        sure = np.flatnonzero(sign)
        found = []
        for before, after in pairwise(sure.tolist()):
            if sign[before] == sign[after]:
                continue
            ends = [self._place(scores, pair, _RATES[k]) for k in (before, after)]
            inside = self._between(coarse, pair, *ends)
            found.append(self._told(scores, pair, ends, inside, int(sign[before]), words, low=low))
        return found

    @property
    def towards(self) -> int:
        """1 if a positive gap means that the first group is selected more often."""
        return -1 if self.on == "positives" else 1

    def _place(self, scores: GroupedScores, pair: Pair, share: float) -> _Place:
        """What is at a share of those of whom cuts are shares."""
        if self.on is None:
            own = [float(cell.threshold(share)) for cell in _of(scores, "negatives", pair)]
            return _Place(share, (own[0], own[1]))
        pool = scores.pooled("negatives" if self.on == "positives" else "positives")
        return self._at(scores, pair, float(pool.threshold(share)))

    def _at(self, scores: GroupedScores, pair: Pair, cut: float) -> _Place:
        """The false positive rate at a common threshold: of everybody, or of the two groups.

        The curves of bnsp are against all negatives, those of bpsn against each group's own.
        """
        assert self.on is not None
        above, tied = np.transpose([cell.shares(cut) for cell in _of(scores, self.on, pair)])
        # Whoever has exactly this score is on one side or on the other.
        gaps = np.abs([above[0] - above[1], (above + tied)[0] - (above + tied)[1]])
        even = bool(gaps.min() <= _EVEN)
        if self.on == "positives":
            return _Place(float(scores.pooled("negatives").survival(cut)), (cut, cut), even)
        first, second = _of(scores, "negatives", pair)
        selected = first.total * above[0] + second.total * above[1]
        return _Place(float(selected) / (first.total + second.total), (cut, cut), even)

    def _between(self, scores: GroupedScores, pair: Pair, strict: _Place, loose: _Place) -> _Place:
        """Where the curves of the sample cross, in the middle if they do so several times."""
        first, second = _of(scores, "negatives", pair)
        if self.on is None:
            one, two = (
                RocCurve(h, g).with_ties_split()
                for h, g in zip((first, second), _of(scores, "positives", pair), strict=True)
            )
            places = [
                _Place(float(rate), (float(first.threshold(rate)), float(second.threshold(rate))))
                for rate in one.difference(two).crossings
                if strict.rate <= rate <= loose.rate
            ]
        else:
            rate = "fnr" if self.on == "positives" else "fpr"
            fair = fair_thresholds(scores, rate, [scores.groups[k] for k in pair])
            places = [
                self._at(scores, pair, float(cut))
                for cut in fair.low
                if loose.thresholds[0] <= cut <= strict.thresholds[0]
            ]
            if any(place.even for place in places):
                places = [place for place in places if place.even]
        return places[len(places) // 2] if places else loose

    def _told(
        self,
        scores: GroupedScores,
        pair: Pair,
        ends: list[_Place],
        inside: _Place,
        sign: int,
        words: Words,
        *,
        low: bool,
    ) -> Crossing:
        strict, loose = ends
        first, second = (scores.names[k] for k in pair)
        ahead, other = (first, second) if sign > 0 else (second, first)
        turn = -1.0 if low else 1.0  # of a mirrored table
        thresholds = tuple(turn * cut for cut in inside.thresholds)
        sides = [
            tuple(sorted((turn * one, turn * two)))
            for one, two in zip(strict.thresholds, loose.thresholds, strict=True)
        ]
        whom = words.of(self.on or "positives")
        return Crossing(
            self.notion,
            first,
            second,
            inside.rate,
            strict.rate,
            loose.rate,
            (thresholds[0], thresholds[1]),
            (sides[0][0], sides[1][0]),
            (sides[0][1], sides[1][1]),
            ahead,
            f"at stricter cuts {whom} {words.among(ahead)} are {words.selected} more often, at "
            f"more generous ones those {words.among(other)}",
            inside.even,
        )


_CURVES = (
    _Curves("bnsp", "positives", RateConstraint("fnr", cuts=Cuts(at=_RATES, of="negatives"))),
    _Curves("bpsn", "negatives", RateConstraint("fpr", cuts=Cuts(at=_RATES, of="positives"))),
    _Curves("intra_group", None, CurveConstraint(at=_RATES)),
)
