"""A progress bar on a terminal, and silence elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Advance", "progress"]

Advance = Callable[[str], None]


@contextmanager
def progress(title: str, total: int, *, verbose: bool | int) -> Iterator[Advance]:
    """Give a function that moves the bar by one and says how things stand."""
    if not verbose:
        yield lambda told: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}")
    with Progress(
        *columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(title, total=total, told="")
        yield lambda told: bar.update(task, advance=1, told=told)
        bar.update(task, completed=total)
