"""Labels shared out by the score where a class of a group is small.

The cut at a rate of the negatives of a small group rests on a few dozen people, and its error comes
back as a gap on new data. But the score says how likely everybody is to be negative, also the
positives: where a score means the same in all groups (but for the share of positives), the law of
the negatives of a group is that of all its people, weighted by that chance. The two estimates are
mixed. The labels count at least n / (n + n₀) in a cell of n; and the more, the further the two are
apart beyond sampling error, because then the score does not mean the same in all groups.
"""

import numpy as np
from scipy.special import expit

from evenscore.repairing.alignment import common_order
from evenscore.repairing.profile import Profile
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats, Ints

_LEAST = 0.02  # a smaller share of chances is not worth the cost
_LEVELS = np.arange(1, 10) / 10.0  # at which the two laws are compared: the deciles


def softened(scores: GroupedScores, n0: float) -> GroupedScores:
    """The table with part of every label given to both classes; the same if cells are large.

    >>> table = GroupedScores.from_arrays(
    ...     [0, 1] * 50, range(100), sensitive_features=[0, 0, 1, 1] * 25)
    >>> soft = softened(table, 100.0)
    >>> soft.cell_weights
    array([[25., 25.],
           [25., 25.]])
    >>> len(soft)
    200
    """
    most = n0 / (n0 + scores.effective_sizes)
    if most.max() < _LEAST:
        return scores
    order = common_order(Profile.of(scores), scores.effective_sizes)(scores.score)
    positive, codes = np.divmod(scores.cell.astype(np.intp), scores.n_groups)
    order = order + _offsets(order, codes, scores)[codes]
    chance = expit(order)
    weights = []
    for c, chances in enumerate((1.0 - chance, chance)):
        soft = scores.weight * chances
        total = np.bincount(codes, weights=soft, minlength=scores.n_groups)
        soft = soft * (scores.cell_weights[c] / total)[codes]
        hard = np.where(positive == c, scores.weight, 0.0)
        share = np.array(
            [
                min(most[c, z], _trust(hard[codes == z], soft[codes == z], size))
                for z, size in enumerate(scores.effective_sizes[c])
            ]
        )
        weights.append((1.0 - share[codes]) * hard + share[codes] * soft)
    n = len(scores)
    return GroupedScores.from_codes(
        np.tile(scores.score, 2),
        np.repeat([False, True], n),
        np.tile(codes, 2),
        scores.groups,
        weight=np.concatenate(weights),
        count=np.tile(scores.count, 2),
    )


def _offsets(order: Floats, codes: Ints, scores: GroupedScores) -> Floats:
    """For each group, what added to the log-odds makes the chances add up to the positives."""
    low, high = np.full(scores.n_groups, -20.0), np.full(scores.n_groups, 20.0)
    for _ in range(40):
        middle = (low + high) / 2.0
        chances = scores.weight * expit(order + middle[codes])
        total = np.bincount(codes, chances, minlength=scores.n_groups)
        short = total < scores.cell_weights[1]
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.asarray((low + high) / 2.0)


def _trust(hard: Floats, soft: Floats, size: float) -> float:
    """The share of the chances: one if the two laws differ no more than by sampling error.

    v / (v + b²), v the variance of a share of the labels and b² what their squared distance from
    the chances' shares exceeds it by, on average over nine levels. Rows are in the order of scores.
    """
    by_label, by_chance = (np.cumsum(part) / part.sum() for part in (hard, soft))
    index = np.searchsorted(by_chance, _LEVELS, side="left")
    distance = by_label[index] - by_chance[index]
    excess = float(np.mean(distance**2 / (_LEVELS * (1.0 - _LEVELS) / size))) - 1.0
    return 1.0 / (1.0 + max(excess, 0.0))
