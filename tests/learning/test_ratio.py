"""Optimal scores as ratios, against every order of small laws; and where there can be no ratio.

The mathematics is in docs/optimal.md. A law has few atoms; `atoms` is (n, 2K), the share of each
cell at each atom. Objectives are computed from outer products of populations written out here, and
for some laws by `values`, the library's own definition.
"""

from functools import cache
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.metrics import roc_auc_score
from support.making import often

from evenscore import GroupedScores
from evenscore.gaps import as_constraints
from evenscore.learning.ratio import RatioForm

RATIOS = [
    ["bnsp"],
    ["bpsn"],
    ["zero_aeg"],
    ["zero_aeg_negatives"],
    ["bnsp", "zero_aeg_negatives"],
    ["bpsn", "zero_aeg"],
]
CYCLIC = [
    ["intra_group"],
    ["inter_group"],
    ["reference_group"],
    ["pair_error"],
    ["bnsp", "bpsn"],
    ["bnsp", "zero_aeg_negatives", "inter_group"],
]


def label(names):
    return "+".join(names)


# ---------------------------------------------------------------------- laws and orders


def draw_law(rng, n_atoms, n_groups):
    """Shares of the cells at the atoms, some of them zero, and the weights of the cells."""
    atoms = rng.gamma(rng.choice([0.3, 1.0, 3.0]), size=(n_atoms, 2 * n_groups))
    if rng.random() < 0.3:
        atoms *= rng.random(atoms.shape) < 0.6
        atoms[rng.integers(n_atoms)] += 0.1  # no cell is empty
    return atoms / atoms.sum(axis=0), rng.gamma(2.0, size=(2, n_groups)) + 0.05


@cache
def orders(n_atoms):
    """All orders as [below, above] tables, (n!, n²); an atom ties with itself."""
    places = np.array(list(permutations(range(n_atoms))))
    above = (places[:, None, :] > places[:, :, None]) + 0.5 * np.eye(n_atoms)
    return above.reshape(len(places), -1)


def order_of(score):
    """The same table of one score, whose ties count one half."""
    return (np.sign(score[None, :] - score[:, None]) + 1.0).ravel() / 2.0


def populations(cell_weights):
    """Pooled negatives and positives, and the negatives and positives of every group."""
    n_groups = cell_weights.shape[1]
    unit = np.eye(2 * n_groups)
    shares = cell_weights / cell_weights.sum(axis=1, keepdims=True)
    h, g = unit[:n_groups], unit[n_groups:]
    return shares[0] @ h, shares[1] @ g, h, g


def statistic(name, cell_weights, k, other):
    """The statistic of a group as coefficients of the AUCs between cells, [reference, target]."""
    a, b, h, g = populations(cell_weights)
    if name == "reference_group":
        mixed = cell_weights[0, 0] * h[0] + cell_weights[1, 0] * g[0]
        return np.outer(mixed / mixed.sum(), g[k])
    if name == "pair_error":
        negatives, positives = cell_weights.sum(axis=1)
        first, second = cell_weights[1, k] * negatives, cell_weights[0, k] * positives
        mean = first * np.outer(a, g[k]) + second * np.outer(h[k], b)
        return mean / (first + second)
    below, above = {
        "bnsp": (a, g[k]),
        "bpsn": (h[k], b),
        "zero_aeg": (b, g[k]),
        "zero_aeg_negatives": (a, h[k]),
        "intra_group": (h[k], g[k]),
        "inter_group": (h[k], g[other]),
    }[name]
    return np.outer(below, above)


def gap_forms(names, cell_weights):
    """The gaps of every pair of groups, (gaps, 2K, 2K)."""
    pairs = list(combinations(range(cell_weights.shape[1]), 2))
    return np.array(
        [
            statistic(name, cell_weights, i, j) - statistic(name, cell_weights, j, i)
            for name in names
            for i, j in pairs
        ]
    )


def auc_form(cell_weights):
    a, b, *_ = populations(cell_weights)
    return np.outer(a, b)


def of_orders(form, atoms, tables):
    """Σ form ∘ AUCs of the cells, for every table of an order."""
    return tables @ (atoms @ form @ atoms.T).ravel()


def library_objective(families, atoms, cell_weights, score, multipliers):
    """AUC − Σ m gap by THE definition of the gaps, on the weighted table of the law."""
    n_atoms, n_cells = atoms.shape
    n_groups = n_cells // 2
    cells = np.tile(np.arange(n_cells), n_atoms)
    positive, group = cells >= n_groups, cells % n_groups
    rows, weight = np.repeat(score, n_cells), (atoms * cell_weights.ravel()).ravel()
    table = GroupedScores.from_codes(rows, positive, group, tuple(range(n_groups)), weight=weight)
    gaps = np.concatenate([family.values(table) for family in families])
    return roc_auc_score(positive, rows, sample_weight=weight) - multipliers @ gaps


# ---------------------------------------------------------------------- the ratio is optimal


def meets_the_best_order(families, forms, form, law, multipliers, *, by_library=False):
    """Asserts that the ratio's order has the largest objective of all."""
    atoms, cell_weights = law
    target = auc_form(cell_weights) - np.tensordot(multipliers, forms, axes=1)
    score = form.score(atoms, multipliers)
    assert np.isfinite(score).all()
    value = of_orders(target, atoms, order_of(score))
    best = of_orders(target, atoms, orders(len(atoms))).max()
    assert value == pytest.approx(best, rel=1e-12, abs=1e-12 * (1 + np.abs(multipliers).sum()))
    if by_library:
        objective = library_objective(families, atoms, cell_weights, score, multipliers)
        assert objective == pytest.approx(value, abs=1e-11 * (1 + np.abs(multipliers).sum()))


def negative_weight(names, cell_weights, multipliers):
    """Whether a cell has the wrong sign in p, so that turning the ratio round would be wrong."""
    a, b, h, g = populations(cell_weights)
    n_pairs = len(multipliers) // len(names)
    p = b if set(names) <= {"bnsp", "zero_aeg_negatives"} else -a
    sides = {"bnsp": g, "zero_aeg": g, "bpsn": -h, "zero_aeg_negatives": h}
    for n, name in enumerate(names):
        of_pairs = multipliers[n * n_pairs : (n + 1) * n_pairs]
        for m, (i, j) in zip(of_pairs, combinations(range(len(h)), 2), strict=True):
            p = p - m * (sides[name][i] - sides[name][j])
    return p.min() < 0.0 < p.max()


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("names", RATIOS, ids=label)
def test_no_order_is_better(names, n_groups):
    rng = np.random.default_rng(n_groups)
    families = as_constraints(names)
    mixed = 0
    for n in range(often(60)):
        _, cell_weights = law = draw_law(rng, 6 if n % 10 == 0 else rng.integers(3, 6), n_groups)
        forms = gap_forms(names, cell_weights)
        form = RatioForm.of(families, cell_weights)
        multipliers = rng.normal(size=len(forms)) * rng.choice([0.1, 1.0, 5.0])
        meets_the_best_order(families, forms, form, law, multipliers, by_library=n % 10 == 0)
        mixed += negative_weight(names, cell_weights, multipliers)
    assert mixed > often(60) / 4


# ---------------------------------------------------------------------- where there is no ratio


def preferences(names, cell_weights, multipliers):
    """B: x ranks above x' if d(x')ᵀ B d(x) > 0."""
    forms = gap_forms(names, cell_weights)
    target = auc_form(cell_weights) - np.tensordot(multipliers, forms, axes=1)
    return target - target.T


def cycle_near_one(B, size=0.1):
    """Three vectors of densities near (1, …, 1), of mean (1, …, 1), each above the one before."""
    n_cells = len(B)
    flat = np.linalg.svd(np.sum(B, axis=0)[None, :])[2][1:]  # indifferent to (1, …, 1)
    u, _, v = np.linalg.svd(flat @ B @ flat.T)
    first, second = flat.T @ u[:, 0], flat.T @ v[0]
    return np.ones(n_cells) + size * np.array([first, second, -first - second])


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("names", CYCLIC, ids=label)
def test_refused_and_cyclic(names, n_groups):
    rng = np.random.default_rng(7)
    for _ in range(20):
        _, cell_weights = draw_law(rng, 4, n_groups)
        forms = gap_forms(names, cell_weights)
        library = [f.linear_form(cell_weights) for f in as_constraints(names)]
        np.testing.assert_allclose(forms, np.concatenate(library), atol=1e-12)
        B = preferences(names, cell_weights, rng.normal(size=len(forms)))
        assert np.linalg.matrix_rank(B, tol=1e-9) >= 4
        points = cycle_near_one(B)
        assert points.min() > 0
        preferred = points @ B @ points.T  # [below, above]
        assert min(preferred[0, 1], preferred[1, 2], preferred[2, 0]) > 1e-9
        with pytest.raises(ValueError, match=r"cyclic.*LinearScorer"):
            RatioForm.of(as_constraints(names), cell_weights)


# Twelve people in each cell: H0, H1, G0, G1 at three values of the features (docs/optimal.md).
CYCLES = {
    "intra_group": [[7, 3, 4, 4], [4, 5, 4, 5], [1, 4, 4, 3]],
    "inter_group": [[7, 3, 4, 4], [4, 5, 5, 4], [1, 4, 3, 4]],
}


@pytest.mark.parametrize("name", CYCLES)
def test_the_cycles_of_the_page(name):
    people = np.array(CYCLES[name])
    assert (people.sum(axis=0) == 12).all()
    B = preferences([name], np.ones((2, 2)), np.array([0.25]))
    wins = people @ B @ people.T * 4
    np.testing.assert_array_equal(wins, [[0, 1, -1], [-1, 0, 1], [1, -1, 0]])
    families = as_constraints(name)
    values = {
        order: library_objective(
            families, people / 12, np.ones((2, 2)), np.array(order, float), np.array([0.25])
        )
        for order in permutations(range(3))
    }
    best = {order for order, value in values.items() if value > max(values.values()) - 1e-12}
    assert best == {(0, 1, 2), (1, 2, 0), (2, 0, 1)}  # every rotation, each against one preference


# ---------------------------------------------------------------------- constrained optima

EXACTLY = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@pytest.mark.parametrize(("n_groups", "tolerance"), [(2, 0.05), (3, 0.0)])
@pytest.mark.parametrize("names", RATIOS, ids=label)
def test_the_dual_is_the_best_of_all_randomised_orders(names, n_groups, tolerance):
    """max AUC over mixtures of all orders, |gap| ≤ ε, is min over m of max (AUC − Σ m gap) + ε|m|,
    whose inner maximum is the ratio's."""
    rng = np.random.default_rng(10)
    for _ in range(often(3)):
        atoms, cell_weights = draw_law(rng, 5, n_groups)
        forms = gap_forms(names, cell_weights)
        aucs = of_orders(auc_form(cell_weights), atoms, orders(5))
        gaps = np.array([of_orders(form, atoms, orders(5)) for form in forms])
        primal = linprog(
            -aucs,
            A_ub=np.vstack([gaps, -gaps]),
            b_ub=np.full(2 * len(gaps), tolerance),
            A_eq=np.ones((1, len(aucs))),
            b_eq=[1.0],
            options=EXACTLY,
        )
        assert primal.success
        up, down = -primal.ineqlin.marginals.reshape(2, -1)
        form = RatioForm.of(as_constraints(names), cell_weights)

        def dual(m, form=form, forms=forms, atoms=atoms, cell_weights=cell_weights):
            target = auc_form(cell_weights) - np.tensordot(m, forms, axes=1)
            value = of_orders(target, atoms, order_of(form.score(atoms, m)))
            return value + tolerance * np.abs(m).sum()

        assert dual(up - down) == pytest.approx(-primal.fun, abs=1e-8)
        for _ in range(10):  # every other multiplier bounds it too
            assert dual(up - down + rng.normal(size=len(up)) * 0.3) >= -primal.fun - 1e-8
