"""Analytic intervals of AUCs and of everything linear in them, by placement values.

The placement of a score s in cell j is F_j(s) = P(S_j < s) + ½ P(S_j = s). A statistic
θ = Σ W_ij AUC_ij changes, to first order, by w · g(s) when an observation of weight w and score s
is added to cell c, where g is linear in the placements of s (DeLong's argument):

    g_c(s) = (1/m_c) [ Σ_j W_cj (1 − F_j(s) − t_cj) + Σ_i W_ic (F_i(s) − t_ic) ],

m_c being the weight of cell c. With fixed proportions t_ij = AUC_ij; where the proportions are
those of the data, and the data a sample of people, the statistic is a ratio and t_ij = θ. The
variance is Σ w² g², and since g is linear, the second moments of the placements within each cell,
collected in one pass, give it for any W. Within a cell the factor n/(n − 1) makes it DeLong's
unbiased one. Where rows belong to clusters, w g is summed by cluster first: `cluster_sums`.
"""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from evenscore.inference.cluster_sums import ClusterParts, cluster_parts
from evenscore.inference.estimate import Sampling
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Bools, Floats, ratio
from evenscore.scores.aucs import AucMatrix, blocks, matrix_of_pairs

_CHUNK = 1 << 22  # influences of clusters handled at a time


@dataclass(frozen=True, eq=False)
class PlacementMoments:
    """Moments, within each cell, of the vector (F_1(s), …, F_2K(s), 1) of placements.

    `first[c]` is their sum weighted by w, `second[c]` the sum of their outer products weighted by
    w². `matrix` holds the AUCs, which are first moments too. `counts` and `effective_sizes` are
    numbers of observations by cell. If there are clusters, they are numbers of clusters, `parts`
    says what each has in each cell, `sums` are the placements weighted by w and summed over each
    part, (2K + 1, parts), and `rows` are the moments as if rows were independent.
    """

    matrix: AucMatrix
    first: Floats
    second: Floats
    counts: Floats
    effective_sizes: Floats
    parts: ClusterParts | None = None
    sums: Floats | None = None
    rows: "PlacementMoments | None" = None

    def variance_by_cell(self, forms: Floats) -> Floats:
        """Variance that each cell adds to statistics with linear forms g, shape (…, 2K, 2K + 1).

        Of a cell worth less than two observations it cannot be estimated. A placement lies between
        0 and 1, so that the variance of g is at most a quarter of (Σ|coefficients|)²: that bound
        takes its place. See `resting_on_bounds`.
        """
        if self.parts is not None:
            flat = forms.reshape(-1, *forms.shape[-2:])
            step = max(1, _CHUNK // (len(self.parts.cluster) + 1))
            chunks = [flat[k : k + step] for k in range(0, len(flat), step)]
            by_chunk = [self._variance_by_cluster(self.parts, chunk) for chunk in chunks]
            return np.concatenate(by_chunk).reshape(forms.shape[:-1])
        totals = self.first[:, -1]
        mean = np.einsum("...cj,cj->...c", forms, self.first)
        mean = ratio(mean, totals, 0.0)
        centred = forms.copy()
        centred[..., -1] -= mean
        # Both for all statistics in one product by cell: the second moments are large.
        by_cell = np.moveaxis(np.stack([forms, centred]).reshape(-1, *forms.shape[-2:]), 1, 0)
        spread = np.einsum("cni,cni->nc", np.matmul(by_cell, self.second), by_cell)
        square, within = spread.reshape(2, *forms.shape[:-1])
        bound = np.square(np.abs(forms[..., :-1]).sum(axis=-1)) * self.second[:, -1, -1] / 4.0
        found = np.where(
            self.effective_sizes < 2.0,
            bound + np.maximum(square - within, 0.0),
            unbiased(square, within, self.effective_sizes, self.counts),
        )
        return np.where(np.any(forms != 0.0, axis=-1), found, 0.0)

    def _variance_by_cluster(self, parts: ClusterParts, forms: Floats) -> Floats:
        """`variance_by_cell` of statistics with forms (statistics, 2K, 2K + 1), by cluster."""
        assert self.sums is not None
        total = np.zeros((len(forms), len(parts.cluster)))
        mean = ratio(np.einsum("ncj,cj->nc", forms, self.first), self.first[:, -1], 0.0)
        known = self.effective_sizes >= 2.0
        for c, own in enumerate(parts.slices()):
            if known[c]:
                total[:, own] = forms[:, c] @ self.sums[:, own]
        centred = total - np.repeat(mean * known, np.diff(parts.starts), axis=1) * parts.weight
        factor = np.where(known, small_sample_factor(self.effective_sizes, self.counts), 1.0)
        found = parts.variance_by_cell(total, centred, factor)
        bound = np.square(np.abs(forms[..., :-1]).sum(axis=-1)) * parts.squares / 4.0
        found = np.where(known, found, bound + np.square(mean) * parts.squares)
        return np.where(np.any(forms != 0.0, axis=-1), found, 0.0)

    @property
    def freedom(self) -> Floats:
        """Degrees of freedom of each cell's variance."""
        return cell_freedom(self.effective_sizes, self.counts)

    def totals(self, forms: Floats) -> tuple[Floats, Floats, Bools, Floats]:
        """Variance and degrees of freedom of linear forms g, whether it rests on bounds, its parts.

        The parts are those of the cells.
        """
        by_cell = self.variance_by_cell(forms)
        totals = [satterthwaite(row, self.freedom) for row in by_cell]
        variance, freedom = (np.array(column) for column in zip(*totals, strict=True))
        if self.parts is not None:
            freedom = np.maximum(freedom * self.parts.overlap(by_cell > 0.0), 1.0)
        return variance, freedom, self.resting_on_bounds(by_cell), by_cell

    def resting_on_bounds(self, by_cell: Floats) -> Bools:
        """Whether most of the variance, shape (…, 2K), is the bound of cells worth less than two.

        An interval then says nothing of the data.
        """
        alone = by_cell[..., self.effective_sizes < 2.0].sum(axis=-1)
        return np.asarray(alone > 0.5 * by_cell.sum(axis=-1))


def unbiased(square: Floats, within: Floats, n_eff: Floats, n: Floats) -> Floats:
    """Variance of a cell, Σ w² g², the part around its mean made unbiased; NaN if n_eff < 2."""
    factor = small_sample_factor(n_eff, n)
    # Rounding may leave −1e-20 where the variance is zero; NaN stays NaN.
    return np.maximum(factor * within + (square - within), 0.0)


def small_sample_factor(n_eff: Floats, n: Floats) -> Floats:
    """What makes a sum of squares around the mean of a cell unbiased; NaN if n_eff < 2.

    Without weights n/(n − 1). With weights the mean leans on the heavy observations: the factor is
    1/(1 − (2r² − r)/n), r = n/n_eff, exact to order 1/n for log-normal weights.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        r = n / n_eff
        factor = 1.0 / np.maximum(1.0 - (2.0 * r**2 - r) / n, 0.5)
    return np.where(n_eff >= 2.0, factor, np.nan)


def cell_freedom(n_eff: Floats, n: Floats) -> Floats:
    """Degrees of freedom of a cell's variance: n − 1, with weights n/r³ − 1, r = n/n_eff.

    A sum of squares of weighted observations varies more than their number tells.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.maximum(n * (n_eff / n) ** 3 - 1.0, 1.0)


_KNOWN: WeakKeyDictionary[GroupedScores, PlacementMoments] = WeakKeyDictionary()


def placement_moments(scores: GroupedScores) -> PlacementMoments:
    """The moments, collected in one pass over the sorted table; O(n K) plus a product of O(n K²).

    They are kept as long as the table is: every AUC notion is a function of them.
    """
    if scores not in _KNOWN:
        _KNOWN[scores] = _collected(scores)
    return _KNOWN[scores]


def _collected(scores: GroupedScores) -> PlacementMoments:
    n_cells = scores.n_cells
    totals = scores.cell_weights.reshape(-1)
    scale = ratio(1.0, totals, 0.0)
    pairs = np.zeros((n_cells, n_cells))
    second = np.zeros((n_cells, n_cells + 1, n_cells + 1))
    parts = cluster_parts(scores)
    kept = []  # the placements, which clusters need one by one
    for block in blocks(scores):
        placement = block.up_to - 0.5 * block.weight if block.tied else block.up_to
        pairs += placement @ block.weight.T
        placement = placement * scale[:, None]
        if block.tied:
            placement = placement[:, block.level]
        else:  # off the diagonal nothing is tied; on it, half of the observation itself
            cell = scores.cell[block.rows]
            own = scores.weight[block.rows] * scale[cell]
            placement[cell, np.arange(len(cell))] -= 0.5 * own
        _add_second_moments(second, placement, scores, block.rows)
        if parts is not None:
            kept.append(placement)
    matrix = matrix_of_pairs(scores, pairs)
    first = np.concatenate([matrix.ordered_pairs.T * scale, totals[:, None]], axis=1)
    counts, sizes = scores.cell_counts.reshape(-1), scores.effective_sizes.reshape(-1)
    alone = PlacementMoments(matrix, first, second, counts, sizes)
    if parts is None or scores.clusters is None:
        return alone
    placements = np.concatenate([np.empty((n_cells, 0)), *kept], axis=1)
    rows, weight = scores.clusters.row, scores.clusters.weight
    sums = np.array([*(parts.sums(row[rows] * weight) for row in placements), parts.weight])
    return PlacementMoments(matrix, first, second, parts.counts, parts.sizes, parts, sums, alone)


def _add_second_moments(
    second: Floats, placement: Floats, scores: GroupedScores, rows: slice
) -> None:
    cell, squares = scores.cell[rows], scores.weight_squared[rows]
    order = np.argsort(cell, kind="stable")
    ends = np.cumsum(np.bincount(cell, minlength=len(second)))
    columns = np.take(placement, order, axis=1)
    weighted = squares.strides != (0,)
    squares = squares[order] if weighted else squares
    start = 0
    for c, stop in enumerate(ends.tolist()):
        if stop > start:
            part = columns[:, start:stop]
            heavy = part * squares[start:stop] if weighted else part
            second[c, :-1, :-1] += heavy @ part.T
            sums = heavy.sum(axis=1)
            second[c, :-1, -1] += sums
            second[c, -1, :-1] += sums
            second[c, -1, -1] += squares[start:stop].sum() if weighted else stop - start
        start = stop


def linear_forms(
    coefficients: Floats, moments: PlacementMoments, *, proportions_vary: bool
) -> Floats:
    """Linear forms g, (…, 2K, 2K + 1), of statistics with coefficients (…, 2K, 2K).

    `proportions_vary` says whether the proportions in pooled populations are those of a sample of
    people, and so vary with it.
    """
    aucs = np.nan_to_num(moments.matrix.values)  # an empty cell is NaN there, and has no weight
    theta = np.sum(coefficients * aucs, axis=(-2, -1))
    centre = theta[..., None, None] if proportions_vary else aucs
    constant = np.sum(coefficients * (1.0 - centre), axis=-1) - np.sum(
        coefficients * centre, axis=-2
    )
    slope = np.swapaxes(coefficients, -1, -2) - coefficients
    forms = np.concatenate([slope, constant[..., None]], axis=-1)
    totals = moments.first[:, -1][:, None]
    return ratio(forms, totals, 0.0)


def overall_form(scores: GroupedScores, sampling: Sampling) -> Floats:
    """Linear form g of the overall AUC."""
    moments = placement_moments(scores)
    weights = np.zeros((scores.n_cells, scores.n_cells))
    weights[: scores.n_groups, scores.n_groups :] = np.nan_to_num(moments.matrix.pair_weights)
    return linear_forms(weights, moments, proportions_vary=sampling == "observations")


def satterthwaite(by_cell: Floats, freedom: Floats) -> tuple[float, float]:
    """Variance, and Welch and Satterthwaite's degrees of freedom, from those of the cells."""
    variance = float(by_cell.sum())
    if np.isnan(variance) or variance == 0.0:
        return variance, 1e9
    shares = by_cell / variance
    return variance, float(1.0 / np.sum(shares[shares > 0] ** 2 / freedom[shares > 0]))


def worth(clusters: Floats, rows: Floats, variance: Floats, alone: Floats) -> Floats:
    """How many independent people a sample is worth: the number of rows by the design effect.

    That is `variance`, with clusters, over what it would be if rows were independent, `alone`. It
    is at least the number of clusters, which takes its place where there is no variance.
    """
    finite = np.where(np.isinf(rows), 0.0, rows)  # `clusters` is so, too
    return np.maximum(clusters, finite * ratio(alone, variance, 0.0))


def check_sampling(sampling: Sampling) -> None:
    """Refuse what is neither 'observations' nor 'cells'."""
    if sampling not in ("observations", "cells"):
        raise ValueError(f"sampling must be 'observations' or 'cells', not {sampling!r}.")
