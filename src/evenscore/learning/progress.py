"""How far a long computation has come: a bar on a terminal or in a notebook, silence elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

Advance = Callable[[str], None]
"""Called once per step, with what is to be shown beside the bar."""

_EVERY = 0.2  # seconds between two looks of a notebook's bar


@contextmanager
def progress(title: str, total: int, *, verbose: bool | int) -> Iterator[Advance]:
    """What `verbose` means: a bar that the function given moves by one step."""
    if not verbose:
        yield lambda text: None
        return
    if _in_a_notebook():
        bar = NotebookBar(title, total)
        yield bar.advance
        bar.finish()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}")
    with Progress(
        *columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal
    ) as shown:
        task = shown.add_task(title, total=total, text="")
        yield lambda text: shown.update(task, advance=1, text=text)
        shown.update(task, completed=total)


def _in_a_notebook() -> bool:
    """Whether a kernel runs this: others, such as Dask, load its package where it is installed."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


class NotebookBar:
    """A bar in the output of a cell, which needs no widgets."""

    def __init__(self, title: str, total: int, display: Any = None) -> None:
        if display is None:
            from IPython import display as shown

            display = shown.display
        self.title, self.total, self.done, self.text = title, max(total, 1), 0, ""
        self._last = time.monotonic()
        self._handle = display(_Markup(self.html()), display_id=True)

    def advance(self, text: str) -> None:
        """Move by one step; the bar is drawn anew now and then."""
        self.done, self.text = min(self.done + 1, self.total), text
        if time.monotonic() - self._last > _EVERY:
            self._draw()

    def finish(self) -> None:
        """Show that all is done."""
        self.done = self.total
        self._draw()

    def html(self) -> str:
        """The bar as markup."""
        label = escape(f"{self.title}: {self.done:,} of {self.total:,} {self.text}".strip())
        return f'<progress value="{self.done}" max="{self.total}"></progress> <span>{label}</span>'

    def _draw(self) -> None:
        self._last = time.monotonic()
        self._handle.update(_Markup(self.html()))


class _Markup:
    """What a notebook shows as it is."""

    def __init__(self, html: str) -> None:
        self._html = html

    def _repr_html_(self) -> str:
        return self._html
