"""Curves and distributions thinned to what a picture can show; every point kept is exact."""

from dataclasses import dataclass, replace

import numpy as np

from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats, ratio
from evenscore.scores.curve import RocCurve
from evenscore.scores.stored import OPTIONAL

_FEW_LEVELS = 50  # a score with no more distinct values has a bin for each of them


@dataclass(frozen=True, eq=False)
class Outline:
    """Some vertices of a ROC curve, from (0, 0) to (1, 1): each lies on the curve exactly.

    `x` and `y` are the shares of the reference and of the target above `thresholds`.
    """

    name: str
    thresholds: Floats
    x: Floats
    y: Floats


def outline(curve: RocCurve, name: str, n_points: int = 200) -> Outline:
    """About `n_points` vertices at most, spread over the rates of both axes.

    >>> from evenscore.scores.distribution import Distribution
    >>> one, two = Distribution.from_sample([1, 2, 3, 4]), Distribution.from_sample([2, 4, 5])
    >>> found = outline(RocCurve(one, two), "two against one")
    >>> found.x.tolist()
    [0.0, 0.0, 0.25, 0.5, 0.75, 1.0]
    """
    if min(len(curve.reference), len(curve.target)) == 0:
        return Outline(name, *(np.zeros(0) for _ in range(3)))
    grid = np.linspace(0.0, 1.0, max(2, n_points // 2))
    highest = max(curve.reference.values[-1], curve.target.values[-1])
    found = [sample.threshold(grid) for sample in (curve.reference, curve.target)]
    thresholds = np.unique(np.concatenate([*found, [highest]]))[::-1]
    x, y = curve.reference.survival(thresholds), curve.target.survival(thresholds)
    return Outline(name, thresholds, x, y)


@dataclass(frozen=True, eq=False)
class Histogram:
    """How the score is distributed in each cell, on common bins; arrays are (cells, bins).

    Bin b is (edges[b], edges[b + 1]], the first one with its lower edge. `share` adds up to one in
    every cell, NaN in an empty one. Outer bins may be wider: a few extreme scores should not
    flatten the picture, so draw `density`, the share by width.
    """

    edges: Floats
    cells: tuple[str, ...]
    share: Floats

    @property
    def density(self) -> Floats:
        """Share by width of the bin; one too narrow for doubles is taken to be wider."""
        return self.share / np.maximum(np.diff(self.edges), np.finfo(np.float64).tiny)

    @property
    def cumulative(self) -> Floats:
        """P(S ≤ edge) in each cell, at the edges; exact."""
        return np.concatenate(
            [np.zeros((len(self.share), 1)), np.cumsum(self.share, axis=1)], axis=1
        )


def histogram(scores: GroupedScores, n_bins: int = 40) -> Histogram:
    """The distribution of the score by cell; a score with few distinct values has a bin for each.

    >>> scores = GroupedScores.from_arrays([0, 1, 1], [1, 2, 2], sensitive_features=list("aaa"))
    >>> found = histogram(scores)
    >>> found.edges, found.share
    (array([0.5, 1.5, 2.5]), array([[1., 0.],
           [0., 1.]]))
    """
    score = scores.score
    if len(score) == 0:
        raise ValueError("There is nobody whose scores could be drawn.")
    jumps = np.flatnonzero(score[1:] != score[:-1])
    if len(jumps) < _FEW_LEVELS:
        levels = np.append(score[jumps], score[-1])
        middle = levels[:-1] + np.diff(levels) / 2.0
        half = np.diff(levels).min() / 2.0 if len(levels) > 1 else 0.5
        # The middle of two neighbours among the doubles is one of them.
        edges = np.unique(np.concatenate(([levels[0] - half], middle, [levels[-1] + half])))
        if len(edges) < 2:
            edges = np.array([np.nextafter(edges[0], -np.inf), np.nextafter(edges[0], np.inf)])
    else:
        n = len(score) - 1  # quantiles of the rows are near enough to place bins
        low, high = score[int(0.005 * n)], score[int(np.ceil(0.995 * n))]
        width = (high - low) / (n_bins - 2)
        # An outer bin narrower than the others would tower over them, by its density.
        low = score[0] if low - score[0] < width else low
        high = score[-1] if score[-1] - high < width else high
        edges = np.unique(
            np.concatenate(([score[0]], np.linspace(low, high, n_bins - 1), [score[-1]]))
        )
    ends = np.searchsorted(score, edges[1:], side="right")
    ends[-1] = len(score)
    [weight] = scores.sums_between(ends, scores.weight)
    share = ratio(weight.T, scores.cell_weights.reshape(-1, 1))
    names = tuple(scores.cell_name(cell) for cell in range(scores.n_cells))
    return Histogram(edges, names, share)


def coarsened(scores: GroupedScores, n_levels: int) -> GroupedScores:
    """The score rounded up to at most `n_levels` of its own values, spread over the rows.

    Cut at one of those values, it selects exactly the people that the score itself selects: rates
    there are exact, and only thresholds in between are given up.

    >>> y, groups = [0, 1, 0, 1], list("abab")
    >>> coarsened(GroupedScores.from_arrays(y, [1, 2, 3, 4], sensitive_features=groups), 2).score
    array([2., 2., 4., 4.])
    """
    n = len(scores)
    if n <= n_levels:
        return scores
    last = -(-np.arange(1, n_levels + 1) * n // n_levels) - 1  # rounded up, in whole numbers
    return rounded_up(scores, np.unique(scores.score[last]))


def rounded_up(scores: GroupedScores, levels: Floats) -> GroupedScores:
    """The score rounded up to increasing levels, the last of which is its largest value.

    >>> y, groups = [0, 1, 0, 1], list("abab")
    >>> scores = GroupedScores.from_arrays(y, [1, 2, 3, 4], sensitive_features=groups)
    >>> rounded_up(scores, np.array([2.5, 4.0])).score
    array([2.5, 2.5, 4. , 4. ])
    """
    ends = np.searchsorted(scores.score, levels, side="right")
    columns = {id(c): c for c in (getattr(scores, name) for name in OPTIONAL)}
    found = dict(zip(columns, scores.sums_between(ends, *columns.values()), strict=True))
    sums = {name: found[id(getattr(scores, name))] for name in OPTIONAL}
    level, cell = np.nonzero(sums["weight"])
    positive, group = np.divmod(cell, scores.n_groups)
    coarse = GroupedScores.from_codes(
        levels[level],
        positive.astype(np.bool_),
        group,
        scores.groups,
        **{name: part[level, cell] for name, part in sums.items()},
    )
    if scores.clusters is None:
        return coarse
    place = np.empty((len(levels), scores.n_cells), dtype=np.intp)  # rows are sorted by both
    place[level, cell] = np.arange(len(level))
    rows = place[np.searchsorted(levels, scores.score, side="left"), scores.cell]
    return replace(coarse, clusters=scores.clusters.moved(rows))
