"""CPU seconds of calls and of processes.

Whatever is compared is measured by turns, in one run: a machine that is busy for a while slows both
sides down.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
LOADING = [sys.executable, "-c", "import sklearn.linear_model, scipy.stats"]
"""A process to compare other processes with: Python that loads scikit-learn and SciPy."""


def cpu_seconds(call: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[float, Any]:
    """CPU seconds of one call, and what it gave."""
    start = time.process_time()
    found = call(*arguments, **options)
    return time.process_time() - start, found


def by_turns(calls: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """CPU seconds of several calls, one after the other, so many times.

    What is slower the first time is not counted: each is called once before.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for repeat in range(repeats + 1):
        for name, call in calls.items():
            taken = cpu_seconds(call)[0]
            if repeat:
                seconds[name].append(taken)
    return seconds


@cache
def _numbers() -> np.ndarray:
    return np.random.default_rng(0).random(10**6)


def a_sort() -> None:
    """Sort a million numbers: the unit of what has no counterpart elsewhere.

    A stable sort: the default one is several times faster on some processors than on others.
    """
    np.sort(_numbers(), kind="stable")


@dataclass(frozen=True)
class Process:
    """What a process took: seconds of CPU (its children's too) and of wall, GB at its peak."""

    cpu: float
    wall: float
    peak: float


def process(command: Sequence[str], *, one_thread: bool = True, quiet: bool = False) -> Process:
    """Run a command to its end; a failure ends this program, in one sentence."""
    start = time.perf_counter()
    running = subprocess.Popen(
        command,
        env={**os.environ, **(ONE_THREAD if one_thread else {})},
        stdout=subprocess.DEVNULL if quiet else None,
    )
    _, status, usage = os.wait4(running.pid, 0)
    wall = time.perf_counter() - start
    running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise SystemExit(f"{' '.join(command[:4])} ended with {running.returncode}.")
    return Process(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 2**20)
