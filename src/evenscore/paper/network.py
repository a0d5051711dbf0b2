"""The paper's network: feed-forward, ReLU between the layers, one output."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from evenscore.scores.arrays import Floats

Layers = list[tuple[Any, Any]]
"""Weights and biases of each layer, the last one with a single output."""


def forward(layers: Layers, X: Any) -> Floats:
    """Output of the network: ReLU between the layers, none after the last.

    >>> float(forward([(np.array([[2.0]]), np.array([1.0]))], np.array([[3.0]]))[0])
    7.0
    """
    hidden = X
    for weights, biases in layers[:-1]:
        hidden = np.maximum(hidden @ weights + biases, 0.0)
    weights, biases = layers[-1]
    return np.asarray((hidden @ weights + biases)[..., 0])


def random_layers(
    sizes: list[int], rng: np.random.Generator, deviation: float
) -> list[tuple[Floats, Floats]]:
    """Layers of the given sizes, inputs first: weights and biases are N(0, deviation²)."""
    layers = []
    for inputs, outputs in zip(sizes, [*sizes[1:], 1], strict=True):
        weights, biases = rng.standard_normal((inputs, outputs)), rng.standard_normal(outputs)
        layers.append((deviation * weights, deviation * biases))
    return layers


def check_widths(widths: Any) -> None:
    """Refuse hidden layers that are not widths."""
    if not isinstance(widths, Iterable) or not all(
        isinstance(width, Integral) and int(width) >= 1 for width in widths
    ):
        raise ValueError(f"hidden must hold whole numbers of at least 1, not {widths!r}.")
