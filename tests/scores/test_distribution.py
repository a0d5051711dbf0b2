import numpy as np
import pytest

from evenscore.scores.distribution import Distribution


def test_size_behind_a_share_is_that_of_its_variance():
    """p(1 − p)/V with V written out person by person, at cuts between people."""
    rng = np.random.default_rng(0)
    value = rng.normal(size=40)
    weight = np.exp(value)
    heavy = weight.sum() / np.square(weight).sum()  # one over the typical weight
    for cut in (-1.0, 0.0, 0.7, 1.2):
        above = value > cut
        p = weight[above].sum() / weight.sum()
        people = zip(weight / weight.sum(), above, strict=True)
        variance = sum(w**2 * (x - p) ** 2 for w, x in people)
        # Where those beyond the cut are light, two people of the typical weight are with them.
        sides = [[*weight[side], 1 / heavy, 1 / heavy] for side in (above, ~above)]
        h = [sum(w * w for w in side) / sum(side) for side in sides]
        more = ((1 - p) * h[0] + p * h[1]) / weight.sum()
        found = Distribution.from_sample(value, weight).size_behind(p)
        assert found == pytest.approx(min(p * (1 - p) / variance, 1 / more))
    assert found == pytest.approx(p * (1 - p) / variance)  # these are heavy


def test_one_light_person_beyond_the_cut_is_not_worth_many():
    weight = [0.001, *[1.0] * 12]
    found = Distribution.from_sample(range(13), weight).size_behind(1 - 0.001 / 12.001)
    assert found < 20.0  # by the variance alone, 12,000


def test_size_behind_a_share_at_the_ends_and_without_weights():
    found = Distribution.from_sample([1, 2, 3], weight=[1, 2, 5]).size_behind([0.0, 1.0])
    np.testing.assert_allclose(found, [8 / 5, 8 / (30 / 8)], rtol=1e-5)
    shares = np.linspace(0, 1, 7)
    for weight in (None, np.full(5, 0.3)):  # ties do not matter
        plain = Distribution.from_sample([1, 2, 2, 2, 3], weight)
        np.testing.assert_allclose(plain.size_behind(shares), 5.0)
    assert Distribution.from_sample([]).size_behind(0.5) == 0.0
    with pytest.raises(ValueError, match="share must lie between 0 and 1"):
        plain.size_behind(1.5)
