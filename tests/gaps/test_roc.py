"""Rates around those asked for."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenscore import AucConstraint, RocConstraint
from evenscore.gaps.roc import guard_rates


def test_guards_known_by_hand():
    for rates, expected in (
        ((0.125, 0.25), (0.05, 0.1, 0.15, 0.2, 0.3, 0.4)),
        ((0.75,), (0.6, 0.7, 0.8, 0.9)),
        ((0.5,), (0.2, 0.4, 0.6, 0.8)),
        ((0.01,), (0.004, 0.008, 0.012, 0.016)),
        ((0.25, 0.75), (0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9)),
    ):
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


def test_which_constraints_have_guards():
    given_ = [
        AucConstraint.named("bnsp"),
        RocConstraint(on="positives", rates=(0.25,), tolerance=0.01),
        RocConstraint(interval=(0.1, 0.4)),
    ]
    auc, guard, interval = (family.guards() for family in given_)
    assert auc is None
    assert interval is None  # an interval of rates guards itself
    assert guard.on == "positives"
    assert guard.tolerance == 0.01
    assert guard.rates == pytest.approx((0.1, 0.2, 0.3, 0.4))
