"""How far a share seen may be from the true one, at all cuts at once: any law, any sample size.

The i-th smallest of n uniform numbers has a Beta law. An *equal local level* band keeps each of
them between the quantiles α/2 and 1 − α/2 of its own, and α is chosen such that all stay inside
with probability 1 − δ. Near 0 and 1 it is half as wide as that of Dvoretzky, Kiefer and Wolfowitz,
which is as wide everywhere. Uniform numbers are the scores seen through their own law; atoms make
the band hold more often.

α/δ depends little on n and δ. It was computed exactly (`chance_inside`) and is tabulated: for other
n and δ that of the next larger n and the next smaller δ, which is smaller, is taken. Above 10⁴
people, where it pays least, the inequality of Dvoretzky, Kiefer and Wolfowitz is used.
"""

from functools import lru_cache
from itertools import pairwise

import numpy as np

from evenscore.scores.arrays import Floats

LARGEST = 10_000
"""People up to whom the Beta band is used."""

_SIZES = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, LARGEST)
_DELTAS = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0001, 0.00001)
# δ/α, rounded up, by size (rows) and δ.
_TESTS: tuple[tuple[float, ...], ...] = ()


def local_level(n: int, delta: float) -> float:
    """The level α at which each of n order statistics stays inside if all do with 1 − δ.

    Less than that by a few per cent at most, never more; 0 where it is not known.

    >>> local_level(1, 0.05), round(local_level(1_000, 0.05), 5)
    (0.05, 0.00106)
    """
    if n < _SIZES[0]:
        return delta / n
    rows = [row for row, size in enumerate(_SIZES) if n <= size]
    columns = [column for column, known in enumerate(_DELTAS) if known <= delta * (1.0 + 1e-9)]
    return delta / _TESTS[rows[0]][columns[0]] if rows and columns else 0.0


@lru_cache(maxsize=64)
def share_bounds(n: int, delta: float) -> tuple[Floats, Floats]:
    """The least and the most that a true share may be, by how many of n are seen: n + 1 each.

    With probability 1 − δ that holds for the shares above all cuts at once.

    >>> low, high = share_bounds(100, 0.05)
    >>> float(low[0]), float(high[100]), bool(low[50] < 0.5 < high[50])
    (0.0, 1.0, True)
    """
    from scipy.special import betaincinv

    seen = np.arange(n + 1)
    alpha = local_level(n, delta)
    if alpha == 0.0:
        share, half = seen / n, np.sqrt(np.log(2.0 / delta) / (2.0 * n))
        low, high = np.maximum(share - half, 0.0), np.minimum(share + half, 1.0)
    else:
        low = np.concatenate([[0.0], betaincinv(seen[1:], n + 1 - seen[1:], alpha / 2.0)])
        high = 1.0 - low[::-1]
    for bound in (low, high):
        bound.flags.writeable = False
    return low, high


def chance_inside(low: Floats, high: Floats) -> float:
    """The probability that n sorted uniform numbers all lie between their bounds, exactly.

    The number N(t) of them up to t is a Poisson process of intensity n, given N(1) = n. It has to
    stay below i until low_i and to be i at least from high_i: from one bound to the next, its law
    on the counts that are allowed is spread by Poisson's and cut (Moscovich and Nadler, 2017). Of
    n counts about √n are allowed, and O(n^1.5) operations do.

    >>> round(chance_inside(np.array([0.0, 0.5]), np.array([0.5, 1.0])), 12)
    0.5
    """
    from scipy.stats import poisson

    n = len(low)
    times = np.concatenate([low, high])
    opens = np.repeat([True, False], n)
    order = np.lexsort((opens, times))
    law, first, last = np.ones(1), 0, 0  # of the counts from the first to the last allowed
    for (before, time), more in zip(
        pairwise([0.0, *times[order].tolist()]), opens[order].tolist(), strict=True
    ):
        mean = n * (time - before)
        if mean > 0.0:
            terms = int(mean + 10.0 * np.sqrt(mean) + 14.0)
            jumps = np.cumprod(np.concatenate([[np.exp(-mean)], mean / np.arange(1, terms)]))
            law = np.convolve(law, jumps)[: last - first + 1]
        if more:
            law, last = np.append(law, 0.0), last + 1
        else:
            law, first = law[1:], first + 1
    rest = poisson.pmf(n - np.arange(first, last + 1), n * (1.0 - times.max()))
    return float(law @ rest / poisson.pmf(n, n))
