"""The noun: a family of gaps between groups, one interface for audit, learning and repair.

A family is frozen data that says which gaps there are (`keys`), what they are (`values`: the
definition, ties included, for all three verbs) and how sure an estimate of them is (`estimates`).
What else it can do is declared: a family with a `surrogate` can be learned, one with `targets` can
be repaired, and any other is refused in one sentence that names both sides. To add a family, write
one file with one subclass: nothing else asks which family it has.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import combinations, groupby
from numbers import Real
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from evenscore.gaps.cuts import Cuts
from evenscore.gaps.smooth import SmoothCells, Surrogate
from evenscore.gaps.words import DEFAULT_WORDS, Words
from evenscore.inference.aucs import no_interval, small_cells
from evenscore.inference.bootstrap import BootstrapDistribution, bootstrap
from evenscore.inference.cluster_sizes import is_clustered
from evenscore.inference.decisions import holm
from evenscore.inference.estimate import Estimate, GapKey
from evenscore.inference.estimate import EstimateSettings as EstimateSettings
from evenscore.inference.gap_certificates import GapCertificate, certify_gaps
from evenscore.inference.intervals import Intervals, joined_intervals
from evenscore.inference.paired import Paired, PairedScores, paired_bootstrap
from evenscore.inference.widening import bracketed, bracketed_intervals
from evenscore.scores import ClassName, GroupedScores
from evenscore.scores.arrays import Bools, Floats, Ints
from evenscore.scores.brackets import has_open_bins
from evenscore.scores.labels import label_text
from evenscore.scores.rates import Rate

Pairs = Sequence[tuple[int, int]]

_REDRAWN: WeakKeyDictionary[GroupedScores, dict[Any, BootstrapDistribution]] = WeakKeyDictionary()


class CutForm(NamedTuple):
    """Gaps between two cells at a cut: their positions among the 2K cells, and the rates."""

    first: Ints
    second: Ints
    rates: Floats


@dataclass(frozen=True)
class CutTarget:
    """One cut that a repair is to align: the groups' shares of a class above it should be `rate`.

    `guarded` says whether the rates around are constrained too; `asked` tells what the user asked
    for from guards, which give way.
    """

    on: ClassName
    rate: float
    asked: bool = True
    guarded: bool = True


@dataclass(frozen=True)
class CommonTarget:
    """Cuts of everybody together at which rates of the groups should agree.

    The rates are linear in the shares S_c of a group's two classes that are selected, and all
    of them say how many are. `guarded` says whether the cuts just outside are to be aligned too.
    """

    rates: tuple[Rate, ...]
    cuts: Cuts
    guarded: bool = True

    def mixture(self, totals: Floats) -> Floats:
        """By how much each class of a group counts, (2, K), of weights of the cells, (2, K).

        The mean of the rates, or of one minus those that fall when more are selected, is this
        mixture of the S_c.
        """
        parts = [
            rate.selects * rate.of_shares(np.full(totals.shape, 0.5), totals)[1]
            for rate in self.rates
        ]
        return np.asarray(np.mean(parts, axis=0))


@dataclass(frozen=True)
class Alignment:
    """What one increasing map per group is to do for a family.

    Align `cuts` of the groups' own, or cuts of everybody (`common`), or close the gaps by shifting
    the groups against each other (`by_shifts`); `n_free` is how many gaps of K groups can differ by
    themselves.
    """

    cuts: tuple[CutTarget, ...] = ()
    common: CommonTarget | None = None
    by_shifts: bool = False
    n_free: int = 0


class RatesAtCuts(NamedTuple):
    """Rates that should be equal between groups, and the cuts at which they should."""

    rates: tuple[Rate, ...]
    cuts: Cuts


class GapFamily(ABC):
    """A family of gaps between groups; subclasses are frozen, comparable, picklable data.

    Gaps come in the order of `keys`: whatever else a family varies, then the pairs of groups, then
    the rates. A gap is a number that is zero where two groups are treated alike, NaN where it
    cannot be computed; its sign says which group is better off, `say` in which sense.

    Attributes
    ----------
    name : str
        What messages call it.
    tolerance : float or None
        The gap that a scorer or a repair may leave; None: as the verb's own tolerance says.
    family : str
        The name of the family, "auc" for all gaps between AUCs.
    heading : str
        The title of a table of such gaps.
    """

    name: str
    tolerance: float | None
    family: ClassVar[str]
    heading: ClassVar[str]

    # ------------------------------------------------------------------ which gaps there are

    @abstractmethod
    def keys(self, groups: Sequence[object], pairs: Pairs | None = None) -> tuple[GapKey, ...]:
        """The gaps between some groups (or only between `pairs` of them): labels, no data."""

    @abstractmethod
    def values(self, scores: GroupedScores, pairs: Pairs | None = None) -> Floats:
        """THE definition: the gaps, in the order of `keys`, NaN where a needed cell is empty."""

    def estimates(
        self, scores: GroupedScores, settings: EstimateSettings | None = None
    ) -> list[Estimate]:
        """The gaps with intervals and p-values, which account for `brackets`."""
        return family_estimates(scores, [self], settings)

    @classmethod
    def estimate_many(
        cls,
        families: Sequence["GapFamily"],
        scores: GroupedScores,
        settings: Sequence[EstimateSettings],
    ) -> list[list[Estimate]]:
        """The estimates of several families of this class; unless it knows better, by bootstrap.

        As if the table were exact: `family_estimates` sees to `brackets`. The settings of all
        differ in their pairs at most. A class that shares work between its families does so here.
        """
        return [
            family._estimated(scores, asked)
            for family, asked in zip(families, settings, strict=True)
        ]

    def intervals(self, scores: GroupedScores, settings: EstimateSettings) -> Intervals:
        """Intervals of the gaps, in the order of `keys`, at any level; by default bootstrapped.

        As if the table were exact: `family_intervals` sees to `brackets`.
        """
        return self._redrawn(scores, settings).ends

    @classmethod
    def intervals_of_many(
        cls,
        families: Sequence["GapFamily"],
        scores: GroupedScores,
        settings: Sequence[EstimateSettings],
    ) -> Intervals:
        """The intervals of several families of this class, one after the other.

        They are asked for again and again, to find a level: a class whose families can answer
        together does so here.
        """
        return joined_intervals(
            [
                (family.intervals(scores, asked), len(family.keys(scores.groups, asked.pairs)))
                for family, asked in zip(families, settings, strict=True)
            ]
        )

    def brackets(self, scores: GroupedScores, pairs: Pairs | None = None) -> Floats:
        """By how much the size of each gap may be off, in the order of `keys`, if scores are bins.

        Of a gap that is the largest of several, another one of these may be as large. A family that
        does not know says NaN, and then has no intervals; it is not asked about exact tables.
        """
        return np.full(len(self.keys(scores.groups, pairs)), np.nan)

    def _estimated(self, scores: GroupedScores, settings: EstimateSettings) -> list[Estimate]:
        """The estimates of this family alone."""
        keys, values = self.keys(scores.groups, settings.pairs), self.values(scores, settings.pairs)
        blank = [
            Estimate.of_key(key, float(value), method="bootstrap", family=self.family)
            for key, value in zip(keys, values, strict=True)
        ]
        replicates = self._redrawn(scores, settings)
        estimates = replicates.intervals(settings.confidence_level, estimates=blank)
        if is_clustered(scores):
            used = map(np.flatnonzero, self._cells_of(scores.n_groups, settings.pairs))
            for k, cells in enumerate(some.tolist() for some in used):
                reason = "" if np.isnan(estimates[k].value) else no_interval(cells, scores)
                told = (*estimates[k].warnings, *small_cells(cells, scores))
                estimates[k] = replace(estimates[k], warnings=(reason,) if reason else told)
        return holm(self._with_reasons(estimates, scores, settings.pairs))

    def _redrawn(self, scores: GroupedScores, settings: EstimateSettings) -> BootstrapDistribution:
        """Replicates of the gaps, kept as long as the table is, for intervals of any level."""
        known = _REDRAWN.setdefault(scores, {})
        key = self, replace(settings, confidence_level=0.95)
        if key not in known:
            found = bootstrap(
                scores,
                lambda table: self.values(table, settings.pairs),
                n_resamples=settings.n_resamples,
                sampling=settings.sampling,
                random_state=settings.random_state,
            )
            if is_clustered(scores):
                sizes = scores.independent_sizes.reshape(-1)
                used = self._cells_of(scores.n_groups, settings.pairs)
                clusters = np.where(used, sizes, np.inf).min(axis=1, initial=np.inf)
                found = replace(found, clusters=clusters)
            known[key] = found
        return known[key]

    def certify(
        self,
        scores: GroupedScores,
        *,
        tolerance: float,
        confidence_level: float = 0.95,
        random_state: int = 0,
        foresee: bool = True,
    ) -> GapCertificate:
        """Whether all gaps of all pairs of groups are at most a tolerance, as one statement.

        The family's own tolerance comes first. The score must not have been learned from these
        people. By default two one-sided tests of every gap, by its own `intervals`. With `foresee`
        it is also said how many people would decide, where these do not.
        """
        settings = EstimateSettings(confidence_level, random_state=random_state)
        keys, values = self.keys(scores.groups), self.values(scores)
        used = self.cells(scores.n_groups).any(axis=0)
        counts = np.where(used, scores.cell_counts.reshape(-1), np.inf)
        cell = int(np.argmin(counts)) if used.any() else 0
        return certify_gaps(
            values,
            [key.title for key in keys],
            family_intervals(scores, [self], settings),
            constraint=self.name,
            tolerance=tolerance if self.tolerance is None else self.tolerance,
            confidence_level=confidence_level,
            reasons=self.reasons(scores, values, None),
            smallest=(scores.cell_name(cell), round(float(scores.cell_counts.reshape(-1)[cell]))),
            worth=float(scores.independent_sizes.reshape(-1)[used].min(initial=np.inf)),
            foresee=foresee,
        )

    def paired(self, pair: PairedScores, settings: EstimateSettings) -> list[Paired]:
        """The gaps of one score minus (and plus) those of another score of the same people."""
        keys = self.keys(pair.groups)
        return paired_bootstrap(pair, self.values, keys, self.family, settings)

    def reaches(self, scores: GroupedScores, settings: EstimateSettings) -> Floats:
        """The smallest tolerance within which all gaps are, in each of many samples like a table.

        How many people a certificate takes is told by them; a family without them says why not.
        """
        raise ValueError(
            f"{self.name} cannot be planned: how its gaps vary between samples is found by drawing "
            "people again, and there are none yet. It can be audited."
        )

    # ------------------------------------------------------------------ in words

    def say(self, estimate: Estimate, words: Words = DEFAULT_WORDS) -> str:
        """A gap in the user's words; no direction is claimed that the interval does not show."""
        groups = f"{estimate.first} and {estimate.second}"
        return f"{estimate.kind} is {estimate.value:+.3f} between {groups}"

    def meaning(self, key: GapKey, words: Words = DEFAULT_WORDS) -> str:
        """What such a gap compares, in one sentence."""
        return f"{key.kind}: zero if the groups are alike."

    def title(self, key: GapKey, words: Words = DEFAULT_WORDS) -> str:
        """A plain name of such a gap, beside which its code is a small label."""
        return key.kind

    def ranks_higher(self, estimate: Estimate) -> tuple[str, str] | None:
        """Which of the two groups ranks higher and which lower; None if a gap favours neither."""
        return None

    # ------------------------------------------------------------------ in an audit

    @property
    def rates_at_cuts(self) -> RatesAtCuts | None:
        """Which rates should be equal at which cuts, if that is what the gaps are."""
        return None

    @property
    def curve_rates(self) -> dict[ClassName, tuple[float, ...]]:
        """By class, where on the curves of ROC gaps these gaps lie; nothing if on none."""
        return {}

    @property
    def needs_outcomes(self) -> bool:
        """Whether positives have to be known from negatives."""
        return True

    # ------------------------------------------------------------------ which people it needs

    def cells(self, n_groups: int) -> Bools:
        """Which of the 2K cells each gap looks at, (gaps, 2K); by default all of its two groups."""
        compared = self.compared(n_groups)
        used = np.zeros((len(compared), 2 * n_groups), dtype=bool)
        for k, pair in enumerate(compared.tolist()):
            used[k, [*pair, *(n_groups + group for group in pair)]] = True
        return used

    def compared(self, n_groups: int) -> Ints:
        """The positions of the two groups that each gap compares, (gaps, 2)."""
        keys = self.keys(range(n_groups))
        return np.array([(int(key.first), int(key.second)) for key in keys]).reshape(-1, 2)

    def _cells_of(self, n_groups: int, pairs: Pairs | None) -> Bools:
        """Which cells each gap between some pairs looks at, in the order of `keys`."""
        if pairs is None:
            return self.cells(n_groups)
        return self.cells(n_groups)[self._places(n_groups, pairs)]

    def _places(self, n_groups: int, pairs: Pairs | None) -> list[int]:
        """Where the gaps between some pairs are among those of all."""
        positions = range(n_groups)
        places = {
            (key.kind, frozenset((key.first, key.second))): place
            for place, key in enumerate(self.keys(positions))
        }
        return [
            places[key.kind, frozenset((key.first, key.second))]
            for key in self.keys(positions, pairs)
        ]

    def needs(self, n_groups: int) -> Bools:
        """The cells without which a gap cannot be computed, (gaps, 2K): all that it looks at."""
        return self.cells(n_groups)

    def reasons(self, scores: GroupedScores, values: Floats, pairs: Pairs | None) -> list[str]:
        """Why a gap is NaN: the cells that are empty; nothing where there is a value."""
        missing = np.flatnonzero(np.isnan(values))
        texts = [""] * len(values)
        if not len(missing):
            return texts
        empty = scores.cell_weights.reshape(-1) == 0.0
        keys = self.keys(range(scores.n_groups), pairs)
        places = self._places(scores.n_groups, pairs)
        needs = self.needs(scores.n_groups)
        for k in missing.tolist():
            key = keys[k]
            needed = needs[places[k]]
            cells = np.flatnonzero(needed & empty)
            cells = cells if len(cells) else np.flatnonzero(empty)
            names = " and no ".join(scores.cell_name(int(cell)) for cell in cells)
            why = f"is undefined: there are no {names}" if names else "has no value on these data"
            texts[k] = f"{key.name} {why}"
        return texts

    def _with_reasons(
        self, estimates: Iterable[Estimate], scores: GroupedScores, pairs: Pairs | None
    ) -> list[Estimate]:
        """Estimates with the reason where there is no value, and words where there is one."""
        estimates = list(estimates)
        values = np.array([estimate.value for estimate in estimates], dtype=np.float64)
        return [
            replace(estimate, warnings=(reason,))
            if reason
            else replace(estimate, words=self.say(estimate))
            for estimate, reason in zip(estimates, self.reasons(scores, values, pairs), strict=True)
        ]

    # ------------------------------------------------------------------ learning

    def surrogate(self, cells: SmoothCells) -> Surrogate:
        """Smooth gaps, in the order of `keys`, and their slopes: what makes a family learnable."""
        raise TypeError(
            f"{self.name} cannot be learned: it has no surrogate, and scorers need one. It can be "
            "audited."
        )

    def linear_form(self, cell_weights: Floats) -> Floats | None:
        """Coefficients over the AUC matrix, (gaps, 2K, 2K), if the gaps are linear in AUCs."""
        return None

    def cut_form(self, n_groups: int) -> CutForm | None:
        """Cells that should have a common share above a cut, if that is what the gaps are."""
        return None

    @property
    def learnable(self) -> bool:
        """Whether scorers can close these gaps."""
        return type(self).surrogate is not GapFamily.surrogate

    def trained(self) -> "GapFamily":
        """The gaps that get a multiplier each, where they are more than those reported.

        They come in the order of those reported, so many for each.
        """
        return self

    def guards(self) -> "GapFamily | None":
        """Gaps around those asked for, constrained so that these do not return on new data."""
        return None

    def narrowed(self, key: GapKey) -> "GapFamily":
        """The same family, asking for one kind of gap alone."""
        return self

    def noise(self, sizes: Floats) -> Floats:
        """Standard errors of the gaps were the groups alike; `sizes`, (2K,), are those of cells.

        By default those of a difference of two AUCs of an uninformative score, between samples as
        large as the classes of the groups.
        """
        n_groups = len(sizes) // 2
        inverse = 1.0 / np.where(sizes > 0.0, sizes, np.nan)
        by_group = inverse[:n_groups] + inverse[n_groups:]
        return np.asarray(np.sqrt(by_group[self.compared(n_groups)].sum(axis=1) / 12.0))

    # ------------------------------------------------------------------ repair

    def targets(self, n_groups: int, *, guards: bool = True) -> Alignment:
        """What a repair should align; a family that cannot be repaired says why not."""
        raise ValueError(
            f"{self.name} cannot be repaired: nothing is known of how one increasing map per group "
            "would change it. It can be audited."
        )


def labels_of_pairs(groups: Sequence[object], pairs: Pairs | None = None) -> list[tuple[str, str]]:
    """The names of the groups of every pair, or of the pairs of positions given."""
    names = [label_text(group) for group in groups]
    compared = combinations(range(len(names)), 2) if pairs is None else pairs
    return [(names[i], names[j]) for i, j in compared]


def check_tolerance(tolerance: float | None) -> None:
    """Refuse a tolerance that is not a gap."""
    if tolerance is None:
        return
    if not isinstance(tolerance, Real) or not 0.0 <= tolerance < 1.0:
        raise ValueError(f"tolerance must be at least 0 and below 1, not {tolerance!r}.")


def family_estimates(
    scores: GroupedScores,
    families: Sequence[GapFamily],
    settings: EstimateSettings | Sequence[EstimateSettings] | None = None,
) -> list[Estimate]:
    """The estimates of several families, in their order; settings for all, or one for each.

    Those of one class that follow each other are made together.
    """
    if settings is None or isinstance(settings, EstimateSettings):
        settings = [settings or EstimateSettings()] * len(families)
    estimates: list[Estimate] = []
    for kind, members, theirs in _alike(families, settings):
        found = kind.estimate_many(members, scores, theirs)
        if has_open_bins(scores):
            found = [
                _bracketed(family, own, scores, how)
                for family, own, how in zip(members, found, theirs, strict=True)
            ]
        for own in found:
            estimates += own
    return estimates


def _alike(
    families: Sequence[GapFamily], settings: Sequence[EstimateSettings]
) -> Iterator[tuple[type[GapFamily], Sequence[GapFamily], Sequence[EstimateSettings]]]:
    """Families of one class that follow each other, and whose settings differ in pairs at most."""
    for (kind, _), some in groupby(
        zip(families, settings, strict=True),
        key=lambda pair: (type(pair[0]), replace(pair[1], pairs=None)),
    ):
        members, theirs = zip(*some, strict=True)
        yield kind, members, theirs


def _bracketed(
    family: GapFamily, estimates: list[Estimate], scores: GroupedScores, settings: EstimateSettings
) -> list[Estimate]:
    """The estimates of a family with intervals that know of the bins; words follow intervals."""
    found = bracketed(
        estimates,
        family.brackets(scores, settings.pairs),
        family.intervals(scores, settings),
    )
    return holm(
        [
            replace(estimate, words=family.say(estimate)) if estimate.words else estimate
            for estimate in found
        ]
    )


def family_intervals(
    scores: GroupedScores,
    families: Sequence[GapFamily],
    settings: EstimateSettings | Sequence[EstimateSettings] | None = None,
) -> Intervals:
    """The intervals of all these gaps, in the order of `family_estimates`, at any level."""
    if settings is None or isinstance(settings, EstimateSettings):
        settings = [settings or EstimateSettings()] * len(families)
    parts = []
    for kind, members, theirs in _alike(families, settings):
        own = kind.intervals_of_many(members, scores, theirs)
        asked = list(zip(members, theirs, strict=True))
        if has_open_bins(scores):
            brackets = [family.brackets(scores, how.pairs) for family, how in asked]
            own = bracketed_intervals(own, np.concatenate(brackets))
        n_gaps = sum(len(family.keys(scores.groups, how.pairs)) for family, how in asked)
        parts.append((own, n_gaps))
    return joined_intervals(parts)


def family_values(scores: GroupedScores, families: Sequence[GapFamily]) -> Floats:
    """The gaps of several families, in their order."""
    return np.concatenate([np.zeros(0), *(family.values(scores) for family in families)])


def largest(values: Floats) -> float:
    """The gap of largest magnitude; one that could not be computed counts as the worst of all.

    >>> largest(np.array([0.1, -0.2])), largest(np.array([0.1, np.nan]))
    (-0.2, nan)
    """
    if not len(values):
        raise ValueError("There is no gap to choose from: a gap needs at least two groups.")
    sizes = np.where(np.isnan(values), np.inf, np.abs(values))
    return float(values[int(np.argmax(sizes))])


def with_tolerance(family: GapFamily, tolerance: float) -> GapFamily:
    """The same family with another tolerance.

    >>> from evenscore.gaps import RateConstraint
    >>> with_tolerance(RateConstraint("fnr"), 0.1).tolerance
    0.1
    """
    check_tolerance(tolerance)
    other = copy(family)
    object.__setattr__(other, "tolerance", tolerance)  # it is frozen
    return other
