"""Confidence bands of ROC curves and ROC gaps, pointwise and simultaneous.

Two things are uncertain: where the cut lies that selects a share a of the reference (e₀ of rate),
and which share of the target is above it (e₁). All bands here combine the two on the curve itself,
without estimating densities, so that they hold with ties. A curve `with_ties_split` has the same
bands: the laws of its scores, ties broken at random, are as near to those seen as the score's own
(between two levels both are linear), and its shares vary less than binomial ones.

- pointwise: the binomial range of the cut and Wilson's interval of the share, so that
  z₀² + z₁² = z²;
- DKW, for all rates at once, for any sample size and any distribution:
  [ROC(a − e₀) − e₁, ROC(a + e₀) + e₁] with e = √(log(4/δ) / 2n) of either sample;
- simultaneous: the same shape with a part of DKW's e₀ and e₁, the smallest that the bootstrap finds
  sufficient on the rates asked for; never wider than DKW's.

Weights may depend on the score. The size behind a share is then another at every rate
(`Distribution.size_behind`), people are redrawn with their weights, and DKW's e grows with how far
weights go with scores (`dkw_size`).

With clusters the size behind a share is that of sums over clusters, whole clusters are redrawn, for
both samples at once if they share some, and DKW's e is that of the largest design effect.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evenscore.inference.bootstrap import RandomState, RocReplicates
from evenscore.inference.dkw import dkw_constant, dkw_size
from evenscore.inference.estimate import SMALL_CELL, check_count, check_level, counted, percent
from evenscore.inference.intervals import normal_quantile
from evenscore.inference.pointwise import pointwise_band
from evenscore.inference.redrawing import batch_sizes, breadth, redraw_both, share_clusters
from evenscore.scores import ClassName, GroupedScores
from evenscore.scores.arrays import Bools, Floats, starts_of_runs
from evenscore.scores.aucs import inter_group_curve
from evenscore.scores.brackets import has_open_bins, open_share
from evenscore.scores.curve import ReferenceCuts, RocCurve
from evenscore.scores.distribution import Distribution, check_rates

BandKind = Literal["pointwise", "simultaneous", "dkw"]
Shift = tuple[float, float]

_BATCH = 2_000_000  # replicate weights held at a time
_HALVINGS = 9  # of the part of the shift: to a 512th
_LEVELS = 4096  # the bootstrap sees samples through this many levels at most
_WEIGHTED_DKW = (
    "with unequal weights the DKW band holds in large samples only: how weights go with scores, "
    "which it allows for, is estimated"
)
_CLUSTERED_DKW = (
    "with clusters the DKW band holds in large samples only: how alike the rows of a cluster are, "
    "which it allows for, is estimated"
)


@dataclass(frozen=True, eq=False)
class Band:
    """A curve over rates with its confidence band.

    `shift` is (e₀, e₁), how far the curve is moved at most, in rate and in height (0 for pointwise
    ones).
    `warnings` says where the band falls short of what its kind promises.
    """

    rates: Floats
    value: Floats
    low: Floats
    high: Floats
    confidence_level: float
    kind: BandKind
    shift: Shift = (0.0, 0.0)
    warnings: tuple[str, ...] = ()

    def gap(self) -> "Band":
        """The band of ROC(a) − a."""
        shifted = (part - self.rates for part in (self.value, self.low, self.high))
        value, low, high = shifted
        return replace(self, value=value, low=low, high=high)


def bracketed(band: Band, curve: RocCurve, scores: GroupedScores) -> Band:
    """The band of a curve of a table of bins, with what the order within bins leaves open.

    At a rate moved by e₀ the height is off by the target's share in the bin where the reference is
    cut there.
    """
    if not has_open_bins(scores) or not len(curve.reference) or not len(curve.target):
        return band
    down, up = (
        open_share(scores, curve.target, curve.reference.threshold(np.clip(at, 0.0, 1.0)))
        for at in (band.rates - band.shift[0], band.rates + band.shift[0])
    )
    low, high = np.maximum(band.low - down, 0.0), np.minimum(band.high + up, 1.0)
    return replace(band, low=low, high=high)


def roc_band(
    curve: RocCurve,
    rates: ArrayLike,
    *,
    kind: BandKind = "simultaneous",
    confidence_level: float = 0.95,
    n_resamples: int = 500,
    random_state: RandomState = 0,
) -> Band:
    """The band of a ROC curve at the given rates.

    Measured at a nominal 95 % for cells of 50 to 2,000 (benchmarks/coverage.py): pointwise
    intervals cover at least 93 %, and mostly more than 97 % where scores are tied, the curve jumps
    beside the cut or fewer than some 20 observations are expected beyond it; simultaneous bands at
    least 94 %. With weights of exp(±score) so do simultaneous bands, and pointwise intervals cover
    at least 94 % for groups near each other, 90 % where groups far apart leave the end of the curve
    to a few heavy people.
    The DKW band needs no such proviso, unless observations differ in weight or come in clusters:
    how weights go with scores, and how alike the rows of a cluster are, is then estimated, and it
    holds in large samples.

    >>> one, two = Distribution.from_sample(range(100)), Distribution.from_sample(range(10, 110))
    >>> band = roc_band(RocCurve(one, two), [0.2, 0.5], kind="dkw")
    >>> bool(np.all((band.low <= band.value) & (band.value <= band.high)))
    True
    """
    level = check_level(confidence_level)
    rates = np.atleast_1d(check_rates(rates))
    value = curve.evaluate(rates)
    sizes = curve.reference.independent_size, curve.target.independent_size
    if min(sizes) == 0.0:
        nothing = np.full(rates.shape, np.nan)
        return Band(rates, value, nothing, nothing, level, kind, warnings=("a sample is empty",))
    warnings: tuple[str, ...] = ()
    shift = (0.0, 0.0)
    if kind == "pointwise":
        low, high = pointwise_band(curve, rates, normal_quantile(0.5 + level / 2.0))
    elif kind == "dkw":
        samples = curve.reference, [curve.target]
        return next(dkw_bands(*samples, rates, level, split_ties=curve.ties_split))
    elif kind == "simultaneous":
        check_count(n_resamples, "n_resamples", 2)
        part = _calibrated([curve], rates, level, n_resamples, random_state)
        low, high, shift = _shifted(curve, rates, level, part)
        warnings = _few_resamples(n_resamples, level)
    else:
        raise ValueError(f"kind must be 'pointwise', 'simultaneous' or 'dkw', not {kind!r}.")
    warnings = (*warnings, *_small_samples(curve))
    return Band(rates, value, low, high, level, kind, shift, warnings)


def bands_both_ways(
    curve: RocCurve,
    rates: Floats,
    *,
    confidence_level: float,
    n_resamples: int = 500,
    random_state: RandomState = 0,
) -> tuple[Band, Band]:
    """Simultaneous bands of a curve and of the one with its two samples exchanged.

    Both hold at all rates at once, with the confidence level: they share one set of replicates, and
    one part of DKW's shift.
    """
    turned = replace(curve, reference=curve.target, target=curve.reference)
    part = _calibrated([curve, turned], rates, confidence_level, n_resamples, random_state)
    warnings = (*_few_resamples(n_resamples, confidence_level), *_small_samples(curve))
    bands = []
    for one in (curve, turned):
        low, high, shift = _shifted(one, rates, confidence_level, part)
        ends = one.evaluate(rates), low, high
        bands.append(Band(rates, *ends, confidence_level, "simultaneous", shift, warnings))
    return bands[0], bands[1]


def _few_resamples(n_resamples: int, level: float) -> tuple[str, ...]:
    if n_resamples * (1.0 - level) >= 10.0:
        return ()
    return (f"{n_resamples} resamples are few for a level of {percent(level)}",)


def _small_samples(curve: RocCurve) -> tuple[str, ...]:
    smaller = min(curve.reference, curve.target, key=lambda sample: sample.independent_size)
    if smaller.independent_size >= SMALL_CELL:
        return ()
    return (f"the smaller sample is worth {_worth(smaller)} only",)


def _worth(sample: Distribution) -> str:
    """What a sample is worth, in words."""
    if not sample.is_clustered:
        return counted(sample.independent_size)
    n = f"{sample.independent_size:,.0f}"
    return f"{n} cluster" if n == "1" else f"{n} clusters"


def dkw_bands(
    reference: Distribution,
    targets: Iterable[Distribution],
    rates: Floats,
    level: float,
    *,
    split_ties: bool,
) -> Iterator[Band]:
    """DKW's bands of many targets against one reference, which is cut once; none of them empty."""
    e0 = _reach(reference, level)
    asked = np.concatenate([rates, np.maximum(rates - e0, 0.0), np.minimum(rates + e0, 1.0)])
    cuts = ReferenceCuts.at(reference, asked, split=split_ties)
    for target in targets:
        e1 = _reach(target, level)
        value, left, right = cuts.share_of(target).reshape(3, -1)
        low = np.maximum(np.where(rates < e0, 0.0, left) - e1, 0.0)
        high = np.minimum(right + e1, 1.0)
        weighted = reference.is_weighted or target.is_weighted
        clustered = reference.is_clustered or target.is_clustered
        warnings = (_WEIGHTED_DKW,) * weighted + (_CLUSTERED_DKW,) * clustered
        yield Band(rates, value, low, high, level, "dkw", (e0, e1), warnings)


def _reach(sample: Distribution, level: float) -> float:
    """How far DKW's inequality allows a sample to be from its law, e₀ or e₁."""
    delta = 1.0 - level
    return float(dkw_constant(delta) / np.sqrt(dkw_size(sample, delta)))


def _shifted(
    curve: RocCurve, rates: Floats, level: float, part: float
) -> tuple[Floats, Floats, Shift]:
    """Both ends of the curve moved by a part of DKW's shift, and how far at most.

    At least by log(2/δ)/n, n the size behind the share in question: where a sample has nobody above
    (or below) a cut, resampling cannot see that the law may have, and as large a share goes unseen
    with probability δ/2.
    """
    least = float(np.log(2.0 / (1.0 - level)))
    widest = _reach(curve.reference, level), _reach(curve.target, level)

    def moved(sample: Distribution, share: Floats, most: float) -> Floats:
        return np.clip(least / sample.size_behind(share), part * most, most)

    e0 = moved(curve.reference, rates, widest[0])
    left = np.where(rates < e0, 0.0, curve.evaluate(np.maximum(rates - e0, 0.0)))
    right = curve.evaluate(np.minimum(rates + e0, 1.0))
    below, above = (moved(curve.target, share, widest[1]) for share in (left, right))
    furthest = float(e0.max(initial=0.0)), float(np.maximum(below, above).max(initial=0.0))
    return np.maximum(left - below, 0.0), np.minimum(right + above, 1.0), furthest


def _calibrated(
    curves: Sequence[RocCurve],
    rates: Floats,
    level: float,
    n_resamples: int,
    random_state: RandomState,
) -> float:
    """The smallest part of DKW's shift with which a replicate's band holds the curve often enough.

    `curves` is one, or two with their samples exchanged, whose bands are to hold both. Every
    replicate has its own smallest part; the answer is their quantile. With
    ties in the reference, and with weights, the bootstrap is a little optimistic: its error must
    then be a third as frequent, or half. (Measured; see benchmarks/coverage.py.)
    """
    curve = curves[0]
    tied = any(one.reference.is_tied for one in curves)
    weighted = curve.reference.is_weighted or curve.target.is_weighted
    wanted = 1.0 - (1.0 - level) / (3.0 if tied else 1.0) / (2.0 if weighted else 1.0)
    samples = _coarsened(curve.reference, curve.target)
    if not (share_clusters(*samples) or any(sample.is_clustered for sample in samples)):
        samples = [sample.homogeneous() for sample in samples]
    rng, split = np.random.default_rng(random_state), curve.ties_split
    ways = [(0, 1), (1, 0)][: len(curves)]
    centres = [RocCurve(samples[i], samples[j], ties_split=split).evaluate(rates) for i, j in ways]
    shifts = [(_reach(one.reference, level), _reach(one.target, level)) for one in curves]
    replicates = []
    held_at_once = _BATCH // (sum(map(breadth, samples)) + len(rates))
    for size in batch_sizes(n_resamples, held_at_once):
        drawn = redraw_both(samples[0], samples[1], size, rng)
        replicates.append(
            [RocReplicates(samples[i], samples[j], drawn[i], drawn[j], split) for i, j in ways]
        )
    enough = int(np.ceil(wanted * (n_resamples - 1))) + 1

    def holds(some: list[RocReplicates], part: float) -> Bools:
        """Whether the bands of each replicate, at a part of DKW's shift, hold the centres."""
        inside = np.ones(len(some[0].reference_weights), dtype=bool)
        for way, centre, widest in zip(some, centres, shifts, strict=True):
            e0, e1 = part * widest[0], part * widest[1]
            left, right = rates - e0, np.minimum(rates + e0, 1.0)
            low = np.where(left < 0.0, 0.0, way.evaluate(np.maximum(left, 0.0))) - e1
            high = way.evaluate(right) + e1
            held = (low <= centre + 1e-12) & (centre <= high + 1e-12)
            inside &= held.all(axis=1)
        return inside

    # The smallest multiple of 1/512, by bisection: a band that holds the curve does so with every
    # larger part. Replicates whose answer is known are not asked again: most hold long before
    # enough of them do.
    low, high, holding = 0, 1 << _HALVINGS, 0
    while high - low > 1:
        middle = (low + high) // 2
        held = [holds(some, middle / (1 << _HALVINGS)) for some in replicates]
        count = holding + sum(int(some.sum()) for some in held)
        if count >= enough:
            high = middle
        else:
            low, holding = middle, count
        # Above the answer all that hold are undecided, below it all that do not.
        undecided = [some if count >= enough else ~some for some in held]
        replicates = [
            [way.take(np.flatnonzero(left)) for way in some]
            for some, left in zip(replicates, undecided, strict=True)
            if left.any()
        ]
    return high / (1 << _HALVINGS)


def _coarsened(*samples: Distribution) -> list[Distribution]:
    """The samples seen through at most `_LEVELS` common levels; small ones as they are."""
    if max(len(sample) for sample in samples) <= _LEVELS:
        return list(samples)
    values = np.sort(np.concatenate([sample.values for sample in samples]))
    cuts = np.unique(values[np.linspace(0, len(values) - 1, _LEVELS).astype(np.intp)])
    found = []
    for sample in samples:
        level = np.searchsorted(cuts, sample.values, side="left")
        starts = starts_of_runs(level)
        columns = sample.weights, sample.row_counts, sample.row_squares
        sums = (np.add.reduceat(column, starts) for column in columns)
        clusters = sample.clusters
        if clusters is not None:
            place = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(sample)))
            clusters = clusters.moved(place)
        at = cuts[np.minimum(level[starts], len(cuts) - 1)]
        found.append(Distribution(at, *sums, clusters=clusters))
    return found


def roc_gap_band(
    scores: GroupedScores,
    on: ClassName,
    rates: ArrayLike,
    *,
    first: int = 0,
    second: int = 1,
    kind: BandKind = "simultaneous",
    confidence_level: float = 0.95,
    n_resamples: int = 500,
    random_state: RandomState = 0,
) -> Band:
    """The band of the ROC gap Δ between two groups, in a class, at the given rates.

    The cut is made in the group `first`, and ties are split alike in both groups.
    """
    curve = inter_group_curve(scores, on, first, second).with_ties_split()
    band = roc_band(
        curve,
        rates,
        kind=kind,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        random_state=random_state,
    )
    return bracketed(band, curve, scores).gap()
