"""The process around a command: it ends in one line and with a code that says why.

Exit codes: 0 done; 1 a gap lies beyond the tolerance, and nothing else (`audit --fail-on-gap`); 2
bad input, or no room to write in; 3 an unexpected error; 130 interrupted; 141 nobody reads the
output any more.

Only the standard library is imported here: interruptions are answered before anything slow is.
"""

import atexit
import os
import signal
import sys
from contextlib import suppress
from typing import Any, NoReturn

_DONE, _NO_ROOM, _UNEXPECTED, _INTERRUPTED, _NOBODY_READS = 0, 2, 3, 130, 141


class _Process:
    """Whether the user has interrupted."""

    interrupted = False


def interrupted() -> bool:
    """Whether the user has interrupted: whatever fails then is no error."""
    return _Process.interrupted


def run() -> NoReturn:
    """Run the command of this process's arguments, and end the process."""
    listen()
    try:
        code = _ended_with(_run)
        code = _ended_with(_flush) or code
    except KeyboardInterrupt:
        code = _INTERRUPTED
    if signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done but for the tidying up
    if interrupted():
        _say("Interrupted.")
        atexit._run_exitfuncs()
        os._exit(_INTERRUPTED)  # where the signal came in an `exec`, Python would end by it
    sys.exit(code)


def listen() -> None:
    """Note an interruption, which libraries may tell in words of their own; nohup ignores it."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, frame: Any) -> NoReturn:
    _Process.interrupted = True
    raise KeyboardInterrupt


def _run() -> None:
    from evenscore.cli.commands import app

    app(prog_name="evenscore")


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # it is None if it was closed
            stream.flush()


def _ended_with(step: Any) -> int:
    """The exit code of a step; what went wrong is said, unless nobody listens or interrupted."""
    try:
        step()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # which rich and typer end with
            return _NOBODY_READS
        return end.code if isinstance(end.code, int) else _UNEXPECTED if end.code else _DONE
    except OSError as error:  # of the output: a command answers for its files
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left to print would fail again
        if isinstance(error, BrokenPipeError):
            return _NOBODY_READS
        _say(f"The output was not written: {error.strerror}.")
        return _NO_ROOM
    except BaseException as error:
        if not interrupted():
            _say(_defect(error))
        return _UNEXPECTED
    return _DONE


def _defect(error: BaseException) -> str:
    if os.environ.get("EVENSCORE_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    if isinstance(error, MemoryError):
        return "There is not enough memory for this."
    what = " ".join(f"{type(error).__name__}: {error}".split())[:300].rstrip(": ")
    return (
        f"Something went wrong that should not ({what}): this is a defect of evenscore, and "
        "EVENSCORE_TRACEBACK=1 before the command shows where it is."
    )


def _say(sentence: str) -> None:
    with suppress(OSError):  # nobody reads it
        print(sentence.strip(), file=sys.stderr, flush=True)
