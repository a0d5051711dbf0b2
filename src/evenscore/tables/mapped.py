"""Rows to repair: scores, and which of the known groups everybody belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenscore.tables.cells import number, number_checks, refuse, text, text_checks
from evenscore.tables.coding import code_of
from evenscore.tables.opening import TableFile
from evenscore.tables.people import check_roles

__all__ = ["GroupedRows", "read_grouped"]


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Scores and positions of groups; −1 stands for a group that is not known, or missing."""

    score: NDArray[np.float64]
    position: NDArray[np.intp]


def read_grouped(
    table: TableFile,
    *,
    score: str,
    groups: Sequence[str],
    known: Sequence[tuple[str, ...]],
    refuse_unknown: bool,
) -> GroupedRows:
    """Read every row; `known` are groups by the texts of their columns, in order."""
    check_roles(score=[score], group=groups)
    of_score, columns = table.column(score), [table.column(name) for name in groups]
    table.hold([of_score, *columns])
    checks = number_checks(table, of_score)
    for column in columns:
        needed = text_checks(table, column)
        checks += needed if refuse_unknown else []
    advice = ", or ask for --unseen pooled, which leaves their scores as they are"
    refuse(table, checks, option=advice if refuse_unknown else "")
    texts = [sorted({labels[k] for labels in known}) for k in range(len(columns))]
    selected = [f"{number(table, of_score)} AS score"]
    for k, (column, told) in enumerate(zip(columns, texts, strict=True)):
        selected.append(f"{code_of(table, column, told)} AS group{k}")
    arrays = table.arrays(f"SELECT {', '.join(selected)} FROM rows")
    n = len(arrays["score"])
    crossed, missing = np.zeros(n, dtype=np.intp), np.zeros(n, dtype=bool)
    places = np.full(int(np.prod([len(told) for told in texts])), -1, dtype=np.intp)
    for k_group, labels in enumerate(known):
        place = 0
        for k, label in enumerate(labels):
            place = place * len(texts[k]) + texts[k].index(label)
        places[place] = k_group
    for k, told in enumerate(texts):
        codes = arrays[f"group{k}"]
        missing |= np.ma.getmaskarray(codes)
        crossed = crossed * len(told) + np.ma.filled(codes, 0).astype(np.intp)
    position = np.where(missing, -1, places[crossed])
    if refuse_unknown and position.min() < 0:
        _refuse_unknown(table, columns, known, int(np.argmin(position)))
    return GroupedRows(np.asarray(arrays["score"], dtype=np.float64), position)


def _refuse_unknown(
    table: TableFile, columns: list[str], known: Sequence[tuple[str, ...]], row: int
) -> None:
    told = ", ".join(f"{text(table, column)} AS v{k}" for k, column in enumerate(columns))
    found = table.one(f"SELECT {told} FROM rows LIMIT 1 OFFSET {row}")
    shown = ", ".join(repr(_group(labels)) for labels in known[:10])
    more = ", …" if len(known) > 10 else ""
    raise ValueError(
        f"{table.name} has the group {_group(found)!r} at row {row + 1:,}, for which there is no "
        f"map (there are {shown}{more}); --unseen pooled leaves such scores as they are."
    )


def _group(labels: tuple[str, ...]) -> str:
    return ", ".join(labels)
