"""The file that keeps a `GroupedScores`: JSON, exact and readable by anything.

    {"format": "evenscore.scores", "version": "1.0", "groups": ["a", ["b", 1]],
     "score": [0.25, 0.5], "label": [0, 1], "group": [0, 1], "weight": …, "count": …,
     "weight_squared": …}

`label` is 0 or 1, `group` a position in `groups`, an intersection of several columns is a list.
The last three columns are left out of a table in which each row is one observation of weight 1.
`about` may say what the table is about: the names of the columns of score, label, groups and
weight, and the labels of both classes. A table of bins has `bins`, which says how people are put
into them, and `lowest` beside `score`: the lowest and the highest score in the bin of each row.
Numbers are written with all their digits. A version is major.minor: every reader reads all files of
its own major version and skips the entries it does not know, so that a minor version may add some.
`scores.schema.json`, beside this file, says the same to programs.
"""

import json
import math
from collections.abc import Hashable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from evenscore.files.atomic import write_atomically
from evenscore.files.ordinary import read_whole
from evenscore.scores.bins import Bins

FORMAT, VERSION = "evenscore.scores", "1.1"
REQUIRED = ("score", "label", "group")
OPTIONAL = ("weight", "count", "weight_squared")


def write_columns(
    path: str | PathLike[str],
    groups: tuple[Hashable, ...],
    columns: dict[str, list[Any]],
    bins: Bins | None = None,
    about: Mapping[str, Any] | None = None,
) -> Path:
    """Write groups and columns, whole or not at all."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "groups": [plain_group(group) for group in groups],
        **columns,
    }
    if bins is not None:
        content["bins"] = bins.to_dict()
    if about is not None:
        content["about"] = dict(about)
    return write_atomically(path, json.dumps(content, allow_nan=False))


def read_columns(
    path: str | PathLike[str],
) -> tuple[tuple[Hashable, ...], dict[str, list[Any]], Bins | None]:
    """Groups, columns and bins of a file; `from_table` checks lengths and ranges of numbers."""
    name = Path(path).name
    raw = read_whole(path)
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        raise ValueError(f"{name} is not a JSON file.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{name} does not hold grouped scores: its format is not {FORMAT!r}.")
    version = content.get("version")
    if not isinstance(version, str) or version.split(".")[0] != VERSION.split(".")[0]:
        raise ValueError(
            f"{name} is of version {version!r} of {FORMAT}, and this evenscore reads {VERSION}."
        )
    try:
        bins = None if content.get("bins") is None else Bins.from_dict(content["bins"])
    except ValueError as error:
        raise ValueError(f"{name} cannot be used: {error}.") from None
    if bins is None and "lowest" in content:
        raise ValueError(f"{name} has lowest scores of bins, and does not say which bins.")
    required = REQUIRED if bins is None else (*REQUIRED, "lowest")
    columns = {key: content[key] for key in (*required, *OPTIONAL) if key in content}
    for key in ("groups", *required):
        if not isinstance(content.get(key), list):
            raise ValueError(f"{name} lacks the list {key!r}.")
    for key, column in columns.items():
        if not isinstance(column, list) or not all(_is_number(value) for value in column):
            raise ValueError(f"{name}: {key} must be a list of numbers.")
    if not set(columns["label"]) <= {0, 1}:
        raise ValueError(f"{name}: label must hold 0 and 1 only.")
    groups = tuple(restored_group(group, name) for group in content["groups"])
    if len(set(groups)) < len(groups):
        raise ValueError(f"{name} names a group twice.")
    if not set(columns["group"]) <= set(range(len(groups))):
        raise ValueError(f"{name}: group must hold positions in groups, from 0 on.")
    return groups, columns, bins


def read_about(path: str | PathLike[str]) -> dict[str, Any]:
    """What a file says that its table is about; nothing if it does not say."""
    try:
        content = json.loads(read_whole(path))
    except (ValueError, RecursionError):
        return {}
    about = content.get("about") if isinstance(content, dict) else None
    kinds: dict[str, Any] = {
        "score": str | None,
        "label": str | None,
        "positive": str,
        "negative": str,
        "groups": list,
        "weight": str | None,
    }
    known = about if isinstance(about, dict) else {}
    return {
        key: known[key]
        for key, kind in kinds.items()
        if key in known
        and isinstance(known[key], kind)
        and all(isinstance(name, str) for name in (known[key] if kind is list else ()))
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def plain_group(group: Hashable) -> Any:
    """A group label as JSON has it; an intersection becomes a list."""
    parts = group if isinstance(group, tuple) else (group,)
    if not all(_is_label(part) for part in parts):
        raise ValueError(
            f"The group {group!r} cannot be stored: its label must be text, a number or true or "
            "false, so rename it first."
        )
    return list(group) if isinstance(group, tuple) else group


def restored_group(group: Any, name: str) -> Hashable:
    """The group of which `plain_group` made this; `name` is that of the file."""
    parts = group if isinstance(group, list) else [group]
    if not all(_is_label(part) for part in parts):
        raise ValueError(f"{name}: {group!r} is not the label of a group.")
    return tuple(group) if isinstance(group, list) else group
