"""Two scores of the same people at a cut: by how much do their ROC gaps differ?

The two scores of a person go together, so people are redrawn, within their cell, and both gaps are
computed for the same draw: the bootstrap needs no estimate of a density. With clusters whole
clusters are redrawn, once for all groups. Ties are split, as in an audit (see `roc_gap_estimates`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from evenscore.inference.bootstrap import for_clusters, percentile_estimate
from evenscore.inference.estimate import (
    SMALL_CELL,
    Estimate,
    EstimateSettings,
    GapKey,
    check_count,
    check_level,
    counted,
)
from evenscore.inference.intervals import normal_quantile, t_test
from evenscore.inference.paired import Paired, PairedScores
from evenscore.inference.redrawing import times_drawn
from evenscore.scores import CLASSES, ClassName
from evenscore.scores.arrays import Floats, Ints, ratio
from evenscore.scores.distribution import RATE_TOLERANCE

_CHUNK = 1 << 15  # entries of the table of draws and people of a cell
_FEW_BEYOND = 10  # observations; measured in benchmarks/covering/paired.py
_DRAWS = 64  # at a time: shares offset by the number of the draw keep thirteen digits
_METHOD = "paired bootstrap, percentile"


@dataclass(frozen=True, eq=False)
class _Cell:
    """The people of a cell, sorted by one score."""

    order: Ints
    values: Floats
    weight: Floats

    @classmethod
    def of(cls, score: Floats, weight: Floats) -> "_Cell":
        order = np.argsort(score, kind="stable")
        return cls(order, score[order], weight[order])

    def cumulative(self, drawn: Ints) -> Floats:
        """Share of the weight up to each person, everybody counted as often as drawn, by draw."""
        sums = np.cumsum(self.weight * drawn[:, self.order], axis=1)
        # Nobody may be left of a cell whose clusters were not drawn: such a draw counts as none.
        return np.asarray(ratio(sums, sums[:, -1:], 1.0))


def paired_roc_gaps(
    pair: PairedScores,
    keys: Sequence[GapKey],
    classes: Sequence[ClassName],
    rates: Sequence[float],
    settings: EstimateSettings,
) -> list[Paired]:
    """The ROC gaps of the first score minus (and plus) those of the other.

    `keys` name the gaps: by class, pair of groups and rate. Percentile intervals; the p-value is at
    least 2/(n_resamples + 1). Where fewer than ten observations of a group are expected beyond the
    cut, draws repeat what few people do: an end of the interval is then the farther one of the
    percentile's and the normal law's, and a warning says so.
    """
    level = check_level(settings.confidence_level)
    n_resamples = check_count(settings.n_resamples, "n_resamples", 2)
    rng = np.random.default_rng(settings.random_state)
    groups, weight = pair.groups, pair.weights
    compared = list(combinations(range(len(groups)), 2))
    names = iter(keys)
    paired: list[Paired] = []
    for on in classes:
        rows = [
            np.flatnonzero((pair.cell == CLASSES.index(on) * len(groups) + k) & (weight > 0.0))
            for k in range(len(groups))
        ]
        empty = [groups[k] for k, own in enumerate(rows) if len(own) == 0]
        if empty:
            raise ValueError(f"There are no {on} of {empty[0]}, so gaps of it are undefined.")
        cells = [[_Cell.of(s[own], weight[own]) for own in rows] for s in pair.scores]
        once = [np.ones((1, len(own)), dtype=np.intp) for own in rows]
        values = np.concatenate([_gaps(side, once, compared, rates) for side in cells])
        draws = np.empty((2, n_resamples, len(compared), len(rates)))
        step = int(np.clip(_CHUNK // max(len(own) for own in rows), 1, _DRAWS))
        for start in range(0, n_resamples, step):
            part = slice(start, min(start + step, n_resamples))
            drawn = _times_drawn(pair.rows.cluster, rows, part.stop - start, rng)
            draws[:, part] = [_gaps(side, drawn, compared, rates) for side in cells]
            nobody = np.stack([own.sum(axis=1) == 0 for own in drawn])
            for p, sides in enumerate(compared):
                draws[:, part, p][:, nobody[list(sides)].any(axis=0)] = np.nan
        sizes = [_size(pair, own) for own in rows]
        for p, (i, j) in enumerate(compared):
            smaller = min(sizes[i], sizes[j])
            notes: tuple[str, ...] = ()
            if smaller < SMALL_CELL:
                notes = (f"the smaller sample is worth {counted(smaller)} only",)
            for r, rate in enumerate(rates):
                key = next(names)
                one, two = draws[:, :, p, r]
                sides = values[:, p, r].tolist()
                beyond = min(rate, 1.0 - rate) * smaller
                estimates = []
                for sign in (-1.0, 1.0):
                    blank = Estimate.of_key(
                        key, sides[0] + sign * sides[1], method=_METHOD, family="roc"
                    )
                    estimate = percentile_estimate(blank, one + sign * two, level)
                    if beyond < _FEW_BEYOND:
                        estimate = _widened(estimate, beyond)
                    estimate = for_clusters(estimate, pair.clusters_behind(key))
                    estimates.append(replace(estimate, warnings=(*notes, *estimate.warnings)))
                paired.append(Paired(*estimates))
    return paired


def _times_drawn(
    cluster: Ints | None, rows: list[Ints], size: int, rng: np.random.Generator
) -> list[Ints]:
    """How often the people of each cell are drawn: each by themselves, or with their cluster."""
    if cluster is None:
        return [times_drawn(len(own), size, rng) for own in rows]
    known, place = np.unique(cluster[np.concatenate(rows)], return_inverse=True)
    times = times_drawn(len(known), size, rng)
    ends = np.cumsum([len(own) for own in rows])[:-1]
    return [times[:, own] for own in np.split(place, ends)]


def _size(pair: PairedScores, own: Ints) -> float:
    """How many people the rows of a cell are worth at the least: so many as they have clusters."""
    weight = pair.weights[own]
    if pair.rows.cluster is not None:
        _, place = np.unique(pair.rows.cluster[own], return_inverse=True)
        weight = np.bincount(place, weight).astype(np.float64)
    return float(weight.sum() ** 2 / np.square(weight).sum())


def _gaps(
    cells: list[_Cell],
    drawn: list[Ints],
    pairs: list[tuple[int, int]],
    rates: Sequence[float],
) -> Floats:
    """The gap at every rate, by draw of the people and pair: shape (draws, pairs, rates).

    Ties are split, and the cut is made in the group where the gap is larger.
    """
    cumulative = [cell.cumulative(own) for cell, own in zip(cells, drawn, strict=True)]
    share = np.asarray(rates)
    draw = np.arange(len(drawn[0]))[:, None]
    # All draws at once: the shares of draw b lie in (b, b + 1].
    need = draw + (1.0 - share - RATE_TOLERANCE)
    cuts, parts = [], []
    for cell, shares in zip(cells, cumulative, strict=True):
        place = np.searchsorted((draw + shares).ravel(), need, side="left")
        cut = cell.values[np.maximum(place - draw * len(cell.values), 0)]
        under, up_to = _below(cell, shares, cut)
        tied = up_to - under
        missing = share - (1.0 - up_to)  # of the rate, after those above the cut
        cuts.append(cut)
        parts.append(np.clip(ratio(missing, tied, 0.0), 0.0, 1.0))

    def cut_in(i: int, j: int) -> Floats:
        under, up_to = _below(cells[j], cumulative[j], cuts[i])
        return np.asarray(1.0 - up_to + parts[i] * (up_to - under) - share)

    gaps = np.empty((len(draw), len(pairs), len(share)))
    for p, (i, j) in enumerate(pairs):
        one, two = cut_in(i, j), -cut_in(j, i)
        gaps[:, p] = np.where(np.abs(one) >= np.abs(two), one, two)
    return gaps


def _below(cell: _Cell, shares: Floats, cuts: Floats) -> tuple[Floats, Floats]:
    """Shares of a cell below the cuts, and up to them, by draw."""
    left, right = (np.searchsorted(cell.values, cuts, side=side) for side in ("left", "right"))
    under, up_to = (
        np.where(k > 0, np.take_along_axis(shares, np.maximum(k, 1) - 1, axis=1), 0.0)
        for k in (left, right)
    )
    return under, up_to


def _widened(estimate: Estimate, beyond: float) -> Estimate:
    """The interval that holds the normal law's as well, for few observations beyond the cut."""
    e, error = estimate, estimate.standard_error
    half = normal_quantile(0.5 + e.confidence_level / 2.0) * error
    p_value = e.p_value
    if error > 0.0:
        p_value = max(p_value, t_test(e.value, error, e.degrees_of_freedom))
    note = f"{counted(beyond)} can be expected beyond the cut: the interval is wide"
    return replace(
        e,
        low=min(e.low, e.value - half),
        high=max(e.high, e.value + half),
        method="paired bootstrap, percentile and normal",
        p_value=p_value,
        warnings=(note,),
    )
