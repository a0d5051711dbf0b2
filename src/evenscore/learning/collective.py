"""The exchange of workers that XGBoost has connected, and how they are connected.

This is the only file that speaks to `xgboost.collective` and `xgboost.tracker`. Neither promises to
stay as it is: the extras cap the version of XGBoost, and nothing is used but `allreduce`, `Op`,
`CommunicatorContext`, `RabitTracker`, rank and size.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, final

import numpy as np

from evenscore.learning.exchange import Exchange
from evenscore.scores.arrays import Floats


@final
class Collective(Exchange):
    """Sums over the workers of a group; it counts what it sends."""

    def __init__(self, rank: int, size: int, stopped: Callable[[], bool] | None = None) -> None:
        self._rank, self._size, self._stopped = rank, size, stopped
        self.calls = 0
        self.bytes = 0

    @property
    def rank(self) -> int:
        """The number of this worker."""
        return self._rank

    @property
    def size(self) -> int:
        """How many workers there are."""
        return self._size

    def sum(self, values: Floats) -> Floats:
        """By XGBoost's ring."""
        from xgboost.collective import Op

        return self._reduced(values, Op.SUM)

    def max(self, values: Floats) -> Floats:
        """By XGBoost's ring."""
        from xgboost.collective import Op

        return self._reduced(values, Op.MAX)

    def _reduced(self, values: Floats, operation: Any) -> Floats:
        from xgboost.collective import allreduce

        if self._stopped is not None and self._stopped():
            raise RuntimeError("Training was called off.")
        self.calls += 1
        self.bytes += values.nbytes
        whole = np.ascontiguousarray(values, dtype=np.float64)
        return np.asarray(allreduce(whole, operation)).reshape(whole.shape)


@contextmanager
def joined(
    arguments: Mapping[str, Any],
    *,
    number: int,
    timeout: float,
    stopped: Callable[[], bool] | None = None,
) -> Iterator[Collective]:
    """Join the group of a tracker.

    Parameters
    ----------
    arguments : dict
        What `Tracker.arguments` are.
    number : int
        Of this worker, by which workers are ranked.
    timeout : float
        Seconds after which a call that others do not answer fails.
    stopped : function, optional
        Asked before every call: whether training was called off.
    """
    from xgboost.collective import CommunicatorContext, get_rank, get_world_size

    own: dict[str, Any] = {
        "dmlc_task_id": f"{number:09d}",
        "dmlc_timeout": round(timeout),
        "dmlc_retry": 3,
    }
    with CommunicatorContext(**arguments, **own):
        yield Collective(get_rank(), get_world_size(), stopped)


@final
class Tracker:
    """Where the workers of a group find each other.

    Parameters
    ----------
    host : str
        Address of this machine, by which the workers reach it.
    size : int
        How many workers there will be.
    timeout : float
        Seconds that they have to come.
    """

    def __init__(self, host: str, size: int, timeout: float) -> None:
        from xgboost.tracker import RabitTracker

        self._tracker = RabitTracker(
            n_workers=size, host_ip=host, sortby="task", timeout=round(timeout)
        )
        self._tracker.start()

    @property
    def arguments(self) -> dict[str, Any]:
        """What a worker has to know to join."""
        return dict(self._tracker.worker_args())

    def wait(self, timeout: float) -> None:
        """Until all workers have left the group, which they cannot without it, but not for ever."""
        with suppress(ValueError):  # XGBoost's word for the end of its patience
            self._tracker.wait_for(round(timeout))
