"""How far a share seen may be from the true one, at all cuts at once: any law, any sample size.

The i-th smallest of n uniform numbers has a Beta law. An *equal local level* band keeps each of
them between the quantiles α/2 and 1 − α/2 of its own, and α is chosen such that all stay inside
with probability 1 − δ. Near 0 and 1 it is half as wide as that of Dvoretzky, Kiefer and Wolfowitz,
which is as wide everywhere. Uniform numbers are the scores seen through their own law; atoms make
the band hold more often.

δ/α, a number of tests, depends little on n and δ. It was computed exactly and is tabulated
(the tests compute it anew): it is convex in log n, so that a line between two sizes is above it,
and falls with δ, so that the next smaller δ of the table has more. Above 10⁴ people, where it pays
least, the inequality of Dvoretzky, Kiefer and Wolfowitz is used.
"""

from functools import lru_cache

import numpy as np

from evenscore.scores.arrays import Floats

LARGEST = 10_000
"""People up to whom the Beta band is used."""

_SIZES = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, LARGEST)
_DELTAS = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0001, 0.00001)
# δ/α, rounded up, by size (rows) and δ.
_TESTS = (
    (5.6, 6.3, 6.8, 7.4, 7.7, 8.0, 8.3, 8.4, 8.6, 8.9, 9.2),
    (8.4, 9.6, 10.5, 11.6, 12.2, 12.8, 13.5, 14.0, 14.4, 15.2, 16.1),
    (13.0, 15.2, 17.0, 19.0, 20.4, 21.6, 23.1, 24.1, 25.1, 27.1, 29.5),
    (17.1, 20.2, 22.8, 25.9, 27.9, 29.8, 32.2, 33.8, 35.3, 38.6, 42.8),
    (21.7, 25.9, 29.4, 33.6, 36.5, 39.2, 42.5, 44.9, 47.1, 52.0, 58.3),
    (28.4, 34.0, 39.0, 44.9, 49.0, 52.8, 57.6, 61.1, 64.5, 71.8, 81.6),
    (33.8, 40.7, 46.8, 54.0, 59.1, 63.9, 69.9, 74.3, 78.6, 88.0, 100.7),
    (39.4, 47.6, 54.8, 63.5, 69.6, 75.4, 82.7, 88.1, 93.3, 104.9, 120.6),
    (47.2, 57.1, 66.0, 76.5, 84.0, 91.2, 100.3, 106.9, 113.4, 128.0, 147.8),
    (53.3, 64.6, 74.6, 86.7, 95.2, 103.4, 113.9, 121.5, 129.0, 145.8, 168.9),
)


def local_level(n: int, delta: float) -> float:
    """The level α at which each of n order statistics stays inside if all do with 1 − δ.

    Or less than that by up to a tenth, never more; 0 where it is not known.

    >>> local_level(1, 0.05), round(local_level(1_000, 0.05), 5)
    (0.05, 0.00107)
    """
    if n < _SIZES[0]:
        return delta / n
    columns = [column for column, known in enumerate(_DELTAS) if known <= delta * (1.0 + 1e-9)]
    if n > LARGEST or not columns:
        return 0.0
    tests = [row[columns[0]] for row in _TESTS]
    return delta / float(np.interp(np.log(n), np.log(_SIZES), tests))


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
