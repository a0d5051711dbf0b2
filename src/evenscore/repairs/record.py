"""A repair as JSON has it: plain lists, numbers and text, checked when they are read."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import asdict, fields
from numbers import Real
from typing import Any

from evenscore.inference.estimate import Estimate
from evenscore.repairs.maps import IncreasingMap

__all__ = ["FORMAT", "VERSION", "estimate_to_dict", "plain_group", "read"]

FORMAT = "evenscore.repair"
VERSION = 1

_MAY_BE_NAN = ("value", "low", "high", "standard_error", "p_value", "adjusted_p_value")


def plain_group(group: Hashable) -> Any:
    """A group's name for JSON: an intersection becomes a list."""
    if isinstance(group, tuple):
        return [plain_group(part) for part in group]
    if group is None or isinstance(group, str | bool | int | float):
        return group
    raise ValueError(
        f"The group {group!r} is of type {type(group).__name__}, which JSON does not have: "
        "name groups by text or numbers."
    )


def estimate_to_dict(estimate: Estimate) -> dict[str, Any]:
    """Numbers that JSON does not have (NaN, infinity) become None."""
    found = asdict(estimate)
    for name, value in found.items():
        if isinstance(value, float) and not math.isfinite(value):
            found[name] = None
    return {**found, "warnings": list(estimate.warnings)}


def read(content: Any) -> dict[str, Any]:
    """The arguments of a `Repair` from what `Repair.to_dict` wrote; refuses anything else."""
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise ValueError(f"This is not a repair: its format is not {FORMAT!r}.")
    version = content.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version != VERSION:
        raise ValueError(
            f"The repair is of version {version!r}, and only version {VERSION} can be read."
        )
    maps = content.get("maps")
    if not isinstance(maps, list) or not all(
        isinstance(one, Mapping) and {"group", "x", "y"} <= set(one) for one in maps
    ):
        raise ValueError("The maps of a repair must be a list of group, x and y.")
    try:
        gaps = content.get("gaps", {})
        return {
            "groups": tuple(_group(one["group"]) for one in maps),
            "maps": tuple(IncreasingMap(one["x"], one["y"]) for one in maps),
            "constraints": _texts(content, "constraints"),
            "gaps": {
                when: tuple(_estimate(gap) for gap in gaps.get(when, ()))
                for when in ("before", "after")
            },
            "conflicts": _texts(content, "conflicts"),
            "unseen": content.get("unseen", "error"),
            "columns": _texts(content, "columns") if content.get("columns") is not None else None,
            "shortfall": _text_or_none(content, "shortfall"),
        }
    except (TypeError, AttributeError) as error:
        raise ValueError(f"The repair cannot be read: {error}.") from None


def _group(told: Any) -> Hashable:
    group: Hashable = tuple(told) if isinstance(told, list) else told
    hash(group)  # a TypeError if it cannot be a group
    return group


def _texts(content: Mapping[str, Any], name: str) -> tuple[str, ...]:
    found = content.get(name, [])
    if not isinstance(found, list | tuple) or not all(isinstance(one, str) for one in found):
        raise ValueError(f"The repair cannot be read: its {name} must be a list of texts.")
    return tuple(found)


def _text_or_none(content: Mapping[str, Any], name: str) -> str | None:
    found = content.get(name)
    if found is not None and not isinstance(found, str):
        raise ValueError(f"The repair cannot be read: its {name} must be text.")
    return found


def _estimate(content: Mapping[str, Any]) -> Estimate:
    known = {field.name for field in fields(Estimate)}
    found = {name: value for name, value in content.items() if name in known}
    for name in _MAY_BE_NAN:
        value = found.get(name, 0.0)
        if value is None:
            found[name] = math.nan
        elif isinstance(value, bool) or not isinstance(value, Real):
            raise ValueError(
                f"The repair cannot be read: the {name} of a gap must be a number, not {value!r}."
            )
    if found.get("degrees_of_freedom", 0.0) is None:
        found["degrees_of_freedom"] = math.inf
    found["warnings"] = tuple(found.get("warnings", ()))
    return Estimate(**found)
