"""Rate constraints: the groups' rates should be equal at the cuts that will be used.

At a common cut, the gap of a rate is that of the first group minus that of the second; over a range
of cuts, the one of largest size. That is parity as a user means it, whoever repays must not be
refused more often in one group than in another, at any cut between these two: the paper's Example 1
and its Proposition 2. The gap is antisymmetric in the groups and needs no reference group.

What is at stake decides the rate: where being selected is good, people who deserve it must not be
refused more often (fnr); where it is bad, people who do not must not be selected more often (fpr).
Both together may cost much AUC.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final
from weakref import WeakKeyDictionary

import numpy as np

from evenscore.gaps.cuts import DEFAULT_CUTS, Cuts, check_cuts, percent
from evenscore.gaps.family import (
    Alignment,
    CommonTarget,
    EstimateSettings,
    GapFamily,
    Pairs,
    RatesAtCuts,
    check_tolerance,
    family_intervals,
    labels_of_pairs,
)
from evenscore.gaps.placeable import PlacedRate
from evenscore.gaps.smooth import SmoothCells, Surrogate
from evenscore.gaps.words import DEFAULT_WORDS, Words
from evenscore.inference.cut_certificates import certify_rates
from evenscore.inference.cut_gaps import (
    LEAST_AMONG,
    LEAST_OF_CLASS,
    PointGap,
    RangeGap,
    RateErrors,
    enough,
    largest_bracket,
    point_gaps,
    range_gaps,
    widened_range,
)
from evenscore.inference.decisions import holm
from evenscore.inference.estimate import Estimate, GapKey, check_level
from evenscore.inference.gap_certificates import GapCertificate, times_to_decide
from evenscore.inference.intervals import Intervals, invert, normal_quantile
from evenscore.inference.reaches import reaches_at_cuts
from evenscore.scores import GroupedScores, check_scores
from evenscore.scores.arrays import Bools, Floats
from evenscore.scores.rates import CATALOGUE, Rate, rate_names
from evenscore.scores.selection import Ladder, pool_classes

# At how many places of a range a gap may turn up, as if independent. As many people as were said to
# certify nine times out of ten (fpr and fnr at cuts that select 10 % to 40 % of everyone) did so in
# 83 % of 120 samples with 1, in 93 % of 160 with 2 and in 96 % of 160 with 3.
_PLACES = 2.0

_MEASURED: WeakKeyDictionary[GroupedScores, dict[Any, "list[PointGap | RangeGap]"]] = (
    WeakKeyDictionary()
)


def rate_heading(name: str, words: Words = DEFAULT_WORDS) -> str:
    """A rate in the user's words, as a heading.

    >>> rate_heading("fnr", Words(positives="people who repaid", refused="refused"))
    'Refused among people who repaid'
    """
    text = CATALOGUE[name].heading.format(**words.classes)
    return text[:1].upper() + text[1:]


@final
@dataclass(frozen=True, init=False)
class RateConstraint(GapFamily):
    """Rates that should be equal between groups at the cuts in use.

    Parameters
    ----------
    *rates : str
        What should be equal, of `evenscore.rate_names()`.
    cuts : Cuts
        Where; by default at every cut that selects 5 % to 50 % of everyone.
    tolerance : float, optional
        The gap that a scorer or a repair may leave.

    Examples
    --------
    >>> fair = RateConstraint("fpr", "fnr", cuts=Cuts(between=(0.1, 0.4)), tolerance=0.02)
    >>> [key.kind for key in fair.keys(["a", "b"])]
    ['fpr_gap at cuts that select 10% to 40% of everyone', \
'fnr_gap at cuts that select 10% to 40% of everyone']
    """

    rates: tuple[str, ...]
    cuts: Cuts
    tolerance: float | None

    family: ClassVar[str] = "rate"
    heading: ClassVar[str] = "Rates at the cuts in use"

    def __init__(
        self, *rates: str, cuts: Cuts = DEFAULT_CUTS, tolerance: float | None = None
    ) -> None:
        known = ", ".join(rate_names())
        if not rates:
            raise ValueError(f"A rate constraint needs a rate, one or more of {known}.")
        for rate in rates:
            if not isinstance(rate, str) or rate not in CATALOGUE:
                raise ValueError(f"There is no rate {rate!r}; there are {known}.")
        if len(set(rates)) < len(rates):
            raise ValueError(f"Rates must differ, but {', '.join(rates)} repeats one.")
        check_tolerance(tolerance)
        object.__setattr__(self, "rates", tuple(rates))
        object.__setattr__(self, "cuts", check_cuts(cuts))
        object.__setattr__(self, "tolerance", tolerance)

    def _with(self, *rates: str, cuts: Cuts | None = None) -> Self:
        return type(self)(*(rates or self.rates), cuts=cuts or self.cuts, tolerance=self.tolerance)

    @property
    def name(self) -> str:  # type: ignore[override]
        """For instance 'fpr and fnr at cuts that select 10% to 40% of everyone'."""
        return f"{' and '.join(self.rates)} {self.cuts.text()}"

    @property
    def rates_at_cuts(self) -> RatesAtCuts:
        """These rates, at these cuts."""
        return RatesAtCuts(self.entries, self.cuts)

    @property
    def needs_outcomes(self) -> bool:
        """Who is selected can be counted without them, of everyone."""
        return self.cuts.of != "everyone" or any(rate.needs_outcomes for rate in self.entries)

    @property
    def entries(self) -> tuple[Rate, ...]:
        """The catalogue's entries of the rates."""
        return tuple(CATALOGUE[rate] for rate in self.rates)

    # ------------------------------------------------------------------ gaps

    def keys(self, groups: Sequence[object], pairs: Pairs | None = None) -> tuple[GapKey, ...]:
        """One gap for every rate and pair of groups, over the range or at each point."""
        shares = self.cuts.at or (None,) * len(self.cuts.texts())
        return tuple(
            GapKey(f"{rate.name}_gap", *names, text, rate.on, share)
            for rate in self.entries
            for names in labels_of_pairs(groups, pairs)
            for text, share in zip(self.cuts.texts(), shares, strict=True)
        )

    def values(self, scores: GroupedScores, pairs: Pairs | None = None) -> Floats:
        """The first group's rate minus the second's, where that is largest in size."""
        check_scores(scores)
        compared = scores.pairs() if pairs is None else list(pairs)
        ladder = self.cuts.ladder(scores)
        places = self.cuts.steps(ladder)
        found = np.full((len(self.rates), len(compared), len(places)), np.nan)
        if not compared:
            return np.zeros(0)
        i, j = np.array(compared).T
        totals, counts = scores.cell_weights, scores.cell_counts
        for place, (first, last) in enumerate(places):
            for selected in ladder.runs(first, last):
                for k, rate in enumerate(self.entries):
                    value = rate.values(selected.weight, totals)
                    value = np.where(enough(rate, selected.count, counts), value, np.nan)
                    gap = value[:, i] - value[:, j]
                    size = np.where(np.isnan(gap), -1.0, np.abs(gap))
                    row = np.argmax(size, axis=0)
                    largest = gap[row, np.arange(len(i))]
                    known = found[k, :, place]
                    better = np.isnan(known) | (np.abs(largest) > np.abs(known))
                    found[k, :, place] = np.where(better, largest, known)
        return found.reshape(-1)

    def _measured(
        self, scores: GroupedScores, settings: EstimateSettings
    ) -> "list[PointGap | RangeGap]":
        """The gaps with what their intervals are made of, kept as long as the table is."""
        known = _MEASURED.setdefault(scores, {})
        key = self.rates, self.cuts, settings.pairs, settings.random_state
        if key not in known:
            check_scores(scores)
            pairs = scores.pairs() if settings.pairs is None else list(settings.pairs)
            ladder = self.cuts.ladder(scores)
            errors = RateErrors(ladder)
            places = self.cuts.steps(ladder)
            gaps: list[PointGap | RangeGap] = []
            if not pairs or not scores.cell_weights[list(pool_classes(self.cuts.of))].sum():
                gaps = [_nothing() for _ in self.keys(scores.groups, settings.pairs)]
            elif self.cuts.between is not None:
                [inside] = places
                if inside[0] > inside[1]:
                    gaps = [_nothing() for _ in self.keys(scores.groups, settings.pairs)]
                else:
                    table = range_gaps(
                        errors,
                        self.entries,
                        inside,
                        widened_range(ladder, *self.cuts.between),
                        pairs,
                        random_state=settings.random_state,
                    )
                    gaps = [gap for row in table for gap in row]
            else:
                steps = [first for first, last in places if first <= last]
                for rate in self.entries:
                    by_share = bool(self.cuts.at)
                    rows = point_gaps(errors, rate, steps, pairs, by_share=by_share)
                    for row in rows:
                        made = iter(row)
                        gaps += [
                            next(made) if first <= last else _nothing() for first, last in places
                        ]
            known[key] = gaps
        return known[key]

    def intervals(self, scores: GroupedScores, settings: EstimateSettings) -> Intervals:
        """Of a cut, those of a difference of two shares; of a range, those of the largest."""
        gaps = self._measured(scores, settings)

        def ends(z: Floats) -> tuple[Floats, Floats]:
            found = [
                (np.nan, np.nan) if np.isnan(gap.value) or np.isnan(at) else gap.interval(at)
                for gap, at in zip(gaps, z.tolist(), strict=True)
            ]
            low, high = np.array(found).reshape(-1, 2).T
            return low, high

        return ends

    def brackets(self, scores: GroupedScores, pairs: Pairs | None = None) -> Floats:
        """How far rates may move within the bin where a cut lies; of a range, the largest.

        Over a range, the bins of all cuts that the interval looks at are meant: a gap is off by the
        largest at most, whichever of its cuts is the worst.
        """
        compared = scores.pairs() if pairs is None else list(pairs)
        ladder = self.cuts.ladder(scores)
        places = self.cuts.steps(ladder)
        found = np.zeros((len(self.rates), len(compared), len(places)))
        for k, (steps, levels) in enumerate(zip(places, self.cuts.levels(ladder), strict=True)):
            if steps[0] > steps[1] or not compared:
                continue
            if self.cuts.between is not None:
                wide = widened_range(ladder, *self.cuts.between)
                steps = min(steps[0], wide[0]), max(steps[1], wide[1])
                levels = min(levels[0], wide[0] - (wide[0] == 1)), max(levels[1], wide[1])
            found[:, :, k] = [
                largest_bracket(ladder, rate, levels, steps, compared) for rate in self.entries
            ]
        return found.reshape(-1)

    def certify(
        self,
        scores: GroupedScores,
        *,
        tolerance: float,
        confidence_level: float = 0.95,
        random_state: int = 0,
        foresee: bool = True,
    ) -> GapCertificate:
        """By intersection-union over all cuts, rates and pairs: `inference.cut_certificates`."""
        tolerance = tolerance if self.tolerance is None else self.tolerance
        check_scores(scores)
        ladder = self.cuts.ladder(scores)
        proof = certify_rates(
            ladder,
            self.entries,
            self.cuts.steps(ladder),
            tolerance=tolerance,
            confidence_level=confidence_level,
            share_range=self.cuts.between,
            shares=self.cuts.at,
            levels=self.cuts.levels(ladder),
            random_state=random_state,
            foresee=foresee,
        )
        values = self.values(scores)
        unknown = np.isnan(values)
        k = int(np.argmax(np.where(unknown, np.inf, np.abs(values))))
        found = GapCertificate(
            self.name, "intersection_union", proof.tolerance, proof.confidence_level,
            proof.certified, proof.reach, abs(float(values[k])), self.keys(scores.groups)[k].title,
            math.nan, "", proof.smallest, proof.words, proof.warnings,
        )  # fmt: skip
        if unknown.any():
            why = next(filter(None, self.reasons(scores, values, None)))
            return replace(found, certified=False, reach=math.nan, words=f"Not certified: {why}.")
        if proof.certified or not foresee:
            return found
        asked = EstimateSettings(confidence_level, random_state=random_state)
        intervals = family_intervals(scores, [self], asked)
        places = _PLACES if self.cuts.is_range else 1.0
        times, decision = times_to_decide(values, intervals, tolerance, confidence_level, places)
        return replace(found, times=times, decision=decision)

    def _estimated(self, scores: GroupedScores, settings: EstimateSettings) -> list[Estimate]:
        """The gaps with their intervals, and the cut where each is largest."""
        level = check_level(settings.confidence_level)
        gaps = self._measured(scores, settings)
        ends = self.intervals(scores, settings)
        z = normal_quantile(0.5 + level / 2.0)
        low, high = ends(np.full(len(gaps), z))
        p_values = invert(ends, len(gaps))
        ladder = self.cuts.ladder(scores)
        method = "largest over the cuts" if self.cuts.is_range else "difference of shares"
        estimates = []
        for k, (key, gap) in enumerate(
            zip(self.keys(scores.groups, settings.pairs), gaps, strict=True)
        ):
            blank = Estimate.of_key(key, float(gap.value), method=method, family=self.family)
            known = not np.isnan(gap.value)
            warnings: tuple[str, ...] = ()
            if known and getattr(gap, "blocked", False):
                whom = _rate_of(key.name).whom
                warnings = (f"at some of the cuts too few people are {whom} to tell",)
            estimates.append(
                replace(
                    blank,
                    low=float(low[k]),
                    high=float(high[k]),
                    p_value=float(p_values[k]),
                    confidence_level=level,
                    standard_error=float(gap.error),
                    first_value=gap.first,
                    second_value=gap.second,
                    threshold=self._threshold(ladder, gap.step, k) if known else np.nan,
                    selected_share=float(ladder.share[gap.step]) if known else np.nan,
                    warnings=warnings,
                )
            )
        return holm(self._with_reasons(estimates, scores, settings.pairs))

    def reaches(self, scores: GroupedScores, settings: EstimateSettings) -> Floats:
        """Those of the certificate; refused of thresholds, whose scores mean nothing yet."""
        if self.cuts.thresholds:
            raise ValueError(
                "Cuts at thresholds cannot be planned, since nothing is known yet of the score "
                "they cut: give the shares that will be selected, with between or at."
            )
        ladder = self.cuts.ladder(scores)
        return reaches_at_cuts(
            ladder,
            self.entries,
            self.cuts.steps(ladder),
            scores.pairs() if settings.pairs is None else settings.pairs,
            confidence_level=settings.confidence_level,
            share_range=self.cuts.between,
            shares=self.cuts.at,
            random_state=settings.random_state,
        )

    def _threshold(self, ladder: Ladder, step: int, number: int) -> float:
        """The cut of a gap: the users' number if they gave one, or else a score of the sample."""
        named = self.cuts.thresholds
        if named:
            return named[number % len(named)]
        return ladder.threshold(step, inclusive=self.cuts.inclusive)

    def reasons(self, scores: GroupedScores, values: Floats, pairs: Pairs | None) -> list[str]:
        """An empty cell, no cut where one is asked for, or too few people beyond it."""
        texts = super().reasons(scores, values, pairs)
        ladder = self.cuts.ladder(scores)
        places = self.cuts.steps(ladder)
        compared = scores.pairs() if pairs is None else list(pairs)
        for k, key in enumerate(self.keys(scores.groups, pairs)):
            rest, number = divmod(k, len(places))
            if not texts[k] or self._lacks_people(key, scores, compared[rest % len(compared)]):
                continue
            if places[number][0] > places[number][1]:
                texts[k] = f"{key.name} has no value: {self.cuts.why_none(ladder, number)}"
            else:
                texts[k] = (
                    f"{key.name} has no value: at none of the cuts are {LEAST_AMONG} people of "
                    f"both groups {_rate_of(key.name).whom}, {LEAST_OF_CLASS} of either class "
                    "among them"
                )
        return texts

    @staticmethod
    def _lacks_people(key: GapKey, scores: GroupedScores, pair: tuple[int, int]) -> bool:
        """Whether a cell is empty without which there is no rate; a selection rate needs either."""
        rate = _rate_of(key.name)
        people = scores.cell_weights[list(rate.classes)][:, list(pair)] > 0.0
        both = rate.on is not None or rate.standardised
        return not (people.all() if both else people.any(axis=0).all())

    def cells(self, n_groups: int) -> Bools:
        """The classes that the rate is about, of two groups."""
        keys = self.keys(range(n_groups))
        used = np.zeros((len(keys), 2, n_groups), dtype=bool)
        for k, key in enumerate(keys):
            for c in _rate_of(key.name).classes:
                used[k, c, [int(key.first), int(key.second)]] = True
        return used.reshape(len(keys), -1)

    # ------------------------------------------------------------------ in words

    def say(self, estimate: Estimate, words: Words = DEFAULT_WORDS) -> str:
        """Who is selected, or not, in either group, and at which cut."""
        rate = _rate_of(estimate.name)
        phrase = rate.phrase.format(
            first=words.whom(estimate.first),
            second=words.whom(estimate.second),
            one=f"{estimate.first_value:.1%}",
            two=f"{estimate.second_value:.1%}",
            **words.classes,
        )
        if f"{estimate.first_value:.1%}" == f"{estimate.second_value:.1%}":
            phrase = phrase.replace(" but ", " and ")
        digits = 10 if self.cuts.thresholds else 4
        side = ("above", "of at least") if self.cuts.selected == "high" else ("below", "of at most")
        share = percent(round(estimate.selected_share, 3))
        cut = f"where {share} of {self.cuts.whom(words)} are {words.selected}"
        if words.selected == DEFAULT_WORDS.selected:
            cut = f"that selects {share} of {self.cuts.whom(words)}"
        score = f"a score {side[self.cuts.inclusive]} {estimate.threshold:.{digits}g}"
        return f"{phrase} at the cut {cut} ({score})"

    def meaning(self, key: GapKey, words: Words = DEFAULT_WORDS) -> str:
        """What is compared, and where."""
        rate = _rate_of(key.name)
        where = self.cuts.text(words)
        largest = "the largest difference " if self.cuts.is_range else "the difference "
        remark = rate.remark.format(**words.classes)
        return f"{rate.title.capitalize()}: {largest}{where}. {remark}".strip()

    def title(self, key: GapKey, words: Words = DEFAULT_WORDS) -> str:
        """Who is counted, and among whom: 'refused among people who repaid'."""
        title = rate_heading(key.name.removesuffix("_gap"), words)
        if self.cuts.is_range or len(self.cuts.points) == 1:
            return title
        texts = dict(zip(self.cuts.texts(), self.cuts.texts(words), strict=True))
        return f"{title}, {texts[key.at]}"

    def ranks_higher(self, estimate: Estimate) -> tuple[str, str] | None:
        """The group that is selected more often, if the rate says so."""
        rate = _rate_of(estimate.name)
        if not rate.selects:
            return None
        pair = estimate.first, estimate.second
        more = (estimate.value > 0) == ((rate.selects > 0) == (self.cuts.selected == "high"))
        return pair if more else pair[::-1]

    # ------------------------------------------------------------------ learning

    def placed(self) -> tuple[PlacedRate, ...]:
        """The rates at the cuts: of a range at several, both ends among them."""
        cuts = self.cuts.trained()
        high = cuts.selected == "high"
        above = tuple(share if high else 1.0 - share for share in cuts.at)
        between = (min(above), max(above)) if self.cuts.is_range else None
        return tuple(
            PlacedRate(rate, cuts.of, above, cuts.texts(), selects_above=high, between=between)
            for rate in self.entries
        )

    def trained(self) -> GapFamily:
        """The same at each of several cuts, each with a multiplier of its own."""
        return self._with(cuts=self.cuts.trained()) if not self.cuts.at else self

    def guards(self) -> "RateConstraint | None":
        """The cuts just outside."""
        cuts = self.cuts.guards() if not self.cuts.thresholds else None
        return None if cuts is None else self._with(cuts=cuts)

    def narrowed(self, key: GapKey) -> GapFamily:
        """One rate, at one of the cuts if there are several."""
        cuts = replace(self.cuts, at=(key.rate,)) if key.rate is not None else self.cuts
        return self._with(key.name.removesuffix("_gap"), cuts=cuts)

    def noise(self, sizes: Floats) -> Floats:
        """Of a difference of two shares of one half, at the most, but of a pool of one class."""
        n_groups = len(sizes) // 2
        keys = self.keys(range(n_groups))
        inverse = 1.0 / np.where(sizes > 0.0, sizes, np.nan)
        errors = np.empty(len(keys))
        for k, (key, used) in enumerate(zip(keys, self.cells(n_groups), strict=True)):
            share = key.rate if key.rate is not None else 0.5
            rate = _rate_of(key.name)
            known = rate.on == self.cuts.of or (rate.on is None and self.cuts.of == "everyone")
            spread = share * (1.0 - share) if known else 0.25
            beyond = share if rate.scarce else 1.0
            groups = np.flatnonzero(used) % n_groups
            by_group = [
                1.0 / np.sum(1.0 / inverse[np.flatnonzero(used)[groups == g]]) for g in set(groups)
            ]
            errors[k] = np.sqrt(spread / beyond * np.sum(by_group))
        return errors

    def surrogate(self, cells: SmoothCells) -> Surrogate:
        """The gaps at the cuts where the smoothed pool has the shares asked for.

        With S_c the smoothed share of cell c above the threshold t, g_c = ∂gap/∂S_c, f_c the
        density of the cell and f that of the pool, whose proportions are p_c, a score of cell c
        moves the gap by k(s − t) · (g_c − p_c Σ_b g_b f_b / f): t moves with the scores.
        """
        if not self.cuts.at:
            raise TypeError(f"{self.name} is trained at cuts of its own: see `trained`.")
        n, m = cells.n_groups, len(self.cuts.at)
        pool = np.zeros((2, n))
        classes = list(pool_classes(self.cuts.of))
        pool[classes] = cells.cell_weights[classes] / cells.cell_weights[classes].sum()
        proportions = pool.reshape(-1)
        high = self.cuts.selected == "high"
        above = np.array(self.cuts.at) if high else 1.0 - np.array(self.cuts.at)
        every = np.arange(2 * n)
        [at] = cells.thresholds(proportions[None], above)
        below, density = (
            part.reshape(2 * n, m).T
            for part in cells.read_at(np.repeat(every, m), np.tile(at, 2 * n))
        )
        shares = (1.0 - below if high else below).reshape(m, 2, n)
        sign = 1.0 if high else -1.0
        pairs = _pairs_of(n)
        i, j = pairs.T
        gaps, slopes_of = [], []
        for rate in self.entries:
            value, moved = rate.of_shares(shares, cells.cell_weights)
            gaps.append((value[:, i] - value[:, j]).T)  # (pairs, cuts)
            slopes_of.append(sign * np.nan_to_num(moved))
        pooled = np.maximum(density @ proportions, 1e-12)

        def slopes(multipliers: Floats) -> Floats:
            by_cut = np.zeros((m, 2, n))
            for moved, own in zip(
                slopes_of, multipliers.reshape(len(slopes_of), len(pairs), m), strict=True
            ):
                by_group = np.zeros((m, n))
                np.add.at(by_group.T, i, own)
                np.add.at(by_group.T, j, -own)
                by_cut += moved * by_group[:, None, :]
            flat = by_cut.reshape(m, 2 * n)
            active = np.flatnonzero(flat.any(axis=1))
            if not len(active):
                return np.zeros_like(cells.density)
            moved_by_pool = np.sum(flat * density, axis=1) / pooled
            weights = flat - moved_by_pool[:, None] * proportions
            return cells.pulled(weights[active].T, at[active])

        return Surrogate(np.concatenate([part.reshape(-1) for part in gaps]), slopes)

    # ------------------------------------------------------------------ repair

    def targets(self, n_groups: int, *, guards: bool = True) -> Alignment:
        """The cuts in use; refused of a rate that no cut brings to a common level."""
        for rate in self.entries:
            if not rate.spans:
                able = ", ".join(some.name for some in CATALOGUE.values() if some.spans)
                why = "may rise or fall with it"
                if rate.selects:
                    why = "ends where the group's own share of positives has it"
                raise ValueError(
                    f"{rate.name} cannot be repaired: a map per group moves the cut of the group, "
                    f"and {rate.name} {why} (repair aligns {able}). It can be audited, and learned "
                    "(EvenScorer, LinearScorer)."
                )
        return Alignment(common=CommonTarget(self.entries, self.cuts, bool(guards)))


def _rate_of(gap: str) -> Rate:
    """The rate that a gap is of, by the gap's name."""
    return CATALOGUE[gap.removesuffix("_gap")]


def _pairs_of(n_groups: int) -> Any:
    return np.array([(i, j) for i in range(n_groups) for j in range(i + 1, n_groups)]).reshape(
        -1, 2
    )


def _nothing() -> PointGap:
    return PointGap(0, np.nan, np.nan, np.nan)
