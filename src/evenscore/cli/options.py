"""The options that several commands share, and how lists are read."""

from __future__ import annotations

import math
import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from evenscore.catalogue import constraint_names
from evenscore.constraints import RocConstraint
from evenscore.files import target_file

__all__ = [
    "Column",
    "Constraints",
    "DropMissing",
    "Exclude",
    "Features",
    "Groups",
    "Html",
    "IncludeGroup",
    "Json",
    "Label",
    "Model",
    "ModelName",
    "PosLabel",
    "Quiet",
    "RocRates",
    "Score",
    "Seed",
    "Table",
    "Weight",
    "asked_constraints",
    "check_outputs",
    "numbers",
]


class ModelName(StrEnum):
    """The scorers by their names on the command line."""

    boosted = "boosted"
    linear = "linear"
    neural = "neural"


Table = Annotated[Path, typer.Argument(help="A CSV or Parquet file.", metavar="FILE")]
Label = Annotated[str, typer.Option("--label", help="The column of labels.")]
Score = Annotated[str, typer.Option("--score", help="The column of scores.")]
Groups = Annotated[
    list[str],
    typer.Option("--group", help="A column of groups; with several, their intersections."),
]
PosLabel = Annotated[
    str | None,
    typer.Option("--pos-label", help="The positive label.", show_default="1 or true"),
]
Weight = Annotated[str | None, typer.Option("--weight", help="A column of weights.")]
DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out rows that lack a value, and say so.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Html = Annotated[Path | None, typer.Option("--html", help="Write a page to this file.")]
Json = Annotated[Path | None, typer.Option("--json", help="Write the numbers to this file.")]
Column = Annotated[str | None, typer.Option("--column", help="What to call the new column.")]
Constraints = Annotated[
    list[str] | None,
    typer.Option("--constraint", help="An AUC constraint; see `evenscore constraints`."),
]
RocRates = Annotated[
    str | None,
    typer.Option("--roc-rates", help="Rates of a ROC constraint, as 0.125,0.25."),
]
Model = Annotated[ModelName, typer.Option("--model", help="What kind of score to learn.")]
Features = Annotated[
    str | None,
    typer.Option("--features", help="Columns to learn from, as a,b,c.", show_default="all others"),
]
Exclude = Annotated[
    list[str] | None, typer.Option("--exclude", help="A column that is no feature, as an id.")
]
IncludeGroup = Annotated[
    bool, typer.Option("--include-group", help="Let the columns of groups be features too.")
]
Seed = Annotated[int, typer.Option(help="Of everything random.")]


def numbers(told: str | None, option: str) -> tuple[float, ...] | None:
    """A list such as 0.125,0.25."""
    if told is None:
        return None
    try:
        found = tuple(float(part) for part in told.split(",") if part.strip())
    except ValueError:
        found = ()
    if not found or not all(math.isfinite(number) for number in found):
        raise ValueError(f"{option} must be numbers such as 0.125,0.25, not {told!r}.")
    return found


def asked_constraints(named: list[str] | None, rates: str | None) -> list[str | RocConstraint]:
    """The constraints of a command: names, and what is asked at the rates."""
    found: list[str | RocConstraint] = []
    for name in named or []:
        if name not in constraint_names():
            known = ", ".join(constraint_names())
            raise ValueError(f"--constraint {name!r} is unknown; there are {known}.")
        found.append(name)
    at = numbers(rates, "--roc-rates")
    if at is not None:
        found.append(RocConstraint(on="both", rates=at))
    return found


def check_outputs(source: Path, *targets: Path | None) -> None:
    """Refuse to write over the input, to a folder or device, where it is forbidden, or twice."""
    seen: set[Path] = {source.resolve()}
    for target in targets:
        if target is None:
            continue
        real = target_file(target)
        folder = next(parent for parent in real.parents if parent.exists())
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise ValueError(f"{target} cannot be written: {folder} does not allow it.")
        if real in seen:
            raise ValueError(f"{target} would be written over: name another file.")
        seen.add(real)
