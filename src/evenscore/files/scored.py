"""Rows that have a score: with labels, to audit or to make a repair of; without, to repair."""

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from evenscore.files.collections import open_rows
from evenscore.files.notation import Decimal, as_numbers, refuse_columns
from evenscore.files.opening import TableFile
from evenscore.files.people import DROP, MANY_ROWS, People, PeopleColumns, check_roles
from evenscore.files.values import Column, refuse, selection
from evenscore.scores.arrays import Floats, Ints
from evenscore.scores.bins import Bins
from evenscore.scores.labels import shown

_ANSWERED = ("n", "w", "w2", "w_least")  # columns that the query of an audit answers with
_FEW = 0.1  # with fewer distinct scores than this share of the rows, DuckDB counts them


def read_scores(
    path: str | PathLike[str],
    *,
    label: str | None,
    score: str,
    groups: Sequence[str],
    weight: str | None = None,
    clusters: Sequence[str] = (),
    pos_label: str | None = None,
    drop_missing: bool = False,
    as_table: bool = False,
    decimal: Decimal = "auto",
    accuracy: float = 1e-4,
    cuts: Any = None,
    bins: Bins | None = None,
    table_name: str | None = None,
    query: str | None = None,
) -> People:
    """Read the rows of a file; whatever does not fit is refused in a sentence that says where.

    Without a `label` the outcomes are not known. `clusters` are columns whose combinations say
    which rows belong together. With `as_table`, and without weights and clusters, equal rows may
    come as one with a count: faster if there are few distinct scores, slower if there are many.
    (Weights are not added up by DuckDB: in parallel, sums of fractions would differ in the last
    digits from run to run.) Where there are more than a million rows that are not of a CSV file,
    their scores are put into bins, to this `accuracy`, finest at the `cuts`; an accuracy of 0 asks
    for every score. With `bins` it is done in any case, by these.
    """
    weights = [] if weight is None else [weight]
    labels = [] if label is None else [label]
    check_roles(label=labels, score=[score], group=groups, weight=weights, cluster=clusters)
    wanted = [*labels, score, *groups, *weights, *clusters]
    with open_rows(path, wanted=wanted, table=table_name, query=query) as table:
        table.require(wanted)
        columns = PeopleColumns.named(table, label, groups, weight, clusters)
        column = Column.named(table, score)
        if as_table and "n" in table.names and {*table.names} <= {*wanted, *_ANSWERED}:
            table.notes.append(
                f"{table.name} looks like the answer to a query, with so many people per row in n: "
                "if it is, ask for --aggregated."
            )
        table.hold([column.sql, *columns.sql_names])
        table.drop_blank()
        [column, *heavy], problems = as_numbers(table, [column, *columns.weights], decimal)
        refuse_columns(table, problems)
        columns = columns.weighted_by(heavy)
        checks = [*column.number_checks(), *columns.checks()]
        total, kept, lacking = refuse(table, checks, drop_missing=drop_missing, option=DROP)
        many = table.kind != "csv" and total > MANY_ROWS and accuracy > 0.0
        if as_table and not clusters and (many or bins is not None):
            people = columns.grouped(
                kept, total, column.number, pos_label=pos_label, accuracy=accuracy, cuts=cuts,
                bins=bins,
            )  # fmt: skip
            return replace(people, lacking=lacking)
        counted = False
        if as_table and not weights and not clusters:
            distinct = f"SELECT approx_count_distinct({column.number}) FROM rows WHERE {kept}"
            counted = bool(table.one(distinct)[0] < _FEW * total)
        people, _ = columns.read(
            kept, total, {"score": column.number}, pos_label=pos_label, counted=counted
        )
        return replace(people, lacking=lacking)


# ---------------------------------------------------------------------- rows to repair


def read_grouped(
    table: TableFile,
    *,
    score: str,
    groups: Sequence[str],
    known: Sequence[tuple[str, ...]],
    refuse_unknown: bool,
    decimal: Decimal = "auto",
) -> tuple[Floats, Ints]:
    """Every row's score, and its group's position in `known`, which has the texts of its columns.

    The position is −1 for a group that is not known, or missing, unless these are refused.
    """
    check_roles(score=[score], group=groups)
    table.require([score, *groups])
    scored, *columns = (Column.named(table, name) for name in (score, *groups))
    table.hold([scored.sql, *(column.sql for column in columns)])
    [scored], problems = as_numbers(table, [scored], decimal)
    refuse_columns(table, problems)
    checks = scored.number_checks()
    for column in columns:
        needed = column.text_checks()
        checks += needed if refuse_unknown else []
    advice = ", or ask for --unseen unchanged, which leaves their scores as they are"
    refuse(table, checks, option=advice if refuse_unknown else "")
    texts = [sorted({labels[k] for labels in known}) for k in range(len(columns))]
    selected = {"score": scored.number}
    for k, column in enumerate(columns):
        selected[f"group{k}"] = column.code_of(texts[k])
    arrays = table.arrays(selection(selected))
    codes = [np.ma.filled(arrays[f"group{k}"].astype(np.intp), -1) for k in range(len(texts))]
    places = [{text: k for k, text in enumerate(part)} for part in texts]
    wanted = [[place[labels[k]] for labels in known] for k, place in enumerate(places)]
    position_of = _found(codes, np.array(wanted, dtype=np.intp).T)
    if refuse_unknown and position_of.min() < 0:
        _refuse_unknown(table, columns, known, int(np.argmin(position_of)))
    return np.asarray(arrays["score"], dtype=np.float64), position_of


def _found(codes: Sequence[Ints], known: Ints) -> Ints:
    """For every row, which of the known rows of codes it is; −1 if it is none of them.

    Column by column, rows that agree so far share a number: no table of all combinations is made.

    >>> _found([np.array([0, 0, 1]), np.array([1, 2, -1])], np.array([[0, 2], [0, 1]]))
    array([ 1,  0, -1])
    """
    found, wanted = np.zeros(len(codes[0]), dtype=np.intp), np.zeros(len(known), dtype=np.intp)
    for column, ours in zip(codes, known.T, strict=True):
        width = max(int(ours.max()), int(column.max(initial=0))) + 1
        pairs, wanted = np.unique(wanted * width + ours, return_inverse=True)
        mine = np.where((found < 0) | (column < 0), -1, found * width + column)
        found = np.minimum(np.searchsorted(pairs, mine), len(pairs) - 1)
        found[pairs[found] != mine] = -1
    order = np.argsort(wanted)  # every known row is another one
    return np.where(found < 0, -1, order[found])


def _refuse_unknown(
    table: TableFile, columns: list[Column], known: Sequence[tuple[str, ...]], row: int
) -> None:
    texts = {f"v{k}": column.text for k, column in enumerate(columns)}
    group = table.one(f"{selection(texts)} LIMIT 1 OFFSET {row}")
    there = ", ".join(shown(", ".join(labels)) for labels in known[:10])
    more = ", …" if len(known) > 10 else ""
    raise ValueError(
        f"{table.name} has the group {shown(', '.join(group))} at row {row + 1:,}, for which there "
        f"is no map (there are {there}{more}); --unseen unchanged leaves such scores as they are."
    )
