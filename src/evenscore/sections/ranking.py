"""AUCs and the gaps between groups, with their intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenscore.catalogue import CATALOGUE, Notion
from evenscore.constraints import RocConstraint
from evenscore.curves import ReferenceCuts
from evenscore.inference.aucs import auc_estimates
from evenscore.inference.estimate import Estimate, adjust
from evenscore.inference.moments import PlacementMoments
from evenscore.inference.rates import roc_gap_estimates
from evenscore.inference.variance import gap_estimates
from evenscore.labels import label_text
from evenscore.results import DetectableGap, LabelledMatrix, Settings
from evenscore.scores import CLASSES, ClassName, GroupedScores

__all__ = [
    "auc_section",
    "detectable_section",
    "gap_section",
    "largest_gaps",
    "roc_gap_section",
    "worst_pairs",
]

Floats = NDArray[np.float64]
Pairs = list[tuple[int, int]]

ALL_PAIRS = 10  # groups up to which every pair is estimated
WORST_PAIRS = 10  # pairs kept of each gap, if there are more groups
POWER = 0.8


@dataclass(frozen=True, eq=False)
class AucSection:
    """The overall AUC, that within each group, and the matrix."""

    overall: Estimate
    by_group: tuple[Estimate, ...]
    matrix: LabelledMatrix


def auc_section(scores: GroupedScores, moments: PlacementMoments, level: float) -> AucSection:
    """All AUCs between cells with their intervals."""
    overall, table = auc_estimates(scores, confidence_level=level, moments=moments)
    low, high = (np.array([[getattr(e, end) for e in row] for row in table]) for end in _ENDS)
    by_group = []
    for k, group in enumerate(scores.groups):
        name = label_text(group)
        estimate = table[k][scores.n_groups + k]
        share = f"{estimate.value:.1%}"
        told = f"a positive of {name} outranks a negative of {name} in {share} of pairs"
        if np.isnan(estimate.value):
            told = ""
        by_group.append(replace(estimate, name="AUC", first=name, words=told))
    told = f"a positive outranks a negative in {overall.value:.1%} of pairs"
    matrix = moments.matrix
    return AucSection(
        replace(overall, words=told),
        tuple(by_group),
        LabelledMatrix(matrix.cells, matrix.values, low, high, matrix.pair_weights),
    )


_ENDS = ("low", "high")


@dataclass(frozen=True, eq=False)
class GapSection:
    """Estimates of gaps, and what was left out."""

    estimates: tuple[Estimate, ...]
    omitted: tuple[str, ...] = ()


def gap_section(scores: GroupedScores, moments: PlacementMoments, level: float) -> GapSection:
    """Every named gap of every pair of groups; Holm's correction runs over all of them."""
    found: list[Estimate] = []
    n_pairs = len(scores.pairs())
    aucs = np.nan_to_num(moments.matrix.values)
    for notion in CATALOGUE.values():
        values = _statistics(notion, scores, aucs)
        pairs = scores.pairs()
        if scores.n_groups > ALL_PAIRS:
            pairs = worst_pairs(pairs, [abs(values[i, j] - values[j, i]) for i, j in pairs])
        estimates = gap_estimates(
            scores, notion.name, confidence_level=level, moments=moments, pairs=pairs
        )
        for estimate, (i, j) in zip(estimates, pairs, strict=True):
            words = ""
            if not np.isnan(estimate.value):
                sides = float(values[i, j]), float(values[j, i])
                told_apart = estimate.low > 0.0 or estimate.high < 0.0
                words = notion.say_gap(estimate.first, estimate.second, *sides, sure=told_apart)
            found.append(replace(estimate, words=words))
    total = n_pairs * len(CATALOGUE)
    omitted = _left_out("named gap", n_pairs, scores.n_groups)
    return GapSection(_adjusted(found, total), omitted)


def _statistics(notion: Notion, scores: GroupedScores, aucs: Floats) -> Floats:
    """What is compared: the statistic of group i beside group j."""
    n = scores.n_groups
    if notion.compares_others:
        return np.array(
            [[notion.value(scores.cell_weights, aucs, i, j) for j in range(n)] for i in range(n)]
        )
    by_group = [notion.value(scores.cell_weights, aucs, k, k) for k in range(n)]
    return np.repeat(np.array(by_group)[:, None], n, axis=1)


def worst_pairs(pairs: Pairs, sizes: Iterable[float], kept: int = WORST_PAIRS) -> Pairs:
    """The pairs with the largest values, in their own order; NaN comes last."""
    order = np.argsort(-np.nan_to_num(np.fromiter(sizes, dtype=np.float64), nan=-1.0))
    return [pairs[k] for k in sorted(order[:kept].tolist())]


def _adjusted(estimates: list[Estimate], total: int) -> tuple[Estimate, ...]:
    """Holm over `total` gaps: those left out count as if their p-value were one."""
    p_values = [estimate.p_value for estimate in estimates]
    adjusted = adjust([*p_values, *[1.0] * (total - len(estimates))])[: len(estimates)]
    return tuple(
        replace(estimate, adjusted_p_value=p)
        for estimate, p in zip(estimates, adjusted.tolist(), strict=True)
    )


def _left_out(what: str, n_pairs: int, n_groups: int) -> tuple[str, ...]:
    if n_groups <= ALL_PAIRS:
        return ()
    return (
        f"Of each {what}, the {WORST_PAIRS} pairs of groups with the largest gaps are kept and "
        f"{n_pairs - WORST_PAIRS:,} of {n_pairs:,} pairs are left out; p-values are adjusted for "
        "all of them.",
    )


def roc_gap_section(scores: GroupedScores, settings: Settings) -> GapSection:
    """ROC gaps at the rates asked for, by class and pair; Holm's correction over all of them.

    Ties are split: no cut of a coarse score selects the rate asked for, and that is no gap.
    """
    if scores.n_groups < 2:
        return GapSection(())
    pairs = scores.pairs()
    found: list[Estimate] = []
    for on in CLASSES:
        kept = pairs
        if scores.n_groups > ALL_PAIRS:
            kept = worst_pairs(pairs, largest_gaps(scores, on, np.asarray(settings.rates), pairs))
        constraint = RocConstraint(on=on, rates=settings.rates)
        found += roc_gap_estimates(
            scores,
            constraint,
            confidence_level=settings.confidence_level,
            pairs=kept,
            split_ties=True,
            tolerance=settings.tolerance,
        )
    total = len(CLASSES) * len(pairs) * len(settings.rates)
    told = [replace(e, words="" if np.isnan(e.value) else e.words) for e in found]
    omitted = _left_out("ROC gap at a rate", len(pairs), scores.n_groups)
    return GapSection(_adjusted(told, total), omitted)


def largest_gaps(scores: GroupedScores, on: ClassName, rates: Floats, pairs: Pairs) -> list[float]:
    """The largest |gap| at the rates, of each pair, ties split; NaN where somebody is missing."""
    offset = CLASSES.index(on) * scores.n_groups
    cells = scores.cell_distributions[offset : offset + scores.n_groups]
    cuts = {i: ReferenceCuts.at(cells[i], rates) for i in {i for i, _ in pairs} if len(cells[i])}
    return [
        float(np.abs(cuts[i].share_of(cells[j]) - rates).max()) if i in cuts else np.nan
        for i, j in pairs
    ]


def detectable_section(estimates: Iterable[Estimate]) -> tuple[DetectableGap, ...]:
    """The smallest gap that each estimate would have shown; no gap is larger than one."""
    return tuple(
        DetectableGap(
            e.name,
            e.first,
            e.second,
            e.on,
            e.rate,
            float(np.minimum(e.detectable(POWER), 1.0)),  # NaN stays NaN
            POWER,
        )
        for e in estimates
    )
