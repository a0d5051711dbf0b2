"""Figures as files: the same picture gives the same bytes, and a file is written whole."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib

from evenscore.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["figure_bytes", "save"]

# What matplotlib would write of the time and of itself, by kind of file.
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
}


def figure_bytes(figure: Figure, kind: str = "svg", *, dpi: float = 150.0) -> bytes:
    """The picture as SVG, PNG or PDF; the same figure gives the same bytes.

    What sticks out of the figure, such as a legend beside axes of the caller's, is not cut off.
    """
    if kind not in _METADATA:
        known = ", ".join(_METADATA)
        raise ValueError(f"A figure can be saved as {known}, not as {kind!r}.")
    buffer = io.BytesIO()
    # Ids within an SVG file are hashes with a salt that is random unless it is given.
    with matplotlib.rc_context({"svg.hashsalt": "evenscore", "svg.fonttype": "path"}):
        figure.savefig(
            buffer,
            format=kind,
            dpi=dpi,
            metadata=_METADATA[kind],
            facecolor=figure.get_facecolor(),
            bbox_inches="tight",
            pad_inches=0.08,
        )
    return buffer.getvalue()


def save(figure: Figure, path: str | os.PathLike[str], *, dpi: float = 150.0) -> Path:
    """Write a figure to a file whose name ends in .svg, .png or .pdf; give its path.

    The file appears whole or not at all.
    """
    target = Path(path)
    content = figure_bytes(figure, target.suffix.lower().removeprefix("."), dpi=dpi)
    return write_atomically(target, content)
