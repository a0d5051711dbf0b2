"""The program: the best placement of atoms, and the bound that no score on them passes.

An atom is people who look the same to a score. A randomised score places a part p[c, i] of atom c
between the cuts i − 1 and i of a pool w; A[c, j] = Σ_{i ≤ j} p[c, i] is its part above cut j. The
AUC is linear in A where the pool is the negatives, the positives or everyone, and so are rates at
cuts, so that the best placement is a linear program. Cuts are added until its value settles; it
tends to the optimum of all scores built on these chances from below. It is no score to deploy: its
vertices place whole atoms far apart, and a tenth of new rows moves people by half of the ranks.

Its dual, evaluated at any people with masses of the cells, is a bound from above; see `bound`.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from evenscore.placement.problem import Band, Problem
from evenscore.scores.arrays import Floats


@final
@dataclass(frozen=True, eq=False)
class Placement:
    """The best placement of atoms, and its dual.

    Attributes
    ----------
    auc : float
        Of the polygon through the cuts: between two cuts people are in no order.
    above : array of shape (atoms, J)
        The part of every atom above each cut.
    prices : array of shape (J + 1,)
        ψ, what a unit of the pool costs between two cuts.
    upper, lower : lists of arrays of shape (items, K)
        Of every band, what it would add to loosen it above or below, for each group.
    """

    auc: float
    above: Floats
    prices: Floats
    upper: list[Floats]
    lower: list[Floats]


def single_pool(problem: Problem) -> Floats:
    """The pool of all cuts, (2K,); refused if they have several, or a rate is not linear."""
    for band in problem.bands:
        if band.asked.rate.scarce:
            raise ValueError(
                f"{band.asked.rate.name} is a share of those on one side of a cut, which is not "
                "linear in where people are placed: there is no bound."
            )
    if np.ptp(problem.pools, axis=0).max() > 1e-12:
        raise ValueError(
            "There is no bound for cuts of several pools at once: ask for shares of one of them."
        )
    return np.asarray(problem.pools[0])


def gain(problem: Problem) -> tuple[Floats, float, float]:
    """The AUC as a + b ∫ M(u) du, M(u) being a mixture's share above the cut u: M, b and a.

    With w = H it is ∫ TPR, with w = G it is 1 − ∫ FPR, and with everyone, whose share of positives
    is π, ∫ TPR = π/2 + (1 − π) AUC.
    """
    pool, negatives, positives = single_pool(problem), problem.negatives, problem.positives
    if not pool[: len(pool) // 2].any():  # of positives, be they of these atoms or of all people
        return negatives, -1.0, 1.0
    prevalence = float(pool[len(pool) // 2 :].sum())
    return positives, 1.0 / (1.0 - prevalence), -0.5 * prevalence / (1.0 - prevalence)


def best_placement(problem: Problem, masses: Floats) -> Placement:
    """The largest AUC of all placements of atoms at cuts of one pool.

    Parameters
    ----------
    problem : Problem
        Its masses are those of all atoms together.
    masses : array of shape (atoms, 2K)
        What each atom holds of every cell.

    Raises
    ------
    ValueError
        If no placement is within the bands.
    """
    parts, (mixture, size, start) = _parts(problem, masses), gain(problem)
    n_atoms, cuts = len(parts), len(problem.above)
    u = np.concatenate([[0.0], problem.above, [1.0]])
    middle = (u[1:] + u[:-1]) / 2.0
    worth = size * np.outer(parts @ mixture, 1.0 - middle)
    n_items = sum(len(band.noise) for band in problem.bands)
    whole = sparse.kron(sparse.identity(n_atoms), np.ones((1, cuts + 1)))
    entered = sparse.kron((parts @ single_pool(problem))[None], sparse.identity(cuts + 1))
    none = sparse.csr_matrix((n_atoms + cuts + 1, n_items))
    rows, limits, first = [], [], 0
    for band in problem.bands:
        own = sparse.csr_matrix(np.eye(len(band.noise), n_items, first))
        for (weights, fixed), noise in zip(_rates(problem, band), band.noise.T, strict=True):
            body = sparse.csr_matrix(_above(band, parts @ weights, cuts))
            rows += [sparse.hstack([body, -own]), sparse.hstack([-body, own])]
            limits += [band.tolerance + noise - fixed, fixed + noise]
        first += len(band.noise)
    found = linprog(
        np.concatenate([-worth.reshape(-1), np.zeros(n_items)]),
        A_ub=sparse.vstack(rows).tocsr() if rows else None,
        b_ub=np.concatenate(limits) if rows else None,
        A_eq=sparse.hstack([sparse.vstack([whole, entered]), none]).tocsr(),
        b_eq=np.concatenate([np.ones(n_atoms), np.diff(u)]),
        bounds=[(0.0, None)] * worth.size + [(None, None)] * n_items,
        method="highs-ds",
    )
    if found.x is None:
        names = " and ".join(dict.fromkeys(band.name for band in problem.bands))
        raise ValueError(f"No placement of these people meets {names}.")
    placed = found.x[: worth.size].reshape(worth.shape)
    duals = -found.ineqlin.marginals if rows else np.zeros(0)
    upper: list[Floats] = []
    lower: list[Floats] = []
    first = 0
    for band in problem.bands:
        own = duals[first : first + 2 * band.noise.size]
        sides = own.reshape(band.noise.shape[1], 2, -1)
        upper.append(sides[:, 0].T)
        lower.append(sides[:, 1].T)
        first += own.size
    return Placement(
        start - float(found.fun),
        np.cumsum(placed, axis=1)[:, :-1],
        -found.eqlin.marginals[n_atoms:],
        upper,
        lower,
    )


def bound(problem: Problem, placement: Placement, masses: Floats) -> tuple[float, float]:
    """An AUC that no score on people with such masses exceeds within the bands; its error.

    By weak duality any ψ and any B_k with Σ_k B_k = 0 that changes only where a band asks bound

        Σ_x max_a [b M(x)(1 − a) − ψ(a) w(x) + Σ_k q_k(x) B_k(a)] + ∫ ψ + what the bands allow

    from above. ψ and B are those of a `Placement`, read as piecewise linear functions, so that the
    maximum over a is at one of their nodes. Where a band is about all cuts of a range, the nodes
    before and after it are moved onto its ends: equality is asked nowhere else.

    Parameters
    ----------
    problem : Problem
        The problem that the placement solves.
    placement : Placement
        Of atoms.
    masses : array of shape (n, 2K)
        What each person holds of every cell: chances times weight.

    Returns
    -------
    bound, error : float
        The error is the standard error of the mean over people.
    """
    parts, (mixture, size, start) = _parts(problem, masses), gain(problem)
    u = np.concatenate([[0.0], problem.above, [1.0]])
    nodes, steps, allowed, moves = (u[1:] + u[:-1]) / 2.0, [], 0.0, []
    for band, upper, lower in zip(problem.bands, placement.upper, placement.lower, strict=True):
        if band.asked.between is not None:
            first, last = int(band.at[0]), int(band.at[-1])
            nodes[first] = min(nodes[first + 1], u[first + 1])
            nodes[last + 1] = max(nodes[last], u[last + 1])
        elif not band.asked.averaged:
            steps += problem.above[band.at].tolist()
        price = lower - upper
        allowed += float(np.sum(lower * band.noise + upper * (band.tolerance + band.noise)))
        for (weights, fixed), own in zip(_rates(problem, band), price.T, strict=True):
            allowed += fixed * float(own.sum())
            moves.append((band, weights, own))
    ends = np.concatenate([[0.0], nodes, [1.0]])
    values = np.interp(ends, nodes, placement.prices)
    for k, (near, next_) in ((0, (1, 2)), (-1, (-2, -3))):  # a line beyond the first and last
        slope = (values[near] - values[next_]) / (ends[near] - ends[next_])
        values[k] = values[near] + slope * (ends[k] - ends[near])
    places = np.unique(np.concatenate([ends, steps, np.nextafter(steps, 2.0)]))
    worth = size * np.outer(mixture, 1.0 - places)  # of a unit of each cell at each place
    worth -= np.outer(single_pool(problem), np.interp(places, ends, values))
    for band, weight, own in moves:
        if band.asked.averaged:
            still = own[0] * (1.0 - places)
        elif band.asked.between is None:
            still = ((places[:, None] <= problem.above[band.at]) * own).sum(axis=1)
        else:
            marks = nodes[np.append(band.at, band.at[-1] + 1)]
            left = np.append(np.cumsum(own[::-1])[::-1], 0.0)
            still = np.interp(places, marks, left)
        worth += np.outer(weight, still)
    chosen = worth[:, np.argmax(parts @ worth, axis=1)].T * parts
    best = chosen.sum(axis=1)
    influence = best - parts @ chosen.sum(
        axis=0
    )  # the cells' parts add up to one, whoever is drawn
    error = float(np.sqrt(len(best)) * influence.std())
    return start + float(best.sum()) + float(np.trapezoid(values, ends)) + allowed, error


def _parts(problem: Problem, masses: Floats) -> Floats:
    """Each atom's part of every cell."""
    return np.asarray(masses / np.where(problem.masses > 0.0, problem.masses, 1.0))


def _rates(problem: Problem, band: Band) -> list[tuple[Floats, float]]:
    """The rate of each group as weights of the cells' shares above, (2K,), and a constant."""
    one = np.full((len(problem.masses), len(problem.above)), 0.5)
    value, slopes = (part[0] for part in band.rates(one, problem.masses))
    found, n_groups = [], len(value)
    for k in range(n_groups):
        weights = np.where(np.arange(len(slopes)) % n_groups == k, slopes, 0.0)
        found.append((weights, float(value[k] - 0.5 * weights.sum())))
    if band.asked.averaged:  # of J cuts and both ends, where all rates are the same
        whole = float(band.weights.sum())
        found = [(weights, constant * whole) for weights, constant in found]
    return found


def _above(band: Band, weight: Floats, cuts: int) -> Floats:
    """How an item moves with what is placed between two cuts, (items, atoms · (J + 1))."""
    counted = (np.arange(cuts + 1) <= band.at[:, None]).astype(np.float64)
    if band.asked.averaged:
        counted = band.weights[None] @ counted
    return (weight[None, :, None] * counted[:, None, :]).reshape(len(counted), -1)
