"""Who is among the k highest scores: how many of each group, with intervals of their share.

The k highest of n people are those who hold the share k/n of all weight, from the strictest score
on; of those who share the score at the boundary a fraction counts, as if ties were broken at random
many times. The share of a group among them is that of k people like those: Wilson's interval, with
the effective size of the k for weights and clusters. The boundary is taken as given.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenscore.inference.cluster_sizes import is_clustered, shares_of_clusters
from evenscore.inference.cuts import Shares
from evenscore.inference.estimate import check_level
from evenscore.inference.intervals import normal_quantile
from evenscore.inference.shares import share_size
from evenscore.scores.arrays import Floats, Ints, ratio
from evenscore.scores.brackets import has_open_bins
from evenscore.scores.selection import Ladder


@dataclass(frozen=True, eq=False)
class TopK:
    """Groups among the k strictest scores; arrays are (k, groups).

    `number` adds up to k, `share` to one, and `group_share` is the share of everyone. `tied` is the
    share of the k that are drawn from people who share the score at the boundary.
    """

    k: Floats
    groups: tuple[str, ...]
    confidence_level: float
    number: Floats
    share: Shares
    group_share: Floats
    tied: Floats


def usual_k(n: float) -> list[int]:
    """10, 20, 50, 100, 200, … up to n.

    >>> usual_k(120)
    [10, 20, 50, 100]
    """
    found = [first * 10**power for power in range(1, 16) for first in (1, 2, 5)]
    return [k for k in found if k <= n]


def top_k(
    ladder: Ladder, k: Sequence[int] | None = None, *, confidence_level: float = 0.95
) -> TopK:
    """How many of each group are among the k strictest scores of a ladder of everyone.

    >>> from evenscore import GroupedScores
    >>> table = GroupedScores.from_arrays([0] * 4, [1, 2, 2, 3], sensitive_features=list("abab"))
    >>> top_k(Ladder.make(table, "everyone", "high"), [2]).number  # b, and half of each at 2
    array([[0.5, 1.5]])
    """
    level, scores = check_level(confidence_level), ladder.scores
    z, n = normal_quantile(0.5 + level / 2.0), float(scores.cell_counts.sum())
    asked = np.array(usual_k(n) if k is None else k, dtype=np.float64)
    part = np.minimum(asked / n, 1.0)
    step = np.array([ladder.last_up_to(share) for share in part], dtype=np.intp)
    step = np.minimum(step, ladder.n_steps - 1)
    inside = ladder.share[step]
    fraction = ratio(part - inside, ladder.share[step + 1] - inside, 0.0)[:, None, None]
    steps, place = np.unique(np.concatenate([step, step + 1]), return_inverse=True)
    first, then = np.split(place.reshape(-1), 2)
    sums = ladder.selected(steps)
    # (3, k, groups): sums of weights, squares and people of both classes.
    chosen = np.stack(
        [
            (part[first] + fraction * (part[then] - part[first])).sum(axis=1)
            for part in (sums.weight, sums.square, sums.count)
        ]
    )
    total = chosen.sum(axis=2, keepdims=True)
    share = ratio(chosen[0], total[0])
    within: tuple[Floats, Floats] | None = None
    if has_open_bins(scores):  # any of those in the bin at the boundary may be among the k
        inner, bin_of = (
            part.sum(axis=1)
            for part in (sums.weight[first], sums.weight[then] - sums.weight[first])
        )
        drawn = fraction[:, 0] * bin_of.sum(axis=1, keepdims=True)
        others = bin_of.sum(axis=1, keepdims=True) - bin_of
        parted = ladder.is_open[step][:, None]
        least, most = np.maximum(drawn - others, 0.0), np.minimum(bin_of, drawn)
        low, high = (
            np.where(parted, ratio(inner + part, total[0]), share) for part in (least, most)
        )
        within = low, high
    size = share_size(chosen, np.maximum(total - chosen, 0.0), z)
    if is_clustered(scores) and len(asked):

        def sides(by_bin: Floats) -> list[tuple[Floats, Floats]]:
            up_to = np.cumsum(by_bin.sum(axis=1), axis=0)  # (steps, groups, clusters)
            own = up_to[first] + fraction * (up_to[then] - up_to[first])
            return [(own, own.sum(axis=1, keepdims=True) - own)]

        # Who is in a cluster is mostly of one group: no more than the clusters are independent.
        alike = np.ones(scores.n_groups)
        bins = _bins(ladder, steps)
        [behind] = shares_of_clusters(scores, bins, len(steps) + 1, sides, [share], [alike])
        size = behind.reduced(size, z)
    return TopK(
        asked,
        scores.names,
        level,
        share * asked[:, None],
        Shares.of(share, size, z, within),
        scores.group_share,
        ratio(part - inside, part, 0.0) * (fraction[:, 0, 0] < 1.0),
    )


def _bins(ladder: Ladder, steps: Ints) -> Ints:
    """Between which of the increasing steps each row of the table is selected."""
    runs = np.diff(ladder.ends)
    level = np.repeat(np.arange(ladder.n_steps), runs)  # 0 is selected first if low is
    first = level + 1 if ladder.side == "low" else ladder.n_steps - level
    return np.searchsorted(steps, first, side="left")
