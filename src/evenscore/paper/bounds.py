"""The paper's bounds: from a few rates to all of them (Proposition 1), from a sample to the law.

What is said of Proposition 1 is about two distributions whose densities, on a common support, lie
between b and B: Assumption 1 of the paper.

The generalisation bounds (Theorems 2 and 3) say how much worse the learned score can be than the
best of its class. They are of the right order and very large: with a constant of 1, V = 10, δ = 5 %
and cells of 10 %, Theorem 2 says nothing (is vacuous) below 1.6 million observations for λ = 1, and
Theorem 3 below 0.17 million for B/b = 2. Use them to understand rates, not to certify a score;
`certify` does that.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evenscore.inference.estimate import check_count
from evenscore.scores import CLASSES, GroupedScores, OneOrBoth, check_scores, class_names
from evenscore.scores.arrays import Floats
from evenscore.scores.distribution import check_rates


def sup_gap_bound(
    rates: ArrayLike,
    gap: float,
    density_ratio: float = np.inf,
    *,
    within: bool = False,
    as_printed: bool = False,
) -> float:
    """The largest |Δ_a| that there can be at any rate a, given |Δ| ≤ gap at the rates listed.

    Between two rates Δ rises at most with slope B/b − 1 and falls at most with slope 1 − b/B, and
    it is zero at 0 and 1. The least function that no such Δ exceeds is one itself, that of step
    densities, so that its largest value is the sharp form of the paper's Proposition 1. With
    f = (B − b)/(B + b) it is max(gap + f · (widest step between two rates), gap · B/(B + b) +
    f · (first rate, or 1 − the last)), unless the gap is larger than slopes let Δ become at a rate.
    For B/b = ∞ it is what the
    rise of a ROC curve alone implies, for any score: gap + the widest step. The proof is in
    docs/paper.md.

    Parameters
    ----------
    rates : numbers strictly between 0 and 1
        Where the gap is known to be small.
    gap : float
        How large it may be there.
    density_ratio : float, default infinity
        B/b, the ratio of the bounds of the densities of the scores: Assumption 1.
    within : bool, default False
        Bound Δ between the first and the last rate only.
    as_printed : bool, default False
        The bound of the paper, gap + (1 + B/b)/2 · (widest step, from 0 and to 1 too): never below
        what the rise of the curve alone implies, whatever B/b.

    Returns
    -------
    float
        The bound; from 1 on it says nothing.

    Examples
    --------
    >>> round(sup_gap_bound([1 / 8, 1 / 4], gap=0.02, density_ratio=3.0), 3)
    0.39
    >>> sup_gap_bound([1 / 8, 1 / 4], gap=0.02), sup_gap_bound([1 / 8, 1 / 4], 0.02, within=True)
    (0.77, 0.145)
    >>> sup_gap_bound([1 / 8, 1 / 4], gap=0.02, density_ratio=3.0, as_printed=True)
    1.52
    """
    points = np.sort(np.atleast_1d(check_rates(rates)))
    _check_ratio(density_ratio)
    _require(0.0 <= gap <= 1.0, f"gap must lie between 0 and 1, not {gap!r}.")
    _require(not within or len(points) >= 2, "A bound within the rates needs at least two of them.")
    if as_printed:
        ends = points if within else np.concatenate([[0.0], points, [1.0]])
        return float(gap + (1.0 + density_ratio) / 2.0 * np.diff(ends).max())
    # What falls from left to right rises from right to left.
    sides = (_highest(one, gap, density_ratio, within) for one in (points, 1.0 - points[::-1]))
    return float(min(1.0, max(sides)))


def _highest(rates: Floats, gap: float, ratio: float, within: bool) -> float:
    """The top of the highest Δ that is at most `gap` at the rates, and zero at 0 and 1."""
    points = np.concatenate([[0.0], rates, [1.0]])
    steps = np.diff(points)
    top = np.full(len(points), gap)
    top[0] = top[-1] = 0.0
    for k in range(1, len(points)):  # it cannot rise faster from the left
        if ratio < np.inf:
            top[k] = min(top[k], top[k - 1] + (ratio - 1.0) * steps[k - 1])
    for k in reversed(range(len(points) - 1)):  # nor come down faster to the right
        top[k] = min(top[k], top[k + 1] + (1.0 - 1.0 / ratio) * steps[k])
    # Between two points the rising and the falling line meet at this height.
    late = 1.0 / (1.0 + 1.0 / ratio)  # B/(B + b)
    peaks = (1.0 - late) * top[:-1] + late * top[1:] + (2.0 * late - 1.0) * steps
    return float((peaks[1:-1] if within else peaks).max())


def rates_needed(
    bound: float, gap: float, density_ratio: float = np.inf, *, as_printed: bool = False
) -> int:
    """How many equally spaced rates k/(m + 1) are needed for a wanted bound of |Δ| at all rates.

    Parameters
    ----------
    bound : float
        The largest |Δ| that may be anywhere.
    gap : float
        How large it may be at the rates.
    density_ratio, as_printed
        As for `sup_gap_bound`.

    Returns
    -------
    int
        The least m; 0 if densities within B/b of each other are near enough by themselves.

    Examples
    --------
    >>> rates_needed(0.1, gap=0.02, density_ratio=3.0)
    6
    >>> rates_needed(0.1, gap=0.02), rates_needed(0.1, 0.02, 3.0, as_printed=True)
    (12, 24)
    """
    _require(bound > gap >= 0.0, f"The bound ({bound!r}) must be larger than the gap ({gap!r}).")
    _check_ratio(density_ratio)
    if as_printed:
        _require(density_ratio < np.inf, "The printed bound needs a finite density_ratio.")
        return max(1, int(np.ceil((1.0 + density_ratio) / (2.0 * (bound - gap)) - 1e-9)) - 1)
    factor = 2.0 / (1.0 + 1.0 / density_ratio) - 1.0  # (B − b)/(B + b)
    if factor <= bound:
        return 0
    enough = max(1, int(np.ceil(factor / (bound - gap) - 1e-9)) - 1)  # gap + f/(m + 1)
    # So many are needed where Δ can be as large as the gap at two neighbouring rates. Of a few
    # rates, or with a gap that is nearly as large as f, it cannot, and fewer may do.
    few = min(enough, 2 + int(min(1e4, (density_ratio + 1.0) / (factor - gap))))
    for m in range(1, few):
        if sup_gap_bound(np.arange(1, m + 1) / (m + 1), gap, density_ratio) <= bound + 1e-12:
            return m
    return enough


@dataclass(frozen=True)
class LearningBound:
    """A bound of the excess risk L(s*) − L(ŝ), holding with probability 1 − delta.

    `vacuous` if it is not below 1 + the sum of the strengths, which the excess never exceeds.
    """

    value: float
    vacuous: bool


def auc_learning_bound(
    n: float,
    *,
    delta: float,
    epsilon: float,
    vc_dimension: float,
    strength: float,
    constant: float,
) -> LearningBound:
    """Theorem 2: learning with the `intra_group` AUC constraint of the given strength λ.

    It is about the score ŝ that maximises the strict empirical criterion exactly, AUC − λ|gap| on
    the sample, over a class of scores that is VC-major with dimension V (the sets {s > t} have VC
    dimension V at most): no scorer that follows a surrogate is promised to find that one. Rows are
    independent draws of (X, Y, Z), there are two groups, and λ multiplies the whole difference
    AUC_{H⁰,G⁰} − AUC_{H¹,G¹}. Other AUC constraints are said to be alike in the paper and not
    worked out. The constant C comes from the expected largest deviation of a class of VC dimension
    V; the paper gives no number for it.

    ε² · excess ≤ C √(V/n) (4λ + ½) + √(log(13/δ)/(n − 1)) (4λ + (4λ + 2) ε) + remainder, where ε is
    the least probability of a cell, V the VC dimension, C = `constant` the universal constant of
    the U-process inequality, and the remainder of order 1/n is that of the paper's proof,
    ½[log(13/δ)/(2n) + 1/(4(n − 1))] + 4λ[log(13/δ)/n + 1/(4(n − 1))]. Vacuous for n of the order
    of C² V λ² / ε⁴ and below.
    """
    _check(n, delta, epsilon, [vc_dimension, constant], [strength])
    log = np.log(13.0 / delta)
    lead = constant * np.sqrt(vc_dimension / n) * (4.0 * strength + 0.5)
    lead += np.sqrt(log / (n - 1.0)) * (4.0 * strength + (4.0 * strength + 2.0) * epsilon)
    rest = 0.5 * (log / (2.0 * n) + 0.25 / (n - 1.0))
    rest += 4.0 * strength * (log / n + 0.25 / (n - 1.0))
    return _bound(lead + rest, epsilon, strength)


def roc_learning_bound(
    n: float,
    *,
    delta: float,
    epsilon: float,
    vc_dimension: float,
    strengths: ArrayLike,
    density_ratio: float,
    constant: float,
) -> LearningBound:
    """Theorem 3: learning with ROC constraints; `strengths` are all λ_H and λ_G.

    As for Theorem 2, ŝ is the exact maximiser of the strict empirical criterion, AUC − Σ λ|Δ|, over
    a VC-major class, on independent draws, with two groups. Moreover Assumption 1 has to hold for
    every score of the class: values in (0, T), all four c.d.f.s continuously differentiable, their
    densities between b and B on that common support. Δ is cut in the first group, as in the paper.

    ε² · excess ≤ C (½ + 2ε C_Λ) √(V/n) + 2ε (1 + 3 C_Λ) √(log(19/δ)/(n − 1)) + remainder, with
    C_Λ = (1 + B/b) Σλ and B/b = `density_ratio`; the remainder, from the AUC term of the paper's
    proof, is ½[log(19/δ)/(2n) + 1/(4(n − 1))]. Vacuous for n of the order of
    C² V (1 + B/b)² (Σλ)² / ε² and below.
    """
    strengths = np.atleast_1d(np.asarray(strengths, dtype=np.float64))
    _check(n, delta, epsilon, [vc_dimension, constant], strengths)
    _check_ratio(density_ratio)
    log, total = np.log(19.0 / delta), float(strengths.sum())
    c = (1.0 + density_ratio) * total
    lead = constant * (0.5 + 2.0 * epsilon * c) * np.sqrt(vc_dimension / n)
    lead += 2.0 * epsilon * (1.0 + 3.0 * c) * np.sqrt(log / (n - 1.0))
    rest = 0.5 * (log / (2.0 * n) + 0.25 / (n - 1.0))
    return _bound(lead + rest, epsilon, total)


def sample_size_needed(bound: Callable[[float], LearningBound], excess: float) -> int:
    """The smallest n for which a learning bound, as a function of n, is at most `excess`.

    >>> n = sample_size_needed(lambda n: auc_learning_bound(n, delta=0.05, epsilon=0.1,
    ...     vc_dimension=10, strength=1.0, constant=1.0), excess=0.1)
    >>> n > 10**7
    True
    """
    _require(excess > 0.0, f"excess must be positive, not {excess!r}.")
    high = 4
    while bound(high).value > excess:
        high *= 2
        _require(high <= 2**100, "No sample size up to 2^100 is enough.")
    low = max(2, high // 2)
    while low < high:
        middle = (low + high) // 2
        if bound(middle).value <= excess:
            high = middle
        else:
            low = middle + 1
    return high


def density_ratio(
    scores: GroupedScores, *, on: OneOrBoth = "both", n_bins: int | None = None
) -> float:
    """An estimate of B/b, the largest over the smallest density of the score among the cells.

    ROC curves do not change when the score is transformed, so the densities are taken relative to
    the pooled distribution, in `n_bins` bins of equal pooled weight (by default the cube root of
    the smallest cell's effective size). A bin that a cell does not reach makes it infinite:
    Theorem 3 then says nothing, and Proposition 1 no more than holds for any score. It is biased
    upwards by noise: the largest of several bins.
    """
    check_scores(scores)
    scores.require_cells()
    offsets = [CLASSES.index(name) * scores.n_groups for name in class_names(on)]
    cells = [scores.cell_distributions[o + k] for o in offsets for k in range(scores.n_groups)]
    if n_bins is None:
        n_bins = max(2, round(min(cell.effective_size for cell in cells) ** (1.0 / 3.0)))
    check_count(n_bins, "n_bins", 2)
    pooled = scores.pooled(on)
    edges = np.unique(pooled.threshold(1.0 - np.arange(1, n_bins) / n_bins))
    survival = [each.survival(edges) for each in (pooled, *cells)]
    share, *shares = np.abs(np.diff(survival, prepend=1.0, append=0.0))
    filled = share > 0.0  # the last bin is empty when the score has an atom at its top
    densities = np.stack(shares)[:, filled] / share[filled]
    lowest = float(densities.min())
    return float(densities.max()) / lowest if lowest > 0.0 else np.inf


def _require(fine: object, sentence: str) -> None:
    if not fine:
        raise ValueError(sentence)


def _check_ratio(ratio: float) -> None:
    _require(ratio >= 1.0, f"density_ratio is B/b and at least 1, not {ratio!r}.")


def _check(n: float, delta: float, epsilon: float, sizes: ArrayLike, strengths: ArrayLike) -> None:
    _require(n > 1, f"n must be larger than 1, not {n!r}.")
    _require(0.0 < delta < 1.0, f"delta must lie strictly between 0 and 1, not {delta!r}.")
    least = f"epsilon is the least of four probabilities that add up to one, not {epsilon!r}."
    _require(0.0 < epsilon <= 0.25, least)
    _require(np.all(np.asarray(sizes) > 0), "vc_dimension and constant must be positive.")
    _require(np.all(np.asarray(strengths) >= 0.0), "Strengths must not be negative.")


def _bound(scaled: float, epsilon: float, strength: float) -> LearningBound:
    value = float(scaled / epsilon**2)
    return LearningBound(value, value >= 1.0 + strength)
