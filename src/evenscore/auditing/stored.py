"""Stored audits: JSON with a version, read back as they were written.

`schema_version` is "major.minor". A minor version adds blocks, or fields with a default: readers of
the same major version skip blocks they do not know. Files of another major version are refused.
Verdicts, and the number of gaps they were corrected for, are part of the file: reading it decides
nothing anew.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evenscore.auditing.blocks import BLOCKS
from evenscore.auditing.parts import (
    Answer,
    BinnedScores,
    FamilyRecord,
    Finding,
    Sample,
    Settings,
)
from evenscore.auditing.plain import from_plain, to_plain
from evenscore.auditing.provenance import Provenance
from evenscore.files.ordinary import read_whole
from evenscore.inference.estimate import Estimate

if TYPE_CHECKING:
    from evenscore.auditing.result import AuditResult

T = TypeVar("T")

FORMAT = "evenscore.audit"
SCHEMA_VERSION = "3.3"

FIELDS: dict[str, Any] = {
    "title": str,
    "settings": Settings,
    "sample": Sample,
    "findings": tuple[Finding, ...],
    "gaps": tuple[Estimate, ...],
    "families": tuple[FamilyRecord, ...],
    "omitted": tuple[str, ...],
    "warnings": tuple[str, ...],
    "assumptions": tuple[str, ...],
    "answer": Answer,
    "corrected_for": int,
    "provenance": Provenance | None,
    "binned": BinnedScores | None,
}
"""What every audit holds beside its blocks."""


def audit_to_dict(result: "AuditResult") -> dict[str, Any]:
    """Plain data, ready for JSON."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        **{name: to_plain(getattr(result, name)) for name in FIELDS},
        "blocks": {name: to_plain(block) for name, block in result.blocks.items()},
        "columns": [
            {"name": column.name, "audit": audit_to_dict(column.audit)} for column in result.columns
        ],
    }


def audit_from_dict(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an `AuditResult`, from what `audit_to_dict` wrote."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise ValueError(f"This is not an audit: it lacks 'format': {FORMAT!r}.")
    version = str(data.get("schema_version"))
    if version.split(".")[0] != SCHEMA_VERSION.split(".")[0]:
        raise ValueError(
            f"The audit is of schema version {version:.80}; this evenscore reads {SCHEMA_VERSION}."
        )
    missing = [name for name in (*FIELDS, "blocks", "columns") if name not in data]
    if missing:
        raise ValueError(f"audit lacks {missing[0]!r}: it is not an audit of this version.")
    fields = {name: from_plain(kind, data[name], f"audit.{name}") for name, kind in FIELDS.items()}
    blocks = data["blocks"]
    if not isinstance(blocks, Mapping):
        raise ValueError(f"audit.blocks must be an object, not {blocks!r:.80}.")
    fields["blocks"] = {
        name: from_plain(BLOCKS[name], content, f"audit.blocks.{name}")
        for name, content in blocks.items()
        if name in BLOCKS
    }
    columns = data["columns"]
    if not isinstance(columns, list | tuple) or not all(
        isinstance(column, Mapping) and isinstance(column.get("name"), str) for column in columns
    ):
        raise ValueError(f"audit.columns must be a list of named audits, not {columns!r:.80}.")
    fields["columns"] = [(column["name"], column.get("audit")) for column in columns]
    return fields


def read_json(path: str | Path) -> Any:
    """The content of a JSON file; one sentence if it is none."""
    if isinstance(path, str) and path.lstrip().startswith("{"):
        raise ValueError(
            "from_json takes the path of a file; of JSON text, use from_dict(json.loads(text))."
        )
    return json_of(read_whole(path), str(path))


def json_of(content: bytes, name: str) -> Any:
    """What the bytes of a JSON file say; one sentence that names the file if they say nothing."""
    try:
        return json.loads(content.decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{name} is not a JSON file: {error}.") from None
    except ValueError:  # Python reads no integer of more digits than some thousand
        raise ValueError(f"{name} holds a number of too many digits.") from None


def from_file(path: str | Path, reader: Callable[[Any], T]) -> T:
    """What a reader of plain data makes of a JSON file; what it refuses, with the file's name."""
    data = read_json(path)
    try:
        return reader(data)
    except ValueError as error:
        raise ValueError(f"{Path(path).name}: {error}") from None
    except RecursionError:
        raise ValueError(f"{Path(path).name} is nested too deeply.") from None
