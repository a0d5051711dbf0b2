"""The process around a command: it ends in one line and with a code that says why.

Exit codes: 0 done; 1 a gap lies beyond the tolerance, and nothing else (`audit --fail-on-gap`); 2
bad input, or no room to write in; 3 an unexpected error; 129, 130 and 143 stopped by a signal
(SIGHUP, SIGINT, SIGTERM); 141 nobody reads the output any more.

Only the standard library is imported here: signals are listened to before anything slow is.
"""

import atexit
import errno
import os
import signal
import sys
from contextlib import suppress
from typing import Any, Literal, NoReturn

_WORDS = {"SIGINT": "Interrupted.", "SIGTERM": "Terminated.", "SIGHUP": "The terminal is gone."}
_NOBODY_READS = 128 + 13  # as a shell calls the end by SIGPIPE


class _Process:
    """What is going on, and the signal that has come, if any."""

    phase: Literal["importing", "working", "ending"] = "importing"
    stopped_by: int | None = None
    remark = ""


def when_stopped(remark: str) -> None:
    """Add a sentence to what is said if this process is told to stop from now on."""
    _Process.remark = remark


def stopped() -> int | None:
    """The exit code if a signal has told this process to stop: whatever fails then is no error."""
    number = _Process.stopped_by
    return None if number is None else 128 + number


def run() -> NoReturn:
    """Run the command of this process's arguments, and end the process."""
    _listen()
    _fill_streams()
    try:
        code = _run()
    except BaseException as error:
        _Process.phase = "ending"
        code = _failed(error)
    _Process.phase = "ending"
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done but for the tidying up
    if not (stop := stopped()):
        sys.exit(_flushed(code))
    _end_unfinished()
    _tell(_Process.stopped_by)
    _flushed(stop)
    atexit._run_exitfuncs()
    os._exit(stop)  # the interpreter would end by the signal if that has come in its `exec`


def _run() -> int:
    from evenscore.cli.commands import app

    _Process.phase = "working"
    app(prog_name="evenscore")
    return 0


def _listen() -> None:
    """Let signals raise KeyboardInterrupt, and keep what follows from one quiet."""
    for name in _WORDS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as nohup does
            signal.signal(number, _stop)
    sys.unraisablehook = _unraisable


def _stop(number: int, frame: Any) -> None:
    again = _Process.stopped_by is not None
    _Process.stopped_by = _Process.stopped_by or number
    if again or _Process.phase != "working":
        _end_at_once()  # libraries that are interrupted while they are imported do not say so
    raise KeyboardInterrupt


def _unraisable(told: Any) -> None:
    """What was raised where nobody can catch it; an interruption there would be lost."""
    if _Process.stopped_by is None:
        sys.__unraisablehook__(told)
    elif isinstance(told.exc_value, KeyboardInterrupt):
        _end_at_once()


def _end_at_once() -> NoReturn:
    _end_unfinished()
    _tell(_Process.stopped_by)
    os._exit(stopped() or 3)


def _end_unfinished() -> None:
    """Remove files that are half written, if any have been begun."""
    atomic = sys.modules.get("evenscore.files.atomic")
    if atomic is not None and hasattr(atomic, "remove_unfinished"):  # it may be half imported
        atomic.remove_unfinished()


def _failed(error: BaseException) -> int:
    """Say what went wrong, unless a signal or a reader that has left is the reason."""
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) and cause not in causes:
        causes.append(cause)
    if any(isinstance(one, BrokenPipeError) for one in causes):
        return _NOBODY_READS
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 3 if error.code else 0
    if stopped():
        return 3
    if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
        return _not_printed(error)
    if os.environ.get("EVENSCORE_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    if isinstance(error, MemoryError):
        _say("There is not enough memory for this.")
        return 3
    what = " ".join(f"{type(error).__name__}: {error}".split())[:300].rstrip(": ")
    _say(
        f"Something went wrong that should not ({what}): this is a defect of evenscore, and "
        "EVENSCORE_TRACEBACK=1 before the command shows where it is."
    )
    return 3


def _fill_streams() -> None:
    """Point standard streams that are closed to nowhere: else a file would take their place."""
    while (file := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(file)


def _flushed(code: int) -> int:
    """The exit code after what was printed has gone out; the interpreter is left nothing to say."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if isinstance(error, BrokenPipeError):
                code = code or _NOBODY_READS
            elif code == 0:
                code = _not_printed(error)
    return code


def _not_printed(error: OSError) -> int:
    _say(f"The output was not written: {error.strerror}.")
    return 2


def _tell(number: int | None) -> None:
    if number is not None:
        _say(f"{_WORDS[signal.Signals(number).name]} {_Process.remark}".strip())


def _say(sentence: str) -> None:
    """Write a line to standard error, whatever state the process is in."""
    with suppress(OSError):  # nobody reads it
        os.write(2, f"{sentence}\n".encode())
