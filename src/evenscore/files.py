"""Writing files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["write_atomically"]


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> Path:
    r"""Write under another name in the same folder first: no reader ever sees half a file.

    The folder is made if it is missing; text is written as UTF-8 with its own line ends.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_atomically(f"{folder}/deep/told.txt", "é").read_bytes()
    b'\xc3\xa9'
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)  # like any other new file; mkstemp's are for the owner only
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
    return target
