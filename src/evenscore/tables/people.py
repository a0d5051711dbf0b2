"""Who the rows are about: their class, their groups, their weight."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenscore.audit import MAX_GROUPS
from evenscore.labels import cross
from evenscore.tables.cells import Check, number, number_checks, text, text_checks
from evenscore.tables.coding import code_of, distinct_texts, in_order
from evenscore.tables.opening import TableFile

__all__ = ["DROP", "People", "PeopleColumns", "check_roles"]

Floats = NDArray[np.float64]

DROP = ", or ask for --drop-missing"


@dataclass(frozen=True, eq=False)
class People:
    """Everybody's class, groups and weight, decoded.

    `codes[name]` are positions in `labels[name]`, the texts of a group column in order: by number
    if all are numbers. `dropped` of the file's `total` rows lacked a value.
    """

    positive: NDArray[np.bool_]
    codes: dict[str, NDArray[np.integer]]
    labels: dict[str, tuple[str, ...]]
    weight: Floats | None
    pos_label: str
    neg_label: str
    total: int
    dropped: int

    @cached_property
    def crossed(self) -> tuple[NDArray[np.intp], tuple[Hashable, ...]]:
        """Everybody's group among the intersections of the columns, and their labels."""
        columns = [
            (self.codes[name].astype(np.intp), list[Hashable](self.labels[name]))
            for name in self.codes
        ]
        codes, groups = cross(columns)
        return codes, tuple(groups)

    def columns(self) -> dict[str, NDArray[np.str_]]:
        """The group columns as texts, by name."""
        return {name: np.array(self.labels[name])[self.codes[name]] for name in self.codes}

    def texts(self) -> NDArray[np.str_]:
        """The labels as texts, as `pos_label` is one."""
        return np.array([self.neg_label, self.pos_label])[self.positive.astype(np.intp)]


class PeopleColumns:
    """The columns of a table that say who the rows are about, and how to read them.

    `checks` come first; then, knowing which rows are kept, `select`, whose query gives the arrays
    for `decode`.
    """

    def __init__(
        self,
        table: TableFile,
        label: str,
        groups: Sequence[str],
        weight: str | None,
        pos_label: str | None,
    ) -> None:
        self._table, self._names, self._pos_label = table, tuple(groups), pos_label
        self._label = table.column(label)
        self._groups = [table.column(name) for name in groups]
        self._weight = None if weight is None else table.column(weight)

    @property
    def sql_names(self) -> list[str]:
        """The columns in SQL."""
        weight = [] if self._weight is None else [self._weight]
        return [self._label, *self._groups, *weight]

    def checks(self) -> list[Check]:
        """What no row may be."""
        table = self._table
        checks: list[Check] = []
        if self._weight is not None:
            told = "{column} is {value} at {row}{more}; a weight is at least 0."
            checks += number_checks(table, self._weight)
            checks.append(Check(self._weight, f"{number(table, self._weight)} < 0", told))
        for column in (self._label, *self._groups):
            checks += text_checks(table, column)
        return checks

    def select(self, kept: str) -> dict[str, str]:
        """SQL by name: label, group0, group1, …, and weight if there is one."""
        self._classes = _classes(self._table, self._label, kept, self._pos_label)
        self._found = [_groups(self._table, column, kept) for column in self._groups]
        selected = {"label": code_of(self._table, self._label, self._classes.texts)}
        for k, (column, texts) in enumerate(zip(self._groups, self._found, strict=True)):
            selected[f"group{k}"] = code_of(self._table, column, texts)
        if self._weight is not None:
            selected["weight"] = number(self._table, self._weight)
        return selected

    def decode(self, arrays: dict[str, Any], total: int, rows: int) -> People:
        """From the arrays of the query; `rows` of the `total` were kept."""
        classes = self._classes
        people = People(
            classes.positive[arrays["label"]],
            {name: np.asarray(arrays[f"group{k}"]) for k, name in enumerate(self._names)},
            {name: tuple(texts) for name, texts in zip(self._names, self._found, strict=True)},
            None if self._weight is None else np.asarray(arrays["weight"], dtype=np.float64),
            classes.pos_label,
            classes.neg_label,
            total,
            total - rows,
        )
        groups = people.crossed[1]
        if len(groups) < 2:
            told = " and ".join(repr(name) for name in self._names)
            raise ValueError(
                f"{self._table.name} has only the group {groups[0]!r} in {told}: there is no other "
                "to compare with."
            )
        return people


def check_roles(**columns: Sequence[str]) -> None:
    """Refuse a column that is to be two things at once, and having no group."""
    seen: dict[str, str] = {}
    for role, names in columns.items():
        for name in names:
            if name in seen:
                both = f"--{seen[name]} and --{role}" if seen[name] != role else f"--{role} twice"
                raise ValueError(f"Column {name!r} is given as {both}.")
            seen[name] = role
    if not columns.get("group", ("one",)):
        raise ValueError("Say at least one column of groups with --group.")


@dataclass(frozen=True, eq=False)
class _Classes:
    texts: list[str]
    positive: NDArray[np.bool_]
    pos_label: str
    neg_label: str


def _classes(table: TableFile, column: str, kept: str, asked: str | None) -> _Classes:
    """Find the two labels of a column and which of them is positive."""
    where = f"Column {table.name_of(column)!r} of {table.name}"
    found = distinct_texts(table, column, kept, 1000)
    if not found:
        raise ValueError(f"{where} has no labels: every row lacks something.")
    shown = ", ".join(repr(told) for told in found[:5]) + (", …" if len(found) > 5 else "")
    values = {told: _meaning(told) for told in found}
    distinct = set(values.values())
    if len(distinct) > 2:
        raise ValueError(f"{where} must have two labels, but it has {shown}.")
    if asked is not None:
        positive = _meaning(asked)
        if positive not in distinct:
            raise ValueError(f"{where} has {shown}, but not the label {asked!r} of --pos-label.")
    elif distinct <= {0.0, 1.0} or distinct <= {-1.0, 1.0}:
        positive = 1.0
    elif distinct <= {"true", "false"}:
        positive = "true"
    else:
        raise ValueError(f"{where} has {shown}: say which is positive with --pos-label.")
    if len(distinct) < 2:
        raise ValueError(f"{where} has the label {shown} only: there is nothing to rank apart.")
    side = np.array([values[told] == positive for told in found])
    names = [found[int(np.argmax(side == wanted))].strip() for wanted in (True, False)]
    return _Classes(found, side, names[0], names[1])


def _meaning(told: str) -> Hashable:
    """A label by what it means: 1, 1.0 and " 1" are the same one, and so are True and true."""
    plain = told.strip()
    if plain.lower() in ("true", "false"):
        return plain.lower()
    try:
        value = float(plain)
    except ValueError:
        return plain
    return plain if math.isnan(value) else value


def _groups(table: TableFile, column: str, kept: str) -> list[str]:
    found = distinct_texts(table, column, kept, MAX_GROUPS)
    if len(found) > MAX_GROUPS:
        distinct = f"count(DISTINCT {text(table, column)})"
        n = table.one(f"SELECT {distinct} FROM rows WHERE {kept}")[0]
        raise ValueError(
            f"Column {table.name_of(column)!r} of {table.name} has {n:,} groups, and at most "
            f"{MAX_GROUPS} can be compared: is it an identifier? Otherwise merge groups into "
            "larger ones."
        )
    return in_order(found)
