"""The JSON Schema of an audit, made from the types of the result.

`src/evenscore/auditing/audit.schema.json` is this schema; write it anew with

    python tools/audit_schema.py
"""

import json
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

import evenscore.auditing
from evenscore.auditing.blocks import BLOCKS
from evenscore.auditing.plain import _INFINITE, _hints
from evenscore.auditing.stored import FIELDS, FORMAT, SCHEMA_VERSION
from evenscore.files.atomic import write_atomically

SCHEMA_FILE = Path(evenscore.auditing.__file__).with_name("audit.schema.json")


def schema_of(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of what `to_plain` writes of a type; dataclasses go to `definitions`."""
    if is_dataclass(kind):
        name = kind.__name__  # type: ignore[union-attr]
        if name not in definitions:
            definitions[name] = {}
            hints = _hints(kind)  # type: ignore[arg-type]
            optional = {field.name for field in fields(kind) if "if_set" in field.metadata}
            definitions[name] = {
                "description": " ".join((kind.__doc__ or "").split("\n\n    >>>")[0].split()),
                "type": "object",
                "properties": {n: schema_of(hint, definitions) for n, hint in hints.items()},
                "required": [name for name in hints if name not in optional],
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
    if origin is tuple and arguments[-1] is not Ellipsis:
        parts = [schema_of(argument, definitions) for argument in arguments]
        count = len(parts)
        return {"type": "array", "prefixItems": parts, "minItems": count, "maxItems": count}
    if origin is tuple:
        return {"type": "array", "items": schema_of(arguments[0], definitions)}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": schema_of(arguments[1], definitions)}
    if kind is Any:
        return {}
    return {"type": {str: "string", int: "integer", bool: "boolean"}[kind]}


def audit_schema() -> dict[str, Any]:
    """What `AuditResult.to_dict` gives, described; blocks of other versions may be there too.

    >>> audit_schema()["properties"]["schema_version"]
    {'const': '3.3'}
    """
    definitions: dict[str, Any] = {}
    fields = {name: schema_of(kind, definitions) for name, kind in FIELDS.items()}
    blocks = {name: schema_of(kind, definitions) for name, kind in BLOCKS.items()}
    properties = {
        "format": {"const": FORMAT},
        "schema_version": {"const": SCHEMA_VERSION},
        **fields,
        "blocks": {"type": "object", "properties": blocks},
        "columns": {
            "description": "The audit of each of several columns of groups by itself.",
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "audit": {"$ref": "#"}},
                "required": ["name", "audit"],
                "additionalProperties": False,
            },
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An audit of a score by evenscore",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        "$defs": dict(sorted(definitions.items())),
    }


def schema_text() -> str:
    """The schema as the file has it."""
    return json.dumps(audit_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    write_atomically(SCHEMA_FILE, schema_text())
