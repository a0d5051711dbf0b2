"""Features from a file, to learn from or to score: numbers as they are, a column per category."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from evenscore.files.notation import Decimal, Problem, as_numbers, refuse_columns
from evenscore.files.opening import UNNAMED, TableFile, open_table
from evenscore.files.people import DROP, People, PeopleColumns, check_roles
from evenscore.files.values import Check, Column, refuse, selection
from evenscore.learning.encoding import MAX_CATEGORIES
from evenscore.learning.wholeness import check_names, part_of
from evenscore.scores.arrays import Floats
from evenscore.scores.labels import MAX_LABEL

# What columns of identifiers are called: id, ID, person_id, customerId, Kunden-Nr, index, …
_IDENTIFIER = re.compile(r"(^|[\W_])([Ii][Dd]|[Nn][Rr]|[Ii]ndex|[Kk]ey|uuid|UUID)$|[a-z]I[Dd]$")
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})|"
    rf"\d{{1,2}}[- ]({_MONTHS})[a-z]*[- ]\d{{2,4}})([T ].*)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Feature:
    """A column that a model looks at: a number, or one of `categories`.

    A missing text belongs to no category. A number that is `percent` was written with a percent
    sign where it was learned from, and read as a share.
    """

    name: str
    categories: tuple[str, ...] | None = None
    percent: bool = False

    def check_whole(self) -> None:
        """Refuse what was read from a file and is no feature."""
        check_names(self)
        part_of(self, "name", str)
        part_of(self, "percent", bool)
        texts = part_of(self, "categories", tuple, optional=True)
        if texts is None:
            return
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("Feature.categories must hold texts.")
        if not 1 <= len({*texts}) == len(texts) <= MAX_CATEGORIES:
            raise ValueError(f"Feature.categories must hold 1 to {MAX_CATEGORIES} different texts.")

    @property
    def width(self) -> int:
        """Columns of the matrix."""
        return 1 if self.categories is None else len(self.categories)


def find_features(columns: Sequence[Column]) -> tuple[list[Feature], list[Problem]]:
    """What the columns are: numbers, if every value that is not empty is one, or categories.

    Text in a Parquet file stays text. Columns that can be neither are told with the reason.
    """
    known = [column for column in columns if column.is_text or column.is_number]
    counts = [part for column in known for part in _counts(column)]
    totals = iter(columns[0].table.aggregates(counts))
    numbers = dict(
        zip((column.sql for column in known), zip(totals, totals, totals, strict=True), strict=True)
    )
    features, problems = [], []
    for column in columns:
        why, texts = _look(column, *numbers.get(column.sql, (0, 0, 0)))
        if why:
            problems.append(Problem(column, why, (("--exclude", column.name),)))
        features.append(Feature(column.name, texts, column.percent))
    return features, problems


def _counts(column: Column) -> tuple[str, str, str]:
    """SQL that counts values that are something, values that are not numbers, and different ones.

    Different ones are counted only where the name is that of an identifier.
    """
    odd = f"count_if({column.odd_text})" if column.is_text and not column.tidy else "0"
    whole = f"CASE WHEN {column.number} = round({column.number}) THEN {column.number} END"
    different = f"count(DISTINCT {whole})" if _IDENTIFIER.search(column.name) else "0"
    return f"count_if(NOT ({column.lacking}))", odd, different


def _look(
    column: Column, present: int, odd: int, different: int
) -> tuple[str, tuple[str, ...] | None]:
    """Why a column cannot be a feature, if so; and its categories, unless it is one of numbers."""
    if not column.is_text and not column.is_number:
        return f"holds values of type {column.kind}, and a feature is a number or a text", None
    if not present:
        return "is empty in every row", None
    if column.is_number or (column.table.kind == "csv" and not odd):
        unique = different == present > MAX_CATEGORIES
        return "has another whole number in every row, as identifiers do" if unique else "", None
    texts = column.distinct_texts("true", MAX_CATEGORIES)
    if any(len(text) > MAX_LABEL for text in texts):
        row = column.table.first_row(column.long_text)
        return f"holds a text of more than {MAX_LABEL:,} characters in row {row:,}", None
    if all(map(_DATE.fullmatch, texts)):
        return f"holds dates, such as {texts[0]!r}, and a feature is a number or a category", None
    if len(texts) > MAX_CATEGORIES:
        row = column.table.first_row(f"coalesce({column.odd_text}, false)") if odd else 1
        return (
            f"has more than {MAX_CATEGORIES} different texts (the first that is not a number is in "
            f"row {row:,})"
        ), None
    return "", tuple(texts)


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
    table: TableFile,
    features: Sequence[Feature],
    *,
    allow_missing: bool,
    decimal: Decimal = "auto",
) -> tuple[Floats, list[str]]:
    """The matrix of rows to score, and a sentence about every column with unknown categories."""
    table.require([feature.name for feature in features])
    columns = [Column.named(table, feature.name) for feature in features]
    table.hold([column.sql for column in columns])
    numbers = [k for k, feature in enumerate(features) if feature.categories is None]
    if numbers:
        read, problems = as_numbers(table, [columns[k] for k in numbers], decimal)
        refuse_columns(table, problems)
        for k, column in zip(numbers, read, strict=True):
            columns[k] = column
            table.notes.extend(_percent_note(column, features[k]))
    refuse(table, feature_checks(columns, features, allow_missing=allow_missing))
    arrays = table.arrays(selection(feature_select(columns, features)))
    return feature_matrix(arrays, features), _unknown_categories(columns, features)


def _percent_note(column: Column, feature: Feature) -> list[str]:
    """A sentence where only one of the files, that learned from and this one, has percent signs."""
    if column.percent == feature.percent:
        return []
    here, there = ("has", "had none") if column.percent else ("has no", "had them")
    return [
        f"{column} {here} percent signs and {there} where the model was fitted: it takes 0.5 to be "
        "50%, so make sure that they mean the same."
    ]


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
    decimal: Decimal = "auto",
) -> TrainingRows:
    """Read rows to learn from; features are by default all columns that are nothing else.

    `features` and `exclude` may hold lists such as "id,date". Columns of groups are not features
    unless named as such, or with `include_groups`; those of clusters, which say which rows belong
    together, and those without a name never are.
    """
    weights = [] if weight is None else [weight]
    check_roles(label=[label], group=groups, weight=weights, cluster=clusters)
    people = [label, *groups, *weights, *clusters]
    with open_table(path, wanted=people) as table:
        excluded = table.list_of(exclude)
        named = None if features is None else table.list_of(features)
        table.require([*people, *excluded, *(named or ())])
        columns = PeopleColumns.named(table, label, groups, weight, clusters)
        if named is None:
            taken = [label, *weights, *clusters, *excluded, *(() if include_groups else groups)]
            names = _with_names(table, table.separate([*taken]))
        else:
            names = [name for name in named if name not in excluded]
        check_roles(label=[label], weight=weights, cluster=clusters, features=names)
        if not names:
            raise ValueError(f"{table.name} has no column left to be a feature.")
        table.hold([*columns.sql_names, *(table.column(name) for name in names)])
        refuse(table, [])  # no rows at all is the first thing to say
        table.drop_blank()
        heavy, problems = as_numbers(table, columns.weights, decimal)
        columns = columns.weighted_by(heavy)
        found, odd = as_numbers(
            table, [Column.named(table, name) for name in names], decimal, texts=True
        )
        hindered = {problem.column.name for problem in odd}
        usable = [column for column in found if column.name not in hindered]
        known, others = find_features(usable) if usable else ([], [])
        refuse_columns(table, [*problems, *odd, *others])
        checks = columns.checks() + feature_checks(found, known, allow_missing=allow_missing)
        advice = DROP if allow_missing else f"{DROP}, or fit --model even, which takes them"
        total, kept, _ = refuse(table, checks, drop_missing=drop_missing, option=advice)
        rows, arrays = columns.read(kept, total, feature_select(found, known), pos_label=pos_label)
        return TrainingRows(rows, tuple(known), feature_matrix(arrays, known))


def read_held_out(
    path: str | PathLike[str],
    features: Sequence[Feature],
    *,
    label: str,
    groups: Sequence[str],
    weight: str | None = None,
    clusters: Sequence[str] = (),
    pos_label: str | None = None,
    drop_missing: bool = False,
    allow_missing: bool = False,
    decimal: Decimal = "auto",
) -> TrainingRows:
    """Read rows that were not learned from, with the features that were: to test a score on.

    Categories that were not seen are treated as missing, and a note says so.
    """
    people = [label, *groups, *(() if weight is None else [weight]), *clusters]
    names = [feature.name for feature in features]
    with open_table(path, wanted=people) as table:
        table.require([*people, *names])
        columns = PeopleColumns.named(table, label, groups, weight, clusters)
        found = [Column.named(table, name) for name in names]
        table.hold([*columns.sql_names, *(column.sql for column in found)])
        refuse(table, [])  # no rows at all is the first thing to say
        table.drop_blank()
        heavy, problems = as_numbers(table, columns.weights, decimal)
        columns = columns.weighted_by(heavy)
        numbers = [k for k, feature in enumerate(features) if feature.categories is None]
        read, odd = as_numbers(table, [found[k] for k in numbers], decimal)
        refuse_columns(table, [*problems, *odd])
        for k, column in zip(numbers, read, strict=True):
            found[k] = column
            table.notes.extend(_percent_note(column, features[k]))
        table.notes.extend(_unknown_categories(found, features))
        checks = columns.checks() + feature_checks(found, features, allow_missing=allow_missing)
        total, kept, _ = refuse(table, checks, drop_missing=drop_missing, option=DROP)
        selected = feature_select(found, features)
        rows, arrays = columns.read(kept, total, selected, pos_label=pos_label)
        return TrainingRows(rows, tuple(features), feature_matrix(arrays, features))


def _with_names(table: TableFile, names: Sequence[str]) -> list[str]:
    """The columns that have a name of their own; others that are not empty are noted."""
    own = [name for name in names if not name.startswith(UNNAMED)]
    for name in names:
        if (
            name.startswith(UNNAMED)
            and table.one(f"SELECT count({table.column(name)}) FROM rows")[0]
        ):
            table.notes.append(
                f"Column {name!r} of {table.name} has no name of its own and was not learned from; "
                "name it with --features to use it."
            )
    return own
