"""Writing files whole or not at all."""

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # not on Windows: what killed processes leave behind stays there
    flock = None  # type: ignore[assignment]

# What a program's own streams are called: to replace the file behind one would lose what it prints.
_STREAMS = ("/dev/std", "/dev/fd/", "/proc/")
_NO_ROOM = {
    errno.ENOSPC: "there is no room left on the disk",
    getattr(errno, "EDQUOT", errno.ENOSPC): "there is no room left on the disk for this user",
    errno.EFBIG: "it would be larger than the disk or a limit of this process allows",
}
_UNFINISHED: set[Path] = set()  # what this process is writing


class NoRoomError(OSError):
    """A file was not written because there is no room for it; an older one is as it was."""

    def __str__(self) -> str:
        return f"{self.filename} was not written: {self.strerror}."


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> Path:
    r"""Write under another name in the same folder first: no reader ever sees half a file.

    The folder is made if it is missing; text is written as UTF-8 with its own line ends. What may
    be written is what `replacing` takes.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_atomically(f"{folder}/deep/told.txt", "é").read_bytes()
    b'\xc3\xa9'
    """
    with replacing(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)
    return Path(path)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the name of an empty file to write; it takes the place of `path` when all went well.

    A file that is there keeps its permissions, a link stays a link and its target is replaced.
    After an error the old file is as it was, and nothing else is left.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/told.txt") as part:
    ...         _ = part.write_text("all of it")
    ...     [(file.name, file.read_text()) for file in Path(folder).iterdir()]
    [('told.txt', 'all of it')]
    """
    target = target_file(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(target)
    # A short name of its own: the target's may be as long as names can be.
    part = target.with_name(f"{_prefix(target)}{secrets.token_hex(8)}")
    _UNFINISHED.add(part)
    lock = -1
    try:
        lock = _locked(part)
        mode = (target if target.exists() else part).stat().st_mode
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())  # else a crash could leave the new name with no content
        part.chmod(stat.S_IMODE(mode) & 0o777)
        if flock is None:  # Windows replaces no file that is open
            os.close(lock)
            lock = -1
        part.replace(target)
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise NoRoomError(error.errno, _NO_ROOM[error.errno], os.fspath(path)) from None
        if error.filename == os.fspath(part):
            error.filename = os.fspath(path)
        raise
    finally:
        if lock >= 0:
            os.close(lock)
        part.unlink(missing_ok=True)
        _UNFINISHED.discard(part)


def remove_unfinished() -> None:
    """Remove what this process has begun to write: it is about to end in the midst of it."""
    for part in tuple(_UNFINISHED):
        with suppress(OSError):
            part.unlink()


def no_room(message: str) -> int | None:
    """The number of the error if a library's message says that there is no room for a file."""
    return next((number for number in _NO_ROOM if os.strerror(number) in message), None)


def _prefix(target: Path) -> str:
    """How the names begin under which a file is written first."""
    return f".{target.name[:32]}."


def _locked(part: Path) -> int:
    """Make an empty file, and hold its lock, which the system takes back when this process ends."""
    while True:
        # As open() makes them, so that the system applies the permissions of new files.
        file = os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        try:
            if flock is not None:
                flock(file, LOCK_EX | LOCK_NB)
            if part.exists():
                return file
        except BlockingIOError:
            pass
        except OSError:  # this disk has no locks
            return file
        os.close(file)  # another process took it for abandoned before it was locked
        part.unlink(missing_ok=True)


def _remove_abandoned(target: Path) -> None:
    """Remove what writers of this file left behind that were killed: nobody holds their locks."""
    pattern = re.compile(re.escape(_prefix(target)) + "[0-9a-f]{16}")
    names: list[str] = []
    if flock is not None:
        with suppress(OSError):  # tidying up is no reason to fail
            names = [name for name in os.listdir(target.parent) if pattern.fullmatch(name)]
    for name in names:
        with suppress(OSError):  # it is gone, or it is being written
            file = os.open(target.with_name(name), os.O_RDONLY)
            try:
                flock(file, LOCK_EX | LOCK_NB)
                target.with_name(name).unlink()
            finally:
                os.close(file)


def target_file(path: str | os.PathLike[str]) -> Path:
    """Where a file of this name is written, links followed; refuses what is not an ordinary file.

    >>> target_file("/dev/null")
    Traceback (most recent call last):
    ...
    ValueError: /dev/null is not an ordinary file but a device or a pipe: name a file to write.
    """
    name = os.fspath(path)
    try:
        mode = os.stat(name).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return Path(os.path.realpath(name))
    if stat.S_ISDIR(mode):
        raise ValueError(f"{name} is a folder: name a file to write.")
    if not stat.S_ISREG(mode) or os.path.abspath(name).startswith(_STREAMS):
        raise ValueError(
            f"{name} is not an ordinary file but a device or a pipe: name a file to write."
        )
    return Path(os.path.realpath(name))
