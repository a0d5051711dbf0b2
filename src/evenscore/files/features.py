"""Features from a file, to learn from or to score: numbers as they are, a column per category."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from evenscore.files.opening import TableFile, open_table
from evenscore.files.people import DROP, People, PeopleColumns, check_roles
from evenscore.files.values import Check, Column, refuse, selection, tidied
from evenscore.learning.encoding import MAX_CATEGORIES
from evenscore.scores.arrays import Floats


@dataclass(frozen=True)
class Feature:
    """A column that a model looks at: a number, or one of `categories`.

    A missing text belongs to no category.
    """

    name: str
    categories: tuple[str, ...] | None = None

    @property
    def width(self) -> int:
        """Columns of the matrix."""
        return 1 if self.categories is None else len(self.categories)


def find_features(columns: Sequence[Column]) -> tuple[Feature, ...]:
    """What the columns are: numbers, if every value that is not empty is one, or categories.

    Text in a Parquet file stays text.
    """
    counts = [part for column in columns for part in _counts(column)]
    numbers = iter(columns[0].table.aggregates(counts))
    return tuple(_feature(*known) for known in zip(columns, numbers, numbers, strict=True))


def _counts(column: Column) -> tuple[str, str]:
    """SQL that counts the values that are something, and those of them that are no number."""
    if not column.is_text and not column.is_number:
        raise ValueError(
            f"{column} holds values of type {column.kind}: a feature is a number or a text, so "
            "leave it out with --exclude."
        )
    odd = f"count_if({column.odd_text})" if column.is_text and not column.tidy else "0"
    return f"count_if(NOT ({column.lacking}))", odd


def _feature(column: Column, present: int, odd: int) -> Feature:
    table = column.table
    if not present:
        raise ValueError(f"{column} is empty in every row: leave it out with --exclude.")
    if column.is_number or (table.kind == "csv" and not odd):
        return Feature(column.name)
    texts = column.distinct_texts("true", MAX_CATEGORIES)
    if len(texts) > MAX_CATEGORIES:
        row = table.first_row(f"coalesce({column.odd_text}, false)") if odd else 1
        raise ValueError(
            f"{column} has more than {MAX_CATEGORIES} different texts (the first that is no number "
            f"is in row {row:,}): leave it out with --exclude, or make it numbers."
        )
    return Feature(column.name, tuple(texts))


def feature_checks(
    columns: Sequence[Column], features: Sequence[Feature], *, allow_missing: bool
) -> list[Check]:
    """What no value may be."""
    checks = []
    for column, feature in zip(columns, features, strict=True):
        if feature.categories is None:
            checks += column.number_checks(optional=allow_missing)
        else:
            column.text_checks()  # nested values are refused; missing texts are not
    return checks


def feature_select(columns: Sequence[Column], features: Sequence[Feature]) -> dict[str, str]:
    """SQL by name: feature0, feature1, …"""
    selected = {}
    for k, (column, feature) in enumerate(zip(columns, features, strict=True)):
        texts = feature.categories
        selected[f"feature{k}"] = column.number if texts is None else column.code_of(texts)
    return selected


def feature_matrix(arrays: Mapping[str, Any], features: Sequence[Feature]) -> Floats:
    """The matrix from the arrays of a query of `feature_select`."""
    n = len(arrays["feature0"])
    X = np.zeros((n, sum(feature.width for feature in features)))
    start = 0
    for k, feature in enumerate(features):
        values = arrays[f"feature{k}"]
        if feature.categories is None:
            X[:, start] = np.ma.filled(values.astype(np.float64), np.nan)
        else:
            known = np.flatnonzero(~np.ma.getmaskarray(values))
            X[known, start + np.ma.getdata(values)[known].astype(np.intp)] = 1.0
        start += feature.width
    return X


def read_features(
    table: TableFile, features: Sequence[Feature], *, allow_missing: bool
) -> tuple[Floats, list[str]]:
    """The matrix of rows to score, and a sentence about every column with unknown categories."""
    columns = [Column.named(table, feature.name) for feature in features]
    table.hold([column.sql for column in columns])
    columns = tidied(columns)
    refuse(table, feature_checks(columns, features, allow_missing=allow_missing))
    arrays = table.arrays(selection(feature_select(columns, features)))
    return feature_matrix(arrays, features), _unknown_categories(columns, features)


def _unknown_categories(columns: Sequence[Column], features: Sequence[Feature]) -> list[str]:
    sentences = []
    for column, feature in zip(columns, features, strict=True):
        if feature.categories is None:
            continue
        unknown = sorted({*column.distinct_texts("true", 10_000)} - {*feature.categories})
        if unknown:
            shown = ", ".join(repr(text) for text in unknown[:3])
            more = ", …" if len(unknown) > 3 else ""
            sentences.append(
                f"{column} holds what the model has not seen ({shown}{more}): unknown categories "
                "are treated as missing."
            )
    return sentences


# ---------------------------------------------------------------------- rows to learn from


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """People and their features, as a matrix with one column per number or category."""

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
    clusters: Sequence[str] = (),
    pos_label: str | None = None,
    drop_missing: bool = False,
    allow_missing: bool = False,
) -> TrainingRows:
    """Read rows to learn from; features are by default all columns that are nothing else.

    Columns of groups are no features unless named as such, or with `include_groups`; those of
    clusters, which say which rows belong together, never are.
    """
    weights = [] if weight is None else [weight]
    check_roles(label=[label], group=groups, weight=weights, cluster=clusters)
    with open_table(path, wanted=[label, *groups, *weights, *clusters]) as table:
        columns = PeopleColumns.named(table, label, groups, weight, clusters)
        for name in exclude:
            table.column(name)
        if features is None:
            taken = {label, *weights, *clusters, *exclude, *(() if include_groups else groups)}
            features = [name for name in table.names if name not in taken]
        check_roles(label=[label], weight=weights, cluster=clusters, features=features)
        if not features:
            raise ValueError(f"{table.name} has no column left to be a feature.")
        table.hold([*columns.sql_names, *(table.column(name) for name in features)])
        refuse(table, [])  # no rows at all is the first thing to say
        found = tidied([Column.named(table, name) for name in features])
        known = find_features(found)
        checks = columns.checks() + feature_checks(found, known, allow_missing=allow_missing)
        advice = DROP if allow_missing else f"{DROP}, or fit --model boosted, which takes them"
        total, kept, _ = refuse(table, checks, drop_missing=drop_missing, option=advice)
        people, arrays = columns.read(
            kept, total, feature_select(found, known), pos_label=pos_label
        )
        return TrainingRows(people, known, feature_matrix(arrays, known))
