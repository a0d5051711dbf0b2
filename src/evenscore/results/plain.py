"""Frozen dataclasses to plain data and back, by their type hints; also the schema of that data.

JSON knows neither NaN nor infinities. A NaN number is written as null, and an infinite one as the
text "Infinity" or "-Infinity"; where a number may be absent as well (`float | None`), null means
absent. Arrays are lists, nested by rows. No number is rounded.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

__all__ = ["from_plain", "schema_of", "to_plain"]

_INFINITE = {"Infinity": math.inf, "-Infinity": -math.inf}


def to_plain(value: Any) -> Any:
    """Dictionaries, lists, texts, numbers, booleans and None.

    >>> to_plain(np.array([[1.0, np.nan], [np.inf, 0.1]]))
    [[1.0, None], ['Infinity', 0.1]]
    """
    if is_dataclass(value) and not isinstance(value, type):
        shown = [field.name for field in fields(value) if not field.name.startswith("_")]
        return {name: to_plain(getattr(value, name)) for name in shown}
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            return [to_plain(row) for row in value]
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


@cache
def _hints(cls: type) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls) if field.name[0] != "_"}


def from_plain(kind: Any, data: Any, where: str = "") -> Any:
    """The value of type `kind` that `to_plain` wrote; one sentence says what does not fit, where.

    >>> from_plain(tuple[float, ...], [1, None, "Infinity"])
    (1.0, nan, inf)
    """
    where = where or "the data"
    if is_dataclass(kind):
        return _dataclass(kind, data, where)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        [inner] = [argument for argument in arguments if argument is not type(None)]
        return None if data is None else from_plain(inner, data, where)
    if origin is Literal:
        if data not in arguments:
            told = ", ".join(repr(argument) for argument in arguments)
            raise ValueError(f"{where} must be one of {told}, not {data!r}.")
        return data
    if kind is float:
        return _number(data, where)
    if origin is np.ndarray:
        return _array(data, where)
    if origin is tuple:
        if isinstance(data, str) or not isinstance(data, Sequence):
            raise ValueError(f"{where} must be a list, not {data!r}.")
        return tuple(from_plain(arguments[0], x, f"{where}[{i}]") for i, x in enumerate(data))
    # A bool is an int to Python, not to JSON.
    if kind not in (str, int, bool) or type(data) is not kind:
        raise ValueError(f"{where} must be of type {_named(kind)}, not {data!r}.")
    return data


def _named(kind: Any) -> str:
    return {str: "text", int: "whole number", bool: "true or false"}.get(kind, str(kind))


def _dataclass(kind: Any, data: Any, where: str) -> Any:
    if not isinstance(data, Mapping):
        raise ValueError(f"{where} must be an object, not {data!r}.")
    hints = _hints(kind)
    missing = [name for name in hints if name not in data]
    if missing:
        raise ValueError(f"{where} lacks {missing[0]!r}: it is no {kind.__name__} of this version.")
    return kind(**{n: from_plain(hint, data[n], f"{where}.{n}") for n, hint in hints.items()})


def _number(data: Any, where: str) -> float:
    if data is None:
        return math.nan
    if isinstance(data, str) and data in _INFINITE:
        return _INFINITE[data]
    if isinstance(data, bool) or not isinstance(data, int | float):
        raise ValueError(f"{where} must be a number, not {data!r}.")
    return float(data)


def _array(data: Any, where: str) -> Any:
    if isinstance(data, str) or not isinstance(data, Sequence):
        raise ValueError(f"{where} must be a list, not {data!r}.")

    def numbers(part: Any) -> Any:
        nested = isinstance(part, Sequence) and not isinstance(part, str)
        return [numbers(item) for item in part] if nested else _number(part, where)

    try:
        return np.array(numbers(data), dtype=np.float64)
    except ValueError as error:
        if str(error).startswith(where):
            raise
        raise ValueError(f"{where} must be a table with rows of equal length.") from None


def schema_of(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of what `to_plain` writes of a type; dataclasses go to `definitions`."""
    if is_dataclass(kind):
        name = kind.__name__  # type: ignore[union-attr]
        if name not in definitions:
            definitions[name] = {}
            hints = _hints(kind)  # type: ignore[arg-type]
            definitions[name] = {
                "description": " ".join((kind.__doc__ or "").split("\n\n    >>>")[0].split()),
                "type": "object",
                "properties": {n: schema_of(hint, definitions) for n, hint in hints.items()},
                "required": list(hints),
                "additionalProperties": False,
            }
        return {"$ref": f"#/$defs/{name}"}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        [inner] = [argument for argument in arguments if argument is not type(None)]
        return {"anyOf": [{"type": "null"}, schema_of(inner, definitions)]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if kind is float:
        definitions["number"] = {
            "description": 'A number; null is NaN (undefined), "Infinity" and "-Infinity" are ±∞.',
            "anyOf": [{"type": ["number", "null"]}, {"enum": list(_INFINITE)}],
        }
        return {"$ref": "#/$defs/number"}
    if origin is np.ndarray:
        definitions["array"] = {
            "description": "Numbers, nested by rows.",
            "type": "array",
            "items": {"anyOf": [schema_of(float, definitions), {"$ref": "#/$defs/array"}]},
        }
        return {"$ref": "#/$defs/array"}
    if origin is tuple:
        return {"type": "array", "items": schema_of(arguments[0], definitions)}
    return {"type": {str: "string", int: "integer", bool: "boolean"}[kind]}
