import numpy as np
import pytest
from support.making import draw

from evenscore import AucConstraint, GroupedScores, RocConstraint, constraint_names
from evenscore.gaps import as_constraints
from evenscore.gaps.family import family_values
from evenscore.gaps.roc import guard_rates
from evenscore.learning.objective import Terms
from evenscore.scores.aucs import auc_matrix


def grouped(n_groups, weights=None, seed=3):
    y, score, group, weight = draw(seed, n=200, n_groups=n_groups, weights=weights)
    return GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)


# ---------------------------------------------------------------------- terms

MIXED = [
    RocConstraint(rates=(0.25, 0.1)),
    "bnsp",
    RocConstraint(on="positives", interval=(0.1, 0.2), tolerance=0.03),
    AucConstraint.named("pair_error", tolerance=0.05),
    AucConstraint.from_gap_weights([1, 0, -2, 0.5, 0]),
]


@pytest.mark.parametrize("weights", [None, "real"])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_order_is_that_of_the_constraints_gaps(n_groups, weights):
    scores = grouped(n_groups, weights)
    constraints = as_constraints(MIXED)
    terms = Terms.of(constraints, n_groups)
    keys = [key for family in constraints for key in family.keys(scores.groups)]
    own = [family.tolerance for family in constraints for _ in family.keys(scores.groups)]
    assert len(terms) == len(keys) == len(terms.tolerance) == len(terms.cells)
    assert [part.stop - part.start for part in terms.parts] == [
        len(family.keys(scores.groups)) for family in constraints
    ]
    for k, tolerance in enumerate(own):
        assert terms.tolerance[k] == tolerance or (
            tolerance is None and np.isnan(terms.tolerance[k])
        )
    assert terms.asked.all()


@pytest.mark.parametrize("n_groups", [2, 3])
def test_cells_are_those_without_which_a_gap_would_be_another(n_groups):
    """By moving the scores of one cell: a gap that looks at it changes, any other does not."""
    y, score, group, _ = draw(3, n=200, n_groups=n_groups, levels=None)
    constraints = as_constraints(MIXED)
    terms = Terms.of(constraints, n_groups)
    plain = GroupedScores.from_arrays(y, score, sensitive_features=group)
    for cell in range(2 * n_groups):
        own = (y == cell // n_groups) & (group == cell % n_groups)
        moved = GroupedScores.from_arrays(y, score + 0.7 * own, sensitive_features=group)
        changed = family_values(moved, constraints) != family_values(plain, constraints)
        assert not np.any(changed & ~terms.cells[:, cell])
        assert np.mean(changed[terms.cells[:, cell]]) > 0.5


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("name", constraint_names())
def test_coefficients_of_an_auc_gap_give_the_gap(name, n_groups):
    scores = grouped(n_groups, "real")
    constraint = AucConstraint.named(name)
    forms = constraint.linear_form(scores.cell_weights)
    found = [np.sum(c * auc_matrix(scores).values) for c in forms]
    np.testing.assert_allclose(found, constraint.values(scores), atol=1e-13)
    assert len(forms) == n_groups * (n_groups - 1) // 2


def test_guards_come_last_and_are_not_asked_for():
    constraints = as_constraints(MIXED)
    plain, guarded = (Terms.of(constraints, 3, guards=guards) for guards in (False, True))
    n = len(plain)
    guards = guard_rates((0.25, 0.1))
    assert len(guarded) == n + 2 * 3 * len(guards)  # two classes, three pairs of groups
    assert guarded.asked.tolist() == [True] * n + [False] * (len(guarded) - n)
    assert guarded.families[: len(constraints)] == plain.families
    assert guarded.families[-1].rates == guards
    assert np.isnan(guarded.tolerance[n:]).all()
    assert family_values(grouped(3), guarded.families).shape == (len(guarded),)


def test_no_constraints_no_terms():
    terms = Terms.of([], 3, guards=True)
    assert len(terms) == 0
    assert terms.cells.shape == (0, 6)
    assert family_values(grouped(3), terms.families).shape == (0,)
