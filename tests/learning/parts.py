"""Threads that stand in for workers: each has a part of the rows, and they add up."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from evenscore.learning.exchange import Exchange

TIMEOUT = 20.0  # seconds that a thread waits for the others: one has failed, or calls are not alike


class Threads(Exchange):
    """One of several threads; sums are made in the order of their ranks."""

    def __init__(self, rank, size, barrier, slots):
        self._rank, self._size = rank, size
        self._barrier, self._slots = barrier, slots
        self.calls = 0

    @property
    def rank(self):
        return self._rank

    @property
    def size(self):
        return self._size

    def sum(self, values):
        return self._met(values, "sum", np.sum)

    def max(self, values):
        return self._met(values, "max", np.max)

    def _met(self, values, kind, reduce):
        assert values.dtype == np.float64
        self.calls += 1
        self._slots[self._rank] = kind, values
        self._barrier.wait(TIMEOUT)
        kinds = {(name, array.shape) for name, array in self._slots}
        assert len(kinds) == 1, f"workers do not ask the same: {kinds}"
        answer = reduce(np.stack([array for _, array in self._slots]), axis=0)
        self._barrier.wait(TIMEOUT)
        return answer


def together(function, parts):
    """What `function(part, exchange)` gives for every part, all of them at work at once."""
    size = len(parts)
    barrier, slots = threading.Barrier(size), [None] * size

    def work(rank):
        try:
            return function(parts[rank], Threads(rank, size, barrier, slots))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(work, rank) for rank in range(size)]
    errors = [future.exception() for future in futures if future.exception() is not None]
    own = [error for error in errors if not isinstance(error, threading.BrokenBarrierError)]
    if errors:
        raise (own or errors)[0]
    return [future.result() for future in futures]
