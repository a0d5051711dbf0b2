"""A small feed-forward network, written for NumPy and JAX alike: `xp` is the array module.

Training runs in JAX; scoring runs in NumPy, in double precision, and needs no JAX.
"""

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from evenscore.learning.wholeness import check_array
from evenscore.scores.arrays import Floats

Layers = list[tuple[Any, Any]]
"""Weights and biases of each layer, the last one with a single output."""


def forward(layers: Layers, X: Any, xp: Any = np) -> Any:
    """Output of the network: ReLU between the layers, none after the last.

    >>> float(forward([(np.array([[2.0]]), np.array([1.0]))], np.array([[3.0]]))[0])
    7.0
    """
    hidden = X
    for weights, biases in layers[:-1]:
        hidden = xp.maximum(hidden @ weights + biases, 0.0)
    weights, biases = layers[-1]
    return (hidden @ weights + biases)[..., 0]


def hidden_layers(
    sizes: list[int], rng: np.random.Generator, deviation: float | None = None
) -> list[tuple[Floats, Floats]]:
    """Random layers of the given sizes, inputs first, for a network with one output.

    With a `deviation`, weights and biases are N(0, deviation²), as in the paper. Otherwise weights
    are N(0, 2/inputs), biases zero, and so is the last layer: training starts from a constant.
    """
    layers = []
    for number, (inputs, outputs) in enumerate(zip(sizes, [*sizes[1:], 1], strict=True)):
        spread = np.sqrt(2.0 / inputs) if deviation is None else deviation
        weights, biases = rng.standard_normal((inputs, outputs)), rng.standard_normal(outputs)
        if deviation is None:
            biases[:] = 0.0
            if number == len(sizes) - 1:
                weights[:] = 0.0
        layers.append((spread * weights, (deviation or 0.0) * biases))
    return layers


def check_layers(layers: Any, n_inputs: int) -> None:
    """Refuse what is no network of one output that takes so many inputs.

    >>> check_layers([(np.ones((2, 1)), np.ones(1))], 3)
    Traceback (most recent call last):
    ValueError: Layer 0 must hold 3 × 1 numbers.
    """
    if not layers:
        raise ValueError("A network must have a layer.")
    for k, layer in enumerate(layers):
        pair = isinstance(layer, tuple | list) and len(layer) == 2
        if not pair or not all(type(p) is np.ndarray and p.dtype.kind == "f" for p in layer):
            raise ValueError(f"Layer {k} must hold arrays of weights and biases.")
        weights, biases = layer
        n_outputs = len(biases) if biases.ndim == 1 and k + 1 < len(layers) else 1
        check_array(f"Layer {k}", biases, (n_outputs,))
        check_array(f"Layer {k}", weights, (n_inputs, n_outputs))
        n_inputs = n_outputs


def check_widths(widths: Any) -> None:
    """Refuse hidden layers that are not widths."""
    if not isinstance(widths, Iterable) or not all(
        isinstance(width, Integral) and int(width) >= 1 for width in widths
    ):
        raise ValueError(f"hidden must hold whole numbers of at least 1, not {widths!r}.")
