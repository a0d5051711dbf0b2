"""Put the page of a full run on the site, with small pictures.

    python -m reproduction.publish results/paper

Copies index.md to docs/reproduction/results.md, and its figures, which get 64 colours and are at
most 1400 pixels wide.
"""

import sys
from pathlib import Path

from PIL import Image

TARGET = Path(__file__).resolve().parents[1] / "docs" / "reproduction"
_WIDEST, _COLOURS = 1400, 64


def copy(results: Path, target: Path = TARGET) -> None:
    """The page and its figures; figures that are no longer made go."""
    figures = target / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    for old in figures.iterdir():
        old.unlink()
    (target / "results.md").write_bytes((results / "index.md").read_bytes())
    for path in sorted((results / "figures").glob("*.png")):
        with Image.open(path) as picture:
            small = picture.convert("RGB")
        small.thumbnail((_WIDEST, 10 * _WIDEST))
        small.quantize(_COLOURS).save(figures / path.name, optimize=True)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "index.md").is_file():
        sys.exit("Name the folder that `make reproduce` wrote.")
    copy(Path(sys.argv[1]))
