"""`evenscore score`: a model, or the maps of a repair, applied to the rows of a file."""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Protocol

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from evenscore.cli.errors import one_sentence, say, sentences
from evenscore.cli.options import Column, Quiet, check_outputs
from evenscore.cli.repair import SCORE_COLUMN
from evenscore.models import TableModel, load_model
from evenscore.repairs import Repair
from evenscore.tables import TableFile

__all__ = ["score"]

Floats = NDArray[np.float64]


@one_sentence
def score(
    model: Annotated[
        Path, typer.Argument(help="A model of `fit` or the maps of `repair`.", metavar="MODEL")
    ],
    table: Annotated[Path, typer.Argument(help="A CSV or Parquet file.", metavar="FILE")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write, .csv or .parquet.")
    ],
    column: Column = None,
    score: Annotated[
        str | None,
        typer.Option("--score", help="The column of scores, for maps.", show_default="as repaired"),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group", help="The columns of groups, for maps.", show_default="as repaired"
        ),
    ] = None,
    unseen: Annotated[
        str | None,
        typer.Option(
            "--unseen",
            help="For maps: error or pooled (leave as they are) for groups without a map.",
            show_default="as repaired",
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Score the rows of a file by a model, or repair their scores by maps.

    All columns are written, the rows in their order, and the score beside
    them: `score` by a model, `repaired_score` by maps, unless --column names
    it otherwise. A model is read without running anything in it.

    Examples:
      evenscore score model.skops new.csv -o scored.csv

      evenscore score maps.json new.parquet -o new.csv --column fair_score
    """
    from evenscore.tables import check_target, open_table, write_beside

    check_outputs(table, output)
    check_outputs(model, output)
    with (
        sentences(quiet=quiet),
        Console(stderr=True, quiet=quiet).status(f"Scoring {table.name} …"),
    ):
        rule = _rule(model, score=score, group=group or [], unseen=unseen)
        name = column or rule.column
        with open_table(table, wanted=rule.wanted) as opened:
            check_target(opened, output, name)
            values, notes = rule.apply(opened)
        with open_table(table, wanted=rule.wanted) as opened:
            write_beside(opened, values, output, column=name)
    if not quiet:
        for note in notes:
            say(f"Note: {note}")
    Console(quiet=quiet).print(
        f"Written: {output}, {len(values):,} rows with a column {name!r}.",
        markup=False, highlight=False, soft_wrap=True,
    )  # fmt: skip


class _Rule(Protocol):
    """How rows are scored: `column` is what the score is called, `wanted` what it needs."""

    @property
    def column(self) -> str: ...
    @property
    def wanted(self) -> list[str]: ...
    def apply(self, table: TableFile) -> tuple[Floats, list[str]]: ...


def _rule(path: Path, *, score: str | None, group: list[str], unseen: str | None) -> _Rule:
    """A model if the file is an archive, maps if it is JSON."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise ValueError(f"There is no file {path}.") from None
    if content[:2] == b"PK":
        for told, given in (("score", score), ("group", group), ("unseen", unseen)):
            if given:
                raise ValueError(f"--{told} is for maps of a repair, and {path.name} is a model.")
        return _Model(load_model(path))
    try:
        found = json.loads(content)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"{path.name} is neither a model of `fit` nor the maps of `repair`.")
    try:
        repair = Repair.from_dict(found)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None
    scored = score or found.get(SCORE_COLUMN)
    if not isinstance(scored, str):
        raise ValueError(f"{path.name} does not say which column to repair: name it with --score.")
    names = group or list(repair.columns or ())
    known_by = len(_texts(repair.groups[0]))
    if len(names) != known_by:
        raise ValueError(
            f"{path.name} knows groups by {known_by} columns, not by {len(names)}: name them with "
            "--group, in the order of the repair."
        )
    return _Maps(repair if unseen is None else _with_unseen(repair, unseen), scored, names)


def _with_unseen(repair: Repair, unseen: str) -> Repair:
    if unseen not in ("error", "pooled"):
        raise ValueError(f"--unseen must be error or pooled, not {unseen!r}.")
    return replace(repair, unseen="pooled" if unseen == "pooled" else "error")


@dataclass(frozen=True)
class _Model:
    model: TableModel
    column: str = "score"

    @property
    def wanted(self) -> list[str]:
        return [feature.name for feature in self.model.features]

    def apply(self, table: TableFile) -> tuple[Floats, list[str]]:
        from evenscore.tables import read_features

        model = self.model
        X, notes = read_features(table, model.features, allow_missing=model.allows_missing)
        return model.score(X), notes


@dataclass(frozen=True)
class _Maps:
    repair: Repair
    score: str
    groups: list[str]
    column: str = "repaired_score"

    @property
    def wanted(self) -> list[str]:
        return [self.score, *self.groups]

    def apply(self, table: TableFile) -> tuple[Floats, list[str]]:
        from evenscore.repairs.maps import apply_by_group
        from evenscore.tables import read_grouped

        repair = self.repair
        rows = read_grouped(
            table,
            score=self.score,
            groups=self.groups,
            known=[_texts(group) for group in repair.groups],
            refuse_unknown=repair.unseen == "error",
        )
        unmapped = int(np.sum(rows.position < 0))
        notes = []
        if unmapped:
            notes = [f"{unmapped:,} rows are of groups without a map: their scores are as before."]
        return apply_by_group(rows.score, rows.position, repair.maps), notes


def _texts(group: Hashable) -> tuple[str, ...]:
    """A group by the texts that its columns hold in a file."""
    parts = group if isinstance(group, tuple) else (group,)
    return tuple(str(part).lower() if isinstance(part, bool) else str(part) for part in parts)
