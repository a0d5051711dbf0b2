"""ROC curves, the curves of ROC gaps with bands, and what can be certified of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenscore.curves import RocCurve
from evenscore.inference.bands import roc_band
from evenscore.inference.certificates import certify
from evenscore.labels import label_text
from evenscore.measures import inter_group_curve
from evenscore.outlines import Outline, outline
from evenscore.results import ClassCertificate, GapCurve, Settings
from evenscore.scores import CLASSES, ClassName, GroupedScores
from evenscore.sections.ranking import largest_gaps, worst_pairs

__all__ = ["certificate_section", "roc_section"]

Floats = NDArray[np.float64]

CURVES = 6  # pairs whose curves of ROC gaps are kept, of each class
BOOTSTRAPPED = 3  # groups up to which certificates are made by the bootstrap as well
LARGE_CELL = 20_000  # from here on DKW's band is narrow enough to spare the bootstrap


@dataclass(frozen=True, eq=False)
class RocSection:
    """Curves: ROC gaps with bands, ROC curves by group."""

    gaps: tuple[GapCurve, ...]
    by_group: tuple[Outline, ...]
    omitted: tuple[str, ...] = ()


def roc_section(scores: GroupedScores, coarse: GroupedScores, settings: Settings) -> RocSection:
    """The curves of the ROC gaps (of the worst pairs, if there are many) and ROC by group.

    `coarse` is the same table, or has fewer levels; suprema and means over all rates come from it.
    """
    many = scores.n_groups > 2
    rates = np.linspace(0.0, 1.0, 51 if many else 101)
    gaps = []
    omitted: tuple[str, ...] = ()
    pairs = scores.pairs()
    points = max(40, min(200, 400 // scores.n_groups))
    for on in CLASSES:
        kept = pairs
        if len(pairs) > CURVES:
            kept = worst_pairs(pairs, largest_gaps(scores, on, rates, pairs), CURVES)
            omitted = (
                f"Curves of ROC gaps are kept for the {CURVES} pairs of groups with the largest "
                f"gaps in each class; {len(pairs) - CURVES:,} of {len(pairs):,} pairs are left "
                "out.",
            )
        gaps += [_gap_curve(scores, coarse, on, pair, rates, settings, points) for pair in kept]
    pooled = RocCurve(coarse.pooled("negatives"), coarse.pooled("positives"))
    cells = scores.cell_distributions
    by_group = [outline(pooled, "everyone", points)]
    for k, group in enumerate(scores.groups):
        curve = RocCurve(cells[k], cells[scores.n_groups + k])
        by_group.append(outline(curve, label_text(group), points))
    return RocSection(tuple(gaps), tuple(by_group), omitted)


def _gap_curve(
    scores: GroupedScores,
    coarse: GroupedScores,
    on: ClassName,
    pair: tuple[int, int],
    rates: Floats,
    settings: Settings,
    points: int,
) -> GapCurve:
    curve = inter_group_curve(scores, on, *pair).with_ties_split()
    first, second = (label_text(scores.groups[k]) for k in pair)
    level = settings.confidence_level
    shape = outline(curve, f"{on} of {second} against {first}", points // 2)
    size = min(curve.reference.effective_size, curve.target.effective_size)
    if size == 0.0:
        nothing = np.full(rates.shape, np.nan)
        offset = CLASSES.index(on) * scores.n_groups
        empty = [scores.cell_name(offset + k) for k in pair]
        empty = [name for name in empty if name in scores.empty_cells()]
        return GapCurve(
            on=on,
            first=first,
            second=second,
            rates=rates,
            value=nothing,
            pointwise_low=nothing,
            pointwise_high=nothing,
            simultaneous_low=nothing,
            simultaneous_high=nothing,
            simultaneous_method="none",
            confidence_level=level,
            supremum=np.nan,
            supremum_rate=np.nan,
            mean_absolute=np.nan,
            inter_group=shape,
            reason=f"there are no {' and no '.join(empty)}",
        )
    large = size >= LARGE_CELL
    point = roc_band(curve, rates, kind="pointwise", confidence_level=level).gap()
    joint = roc_band(
        curve,
        rates,
        kind="dkw" if large else "simultaneous",
        confidence_level=level,
        n_resamples=400 if len(rates) > 51 else 300,
        random_state=settings.random_state,
    ).gap()
    whole = inter_group_curve(coarse, on, *pair).with_ties_split().gap()
    supremum, at = whole.supremum
    return GapCurve(
        on,
        first,
        second,
        rates,
        point.value,
        point.low,
        point.high,
        joint.low,
        joint.high,
        "dkw" if large else "bootstrap",
        level,
        supremum,
        at,
        whole.mean_absolute,
        shape,
        warnings=tuple(dict.fromkeys((*point.warnings, *joint.warnings))),
    )


@dataclass(frozen=True, eq=False)
class CertificateSection:
    """Certificates by class and method, and what was left out."""

    certificates: tuple[ClassCertificate, ...]
    omitted: tuple[str, ...] = ()


def certificate_section(scores: GroupedScores, settings: Settings) -> CertificateSection:
    """Where the gaps are certified to be within the tolerance, by class and method.

    DKW's certificate always; the bootstrap's, which is tighter, where it is affordable and better:
    with up to three groups and cells that are not large.
    """
    found = []
    level, tolerance = settings.confidence_level, settings.tolerance
    for on in CLASSES:
        row = scores.effective_sizes[CLASSES.index(on)]
        reason = ""
        if scores.n_groups < 2:
            reason = "gaps need two groups, and there is one only"
        elif (row == 0).any():
            cell = CLASSES.index(on) * scores.n_groups + int(np.argmin(row))
            reason = f"there are no {scores.cell_name(cell)}"
        if reason:
            nan, words = np.nan, f"Not certified: {reason}."
            found.append(
                ClassCertificate(
                    on, "dkw", False, nan, nan, tolerance, level, nan, 0, (), words, lacking="data"
                )
            )
            continue
        # Empty cells of the other class do not matter to this one: fill them out of sight.
        shown = _filled(scores, on)
        found.append(
            ClassCertificate.of(
                on, certify(shown, tolerance, on=on, confidence_level=level, split_ties=True)
            )
        )
        if scores.n_groups <= BOOTSTRAPPED and row.min() < LARGE_CELL:
            certificate = certify(
                shown,
                tolerance,
                on=on,
                confidence_level=level,
                method="simultaneous",
                n_rates=201,
                random_state=settings.random_state,
                split_ties=True,
            )
            found.append(ClassCertificate.of(on, certificate))
    omitted: tuple[str, ...] = ()
    if scores.n_groups > BOOTSTRAPPED:
        omitted = (
            "Certificates are made by the DKW inequality alone: with more than "
            f"{BOOTSTRAPPED} groups the tighter ones of the bootstrap are left out.",
        )
    return CertificateSection(tuple(found), omitted)


def _filled(scores: GroupedScores, on: ClassName) -> GroupedScores:
    """The table with somebody in every cell, for a question about the class `on` alone."""
    if not scores.empty_cells():
        return scores
    other = 1 - CLASSES.index(on)
    empty = [
        label_text(g)
        for g, w in zip(scores.groups, scores.cell_weights[other], strict=True)
        if w == 0
    ]
    added = GroupedScores.from_table(
        {"score": [0.0] * len(empty), "label": [other] * len(empty), "group": empty},
        pos_label=1,
        group_order=scores.groups,
    )
    return scores.merge(added)
