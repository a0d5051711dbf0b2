"""Who is in the sample, and what to keep in mind about it."""

from __future__ import annotations

import numpy as np

from evenscore.inference.estimate import SMALL_CELL, Estimate
from evenscore.results import Sample
from evenscore.scores import CLASSES, GroupedScores

__all__ = ["sample_section", "warning_section"]


def sample_section(scores: GroupedScores, pos_label: str) -> Sample:
    """Counts, weights and shares by cell; an empty sample or a class without anybody is refused."""
    counts = scores.cell_counts
    if counts.sum() == 0:
        raise ValueError("There is nobody to audit: there are no rows of positive weight.")
    for name, number in zip(CLASSES, counts.sum(axis=1), strict=True):
        if number == 0:
            raise ValueError(
                f"There are no {name} at all: every label is of the other class "
                "(is pos_label right?)."
            )
    new = np.append(True, scores.score[1:] != scores.score[:-1])
    starts = np.flatnonzero(new)
    shared = np.add.reduceat(scores.count, starts)
    n = float(counts.sum())
    return Sample(
        n=round(n),
        total_weight=float(scores.cell_weights.sum()),
        weighted=not np.allclose(scores.effective_sizes, counts, rtol=1e-9),
        groups=tuple(str(group) for group in scores.groups),
        pos_label=pos_label,
        cell_counts=counts,
        cell_weights=scores.cell_weights,
        effective_sizes=scores.effective_sizes,
        prevalence=scores.prevalence,
        prevalence_by_group=scores.prevalence_by_group,
        group_share=scores.group_share,
        lowest_score=float(scores.score[0]),
        highest_score=float(scores.score[-1]),
        distinct_scores=len(starts),
        tied_share=float(shared[shared > 1.0].sum() / n),
    )


def warning_section(
    scores: GroupedScores, sample: Sample, zero_weights: int, auc: Estimate
) -> tuple[str, ...]:
    """What to keep in mind when reading the numbers."""
    found = []
    if auc.high < 0.5:
        found.append(
            f"The score ranks positives below negatives (AUC {auc.value:.3f}): is the positive "
            f"label really {sample.pos_label}, and does a high score speak for it?"
        )
    alike = _look_alike(sample.groups)
    if alike:
        found.append(
            f"The groups {alike[0]!r} and {alike[1]!r} differ in spaces or capital letters only: "
            "are they one group?"
        )
    if scores.n_groups == 1:
        found.append(f"There is one group only, {sample.groups[0]}: gaps need two groups.")
    empty = scores.empty_cells()
    if empty:
        found.append(f"There are no {' and no '.join(empty[:6])}: what needs them is undefined.")
    sizes = sample.effective_sizes.reshape(-1)
    small = [
        f"{scores.cell_name(int(cell))} ({sizes[cell]:.0f})"
        for cell in np.flatnonzero((sizes > 0) & (sizes < SMALL_CELL))
    ]
    if small:
        more = f" and {len(small) - 6} more" if len(small) > 6 else ""
        found.append(
            f"Cells worth fewer than {SMALL_CELL} observations make intervals unreliable: "
            f"{', '.join(small[:6])}{more}."
        )
    if sample.distinct_scores == 1:
        found.append("All scores are equal: the score ranks nobody.")
    elif sample.tied_share > 0.1:
        found.append(
            f"{sample.tied_share:.0%} of the people share their score with somebody "
            f"({sample.distinct_scores:,} distinct scores): a tie counts half in an AUC, and "
            "intervals at a rate are wider than their level asks for."
        )
    if zero_weights:
        found.append(f"{zero_weights:,} rows have weight zero and count for nothing.")
    return tuple(found)


def _look_alike(groups: tuple[str, ...]) -> tuple[str, str] | None:
    """Two groups whose names differ in spaces or capital letters only."""
    seen: dict[str, str] = {}
    for group in groups:
        plain = " ".join(group.split()).casefold()
        if plain in seen:
            return seen[plain], group
        seen[plain] = group
    return None
