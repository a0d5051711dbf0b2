"""The synthetic laws against references written differently: fractions, quadrature, enumeration."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import integrate

from evenscore.datasets.synthetic import make_credit, make_rings, make_square
from evenscore.gaps import AucConstraint
from evenscore.paper.laws import (
    ContinuousLaw,
    DiscreteLaw,
    PiecewiseLinearLaw,
    RingsLaw,
    ScoreLaw,
    SquareLaw,
    credit_law,
)

CELLS = ("H0", "H1", "G0", "G1")
EQUAL_WEIGHTS = [[0.25, 0.25], [0.25, 0.25]]


def three_group_law() -> PiecewiseLinearLaw:
    rng = np.random.default_rng(7)
    steps = rng.random((6, 5)) * (rng.random((6, 5)) > 0.3) + 1e-3
    cdf = np.cumsum(steps / steps.sum(axis=1, keepdims=True), axis=1)
    cdf[:, -1] = 1.0
    cdf = np.concatenate([np.zeros((6, 1)), cdf], axis=1)
    weights = rng.random((2, 3)) + 0.2
    return PiecewiseLinearLaw([-2, -1, 0, 0.5, 2, 3], cdf, weights / weights.sum(), groups="abc")


def unequal_law() -> PiecewiseLinearLaw:
    """Two groups, unequal weights, and flat pieces in two cells."""
    cdf = [[0, 0.5, 0.5, 1], [0, 0.7, 0.9, 1], [0, 0.1, 0.4, 1], [0, 0, 0.3, 1]]
    return PiecewiseLinearLaw([0, 1, 2, 3], cdf, [[0.4, 0.1], [0.2, 0.3]])


LAWS: dict[str, ScoreLaw] = {
    "square 0": SquareLaw(0.0),
    "square 0.15": SquareLaw(0.15),
    "square 0.8": SquareLaw(0.8, q1=0.3),
    "rings 0.2": RingsLaw(0.2, q1=0.6),
    "rings 1": RingsLaw(1.0),
    "rings by radius 0": RingsLaw(0.0, uniform="radius"),
    "rings by radius 0.2": RingsLaw(0.2, uniform="radius"),
    "credit": credit_law(),
    "unequal": unequal_law(),
    "three groups": three_group_law(),
    "deciles of three groups": three_group_law().discretised(10),
}
CONTINUOUS = {k: v for k, v in LAWS.items() if not isinstance(v, DiscreteLaw)}
PLANAR = {k: v for k, v in LAWS.items() if isinstance(v, ContinuousLaw)}


def laws(table: dict[str, ScoreLaw]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("law", table.values(), ids=table.keys())


# -- references -------------------------------------------------------------------------------


def square_reference(c: Fraction, t: Fraction) -> tuple[list[Fraction], list[Fraction]]:
    """C.d.f.s and densities of the square by truncated powers, in exact arithmetic, 0 < c < 1."""

    def moments(s: Fraction, a: Fraction) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """Integrals over u in [0, 1] of 2(1-u) and 2u times (s - a u)_+, and their slopes in s."""
        m = min(Fraction(1), max(Fraction(0), s / a))
        plain, weighted = s * m - a * m**2 / 2, s * m**2 - Fraction(2, 3) * a * m**3
        return 2 * plain - weighted, weighted, 2 * m - m**2, m**2

    cdf, pdf = [], []
    for own, other in ((c, 1 - c), (1 - c, c)):
        high, low = moments(t, own), moments(t - other, own)
        values = [(x - y) / other for x, y in zip(high, low, strict=True)]
        cdf.append(values[:2])
        pdf.append(values[2:])
    order = [(0, 0), (1, 0), (0, 1), (1, 1)]
    return [cdf[g][k] for g, k in order], [pdf[g][k] for g, k in order]


def square_auc_reference(c: Fraction) -> np.ndarray:
    """Boole's rule is exact for F_i f_j, of degree five on each piece."""
    weights = [Fraction(w, 90) for w in (7, 32, 12, 32, 7)]
    total = [[Fraction(0)] * 4 for _ in range(4)]
    for left, right in pairwise(sorted({Fraction(0), c, 1 - c, Fraction(1)})):
        for k, w in enumerate(weights):
            # One-sided values agree at the ends, for densities of the square are continuous.
            cdf, pdf = square_reference(c, left + (right - left) * Fraction(k, 4))
            for i in range(4):
                for j in range(4):
                    total[i][j] += (right - left) * w * cdf[i] * pdf[j]
    return np.array(total, dtype=float)


def rings_cdf_reference(law: RingsLaw, cell: int, t: float) -> float:
    """Integrate over the radius; given it, the angle has an explicit c.d.f."""
    positive, group = divmod(cell, 2)
    length, phi = np.hypot(law.c, 1 - law.c), np.arctan2(law.c, 1 - law.c)
    low, high = (0.5, 1.0) if group else (0.0, 0.5)

    def density(r: float) -> float:
        return 2.0 if law.uniform == "radius" else 2 * r / (high**2 - low**2)

    def given_radius(r: float) -> float:
        level = np.clip(t / (length * r), -1, 1) if r > 0 else np.sign(t)
        share = np.clip((phi + np.arcsin(level)) / (np.pi / 2), 0, 1)
        return float(share**2 if positive else 1 - (1 - share) ** 2)

    # The conditional c.d.f. has kinks where the level leaves the range of the angle.
    kinks = [abs(t), abs(t) / length]
    kinks += [t / x for x in (1 - law.c, -law.c) if x != 0]
    cuts = sorted({low, high, *(k for k in kinks if low < k < high)})
    return sum(
        integrate.quad(lambda r: density(r) * given_radius(r), a, b, epsabs=1e-13, epsrel=0)[0]
        for a, b in pairwise(cuts)
    )


# -- every law --------------------------------------------------------------------------------


@laws(LAWS)
def test_cell_weights_and_mixtures(law: ScoreLaw) -> None:
    weights = law.cell_weights
    assert weights.shape == (2, law.n_groups)
    assert weights.sum() == pytest.approx(1, abs=1e-15)
    shares = weights / weights.sum(axis=1, keepdims=True)
    pooled = sum(shares[0, k] * law.negatives(k) for k in range(law.n_groups))
    np.testing.assert_allclose(law.negatives(), pooled, atol=1e-15)
    A = law.auc_matrix()
    np.testing.assert_allclose(A + A.T, 1, rtol=0, atol=1e-14)
    K = law.n_groups
    expected = sum(shares[0, i] * shares[1, j] * A[i, K + j] for i in range(K) for j in range(K))
    assert law.auc() == pytest.approx(expected, abs=1e-14)


@laws(LAWS)
def test_cdf_has_the_shape_of_a_cdf(law: ScoreLaw) -> None:
    t = np.linspace(-2.5, 3.5, 400).reshape(2, 200)
    F = law.cdf(t)
    assert F.shape == (2, 200, 2 * law.n_groups)
    assert law.cdf(0.3).shape == (2 * law.n_groups,)
    flat = F.reshape(400, -1)
    assert np.all(np.diff(flat, axis=0) >= -1e-15)
    assert np.all((flat >= 0) & (flat <= 1))
    assert np.all(law.cdf(-np.inf) == 0)
    assert np.all(law.cdf(np.inf) == 1)


@laws(LAWS)
def test_sample_follows_the_law(law: ScoreLaw) -> None:
    """Every cell frequency and empirical c.d.f. within five standard errors."""
    n = 30_000
    scores, y, groups = law.sample(n, random_state=20)
    assert scores.shape == y.shape == groups.shape == (n,)
    assert set(np.unique(y)) == {0, 1}
    for cell in range(2 * law.n_groups):
        class_, group = divmod(cell, law.n_groups)
        weight = law.cell_weights[class_, group]
        drawn = scores[(y == class_) & (groups == law.groups[group])]
        assert abs(drawn.size / n - weight) < 5 * np.sqrt(weight * (1 - weight) / n)
        t = law.quantile([0.05, 0.2, 0.5, 0.8, 0.95])[:, cell]
        F = law.cdf(t)[:, cell]
        empirical = (drawn[:, None] <= t).mean(axis=0)
        error = np.sqrt(np.maximum(F * (1 - F), 1e-4) / drawn.size)
        assert np.all(np.abs(empirical - F) < 5 * error)
    again = law.sample(n, random_state=20)
    np.testing.assert_array_equal(again[0], scores)
    np.testing.assert_array_equal(again[2], groups)


@laws(LAWS)
def test_quantile_is_the_lowest_score_that_reaches_the_level(law: ScoreLaw) -> None:
    u = np.linspace(0.03, 0.97, 20)
    q = law.quantile(u)
    for cell in range(2 * law.n_groups):
        assert np.all(law.cdf(q[:, cell])[:, cell] >= u - 1e-12)
        assert np.all(law.cdf(q[:, cell] - 1e-6)[:, cell] < u)
        if not isinstance(law, DiscreteLaw):
            np.testing.assert_allclose(law.cdf(q[:, cell])[:, cell], u, rtol=0, atol=2e-12)
    mixture = law.cell_weights.ravel()
    assert np.all(law.cdf(law.mixture_quantile(mixture, u)) @ mixture >= u - 2e-12)
    assert np.all(law.quantile(0.0) == -np.inf)
    assert np.all(np.isfinite(law.quantile([1e-300, 1.0])))


@laws(LAWS)
def test_roc_curve_by_brute_force(law: ScoreLaw) -> None:
    """On a fine grid of thresholds, sup and inf of the definition enclose the curve."""
    h, g = law.negatives(), law.positives(1)
    curve = law.roc_curve(h, g)
    grid = np.unique(np.concatenate([np.linspace(-2.5, 3.5, 20_001), np.arange(0.0, 11.0)]))
    F = law.cdf(grid)
    for rate in (0.013, 0.21, 0.5, 0.75, 0.94):
        first = int(np.argmax(F @ h >= 1 - rate - 1e-12))
        upper, lower = 1 - F[first - 1] @ g, 1 - F[first] @ g
        assert lower - 1e-9 <= float(curve(rate)) <= upper + 1e-9
    assert float(curve(1.0)) == pytest.approx(1, abs=1e-15)


@laws(CONTINUOUS)
def test_area_under_the_roc_curve(law: ScoreLaw) -> None:
    for pair in ((law.negatives(), law.positives()), (law.negatives(0), law.positives(1))):
        curve = law.roc_curve(*pair)
        rates = (np.arange(1500) + 0.5) / 1500
        assert curve(rates).mean() == pytest.approx(curve.area, abs=1e-4)
        assert curve.area == law.auc(*pair)


@laws(PLANAR)
def test_pdf_is_the_slope_of_the_cdf(law: ContinuousLaw) -> None:
    ends = law.breakpoints
    t = np.concatenate([a + (b - a) * np.array([0.1, 0.37, 0.5, 0.9]) for a, b in pairwise(ends)])
    step = 1e-5 * np.diff(ends).min()
    slope = (law.cdf(t + step) - law.cdf(t - step)) / (2 * step)
    np.testing.assert_allclose(law.pdf(t), slope, rtol=0, atol=2e-7)
    assert np.all(law.pdf([ends[0] - 0.1, ends[-1] + 0.1]) == 0)


def test_laws_compare_and_pickle_and_makers_draw_from_them() -> None:
    for law in LAWS.values():
        copy = pickle.loads(pickle.dumps(law))
        assert copy == law
        assert hash(copy) == hash(law)
        assert law.discretised(3) != law
    for maker in (make_square, make_rings, make_credit):
        one, other = maker(50, random_state=3), maker(50, random_state=4)
        again = maker(50, random_state=np.random.default_rng(3))
        np.testing.assert_array_equal(one.X, again.X)
        np.testing.assert_array_equal(one.groups, again.groups)
        assert not np.array_equal(one.X, other.X)
        assert one.X.shape == (50, len(one.feature_names))


@laws(LAWS)
def test_named_gaps_follow_their_definitions(law: ScoreLaw) -> None:
    """The differences of the table of notions, written out, for the first two groups."""
    H, G, w = law.negatives, law.positives, law.cell_weights
    share = w / w.sum()
    p, p_z = share[1].sum(), share[1] / share.sum(axis=0)

    def well_ordered(z: int) -> float:
        first, second = p_z[z] * (1 - p), (1 - p_z[z]) * p
        return (first * law.auc(H(), G(z)) + second * law.auc(H(z), G())) / (first + second)

    whole_0 = (1 - p_z[0]) * H(0) + p_z[0] * G(0)
    expected = {
        "intra_group": law.auc(H(0), G(0)) - law.auc(H(1), G(1)),
        "bnsp": law.auc(H(), G(0)) - law.auc(H(), G(1)),
        "bpsn": law.auc(H(0), G()) - law.auc(H(1), G()),
        "inter_group": law.auc(H(0), G(1)) - law.auc(H(1), G(0)),
        "zero_aeg": law.auc(G(), G(0)) - law.auc(G(), G(1)),
        "zero_aeg_negatives": law.auc(H(), H(0)) - law.auc(H(), H(1)),
        "reference_group": law.auc(whole_0, G(0)) - law.auc(whole_0, G(1)),
        "pair_error": well_ordered(0) - well_ordered(1),
    }
    for name, value in expected.items():
        assert law.auc_gap(name) == pytest.approx(value, abs=1e-13), name
    last = law.n_groups - 1
    A, intra = law.auc_matrix(), AucConstraint.named("intra_group")
    expected = A[last, law.n_groups + last] - A[1, law.n_groups + 1]
    assert law.auc_gap(intra, last, 1) == pytest.approx(expected, abs=1e-14)


# -- the square -------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [Fraction(1, 1000), Fraction(1, 2), Fraction(7, 9)])
def test_square_against_exact_fractions(c: Fraction) -> None:
    law = SquareLaw(float(c))
    for k in range(41):
        t = Fraction(k, 40)
        cdf, pdf = square_reference(c, t)
        np.testing.assert_allclose(law.cdf(float(t)), np.array(cdf, float), rtol=0, atol=1e-15)
        np.testing.assert_allclose(law.pdf(float(t)), np.array(pdf, float), rtol=0, atol=1e-13)
    A = square_auc_reference(c)
    np.testing.assert_allclose(law.auc_matrix(), A, rtol=0, atol=1e-14)


def test_square_limits() -> None:
    """At c = 0 the score is x2: uniform in group 0, informative in group 1; reversed at c = 1."""
    t = np.linspace(0, 1, 11)
    uniform, negative, positive = t, t * (2 - t), t**2
    zero, one = SquareLaw(0.0), SquareLaw(1.0)
    expected = np.stack([uniform, negative, uniform, positive], axis=-1)
    np.testing.assert_allclose(zero.cdf(t), expected, atol=1e-15)
    np.testing.assert_allclose(one.cdf(t), expected[:, [1, 0, 3, 2]], atol=1e-15)
    assert zero.auc_matrix()[0, 2] == pytest.approx(1 / 2, abs=1e-14)
    assert zero.auc_matrix()[1, 3] == pytest.approx(5 / 6, abs=1e-14)
    for tiny in (1e-12, 5e-324, 2.3e-308):
        np.testing.assert_allclose(SquareLaw(tiny).cdf(t), zero.cdf(t), atol=3e-12)
        np.testing.assert_allclose(SquareLaw(tiny).auc_matrix(), zero.auc_matrix(), atol=3e-12)


def test_published_values_of_both_examples() -> None:
    """Those of the rings (AUC .80/.02/.38 and .75/.06/.00) are of uniform radii.

    Published gaps average 100 learned scores with standard deviations up to 0.02.
    """
    best, fair = SquareLaw.best(), SquareLaw(0.5)
    assert best.c == pytest.approx(3 / 20)
    assert round(best.auc(), 2) == 0.79
    assert abs(best.intra_group_gap()) == pytest.approx(0.28, abs=0.01)
    assert fair.auc() == pytest.approx(11 / 15, abs=1e-14)
    assert abs(fair.intra_group_gap()) < 1e-15
    for uniform, aucs, gaps, roc in (
        ("radius", (0.80, 0.75), (0.02, 0.06), 0.38),
        ("area", (0.81, 0.77), (0.01, 0.03), 0.33),
    ):
        best, fair = RingsLaw.best(uniform=uniform), RingsLaw.roc_fair(3 / 4, uniform=uniform)
        assert (round(best.auc(), 2), round(fair.auc(), 2)) == aucs
        assert tuple(round(abs(law.intra_group_gap()), 2) for law in (best, fair)) == gaps
        assert abs(float(best.roc_gap("negatives", 3 / 4))) == pytest.approx(roc, abs=0.01)


def test_objectives_are_largest_where_the_laws_say() -> None:
    cs = np.linspace(0, 1, 201)
    free = [SquareLaw.objective(c, strength=0.0) for c in cs]
    penalised = [SquareLaw.objective(c, strength=1.0) for c in cs]
    assert cs[np.argmax(free)] == pytest.approx(0.15)
    assert cs[np.argmax(penalised)] == pytest.approx(0.5)
    law = SquareLaw(0.3, q1=0.6)
    expected = law.auc() - 2 * abs(law.intra_group_gap())
    assert SquareLaw.objective(0.3, strength=2.0, q1=0.6) == expected
    cs = np.linspace(0, 0.6, 31)
    values = [RingsLaw.objective(c, rate=3 / 4, uniform="radius") for c in cs]
    assert cs[np.argmax(values)] == pytest.approx(RingsLaw.roc_fair(3 / 4).c, abs=0.02)
    assert RingsLaw.objective(0.4, 0.0) == RingsLaw(0.4).auc()


@settings(max_examples=30, deadline=None)
@given(c=st.floats(0, 1), q1=st.floats(0.01, 0.99))
def test_square_properties(c: float, q1: float) -> None:
    law, mirror = SquareLaw(c, q1), SquareLaw(1 - c, q1)
    swap = [1, 0, 3, 2]
    assume(1 - (1 - c) == c)
    np.testing.assert_allclose(
        law.auc_matrix(), mirror.auc_matrix()[np.ix_(swap, swap)], atol=1e-13
    )
    # x -> 1 - x swaps the classes and turns S into 1 - S.
    t = np.linspace(0, 1, 9)
    np.testing.assert_allclose(law.cdf(t), 1 - law.cdf(1 - t)[:, [2, 3, 0, 1]], atol=1e-14)
    assert law.auc() <= SquareLaw.best(q1).auc() + 1e-13
    assert np.sign(round(law.intra_group_gap(), 13)) in (0, np.sign(c - 0.5))


# -- the rings --------------------------------------------------------------------------------


@pytest.mark.parametrize("uniform", ["area", "radius"])
@pytest.mark.parametrize("c", [0.0, 0.2, 0.93])
def test_rings_cdf_by_integration_over_the_radius(c: float, uniform: str) -> None:
    law = RingsLaw(c, uniform=uniform)
    for t in (-0.81, -0.3, -0.04, 0.0, 1e-3, 0.21, 0.47, 0.9):
        cdf = law.cdf(t)
        for cell in range(4):
            reference = rings_cdf_reference(law, cell, t)
            assert cdf[cell] == pytest.approx(reference, abs=1e-11), (CELLS[cell], t)


@pytest.mark.parametrize("uniform", ["area", "radius"])
@pytest.mark.parametrize("c", [0.0, 1e-6, 0.176])
def test_rings_auc_matrix_by_double_exponential_quadrature(c: float, uniform: str) -> None:
    law = RingsLaw(c, uniform=uniform)
    x, step = np.linspace(-3.4, 3.4, 681, retstep=True)
    side = 1 / (1 + np.exp(np.pi * np.sinh(np.abs(x))))  # distance to the nearer end, on [0, 1]
    slope = np.pi * np.cosh(x) * side * (1 - side)
    total = np.zeros((4, 4))
    for a, b in pairwise(law.breakpoints):
        t = np.where(x < 0, a + (b - a) * side, b - (b - a) * side)
        keep = (t > a) & (t < b)
        w = ((b - a) * step * slope)[keep]
        total += law.cdf(t[keep]).T @ (w[:, None] * law.pdf(t[keep]))
    np.testing.assert_allclose(law.auc_matrix(), total, rtol=0, atol=1e-12)


@pytest.mark.parametrize("uniform", ["area", "radius"])
def test_rings_symmetry_and_limits(uniform: str) -> None:
    t = np.linspace(-1, 1, 41)
    for c in (0.0, 0.1, 0.4, 0.5):
        law, mirror = RingsLaw(c, uniform=uniform), RingsLaw(1 - c, uniform=uniform)
        np.testing.assert_allclose(law.cdf(t), 1 - mirror.cdf(-t)[:, [2, 3, 0, 1]], atol=1e-14)
    for q1 in (0.02, 0.5, 0.98):
        aucs = [RingsLaw(c, q1, uniform).auc() for c in np.linspace(0, 0.5, 21)]
        assert np.all(np.diff(aucs) > 0)
    nearly = RingsLaw(1e-12, uniform=uniform)
    np.testing.assert_allclose(nearly.cdf(t), RingsLaw(0.0, uniform=uniform).cdf(t), atol=1e-10)


def test_rings_density_by_radius_at_the_origin() -> None:
    """Infinite in group 0; in group 1 it is 2 log(2) times the density of the angle, over |w|."""
    for c in (0.0, 0.3, 1.0):
        density = RingsLaw(c, uniform="radius").pdf([0.0, 1e-9 if c < 1 else -1e-9])
        assert np.all(np.isinf(density[0, [0, 2]]))
        np.testing.assert_allclose(density[0, [1, 3]], density[1, [1, 3]], atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(
    rate=st.floats(0.02, 0.98),
    on=st.sampled_from(["negatives", "positives"]),
    uniform=st.sampled_from(["area", "radius"]),
)
def test_rings_roc_fair_closes_the_gap(rate: float, on: str, uniform: str) -> None:
    law = RingsLaw.roc_fair(rate, on, uniform=uniform)
    assert abs(float(law.roc_gap(on, rate))) < 1e-12


# -- tabulated laws ---------------------------------------------------------------------------


def test_credit_has_the_properties_of_the_figure() -> None:
    law = credit_law()
    H, G0, G1 = law.negatives(), law.positives(0), law.positives(1)
    assert law.auc(H, G0) == pytest.approx(law.auc(H, G1), abs=1e-15)
    np.testing.assert_array_equal(law.cdf_values[0], law.cdf_values[1])
    np.testing.assert_allclose(law.cdf([0.72, 0.85])[:, 2:], [[0.2, 0.2], [0.3, 0.6]], atol=1e-15)
    # The false negative rates are equal at 0.72 and nowhere else inside.
    t = np.linspace(0.001, 0.999, 2000)
    difference = law.cdf(t)[:, 2] - law.cdf(t)[:, 3]
    assert np.all((difference > 0) == (t < 0.72))


def test_credit_roc_curves_in_closed_form() -> None:
    law = credit_law()
    curves = [law.roc_curve(law.negatives(), law.positives(k)) for k in (0, 1)]
    assert [float(curve(0.12)) for curve in curves] == pytest.approx([0.7, 0.4], abs=1e-14)
    assert [float(curve(0.25)) for curve in curves] == pytest.approx([0.8, 0.8], abs=1e-14)
    assert float(law.roc_gap("positives", 0.7)) == pytest.approx(-0.3, abs=1e-14)
    np.testing.assert_allclose(law.roc_gap("negatives", np.linspace(0, 1, 30)), 0, atol=1e-14)
    data = make_credit(200, random_state=0)
    assert data.law == law
    np.testing.assert_array_equal(data.scores, data.X[:, 0])


@pytest.mark.parametrize("law", [unequal_law(), three_group_law(), credit_law()])
def test_piecewise_linear_auc_by_numerical_integration(law: PiecewiseLinearLaw) -> None:
    A, cells = law.auc_matrix(), 2 * law.n_groups
    for i in range(cells):
        for j in range(cells):
            total = sum(
                integrate.quad(lambda t, i=i, j=j: law.cdf(t)[i] * law.pdf(t)[j], a, b)[0]
                for a, b in pairwise(law.knots)
            )
            assert A[i, j] == pytest.approx(total, abs=1e-11)


def test_piecewise_linear_flat_pieces() -> None:
    """At the level of a flat piece the quantile is its left end, rounding of 1 - rate or not."""
    law = unequal_law()
    assert law.quantile([0.5, 1 - 0.5])[:, 0].tolist() == [1.0, 1.0]
    assert float(law.quantile(0.5 + 1e-9)[0]) == pytest.approx(2, abs=1e-8)
    flat = PiecewiseLinearLaw([0, 1, 2, 3], [[0, 0.9, 0.9, 1]] * 4, EQUAL_WEIGHTS)
    rate = 0.1 + 2e-17 + 1e-16  # a rounding error away from the level
    assert float(flat.roc_curve(flat.negatives(), flat.positives()).threshold(rate)) == 1.0


def test_discrete_law_by_enumeration_of_atoms() -> None:
    rng = np.random.default_rng(5)
    for K, m in ((2, 10), (3, 4), (2, 1)):
        probabilities = rng.dirichlet(np.full(m, 0.7), size=2 * K)
        weights = rng.dirichlet(np.ones(2 * K)).reshape(2, K)
        values = np.sort(rng.normal(size=m))
        law = DiscreteLaw(values, probabilities, weights)
        expected = np.zeros((2 * K, 2 * K))
        for i in range(2 * K):
            for j in range(2 * K):
                for a in range(m):
                    for b in range(m):
                        credit = 1.0 if b > a else 0.5 if b == a else 0.0
                        expected[i, j] += probabilities[i, a] * probabilities[j, b] * credit
        np.testing.assert_allclose(law.auc_matrix(), expected, atol=1e-14)
        for rate in (0.0, 0.2, 0.5, 0.9):
            # The definition, by walking up the atoms.
            total, a = 0.0, -1
            while total < 1 - rate - 1e-12:
                a += 1
                total += probabilities[0, a]
            roc = 1 - probabilities[K, : a + 1].sum()
            curve = law.roc_curve(law.negatives(0), law.positives(0))
            assert float(curve(rate)) == pytest.approx(roc)


def test_discrete_rates_at_the_steps() -> None:
    """Rates such as 1 - 0.7, which doubles do not hold exactly, mean the step itself."""
    law = DiscreteLaw(np.arange(10), np.full((4, 10), 0.1), EQUAL_WEIGHTS)
    curve = law.roc_curve(law.negatives(0), law.negatives(1))
    for k in range(1, 10):
        for rate in (k / 10, 1 - (10 - k) / 10, k * 0.1):
            assert float(curve(rate)) == pytest.approx(k / 10, abs=1e-12)


def test_discretised_keeps_weights_and_loses_little() -> None:
    law = credit_law()
    deciles = law.discretised(10)
    np.testing.assert_allclose(law.cell_weights.ravel() @ deciles.probabilities, 0.1, atol=1e-12)
    np.testing.assert_array_equal(deciles.cell_weights, law.cell_weights)
    assert deciles.groups == law.groups
    assert law.discretised(2000).auc() == pytest.approx(law.auc(), abs=1e-5)
    cut = law.discretised(thresholds=[0.72, 0.85])
    np.testing.assert_allclose(cut.probabilities[3], [0.2, 0.4, 0.4], atol=1e-15)
    scores, _, _ = law.sample(1000, random_state=0)
    assert set(np.unique(deciles.sample(1000, random_state=0)[0])) <= set(range(1, 11))
    levels = 1 + np.searchsorted([0.72, 0.85], scores, side="left")
    assert set(np.unique(levels)) <= set(cut.values)
    # Cutting a discrete law into more levels than it has keeps it as it is.
    np.testing.assert_allclose(
        deciles.discretised(20).auc_matrix(), deciles.auc_matrix(), atol=1e-12
    )


@settings(max_examples=40, deadline=None)
@given(data=st.data(), K=st.integers(2, 3), m=st.integers(2, 5))
def test_tabulated_properties(data: st.DataObject, K: int, m: int) -> None:
    row = st.lists(st.integers(0, 20), min_size=m, max_size=m).filter(lambda r: sum(r) > 0)
    table = np.array([data.draw(row) for _ in range(2 * K)], dtype=float)
    table /= table.sum(axis=1, keepdims=True)
    weights = np.full((2, K), 1 / (2 * K))
    discrete = DiscreteLaw(np.arange(m), table, weights)
    cdf = np.concatenate([np.zeros((2 * K, 1)), np.cumsum(table, axis=1)], axis=1)
    cdf[:, -1] = 1.0
    linear = PiecewiseLinearLaw(np.arange(m + 1), np.minimum(cdf, 1.0), weights)
    # Spreading each atom evenly over an interval turns ties into fair coin tosses.
    np.testing.assert_allclose(discrete.auc_matrix(), linear.auc_matrix(), atol=1e-13)
    # The AUC matrix is invariant under increasing maps of the score.
    stretched = PiecewiseLinearLaw(np.arange(m + 1.0) ** 3, linear.cdf_values, weights)
    np.testing.assert_array_equal(stretched.auc_matrix(), linear.auc_matrix())
    rates = np.linspace(0, 1, 13)
    h, g = linear.negatives(), linear.positives(0)
    np.testing.assert_allclose(
        stretched.roc_curve(h, g)(rates), linear.roc_curve(h, g)(rates), atol=1e-9
    )


# -- refusals ---------------------------------------------------------------------------------

CDF = [[0, 0.5, 1]] * 4


def test_bad_parameters_are_refused_in_one_sentence() -> None:
    """One or two of every kind: parameters, rates and cells, tables, and how they are cut."""
    for refused, message in (
        (lambda: SquareLaw(-0.1), r"^c .*-0\.1"),
        (lambda: RingsLaw(float("nan")), r"^c .*nan"),
        (lambda: make_rings(10, q1=1.0), "^q1 "),
        (lambda: make_credit(2.5), "^n .*integer"),
        (lambda: RingsLaw(0.5, uniform="volume"), "^uniform "),
        (lambda: RingsLaw.roc_fair(0.5, "both"), "^on "),
        (lambda: make_square(5).scores, "2 features"),
        (lambda: SquareLaw(0.5).roc_gap("negatives", 1.2), "^rate "),
        (lambda: credit_law().quantile([0.5, np.nan]), "^u "),
        (lambda: SquareLaw(0.5).negatives(2), "^group .* not 2"),
        (lambda: SquareLaw(0.5).auc([1.0]), "the 4 cells"),
        (lambda: SquareLaw(0.5).auc([1, 1, 0, 0]), "sum to one"),
        (lambda: PiecewiseLinearLaw([0, 0, 1], CDF, EQUAL_WEIGHTS), "strictly increasing"),
        (lambda: PiecewiseLinearLaw([0, 1, 2], [[0, 2, 1]] * 4, EQUAL_WEIGHTS), "^cdf_values "),
        (lambda: PiecewiseLinearLaw([0, 1, 2], CDF[:3], EQUAL_WEIGHTS), r"not \(3, 3\)"),
        (lambda: PiecewiseLinearLaw([0, 1, 2], CDF, [[0.25, 0.5]] * 2), "^cell_weights "),
        (lambda: PiecewiseLinearLaw([0, 1, 2], CDF, EQUAL_WEIGHTS, groups="abc"), "3 group"),
        (lambda: DiscreteLaw([0, 1], [[0.5, 0.6]] * 4, EQUAL_WEIGHTS), "sum to one"),
        (lambda: credit_law().discretised(1), "^levels "),
        (lambda: credit_law().discretised(thresholds=[0.5, 0.2]), "increasing"),
    ):
        with pytest.raises(ValueError, match=message) as error:
            refused()
        assert "\n" not in str(error.value)
