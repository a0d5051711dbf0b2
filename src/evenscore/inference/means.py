"""Standardised differences between the mean scores of two groups, with intervals.

    d = (m₁ − m₂)/s,    s² = (SS₁ + SS₂)/(N − 2),

m being means, SS sums of squares around a group's own mean and N the number of people of both:
Cohen's d with the pooled standard deviation within groups. With weights, means and SS/N are
weighted, and N in the factor N/(N − 2) is the effective number (Σw)²/Σw².

An observation of weight w at a distance x from the mean of its group, 1 or 2, moves d by

    ± w x/(W s) − d w (x² − s₀²)/(2 s₀² (W₁ + W₂)),    s₀² = (SS₁ + SS₂)/(W₁ + W₂),

to first order, whatever the law of the scores; the variance is the sum of squares of that, summed
by cluster first if there are clusters. It is a quadratic form in the sums of w, wx and wx² of
clusters (or people) in cells, whose second moments are collected once for all pairs and classes.

In a table of bins everybody has the highest score of their bin, and may have up to δ, its width,
less: the mean of a group is lower by the mean of its δ at most, and s₀, a distance from the means,
is off by the root of the mean δ² of both groups at most. The interval is wider by as much as that
moves d.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from evenscore.inference.estimate import Estimates, check_level
from evenscore.inference.influence import cell_freedom, small_sample_factor
from evenscore.inference.intervals import normal_quantile, student
from evenscore.scores import CLASSES, GroupedScores
from evenscore.scores.arrays import Floats, ratio
from evenscore.scores.brackets import has_open_bins
from evenscore.scores.distribution import Distribution
from evenscore.scores.table import OneOrBoth, class_names


class MeanDifferences:
    """The standardised mean differences of a table, of any pairs of groups and any class.

    >>> y, groups = [0, 1] * 20, ["a"] * 20 + ["b"] * 20
    >>> scores = GroupedScores.from_arrays(y, [1, 3] * 10 + [2, 4] * 10, sensitive_features=groups)
    >>> found = MeanDifferences(scores).between([(1, 0)])
    >>> found.value.round(3), found.low.round(2)  # 1/√(40/38)
    (array([0.975]), array([0.33]))
    """

    def __init__(self, scores: GroupedScores) -> None:
        self.scores = scores
        k = scores.n_groups
        low, high = (scores.score[0], scores.score[-1]) if len(scores) else (0.0, 0.0)
        # d knows no unit: fourth powers of scores as they come may leave the range of doubles.
        self._centre, self._unit = low / 2.0 + high / 2.0, max(high / 2.0 - low / 2.0, 1e-300)
        self._weight = scores.cell_weights
        self._mean, self._squares = np.zeros((2, 2, k))  # of the cells: means and Σwx²
        self._second = np.zeros((scores.n_cells, 3, scores.n_cells, 3))
        for c, cell in enumerate(scores.cell_distributions):
            if len(cell):
                at = divmod(c, k)
                self._mean[at], self._squares[at], own = self._moments(cell)
                powers = np.add.outer(np.arange(3), np.arange(3))
                self._second[c, :, c, :] = own[powers]
        if scores.is_clustered:
            self._second = self._by_cluster()

    def _moments(self, cell: Distribution) -> tuple[float, float, Floats]:
        """Mean, Σwx² and Σw²x⁰ … Σw²x⁴ of a cell, x being distances from its mean."""
        values = (cell.values - self._centre) / self._unit
        if cell.counts is None and cell.weights.strides == (0,):  # one person of weight 1 a row
            mean = float(values.mean())
            x = values - mean
            square = x * x
            powers = [len(x), 0.0, square.sum(), square @ x, square @ square]
            return mean, powers[2], np.array(powers)
        mean = float(values @ cell.weights) / cell.total
        x = values - mean
        second = cell.row_squares[None] * np.stack([x**j for j in range(5)])
        return mean, float(np.square(x) @ cell.weights), second.sum(axis=1)

    def _by_cluster(self) -> Floats:
        """Sums over clusters of the products of their sums of w, wx and wx² in any two cells."""
        scores, n = self.scores, self.scores.n_cells
        assert scores.clusters is not None
        cell = scores.cell.astype(np.intp)
        x = (scores.score - self._centre) / self._unit - self._mean.reshape(-1)[cell]
        sums = [scores.clusters.sums_by_place(cell, n, values) for values in (None, x, x * x)]
        total = np.zeros((3 * n, 3 * n))
        for parts in zip(*sums, strict=True):
            by_cell = np.stack(parts, axis=1).reshape(3 * n, -1)
            total += by_cell @ by_cell.T
        return total.reshape(n, 3, n, 3)

    def between(
        self,
        pairs: Sequence[tuple[int, int]],
        on: OneOrBoth = "both",
        *,
        confidence_level: float = 0.95,
    ) -> Estimates:
        """Those of pairs of groups (the first minus the second), within a class or overall."""
        level = check_level(confidence_level)
        if not pairs:
            return Estimates.unknown(())
        scores, z = self.scores, normal_quantile(0.5 + level / 2.0)
        classes = [CLASSES.index(name) for name in class_names(on)]
        weight, squares, counts = (
            column[classes].sum(axis=0)
            for column in (self._weight, scores.cell_squares, scores.cell_counts)
        )
        mean = ratio((self._weight * self._mean)[classes].sum(axis=0), weight)
        off = np.nan_to_num(self._mean[classes] - mean)  # of the cells' means from their group's
        around = (self._squares[classes] + self._weight[classes] * off**2).sum(axis=0)
        one, two = np.array(pairs, dtype=np.intp).T
        total = weight[one] + weight[two]
        plain = ratio(around[one] + around[two], total, 0.0)
        number = ratio(total**2, squares[one] + squares[two], 0.0)
        scale = np.sqrt(plain * ratio(number, number - 2.0))
        value = ratio(mean[one] - mean[two], scale)

        cells = np.array(classes)[:, None] * scores.n_groups + np.arange(scores.n_groups)
        sizes = ratio(weight**2, squares, 0.0)
        if scores.is_clustered:
            own = self._second[cells[:, None], 0, cells[None], 0].sum(axis=(0, 1))
            sizes = counts = ratio(weight**2, own, 0.0)
        bend = -value * ratio(0.5, plain * total)
        parts = []
        for group, sign in ((one, 1.0), (two, -1.0)):
            tilt, shift = sign * ratio(1.0, weight[group] * scale), off[:, group]
            level_of = -bend * plain + tilt * shift + bend * shift**2
            form = np.stack(
                [level_of, tilt + 2.0 * bend * shift, np.broadcast_to(bend, shift.shape)]
            )
            parts.append(form * np.sqrt(small_sample_factor(sizes, counts)[group]))
        forms = np.concatenate(parts, axis=1).transpose(2, 1, 0)  # (pairs, cells, 3)
        used = np.concatenate([cells[:, one], cells[:, two]]).T
        second = self._second[used[:, :, None], :, used[:, None, :], :]
        by_cell = np.einsum("pci,pcdij,pdj->pcd", forms, second, forms)
        variance = np.maximum(by_cell.sum(axis=(1, 2)), 0.0)
        n = len(classes)
        alone = [np.abs(by_cell[:, s, s].sum(axis=(1, 2))) for s in (slice(n), slice(n, None))]
        freedom = cell_freedom(sizes, counts)
        spread = sum(np.square(v) / freedom[g] for v, g in zip(alone, (one, two), strict=True))
        freedom = np.maximum(ratio(np.square(alone[0] + alone[1]), spread, 1.0), 1.0)
        half = student(np.asarray(z), freedom) * np.sqrt(variance)
        reasons = []
        for i, j, known in zip(one.tolist(), two.tolist(), plain > 0.0, strict=True):
            empty = [scores.names[g] for g in (i, j) if weight[g] == 0.0]
            few = [scores.names[g] for g in (i, j) if sizes[g] < 2.0]
            reason = ""
            if empty:
                whom = "nobody is" if on == "both" else f"there are no {on}"
                reason = f"{whom} in {' and '.join(empty)}"
            elif not known:
                reason = "within the groups the scores do not vary"
            elif few:
                unit = "clusters" if scores.is_clustered else "observations"
                reason = f"{' and '.join(few)}: worth less than two {unit}"
            reasons.append(reason)
        half[[bool(reason) for reason in reasons]] = np.nan
        down, up = np.zeros((2, len(pairs)))
        if has_open_bins(scores):
            first, second = (column[classes].sum(axis=0) for column in self._widths)
            moved, spread = ratio(first, weight, 0.0), second[one] + second[two]
            apart = np.sqrt(ratio(spread, total, 0.0)) * ratio(scale, np.sqrt(plain))
            ends = [
                ratio(mean[one] - mean[two] + by, np.maximum(scale + wide, 0.0))
                for by in (-moved[one], moved[two])
                for wide in (-apart, apart)
            ]
            # Were all scores of a group equal, d would have no end.
            endless = ~(apart < scale)
            down = np.where(endless, np.nan, value - np.min(ends, axis=0))
            up = np.where(endless, np.nan, np.max(ends, axis=0) - value)
            reasons = [
                reason or ("the bins of the scores are too wide to tell" if wide else "")
                for reason, wide in zip(reasons, endless.tolist(), strict=True)
            ]
        return Estimates(value, value - half - down, value + half + up, tuple(reasons))

    @cached_property
    def _widths(self) -> Floats:
        """Σwδ and Σwδ² of each cell, δ being by how much less a score may be, (2, 2, K)."""
        scores = self.scores
        assert scores.binned is not None
        lowest, highest = scores.binned.extent(scores.score)
        width = np.minimum(highest - lowest, self._unit * 1e9) / self._unit  # of one bin, no unit
        return np.stack([scores.by_cell(scores.weight * width**power) for power in (1, 2)])
