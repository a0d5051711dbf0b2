"""How far a score sets positives apart from negatives: the KS distance, with an interval.

KS = max |D(t)|, D(t) being the share of negatives up to a score t minus that of positives: the
largest distance of the two distribution functions, exact, over all scores.

The largest of noisy numbers is too large. The lower end of its interval is the smallest λ·KS for
which a sample of a score with D = λD̂, noise added, reaches the KS seen in α/2 of the cases: for
λ = 0 the test of Kolmogorov and Smirnov, and where D has one clear peak about KS − zσ. Beside its
peak D̂ is lower than D by chance, so that up to one standard error is added there. The noise is that
of two independent Brownian bridges at the shares of either class, drawn at some scores. The
upper end is max |D̂| + zσ over scores: at the score where the true distance is largest that fails in
α/2 of the cases, and elsewhere it can only be higher, so that it is conservative. Shares are F̃ =
(x + 2)/(n + 4), which keeps noise where two samples do not overlap; with weights and clusters, n is
the effective size behind each share. Clusters with people in both classes are taken to be apart,
which is conservative, since their shares mostly move together.

Of a table of bins KS may be larger at a score within a bin, by the larger of the two shares there:
the upper end is higher by that, and the lower end need not move, since ends of bins are scores too.
"""

from dataclasses import dataclass

import numpy as np

from evenscore.inference.cut_gaps import share_error, smoothed
from evenscore.inference.estimate import Estimates, check_level
from evenscore.inference.intervals import normal_quantile
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats, Ints
from evenscore.scores.brackets import open_share
from evenscore.scores.distribution import Distribution
from evenscore.scores.selection import ROUNDING

_GRID = 64  # scores at which noise is drawn, beside that of the largest distance
_DRAWS = 600
_NEAR = 1.0  # standard errors: without them the lower end was too high in 7 % of samples


@dataclass(frozen=True, eq=False)
class KsDistances:
    """KS of everyone, then of each group; `at` is the score up to which the shares differ most."""

    distance: Estimates
    at: Floats


def ks_distances(
    scores: GroupedScores, *, confidence_level: float = 0.95, random_state: int = 0
) -> KsDistances:
    """The KS distance between positives and negatives, of everyone and within each group.

    >>> y, groups = [0, 0, 1, 0, 1, 1] * 10, ["a", "b"] * 30
    >>> scores = GroupedScores.from_arrays(y, [1, 2, 3, 4, 5, 6] * 10, sensitive_features=groups)
    >>> found = ks_distances(scores)
    >>> found.distance.value.round(3), found.at
    (array([0.667, 1.   , 1.   ]), array([2., 1., 4.]))
    """
    z, k = normal_quantile(0.5 + check_level(confidence_level) / 2.0), scores.n_groups
    cells = scores.cell_distributions
    samples = [
        (scores.pooled("negatives"), scores.pooled("positives")),
        *((cells[g], cells[k + g]) for g in range(k)),
    ]
    group = scores.cell % k
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=k))
    rows: list[Ints | slice] = [slice(None), *np.split(order, ends[:-1])]
    value, low, high, at = np.full((4, k + 1), np.nan)
    reasons = []
    for i, (both, own) in enumerate(zip(samples, rows, strict=True)):
        empty = [
            name
            for name, sample in zip(("negatives", "positives"), both, strict=True)
            if not len(sample)
        ]
        few = min(sample.independent_size for sample in both) < 2.0
        reasons.append(
            f"there are no {' and no '.join(empty)}"
            if empty
            else "a class is worth less than two observations"
            if few
            else ""
        )
        if empty:
            continue
        totals = np.repeat([1.0 / both[0].total, -1.0 / both[1].total], k)
        value[i], at[i] = _largest(scores, own, totals)
        if not few:
            low[i], high[i] = _interval(*both, value[i], at[i], z, random_state)
            within = max(float(open_share(scores, s, s.values).max(initial=0.0)) for s in both)
            high[i] = min(high[i] + within, 1.0)
    return KsDistances(Estimates(value, low, high, tuple(reasons)), at)


def _largest(scores: GroupedScores, rows: Ints | slice, scale: Floats) -> tuple[float, float]:
    """The largest |D| over some rows of the table, in order, and where; `scale` is by cell."""
    score = scores.score[rows]
    apart = np.abs(np.cumsum(scale[scores.cell[rows]] * scores.weight[rows]))
    last = np.append(score[1:] != score[:-1], True)  # within ties there is no cut
    apart[~last] = -1.0
    at = int(np.argmax(apart >= apart.max() - ROUNDING))  # sums of weights are no better known
    return min(float(apart[at]), 1.0), float(score[at])


def _interval(
    negatives: Distribution,
    positives: Distribution,
    value: float,
    at: float,
    z: float,
    random_state: int,
) -> tuple[float, float]:
    from scipy.special import ndtr

    rates = np.linspace(0.0, 1.0, _GRID // 2, endpoint=False)
    found = [sample.threshold(rates) for sample in (negatives, positives)]
    cuts = np.unique(np.concatenate([*found, [at]]))
    cuts = cuts[np.isfinite(cuts)]
    rng = np.random.default_rng(random_state)  # the same for every group, whatever its place
    gap, variance = np.zeros(len(cuts)), np.zeros(len(cuts))
    noise = np.zeros((len(cuts), _DRAWS), dtype=np.float32)
    for sample, sign in ((negatives, 1.0), (positives, -1.0)):
        share = 1.0 - sample.survival(cuts)
        size = sample.size_behind(np.clip(1.0 - share, 0.0, 1.0), z)
        gap += sign * share
        variance += np.square(share_error(share, size))
        times = np.maximum.accumulate(smoothed(share, size))
        steps = np.sqrt(np.diff(times, prepend=0.0, append=1.0))[:, None].astype(np.float32)
        walk = np.cumsum(
            steps * rng.standard_normal((len(steps), _DRAWS), dtype=np.float32), axis=0
        )
        bridge = walk[:-1] - times[:, None] * walk[-1]
        noise += sign * bridge / np.sqrt(size)[:, None]
    apart = np.abs(gap)
    high = min(float(np.max(apart + z * np.sqrt(variance))), 1.0)
    if value == 0.0:
        return 0.0, high
    # The λ from which on each draw reaches the distance seen.
    near = np.minimum(apart + _NEAR * np.sqrt(variance), value)[:, None]
    moved = np.sign(gap)[:, None] * noise
    reached = np.where(moved <= -value, 0.0, (value - moved) / near)
    least = float(np.quantile(reached.min(axis=0), ndtr(-z)))
    return value * min(max(least, 0.0), 1.0), max(high, value)
