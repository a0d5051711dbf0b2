"""Cells seen through the logistic kernel: what surrogate gaps are functions of.

The surrogate of an AUC between two cells is the mean over pairs of σ((s_b − s_a)/h), σ the logistic
function and h the bandwidth. All n scores need sums Σ_a w_a σ((x − s_a)/h), a convolution: scores
are put on a grid of step h/16 with four-point Lagrange weights, the grid is convolved with the
kernel by FFT, and sums and derivatives are read off at any score with the same weights. Whatever
the scores, the error of a surrogate AUC is below 2e-7 (as a rule 1e-8, where cells hold dozens of
different scores and h is a third of their deviation at most) and that of a slope, times h, below
1e-6, at a cost of O(n + G log G), G = 16 · range/h: no pair is left out and none is drawn.

A family of gaps that can be learned gives, from these cells, its surrogate gaps and the way back
from multipliers to *slopes*: the derivative at a score depends on the score and its cell only, and
so is a function on the grid for each cell.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evenscore.scores.arrays import Floats, Ints, chunks

_PER_BANDWIDTH = 16  # points of the grid: with four-point weights the errors are those said above
_MAX_POINTS = 1 << 20
_BEYOND = 8 * _PER_BANDWIDTH  # points on either side of the scores, where thresholds may lie
_FEW_THRESHOLDS = 12  # up to so many kernels are faster one by one than convolved


def logistic_slope(x: Floats) -> Floats:
    """σ'(x) = σ(x) σ(−x), without overflow.

    >>> logistic_slope(np.array([0.0, 1e4]))
    array([0.25, 0.  ])
    """
    from scipy.special import expit  # not before it is needed: an audit does without

    return np.asarray(expit(x) * expit(-x))


@dataclass(frozen=True)
class Grid:
    """Equally spaced points; functions on them are (rows × size) arrays, read between them."""

    start: float
    step: float
    size: int

    @property
    def points(self) -> Floats:
        """The points themselves."""
        return np.asarray(self.start + self.step * np.arange(self.size), dtype=np.float64)

    def place(self, x: Floats) -> tuple[Ints, tuple[Floats, ...]]:
        """The first of the four points around each x, and their Lagrange weights.

        Beyond the ends of the grid functions keep the values they have there.
        """
        position = np.asarray((x - self.start) / self.step)
        np.clip(position, 0.0, self.size - 1.0, out=position)
        index = position.astype(np.intp)  # rounded down: positions are not negative
        np.clip(index, 1, self.size - 3, out=index)
        t = np.subtract(position, index, out=position)
        index -= 1
        # With m = t(t − 1) they are m(2 − t)/6, (m/2 − 1)(t − 1), (1 − m/2)t and m(t + 1)/6. The
        # outer two add up to m/2 and the inner two to 1 − m/2.
        away = t - 1.0
        half = t * away
        half *= 0.5
        first = 2.0 - t
        first *= half
        first *= 1.0 / 3.0
        last = half - first
        half -= 1.0
        second = np.multiply(half, away, out=away)
        third = np.add(half, second, out=half)
        np.negative(third, out=third)
        return index, (first, second, third, last)

    def read(self, values: Floats, row: Ints, x: Floats) -> Floats:
        """`values` at x, each x in a row of its own; as many x as there are people."""
        answer = np.empty(len(x))
        for part in chunks(len(x)):
            answer[part] = self.read_at(values, row[part], self.place(x[part]))
        return answer

    def read_at(
        self, values: Floats, row: Ints | int, placed: tuple[Ints, tuple[Floats, ...]]
    ) -> Floats:
        """Like `read`, for a few x that have been placed already."""
        index, weights = placed
        flat = values.reshape(-1)
        base = index + row * self.size
        total: Floats = weights[0] * flat.take(base)
        for j in (1, 2, 3):
            base += 1
            part = flat.take(base)
            part *= weights[j]
            total += part
        return total


@dataclass(frozen=True, eq=False)
class SmoothCells:
    """The scores of each cell seen through the logistic kernel, on a common grid.

    `below[c]` is F_c(x) = Σ share · σ((x − s)/h), the smoothed distribution function of cell c, and
    `density[c]` its derivative; shares of a cell add up to one. `cell_weights`, (2, K), are the
    weights of the cells in the data.
    """

    grid: Grid
    bandwidth: float
    mass: Floats
    below: Floats
    density: Floats
    cell_weights: Floats

    @property
    def n_groups(self) -> int:
        """Number of groups, K."""
        return int(self.cell_weights.shape[1])

    @property
    def auc(self) -> Floats:
        """Surrogate AUC matrix: entry (i, j) is the mean of σ((s_j − s_i)/h) over all pairs."""
        return self.below @ self.mass.T

    def auc_slopes(self, coefficients: Floats) -> Floats:
        """Slopes of Σ V_ij AUC_ij: at a score of cell c, Σ_i (V_ic − V_ci) · density of cell i."""
        return np.asarray((coefficients - coefficients.T).T @ self.density)

    def pulled(self, coefficients: Floats, thresholds: Floats) -> Floats:
        """Σ_k C[c, k] k(x − t_k) on the grid, k the derivative of a share above t by a score.

        `coefficients` are (cells, thresholds). Many thresholds are put on the grid like scores and
        convolved with the kernel together, to the accuracy of the sums over scores.
        """
        if len(thresholds) <= _FEW_THRESHOLDS:
            away = (self.grid.points - thresholds[:, None]) / self.bandwidth
            return np.asarray(coefficients @ (logistic_slope(away) / self.bandwidth))
        size = self.grid.size
        index, weights = self.grid.place(thresholds)
        mass = np.zeros((len(coefficients), size))
        for j, weight in enumerate(weights):
            for row, own in zip(mass, coefficients * weight, strict=True):
                row += np.bincount(index + j, weights=own, minlength=size)
        return _convolved(mass, _kernels(size)[1]) / self.bandwidth

    def read_at(self, cells: Ints, positions: Floats) -> tuple[Floats, Floats]:
        """Smoothed distribution functions and densities of some cells, at a position each."""
        placed = self.grid.place(positions)
        below, density = (
            self.grid.read_at(part, cells, placed) for part in (self.below, self.density)
        )
        return below, density

    def thresholds(self, mixtures: Floats, rates: Floats) -> Floats:
        """Where mixtures of the cells, (mixtures, 2K), have shares above: (mixtures, rates).

        The rates are the same for every mixture. Exact on the smoothed distributions: the grid
        brackets each threshold, Newton's steps refine it.
        """
        grid, wanted = self.grid, 1.0 - rates
        below, density = mixtures @ self.below, mixtures @ self.density
        row = np.repeat(np.arange(len(mixtures)), len(rates)).reshape(len(mixtures), -1)
        high = np.stack([np.searchsorted(own, wanted) for own in below]).reshape(row.shape)
        high = np.clip(high, 1, grid.size - 1)
        low = high - 1
        ends = below[row, low], below[row, high]
        part = np.clip((wanted - ends[0]) / np.maximum(ends[1] - ends[0], 1e-300), 0.0, 1.0)
        at: Floats = np.asarray(grid.start + grid.step * (low + part), dtype=np.float64)
        for _ in range(2):
            placed = grid.place(at)
            left = grid.read_at(below, row, placed) - wanted
            step = left / np.maximum(grid.read_at(density, row, placed), 1e-12)
            at = at - np.clip(step, -grid.step, grid.step)
        return at


@dataclass(frozen=True, eq=False)
class Surrogate:
    """Smooth gaps of a family, and the way back: from multipliers to slopes (cells × grid)."""

    gaps: Floats
    slopes: Callable[[Floats], Floats]


def smooth_cells(
    score: Floats, cell: Ints, share: Floats, cell_weights: Floats, bandwidth: float
) -> SmoothCells:
    """Bin, then convolve. Scores so far apart that the grid would pass 2^20 points are refused.

    >>> s = smooth_cells(
    ...     np.array([0.0, 1.0]), np.array([0, 1]), np.ones(2), np.ones((2, 1)), bandwidth=0.5)
    >>> bool(abs(s.auc[0, 1] - 1 / (1 + np.exp(-2.0))) < 1e-8)
    True
    """
    n_cells = cell_weights.size
    step = bandwidth / _PER_BANDWIDTH
    low, high = float(score.min()), float(score.max())
    spread = (high - low) / step
    if not spread + 2.0 * _BEYOND < _MAX_POINTS - 1:
        raise ValueError(
            f"The scores spread over {(high - low) / bandwidth:.3g} bandwidths, too many to "
            "smooth; standardise them or take a larger bandwidth."
        )
    size = 1 << (int(np.ceil(spread)) + 2 * _BEYOND).bit_length()
    grid = Grid(low - _BEYOND * step, step, size)
    flat = np.zeros(n_cells * size)
    for rows in chunks(len(score), n_cells * size):
        index, weights = grid.place(score[rows])
        index += cell[rows] * size
        for weight in weights:
            weight *= share[rows]
            flat += np.bincount(index, weights=weight, minlength=n_cells * size)
            index += 1
    mass = flat.reshape(n_cells, size)
    spectrum = np.fft.rfft(mass, 4 * size)
    below, density = (
        np.fft.irfft(spectrum * kernel, 4 * size)[:, size : 2 * size] for kernel in _kernels(size)
    )
    return SmoothCells(grid, bandwidth, mass, below, density / bandwidth, cell_weights)


def _convolved(mass: Floats, kernel: NDArray[np.complex128]) -> Floats:
    """Functions on the grid, each convolved with a kernel given by its spectrum."""
    size = mass.shape[1]
    return np.asarray(
        np.fft.irfft(np.fft.rfft(mass, 4 * size) * kernel, 4 * size)[:, size : 2 * size]
    )


@lru_cache(maxsize=8)
def _kernels(size: int) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """Spectra of σ and σ' at the differences −size..size of grid points."""
    from scipy.special import expit

    x = np.arange(-size, size + 1) / _PER_BANDWIDTH
    return np.fft.rfft(expit(x), 4 * size), np.fft.rfft(logistic_slope(x), 4 * size)
