"""`evenscore merge`: tables of scores add up, for instance those of twelve months."""

import hashlib
from functools import reduce
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from typer import Argument, Option

from evenscore.cli.errors import command, say_written
from evenscore.cli.options import Quiet, check_outputs


@command
def merge(
    tables: Annotated[
        list[Path],
        Argument(help="Tables that `evenscore audit --save` wrote, two or more.", metavar="TABLES"),
    ],
    output: Annotated[Path, Option("--output", "-o", help="The JSON file to write.")],
    quiet: Quiet = False,
) -> None:
    r"""Add tables of scores up: the table of the year from those of its months.

    Tables that are about different columns or labels are refused.

    An audit of the sum is the audit of all the people together. Tables of every
    score always add up; those of bins do if they were made with the same bins:
    give the first to the others with --bins-of.

    Examples:
      evenscore audit january.parquet --label y --score s --group sex --save january.json
      evenscore audit february.parquet --label y --score s --group sex \
        --bins-of january.json --save february.json
      evenscore merge january.json february.json -o both.json
      evenscore audit both.json --cuts everyone=0.1:0.4 --html report.html
    """
    from evenscore.scores import GroupedScores

    if len(tables) < 2:
        raise ValueError("Name two tables or more to merge.")
    check_outputs(*tables, save=output)
    named = [(path, GroupedScores.load(path)) for path in tables]

    def added(sum_: GroupedScores, one: tuple[Path, GroupedScores]) -> GroupedScores:
        path, table = one
        try:
            return sum_.merge(table)
        except ValueError as error:
            raise ValueError(f"{path.name} cannot be added to the others. {error}") from None

    about = _about(tables)
    scores = reduce(added, named[1:], named[0][1])
    scores.save(output, about=about)
    people = round(float(scores.cell_counts.sum()))
    Console(quiet=quiet).print(
        f"{len(tables)} tables of {people:,} people in {scores.n_groups} groups.", highlight=False
    )
    say_written(output, quiet=quiet)


def _about(tables: list[Path]) -> dict[str, Any]:
    """What all of them are about; refused if that is not the same, or if one is there twice."""
    from evenscore.scores.stored import read_about

    contents: dict[bytes, Path] = {}
    for path in tables:
        digest = hashlib.sha256(path.read_bytes()).digest()
        if digest in contents:
            raise ValueError(
                f"{contents[digest].name} and {path.name} are the same table: name it once."
            )
        contents[digest] = path
    known: dict[str, tuple[Path, Any]] = {}
    for path in tables:
        for key, value in read_about(path).items():
            first, expected = known.setdefault(key, (path, value))
            if value != expected:
                raise ValueError(
                    f"{first.name} and {path.name} are not about the same: {_WORDS[key]} "
                    f"{_said(expected)} in the one and {_said(value)} in the other."
                )
    return {key: value for key, (_, value) in known.items()}


_WORDS = {
    "score": "the column of scores is",
    "label": "the column of labels is",
    "positive": "the positive label is",
    "negative": "the other label is",
    "groups": "the groups are those of",
    "weight": "the column of weights is",
}


def _said(value: Any) -> str:
    if isinstance(value, list):
        return " and ".join(repr(name) for name in value) or "no column"
    return "none" if value is None else repr(value)
