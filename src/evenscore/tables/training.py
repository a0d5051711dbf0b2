"""Rows to learn from, and rows to score: features as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from evenscore.tables.cells import refuse
from evenscore.tables.coding import distinct_texts
from evenscore.tables.features import (
    Feature,
    feature_checks,
    feature_matrix,
    feature_select,
    find_features,
)
from evenscore.tables.opening import TableFile, open_table
from evenscore.tables.people import DROP, People, PeopleColumns, check_roles

__all__ = ["TrainingRows", "read_features", "read_training"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """People and their features, as a matrix with one column a number or category."""

    people: People
    features: tuple[Feature, ...]
    X: Floats


def read_training(
    path: str | PathLike[str],
    *,
    label: str,
    groups: Sequence[str],
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    include_groups: bool = False,
    weight: str | None = None,
    pos_label: str | None = None,
    drop_missing: bool = False,
    allow_missing: bool = False,
) -> TrainingRows:
    """Read rows to learn from; features are by default all columns that are nothing else.

    Columns of groups are no features unless named as such, or with `include_groups`.
    """
    weights = [] if weight is None else [weight]
    check_roles(label=[label], group=groups, weight=weights)
    with open_table(path, wanted=[label, *groups, *weights]) as table:
        people = PeopleColumns(table, label, groups, weight, pos_label)
        for name in exclude:
            table.column(name)
        if features is None:
            taken = {label, *weights, *exclude, *(() if include_groups else groups)}
            features = [name for name in table.names if name not in taken]
        check_roles(label=[label], weight=weights, features=features)
        if not features:
            raise ValueError(f"{table.name} has no column left to be a feature.")
        table.hold([*people.sql_names, *(table.column(name) for name in features)])
        refuse(table, people.checks()[:0])  # no rows at all is the first thing to say
        found = find_features(table, features)
        checks = people.checks() + feature_checks(table, found, allow_missing=allow_missing)
        advice = DROP if allow_missing else f"{DROP}, or fit --model boosted, which takes them"
        total, kept = refuse(table, checks, drop_missing=drop_missing, option=advice)
        selected = {**people.select(kept), **feature_select(table, found)}
        told = ", ".join(f"{sql} AS {name}" for name, sql in selected.items())
        arrays = table.arrays(f"SELECT {told} FROM rows WHERE {kept}")
        rows = len(arrays["label"])
        return TrainingRows(
            people.decode(arrays, total, rows), found, feature_matrix(arrays, found)
        )


def read_features(
    table: TableFile, features: Sequence[Feature], *, allow_missing: bool
) -> tuple[Floats, list[str]]:
    """The matrix of rows to score, and a sentence about every column with unknown categories."""
    table.hold([table.column(feature.name) for feature in features])
    refuse(table, feature_checks(table, features, allow_missing=allow_missing))
    selected = feature_select(table, features)
    told = ", ".join(f"{sql} AS {name}" for name, sql in selected.items())
    arrays = table.arrays(f"SELECT {told} FROM rows")
    return feature_matrix(arrays, features), _unknown(table, features)


def _unknown(table: TableFile, features: Sequence[Feature]) -> list[str]:
    told = []
    for feature in features:
        if feature.categories is None:
            continue
        known = set(feature.categories)
        found = distinct_texts(table, table.column(feature.name), "true", 10_000)
        new = [text for text in found if text not in known]
        if new:
            shown = ", ".join(repr(text) for text in new[:3]) + (", …" if len(new) > 3 else "")
            told.append(
                f"Column {feature.name!r} of {table.name} holds what the model has not seen "
                f"({shown}): such people count as of none of its categories."
            )
    return told
