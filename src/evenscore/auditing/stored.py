"""Stored audits: JSON with a version, read back as they were written.

The policy. `schema_version` is "major.minor". A minor version adds blocks, or fields with a
default: readers of the same major version skip blocks they do not know and fill fields they miss.
A major version changes what is there; files of older ones are brought up to date here, one function
each, and a test reads a committed file of every version ever written. Verdicts, and the number of
gaps they were corrected for, are part of the file: reading it decides nothing anew.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from evenscore.auditing.blocks import BLOCKS
from evenscore.auditing.parts import (
    NO_ANSWER,
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
from evenscore.gaps.catalogue import CATALOGUE
from evenscore.inference.decisions import decide
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

# Since 2.0, and what older files are taken to say.
_ADDED: dict[str, Any] = {
    "assumptions": (),
    "answer": to_plain(NO_ANSWER),
    "corrected_for": 0,
    "columns": (),
    "provenance": None,
    "binned": None,
}


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
    """The fields of an `AuditResult`, from what `audit_to_dict` wrote in any version."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise ValueError(f"This is not an audit: it lacks 'format': {FORMAT!r}.")
    version = str(data.get("schema_version"))
    major = version.split(".")[0]
    if major not in ("1", "2", SCHEMA_VERSION.split(".")[0]):
        raise ValueError(
            f"The audit is of schema version {version:.80}; this evenscore reads versions 1, 2 and "
            f"{SCHEMA_VERSION}."
        )
    try:
        if major == "1":
            data = _from_1(data)
        if major in ("1", "2"):
            data = _from_2(data)
    except (LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
        if isinstance(error, ValueError) and str(error).startswith("audit"):
            raise
        raise ValueError(f"audit is not whole: it is not an audit of version {major}.") from None
    data = {**_ADDED, **data}
    missing = [name for name in (*FIELDS, "blocks") if name not in data]
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


# ---------------------------------------------------------------------- older versions


def _from_2(data: Mapping[str, Any]) -> dict[str, Any]:
    """Version 2 knew no cuts in use: it had thresholds that select shares of all negatives."""
    settings, blocks = data.get("settings"), data.get("blocks")
    if not isinstance(settings, Mapping) or not isinstance(blocks, Mapping):
        return {**data}  # refused with the fields that are missing
    cuts, others = blocks.get("cuts"), {k: v for k, v in blocks.items() if k != "cuts"}
    if isinstance(cuts, Mapping) and isinstance(cuts.get("thresholds"), Mapping):
        chosen = cuts["thresholds"]
        rates = settings.get("rates") or []
        by_share = len(rates) == len(chosen["labels"]) and "asked for" not in chosen["labels"]
        level = settings.get("confidence_level")
        in_use = {
            "cuts": (
                {"at": rates, "of": "negatives"}
                if by_share
                else {"thresholds": list(dict.fromkeys(chosen["thresholds"]))}
            ),
            "kinds": [],
            "asked": False,
            "gaps": [],
            "chosen": chosen,
            "curves": {
                "thresholds": [],
                "selected_share": [],
                "groups": [],
                "confidence_level": level,
                "rates": [],
            },
            "headline": cuts.get("headline", ""),
            "compared": data["sample"].get("compared_groups") or data["sample"].get("groups"),
        }
        kept = {name: cuts[name] for name in ("explorer", "fair_cuts") if name in cuts}
        others = {"cuts_in_use": in_use, "at_thresholds": kept, **others}
    return {**data, "blocks": others}


_BLOCKS_OF_1 = {
    "ranking": {"auc": "auc", "by_group": "auc_by_group", "matrix": "auc_matrix"},
    "curves": {"roc_gaps": "roc_gaps", "roc_curves": "roc_curves"},
    "certificates": {"certificates": "certificate"},
    "cuts": {"thresholds": "thresholds", "explorer": "explorer", "fair_cuts": "fair_cuts"},
    "shape": {"distributions": "distributions", "calibration": "calibration"},
    "permutations": {"tests": "permutation_tests"},
}
_NOTIONS_OF_1 = 8  # named gaps that an audit of version 1 looked at, for each pair of groups


def _from_1(data: Mapping[str, Any]) -> dict[str, Any]:
    """Version 1 kept AUC gaps and ROC gaps apart, and left verdicts to its readers."""
    lists = (("gaps", "auc", "AUC gaps"), ("roc_gaps_at_rates", "roc", "ROC gaps at a cut"))
    names = {name for parts in _BLOCKS_OF_1.values() for name in parts.values()}
    required = {*FIELDS, "roc_gaps_at_rates", *names} - {"families", *_ADDED}
    missing = sorted(required - set(data))
    if missing:
        raise ValueError(f"audit lacks {missing[0]!r}: it is not an audit of version 1.")
    gaps: list[dict[str, Any]] = []
    n_groups = len(data["sample"]["groups"])
    n_pairs = n_groups * (n_groups - 1) // 2
    families: dict[str, dict[str, Any]] = {}
    for field, family, heading in lists:
        for gap in data[field]:
            at = "" if gap["rate"] is None else f"at {gap['rate']:.4g}"
            gaps.append({**gap, "family": family, "at": at})
            label = f"{gap['name']} {at}".strip()
            meaning = CATALOGUE[label].meaning() if label in CATALOGUE else ""
            families[label] = {
                "name": label,
                "family": family,
                "heading": heading,
                "kinds": [{"label": label, "meaning": meaning}],
                "n_gaps": n_pairs,
            }
    curves = [
        {
            **curve,
            "marks": [
                [gap["rate"], gap["value"], gap["low"], gap["high"]]
                for gap in data["roc_gaps_at_rates"]
                if all(gap[name] == curve[name] for name in ("on", "first", "second"))
            ],
        }
        for curve in data["roc_gaps"]
    ]
    settings = {**data["settings"]}
    settings["words"] = {"selected_is": settings.pop("selected_is", None)}
    estimates = from_plain(tuple[Estimate, ...], gaps, "audit.gaps")
    total = n_pairs * (_NOTIONS_OF_1 + 2 * len(settings["rates"]))
    asked = [
        from_plain(float, settings[name], f"audit.settings.{name}")
        for name in ("tolerance", "confidence_level")
    ]
    with np.errstate(all="ignore"):
        decided = decide(estimates, *asked, total=total)
    kept = [
        {**gap, "verdict": estimate.verdict} for gap, estimate in zip(gaps, decided, strict=True)
    ]
    return {
        **{name: data[name] for name in FIELDS if name in data},
        "settings": settings,
        "gaps": kept,
        "families": list(families.values()),
        "blocks": {
            block: {
                field: curves if name == "roc_gaps" else data[name] for field, name in parts.items()
            }
            for block, parts in _BLOCKS_OF_1.items()
        },
    }
