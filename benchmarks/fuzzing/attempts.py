"""One command in a process of its own, so that a crash or a loop ends nothing else."""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
import signal
import time
import traceback
from pathlib import Path

# Whatever a command would import, once for all attempts.
import duckdb  # noqa: F401
import lightgbm  # noqa: F401
import skops.io  # noqa: F401

import evenscore.cli.score
import evenscore.learning.even
import evenscore.learning.linear  # noqa: F401
from evenscore.cli import app

FINE = ("scored", "refused")
"""Outcomes that may be: finite scores in a whole file, or one sentence and no file."""
SECONDS = 30.0  # of the clock, after which an attempt hangs


def prepare(folder: Path) -> None:
    """Import the rest of what a command imports, by one that is refused."""
    _scored(folder / "no.skops", folder / "no.csv", folder / "no.out.csv")


def attempt(model: Path, table: Path, output: Path, most: float = math.inf) -> tuple[str, str]:
    """What becomes of `evenscore score`: an outcome, and what there is to say about it.

    Scores above `most`, or below 0 if it is finite, are no positions.
    """
    output.unlink(missing_ok=True)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        told = ("crash", "no answer")
        try:
            told = _scored(model, table, output, most)
        except BaseException:
            told = ("traceback", traceback.format_exc(limit=-3))
        finally:
            with contextlib.suppress(OSError):
                os.write(write, "\n".join(told).encode(errors="replace")[:4000])
            os._exit(0)
    os.close(write)
    status = _waited(child)
    with os.fdopen(read, "rb") as pipe:
        outcome, _, told = pipe.read().decode(errors="replace").partition("\n")
    if status is None:
        return "hang", f"no end in {SECONDS:g} s"
    if os.WIFSIGNALED(status):
        return "crash", signal.Signals(os.WTERMSIG(status)).name
    if not outcome:
        return "crash", f"exit status {os.waitstatus_to_exitcode(status)}"
    strays = [path.name for path in output.parent.glob(f".{output.name}*")]
    return ("half-written", strays[0]) if strays else (outcome, told)


def _waited(child: int) -> int | None:
    """The status of a child when it has ended; None if it had to be ended."""
    start, pause = time.monotonic(), 0.001
    while time.monotonic() - start < SECONDS:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(pause)
        pause = min(2.0 * pause, 0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _scored(model: Path, table: Path, output: Path, most: float = math.inf) -> tuple[str, str]:
    said, code = io.StringIO(), 0
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            app(["score", str(model), str(table), "-o", str(output)])
        except SystemExit as end:
            code = end.code
    told = said.getvalue().strip()
    if code == 2:
        if output.exists():
            return "half-written", told
        whole = told.endswith(".") and "\n" not in told and len(told) < 1000
        return ("refused" if whole else "no sentence"), told
    if code != 0:
        return "traceback", f"exit code {code}: {told}"
    with output.open(newline="") as file:
        *names, last = csv.DictReader(file).fieldnames or [""]
        file.seek(0)
        scores = [float(row[last]) for row in csv.DictReader(file)]
    if not names or not all(map(math.isfinite, scores)):
        return "not finite", str(scores[:5])
    if math.isfinite(most) and not all(0.0 <= score <= most for score in scores):
        return "no position", str(scores[:5])
    return "scored", told
