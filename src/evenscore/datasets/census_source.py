"""Where the census-income files come from: a folder of the user's.

They are too large to come along (150 MB of text), and are read as distributed or compressed by
gzip, which the first bytes tell.
"""

import gzip
import os
import zlib
from pathlib import Path

import numpy as np

from evenscore.datasets.tables import Table, split_rows, to_columns

FILES = ("census-income.data", "census-income.test")

_FOLDER = "census-kdd"
_VALUES = {"sex": ("Female", "Male"), "income": ("- 50000.", "50000+.")}
_GZIP = b"\x1f\x8b"


def read_census(
    path: str | os.PathLike[str] | None, columns: list[str], codes: list[str]
) -> tuple[Table, int]:
    """Return the rows of the training file, then those of the test file; and how many come first.

    Looked for in this order: ``path``, the environment variable ``EVENSCORE_DATA``.
    """
    places = _find(path)
    source = " and ".join(map(str, places))
    train, test = (_rows(place, len(columns)) for place in places)
    table = to_columns(columns, train + test, source, codes=codes)
    for name, values in _VALUES.items():
        if not np.isin(table[name], values).all():
            raise ValueError(
                f"Column {name!r} of {source} has values other than {values[0]!r} and "
                f"{values[1]!r}."
            )
    return table, len(train)


def _rows(place: Path, width: int) -> list[list[str]]:
    content = place.read_bytes()
    try:
        text = (gzip.decompress(content) if content.startswith(_GZIP) else content).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{place} is not UTF-8 text.") from error
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{place} is not a whole gzip file.") from error
    rows = split_rows(text, str(place), skip_spaces=True)
    if len(rows[0]) != width:
        raise ValueError(
            f"{place} has {len(rows[0])} columns, but the census-income files have {width}."
        )
    return rows


def _find(path: str | os.PathLike[str] | None) -> list[Path]:
    given = path if path is not None else os.environ.get("EVENSCORE_DATA") or None
    if given is None:
        raise FileNotFoundError(
            "The census-income files do not come along: give load_census the folder that holds "
            f"{' and '.join(FILES)} (or the same with .gz), or set EVENSCORE_DATA to it."
        )
    for folder in (Path(given), Path(given) / _FOLDER):
        places = [
            next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)
            for name in FILES
        ]
        present = [place for place in places if place is not None]
        if len(present) == len(FILES):
            return present
    raise FileNotFoundError(
        f"There are no {' and '.join(FILES)} at {os.fspath(given)}: give a folder that holds both, "
        f"as they are or with .gz, or {_FOLDER}/ with them."
    )
