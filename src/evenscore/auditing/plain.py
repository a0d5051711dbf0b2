"""Frozen dataclasses to plain data and back, by their type hints.

JSON knows neither NaN nor infinities. A NaN number is written as null, and an infinite one as the
text "Infinity" or "-Infinity"; where a number may be absent as well (`float | None`), null means
absent. Arrays are lists, nested by rows. No number is rounded. A field whose metadata say "if_set"
is left out where it has its default. Mappings have texts as keys, and
values of one type or, where that is `Any`, whatever JSON holds.
"""

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

_INFINITE = {"Infinity": math.inf, "-Infinity": -math.inf}


def to_plain(value: Any) -> Any:
    """Dictionaries, lists, texts, numbers, booleans and None.

    >>> to_plain(np.array([[1.0, np.nan], [np.inf, 0.1]]))
    [[1.0, None], ['Infinity', 0.1]]
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: to_plain(getattr(value, field.name))
            for field in fields(value)
            if not field.name.startswith("_")
            and not ("if_set" in field.metadata and getattr(value, field.name) == field.default)
        }
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


@cache
def _defaults(cls: type) -> frozenset[str]:
    """Fields that a file may lack."""
    return frozenset(
        field.name
        for field in fields(cls)
        if field.default is not MISSING or field.default_factory is not MISSING
    )


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
            known = ", ".join(repr(argument) for argument in arguments)
            raise ValueError(f"{where} must be one of {known}, not {data!r:.80}.")
        return data
    if kind is float:
        return _number(data, where)
    if origin is np.ndarray:
        return _array(data, where)
    if origin in (tuple, list):
        if isinstance(data, str) or not isinstance(data, Sequence):
            raise ValueError(f"{where} must be a list, not {data!r:.80}.")
        alike = origin is list or arguments[-1] is Ellipsis
        kinds = arguments[:1] * len(data) if alike else arguments
        if len(kinds) != len(data):
            raise ValueError(f"{where} must be a list of {len(kinds)}, not {data!r:.80}.")
        pairs = enumerate(zip(kinds, data, strict=True))
        return origin(from_plain(part, x, f"{where}[{i}]") for i, (part, x) in pairs)
    if origin is Mapping:
        if not isinstance(data, Mapping):
            raise ValueError(f"{where} must be an object, not {data!r:.80}.")
        return {key: from_plain(arguments[1], x, f"{where}.{key}") for key, x in data.items()}
    if kind is Any:  # whatever JSON holds
        return data
    # A bool is an int to Python, not to JSON.
    if kind not in (str, int, bool) or type(data) is not kind:
        raise ValueError(f"{where} must be of type {_named(kind)}, not {data!r:.80}.")
    return data


def _named(kind: Any) -> str:
    return {str: "text", int: "whole number", bool: "true or false"}.get(kind, str(kind))


def _dataclass(kind: Any, data: Any, where: str) -> Any:
    if not isinstance(data, Mapping):
        raise ValueError(f"{where} must be an object, not {data!r:.80}.")
    hints = _hints(kind)
    missing = [name for name in hints if name not in data and name not in _defaults(kind)]
    if missing:
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise ValueError(
            f"{where} lacks {missing[0]!r}: it is not {article} {kind.__name__} of this version."
        )
    return kind(
        **{n: from_plain(hint, data[n], f"{where}.{n}") for n, hint in hints.items() if n in data}
    )


def _number(data: Any, where: str) -> float:
    if data is None:
        return math.nan
    if isinstance(data, str) and data in _INFINITE:
        return _INFINITE[data]
    if isinstance(data, bool) or not isinstance(data, int | float):
        raise ValueError(f"{where} must be a number, not {data!r:.80}.")
    try:
        return float(data)
    except OverflowError:
        raise ValueError(f"{where} must be a number that double precision holds.") from None


def _array(data: Any, where: str) -> Any:
    if isinstance(data, str) or not isinstance(data, Sequence):
        raise ValueError(f"{where} must be a list, not {data!r:.80}.")

    def numbers(part: Any) -> Any:
        nested = isinstance(part, Sequence) and not isinstance(part, str)
        return [numbers(item) for item in part] if nested else _number(part, where)

    try:
        return np.array(numbers(data), dtype=np.float64)
    except ValueError as error:
        if str(error).startswith(where):
            raise
        raise ValueError(f"{where} must be a table with rows of equal length.") from None
