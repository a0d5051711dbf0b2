import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenscore import GroupedScores
from evenscore.paper.bounds import (
    auc_learning_bound,
    density_ratio,
    rates_needed,
    roc_learning_bound,
    sample_size_needed,
    sup_gap_bound,
)
from evenscore.paper.laws import PiecewiseLinearLaw


def two_slopes(low, high):
    """Negatives of group 1 with density `low` on [0, ½] and `high` on [½, 1]; others uniform."""
    uniform = [0.0, 0.5, 1.0]
    return PiecewiseLinearLaw(
        [0.0, 0.5, 1.0],
        [uniform, [0.0, low / 2, 1.0], uniform, uniform],
        cell_weights=[[0.25, 0.25], [0.25, 0.25]],
    ), high


@given(st.floats(0.2, 1.0), st.integers(1, 12))
def test_proposition_one_holds_for_a_law(low, m):
    law, _ = two_slopes(low, 2 - low)
    ratio = (2 - low) / low
    rates = np.arange(1, m + 1) / (m + 1)
    gap = np.abs(law.roc_gap("negatives", rates)).max()
    supremum = np.abs(law.roc_gap("negatives", np.linspace(0, 1, 1001))).max()
    assert supremum <= sup_gap_bound(rates, float(gap), ratio) + 1e-12
    if m > 1:
        inner = np.linspace(rates[0], rates[-1], 501)
        within = sup_gap_bound(rates, float(gap), ratio, within=True)
        assert np.abs(law.roc_gap("negatives", inner)).max() <= within + 1e-12


@given(st.floats(0.01, 1.0), st.floats(0.0, 0.5), st.floats(1.0, 50.0))
def test_the_inverse_of_proposition_one(margin, gap, ratio):
    m = rates_needed(gap + margin, gap, ratio)
    assert sup_gap_bound(np.arange(1, m + 1) / (m + 1), gap, ratio) <= gap + margin + 1e-9
    if m > 1:
        assert sup_gap_bound(np.arange(1, m) / m, gap, ratio) > gap + margin - 1e-9


def test_theorem_two_by_hand():
    n, delta, epsilon, V, strength, C = 10_000, 0.05, 0.1, 5, 2.0, 3.0
    expected = (
        C * np.sqrt(V / n) * 8.5
        + np.sqrt(np.log(260) / 9999) * (8 + 10 * 0.1)
        + 0.5 * (np.log(260) / 20_000 + 1 / (4 * 9999))
        + 8 * (np.log(260) / 10_000 + 1 / (4 * 9999))
    ) / 0.01
    found = auc_learning_bound(
        n, delta=delta, epsilon=epsilon, vc_dimension=V, strength=strength, constant=C
    )
    assert found.value == pytest.approx(expected)
    assert found.vacuous


def test_theorem_three_by_hand():
    found = roc_learning_bound(
        10_000, delta=0.05, epsilon=0.1, vc_dimension=5, strengths=[0.5, 0.5, 1.0],
        density_ratio=4.0, constant=3.0,
    )  # fmt: skip
    c = 5.0 * 2.0
    expected = (
        3 * (0.5 + 0.2 * c) * np.sqrt(5 / 10_000)
        + 0.2 * (1 + 3 * c) * np.sqrt(np.log(380) / 9999)
        + 0.5 * (np.log(380) / 20_000 + 1 / (4 * 9999))
    ) / 0.01
    assert found.value == pytest.approx(expected)
    assert found.vacuous


def test_sample_size_is_the_smallest():
    def bound(n):
        return auc_learning_bound(
            n, delta=0.1, epsilon=0.2, vc_dimension=3, strength=0.5, constant=1.0
        )

    n = sample_size_needed(bound, 0.3)
    assert bound(n).value <= 0.3 < bound(n - 1).value
    assert not bound(n).vacuous


def test_density_ratio_of_known_densities():
    law, _ = two_slopes(0.5, 1.5)
    rng = np.random.default_rng(0)
    score, y, group = law.sample(200_000, rng)
    scores = GroupedScores.from_arrays(y, score, sensitive_features=group)
    # Relative to the pooled negatives the densities are 1/0.75, 0.5/0.75 below ½ and
    # 1/1.25, 1.5/1.25 above: B/b = 2.
    assert density_ratio(scores, on="negatives", n_bins=8) == pytest.approx(2.0, rel=0.05)
    apart = [0] * 40 + [1] * 40
    far = GroupedScores.from_arrays([0, 1] * 40, range(80), sensitive_features=apart)
    assert density_ratio(far) == np.inf
    two_values = GroupedScores.from_arrays(
        [0, 1] * 40, [0, 0, 1, 1] * 20, sensitive_features=[0, 0, 1, 1, 1, 1, 0, 0] * 10
    )
    assert density_ratio(two_values) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="n_bins"):
        density_ratio(far, n_bins=0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sup_gap_bound([0.5], 0.1, 0.5), "at least 1"),
        (lambda: sup_gap_bound([0.5], 1.5, 2.0), "gap must lie"),
        (lambda: sup_gap_bound([0.5], 0.1, 2.0, within=True), "at least two"),
        (lambda: sup_gap_bound([1.5], 0.1, 2.0), "between 0 and 1"),
        (lambda: rates_needed(0.1, 0.1, 2.0), "larger than the gap"),
        (lambda: rates_needed(0.2, 0.1, 0.2), "at least 1"),
        (lambda: rates_needed(0.2, 0.1, np.inf), "finite"),
        (lambda: sample_size_needed(lambda n: None, 0.0), "excess"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(n=1), "n must be"),
        (dict(delta=0.0), "delta"),
        (dict(epsilon=0.3), "epsilon"),
        (dict(vc_dimension=0), "positive"),
        (dict(strength=-1.0), "Strengths"),
    ],
)
def test_bad_bounds(changes, message):
    good = dict(n=100, delta=0.1, epsilon=0.1, vc_dimension=3, strength=1.0, constant=1.0)
    arguments = {**good, **changes}
    with pytest.raises(ValueError, match=message):
        auc_learning_bound(arguments.pop("n"), **arguments)
