"""The best placement of atoms against all orders, closed forms and its own dual; the bound."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from support.placing import problem_of

from evenscore import AucConstraint, Cuts, RateConstraint, RocConstraint
from evenscore.placement.problem import Problem
from evenscore.placement.program import best_placement, bound
from evenscore.scores.rates import CATALOGUE


def weak_orders(items):
    """All ways to rank items with ties: lists of blocks, the first on top."""
    if not items:
        yield []
        return
    for size in range(1, len(items) + 1):
        for block in combinations(items, size):
            rest = [item for item in items if item not in block]
            for others in weak_orders(rest):
                yield [list(block), *others]


def auc_and_gaps(order, h, g, cells):
    """AUC with ties split, and the largest gap of fpr and of fnr between blocks."""
    auc = above = 0.0
    shares, worst = np.zeros(4), np.zeros(2)
    for block in order:
        auc += g[block].sum() * (1.0 - above - 0.5 * h[block].sum())
        above += h[block].sum()
        shares = shares + cells[block].sum(axis=0)
        worst = np.maximum(worst, [abs(shares[0] - shares[1]), abs(shares[2] - shares[3])])
    return auc, worst


@pytest.mark.parametrize("pool", ["negatives", "positives", "everyone"])
@given(st.integers(0, 10**6))
@settings(max_examples=6, deadline=None)
def test_no_order_of_few_atoms_that_is_within_the_bands_ranks_better(pool, seed):
    rng = np.random.default_rng(seed)
    masses = rng.gamma(1.0, size=(5, 4)) + 0.02
    tolerance = float(rng.choice([0.0, 0.1, 0.3]))
    cuts = Cuts(between=(1e-6, 1.0 - 1e-6), of=pool)
    base = problem_of([RateConstraint("fpr", "fnr", cuts=cuts)], masses, tolerance)
    parts = masses / masses.sum(axis=0)
    own = parts @ base.pools[0]
    sets = [own[list(s)].sum() for k in range(1, 5) for s in combinations(range(5), k)]
    above = np.unique(np.round(sets, 9))
    problem = at_cuts(base, above)
    h, g = parts @ problem.negatives, parts @ problem.positives
    best = best_placement(problem, masses)
    found = [auc_and_gaps(order, h, g, parts) for order in weak_orders(list(range(5)))]
    allowed = [auc for auc, gaps in found if gaps.max() <= tolerance + 1e-9]
    assert best.auc >= max(allowed) - 1e-7
    free = at_cuts(problem_of([RateConstraint("fpr", cuts=cuts)], masses, 1.0), above)
    assert best_placement(free, masses).auc == pytest.approx(max(a for a, _ in found), abs=1e-7)


def at_cuts(problem: Problem, above) -> Problem:
    """The same bands at every cut of a list."""
    from dataclasses import replace

    at = np.arange(len(above))
    bands = tuple(
        replace(band, at=at, noise=np.zeros((len(above), 2)), weights=np.zeros(len(above)))
        for band in problem.bands
    )
    pools = np.repeat(problem.pools[:1], len(above), axis=0)
    texts = ("",) * len(above)
    return replace(problem, pools=pools, above=above, asked=at >= 0, texts=texts, bands=bands)


# ---------------------------------------------------------------------- closed forms

MEANS = np.array([[0.0, 0.0], [0.5, 0.7], [1.4, 0.2], [1.6, 1.6]])  # "shifted" of docs/optimal.md
SHARES = np.array([0.4, 0.6, 0.5, 0.5])


def gaussian_atoms(n=11):
    """Masses of the cells on a grid."""
    t = -2.5 + 6.5 * (np.arange(n) + 0.5) / n
    X = np.stack(np.meshgrid(t, t, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(-np.square(X[:, None] - MEANS).sum(axis=2) / 2.0)
    return density / density.sum(axis=0) * SHARES


RATIOS = {  # the orders that are best for some multiplier (docs/optimal.md)
    "bnsp": lambda h, g, dh, dg, m: (g - m * dg) / h,
    "bpsn": lambda h, g, dh, dg, m: -(h - m * dh) / g,
    "zero_aeg": lambda h, g, dh, dg, m: -(h + m * dg) / g,
    "zero_aeg_negatives": lambda h, g, dh, dg, m: (g - m * dh) / h,
}


def pairs_won(score, below, above):
    """The share of pairs in which one is above the other, a tie counting half."""
    place = np.unique(score.round(9), return_inverse=True)[1]
    below, above = np.bincount(place, below), np.bincount(place, above)
    return float(above @ (np.cumsum(below) - 0.5 * below))


def best_in_closed_form(name, masses):
    """min over m of max over orders of AUC − m · gap: the optimum without a gap."""
    parts = masses / masses.sum(axis=0)
    h = parts[:, :2] @ SHARES[:2]
    g = parts[:, 2:] @ SHARES[2:]
    dh, dg = parts[:, 0] - parts[:, 1], parts[:, 2] - parts[:, 3]
    sides = {"bnsp": (h, dg), "bpsn": (dh, g), "zero_aeg": (g, dg), "zero_aeg_negatives": (h, dh)}

    def value(m):
        score = RATIOS[name](h, g, dh, dg, m)
        return pairs_won(score, h, g) - m * pairs_won(score, *sides[name])

    grid = np.linspace(-2.0, 2.0, 81)
    start = grid[int(np.argmin([value(m) for m in grid]))]
    return min(
        value(start),
        float(minimize_scalar(value, bounds=(start - 0.06, start + 0.06), method="bounded").fun),
    )


@pytest.mark.slow  # a linear program of 121 atoms and 45 cuts takes half a second
@pytest.mark.parametrize("name", list(RATIOS))
def test_the_closed_forms_lie_between_the_program_and_the_bound(name):
    masses = gaussian_atoms()
    problem = problem_of([AucConstraint.named(name)], masses, 0.0).finer()
    best, known = best_placement(problem, masses), best_in_closed_form(name, masses)
    above, error = bound(problem, best, masses)
    assert best.auc - 1e-7 <= known <= above + 1e-7
    assert above - best.auc < 0.006
    assert error > 0.0


def test_the_squares_fair_score_is_optimal():
    """Example 1 of the paper: x1 + x2 is best of all that are equal at every cut, .7333."""
    n = 12
    t = (np.arange(n) + 0.5) / n
    one, two = (part.reshape(-1) for part in np.meshgrid(t, t))
    q = 17 / 20
    cells = ((1 - q) * (1 - one), q * (1 - two), (1 - q) * one, q * two)
    masses = np.column_stack(cells) / n**2
    fair = RateConstraint("fpr", "fnr", cuts=Cuts(between=(0.02, 0.98)))
    problem = problem_of([fair], masses, 0.0).finer(19)
    best = best_placement(problem, masses)
    parts = masses / masses.sum(axis=0)
    known = pairs_won(one + two, parts @ problem.negatives, parts @ problem.positives)
    assert best.auc - 0.002 < known <= bound(problem, best, masses)[0]
    assert known == pytest.approx(0.7333, abs=0.004)


# ---------------------------------------------------------------------- duality


@pytest.mark.parametrize("pool", ["negatives", "positives", "everyone"])
@pytest.mark.parametrize("tolerance", [0.0, 0.05])
def test_strong_duality_with_what_the_bands_allow(pool, tolerance):
    rng = np.random.default_rng(3)
    masses = rng.gamma(1.0, size=(30, 6))
    constraint = RateConstraint("fpr", "selection", cuts=Cuts(between=(0.1, 0.6), of=pool))
    problem = problem_of([constraint], masses, tolerance)
    best = best_placement(problem, masses)
    parts, u = masses / masses.sum(axis=0), np.concatenate([[0.0], problem.above, [1.0]])
    middle = (u[1:] + u[:-1]) / 2.0
    sign = -1.0 if pool == "positives" else 1.0
    part = problem.negatives if pool == "positives" else problem.positives
    share = problem.pools[0][3:].sum() if pool == "everyone" else 0.0
    size = sign / (1.0 - share)
    paid = size * np.outer(parts @ part, 1.0 - middle) - np.outer(
        parts @ problem.pools[0], best.prices
    )
    dual = float(best.prices @ np.diff(u))
    for band, upper, lower in zip(problem.bands, best.upper, best.lower, strict=True):
        assert np.allclose((lower - upper).sum(axis=1), 0.0, atol=1e-7)
        dual += float(np.sum(upper) * tolerance)
        rate = CATALOGUE[band.asked.rate.name]
        for k in range(3):
            own = np.zeros((2, 3))
            own[:, k] = rate.of_shares(np.full((2, 3), 0.5), problem.masses.reshape(2, 3))[1][:, k]
            for j, price in zip(band.at, (lower - upper)[:, k], strict=True):
                paid[:, : j + 1] += price * (parts @ own.reshape(-1))[:, None]
    dual += float(paid.max(axis=1).sum())
    start = {"positives": 1.0, "everyone": -0.5 * share / (1.0 - share), "negatives": 0.0}[pool]
    assert start + dual == pytest.approx(best.auc, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "constraint",
    [
        RateConstraint("fpr", "fnr", cuts=Cuts(between=(0.1, 0.4)), tolerance=0.02),
        RateConstraint("fnr", cuts=Cuts(at=(0.2, 0.3)), tolerance=0.0),
        RocConstraint("negatives", (0.125, 0.25), tolerance=0.01),
        RateConstraint("selection", cuts=Cuts(between=(0.1, 0.4), selected="low"), tolerance=0.05),
    ],
)
def test_the_bound_is_above_what_finer_programs_find(constraint):
    """The finest program is nearest to the truth, from below; a bound of a coarse one is above."""
    masses = gaussian_atoms(9)
    tolerance = constraint.tolerance
    coarse = problem_of([constraint], masses, tolerance).finer(29)
    fine = problem_of([constraint], masses, tolerance).finer(59)
    found = best_placement(coarse, masses)
    above = bound(coarse, found, masses)[0]
    truth = best_placement(fine, masses).auc
    assert found.auc - 1e-6 <= truth <= above + 1e-6
    assert above - truth < 0.008


def test_what_has_no_bound_says_so():
    masses = gaussian_atoms(4)
    precision = problem_of([RateConstraint("precision")], masses, 0.0)
    with pytest.raises(ValueError, match="precision"):
        best_placement(precision, masses)
    two = problem_of([RocConstraint("both", (0.25,))], masses, 0.0)
    with pytest.raises(ValueError, match="several pools"):
        best_placement(two, masses)
