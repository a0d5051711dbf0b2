"""Certificates: on which rates is the score fair within a tolerance, with a stated confidence."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from evenscore.inference.bands import Band, bands_both_ways, bracketed, dkw_bands, roc_band
from evenscore.inference.bootstrap import RandomState
from evenscore.inference.dkw import dkw_constant
from evenscore.inference.estimate import (
    SMALL_CELL,
    check_between,
    check_count,
    check_level,
    counted,
    percent,
)
from evenscore.scores import (
    CLASSES,
    ClassName,
    GroupedScores,
    OneOrBoth,
    check_scores,
    class_names,
)
from evenscore.scores.arrays import Bools, Floats
from evenscore.scores.curve import RocCurve
from evenscore.scores.distribution import check_interval

Lacking = Literal["", "data", "evenness"]
Method = Literal["dkw", "simultaneous"]
METHODS: tuple[Method, Method] = ("dkw", "simultaneous")

_TOO_SMALL = "cells below 30 observations are too small for the bootstrap: DKW's band instead"


@dataclass(frozen=True)
class CertifiedThresholds:
    """Scores between which every cut of the first group has a certified rate."""

    on: ClassName
    first: str
    second: str
    low: float
    high: float


@dataclass(frozen=True)
class Certificate:
    """The largest interval of rates on which |Δ| is within the tolerance, or why there is none.

    If `certified`, then with the stated confidence |ROC_{F⁰,F¹}(a) − a| ≤ tolerance for *all* rates
    a in [low, high], all classes and all pairs of groups asked for at once, whichever group of a
    pair the cut is made in. `thresholds` gives, for
    each class and pair, the scores between which every cut of the first group has a rate in
    [low, high], covered by the same statement; NaN if the interval is too short for that. `reach`
    is the smallest tolerance that could have been certified somewhere, `lacking` whether it was
    "data" that was missing (not even a score without gaps would have been certified) or
    "evenness" (the gaps seen are too large), and `needed` about the
    observations per cell with which a score without any gap is certified at most rates (by DKW).
    """

    on: OneOrBoth
    tolerance: float
    confidence_level: float
    method: Method
    certified: bool
    low: float
    high: float
    thresholds: tuple[CertifiedThresholds, ...]
    reach: float
    needed: int
    words: str
    warnings: tuple[str, ...] = ()
    lacking: Lacking = ""

    @property
    def width(self) -> float:
        """Width of the range of rates that is certified; 0 if none is."""
        return self.high - self.low if self.certified else 0.0

    def __str__(self) -> str:
        return self.words


def certify(
    scores: GroupedScores,
    tolerance: float,
    *,
    on: OneOrBoth = "both",
    interval: tuple[float, float] | None = None,
    confidence_level: float = 0.95,
    method: Method = "dkw",
    n_rates: int | None = None,
    n_resamples: int = 500,
    random_state: RandomState = 0,
) -> Certificate:
    """Look for the largest interval of rates, within `interval`, on which the score is fair.

    By default rates from `tolerance` to 1 − `tolerance` are searched: beyond, half of the statement
    holds for any score. `method="dkw"` holds for any sample size and any distribution;
    `"simultaneous"` is tighter and rests on the bootstrap. The error probability is shared equally
    between classes and pairs of groups; the two ways round of a pair are one statement.

    The band is computed at `n_rates` rates (2,001 and 401 by default). Between two of them, a ROC
    curve being increasing, ROC(a) − a lies between low(a_k) − a_{k+1} and high(a_{k+1}) − a_k, and
    that is what must stay within the tolerance: the certificate speaks of all rates, not of a grid.
    It speaks of the score whose ties are broken at random, alike in all groups, and of every cut
    of the score itself at the share of the first group that the cut selects. Of a table of bins the
    band is wider by what the order within bins leaves open.

    >>> y, groups = [0, 1] * 20_000, ["a"] * 20_000 + ["b"] * 20_000
    >>> score = list(range(20_000)) * 2
    >>> print(certify(GroupedScores.from_arrays(y, score, sensitive_features=groups), 0.1))
    Certified with 95% confidence: at all rates from 0.1 to 0.9 the gaps are within 0.1.
    """
    if method not in METHODS:
        raise ValueError(f"method must be 'dkw' or 'simultaneous', not {method!r}.")
    check_scores(scores)
    tolerance = check_between(tolerance, "tolerance", 0.5)
    level = check_level(confidence_level)
    if n_rates is None:
        n_rates = 2001 if method == "dkw" else 401
    check_count(n_rates, "n_rates", 2)
    start, stop = check_interval((tolerance, 1.0 - tolerance) if interval is None else interval)
    rates = np.linspace(start, stop, n_rates)
    scores.require_cells()
    delta = (1.0 - level) / (len(class_names(on)) * len(scores.pairs()))
    worst, largest, width, proven = np.zeros(n_rates - 1), 0.0, 0.0, False
    step = rates[1] - rates[0]
    warnings: list[str] = []
    references = {}
    found = _bands(scores, on, rates, method, 1.0 - delta, n_resamples, random_state)
    for (name, i, j), band in found:
        pair = (scores.of_class(name)[k] for k in (i, j))
        band = bracketed(band, RocCurve(*pair), scores)
        # Between two rates a curve is between its heights there.
        above, below = band.high[1:] - rates[:-1], rates[1:] - band.low[:-1]
        worst = np.maximum(worst, np.maximum(above, below))
        seen, wide = float(np.abs(band.value - rates).max()), sum(band.shift) + step
        largest, width = max(largest, seen), max(width, wide)
        proven |= seen - wide > tolerance
        warnings += [w for w in band.warnings if w not in warnings]
        references[name, scores.names[i], scores.names[j]] = scores.of_class(name)[i], band.shift[0]
    low, high = _longest(worst <= tolerance + 1e-12, rates)
    certified = bool(low < high)
    # Without any gap: the band's width and the largest gap seen by chance, E sup |B₀ − B₁| = 1.23.
    needed = int(np.ceil(((2.0 * dkw_constant(delta) + 1.23) / tolerance) ** 2))
    used = {
        scores.cell_name(c): float(size)
        for c, size in enumerate(scores.independent_sizes.reshape(-1))
        if CLASSES[c // scores.n_groups] in class_names(on)
    }
    smallest = min(used, key=lambda cell: used[cell])
    lacking: Lacking = ""
    if certified:
        words = (
            f"Certified with {percent(level)} confidence: at all rates from {low:.4g} to "
            f"{high:.4g} the gaps are within {tolerance:g}."
        )
    elif width > tolerance and not proven:
        # Gaps that are large for certain would not be certified with any number of people.
        lacking = "data"
        words = (
            f"Not certified: the {smallest} are worth {_worth(used[smallest], scores)}; "
            + (f"gaps below {width:.3f}" if width < 1.0 else "gaps of any size")
            + " cannot be told from zero, and not even a score without gaps would be certified "
            f"within {tolerance:g}. It takes {'' if method == 'dkw' else 'at most '}about "
            f"{needed:,} {'observations' if scores.clusters is None else 'clusters'} in every cell."
        )
    else:
        lacking = "evenness"
        words = f"Not certified: the gaps seen are too large, up to {largest:.3f}."
    thresholds = []
    for key, (reference, e0) in references.items() if certified else ():
        # The true rate of a cut is within e₀ of the one seen: stay so far inside.
        ends = (np.nan, np.nan)
        if low + e0 <= high - e0:
            at = reference.threshold([high - e0, low + e0])
            ends = float(at[0]), float(at[1])
        thresholds.append(CertifiedThresholds(*key, *ends))
    return Certificate(
        on,
        tolerance,
        level,
        method,
        certified,
        low if certified else np.nan,
        high if certified else np.nan,
        tuple(thresholds),
        float(worst.min()),
        needed,
        words,
        tuple(warnings),
        lacking,
    )


def _bands(
    scores: GroupedScores,
    on: OneOrBoth,
    rates: Floats,
    method: Method,
    level: float,
    n_resamples: int,
    random_state: RandomState,
) -> Iterator[tuple[tuple[ClassName, int, int], Band]]:
    """The band of every class and pair of groups, cut in either of them."""
    for name in class_names(on):
        cells = scores.of_class(name)
        for i, reference in enumerate(cells):
            others = [j for j in range(scores.n_groups) if j != i]
            targets = [cells[j] for j in others]
            if method == "dkw":
                bands = dkw_bands(reference, targets, rates, level, split_ties=True)
                yield from (((name, i, j), band) for j, band in zip(others, bands, strict=True))
                continue
            for j in range(i + 1, scores.n_groups):
                pair = reference, cells[j]
                curve = RocCurve(*pair, ties_split=True)
                if min(cell.independent_size for cell in pair) >= SMALL_CELL:
                    both = bands_both_ways(
                        curve,
                        rates,
                        confidence_level=level,
                        n_resamples=n_resamples,
                        random_state=random_state,
                    )
                else:
                    turned = RocCurve(*pair[::-1], ties_split=True)
                    one, two = (
                        roc_band(way, rates, kind="dkw", confidence_level=level)
                        for way in (curve, turned)
                    )
                    both = (
                        replace(one, warnings=(_TOO_SMALL, *one.warnings)),
                        replace(two, warnings=(_TOO_SMALL, *two.warnings)),
                    )
                yield (name, i, j), both[0]
                yield (name, j, i), both[1]


def _worth(size: float, scores: GroupedScores) -> str:
    """So many observations, or clusters."""
    told = counted(size)
    return told if scores.clusters is None else told.replace("observation", "cluster")


def _longest(fair: Bools, rates: Floats) -> tuple[float, float]:
    """Ends of the longest run of fair steps between consecutive rates."""
    change = np.flatnonzero(np.diff(np.concatenate(([False], fair, [False])).astype(np.int8)))
    starts, stops = change[::2], change[1::2]
    if len(starts) == 0:
        return 0.0, 0.0
    longest = int(np.argmax(stops - starts))
    return float(rates[starts[longest]]), float(rates[stops[longest]])
