"""Pieces of work that are done once: what is finished is kept and found again by its parameters.

An outcome depends on its parameters, on our own code and on the libraries that do the arithmetic.
All of them are part of a part's identity: after a change of any, parts are done again.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import evenscore
from evenscore.files import write_atomically

__all__ = ["Outcome", "Part", "Store", "run"]

Outcome = dict[str, NDArray[Any]]
"""What a part found: named arrays."""

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "lightgbm", "jax", "jaxlib", "optax")
_SHOWING = ("paper/figures", "paper/assembly", "paper/page", "paper/reproduction", "paper/table")
_NOT_WORKING: tuple[str, ...] = (
    "audit",
    "cli",
    "findings",
    "models",
    "plots",
    "report",
    "results",
    "schema",
)
_NOT_WORKING += ("sections", "tables", "terminal", "tradeoff", *_SHOWING)


@dataclass(frozen=True)
class Part:
    """A call `work(**parameters)`.

    The parameters are numbers, texts, and lists of them, so that they can be written down. Work on
    data has a fingerprint of the data among them.
    """

    name: str
    work: Callable[..., Outcome]
    parameters: Mapping[str, Any]

    @property
    def identity(self) -> str:
        """All that the outcome depends on, as text."""
        told = {
            "code": _code(),
            "libraries": _libraries(),
            "part": self.name,
            "work": f"{self.work.__module__}.{self.work.__qualname__}",
            **self.parameters,
        }
        return json.dumps(told, sort_keys=True)

    @property
    def file_name(self) -> str:
        """The name for people, and enough of a hash to tell parameters apart."""
        digest = hashlib.sha256(self.identity.encode()).hexdigest()[:16]
        return f"{self.name}-{digest}.npz"


@lru_cache(maxsize=1)
def _code() -> str:
    """A hash of our own source, but for what only shows outcomes."""
    root = Path(evenscore.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(_NOT_WORKING):
            digest.update(f"{name}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=1)
def _libraries() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


_UNREADABLE = (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error)


class Store:
    """A folder with one file a finished part, written whole or not at all."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, part: Part) -> Path:
        """Where the outcome of a part is kept."""
        return self.folder / part.file_name

    def get(self, part: Part) -> Outcome | None:
        """The outcome of a part, or None if it has to be found (again)."""
        path = self.path(part)
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as kept:
                if str(kept["identity"]) != part.identity:
                    return None
                return {name: kept[name] for name in kept.files if name != "identity"}
        except FileNotFoundError:
            return None
        except _UNREADABLE as error:
            warnings.warn(
                f"{path} cannot be read ({error}): that part is done again.", stacklevel=2
            )
            return None

    def put(self, part: Part, outcome: Outcome) -> None:
        """Keep an outcome."""
        content = io.BytesIO()
        np.savez_compressed(content, identity=np.array(part.identity), **outcome)  # type: ignore[arg-type]
        write_atomically(self.path(part), content.getvalue())


def run(
    parts: Sequence[Part],
    store: Store,
    *,
    jobs: int = 1,
    done: Callable[[Part], None] = lambda part: None,
) -> list[Outcome]:
    """The outcomes of all parts, in their order; those not in the store are found and kept.

    `jobs` processes work at a time; an outcome does not depend on how many. `done` is called after
    every part, also those that were there.
    """
    outcomes = [store.get(part) for part in parts]
    missing = [number for number, outcome in enumerate(outcomes) if outcome is None]
    for part, outcome in zip(parts, outcomes, strict=True):
        if outcome is not None:
            done(part)
    with _working([parts[number] for number in missing], jobs) as found:
        for number, outcome in found:
            outcomes[missing[number]] = outcome
            store.put(parts[missing[number]], outcome)
            done(parts[missing[number]])
    return [outcome for outcome in outcomes if outcome is not None]


@contextmanager
def _working(parts: list[Part], jobs: int) -> Iterator[Iterator[tuple[int, Outcome]]]:
    """The outcomes as they are found, with their numbers."""
    if jobs == 1 or len(parts) < 2:
        yield ((number, _do(part)) for number, part in enumerate(parts))
        return
    # Imported here because only parallel work needs it.
    from joblib import Parallel, delayed

    found = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(
        delayed(_numbered)(number, part) for number, part in enumerate(parts)
    )
    try:
        yield found
    finally:
        found.close()


def _numbered(number: int, part: Part) -> tuple[int, Outcome]:
    return number, _do(part)


def _do(part: Part) -> Outcome:
    """Work on one thread of BLAS, so that sums are made in the same order everywhere."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)  # the fixed numbers are the paper's
        return part.work(**part.parameters)
