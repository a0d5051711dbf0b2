import numpy as np
import pytest
from evenscore.learning.network import check_layers, forward, hidden_layers


def test_forward_is_layer_after_layer():
    rng = np.random.default_rng(0)
    layers = hidden_layers([3, 4, 2], rng, deviation=1.0)
    assert [weights.shape for weights, _ in layers] == [(3, 4), (4, 2), (2, 1)]
    X = rng.standard_normal((5, 3))
    for row, found in zip(X, forward(layers, X), strict=True):
        value = row
        for number, (weights, biases) in enumerate(layers):
            value = [sum(v * w for v, w in zip(value, column, strict=True)) for column in weights.T]
            value = [v + b for v, b in zip(value, biases, strict=True)]
            if number < 2:
                value = [max(v, 0.0) for v in value]
        assert found == pytest.approx(value[0], abs=1e-12)


def test_numpy_and_jax_agree():
    jnp = pytest.importorskip("jax.numpy")
    rng = np.random.default_rng(1)
    layers = hidden_layers([3, 8], rng, deviation=1.0)
    X = rng.standard_normal((20, 3))
    np.testing.assert_allclose(forward(layers, X, jnp), forward(layers, X), atol=1e-5)


def test_without_a_deviation_it_starts_constant():
    layers = hidden_layers([3, 8, 8], np.random.default_rng(2))
    assert np.all(forward(layers, np.random.default_rng(3).standard_normal((20, 3))) == 0.0)
    assert np.std(layers[0][0]) == pytest.approx(np.sqrt(2 / 3), rel=0.5)
    layers = hidden_layers([50, 50], np.random.default_rng(4), 0.01)
    spread = np.concatenate([part.ravel() for layer in layers for part in layer])
    assert np.std(spread) == pytest.approx(0.01, rel=0.1)


@pytest.mark.parametrize(
    "layers",
    [
        [],
        [5],
        [(np.ones((2, 1)),)],
        [(np.ones((2, 1)), [1.0])],
        [(np.ones((2, 1)), np.ones(1).astype(int))],
        [(np.ones((3, 1)), np.ones(1))],
        [(np.ones((2, 2)), np.ones(2))],
        [(np.ones((2, 4)), np.ones(4)), (np.ones((3, 1)), np.ones(1))],
        [(np.ones((2, 1)), np.array([np.nan]))],
        [(np.ones((2, 1)), np.ones(()))],
    ],
)
def test_what_is_no_network_is_refused(layers):
    check_layers([(np.ones((2, 4)), np.ones(4)), (np.ones((4, 1)), np.ones(1))], 2)
    with pytest.raises(ValueError, match=r"^(Layer \d|A network) must .*\.$"):
        check_layers(layers, 2)
