"""The gaps of an audit: one list, whatever their families, with one decision for all."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from evenscore.auditing.groups import ComparedTable, Pair
from evenscore.auditing.parts import FamilyRecord, GapKind, Settings
from evenscore.gaps import (
    AucConstraint,
    ConstraintLike,
    Cuts,
    GapFamily,
    RateConstraint,
    as_constraints,
)
from evenscore.gaps.catalogue import constraint_names
from evenscore.gaps.cuts import DEFAULT_CUTS, check_cuts
from evenscore.gaps.family import EstimateSettings, family_estimates, family_intervals
from evenscore.inference.decisions import decide
from evenscore.inference.estimate import Estimate, GapKey
from evenscore.inference.intervals import Intervals, joined_intervals
from evenscore.scores.arrays import Floats

ALL_PAIRS = 45  # pairs, those of ten groups, up to which every one is estimated
WORST_PAIRS = 10  # pairs kept of each family, if there are more


@dataclass(frozen=True, eq=False)
class AuditedGaps:
    """The estimates with their verdicts, the families they are of, and what was left out.

    `total` is how many gaps they were corrected for, those of other audits beside it included.
    """

    gaps: tuple[Estimate, ...]
    families: tuple[FamilyRecord, ...]
    higher: dict[GapKey, tuple[str, str]]  # who ranks higher by a gap, and who lower
    omitted: tuple[str, ...]
    total: int


def families_of(
    constraints: ConstraintLike | None, cuts: Cuts | None, *, outcomes_known: bool
) -> list[GapFamily]:
    """The families to audit: by default the rates at the cuts in use, then the AUC notions."""
    if constraints is None:
        rates = rates_in_use(cuts or DEFAULT_CUTS, outcomes_known=outcomes_known)
        names = constraint_names() if outcomes_known else ()
        return [rates, *(AucConstraint.named(name) for name in names)]
    families = as_constraints(constraints)
    if not families:
        raise ValueError("There is nothing to audit: constraints is empty.")
    needy = [family.name for family in families if family.needs_outcomes]
    if needy and not outcomes_known:
        raise ValueError(
            f"{needy[0]} needs outcomes, and there are none: without them only the selection of "
            "everyone can be audited."
        )
    return families


def rates_in_use(cuts: Cuts, *, outcomes_known: bool) -> GapFamily:
    """What is compared at the cuts in use by default: both errors; without outcomes, selection."""
    return RateConstraint(*(("fpr", "fnr") if outcomes_known else ("selection",)), cuts=cuts)


def cuts_of(cuts: Cuts | None, families: Sequence[GapFamily], *, outcomes_known: bool) -> Cuts:
    """The cuts in use: those given, or else the first that a constraint is about."""
    known = [family.rates_at_cuts.cuts for family in families if family.rates_at_cuts is not None]
    chosen = check_cuts(cuts) if cuts is not None else (known or [DEFAULT_CUTS])[0]
    if any(other.selected != chosen.selected for other in known):
        raise ValueError(
            f"The cuts in use select {chosen.selected} scores, and a constraint is about cuts that "
            "do not: say the same of both."
        )
    if not outcomes_known and chosen.of != "everyone":
        raise ValueError(
            f"Cuts as shares of {chosen.of} need outcomes, and there are none: say which shares of "
            "everyone will be selected, or at which thresholds."
        )
    return chosen


def audited_gaps(
    parts: Sequence[Sequence[ComparedTable]], families: Sequence[GapFamily], settings: Settings
) -> list[AuditedGaps]:
    """Every gap of every pair that is compared, or of the worst pairs if there are many.

    Each part is what one audit compares: those of several columns of groups are decided together,
    so that the confidence is that of all they say.
    """
    estimated = [_estimated(compared, families, settings) for compared in parts]
    total = sum(record.n_gaps for part in estimated for record in part.records)
    decided = iter(
        decide(
            [estimate for part in estimated for estimate in part.estimates],
            settings.tolerance,
            settings.confidence_level,
            intervals=joined_intervals(
                [(part.intervals, len(part.estimates)) for part in estimated]
            ),
            total=total,
        )
    )
    return [
        AuditedGaps(
            tuple(islice(decided, len(part.estimates))),
            tuple(part.records),
            part.higher,
            part.omitted,
            total,
        )
        for part in estimated
    ]


@dataclass(frozen=True, eq=False)
class _Estimated:
    """The gaps of one audit before anything is decided about them."""

    records: list[FamilyRecord]
    estimates: list[Estimate]
    intervals: Intervals
    higher: dict[GapKey, tuple[str, str]]
    omitted: tuple[str, ...]


def _estimated(
    compared: Sequence[ComparedTable], families: Sequence[GapFamily], settings: Settings
) -> _Estimated:
    n_pairs = sum(len(table.pairs) for table in compared)
    families = families if n_pairs else ()
    records: list[FamilyRecord] = []
    known: set[GapKey] = set()
    for family in families:
        keys = [key for table, pairs, _ in compared for key in family.keys(table.groups, pairs)]
        twice = known & set(keys)
        if twice:
            name = min(key.kind for key in twice)
            raise ValueError(
                f"Two constraints ask for a gap of one name, {name}: leave one of them out, or "
                "give it a name of its own."
            )
        known |= set(keys)
        kinds = {key.kind: key for key in keys}
        described = tuple(
            GapKind(kind, family.meaning(key, settings.words), family.title(key, settings.words))
            for kind, key in kinds.items()
        )
        records.append(
            FamilyRecord(family.name, family.family, family.heading, described, len(keys))
        )
    by_family: list[list[Estimate]] = [[] for _ in families]
    intervals: list[tuple[Intervals, int]] = []
    place: list[int] = []  # the number of the family of each gap, table by table
    higher: dict[GapKey, tuple[str, str]] = {}
    for table in compared if families else ():
        asked = [
            EstimateSettings(
                settings.confidence_level,
                pairs=_kept(table, family),
                random_state=settings.random_state,
            )
            for family in families
        ]
        found = iter(family_estimates(table.table, families, asked))
        before = len(place)
        for number, (family, how, estimates) in enumerate(
            zip(families, asked, by_family, strict=True)
        ):
            for _ in family.keys(table.table.groups, how.pairs):
                place.append(number)
                estimate = next(found)
                if estimate.words:
                    estimate = replace(estimate, words=family.say(estimate, settings.words))
                ranked = family.ranks_higher(estimate)
                if ranked is not None:
                    higher[estimate.key] = ranked
                estimates.append(estimate)
        intervals.append((family_intervals(table.table, families, asked), len(place) - before))
    estimates = [estimate for some in by_family for estimate in some]
    omitted: tuple[str, ...] = ()
    if len(estimates) < sum(record.n_gaps for record in records):
        omitted = (
            f"Of each kind of gap, the {WORST_PAIRS} pairs of groups with the largest gaps are "
            f"kept, those of main groups first, and {n_pairs - WORST_PAIRS:,} of {n_pairs:,} pairs "
            "are left out; verdicts and p-values are corrected for all of them.",
        )
    by_table = joined_intervals(intervals)
    order = np.argsort(np.array(place, dtype=np.intp), kind="stable")

    def ends(z: Floats) -> tuple[Floats, Floats]:
        """Family by family, as the estimates are."""
        there = np.empty(len(order))
        there[order] = z
        low, high = by_table(there)
        return low[order], high[order]

    return _Estimated(records, estimates, ends, higher, omitted)


def _kept(compared: ComparedTable, family: GapFamily) -> tuple[Pair, ...] | None:
    """The pairs of groups to estimate; None for all of the table."""
    table, pairs, main = compared
    if len(pairs) <= ALL_PAIRS:
        return compared.asked
    sizes = dict.fromkeys(table.pairs(), -1.0)
    places = family.compared(table.n_groups).tolist()
    for pair, value in zip(map(sorted, places), family.values(table).tolist(), strict=True):
        i, j = pair
        sizes[i, j] = max(sizes[i, j], float(np.nan_to_num(abs(value), nan=-1.0)))
    first = [pair in main for pair in pairs]
    return tuple(pairs[k] for k in worst_pairs([sizes[pair] for pair in pairs], first))


def worst_pairs(
    sizes: Sequence[float], first: Sequence[bool], kept: int = WORST_PAIRS
) -> list[int]:
    """Positions of the pairs to keep, in order: those that come first, then the largest values.

    NaN comes last.

    >>> worst_pairs([0.3, 0.1, 0.2], [False, True, False], 2)
    [0, 1]
    """
    values = np.nan_to_num(np.asarray(sizes, dtype=np.float64), nan=-1.0)
    order = np.lexsort((-values, ~np.asarray(first, dtype=bool)))
    return sorted(order[:kept].tolist())
