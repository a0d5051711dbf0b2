"""Pieces of work that are done once: what is finished is kept and found again by its parameters.

An outcome depends on its parameters, on our own code and on the libraries that do the arithmetic.
All of them are part of a part's file name: after a change of any, parts are done again.
"""

import hashlib
import io
import json
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import evenscore
from evenscore.files.atomic import write_atomically

Outcome = dict[str, NDArray[Any]]
"""What a part found: named arrays."""

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "lightgbm")
# Where code only shows outcomes, or has no part in them.
_APART = (
    "auditing", "choosing", "cli", "files", "showing", "__main__", "captions", "comparing",
    "figures", "page", "plan", "publish", "tables",
)  # fmt: skip
_UNREADABLE = (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True)
class Part:
    """A call `work(**parameters)`, which takes about `seconds` of a processor.

    The parameters are numbers, texts, and lists of them, so that they can be written down. Work on
    data has a fingerprint of the data among them.
    """

    name: str
    work: Callable[..., Outcome]
    parameters: Mapping[str, Any]
    seconds: float = 1.0

    @property
    def file_name(self) -> str:
        """The name for people, and a hash of all that the outcome depends on."""
        facts = [_surroundings(), self.name, self.work.__qualname__, self.parameters]
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
        return f"{self.name}-{digest[:16]}.npz"


@lru_cache(maxsize=1)
def _surroundings() -> list[str]:
    """A hash of our own source and numbers, but for what only shows outcomes; the libraries."""
    digest = hashlib.sha256()
    for file in (evenscore.__file__, __file__):
        root = Path(file).parent
        for path in sorted((*root.rglob("*.py"), *root.rglob("*.toml"))):
            name = path.relative_to(root).as_posix()
            if not name.startswith(_APART):
                digest.update(f"{name}\n".encode() + path.read_bytes())
    return [digest.hexdigest(), *map(version, _LIBRARIES)]


class Store:
    """A folder with one file per finished part, written whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, part: Part) -> Path:
        """Where the outcome of a part is kept."""
        return self.folder / part.file_name

    def get(self, part: Part) -> Outcome | None:
        """The outcome of a part, or None if it has to be found (again)."""
        with (
            suppress(*_UNREADABLE),
            open(self.path(part), "rb") as file,
            np.load(file, allow_pickle=False) as kept,
        ):
            return dict(kept)
        return None

    def put(self, part: Part, outcome: Outcome) -> None:
        """Keep an outcome."""
        content = io.BytesIO()
        np.savez_compressed(content, **outcome)
        write_atomically(self.path(part), content.getvalue())


def run(parts: Sequence[Part], store: Store, jobs: int = 1) -> Iterator[Part]:
    """Do those parts that the store lacks, `jobs` at a time, and give each when it is kept.

    An outcome does not depend on how many work at a time.
    """
    from joblib import Parallel, delayed

    workers = Parallel(jobs if len(parts) > 1 else 1, return_as="generator_unordered", batch_size=1)
    calls = (delayed(_done)(part, store) for part in parts if store.get(part) is None)
    # A process that has grown is replaced by another one: that is no news.
    # (The warning comes from the thread that looks after them, which an error would end for good.)
    with warnings.catch_warnings(), closing(workers(calls)) as stream:
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        yield from stream


def _done(part: Part, store: Store) -> Part:
    """Work on one thread of BLAS, so that sums are made in the same order everywhere."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)  # the fixed numbers are the paper's
        store.put(part, part.work(**part.parameters))
    return part
