"""The text of a CSV file: its encoding, its delimiter and its header."""

import codecs
import csv
import gzip
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

_DELIMITERS = (",", ";", "\t", "|")
_CHUNK = 1 << 20  # bytes
CALLED = {"cp1252": "Windows-1252", "utf-16": "UTF-16", "utf-16-le": "UTF-16"}
"""What the encodings other than UTF-8 are called in sentences."""


def encoding_of(path: Path, first: bytes) -> str:
    """UTF-8 if the whole file is that, UTF-16 by its mark or its zeros, or else Windows-1252."""
    if first[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    if len(first) > 3 and first[1] == first[3] == 0 and first[0] and first[2]:
        return "utf-16-le"
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            if chunk.isascii() and not decoder.getstate()[0]:  # many times faster than to decode
                continue
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                return "cp1252"
    return "utf-8"


def as_utf8(path: Path, encoding: str, folder: str) -> Path:
    """A copy of the file as UTF-8."""
    copy = Path(folder) / "utf8.csv"
    try:
        with (
            path.open(encoding=encoding, newline="") as old,
            copy.open("w", encoding="utf-8", newline="") as new,
        ):
            while text := old.read(_CHUNK):
                new.write(text)
    except UnicodeError:
        raise ValueError(
            f"{path.name} is neither UTF-8 nor {CALLED[encoding]} text: save it as UTF-8."
        ) from None
    return copy


class Header(NamedTuple):
    """How columns are told apart, what they are called, and how many lines are above."""

    delimiter: str
    names: tuple[str, ...]
    above: int  # lines


def read_header(path: Path, content: Path, wanted: Sequence[str], *, packed: bool) -> Header:
    """The delimiter and the names of the columns, without spaces around them.

    Excel writes and reads a line above it that tells the delimiter: sep=;
    """
    headers = []
    for delimiter in _DELIMITERS:
        try:
            with content.open("rb") as raw:
                unpacked: Any = gzip.GzipFile(fileobj=raw) if packed else raw
                text = io.TextIOWrapper(unpacked, encoding="utf-8-sig", newline="")
                lines = csv.reader(text, delimiter=delimiter)
                cells, above = next(lines, []), 0
                if cells in (["sep=", ""], [f"sep={delimiter}"]):
                    cells, above = next(lines, []), 1
        except UnicodeDecodeError:
            raise ValueError(f"{path.name} is not UTF-8 text: save it as UTF-8.") from None
        except (csv.Error, OSError, EOFError) as error:
            raise ValueError(f"The header of {path.name} cannot be read: {error}.") from None
        headers.append(Header(delimiter, tuple(cell.strip() for cell in cells), above))
    header = max(
        headers,
        key=lambda one: (one.above, sum(name in one.names for name in wanted), len(one.names)),
    )
    if not any(header.names):
        raise ValueError(f"The first line of {path.name} is empty: its header must be there.")
    return header
