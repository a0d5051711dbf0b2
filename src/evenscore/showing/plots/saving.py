"""Figures as files: the same picture gives the same bytes, and a file is written whole."""

import io
import os
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from evenscore.files.atomic import write_atomically

# What matplotlib would write of the time and of itself, by kind of file.
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
}


def figure_bytes(figure: Figure, kind: str = "svg", *, dpi: float = 150.0) -> bytes:
    """The picture as SVG, PNG or PDF; the same figure gives the same bytes.

    What sticks out of the figure, such as a legend beside axes of the caller's, is not cut off.

    Parameters
    ----------
    figure : Figure
        The picture.
    kind : {"svg", "png", "pdf"}
        The format.
    dpi : float
        Dots to an inch of a PNG.

    Returns
    -------
    bytes
        What would be in the file.

    Examples
    --------
    >>> import evenscore as es
    >>> figure_bytes(es.plots.figure()[0], "png")[1:4]
    b'PNG'
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
    """Write a figure to a file, which appears whole or not at all.

    Parameters
    ----------
    figure : Figure
        The picture.
    path : path-like
        Where to write; the name ends in .svg, .png or .pdf.
    dpi : float
        Dots to an inch of a PNG.

    Returns
    -------
    Path
        The path of the file.
    """
    target = Path(path)
    content = figure_bytes(figure, target.suffix.lower().removeprefix("."), dpi=dpi)
    return write_atomically(target, content)
