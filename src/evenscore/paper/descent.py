"""Networks that descend together: the paper's architecture, its slopes and steps of Adam, in NumPy.

D hidden layers with ReLU, one output r, and s = (r − mean) / √(variance + 0.001) over the rows of a
batch, running means of which stand for them afterwards. With g = ∂L/∂s and n rows, the slope along
the output is ∂L/∂r = (g − mean(g) − s · mean(g s)) / √(variance + 0.001), and the rest is the chain
rule. All networks of a stack have the same shape; a product of matrices takes most of the time.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, final

import numpy as np

from evenscore.paper.network import Layers
from evenscore.scores.arrays import Floats

_AT_A_TIME = 2048  # rows to score: what a layer gives stays near the processor
_TINY = 1e-30  # beside Adam's ε of 1e-8 under a square root it is nothing
_EPSILON = 1e-3  # added to the variance by the batch normalisation
_MOMENTUM = 0.99
_FIRST, _SECOND, _LEAST = 0.9, 0.999, 1e-8  # Adam's β₁, β₂ and ε


@final
class Networks:
    """A stack of networks, all parameters of each in one row of a matrix.

    Biases are the last row of the weights of their layer: inputs, and what hidden layers give, have
    a last column of ones.

    Parameters
    ----------
    starts : list of layers
        Where each of them starts.
    l2 : numbers
        Weight of each network's ½‖w‖², of weights and biases.
    learning_rate : float
        Of Adam.
    dtype
        Of all that is computed; single precision, as is usual, is twice as fast.
    """

    def __init__(
        self,
        starts: Sequence[Layers],
        l2: Floats,
        learning_rate: float,
        dtype: Any = np.float32,
    ) -> None:
        self.dtype, self.learning_rate = dtype, learning_rate
        flat = [np.concatenate([part.ravel() for layer in one for part in layer]) for one in starts]
        self.widths = [len(starts[0][0][0]), *(len(biases) for _, biases in starts[0])]
        self.vector = np.array(flat, dtype=dtype)
        self.l2 = np.asarray(l2, dtype=dtype)[:, None]
        self.layers = self._layers_of(self.vector)
        self.mean = np.zeros((len(starts), 1), dtype=dtype)
        self.variance = np.ones((len(starts), 1), dtype=dtype)
        self._slope, self._other = np.zeros_like(self.vector), np.zeros_like(self.vector)
        self._slopes = self._layers_of(self._slope)
        self._moments = np.zeros_like(self.vector), np.zeros_like(self.vector)
        self._steps = 0
        self._hidden: list[Any] = []
        self._nothing: list[Any] = []

    def __len__(self) -> int:
        return len(self.vector)

    def _layers_of(self, vector: Any) -> list[Any]:
        """Views of the parameters, (networks, inputs + 1, outputs)."""
        layers, start = [], 0
        for inputs, outputs in pairwise(self.widths):
            stop = start + (inputs + 1) * outputs
            layers.append(vector[:, start:stop].reshape(-1, inputs + 1, outputs))
            start = stop
        return layers

    def rows(self, X: Any) -> Any:
        """Rows as the networks take them: with a last column of ones."""
        return np.concatenate([X, np.ones((len(X), 1))], axis=1).astype(self.dtype)

    def forward(self, X: Any) -> list[Any]:
        """What every layer gives for the rows of each network, (networks, rows, features).

        The next call writes over what hidden layers give.
        """
        shape = len(self), X.shape[1]
        if not self._hidden or self._hidden[0].shape[:2] != shape:
            widths = self.widths[1:-1]
            self._hidden = [np.ones((*shape, width + 1), dtype=self.dtype) for width in widths]
            self._nothing = [np.zeros_like(hidden) for hidden in self._hidden]
        outputs = []
        for weights, output, zeros in zip(self.layers, self._hidden, self._nothing, strict=False):
            np.matmul(X, weights, out=output[:, :, :-1])
            np.maximum(output, zeros, out=output)  # by an array: by a number, several times as slow
            outputs.append(output)
            X = output
        outputs.append(np.matmul(X, self.layers[-1]))
        return outputs

    def normalised(self, raw: Any) -> tuple[Any, Any]:
        """The scores of a batch, of mean zero, and by what outputs were divided; both are noted."""
        mean = np.add.reduce(raw, axis=1, keepdims=True) / raw.shape[1]
        score = raw - mean
        variance = np.add.reduce(score * score, axis=1, keepdims=True) / raw.shape[1]
        for running, value in ((self.mean, mean), (self.variance, variance)):
            running += (1.0 - _MOMENTUM) * (value - running)
        scale = np.sqrt(variance + _EPSILON)
        score /= scale
        return score, scale

    def slopes(self, X: Any, outputs: list[Any], slope: Any) -> Any:
        """Along all parameters, without the penalty, from those along the outputs.

        Parameters
        ----------
        X : array (networks, rows, features)
            The rows.
        outputs : list of arrays
            Of `forward`, which are written over.
        slope : array (networks, rows)
            Along the outputs of the last layer.
        """
        slope = slope[:, :, None]
        for number in reversed(range(len(self.layers))):
            below = outputs[number - 1] if number else X
            np.matmul(below.transpose(0, 2, 1), slope, out=self._slopes[number])
            if number:
                active = below > 0.0
                weights = self.layers[number][:, :-1]
                slope = np.matmul(slope, weights.transpose(0, 2, 1), out=below[:, :, :-1])
                below *= active  # the ones stay ones
        return self._slope

    def step(self, X: Any, outputs: list[Any], score: Any, scale: Any, slope: Any) -> None:
        """One step of Adam.

        Parameters
        ----------
        X, outputs
            As for `slopes`.
        score, scale
            Of `normalised`.
        slope : array (networks, rows)
            Along the scores of the batch.
        """
        n = score.shape[1]
        inner = np.add.reduce(slope * score, axis=1, keepdims=True) / n
        slope = slope - np.add.reduce(slope, axis=1, keepdims=True) / n - score * inner
        slope /= scale
        along = self.slopes(X, outputs, slope.astype(self.dtype))
        along += np.multiply(self.vector, self.l2, out=self._other)
        # Both moments without their factors 1 − β, which go into the scalars below.
        self._steps += 1
        first, second = self._moments
        first *= self.dtype(_FIRST)
        first += along
        second *= self.dtype(_SECOND)
        second += np.square(along, out=along)
        unbiased = np.sqrt((1.0 - _SECOND**self._steps) / (1.0 - _SECOND))
        rate = self.learning_rate * (1.0 - _FIRST) / (1.0 - _FIRST**self._steps)
        step = np.sqrt(second, out=along)
        step += self.dtype(_LEAST * unbiased)
        np.divide(first, step, out=step)
        step *= self.dtype(rate * unbiased)
        self.vector -= step

    def settle(self) -> None:
        """Put what is too small to matter at zero, to be called now and then.

        Weights that only the penalty moves shrink for ever. Numbers below 1e-38 have no fast
        arithmetic, and a few of them make a product of matrices many times slower.
        """
        for values in (self.vector, *self._moments):
            values[np.abs(values, out=self._other) < _TINY] = 0.0

    def scores(self, X: Any) -> Floats:
        """What all networks, (networks, rows), give the same rows: with the running means."""
        raw = np.empty((len(self), len(X)))
        size = min(len(X), _AT_A_TIME)
        hidden = [np.ones((size, width + 1), dtype=self.dtype) for width in self.widths[1:-1]]
        nothing = [np.zeros_like(output) for output in hidden]
        for start in range(0, len(X), _AT_A_TIME):
            rows = X[start : start + _AT_A_TIME]
            for number in range(len(self)):
                below = rows
                for weights, output, zeros in zip(self.layers, hidden, nothing, strict=False):
                    above = output[: len(rows)]
                    np.matmul(below, weights[number], out=above[:, :-1])
                    below = np.maximum(above, zeros[: len(rows)], out=above)
                raw[number, start : start + len(rows)] = (below @ self.layers[-1][number])[:, 0]
        return np.asarray((raw - self.mean) / np.sqrt(self.variance + _EPSILON))

    def whole(self, number: int) -> Layers:
        """The layers of one network, the normalisation being part of the last."""
        *inner, (weights, biases) = (
            (layer[number, :-1].astype(np.float64), layer[number, -1].astype(np.float64))
            for layer in self.layers
        )
        scale = np.sqrt(float(self.variance[number, 0]) + _EPSILON)
        return [*inner, (weights / scale, (biases - float(self.mean[number, 0])) / scale)]
