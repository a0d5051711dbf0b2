"""`evenscore merge`: tables of scores add up, for instance those of twelve months."""

from functools import reduce
from pathlib import Path
from typing import Annotated

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

    An audit of the sum is the audit of all the people together, to the last
    digit. Tables of every score always add up; those of bins do if they were
    made with the same bins: give the first to the others with --bins-of.

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

    scores = reduce(added, named[1:], named[0][1])
    scores.save(output)
    people = round(float(scores.cell_counts.sum()))
    Console(quiet=quiet).print(
        f"{len(tables)} tables of {people:,} people in {scores.n_groups} groups.", highlight=False
    )
    say_written(output, quiet=quiet)
