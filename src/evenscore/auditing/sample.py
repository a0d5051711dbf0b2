"""Who is in the sample, and what to keep in mind about it."""

import numpy as np

from evenscore.auditing.numeric_groups import numeric_groups
from evenscore.auditing.parts import Sample
from evenscore.inference.estimate import SMALL_CELL, Estimate
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import starts_of_runs
from evenscore.scores.brackets import has_open_bins
from evenscore.scores.selection import Side

FEW = 30
"""A group of fewer clusters carries a warning: the variance between them is hardly known."""


def sample_of(scores: GroupedScores, pos_label: str, *, outcomes_known: bool = True) -> Sample:
    """Counts, weights and shares by cell; an empty sample or a class without anybody is refused."""
    counts = scores.cell_counts
    if counts.sum() == 0:
        raise ValueError("There is nobody to audit: there are no rows of positive weight.")
    if outcomes_known:
        scores.require_classes()
    starts = starts_of_runs(scores.score)
    shared = np.add.reduceat(scores.count, starts)
    n = float(counts.sum())
    return Sample(
        n=round(n),
        total_weight=float(scores.cell_weights.sum()),
        weighted=not np.allclose(scores.effective_sizes, counts, rtol=1e-9),
        clusters=None if scores.clusters is None else len(scores.clusters.present),
        groups=tuple(str(group) for group in scores.groups),
        pos_label=pos_label,
        cell_counts=counts,
        cell_weights=scores.cell_weights,
        effective_sizes=scores.independent_sizes,
        prevalence=scores.prevalence if outcomes_known else float("nan"),
        prevalence_by_group=(
            scores.prevalence_by_group if outcomes_known else np.full(scores.n_groups, np.nan)
        ),
        group_share=scores.group_share,
        lowest_score=float(scores.score[0]),
        highest_score=float(scores.score[-1]),
        distinct_scores=len(starts),
        tied_share=float(shared[shared > 1.0].sum() / n),
        outcomes_known=outcomes_known,
    )


_SEEN = "the score looks better on them, and often fairer, than it will on people it has not seen"
_TRAINED = {
    True: f"These rows were used for training: {_SEEN}.",
    False: "These rows were not used for training.",
    None: f"Nobody said whether these rows were used for training; if they were, {_SEEN}.",
}


def independence(n_rows: int, n_clusters: int | None) -> str:
    """What intervals take for granted about how rows belong together."""
    if n_clusters is None:
        return (
            "Rows are taken to be independent; with several rows per person, household or branch "
            "say which belong together (cluster=, --cluster), or intervals are too narrow."
        )
    if n_clusters == 1:
        return f"The {n_rows:,} rows belong to one cluster: nothing is known of others."
    return (
        f"The {n_rows:,} rows belong to {n_clusters:,} clusters, which are taken to be independent."
    )


def assumptions_of(sample: Sample, trained_on: bool | None) -> tuple[str, ...]:
    """What the numbers take for granted about the rows, in whole sentences."""
    return independence(sample.n, sample.clusters), _TRAINED[trained_on]


def warnings_about(
    scores: GroupedScores,
    sample: Sample,
    auc: Estimate | None,
    selected: Side = "high",
) -> tuple[str, ...]:
    """What to keep in mind when reading the numbers; `selected` are high scores or low ones."""
    warnings = []
    if auc is not None and selected == "high" and auc.high < 0.5:
        warnings.append(
            f"The score ranks positives below negatives (AUC {auc.value:.3f}): is the positive "
            f"label really {sample.pos_label}, and does a high score speak for it?"
        )
    if auc is not None and selected == "low" and auc.low > 0.5:
        warnings.append(
            f"Low scores are selected, but the score ranks positives above negatives (AUC "
            f"{auc.value:.3f}): is the positive label really {sample.pos_label}, and does a low "
            "score speak for it?"
        )
    alike = _look_alike(sample.groups)
    if alike:
        warnings.append(
            f"The groups {alike[0]!r} and {alike[1]!r} differ in spaces or capital letters only: "
            "are they one group?"
        )
    if scores.n_groups == 1:
        warnings.append(f"There is one group only, {sample.groups[0]}: gaps need two groups.")
    compared = np.isin(sample.groups, sample.compared_groups)
    cells = np.flatnonzero((scores.cell_weights == 0) & compared).tolist()
    cells = cells if sample.outcomes_known else []
    empty = [scores.cell_name(cell) for cell in cells]
    if empty:
        warnings.append(f"There are no {' and no '.join(empty[:6])}: what needs them is undefined.")
    by_group = scores.clusters_by_group
    few = np.zeros(0) if by_group is None else np.flatnonzero((by_group > 0) & (by_group < FEW))
    if by_group is not None and len(few):
        listed = ", ".join(f"{sample.groups[k]} ({by_group[k]:.0f})" for k in few[:6])
        more = f" and {len(few) - 6} more" if len(few) > 6 else ""
        warnings.append(
            f"Groups of fewer than {FEW} clusters make intervals unreliable, however many rows "
            f"they have: {listed}{more}."
        )
    sizes = np.where(compared, sample.effective_sizes, 0.0).reshape(-1)
    small = [
        f"{_cell_name(scores, sample, int(cell))} ({sizes[cell]:.0f})"
        for cell in np.flatnonzero((sizes > 0) & (sizes < SMALL_CELL))
    ]
    if small:
        more = f" and {len(small) - 6} more" if len(small) > 6 else ""
        unit = "observations" if sample.clusters is None else "clusters"
        cells_of = "Cells" if sample.outcomes_known else "Groups"
        warnings.append(
            f"{cells_of} worth fewer than {SMALL_CELL} {unit} make intervals unreliable: "
            f"{', '.join(small[:6])}{more}."
        )
    numbers = numeric_groups(sample.groups, sample.cell_counts.sum(axis=0))
    if numbers is not None:
        warnings.append(numbers.sentence)
    if sample.distinct_scores == 1:
        warnings.append("All scores are equal: the score ranks nobody.")
    elif sample.tied_share > 0.1 and not has_open_bins(scores):  # `result.binned` says it better
        warnings.append(
            f"{sample.tied_share:.0%} of the people share their score with somebody "
            f"({sample.distinct_scores:,} distinct scores): a tie counts half in an AUC, and "
            "intervals at a rate are conservative."
        )
    return tuple(warnings)


def _cell_name(scores: GroupedScores, sample: Sample, cell: int) -> str:
    """A cell, or its group where there are no classes."""
    return scores.cell_name(cell) if sample.outcomes_known else sample.groups[cell]


def _look_alike(groups: tuple[str, ...]) -> tuple[str, str] | None:
    """Two groups whose names differ in spaces or capital letters only."""
    known: dict[str, str] = {}
    for group in groups:
        plain = " ".join(group.split()).casefold()
        if plain in known:
            return known[plain], group
        known[plain] = group
    return None
