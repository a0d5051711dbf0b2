"""Permutation test of equal score distributions between two groups, within a class."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from evenscore.inference.bootstrap import RandomState
from evenscore.inference.decisions import adjust
from evenscore.inference.estimate import check_count
from evenscore.inference.redrawing import batch_sizes, share_clusters
from evenscore.scores import CLASSES, ClassName, GroupedScores, OneOrBoth, check_scores, class_names
from evenscore.scores.arrays import Floats, Ints
from evenscore.scores.distribution import Distribution

Statistic = Literal["auc", "supremum"]

_LEVELS = 4096  # unweighted samples with more distinct scores are cut into so many classes
_BATCH = 4_000_000
CROSSING = "clusters have rows of both groups, and so cannot be exchanged between them"
_WEIGHTED = ("exact only if weights are distributed alike in the two groups",)


@dataclass(frozen=True)
class PermutationTest:
    """Whether two groups have the same distribution of scores in a class.

    `value` is the statistic: |AUC − ½| ("auc"), which looks for one group scoring higher, or the
    largest distance of the two distribution functions ("supremum"), which sees any difference.
    """

    on: ClassName
    first: str
    second: str
    statistic: Statistic
    value: float
    p_value: float
    n_permutations: int
    adjusted_p_value: float = np.nan
    reason: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def is_bound(self) -> bool:
        """Whether no permutation came near the sample: more of them might have a lower p-value."""
        return self.p_value * (self.n_permutations + 1) < 1.5


def permutation_tests(
    scores: GroupedScores,
    *,
    on: OneOrBoth = "both",
    statistic: Statistic = "supremum",
    n_permutations: int = 999,
    pairs: Sequence[tuple[int, int]] | None = None,
    random_state: RandomState = 0,
) -> list[PermutationTest]:
    """Test every pair of groups (or `pairs` of positions) in every class.

    Holm's correction runs over all of them.

    People are exchanged between the two groups at random; if scores (and weights, together) are
    distributed alike in both, every exchange is as likely, and the level of the test is exact for
    any sample size, with ties. With weights the test therefore also reacts to weights that are
    distributed differently in the two groups; it then carries a warning. The p-value counts the
    sample itself: it is at least 1/(n_permutations + 1). An unweighted sample with more than 4,096
    distinct scores is first cut into as many classes, which keeps the level exact.

    With clusters whole clusters are exchanged, and the level is exact if clusters are distributed
    alike (their sizes too). Where a cluster has rows of both groups it cannot be exchanged: there
    is no test, and `reason` says so.

    >>> y, groups = [0] * 40 + [1] * 40, list("ab") * 40
    >>> scores = GroupedScores.from_arrays(y, range(80), sensitive_features=groups)
    >>> [test] = permutation_tests(scores, on="negatives")
    >>> test.p_value > 0.5
    True
    """
    check_scores(scores)
    if statistic not in ("auc", "supremum"):
        raise ValueError(f"statistic must be 'auc' or 'supremum', not {statistic!r}.")
    check_count(n_permutations, "n_permutations", 1)
    rng = np.random.default_rng(random_state)
    found = []
    for name in class_names(on):
        offset = CLASSES.index(name) * scores.n_groups
        for i, j in scores.pairs() if pairs is None else pairs:
            one, two = (scores.of_class(name)[k] for k in (i, j))
            names = scores.names[i], scores.names[j]
            test = PermutationTest(name, *names, statistic, np.nan, np.nan, n_permutations)
            if one.is_weighted or two.is_weighted:
                test = replace(test, warnings=_WEIGHTED)
            if min(len(one), len(two)) == 0:
                empty = offset + (i if len(one) == 0 else j)
                test = replace(test, reason=f"there are no {scores.cell_name(empty)}")
            elif share_clusters(one, two):
                test = replace(test, reason=CROSSING)
            elif not (one.is_clustered or two.is_clustered):
                value, p_value = _test(one, two, statistic, n_permutations, rng)
                test = replace(test, value=value, p_value=p_value)
            else:
                value, p_value = _test_clusters(one, two, statistic, n_permutations, rng)
                test = replace(test, value=value, p_value=p_value)
            found.append(test)
    return corrected(found)


def corrected(tests: Sequence[PermutationTest]) -> list[PermutationTest]:
    """The same tests with p-values that account for all of them, by Holm's correction."""
    adjusted = adjust([test.p_value for test in tests]).tolist()
    return [replace(test, adjusted_p_value=p) for test, p in zip(tests, adjusted, strict=True)]


def _test(
    one: Distribution,
    two: Distribution,
    statistic: Statistic,
    n_permutations: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    weighted = one.is_weighted or two.is_weighted
    first, second = (_people(one), _people(two)) if weighted else _levels(one, two)
    values, inverse = np.unique(np.concatenate([first[0], second[0]]), return_inverse=True)
    ends = np.flatnonzero(np.append(np.diff(np.sort(inverse)), 1))  # last row of each level
    order = np.argsort(inverse, kind="stable")
    weights = np.concatenate([first[1], second[1]])[order]
    if weighted:
        in_second = np.repeat([0.0, 1.0], [len(first[0]), len(second[0])])[order]
        observed = (weights * in_second)[None]
        draws = _exchange_people(weights, in_second, n_permutations, rng)
    else:
        weights = np.add.reduceat(weights, np.concatenate(([0], ends[:-1] + 1)))
        observed = np.zeros((1, len(values)))
        observed[0, inverse[len(first[0]) :]] = second[1]
        draws = _exchange_counts(weights, observed[0], n_permutations, rng)
        ends = np.arange(len(values))
    tie = 0.5 / (one.n_observations * two.n_observations)
    return _compare(observed, weights, ends, draws, statistic, tie, n_permutations)


def _compare(
    observed: Floats,
    weights: Floats,
    ends: Ints,
    draws: Iterator[Floats],
    statistic: Statistic,
    tie: float,
    n_permutations: int,
) -> tuple[float, float]:
    """The statistic of the split that was observed, and its p-value among those drawn."""
    # A supremum of small samples takes few values; the AUC breaks its ties, without which the test
    # would reject too rarely. Twice the product of the sizes makes it matter for ties only.
    distance, shift = _statistics(observed, weights, ends)
    value = float(distance[0] if statistic == "supremum" else shift[0])
    reached = value + (tie * float(shift[0]) if statistic == "supremum" else 0.0)
    at_least = 0
    for part in draws:
        distance, shift = _statistics(part, weights, ends)
        drawn = distance + tie * shift if statistic == "supremum" else shift
        at_least += int(np.sum(drawn >= reached - 1e-13))
    return value, (1 + at_least) / (1 + n_permutations)


def _test_clusters(
    one: Distribution,
    two: Distribution,
    statistic: Statistic,
    n_permutations: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """The test that exchanges whole clusters, each with all its rows and weights."""
    from scipy.sparse import csr_array

    values, level = np.unique(np.concatenate([one.values, two.values]), return_inverse=True)
    rows, columns, weights = [], [], []
    start = 0
    for sample, own in zip((one, two), np.split(level, [len(one)]), strict=True):
        members = sample.clusters
        assert members is not None
        rows.append(own[members.row])
        columns.append(start + np.searchsorted(members.present, members.cluster))
        weights.append(members.weight)
        start += len(members.present)
    n_second = len(np.unique(columns[1]))
    entries = np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns))
    by_level = csr_array(entries, shape=(len(values), start))  # entries of one place add up
    in_second = np.repeat([0.0, 1.0], [start - n_second, n_second])

    def exchanged() -> Iterator[Floats]:
        for size in batch_sizes(n_permutations, _BATCH // max(len(values), start)):
            split = rng.permuted(np.tile(in_second, (size, 1)), axis=1)
            yield np.asarray((by_level @ split.T).T)

    observed, ends = np.asarray(by_level @ in_second)[None], np.arange(len(values))
    tie = 0.5 / ((start - n_second) * n_second)
    totals = np.asarray(by_level.sum(axis=1)).ravel()
    return _compare(observed, totals, ends, exchanged(), statistic, tie, n_permutations)


def _statistics(second: Floats, weights: Floats, ends: Ints) -> tuple[Floats, Floats]:
    """Both statistics for many splits: sup |F₀ − F₁| and |AUC − ½|.

    `second` is the weight of each row in the second group, shape (splits, rows).
    """
    both, cumulative = np.cumsum(weights)[ends], np.cumsum(second, axis=1)[:, ends]
    total = cumulative[:, -1:]
    F_second = cumulative / total
    F_first = (both - cumulative) / (both[-1] - total)
    mass = np.diff(F_second, axis=1, prepend=0.0)
    middle = F_first - 0.5 * np.diff(F_first, axis=1, prepend=0.0)
    auc = np.einsum("bl,bl->b", middle, mass)
    return np.abs(F_first - F_second).max(axis=1), np.abs(auc - 0.5)


def _exchange_counts(
    counts: Floats, second: Floats, n_permutations: int, rng: np.random.Generator
) -> Iterator[Floats]:
    """Splits of unweighted levels: of each level, so many people go to the second group."""
    n_second = round(second.sum())
    if counts.sum() >= 1e9:
        raise ValueError("A permutation test takes fewer than 10^9 people; draw a sample of them.")
    if np.all(counts == 1.0):
        labels = np.repeat([0.0, 1.0], [len(counts) - n_second, n_second])
        yield from _exchange_people(counts, labels, n_permutations, rng)
        return
    for size in batch_sizes(n_permutations, _BATCH // len(counts)):
        yield rng.multivariate_hypergeometric(
            counts.astype(np.int64), n_second, size=size, method="marginals"
        ).astype(np.float64)


def _exchange_people(
    weights: Floats, in_second: Floats, n_permutations: int, rng: np.random.Generator
) -> Iterator[Floats]:
    """Splits of weighted people: everyone keeps their weight and changes group."""
    for size in batch_sizes(n_permutations, _BATCH // len(weights)):
        yield rng.permuted(np.tile(in_second, (size, 1)), axis=1) * weights


def _people(sample: Distribution) -> tuple[Floats, Floats]:
    """One row a person, with their weight as far as the table knows it."""
    sample = sample.homogeneous()
    if sample.counts is None:
        return sample.values, np.asarray(sample.weights)
    times = np.round(sample.counts).astype(np.intp)
    return np.repeat(sample.values, times), np.repeat(sample.weights / sample.counts, times)


def _levels(*samples: Distribution) -> list[tuple[Floats, Floats]]:
    """Distinct values with counts, cut into at most `_LEVELS` classes common to the samples."""
    values = [s.values for s in samples]
    pooled = np.unique(np.concatenate(values))
    if len(pooled) > _LEVELS:
        cuts = pooled[np.linspace(0, len(pooled) - 1, _LEVELS).astype(np.intp)]
        values = [np.searchsorted(cuts, v, side="left").astype(np.float64) for v in values]
    found = []
    for v, sample in zip(values, samples, strict=True):
        distinct, inverse = np.unique(v, return_inverse=True)
        found.append((distinct, np.bincount(inverse, sample.row_counts).astype(np.float64)))
    return found
