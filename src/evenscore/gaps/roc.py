"""ROC constraints: the distributions of two groups should agree at chosen rates.

Δ_{F,a} = ROC_{F⁰,F¹}(a) − a: cut the score where it selects a share a of one class F in one group;
the gap is by how much more, or less, is selected of that class in the other. Ties are split, the
same way in both groups, as they count one half in an AUC: with ties no cut need select the share a,
and by the paper's Definition 1 two groups of one law would then have a gap.

The cut may be made in either group, and the two gaps differ (+0.33 one way, −0.10 the other, on one
data set). The gap of two groups is the larger of the two, positive where the *second* group scores
higher: renaming or reordering the groups changes no more than its sign.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from numbers import Integral
from typing import ClassVar, final

import numpy as np

from evenscore.gaps.family import (
    Alignment,
    CutForm,
    CutTarget,
    EstimateSettings,
    GapFamily,
    Pairs,
    check_tolerance,
    labels_of_pairs,
)
from evenscore.gaps.placeable import PlacedRate
from evenscore.gaps.smooth import SmoothCells, Surrogate
from evenscore.gaps.words import DEFAULT_WORDS, Words
from evenscore.inference.decisions import holm
from evenscore.inference.estimate import Estimate, GapKey, check_level
from evenscore.inference.intervals import Intervals, invert, normal_quantile
from evenscore.inference.paired import Paired, PairedScores
from evenscore.inference.paired_rates import paired_roc_gaps
from evenscore.inference.roc_gaps import JointGaps
from evenscore.scores import ClassName, GroupedScores, OneOrBoth, check_scores, class_names
from evenscore.scores.arrays import Bools, Floats
from evenscore.scores.aucs import inter_group_curve
from evenscore.scores.brackets import curve_bracket
from evenscore.scores.curve import CurveDifference, ReferenceCuts
from evenscore.scores.distribution import Distribution, check_interval, check_rates, to_floats
from evenscore.scores.rates import CATALOGUE as RATES

_SPACING = 0.025  # of the rates in an interval, unless their number is given
# Guards, times a rate: with them the gap of a prototype on new rows of Bank fell from 0.16 to 0.05.
_AROUND = (0.4, 0.8, 1.2, 1.6)
_BESIDE = 0.15  # of a rate: how far above and below it `placed` asks for the same
_NEAR = 0.1  # a guard nearer than this share of a rate to it is left out


@final
@dataclass(frozen=True)
class RocConstraint(GapFamily):
    """Pointwise ROC constraint: Δ_{F,a} = ROC_{F⁰,F¹}(a) − a should vanish at the rates a.

    Parameters
    ----------
    on : "negatives", "positives" or "both"
        The class F whose two distributions are aligned.
    rates : numbers strictly between 0 and 1
    tolerance : float, optional
        The gap that a scorer or a repair may leave.
    interval : two rates, instead of `rates`
        With `n_rates` equally spaced ones in it, its ends included; by default one every 0.025 at
        least. At 1, and for continuous scores on a common support at 0, there is no gap to close:
        an interval that begins at 0, the paper's [0, α_max], has its first rate one step above, and
        one that ends at 1 its last one below.
    n_rates : int, optional

    Examples
    --------
    >>> RocConstraint(on="negatives", interval=(0.1, 0.4), n_rates=4).rates
    (0.1, 0.2, 0.3, 0.4)
    >>> RocConstraint(on="positives", interval=(0, 0.4), n_rates=4).rates
    (0.1, 0.2, 0.3, 0.4)
    """

    on: OneOrBoth = "both"
    rates: tuple[float, ...] = ()
    tolerance: float | None = None
    interval: tuple[float, float] | None = None
    n_rates: int | None = None

    family: ClassVar[str] = "roc"
    heading: ClassVar[str] = "ROC gaps at a cut"

    def __post_init__(self) -> None:
        class_names(self.on)
        check_tolerance(self.tolerance)
        rates = np.atleast_1d(to_floats(self.rates, "rates"))
        if self.interval is None:
            if self.n_rates is not None:
                raise ValueError("n_rates says how to cut an interval: give interval as well.")
        else:
            low, high = check_interval(self.interval)
            start, stop = int(low == 0.0), int(high == 1.0)  # ends without a gap to close
            least, n_rates = max(1, 2 - start - stop), self.n_rates
            if n_rates is None:
                steps = int(np.ceil((high - low) / _SPACING - 1e-9))
                n_rates = max(least, steps + 1 - start - stop)
            whole = isinstance(n_rates, Integral) and not isinstance(n_rates, bool)
            if not whole or n_rates < least:
                raise ValueError(f"An interval needs a whole n_rates ≥ {least}, not {n_rates!r}.")
            ends = np.linspace(low, high, int(n_rates) + start + stop)
            spaced = tuple(np.round(ends[start : len(ends) - stop], 15).tolist())
            if rates.size and tuple(rates.tolist()) != spaced:
                raise ValueError("Give either rates or an interval, not both.")
            rates = np.asarray(spaced)
            object.__setattr__(self, "interval", (low, high))
            object.__setattr__(self, "n_rates", int(n_rates))
        if rates.size == 0:
            raise ValueError("A ROC constraint needs rates, for instance rates=(0.125, 0.25).")
        if rates.ndim != 1 or not np.all((rates > 0.0) & (rates < 1.0)):
            raise ValueError(f"rates must lie strictly between 0 and 1, not {self.rates!r}.")
        if len(set(rates.tolist())) < rates.size:
            raise ValueError(f"rates must differ, but {self.rates!r} repeats one.")
        object.__setattr__(self, "rates", tuple(rates.tolist()))

    @property
    def name(self) -> str:  # type: ignore[override]
        """For instance 'roc_gap(both; 0.125, 0.25)'."""
        if self.interval is None:
            where = ", ".join(f"{rate:.4g}" for rate in self.rates)
        else:
            where = "{} rates from {:.4g} to {:.4g}".format(len(self.rates), *self.interval)
        return f"roc_gap({self.on}; {where})"

    @property
    def curve_rates(self) -> dict[ClassName, tuple[float, ...]]:
        """The rates, in each class."""
        return dict.fromkeys(class_names(self.on), self.rates)

    # ------------------------------------------------------------------ gaps

    def keys(self, groups: Sequence[object], pairs: Pairs | None = None) -> tuple[GapKey, ...]:
        """One gap for every class, pair of groups and rate."""
        texts = [f"{rate:.4g}" for rate in self.rates]
        if len(set(texts)) < len(texts):  # alike to four digits
            texts = [repr(rate) for rate in self.rates]
        return tuple(
            GapKey(f"roc_gap({on})", *names, f"at {text}", on, rate)
            for on in class_names(self.on)
            for names in labels_of_pairs(groups, pairs)
            for text, rate in zip(texts, self.rates, strict=True)
        )

    def values(self, scores: GroupedScores, pairs: Pairs | None = None) -> Floats:
        """Δ with ties split, cut in the group where it is larger; positive: second higher."""
        check_scores(scores)
        compared = np.array(scores.pairs() if pairs is None else list(pairs)).reshape(-1, 2)
        rates = np.asarray(self.rates)
        first, second = compared.T
        gaps = []
        for on in class_names(self.on):
            above = _shares_above(scores.of_class(on), rates)
            one, two = above[first, second] - rates, rates - above[second, first]
            gaps.append(np.where(np.abs(one) >= np.abs(two), one, two).reshape(-1))
        return np.concatenate([np.zeros(0), *gaps])

    def _joint(self, scores: GroupedScores, pairs: Pairs | None) -> list[JointGaps]:
        """Both ways round, for every class and pair of groups."""
        check_scores(scores)
        compared = scores.pairs() if pairs is None else pairs
        rates = np.asarray(self.rates)
        return [
            JointGaps.of(scores, on, (first, second), rates)
            for on in class_names(self.on)
            for first, second in compared
        ]

    def intervals(self, scores: GroupedScores, settings: EstimateSettings) -> Intervals:
        """Pointwise intervals of the two ways round as one: `inference.roc_gaps`."""
        joint, n = self._joint(scores, settings.pairs), len(self.rates)

        def ends(z: Floats) -> tuple[Floats, Floats]:
            parts = [gaps.interval(z[k * n : (k + 1) * n]) for k, gaps in enumerate(joint)]
            low, high = (np.concatenate([np.zeros(0), *some]) for some in zip(*parts, strict=True))
            return low, high

        return ends

    def _estimated(self, scores: GroupedScores, settings: EstimateSettings) -> list[Estimate]:
        """The gaps with pointwise intervals."""
        level = check_level(settings.confidence_level)
        keys = iter(self.keys(scores.groups, settings.pairs))
        z = normal_quantile(0.5 + level / 2.0)
        estimates = []
        for gaps in self._joint(scores, settings.pairs):
            low, high = gaps.interval(np.full(len(self.rates), z))
            p_values = invert(gaps.larger, len(self.rates))
            for k, rate in enumerate(self.rates):
                side, value = gaps.side(k), float(gaps.value[k])
                shares = [rate, rate + side.sign * value][:: int(side.sign)]
                estimate = Estimate.of_key(
                    next(keys), value, method=side.method(rate), family=self.family
                )
                estimates.append(
                    replace(
                        estimate,
                        low=float(low[k]),
                        high=float(high[k]),
                        p_value=float(p_values[k]),
                        confidence_level=level,
                        standard_error=float(high[k] - low[k]) / (2.0 * z),
                        first_value=shares[0],
                        second_value=shares[1],
                        warnings=side.warnings(rate) if gaps.defined else (),
                    )
                )
        return holm(self._with_reasons(estimates, scores, settings.pairs))

    def brackets(self, scores: GroupedScores, pairs: Pairs | None = None) -> Floats:
        """The share of the one group in the bin where the other is cut, whichever way it is larger.

        The largest over the cuts that the interval looks at: some standard errors around.
        """
        compared = scores.pairs() if pairs is None else list(pairs)
        found = []
        for on in class_names(self.on):
            cells = scores.of_class(on)
            for i, j in compared:
                for rate in self.rates:
                    found.append(
                        max(
                            curve_bracket(scores, one, two, *around(one, rate, rate))
                            for one, two in ((cells[i], cells[j]), (cells[j], cells[i]))
                        )
                    )
        return np.array(found, dtype=np.float64)

    def paired(self, pair: PairedScores, settings: EstimateSettings) -> list[Paired]:
        """By redrawing people, both of their scores together."""
        keys = self.keys(pair.groups)
        return paired_roc_gaps(pair, keys, class_names(self.on), self.rates, settings)

    def cells(self, n_groups: int) -> Bools:
        """The same class of two groups."""
        first, second, _ = self.cut_form(n_groups)
        used = np.zeros((len(first), 2 * n_groups), dtype=bool)
        used[np.arange(len(first)), first] = used[np.arange(len(first)), second] = True
        return used

    def cut_form(self, n_groups: int) -> CutForm:
        """The two cells that each gap compares, and its rate."""
        return _cut_form(self, n_groups)

    # ------------------------------------------------------------------ in words

    def say(self, estimate: Estimate, words: Words = DEFAULT_WORDS) -> str:
        """Who is selected by the cut, in either group."""
        shares = [(estimate.first, estimate.first_value), (estimate.second, estimate.second_value)]
        if shares[0][1] != estimate.rate:  # the cut is made in the second group
            shares.reverse()
        (one, rate), (two, share) = shares
        split = ", ties broken at random" if "ties" in estimate.method else ""
        lead = ""
        if estimate.differs_from_zero:
            higher = estimate.second if estimate.value > 0 else estimate.first
            whose = f"{words.of(estimate.on)} {words.among(higher)}"
            lead = f"{whose} would be {words.selected} more often: "
        return (
            f"{lead}the cut that selects {rate:.1%} of the {words.of(estimate.on)} "
            f"{words.among(one)} selects {share:.1%} of those {words.among(two)}{split}"
        )

    def title(self, key: GapKey, words: Words = DEFAULT_WORDS) -> str:
        """Who is selected, and at which rate of one group."""
        text = f"{words.selected} among {words.of(key.on)}, at a rate of one group"
        return text[:1].upper() + text[1:]

    def meaning(self, key: GapKey, words: Words = DEFAULT_WORDS) -> str:
        """What is compared at the cut."""
        return (
            f"At the cut that selects {100 * (key.rate or 0.0):.4g}% of the {words.of(key.on)} of "
            "one group: how much more, or less, of the other; the larger of the two ways round."
        )

    def ranks_higher(self, estimate: Estimate) -> tuple[str, str] | None:
        """The second group where the gap is positive."""
        pair = estimate.second, estimate.first
        return pair if estimate.value > 0 else pair[::-1]

    # ------------------------------------------------------------------ learning and repair

    def placed(self) -> tuple[PlacedRate, ...]:
        """Rates at cuts of each class as a whole: the same at a gap of zero, nearly at small ones.

        Where a share a of the pooled class is above a cut and the groups' shares differ by ε, each
        is within ε of a. A gap of curves is read where the share of one group is a: a little above
        or below that cut, so that the cuts around are asked for, too. In an interval there are
        others near anyway.
        """
        beside = _BESIDE if self.interval is None else 0.0
        parts = (1.0 - beside, 1.0, 1.0 + beside)
        around = {rate * part for rate in self.rates for part in parts}
        above = tuple(sorted(round(rate, 9) for rate in around if rate < 1.0))
        return tuple(
            PlacedRate(
                RATES[{"negatives": "fpr", "positives": "fnr"}[on]],
                on,
                above,
                tuple(f"at the rate {rate:.4g} of the {on}" for rate in above),
            )
            for on in class_names(self.on)
        )

    def surrogate(self, cells: SmoothCells) -> Surrogate:
        """The difference of two cells where the mean of their shares above is the rate.

        With k_z the density of group z at the threshold t, which moves with the scores, a score of
        the second group moves the gap by k(s − t) · 2k_0/(k_0 + k_1), one of the first by minus the
        same with k_1.
        """
        first, second, _ = self.cut_form(cells.n_groups)
        m = len(self.rates)
        mixtures = np.zeros((len(first) // m, 2 * cells.n_groups))
        for cell in (first, second):  # of each class and pair, whose rates follow each other
            mixtures[np.arange(len(mixtures)), cell[::m]] = 0.5
        at = cells.thresholds(mixtures, np.asarray(self.rates)).reshape(-1)
        both = np.concatenate([first, second])
        below, density = (part.reshape(2, -1) for part in cells.read_at(both, np.tile(at, 2)))

        def slopes(multipliers: Floats) -> Floats:
            active = np.flatnonzero(multipliers)
            if not len(active):
                return np.zeros_like(cells.density)
            one, two = density[:, active]
            factor = 2.0 * multipliers[active] / np.maximum(one + two, 1e-300)
            pull = np.zeros((2 * cells.n_groups, len(active)))
            column = np.arange(len(active))
            pull[first[active], column] = -factor * two
            pull[second[active], column] = factor * one
            return cells.pulled(pull, at[active])

        return Surrogate(below[0] - below[1], slopes)

    def guards(self) -> "RocConstraint | None":
        """The rates around; an interval of rates guards itself."""
        around = guard_rates(self.rates) if self.interval is None else ()
        return replace(self, rates=around) if around else None

    def narrowed(self, key: GapKey) -> "RocConstraint":
        """One class at one rate."""
        assert key.on is not None
        assert key.rate is not None
        return RocConstraint(on=key.on, rates=(key.rate,), tolerance=self.tolerance)

    def noise(self, sizes: Floats) -> Floats:
        """√(a(1 − a)(1/n₀ + 1/n₁)) at a rate a, for groups that are alike."""
        first, second, rates = self.cut_form(len(sizes) // 2)
        inverse = 1.0 / np.where(sizes > 0.0, sizes, np.nan)
        return np.asarray(np.sqrt(rates * (1.0 - rates) * (inverse[first] + inverse[second])))

    def targets(self, n_groups: int, *, guards: bool = True) -> Alignment:
        """Every rate, and with `guards` the rates around."""
        isolated = self.interval is None
        around = self.guards() if guards else None
        return Alignment(
            tuple(
                CutTarget(on, rate, asked, guarded=guards or not isolated or not asked)
                for on in class_names(self.on)
                for asked, rates in ((True, self.rates), (False, around.rates if around else ()))
                for rate in rates
            )
        )


def _shares_above(cells: Sequence[Distribution], rates: Floats) -> Floats:
    """Entry (i, j, k): the share of cell j above the cut that leaves rate k of cell i, ties split.

    NaN where one of the two is empty.
    """
    n, m = len(cells), len(rates)
    values, part = np.full((n, m), np.nan), np.zeros((n, m))
    known = [k for k in range(n) if len(cells[k])]
    for k in known:
        cuts = ReferenceCuts.at(cells[k], rates)
        values[k] = cuts.values if cuts.place is None else cuts.values[cuts.place]
        part[k] = cuts.part
    above = np.full((n, n, m), np.nan)
    for k in known:  # all cuts of all others at once
        beyond, tied = cells[k].shares(values[known])
        above[known, k] = beyond + part[known] * tied
    return above


def around(sample: Distribution, low: float, high: float) -> tuple[float, float]:
    """Rates between which an interval looks for the cut of a sample: three standard errors on."""
    size = max(sample.independent_size, 1.0)
    down, up = (3.0 * float(np.sqrt(rate * (1.0 - rate) / size)) for rate in (low, high))
    return low - down, high + up


@lru_cache(maxsize=64)
def _cut_form(constraint: RocConstraint, n_groups: int) -> CutForm:
    """Training asks for it at every step."""
    keys = constraint.keys(range(n_groups))
    offsets = np.array([n_groups * (key.on == "positives") for key in keys], dtype=np.intp)
    first, second = constraint.compared(n_groups).T
    rates = np.array([key.rate for key in keys], dtype=np.float64)
    return CutForm(offsets + first, offsets + second, rates)


def guard_rates(rates: Sequence[float]) -> tuple[float, ...]:
    """Rates around those asked for: 0.4, 0.8, 1.2 and 1.6 times each, counted from the nearer end.

    A constraint met only at isolated rates may leave the two distributions crossing steeply there;
    the sampling error of the gap is multiplied by that slope, so the gap returns on new data.
    Constraining the neighbourhood too keeps the slope near one.

    >>> [round(rate, 3) for rate in guard_rates((0.125, 0.25))]
    [0.05, 0.1, 0.15, 0.2, 0.3, 0.4]
    """
    guards: list[float] = []
    for rate in rates:
        near = min(rate, 1.0 - rate)
        for factor in _AROUND:
            guard = near * factor if rate <= 0.5 else 1.0 - near * factor
            least = _NEAR * min(guard, 1.0 - guard)
            if all(abs(guard - other) > least for other in (*rates, *guards)):
                guards.append(guard)
    return tuple(sorted(guards))


def anchored_gaps(
    scores: GroupedScores,
    on: ClassName,
    rates: float | Sequence[float],
    first: int = 0,
    second: int = 1,
) -> Floats:
    """The paper's Δ_{F,a}, cut in the first group of an explicit order, ties split.

    Positive: at the cut that keeps a share a of the first group, more of the second is kept.
    """
    at = check_rates(rates)
    curve = inter_group_curve(scores, on, first, second).with_ties_split()
    return np.asarray(curve.evaluate(at) - at)


def anchored_gap_curve(
    scores: GroupedScores, on: ClassName, first: int = 0, second: int = 1
) -> CurveDifference:
    """Δ_{F,a} as a function of a, ties split: its supremum and mean over any interval are exact."""
    return inter_group_curve(scores, on, first, second).with_ties_split().gap()
