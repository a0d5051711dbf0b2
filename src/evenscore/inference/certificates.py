"""Certificates: on which rates is the score fair within a tolerance, with a stated confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenscore.distributions import check_interval
from evenscore.inference.bands import dkw_constant, roc_band
from evenscore.inference.bootstrap import RandomState
from evenscore.inference.estimate import check_level
from evenscore.labels import label_text
from evenscore.measures import inter_group_curve
from evenscore.scores import ClassName, GroupedScores, OneOrBoth, class_names

__all__ = ["Certificate", "certify"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Certificate:
    """The largest interval of rates on which |Δ| is within the tolerance, or why there is none.

    If `certified`, then with the stated confidence |ROC_{F⁰,F¹}(a) − a| ≤ tolerance for *all* rates
    a in [low, high], all classes and all pairs of groups asked for at once. `thresholds` are the
    scores (from, to) at which the first group of each pair is cut at those rates. `reach` is the
    smallest tolerance that could have been certified somewhere, and `needed` the observations per
    cell from which a score without any gap would be certified at this tolerance (by the DKW band).
    """

    on: OneOrBoth
    tolerance: float
    confidence_level: float
    method: Literal["dkw", "simultaneous"]
    certified: bool
    low: float
    high: float
    thresholds: dict[tuple[ClassName, str, str], tuple[float, float]]
    reach: float
    needed: int
    sizes: dict[str, float]
    words: str
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.words


def certify(
    scores: GroupedScores,
    tolerance: float,
    *,
    on: OneOrBoth = "both",
    interval: tuple[float, float] | None = None,
    confidence_level: float = 0.95,
    method: Literal["dkw", "simultaneous"] = "dkw",
    n_rates: int | None = None,
    n_resamples: int = 500,
    random_state: RandomState = 0,
) -> Certificate:
    """Look for the largest interval of rates, within `interval`, on which the score is fair.

    By default rates from `tolerance` to 1 − `tolerance` are searched: beyond, half of the statement
    holds for any score. `method="dkw"` holds for any sample size and any distribution;
    `"simultaneous"` is tighter and rests on the bootstrap. The error probability is shared equally
    between classes and pairs of groups.

    The band is computed at `n_rates` rates (2,001 and 401 by default). Between two of them, a ROC
    curve being increasing, ROC(a) − a lies between low(a_k) − a_{k+1} and high(a_{k+1}) − a_k, and
    that is what must stay within the tolerance: the certificate speaks of all rates, not of a grid.

    >>> y, groups = [0, 1] * 20_000, ["a"] * 20_000 + ["b"] * 20_000
    >>> score = list(range(20_000)) * 2
    >>> print(certify(GroupedScores.from_arrays(y, score, sensitive_features=groups), 0.1))
    Certified with 95% confidence: at all rates from 0.1 to 0.9 the gaps are within 0.1.
    """
    if method not in ("dkw", "simultaneous"):
        raise ValueError(f"method must be 'dkw' or 'simultaneous', not {method!r}.")
    if not 0.0 < tolerance < 0.5:
        raise ValueError(f"tolerance must lie strictly between 0 and 0.5, not {tolerance!r}.")
    level = check_level(confidence_level)
    if n_rates is None:
        n_rates = 2001 if method == "dkw" else 401
    if n_rates < 2:
        raise ValueError(f"n_rates must be at least 2, not {n_rates!r}.")
    start, stop = check_interval((tolerance, 1.0 - tolerance) if interval is None else interval)
    rates = np.linspace(start, stop, n_rates)
    scores.require_cells()
    cases = [(name, i, j) for name in class_names(on) for i, j in scores.pairs()]
    delta = (1.0 - level) / len(cases)
    worst = np.zeros(n_rates - 1)
    middle = np.zeros(n_rates - 1)
    warnings: list[str] = []
    curves = {}
    for name, i, j in cases:
        curve = inter_group_curve(scores, name, i, j)
        curves[name, label_text(scores.groups[i]), label_text(scores.groups[j])] = curve
        band = roc_band(
            curve,
            rates,
            kind=method,
            confidence_level=1.0 - delta,
            n_resamples=n_resamples,
            random_state=random_state,
        )
        above = band.high[1:] - rates[:-1]
        below = rates[1:] - band.low[:-1]
        worst = np.maximum(worst, np.maximum(above, below))
        value = band.value - rates
        middle = np.maximum(middle, np.maximum(np.abs(value[1:]), np.abs(value[:-1])))
        warnings += [w for w in band.warnings if w not in warnings]
    low, high = _longest(worst <= tolerance + 1e-12, rates)
    certified = bool(low < high)
    needed = int(np.ceil((2.0 * dkw_constant(delta) / tolerance) ** 2))
    cells = {
        scores.cell_name(c): float(n) for c, n in enumerate(scores.effective_sizes.reshape(-1))
    }
    used = {k: n for k, n in cells.items() if k.split(" ", 1)[0] in class_names(on)}
    reach = float(worst.min())
    margin = worst - middle
    smallest = min(used, key=lambda cell: used[cell])
    if certified:
        words = (
            f"Certified with {level:.0%} confidence: at all rates from {low:.4g} to {high:.4g} "
            f"the gaps are within {tolerance:g}."
        )
    elif margin.min() > tolerance:
        words = (
            f"Not certified: with {used[smallest]:,.0f} {smallest}, not even a score without gaps "
            f"would be certified within {tolerance:g} (gaps below {margin.min():.3f} cannot be "
            f"told from zero at any rate); it takes about {needed:,} observations in every cell."
        )
    else:
        words = (
            f"Not certified: the gaps are too large; the smallest tolerance that holds anywhere is "
            f"{reach:.3f}, at a rate of {rates[int(np.argmin(worst))]:.3g}, and the largest gap "
            f"seen is {middle.max():.3f}."
        )
    thresholds = {}
    if certified:
        for key, curve in curves.items():
            at = curve.reference.threshold([high, low])
            thresholds[key] = (float(at[0]), float(at[1]))
    return Certificate(
        on,
        float(tolerance),
        level,
        method,
        certified,
        low if certified else np.nan,
        high if certified else np.nan,
        thresholds,
        reach,
        needed,
        used,
        words,
        tuple(warnings),
    )


def _longest(fair: NDArray[np.bool_], rates: Floats) -> tuple[float, float]:
    """Ends of the longest run of fair steps between consecutive rates."""
    change = np.flatnonzero(np.diff(np.concatenate(([False], fair, [False])).astype(np.int8)))
    starts, stops = change[::2], change[1::2]
    if len(starts) == 0:
        return 0.0, 0.0
    longest = int(np.argmax(stops - starts))
    return float(rates[starts[longest]]), float(rates[stops[longest]])
