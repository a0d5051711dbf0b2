from itertools import pairwise

import numpy as np
import pytest
from conftest import draw
from hypothesis import given
from hypothesis import strategies as st

from evenscore import AucConstraint, GroupedScores, RocConstraint, constraint_names
from evenscore.constraints import as_constraints
from evenscore.learning.terms import Terms, guard_rates, with_guards
from evenscore.measures import auc_matrix


def grouped(n_groups, weights=None, seed=3):
    y, score, group, weight = draw(seed, n=200, n_groups=n_groups, weights=weights)
    return GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)


# ---------------------------------------------------------------------- guard rates


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ((0.125, 0.25), (0.05, 0.1, 0.15, 0.2, 0.3, 0.4)),
        ((0.25,), (0.1, 0.2, 0.3, 0.4)),
        ((0.75,), (0.6, 0.7, 0.8, 0.9)),
        ((0.5,), (0.2, 0.4, 0.6, 0.8)),
        ((0.01,), (0.004, 0.008, 0.012, 0.016)),
        ((0.99,), (0.984, 0.988, 0.992, 0.996)),
        ((0.25, 0.75), (0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9)),
    ],
)
def test_guards_known_by_hand(rates, expected):
    assert guard_rates(rates) == pytest.approx(expected)


@given(st.lists(st.floats(0.001, 0.999), min_size=1, max_size=4, unique=True))
def test_guards_are_rates_apart_from_those_asked_for(rates):
    guards = guard_rates(tuple(rates))
    assert list(guards) == sorted(guards)
    for guard in guards:
        assert 0.0 < guard < 1.0
        near = 0.1 * min(guard, 1 - guard)
        assert all(abs(guard - rate) > 0.9 * near for rate in rates)
    for one, two in pairwise(guards):
        assert two - one > 0.0
    for rate in rates:  # there is a rate near on either side, asked for or not
        rest = [*guards, *(other for other in rates if other != rate)]
        near = min(rate, 1 - rate)
        assert any(rate - 0.75 * near <= other < rate for other in rest)
        assert any(rate < other <= rate + 0.75 * near for other in rest)


@given(st.lists(st.floats(0.01, 0.49), min_size=1, max_size=3, unique=True))
def test_guards_mirror_those_of_the_other_end(rates):
    mirrored = guard_rates(tuple(1.0 - rate for rate in rates))
    assert sorted(1.0 - guard for guard in mirrored) == pytest.approx(list(guard_rates(rates)))


def test_which_constraints_have_guards():
    given_ = [
        AucConstraint.named("bnsp"),
        RocConstraint(on="positives", rates=(0.25,), tolerance=0.01),
        RocConstraint(interval=(0.1, 0.4)),
    ]
    [guard] = with_guards(given_)
    assert guard.on == "positives"
    assert guard.tolerance == 0.01
    assert guard.rates == pytest.approx((0.1, 0.2, 0.3, 0.4))
    assert with_guards(as_constraints("inter_group")) == []


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
    terms = Terms.of(constraints, scores.cell_weights)
    gaps = [gap for constraint in constraints for gap in constraint.gaps(scores)]
    told = [constraint.tolerance for constraint in constraints for _ in constraint.gaps(scores)]
    assert len(terms) == len(gaps) == len(terms.tolerance)
    np.testing.assert_array_equal(terms.strict(scores), [gap.value for gap in gaps])
    names = [str(group) for group in scores.groups]
    for k, gap in enumerate(gaps):
        pair = names.index(gap.first), names.index(gap.second)
        if gap.rate is None:
            assert np.isnan(terms.rate[k])
            assert (terms.first[k], terms.second[k]) == pair
        else:
            offset = n_groups * (gap.on == "positives")
            assert terms.rate[k] == gap.rate
            assert (terms.first[k] - offset, terms.second[k] - offset) == pair
        assert terms.tolerance[k] == told[k] or (told[k] is None and np.isnan(terms.tolerance[k]))
    assert len(terms.coefficients) == len(terms.auc)
    np.testing.assert_array_equal(terms.auc, [k for k, gap in enumerate(gaps) if not gap.rate])
    np.testing.assert_array_equal(terms.roc, [k for k, gap in enumerate(gaps) if gap.rate])
    assert terms.asked.all()


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("name", constraint_names())
def test_coefficients_of_an_auc_gap_give_the_gap(name, n_groups):
    scores = grouped(n_groups, "real")
    terms = Terms.of(as_constraints(name), scores.cell_weights)
    found = [np.sum(c * auc_matrix(scores).values) for c in terms.coefficients]
    np.testing.assert_allclose(found, terms.strict(scores), atol=1e-13)
    assert len(terms) == n_groups * (n_groups - 1) // 2


def test_guards_come_last_and_are_not_asked_for():
    scores = grouped(3)
    constraints = as_constraints(MIXED)
    plain = Terms.of(constraints, scores.cell_weights)
    guarded = Terms.of(constraints, scores.cell_weights, guards=True)
    n = len(plain)
    guards = guard_rates((0.25, 0.1))
    assert len(guarded) == n + 2 * 3 * len(guards)  # two classes, three pairs of groups
    assert guarded.asked.tolist() == [True] * n + [False] * (len(guarded) - n)
    np.testing.assert_array_equal(guarded.rate[:n], plain.rate)
    np.testing.assert_array_equal(guarded.rate[n : n + len(guards)], guards)
    np.testing.assert_array_equal(guarded.strict(scores)[:n], plain.strict(scores))
    assert np.isnan(guarded.tolerance[n:]).all()
    assert guarded.strict(scores).shape == (len(guarded),)


def test_no_constraints_no_terms():
    terms = Terms.of([], np.ones((2, 3)), guards=True)
    assert len(terms) == 0
    assert terms.coefficients.shape == (0, 6, 6)
    assert terms.strict(grouped(3)).shape == (0,)
    assert terms.roc.shape == (0,)
