"""The archives that skops writes, without what differs from run to run: same model, same bytes."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the first date that a zip archive can hold
_UNIX, _MODE = 3, 0o600 << 16


def canonical(content: bytes) -> bytes:
    """An archive that holds the same objects, whenever and wherever it is written.

    skops names objects by their places in memory and notes the time. Here they are numbered in the
    order in which they appear, and every date is the same. Numbers and texts lose their names:
    whether two equal ones are one object is chance, and nobody can tell.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        schema = json.loads(archive.read("schema.json"))
        files = {name: archive.read(name) for name in archive.namelist()}
    numbers: dict[int, int] = {}
    members: dict[str, str] = {}
    for node in _nodes(schema):
        if "is_json" in node:
            node.pop("__id__", None)
        elif "__id__" in node:
            node["__id__"] = numbers.setdefault(node["__id__"], len(numbers) + 1)
        if "file" in node:
            name = f"{len(members) + 1}{PurePath(node['file']).suffix}"
            node["file"] = members.setdefault(node["file"], name)
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for old, new in members.items():
            archive.writestr(_entry(new), files[old])
        archive.writestr(_entry("schema.json"), json.dumps(schema))
    return written.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    """A member that is not compressed: how bytes are compressed depends on the library."""
    entry = zipfile.ZipInfo(name, _LONG_AGO)
    entry.create_system, entry.external_attr = _UNIX, _MODE
    return entry


def _nodes(part: Any) -> Iterator[dict[str, Any]]:
    """The dictionaries that stand for objects, from the outermost inwards, in order."""
    if isinstance(part, dict):
        if "__loader__" in part:
            yield part
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from _nodes(inner)
