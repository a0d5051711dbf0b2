import numpy as np
import pytest

from evenscore.paper.network import forward, random_layers


def test_forward_is_layer_after_layer():
    rng = np.random.default_rng(0)
    layers = random_layers([3, 4, 2], rng, 1.0)
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


def test_layers_have_the_deviation_asked_for():
    layers = random_layers([50, 50], np.random.default_rng(4), 0.01)
    spread = np.concatenate([part.ravel() for layer in layers for part in layer])
    assert np.std(spread) == pytest.approx(0.01, rel=0.1)
