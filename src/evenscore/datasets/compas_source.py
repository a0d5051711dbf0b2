"""Where the COMPAS files come from: the user's file, a folder, or a checked download.

ProPublica published the files with names, dates of birth and case numbers of real people.
Those columns are dropped as the text is split into fields: no table has them, and the copy of
a download that is kept for the next call does not have them either.
"""

import contextlib
import csv
import hashlib
import http.client
import io
import os
import urllib.request
from pathlib import Path

from evenscore.datasets.tables import Table, split_rows, to_columns
from evenscore.files.atomic import write_atomically

ORIGIN = "https://raw.githubusercontent.com/propublica/compas-analysis/master/"

# SHA-256 of the files as ProPublica published them; a download must be one of these.
PUBLISHED_SHA256 = {
    "compas-scores.csv": "c9864c9e48c0a9e32ab23f7ad05a454d7624a4625c2a54d4447921de544fd8a2",
    "compas-scores-two-years.csv": (
        "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d"
    ),
}

PERSONAL_COLUMNS = frozenset(
    ("name", "first", "last", "dob", "c_case_number", "r_case_number", "vr_case_number")
)

_TIMEOUT_SECONDS = 60


def read_compas(file_name: str, path: str | os.PathLike[str] | None) -> tuple[Table, str]:
    """Return the table of a COMPAS file without its personal columns, and where it was found.

    Looked for in this order: ``path``, the environment variable ``EVENSCORE_DATA``, the cache
    folder, the public origin.
    """
    place = _find(file_name, path)
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cached = caches / "evenscore" / file_name
    if place is None and not cached.is_file():
        text = without_personal_columns(_download(file_name), file_name)
        # A home that cannot be written to is no reason to refuse the data.
        with contextlib.suppress(OSError):
            write_atomically(cached, text)
        return _parse(text, file_name), file_name
    place = place or cached
    try:
        # Bytes, because reading as text would alter the line ends inside quoted fields.
        text = place.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{place} is not UTF-8 text.") from error
    return _parse(text, str(place)), str(place)


def without_personal_columns(text: str, source: str) -> str:
    """Return the text of a published file with the columns that identify people left out."""
    rows = split_rows(text, source)
    kept = [k for k, name in enumerate(rows[0]) if name not in PERSONAL_COLUMNS]
    reduced = io.StringIO(newline="")
    csv.writer(reduced, lineterminator="\n").writerows([row[k] for k in kept] for row in rows)
    return reduced.getvalue()


def _parse(text: str, source: str) -> Table:
    header, *rows = split_rows(text, source)
    return to_columns(header, rows, source, drop=PERSONAL_COLUMNS)


def _find(file_name: str, path: str | os.PathLike[str] | None) -> Path | None:
    folder = path if path is not None else os.environ.get("EVENSCORE_DATA") or None
    if folder is None:
        return None
    place = Path(folder)
    candidates = (place, place / file_name, place / "compas" / file_name)
    found = next((candidate for candidate in candidates if candidate.is_file()), None)
    if found is None and path is not None:
        raise FileNotFoundError(
            f"There is no {file_name} at {os.fspath(path)}: give the file itself or a folder "
            f"that holds {file_name} or compas/{file_name}."
        )
    return found


def _download(file_name: str) -> str:
    advice = (
        f"get {file_name} from ProPublica's compas-analysis repository and give load_compas its "
        f"path, or set EVENSCORE_DATA to the folder that holds it."
    )
    try:
        with urllib.request.urlopen(ORIGIN + file_name, timeout=_TIMEOUT_SECONDS) as response:
            content: bytes = response.read()
    except (OSError, http.client.HTTPException) as error:
        raise OSError(f"{file_name} could not be downloaded ({error}); {advice}") from error
    if hashlib.sha256(content).hexdigest() != PUBLISHED_SHA256[file_name]:
        raise OSError(
            f"{file_name} was downloaded but its SHA-256 is not that of the published file; "
            f"{advice}"
        )
    return content.decode("utf-8")
