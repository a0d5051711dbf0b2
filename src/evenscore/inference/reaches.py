"""Reaches: the smallest tolerance that would be certified, in each of many samples like a table.

A certificate by intersection-union is given if |D̂| + zσ ≤ ε at every cut, for every rate and every
pair of groups: if its *reach*, the largest of these, is at most ε. Samples of so many people from a
law have D̂ = D + W, D being the gaps of the law and W noise. If a table holds what is expected of so
many people, bridges draw W at all cuts, rates and pairs at once, and the reaches that come of it
say how often each tolerance would be certified: before there are data. Errors σ, Newcombe's floor,
what a share adds to the error of a cut and the widening of a range are those of the certificate
itself. Between the cuts of the grid the largest value is drawn as that of a Brownian bridge.

A gap between AUCs is within ε if its interval of level 1 − 2δ is (two one-sided tests), and all of
them are if each is. Noise is jointly normal, with the covariances of placement values.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from evenscore.inference.bridges import DRAWS, Bridges, Singles, grid_steps
from evenscore.inference.cut_bounds import Pair, ShareBounds
from evenscore.inference.cut_gaps import RateErrors, RatesAtSteps, share_error, widened_range
from evenscore.inference.influence import linear_forms, placement_moments
from evenscore.inference.intervals import Intervals, normal_quantile
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Bools, Floats, ratio
from evenscore.scores.rates import Rate
from evenscore.scores.selection import Ladder, Selected

ROUNDS = 4
"""How often bridges are drawn, 1,500 at a time: 6,000 samples tell the number of people that it
takes for a power of 90 % up to about 1 %."""


def reaches_at_cuts(
    ladder: Ladder,
    rates: Sequence[Rate],
    inside: list[tuple[int, int]],
    pairs: Sequence[Pair],
    *,
    confidence_level: float,
    share_range: tuple[float, float] | None = None,
    shares: Sequence[float] = (),
    random_state: int = 0,
) -> Floats:
    """The reaches of `certify_rates`, by intersection-union, in samples like the ladder's table.

    Parameters are those of `certify_rates`. Infinite where some rate rests on too few people.
    """
    errors, z = RateErrors(ladder), normal_quantile(confidence_level)
    places = inside if share_range is None else [widened_range(ladder, *share_range)]
    steps = np.unique(np.concatenate([grid_steps(ladder, *place) for place in places]))
    selected = ladder.selected(steps)
    expected = [
        gap for rate in rates for gap in _expected(errors, rate, selected, pairs, by_share=shares)
    ]
    reaches = []
    for number in range(ROUNDS):
        bridges = Bridges(ladder, steps, ROUNDS * int(random_state) + number)
        largest = np.zeros(DRAWS)
        for one in expected:
            drawn = bridges.of(one.rate, one.pair)
            error = one.error
            if shares:
                error = one.stretched * _drawn_error(one, bridges.of_groups(one.rate))
            own = np.abs(one.value + one.stretched * drawn.noise) + np.float32(z) * error
            own[~one.known] = np.inf
            most = own.max(axis=0).astype(np.float64)
            if share_range is not None and one.known.all():
                most = bridges.largest_between(own, drawn.stream)
            np.maximum(largest, most, out=largest)
        reaches.append(largest)
    return np.concatenate(reaches)


class _Expected(NamedTuple):
    """A gap at some cuts: its value and error, (cuts, 1), and where it can be told.

    `rates` are those of all groups, and `stretched` is by how much more the gap strays than at
    fixed cuts.
    """

    rate: Rate
    pair: Pair
    rates: RatesAtSteps
    value: Singles
    error: Singles
    stretched: Singles
    known: Bools


def _expected(
    errors: RateErrors,
    rate: Rate,
    selected: Selected,
    pairs: Sequence[Pair],
    *,
    by_share: Sequence[float],
) -> Iterator[_Expected]:
    """The gaps of a rate; of cuts that are meant by their shares, errors know of that."""
    rates = errors.at(rate, selected)
    moving = ShareBounds(errors, 1.0).at(rate, selected)
    for pair in pairs:
        _, error, known = rates.gap(pair)
        wide = moving.gap(pair)[1] if by_share else error
        gap = rates.value[:, pair[0]] - rates.value[:, pair[1]]
        value, wider, stretched = (
            part[:, None].astype(np.float32) for part in (gap, wide, ratio(wide, error, 1.0))
        )
        yield _Expected(rate, pair, rates, value, wider, stretched, known)


def _drawn_error(one: _Expected, noise: Singles) -> Singles:
    """The error that a sample tells, (cuts, draws): it goes with the rates seen in it.

    With two hundred people in the smaller group and a rate of 5 %, planned numbers of people were
    5 % to 9 % too large without it. Over a range of cuts, where it would cost much time, they are
    up to 7 % too large if few people are needed (benchmarks/planning.py).
    """
    pick = list(one.pair)
    cuts, _, draws = noise.shape
    drawn = one.rates.value[:, pick, None] + noise[:, pick]
    value = np.clip(np.moveaxis(drawn, 1, 2).reshape(-1, 2).astype(np.float64), 0.0, 1.0)
    size = np.repeat(one.rates.size[:, pick], draws, axis=0)
    known = np.repeat(one.rates.assessable[:, pick], draws, axis=0)
    error = np.repeat(one.rates.error[:, pick], draws, axis=0)
    error = np.where(np.isnan(size), error, share_error(value, size))
    found = RatesAtSteps(value, error, size, known).gap((0, 1))[1]
    return np.asarray(found.reshape(cuts, draws), dtype=np.float32)


def reaches_of_differences(
    scores: GroupedScores,
    sides: Floats,
    intervals: Intervals,
    *,
    proportions_vary: bool,
    confidence_level: float,
    random_state: int = 0,
) -> Floats:
    """The reaches of differences of two linear combinations of AUCs, in samples like a table.

    `sides` are their coefficients, (2, gaps, 2K, 2K), and `intervals` those of the table's gaps.
    """
    moments = placement_moments(scores)
    left, right = linear_forms(sides, moments, proportions_vary=proportions_vary)
    forms = left - right
    variance = moments.variance_by_cell(forms).sum(axis=-1)
    both = np.array([moments.variance_by_cell(form + forms).sum(axis=-1) for form in forms])
    covariance = (both - variance[:, None] - variance) / 2.0
    z = np.full(len(forms), normal_quantile(confidence_level))
    low, high = intervals(z)
    values, vectors = np.linalg.eigh(covariance)
    rng = np.random.default_rng(int(random_state))
    draws = rng.standard_normal((ROUNDS * DRAWS, len(values))) * np.sqrt(np.maximum(values, 0.0))
    noise = draws @ vectors.T
    reaches = np.maximum(high + noise, -(low + noise)).max(axis=1)
    return np.where(np.isnan(reaches), np.inf, reaches)
