"""Asking what a path is before opening it: a pipe could wait for ever, and a device never end."""

import os
import re
import shutil
import stat
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

# Kernels make up what is in there as it is read; some of it waits, and some never ends.
_MADE_UP = ("/proc/", "/sys/")


def ordinary_file(path: str | os.PathLike[str]) -> Path:
    """The path, if an ordinary file is there, links followed; else one sentence.

    >>> ordinary_file("/dev/null")
    Traceback (most recent call last):
    ...
    ValueError: /dev/null is not an ordinary file: save its content to one first.
    """
    path = Path(path)
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"There is no file {path}.") from None
    except OSError as error:  # links that go round in circles, folders that are closed to us
        raise ValueError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise ValueError(f"{str(path)!r} is not the name of a file.") from None
    if stat.S_ISDIR(mode):
        raise ValueError(f"{path} is a folder, not a file.")
    if not stat.S_ISREG(mode) or os.path.realpath(path).startswith(_MADE_UP):
        raise ValueError(f"{path} is not an ordinary file: save its content to one first.")
    return path


def read_whole(path: str | os.PathLike[str]) -> bytes:
    """All the bytes of an ordinary file; one sentence if it is none or cannot be read."""
    path = ordinary_file(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}.") from None


def plainly_named(path: Path, stack: ExitStack) -> Path:
    """A path of the file as DuckDB takes it: absolute, UTF-8, and nothing in it is a pattern.

    Others are reached through a link: to escape a pattern is not enough, as names beside it match.
    """
    path = Path(os.path.realpath(path))
    if not re.search(r"[*?\[\ud800-\udfff]", str(path)):
        return path
    link = Path(stack.enter_context(TemporaryDirectory(prefix="evenscore-"))) / "table"
    try:
        link.symlink_to(path)
    except OSError:  # where links are not allowed
        shutil.copyfile(path, link)
    return link
