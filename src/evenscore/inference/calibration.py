"""Does the same score mean the same in every group? Shares of positives, bin by bin."""

from dataclasses import dataclass

import numpy as np

from evenscore.inference.cluster_sizes import (
    correlation_by_group,
    is_clustered,
    shares_of_clusters,
)
from evenscore.inference.cuts import Shares
from evenscore.inference.estimate import check_count, check_level
from evenscore.inference.intervals import normal_quantile, recovered, student
from evenscore.inference.shares import share_size, weight_by_class
from evenscore.scores import GroupedScores, check_scores
from evenscore.scores.arrays import Floats, Ints, ratio
from evenscore.scores.distribution import Distribution


@dataclass(frozen=True, eq=False)
class Calibration:
    """Share of positives by bin of the score and group; arrays are (bins, groups).

    Bin b holds the scores in (edges[b], edges[b + 1]], the first one its lower edge as well: about
    as many people of all groups together in each. If all scores lie in [0, 1] (`probabilities`),
    `excess` is the share of positives minus the mean score, zero for a calibrated probability; its
    interval accounts for the mean score, which other people of the bin would change, too.
    Otherwise it is NaN, since a score of any scale promises no share.
    """

    edges: Floats
    groups: tuple[str, ...]
    confidence_level: float
    probabilities: bool
    weight: Floats
    mean_score: Floats
    positives: Shares
    excess: Shares
    overall: Floats  # share of positives of all groups together, by bin

    def __len__(self) -> int:
        return len(self.overall)

    def label(self, b: int) -> str:
        """A bin in words: which side is in it, so that everybody is in one of them.

        >>> y, groups = [0, 1] * 40, ["a"] * 40 + ["b"] * 40
        >>> scores = GroupedScores.from_arrays(y, [1, 2, 2, 3] * 20, sensitive_features=groups)
        >>> found = calibration_by_group(scores)
        >>> [found.label(b) for b in range(len(found.overall))]
        ['up to 1', 'above 1, up to 2', 'above 2']
        """
        low, high = (f"{edge:.3g}" for edge in self.edges[b : b + 2])
        if b == len(self.overall) - 1:
            return f"above {low}" if b else "all"
        return f"above {low}, up to {high}" if b else f"up to {high}"


def calibration_by_group(
    scores: GroupedScores,
    *,
    n_bins: int = 10,
    confidence_level: float = 0.95,
    everyone: Distribution | None = None,
    inner: Floats | None = None,
) -> Calibration:
    """Shares of positives in bins of the score, by group, with Wilson's intervals.

    Bins are cut at quantiles of all scores together; tied scores make fewer of them.
    `everyone` spares pooling the scores again, and `inner` are increasing edges to cut at instead.
    With clusters sizes and spreads are those of sums over clusters, bin by bin.

    >>> y, groups = [0, 0, 1, 1] * 20, ["a", "b"] * 40
    >>> scores = GroupedScores.from_arrays(y, [0.2, 0.2, 0.8, 0.8] * 20, sensitive_features=groups)
    >>> calibration_by_group(scores).positives.value
    array([[0., 0.],
           [1., 1.]])
    """
    check_scores(scores)
    level = check_level(confidence_level)
    check_count(n_bins, "n_bins", 1)
    if len(scores) == 0:
        raise ValueError("There is nobody whose score could be calibrated.")
    lowest, highest = scores.score[0], scores.score[-1]
    if inner is None:
        pooled = scores.pooled("both") if everyone is None else everyone
        inner = np.unique(pooled.threshold(np.arange(1, n_bins) / n_bins))
    inner = inner[(inner >= lowest) & (inner < highest)]
    s, w, square = scores.score, scores.weight, scores.weight_squared
    ends = np.append(np.searchsorted(scores.score, inner, side="right"), len(scores))
    probabilities = bool(lowest >= 0.0 and highest <= 1.0)
    columns = [w, square, scores.count, w * s]
    columns += [square * s, square * s * s] if probabilities else []
    by_cell = scores.sums_between(ends, *columns)
    by_class = by_cell.reshape(-1, len(ends), 2, scores.n_groups)
    weight, total = by_class[0], by_class[3]
    everybody = weight.sum(axis=1)
    z = normal_quantile(0.5 + level / 2.0)
    typical = weight_by_class(by_class[:3].sum(axis=1))[:, None]
    size = share_size(by_class[:3, :, 1], by_class[:3, :, 0], z, typical=typical)
    share = ratio(weight[:, 1], everybody)
    mean = ratio(total.sum(axis=1), everybody)
    spread = None
    if is_clustered(scores):
        bins = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        [behind] = shares_of_clusters(
            scores,
            bins,
            len(ends),
            lambda sums: [(sums[:, 1], sums[:, 0])],
            [share],
            [correlation_by_group(scores)],
        )
        size = behind.reduced(size, z)
        spread = _spread_of_clusters(scores, bins, share, mean) if probabilities else None
    positives = Shares.of(share, size, z)
    edges = np.concatenate(([lowest], inner, [highest]))
    unknown = np.full_like(mean, np.nan)
    return Calibration(
        edges,
        scores.names,
        level,
        probabilities,
        everybody,
        mean,
        positives,
        _excess(positives, mean, by_class, edges, z, spread)
        if probabilities
        else Shares(unknown, unknown, unknown),
        ratio(weight[:, 1].sum(axis=1), everybody.sum(axis=1)),
    )


def _spread_of_clusters(
    scores: GroupedScores, bins: Ints, share: Floats, mean: Floats
) -> tuple[Floats, ...]:
    """Σe², Σd², Σde and the number of clusters in each bin and group.

    e and d are a cluster's sums of w(s − mean) and of w(x − share), x being 1 for positives.
    """
    assert scores.clusters is not None
    n_bins, place = len(share), bins * scores.n_cells + scores.cell
    found = np.zeros((4, *share.shape))
    share, mean = (np.nan_to_num(column)[..., None] for column in (share, mean))
    both = (
        scores.clusters.sums_by_place(place, n_bins * scores.n_cells, values)
        for values in (None, scores.score)
    )
    for weight, total in zip(*both, strict=True):
        weight, total = (x.reshape(n_bins, 2, scores.n_groups, -1) for x in (weight, total))
        whole = weight.sum(axis=1)
        e, d = total.sum(axis=1) - mean * whole, weight[:, 1] - share * whole
        found[0] += np.square(e).sum(axis=-1)
        found[1] += np.square(d).sum(axis=-1)
        found[2] += (d * e).sum(axis=-1)
        found[3] += np.count_nonzero(whole, axis=-1)
    return tuple(found)


def _excess(
    positives: Shares,
    mean: Floats,
    by_class: Floats,
    edges: Floats,
    z: float,
    of_clusters: tuple[Floats, ...] | None = None,
) -> Shares:
    """Share of positives minus mean score, from both intervals and their correlation.

    The method of variance estimates recovery (Zou and Donner, 2008); the mean has Student's
    interval, as far as it lies within the bin.
    """
    share, value = positives.value, positives.value - mean
    total, _, people = by_class[:3].sum(axis=2)
    none, one, two = by_class[[1, 4, 5]]  # Σw², Σw²s and Σw²s², by class
    spread = np.maximum(
        (two - 2.0 * mean[:, None] * one).sum(axis=1) + mean**2 * none.sum(axis=1), 0.0
    )
    own = (1.0 - share) ** 2 * none[:, 1] + share**2 * none[:, 0]
    both = (1.0 - share) * (one[:, 1] - mean * none[:, 1]) - share * (one[:, 0] - mean * none[:, 0])
    if of_clusters is not None:
        wider, own, both, people = of_clusters
        spread = np.maximum(spread, wider)
    scale = np.sqrt(spread * own)
    correlation = np.clip(ratio(both, scale, 0.0), -1.0, 1.0)
    freedom = np.maximum(people - 1.0, 1.0)
    error = np.sqrt(ratio(spread * people, np.square(total) * freedom))
    half = np.where(people > 1.0, student(np.asarray(z), freedom) * error, np.inf)
    up = np.minimum(half, edges[1:, None] - mean)
    down = np.minimum(half, mean - edges[:-1, None])

    low, high = share - positives.low, positives.high - share
    return Shares(
        value, value - recovered(low, up, correlation), value + recovered(high, down, correlation)
    )
