"""Make the notebooks and the pages of the examples from their scripts, executed.

    python tools/notebooks.py             all of examples/*.py
    python tools/notebooks.py credit      one of them

Needs evenscore[boosted,files,docs]; the example of justice needs the COMPAS files (EVENSCORE_DATA).
Writes examples/NAME.ipynb, docs/examples/NAME.md and docs/examples/images/NAME-k.png. The same
script with the same numbers gives the same files: there are no times, no paths and no warnings in
them.
"""

import base64
import io
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS, PAGES = ROOT / "examples", ROOT / "docs" / "examples"
NAMES = tuple(sorted(path.stem for path in SCRIPTS.glob("*.py")))
DPI, COLOURS = 84, 128  # of the pictures: sharp enough, and small
LARGEST_NOTEBOOK, LARGEST_PICTURE = 400_000, 80_000  # bytes
TIMEOUT = 1800  # seconds of one cell, on a busy machine

_MARKER = re.compile(r"^# %%( \[markdown\])?$", re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """A cell of a script in percent format, without its marker."""

    kind: Literal["markdown", "code"]
    source: str


def cells_of(script: str) -> list[Cell]:
    """The cells of a script in percent format, in order."""
    head, *parts = _MARKER.split(script)
    if head.strip():
        raise ValueError("A script starts with a cell: # %% or # %% [markdown].")
    cells = []
    for mark, body in zip(parts[::2], parts[1::2], strict=True):
        source = body.strip("\n")
        if mark:
            source = "\n".join(_text(line) for line in source.splitlines())
        cells.append(Cell("markdown" if mark else "code", source))
    return cells


def _text(line: str) -> str:
    if line != "#" and not line.startswith("# "):
        raise ValueError(f"A line of a markdown cell starts with '# ', not {line!r}.")
    return line[2:]


def executed(name: str) -> Any:
    """The notebook of a script, run in an empty folder, with what it printed and drew."""
    import nbformat
    from nbclient import NotebookClient

    make = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    script = (SCRIPTS / f"{name}.py").read_text(encoding="utf-8")
    cells = [
        make[cell.kind](cell.source, id=f"{name}-{number}")
        for number, cell in enumerate(cells_of(script), 1)
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    }
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "matplotlibrc"
        settings.write_text(f"figure.dpi: {DPI}\nsavefig.dpi: {DPI}\n", encoding="utf-8")
        os.environ["MATPLOTLIBRC"] = str(settings)
        os.environ.pop("MPLBACKEND", None)  # the kernel's own, which puts pictures into the cells
        client = NotebookClient(notebook, timeout=TIMEOUT, resources={"metadata": {"path": folder}})
        client.execute()
    number = 0
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            number += 1
            cell.execution_count = number
            cell.outputs = _lasting(cell.outputs)
    notebook.metadata.pop("language_info", None)
    nbformat.validate(notebook)
    return notebook


def _lasting(outputs: list[Any]) -> list[Any]:
    """The outputs of a cell without what changes from run to run, and without warnings."""
    kept: list[Any] = []
    for output in outputs:
        if output.output_type == "stream":
            if output.name != "stdout":
                continue
            if kept and kept[-1].output_type == "stream":  # printed in two parts, by chance
                kept[-1].text += output.text
                continue
        elif "image/png" in output.get("data", {}):
            output.data = {"image/png": _small(output.data["image/png"])}
            output.metadata = {}
        else:
            raise ValueError(f"An example prints and draws, and gave {output.output_type}.")
        kept.append(output)
    return kept


def _small(picture: str) -> str:
    """A picture with a palette, a third of the size: both as text in base 64."""
    from PIL import Image

    made = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    buffer = io.BytesIO()
    made.quantize(COLOURS, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def page_of(name: str, notebook: Any) -> tuple[str, dict[str, bytes]]:
    """The page of an executed notebook, and its pictures by their file names."""
    parts = [
        f"*This page is made from `examples/{name}.py` by `tools/notebooks.py`; the tests run the "
        f"script. The same as a notebook: `examples/{name}.ipynb`.*"
    ]
    pictures: dict[str, bytes] = {}
    title = ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            title = next((line for line in cell.source.splitlines() if line[:1] == "#"), title)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            if output.output_type == "stream":
                parts.append(f"```text\n{output.text.rstrip()}\n```")
            else:
                file = f"{name}-{len(pictures) + 1}.png"
                pictures[file] = base64.b64decode(output.data["image/png"])
                parts.append(f"![{title.lstrip('# ')}](images/{file})")
    # The title comes first, then where the page is made from.
    first, _, rest = parts[1].partition("\n")
    parts[:2] = [first, parts[0], rest.strip()]
    return "\n\n".join(parts) + "\n", pictures


def write(name: str) -> None:
    """Run an example and write its notebook, its page and its pictures."""
    import nbformat

    notebook = executed(name)
    text = nbformat.writes(notebook) + "\n"
    page, pictures = page_of(name, notebook)
    sizes = {f"examples/{name}.ipynb": (len(text.encode()), LARGEST_NOTEBOOK)}
    sizes |= {file: (len(content), LARGEST_PICTURE) for file, content in pictures.items()}
    for file, (size, most) in sizes.items():
        if size > most:
            raise SystemExit(f"{file} has {size:,} bytes, more than {most:,}.")
    images = PAGES / "images"
    images.mkdir(parents=True, exist_ok=True)
    for old in images.glob(f"{name}-*.png"):
        old.unlink()
    for file, content in pictures.items():
        (images / file).write_bytes(content)
    (SCRIPTS / f"{name}.ipynb").write_text(text, encoding="utf-8")
    (PAGES / f"{name}.md").write_text(page, encoding="utf-8")
    print(f"{name}: {len(text.encode()):,} bytes, {len(pictures)} pictures")


if __name__ == "__main__":
    for chosen in sys.argv[1:] or NAMES:
        write(chosen)
