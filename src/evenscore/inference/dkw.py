"""How far a sample's distribution function is from the true one, at all values at once."""

from functools import lru_cache

import numpy as np

from evenscore.scores.cluster_shares import shares_of_cuts
from evenscore.scores.distribution import Distribution

_NORMAL = np.linspace(0.0, 10.0, 1001)
_DENSITY = np.exp(-0.5 * _NORMAL**2)
_DENSITY /= np.trapezoid(_DENSITY, _NORMAL)
_EDGE = 0.05 * 0.95  # p(1 − p) beyond which a cut is at the edge


def dkw_constant(delta: float) -> float:
    """√(log(4/δ)/2): both empirical distribution functions are that over √n from the true ones.

    The Dvoretzky, Kiefer and Wolfowitz inequality with Massart's constant, for two samples.
    """
    return float(np.sqrt(np.log(4.0 / delta) / 2.0))


def dkw_size(sample: Distribution, delta: float) -> float:
    """The n for which `dkw_constant(delta)`/√n is how far the sample is from its law.

    Without weights the number of observations, for any sample size. With weights, the error of
    F̂(t) = Σw 1{s ≤ t}/Σw is, in large samples, (B(u) + (u − F)·N)/√n with n = (Σw)²/Σw², u the
    share of Σw² up to t, B a Brownian bridge and N normal, independent of it. At most
    (sup|B| + D|N|)/√n, then, with D = sup|u − F|, which is 0 where weights do not depend on the
    value. The inequality bounds sup|B|; the mean over N must be δ/2.

    With clusters the error at a cut has the variance p(1 − p)/n of the size n behind the share p
    above it (`Distribution.size_behind`), and the smallest size of all cuts stands for every one:
    nothing that holds for any sample size. A size beyond the middle nine tenths counts as larger,
    in proportion to p(1 − p): there the error is too small to be the largest.

    >>> dkw_size(Distribution.from_sample(range(50)), 0.05)
    50.0
    """
    size = _size_of_rows(sample, delta)
    if not sample.is_clustered:
        return size
    share = shares_of_cuts(sample.effective_size)
    # DKW's constant is twice the quantile of the error in the middle, where it is largest.
    behind = sample.size_behind(share, 2.0 * dkw_constant(delta))
    smallest = float((behind * np.maximum(_EDGE / (share * (1.0 - share)), 1.0)).min())
    return min(size, smallest)


def _size_of_rows(sample: Distribution, delta: float) -> float:
    """The n of independent observations."""
    size = sample.effective_size
    if not sample.is_weighted:
        return size
    above, squares = sample.squares_above
    furthest = float(np.abs(squares / squares[-1] - above).max())
    return size * (dkw_constant(delta) / _weighted_constant(furthest, delta)) ** 2


@lru_cache(maxsize=4096)  # samples meet again in many pairs
def _weighted_constant(furthest: float, delta: float) -> float:
    """The x with E min(1, 2 exp(−2 (x − D|N|)²)) = δ/2."""
    low = dkw_constant(delta)
    high = low + 10.0
    for _ in range(40):
        middle = (low + high) / 2.0
        left = np.maximum(middle - furthest * _NORMAL, 0.0)
        exceeds = np.minimum(1.0, 2.0 * np.exp(-2.0 * left**2))
        enough = float(np.trapezoid(exceeds * _DENSITY, _NORMAL)) <= delta / 2.0
        low, high = (low, middle) if enough else (middle, high)
    return high
