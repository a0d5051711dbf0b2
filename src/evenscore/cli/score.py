"""`evenscore score`: a model, or the maps of a repair, applied to the rows of a file."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from typer import Argument, Option

from evenscore.cli.errors import command, say, say_written, sentences, working
from evenscore.cli.options import Decimal, Quiet, Table, check_outputs
from evenscore.cli.repair import SCORE_COLUMN
from evenscore.files.notation import Decimal as DecimalMark
from evenscore.files.opening import AdvisedError, TableFile, open_table
from evenscore.files.ordinary import read_whole
from evenscore.files.scored import read_grouped
from evenscore.files.writing import check_target, write_beside
from evenscore.scores.arrays import Floats


@dataclass(frozen=True)
class MapOptions:
    """What the maps of a repair are applied to."""

    score: Annotated[
        str | None, Option(help="The column of scores, for maps.", show_default="as repaired")
    ] = None
    group: Annotated[
        list[str] | None,
        Option(help="The columns of groups, for maps.", show_default="as repaired"),
    ] = None
    unseen: Annotated[
        str | None,
        Option(
            help="What to do with groups that have no map: error, or unchanged (keep the score).",
            show_default="as repaired",
        ),
    ] = None


@command
def score(
    model: Annotated[
        Path, Argument(help="A model from `fit` or the maps from `repair`.", metavar="MODEL")
    ],
    table: Table,
    output: Annotated[Path, Option("--output", "-o", help="The file to write, .csv or .parquet.")],
    maps: MapOptions,
    column: Annotated[
        str | None,
        Option(help="Name of the new column.", show_default="score or repaired_score"),
    ] = None,
    decimal: Decimal = "auto",
    quiet: Quiet = False,
) -> None:
    """Score the rows of a file with a model, or repair their scores with maps.

    All columns and rows are written in their order, with one more column: the
    `score` of a model or the `repaired_score` of maps, unless --column names it
    otherwise. A model is read without running any code in it.

    Examples:
      evenscore score model.skops new.csv -o scored.csv

      evenscore score maps.json new.parquet -o new.csv --column fair_score
    """
    check_outputs(table, model, rows=output)
    _check_order(model, table)
    with sentences(quiet=quiet), working(f"Scoring {table.name} …", quiet=quiet):
        rule = _rule(model, maps, decimal)
        name = column or rule.column
        with open_table(table, wanted=rule.wanted) as opened:
            check_target(opened, output, name)
            values, notes = rule.apply(opened)
            _refuse_infinite(values, model, table)
            notes = [*opened.notes, *notes]
        with open_table(table, wanted=rule.wanted) as opened:
            write_beside(opened, values, output, column=name)
    for note in notes:
        say(f"Note: {note}", quiet=quiet)
    say_written(output, quiet=quiet, more=f", {len(values):,} rows with a column {name!r}.")


class _Rule(NamedTuple):
    """How rows are scored: what the score is called, the columns it needs, scores and notes."""

    column: str
    wanted: list[str]
    apply: Callable[[TableFile], tuple[Floats, list[str]]]


def _refuse_infinite(values: Floats, model: Path, table: Path) -> None:
    """Whatever the model and the rows are, no score is written that is not a number."""
    finite = np.isfinite(values)
    if not finite.all():
        raise ValueError(
            f"{model.name} gives row {int(np.argmin(finite)) + 1:,} of {table.name} a score that "
            "is not a finite number: the values there, or those in the model, are too large."
        )


def _check_order(model: Path, table: Path) -> None:
    """Refuse rows where the model belongs and a model where the rows belong."""
    rows, stored = (".csv", ".tsv", ".txt", ".gz", ".parquet", ".pq"), (".skops", ".json")
    if model.suffix.lower() in rows and table.suffix.lower() in stored:
        raise AdvisedError(
            f"The model or the maps come first and then the rows, and {model.name} holds rows.",
            instead={str(model): str(table), str(table): str(model)},
        )


def _rule(path: Path, maps: MapOptions, decimal: DecimalMark) -> _Rule:
    """By a model if the file is an archive, by maps if it is JSON."""
    from evenscore.auditing.stored import json_of

    content = read_whole(path)
    if content[:2] == b"PK":
        for name, value in vars(maps).items():
            if value:
                raise ValueError(f"--{name} is for maps of a repair, and {path.name} is a model.")
        return _by_model(path, decimal)
    if content.lstrip()[:1] != b"{":
        raise ValueError(f"{path.name} is neither a model from `fit` nor the maps from `repair`.")
    stored = json_of(content, path.name)
    return _by_maps(path.name, stored, maps, decimal)


def _by_model(path: Path, decimal: DecimalMark) -> _Rule:
    from evenscore.files.features import read_features
    from evenscore.files.models import load_model

    model = load_model(path)

    def apply(table: TableFile) -> tuple[Floats, list[str]]:
        X, notes = read_features(
            table, model.features, allow_missing=model.allows_missing, decimal=decimal
        )
        return model.score(X), notes

    return _Rule("score", [feature.name for feature in model.features], apply)


def _by_maps(file: str, stored: dict[str, Any], maps: MapOptions, decimal: DecimalMark) -> _Rule:
    from evenscore.repairing.maps import apply_by_group
    from evenscore.repairing.result import FORMAT, Repair

    kind = stored.get("format", FORMAT)
    if kind != FORMAT:
        raise ValueError(f"{file} is not the maps from `repair`: it says that it is {kind!r:.80}.")
    try:
        repair = Repair.from_dict(stored)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    score = maps.score or stored.get(SCORE_COLUMN)
    if not isinstance(score, str):
        raise ValueError(f"{file} does not say which column to repair: name it with --score.")
    names = maps.group or list(repair.columns or ())
    known = [_texts(group) for group in repair.groups]
    _refuse_odd_texts(file, known)
    if len(names) != len(known[0]):
        raise ValueError(
            f"{file} knows groups by {len(known[0])} columns, not by {len(names)}: name them with "
            "--group, in the order of the repair."
        )
    unseen = maps.unseen or repair.unseen
    if unseen not in ("error", "unchanged"):
        raise ValueError(f"--unseen must be error or unchanged, not {unseen!r}.")

    def apply(table: TableFile) -> tuple[Floats, list[str]]:
        scores, positions = read_grouped(
            table,
            score=score,
            groups=names,
            known=known,
            refuse_unknown=unseen == "error",
            decimal=decimal,
        )
        n = int(np.sum(positions < 0))
        notes = [f"{n:,} rows are of groups without a map: their scores are as before."]
        return apply_by_group(scores, positions, repair.maps), notes if n else []

    return _Rule("repaired_score", [score, *names], apply)


def _refuse_odd_texts(file: str, known: list[tuple[str, ...]]) -> None:
    """Groups that no file can hold, or that a file cannot tell apart, such as 1 and "1"."""
    seen: set[tuple[str, ...]] = set()
    for texts in known:
        shown = f"{', '.join(texts)!r:.80}"
        if any("\ud800" <= letter <= "\udfff" for text in texts for letter in text):
            raise ValueError(f"{file} has a map for the group {shown}, which is not UTF-8 text.")
        if texts in seen:
            raise ValueError(f"{file} has two maps for what a file calls the group {shown}.")
        seen.add(texts)


def _texts(group: Hashable) -> tuple[str, ...]:
    """A group by the texts that its columns hold in a file."""
    parts = group if isinstance(group, tuple) else (group,)
    return tuple(str(part).lower() if isinstance(part, bool) else str(part) for part in parts)
