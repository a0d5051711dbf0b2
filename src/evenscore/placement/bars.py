"""Bars: a person enters at the first cut whose bar their log-odds reach.

Let η be the log-odds of a positive, λ the log-odds of the groups. The bar of cut j moves smoothly
with how likely each group is,

    bar_j(λ) = Σ_b φ_b(λ) t[j, b],   φ_b ≥ 0,   Σ_b φ_b = 1,   t[j, b] − t[j + 1, b] ≥ κ d_j,

φ being soft membership of a few knots and d_j the distance of the common bars, those of the score
without constraints. Of two people with the same λ the one with the larger η is never placed lower,
and κ > 0 keeps places from hanging on a hair: a place moves at most 1/κ times as fast with η as
where all bars are common.

The best bars maximise the AUC subject to the bands of a `Problem` and to the shares of the pools.
They are found by successive linear programs in a trust region: shares above the bars are smoothed
over a twentieth of the deviation of η, everything is linearised in t, and what exceeds a band or
misses a share is paid for by an exact penalty. They start from the best placement of atoms, which
knows no order of η. A price on differences between neighbouring knots
settles what the data leave open.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self, final

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.special import expit

from evenscore.placement.problem import Points, Problem
from evenscore.placement.program import best_placement
from evenscore.scores.arrays import Floats, Ints

_SMOOTH = 0.05  # deviations of η: over them counts at a bar are smoothed
_PENALTY = 1.0  # of AUC for a gap of 1 beyond its band at one cut: more than bands cost, as a rule
_CUTS = 8.0  # as many cuts cost as much; of fewer each is dearer
_PRICE = 0.01  # of AUC, times κ, for a difference of 1 between two neighbouring knots at every cut
_RADIUS, _LEAST, _MOST = 0.5, 0.004, 1.0  # of the trust region, in log-odds
_TURN = 0.3  # deviations of η by which first bars are above and below the common ones
_NEAR = 0.15  # its first radius around bars that are known to be good
_BETTER = {False: 1e-4, True: 1e-5}  # what a step must add, in AUC; on hard counts
_PARTS = 12  # of the log-odds of those near a knot, as atoms of the program that first bars are of
_LOOSER = (0.0, 0.01, 0.02, 0.05)  # what is added to tolerances until that program can meet them
_POINTS = 10_000  # that bars are found on; hard counts are those of all


@final
@dataclass(frozen=True, eq=False)
class Knots:
    """Soft membership of a few centres, of what is known of the groups; it adds up to one."""

    mean: Floats
    scale: Floats
    centres: Floats
    width: float

    @classmethod
    def fit(cls, groups: Floats, number: int, widen: float) -> Self:
        """Centres by k-means of at most 5,000 rows, as far apart as their neighbours are wide."""
        from sklearn.cluster import KMeans

        mean, scale = groups.mean(axis=0), groups.std(axis=0)
        scale = np.where(scale > 1e-9, scale, 1.0)
        order = np.lexsort(groups.T)
        some = order[np.linspace(0, len(order) - 1, min(len(order), 5000)).astype(np.intp)]
        rows = (groups[some] - mean) / scale
        number = min(number, len(np.unique(rows.round(9), axis=0)))
        found = KMeans(number, n_init=3, max_iter=50, random_state=0).fit(rows)
        centres = found.cluster_centers_
        apart = _distances(centres, centres) + np.diag(np.full(number, np.inf))
        nearest = float(np.median(apart.min(axis=1))) if number > 1 else 1.0
        return cls(mean, scale, centres, max(widen * nearest, 0.1))

    @classmethod
    def one(cls, width: int) -> Self:
        """A single knot: bars that are the same for all."""
        return cls(np.zeros(width), np.ones(width), np.zeros((1, width)), 1.0)

    def __len__(self) -> int:
        return len(self.centres)

    def __call__(self, groups: Floats) -> Floats:
        """Membership, (n, B)."""
        square = _distances((groups - self.mean) / self.scale, self.centres) ** 2
        part = np.exp(-(square - square.min(axis=1, keepdims=True)) / (2.0 * self.width**2))
        return np.asarray(part / part.sum(axis=1, keepdims=True))

    @property
    def neighbours(self) -> Ints:
        """The pairs of knots of the shortest tree that joins all, (B − 1, 2)."""
        tree = minimum_spanning_tree(_distances(self.centres, self.centres)).tocoo()
        return np.column_stack([tree.row, tree.col]).astype(np.intp)

    @property
    def turns(self) -> Floats:
        """1 and −1 by turns along the axis on which the centres differ most, (B,)."""
        centred = self.centres - self.centres.mean(axis=0)
        along = centred @ np.linalg.svd(centred, full_matrices=False)[2][0]
        return np.asarray((-1.0) ** np.argsort(np.argsort(along)))


def _distances(one: Floats, other: Floats) -> Floats:
    square = np.zeros((len(one), len(other)))
    for here, there in zip(one.T, other.T, strict=True):
        square += (here[:, None] - there) ** 2
    return np.sqrt(square)


def common_bars(problem: Problem, points: Points) -> Floats:
    """The log-odds at which each pool has its share above, (J,): bars that know no group."""
    cuts = zip(problem.pools, problem.above.tolist(), strict=True)
    heights = np.array([points.height(pool, share) for pool, share in cuts])
    return np.minimum.accumulate(heights)  # other points than those that ordered the cuts


@final
@dataclass(frozen=True, eq=False)
class Crowd:
    """Points by cell with their membership of the knots: shares above bars, and their slopes."""

    odds: Floats
    membership: Floats
    part: Floats
    ends: Ints
    smooth: float

    @classmethod
    def of(cls, points: Points, membership: Floats, smooth: float) -> Self:
        """Points in the order of their cells, each with its part of its cell's weight."""
        order = np.argsort(points.cell, kind="stable")
        masses = points.masses
        part = (points.weight / np.where(masses > 0.0, masses, 1.0)[points.cell])[order]
        counts = np.bincount(points.cell, minlength=2 * points.n_groups)
        ends = np.append(0, np.cumsum(counts))
        return cls(points.odds[order], membership[order], part, ends, smooth)

    def beyond(self, bars: Floats) -> Floats:
        """By how much each point's log-odds exceed its bars, (n, J)."""
        return np.asarray(self.odds[:, None] - self.membership @ bars.T)

    def shares(self, beyond: Floats, *, hard: bool) -> Floats:
        """The shares of the cells above each bar, (2K, J), counted or smoothed."""
        above = (beyond >= 0.0).astype(np.float64) if hard else expit(beyond / self.smooth)
        return np.array([self.part[some] @ above[some] for some in self._cells])

    def slopes(self, beyond: Floats) -> Floats:
        """How the smoothed shares change with the bars of the knots, (2K, J, B)."""
        near = expit(beyond / self.smooth)
        near *= 1.0 - near
        near *= self.part[:, None] / -self.smooth
        return np.array([near[some].T @ self.membership[some] for some in self._cells])

    @property
    def _cells(self) -> list[slice]:
        return [slice(*ends) for ends in pairwise(self.ends)]


@final
@dataclass(eq=False)
class Search:
    """Successive linear programs for the bars of the knots, (J, B)."""

    problem: Problem
    crowd: Crowd
    neighbours: Ints
    common: Floats
    smoothness: float
    hard: bool = False

    def __post_init__(self) -> None:
        problem, width = self.problem, self.crowd.membership.shape[1]
        cuts, edges = len(problem.above), len(self.neighbours)
        self.sizes = [1 if b.asked.averaged else len(b.at) for b in problem.bands]
        self.weights = [
            float(len(b.at) if b.asked.averaged else max(1.0, _CUTS / len(b.at)))
            for b in problem.bands
        ]
        self.price = _PRICE * self.smoothness / cuts
        self.apart = self.smoothness * -np.diff(self.common)
        # Columns: bars by cut, m of every item, its excess, pools too small and too large, and
        # differences between neighbours.
        items, self.size = sum(self.sizes), cuts * width
        self.ends = self.size + np.array([0, items, 2 * items, 2 * items + 2 * cuts])
        self.columns = int(self.ends[-1]) + edges * cuts
        self.cost = np.zeros(self.columns)
        self.cost[self.ends[1] : self.ends[2]] = _PENALTY * np.repeat(self.weights, self.sizes)
        self.dear = max([1.0, *self.weights])  # a pool that is missed, as much as any band
        self.cost[self.ends[2] : self.ends[3]] = self.dear
        self.cost[self.ends[3] :] = self.price
        self._bands, self._pools = self._templates(width)

    def _templates(self, width: int) -> tuple["_Template", "_Template"]:
        """The rows of all programs: bands, falling bars and neighbours; and the pools."""
        n_groups, cuts = len(self.problem.masses) // 2, len(self.problem.above)
        bands, pools, start = _Template(self.columns), _Template(self.columns), 0
        for band, size in zip(self.problem.bands, self.sizes, strict=True):
            items = start + np.arange(size)
            places = band.at[:, None] * width + np.arange(width)
            if band.asked.averaged:
                places = places.reshape(1, -1)
            for _ in range(n_groups):  # m − b ≤ r ≤ m + ε + b + excess
                middle, excess = (self.ends[k] + items[:, None] for k in (0, 1))
                bands.add(places, {1: -1.0, 2: -1.0}, middle, excess)
                bands.add(places, {1: 1.0}, middle, sign=-1.0)
            start += size
        rest = np.arange(width) + np.arange(cuts - 1)[:, None] * width
        falling = rest.reshape(-1, 1)
        bands.add(falling[:, :0], {1: -1.0, 2: 1.0}, falling, falling + width)
        one, other = (
            (np.arange(cuts)[:, None] * width + side).reshape(-1, 1) for side in self.neighbours.T
        )
        apart = self.ends[3] + np.arange(len(one))[:, None]
        for sign in (1.0, -1.0):
            bands.add(one[:, :0], {1: sign, 2: -sign, 3: -1.0}, one, other, apart)
        own = np.arange(cuts)[:, None]
        small, large = self.ends[2] + own, self.ends[2] + cuts + own
        pools.add(own * width + np.arange(width), {1: 1.0, 2: -1.0}, small, large)
        return bands, pools

    def merit(self, bars: Floats, shares: Floats) -> float:
        """The AUC, less what is beyond the bands, missing in the pools, and uneven."""
        beyond = sum(float(np.maximum(part, 0.0).sum()) for part in self._weighted(shares))
        missing = np.abs(np.sum(self.problem.pools * shares.T, axis=1) - self.problem.above)
        one, other = self.neighbours.T
        uneven = float(np.abs(bars[:, one] - bars[:, other]).sum())
        auc = area(self.problem, shares)[0]
        return auc - _PENALTY * beyond - self.dear * float(missing.sum()) - self.price * uneven

    def _weighted(self, shares: Floats) -> list[Floats]:
        excess = self.problem.excess(shares)
        return [weight * part for weight, part in zip(self.weights, excess, strict=True)]

    def run(self, bars: Floats, steps: int, radius: float = _RADIUS) -> Floats:
        """The best bars that so many programs find from some bars."""
        beyond = self.crowd.beyond(bars)
        shares = self.crowd.shares(beyond, hard=self.hard)
        best = self.merit(bars, shares)
        program = self._program(bars, shares, self.crowd.slopes(beyond))
        for _ in range(steps):
            step = self._solved(program, radius)
            if step is not None:
                new = bars + step.reshape(bars.shape)
                beyond = self.crowd.beyond(new)
                there = self.crowd.shares(beyond, hard=self.hard)
                merit = self.merit(new, there)
            if step is None or merit <= best + _BETTER[self.hard]:
                radius /= 3.0
                if radius < _LEAST:
                    break
                continue
            bars, shares, best, radius = new, there, merit, min(_MOST, 1.5 * radius)
            program = self._program(bars, shares, self.crowd.slopes(beyond))
        return bars

    def _program(self, bars: Floats, shares: Floats, slopes: Floats) -> dict[str, Any]:
        """The linear program around some bars, in what they are moved by."""
        problem = self.problem
        cost = self.cost.copy()
        by_share = area(problem, shares)[1]
        cost[: self.size] = -np.einsum("cj,cjb->jb", by_share, slopes).reshape(-1)
        limits, values = [], []
        for band in problem.bands:
            rates, moves = band.rates(shares, problem.masses)
            items = band.items(rates) + band.shift
            moved = _moved(moves, slopes[:, band.at], rates.shape[1])
            if band.asked.averaged:
                moved = moved * band.weights[:, None]
            for own, noise, part in zip(items.T, band.noise.T, moved, strict=True):
                limits += [band.tolerance + noise - own, own + noise]
                values += [part.reshape(-1)] * 2
        one, other = self.neighbours.T
        apart = (bars[:, one] - bars[:, other]).reshape(-1)
        gaps = (bars[:-1] - bars[1:] - self.apart[:, None]).reshape(-1)
        pooled = np.einsum("jc,cjb->jb", problem.pools, slopes)
        return {
            "c": cost,
            "A_ub": self._bands.filled(np.concatenate(values)),
            "b_ub": np.concatenate([*limits, gaps, -apart, apart]),
            "A_eq": self._pools.filled(pooled.reshape(-1)),
            "b_eq": problem.above - np.sum(problem.pools * shares.T, axis=1),
        }

    def _solved(self, program: dict[str, Any], radius: float) -> Floats | None:
        """What the bars are moved by, in a trust region; None if the solver found nothing."""
        low, high = np.zeros(self.columns), np.full(self.columns, np.inf)
        low[: self.size], high[: self.size] = -radius, radius
        low[self.size : self.ends[1]] = -np.inf
        found = linprog(**program, bounds=np.column_stack([low, high]), method="highs-ds")
        return None if found.x is None else np.asarray(found.x[: self.size])


class _Template:
    """A sparse matrix whose pattern is made once; some of its entries are filled in each time."""

    def __init__(self, columns: int) -> None:
        self.columns, self.rows, self.filled_in = columns, 0, 0
        self.entries: list[tuple[Ints, Ints, Floats, Ints]] = []

    def add(self, places: Ints, ones: dict[int, float], *columns: Ints, sign: float = 1.0) -> None:
        """Rows with entries to be filled in at `places`, and ones of a sign in single columns."""
        n, width = places.shape
        rows = self.rows + np.arange(n)
        source = self.filled_in + np.arange(n * width)
        signs = np.full(n * width, sign)
        self.entries.append((np.repeat(rows, width), places.reshape(-1), signs, source))
        for k, value in ones.items():
            own = columns[k - 1].reshape(-1)
            self.entries.append((rows, own, np.full(n, value), np.full(n, -1)))
        self.rows, self.filled_in = self.rows + n, self.filled_in + n * width

    def filled(self, values: Floats) -> Any:
        """The matrix, its open entries being these, in the order in which they were added."""
        if not hasattr(self, "_matrix"):
            rows, columns, signs, source = (
                np.concatenate(part) for part in zip(*self.entries, strict=True)
            )
            order = np.lexsort((columns, rows))
            ends = np.append(0, np.cumsum(np.bincount(rows, minlength=self.rows)))
            shape = self.rows, self.columns
            self._matrix = sparse.csr_matrix((signs[order], columns[order], ends), shape=shape)
            self._signs, self._source = signs[order], source[order]
        known = np.append(values, 1.0)  # the last is that of fixed entries, whose source is −1
        self._matrix.data = self._signs * known[self._source]
        return self._matrix


def _moved(moves: Floats, slopes: Floats, n_groups: int) -> Floats:
    """How the rate of each group at each cut moves with the bars there, (K, cuts, B)."""
    classes = moves.T.reshape(2, n_groups, -1, 1) * slopes.reshape(2, n_groups, *slopes.shape[1:])
    return np.asarray(classes.sum(axis=0))


def area(problem: Problem, shares: Floats) -> tuple[float, Floats]:
    """The area under the polygon through the cuts' rates, and its slopes by the shares, (2K, J)."""
    negatives, positives = problem.negatives, problem.positives
    false = np.concatenate([[0.0], negatives @ shares, [1.0]])
    true = np.concatenate([[0.0], positives @ shares, [1.0]])
    auc = 0.5 * float(np.sum(np.diff(false) * (true[1:] + true[:-1])))
    up, along = 0.5 * (false[2:] - false[:-2]), 0.5 * (true[:-2] - true[2:])
    return auc, positives[:, None] * up + negatives[:, None] * along


def find_bars(
    problem: Problem,
    points: Points,
    groups: Floats,
    knots: Knots,
    *,
    smoothness: float,
    start: Floats | None = None,
    steps: int = 40,
    polish: int = 0,
) -> Floats:
    """The best bars of the knots, (J, B).

    Parameters
    ----------
    problem : Problem
        What is asked.
    points : Points
        People no model has seen.
    groups : array of shape (n, dimensions)
        What is known of their groups, λ.
    knots : Knots
        Of these.
    smoothness : float
        κ: the least distance of bars, as a share of that of the common bars. A hundredth of it is
        the price, in AUC, of a difference of one between neighbouring knots at all cuts.
    start : array of shape (J, B), optional
        Bars to start from, with smaller steps; by default those of the best placement of atoms.
    steps, polish : int
        Programs at most, on smoothed counts of at most 20,000 points and then on the counts of all.
    """
    common, deviation = common_bars(problem, points), _deviation(points)
    bars = _first(problem, points, groups, knots, smoothness) if start is None else start
    smooth = max(_SMOOTH * deviation, 1e-6)
    first = _RADIUS if start is None else _NEAR
    for hard, count, radius in ((False, steps, first), (True, polish, _RADIUS / 10.0)):
        if count:
            index, some = (np.arange(len(points)), points) if hard else points.thinned(_POINTS)
            crowd = Crowd.of(some, knots(groups[index]), smooth)
            search = Search(problem, crowd, knots.neighbours, common, smoothness, hard)
            bars = search.run(bars, count, radius)
    return bars


def _first(
    problem: Problem, points: Points, groups: Floats, knots: Knots, smoothness: float
) -> Floats:
    """Bars that have as many above them near every knot as the best placement of atoms.

    Where there is none, for rates that are not linear or cuts of several pools, the common bars,
    moved up and down by turns: equal bars are a saddle. Where groups differ in spread some bars
    have to rise and others to fall, and no slope says which.
    """
    common, near = common_bars(problem, points), np.argmax(knots(groups), axis=1)
    inner = np.linspace(0.0, 1.0, _PARTS + 1)[1:-1]
    masses = np.zeros((len(knots), _PARTS, len(problem.masses)))
    for b in range(len(knots)):
        own = points.rows(near == b)
        if len(own):
            part = np.searchsorted(_quantiles(own, inner), own.odds, side="right")
            np.add.at(masses[b], (part, own.cell), own.weight)
    above = _placed(problem, masses.reshape(-1, len(problem.masses)))
    if above is None:
        return np.asarray(common[:, None] + _TURN * _deviation(points) * knots.turns)
    bars, held = np.repeat(common[:, None], len(knots), axis=1), masses.sum(axis=2)
    above = above.reshape(len(knots), _PARTS, -1)
    for b in np.flatnonzero(held.sum(axis=1) > 0.0).tolist():
        share = np.clip(held[b] @ above[b] / held[b].sum(), 0.0, 1.0)
        bars[:, b] = _quantiles(points.rows(near == b), 1.0 - share)
    for j in range(1, len(common)):
        bars[j] = np.minimum(bars[j], bars[j - 1] - smoothness * (common[j - 1] - common[j]))
    return bars


def _quantiles(points: Points, levels: Floats) -> Floats:
    """The least log-odds that at least such shares of some points do not exceed."""
    order = np.argsort(points.odds, kind="stable")
    sums = np.cumsum(points.weight[order])
    place = np.searchsorted(sums, levels * sums[-1] * (1.0 - 1e-9))
    return np.asarray(points.odds[order][np.minimum(place, len(order) - 1)])


def _placed(problem: Problem, masses: Floats) -> Floats | None:
    """The parts of atoms above each cut in their best placement, within tolerances or near."""
    for more in _LOOSER:
        bands = tuple(replace(band, tolerance=band.tolerance + more) for band in problem.bands)
        try:
            asked = replace(problem, masses=masses.sum(axis=0), bands=bands)
            return best_placement(asked, masses).above
        except ValueError:
            continue
    return None


def _deviation(points: Points) -> float:
    mean = np.average(points.odds, weights=points.weight)
    return float(np.sqrt(np.average((points.odds - mean) ** 2, weights=points.weight)))


def shares_above(points: Points, membership: Floats, bars: Floats) -> Floats:
    """The shares of the cells above each bar, counted, (2K, J)."""
    crowd = Crowd.of(points, membership, 1.0)
    return crowd.shares(crowd.beyond(bars), hard=True)


def positions(odds: Floats, own: Floats, scale: float) -> Floats:
    """Where log-odds cross a person's bars, (n, J) from the strictest: cuts passed, with fractions.

    Beyond the first and the last bar positions approach J + 1 and 0 as d/(scale + d) approaches one
    with the distance d: nobody is beyond the end of the scale, whoever else is scored.
    """
    cuts = own.shape[1]
    passed = (own <= odds[:, None]).sum(axis=1)
    rows = np.arange(len(odds))
    above = own[rows, np.clip(cuts - passed - 1, 0, cuts - 1)]
    below = own[rows, np.clip(cuts - passed, 0, cuts - 1)]
    width = np.where(above > below, above - below, 1.0)
    beyond = np.abs(odds - np.where(passed == cuts, below, above))
    end = beyond / (scale + beyond)
    part = np.where(passed == cuts, end, np.where(passed == 0, 1.0 - end, (odds - below) / width))
    return np.asarray(passed + part)
