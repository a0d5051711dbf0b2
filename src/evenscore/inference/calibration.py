"""Does the same score mean the same in every group? Shares of positives, bin by bin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenscore.distributions import Distribution
from evenscore.inference.cuts import Shares
from evenscore.inference.estimate import check_count, check_level, normal_quantile, share_size
from evenscore.labels import label_text
from evenscore.scores import GroupedScores, check_scores

__all__ = ["Calibration", "calibration_by_group"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Calibration:
    """Share of positives by bin of the score and group; arrays are (bins, groups).

    Bin b holds the scores in (edges[b], edges[b + 1]], the first one its lower edge as well: about
    as many people of all groups together in each. If all scores lie in [0, 1] (`probabilities`),
    `excess` is the share of positives minus the mean score, zero for a calibrated probability;
    otherwise it is NaN, since a score of any scale promises no share.
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


def calibration_by_group(
    scores: GroupedScores,
    *,
    n_bins: int = 10,
    confidence_level: float = 0.95,
    everyone: Distribution | None = None,
) -> Calibration:
    """Shares of positives in bins of the score, by group, with Wilson's intervals.

    Bins are cut at quantiles of all scores together; tied scores make fewer of them.
    `everyone` spares pooling the scores again.

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
    pooled = scores.pooled("both") if everyone is None else everyone
    inner = np.unique(pooled.threshold(np.arange(1, n_bins) / n_bins))
    inner = inner[(inner >= lowest) & (inner < highest)]
    ends = np.append(np.searchsorted(scores.score, inner, side="right"), len(scores))
    by_cell = np.zeros((3, len(ends), scores.n_cells))
    start = 0
    for b, stop in enumerate(ends.tolist()):
        rows = slice(start, stop)
        cell, w = scores.cell[rows], scores.weight[rows]
        columns = w, scores.weight_squared[rows], w * scores.score[rows]
        for sums, column in zip(by_cell, columns, strict=True):
            sums[b] = np.bincount(cell, weights=column, minlength=scores.n_cells)
        start = stop
    weight, square, total = by_cell.reshape(3, len(ends), 2, scores.n_groups)
    everybody = weight.sum(axis=1)
    z = normal_quantile(0.5 + level / 2.0)
    share = _ratio(weight[:, 1], everybody)
    positives = Shares.of(share, share_size(share, everybody, square[:, 1], square[:, 0]), z)
    mean = _ratio(total.sum(axis=1), everybody)
    probabilities = bool(lowest >= 0.0 and highest <= 1.0)
    expected = mean if probabilities else np.full_like(mean, np.nan)
    return Calibration(
        np.concatenate(([lowest], inner, [highest])),
        tuple(label_text(group) for group in scores.groups),
        level,
        probabilities,
        everybody,
        mean,
        positives,
        Shares(*(part - expected for part in (positives.value, positives.low, positives.high))),
        _ratio(weight[:, 1].sum(axis=1), everybody.sum(axis=1)),
    )


def _ratio(part: Floats, whole: Floats) -> Floats:
    ratio = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=ratio, where=whole > 0)
    return ratio
