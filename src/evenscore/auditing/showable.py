"""Results that show themselves, without knowing who draws them.

A renderer is found by name in a registry, format → loader, which the package's `__init__` holds:
no result imports its renderers, and nothing of them is imported before it is asked for.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from evenscore import RENDERERS


def renderer(kind: str, format_name: str) -> Callable[..., Any]:
    """The function that shows a kind of result in a format; imported on first use."""
    try:
        module, function = RENDERERS[kind, format_name].split(":")
    except KeyError:
        raise ValueError(f"Nothing shows {kind!r} as {format_name!r}.") from None
    return getattr(import_module(module), function)  # type: ignore[no-any-return]


class Showable:
    """A result with a page of its own, tables for terminals and Markdown, and a notebook's view."""

    shown_as: ClassVar[str]

    def to_html(self, path: str | Path) -> Path:
        """Write the page, one self-contained HTML file, and return its path."""
        return Path(renderer(self.shown_as, "html")(self, path))

    def to_markdown(self) -> str:
        """The same as Markdown, with all tables."""
        return str(renderer(self.shown_as, "markdown")(self))

    def __rich__(self) -> Any:
        """Tables for a terminal, drawn by rich."""
        return renderer(self.shown_as, "terminal")(self)

    def _repr_html_(self) -> str:
        """Pictures and tables for notebooks; every text in them is escaped."""
        return str(renderer(self.shown_as, "notebook")(self))
