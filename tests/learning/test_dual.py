"""The search for multipliers meets linear programmes over all orders, and closed forms."""

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from evenscore.gaps import as_constraints
from evenscore.learning.dual import CLOSE, DualSearch, Order, Spare
from evenscore.learning.ratio import RatioForm


def smooth(matrix, start):
    """Gaps that fall linearly in the multipliers, and the AUC that goes with them.

    AUC − m · gap is stationary in the order, hence dAUC = m · dgap.
    """

    def look(m):
        return 0.9 - 0.5 * m @ matrix @ m, start - matrix @ m

    return look


@pytest.mark.parametrize("tolerance", [0.0, 0.01, 0.05, 0.3])
def test_two_groups_by_the_closed_form(tolerance):
    best = DualSearch(smooth(np.array([[0.4]]), np.array([0.2])), 1).solve(np.array([tolerance]))
    gap = min(tolerance, 0.2)
    assert best.gaps[0] == pytest.approx(gap, abs=1e-3)
    assert best.auc == pytest.approx(0.9 - 0.5 * (0.2 - gap) ** 2 / 0.4, abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_several_gaps_by_a_quadratic_programme(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3, 3))
    matrix, start = 0.3 * root @ root.T + 0.2 * np.eye(3), 0.2 * rng.normal(size=3)
    search = DualSearch(smooth(matrix, start), 3, most=200)
    best = search.solve(np.full(3, 0.02))
    wanted = minimize(  # in the gaps themselves
        lambda gap: 0.5 * (start - gap) @ np.linalg.solve(matrix, start - gap),
        np.zeros(3),
        bounds=[(-0.02, 0.02)] * 3,
    )
    assert np.max(np.abs(best.gaps)) <= 0.02 + CLOSE
    assert best.auc == pytest.approx(0.9 - wanted.fun, abs=1e-3)
    assert len(search.orders) < 100


def test_a_strength_bounds_the_multipliers():
    look = smooth(np.array([[0.4]]), np.array([0.2]))
    best = DualSearch(look, 1).solve(np.zeros(1), np.array([0.25]))
    assert best.multipliers[0] == pytest.approx(0.25, abs=1e-3)
    assert DualSearch(look, 1).solve(np.zeros(1), np.array([0.0])).multipliers[0] == 0.0


def test_the_frontier_leaves_out_what_another_beats():
    search = DualSearch(lambda m: (0.0, m), 1)
    search.orders += [
        Order(np.array([float(k)]), auc, np.array([gap]))
        for k, (auc, gap) in enumerate([(0.8, 0.3), (0.7, -0.4), (0.75, -0.1), (0.75, 0.2)])
    ]
    assert [order.auc for order in search.frontier()] == [0.8, 0.75]
    assert search.frontier()[-1].worst == 0.1


# ---------------------------------------------------------------------- laws with a few atoms


def law(seed, n_groups=2, atoms=5):
    rng = np.random.default_rng(seed)
    cells = rng.dirichlet(np.ones(atoms), 2 * n_groups)  # P(atom | cell)
    return cells, rng.dirichlet(5.0 * np.ones(2 * n_groups)).reshape(2, n_groups)


def statistics(cells, order, weights):
    """AUC_{H, G_k} of every group, by counting pairs of atoms; `order` has the atoms by rank."""
    place = np.argsort(order)
    above = np.sign(place[None, :] - place[:, None]) / 2.0 + 0.5  # [below, above]
    n_groups = weights.shape[1]
    share = weights[0] / weights[0].sum()
    pooled = share @ cells[:n_groups]
    return np.array([pooled @ above @ cells[n_groups + k] for k in range(n_groups)])


def searched(cells, weights):
    """The search over a law, by the ratio for bnsp."""
    form = RatioForm.of(as_constraints("bnsp"), weights)
    n_groups = weights.shape[1]
    pairs = [(i, j) for i in range(n_groups) for j in range(i + 1, n_groups)]
    share = weights[1] / weights[1].sum()

    def look(m):
        order = np.argsort(form.score(cells.T, m), kind="stable")
        found = statistics(cells, order, weights)
        return share @ found, np.array([found[i] - found[j] for i, j in pairs])

    effect = np.zeros((len(pairs), n_groups))
    for row, (i, j) in zip(effect, pairs, strict=True):
        row[i], row[j] = 1.0, -1.0
    return DualSearch(look, len(pairs), most=300), Spare(share, effect)


def best_lottery(cells, weights, tolerance):
    """The largest AUC of lotteries of all orders with gaps up to a tolerance."""
    found = np.array([statistics(cells, o, weights) for o in permutations(range(cells.shape[1]))])
    share = weights[1] / weights[1].sum()
    n_groups = weights.shape[1]
    gaps = np.array([found[:, i] - found[:, j] for i in range(n_groups) for j in range(i)])
    solved = linprog(
        -found @ share,
        A_ub=np.vstack([gaps, -gaps]),
        b_ub=np.full(2 * len(gaps), tolerance),
        A_eq=np.ones((1, len(found))),
        b_eq=[1.0],
    )
    return -solved.fun if solved.status == 0 else None


@pytest.mark.parametrize(("seed", "n_groups"), [(0, 2), (1, 3), (2, 3)])
def test_the_best_of_all_lotteries_is_found(seed, n_groups):
    cells, weights = law(seed, n_groups)
    wanted = best_lottery(cells, weights, 0.05)
    search, _ = searched(cells, weights)
    search.solve(np.full(search.n_gaps, 0.05))
    found = linprog(
        [-order.auc for order in search.orders],
        A_ub=np.vstack([np.array([o.gaps for o in search.orders]).T * sign for sign in (1, -1)]),
        b_ub=np.full(2 * search.n_gaps, 0.05),
        A_eq=np.ones((1, len(search.orders))),
        b_eq=[1.0],
    )
    if wanted is None:
        assert found.status != 0
    else:
        assert -found.fun == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_spare_makes_the_worst_off_group_best_off(seed):
    cells, weights = law(seed, 3)
    found = np.array([statistics(cells, o, weights) for o in permutations(range(5))])
    solved = linprog(  # the largest t below the mean statistics of all groups
        [0.0] * len(found) + [-1.0],
        A_ub=np.hstack([-found.T, np.ones((3, 1))]),
        b_ub=np.zeros(3),
        A_eq=np.array([[1.0] * len(found) + [0.0]]),
        b_eq=[1.0],
        bounds=[(0, None)] * len(found) + [(None, None)],
    )
    search, spare = searched(cells, weights)
    best = search.solve(np.zeros(3), spare=spare)
    least = spare.statistics(best).min()
    single = found.min(axis=1).max()  # of single orders, which are all that is offered
    assert least <= -solved.fun + 1e-9
    assert least >= single - 0.06
    mixed = linprog(
        [0.0] * len(search.orders) + [-1.0],
        A_ub=np.hstack(
            [-np.array([spare.statistics(o) for o in search.orders]).T, np.ones((3, 1))]
        ),
        b_ub=np.zeros(3),
        A_eq=np.array([[1.0] * len(search.orders) + [0.0]]),
        b_eq=[1.0],
        bounds=[(0, None)] * len(search.orders) + [(None, None)],
    )
    assert -mixed.fun == pytest.approx(-solved.fun, abs=1e-4)


def test_a_tolerance_that_costs_too_much_is_given_up():
    """Between two orders only: one with a gap, one without and far worse."""

    def look(m):
        return (0.8, np.array([0.3])) if m[0] < 0.8 else (0.5, np.array([0.0]))

    kept = DualSearch(look, 1).solve(np.array([0.25]))
    assert kept.auc == 0.8  # 0.05 beyond is not worth 0.3 of AUC
    fair = DualSearch(look, 1).solve(np.array([0.02]))
    assert fair.auc == 0.5
