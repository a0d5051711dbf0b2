"""Two scores of the same people: is one fairer, or better, than the other?

The people are the same, so the two values of a statistic move together and their difference is
known better than either. For what is linear in AUCs its variance is that of the difference of the
two influences of each person (DeLong's paired comparison, for gaps as well), summed by cluster if
rows belong to clusters; anything else is redrawn, both scores of a person together.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from evenscore.inference.aucs import no_interval, small_cells
from evenscore.inference.bootstrap import for_clusters, percentile_estimate
from evenscore.inference.cluster_sums import ClusterParts
from evenscore.inference.decisions import holm_steps, scaled
from evenscore.inference.estimate import (
    Estimate,
    EstimateSettings,
    GapKey,
    GapTest,
    Sampling,
    check_count,
    check_level,
)
from evenscore.inference.influence import (
    cell_freedom,
    check_sampling,
    linear_forms,
    overall_form,
    placement_moments,
    satterthwaite,
    small_sample_factor,
    unbiased,
)
from evenscore.inference.intervals import Intervals, largest_quantile, t_quantile, t_test
from evenscore.inference.redrawing import times_drawn
from evenscore.scores import CLASSES, GroupedScores
from evenscore.scores.arrays import Bools, Floats, Ints
from evenscore.scores.labels import label_text
from evenscore.scores.reading import Rows


@dataclass(frozen=True)
class Paired:
    """The difference x − y of two statistics of the same people, and their total x + y."""

    difference: Estimate
    total: Estimate

    @property
    def magnitude(self) -> Estimate:
        """|x| − |y|, with the range that it has where both intervals hold.

        |x| − |y| is x − y or x + y, or one of them turned round, depending on the signs of both,
        which are uncertain too. Since (|x| − |y|)(|x| + |y|) = (x − y)(x + y), it is
        ±min(|x − y|, |x + y|), positive if the two agree in sign, and monotone in either of them:
        its range is that of the corners. It leaves out zero if both intervals do, which happens by
        chance, |x| being |y|, with probability 1 − level at most.

        >>> difference = Estimate("gap", 0.4, 0.3, 0.5, 0.95, "t")  # of 0.2 and −0.2
        >>> total = Estimate("gap", 0.0, -0.1, 0.1, 0.95, "t")
        >>> size = Paired(difference, total).magnitude
        >>> size.value, size.low, size.high
        (0.0, -0.1, 0.1)
        """
        d, t = self.difference, self.total
        low, high = self.size_range((d.low, d.high), (t.low, t.high))
        return replace(
            d if abs(d.value) <= abs(t.value) else t,
            value=_smaller(d.value, t.value),
            low=low,
            high=high,
            p_value=float(np.maximum(d.p_value, t.p_value)),
        )

    @staticmethod
    def size_range(difference: Sequence[float], total: Sequence[float]) -> tuple[float, float]:
        """The range of |x| − |y| where x − y and x + y are between two ends each."""
        ends = [_smaller(a, b) for a, b in product(difference, total)]
        return min(ends), max(ends)


def _smaller(one: float, two: float) -> float:
    """The smaller of two magnitudes, negative if the signs differ."""
    if one == 0.0 or two == 0.0:
        return 0.0
    size = min(abs(one), abs(two))
    return size if (one > 0.0) == (two > 0.0) else -size


@dataclass(frozen=True, eq=False)
class PairedScores:
    """Two scores of the same people.

    >>> from evenscore.scores.reading import read_rows
    >>> score = np.sin(np.arange(200.0))
    >>> rows = read_rows(np.arange(200) % 2, np.arange(200) // 2 % 2)
    >>> paired_auc(PairedScores(rows, (score, score))).difference.value
    0.0
    """

    rows: Rows
    scores: tuple[Floats, Floats]

    @property
    def groups(self) -> tuple[Hashable, ...]:
        """The groups, in order."""
        return self.rows.groups

    @cached_property
    def weights(self) -> Floats:
        """One for everybody unless given."""
        weight = self.rows.weight
        return np.ones(len(self.rows)) if weight is None else weight

    @cached_property
    def cell(self) -> Ints:
        """Class · K + group of every person."""
        return self.rows.cell

    @cached_property
    def tables(self) -> tuple[GroupedScores, GroupedScores]:
        """The tables of the two scores."""
        one, two = (self.rows.grouped(score) for score in self.scores)
        return one, two

    def redrawn(self, drawn: Ints) -> tuple[GroupedScores, GroupedScores]:
        """The tables of the two scores of the people drawn."""
        rows = self.rows.take(drawn)
        one, two = (rows.grouped(score[drawn]) for score in self.scores)
        return one, two

    @cached_property
    def placements(self) -> tuple[Floats, Floats]:
        """(F_1(s), …, F_2K(s), 1) of every person's score s, (2K + 1, people), for either score."""
        found = []
        for score, table in zip(self.scores, self.tables, strict=True):
            table.require_cells()
            rows = np.ones((table.n_cells + 1, len(score)))
            for c, sample in enumerate(table.cell_distributions):
                below = sample.weight_below(score, inclusive=False)
                up_to = sample.weight_below(score, inclusive=True)
                rows[c] = (below + up_to) / (2.0 * sample.total)
            found.append(rows)
        return found[0], found[1]

    def linear(
        self,
        estimates: Sequence[Estimate],
        values: Sequence[Floats],
        forms: Sequence[Floats],
        level: float,
    ) -> list[Paired]:
        """Differences and totals of statistics with linear forms g, (statistics, 2K, 2K + 1)."""
        one, two = (
            self._influences(placements, side)
            for placements, side in zip(self.placements, forms, strict=True)
        )
        minus, plus = (self._variance_by_cell(g) for g in (one - two, one + two))
        return [
            Paired(
                self._estimate(blank, float(x - y), difference, level),
                self._estimate(blank, float(x + y), total, level),
            )
            for blank, x, y, difference, total in zip(estimates, *values, minus, plus, strict=True)
        ]

    def _influences(self, placements: Floats, forms: Floats) -> Floats:
        """g(s) of every person for every statistic, (statistics, people)."""
        cell = self.cell
        found = np.empty((len(forms), len(cell)))
        for c in range(2 * len(self.groups)):
            own = np.flatnonzero(cell == c)
            found[:, own] = forms[:, c] @ placements[:, own]
        return found

    @cached_property
    def parts(self) -> ClusterParts | None:
        """What each cluster has in each cell, of people who weigh something; None without any."""
        cluster, counted = self.rows.cluster, self.weights > 0.0
        if cluster is None:
            return None
        return ClusterParts.of(
            self.cell[counted], cluster[counted], self.weights[counted], 2 * len(self.groups)
        )

    @cached_property
    def sizes(self) -> tuple[Floats, Floats]:
        """Effective number, and number, of the people in each cell; of clusters, if there are."""
        if self.parts is not None:
            return self.parts.sizes, self.parts.counts
        table = self.tables[0]
        return table.effective_sizes.reshape(-1), table.cell_counts.reshape(-1)

    def clusters_behind(self, key: GapKey) -> float:
        """How many clusters each cell is worth at least that a gap is about; infinite without."""
        cluster = self.rows.cluster
        if self.parts is None or cluster is None or len(np.unique(cluster)) == len(cluster):
            return float("inf")
        names = [label_text(group) for group in self.groups]
        classes = CLASSES if key.on is None else (key.on,)
        cells = [
            CLASSES.index(name) * len(names) + names.index(group)
            for name in classes
            for group in (key.first, key.second)
        ]
        return float(self.parts.sizes[cells].min())

    def _variance_by_cell(self, influence: Floats) -> Floats:
        cell, weight = self.cell, self.weights
        sizes, counts = self.sizes
        found = np.zeros((len(influence), len(sizes)))
        if self.parts is not None:
            centred = influence.copy()
            for c in range(len(sizes)):
                own = cell == c
                centred[:, own] -= (influence[:, own] @ weight[own] / weight[own].sum())[:, None]
            counted = weight > 0.0
            total, within = (
                self.parts.sums((g * weight)[:, counted]) for g in (influence, centred)
            )
            factor = small_sample_factor(sizes, counts)
            found = self.parts.variance_by_cell(total, within, factor)
            for c in np.flatnonzero(sizes < 2.0).tolist():  # of one cluster nothing is known
                found[np.any(influence[:, cell == c] != 0.0, axis=1), c] = np.nan
            return found
        for c in range(len(sizes)):
            own = cell == c
            g, w = influence[:, own], weight[own]
            mean = (g @ w / w.sum())[:, None]
            square, within = np.square(g) @ np.square(w), np.square(g - mean) @ np.square(w)
            found[:, c] = unbiased(square, within, sizes[c], counts[c])
        return found

    def _estimate(self, blank: Estimate, value: float, by_cell: Floats, level: float) -> Estimate:
        table = self.tables[0]
        variance, freedom = satterthwaite(by_cell, cell_freedom(*self.sizes))
        if self.parts is not None:
            freedom = max(freedom * float(self.parts.overlap(by_cell[None] > 0.0)[0]), 1.0)
        error = float(np.sqrt(variance))
        if np.isnan(error):
            reason = no_interval(np.flatnonzero(np.isnan(by_cell)).tolist(), table)
            told = (reason,) if reason else ()
            return replace(blank, value=value, confidence_level=level, warnings=told)
        half = t_quantile(0.5 + level / 2.0, freedom) * error
        used = np.ones(len(by_cell), dtype=bool) if not blank.first else by_cell != 0.0
        return replace(
            blank,
            value=value,
            low=value - half,
            high=value + half,
            confidence_level=level,
            method="paired placement values, Student",
            standard_error=error,
            degrees_of_freedom=freedom,
            p_value=t_test(value, error, freedom),
            warnings=small_cells(np.flatnonzero(used | np.isnan(by_cell)).tolist(), table),
        )


def paired_auc(
    pair: PairedScores, *, confidence_level: float = 0.95, sampling: Sampling = "observations"
) -> Paired:
    """The overall AUC of the first score minus (and plus) that of the other."""
    level = check_level(confidence_level)
    check_sampling(sampling)
    values = [np.array([placement_moments(table).matrix.overall]) for table in pair.tables]
    forms = [overall_form(table, sampling)[None] for table in pair.tables]
    blank = Estimate("AUC", np.nan, np.nan, np.nan, np.nan, "")
    return pair.linear([blank], values, forms, level)[0]


def paired_auc_differences(
    pair: PairedScores,
    estimates: Sequence[Estimate],
    values: Callable[[GroupedScores], Floats],
    sides: Callable[[GroupedScores], Floats],
    *,
    proportions_vary: bool,
    confidence_level: float,
) -> list[Paired]:
    """Differences of two sides with coefficients `sides`, (2, gaps, 2K, 2K), of either score."""
    level = check_level(confidence_level)
    forms = []
    for table in pair.tables:
        coefficients = np.nan_to_num(sides(table))
        left, right = linear_forms(
            coefficients, placement_moments(table), proportions_vary=proportions_vary
        )
        forms.append(left - right)
    return pair.linear(estimates, [values(table) for table in pair.tables], forms, level)


def paired_bootstrap(
    pair: PairedScores,
    statistic: Callable[[GroupedScores], Floats],
    keys: Sequence[GapKey],
    family: str,
    settings: EstimateSettings,
) -> list[Paired]:
    """Any statistics of two scores of the same people, who are redrawn within their cells.

    With clusters whole clusters are redrawn, whatever cells their rows are in.
    """
    level = check_level(settings.confidence_level)
    check_count(settings.n_resamples, "n_resamples", 2)
    rng = np.random.default_rng(settings.random_state)
    people = replace(pair, rows=replace(pair.rows, cluster=None))
    rows_drawn = _rows_drawn(pair, rng)
    draws = np.empty((settings.n_resamples, 2, len(keys)))
    for k in range(settings.n_resamples):
        draws[k] = [statistic(table) for table in people.redrawn(next(rows_drawn))]
    values = np.array([statistic(table) for table in pair.tables])
    method = "paired bootstrap, percentile"
    paired = []
    for key, (one, two), drawn in zip(keys, values.T.tolist(), draws.T, strict=True):
        blank = Estimate.of_key(key, one - two, method=method, family=family)
        estimates = (
            percentile_estimate(blank, drawn[0] - drawn[1], level),
            percentile_estimate(replace(blank, value=one + two), drawn[0] + drawn[1], level),
        )
        paired.append(Paired(*(for_clusters(e, pair.clusters_behind(key)) for e in estimates)))
    return paired


def _rows_drawn(pair: PairedScores, rng: np.random.Generator) -> Iterator[Ints]:
    """Rows of ever new replicates: people within their cells, or whole clusters."""
    heavy = np.flatnonzero(pair.weights > 0.0)
    if pair.rows.cluster is None:
        own = [heavy[pair.cell[heavy] == c] for c in range(2 * len(pair.groups))]
        while True:
            yield np.concatenate(
                [some[rng.integers(0, len(some), len(some))] for some in own if len(some)]
            )
    _, cluster = np.unique(pair.rows.cluster[heavy], return_inverse=True)
    while True:
        times = times_drawn(int(cluster.max()) + 1, 1, rng)[0]
        yield np.repeat(heavy, times[cluster])


def size_changes(
    auc: Estimate, gaps: Sequence[Paired], level: float
) -> tuple[GapTest | None, list[GapTest | None]]:
    """The difference of two AUCs and those of the gaps' sizes, each tested against zero.

    Holm's procedure runs over all of them: with the confidence level none is told to differ that
    does not. The interval of a test is at the level at which the procedure tested it, and leaves
    out zero if, and only if, the adjusted p-value is at most one minus the level. Two scores
    without any difference of a statistic give None where it has no interval.
    """
    from scipy.special import ndtr, ndtri

    differences = scaled([auc, *(gap.difference for gap in gaps)])
    totals = scaled([auc, *(gap.total for gap in gaps)])  # of AUCs the difference alone counts
    n, alpha = len(gaps) + 1, 1.0 - level

    def leaves_out_zero(interval: Intervals, z: Floats) -> Bools:
        low, high = interval(z)
        return np.asarray((low > 0.0) | (high < 0.0))

    z = largest_quantile(lambda z: leaves_out_zero(differences, z) & leaves_out_zero(totals, z), n)
    undefined = np.isnan(differences(np.ones(n))[0]) | np.isnan(totals(np.ones(n))[0])
    steps = holm_steps(np.where(undefined, np.nan, 2.0 * ndtr(-z)), n, alpha)
    at = -ndtri(steps.level / 2.0)
    ends, others = np.transpose(differences(at)), np.transpose(totals(at))
    tests: list[GapTest | None] = []
    for k in range(n):
        if undefined[k]:
            tests.append(None)
            continue
        low, high = ends[k].tolist()
        if k:
            low, high = Paired.size_range((low, high), others[k].tolist())
        if steps.adjusted[k] > alpha:  # both are found to 1e-5
            low, high = min(low, 0.0), max(high, 0.0)
        tests.append(GapTest(float(steps.adjusted[k]), low, high, 1.0 - float(steps.level[k])))
    return tests[0], tests[1:]
