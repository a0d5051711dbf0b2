"""ROC curves by group, and the curves of ROC gaps with bands."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np

from evenscore.auditing.blocks.base import AuditInput, Block, register
from evenscore.auditing.gaps import worst_pairs
from evenscore.auditing.groups import Pair
from evenscore.auditing.parts import GapCurve, Settings
from evenscore.inference.bands import bracketed, roc_band
from evenscore.scores import CLASSES, ClassName, GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.scores.aucs import inter_group_curve
from evenscore.scores.curve import ReferenceCuts, RocCurve
from evenscore.scores.thinning import Outline, outline

CURVES = 6  # pairs whose curves of ROC gaps are kept, of each class: more cannot be read
LARGE_CELL = 20_000  # from here on DKW's band is narrow enough to spare the bootstrap
MANY_ROWS = 200_000  # of clusters: to redraw more takes seconds


@register
@final
@dataclass(frozen=True, eq=False)
class Curves(Block):
    """ROC curves by group; where ROC gaps are asked for, their curves too.

    They are those of the classes asked for; of many pairs of groups, of the worst ones.
    """

    roc_gaps: tuple[GapCurve, ...]
    roc_curves: tuple[Outline, ...]
    omitted: tuple[str, ...] = ()

    name: ClassVar[str] = "curves"
    title: ClassVar[str] = "ROC curves"
    meaning: ClassVar[str] = (
        "How well the score ranks within each group at every cut. Curves that lie close "
        "together do not mean that the groups are selected equally often."
    )

    @classmethod
    def compute(cls, audit: AuditInput) -> Self:
        """Bands from the table itself, suprema and means over all rates from the coarse one."""
        scores, coarse = audit.scores, audit.coarse
        n_pairs = audit.groups.n_pairs
        marks = curve_marks(audit)
        rates = np.linspace(0.0, 1.0, 51 if n_pairs > 1 else 101)
        gaps = []
        omitted: tuple[str, ...] = ()
        if n_pairs > CURVES and marks:
            omitted = (
                f"Curves of ROC gaps are kept for the {CURVES} pairs of groups with the largest "
                f"gaps in each class, those of main groups first; {n_pairs - CURVES:,} of "
                f"{n_pairs:,} pairs are left out.",
            )
        pairs = [
            (table.table, rough.table, pair, pair in table.main)
            for table, rough in zip(audit.compared, audit.coarse_compared, strict=True)
            for pair in table.pairs
        ]
        for on, asked in marks.items():
            kept = list(range(n_pairs))
            if n_pairs > CURVES:
                sizes = [
                    size
                    for table in audit.compared
                    for size in _largest_gaps(table.table, table.pairs, on, rates)
                ]
                kept = worst_pairs(sizes, [main for *_, main in pairs], CURVES)
            gaps += [
                _gap_curve(table, rough, on, pair, rates, asked, audit.settings)
                for table, rough, pair, _ in (pairs[k] for k in kept)
            ]
        if any(curve.simultaneous_method == "dkw" for curve in gaps):
            omitted = (
                *omitted,
                f"Bands around curves of ROC gaps of cells worth {LARGE_CELL:,} observations or "
                "more are those of the DKW inequality: the bootstrap is left out.",
            )
        points = max(40, min(200, 400 // scores.n_groups))
        pooled = RocCurve(coarse.pooled("negatives"), coarse.pooled("positives"))
        cells = scores.cell_distributions
        curves = [outline(pooled, "everyone", points)]
        for k, name in enumerate(scores.names):
            curve = RocCurve(cells[k], cells[scores.n_groups + k])
            curves.append(outline(curve, name, points))
        return cls(tuple(gaps), tuple(curves), omitted)


def curve_marks(audit: AuditInput) -> dict[ClassName, Floats]:
    """The classes whose ROC gaps were asked for, each with the rates, in order."""
    known: dict[ClassName, dict[float, None]] = {}
    for family in audit.families:
        for on, rates in family.curve_rates.items():
            known.setdefault(on, {}).update(dict.fromkeys(rates))
    return {on: np.array(list(known[on])) for on in CLASSES if on in known}


def _largest_gaps(
    scores: GroupedScores, pairs: Sequence[Pair], on: ClassName, rates: Floats
) -> list[float]:
    """The largest |gap| at the rates, of each pair, ties split; NaN where somebody is missing."""
    cells = scores.of_class(on)
    cuts = {k: ReferenceCuts.at(cells[k], rates) for k in range(len(cells)) if len(cells[k])}
    return [
        float(np.abs(cuts[i].share_of(cells[j]) - rates).max()) if i in cuts else np.nan
        for i, j in pairs
    ]


def _gap_curve(
    scores: GroupedScores,
    coarse: GroupedScores,
    on: ClassName,
    pair: tuple[int, int],
    rates: Floats,
    asked: Floats,
    settings: Settings,
) -> GapCurve:
    curve = inter_group_curve(scores, on, *pair).with_ties_split()
    first, second = (scores.names[k] for k in pair)
    level = settings.confidence_level
    size = min(curve.reference.effective_size, curve.target.effective_size)
    apart = min(curve.reference.independent_size, curve.target.independent_size)
    # Clusters are worth redrawing even in large cells, as long as that is affordable.
    large, reason = apart >= LARGE_CELL or size >= MANY_ROWS, ""
    if size == 0.0:
        cells = {scores.cell_name(CLASSES.index(on) * scores.n_groups + k) for k in pair}
        empty = [name for name in scores.empty_cells() if name in cells]
        reason = f"there are no {' and no '.join(empty)}"
    point, joint = (
        bracketed(band, curve, scores).gap()
        for band in (
            roc_band(curve, rates, kind="pointwise", confidence_level=level),
            roc_band(
                curve,
                rates,
                kind="dkw" if large else "simultaneous",
                confidence_level=level,
                n_resamples=400 if len(rates) > 51 else 300,
                random_state=settings.random_state,
            ),
        )
    )
    bands = point.value, point.low, point.high, joint.low, joint.high
    marks = roc_band(curve, asked, kind="pointwise", confidence_level=level)
    marks = bracketed(marks, curve, scores).gap()
    whole = inter_group_curve(coarse, on, *pair).with_ties_split().gap()
    return GapCurve(
        on,
        first,
        second,
        rates,
        *bands,
        "none" if reason else "dkw" if large else "bootstrap",
        level,
        *whole.supremum,
        whole.mean_absolute,
        np.stack([asked, marks.value, marks.low, marks.high], axis=1),
        reason,
        () if reason else tuple(dict.fromkeys((*point.warnings, *joint.warnings))),
    )
