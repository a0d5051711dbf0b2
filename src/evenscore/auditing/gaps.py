"""The gaps of an audit: one list, whatever their families, with one decision for all."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenscore.auditing.parts import FamilyRecord, GapKind, Settings
from evenscore.gaps import AucConstraint, ConstraintLike, GapFamily, RocConstraint, as_constraints
from evenscore.gaps.catalogue import constraint_names
from evenscore.gaps.family import EstimateSettings, family_estimates, family_intervals
from evenscore.inference.decisions import decide
from evenscore.inference.estimate import Estimate, GapKey
from evenscore.scores import CLASSES, GroupedScores

Pairs = list[tuple[int, int]]

ALL_PAIRS = 10  # groups up to which every pair is estimated
WORST_PAIRS = 10  # pairs kept of each family, if there are more groups


@dataclass(frozen=True, eq=False)
class AuditedGaps:
    """The estimates with their verdicts, the families they are of, and what was left out."""

    gaps: tuple[Estimate, ...]
    families: tuple[FamilyRecord, ...]
    higher: dict[GapKey, tuple[str, str]]  # who ranks higher by a gap, and who lower
    omitted: tuple[str, ...]


def families_of(constraints: ConstraintLike | None, rates: Sequence[float]) -> list[GapFamily]:
    """The families to audit: by default the named AUC notions, and ROC gaps at the rates."""
    if constraints is not None:
        families = as_constraints(constraints)
        if not families:
            raise ValueError("There is nothing to audit: constraints is empty.")
        return families
    by_class = [RocConstraint(on=on, rates=tuple(rates)) for on in CLASSES]
    return [*(AucConstraint.named(name) for name in constraint_names()), *by_class]


def audited_gaps(
    scores: GroupedScores, families: Sequence[GapFamily], settings: Settings
) -> AuditedGaps:
    """Every gap of every pair of groups, or of the worst pairs if there are many groups."""
    pairs = scores.pairs()
    families = families if pairs else ()
    records, asked = [], []
    known: set[GapKey] = set()
    for family in families:
        keys = family.keys(scores.groups)
        twice = known & set(keys)
        if twice:
            name = min(key.kind for key in twice)
            raise ValueError(
                f"Two constraints ask for a gap of one name, {name}: leave one of them out, or "
                "give it a name of its own."
            )
        known |= set(keys)
        kinds = {key.kind: family.meaning(key, settings.words) for key in keys}
        described = tuple(GapKind(label, meaning) for label, meaning in kinds.items())
        records.append(
            FamilyRecord(family.name, family.family, family.heading, described, len(keys))
        )
        asked.append(
            EstimateSettings(
                settings.confidence_level,
                pairs=_kept(scores, family, pairs),
                random_state=settings.random_state,
            )
        )
    estimates: list[Estimate] = []
    higher: dict[GapKey, tuple[str, str]] = {}
    found = iter(family_estimates(scores, families, asked))
    for family, how in zip(families, asked, strict=True):
        for _ in family.keys(scores.groups, how.pairs):
            estimate = next(found)
            if estimate.words:
                estimate = replace(estimate, words=family.say(estimate, settings.words))
            ranked = family.ranks_higher(estimate)
            if ranked is not None:
                higher[estimate.key] = ranked
            estimates.append(estimate)
    total = sum(record.n_gaps for record in records)
    decided = decide(
        estimates,
        settings.tolerance,
        settings.confidence_level,
        intervals=family_intervals(scores, families, asked) if estimates else None,
        total=total,
    )
    omitted: tuple[str, ...] = ()
    if len(estimates) < total:
        omitted = (
            f"Of each kind of gap, the {WORST_PAIRS} pairs of groups with the largest gaps are "
            f"kept and {len(pairs) - WORST_PAIRS:,} of {len(pairs):,} pairs are left out; verdicts "
            "and p-values are corrected for all of them.",
        )
    return AuditedGaps(tuple(decided), tuple(records), higher, omitted)


def _kept(
    scores: GroupedScores, family: GapFamily, pairs: Pairs
) -> tuple[tuple[int, int], ...] | None:
    """The pairs of groups to estimate; None for all of them."""
    if scores.n_groups <= ALL_PAIRS:
        return None
    sizes = dict.fromkeys(pairs, -1.0)
    compared = family.compared(scores.n_groups).tolist()
    for pair, value in zip(map(sorted, compared), family.values(scores).tolist(), strict=True):
        i, j = pair
        sizes[i, j] = max(sizes[i, j], float(np.nan_to_num(abs(value), nan=-1.0)))
    return tuple(worst_pairs(pairs, (sizes[pair] for pair in pairs)))


def worst_pairs(pairs: Pairs, sizes: Iterable[float], kept: int = WORST_PAIRS) -> Pairs:
    """The pairs with the largest values, in their own order; NaN comes last."""
    order = np.argsort(-np.nan_to_num(np.fromiter(sizes, dtype=np.float64), nan=-1.0))
    return [pairs[k] for k in sorted(order[:kept].tolist())]
