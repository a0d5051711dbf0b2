import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenscore.learning.multipliers import (
    AugmentedLagrangian,
    MultiplierState,
    SignRule,
    excess,
    shared,
)


def solve(rule, tolerance=0.0, rounds=200, target=2.0, bias=0.0):
    """Minimise (x − target)²/2 under |x| ≤ tolerance; the surrogate of the gap x is x + bias.

    The inner problem is minimised by bisection on its derivative, which is increasing.
    """
    state = rule.init(np.array([tolerance]))
    x, path = 0.0, []
    for _ in range(rounds):
        low, high = -50.0, 50.0
        for _ in range(80):
            x = 0.5 * (low + high)
            slope = x - target + rule.respond(state, np.array([x + bias]))[1][0]
            low, high = (low, x) if slope > 0 else (x, high)
        state = rule.update(state, np.array([x]), np.array([x + bias]))
        path.append(state.multipliers[0])
        assert abs(state.multipliers[0]) <= rule.strength
    return x, state, np.array(path)


RULES = {
    "sign": lambda strength: SignRule(strength=strength, step=0.01),
    "augmented": lambda strength: AugmentedLagrangian(strength=strength),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("target", [2.0, -2.0])
@pytest.mark.parametrize("tolerance", [0.0, 0.5])
def test_the_constrained_optimum(rule, tolerance, target):
    """At x = ±ε, with multiplier target − x: both are known."""
    step = 0.04 if rule == "sign" else 1e-6  # the sign rule walks to and fro
    x, state, _ = solve(RULES[rule](4.0), tolerance, target=target)
    expected = math.copysign(tolerance, target)
    assert x == pytest.approx(expected, abs=2.1 * step)
    assert state.multipliers[0] == pytest.approx(target - expected, abs=2.1 * step)


@pytest.mark.slow
def test_a_hard_constraint():
    x, state, _ = solve(AugmentedLagrangian())
    assert x == pytest.approx(0.0, abs=1e-6)
    assert state.multipliers[0] == pytest.approx(2.0, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("strength", "tolerance"), [(0.0, 0.1), (0.3, 0.1), (1.5, 0.0)])
def test_a_strength_too_small_gives_the_penalised_optimum(rule, tolerance, strength):
    """(x − 2)²/2 + λ max(|x| − ε, 0) is smallest at 2 − λ as long as that is above ε."""
    x, state, path = solve(RULES[rule](strength), tolerance)
    assert x == pytest.approx(2.0 - strength, abs=1e-9)
    assert state.multipliers[0] == pytest.approx(strength)
    assert np.all(np.diff(path) >= 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_an_inactive_constraint_costs_nothing(rule):
    x, state, _ = solve(RULES[rule](4.0), tolerance=0.5, target=0.3)
    assert x == pytest.approx(0.3, abs=1e-9)
    assert state.multipliers[0] == 0.0


def test_multipliers_come_back_when_no_longer_needed():
    """From a multiplier far too large: within the tolerance it lets go."""
    rule = AugmentedLagrangian(strength=4.0)
    state = MultiplierState(np.array([3.0]), np.array([0.1]), penalty=4.0)
    for _ in range(200):
        state = rule.update(state, np.array([0.0]), np.array([0.0]))
    assert state.multipliers[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("bias", [0.2, -0.2])
@pytest.mark.parametrize("rule", RULES)
def test_the_strict_gap_converges_though_the_surrogate_is_biased(rule, bias):
    x, state, _ = solve(RULES[rule](4.0), bias=bias)
    assert x == pytest.approx(0.0, abs=0.09 if rule == "sign" else 1e-6)
    if rule == "augmented":
        assert state.correction[0] == pytest.approx(-bias)
    x, _, _ = solve(RULES[rule](4.0), tolerance=0.1, bias=bias)
    assert x == pytest.approx(0.1, abs=0.09 if rule == "sign" else 1e-6)


def test_many_gaps_at_once_do_not_mix():
    rule = AugmentedLagrangian(strength=1.0)
    tolerance = np.array([0.0, 0.1, 0.0])
    state = rule.init(tolerance)
    gaps = np.array([0.2, 0.05, -0.7])
    _, slope = rule.respond(state, gaps)
    for k in range(3):
        alone = rule.init(tolerance[k : k + 1])
        assert rule.respond(alone, gaps[k : k + 1])[1][0] == slope[k]
    assert slope[1] == 0.0


# ---------------------------------------------------------------------- respond

gaps_ = st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3)


@given(gaps_, gaps_, gaps_, st.sampled_from([0.0, 0.05, 0.4]), st.sampled_from([0.5, 2.0, np.inf]))
def test_respond_gives_the_derivative_of_its_cost(gaps, multipliers, correction, tolerance, bound):
    gaps = np.array(gaps)
    state = MultiplierState(
        np.clip(multipliers, -bound, bound), np.full(3, tolerance), 4.0, np.array(correction)
    )
    rules = [AugmentedLagrangian(strength=bound)]
    if np.isfinite(bound):
        rules.append(SignRule(strength=bound))
    for rule in rules:
        cost, slope = rule.respond(state, gaps)
        assert isinstance(cost, float)
        h = 1e-6
        for k, e in enumerate(np.eye(3)):
            up, down = (rule.respond(state, gaps + sign * h * e)[0] for sign in (1, -1))
            # The cost has a continuous derivative of slope ρ: kinks of it cost ρh at most.
            assert slope[k] == pytest.approx((up - down) / (2 * h), abs=4.0 * h + 1e-8)


STRENGTHS = st.sampled_from([0.5, np.inf])


@given(st.floats(-1.0, 1.0), st.floats(-2.0, 2.0), STRENGTHS, st.sampled_from([1.0, 0.125]))
def test_the_augmented_cost_is_the_distance_squared(gap, multiplier, strength, share):
    """½ρ·dist(g + m/ρ, [−ε, ε])² as long as the slope is within the strength; then linear."""
    penalty, tolerance = 4.0, 0.1
    rule, rho = AugmentedLagrangian(strength=strength, penalty=penalty), share * penalty
    state = MultiplierState(
        np.array([multiplier]), np.array([tolerance]), penalty, np.zeros(1), share=share
    )
    distance = max(abs(gap + multiplier / rho) - tolerance, 0.0)
    bend = min(distance, strength / rho)
    expected = 0.5 * rho * bend**2 + (strength * (distance - bend) if distance > bend else 0.0)
    assert rule.respond(state, np.array([gap]))[0] == pytest.approx(expected, abs=1e-12)


def test_sign_rule_is_the_papers():
    rule = SignRule(strength=2.0, step=0.01)
    state = rule.init(np.zeros(3))
    state = rule.update(state, np.array([0.3, -1e-9, 0.0]), np.zeros(3))
    np.testing.assert_allclose(state.multipliers, [0.02, -0.02, 0.0])
    for _ in range(300):
        state = rule.update(state, np.array([0.3, -1e-9, 0.0]), np.zeros(3))
    np.testing.assert_allclose(state.multipliers, [2.0, -2.0, 0.0])


def test_the_penalty_grows_only_while_violations_persist():
    rule = AugmentedLagrangian(penalty=1.0, growth=2.0, max_penalty=8.0)
    state = rule.init(np.zeros(1))
    seen = []
    for gap in (0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.01):
        state = rule.update(state, np.array([gap]), np.array([gap]))
        seen.append(state.penalty)
    assert seen == [1.0, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


def test_states_are_not_altered():
    for rule in (SignRule(strength=1.0), AugmentedLagrangian()):
        state = rule.init(np.zeros(2))
        rule.update(state, np.array([0.3, -0.2]), np.array([0.2, -0.2]))
        rule.respond(state, np.array([0.3, -0.2]))
        assert not state.multipliers.any()


def test_no_gaps_at_all():
    for rule in (SignRule(strength=1.0), AugmentedLagrangian()):
        state = rule.init(np.zeros(0))
        assert rule.respond(state, np.zeros(0))[0] == 0.0
        assert rule.update(state, np.zeros(0), np.zeros(0)).multipliers.shape == (0,)


def test_bad_strengths():
    for kind in (SignRule, AugmentedLagrangian):
        for bad in (-1.0, np.nan):
            with pytest.raises(ValueError, match="strength must be at least 0"):
                kind(strength=bad)
    for endless in (np.inf, np.array([1.0, np.inf])):
        with pytest.raises(ValueError, match="give a finite one"):
            SignRule(strength=endless)


@given(st.floats(-1.0, 1.0), st.floats(0.0, 0.5))
def test_excess(gap, tolerance):
    found = float(excess(np.array([gap]), tolerance)[0])
    expected = 0.0 if abs(gap) <= tolerance else gap - math.copysign(tolerance, gap)
    assert found == pytest.approx(expected, abs=1e-15)


def test_a_multiplier_waits_while_its_gap_closes_by_itself():
    rule = AugmentedLagrangian(penalty=4.0, growth=1.0, gain=0.5, hold=0.9)
    state = rule.update(rule.init(np.zeros(3)), np.array([0.2, 0.2, 0.2]), np.zeros(3))
    first = state.multipliers
    np.testing.assert_allclose(first, 0.4)  # half of 4 · 0.2
    state = rule.update(state, np.array([0.1, 0.19, -0.1]), np.zeros(3))
    assert state.multipliers[0] == first[0]  # closing: it waits
    assert state.multipliers[1] > first[1]  # not closing fast enough
    assert state.multipliers[2] < first[2]  # on the other side: it falls


def test_a_surrogate_is_corrected_step_by_step():
    rule = AugmentedLagrangian()
    state = rule.init(np.zeros(1))
    for corrected in (0.05, 0.075, 0.0875):  # half of what is left every time
        state = rule.update(state, np.array([0.3]), np.array([0.2]))
        assert state.correction[0] == pytest.approx(corrected)


def test_steps_are_halved_where_a_gap_swings_from_side_to_side():
    rule = AugmentedLagrangian(penalty=4.0, growth=1.0)
    state = rule.init(np.zeros(3))
    state = rule.update(state, np.full(3, 0.2), np.full(3, 0.2))
    np.testing.assert_allclose(state.multipliers, 0.8)
    # To the other side by more than half as far, by less, and not to the other side.
    state = rule.update(state, np.array([-0.15, -0.05, 0.15]), np.array([-0.15, -0.05, 0.15]))
    np.testing.assert_allclose(state.ease, [0.5, 1.0, 1.0])
    np.testing.assert_allclose(state.multipliers, [0.8 - 0.5 * 0.6, 0.6, 1.4])


def test_a_penalty_is_shared_among_the_pairs_of_a_group():
    assert [shared(12.0, n_groups) for n_groups in (1, 2, 3, 7)] == [12.0, 12.0, 6.0, 2.0]
