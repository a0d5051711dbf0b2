"""How sure: average precisions of the groups, and their differences, by the bootstrap.

An average precision is a mean over the positives of a ratio of two shares; redrawing people gives
its law whatever the score, ties and weights.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from evenscore.inference.bootstrap import bootstrap
from evenscore.inference.cluster_sizes import is_clustered
from evenscore.inference.decisions import holm
from evenscore.inference.estimate import Estimate, GapKey, Sampling
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.scores.labels import label_text
from evenscore.scores.precision_recall import POOLED, average_precisions

NAME = "average_precision"


def average_precision_estimates(
    scores: GroupedScores,
    prevalence: Any = POOLED,
    *,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    sampling: Sampling = "observations",
    random_state: int = 0,
) -> list[Estimate]:
    """The average precision of each group, then the first group's minus the second's of each pair.

    >>> y, groups = [0, 1, 0, 1, 1] * 40, list("abbab") * 40
    >>> table = GroupedScores.from_arrays(y, [i % 37 for i in range(200)],
    ...                                   sensitive_features=groups)
    >>> a, b, gap = average_precision_estimates(table, n_resamples=100)
    >>> a.first, gap.title, bool(abs(a.value - b.value - gap.value) < 1e-12)
    ('a', 'average_precision_gap, a and b', True)
    """
    pairs = np.array(scores.pairs(), dtype=np.intp).reshape(-1, 2)

    def statistics(table: GroupedScores) -> Floats:
        by_group = average_precisions(table, prevalence)
        return np.concatenate([by_group, by_group[pairs[:, 0]] - by_group[pairs[:, 1]]])

    values = statistics(scores).tolist()
    names = [label_text(group) for group in scores.groups]
    keys = [GapKey(NAME, name) for name in names]
    keys += [GapKey(f"{NAME}_gap", names[i], names[j]) for i, j in pairs]
    blank = [
        Estimate.of_key(key, value, method="", family="")
        for key, value in zip(keys, values, strict=True)
    ]
    for k, (i, j) in enumerate(pairs.tolist(), start=len(names)):
        blank[k] = replace(blank[k], first_value=values[i], second_value=values[j])
    draws = bootstrap(
        scores,
        statistics,
        n_resamples=n_resamples,
        sampling=sampling,
        random_state=random_state,
    )
    if is_clustered(scores):
        by_group = scores.independent_sizes.min(axis=0)
        clusters = np.concatenate([by_group, by_group[pairs].min(axis=1)])
        draws = replace(draws, clusters=clusters)
    estimates = draws.intervals(confidence_level, estimates=blank)
    empty = scores.cell_weights == 0.0
    for k, estimate in enumerate(estimates):
        groups = [k] if k < len(names) else pairs[k - len(names)].tolist()
        missing = [
            scores.cell_name(c * scores.n_groups + g)
            for c in range(2)
            for g in groups
            if empty[c, g]
        ]
        if missing:
            reason = f"{estimate.name} is undefined: there are no {' and no '.join(missing)}"
            estimates[k] = replace(estimate, warnings=(reason,))
        elif k < len(names):
            estimates[k] = replace(estimate, p_value=np.nan)  # that it is zero is no hypothesis
    return [*estimates[: len(names)], *holm(estimates[len(names) :])]
