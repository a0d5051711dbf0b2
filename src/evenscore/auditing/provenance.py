"""Provenance: where the numbers of an audit come from, so that anybody can recompute them.

It holds what a second person needs: versions, settings, the seed, the rows and, of a file that was
read, its name and SHA-256. There is no clock in it: the same input gives the same bytes. The only
date is one that somebody gave.

What can be computed is verified by recomputing it. What only a person can say (the command, a
date, declared facts) cannot be: `stated_sha256` holds a SHA-256 of each, which shows whether it was
changed afterwards by somebody who did not mean to hide that.
"""

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenscore.auditing.blocks.base import BlockTable
from evenscore.auditing.declared import Declared
from evenscore.auditing.parts import Sample, Settings
from evenscore.auditing.plain import to_plain
from evenscore.files.ordinary import ordinary_file
from evenscore.gaps.words import DEFAULT_WORDS, Words
from evenscore.inference.estimate import percent
from evenscore.scores import GroupedScores

_PACKAGES = ("numpy", "scipy", "scikit-learn")
_YES = {True: "yes", False: "no", None: "not said"}


@dataclass(frozen=True)
class InputFile:
    """A file as it was when it was read: the SHA-256 is of its bytes, packed or not."""

    name: str
    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> "InputFile":
        """The file of this path."""
        with ordinary_file(path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
            return cls(path.name, file.tell(), digest.hexdigest())


@dataclass(frozen=True)
class ColumnRole:
    """A column of the file, and what it is: "label", "score", "group", "weight" or "cluster"."""

    role: str
    name: str


@dataclass(frozen=True)
class RowCounts:
    """Rows in and out: `read` are those `used`, those `left_out` and those of weight zero.

    `lacking` says how many rows lack a value in which column: these are left out, and one that
    lacks several is counted in each of them.
    """

    read: int
    used: int
    left_out: int = 0
    weight_zero: int = 0
    lacking: Mapping[str, int] = field(default_factory=dict)


def _counts(used: int, weight_zero: int, lacking: Mapping[str, int]) -> RowCounts:
    """Of rows that lack one value each."""
    left_out = sum(lacking.values())
    return RowCounts(used + weight_zero + left_out, used, left_out, weight_zero, lacking)


@dataclass(frozen=True)
class Provenance:
    """Where the numbers of an audit come from; made by every audit.

    Parameters
    ----------
    versions : mapping
        Of evenscore, Python and the libraries the numbers depend on, by name.
    settings : mapping
        What was asked, in words.
    rows : RowCounts
        How many rows were read and used, and why the others were not.
    data_sha256 : str
        SHA-256 of the columns as they were understood: scores, classes, groups, weights and
        clusters. It depends neither on the order of rows nor on the kind of file, and audits of the
        same people in Python and from a file have the same.
    declared : Declared
        What somebody declared; nobody has confirmed it.
    columns : tuple of ColumnRole
        The columns of the file and their roles.
    file : InputFile, optional
        The file; None if columns were passed in Python.
    command : str
        The command as it was given, ready for a shell; empty from Python.
    options : mapping
        The options of that command that matter to the numbers, those left out with their defaults.
    date : str
        The date that somebody gave, such as 2026-11-16; empty if nobody did.
    stated_sha256 : mapping
        SHA-256 of what cannot be recomputed, by field.
    """

    versions: Mapping[str, str]
    settings: Mapping[str, str]
    rows: RowCounts
    data_sha256: str
    declared: Declared = field(default_factory=Declared)
    columns: tuple[ColumnRole, ...] = ()
    file: InputFile | None = None
    command: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    date: str = ""
    stated_sha256: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        scores: GroupedScores,
        sample: Sample,
        settings: Settings,
        constraints: Sequence[str],
        declared: Declared,
        *,
        weight_zero: int,
        lacking: Mapping[str, int] | None = None,
    ) -> "Provenance":
        """The provenance of an audit of a table, wherever that comes from."""
        return cls(
            {**_versions(), "evenscore": settings.evenscore_version},
            _in_words(settings, sample, constraints),
            _counts(sample.n, weight_zero, lacking or {}),
            data_sha256(scores),
            declared,
        ).sealed()

    def of_file(
        self,
        file: InputFile,
        *,
        columns: Sequence[ColumnRole],
        left_out: int,
        lacking: Mapping[str, int],
        command: str,
        options: Mapping[str, Any],
        date: str,
    ) -> "Provenance":
        """The same of an audit of a file, by a command."""
        rows = replace(
            self.rows, read=self.rows.read + left_out, left_out=left_out, lacking=lacking
        )
        return replace(
            self,
            versions={**self.versions, "duckdb": version("duckdb")},
            rows=rows,
            columns=tuple(columns),
            file=file,
            command=command,
            options=options,
            date=date,
        ).sealed()

    def stated(self) -> dict[str, str]:
        """SHA-256 of what cannot be recomputed, by field."""
        parts = {
            "versions": self.versions,
            "declared": self.declared,
            "command": self.command,
            "options": self.options,
            "date": self.date,
            "file.name": None if self.file is None else self.file.name,
        }
        return {name: _sha256(to_plain(part)) for name, part in parts.items()}

    def sealed(self) -> "Provenance":
        """The same with `stated_sha256` as it should be."""
        return replace(self, stated_sha256=self.stated())

    def tables(self) -> tuple[BlockTable, ...]:
        """What there is to show, as tables of texts; one of declared facts if there are any."""
        source = BlockTable(
            "Where these numbers come from",
            ("Item", "As recorded"),
            tuple(self._source()),
            "`evenscore verify` recomputes every number from this file and the report as JSON."
            if self.file is not None
            else "",
            names=2,
        )
        asked = BlockTable(
            "What was asked",
            ("Setting", "Value"),
            tuple((_capital(name), text) for name, text in self.settings.items()),
            names=2,
        )
        facts = self.declared.facts
        if not facts:
            return source, asked
        declared = BlockTable(
            "What was declared",
            ("Fact", "As declared"),
            tuple((_TITLES.get(name, name), _text(fact)) for name, fact in facts.items()),
            "Somebody said so; the audit neither found nor checked it.",
            names=2,
        )
        return source, asked, declared

    def _source(self) -> list[tuple[str, str]]:
        rows, file = self.rows, self.file
        items = [("Date", self.date)] if self.date else []
        if file is not None:
            items += [
                ("File", file.name),
                ("Size of the file", f"{file.size:,} bytes"),
                ("SHA-256 of the file", file.sha256),
            ]
        roles: dict[str, list[str]] = {}
        for column in self.columns:
            roles.setdefault(column.role, []).append(column.name)
        for role, names in roles.items():
            several = "Columns" if len(names) > 1 else "Column"
            items.append((f"{several} of {role}s", ", ".join(names)))
        items += [("Rows read", f"{rows.read:,}"), ("Rows used", f"{rows.used:,}")]
        if rows.left_out:
            lacking = ", ".join(f"{name} in {n:,}" for name, n in rows.lacking.items())
            items.append(("Rows left out", f"{rows.left_out:,}, for lacking a value ({lacking})"))
        if rows.weight_zero:
            items.append(("Rows of weight zero", f"{rows.weight_zero:,}, which count for nothing"))
        items.append(("SHA-256 of the columns as understood", self.data_sha256))
        if self.command:
            items.append(("Command", self.command))
        made_with = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        return [*items, ("Made with", made_with)]


_TITLES = {
    "purpose": "Purpose of the score",
    "decision": "What is decided",
    "responsible": "Who is responsible",
    "population": "Whom the rows stand for",
    "period": "Period of the rows",
    "data": "Where the rows come from",
    "model": "Which score it is",
    "tolerance": "Largest gap that counts as even",
    "tolerance_reason": "Why that tolerance",
    "trained_on": "The score was trained on these rows",
    "outcomes_of_selected_only": "Outcomes are known only for people selected in the past",
    "people": "Who is scored",
    "positives": "People with the positive label",
    "negatives": "People with the other label",
    "selected": "What happens to people who are selected",
    "selected_is": "Being selected is, for a person",
    "refused": "What happens to everybody else",
    "groups": "What groups are called",
}
"""What declared facts are called where they are shown."""


def data_sha256(scores: GroupedScores) -> str:
    """SHA-256 of a table: the names of its groups, then its columns as little-endian numbers.

    >>> table = {"score": [1, 2], "label": [0, 1], "group": ["a", "a"], "n": [3, 4]}
    >>> one = GroupedScores.from_table(table, count="n")
    >>> other = GroupedScores.from_arrays(
    ...     [1, 0, 0, 1, 0, 1, 1], [2, 1, 1, 2, 1, 2, 2], sensitive_features=list("aaaaaaa"))
    >>> data_sha256(one) == data_sha256(other)
    True
    """
    clusters = scores.clusters
    columns: list[NDArray[Any]] = [scores.cell, scores.score + 0.0]  # there is no −0.0
    columns += [scores.weight, scores.count, scores.weight_squared]
    if clusters is not None:
        # Numbered by their first row: whoever decoded them may have numbered them otherwise.
        _, first, numbers = np.unique(clusters.cluster, return_index=True, return_inverse=True)
        columns += [clusters.row, np.argsort(np.argsort(first))[numbers], clusters.weight]
    digest = hashlib.sha256(json.dumps(scores.names).encode())
    for column in columns:
        digest.update(column.astype("<f8").tobytes())
    return digest.hexdigest()


@cache
def _versions() -> dict[str, str]:
    from evenscore import __version__

    libraries = {name: version(name) for name in _PACKAGES}
    return {"evenscore": __version__, "Python": platform.python_version(), **libraries}


def _in_words(settings: Settings, sample: Sample, constraints: Sequence[str]) -> dict[str, str]:
    """What was asked, in words."""
    words, cuts = settings.words, settings.cuts
    assert cuts is not None
    texts = {
        "tolerance": f"{settings.tolerance:.10g}",
        "confidence level": percent(settings.confidence_level),
        "cuts in use": f"{cuts.text(words)}; {cuts.selected} scores are selected",
        "gaps audited": "; ".join(constraints),
        "groups, in order": ", ".join(sample.groups),
        "compared with": settings.reference_group or "each other",
        "smallest class of a compared group": (
            "any size"
            if settings.min_group_size is None
            else f"worth {settings.min_group_size:,} people"
        ),
        "seed": str(settings.random_state),
        "trained on these rows": _YES[settings.trained_on],
    }
    return {**texts, **_own_words(words)}


def _own_words(words: Words) -> dict[str, str]:
    """The user's own words, where they are not the default ones."""
    called = ", ".join(f"{label} are {name}" for label, name in words.groups)
    texts = {**to_plain(words), "groups": called}
    return {
        _TITLES[name][0].lower() + _TITLES[name][1:]: text
        for name, text in texts.items()
        if text and text != getattr(DEFAULT_WORDS, name)
    }


def _sha256(part: Any) -> str:
    return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()


def _text(fact: Any) -> str:
    if isinstance(fact, bool):
        return _YES[fact]
    return " ".join(str(fact).split())


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]
