"""Writing files whole or not at all."""

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What a program's own streams are called: to replace the file behind one would lose what it prints.
_STREAMS = ("/dev/std", "/dev/fd/", "/proc/")


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
    part = target.with_name(f".evenscore-{secrets.token_hex(8)}")
    try:
        part.touch(exist_ok=False)
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())  # else a crash could leave the new name with no content
        if target.exists():
            shutil.copymode(target, part)
        os.replace(part, target)
    except OSError as error:
        if error.errno and error.filename in (None, os.fspath(part)):
            error.filename = os.fspath(path)
        raise
    finally:
        part.unlink(missing_ok=True)


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
