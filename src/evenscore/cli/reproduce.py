"""`evenscore reproduce`: the paper's tables and figures, made again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console

from evenscore.cli.errors import one_sentence, say

__all__ = ["reproduce"]


@one_sentence
def reproduce(
    target: Annotated[
        str,
        typer.Argument(
            help="synthetic, real, grid, splits, readings, figures (of what is finished) or all."
        ),
    ] = "all",
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for results.")] = Path(
        "results"
    ),
    runs: Annotated[
        int | None, typer.Option(help="Runs on synthetic data.", show_default="100")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A little of everything, in about a minute.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(help="Processes.", show_default="one a processor")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
) -> None:
    """Make every table and figure of "Learning Fair Scoring Functions" again.

    Finished parts are kept in the folder: an interrupted run goes on where it was.

    Examples: `evenscore reproduce --quick -o try/`, `evenscore reproduce synthetic --runs 20`,
    `EVENSCORE_DATA=data/ evenscore reproduce all`.
    """
    from evenscore.paper import reproduce as run
    from evenscore.paper.reproduction import Targets

    console = Console(quiet=quiet)
    start = time.perf_counter()
    try:
        found = run(
            cast(Targets, target),
            output,
            runs=runs,
            quick=quick,
            jobs=jobs,
            verbose=not quiet,
            say=say,
        )
    except KeyboardInterrupt:
        say(f"Interrupted. What is finished is kept in {output}: the same command goes on.")
        raise typer.Exit(130) from None
    for sentence in found.missing:
        console.print(f"Not done yet: {sentence}.", highlight=False)
    seconds = time.perf_counter() - start
    told = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
    console.print(f"Done in {told}. Open {found.page}", highlight=False, soft_wrap=True)
