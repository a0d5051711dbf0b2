"""`evenscore reproduce`: the paper's tables and figures, made again."""

import time
from pathlib import Path
from typing import Annotated, cast

from typer import Argument, Option

from evenscore.cli.errors import command, say, say_outcome
from evenscore.cli.options import Quiet
from evenscore.cli.process import when_interrupted


@command
def reproduce(
    target: Annotated[
        str,
        Argument(
            help="synthetic, real, grid, splits, readings, figures (of what is finished) or all."
        ),
    ] = "all",
    output: Annotated[Path, Option("--output", "-o", help="The folder for the results.")] = Path(
        "results"
    ),
    runs: Annotated[
        int | None, Option(help="Number of runs on synthetic data.", show_default="100")
    ] = None,
    quick: Annotated[
        bool, Option("--quick", help="Do a little of everything, in about a minute.")
    ] = False,
    jobs: Annotated[
        int | None, Option(help="Number of processes.", show_default="one per processor")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Reproduce every table and figure of "Learning Fair Scoring Functions".

    Finished parts are kept in the folder: an interrupted run continues where it stopped.

    Examples: `evenscore reproduce --quick -o try/`, `evenscore reproduce synthetic --runs 20`,
    `EVENSCORE_DATA=data/ evenscore reproduce all`.
    """
    from evenscore.paper import reproduce as run
    from evenscore.paper.reproduction import Targets

    start = time.perf_counter()
    aim, shown = cast(Targets, target), not quiet
    when_interrupted(f"What is finished is kept in {output}: the same command goes on.")
    result = run(aim, output, runs=runs, quick=quick, jobs=jobs, verbose=shown, say=say)
    for sentence in result.missing:
        say_outcome(f"Not done yet: {sentence}.", quiet=quiet)
    seconds = time.perf_counter() - start
    duration = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
    say_outcome(f"Done in {duration}. Open {result.page}", quiet=quiet)
