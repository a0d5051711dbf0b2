"""Offsets of the groups' log-odds at which gaps closed by shifts are as small as can be."""

from collections.abc import Callable

import numpy as np

from evenscore.scores.arrays import Floats

GRID = np.linspace(-8.0, 8.0, 33)  # offsets of a group's log-odds: 8 part the groups almost wholly


def best_offsets(gaps: Callable[[Floats], Floats], n_groups: int) -> Floats:
    """Offsets of the groups, the first one zero, at which the gaps are as small as can be."""

    def full(free: Floats) -> Floats:
        return np.concatenate(([0.0], free))

    def loss(free: Floats) -> float:
        return float(np.sum(gaps(full(free)) ** 2))

    theta = np.zeros(n_groups - 1)
    if n_groups == 2:
        values = [gaps(full(np.array([offset]))) for offset in GRID]
        theta[0] = GRID[int(np.argmin([np.sum(value**2) for value in values]))]
        if len(values[0]) == 1:
            return full(_crossing(gaps, np.concatenate(values), theta))
    step, best = 0.1, loss(theta)
    for _ in range(20):
        here = gaps(full(theta))
        slopes = np.empty((len(here), len(theta)))
        for k in range(len(theta)):
            shift = step * (np.arange(len(theta)) == k)
            slopes[:, k] = (gaps(full(theta + shift)) - gaps(full(theta - shift))) / (2.0 * step)
        move = -np.linalg.lstsq(slopes, here, rcond=1e-6)[0]
        move = np.clip(move, -1.0, 1.0)
        for share in (1.0, 0.5, 0.25, 0.1):
            trial = loss(theta + share * move)
            if trial < best:
                theta, best = theta + share * move, trial
                break
        else:
            if step < 0.02:
                break
            step /= 2.0
    return full(theta)


def _crossing(gaps: Callable[[Floats], Floats], values: Floats, theta: Floats) -> Floats:
    """The offset, nearest to zero, at which the only gap changes its sign; else the best seen."""
    change = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) <= 0.0)
    if len(change) == 0:
        return theta
    k = change[int(np.argmin(np.abs(GRID[change] + GRID[change + 1])))]
    low, high, sign = GRID[k], GRID[k + 1], np.sign(values[k])
    best, least = theta, abs(float(gaps(np.append(0.0, theta))[0]))
    for _ in range(30):  # halvings of a step of 0.5, down to 5e-10
        middle = (low + high) / 2.0
        value = float(gaps(np.array([0.0, middle]))[0])
        if abs(value) <= least:
            best, least = np.array([middle]), abs(value)
        if np.sign(value) == sign:
            low = middle
        else:
            high = middle
    return best
