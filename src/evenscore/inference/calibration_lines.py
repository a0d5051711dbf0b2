"""Calibration slope and intercept: how the log-odds of being positive grow with the score.

In each group, log-odds P(Y = 1) = a + b x by maximum likelihood. If all scores lie strictly between
0 and 1, x is the log-odds of the score, so that a = 0 and b = 1 is perfect calibration, b < 1 means
scores that are too extreme; calibration in the large is the a for which b = 1 is held fixed.
Otherwise x is the score in standard deviations of everyone from everyone's mean: a and b then only
compare the groups.

The variance is the sandwich A⁻¹ B A⁻¹ with A = Σ w p(1 − p) x xᵀ and B = Σ g gᵀ, g = w (y − p) x,
summed over clusters first if there are clusters: it holds whether or not the line is the truth.
With few people B is too small: it is multiplied by n/(n − 2) and Student's law has n − 2 degrees of
freedom, n being four times the effective size of the smaller class, and at most that of both: with
clusters, the effective numbers of clusters.

The maximum exists if, and only if, positives and negatives overlap. Newton's method looks at blocks
of neighbouring scores of a cell for A and B, and at everybody for the gradient, which is zero at
the maximum: that is exact, and A and B are so to some six digits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenscore.inference.estimate import Estimates, check_level
from evenscore.inference.intervals import normal_quantile, student
from evenscore.scores import CLASSES, GroupedScores
from evenscore.scores.arrays import Floats, Ints
from evenscore.scores.distribution import Distribution

LEAST_OF_CLASS = 10
"""Fewer (effective) people of a class give no interval: it would be a guess."""

_BLOCKS = 1_000  # of a cell
_ALIKE = 1e-9  # standard deviations of everyone: scores nearer than that are one
_NEAR = 1e-5  # a step of Newton's method so short is the last: the next would be its square


@dataclass(frozen=True, eq=False)
class CalibrationLines:
    """Intercepts and slopes of everyone, then of each group.

    `logits` says that x is the log-odds of the score; otherwise it is (score − centre)/scale, and
    there is no calibration `in_the_large`.
    """

    groups: tuple[str, ...]
    confidence_level: float
    logits: bool
    centre: float
    scale: float
    intercept: Estimates
    slope: Estimates
    in_the_large: Estimates


def calibration_lines(scores: GroupedScores, *, confidence_level: float = 0.95) -> CalibrationLines:
    """The calibration slope and intercept of everyone and of each group, with intervals.

    >>> rng = np.random.default_rng(0)
    >>> score = rng.uniform(0.05, 0.95, 4000)
    >>> y, groups = rng.random(4000) < score, ["a", "b"] * 2000
    >>> lines = calibration_lines(GroupedScores.from_arrays(y, score, sensitive_features=groups))
    >>> lines.slope.low.max() < 1.0 < lines.slope.high.min()
    np.True_
    """
    level = check_level(confidence_level)
    score, k = scores.score, scores.n_groups
    logits = bool(len(score) and score[0] > 0.0 and score[-1] < 1.0)
    unit = 1.0 if logits else max(float(np.abs(score).max(initial=0.0)), 1e-300)
    x = np.log(score) - np.log1p(-score) if logits else score / unit
    total = scores.cell_weights.sum()
    centre = float(x @ scores.weight / total)
    scale = float(np.sqrt(np.square(x - centre) @ scores.weight / total))
    unit_of_x = scale or 1.0
    order = np.argsort(scores.cell, kind="stable")
    ends = np.cumsum(np.bincount(scores.cell, minlength=scores.n_cells))[:-1]
    by_cell = zip(
        np.split((x[order] - centre) / unit_of_x, ends),
        np.split(order, ends),
        scores.cell_distributions,
        strict=True,
    )
    cells = [_Cell(*parts, positive=c >= k) for c, parts in enumerate(by_cell)]
    line = _Line(scores, centre, unit_of_x, normal_quantile(0.5 + level / 2.0), logits)
    fits = [line.fit(own) for own in (cells, *((cells[g], cells[k + g]) for g in range(k)))]
    intercept, slope, large = (_estimates([fit[j] for fit in fits]) for j in range(3))
    names = "everyone", *scores.names
    return CalibrationLines(
        names, level, logits, centre * unit, scale * unit, intercept, slope, large
    )


_Found = tuple[float, float, float, str]  # a number, the ends of its interval, and why none


def _none(reason: str) -> _Found:
    return np.nan, np.nan, np.nan, reason


def _estimates(found: Sequence[_Found]) -> Estimates:
    value, low, high = np.array([entry[:3] for entry in found], dtype=np.float64).T
    return Estimates(value, low, high, tuple(entry[3] for entry in found))


class _Cell:
    """The people of a cell: their standardised x, increasing, their rows of the table, weights.

    `blocks` are x, weights and squared weights of neighbours taken together, or of everybody if
    they are few.
    """

    def __init__(self, x: Floats, rows: Ints, sample: Distribution, *, positive: bool) -> None:
        self.x, self.rows, self.positive = x, rows, positive
        self.plain = sample.counts is None and sample.weights.strides == (0,)
        self.weight = sample.weights
        self.size, self.exact = sample.independent_size, len(x) <= 2 * _BLOCKS
        if self.exact:
            self.blocks = np.stack([x, sample.weights, sample.row_squares])
            return
        starts = np.linspace(0, len(x), _BLOCKS, endpoint=False).astype(np.intp)
        if self.plain:
            counts = np.diff(starts, append=len(x)).astype(np.float64)
            self.blocks = np.stack([np.add.reduceat(x, starts) / counts, counts, counts])
        else:
            columns = (x * sample.weights, sample.weights, sample.row_squares)
            self.blocks = np.stack([np.add.reduceat(column, starts) for column in columns])
            self.blocks[0] /= self.blocks[1]

    def off(self, place: Floats) -> Floats:
        """The residuals y − p."""
        from scipy.special import expit

        found: Floats = expit(place[0] + place[1] * self.x)
        return np.subtract(float(self.positive), found, out=found)

    def gradient(self, place: Floats) -> Floats:
        """Σ w (y − p)(1, x)."""
        off = self.off(place)
        off = off if self.plain else off * self.weight
        return np.array([off.sum(), off @ self.x])


@dataclass(frozen=True, eq=False)
class _Line:
    """What all lines of a table share."""

    scores: GroupedScores
    centre: float
    scale: float
    z: float
    logits: bool

    def fit(self, cells: Sequence[_Cell]) -> tuple[_Found, _Found, _Found]:
        """Intercept, slope and calibration in the large of the people of some cells."""
        cells = [cell for cell in cells if len(cell.x)]
        large = "" if self.logits else "the scores do not lie strictly between 0 and 1"
        sizes = [sum(c.size for c in cells if c.positive == positive) for positive in (0, 1)]
        missing = [name for name, size in zip(CLASSES, sizes, strict=True) if not size]
        if missing:
            reason = f"there are no {' and no '.join(missing)}"
            return _none(reason), _none(reason), _none(large or reason)
        small = ""
        if min(sizes) < LEAST_OF_CLASS:
            kind = "clusters" if self.scores.is_clustered else "observations"
            small = f"no interval: a class is worth fewer than {LEAST_OF_CLASS} {kind}"
        reason = _why_none(cells)
        lines = _none(reason), _none(reason)
        shift, unit = (self.centre / self.scale, self.scale) if self.logits else (0.0, 1.0)
        if not reason:
            place, covariance, freedom = self._maximum(cells, sizes, None)
            turn = np.array([[1.0, -shift], [0.0, 1.0 / unit]])
            value, variance = turn @ place, np.diag(turn @ covariance @ turn.T)
            lines = (
                self._found(value[0], variance[0], freedom, small),
                self._found(value[1], variance[1], freedom, small),
            )
        if large:
            return *lines, _none(large)
        place, covariance, freedom = self._maximum(cells, sizes, self.scale)
        return *lines, self._found(place[0] - self.centre, covariance[0, 0], freedom, small)

    def _found(self, value: float, variance: float, freedom: float, small: str) -> _Found:
        if np.isnan(value):
            return _none("the likelihood has no clear maximum")
        if small:
            return value, np.nan, np.nan, small
        half = float(student(np.asarray(self.z), np.asarray(freedom)))
        half *= float(np.sqrt(max(variance, 0.0)))
        return value, value - half, value + half, ""

    def _maximum(
        self, cells: Sequence[_Cell], sizes: Sequence[float], slope: float | None
    ) -> tuple[Floats, Floats, float]:
        """(α, β), their covariance and its degrees of freedom; a slope that is given stays.

        NaN if Newton's method does not end, as where only one or two people are between the others.
        """
        free = 2 if slope is None else 1
        place = np.array([0.0, slope or 0.0])
        x, weight, square = np.concatenate([cell.blocks for cell in cells], axis=1)
        y = np.repeat([float(c.positive) for c in cells], [c.blocks.shape[1] for c in cells])
        for _ in range(200):
            step, inverse, off = _newton(x, y, weight, place, free)
            size = float(np.abs(step).max())
            # x has standard deviation one: a step of more than two may well go too far.
            place[:free] += step * min(1.0, 2.0 / max(size, 1e-300))
            if size < _NEAR:
                break
        if not size < _NEAR:
            return np.full(2, np.nan), np.full((2, 2), np.nan), 1.0
        if not all(cell.exact for cell in cells):
            for _ in range(20):
                gradient = np.sum([cell.gradient(place) for cell in cells], axis=0)
                step = inverse @ gradient[:free]
                place[:free] += step
                if np.abs(step).max() < _NEAR:
                    break
        number = max(min(4.0 * min(sizes), sum(sizes)), 3.0)
        factor, freedom = number / (number - 2.0), number - 2.0
        if self.scores.is_clustered:
            assert self.scores.clusters is not None
            columns = np.zeros((2, len(self.scores)))
            for cell in cells:
                columns[0, cell.rows] = cell.off(place)
                columns[1, cell.rows] = columns[0, cell.rows] * cell.x
            sums = self.scores.clusters.sums(columns[:free])
            meat = sums @ sums.T
        else:
            columns = np.stack([off, off * x])[:free]
            meat = (columns * square) @ columns.T
        return place, factor * inverse @ meat @ inverse, freedom


def _newton(
    x: Floats, y: Floats, weight: Floats, place: Floats, free: int
) -> tuple[Floats, Floats, Floats]:
    """A step of Newton's method from (α, β), of which the first `free` may move.

    Gives the step, the inverse of A, and the residuals y − p.
    """
    from scipy.special import expit

    p = expit(place[0] + place[1] * x)
    off, spread = y - p, weight * (p * (1.0 - p))
    heavy, pull = spread * x, weight * off
    cross = heavy.sum()
    matrix = np.array([[spread.sum(), cross], [cross, heavy @ x]])[:free, :free]
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:  # everybody is certain of being one or the other
        inverse = np.full((free, free), np.nan)
    return inverse @ np.array([pull.sum(), pull @ x])[:free], inverse, off


def _why_none(cells: Sequence[_Cell]) -> str:
    """Why there is no line, if there is none; both classes have somebody."""
    (low_0, high_0), (low_1, high_1) = (
        (
            min(cell.x[0] for cell in cells if cell.positive == positive),
            max(cell.x[-1] for cell in cells if cell.positive == positive),
        )
        for positive in (False, True)
    )
    if max(high_0, high_1) - min(low_0, low_1) <= _ALIKE:
        return "all scores are equal"
    if high_0 - low_1 <= _ALIKE or high_1 - low_0 <= _ALIKE:
        return "positives and negatives do not overlap: the slope has no bound"
    return ""
