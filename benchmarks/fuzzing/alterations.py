"""Stored models and maps, altered: nodes replaced, lines lost, numbers beyond all bounds."""

from __future__ import annotations

import copy
import io
import json
import random
import re
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

REMOVED = object()
NUMBERS = (
    *("0", "-1", "1", "2", "3", "-2", "7", "999999999", "-999999999", "2147483648", "-2147483649"),
    *("4294967296", "9" * 400, "1e308", "-1e309", "inf", "nan", "1e-320", "0.5", "", "x", "0x10"),
)
LINES = ("num_class=3", "num_tree_per_iteration=0", "average_output", "objective=binary sigmoid:1",
         "is_linear=1", "leaf_const=1 2 3 4", "num_cat=5", "cat_boundaries=0 99", "num_leaves=9999",
         "Tree=0", "end of trees", "tree_sizes=1", "max_feature_idx=99", "", "=", "\0")  # fmt: skip
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
    def trees(self) -> str:
        """The text of the trees, of a boosted model."""
        return json.loads(_model(self.schema)["content"])

    def with_trees(self, text: str) -> bytes:
        schema = copy.deepcopy(self.schema)
        _model(schema)["content"] = json.dumps(text)
        return self.written(schema)

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


def _model(schema: Any) -> dict[str, Any]:
    return schema["content"]["content"]["scorer"]["content"]["content"]["model_"]


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


# ---------------------------------------------------------------------- trees


def altered_trees(text: str, rng: random.Random) -> str:
    """The text of trees with one to three things wrong, most of them in the trees themselves."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        text = rng.choice(_WAYS)(text, rng)
    return text


def _number(text: str, rng: random.Random) -> str:
    """Another number in a field that scoring reads."""
    fields = r"(?:split_feature|threshold|decision_type|(?:left|right)_child|leaf_value|num_\w+|"
    fields += r"cat_\w+|is_linear|max_feature_idx|tree_sizes|label_index|shrinkage)="
    lines = list(re.finditer(rf"^{fields}(.*)$", text, re.MULTILINE))
    if not lines:
        return text
    line = rng.choice(lines)
    tokens = line[1].split(" ")
    tokens[rng.randrange(len(tokens))] = rng.choice(NUMBERS)
    return text[: line.start(1)] + " ".join(tokens) + text[line.end(1) :]


def _lines(text: str, rng: random.Random) -> str:
    """A line lost, doubled, exchanged, added, or of another length."""
    lines = text.split("\n")
    k, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(5):
        case 0:
            del lines[k]
        case 1:
            lines.insert(other, lines[k])
        case 2:
            lines[k], lines[other] = lines[other], lines[k]
        case 3:
            lines.insert(k, rng.choice(LINES))
        case _:
            lines[k] = " ".join(lines[k].split(" ")[: rng.randrange(3)] * rng.randrange(3))
    return "\n".join(lines)


def _sizes(text: str, rng: random.Random) -> str:
    """Without the sizes that LightGBM checks, an alteration goes further."""
    return re.sub(r"^tree_sizes=.*\n", "", text, flags=re.MULTILINE)


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


_WAYS = (_number, _number, _number, _number, _lines, _lines, _sizes, _cut, _letters)


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
