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

from evenscore import AucConstraint, GroupedScores
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
    for n in range(often(200)):
        _, cell_weights = law = draw_law(rng, 6 if n % 10 == 0 else rng.integers(3, 6), n_groups)
        forms = gap_forms(names, cell_weights)
        form = RatioForm.of(families, cell_weights)
        multipliers = rng.normal(size=len(forms)) * rng.choice([0.1, 1.0, 5.0])
        meets_the_best_order(families, forms, form, law, multipliers, by_library=n % 10 == 0)
        mixed += negative_weight(names, cell_weights, multipliers)
    assert mixed > often(200) / 4


def test_no_order_is_better_without_constraints():
    rng = np.random.default_rng(0)
    for _ in range(often(100)):
        atoms, cell_weights = law = draw_law(rng, 5, 2)
        form = RatioForm.of([], cell_weights)
        assert form.gaps.shape == (0, 4)
        meets_the_best_order([], np.zeros((0, 4, 4)), form, law, np.zeros(0))
        # AUC* = ½ + E|η − η'| / (4 p (1 − p))
        mass = atoms * cell_weights.ravel() / cell_weights.sum()
        at, p = mass.sum(axis=1), cell_weights[1].sum() / cell_weights.sum()
        eta = mass[:, 2:].sum(axis=1) / np.where(at > 0, at, 1.0)
        spread = at @ np.abs(eta[:, None] - eta) @ at
        best = of_orders(auc_form(cell_weights), atoms, orders(5)).max()
        assert best == pytest.approx(0.5 + spread / (4 * p * (1 - p)), abs=1e-12)


def mixtures_against(reference, rng):
    """Fair equalities whose two AUCs have one of their two populations in common."""
    one, two = rng.dirichlet(np.ones(2), size=2)
    share = rng.random()
    sides = [[*(share * x), *((1 - share) * y)] for x, y in ((one, two), (two, one))]
    below, above = (reference, reference), sides
    if rng.random() < 0.5:
        below, above = above, below
    return AucConstraint.from_mixtures(below[0], above[0], below[1], above[1])


@pytest.mark.parametrize("kind", ["negatives", "positives", "everyone"])
@pytest.mark.parametrize("n_constraints", [1, 2])
def test_mixtures_with_a_pooled_population_in_common(kind, n_constraints):
    """Several at once may have any sides, so long as they have the same population in common."""
    rng = np.random.default_rng(len(kind))
    for n in range(often(120)):
        _, cell_weights = law = draw_law(rng, rng.integers(3, 6), 2)
        rows = {"negatives": [1, 0], "positives": [0, 1], "everyone": [1, 1]}[kind]
        pooled = (cell_weights * np.array(rows)[:, None]).ravel()
        families = [mixtures_against(pooled / pooled.sum(), rng) for _ in range(n_constraints)]
        forms = np.concatenate([family.linear_form(cell_weights) for family in families])
        form = RatioForm.of(families, cell_weights)
        np.testing.assert_allclose(
            form.denominator / form.denominator.sum(), pooled / pooled.sum(), atol=1e-7
        )
        multipliers = rng.normal(size=n_constraints) * 5.0
        meets_the_best_order(families, forms, form, law, multipliers, by_library=n % 10 == 0)


def test_mean_ranks_of_both_classes_can_be_equal_at_once():
    """AUC(F, G_k) and AUC(F, H_k), F everyone: bnsp and bpsn have no such ratio together."""
    rng = np.random.default_rng(3)
    for _ in range(often(60)):
        atoms, cell_weights = law = draw_law(rng, 5, 2)
        everyone = cell_weights.ravel() / cell_weights.sum()
        h0, h1, g0, g1 = np.eye(4)
        families = [
            AucConstraint.from_mixtures(everyone, one, everyone, two)
            for one, two in ((g0, g1), (h0, h1))
        ]
        forms = np.array([np.outer(everyone, g0 - g1), np.outer(everyone, h0 - h1)])
        multipliers = rng.normal(size=2)
        form = RatioForm.of(families, cell_weights)
        meets_the_best_order(families, forms, form, law, multipliers, by_library=True)
        # a linear function of the posteriors of the cells: η − Σ m P(cell | x)/P(cell)
        posterior = atoms * cell_weights.ravel()
        seen = posterior.sum(axis=1) > 0
        posterior = posterior[seen] / posterior[seen].sum(axis=1, keepdims=True)
        p = cell_weights[1].sum() / cell_weights.sum()
        linear = posterior[:, 2:].sum(axis=1) / (p * (1 - p)) - posterior @ (
            np.array([multipliers[1], -multipliers[1], multipliers[0], -multipliers[0]]) / everyone
        )
        near = np.abs(linear[:, None] - linear) < 1e-9
        other = form.score(atoms[seen], multipliers)
        assert ((np.sign(other[:, None] - other) == np.sign(linear[:, None] - linear)) | near).all()


@pytest.mark.parametrize("names", RATIOS, ids=label)
def test_the_forms_are_products_with_the_denominator(names):
    rng = np.random.default_rng(1)
    for n_groups in (2, 3, 5):
        _, cell_weights = draw_law(rng, 4, n_groups)
        form = RatioForm.of(as_constraints(names), cell_weights)
        assert form.denominator.min() >= 0.0
        vectors = np.vstack([form.auc, form.gaps])
        forms = np.vstack([[auc_form(cell_weights)], gap_forms(names, cell_weights)])
        products = np.einsum("i,fj->fij", form.denominator, vectors)
        np.testing.assert_allclose(
            products - np.swapaxes(products, 1, 2), forms - np.swapaxes(forms, 1, 2), atol=1e-12
        )


@pytest.mark.parametrize("names", RATIOS, ids=label)
def test_the_formulas_of_the_page(names):
    """bnsp (g − m Δg)/h, bpsn −(h − m Δh)/g, zero_aeg −(h + m Δg)/g, negatives (g − m Δh)/h."""
    rng = np.random.default_rng(2)
    atoms, cell_weights = draw_law(rng, 200, 2)
    atoms = atoms + 1e-3
    a, b, *_ = populations(cell_weights)
    h, g = atoms @ a, atoms @ b
    dh, dg = atoms[:, 0] - atoms[:, 1], atoms[:, 2] - atoms[:, 3]
    m = dict(zip(names, rng.normal(size=2) * 2, strict=False))
    if set(names) <= {"bnsp", "zero_aeg_negatives"}:
        ratio = (g - m.get("bnsp", 0) * dg - m.get("zero_aeg_negatives", 0) * dh) / h
    else:
        ratio = -(h - m.get("bpsn", 0) * dh + m.get("zero_aeg", 0) * dg) / g
    form = RatioForm.of(as_constraints(names), cell_weights)
    score = form.score(atoms, np.array([m[name] for name in names]))
    np.testing.assert_array_equal(np.argsort(score), np.argsort(ratio))


@pytest.mark.parametrize("sign", [-1, 1])
def test_where_groups_rank_is_met_by_counting_some_people_twice(sign):
    """zero_aeg: positives of the group that ranks high are entered as negatives too."""
    rng = np.random.default_rng(4)
    atoms, cell_weights = draw_law(rng, 100, 2)
    atoms = atoms + 1e-3
    a, b, _, _ = populations(cell_weights)
    m = sign * 0.7
    high = 0 if m > 0 else 1
    entered = atoms @ a + abs(m) / b[3 - high] * atoms[:, 2 + high]
    score = RatioForm.of(as_constraints("zero_aeg"), cell_weights).score(atoms, np.array([m]))
    np.testing.assert_array_equal(np.argsort(score), np.argsort((atoms @ b) / entered))


# ---------------------------------------------------------------------- invariances, monotony


@pytest.mark.parametrize("names", RATIOS, ids=label)
def test_the_gap_falls_as_its_multiplier_grows(names):
    rng = np.random.default_rng(5)
    for _ in range(often(40)):
        atoms, cell_weights = draw_law(rng, 8, 2)
        form = RatioForm.of(as_constraints(names), cell_weights)
        gap, *_ = gap_forms(names, cell_weights)
        multipliers = rng.normal(size=len(names))
        last = np.inf
        for m in np.sort(rng.normal(size=12) * 2):
            multipliers[0] = m
            value = of_orders(gap, atoms, order_of(form.score(atoms, multipliers)))
            assert value <= last + 1e-12
            last = value


@pytest.mark.parametrize("names", RATIOS, ids=label)
def test_names_of_groups_and_units_do_not_matter(names):
    rng = np.random.default_rng(6)
    atoms, cell_weights = draw_law(rng, 30, 3)
    atoms = atoms + 1e-3
    families, n_pairs = as_constraints(names), 3
    multipliers = rng.normal(size=(len(names), n_pairs))
    score = RatioForm.of(families, cell_weights).score(atoms, multipliers.ravel())
    rank = np.argsort(score)

    scaled = RatioForm.of(families, 70.0 * cell_weights).score(
        atoms * rng.gamma(1.0, size=(30, 1)), multipliers.ravel()
    )
    np.testing.assert_array_equal(np.argsort(scaled), rank)

    # the gap of (i, j) is minus that of (j, i)
    pairs = list(combinations(range(3), 2))
    for renamed in permutations(range(3)):
        cells = [*renamed, *(3 + k for k in renamed)]
        moved = np.empty_like(multipliers)
        for n, (i, j) in enumerate(pairs):
            old = renamed[i], renamed[j]
            sign = 1 if old in pairs else -1
            moved[:, n] = sign * multipliers[:, pairs.index(tuple(sorted(old)))]
        form = RatioForm.of(families, cell_weights[:, renamed])
        np.testing.assert_array_equal(
            np.argsort(form.score(atoms[:, cells], moved.ravel())), rank, err_msg=str(renamed)
        )


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


def goes_round(wins):
    """Whether three points are in a cycle, [below, above]."""
    return bool(wins[0, 1] & wins[1, 2] & wins[2, 0] or wins[1, 0] & wins[2, 1] & wins[0, 2])


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
        with pytest.raises(ValueError, match="cyclic") as refusal:
            RatioForm.of(as_constraints(names), cell_weights)
        assert all(name in str(refusal.value) for name in ("BoostedScorer", "LinearScorer"))


@pytest.mark.parametrize("names", [["bnsp", "zero_aeg"], ["bpsn", "zero_aeg_negatives"]], ids=label)
def test_rank_two_is_not_enough(names):
    """Two groups: these forms live in three dimensions, so each B has rank two, but no factor ≥ 0
    serves all multipliers, and some preferences are cyclic among pure points."""
    cell_weights = np.ones((2, 2))
    with pytest.raises(ValueError, match="cyclic"):
        RatioForm.of(as_constraints(names), cell_weights)
    rng = np.random.default_rng(8)
    for _ in range(20):
        multipliers = rng.normal(size=2)
        assert np.linalg.matrix_rank(preferences(names, cell_weights, multipliers), tol=1e-9) == 2
    # beyond the simplex: a weight 1/2 − 1 of one group's positives (negatives)
    h0, h1, g0, g1 = np.eye(4)
    points = np.array([h0 + h1, g0, g1]) if names[0] == "bnsp" else np.array([g0 + g1, h0, h1])
    found = []
    for sign in (-1.0, 1.0):
        wins = points @ preferences(names, cell_weights, np.array([1.0, sign])) @ points.T > 0
        found.append(goes_round(wins))
    assert sorted(found) == [False, True]


def test_a_factor_of_mixed_signs_is_not_enough():
    """bnsp − zero_aeg as one constraint: B = (a − b) ∧ (b − m (g0 − g1)), of rank two for every m,
    but a·d − b·d may be negative. Inside the simplex b − m (g0 − g1) itself is a factor ≥ 0, and
    beyond it three points go round."""
    cell_weights = np.ones((2, 2))
    form = gap_forms(["bnsp"], cell_weights)[0] - gap_forms(["zero_aeg"], cell_weights)[0]
    w = form - form.T
    gamma = [w[0, 1], w[3, 2], w[0, 2], w[0, 2] + w[0, 3], w[3, 1]]
    family = AucConstraint.from_gap_weights(gamma)
    given = family.linear_form(cell_weights)[0]
    np.testing.assert_allclose(given - given.T, w, atol=1e-12)
    with pytest.raises(ValueError, match="cyclic"):
        RatioForm.of([family], cell_weights)
    h0, h1, g0, g1 = np.eye(4)
    points = np.array([h0 + h1, g0, g1])
    cyclic = {}
    for m in (-2.0, -0.4, 0.4, 2.0):
        target = auc_form(cell_weights) - m * form
        assert np.linalg.matrix_rank(target - target.T, tol=1e-9) == 2
        wins = points @ (target - target.T) @ points.T > 0
        cyclic[m] = goes_round(wins)
    assert cyclic == {-2.0: True, -0.4: False, 0.4: False, 2.0: True}


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


@pytest.mark.parametrize("names", CYCLIC, ids=label)
def test_the_best_order_is_no_function_of_the_densities(names):
    """The same three points are best ordered differently in three laws: it depends on how many
    people there are at each. Two more points, far above and below, make up for the masses."""
    rng = np.random.default_rng(9)
    n_groups = 2
    cell_weights = np.array([[1.0, 2.0], [1.5, 1.0]])
    forms = gap_forms(names, cell_weights)
    multipliers = rng.normal(size=len(forms))
    B = preferences(names, cell_weights, multipliers)
    points = cycle_near_one(B, size=0.05)
    lean = np.repeat([-0.8, 0.8], n_groups)
    target = auc_form(cell_weights) - np.tensordot(multipliers, forms, axes=1)
    best = []
    for heavy in range(3):
        mass = np.where(np.arange(3) == heavy, 0.02, 0.01)
        rest = 1.0 - mass @ points
        high, low = (rest + lean) / 2, (rest - lean) / 2
        atoms = np.vstack([mass[:, None] * points, high, low])
        assert atoms.min() > 0
        values = of_orders(target, atoms, orders(5))
        order = np.array(list(permutations(range(5))))[values.argmax()]
        assert order[3] == 4  # the rest is where it should be
        assert order[4] == 0
        assert np.sum(values > values.max() - 1e-12) == 1  # and nothing else is as good
        best.append(tuple(np.argsort(np.argsort(order[:3]))))
    assert len(set(best)) == 3


# ---------------------------------------------------------------------- constrained optima

EXACTLY = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("names", RATIOS, ids=label)
@pytest.mark.parametrize("tolerance", [0.0, 0.05])
def test_the_dual_is_the_best_of_all_randomised_orders(names, n_groups, tolerance):
    """max AUC over mixtures of all orders, |gap| ≤ ε, is min over m of max (AUC − Σ m gap) + ε|m|,
    whose inner maximum is the ratio's."""
    rng = np.random.default_rng(10)
    for _ in range(often(8)):
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


def pairwise(c):
    """Multipliers of the pairs (0, 1), (0, 2), …, (1, 2), … that give group k the sum c_k."""
    n_groups = len(c)
    first = dict.fromkeys(combinations(range(n_groups), 2), 0.0)
    for k in range(1, n_groups):
        first[0, k] = -c[k]
    return np.array(list(first.values()))


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("name", ["bnsp", "bpsn"])
def test_weights_in_the_simplex_are_the_minimax_score(name, n_groups):
    """max over s of the worst group's AUC is the equality's dual with weights ≥ 0; if equality
    needs a negative weight, all groups together are better off without it."""
    rng = np.random.default_rng(11)
    levelled = 0
    for _ in range(often(25)):
        atoms, cell_weights = draw_law(rng, 5, n_groups)
        shares = cell_weights[1 if name == "bnsp" else 0]
        shares = shares / shares.sum()
        of_groups = np.array(
            [
                of_orders(statistic(name, cell_weights, k, k), atoms, orders(5))
                for k in range(n_groups)
            ]
        )
        aucs = of_orders(auc_form(cell_weights), atoms, orders(5))
        np.testing.assert_allclose(shares @ of_groups, aucs, atol=1e-12)
        n_orders = len(aucs)
        worst = linprog(
            [-1.0, *np.zeros(n_orders)],
            A_ub=np.column_stack([np.ones(n_groups), -of_groups]),
            b_ub=np.zeros(n_groups),
            A_eq=[[0.0, *np.ones(n_orders)]],
            b_eq=[1.0],
            options=EXACTLY,
        )
        weights = -worst.ineqlin.marginals
        assert weights.min() >= -1e-9
        assert weights.sum() == pytest.approx(1.0)
        form = RatioForm.of(as_constraints(name), cell_weights)
        score = form.score(atoms, pairwise(shares - weights))
        value = weights @ [
            of_orders(statistic(name, cell_weights, k, k), atoms, order_of(score))
            for k in range(n_groups)
        ]
        assert value == pytest.approx(-worst.fun, abs=1e-8)

        equal = linprog(
            -aucs,
            A_eq=np.vstack([np.ones(n_orders), of_groups[1:] - of_groups[0]]),
            b_eq=[1.0, *np.zeros(n_groups - 1)],
            options=EXACTLY,
        )
        assert -equal.fun <= -worst.fun + 1e-9
        c = -equal.eqlin.marginals[1:]  # dual: AUC − Σ c_k (A_k − A_0)
        of_equality = shares - np.array([-c.sum(), *c])
        score = form.score(atoms, pairwise(shares - of_equality))
        value = of_equality @ [
            of_orders(statistic(name, cell_weights, k, k), atoms, order_of(score))
            for k in range(n_groups)
        ]
        assert value == pytest.approx(-equal.fun, abs=1e-8)
        if of_equality.min() > -1e-9:  # then it is the minimax score
            assert -equal.fun == pytest.approx(-worst.fun, abs=1e-8)
        elif -worst.fun > -equal.fun + 1e-6:
            levelled += 1
            everyone = of_groups @ worst.x[1:]
            assert everyone.min() > -equal.fun  # each group does better than under equality
    assert levelled > 0
