"""The JSON Schema of an audit, made from the types of the result.

`evenscore/schema/audit.schema.json` is this schema as a file; write it anew with

    python -m evenscore.results.schema
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evenscore.files import write_atomically
from evenscore.results.audit_result import FORMAT, SCHEMA_VERSION, AuditResult
from evenscore.results.plain import schema_of

__all__ = ["SCHEMA_FILE", "audit_schema"]

SCHEMA_FILE = Path(__file__).parents[1] / "schema" / "audit.schema.json"


def audit_schema() -> dict[str, Any]:
    """What `AuditResult.to_dict` gives, described.

    >>> audit_schema()["properties"]["schema_version"]
    {'const': '1.0'}
    """
    definitions: dict[str, Any] = {}
    schema_of(AuditResult, definitions)
    described = definitions.pop("AuditResult")
    head = {"format": {"const": FORMAT}, "schema_version": {"const": SCHEMA_VERSION}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An audit of a score by evenscore",
        **described,
        "properties": {**head, **described["properties"]},
        "required": [*head, *described["required"]],
        "$defs": dict(sorted(definitions.items())),
    }


def schema_text() -> str:
    """The schema as the file has it."""
    return json.dumps(audit_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.parent.mkdir(exist_ok=True)
    write_atomically(SCHEMA_FILE, schema_text())
