"""From nothing to the paper's tables and figures, beside the published numbers.

    python -m reproduction                       # everything: hours
    python -m reproduction --part real --data compas
    python -m reproduction --quick               # a little of everything, in about a minute

Finished parts are kept in the folder: an interrupted run goes on where it stopped. At the end it
says which numbers are not those of docs/reproduction/results.md.
"""

import os
import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from rich.progress import BarColumn, Progress, TextColumn

from reproduction.comparing import differences
from reproduction.page import assemble
from reproduction.parts import Part, Store, run
from reproduction.plan import EXPERIMENTS, FULL, QUICK, Plan, Scale
from reproduction.published import DataName
from reproduction.real import available

SHIPPED = Path(__file__).parents[1] / "docs" / "reproduction" / "results.md"


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line asks for."""
    parser = ArgumentParser("python -m reproduction", description=__doc__,
                            formatter_class=RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--part", nargs="+", choices=(*EXPERIMENTS, "none"), default=[*EXPERIMENTS],
                        help="experiments to do; none shows what is finished")  # fmt: skip
    parser.add_argument("--data", nargs="+", choices=get_args(DataName), help="data sets, or all")
    parser.add_argument("--quick", action="store_true", help="a little of everything")
    parser.add_argument("--folder", type=Path, help="results/paper, or results/paper-quick")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    given = parser.parse_args(arguments)
    scale = QUICK if given.quick else FULL
    if given.data:
        scale = replace(scale, data=tuple(given.data))
    folder = given.folder or Path("results", "paper-quick" if given.quick else "paper")
    try:
        said = reproduce(scale, given.part, folder, given.jobs)
    except KeyboardInterrupt:
        sys.exit(f"\nWhat is finished is kept in {folder}: the same command goes on.")
    print(*said, sep="\n")


def reproduce(scale: Scale, targets: Sequence[str], folder: Path, jobs: int = 1) -> list[str]:
    """Run experiments, write their tables, figures and page; sentences that say what came out."""
    folder.mkdir(parents=True, exist_ok=True)
    there, left_out = available(scale.data)
    for sentence in left_out:
        print(sentence, file=sys.stderr)
    plan, store = Plan(scale, tuple(there)), Store(folder / "parts")
    parts = [part for name in EXPERIMENTS if name in targets for part in plan.parts(name)]
    _run(parts, store, jobs)
    missing = assemble(plan, store, folder, left_out)
    page = folder / "index.md"
    said = [f"Not done yet: {description}." for description in missing]
    return [*said, *compared(page.read_text("utf-8"), scale), f"The page: {page}"]


def compared(page: str, scale: Scale) -> list[str]:
    """Which numbers of a page are not those of the shipped one."""
    if not scale.full:
        return ["A quick run: its numbers cannot be compared with those of docs/reproduction."]
    cells, found = differences(SHIPPED.read_text("utf-8"), page)
    beyond = sum(one.beyond for one in found)
    return [
        *map(str, found),
        f"Of {cells} cells in {SHIPPED.name}, {len(found)} differ by more than rounding, "
        f"{beyond} of them by more than their deviation.",
    ]


def _run(parts: Sequence[Part], store: Store, jobs: int) -> None:
    """With a bar on a terminal, or a line for every part, and about how long the rest takes."""
    left = [part for part in parts if not store.path(part).exists()]
    total, start = sum(part.seconds for part in left), time.monotonic()
    bar = Progress(TextColumn("{task.fields[done]}"), BarColumn(), TextColumn("{task.description}"))
    lines, done, finished = not bar.console.is_terminal, 0.0, len(parts) - len(left)
    bar.disable = lines
    about = _duration(total / max(min(jobs, len(left)), 1))
    with bar:
        told = f"{finished} of {len(parts)} parts"
        task = bar.add_task(f"about {about} left", total=total, done=told)
        for part in run(parts, store, jobs):
            done += part.seconds
            finished += 1
            rest = _duration((time.monotonic() - start) * max(total / done - 1.0, 0.0))
            told = f"{finished} of {len(parts)} parts"
            text = f"about {rest} left; {part.name} is done"
            bar.update(task, completed=done, done=told, description=text)
            if lines:
                print(f"{told}, {text}", flush=True)


def _duration(seconds: float) -> str:
    """In words.

    >>> [_duration(some) for some in (50, 600, 10_000)]
    ['50 s', '10 min', '2 h 47 min']
    """
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


if __name__ == "__main__":
    main()
