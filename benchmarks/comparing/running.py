"""Run a worker with the Python of its package."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}


class WorkerError(Exception):
    """A worker did not give an answer; the last line it said."""


def ask(python: str, package: str, verb: str, key: str, rows: dict, *, ours: bool, timeout: float):
    """The arrays that a worker answers.

    A Python of another package sees nothing of this one: PYTHONPATH is left out.
    """
    worker = HERE / f"with_{package.replace('-', '_')}.py"
    environment = os.environ | ONE_THREAD | {"PYTHONWARNINGS": "ignore"}
    if not ours:
        environment.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "rows.npz", Path(folder) / "answer.npz"
        np.savez(source, **rows)
        command = [python, str(worker), verb, key, str(source), str(target)]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=timeout
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise WorkerError(str(error)) from error
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            raise WorkerError(said[-1])
        with np.load(target) as answer:
            return {name: answer[name] for name in answer.files}
