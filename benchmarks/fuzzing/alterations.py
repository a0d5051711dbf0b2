"""Stored models and maps, altered: nodes and numbers replaced, shapes and types changed."""

from __future__ import annotations

import copy
import io
import json
import random
import re
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

REMOVED = object()
NUMBERS = (0.0, -1.0, 1.0, 0.5, 1e308, -1.7e308, 1e-320, np.inf, -np.inf, np.nan)
VALUES = (
    *(None, True, False, 0, -1, 1, 5, 10**400, -(10**30), 1e308, -1.7e308, 1e-320),
    *("", "x", "Infinity", "1", "\ud800", "a" * 5000, [], [[]], [None], [1, 0], {}, {"a": 1}),
    *([-1.7e308, 1.7e308], [1.7e308], ["x"] * 3, float("nan"), float("inf")),
)


# ---------------------------------------------------------------------- models


class Archive:
    """A stored model, to be written with a part of it altered."""

    def __init__(self, content: bytes) -> None:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            self.files = {name: archive.read(name) for name in archive.namelist()}
        self.schema = json.loads(self.files.pop("schema.json"))

    def written(self, schema: Any, **files: bytes) -> bytes:
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            for name, part in {**self.files, **files}.items():
                archive.writestr(name, part)
            archive.writestr("schema.json", json.dumps(schema))
        return content.getvalue()

    @property
    def arrays(self) -> list[str]:
        """The members that hold arrays."""
        return sorted(name for name in self.files if name.endswith(".npy"))

    def with_array(self, member: str, rng: random.Random) -> bytes:
        array = np.load(io.BytesIO(self.files[member]))
        return self.written(self.schema, **{member: altered_array(array, rng)})

    def replaced(self) -> Iterator[tuple[tuple[Any, ...], str]]:
        """Every place of a node, with every kind of odd value."""
        for place in _places(self.schema):
            for kind in ODD:
                yield place, kind

    def with_odd(self, place: tuple[Any, ...], kind: str) -> bytes:
        schema, odd = copy.deepcopy(self.schema), ODD[kind]
        if isinstance(odd, np.ndarray):
            buffer = io.BytesIO()
            np.save(buffer, odd)
            return self.written(_altered(schema, place, _ARRAY), **{"odd.npy": buffer.getvalue()})
        return self.written(_altered(schema, place, odd))


def _plain(value: Any) -> dict[str, Any]:
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode",
            "content": json.dumps(value), "is_json": True}  # fmt: skip


def _node(module: str, name: str, loader: str, content: Any) -> dict[str, Any]:
    return {"__class__": name, "__module__": module, "__loader__": loader, "content": content}


_ARRAY = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode",
          "type": "numpy", "file": "odd.npy"}  # fmt: skip
_NOTHING = _node("builtins", "dict", "DictNode", {}) | {"key_types": _node(
    "builtins", "list", "ListNode", [])}  # fmt: skip
ODD: dict[str, Any] = {
    **{repr(value)[:20]: _plain(value) for value in VALUES},
    "nothing at all": REMOVED,
    "no node": 5,
    "an empty tuple": _node("builtins", "tuple", "TupleNode", []),
    "a feature of nothing": _node("evenscore.files.features", "Feature", "ObjectNode", _NOTHING),
    "a scorer of nothing": _node("evenscore.learning.linear", "LinearScorer", "ObjectNode",
                                 _NOTHING),
    "a forest of nothing": _node("evenscore.learning.plain_models", "Forest", "ObjectNode",
                                 _NOTHING),
    "an even scorer of nothing": _node("evenscore.learning.even", "EvenScorer", "ObjectNode",
                                       _NOTHING),
    "NaN": np.full(3, np.nan),
    "huge": np.full(3, 1e308),
    "integers": np.arange(3),
    "texts": np.array(["a", "b", "c"]),
    "a number": np.array(1.0),
    "a table": np.ones((3, 3)),
    "none": np.ones(0),
}  # fmt: skip


def _places(part: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of every node, the outermost first."""
    if isinstance(part, dict) and "__loader__" in part:
        yield place
    inner = part.items() if isinstance(part, dict) else enumerate(part)
    for key, value in inner:
        if isinstance(value, dict | list):
            yield from _places(value, (*place, key))


def _altered(data: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return None if value is REMOVED else copy.deepcopy(value)
    holder = data
    for key in place[:-1]:
        holder = holder[key]
    if value is REMOVED:
        del holder[place[-1]]
    else:
        holder[place[-1]] = copy.deepcopy(value)  # it may be altered next
    return data


# ---------------------------------------------------------------------- arrays


def altered_array(array: np.ndarray, rng: random.Random) -> bytes:
    """The file of an array with one to three things wrong: numbers, order, shape, type, bytes."""
    array = array.copy()
    for _ in range(rng.choice((1, 1, 2, 3))):
        array = rng.choice((_number, _number, _number, _exchanged, _resized))(array, rng)
    if rng.random() < 0.15:
        array = _retyped(array, rng)
    buffer = io.BytesIO()
    np.save(buffer, array)
    content = bytearray(buffer.getvalue())
    if rng.random() < 0.1:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content[: rng.randrange(len(content))] if rng.random() < 0.05 else content)


def _number(array: np.ndarray, rng: random.Random) -> np.ndarray:
    """Another number somewhere."""
    if array.size:
        odd = rng.choice(NUMBERS)
        if array.dtype.kind == "i":
            odd = rng.choice((0, 1, -1, 2, len(array), 2**31, 2**63 - 1, -(2**63)))
        array.reshape(-1)[rng.randrange(array.size)] = odd
    return array


def _exchanged(array: np.ndarray, rng: random.Random) -> np.ndarray:
    """Two numbers exchanged."""
    if array.size:
        flat = array.reshape(-1)
        k, other = (rng.randrange(array.size) for _ in range(2))
        flat[[k, other]] = flat[[other, k]]
    return array


def _resized(array: np.ndarray, rng: random.Random) -> np.ndarray:
    """Shorter, longer, or of another shape."""
    flat, n = array.reshape(-1), rng.randrange(array.size + 1)
    return rng.choice((flat[:n], np.concatenate([flat, flat[:n]]), array[None], flat, array.T))


def _retyped(array: np.ndarray, rng: random.Random) -> np.ndarray:
    kind = rng.choice(("float32", "int64", "int8", "bool", "complex128", "U5", ">f8"))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return array.astype(kind)


# ---------------------------------------------------------------------- maps


def altered_maps(data: Any, rng: random.Random) -> bytes:
    """The file of a repair with one to three values replaced, or with its text altered."""
    data = copy.deepcopy(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        places = sorted(_json_places(data), key=len)
        few = max(1, len(places) // 5) if rng.random() < 0.5 else len(places)
        place = rng.choice(places[:few])
        data = _altered(data, place, rng.choice((*VALUES, REMOVED)))
    text = json.dumps(data)
    match rng.randrange(8):
        case 0:
            text = _letters(text, rng)
        case 1:
            text = _cut(text, rng)
        case 2:
            text = re.sub(r"\d\.\d+", lambda match: "9" * 5000, text, count=1)
    return text.encode("utf-8", "surrogatepass")


def _json_places(part: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    if isinstance(part, dict | list):
        for key, value in part.items() if isinstance(part, dict) else enumerate(part):
            yield from _json_places(value, (*place, key))


def _cut(text: str, rng: random.Random) -> str:
    start, stop = sorted(rng.randrange(len(text) + 1) for _ in range(2))
    return text[:stop] if rng.random() < 0.5 else text[:start] + text[stop:]


def _letters(text: str, rng: random.Random) -> str:
    letters = list(text)
    for _ in range(rng.choice((1, 1, 10))):
        if letters:
            letters[rng.randrange(len(letters))] = chr(
                rng.choice((0, 10, 32, 45, 57, 61, 255, 65533))
            )
    return "".join(letters)
